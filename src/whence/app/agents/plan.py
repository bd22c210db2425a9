"""What is to be done for an agent: which files, with what in them; and how it stands there now."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.app.agents import json_text, marked_text, toml_text
from whence.app.agents import record as records
from whence.app.agents.changes import NOTHING_CHANGED, DesiredFile, FileChange, current, real_path, text_of, told, with_parts, without_parts
from whence.app.agents.parts import NOT_OURS, ConfigBlock, ConfigEntry, ConfigHook, ConfigPart, ConfigTable
from whence.app.agents.registry import AGENTS, SERVER, Agent, InstallScope, entry_of, folder_of, instructions_of
from whence.core.errors import WhenceError

#: Seconds that an agent waits for a hook at most; ours ends well before that.
PATIENCE = 10


@dataclass(frozen=True, slots=True)
class InstallState:
    """How an agent stands: whether it seems to be installed, and what of whence it knows in a scope."""

    agent: Agent
    installed: bool
    server: bool
    instructions: bool
    hooks: bool
    trouble: str = ""

    @property
    def configured(self) -> bool:
        """Whether anything of whence is there."""
        return self.server or self.instructions or self.hooks


def own_command(environment_path: str | None, *, absolute: bool = False) -> list[str]:
    """How agents start whence: by its name where that is on the path, else by where it lies, else through Python."""
    on_path = shutil.which(SERVER, path=environment_path)
    if on_path is not None:
        return [os.path.abspath(on_path)] if absolute else [SERVER]  # noqa: PTH100  -- a link is named as it is
    beside = [Path(sys.argv[0]), Path(sys.executable).with_name(SERVER)]
    found = next((one for one in beside if one.name == SERVER and one.is_file() and os.access(one, os.X_OK)), None)
    return [os.path.abspath(found)] if found is not None else [sys.executable, "-m", SERVER]  # noqa: PTH100


# Which files.
def wanted_files(agent: Agent, scope: InstallScope, command: list[str], *, hooks: bool | None) -> list[DesiredFile]:
    """The files of an agent with all that should be in them; `hooks` unknown leaves those that are there."""
    with_hooks = has_hooks(agent, scope) if hooks is None else hooks and agent.hooks is not None
    server = agent.servers.path(scope)
    said = instructions_of(agent, scope)
    found: dict[Path, DesiredFile] = {}

    def add(path: Path | None, parts: Sequence[ConfigPart], unwanted: Sequence[ConfigPart] = (), head: str = "") -> None:
        if path is not None:
            before = found.get(path, DesiredFile(path, head=head))
            found[path] = DesiredFile(path, (*before.parts, *parts), (*before.unwanted, *unwanted), before.head)

    add(server, [_server_part(agent, server, entry_of(agent, scope, command, hooks=with_hooks))] if server else [], head=agent.servers.head)
    add(said.path(scope), [ConfigBlock(INSTRUCTIONS, said.head)])
    if agent.hooks is not None:
        listed = hook_parts(agent, command)
        place = agent.hooks.places.path(scope)
        if with_hooks:
            add(place, listed, head=agent.hooks.places.head)
        elif hooks is False:
            add(place, (), listed, agent.hooks.places.head)
    return list(found.values())


def _server_part(agent: Agent, path: Path | None, entry: dict[str, Any]) -> ConfigPart:
    if agent.shape == "toml":
        return ConfigTable((*agent.under, SERVER), entry)
    if agent.shape == "opencode" and path is not None and _has_named_servers(path, agent.under):
        return ConfigEntry((*agent.under, "servers", SERVER), {key: value for key, value in entry.items() if key != "enabled"})
    return ConfigEntry((*agent.under, SERVER), entry)


def _has_named_servers(path: Path, under: tuple[str, ...]) -> bool:
    """Whether a configuration of OpenCode is written as version 2 has it: servers stand one level deeper."""
    try:
        data = current(real_path(path), to_write=False)
        listed = json_text.value_at(text_of(path, data), (*under, "servers")) if data is not None else None
    except (WhenceError, json_text.NotJson):
        return False  # what is wrong is said when the file is to be changed
    return isinstance(listed, dict) and "type" not in listed


def hook_parts(agent: Agent, command: list[str]) -> list[ConfigPart]:
    """The hooks of an agent as its configuration has them."""
    if agent.hooks is None:
        return []
    parts: list[ConfigPart] = []
    for event, name, matcher in ((agent.hooks.start, "session-start", ""), (agent.hooks.used, "used", agent.hooks.matcher)):
        line = shlex.join([*command, "hook", name, "--agent", agent.name])
        one = {"type": "command", "command": line, "timeout": PATIENCE * agent.hooks.second}
        matched = {"matcher": matcher} if matcher else {}
        parts.append(ConfigHook(event, {**one, **matched} if agent.hooks.flat else {**matched, "hooks": [one]}))
    return parts


# What is to be done.
def to_install(
    agent: Agent, scope: InstallScope, command: list[str], folder: Path, *, hooks: bool | None, over_others: bool
) -> list[FileChange]:
    """The changes that make an agent know whence."""
    return [
        with_parts(wanted, records.load(folder, real_path(wanted.path)), over_others=over_others)
        for wanted in wanted_files(agent, scope, command, hooks=hooks)
        if wanted.parts or wanted.path.exists()
    ]


def to_uninstall(agent: Agent, scope: InstallScope, folder: Path, leaving: Collection[str]) -> list[FileChange]:
    """The changes that make an agent forget whence; a file that another agent with whence reads stays, unless that one is leaving too."""
    others = [one for one in AGENTS if one.name not in leaving and one is not agent and standing(one, scope).server]
    shared = {real_path(path): one for one in others if (path := instructions_of(one, scope).path(scope)) is not None}
    changes = []
    for wanted in wanted_files(agent, scope, [SERVER], hooks=True if agent.hooks else None):
        real = real_path(wanted.path)
        if real in shared:
            data = current(real, to_write=False)
            said = (f"{wanted.path}: kept, {shared[real].title} reads it too",) if data is not None else ()
            changes.append(FileChange(wanted.path, real, data, data, said=said))
        else:
            changes.append(without_parts(wanted, records.load(folder, real)))
    return changes


# How it stands.
def standing(agent: Agent, scope: InstallScope) -> InstallState:
    """What of whence an agent knows in a scope."""
    installed = any(shutil.which(program, path=scope.environment.get("PATH")) for program in agent.programs)
    installed = installed or folder_of(agent, scope).is_dir()
    server = agent.servers.path(scope)
    try:
        return InstallState(
            agent,
            installed,
            _holds(server, [_server_part(agent, server, {})]) if server else False,
            _holds(instructions_of(agent, scope).path(scope), [ConfigBlock("")]),
            has_hooks(agent, scope),
        )
    except WhenceError as error:
        return InstallState(
            agent, installed, server=False, instructions=False, hooks=False, trouble=error.message.removesuffix(NOTHING_CHANGED)
        )


def has_hooks(agent: Agent, scope: InstallScope) -> bool:
    """Whether an agent runs hooks of ours."""
    try:
        return agent.hooks is not None and _holds(agent.hooks.places.path(scope), hook_parts(agent, [SERVER]))
    except WhenceError:
        return False  # a file that cannot be read is told of when it is to be changed


def _holds(path: Path | None, parts: Sequence[ConfigPart]) -> bool:
    """Whether any of some parts is in a file, in whatever form."""
    data = current(real_path(path), to_write=False) if path is not None else None
    if data is None or path is None:
        return False
    text = text_of(path, data)
    try:
        return any(part.state(text) not in NOT_OURS or _named(part, text) for part in parts)
    except (json_text.NotJson, toml_text.NotToml, marked_text.NotMarked) as error:
        raise told(path, error) from error


def _named(part: ConfigPart, text: str) -> bool:
    """Whether a server of our name is there that somebody wrote by hand."""
    if isinstance(part, ConfigEntry):
        return isinstance(json_text.value_at(text, part.path), dict)
    return isinstance(part, ConfigTable) and isinstance(toml_text.value_at(text, part.path), dict)


INSTRUCTIONS = """\
## Finding things: ask whence first

The `whence` MCP server has this repository indexed. Before you grep, glob, list or open files to *look for* something, \
call it: one call finds by meaning and by words, and costs a fraction of the tokens. Tell subagents the same.

- `context`: first call of a task (fix, feature, review): pass the task as you were given it, get the symbols it needs.
- `search`: where is X? Plain words, a name, an error message, "phrase", /regex/, path: lang: kind: -not.
- `graph`: callers, callees, impact, tests of a symbol: before you change, move or delete it.
- `related`: code like FILE:LINE.
- `recall` before you decide anything; `remember` what the code itself does not say; `feedback` what was useful.

Grep only for every occurrence of an exact string you already know. When whence says "not here", do not grep for \
synonyms. Without MCP, the same in a shell: `whence search "..."`.
"""
#: What is said once when a session begins, where there are hooks and an index.
REMINDER = "whence has this repository indexed: ask its tools (context, search, graph) before you grep or open files to look for something."
