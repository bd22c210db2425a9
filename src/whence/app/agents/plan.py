"""Planning an installation: which files of an agent get which parts, and what is installed now."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.app.agents import json_edits
from whence.app.agents.changes import (
    NOTHING_CHANGED,
    DesiredFile,
    FileChange,
    decode,
    load_record,
    plan_parts,
    plan_removal,
    read_bytes,
    real_path,
    refusal,
)
from whence.app.agents.parts import NOT_OURS, ConfigPart, InstructionsBlock, JsonHook, ServerEntry
from whence.app.agents.registry import AGENTS, SERVER, Agent, InstallScope, home_folder, server_entry
from whence.app.agents.text_edits import EditError
from whence.core.errors import WhenceError

#: Seconds that an agent waits for a hook; ours gives up well before that.
HOOK_TIMEOUT = 10
INSTRUCTIONS = Path(__file__).with_name("instructions.md").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class InstallState:
    """Whether an agent seems to be installed, and which of our parts are configured in a scope."""

    agent: Agent
    installed: bool
    server: bool = False
    instructions: bool = False
    hooks: bool = False
    error: str = ""

    @property
    def configured(self) -> bool:
        """Whether any of our parts is there."""
        return self.server or self.instructions or self.hooks


def whence_command(search_path: str | None, *, absolute: bool = False) -> list[str]:
    """The command with which agents start whence: its name if that is on the path, else its full path, else through Python."""
    on_path = shutil.which(SERVER, path=search_path)
    if on_path is not None:
        return [os.path.abspath(on_path)] if absolute else [SERVER]  # noqa: PTH100  -- links are kept
    scripts = [Path(sys.argv[0]), Path(sys.executable).with_name(SERVER)]
    script = next((one for one in scripts if one.name == SERVER and one.is_file() and os.access(one, os.X_OK)), None)
    return [os.path.abspath(script)] if script is not None else [sys.executable, "-m", SERVER]  # noqa: PTH100


# Which files.
def desired_files(agent: Agent, scope: InstallScope, command: list[str], *, hooks: bool | None) -> list[DesiredFile]:
    """The files of an agent with all parts they should hold; `hooks=None` keeps hooks as they are."""
    with_hooks = has_hooks(agent, scope) if hooks is None else hooks and agent.hooks is not None
    files: dict[Path, DesiredFile] = {}

    def add(path: Path | None, parts: Sequence[ConfigPart], unwanted: Sequence[ConfigPart] = (), template: str = "") -> None:
        if path is not None:
            before = files.get(path, DesiredFile(path, template=template))
            files[path] = DesiredFile(path, (*before.parts, *parts), (*before.unwanted, *unwanted), before.template)

    if (server := agent.servers.path(scope)) is not None:
        entry = server_entry(agent, scope, command, hooks=with_hooks)
        add(server, [_server_part(agent, server, entry)], template=agent.servers.template_for(scope))
    add(agent.instructions.path(scope), [InstructionsBlock(INSTRUCTIONS, agent.instructions.template_for(scope))])
    if agent.hooks is not None and (with_hooks or hooks is False):
        parts, path, template = hook_parts(agent, command), agent.hooks.file.path(scope), agent.hooks.file.template_for(scope)
        add(path, parts if with_hooks else (), () if with_hooks else parts, template)
    return list(files.values())


def _server_part(agent: Agent, path: Path, entry: dict[str, Any]) -> ConfigPart:
    if agent.entry_format == "toml":
        return ServerEntry((agent.servers_key, SERVER), entry, toml=True)
    if agent.entry_format == "opencode" and _is_opencode_2(path, agent.servers_key):
        return ServerEntry((agent.servers_key, "servers", SERVER), {key: value for key, value in entry.items() if key != "enabled"})
    return ServerEntry((agent.servers_key, SERVER), entry)


def _is_opencode_2(path: Path, servers_key: str) -> bool:
    """Whether an OpenCode configuration has the format of version 2, with servers one level deeper."""
    try:
        data = read_bytes(real_path(path), to_write=False)
        servers = json_edits.value_at(decode(path, data), (servers_key, "servers")) if data is not None else None
    except (WhenceError, json_edits.JsonError):
        return False  # reported when the file is about to be changed
    return isinstance(servers, dict) and "type" not in servers


def hook_parts(agent: Agent, command: list[str]) -> list[ConfigPart]:
    """The hooks of an agent."""
    if agent.hooks is None:
        return []
    parts: list[ConfigPart] = []
    calls = [(agent.hooks.session_start, "session-start", ""), (agent.hooks.after_tool, "used", agent.hooks.matcher)]
    for event, name, matcher in [*calls, *([(agent.hooks.prompt, "prompt", "")] if agent.hooks.prompt else [])]:
        line = shlex.join([*command, "hook", name, "--agent", agent.name])
        hook = {"type": "command", "command": line, "timeout": HOOK_TIMEOUT * agent.hooks.timeout_unit}
        matched = {"matcher": matcher} if matcher else {}
        parts.append(JsonHook(event, {**matched, "hooks": [hook]} if agent.hooks.grouped else {**hook, **matched}))
    return parts


# What to change.
def plan_install(
    agent: Agent, scope: InstallScope, command: list[str], folder: Path, *, hooks: bool | None, replace_foreign: bool
) -> list[FileChange]:
    """The changes that configure an agent; `folder` holds the records."""
    return [
        plan_parts(desired, load_record(folder, real_path(desired.path)), replace_foreign=replace_foreign)
        for desired in desired_files(agent, scope, command, hooks=hooks)
        if desired.parts or desired.path.exists()
    ]


def plan_uninstall(agent: Agent, scope: InstallScope, folder: Path, leaving: Collection[str]) -> list[FileChange]:
    """The changes that remove whence from an agent. A file that another agent with whence reads stays, unless that is `leaving` too."""
    others = [one for one in AGENTS if one.name not in leaving and one is not agent and install_state(one, scope).server]
    shared = {real_path(path): one for one in others if (path := one.instructions.path(scope)) is not None}
    changes = []
    for desired in desired_files(agent, scope, [SERVER], hooks=True if agent.hooks else None):
        real = real_path(desired.path)
        if real in shared:
            data = read_bytes(real, to_write=False)
            notes = (f"{desired.path}: kept, {shared[real].title} reads it too",) if data is not None else ()
            changes.append(FileChange(desired.path, real, data, data, notes=notes))
        else:
            changes.append(plan_removal(desired, load_record(folder, real)))
    return changes


# What is installed.
def install_state(agent: Agent, scope: InstallScope) -> InstallState:
    """What is configured for an agent in a scope."""
    installed = any(shutil.which(program, path=scope.environment.get("PATH")) for program in agent.programs)
    installed = installed or home_folder(agent, scope).is_dir()
    server = agent.servers.path(scope)
    try:
        return InstallState(
            agent,
            installed,
            server is not None and _contains(server, [_server_part(agent, server, {})]),
            _contains(agent.instructions.path(scope), [InstructionsBlock("")]),
            has_hooks(agent, scope),
        )
    except WhenceError as error:
        return InstallState(agent, installed, error=error.message.removesuffix(NOTHING_CHANGED))


def has_hooks(agent: Agent, scope: InstallScope) -> bool:
    """Whether an agent has hooks of ours."""
    try:
        return agent.hooks is not None and _contains(agent.hooks.file.path(scope), hook_parts(agent, [SERVER]))
    except WhenceError:
        return False  # reported when the file is about to be changed


def _contains(path: Path | None, parts: Sequence[ConfigPart]) -> bool:
    """Whether a file holds any of some parts, in whatever form."""
    data = read_bytes(real_path(path), to_write=False) if path is not None else None
    if data is None or path is None:
        return False
    text = decode(path, data)
    try:  # a server under our name counts even if somebody wrote it by hand
        servers = (part for part in parts if isinstance(part, ServerEntry))
        return any(part.state(text) not in NOT_OURS for part in parts) or any(isinstance(one.value_in(text), dict) for one in servers)
    except EditError as error:
        raise refusal(path, error) from error
