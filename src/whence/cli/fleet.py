"""`whence fleet`: repositories on a shared engine; and `whence search`, `why` and `context` with `--fleet`."""

from __future__ import annotations

import json
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import set_option, settings_of
from whence.app.fleet_checkout import open_checkout
from whence.app.presenters.search import fleet_json, fleet_line, receipt_document, results_document
from whence.app.presenters.search import search_fleet as ask_fleet
from whence.app.presenters.text import ago, safe
from whence.cli.context import print_context
from whence.cli.search import print_bare, print_low_confidence
from whence.cli.shared import (
    FOUND,
    NOTHING_FOUND,
    ProgressBar,
    answer_options,
    complaint,
    data_dir,
    json_option,
    print_document,
    print_foot,
    print_item,
    print_json,
    print_more,
    print_result,
    styler,
)
from whence.context.request import ContextRequest
from whence.core.errors import UsageError
from whence.core.request import pick_fields
from whence.core.settings import load_settings
from whence.fleet.counts import GROUP, refresh_totals
from whence.fleet.engine import SCHEMAS, Engine, equals
from whence.fleet.leases import Leases
from whence.fleet.registry import OPERATOR, Registry, authenticate, checked_groups, matches, may_see, visible_rows
from whence.fleet.search import Fleet, find_symbols
from whence.fleet.sources import default_name, normalize_source, remove_checkout
from whence.fleet.worker import WorkerOptions, work
from whence.search.request import SearchRequest

if TYPE_CHECKING:
    from whence.fleet.registry import Repository
    from whence.fleet.search import Definition, FleetSymbols
    from whence.fleet.worker import SyncOutcome


#: Exit codes.
NO_REPOSITORY, SOME_FAILED = 1, 2
#: Characters of a commit that are shown.
COMMIT = 10
#: Files of one repository that are listed below a definition.
MAX_LISTED = 5
_USED_BY = {"imports": "imported by", "mentions": "mentioned by"}

#: Search options that need a local tree: patterns, and others.
_PATTERNS = {"pattern": "-e", "fixed": "-F", "word": "-w", "ignore_case": "-i"}
_LOCAL_OPTIONS = _PATTERNS | {"no_refresh": "--no-refresh", "wait_fresh": "--wait-fresh", "trace_file": "--trace", "for_task": "--context"}


@click.group()
def fleet() -> None:
    """Search many repositories on a shared engine.

    The engine is Milvus; fleet.backend and fleet.address say where it is (docs/fleet.md).
    """


@fleet.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--name", default="", help="The repository's name (default: owner/name of a URL, or the folder's name).")
@click.option(
    "--group", "groups", multiple=True, metavar="GROUP", help="A group that may see it; repeatable. Default: only the operator sees it."
)
@json_option
@set_option
def add(sources: tuple[str, ...], name: str, groups: tuple[str, ...], as_json: bool, assignments: tuple[str, ...]) -> int:
    """Add repositories, by path or URL (https, ssh, file).

    The next worker indexes them. Adding a repository again has it indexed
    again; with other groups, only those see it from now on.
    """
    if name and len(sources) > 1:
        raise UsageError("--name with more than one repository", hint="add them one by one")
    named = {name or default_name(source): source for source in map(normalize_source, sources)}
    if len(named) < len(set(sources)):
        raise UsageError("two of these have the same name", hint="add them one by one, with --name")
    with _open_engine(assignments) as (engine, registry):
        done = [_add(engine, registry, called, source, groups) for called, source in named.items()]
    lines = (f"{safe(one.name)}: {safe(one.source)}, {_visibility(one)}; {one.state}" for one in done)
    print_result(as_json, [_repository_json(one) for one in done], *lines)
    return 0


def _add(engine: Engine, registry: Registry, name: str, source: str, groups: tuple[str, ...]) -> Repository:
    if name.startswith(GROUP):
        raise UsageError(f"{name!r} is not a valid repository name", hint=f"names that begin with {GROUP} are groups")
    old = registry.get(name)
    if old is not None and old.source == source and old.groups != checked_groups(groups):
        registry.regroup(name, groups)
        refresh_totals(engine)
    return registry.add(name, source, groups, requested_at=time.time())


@fleet.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@json_option
@set_option
def remove(names: tuple[str, ...], as_json: bool, assignments: tuple[str, ...]) -> int:
    """Remove repositories and all their rows from the fleet. Folders that were added are not touched."""
    done: list[dict[str, Any]] = []
    with _open_engine(assignments) as (engine, registry):
        found = [registry.require(name) for name in dict.fromkeys(names)]
        other_sources = {one.source for one in registry.all() if one.name not in names}
        for one in found:
            rows = {name: count for name in SCHEMAS if (count := engine.count(name, equals("repo", one.name)))}
            registry.remove(one.name)
            checkout = one.source not in other_sources and remove_checkout(one.source, data_dir())
            done.append({"name": one.name, "source": one.source, "rows": rows, "checkout": checkout})
        refresh_totals(engine)
    lines = []
    for removed in done:
        deleted = ", ".join(f"{count} {name}" for name, count in removed["rows"].items())
        lines.append(f"{safe(removed['name'])}: removed (rows: {deleted}){' and its local checkout' if removed['checkout'] else ''}")
    print_result(as_json, done, *lines)
    return 0


@fleet.command("list")
@click.argument("pattern", default="*")
@json_option
@set_option
def list_(pattern: str, as_json: bool, assignments: tuple[str, ...]) -> int:
    """List repositories, optionally those whose name matches a pattern (with * and ?)."""
    with _open_engine(assignments, changing=False) as (engine, registry):
        found = _visible(engine, registry, pattern)
    width = max((len(one.name) for one in found), default=0)
    lines = (f"{safe(one.name):<{width}}  {one.state:<8} {one.files:>7} files  {_visibility(one)}  {safe(one.source)}" for one in found)
    print_result(as_json, [_repository_json(one) for one in found], *lines)
    return 0 if found else NO_REPOSITORY


@fleet.command()
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1)
@click.option("--force", is_flag=True, help="Send all rows again, even unchanged ones.")
@click.option("--worker", default="", help="The worker's name (default: host and process id).")
@click.option("--watch", type=click.FloatRange(0.1), metavar="SECONDS", help="Keep running; check again after so many seconds.")
@json_option
@set_option
def index(patterns: tuple[str, ...], force: bool, worker: str, watch: float | None, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Run a worker: bring repositories in the fleet up to date with their sources.

    Run as many workers as you like, on any machines: a repository is leased
    to one worker at a time, and if a worker dies, another takes over. Only
    changes are sent. Ends when nothing is left to do.
    """
    options = WorkerOptions(data_dir(), settings_of(assignments), force, lambda one: _is_selected(one, patterns), ProgressBar)
    with _open_engine(assignments) as (engine, registry):
        if watch is None and not any(options.selects(one) for one in registry.all()):
            selected = f" matches {' or '.join(map(safe, patterns))}" if patterns else ""
            print_result(as_json, [], f"no repository in the fleet{selected}")
            return NO_REPOSITORY
        leases = Leases(engine, worker or f"{socket.gethostname()}-{os.getpid()}", engine.settings.lease, time.time)
        done: list[dict[str, Any]] = []
        while True:
            for outcome in work(engine, registry, leases, options):
                if watch is None:
                    done.append(_outcome_json(outcome))
                if not as_json or watch is not None:
                    _print_outcome(outcome, as_json)
            if watch is None:
                break
            time.sleep(watch)
    if as_json:
        print_json(done)
    return SOME_FAILED if any(one["what"] == "failed" for one in done) else 0


@fleet.command()
@click.argument("pattern", default="*")
@json_option
@set_option
def status(pattern: str, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Show the state of repositories: commit, size, cost of the last sync, and the worker that has them."""
    with _open_engine(assignments, changing=False) as (engine, registry):
        found = _visible(engine, registry, pattern)
        holders = Leases(engine, "", engine.settings.lease, time.time).holders()
    if as_json:
        print_json([{**_repository_json(one), "worker": holders.get(one.name)} for one in found])
    else:
        for one in found:
            _print_status(one, holders.get(one.name, ""))
        counts = ", ".join(f"{count} {state}" for state, count in sorted(Counter(one.state for one in found).items()))
        noun = "repository" if len(found) == 1 else "repositories"
        print_item(f"{len(found)} {noun}{f' ({counts})' if counts else ''}, {sum(one.files for one in found)} files")
    return 0 if found else NO_REPOSITORY


def _print_status(one: Repository, worker: str) -> None:
    print_item(f"{safe(one.name)}: {one.state}{f', leased by {safe(worker)}' if worker else ''}")
    print_more(f"  {safe(one.source)}, {_visibility(one)}")
    if one.indexed_at:
        at = f"commit {one.commit[:COMMIT]}" if one.commit else "no commit"
        print_more(f"  {at}{f' on {safe(one.branch)}' if one.branch else ''}, checked {ago(time.time() - one.indexed_at)}")
        print_more(f"  {one.files} files, {one.units} units, {one.passages} passages, {one.bytes_source / 1e6:.1f} MB of source")
        print_more(f"  last sync: {one.bytes_sent / 1e6:.2f} MB sent in {one.seconds:.1f} s, {one.cpu:.1f} s of CPU")
    if one.error:
        print_more(f"  {safe(one.error)}")


@fleet.command()
@click.argument("name")
@answer_options
def symbols(name: str, **options: Any) -> int:
    """Show where NAME is defined, and which other files import or mention it.

    A use is matched to definitions by the words of its import statement only,
    so several may be listed. Repositories that you may not see are left out.
    """
    with _open_fleet(options) as fleet:
        found = find_symbols(fleet, name)
    if options["as_json"]:
        print_json(asdict(found))
    else:
        _print_symbols(found, styler(options["color"], links=False))
    return FOUND if found.definitions else NOTHING_FOUND


def _print_symbols(found: FleetSymbols, style: Any) -> None:
    for one in found.definitions:
        where = style(safe(f"{one.repository}/{one.path}"), fg="magenta", bold=True)
        print_item(f"{where}:{one.line}  {one.kind} {style(safe(found.name), bold=True)}")
        for line in _uses(found, one):
            print_more(f"   {safe(line)}")
    defined = f"{len(found.definitions)} definition{'' if len(found.definitions) == 1 else 's'}"
    print_item(style(f"{defined}; {len(found.uses)} of {found.files} files searched use the name", dim=True))


def _uses(found: FleetSymbols, of: Definition) -> list[str]:
    """The files that may refer to a definition, by repository."""
    lines: list[str] = []
    for repository in dict.fromkeys(one.repository for one in found.uses):
        own = [one for one in found.uses if one.repository == repository and of in one.means]
        for one in own[:MAX_LISTED]:
            others = f" (or {len(one.means) - 1} more of that name)" if len(one.means) > 1 else ""
            lines.append(f"{_USED_BY[one.how]} {repository}/{one.path}{f': {one.statement}' if one.statement else ''}{others}")
        if len(own) > MAX_LISTED:
            lines.append(f"and {len(own) - MAX_LISTED} more files of {repository}")
    return lines


@contextmanager
def _open_engine(assignments: tuple[str, ...], *, changing: bool = True) -> Iterator[tuple[Engine, Registry]]:
    """Open the engine of the settings, creating collections if need be. Only the operator may change a fleet."""
    settings = load_settings(None, command_line=settings_of(assignments))[0].fleet
    if authenticate(settings, settings.caller) != OPERATOR and changing:
        raise UsageError("only the operator may change the fleet", hint='an operator\'s token has ["*"] in fleet.tokens')
    with Engine.open(settings) as engine:
        engine.ensure()
        yield engine, Registry(engine)


def _visible(engine: Engine, registry: Registry, pattern: str) -> list[Repository]:
    """The repositories that the caller may see and that match a pattern."""
    caller = authenticate(engine.settings, engine.settings.caller)
    return [one for one in registry.all(visible_rows(caller)) if may_see(caller, {"groups": one.groups}) and _is_selected(one, (pattern,))]


def _is_selected(one: Repository, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(matches(one.name, pattern) for pattern in patterns)


def _visibility(one: Repository) -> str:
    return f"visible to {', '.join(map(safe, one.groups))}" if one.groups else "visible to no group"


def _repository_json(one: Repository) -> dict[str, Any]:
    row = {"name": one.name, **one.as_row(), "groups": list(one.groups), "commit": one.commit or None, "branch": one.branch or None}
    del row["repo"]
    return row


def _outcome_json(outcome: SyncOutcome) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": outcome.name, "what": outcome.status, "said": outcome.message}
    if (summary := outcome.summary) is not None:
        fields |= {"files_sent": summary.files, "files_gone": summary.removed_files}
        fields |= {"rows": summary.rows, "rows_deleted": summary.deleted, "bytes": summary.bytes}
        if (now := summary.repository) is not None:
            fields |= {"files": now.files, "units": now.units, "commit": now.commit or None}
            fields |= {"seconds": round(now.seconds, 3), "cpu": round(now.cpu, 3)}
    return fields


def _print_outcome(outcome: SyncOutcome, as_json: bool) -> None:
    """One line per repository, of text or of JSON."""
    summary = outcome.summary
    if as_json:
        print_item(json.dumps(_outcome_json(outcome)))
    elif outcome.status == "failed":
        click.echo(complaint(f"{safe(outcome.name)}: {outcome.message}"), err=True, nl=False)
    elif summary is None or summary.repository is None or summary.is_empty:
        print_item(f"{safe(outcome.name)}: {outcome.message or 'up to date'}")
    else:
        now = summary.repository
        removed = f", {summary.removed_files} removed" if summary.removed_files else ""
        print_item(
            f"{safe(outcome.name)}: {summary.files} of {now.files} files sent{removed}, "
            f"{summary.bytes / 1e6:.2f} MB in {now.seconds:.1f} s, {now.cpu:.1f} s of CPU"
        )


# Questions to the fleet.
def _open_fleet(options: dict[str, Any]) -> Fleet:
    """Open the fleet of the settings."""
    return Fleet.open(command_line=settings_of(options["assignments"]))


def search_fleet(request: SearchRequest, paths: tuple[str, ...], options: dict[str, Any]) -> int:
    """Search the fleet and print the results."""
    _check_options(options)
    query = request.query
    if paths:
        raise UsageError("--fleet takes no PATH", hint="select repositories with repo:PATTERN in the query, files with path:GLOB")
    if not query.strip():
        raise UsageError("--fleet needs a query", hint="give words, or sym:NAME")
    with _open_fleet(options) as fleet:
        of_all, answer = ask_fleet(fleet, request, lambda one: (one.path, one))
        shown, doubt = [pair for _, pair in of_all.results], of_all.low_confidence
        for remark in of_all.notes:
            click.echo(f"whence: {safe(remark)}", err=True)
        if options["as_json"]:
            print_json(fleet_json(query, answer, of_all.notes, doubt, with_why=options["with_why"]))
            return FOUND if answer else NOTHING_FOUND
        print_low_confidence(doubt, shown, options)
        if not print_bare(query, shown, options):
            print_document(results_document(shown, styler(options["color"], links=False), with_why=options["with_why"]))
            print_foot(styler(options["color"], links=False)(fleet_line(answer.searched, len(answer)), dim=True))
            if not answer:
                content = options["content"] or fleet.settings.search.content
                click.echo("nothing found" if doubt or content == "all" else f"nothing found; only {content} was searched", err=True)
    return FOUND if answer else NOTHING_FOUND


def why_fleet(query: str, target: str, path: str, options: dict[str, Any]) -> int:
    """Explain the rank of a file of the fleet."""
    _check_options(options)
    if path != ".":
        raise UsageError("--fleet takes no PATH", hint="TARGET is REPOSITORY/PATH")
    with _open_fleet(options) as fleet:
        found = fleet.why(query, target, **pick_fields(SearchRequest, options))
        if options["as_json"]:
            print_json(asdict(found))
        else:
            print_document(receipt_document(found, styler(options["color"], links=False), str))
    return FOUND


def context_fleet(request: ContextRequest, place: str, options: dict[str, Any]) -> int:
    """Print the context that a task needs from one repository of the fleet."""
    _check_options(options)
    if place != "." or request.is_review:
        raise UsageError(f"--fleet takes no {'--path' if place != '.' else '--diff'}", hint="the repository is used as it was indexed")
    if any(PurePosixPath(one).is_absolute() or ".." in PurePosixPath(one).parts for one in request.files):
        raise UsageError("with --fleet, --files are paths inside the repository", hint="for instance src/app.py")
    name = options["repository"]
    with (
        ProgressBar(f"indexing {name}") as progress,
        _open_fleet(options) as fleet,
        open_checkout(fleet, name, data_dir(), now=time.time(), progress=progress) as found,
    ):
        for warning in found.warnings:
            click.echo(f"whence: {safe(warning)}", err=True)
        freshness = {"commit": found.repository.commit or None, "changed_files": 0, "fresh": True}
        return print_context(found.index, replace(request, freshness=freshness), options)


def _check_options(options: dict[str, Any]) -> None:
    """Refuse options that need a local tree."""
    for name, option in _LOCAL_OPTIONS.items():
        if options.get(name):
            hint = "use /regex/ in the query to narrow its results" if name in _PATTERNS else "drop one of them"
            raise UsageError(f"--fleet and {option} cannot be combined", hint=hint)
