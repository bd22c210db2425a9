"""`whence fleet symbols`: a name across repositories."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.cli.main import FOUND, NOTHING_FOUND
from whence.cli.shared import ProgressBar, ago, color_option, complaint, json_option, print_json, safe, set_option, settings_of, styler
from whence.core.errors import UsageError

if TYPE_CHECKING:
    from whence.core.settings_schema import FleetSettings
    from whence.fleet.milvus.engine import Engine
    from whence.fleet.registry import Registry, Repository
    from whence.fleet.symbols import Definition, FleetSymbols
    from whence.fleet.worker import SyncOutcome


#: Files of one repository that are listed below a definition.
MOST_LISTED = 5
_BY = {"imports": "imported by", "mentions": "mentioned by"}


@click.command()
@click.argument("name")
@json_option
@color_option
@set_option
def symbols(name: str, **options: Any) -> int:
    """Say where NAME is defined, and which other files import or mention it.

    A use is led to definitions by the words of its import statement alone: a
    first step, which says what may be meant. Nothing is said of repositories
    that you may not see.
    """
    from whence.fleet.search import Fleet  # noqa: PLC0415
    from whence.fleet.symbols import find_symbols  # noqa: PLC0415

    with Fleet.open(command_line=settings_of(options["assignments"])) as fleet:
        found = find_symbols(fleet, name)
    if options["as_json"]:
        print_json(asdict(found))
    else:
        _print(found, styler(options["color"]))
    return FOUND if found.definitions else NOTHING_FOUND


def _print(found: FleetSymbols, style: Any) -> None:
    for one in found.definitions:
        where = style(safe(f"{one.repository}/{one.path}"), fg="magenta", bold=True)
        click.echo(f"{where}:{one.line}  {one.kind} {style(safe(found.name), bold=True)}", color=True)
        for line in _uses(found, one):
            click.echo(f"   {safe(line)}")
    defined = f"{len(found.definitions)} definition{'' if len(found.definitions) == 1 else 's'}"
    click.echo(style(f"{defined}, {len(found.uses)} files that use the name, of {found.files} looked at", dim=True), color=True)


def _uses(found: FleetSymbols, of: Definition) -> list[str]:
    """The files that may mean a definition, by repository; what else they may mean is counted."""
    lines: list[str] = []
    for repository in dict.fromkeys(one.repository for one in found.uses):
        mine = [one for one in found.uses if one.repository == repository and of in one.means]
        for one in mine[:MOST_LISTED]:
            others = f" (or {len(one.means) - 1} more of that name)" if len(one.means) > 1 else ""
            lines.append(f"{_BY[one.how]} {repository}/{one.path}{f': {one.statement}' if one.statement else ''}{others}")
        if len(mine) > MOST_LISTED:
            lines.append(f"and {len(mine) - MOST_LISTED} more files of {repository}")
    return lines


NOTHING, TROUBLE = 1, 2
#: Letters of a commit that are shown.
COMMIT = 10


@click.group()
def fleet() -> None:
    """Many repositories in one engine, indexed by workers.

    The engine is Milvus: fleet.backend and fleet.address say where (docs/fleet.md).
    """


fleet.add_command(symbols)


@fleet.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--name", default="", help="What it is called (default: owner/name of a URL, the name of a folder).")
@click.option(
    "--group", "groups", multiple=True, metavar="GROUP", help="Who may see it, again for more; none: only who may see everything."
)
@json_option
@set_option
def add(sources: tuple[str, ...], name: str, groups: tuple[str, ...], as_json: bool, assignments: tuple[str, ...]) -> int:
    """Take in repositories, by path or URL (https, ssh, file).

    The next worker indexes them. One that is there already is asked to be
    indexed again; with other groups than before, it is seen by those from now on.
    """
    from whence.fleet.sources import default_name, normalize_source  # noqa: PLC0415

    if name and len(sources) > 1:
        raise UsageError("one name for several repositories", hint="give --name with one of them")
    wanted = {name or default_name(source): source for source in map(normalize_source, sources)}
    if len(wanted) < len(set(sources)):
        raise UsageError("two of these have the same name", hint="add them one by one, with --name")
    with _opened(assignments) as (engine, registry):
        done = [_added(engine, registry, called, source, groups) for called, source in wanted.items()]
    if as_json:
        print_json([_facts(one) for one in done])
        return 0
    for one in done:
        click.echo(f"{safe(one.name)}: {safe(one.source)}, {_seen_by(one)}; {one.state}")
    return 0


def _added(engine: Engine, registry: Registry, name: str, source: str, groups: tuple[str, ...]) -> Repository:
    from whence.fleet.counts import GROUP, refresh_totals  # noqa: PLC0415
    from whence.fleet.registry import checked_groups  # noqa: PLC0415

    if name.startswith(GROUP):
        raise UsageError(f"{name!r} is no name for a repository", hint=f"{GROUP} begins the names of groups")
    old = registry.get(name)
    if old is not None and old.source == source and old.groups != checked_groups(groups):
        registry.regroup(name, groups)
        refresh_totals(engine)
    return registry.add(name, source, groups, wanted=time.time())


@fleet.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@json_option
@set_option
def remove(names: tuple[str, ...], as_json: bool, assignments: tuple[str, ...]) -> int:
    """Delete repositories from the fleet: every row of them. Folders that were added are left alone."""
    from whence.fleet.counts import refresh_totals  # noqa: PLC0415
    from whence.fleet.milvus.filters import equals  # noqa: PLC0415
    from whence.fleet.milvus.schemas import SCHEMAS  # noqa: PLC0415
    from whence.fleet.sources import remove_checkout  # noqa: PLC0415

    done: list[dict[str, Any]] = []
    with _opened(assignments) as (engine, registry):
        found = [_known(registry, name) for name in dict.fromkeys(names)]
        others = {one.source for one in registry.all() if one.name not in names}
        for one in found:
            rows = {name: count for name in SCHEMAS if (count := engine.count(name, equals("repo", one.name)))}
            registry.remove(one.name)
            checkout = one.source not in others and remove_checkout(one.source, _data_dir())
            done.append({"name": one.name, "source": one.source, "rows": rows, "checkout": checkout})
        refresh_totals(engine)
    if as_json:
        print_json(done)
        return 0
    for told in done:
        went = ", ".join(f"{count} of {name}" for name, count in told["rows"].items())
        click.echo(f"{safe(told['name'])}: removed, rows: {went}{'; its checkout here, too' if told['checkout'] else ''}")
    return 0


def _known(registry: Registry, name: str) -> Repository:
    found = registry.get(name)
    if found is None:
        raise UsageError(f"the fleet has no repository {name!r}", hint="whence fleet list")
    return found


@fleet.command("list")
@click.argument("pattern", default="*")
@json_option
@set_option
def list_(pattern: str, as_json: bool, assignments: tuple[str, ...]) -> int:
    """List repositories: all, or those whose name a pattern fits (* and ? stand for anything)."""
    with _opened(assignments, changing=False) as (engine, registry):
        found = [one for one in _visible(engine, registry) if _fits(one, (pattern,))]
    if as_json:
        print_json([_facts(one) for one in found])
    else:
        width = max((len(one.name) for one in found), default=0)
        for one in found:
            click.echo(f"{safe(one.name):<{width}}  {one.state:<8} {one.files:>7} files  {_seen_by(one)}  {safe(one.source)}")
    return 0 if found else NOTHING


@fleet.command()
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1)
@click.option("--force", is_flag=True, help="Send everything again, also what is there.")
@click.option("--worker", default="", help="What this worker is called (default: host and process).")
@click.option("--watch", type=click.FloatRange(0.1), metavar="SECONDS", help="Go on: look again after so many seconds, until stopped.")
@json_option
@set_option
def index(patterns: tuple[str, ...], force: bool, worker: str, watch: float | None, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Work: bring repositories in the fleet up to their sources.

    Run it in as many places as you like: each repository is one worker's at a
    time, and what a worker that died had begun is taken over by another. Only
    what changed is sent. Ends when nothing is left to do.
    """
    from whence.fleet.leases import Leases  # noqa: PLC0415
    from whence.fleet.worker import WorkerOptions, work  # noqa: PLC0415

    ways = WorkerOptions(_data_dir(), settings_of(assignments), force, lambda one: _fits(one, patterns), _shown)
    with _opened(assignments) as (engine, registry):
        if watch is None and not any(ways.selects(one) for one in registry.all()):
            return _nothing_to_do(patterns, as_json)
        leases = Leases(engine, worker or f"{socket.gethostname()}-{os.getpid()}", engine.settings.lease, time.time)
        done: list[dict[str, Any]] = []
        while True:
            for outcome in work(engine, registry, leases, ways):
                if watch is None:
                    done.append(_told(outcome))
                if not as_json or watch is not None:
                    _say(outcome, as_json)
            if watch is None:
                break
            time.sleep(watch)
    if as_json:
        print_json(done)
    return TROUBLE if any(one["what"] == "failed" for one in done) else 0


def _nothing_to_do(patterns: tuple[str, ...], as_json: bool) -> int:
    if as_json:
        print_json([])
    else:
        meant = f" that {' or '.join(map(safe, patterns))} fits" if patterns else ""
        click.echo(f"the fleet has no repository{meant}")
    return NOTHING


@fleet.command()
@click.argument("pattern", default="*")
@json_option
@set_option
def status(pattern: str, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Say what became of repositories: state, commit, size, what indexing cost, and who works on them now."""
    from whence.fleet.leases import Leases  # noqa: PLC0415

    with _opened(assignments, changing=False) as (engine, registry):
        found = [one for one in _visible(engine, registry) if _fits(one, (pattern,))]
        holders = Leases(engine, "", engine.settings.lease, time.time).holders()
    if as_json:
        print_json([{**_facts(one), "worker": holders.get(one.name)} for one in found])
    else:
        for one in found:
            _print_status(one, holders.get(one.name, ""))
        click.echo(_summed(found))
    return 0 if found else NOTHING


def _print_status(one: Repository, worker: str) -> None:
    by = f", worked on by {safe(worker)}" if worker else ""
    click.echo(f"{safe(one.name)}: {one.state}{by}")
    click.echo(f"  {safe(one.source)}, {_seen_by(one)}")
    if one.indexed_at:
        at = f"commit {one.commit[:COMMIT]}" if one.commit else "no commit"
        click.echo(f"  {at}{f' on {safe(one.branch)}' if one.branch else ''}, looked at {ago(time.time() - one.indexed_at)}")
        click.echo(f"  {one.files} files, {one.units} units, {one.passages} passages, {one.bytes_source / 1e6:.1f} MB of source")
        click.echo(f"  last work: {one.bytes_sent / 1e6:.2f} MB sent in {one.seconds:.1f} s, {one.cpu:.1f} s of processors")
    if one.said:
        click.echo(f"  {safe(one.said)}")


def _summed(found: list[Repository]) -> str:
    states = {state: sum(one.state == state for one in found) for state in sorted({one.state for one in found})}
    told = ", ".join(f"{count} {state}" for state, count in states.items())
    many = "repository" if len(found) == 1 else "repositories"
    return f"{len(found)} {many}{f' ({told})' if told else ''}, {sum(one.files for one in found)} files"


@contextmanager
def _opened(assignments: tuple[str, ...], *, changing: bool = True) -> Iterator[tuple[Engine, Registry]]:
    """The engine that the settings name, with everything that a fleet needs. Only who may see everything may change it."""
    from whence.fleet.access import OPERATOR, authenticate  # noqa: PLC0415
    from whence.fleet.milvus.engine import Engine  # noqa: PLC0415
    from whence.fleet.registry import Registry  # noqa: PLC0415

    settings = _settings(assignments)
    if authenticate(settings, settings.caller) != OPERATOR and changing:
        raise UsageError("a fleet is changed by those alone who may see all of it", hint='their token stands for ["*"] in fleet.tokens')
    with Engine.open(settings) as engine:
        engine.ensure()
        yield engine, Registry(engine)


def _visible(engine: Engine, registry: Registry) -> list[Repository]:
    """The repositories that the caller may see."""
    from whence.fleet.access import authenticate, may_see, visible_rows  # noqa: PLC0415

    caller = authenticate(engine.settings, engine.settings.caller)
    return [one for one in registry.all(visible_rows(caller)) if may_see(caller, {"groups": one.groups})]


def _settings(assignments: tuple[str, ...]) -> FleetSettings:
    from whence.core.settings import load_settings  # noqa: PLC0415

    return load_settings(None, command_line=settings_of(assignments))[0].fleet


def _data_dir() -> Path:
    from whence.index.layout import default_data_dir  # noqa: PLC0415

    return default_data_dir(dict(os.environ), Path.home())


@contextmanager
def _shown(label: str) -> Iterator[ProgressBar]:
    progress = ProgressBar(safe(label))
    try:
        yield progress
    finally:
        progress.close()


def _fits(one: Repository, patterns: tuple[str, ...]) -> bool:
    """Whether a pattern means a repository: its whole name, or the last part of it. No patterns mean all."""
    names = (one.name, one.name.rpartition("/")[2])
    return not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _seen_by(one: Repository) -> str:
    return f"seen by {', '.join(map(safe, one.groups))}" if one.groups else "seen by no group"


def _facts(one: Repository) -> dict[str, Any]:
    from dataclasses import asdict  # noqa: PLC0415

    return {**asdict(one), "groups": list(one.groups), "commit": one.commit or None, "branch": one.branch or None}


def _told(outcome: SyncOutcome) -> dict[str, Any]:
    sent = outcome.summary
    told: dict[str, Any] = {"name": outcome.name, "what": outcome.status, "said": outcome.message}
    if sent is not None:
        told |= {
            "files_sent": sent.files,
            "files_gone": sent.removed_files,
            "rows": sent.rows,
            "rows_deleted": sent.deleted,
            "bytes": sent.bytes,
        }
        if sent.repository is not None:
            told |= {"files": sent.repository.files, "units": sent.repository.units, "commit": sent.repository.commit or None}
            told |= {"seconds": round(sent.repository.seconds, 3), "cpu": round(sent.repository.cpu, 3)}
    return told


def _say(outcome: SyncOutcome, as_json: bool) -> None:
    """One line for a repository; of a worker that goes on, one line of JSON."""
    import json  # noqa: PLC0415

    if as_json:
        click.echo(json.dumps(_told(outcome)))
    elif outcome.status == "failed":
        click.echo(complaint(f"{safe(outcome.name)}: {outcome.message}"), err=True, nl=False)
    elif outcome.summary is None or outcome.summary.repository is None or outcome.summary.is_empty:
        click.echo(f"{safe(outcome.name)}: {outcome.message or 'up to date'}")
    else:
        sent, left = outcome.summary, outcome.summary.repository
        gone = f", {sent.removed_files} gone" if sent.removed_files else ""
        click.echo(
            f"{safe(outcome.name)}: {sent.files} of {left.files} files sent{gone}, "
            f"{sent.bytes / 1e6:.2f} MB in {left.seconds:.1f} s, {left.cpu:.1f} s of processors"
        )
