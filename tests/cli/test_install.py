"""`whence install` and `whence uninstall` as a person runs them (A3)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hindrances import environment, obeying_permissions
from sample_trees import write
from terminals import on_a_terminal
from whence.cli.main import main

Command = Callable[..., tuple[str, str]]
MINE = '{\n  // mine\n  "mcpServers": { "docs": { "command": "npx" } },\n}\n'


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of somebody whose home is empty, and who has whence on the path and no agent."""
    root, programs = tmp_path / "home" / "repo", tmp_path / "programs"
    write(programs, {"whence": "#!/bin/sh\n"})
    (programs / "whence").chmod(0o755)
    write(root, {".git/HEAD": "ref: refs/heads/main\n"})
    for name, value in {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "settings"), "PATH": str(programs)}.items():
        monkeypatch.setenv(name, value)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Command:
    def go(*arguments: str, code: int = 0) -> tuple[str, str]:
        assert main(list(arguments)) == code
        return capsys.readouterr()

    return go


def test_the_change_is_shown_and_nothing_done_without_a_yes(repository, run):
    write(repository, {".mcp.json": MINE})
    out, err = run("install", "claude-code", code=1)
    assert "Claude Code: change in .mcp.json\n" in out
    assert '+    "whence": {' not in out  # the servers stand on one line, and so does ours
    assert '-  "mcpServers": { "docs": { "command": "npx" } },' in out
    assert '+  "mcpServers": { "docs": { "command": "npx" }, "whence": {"type": "stdio", "command": "whence", "args": ["mcp"]} },' in out
    assert "Claude Code: new file CLAUDE.md" in out
    assert err == "whence: nothing was changed; add --yes to make these changes\n"
    out, err = run("install", "claude-code", "--dry-run", "--yes", code=1)
    assert "new file CLAUDE.md" in out
    assert sorted(path.name for path in repository.iterdir()) == [".git", ".mcp.json"]
    assert (repository / ".mcp.json").read_text() == MINE


def test_it_is_done_with_a_yes_once_and_undone_to_the_byte(repository, run):
    write(repository, {".mcp.json": MINE, "AGENTS.md": "# Us"})
    names = ("claude-code", "codex", "cursor", "vscode", "opencode", "gemini")
    out, _ = run("install", *names, "--hooks", "--yes")
    assert "Codex: wrote .codex/config.toml, changed AGENTS.md, wrote .codex/hooks.json" in out
    assert "note: Codex runs hooks once you have trusted them with /hooks" in out
    out, _ = run("install", *names, "--yes")
    assert out.splitlines()[0] == "Claude Code: already configured"
    assert "@@" not in out
    listed, _ = run("install")
    assert [line.split()[0] for line in listed.splitlines() if "here: server, instructions" in line] == list(names)
    out, _ = run("uninstall", *names, "--yes")
    assert "removed .codex/config.toml, changed AGENTS.md, removed .codex/hooks.json" in out
    assert sorted(path.name for path in repository.iterdir()) == [".git", ".mcp.json", "AGENTS.md"]
    assert ((repository / ".mcp.json").read_text(), (repository / "AGENTS.md").read_text()) == (MINE, "# Us")
    assert "Gemini CLI: not configured" in run("uninstall", "gemini")[0]


def test_for_the_user_it_needs_no_repository_and_all_means_those_that_are_there(repository, run, tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / ".gemini").mkdir()
    (home / ".codex").mkdir()
    monkeypatch.chdir(tmp_path)
    out, _ = run("install", "--all", "--user", "--yes")
    assert (home / ".gemini/settings.json").is_file()
    assert (home / ".codex/config.toml").read_text().startswith('[mcp_servers.whence]\ncommand = "whence"\n')
    assert "Claude" not in out
    run("uninstall", "--all", "--user", "--yes")
    assert (list((home / ".gemini").iterdir()), list((home / ".codex").iterdir())) == ([], [])
    monkeypatch.chdir(home)
    assert "is not a project" in run("install", "gemini", code=2)[1]


def test_a_folder_without_git_is_a_project_too_and_agents_have_other_names(repository, run, tmp_path, monkeypatch):
    folder = tmp_path / "plain"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run("install", "claude", "gemini-cli", "--yes")
    assert (folder / ".mcp.json").is_file()
    assert (folder / ".gemini" / "settings.json").is_file()
    run("uninstall", "claude", "gemini-cli", "--yes")
    assert list(folder.iterdir()) == []


def test_without_whence_on_the_path_its_whole_path_is_written_and_updated(repository, run, monkeypatch, tmp_path):
    run("install", "cursor", "--absolute", "--yes")
    place = repository / ".cursor/mcp.json"
    assert json.loads(place.read_text())["mcpServers"]["whence"]["command"] == str(tmp_path / "programs/whence")
    monkeypatch.setenv("PATH", str(tmp_path))
    out, _ = run("install", "cursor", "--yes")
    entry = json.loads(place.read_text())["mcpServers"]["whence"]
    assert entry["args"][-1] == "mcp"
    assert Path(entry["command"]).is_absolute()
    assert "rules" not in out


def test_json_tells_everything_and_asks_nothing(repository, run):
    told = json.loads(run("install", "gemini", "--json", code=1)[0])
    assert told["applied"] is False
    (one,) = told["agents"]
    assert [(Path(file["path"]).name, file["change"]) for file in one["files"]] == [
        ("settings.json", "new file"),
        ("GEMINI.md", "new file"),
    ]
    assert any("mcpServers" in line for line in one["files"][0]["diff"])
    told = json.loads(run("install", "gemini", "--json", "--yes")[0])
    assert (told["applied"], told["agents"][0]["done"], told["agents"][0]["error"]) == (True, True, None)
    listed = json.loads(run("install", "--json")[0])["agents"]
    assert [one["agent"] for one in listed if one["project"]["server"]] == ["gemini"]


def test_secrets_beside_our_entry_are_not_shown(repository, run):
    secret = "ghp_" + "a1B2" * 9
    write(repository, {".cursor/mcp.json": json.dumps({"mcpServers": {"gh": {"env": {"GITHUB_TOKEN": secret}}}}, indent=2)})
    out, _ = run("install", "cursor", "--yes")
    assert secret not in out
    assert secret in (repository / ".cursor/mcp.json").read_text()


def test_secrets_that_stand_on_the_line_that_changes_are_not_shown_and_stay(repository, run):
    secrets = ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "hunter2hunter2", "sk-proj-abcdefghijklmnopqrstuvwxyz012345")
    env = {"GITHUB_TOKEN": secrets[0], "API_KEY": secrets[1]}
    before = json.dumps({"mcpServers": {"gh": {"command": "x", "env": env, "args": ["--api-key", secrets[2]]}}})
    write(repository, {".mcp.json": before})
    shown = [run("install", "claude-code", *more, code=1)[0] for more in (["--dry-run"], ["--json"])]
    shown += [run(command, "claude-code", "--yes")[0] for command in ("install", "uninstall")]
    assert [secret for secret in secrets if secret in "".join(shown)] == []
    assert all('"GITHUB_TOKEN": "[redacted]"' in text.replace("\\", "") for text in shown)
    assert (repository / ".mcp.json").read_text() == before


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_reader_who_has_seen_enough_does_not_stop_the_work(repository, more):
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "whence", "install", "claude-code", "codex", "gemini", "--hooks", "--yes", *more],
            cwd=repository, env=environment(), stdout=closed, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    files = [".mcp.json", "CLAUDE.md", ".codex/config.toml", ".codex/hooks.json", "AGENTS.md", ".gemini/settings.json", "GEMINI.md"]
    assert [name for name in files if not (repository / name).is_file()] == []


def test_an_agent_whose_servers_are_no_object_is_refused(repository, run):
    write(repository, {".mcp.json": '{"mcpServers": []}'})
    out, err = run("install", "claude-code", "--yes", code=2)
    assert out == ""
    assert len(err.splitlines()) == 1
    assert ".mcp.json: line 1: mcpServers is not an object; nothing was changed" in err
    assert sorted(path.name for path in repository.iterdir()) == [".git", ".mcp.json"]


def test_one_agent_that_is_refused_does_not_keep_the_others_waiting(repository, run):
    write(repository, {".codex/config.toml": "a = \n"})
    out, err = run("install", "codex", "gemini", "--yes", code=2)
    assert err.startswith("whence: codex: ")
    assert ".codex/config.toml: not valid TOML: " in err
    assert len(err.splitlines()) == 1
    assert "Gemini CLI: wrote" in out
    assert not (repository / "AGENTS.md").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["install", "emacs"], "unknown agent 'emacs' (allowed: claude-code, codex"),
        (["uninstall"], "no agent given"),
        (["install", "--all"], "no agent is installed"),
    ],
)
def test_wrong_use_is_one_line(repository, run, arguments, complaint):
    _, err = run(*arguments, code=2)
    assert complaint in err
    assert len(err.splitlines()) == 1


def test_a_file_that_may_not_be_written_is_left(repository):
    write(repository, {".mcp.json": MINE})
    (repository / ".mcp.json").chmod(0o444)
    done = subprocess.run(
        [sys.executable, "-m", "whence", "install", "claude-code", "--yes"],
        cwd=repository, env=environment(), capture_output=True, text=True, check=False, preexec_fn=obeying_permissions(),
    )  # fmt: skip
    assert done.returncode == 2
    assert "is not writable; nothing was changed" in done.stderr
    assert not (repository / "CLAUDE.md").exists()


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1)])
def test_on_a_terminal_it_asks(repository, answer, code):
    shown, ended = on_a_terminal("install", "gemini", cwd=repository, typed=answer)
    assert "Make these changes?" in shown
    assert "\x1b[32m+" in shown
    assert ended == code
    assert (repository / "GEMINI.md").exists() == (code == 0)
