"""What is installed for an agent can be taken back to the byte (A3): every agent, both scopes, files of every style."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from sample_trees import write
from whence.app.agents import json_edits, toml_edits
from whence.app.agents.changes import apply_changes
from whence.app.agents.plan import INSTRUCTIONS, install_state, plan_install, plan_uninstall
from whence.app.agents.registry import AGENTS, Agent, InstallScope
from whence.app.agents.text_edits import marked_block
from whence.core.errors import StorageError, UsageError

BY_NAME = {agent.name: agent for agent in AGENTS}
CASES = [pytest.param(agent, user, id=f"{agent.name}-{'user' if user else 'project'}") for agent in AGENTS for user in (False, True)]
#: Configurations as people have them: {name} is the key of servers.
TIDY = """{
  "model": "KEEP",
  "{name}": {
    "docs": {
      "command": "npx",
      "args": ["-y", "docs-server"],
      "env": { "URL": "https://example.org/a//b" }
    }
  }
}
"""
COMMENTED = """\ufeff// my own settings, KEEP them
{
\t"theme"  :  "dark",   // not light
\t/* servers
\t   of mine */
\t"{name}": {
\t\t"a": { "command": "a", "args": [ ], }, // the first
\t\t// "b": { "command": "b" },
\t},
\t"hooks": { "Stop": [ { "hooks": [ {"type": "command", "command": "say done"} ] } ] },
}"""
ONE_LINE = '{"KEEP":1,"{name}":{"x":{"command":"x"}},"hooks":{}}'
EMPTY_INSIDE = '{ "KEEP": [1,\n 2], "{name}": {  /* none yet */ }\n}\n\n'
TOML = """# KEEP
model = "o5" # the usual
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"] # [not a table]

[projects."/home/me/x y"]
trust_level = "trusted\""""
PROSE = "# Our rules\n\n- KEEP it short.\n"
STYLES = {
    "tidy": TIDY,
    "commented": COMMENTED,
    "windows": TIDY.replace("\n", "\r\n"),
    "one line": ONE_LINE,
    "empty inside": EMPTY_INSIDE,
}


def scope_of(tmp_path: Path, *, user: bool) -> InstallScope:
    home, root = tmp_path / "home", tmp_path / "home" / "work" / "repo"
    root.mkdir(parents=True, exist_ok=True)
    return InstallScope(home, {"XDG_CONFIG_HOME": str(home / "settings"), "PATH": ""}, None if user else root)


def files_of(agent: Agent, scope: InstallScope) -> dict[str, Path]:
    places = {"servers": agent.servers.path(scope), "instructions": agent.instructions.path(scope)}
    if agent.hooks is not None:
        places["hooks"] = agent.hooks.file.path(scope)
    return {name: path for name, path in places.items() if path is not None}


def furnish(agent: Agent, scope: InstallScope, style: str) -> None:
    """Give an agent the configuration of somebody who has used it for a while."""
    windows = style == "windows"
    for name, path in files_of(agent, scope).items():
        text = PROSE if name == "instructions" else TOML if agent.entry_format == "toml" and name == "servers" else STYLES[style]
        text = text.replace("{name}", agent.servers_key)
        if windows and "\r" not in text:
            text = text.replace("\n", "\r\n")
        if not path.exists():
            write(path.parent, {path.name: text})


def tree(top: Path) -> dict[str, bytes | None]:
    return {one.relative_to(top).as_posix(): one.read_bytes() if one.is_file() else None for one in sorted(top.rglob("*"))}


def install(
    agent: Agent, scope: InstallScope, tmp_path: Path, command: str = "whence", *, hooks: bool | None = True, over: bool = False
) -> int:
    changes = plan_install(agent, scope, [command], tmp_path / "records", hooks=hooks, replace_foreign=over)
    apply_changes([one for one in changes if one.has_effect], tmp_path / "records")
    return sum(one.has_effect for one in changes)


def uninstall(agent: Agent, scope: InstallScope, tmp_path: Path) -> int:
    changes = plan_uninstall(agent, scope, tmp_path / "records", {agent.name})
    apply_changes([one for one in changes if one.has_effect], tmp_path / "records")
    return sum(one.has_effect for one in changes)


def said_by(agent: Agent, path: Path) -> dict:
    text = path.read_bytes().decode()
    return toml_edits.parse(text) if path.suffix == ".toml" else json_edits.value_at(text, ())


@pytest.mark.parametrize(("agent", "user"), CASES)
def test_where_nothing_was_nothing_is_left(agent, user, tmp_path):
    scope = scope_of(tmp_path, user=user)
    before = tree(tmp_path / "home")
    install(agent, scope, tmp_path)
    known = install_state(agent, scope)
    assert known.server
    assert known.hooks == (agent.hooks is not None)
    assert known.instructions == ("instructions" in files_of(agent, scope))
    for path in files_of(agent, scope).values():  # as strict readers want it
        if path.suffix == ".json":
            json.loads(path.read_text())
    assert install(agent, scope, tmp_path) == 0
    assert install(agent, scope, tmp_path, hooks=None) == 0
    uninstall(agent, scope, tmp_path)
    assert tree(tmp_path / "home") == before
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("agent", "user"), CASES)
def test_files_that_were_there_get_every_byte_back(agent, user, style, tmp_path):
    scope = scope_of(tmp_path, user=user)
    furnish(agent, scope, style)
    before, path = tree(tmp_path / "home"), files_of(agent, scope)["servers"]
    said = said_by(agent, path)
    install(agent, scope, tmp_path)
    now = said_by(agent, path)
    key = agent.servers_key
    assert {**now[key]}.keys() == {**said[key]}.keys() | {"whence"}
    assert {name: value for name, value in now[key].items() if name != "whence"} == said[key]
    assert {name: value for name, value in now.items() if name not in (key, "hooks")} == {
        name: value for name, value in said.items() if name not in (key, "hooks")
    }
    assert install(agent, scope, tmp_path) == 0
    assert install(agent, scope, tmp_path, "/opt/new place/whence") > 0
    assert "/opt/new place/whence" in path.read_bytes().decode()
    uninstall(agent, scope, tmp_path)
    assert tree(tmp_path / "home") == before
    assert uninstall(agent, scope, tmp_path) == 0


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_what_was_edited_since_stays_and_only_ours_goes(agent, style, tmp_path):
    scope = scope_of(tmp_path, user=False)
    furnish(agent, scope, style)
    expected = {name: data and data.replace(b"KEEP", b"KEPT, since") for name, data in tree(tmp_path / "home").items()}
    install(agent, scope, tmp_path)
    for path in files_of(agent, scope).values():
        path.write_bytes(path.read_bytes().replace(b"KEEP", b"KEPT, since"))
    install(agent, scope, tmp_path, "/elsewhere/whence")  # an update in between changes nothing of that
    uninstall(agent, scope, tmp_path)
    assert tree(tmp_path / "home") == expected


def test_hooks_alone_can_be_taken_out(tmp_path):
    for agent in (BY_NAME["gemini"], BY_NAME["claude-code"]):
        scope = scope_of(tmp_path / agent.name, user=False)
        furnish(agent, scope, "commented")
        before = tree(tmp_path / agent.name)
        install(agent, scope, tmp_path, hooks=False)
        without = tree(tmp_path / agent.name)
        assert not install_state(agent, scope).hooks
        install(agent, scope, tmp_path, hooks=True)
        assert install_state(agent, scope).hooks
        assert "WHENCE_SESSION" in files_of(agent, scope)["servers"].read_text()
        install(agent, scope, tmp_path, hooks=False)
        assert tree(tmp_path / agent.name) == without
        uninstall(agent, scope, tmp_path)
        assert tree(tmp_path / agent.name) == before


def test_a_hook_that_was_moved_into_another_group_goes_alone(tmp_path):
    agent, scope = BY_NAME["claude-code"], scope_of(tmp_path, user=False)
    install(agent, scope, tmp_path)
    path = files_of(agent, scope)["hooks"]
    said = json.loads(path.read_text())
    said["hooks"]["PostToolUse"][0]["hooks"].append({"type": "command", "command": "make format"})
    path.write_text(json.dumps(said))
    uninstall(agent, scope, tmp_path)
    left = json.loads(path.read_text())["hooks"]
    assert left["PostToolUse"][0]["hooks"] == [{"type": "command", "command": "make format"}]
    assert "SessionStart" not in left


def test_an_entry_that_somebody_wrote_by_hand_is_left_unless_asked(tmp_path):
    agent, scope = BY_NAME["cursor"], scope_of(tmp_path, user=False)
    path = files_of(agent, scope)["servers"]
    text = '{"mcpServers": {"whence": {"command": "whence", "args": ["mcp", "--root", "/x"]}}}'
    write(path.parent, {path.name: text})
    changes = plan_install(agent, scope, ["whence"], tmp_path / "records", hooks=None, replace_foreign=False)
    assert ["was written by hand" in said for one in changes for said in one.notes] == [True]
    install(agent, scope, tmp_path, hooks=None)
    assert path.read_text() == text
    assert install_state(agent, scope).server
    install(agent, scope, tmp_path, hooks=None, over=True)
    assert json.loads(path.read_text()) == {"mcpServers": {"whence": {"command": "whence", "args": ["mcp"]}}}
    uninstall(agent, scope, tmp_path)
    assert path.read_text() == text


def test_without_a_record_ours_is_known_by_its_looks(tmp_path):
    """As in a clone of a repository whose configuration somebody else committed."""
    for agent in AGENTS:
        scope = scope_of(tmp_path / agent.name, user=False)
        furnish(agent, scope, "tidy")
        before = tree(tmp_path / agent.name)
        apply_changes(plan_install(agent, scope, ["whence"], tmp_path / "there", hooks=True, replace_foreign=False), tmp_path / "there")
        assert install(agent, scope, tmp_path) == 0
        assert install(agent, scope, tmp_path, "/opt/whence") > 0
        uninstall(agent, scope, tmp_path)
        assert {name: (data or b"").split() for name, data in tree(tmp_path / agent.name).items()} == {
            name: (data or b"").split() for name, data in before.items()
        }


def test_instructions_that_two_agents_read_stay_until_both_are_gone(tmp_path):
    codex, opencode, scope = BY_NAME["codex"], BY_NAME["opencode"], scope_of(tmp_path, user=False)
    before = tree(tmp_path / "home")
    install(codex, scope, tmp_path)
    install(opencode, scope, tmp_path)
    shared = files_of(codex, scope)["instructions"]
    assert marked_block(shared.read_text()) == INSTRUCTIONS.strip()
    uninstall(codex, scope, tmp_path)
    assert shared.exists()
    uninstall(opencode, scope, tmp_path)
    assert tree(tmp_path / "home") == before


def test_opencode_of_the_second_kind_gets_its_entry_where_it_looks_for_it(tmp_path):
    agent, scope = BY_NAME["opencode"], scope_of(tmp_path, user=False)
    text = '{\n  // two\n  "mcp": { "servers": { "x": { "type": "local", "command": ["x"] } } }\n}\n'
    write(scope.root, {"opencode.jsonc": text})
    install(agent, scope, tmp_path)
    servers = json_edits.value_at((scope.root / "opencode.jsonc").read_text(), ("mcp", "servers"))
    assert servers["whence"] == {"type": "local", "command": ["whence", "mcp"]}
    uninstall(agent, scope, tmp_path)
    assert (scope.root / "opencode.jsonc").read_text() == text


def test_an_agent_that_starts_servers_elsewhere_is_told_the_folder(tmp_path):
    for agent in AGENTS:
        entries = []
        for user in (False, True):
            scope = scope_of(tmp_path / agent.name, user=user)
            install(agent, scope, tmp_path, hooks=None)
            entries.append(str(said_by(agent, files_of(agent, scope)["servers"])))
            assert install(agent, scope, tmp_path, "/opt/whence", hooks=None) > 0
        assert ["${workspaceFolder}" in entry for entry in entries] == [False, agent.name in ("cursor", "vscode")]


def test_links_are_followed_and_rights_kept(tmp_path):
    agent, scope = BY_NAME["gemini"], scope_of(tmp_path, user=True)
    path = files_of(agent, scope)["servers"]
    real = write(tmp_path / "dotfiles", {"gemini.json": TIDY.replace("{name}", "mcpServers")}) / "gemini.json"
    real.chmod(0o640)
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    install(agent, scope, tmp_path)
    assert path.is_symlink()
    assert "whence" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    uninstall(agent, scope, tmp_path)
    assert real.read_text() == TIDY.replace("{name}", "mcpServers")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'{"mcpServers": {', "line 1: unexpected end of file"),
        (b'{"a": 1 "b": 2}', "not valid JSON"),
        (b"\xff\xfe{}", "is not UTF-8"),
        (b'{"mcpServers": []}', "line 1: mcpServers is not an object; nothing was changed"),
        (b'{\n"mcpServers": "none"}', "line 2: mcpServers is not an object"),
        (b"[]", "the document is not an object"),
        (None, "is a folder"),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_refused_and_nothing_else_touched(content, complaint, tmp_path):
    agent, scope = BY_NAME["claude-code"], scope_of(tmp_path, user=False)
    path = files_of(agent, scope)["servers"]
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    before = tree(tmp_path / "home")
    with pytest.raises((UsageError, StorageError), match=complaint):
        install(agent, scope, tmp_path)
    assert tree(tmp_path / "home") == before


def test_a_value_where_a_container_should_be_is_refused_whatever_is_asked_and_holds_nothing_of_ours(tmp_path):
    texts = {
        "servers": ('{"mcpServers": null}', "mcpServers is not an object"),
        "hooks": ('{"hooks": {"Stop": [], "PostToolUse": {}}}', "hooks.PostToolUse is not a list"),
    }
    agent, scope = BY_NAME["claude-code"], scope_of(tmp_path, user=False)
    for kind, (text, complaint) in texts.items():
        path = files_of(agent, scope)[kind]
        write(path.parent, {path.name: text})
        before = tree(tmp_path / "home")
        for over in (False, True):
            with pytest.raises(UsageError, match=complaint):
                install(agent, scope, tmp_path, over=over)
        assert not install_state(agent, scope).configured
        assert uninstall(agent, scope, tmp_path) == 0
        assert tree(tmp_path / "home") == before
        path.unlink()
    codex = BY_NAME["codex"]
    for text in ("mcp_servers = []\n", "[[mcp_servers]]\nname = 1\n"):
        write(scope.root, {".codex/config.toml": text})
        with pytest.raises(UsageError, match="nothing was changed"):
            install(codex, scope, tmp_path)


def test_a_file_that_changes_under_our_hands_is_not_overwritten_and_others_are_taken_back(tmp_path):
    agent, scope = BY_NAME["codex"], scope_of(tmp_path, user=False)
    furnish(agent, scope, "tidy")
    changes = plan_install(agent, scope, ["whence"], tmp_path / "records", hooks=True, replace_foreign=False)
    files_of(agent, scope)["instructions"].write_text("new\n")
    before = tree(tmp_path / "home")
    with pytest.raises(StorageError, match="changed meanwhile"):
        apply_changes(changes, tmp_path / "records")
    assert tree(tmp_path / "home") == before
