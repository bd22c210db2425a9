"""`whence install` and `whence uninstall`: agents come to know whence, and forget it without a trace (A3)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.cli.main import FAILED, FOUND, NOTHING_FOUND
from whence.cli.shared import color_option, json_option, print_json, safe, styler
from whence.core.errors import UsageError, WhenceError

if TYPE_CHECKING:
    from whence.app.agents.changes import FileChange
    from whence.app.agents.plan import InstallState
    from whence.app.agents.registry import Agent, InstallScope

#: Exit codes of both: it is as asked; it is not, changes were only shown; something was refused.
DONE, ONLY_SHOWN = FOUND, NOTHING_FOUND

user_option = click.option("--user", is_flag=True, help="For all your projects, not for the repository around the current folder.")
all_option = click.option("--all", "every", is_flag=True, help="All agents that are found on this machine, or that know whence.")
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
dry_option = click.option("--dry-run", is_flag=True, help="Only show what would change.")


@dataclass(frozen=True, slots=True)
class Planned:
    """The changes for an agent, or why there are none."""

    agent: Agent
    changes: tuple[FileChange, ...] = ()
    trouble: WhenceError | None = None
    said: tuple[str, ...] = ()


@click.command(
    epilog="""\b
Examples:
  whence install                      which agents there are, and which know whence
  whence install claude-code          show what would change in this repository, and ask
  whence install codex gemini --user --yes
  whence install claude-code --hooks  also recall at the start, and learn from what is used
Exit codes: 0 it is as asked, 1 changes were only shown, 2 something was refused."""
)
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@all_option
@user_option
@click.option("--hooks/--no-hooks", default=None, help="With hooks, or without those that are there (default: leave them as they are).")
@click.option("--absolute", is_flag=True, help="Name whence by its whole path, for agents that are started without your PATH.")
@click.option("--replace", "over_others", is_flag=True, help="Replace an entry of our name that somebody wrote by hand.")
@yes_option
@dry_option
@json_option
@color_option
def install(agents: tuple[str, ...], **options: Any) -> int:
    """Tell agents of whence, and when to ask it.

    An entry for its server and a few lines of instructions are written. AGENT is
    claude-code, codex, cursor, vscode, opencode or gemini. Files are changed in place:
    other entries, comments and spacing stay as they are. See docs/agents.md.
    """
    from whence.app.agents.plan import own_command, to_install  # noqa: PLC0415

    scope, folder = _scope(user=options["user"])
    chosen = _chosen(agents, scope, every=options["every"])
    if not chosen:
        return _list_agents(scope, as_json=options["as_json"], color=options["color"])
    command = own_command(os.environ.get("PATH"), absolute=options["absolute"])

    def plan(agent: Agent) -> Sequence[FileChange]:
        return to_install(agent, scope, command, folder, hooks=options["hooks"], over_others=options["over_others"])

    planned = [_planned(agent, plan, _notes(agent, scope, hooks=options["hooks"])) for agent in chosen]
    return _carry_out(planned, folder, options, "knows whence already")


@click.command(
    epilog="""\b
Examples:
  whence uninstall claude-code
  whence uninstall --all --user --yes
Exit codes: 0 it is as asked, 1 changes were only shown, 2 something was refused."""
)
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@all_option
@user_option
@yes_option
@dry_option
@json_option
@color_option
def uninstall(agents: tuple[str, ...], **options: Any) -> int:
    """Make the files of agents what they were, byte for byte.

    Files that were made for it are removed. What was edited since stays as it is,
    but for what is ours.
    """
    from whence.app.agents.plan import to_uninstall  # noqa: PLC0415

    scope, folder = _scope(user=options["user"])
    chosen = _chosen(agents, scope, every=options["every"])
    if not chosen:
        raise UsageError("no agent is named", hint="name one, or add --all")
    leaving = {agent.name for agent in chosen}
    planned = [_planned(agent, lambda one: to_uninstall(one, scope, folder, leaving)) for agent in chosen]
    return _carry_out(planned, folder, options, "knows nothing of whence")


# What is asked.
def _scope(*, user: bool) -> tuple[InstallScope, Path]:
    from whence.app.agents.record import records_folder  # noqa: PLC0415
    from whence.app.agents.registry import InstallScope  # noqa: PLC0415
    from whence.source.git import repository_root  # noqa: PLC0415

    environment = dict(os.environ)
    here = Path.cwd()
    root = None if user else repository_root(here) or here
    if root in (Path.home(), Path(here.anchor)):
        raise UsageError(f"{safe(str(here))} is no project", hint="go to one, or add --user")
    return InstallScope(Path.home(), environment, root), records_folder(environment, Path.home())


def _chosen(names: tuple[str, ...], scope: InstallScope, *, every: bool) -> list[Agent]:
    from whence.app.agents.plan import standing  # noqa: PLC0415
    from whence.app.agents.registry import AGENTS, ALIASES  # noqa: PLC0415

    known = {agent.name: agent for agent in AGENTS}
    names = tuple(ALIASES.get(name.lower(), name) for name in names)
    for name in names:
        if name not in known:
            raise UsageError(f"there is no agent {safe(name)!r}", hint=f"allowed: {', '.join(known)}")
    if not every:
        return [known[name] for name in dict.fromkeys(names)]
    found = [
        one.agent for one in (standing(agent, scope) for agent in AGENTS) if one.installed or one.configured or one.agent.name in names
    ]
    if not found:
        raise UsageError("no agent is found on this machine", hint=f"name one: {', '.join(known)}")
    return found


def _notes(agent: Agent, scope: InstallScope, *, hooks: bool | None) -> tuple[str, ...]:
    of_hooks = "" if not hooks else agent.hooks.note if agent.hooks is not None else "it has no hooks that could call a command"
    return tuple(filter(None, (agent.project_note if scope.root else agent.user_note, of_hooks)))


def _planned(agent: Agent, plan: Callable[[Agent], Sequence[FileChange]], said: tuple[str, ...] = ()) -> Planned:
    try:
        return Planned(agent, tuple(plan(agent)), said=said)
    except WhenceError as trouble:
        return Planned(agent, trouble=trouble)


def _unlike(planned: Sequence[Planned]) -> list[tuple[Planned, list[FileChange]]]:
    """The changes that are to be made, each file once: agents may share one."""
    seen: set[Path] = set()
    result = []
    for one in planned:
        own = [change for change in one.changes if change.changes and change.real not in seen]
        seen.update(change.real for change in own)
        result.append((one, own))
    return result


# What is done.
def _carry_out(planned: Sequence[Planned], folder: Path, options: dict[str, Any], nothing: str) -> int:
    """Show all changes, ask, make them all, then say what was done."""
    to_do = _unlike(planned)
    pending = any(changes for _, changes in to_do)
    if not options["as_json"]:
        for one, changes in to_do:
            _show(one, changes, styler(options["color"]), nothing)
    agreed = pending and not options["dry_run"] and _agreed(options)
    troubles = [one.trouble or (_made(changes, folder) if agreed else None) for one, changes in to_do]
    told: list[dict[str, Any]] = []
    for (one, changes), trouble in zip(to_do, troubles, strict=True):
        if trouble is not None:
            _print(f"whence: {one.agent.name}: {safe(trouble.message)}{f' ({trouble.hint})' if trouble.hint else ''}", err=True)
        elif agreed and changes and not options["as_json"]:
            _say_done(one, changes)
        if options["as_json"]:
            told.append(_as_json(one, changes, trouble, done=agreed and trouble is None))
    if options["as_json"]:
        _print(json.dumps({"applied": agreed, "agents": told}, indent=2))
    if any(troubles):
        return FAILED
    return ONLY_SHOWN if pending and not agreed else DONE


def _agreed(options: dict[str, Any]) -> bool:
    if options["yes"]:
        return True
    if options["as_json"] or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _print("whence: nothing was changed; add --yes to do it", err=True)
        return False
    return click.confirm("Make these changes?", default=True)


def _made(changes: Sequence[FileChange], folder: Path) -> WhenceError | None:
    from whence.app.agents.changes import write  # noqa: PLC0415

    try:
        write(changes, folder)
    except WhenceError as trouble:
        return trouble
    return None


# What is said.
def _print(text: str, *, err: bool = False) -> None:
    """Print a line. That nobody reads it, as behind `| head`, must not stop the work half way: nothing more is printed then."""
    try:
        click.echo(text, err=err, color=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())


def _show(one: Planned, changes: Sequence[FileChange], style: Callable[..., str], nothing: str) -> None:
    from whence.app.agents.changes import difference  # noqa: PLC0415

    for line in (line for change in one.changes for line in change.said):
        _print(f"whence: {safe(line)}", err=True)
    if one.trouble is not None:
        return
    if not changes:
        kept = any(change.changes for change in one.changes)
        _print(f"{one.agent.title}: {'done with the others' if kept else nothing}")
    for change in changes:
        _print(style(f"{one.agent.title}: {_what(change)} {safe(_short(change.path))}", bold=True))
        for line in difference(change):
            color = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
            _print(style(safe(line), fg=color) if color else safe(line))


def _say_done(one: Planned, changes: Sequence[FileChange]) -> None:
    words = {"new file": "wrote", "change in": "changed", "remove": "removed"}
    done = ", ".join(f"{words[_what(change)]} {safe(_short(change.path))}" for change in changes)
    _print(f"{one.agent.title}: {done}" + "".join(f"\n  note: {note}" for note in one.said))


def _what(change: FileChange) -> str:
    return "new file" if change.before is None else "remove" if change.after is None else "change in"


def _short(path: Path) -> str:
    """A path as a person would write it."""
    here = os.path.relpath(path)
    if not here.startswith(".."):
        return here
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


def _as_json(one: Planned, changes: Sequence[FileChange], trouble: WhenceError | None, *, done: bool) -> dict[str, Any]:
    from whence.app.agents.changes import difference  # noqa: PLC0415

    return {
        "agent": one.agent.name,
        "done": done or not (changes or trouble),
        "files": [{"path": str(change.path), "change": _what(change), "diff": difference(change)} for change in changes],
        "notes": [*(line for change in one.changes for line in change.said), *one.said],
        "error": str(trouble) if trouble is not None else None,
    }


# Which there are.
def _list_agents(scope: InstallScope, *, as_json: bool, color: str) -> int:
    from whence.app.agents.plan import standing  # noqa: PLC0415
    from whence.app.agents.registry import AGENTS, InstallScope  # noqa: PLC0415

    own = InstallScope(scope.home, scope.environment)
    rows = [(standing(agent, scope), standing(agent, own)) for agent in AGENTS]
    if as_json:
        print_json({"agents": [_standing_json(here, user) for here, user in rows]})
        return FOUND
    style = styler(color)
    for here, user in rows:
        found = "found" if here.installed else "not found"
        places = [f"{name}: {_knows(one)}" for name, one in (("here", here), ("user", user))]
        click.echo(f"{style(here.agent.name.ljust(12), bold=True)} {found.ljust(10)} {'   '.join(places)}", color=True)
    click.echo("whence install AGENT shows what it would write, and asks.")
    return FOUND


def _knows(one: InstallState) -> str:
    if one.trouble:
        return safe(one.trouble)
    names = [name for name, there in (("server", one.server), ("instructions", one.instructions), ("hooks", one.hooks)) if there]
    return ", ".join(names) or "nothing"


def _standing_json(here: InstallState, user: InstallState) -> dict[str, Any]:
    def known(one: InstallState) -> dict[str, Any]:
        return {"server": one.server, "instructions": one.instructions, "hooks": one.hooks, "trouble": one.trouble or None}

    return {"agent": here.agent.name, "title": here.agent.title, "found": here.installed, "project": known(here), "user": known(user)}
