"""What running programs were seen to do, kept beside an index, as edges (W6).

Every span that means a symbol is kept by its number, once. So the same file can be
read again, or one that has grown since, and nothing is counted twice; a child finds
its parent in whichever file came first. Edges are counted from what is kept:
confidence rises from 0.2 towards 0.95 with the number of observations n, as
0.2 + 0.75 (1 - exp(-n / 20)): 0.24 for one, 0.67 for twenty, 0.94 for a hundred.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from whence.enrich.functions import Functions
from whence.enrich.otlp import Span
from whence.errors import StorageError
from whence.types import RUNTIME, Edge

if TYPE_CHECKING:
    from typing_extensions import Self

LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.2, 0.95
#: Observations after which about two thirds of the way is gone.
OBSERVATIONS_TO_TRUST = 20
#: The name of the file in the folder of an index.
DATABASE = "traces.db"
_MOST_CHARACTERS = 300
_SCHEMA = """
CREATE TABLE IF NOT EXISTS symbols (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS relations (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, target TEXT NOT NULL, UNIQUE (kind, target));
CREATE TABLE IF NOT EXISTS spans (
    id BLOB PRIMARY KEY, parent BLOB NOT NULL, symbol INTEGER NOT NULL, relation INTEGER, ended REAL NOT NULL) WITHOUT ROWID;
"""
_CALLS = """
SELECT caller.key, called.key, 'calls', count(*), max(child.ended)
FROM spans AS child JOIN spans AS parent ON child.parent = parent.id
JOIN symbols AS called ON child.symbol = called.id JOIN symbols AS caller ON parent.symbol = caller.id
WHERE child.symbol != parent.symbol GROUP BY parent.symbol, child.symbol
"""
_RELATIONS = """
SELECT symbols.key, relations.target, relations.kind, count(*), max(spans.ended)
FROM spans JOIN symbols ON spans.symbol = symbols.id JOIN relations ON spans.relation = relations.id
GROUP BY spans.symbol, spans.relation
"""


@dataclass(slots=True)
class Ingested:
    """What was read of a file."""

    spans: int = 0
    mapped: int = 0  # spans that mean a symbol
    new: int = 0  # of these, the ones that were not known
    unmapped: Counter[str] = field(default_factory=Counter)  # why the others mean none


def confidence(observations: int) -> float:
    """How far an edge is to be trusted that was observed so often."""
    share = 1 - math.exp(-observations / OBSERVATIONS_TO_TRUST)
    return LEAST_CONFIDENCE + (MOST_CONFIDENCE - LEAST_CONFIDENCE) * share


class Observations:
    """The spans of one index that mean a symbol. A context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._explained():
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.executescript(_SCHEMA)
        self._rows: dict[tuple[str, ...], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._db.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise StorageError(f"{self._path.name}: {error}", hint="whence clear removes it with its index") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._rows.clear()
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def ingest(self, spans: Iterable[Span | None], functions: Functions) -> Ingested:
        """Take in the spans of a file: all that mean a symbol, or none when the file turns out to be unreadable."""
        did = Ingested()
        with self._transaction():
            for span in spans:
                did.spans += 1
                key, reason = functions.find(span.attributes) if span else ("", "without a number")
                if span is None or not key:
                    did.unmapped[reason] += 1
                    continue
                did.mapped += 1
                did.new += self._keep(span, key)
        return did

    def _keep(self, span: Span, key: str) -> bool:
        new = self._db.execute("SELECT 1 FROM spans WHERE id = ?", (span.id,)).fetchone() is None
        relation = relation_of(span)
        row = self._row("relations (kind, target)", *relation) if relation else None
        values = (span.id, span.parent, self._row("symbols (key)", key), row, span.ended)
        self._db.execute("INSERT OR REPLACE INTO spans VALUES (?, ?, ?, ?, ?)", values)
        return new

    def _row(self, table: str, *values: str) -> int:
        asked = (table, *values)
        if asked not in self._rows:
            name, _, columns = table.partition(" ")
            marks = ", ".join("?" * len(values))
            self._db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)  # noqa: S608  -- names from the two calls above
            wanted = " AND ".join(f"{one} = ?" for one in columns.strip("()").split(", "))
            found = self._db.execute(f"SELECT id FROM {name} WHERE {wanted}", values)  # noqa: S608  -- likewise
            self._rows[asked] = int(found.fetchone()[0])
        return self._rows[asked]

    def edges(self, now: float) -> list[Edge]:
        """All that was observed, in a fixed order; no clock of another machine says later than now."""
        with self._explained():
            rows = [row for query in (_CALLS, _RELATIONS) for row in self._db.execute(query)]
        return [
            Edge(source, target, kind, RUNTIME, round(confidence(count), 4), seen=min(seen, now), count=count)
            for source, target, kind, count, seen in sorted(rows)
        ]


def relation_of(span: Span) -> tuple[str, str] | None:
    """What a span says beside who called it: a route that it answers or asks for, a remote procedure likewise."""
    said = span.attributes
    route = said.get("http.route") or said.get("url.template")
    if route:
        method = (said.get("http.request.method") or said.get("http.method") or "ANY").upper()
        return _printable("consumes_endpoint" if span.kind == "client" else "handles_route", f"route:{method} {route}")
    if said.get("rpc.method") and span.kind in ("client", "server"):
        return _printable("consumes_rpc" if span.kind == "client" else "implements_rpc", f"rpc:{_procedure(said)}")
    return None


def _procedure(said: Mapping[str, str]) -> str:
    """`package.Service/Method`, whichever way it was reported."""
    service, method = said.get("rpc.service", ""), said["rpc.method"].lstrip("/")
    return method if "/" in method or not service else f"{service}/{method}"


def _printable(kind: str, target: str) -> tuple[str, str] | None:
    return (kind, target) if len(target) <= _MOST_CHARACTERS and target.isprintable() else None
