"""Which agents there are, where each keeps its configuration, and what an entry looks like there. A new agent is a new row.

A place is written as `base:path`, for a project and for the user; of several the first that exists is meant, else the
first. What is known of each format, and since when, is in docs/agents.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

#: The name under which agents know the server.
SERVER = "whence"
SESSION, IMPLICIT = "WHENCE_SESSION", "WHENCE_LEARN_IMPLICIT"


@dataclass(frozen=True, slots=True)
class InstallScope:
    """Whose configuration: that of a repository, or the user's own where there is no root."""

    home: Path
    environment: Mapping[str, str]
    root: Path | None = None


@dataclass(frozen=True, slots=True)
class AgentPaths:
    """Where a file lies for a project and for a user, and what stands in it when it is new."""

    project: tuple[str, ...]
    user: tuple[str, ...]
    head: str = ""

    def path(self, scope: InstallScope) -> Path | None:
        """The file that is meant; None where an agent has none."""
        bases = _bases(scope)
        places = [bases[base] / name for base, _, name in (one.partition(":") for one in (self.project if scope.root else self.user))]
        return next((place for place in places if place.exists()), places[0] if places else None)


@dataclass(frozen=True, slots=True)
class Hooks:
    """How an agent is told to run a command when a session begins and after a file was read or edited."""

    places: AgentPaths
    start: str
    used: str
    matcher: str
    flat: bool = False  # the command stands in the list of its event, not in a group
    second: int = 1  # what the agent counts as a second of patience
    note: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent."""

    name: str
    title: str
    programs: tuple[str, ...]
    home: str  # the folder that says it is installed
    servers: AgentPaths
    under: tuple[str, ...]  # the keys above the name of a server
    shape: Literal["typed", "plain", "opencode", "toml"]
    instructions: AgentPaths
    hooks: Hooks | None = None
    user_arguments: tuple[str, ...] = ()  # what the server needs where the agent does not start it in the project
    project_note: str = ""
    user_note: str = ""


_MDC = """---
description: How to find code and notes in this repository
alwaysApply: true
---
"""
_APPLY = """---
description: How to find code and notes
applyTo: "**"
---
"""
_VERSION = '{\n  "version": 1\n}\n'
_WORKSPACE = ("--root", "${workspaceFolder}")
_READS = "Read|Edit|Write|MultiEdit|NotebookEdit"

#: What people call them otherwise.
ALIASES = {
    "claude": "claude-code", "claudecode": "claude-code", "codex-cli": "codex", "copilot": "vscode", "vs-code": "vscode",
    "code": "vscode", "open-code": "opencode", "gemini-cli": "gemini",
}  # fmt: skip
AGENTS = (
    Agent(
        "claude-code", "Claude Code", ("claude",), "claude:",
        servers=AgentPaths(("root:.mcp.json",), ("claude_json:.claude.json",)), under=("mcpServers",), shape="typed",
        instructions=AgentPaths(("root:CLAUDE.md", "root:.claude/CLAUDE.md"), ("claude:CLAUDE.md",)),
        hooks=Hooks(AgentPaths(("root:.claude/settings.json",), ("claude:settings.json",)), "SessionStart", "PostToolUse", _READS),
        project_note="it asks once whether to trust the server of a project",
    ),
    Agent(
        "codex", "Codex", ("codex",), "codex:",
        servers=AgentPaths(("root:.codex/config.toml",), ("codex:config.toml",)), under=("mcp_servers",), shape="toml",
        instructions=AgentPaths(("root:AGENTS.md",), ("codex:AGENTS.md",)),
        hooks=Hooks(
            AgentPaths(("root:.codex/hooks.json",), ("codex:hooks.json",)), "SessionStart", "PostToolUse", "Bash|apply_patch|Edit|Write",
            note="it runs them once you have trusted them with /hooks",
        ),
        project_note="it reads a project's configuration once the project is trusted",
    ),
    Agent(
        "cursor", "Cursor", ("cursor", "cursor-agent"), "cursor:",
        servers=AgentPaths(("root:.cursor/mcp.json",), ("cursor:mcp.json",)), under=("mcpServers",), shape="plain",
        instructions=AgentPaths(("root:.cursor/rules/whence.mdc",), (), _MDC),
        hooks=Hooks(
            AgentPaths(("root:.cursor/hooks.json",), ("cursor:hooks.json",), _VERSION),
            "sessionStart", "postToolUse", "Read|Write|Edit", flat=True,
        ),
        user_arguments=_WORKSPACE,
        user_note="its rules for all projects are in its settings, not in a file: none were written",
    ),
    Agent(
        "vscode", "VS Code (Copilot)", ("code",), "vscode:",
        servers=AgentPaths(("root:.vscode/mcp.json",), ("vscode:mcp.json",)), under=("servers",), shape="typed",
        instructions=AgentPaths(("root:.github/copilot-instructions.md",), ()),
        hooks=Hooks(
            AgentPaths(("root:.github/hooks/whence.json",), ("copilot:hooks/whence.json",), _VERSION),
            "SessionStart", "PostToolUse", "", flat=True,
            note="hooks are a preview in VS Code; it also runs those of Claude Code",
        ),
        user_arguments=_WORKSPACE,
    ),
    Agent(
        "opencode", "OpenCode", ("opencode",), "opencode:",
        servers=AgentPaths(
            ("root:opencode.json", "root:opencode.jsonc", "root:.opencode/opencode.json", "root:.opencode/opencode.jsonc"),
            ("opencode:opencode.json", "opencode:opencode.jsonc"),
            '{\n  "$schema": "https://opencode.ai/config.json"\n}\n',
        ),
        under=("mcp",), shape="opencode",
        instructions=AgentPaths(("root:AGENTS.md",), ("opencode:AGENTS.md",)),
    ),
    Agent(
        "gemini", "Gemini CLI", ("gemini",), "gemini:",
        servers=AgentPaths(("root:.gemini/settings.json",), ("gemini:settings.json",)), under=("mcpServers",), shape="plain",
        instructions=AgentPaths(("root:GEMINI.md",), ("gemini:GEMINI.md",)),
        hooks=Hooks(
            AgentPaths(("root:.gemini/settings.json",), ("gemini:settings.json",)), "SessionStart", "AfterTool",
            "read_file|read_many_files|replace|write_file", second=1000,
        ),
    ),
)  # fmt: skip
#: Instructions for all projects of a user, where an agent has another file for them than for one.
USER_INSTRUCTIONS = {"vscode": AgentPaths((), ("copilot:instructions/whence.instructions.md",), _APPLY)}


def instructions_of(agent: Agent, scope: InstallScope) -> AgentPaths:
    """The file of instructions that an agent reads."""
    return USER_INSTRUCTIONS.get(agent.name, agent.instructions) if scope.root is None else agent.instructions


def _bases(scope: InstallScope) -> dict[str, Path]:
    """The folders that agents keep their configuration in."""
    home, said = scope.home, scope.environment
    settings = Path(said.get("XDG_CONFIG_HOME") or home / ".config")
    claude = said.get("CLAUDE_CONFIG_DIR")
    code = home / "Library" / "Application Support" if sys.platform == "darwin" else settings
    return {
        "root": scope.root or home,
        "claude": Path(claude) if claude else home / ".claude",
        "claude_json": Path(claude) if claude else home,
        "codex": Path(said.get("CODEX_HOME") or home / ".codex"),
        "cursor": home / ".cursor",
        "vscode": code / "Code" / "User",
        "copilot": Path(said.get("COPILOT_HOME") or home / ".copilot"),
        "opencode": settings / "opencode",
        "gemini": home / ".gemini",
    }


def folder_of(agent: Agent, scope: InstallScope) -> Path:
    """The folder that an agent makes when it is installed."""
    return _bases(scope)[agent.home.partition(":")[0]]


# Entries.
def entry_of(agent: Agent, scope: InstallScope, command: list[str], *, hooks: bool) -> dict[str, Any]:
    """The server as an agent's configuration names it.

    With hooks, what an answer showed waits under the agent's name until a hook reports what of it was used (L4).
    """
    variables = {SESSION: agent.name, IMPLICIT: "true"} if hooks else {}
    arguments = ["mcp", *(() if scope.root else agent.user_arguments)]
    if agent.shape == "opencode":
        return {"type": "local", "command": [*command, *arguments], "enabled": True, **({"environment": variables} if variables else {})}
    kind = {"type": "stdio"} if agent.shape == "typed" else {}
    return {**kind, "command": command[0], "args": [*command[1:], *arguments], **({"env": variables} if variables else {})}


def is_ours(value: Any) -> bool:
    """Whether an entry is one that whence wrote, perhaps with another path: nobody added anything to it."""
    if not isinstance(value, dict) or value.keys() - {"type", "command", "args", "env", "environment", "enabled"}:
        return False
    command, arguments = value.get("command"), value.get("args", [])
    words = command if isinstance(command, list) else [command, *arguments] if isinstance(arguments, list) else []
    words = words[:-2] if words[-2:] == list(_WORKSPACE) else words
    if not all(isinstance(word, str) for word in words) or words[-1:] != ["mcp"] or value.get("enabled", True) is not True:
        return False
    variables = {**(value.get("env") or {}), **(value.get("environment") or {})}
    runs = (len(words) == 2 and Path(words[0]).stem == SERVER) or words[1:] == ["-m", SERVER, "mcp"]
    return runs and not variables.keys() - {SESSION, IMPLICIT}
