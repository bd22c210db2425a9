"""`--budget TOKENS` holds for every command there is, in every form, and says what was left out (P2, Z4)."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from sample_histories import commit
from sample_trees import SOURCES, git, whence, write
from small_cases import each
from terminals import on_a_terminal
from whence.cli.main import cli, main
from whence.cli.shared import UNBOUNDED
from whence.memory.memory import Memory
from whence.text.token_estimate import count_tokens

BUDGETS = (60, 200, 1_000)
CLOSING = re.compile(r"budget: (\d+) asked, (\d+) given, (?:nothing left out|(\d+) lines? left out; --budget (\d+) gives all)\n")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SESSION = "class Session:\n    def open_session(self, token):\n        return self.check_token(token)\n\n    def check_token(self, token):\n        return token\n"
FILES = {"shop/session.py": SESSION, "README.md": "# Shop\n"} | {
    f"shop/part_{n}.py": f"from shop.session import Session\n\n\ndef run():\n    return part_{n}()\n\n\ndef part_{n}():\n"
    f'    """Open a session for part {n}."""\n    return Session().open_session("{n}")\n'
    for n in range(40)
} | {f"tests/test_{n}.py": f"from shop.part_{n} import part_{n}\n\n\ndef test_part():\n    assert part_{n}()\n" for n in range(5)}  # fmt: skip
#: What each command is given; `{n}` is another number in each run. A command that is not here is run with nothing.
ARGUMENTS = {
    "search": ["open session"],
    "related": ["shop/part_1.py:9"],
    "why": ["open session", "shop/part_1.py"],
    "remember": ["Keep the token of session {n} for a day. " * 40, "--topic", "kept {n}"],
    "recall": ["how long are tokens kept"],
    "handoff": ["Sessions open; the token of {n} is next."],
    "show": ["topic-1"],
    "edit": ["topic-2", "--tag", "tag-{n}"],
    "archive": ["topic-{n}", "topic-3"],
    "forget": ["gone-{n}", "--yes"],
    "import": ["README.md"],
    "callers": ["open_session"],
    "callees": ["part_1"],
    "impact": ["check_token"],
    "path": ["test_1.py#test_part", "check_token"],
    "tests": ["open_session"],
    "enrich": ["--lang", "python", "--server", "no-such-server"],
    "ingest traces": ["../spans.json"],
    "ingest scip": ["no-such-index"],
    "model get": ["/no/such/model"],
    "model remove": ["no-such-model"],
    "status": ["--files"],
    "pack export": ["no-such-folder"],
    "pack import": ["no-such-pack"],
    "doctor": ["no-such-folder"],
    "feedback useful": ["open_session", "check_token", "part_{n}"],
    "feedback useless": ["part_{n}"],
    "feedback import": ["../verdicts.json"],
    "feedback used": ["--symbol", "open_session"],
    "feedback reset": ["--yes"],
    "clear": [".."],
    "fleet add": ["."],
    "fleet remove": ["shop"],
}
#: Needs what is not here (a benchmark, a language server, a fleet) or long (every grammar): refused here, which is no answer either.
REFUSED = ("bench ", "enrich", "doctor", "pack ", "fleet ", "ingest scip", "model get")


class Done(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def printed(*arguments: str) -> Done:
    """Run a command in this process; its output is bytes that are read as a program would read them."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(arguments))
    out.flush()
    err.flush()
    return Done(code, *(stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)))  # type: ignore[attr-defined]


def commands(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by the words that call it."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for below in command.list_commands(context):
        found = command.get_command(context, below)
        assert found is not None
        yield from commands(found, f"{name} {below}".strip())


COMMANDS = dict(commands(cli))


def takes(name: str, option: str) -> bool:
    return any(option in param.opts for param in COMMANDS[name].params)


@pytest.fixture(autouse=True)
def own_data_dir(data: Path, shop: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One data directory for all of these tests, nothing of the user's, and the shop as the place where commands are run."""
    for name, value in {"WHENCE_DATA_DIR": data, "XDG_CONFIG_HOME": data / "config", "HOME": data / "home"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(shop)
    return data


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """A repository with an index and notes."""
    root = write(tmp_path_factory.mktemp("around") / "shop", FILES)
    write(root.parent, {"spans.json": '{"resourceSpans": []}', "verdicts.json": '{"format": "whence-feedback-1", "records": []}'})
    git("init", "--quiet", cwd=root)
    commit(root, "first")
    (data / "home").mkdir()
    environment = {**os.environ, "WHENCE_DATA_DIR": str(data), "XDG_CONFIG_HOME": str(data / "config")}
    made = whence("feedback", "export", cwd=root, **environment)
    (root.parent / "verdicts.json").write_text(made.stdout)
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        with Memory.open(repository=root) as memory:
            for number in range(12):
                memory.remember("Tokens are kept for a day. " * 30, project="shop", topic=f"topic {number}")
                memory.remember("To be forgotten.", project="shop", topic=f"gone {number}")
    finally:
        os.environ.clear()
        os.environ.update(before)
    return root


# Every command.
def test_every_command_has_a_budget_but_those_that_cannot():
    without = {name for name in COMMANDS if not takes(name, "--budget")}
    assert without == {name for name in COMMANDS if UNBOUNDED & {name, name.partition(" ")[0]}}


@pytest.mark.parametrize("name", [name for name in COMMANDS if takes(name, "--budget") and name != "context"])
def test_what_a_command_prints_costs_what_it_says_and_no_more_than_asked(name):
    forms = [[], ["--json"]] if takes(name, "--json") and not name.startswith("bench") else [[]]
    for number, (budget, form) in enumerate((budget, form) for budget in BUDGETS for form in forms):
        given = [one.replace("{n}", str(number)) for one in ARGUMENTS.get(name, ["--corpus", "none"] if name.startswith("bench") else [])]
        done = printed(*name.split(), *given, "--budget", str(budget), *form)
        assert "Traceback" not in done.err
        if name.startswith(REFUSED):
            assert (done.code, done.out) == (2, "")
            assert done.err
            continue
        assert done.code in (0, 1)
        assert count_tokens(done.out) <= budget
        if form:
            told = json.loads(done.out)["budget"]
            assert (told["asked"], told["given"]) == (budget, count_tokens(done.out))
            assert bool(told["left_out"]) == bool(told["rest"])
        else:
            closing = CLOSING.fullmatch(done.out.splitlines(keepends=True)[-1])
            assert closing is not None, done
            assert (int(closing[1]), int(closing[2])) == (budget, count_tokens(done.out))


@each("name", ["search", "related", "why", "recall", "list", "show", "callers", "impact", "status", "config"])
def test_the_number_that_is_named_gives_all(name):
    asked = [name, *ARGUMENTS.get(name, [])]
    cut = printed(*asked, "--budget", "60")
    closing = CLOSING.fullmatch(cut.out.splitlines(keepends=True)[-1])
    assert closing is not None
    assert closing[3], "nothing was left out"
    whole = printed(*asked, "--budget", closing[4])
    plain = printed(*asked)
    assert whole.out.endswith("nothing left out\n")
    assert without_time(whole.out.rpartition("budget: ")[0]) == without_time(plain.out)
    assert (cut.code, cut.err) == (whole.code, whole.err) == (plain.code, plain.err)


def without_time(text: str) -> str:
    return re.sub(r"indexed \d+ s ago", "", text)


# Forms.
def test_paths_lines_and_counts_are_cut_as_lines():
    for form in (["-l"], ["-n"], ["-c"]):
        whole = printed("search", "-e", "session", *form).out.splitlines()
        *lines, last = printed("search", "-e", "session", *form, "--budget", "120").out.splitlines()
        assert lines == whole[: len(lines)] != []
        assert f"{len(whole) - len(lines)} lines left out" in last


def test_a_cut_answer_still_says_how_fresh_it_is_and_where_it_was_cut():
    *_, result, fresh, last = printed("search", "open session", "--budget", "200").out.splitlines()
    assert result.startswith(" " * 3)
    assert "up to date" in fresh
    assert "gives all" in last


def test_json_within_a_budget_is_read_by_other_programs(shop):
    search = [sys.executable, "-m", "whence", "search", "open session", "--budget", "300", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    out = subprocess.run(search, cwd=shop, env=environment, capture_output=True, text=True, check=True).stdout
    subprocess.run([sys.executable, "-m", "json.tool"], input=out, text=True, check=True, capture_output=True)
    told = json.loads(out)
    assert count_tokens(out) == told["budget"]["given"] <= 300
    assert told["results"][0]["path"].startswith("shop/")
    assert told["count"] > len(told["results"])


def test_colours_on_a_terminal_are_free_and_the_last_line_has_none(shop):
    written, code = on_a_terminal("search", "open session", "--budget", "200", cwd=shop)
    assert code == 0
    assert COLOUR.search(written)
    plain = COLOUR.sub("", written).replace("\r\n", "\n")
    assert count_tokens(plain) <= 200
    assert CLOSING.fullmatch(plain.splitlines(keepends=True)[-1])
    assert not COLOUR.search(written[written.index("budget: ") :])
    forced = printed("search", "open session", "--budget", "200", "--color", "always").out
    assert COLOUR.search(forced)
    assert count_tokens(forced) <= 200


def test_a_note_to_the_letter_keeps_its_bytes(shop):
    (key,) = printed("remember", "Grüße \x01 und 大きさ, " * 60, "--topic", "letters").out.split()
    done = printed("show", key, "--text", "--budget", "100")
    assert count_tokens(done.out) <= 100
    assert done.out.startswith("Grüße \x01 und 大きさ, Grüße")


def test_one_note_is_shortened_rather_than_left_out(shop):
    text = "Tokens are kept for a day. " * 60
    (key,) = printed("remember", text, "--topic", "one long line").out.split()
    shown = printed("show", key, "--budget", "300").out
    assert "Tokens are kept for a day. Tokens are kept" in shown
    stored = json.loads(printed("remember", text, "--topic", "another long line", "--budget", "60", "--json").out)
    assert stored["note"]["key"] == "shop/another-long-line"
    found = json.loads(printed("recall", "how long are tokens kept", "--budget", "200", "--json").out)["notes"]
    assert found[0]["key"].startswith("shop/")


# Wrong use.
@each("budget", ["0", "-3", "5", "33"])
def test_a_budget_that_is_too_small_is_refused_before_anything_is_done(budget):
    refused = printed("forget", "topic-11", "--yes", "--budget", budget)
    assert (refused.code, refused.out) == (2, "")
    assert f"a budget of {budget} tokens is too small for an answer (the least is 34)" in refused.err
    assert printed("show", "topic-11").code == 0
    assert printed("list", "--budget", "34").code == 0


def test_an_error_is_as_short_as_the_answer_would_be():
    whole = printed("callers", "run")
    assert whole.code == 2
    assert count_tokens(whole.err) > 300
    cut = printed("callers", "run", "--budget", "100")
    assert (cut.code, cut.out) == (2, "")
    assert count_tokens(cut.err) <= 100
    assert CLOSING.fullmatch(cut.err.splitlines(keepends=True)[-1])
    short = printed("show", "no-such-note", "--budget", "100")
    assert short == printed("show", "no-such-note")
