"""`whence install` and `whence uninstall`: configuring coding agents, and undoing it exactly (A3)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.agents.changes import apply_changes, records_folder, unified_diff
from whence.app.agents.plan import install_state, plan_install, plan_uninstall, whence_command
from whence.app.agents.registry import AGENTS, ALIASES, InstallScope
from whence.app.presenters.text import safe
from whence.cli.shared import FAILED, FOUND, NOTHING_FOUND, color_option, json_option, print_json, styler, together
from whence.core.errors import UsageError, WhenceError
from whence.source.git import repository_root

if TYPE_CHECKING:
    from whence.app.agents.changes import FileChange
    from whence.app.agents.plan import InstallState
    from whence.app.agents.registry import Agent

#: Exit codes of both commands, besides FAILED if something was refused.
DONE, ONLY_SHOWN = FOUND, NOTHING_FOUND
_DONE = {"new file": "wrote", "change in": "changed", "remove": "removed"}

#: What both commands take, before and after the options of their own.
agent_options = together(
    click.argument("agents", nargs=-1, metavar="[AGENT]..."),
    click.option("--all", "every", is_flag=True, help="All agents that are installed on this machine or already configured."),
    click.option("--user", is_flag=True, help="Configure for all your projects, not just the current repository."),
)
change_options = together(
    click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation."),
    click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
    json_option,
    color_option,
)


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """The changes for an agent, or why there are none."""

    agent: Agent
    changes: tuple[FileChange, ...] = ()
    error: WhenceError | None = None
    notes: tuple[str, ...] = ()


@click.command(
    epilog="""\b
Examples:
  whence install                      list agents and what is configured
  whence install claude-code          show the changes in this repository, then ask
  whence install codex gemini --user --yes
  whence install claude-code --hooks  also show notes at session start and learn from use
Exit codes: 0 configured as requested, 1 changes shown but not made, 2 a file was refused."""
)
@agent_options
@click.option("--hooks/--no-hooks", default=None, help="Add or remove hooks (default: leave them as they are).")
@click.option("--absolute", is_flag=True, help="Write the full path of whence, for agents that do not inherit your PATH.")
@click.option("--replace", "replace_foreign", is_flag=True, help="Replace a server entry called whence that was written by hand.")
@change_options
def install(agents: tuple[str, ...], **options: Any) -> int:
    """Configure coding agents to use whence.

    Adds an entry for the MCP server and a few lines of instructions. AGENT is
    claude-code, codex, cursor, vscode, opencode or gemini. Files are edited in place:
    other entries, comments and spacing are preserved. See docs/agents.md.
    """
    scope, folder = _scope(user=options["user"])
    chosen = _chosen(agents, scope, every=options["every"])
    if not chosen:
        return _list_agents(scope, as_json=options["as_json"], color=options["color"])
    command = whence_command(os.environ.get("PATH"), absolute=options["absolute"])

    def plan(agent: Agent) -> Sequence[FileChange]:
        return plan_install(agent, scope, command, folder, hooks=options["hooks"], replace_foreign=options["replace_foreign"])

    plans = [_plan(agent, plan, _notes(agent, scope, hooks=options["hooks"])) for agent in chosen]
    return _carry_out(plans, folder, options, "already configured")


@click.command(
    epilog="""\b
Examples:
  whence uninstall claude-code
  whence uninstall --all --user --yes
Exit codes: 0 removed as requested, 1 changes shown but not made, 2 a file was refused."""
)
@agent_options
@change_options
def uninstall(agents: tuple[str, ...], **options: Any) -> int:
    """Remove whence from coding agents, restoring their files byte for byte.

    Files that install created are deleted. Edits made since are kept; only our
    own parts are removed.
    """
    scope, folder = _scope(user=options["user"])
    chosen = _chosen(agents, scope, every=options["every"])
    if not chosen:
        raise UsageError("no agent given", hint="name one, or add --all")
    leaving = {agent.name for agent in chosen}
    plans = [_plan(agent, lambda one: plan_uninstall(one, scope, folder, leaving)) for agent in chosen]
    return _carry_out(plans, folder, options, "not configured")


# Options.
def _scope(*, user: bool) -> tuple[InstallScope, Path]:
    environment = dict(os.environ)
    here = Path.cwd()
    root = None if user else repository_root(here) or here
    if root in (Path.home(), Path(here.anchor)):
        raise UsageError(f"{safe(str(here))} is not a project", hint="change to one, or add --user")
    return InstallScope(Path.home(), environment, root), records_folder(environment, Path.home())


def _chosen(names: tuple[str, ...], scope: InstallScope, *, every: bool) -> list[Agent]:
    known = {agent.name: agent for agent in AGENTS}
    names = tuple(ALIASES.get(name.lower(), name) for name in names)
    for name in names:
        if name not in known:
            raise UsageError(f"unknown agent {safe(name)!r}", hint=f"allowed: {', '.join(known)}")
    if not every:
        return [known[name] for name in dict.fromkeys(names)]
    states = [install_state(agent, scope) for agent in AGENTS]
    present = [one.agent for one in states if one.installed or one.configured or one.agent.name in names]
    if not present:
        raise UsageError("no agent is installed on this machine", hint=f"name one: {', '.join(known)}")
    return present


def _notes(agent: Agent, scope: InstallScope, *, hooks: bool | None) -> tuple[str, ...]:
    hooks_note = "" if not hooks else agent.hooks.note if agent.hooks is not None else f"{agent.title} cannot run commands as hooks"
    return tuple(filter(None, (agent.project_note if scope.root else agent.user_note, hooks_note)))


def _plan(agent: Agent, plan: Callable[[Agent], Sequence[FileChange]], notes: tuple[str, ...] = ()) -> AgentPlan:
    try:
        return AgentPlan(agent, tuple(plan(agent)), notes=notes)
    except WhenceError as error:
        return AgentPlan(agent, error=error)


def _pending_changes(plans: Sequence[AgentPlan]) -> list[tuple[AgentPlan, list[FileChange]]]:
    """The changes to make for each agent; a file that several agents share is listed once."""
    seen: set[Path] = set()
    result = []
    for one in plans:
        own = [change for change in one.changes if change.has_effect and change.real not in seen]
        seen.update(change.real for change in own)
        result.append((one, own))
    return result


# Changing files.
def _carry_out(plans: Sequence[AgentPlan], folder: Path, options: dict[str, Any], nothing: str) -> int:
    """Show all changes, ask, make them, and report; `nothing` is printed for an agent without changes."""
    to_do = _pending_changes(plans)
    pending = any(changes for _, changes in to_do)
    if not options["as_json"]:
        for one, changes in to_do:
            _show(one, changes, styler(options["color"]), nothing)
    agreed = pending and not options["dry_run"] and _is_confirmed(options)
    errors = [one.error or (_apply(changes, folder) if agreed else None) for one, changes in to_do]
    reports: list[dict[str, Any]] = []
    for (one, changes), error in zip(to_do, errors, strict=True):
        if error is not None:
            _print(f"whence: {one.agent.name}: {safe(error.message)}{f' ({error.hint})' if error.hint else ''}", err=True)
        elif agreed and changes and not options["as_json"]:
            done = ", ".join(f"{_DONE[_what(change)]} {safe(_short(change.path))}" for change in changes)
            _print(f"{one.agent.title}: {done}" + "".join(f"\n  note: {note}" for note in one.notes))
        if options["as_json"]:
            reports.append(_as_json(one, changes, error, done=agreed and error is None))
    if options["as_json"]:
        _print(json.dumps({"applied": agreed, "agents": reports}, indent=2))
    if any(errors):
        return FAILED
    return ONLY_SHOWN if pending and not agreed else DONE


def _is_confirmed(options: dict[str, Any]) -> bool:
    if options["yes"]:
        return True
    if options["as_json"] or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _print("whence: nothing was changed; add --yes to make these changes", err=True)
        return False
    return click.confirm("Make these changes?", default=True)


def _apply(changes: Sequence[FileChange], folder: Path) -> WhenceError | None:
    try:
        apply_changes(changes, folder)
    except WhenceError as error:
        return error
    return None


# Output.
def _print(text: str, *, err: bool = False) -> None:
    """Print a line. A reader that went away, as behind `| head`, must not stop the work halfway: the rest goes nowhere."""
    try:
        click.echo(text, err=err, color=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())


def _show(one: AgentPlan, changes: Sequence[FileChange], style: Callable[..., str], nothing: str) -> None:
    for line in (line for change in one.changes for line in change.notes):
        _print(f"whence: {safe(line)}", err=True)
    if one.error is not None:
        return
    if not changes:
        shared = any(change.has_effect for change in one.changes)
        _print(f"{one.agent.title}: {'shares the changes above' if shared else nothing}")
    for change in changes:
        _print(style(f"{one.agent.title}: {_what(change)} {safe(_short(change.path))}", bold=True))
        for line in unified_diff(change):
            color = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
            _print(style(safe(line), fg=color) if color else safe(line))


def _what(change: FileChange) -> str:
    return "new file" if change.before is None else "remove" if change.after is None else "change in"


def _short(path: Path) -> str:
    """A path as a person would write it."""
    here = os.path.relpath(path)
    if not here.startswith(".."):
        return here
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


def _as_json(one: AgentPlan, changes: Sequence[FileChange], error: WhenceError | None, *, done: bool) -> dict[str, Any]:
    return {
        "agent": one.agent.name,
        "done": done or not (changes or error),
        "files": [{"path": str(change.path), "change": _what(change), "diff": unified_diff(change)} for change in changes],
        "notes": [*(line for change in one.changes for line in change.notes), *one.notes],
        "error": str(error) if error is not None else None,
    }


# Listing.
def _list_agents(scope: InstallScope, *, as_json: bool, color: str) -> int:
    own = InstallScope(scope.home, scope.environment)
    rows = [(install_state(agent, scope), install_state(agent, own)) for agent in AGENTS]
    if as_json:
        print_json({"agents": [_state_json(here, user) for here, user in rows]})
        return FOUND
    style = styler(color)
    for here, user in rows:
        found = "installed" if here.installed else "not found"
        places = [f"{name}: {_configured_parts(one)}" for name, one in (("here", here), ("user", user))]
        click.echo(f"{style(here.agent.name.ljust(12), bold=True)} {found.ljust(10)} {'   '.join(places)}", color=True)
    click.echo("Run `whence install AGENT` to see the changes and confirm them.")
    return FOUND


def _configured_parts(one: InstallState) -> str:
    if one.error:
        return safe(one.error)
    names = [name for name, there in (("server", one.server), ("instructions", one.instructions), ("hooks", one.hooks)) if there]
    return ", ".join(names) or "nothing"


def _state_json(here: InstallState, user: InstallState) -> dict[str, Any]:
    def parts(one: InstallState) -> dict[str, Any]:
        return {"server": one.server, "instructions": one.instructions, "hooks": one.hooks, "trouble": one.error or None}

    return {"agent": here.agent.name, "title": here.agent.title, "found": here.installed, "project": parts(here), "user": parts(user)}
