"""Where a language server is found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whence.graph.enrich.client import ServerError, find_server, language_id, server_kind


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
