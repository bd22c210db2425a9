"""The coding agents in agents.toml: where each keeps its configuration, and how a server entry looks there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from whence.core.settings import toml_reader

#: The name of our server in every agent's configuration.
SERVER = "whence"
SESSION, IMPLICIT = "WHENCE_SESSION", "WHENCE_LEARN_IMPLICIT"
#: For agents that do not start a user's servers in the project.
_ROOT_ARGUMENTS = ["--root", "${workspaceFolder}"]


@dataclass(frozen=True, slots=True)
class InstallScope:
    """Whose configuration: a repository's, or without a root the user's own."""

    home: Path
    environment: Mapping[str, str]
    root: Path | None = None


@dataclass(frozen=True, slots=True)
class AgentFile:
    """Where a configuration file may be, for a project and for the user."""

    project: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    template: str = ""
    user_template: str = ""

    def path(self, scope: InstallScope) -> Path | None:
        """The file to use; None if the agent has none in this scope."""
        bases = _bases(scope)
        places = [bases[base] / name for base, _, name in (one.partition(":") for one in (self.project if scope.root else self.user))]
        return next((place for place in places if place.exists()), places[0] if places else None)

    def template_for(self, scope: InstallScope) -> str:
        """The content of a new file."""
        return self.template if scope.root else self.user_template or self.template


@dataclass(frozen=True, slots=True)
class AgentHooks:
    """How an agent runs a command when a session starts or a prompt is sent, and after a tool has read or edited a file."""

    file: AgentFile
    session_start: str
    after_tool: str
    prompt: str = ""  # when the user has sent a prompt; empty: nothing can be added to it
    matcher: str = ""  # the tools after which the command runs; empty: all
    grouped: bool = True  # commands are listed in groups, not directly below their event
    timeout_unit: int = 1  # how many of the agent's units make a second
    note: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent."""

    name: str
    title: str
    programs: tuple[str, ...]
    home: str  # the base folder whose presence says that the agent is installed
    servers: AgentFile
    servers_key: str  # the key above the names of servers
    entry_format: Literal["typed", "plain", "opencode", "toml"]
    instructions: AgentFile
    hooks: AgentHooks | None = None
    aliases: tuple[str, ...] = ()
    user_server_needs_root: bool = False
    project_note: str = ""
    user_note: str = ""


def _agent_file(row: Mapping[str, Any]) -> AgentFile:
    return AgentFile(**{**row, "project": tuple(row.get("project", ())), "user": tuple(row.get("user", ()))})


def _agent(row: Mapping[str, Any]) -> Agent:
    hooks = row.get("hooks")
    lists = {key: tuple(row.get(key, ())) for key in ("programs", "aliases")}
    files = {key: _agent_file(row[key]) for key in ("servers", "instructions")}
    parsed_hooks = AgentHooks(**{**hooks, "file": _agent_file(hooks["file"])}) if hooks else None
    return Agent(**{**row, **lists, **files, "hooks": parsed_hooks})


AGENTS = tuple(map(_agent, toml_reader().loads(Path(__file__).with_name("agents.toml").read_text("utf-8"))["agent"]))
#: Other names that people use.
ALIASES = {alias: agent.name for agent in AGENTS for alias in agent.aliases}


def _bases(scope: InstallScope) -> dict[str, Path]:
    """The folders in which agents keep their configuration."""
    home, environment = scope.home, scope.environment
    settings = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    claude = environment.get("CLAUDE_CONFIG_DIR")
    code = home / "Library" / "Application Support" if sys.platform == "darwin" else settings
    return {
        "root": scope.root or home,
        "claude": Path(claude) if claude else home / ".claude",
        "claude_json": Path(claude) if claude else home,
        "codex": Path(environment.get("CODEX_HOME") or home / ".codex"),
        "cursor": home / ".cursor",
        "vscode": code / "Code" / "User",
        "copilot": Path(environment.get("COPILOT_HOME") or home / ".copilot"),
        "opencode": settings / "opencode",
        "gemini": home / ".gemini",
    }


def home_folder(agent: Agent, scope: InstallScope) -> Path:
    """The folder that an agent creates when it is installed."""
    return _bases(scope)[agent.home]


def server_entry(agent: Agent, scope: InstallScope, command: list[str], *, hooks: bool) -> dict[str, Any]:
    """Our server as an agent's configuration names it.

    With hooks, answers are recorded under the agent's name until a hook reports which of their parts were used (L4).
    """
    variables = {SESSION: agent.name, IMPLICIT: "true"} if hooks else {}
    arguments = ["mcp", *(_ROOT_ARGUMENTS if agent.user_server_needs_root and not scope.root else ())]
    if agent.entry_format == "opencode":
        return {"type": "local", "command": [*command, *arguments], "enabled": True, **({"environment": variables} if variables else {})}
    kind = {"type": "stdio"} if agent.entry_format == "typed" else {}
    return {**kind, "command": command[0], "args": [*command[1:], *arguments], **({"env": variables} if variables else {})}


def is_our_entry(value: Any) -> bool:
    """Whether whence wrote an entry, perhaps with another path, and nobody added anything to it."""
    if not isinstance(value, dict) or value.keys() - {"type", "command", "args", "env", "environment", "enabled"}:
        return False
    command, arguments = value.get("command"), value.get("args", [])
    words = command if isinstance(command, list) else [command, *arguments] if isinstance(arguments, list) else []
    words = words[:-2] if words[-2:] == _ROOT_ARGUMENTS else words
    if not all(isinstance(word, str) for word in words) or words[-1:] != ["mcp"] or value.get("enabled", True) is not True:
        return False
    variables = {**(value.get("env") or {}), **(value.get("environment") or {})}
    runs_whence = (len(words) == 2 and Path(words[0]).stem == SERVER) or words[1:] == ["-m", SERVER, "mcp"]
    return runs_whence and not variables.keys() - {SESSION, IMPLICIT}
