"""`whence hook`, run by agents: real processes with the JSON that each agent sends (L4)."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hindrances import environment
from sample_trees import git, whence, write
from whence.cli.hook import BUDGET, within
from whence.cli.main import main
from whence.context.feedback.session import PendingFeedback, ReturnedSymbol
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import records
from whence.core.settings import LearnSettings
from whence.index.layout import Layout
from whence.memory.memory import Memory
from whence.text.token_estimate import count_tokens

Called = Callable[..., tuple[str, str]]
FILES = {
    "shop/session.py": "class SessionStore:\n    def open(self):\n        return 1\n\n\ndef expire_idle(now):\n    return now\n",
    "shop/cart.py": "class Cart:\n    def total(self):\n        return 2\n",
}
OPEN, EXPIRE, TOTAL = "shop/session.py#SessionStore.open", "shop/session.py#expire_idle", "shop/cart.py#Cart.total"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop-tree", FILES)
    git("init", "-q", cwd=root)
    return root


def hook(*arguments: str, given: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Call the hook as an agent does. Whatever happens, it must end well."""
    done = subprocess.run(
        [sys.executable, "-m", "whence", "hook", *arguments],
        cwd=cwd,
        env=environment(**variables),
        input=given if isinstance(given, str) else json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) <= 1
    return done


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    """The same without a process of its own, for many cases."""

    def run(*arguments: str, given: object, cwd: Path, **variables: str) -> tuple[str, str]:
        raw = (given if isinstance(given, str) else json.dumps(given)).encode()
        with monkeypatch.context() as here:
            here.chdir(cwd)
            here.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
            for name, value in variables.items():
                here.setenv(name, value)
            assert main(["hook", *arguments]) == 0
        out, err = capsys.readouterr()
        assert len(err.splitlines()) <= 1
        return out, err

    return run


def waiting(tree: Path, data: Path, session: str) -> FeedbackStore:
    """What a session was shown and has not used."""
    learned = FeedbackStore.beside(Layout(data, tree.resolve()).directory)
    shown = [ReturnedSymbol(OPEN, "r", 2, 3), ReturnedSymbol(EXPIRE, "r", 6, 7), ReturnedSymbol(TOTAL, "r", 2, 3)]
    PendingFeedback(learned, LearnSettings(), session).returned("idle walrus", shown, time.time())
    learned.close()
    return learned


# When a session begins.
def test_a_session_is_told_of_its_branch_and_of_notes_in_the_form_its_agent_reads(tree):
    with Memory.open(repository=tree) as memory:
        memory.remember("Five at most, then the queue.", project="shop-tree", topic="retry policy")
        memory.remember("token = ghp_" + "a1B2" * 9, project="shop-tree", topic="deploying", redact=True)
        memory.remember("Not of this one.", project="other", topic="elsewhere")
        memory.handoff("Parser done; next: the Go grammar.", repository=tree, branch="main")
    git("checkout", "-q", "-B", "main", cwd=tree)
    told = json.loads(hook("session-start", given={"cwd": str(tree), "session_id": "1"}, cwd=tree.parent).stdout)
    assert told["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    text = told["hookSpecificOutput"]["additionalContext"]
    assert text.startswith("State of the work on main (20")
    assert "Parser done; next: the Go grammar." in text
    assert "shop-tree/retry-policy: retry policy: Five at most" in text
    assert "ghp_" not in text
    assert "elsewhere" not in text
    assert count_tokens(text) <= BUDGET
    cursor = hook("session-start", "--agent", "cursor", given={"workspace_roots": [str(tree)], "conversation_id": "1"}, cwd=tree.parent)
    assert json.loads(cursor.stdout) == {"additional_context": text}
    through_cursor = hook("session-start", given={"workspace_roots": [str(tree)]}, cwd=tree.parent, CURSOR_VERSION="3.2")
    assert through_cursor.stdout == cursor.stdout


def test_a_session_in_an_indexed_repository_is_reminded_to_ask(tree, tmp_path):
    assert hook("session-start", given={"cwd": str(tree)}, cwd=tree).stdout == ""
    assert whence("index", cwd=tree).returncode == 0
    later = tmp_path / "later.sh"
    told = hook("session-start", "--agent", "claude-code", given={"cwd": str(tree)}, cwd=tree, CLAUDE_ENV_FILE=str(later)).stdout
    assert "before you grep" in json.loads(told)["hookSpecificOutput"]["additionalContext"]
    assert later.read_text() == "export WHENCE_SESSION=claude-code WHENCE_LEARN_IMPLICIT=true\n"


def test_a_prompt_is_given_the_notes_that_surely_matter_within_300_tokens_and_else_nothing(tree, called, monkeypatch):
    monkeypatch.setattr("whence.cli.hook.SECONDS", 60.0)
    with Memory.open(repository=tree) as memory:
        memory.remember("Invoices are rounded to cents per line, never per total. " * 60, project="shop-tree", topic="rounding")
        memory.remember("We retry five times, then the queue.", project="shop-tree", about=["shop/cart.py#Cart.total"], repository=tree)
        memory.remember("Invoices of others are rounded up.", project="other")
    (tree / "shop/cart.py").write_text("class Cart:\n    def total(self):\n        return 5\n")

    def told(prompt: object, agent: str = "claude-code") -> str:
        out, err = called("prompt", "--agent", agent, given={"prompt": prompt, "cwd": str(tree)}, cwd=tree.parent)
        assert err == ""
        return out

    said = json.loads(told("fix the rounding of invoices in the total"))["hookSpecificOutput"]
    assert said["hookEventName"] == "UserPromptSubmit"
    assert "shop-tree/rounding:" in said["additionalContext"]
    assert "of others" not in said["additionalContext"]
    assert count_tokens(said["additionalContext"]) <= 300
    assert json.loads(told("how many times do we retry", "gemini"))["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    assert "(ITS CODE HAS CHANGED SINCE)" in told("how many times do we retry")
    for prompt in ("add a dark mode to the settings page", "please commit and push", "go on", "/compact now please", "", None, 7):
        assert told(prompt) == ""


def test_what_is_told_keeps_its_budget():
    text = "\n".join(f"- line {number} 测试 {'x' * (number % 7)}" for number in range(400))
    cut = within(text, 200)
    assert 150 < count_tokens(cut) <= 200
    assert cut.endswith("\n…")
    assert within("short", 200) == "short"


# After something was used.
@pytest.mark.parametrize(
    ("agent", "given", "used"),
    [
        ("claude-code", {"tool_name": "Read", "tool_input": {"file_path": "{tree}/shop/session.py"}}, [OPEN, EXPIRE]),
        ("claude-code", {"tool_name": "Read", "tool_input": {"file_path": "{tree}/shop/session.py", "offset": 6, "limit": 2}}, [EXPIRE]),
        ("claude-code", {"tool_name": "Edit", "tool_input": {"file_path": "{tree}/shop/cart.py", "old_string": "return 3", "new_string": "return 2"}}, [TOTAL]),
        ("claude-code", {"tool_name": "Write", "tool_input": {"file_path": "{tree}/new.py", "content": "x = expire_idle(1)\n"}}, [EXPIRE]),
        ("vscode", {"sessionId": "s", "tool_name": "read_file", "tool_input": {"filePath": "{tree}/shop/session.py", "startLine": 1, "endLine": 3}}, [OPEN]),
        ("vscode", {"tool_name": "run_in_terminal", "tool_input": {"command": "make"}}, []),
        ("cursor", {"workspace_roots": ["{tree}"], "tool_name": "Read", "tool_input": {"file_path": "shop/cart.py"}}, [TOTAL]),
        ("cursor", {"file_path": "{tree}/shop/cart.py", "edits": [{"old_string": "a", "new_string": "        return 2"}]}, [TOTAL]),
        ("gemini", {"tool_name": "replace", "tool_input": {"file_path": "{tree}/shop/session.py", "old_string": "x", "new_string": "    return now"}}, [EXPIRE]),
        ("codex", {"tool_name": "Bash", "tool_input": {"command": "sed -n '1,3p' shop/session.py"}}, [OPEN]),
        ("codex", {"tool_name": "Bash", "tool_input": {"command": ["bash", "-lc", "cat shop/cart.py"]}}, [TOTAL]),
        (
            "codex",
            {"tool_name": "apply_patch", "tool_input": {"command": "*** Begin Patch\n*** Update File: shop/session.py\n@@\n-    return 0\n+    return now\n*** End Patch"}},
            [EXPIRE],
        ),
        ("codex", {"tool_name": "Read", "tool_input": {"file_path": "/etc/hostname"}}, []),
    ],
)  # fmt: skip
def test_what_an_agent_reads_or_edits_counts_as_used(agent, given, used, tree, own_data_dir, called):
    learned = waiting(tree, own_data_dir, agent)
    given = json.loads(json.dumps({"cwd": "{tree}", **given}).replace("{tree}", str(tree)))
    assert called("used", "--agent", agent, given=given, cwd=tree) == ("", "")
    assert sorted(one.symbol for one in records(learned)) == sorted(used)
    assert all(one.useful and one.seen for one in records(learned))


def test_what_the_server_showed_and_the_agent_read_is_learned(tree):
    """The whole way: an answer in a session, a hook of the same agent, a verdict."""
    shown = whence("context", "expire idle", cwd=tree, WHENCE_SESSION="claude-code", WHENCE_LEARN_IMPLICIT="true")
    assert "expire_idle" in shown.stdout, shown.stderr
    hook("used", "--agent", "claude-code", given={"cwd": str(tree), "tool_input": {"file_path": "shop/session.py", "offset": 6}}, cwd=tree)
    assert f"{EXPIRE}: 1 useful, 0 not" in whence("feedback", "list", cwd=tree).stdout


def test_a_report_of_another_session_or_with_learning_off_changes_nothing(tree, own_data_dir, called):
    learned = waiting(tree, own_data_dir, "codex")
    given = {"cwd": str(tree), "tool_input": {"file_path": "shop/session.py"}}
    called("used", "--agent", "claude-code", given=given, cwd=tree)
    called("used", "--agent", "codex", given=given, cwd=tree, WHENCE_LEARN_ENABLED="false")
    assert records(learned) == []


def test_where_nothing_was_asked_yet_nothing_is_made(tree, own_data_dir, called):
    called("used", given={"cwd": str(tree), "tool_input": {"file_path": "shop/session.py"}}, cwd=tree)
    assert list(own_data_dir.iterdir()) == []


# An agent is never held up.
@pytest.mark.parametrize(
    ("arguments", "given", "complaint"),
    [
        (["session-start"], "[" * 100_000, "is not JSON"),
        (["used"], "", ""),
        (["used"], '[1, "x"]', ""),
        (["used"], {"tool_input": {"file_path": 7, "edits": "x", "offset": -1, "files": [None]}, "cwd": ["x"]}, ""),
        (["used"], {"tool_input": {"file_path": "a\0b"}}, ""),
        (["session-start"], {"cwd": "/nowhere/at/all"}, ""),
        (["later", "--with", "something"], {}, "whence: unknown hook 'later'; the hooks are session-start, prompt, used\n"),
        ([], {}, "whence: no hook given; the hooks are session-start, prompt, used\n"),
    ],
)
def test_trouble_is_one_line_at_most(arguments, given, complaint, tree, called):
    out, err = called(*arguments, given=given, cwd=tree)
    assert complaint in err
    assert out == ""


def test_a_process_that_is_given_no_json_ends_well(tree):
    assert "standard input is not JSON" in hook("used", given="{no json", cwd=tree).stderr


def test_a_broken_setting_or_store_is_one_line(tree, own_data_dir, called):
    learned = waiting(tree, own_data_dir, "claude-code")
    learned.path.write_bytes(b"no database " * 1000)
    given = {"cwd": str(tree), "tool_input": {"file_path": "shop/session.py"}}
    assert "hook used: " in called("used", given=given, cwd=tree)[1]
    assert "learn.kept" in called("used", given=given, cwd=tree, WHENCE_LEARN_KEPT="no")[1]


def test_it_does_not_wait_for_an_agent_that_says_nothing(tree):
    process = subprocess.Popen(
        [sys.executable, "-m", "whence", "hook", "used"],
        cwd=tree,
        env=environment(),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.wait(timeout=20) == 0
    assert process.stderr is not None
    assert "was stopped" in process.stderr.read()
    process.communicate()
