"""The commands of memory, run as a person or a program runs them (M1 to M8, Z10, A4)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hindrances import environment
from sample_histories import commit
from sample_trees import git, write
from terminals import on_a_terminal
from whence.cli.main import main
from whence.memory.memory import Memory
from whence.text import token_estimate

FOUND, NOTHING, FAILED = 0, 1, 2
ESCAPE = "\x1b["
CODE = "class Client:\n    def retry(self):\n        return 5\n\n\nclass Server:\n    def serve(self):\n        return 1\n"
FILES = {"src/net.py": CODE, "src/cart.py": "def total(cart):\n    return sum(cart)\n"}
RETRY = "src/net.py#Client.retry"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
POLICY = "Retry a request five times at most, then give up."


class Done(NamedTuple):
    """What a command printed."""

    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Done]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write(tmp_path_factory.mktemp("original") / "app", FILES)
    git("init", "--quiet", cwd=root)
    commit(root, "first")
    return root


@pytest.fixture
def app(original: Path, tmp_path: Path) -> Path:
    """A repository called `app` for one test to change."""
    subprocess.run(["cp", "-r", str(original), str(tmp_path / "app")], check=True)
    return tmp_path / "app"


@pytest.fixture
def run(app: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in the repository; a failure is one line on standard error and nothing else."""

    def run(*arguments: str, cwd: Path = app, code: int = FOUND, **variables: str) -> Done:
        with monkeypatch.context() as here:
            here.chdir(cwd)
            for name, value in variables.items():
                here.setenv(name, value)
            ended = main([*arguments])
        done = Done(*capsys.readouterr())
        assert ended == code, done
        if code == FAILED:
            assert done.out == ""
            assert done.err.startswith("whence: ")
            assert done.err.count("\n") == 1
        return done

    return run


def piped(text: bytes, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own, with a text on its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "whence", *arguments], cwd=cwd, env=environment(), input=text, capture_output=True, check=False, timeout=60
    )


def change_the_code(app: Path) -> None:
    (app / "src/net.py").write_text(CODE.replace("return 5", "return 9"), encoding="utf-8")


def file_of(key: str) -> Path:
    return Path(os.environ["WHENCE_DATA_DIR"], "notes", f"{key}.md")


# Remembering.
def test_a_note_gets_the_key_of_its_repository_and_topic_and_is_a_file(run):
    assert run("remember", POLICY, "--topic", "Retry policy", "--tag", "net").out == "app/retry-policy\n"
    assert file_of("app/retry-policy").read_text(encoding="utf-8").endswith(f"---\n\n{POLICY}\n")


def test_a_note_outside_of_a_repository_belongs_to_no_project(run, tmp_path):
    assert run("remember", "Tea at four", cwd=tmp_path).out == "general/tea-at-four\n"
    assert run("remember", "Tea at five", "--project", "home", cwd=tmp_path).out == "home/tea-at-five\n"


def test_the_same_topic_replaces_and_says_so(run):
    run("remember", "Retry three times", "--topic", "retry policy")
    assert re.fullmatch(
        r"app/retry-policy \(replaces the one of \d{4}-\d\d-\d\d \d\d:\d\d UTC; 1 earlier version\)\n",
        run("remember", POLICY, "--topic", "Retry Policy").out,
    )
    stored = run("remember", "Never retry", "--topic", "retry policy", "--json").json
    assert (stored["note"]["text"], stored["replaced"], stored["earlier_versions"]) == ("Never retry", True, 2)


def test_what_is_piped_in_is_stored_to_the_letter(run, app):
    text = b"  two spaces, a tab\tand \xc3\xbc\r\n\n---\nno: front matter\n\n"
    assert piped(text, "remember", "--topic", "odd", cwd=app).stdout == b"app/odd\n"
    assert piped(b"", "show", "odd", "--text", cwd=app).stdout == text


def test_a_dash_reads_standard_input_too_and_bytes_that_are_no_text_are_refused(app):
    assert piped(b"Use the queue", "remember", "-", cwd=app).stdout == b"app/use-the-queue\n"
    done = piped(b"one\ntwo \xff\n", "remember", cwd=app)
    assert (done.returncode, done.stdout) == (FAILED, b"")
    assert done.stderr == b"whence: standard input is not UTF-8: line 2; nothing was stored\n"


def test_a_terminal_is_not_waited_for(app):
    written, code = on_a_terminal("remember", cwd=app)
    assert code == FAILED
    assert "there is no text to remember" in written


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("remember", "  "), "the note is empty"),
        (("remember", "x", "--kind", "poem"), "unknown kind 'poem'"),
        (("remember", "x", "--valid-until", "soon"), "valid_until = 'soon' is not a date"),
        (("remember", "x", "--valid-from", "2026-02-01", "--valid-until", "2026-01-01"), "expire before it becomes valid"),
        (("remember", "x", "--about", "src/net.py#Client.retri"), "nearest: Client.retry"),
        (("remember", "x", "--about", "src/nte.py"), "no such file: src/nte.py"),
        (("remember", "x", "--about", "/src/net.py"), "/src/net.py is in no repository"),
        (("remember", "x", "--team", "--notes", "there"), "--team and --notes name two folders"),
        (("recall",), "the question is empty"),
        (("recall", "x", "--kind", "poem"), "unknown kind 'poem'"),
        (("recall", "x", "--since", "whenever"), "since = 'whenever' is not a date"),
        (("recall", "x", "--strategy", "guess"), "unknown strategy 'guess'"),
        (("recall", "x", "--max-distance", "9"), "max_distance 9.0 is out of range"),
        (("recall", "x", "-k", "0"), "k = 0 is not allowed"),
        (("show", "nothing-here"), "there is no note 'nothing-here'"),
        (("show", "../../etc/passwd"), "there is no note"),
        (("archive", "nothing-here"), "there is no note 'nothing-here'"),
        (("forget", "nothing-here", "--yes"), "there is no note 'nothing-here'"),
        (("edit", "nothing-here", "--text", "x"), "there is no note 'nothing-here'"),
        (("list", "--notes", "src/net.py"), "is a file"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_a_wrong_request_is_one_line(run, arguments, said):
    assert said in run(*arguments, code=FAILED).err


def test_a_secret_is_refused_with_its_line_and_redacted_on_request(run):
    text = f"The token is\n{SECRET}\nfor now"
    refused = run("remember", text, "--topic", "token", code=FAILED).err
    assert "line 2: github" in refused
    assert SECRET not in refused
    run("remember", text, "--topic", "token", "--redact")
    assert SECRET not in file_of("app/token").read_text(encoding="utf-8")


def test_a_secret_written_by_hand_is_kept_in_its_file_and_not_shown(run):
    run("remember", "The token is below", "--topic", "token")
    file_of("app/token").write_text(f"---\ntopic: token\n---\n\nThe token is\n{SECRET}\n", encoding="utf-8")
    shown = run("show", "token")
    assert "app/token: not shown, for it looks like a secret: line 2: github" in shown.err
    for done in (shown, run("show", "token", "--json"), run("list", "--json"), run("recall", "token"), run("recall", "token", "--json")):
        assert "The token is" in done.out
        assert SECRET not in done.out + done.err


def test_code_is_named_from_the_current_folder_or_from_the_root(run, app):
    for given in ("net.py#Client.retry", "../src/net.py#Client.retry", "src/net.py#Client.retry"):
        note = run("remember", "x", "--topic", given, "--about", given, "--json", cwd=app / "src").json["note"]
        assert [one["code"] for one in note["about"]] == [RETRY]


# Handoffs.
def test_a_handoff_is_of_the_branch_and_replaces_the_one_before(run, app):
    git("checkout", "--quiet", "-b", "faster-parser", cwd=app)
    assert run("handoff", "Half done").out == "app/handoff-faster-parser\n"
    assert "1 earlier version" in run("handoff", "Nearly done").out
    assert run("handoff", "Elsewhere", "--branch", "main").out == "app/handoff-main\n"
    assert run("show", "handoff-faster-parser", "--json").json["note"]["kind"] == "handoff"


def test_a_handoff_outside_of_a_repository_needs_a_branch(run, tmp_path):
    assert "there is none here" in run("handoff", "Half done", cwd=tmp_path, code=FAILED).err


# Recalling.
@pytest.fixture
def filled(run: Command, app: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Some notes of several kinds."""
    queue = "The queue takes what was given up\nafter all attempts.\n\nOne\nTwo\nThree\nFour"
    with monkeypatch.context() as here:
        here.chdir(app)
        with Memory.open() as memory:
            memory.remember(POLICY, project="app", topic="retry policy", tags=["net"], about=[RETRY])
            memory.remember(queue, project="app", kind="resource", tags=["queue"])
            memory.remember("Invoices are rounded to cents", project="shop", topic="rounding")
    return lambda *arguments, **how: run(*arguments, *(["--everywhere"] if arguments[0] not in ("search", "context") else []), **how)


def test_a_note_is_found_with_its_label_score_day_topic_tags_and_text(filled):
    lines = filled("recall", "how", "often", "to", "retry", "a", "request", "-k", "1").out.splitlines()
    assert re.fullmatch(r" 1 exact: app/retry-policy  \d+\.\d\d  \d{4}-\d\d-\d\d  retry policy  #net", lines[0])
    assert lines[1:] == [f"      {POLICY}"]


def test_a_note_of_another_kind_than_usual_says_its_kind(filled):
    shown = filled("recall", "give up after some attempts of a request").out
    assert "[resource]" in shown
    assert "[durable]" not in shown


def test_of_a_long_note_the_lines_that_matter_are_shown_and_all_of_it_on_request(filled):
    shown = filled("recall", "queue", "--tag", "queue").out
    assert "The queue takes" in shown
    assert "Four" not in shown
    assert "more lines" in shown
    assert "      Four\n" in filled("recall", "queue", "--tag", "queue", "--full").out


def test_an_answer_can_be_narrowed(filled):
    def keys(*narrowed: str) -> list[str]:
        return [note["key"] for note in filled("recall", "retry queue rounding", "--json", *narrowed).json["notes"]]

    assert keys("--project", "shop") == ["shop/rounding"]
    assert keys("--topic", "Rounding") == ["shop/rounding"]
    assert keys("--kind", "resource") == keys("--tag", "queue") == ["app/the-queue-takes-what-was-given-up-after"]
    assert len(keys("--since", "today")) == 3


def test_what_no_longer_holds_is_left_out_unless_asked_for(filled):
    filled("remember", "Retry as of old", "--topic", "old", "--valid-from", "2020-01-01", "--valid-until", "2021-01-01")
    assert "app/old" not in filled("recall", "retry of old").out
    assert "app/old" in filled("recall", "retry of old", "--all").out
    assert "app/old" in filled("recall", "retry of old", "--as-of", "2020-06-01").out
    assert [note["key"] for note in filled("list", "--as-of", "2020-06-01", "--topic", "old", "--json").json["notes"]] == ["app/old"]


def test_nothing_found_says_how_many_notes_were_searched(filled):
    assert filled("recall", "zyxwvu", code=NOTHING) == Done("", "nothing found; 3 notes searched\n")
    assert filled("recall", "zyxwvu", "--project", "shop", code=NOTHING).err == "nothing found; 1 of 3 notes were searched\n"
    assert filled("recall", "zyxwvu", "--json", code=NOTHING).json["notes"] == []


def test_an_answer_by_words_alone_opens_with_a_warning(filled):
    shown = filled("recall", "cents", "--set", "memory.model=none").out.splitlines()
    assert shown[0].startswith("low confidence: ")
    assert shown[1].startswith(" 1 keyword-only: shop/rounding")
    assert filled("recall", "cents", "--set", "memory.model=none", "--json").json["low_confidence"] is True


def test_json_has_the_documented_fields(filled):
    told = filled("recall", "retry", "-k", "1", "--why", "--json").json
    assert set(told) == {"query", "count", "searched", "low_confidence", "notes"}
    assert (told["query"], told["count"], told["searched"], told["low_confidence"]) == ("retry", 1, 3, False)
    (note,) = told["notes"]
    assert set(note) == set(
        "key project topic kind category tags source created updated valid_from valid_until archived about trouble text"
        " score label semantic distance changed alike passage why provenance".split()
    )
    assert (note["key"], note["text"], note["tags"], note["label"]) == ("app/retry-policy", POLICY, ["net"], "exact")
    assert sum(line["contribution"] for line in note["why"] if line["operation"] == "+") == pytest.approx(note["score"])


def test_why_shows_the_ledger(filled):
    assert re.search(r"^      \+ +\d+\.\d{3}  note_strength +shares retry$", filled("recall", "retry", "--why").out, re.MULTILINE)


def test_notes_that_say_the_same_are_shown_once(filled):
    for project in ("one", "two", "three"):
        filled("remember", "Deploy from the green branch only", "--project", project)
    shown = filled("recall", "which branch to deploy from").out
    assert shown.count("Deploy from") == 1
    assert re.search(r"^      and 2 alike: \S+, \S+$", shown, re.MULTILINE)


def test_a_note_edited_by_hand_is_found_under_its_new_words(filled):
    file = file_of("shop/rounding")
    file.write_text(file.read_text(encoding="utf-8").replace("Invoices", "Zeppelins"), encoding="utf-8")
    assert "shop/rounding" in filled("recall", "zeppelins").out


def test_stages_of_a_question_can_be_traced(filled, tmp_path):
    filled("recall", "retry", "--trace", str(tmp_path / "trace"))
    assert all(map(json.loads, (tmp_path / "trace").read_text(encoding="utf-8").splitlines()))


# Code that changes.
def test_a_note_whose_code_has_changed_says_so(filled, app):
    assert filled("recall", "--stale", code=NOTHING).err == "nothing stale found; 3 notes searched\n"
    change_the_code(app)
    said = f"      the code has changed since: {RETRY}\n"
    assert said in filled("recall", "retry").out
    assert said in filled("recall", "--stale").out
    assert filled("recall", "retry", "--stale", "--json").json["count"] == 1
    assert filled("recall", "rounding", "--project", "shop", "--stale", code=NOTHING).out == ""
    changed = filled("recall", "--stale", "--json").json["notes"][0]["changed"]
    assert changed == [{"code": RETRY, "said": "the code has changed since"}]
    (app / "src/net.py").unlink()
    assert filled("show", "retry-policy").err == f"whence: app/retry-policy: the code is gone: {RETRY}\n"


# Lists.
def test_a_list_has_a_line_for_each_note_with_tabs_in_a_pipe(filled):
    rows = [line.split("\t") for line in filled("list").out.splitlines()]
    assert [(row[0], row[2], row[3], row[4]) for row in rows] == [
        ("app/retry-policy", "durable", "retry policy", "#net"),
        (
            "app/the-queue-takes-what-was-given-up-after",
            "resource",
            "The queue takes what was given up after all attempts. One Two",
            "#queue",
        ),
        ("shop/rounding", "durable", "rounding", ""),
    ]


def test_a_list_says_how_many_there_are_beside_those_shown(filled):
    done = filled("list", "-k", "1")
    assert (done.out.count("\n"), done.err) == (1, "and 2 more (-k shows more of them)\n")
    assert filled("list", "-k", "1", "--json").json["more"] == 2


def test_a_list_of_nothing_says_where_it_looked(run):
    done = run("list", code=NOTHING)
    assert done == Done("", f"no notes in {os.environ['WHENCE_DATA_DIR']}/notes\n")


def test_on_a_terminal_a_list_is_aligned_and_control_characters_are_not_sent(run, app):
    run("remember", "beep \x07 and \x1b]0;title", "--topic", "bell")
    run("remember", "x", "--topic", "a longer one")
    listed, code = on_a_terminal("list", cwd=app)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", listed).splitlines()
    assert code == FOUND
    assert len({line.index("durable") for line in lines}) == 1
    for command in (("show", "bell"), ("recall", "beep", "--full")):
        written, code = on_a_terminal(*command, cwd=app)
        assert code == FOUND
        assert "\x07" not in written
        assert "\x1b]" not in written
        assert "\\x07" in written


# Showing.
def test_a_note_is_shown_as_its_file_has_it(filled):
    assert filled("show", "retry-policy").out == file_of("app/retry-policy").read_text(encoding="utf-8")
    assert filled("show", "app/retry-policy", "--text").out == POLICY


def test_a_history_can_be_listed_and_shown(filled):
    filled("remember", "Never retry", "--topic", "retry policy")
    rows = [line.split("\t") for line in filled("show", "retry-policy", "--history").out.splitlines()]
    assert [(row[0], row[3][:8], row[4]) for row in rows] == [("1", "Retry a ", ""), ("2", "Never re", "now")]
    assert filled("show", "retry-policy", "--version", "1", "--text").out == POLICY
    assert filled("show", "retry-policy", "--version", "2", "--text").out == "Never retry"
    assert [one["text"] for one in filled("show", "retry-policy", "--history", "--json").json["versions"]] == [POLICY, "Never retry"]
    assert "has 2 versions, not 3" in filled("show", "retry-policy", "--version", "3", code=FAILED).err


def test_a_file_that_is_no_note_is_shown_with_what_is_wrong(filled):
    file_of("app/retry-policy").write_text("---\nkind: poem\n---\n\nRoses\n", encoding="utf-8")
    done = filled("show", "retry-policy")
    assert "Roses" in done.out
    assert "whence: app/retry-policy: line 2: kind: 'poem' is not one of" in done.err
    assert "line 2: kind" in filled("recall", "roses").out


# Editing.
def test_fields_of_a_note_can_be_changed_one_by_one(filled):
    assert filled("edit", "retry-policy", "--text", "Retry six times", "--tag", "http", "--kind", "skill").out == "app/retry-policy\n"
    note = filled("show", "retry-policy", "--json").json["note"]
    assert (note["text"], note["tags"], note["kind"], note["topic"]) == ("Retry six times", ["http"], "skill", "retry policy")
    filled("edit", "retry-policy", "--valid-until", "2030-01-01", "--tag", "")
    filled("edit", "retry-policy", "--valid-until", "", "--about", "src/cart.py#total")
    note = filled("show", "retry-policy", "--json").json["note"]
    assert (note["tags"], note["valid_until"], note["about"][0]["code"]) == ([], None, "src/cart.py#total")
    assert len(filled("show", "retry-policy", "--history", "--json").json["versions"]) == 4


def test_a_note_can_be_edited_in_an_editor(filled):
    assert filled("edit", "retry-policy", EDITOR="sed -i -e s/five/six/ -e s/durable/skill/").out == "app/retry-policy\n"
    note = filled("show", "retry-policy", "--json").json["note"]
    assert (note["text"], note["kind"], note["about"][0]["code"]) == (POLICY.replace("five", "six"), "skill", RETRY)
    assert filled("edit", "retry-policy", VISUAL="true", EDITOR="false").out == "app/retry-policy is as it was\n"


@pytest.mark.parametrize(
    ("editor", "said"),
    [
        ("sed -i s/durable/poem/", "kind: 'poem' is not one of"),
        (f"sed -i s/five/{SECRET}/", "line 1: github"),
        ("sed -i $d", "the note is empty"),
    ],
)
def test_an_edit_that_cannot_be_stored_is_kept_and_named(filled, editor, said, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if said == "the note is empty":
        filled("edit", "retry-policy", "--text", "one line")
    err = filled("edit", "retry-policy", EDITOR=editor, code=FAILED).err
    assert said in err
    assert SECRET not in err
    kept = re.search(r"your edit is in (\S+)\)", err)
    assert kept is not None
    assert Path(kept[1]).read_text(encoding="utf-8").startswith("---\n")
    assert "poem" not in filled("show", "retry-policy").out


def test_an_editor_that_fails_changes_nothing_and_leaves_nothing(filled, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("VISUAL", raising=False)
    assert "ended with 1" in filled("edit", "retry-policy", EDITOR="false", code=FAILED).err
    assert "cannot be run" in filled("edit", "retry-policy", EDITOR="no-such-editor", code=FAILED).err
    assert "there is no editor" in filled("edit", "retry-policy", EDITOR="", code=FAILED).err
    assert list(tmp_path.glob("whence-*")) == []


def test_what_another_writes_during_an_edit_is_not_lost(filled, tmp_path):
    script = tmp_path / "editor.sh"
    script.write_text(f'#!/bin/sh\nsed -i s/five/six/ "$1"\nsed -i s/five/ten/ "{file_of("app/retry-policy")}"\n', encoding="utf-8")
    assert "another has changed it since" in filled("edit", "retry-policy", EDITOR=f"sh {script}", code=FAILED).err
    assert "ten times" in filled("show", "retry-policy").out


# Letting go.
def test_an_archived_note_is_out_of_recall_until_it_is_restored(filled):
    assert filled("archive", "retry-policy", "rounding").out == "archived app/retry-policy\narchived shop/rounding\n"
    assert "retry-policy" not in filled("recall", "retry", code=NOTHING).out
    assert "retry-policy" in filled("recall", "retry", "--all").out
    assert filled("list", "--json").json["count"] == 1
    assert filled("list", "--all", "--json").json["count"] == 3
    assert filled("archive", "retry-policy", "--restore", "--json").json == {"restored": ["app/retry-policy"]}
    assert "retry-policy" in filled("recall", "retry").out


def test_when_one_of_several_notes_is_not_there_nothing_is_done(filled):
    filled("archive", "retry-policy", "nothing-here", code=FAILED)
    filled("forget", "retry-policy", "nothing-here", "--yes", code=FAILED)
    assert filled("list", "--json").json["count"] == 3


def test_forgetting_needs_a_yes(filled, app):
    filled("remember", "Never retry", "--topic", "retry policy")
    assert "would forget app/retry-policy" in filled("forget", "retry-policy", code=FAILED).err
    written, code = on_a_terminal("forget", "retry-policy", cwd=app, typed="n\n")
    assert (code, "nothing was forgotten" in written) == (NOTHING, True)
    written, code = on_a_terminal("forget", "retry-policy", cwd=app, typed="y\n")
    assert (code, "forgotten app/retry-policy" in written) == (FOUND, True)
    assert not file_of("app/retry-policy").exists()
    assert not list(file_of("app/retry-policy").parent.rglob("retry-policy*"))
    assert filled("forget", "rounding", "--yes", "--json").json == {"forgotten": ["shop/rounding"]}


# Many notes.
def test_compaction_is_a_plan_until_it_is_applied(filled):
    filled("remember", "Retry as of old", "--topic", "old", "--valid-until", "2021-01-01")
    plan = filled("compact")
    assert plan.out.split("\t")[:2] == ["archive", "app/old"]
    assert plan.err == "nothing was changed; --apply does it\n"
    assert filled("show", "old", "--json").json["note"]["archived"] is None
    done = filled("compact", "--apply", "--json").json
    assert (done["applied"], [(step["action"], step["key"]) for step in done["steps"]]) == (True, [("archive", "app/old")])
    assert filled("show", "old", "--json").json["note"]["archived"]
    assert filled("compact", "--apply").err == "nothing to do\n"


def test_markdown_can_be_imported_again_and_again(run, tmp_path):
    vault = write(tmp_path / "vault", {"one.md": "# First\n\nAlpha\n", "two.md": "# Second\n\nBeta\n", "bad.md": f"# Third\n\n{SECRET}\n"})
    done = run("import", str(vault), "--project", "vault")
    assert done.out == "2 new, 0 changed, 0 unchanged, 1 problem\n"
    assert "bad.md" in done.err
    assert SECRET not in done.err
    again = run("import", str(vault), "--project", "vault", "--redact", "--json").json
    assert (again["new"], again["changed"], again["unchanged"], again["problems"]) == (1, 0, 2, [])
    assert "vault/" in run("recall", "alpha", "--project", "vault").out


def test_an_import_of_nothing_says_so(run, tmp_path):
    (tmp_path / "empty").mkdir()
    assert run("import", str(tmp_path / "empty"), code=NOTHING).out == "0 new, 0 changed, 0 unchanged\n"
    assert "no such file or folder" in run("import", str(tmp_path / "not-there"), code=FAILED).err


def test_an_export_is_what_an_import_takes_in(filled, tmp_path):
    before = filled("export", "-").out
    assert len([json.loads(line) for line in before.splitlines()]) == 3
    assert filled("export", str(tmp_path / "notes.jsonl")).out == f"3 notes in {tmp_path}/notes.jsonl\n"
    assert (tmp_path / "notes.jsonl").read_text(encoding="utf-8") == before
    assert filled("export", str(tmp_path / "folder"), "--project", "app", "--json").json["exported"] == 2
    assert (tmp_path / "folder/app/retry-policy.md").read_bytes() == file_of("app/retry-policy").read_bytes()
    other = str(tmp_path / "other")
    assert filled("import", str(tmp_path / "notes.jsonl"), "--notes", other).out == "3 new, 0 changed, 0 unchanged\n"
    assert filled("export", "-", "--notes", other).out == before
    assert filled("export", "-", "--notes", str(tmp_path / "none"), code=NOTHING).out == ""


# Whose notes.
def test_the_notes_of_a_team_lie_in_its_repository(run, app, tmp_path):
    assert run("remember", POLICY, "--topic", "retry policy", "--about", RETRY, "--team").out == "app/retry-policy\n"
    text = (app / ".whence/notes/app/retry-policy.md").read_text(encoding="utf-8")
    assert str(app) not in text
    assert run("recall", "retry", code=NOTHING).out == ""
    assert "app/retry-policy" in run("recall", "retry", "--set", "memory.place=repository").out
    change_the_code(app)
    assert f"the code has changed since: {RETRY}" in run("recall", "retry", "--team", cwd=app / "src").out
    assert "team notes need a repository" in run("recall", "retry", "--team", cwd=tmp_path, code=FAILED).err


def test_notes_can_be_kept_in_any_folder(run, tmp_path):
    run("remember", POLICY, "--notes", str(tmp_path / "mine"))
    assert run("list", "--notes", str(tmp_path / "mine"), "--json").json["count"] == 1
    assert run("list", code=NOTHING).out == ""


# Notes beside answers about code.
def test_a_search_names_the_notes_that_speak_of_what_it_finds(filled, app):
    line = f"note: app/retry-policy speaks of {RETRY}"
    assert f"{line}\n" in filled("search", "retry client").out
    assert "note:" not in filled("search", "total cart", "--include", "*cart*").out
    assert "note:" not in filled("search", "retry client", "-l").out
    change_the_code(app)
    assert f"{line} (the code has changed since)\n" in filled("search", "retry client").out
    notes = filled("search", "retry client", "--json").json["notes"]
    assert notes == [{"key": "app/retry-policy", "codes": [RETRY], "changed": [{"code": RETRY, "said": "the code has changed since"}]}]


def test_notes_that_recall_would_not_find_are_not_named(filled):
    filled("archive", "retry-policy")
    filled("remember", "x", "--topic", "old", "--about", RETRY, "--valid-until", "2021-01-01")
    filled("remember", "x", "--topic", "made", "--about", RETRY, "--kind", "summary")
    filled("remember", "x", "--topic", "gone", "--about", RETRY)
    file_of("app/gone").unlink()
    assert "note:" not in filled("search", "retry client").out
    assert "notes" not in filled("search", "retry client", "--json").json


def test_of_many_notes_three_are_named_and_the_rest_is_counted(filled):
    for number in range(4):
        filled("remember", "x", "--topic", f"number {number}", "--about", "src/net.py")
    lines = [line for line in filled("search", "retry client").out.splitlines() if line.startswith("note:")]
    assert [line.split()[1] for line in lines] == ["app/number-0", "app/number-1", "app/number-2", "and"]
    assert lines[-1] == "note: and 2 more"


def test_context_names_notes_of_its_symbols_outside_of_its_budget(filled):
    filled("remember", "x", "--topic", "serving", "--about", "src/net.py#Server.serve")
    done = filled("context", "retry of the client", "--list", "-k", "2")
    assert f"note: app/retry-policy speaks of {RETRY}\n" in done.out
    assert "serving" not in done.out
    done = filled("context", "retry of the client")
    assert "note:" not in done.out
    assert f"note: app/retry-policy speaks of {RETRY}\n" in done.err


def test_context_in_json_has_notes_where_its_budget_has_room(filled):
    told = filled("context", "retry of the client", "--json")
    assert told.json["notes"][0]["key"] == "app/retry-policy"
    assert told.json["tokens"] == token_estimate.count_tokens(told.out)
    least = told.json["tokens"] - 1
    tight = filled("context", "retry of the client", "--json", "--budget", str(least))
    assert tight.json["tokens"] == token_estimate.count_tokens(tight.out) <= least
    assert ("notes" in tight.json) != ("note: app/retry-policy" in tight.err)


def test_the_notes_of_a_team_are_named_where_the_project_says_so(run, app):
    run("remember", POLICY, "--topic", "retry policy", "--about", RETRY, "--team")
    assert "note:" not in run("search", "retry client").out
    (app / ".whence.toml").write_text('[memory]\nplace = "repository"\n', encoding="utf-8")
    assert "note: app/retry-policy" in run("search", "retry client").out


def test_without_notes_a_search_makes_no_folder_for_them(run):
    run("search", "retry client")
    assert not Path(os.environ["WHENCE_DATA_DIR"], "notes").exists()
    assert not Path(os.environ["WHENCE_DATA_DIR"], "memory").exists()


def test_without_notes_a_search_loads_nothing_of_memory(app):
    program = (
        "import sys\nfrom whence.cli.main import main\nmain(['search', 'retry'])\n"
        "print(*[name for name in sys.modules if name.startswith('whence.memor')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=app, env=environment(), capture_output=True, text=True, check=True)
    assert done.stderr.split() == []


def test_what_is_damaged_in_the_index_over_notes_does_not_stop_a_search(filled):
    for database in Path(os.environ["WHENCE_DATA_DIR"], "memory").rglob("*.db"):
        database.write_bytes(b"no database" * 1_000)
    assert "src/net.py" in filled("search", "retry client").out
    assert "app/retry-policy" in filled("recall", "retry").out


def test_a_file_that_is_in_no_project_is_named_and_not_taken_for_a_note(filled):
    place = Path(os.environ["WHENCE_DATA_DIR"], "notes", "lost.md")
    place.write_text("Nobody asked for it.\n", encoding="utf-8")
    assert "1 file is not taken for notes: lost.md" in filled("list").err


def test_a_key_with_a_line_shows_the_note_from_that_line_on(filled):
    filled("remember", "One\nTwo\nThree", "--topic", "counting lines")
    assert filled("show", "counting-lines#2").out == "Two\nThree"
