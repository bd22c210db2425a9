"""A language server is a stranger's process: it may end, hang or talk nonsense, and is gone when we are done."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from whence.graph.enrich.client import LanguageServer, ServerError, Timeouts, find_server, language_id, server_kind

pytestmark = pytest.mark.process
HOSTILE = Path(__file__).parent / "hostile_server.py"
QUICK = Timeouts(start=20, answer=1, shutdown=0.5)


def command(mode: str, moment: str, *more: str) -> list[str]:
    return [sys.executable, str(HOSTILE), mode, moment, *more]


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def eventually_gone(process: int) -> bool:
    deadline = time.monotonic() + 5
    while is_running(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(process)


@pytest.mark.parametrize(
    ("mode", "complaint"),
    [
        ("crash", "ended"),
        ("hang", "gave no answer within 1 s"),
        ("chatter", "gave no answer within 1 s"),
        ("prose", "does not speak the protocol: it said 'npm WARN"),
        ("endless", "does not speak the protocol"),
        ("huge", "does not speak the protocol"),
        ("no-json", "does not speak the protocol: it said '{oops'"),
        ("a-list", "does not speak the protocol"),
        ("deep", "does not speak the protocol"),
    ],
)
def test_a_server_that_goes_wrong_is_one_clear_line_and_its_process_is_gone(mode, complaint, tmp_path):
    noted = tmp_path / "process"
    with pytest.raises(ServerError) as trouble, LanguageServer(command(mode, "ask", str(noted)), tmp_path, patience=QUICK) as server:
        server.request("ask", {})
    assert complaint in str(trouble.value)
    assert "\n" not in str(trouble.value)
    assert eventually_gone(int(noted.read_text()))


def test_a_server_that_fails_at_the_start_is_gone_too(tmp_path):
    noted = tmp_path / "process"
    with pytest.raises(ServerError, match="refused to start"):
        LanguageServer(command("refuses", "initialize", str(noted)), tmp_path, patience=QUICK)
    assert eventually_gone(int(noted.read_text()))


def test_what_a_server_started_goes_with_it(tmp_path):
    noted = tmp_path / "child"
    with LanguageServer(command("child", "never", str(noted)), tmp_path, patience=QUICK):
        assert is_running(int(noted.read_text()))
    assert eventually_gone(int(noted.read_text()))


def test_a_server_that_does_not_leave_when_asked_is_made_to(tmp_path):
    noted = tmp_path / "process"
    began = time.monotonic()
    with LanguageServer(command("hang", "shutdown", str(noted)), tmp_path, patience=QUICK):
        pass
    assert time.monotonic() - began < 10
    assert eventually_gone(int(noted.read_text()))


def test_a_server_that_does_not_read_does_not_hold_us_up(tmp_path):
    with pytest.raises(ServerError, match="no answer"), LanguageServer(command("hang", "ask"), tmp_path, patience=QUICK) as server:
        server.request_all("ask", [{"text": "x" * 500_000}] * 10)


def test_answers_are_given_in_the_order_of_the_questions_whatever_order_they_come_in(tmp_path):
    questions = [{"row": row} for row in range(100)]
    with LanguageServer(command("pairs", "ask"), tmp_path, patience=QUICK) as server:
        assert server.request_all("ask", questions) == questions


def test_a_question_that_the_server_refuses_has_no_answer(tmp_path):
    with LanguageServer(command("refuses", "ask"), tmp_path, patience=QUICK) as server:
        assert server.request("ask", {}) is None


def test_a_program_that_is_not_there_is_one_clear_line(tmp_path):
    with pytest.raises(ServerError, match="no-such-server cannot be started: No such file"):
        LanguageServer([str(tmp_path / "no-such-server")], tmp_path)


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_server_on_the_path_comes_before_one_of_the_repository(tmp_path, monkeypatch):
    installed = program(tmp_path / "bin" / "typescript-language-server")
    program(tmp_path / "root/node_modules/.bin/typescript-language-server")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_server(server_kind("tsx"), tmp_path / "root") == [str(installed), "--stdio"]


def test_a_server_that_the_repository_brought_along_is_run_only_when_it_is_named(tmp_path, monkeypatch):
    local = program(tmp_path / "node_modules/.bin/typescript-language-server")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}node_modules/.bin{os.pathsep}.")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ServerError) as trouble:
        find_server(server_kind("javascript"), tmp_path)
    assert f"--server '{local} --stdio'" in trouble.value.hint
    assert find_server(server_kind("javascript"), tmp_path, "node_modules/.bin/typescript-language-server --stdio") == [
        str(local),
        "--stdio",
    ]


def test_a_chosen_command_is_split_like_a_shell_does_and_comes_first(tmp_path, monkeypatch):
    chosen = program(tmp_path / "bin" / "my-server")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_server(server_kind("python"), tmp_path, "my-server --root 'a b'") == [str(chosen), "--root", "a b"]


def test_when_there_is_none_the_hint_says_how_to_install_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerError) as trouble:
        find_server(server_kind("typescript"), tmp_path)
    assert "npm i -g typescript-language-server" in trouble.value.hint


@pytest.mark.parametrize("command", ["'unclosed", "   ", "no-such-program-anywhere --stdio"])
def test_a_command_that_cannot_be_run_is_one_clear_line(command, tmp_path):
    with pytest.raises(ServerError) as trouble:
        find_server(server_kind("python"), tmp_path, command)
    assert os.linesep not in str(trouble.value)


def test_the_protocol_has_names_of_its_own_for_some_languages():
    assert [language_id("a.tsx", "tsx"), language_id("a.jsx", "javascript"), language_id("a.py", "python")] == [
        "typescriptreact",
        "javascriptreact",
        "python",
    ]
