"""`whence feedback`, run as a person or a hook runs it (L2 to L6, A4)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hindrances import environment
from sample_trees import git, whence, write
from whence import Index
from whence.cli.main import main
from whence.context.feedback.session import PendingFeedback, ReturnedSymbol
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import Verdict, records, say
from whence.core.settings import LearnSettings
from whence.index.layout import Layout

#: Symbols are found by name and their code hashed by these two.
needs_symbols = pytest.mark.skipif(
    not (hasattr(Index, "symbol_keys") and hasattr(Index, "package_hash")),
    reason="Index.symbol_keys and Index.package_hash are not there",
)
Command = Callable[..., str]
CHOSEN = LearnSettings()
FILES = {
    "shop/session.py": "class SessionStore:\n    def open(self):\n        return 1\n\n\ndef expire_idle(now):\n    return now\n",
    "shop/cart.py": "class Cart:\n    def open(self):\n        return 2\n",
}
OPEN = "shop/session.py#SessionStore.open"
EXPIRE = "shop/session.py#expire_idle"

pytestmark = pytest.mark.shared_data


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", FILES)


@pytest.fixture
def learned(tree: Path, data: Path) -> FeedbackStore:
    return FeedbackStore.beside(Layout(data, tree.resolve()).directory)


@pytest.fixture
def feedback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command and gives what it prints; a failure is said on standard error, and nothing else is."""

    def run(*arguments: str, cwd: Path, code: int = 0, **variables: str) -> str:
        with monkeypatch.context() as here:
            here.chdir(cwd)
            for name, value in variables.items():
                here.setenv(name, value)
            assert main(["feedback", *arguments]) == code
        out, err = capsys.readouterr()
        if code == 2:
            assert out == ""
            assert err.startswith("whence: ")
            return err
        assert err == ""
        return out

    return run


def waiting(learned: FeedbackStore, session: str = "") -> PendingFeedback:
    pending = PendingFeedback(learned, CHOSEN, session)
    pending.returned("idle walrus", [ReturnedSymbol(OPEN, "r1", 2, 3), ReturnedSymbol(EXPIRE, "r2", 6, 7)], time.time())
    return pending


# Saying.
@needs_symbols
def test_a_verdict_is_kept_and_listed_with_what_it_is_worth(tree, feedback):
    assert "1 useful, 0 not: +0.250" in feedback("useful", "SessionStore.open", "--task", "idle walrus", cwd=tree)
    assert "0 useful, 1 not: -0.050" in feedback("useless", "expire_idle", cwd=tree)
    listed = feedback("list", cwd=tree).splitlines()
    assert listed == [f"{OPEN}: 1 useful, 0 not: +0.250", f"{EXPIRE}: 0 useful, 1 not: -0.050"]


@needs_symbols
def test_words_of_tasks_are_listed_once_they_lead_somewhere(tree, feedback):
    feedback("useful", "expire_idle", "--task", "the idle walrus", cwd=tree)
    assert "words" not in feedback("list", cwd=tree)
    feedback("useful", "expire_idle", "--task", "walrus feeding", cwd=tree)
    assert f"walrus -> {EXPIRE}: 2 times, 0.30" in feedback("list", cwd=tree)
    words = {one["word"]: (one["count"], one["weight"]) for one in json.loads(feedback("list", "--json", cwd=tree))["words"]}
    assert words["walrus"] == (2, 0.3)
    assert words["feed"] == (1, 0)


@needs_symbols
def test_several_symbols_at_once_are_all_told_of_in_json(tree, feedback):
    told = json.loads(feedback("useful", OPEN, "expire_idle", "--task", "idle", "--json", cwd=tree))
    assert (told["useful"], told["task"]) == (True, "idle")
    assert [(one["symbol"], one["useful"], one["useless"], one["expired"], one["boost"]) for one in told["symbols"]] == [
        (OPEN, 1, 0, 0, 0.25),
        (EXPIRE, 1, 0, 0, 0.25),
    ]


@needs_symbols
def test_a_verdict_expires_with_the_code_and_stays_listed(tree, feedback):
    feedback("useful", "expire_idle", cwd=tree)
    write(tree, {"shop/session.py": FILES["shop/session.py"].replace("return now", "return now + 1")})
    (one,) = json.loads(feedback("list", "--json", cwd=tree))["symbols"]
    assert (one["useful"], one["expired"], one["boost"]) == (0, 1, 0)
    (tree / "shop/session.py").unlink()
    assert feedback("list", cwd=tree) == f"{EXPIRE}: 0 useful, 0 not, 1 expired: +0.000\n"


@needs_symbols
def test_a_name_that_several_have_lists_them_and_nothing_is_kept(tree, learned, feedback):
    told = feedback("useful", "expire_idle", "open", cwd=tree, code=2)
    assert OPEN in told
    assert "shop/cart.py#Cart.open" in told
    assert records(learned) == []


@needs_symbols
def test_a_name_that_nothing_has_is_refused(tree, learned, feedback):
    assert "expire_idel" in feedback("useful", "expire_idel", cwd=tree, code=2)
    assert records(learned) == []


@needs_symbols
def test_what_was_said_is_not_contradicted_by_silence(tree, learned, feedback):
    waiting(learned, "talk")
    feedback("useful", "expire_idle", cwd=tree, WHENCE_SESSION="talk")
    assert PendingFeedback(learned, CHOSEN, "talk").waiting() == [OPEN]


@pytest.mark.parametrize("verdict", ["useful", "useless"])
def test_saying_nothing_of_nothing_is_refused(tree, verdict, feedback):
    assert "SYMBOL" in feedback(verdict, cwd=tree, code=2)


def test_where_learning_is_switched_off_a_verdict_is_refused_and_no_index_built(tree, learned, feedback):
    for arguments in (["useful", "expire_idle"], ["useless", "expire_idle"], ["import", "-"]):
        assert "switched off" in feedback(*arguments, "--set", "learn.enabled=false", cwd=tree, code=2)
    assert not learned.path.parent.exists()


# Listing, exporting, resetting.
def test_where_nothing_was_learned_nothing_is_listed_and_nothing_created(tree, learned, feedback):
    assert feedback("list", cwd=tree, code=1) == "nothing was learned here\n"
    assert json.loads(feedback("list", "--json", cwd=tree, code=1)) == {"enabled": True, "symbols": [], "words": []}
    assert json.loads(feedback("export", cwd=tree)) == {"format": 1, "records": []}
    assert feedback("reset", "--yes", cwd=tree) == "forgot 0 verdicts\n"
    assert not learned.path.parent.exists()


def test_what_was_exported_can_be_taken_in_elsewhere(tree, learned, tmp_path, feedback):
    say(learned, [Verdict(OPEN, True, "r1", "idle walrus", 1.5)], CHOSEN)
    write(tmp_path, {"kept.json": (text := feedback("export", cwd=tree))})
    other = write(tmp_path / "other", FILES)
    git("init", "-q", cwd=other)
    assert json.loads(feedback("import", str(tmp_path / "kept.json"), "--json", cwd=other)) == {"imported": 1}
    assert feedback("import", str(tmp_path / "kept.json"), cwd=other) == "0 new\n"
    assert feedback("export", "--json", cwd=other) == text
    assert feedback("export", "--path", str(other), cwd=tmp_path) == text


def test_a_file_that_is_no_export_is_refused(tree, tmp_path, feedback):
    write(tmp_path, {"other.json": "[]"})
    assert "whence feedback export" in feedback("import", str(tmp_path / "other.json"), cwd=tree, code=2)
    assert "missing.json" in feedback("import", str(tmp_path / "missing.json"), cwd=tree, code=2)
    assert "cannot be read" in feedback("import", str(tmp_path), cwd=tree, code=2)


def test_reset_asks_for_a_yes_and_then_forgets_all(tree, learned, feedback):
    say(learned, [Verdict(OPEN, True, "r1", "", 1.0), Verdict(EXPIRE, True, "r1", "", 1.0)], CHOSEN)
    assert "--yes" in feedback("reset", cwd=tree, code=2)
    assert len(records(learned)) == 2
    assert json.loads(feedback("reset", "--yes", "--json", cwd=tree)) == {"forgotten": 2}
    assert records(learned) == []


def test_reset_of_one_symbol_forgets_that_one_even_when_it_is_gone_from_the_code(tree, learned, feedback):
    say(learned, [Verdict("old/gone.py#Gone.away", True, "r1", "", 1.0), Verdict(EXPIRE, True, "r1", "", 1.0)], CHOSEN)
    assert "--yes" in feedback("reset", "Gone.away", cwd=tree, code=2)
    assert feedback("reset", "away", "--yes", cwd=tree) == "forgot 1 verdicts\n"
    assert [one.symbol for one in records(learned)] == [EXPIRE]
    assert "'away'" in feedback("reset", "away", "--yes", cwd=tree, code=2)


def test_reset_of_a_name_that_several_have_lists_them(tree, learned, feedback):
    say(learned, [Verdict(OPEN, True, "r1", "", 1.0), Verdict("shop/cart.py#Cart.open", True, "r1", "", 1.0)], CHOSEN)
    told = feedback("reset", "open", "--yes", cwd=tree, code=2)
    assert "shop/cart.py#Cart.open" in told
    assert len(records(learned)) == 2


def test_a_damaged_file_is_one_line_and_can_be_reset(tree, learned, feedback):
    write(learned.path.parent, {learned.path.name: b"no database " * 1000})
    assert "damaged" in feedback("list", cwd=tree, code=2)
    assert feedback("reset", "--yes", cwd=tree) == "removed a damaged file\n"
    assert feedback("list", cwd=tree, code=1) == "nothing was learned here\n"


# Signs of use.
def test_a_hook_reports_a_text_and_what_it_names_counts(tree, learned, tmp_path, feedback):
    waiting(learned)
    write(tmp_path, {"edit.txt": "x = expire_idle(now)"})
    assert feedback("used", "--text-file", str(tmp_path / "edit.txt"), cwd=tree) == f"used {EXPIRE}\n"
    assert feedback("used", "--text-file", str(tmp_path / "edit.txt"), cwd=tree, code=1) == ""
    assert [(one.symbol, one.useful, one.task, one.seen) for one in records(learned)] == [(EXPIRE, True, "idle walrus", True)]


def test_a_hook_may_hand_on_the_json_it_was_given(tree, learned):
    waiting(learned)
    given = json.dumps({"tool": "edit", "input": [{"new": "first line\nexpire_idle(now)\n", "times": 1}]})
    done = subprocess.run(
        [sys.executable, "-m", "whence", "feedback", "used", "--text-file", "-", "--json"],
        cwd=tree, env=environment(), input=given, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout) == {"used": [EXPIRE]}, done.stderr


@pytest.mark.parametrize(
    ("place", "symbols"),
    [("session.py", [OPEN, EXPIRE]), ("session.py:3", [OPEN]), ("session.py:4-9", [EXPIRE]), ("session.py:4-5", []), ("cart.py", [])],
)
def test_a_hook_reports_places_relative_to_where_it_runs(tree, learned, place, symbols, feedback):
    (tree / ".git").mkdir()
    write(tree, {".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/x": ""})
    waiting(learned)
    told = feedback("used", "--place", place, "--json", cwd=tree / "shop", code=0 if symbols else 1)
    assert json.loads(told) == {"used": symbols}


def test_a_hook_reports_for_its_own_session(tree, learned, feedback):
    waiting(learned, "talk")
    assert feedback("used", "--symbol", "expire_idle", cwd=tree, code=1) == ""
    assert feedback("used", "--symbol", "expire_idle", cwd=tree, WHENCE_SESSION="talk") == f"used {EXPIRE}\n"
    assert feedback("used", "--symbol", "SessionStore.open", "--session", "talk", cwd=tree) == f"used {OPEN}\n"


def test_where_learning_is_switched_off_a_hook_changes_nothing(tree, learned, feedback):
    waiting(learned)
    assert feedback("used", "--symbol", "expire_idle", cwd=tree, code=1, WHENCE_LEARN_ENABLED="false") == ""
    assert records(learned) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "nothing to look at"),
        (["--text-file", "missing.txt"], "missing.txt: cannot be read"),
        (["--place", "shop/session.py:9-3"], "names no lines"),
        (["--place", "shop/session.py:0"], "names no lines"),
        (["--place", "/elsewhere/session.py"], "is not in"),
        (["--symbol", "x", "--path", "missing"], "no such file or folder"),
        (["--symbol", "x", "--set", "learn.kept=1"], "learn.kept"),
    ],
)
def test_a_report_of_nothing_sensible_is_refused_in_one_line(tree, arguments, complaint, feedback):
    told = feedback("used", *arguments, cwd=tree, code=2)
    assert complaint in told
    assert len(told.splitlines()) == 1


# What was learned is no part of the index.
def test_building_the_index_anew_keeps_what_was_learned(tree, learned):
    say(learned, [Verdict(OPEN, True, "r1", "", 1.0)], CHOSEN)
    learned.close()
    assert whence("index", cwd=tree).returncode == 0
    assert whence("index", "--force", cwd=tree).returncode == 0
    assert len(records(learned)) == 1


def test_repairing_a_damaged_index_keeps_what_was_learned(tree, learned, data):
    Index.open(tree).close()
    say(learned, [Verdict(OPEN, True, "r1", "", 1.0)], CHOSEN)
    Layout(data, tree.resolve()).database.write_bytes(b"no database " * 1000)
    with closing(Index.open(tree)) as index:
        assert "rebuilt" in " ".join(index.notes)
    assert len(records(learned)) == 1


@pytest.mark.parametrize("which", [(), ("--all",)])
def test_clearing_an_index_keeps_what_was_learned_and_says_so_unless_asked_to_remove_that_too(tmp_path, which):
    tree, place = write(tmp_path / "tree", FILES), str(tmp_path / "data")
    assert whence("index", cwd=tree, WHENCE_DATA_DIR=place).returncode == 0
    learned = FeedbackStore.beside(Layout(Path(place), tree.resolve()).directory)
    say(learned, [Verdict(OPEN, True, "r1", "", 1.0)], CHOSEN)
    learned.close()
    told = whence("clear", *which, cwd=tree, WHENCE_DATA_DIR=place).stdout
    assert f"removed {learned.path.parent}" in told
    assert f"kept {learned.path}" in told
    assert [one.name for one in learned.path.parent.iterdir()] == ["learned.db"]
    again = json.loads(whence("clear", *which, "--json", cwd=tree, WHENCE_DATA_DIR=place).stdout)
    assert again == {"removed": [], "kept": [str(learned.path)]}
    whence("clear", *which, "--learned", cwd=tree, WHENCE_DATA_DIR=place)
    assert not learned.path.parent.exists()


def test_a_benchmark_never_sees_what_was_learned():
    from whence_bench.search.run import default_settings

    assert default_settings()["learn.enabled"] is False
