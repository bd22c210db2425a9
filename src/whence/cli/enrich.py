"""`whence enrich` and `whence ingest`: edges that a language server, an indexer or a running program adds to the graph."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import Target, set_option, settings_of, targets_of
from whence.app.presenters.text import safe
from whence.cli.shared import FAILED, FOUND, NOTHING_FOUND, ProgressBar, json_option, open_index, print_item, print_json, print_result
from whence.core.errors import SettingError, UsageError
from whence.core.settings import PROJECT_FILE
from whence.core.types import LSP, RUNTIME
from whence.graph.enrich.client import (
    SERVERS,
    LanguageServer,
    ServerError,
    Timeouts,
    find_server,
    server_kind,
    start_configuration,
    start_options,
)
from whence.graph.enrich.definitions import RECORD_FILE, EnrichRecord, Outlines
from whence.graph.enrich.definitions import enrich as enriched
from whence.graph.enrich.scip import ScipError, ScipIndex
from whence.graph.enrich.traces import DATABASE_FILE, FunctionFinder, IndexSymbols, Observations, TraceError, read_spans
from whence.parse.languages import language_named

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.graph.enrich.client import ServerKind
    from whence.graph.enrich.definitions import EnrichedFile

#: Edges are written at least this often.
SECONDS_BETWEEN_WRITES = 20.0


@click.command(
    epilog="""\b
Examples:
  whence enrich
  whence enrich src --lang python --limit 200
  whence enrich --lang typescript --server "npx typescript-language-server --stdio"

The server is a program of its own and runs with your rights; it is found on the
PATH or beside whence; one that a repository brought along is run only when --server names it."""
)
@click.argument("path", default=".", metavar="[PATH]")
@click.option("--lang", "language", metavar="NAME", help="Only this language (default: python, typescript, go and c).")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Process at most N files; the next run continues.")
@click.option("--server", "command", metavar="CMD", help="Server command, instead of a detected one; needs --lang.")
@click.option("--again", is_flag=True, help="Also process unchanged files that are already done.")
@click.option("--wait", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Time limit for one answer (default: 60).")
@json_option
@set_option
def enrich(path: str, as_json: bool, assignments: tuple[str, ...], **options: Any) -> int:
    """Refine the symbol graph with a language server.

    Its answers become edges with provenance lsp_resolved, valid until the file
    changes; run this again for changed files.
    """
    if options["command"] is not None and options["language"] is None:
        raise UsageError("--server needs --lang", hint="name the language that the server is for")
    target = targets_of((path,))[0]
    with open_index(target.root, settings_of(assignments)) as index:
        runs = [_ServerRun(index, kind, options) for kind in _kinds(index, options["language"])]
        if not runs:
            raise UsageError(
                "there is nothing here to ask a language server about", hint=f"{', '.join(one.name for one in SERVERS)} are known"
            )
        asked = [one for one in runs if one.find(alone=len(runs) == 1)]
        if not asked:
            raise UsageError(runs[0].error, hint="; ".join(dict.fromkeys(one.hint for one in runs)))
        for one in asked:
            one.ask(target)
            if not as_json:
                print_item(one.line())
        for one in runs:
            if one.error:
                click.echo(f"whence: {one.error}{f' ({one.hint})' if one.hint else ''}", err=True)
        if as_json:
            print_json({"root": str(index.root), "languages": [one.figures() for one in asked]})
    return FAILED if any(one.error for one in asked) else FOUND


def _kinds(index: Index, language: str | None) -> list[ServerKind]:
    """The servers for one language, or for all languages of the tree."""
    if language is not None:
        if not (known := language_named(language)):
            raise UsageError(f"there is no language {safe(language)!r}", hint="whence status lists those of this tree")
        return [server_kind(known)]
    spoken = {name for name, _, _ in index.store.languages()}
    return [kind for kind in SERVERS if spoken & set(kind.languages)]


@dataclass
class _ServerRun:
    """A run of one language server over the files of its languages."""

    index: Index
    kind: ServerKind
    options: dict[str, Any]
    command: list[str] = field(default_factory=list)
    error: str = ""
    hint: str = ""
    files: int = 0
    left: int = 0
    queried: int = 0
    resolved: int = 0
    edges: int = 0
    failed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @cached_property
    def _record(self) -> EnrichRecord:
        return EnrichRecord(self.index.layout.directory / RECORD_FILE)

    def find(self, *, alone: bool) -> bool:
        """Find the server. If it is missing, that is an error only if it is `alone`."""
        try:
            self.command = find_server(self.kind, self.index.root, self.options["command"] or self._setting())
        except ServerError as trouble:
            if alone:
                raise
            self.error, self.hint = trouble.message, trouble.hint
        return bool(self.command)

    def _setting(self) -> str:
        """The command in the settings; never one from the repository's own file."""
        for one in self.index.provenance:
            if one.name == f"enrich.{self.kind.name}" and one.value:
                if one.source.endswith(PROJECT_FILE):
                    raise SettingError(
                        f"{one.name}: a repository may not say which program to run", hint="set it elsewhere, or use --server"
                    )
                return str(one.value)
        return ""

    def ask(self, target: Target) -> None:
        """Ask about every unfinished file, and write edges as they come."""
        index, wait = self.index, self.options["wait"]
        languages = _languages(index)
        paths = self._unfinished([path for path, name in languages.items() if name in self.kind.languages and _below(path, target.paths)])
        patience = Timeouts(answer=wait, start=wait) if wait else Timeouts()
        outlines = _outlines(index, languages)
        how: dict[str, Any] = {
            "configuration": start_configuration(self.kind, languages),
            "options": start_options(self.kind, index.root),
            "patience": patience,
        }
        progress = ProgressBar(f"asking {self.command[0].rpartition('/')[2]}")
        began = kept = time.monotonic()
        waiting: list[EnrichedFile] = []
        try:
            for one in enriched(lambda: LanguageServer(self.command, index.root, **how), outlines, paths, progress):
                self._count(one, waiting)
                if time.monotonic() - kept > SECONDS_BETWEEN_WRITES:
                    self._keep(waiting)
                    kept = time.monotonic()
        except ServerError as trouble:
            self.error, self.hint = trouble.message, f"the command was {shlex.join(self.command)}; what was found is kept"
        finally:  # also when interrupted
            progress.close()
            self._keep(waiting)
            self.left += len(paths) - self.files
            self.seconds = time.monotonic() - began

    def _unfinished(self, paths: Sequence[str]) -> list[str]:
        if not self.options["again"]:
            contents = self.index.store.hashes(paths)
            with_edges = {edge.source.partition("#")[0] for edge in self.index.store.edges(LSP)}
            paths = [path for path in paths if not self._record.is_done(path, contents.get(path, b"?"), with_edges)]
        chosen = list(paths[: self.options["limit"]])
        self.left = len(paths) - len(chosen)
        return chosen

    def _count(self, one: EnrichedFile, waiting: list[EnrichedFile]) -> None:
        if one.error:
            self.failed.append(one.path)
            click.echo(f"whence: {safe(one.path)} is left out: {one.error}", err=True)
            return
        waiting.append(one)
        self.files += 1
        self.queried += one.requests
        self.resolved += one.resolved
        self.edges += len(one.edges)

    def _keep(self, waiting: list[EnrichedFile]) -> None:
        if waiting:
            paths = [one.path for one in waiting]
            self.index.add_edges(LSP, [edge for one in waiting for edge in one.edges], paths=paths)
            self._record.add(waiting, self.index.store.hashes(paths))
            waiting.clear()

    def line(self) -> str:
        """The summary of the run as a line."""
        rest = f"; {self.left} files left" if self.left else ""
        found = f"{self.edges} edges from {self.resolved} of {self.queried} names"
        return f"{self.kind.name}: {found} in {self.files} files, {self.seconds:.1f} s{rest}"

    def figures(self) -> dict[str, Any]:
        """The summary of the run as JSON."""
        counts = {"files": self.files, "left": self.left, "failed": self.failed}
        names = {"names": self.queried, "resolved": self.resolved, "edges": self.edges}
        end = {"seconds": round(self.seconds, 3), "trouble": self.error or None}
        return {"language": self.kind.name, "command": self.command, **counts, **names, **end}


def _languages(index: Index) -> dict[str, str]:
    """The language of every file whose name is printable; others cannot hold symbols."""
    snapshot = index.snapshot
    living = zip(snapshot.paths, snapshot.languages, snapshot.alive.tolist(), strict=True)
    return {path: language for path, language, alive in sorted(living) if alive and path.isprintable()}


def _outlines(index: Index, languages: Mapping[str, str]) -> Outlines:
    symbols = index.snapshot.symbols
    return Outlines(index.root, languages, index.settings.index.max_file_bytes, frozenset(symbols.name[symbols.defines].tolist()))


def _below(path: str, folders: Sequence[str]) -> bool:
    return not folders or any(path == folder or path.startswith(f"{folder}/") for folder in folders)


# Traces.
@click.group()
def ingest() -> None:
    """Add data from other tools."""


@ingest.command(
    epilog="""\b
Examples:
  scip-python index --project-name shop && whence ingest scip index.scip
  scip-typescript index && whence ingest scip index.scip --root ~/shop"""
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--root", default=".", metavar="PATH", help="The repository that was indexed (default: here).")
@json_option
@set_option
def scip(file: str, root: str, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Add what a SCIP index knows of names.

    Its answers replace what was guessed about the same mention, like those of
    whence enrich, until the file changes. Files that changed since FILE was
    written are left out.
    """
    place = Path(file)
    with open_index(targets_of((root,))[0].root, settings_of(assignments)) as index, ProgressBar("reading") as progress:
        try:
            known = ScipIndex(place.read_bytes())
        except ScipError as error:
            raise ScipError(f"{safe(file)}: {error.message}; nothing was stored", hint=error.hint) from error
        found: list[EnrichedFile] = []
        for one in known.edges(_outlines(index, _languages(index)), place.stat().st_mtime):
            found.append(one)
            progress(len(found), len(known.documents))
        done = [one for one in found if not one.error]
        paths = [one.path for one in done]
        index.add_edges(LSP, [edge for one in done for edge in one.edges], paths=paths)
        EnrichRecord(index.layout.directory / RECORD_FILE).add(done, index.store.hashes(paths))
        counts = {"documents": len(known.documents), "files": len(done), "changed": len(found) - len(done)}
        names = {"names": sum(one.requests for one in done), "resolved": sum(one.resolved for one in done)}
        edges = sum(len(one.edges) for one in done)
        line = f"{edges} edges from {names['resolved']} of {names['names']} names in {len(done)} files"
        late = f"; {counts['changed']} files changed since" if counts["changed"] else ""
        print_result(as_json, {"root": str(index.root), **counts, **names, "edges": edges}, line + late)
    return FOUND if done else NOTHING_FOUND


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
    with open_index(targets_of((root,))[0].root, settings_of(assignments)) as index:
        symbols = IndexSymbols(index.reader)
        with Observations(index.layout.directory / DATABASE_FILE) as observations:
            try:
                with open(file, encoding="utf-8-sig") as opened:
                    did = observations.ingest(read_spans(opened), FunctionFinder(symbols))
            except TraceError as trouble:
                raise TraceError(f"{safe(file)}: {trouble.message}; nothing was stored", hint=trouble.hint) from trouble
            edges = [edge for edge in observations.edges(time.time()) if symbols.holds(edge.source) and symbols.holds(edge.target)]
        index.add_edges(RUNTIME, edges, paths=None)
        counts = {"spans": did.spans, "mapped": did.mapped, "new": did.new, "left_out": dict(did.unmapped), "edges": len(edges)}
        reasons = "".join(f", {count} {reason}" for reason, count in sorted(did.unmapped.items()))
        line = f"{did.spans} spans: {did.mapped} mapped ({did.new} new){reasons}; {len(edges)} edges observed so far"
        print_result(as_json, {"root": str(index.root), **counts}, line)
    return FOUND if did.mapped else NOTHING_FOUND
