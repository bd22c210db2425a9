"""`whence search`, `why` and `context` with `--fleet`: across all repositories that the caller may see."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import settings_of
from whence.app.low_confidence import LowConfidence
from whence.app.presenters.search import fleet_json, fleet_line, receipt_document, results_document
from whence.app.presenters.text import safe
from whence.cli.context import print_context
from whence.cli.main import FOUND, NOTHING_FOUND
from whence.cli.output import print_document, print_foot, print_json
from whence.cli.search import print_bare, print_doubt
from whence.cli.shared import ProgressBar, styler
from whence.context.request import ContextRequest
from whence.core.errors import UsageError
from whence.search.request import SearchRequest

if TYPE_CHECKING:
    from whence.fleet.search import Fleet

#: Search options that need a local tree.
_LOCAL_OPTIONS = {
    "pattern": "-e",
    "fixed": "-F",
    "word": "-w",
    "ignore_case": "-i",
    "no_refresh": "--no-refresh",
    "trace_file": "--trace",
    "for_task": "--context",
}


def open_fleet(options: dict[str, Any]) -> Fleet:
    """Open the fleet of the settings."""
    from whence.fleet.search import Fleet  # noqa: PLC0415  -- only with --fleet

    return Fleet.open(command_line=settings_of(options["assignments"]))


def search_fleet(request: SearchRequest, paths: tuple[str, ...], options: dict[str, Any]) -> int:
    """Search the fleet and print the results."""
    _check_options(options)
    query = request.query
    if paths:
        raise UsageError("--fleet takes no PATH", hint="select repositories with repo:PATTERN in the query, files with path:GLOB")
    if not query.strip():
        raise UsageError("--fleet needs a query", hint="give words, or sym:NAME")
    with open_fleet(options) as fleet:
        answer = fleet.search(request)
        content = options["content"] or fleet.settings.search.content
        doubt = LowConfidence(answer.confidence, searched=content) if answer.confidence is not None else None
        remarks = list(filter(None, answer.notes))
        for remark in remarks:
            click.echo(f"whence: {safe(remark)}", err=True)
        if options["as_json"]:
            print_json(fleet_json(query, answer, remarks, doubt, with_why=options["with_why"]))
            return FOUND if answer else NOTHING_FOUND
        shown = [(one.path, one) for one in answer]
        print_doubt(doubt, shown, options)
        if not print_bare(query, shown, options):
            print_document(results_document(shown, styler(options["color"]), with_why=options["with_why"]))
            print_foot(styler(options["color"])(fleet_line(answer.searched, len(answer)), dim=True))
            if not answer:
                click.echo("nothing found" if doubt or content == "all" else f"nothing found; only {content} was searched", err=True)
    return FOUND if answer else NOTHING_FOUND


def why_fleet(query: str, target: str, path: str, options: dict[str, Any]) -> int:
    """Explain the rank of a file of the fleet."""
    _check_options(options)
    if path != ".":
        raise UsageError("--fleet takes no PATH", hint="TARGET is REPOSITORY/PATH")
    with open_fleet(options) as fleet:
        found = fleet.why(query, target, profile=options["profile"], content=options["content"])
        if options["as_json"]:
            print_json(asdict(found))
        else:
            print_document(receipt_document(found, styler(options["color"]), str))
    return FOUND


def context_fleet(request: ContextRequest, place: str, options: dict[str, Any]) -> int:
    """Print the context that a task needs from one repository of the fleet."""
    from whence.app.fleet_checkout import open_checkout  # noqa: PLC0415  -- only with --fleet
    from whence.index.layout import default_data_dir  # noqa: PLC0415  -- as above

    _check_options(options)
    if place != "." or request.diff is not None:
        raise UsageError(f"--fleet takes no {'--path' if place != '.' else '--diff'}", hint="the repository is used as it was indexed")
    if any(PurePosixPath(one).is_absolute() or ".." in PurePosixPath(one).parts for one in request.files):
        raise UsageError("with --fleet, --files are paths inside the repository", hint="for instance src/app.py")
    progress, where = ProgressBar(f"indexing {safe(options['repository'])}"), default_data_dir(dict(os.environ), Path.home())
    try:
        with open_fleet(options) as fleet, open_checkout(fleet, options["repository"], where, now=time.time(), progress=progress) as found:
            for warning in found.warnings:
                click.echo(f"whence: {safe(warning)}", err=True)
            freshness = {"commit": found.repository.commit or None, "changed_files": 0, "fresh": True}
            return print_context(found.index, replace(request, freshness=freshness), options)
    finally:
        progress.close()


def _check_options(options: dict[str, Any]) -> None:
    """Refuse options that need a local tree."""
    for name, option in _LOCAL_OPTIONS.items():
        if options.get(name):
            hint = "use /regex/ in the query to narrow its results" if name in ("pattern", "fixed", "word", "ignore_case") else ""
            raise UsageError(f"--fleet and {option} cannot be combined", hint=hint or "drop one of them")
