"""`whence ingest`."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.app.presenters.text import safe
from whence.cli.main import FOUND, NOTHING_FOUND
from whence.cli.output import print_item, print_json
from whence.cli.shared import json_option, open_indexes, say_notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whence.app.index import Index
    from whence.core.types import ParsedFile
    from whence.graph.enrich.traces import IngestSummary

FILES_KEPT = 2_048


@click.group()
def ingest() -> None:
    """Add data from other tools."""


@ingest.command(
    epilog="""\b
Example:
  whence ingest traces spans.json --root ~/shop

Spans are matched by code.function, code.namespace, code.filepath and code.lineno.
One that fits no symbol, or several, is counted and left out. The same spans can be
given again; none counts twice."""
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--root", default=".", metavar="PATH", help="The repository that was traced (default: here).")
@json_option
@set_option
def traces(file: str, root: str, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Add calls and routes observed at run time.

    FILE holds OpenTelemetry spans as OTLP JSON, one document or one per line.
    """
    from whence.core.types import RUNTIME  # noqa: PLC0415
    from whence.graph.enrich.otlp import TraceError, read_spans  # noqa: PLC0415
    from whence.graph.enrich.traces import (  # noqa: PLC0415
        DATABASE_FILE,
        FunctionFinder,
        Observations,
    )

    with open_indexes(targets_of((root,))[:1], refresh=True, values=settings_of(assignments)) as (index,):
        say_notes([index])
        symbols = IndexSymbols(index)
        with Observations(index.layout.directory / DATABASE_FILE) as observations:
            try:
                with open(file, encoding="utf-8-sig") as opened:
                    did = observations.ingest(read_spans(opened), FunctionFinder(symbols))
            except TraceError as trouble:
                raise TraceError(f"{safe(file)}: {trouble.message}; nothing was stored", hint=trouble.hint) from trouble
            edges = [edge for edge in observations.edges(time.time()) if symbols.holds(edge.source) and symbols.holds(edge.target)]
        index.add_edges(RUNTIME, edges, paths=None)
        if as_json:
            print_json(
                {
                    "root": str(index.root),
                    "spans": did.spans,
                    "mapped": did.mapped,
                    "new": did.new,
                    "left_out": dict(did.unmapped),
                    "edges": len(edges),
                }
            )
        else:
            print_item(_line(did, len(edges)))
    return FOUND if did.mapped else NOTHING_FOUND


def _line(did: IngestSummary, edges: int) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(did.unmapped.items()))
    return f"{did.spans} spans: {did.mapped} mapped ({did.new} new){f', {reasons}' if reasons else ''}; {edges} edges observed so far"


class IndexSymbols:
    """The symbols of an index, as traces look for them."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.parsed = lru_cache(FILES_KEPT)(self._parsed)

    def paths(self) -> Sequence[str]:
        """The paths of all files."""
        snapshot = self._index.snapshot
        return [path for path, alive in zip(snapshot.paths, snapshot.alive.tolist(), strict=True) if alive]

    def files_defining(self, name: str) -> Sequence[str]:
        """The files that define a name."""
        snapshot = self._index.snapshot
        rows = snapshot.file_of_unit[snapshot.definitions(name)]
        return [snapshot.path(file) for file in sorted(set(rows.tolist()))]

    def _parsed(self, path: str) -> ParsedFile | None:
        return self._index.parsed(path)

    def holds(self, key: str) -> bool:
        """Whether a symbol is still there; what has no place in the source always is."""
        path, mark, name = key.partition("#")
        if not mark or path.startswith(("route:", "rpc:")):
            return True
        parsed = self.parsed(path)
        return parsed is not None and any(unit.qualified_name == name for unit in parsed.units)
