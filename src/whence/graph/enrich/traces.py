"""Edges from traces: which symbols the spans of a running program belong to, and what was observed of them. Never a guess.

Spans are read as a stream from files of OpenTelemetry's JSON, which may be larger than memory should be: one document, an array
of them, or one after another (JSON lines). Names may be written as `resourceSpans` or `resource_spans`, numbers as text.

A reported function is a symbol when its qualified name agrees with what was
reported, as far as both go, and exactly one symbol fits best. With a file, only
files whose path agrees can hold it; without one, what is left of the namespace must
name the symbol's file or folder. A line decides between equals, and nothing else:
the program may have run another version of the source.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NoReturn

from whence.core.errors import StorageError, UsageError
from whence.core.types import DEFINITIONS, RUNTIME, Edge, Unit
from whence.index.reader import IndexReader

if TYPE_CHECKING:
    from typing_extensions import Self

_CHUNK = 1 << 20
#: One span, or anything that is passed over, larger than this is no trace.
MOST_VALUE_CHARACTERS = 16_000_000
_BLANK = re.compile(r"[ \t\r\n]*")
_BEGINS_A_VALUE = frozenset('{["-0123456789tfn')
_RESOURCES = frozenset({"resourceSpans", "resource_spans"})
_SCOPES = frozenset({"scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"})
_KINDS = ("", "internal", "server", "client", "producer", "consumer")
#: Attributes that say where in the source a span was made, or what it was an answer to.
ATTRIBUTES = frozenset(
    "code.function code.function.name code.namespace code.filepath code.file.path code.lineno code.line.number http.route url.template"
    " http.method http.request.method rpc.system rpc.system.name rpc.service rpc.method".split()
)
#: The last second that a clock of nanoseconds in 64 bits can tell.
_LAST_SECOND = 2**63 / 1e9


class TraceError(UsageError):
    """A file that holds no OpenTelemetry JSON."""


@dataclass(frozen=True, slots=True)
class Span:
    """One span, as far as it can say something of the source."""

    id: bytes
    parent: bytes  # empty when it has none
    kind: str
    ended: float  # seconds since 1970; 0 when it is not known
    attributes: Mapping[str, str] = field(default_factory=dict)


def read_spans(file: IO[str]) -> Iterator[Span | None]:
    """Every span of a file; None for one that has no number of its own. Raises `TraceError`."""
    stream = _Stream(file)
    found = False
    for key in _documents(stream):
        found = True
        for resource_key in _members_of_elements(stream, key):
            if resource_key not in _SCOPES:
                stream.value()
                continue
            for scope_key in _members_of_elements(stream, resource_key):
                if scope_key != "spans":
                    stream.value()
                    continue
                for _ in stream.elements("spans"):
                    yield _span(stream.value(), stream)
    if not found:
        raise TraceError("no OpenTelemetry spans in it", hint="OTLP JSON has resourceSpans")


def _documents(stream: _Stream) -> Iterator[str]:
    """Stops at each list of resources, wherever a document holds one."""
    while (begins := stream.peek()) != "":
        if begins == "[":
            for _ in stream.elements("a document"):
                yield from _of_document(stream)
        else:
            yield from _of_document(stream)


def _of_document(stream: _Stream) -> Iterator[str]:
    for key in stream.members("a document"):
        if key in _RESOURCES:
            yield key
        else:
            stream.value()


def _members_of_elements(stream: _Stream, what: str) -> Iterator[str]:
    for _ in stream.elements(what):
        yield from stream.members(what)


class _Stream:
    """A text of JSON in pieces: what is walked through is never whole in memory, what is taken is."""

    def __init__(self, file: IO[str]) -> None:
        self._file, self._text, self._at, self._passed, self._ended = file, "", 0, 0, False
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        if self._ended:
            return False
        try:
            piece = self._file.read(max(_CHUNK, len(self._text) - self._at))
        except UnicodeDecodeError as error:
            raise TraceError("it is no UTF-8 text") from error
        self._ended = not piece
        self._passed += self._at
        self._text, self._at = self._text[self._at :] + piece, 0
        return not self._ended

    def fail(self, what: str) -> NoReturn:
        """Complain, with the place."""
        raise TraceError(f"{what} at character {self._passed + self._at + 1}")

    def _expect(self, character: str) -> None:
        found = self.peek()
        if found != character:
            self.fail(f"expected {character}, found {found!a}" if found else f"the file ends where {character} is expected")
        self._at += 1

    def elements(self, what: str) -> Iterator[None]:
        """Stops before each element of an array, which the caller takes; null is an empty one."""
        yield from self._inside("[", "]", what)

    def members(self, what: str) -> Iterator[str]:
        """The name of each member of an object; the caller takes the value."""
        for _ in self._inside("{", "}", what):
            key = self.value()
            if not isinstance(key, str):
                self.fail("expected a name")
            self._expect(":")
            yield key

    def _inside(self, opens: str, closes: str, what: str) -> Iterator[None]:
        begins = self.peek()
        if begins == "n" and self.value() is None:
            return
        if begins != opens:
            self.fail(f"{what}: expected {opens}, found {begins!a}" if begins else f"{what}: the file ends early")
        self._at += 1
        if self.peek() == closes:
            self._at += 1
            return
        while True:
            yield
            if self.peek() == closes:
                self._at += 1
                return
            self._expect(",")

    def value(self) -> Any:
        """The next value, whole."""
        if self.peek() not in _BEGINS_A_VALUE:
            self.fail("expected a value")
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                pass  # it may go on in the next piece
            except (ValueError, RecursionError) as error:
                raise TraceError(f"a value that no trace holds at character {self._passed + self._at + 1}") from error
            else:
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            if self._ended:
                self.fail("no valid JSON")
            if len(self._text) - self._at > MOST_VALUE_CHARACTERS:
                self.fail("a value that is too large or not JSON")
            self._more()


def _span(raw: Any, stream: _Stream) -> Span | None:
    if not isinstance(raw, dict):
        stream.fail("a span that is no object")
    trace, number = _either(raw, "traceId", "trace_id"), _either(raw, "spanId", "span_id")
    if not _is_text(trace) or not _is_text(number):
        return None
    parent = _either(raw, "parentSpanId", "parent_span_id")
    ended = _whole(_either(raw, "endTimeUnixNano", "end_time_unix_nano")) / 1e9
    return Span(
        _identity(trace, number),
        _identity(trace, parent) if _is_text(parent) and parent.strip("0") else b"",
        _kind(raw.get("kind")),
        ended if 0 < ended < _LAST_SECOND else 0.0,
        dict(_attributes(raw.get("attributes"))),
    )


def _either(raw: dict[str, Any], one: str, other: str) -> Any:
    return raw.get(one, raw.get(other))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _identity(trace: str, span: str) -> bytes:
    return blake2b(f"{trace.lower()}:{span.lower()}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _whole(value: Any) -> int:
    """A whole number, written as one or as text; 0 for anything else."""
    if isinstance(value, str):
        return int(value) if len(value) < 20 and value.isascii() and value.isdigit() else 0
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0


def _kind(value: Any) -> str:
    if isinstance(value, str) and not value.isdigit():
        name = value.lower().removeprefix("span_kind_")
        return name if name in _KINDS else ""
    number = _whole(value)
    return _KINDS[number] if 0 <= number < len(_KINDS) else ""


def _attributes(raw: Any) -> Iterator[tuple[str, str]]:
    for one in raw if isinstance(raw, list) else []:
        key = one.get("key") if isinstance(one, dict) else None
        held = one.get("value") if isinstance(one, dict) else None
        if isinstance(key, str) and key in ATTRIBUTES and isinstance(held, dict):
            text, number = _either(held, "stringValue", "string_value"), _either(held, "intValue", "int_value")
            if isinstance(text, str):
                yield key, text
            elif isinstance(number, int | str) and not isinstance(number, bool):
                yield key, str(_whole(number))


#: Parsed files that stay in memory while spans are matched.
MAX_PARSED = 2_048
UNKNOWN, AMBIGUOUS, UNNAMED = "unknown", "ambiguous", "unnamed"
_SEPARATORS = re.compile(r"::|[.\\/#$:]")
#: Go writes `pkg.(*Type).Method` and names closures `func1`; Python marks what is inside a function.
_RECEIVER = re.compile(r"\(\*?([^()]*)\)")
_CLOSURE = re.compile(r"func\d+(?:\.\d+)*|<\w+>|lambda|\d+")
_INSIDE_A_FUNCTION = ".<locals>"
_CONSTRUCTOR = "<init>"
#: Names longer than this are not names.
_MAX_NAME = 500


class IndexSymbols:
    """Looks up the symbols that spans name."""

    def __init__(self, reader: IndexReader) -> None:
        self._snapshot = reader.snapshot
        self.parsed = lru_cache(MAX_PARSED)(reader.parsed)

    def paths(self) -> list[str]:
        """The paths of all files."""
        return [path for path, alive in zip(self._snapshot.paths, self._snapshot.alive.tolist(), strict=True) if alive]

    def files_defining(self, name: str) -> list[str]:
        """The files that define a name, the last part of a qualified one."""
        rows = self._snapshot.file_of_unit[self._snapshot.definitions(name)]
        return [self._snapshot.path(file) for file in sorted(set(rows.tolist()))]

    def holds(self, key: str) -> bool:
        """Whether a symbol still exists; routes and remote calls always do."""
        path, mark, name = key.partition("#")
        if not mark or path.startswith(("route:", "rpc:")):
            return True
        parsed = self.parsed(path)
        return parsed is not None and any(unit.qualified_name == name for unit in parsed.units)


@dataclass(frozen=True, slots=True)
class _Candidate:
    path: str
    unit: Unit
    agreed: int  # how many names agree, from the last

    @property
    def key(self) -> str:
        return f"{self.path}#{self.unit.qualified_name}"


class FunctionFinder:
    """Finds symbols by what spans report, each report once."""

    def __init__(self, symbols: IndexSymbols) -> None:
        self._symbols = symbols
        self._known: dict[tuple[str, str, str, str], tuple[str, str]] = {}
        self._by_filename: dict[str, list[str]] | None = None

    def find(self, attributes: Mapping[str, str]) -> tuple[str, str]:
        """The key of a symbol, or why there is none: `unnamed`, `unknown` or `ambiguous`."""
        name = attributes.get("code.function.name") or attributes.get("code.function") or ""
        path = attributes.get("code.file.path") or attributes.get("code.filepath") or ""
        line = attributes.get("code.line.number") or attributes.get("code.lineno") or ""
        report = (name, attributes.get("code.namespace", ""), path, line)
        if not name or max(map(len, report)) > _MAX_NAME:
            return "", UNNAMED
        if report not in self._known:
            self._known[report] = self._find(*report)
        return self._known[report]

    def _find(self, name: str, namespace: str, path: str, line: str) -> tuple[str, str]:
        names = reported_names(name, namespace)
        if not names:
            return "", UNNAMED
        paths = self._paths_like(path) if path else self._symbols.files_defining(names[-1])
        found = [one for place in paths for one in self._candidates(place, names, placed=bool(path))]
        best = max((one.agreed for one in found), default=0)
        equals = [one for one in found if one.agreed == best]
        if len({one.key for one in equals}) > 1 and line.isdigit():
            equals = [one for one in equals if one.unit.first_line <= int(line) <= one.unit.last_line] or equals
        keys = {one.key for one in equals}
        return (keys.pop(), "") if len(keys) == 1 else ("", AMBIGUOUS if keys else UNKNOWN)

    def _candidates(self, path: str, names: Sequence[str], *, placed: bool) -> list[_Candidate]:
        parsed = self._symbols.parsed(path)
        found = []
        for unit in parsed.units if parsed else ():
            if unit.name != names[-1] or unit.kind not in DEFINITIONS:
                continue
            own = (*unit.parents, unit.name)
            agreed = _agreeing(own, names)
            if agreed < min(len(own), len(names)):
                continue
            outside = _agreeing_path(path, names[: len(names) - len(own)])
            if placed or outside or len(names) <= len(own):
                found.append(_Candidate(path, unit, agreed + outside))
        return found

    def _paths_like(self, reported: str) -> list[str]:
        """The files that a path from another machine may mean: those that agree with most of its end."""
        if self._by_filename is None:
            self._by_filename = {}
            for path in self._symbols.paths():
                self._by_filename.setdefault(path.rpartition("/")[2], []).append(path)
        parts = [part for part in re.split(r"[/\\]", reported) if part not in ("", ".")]
        agreeing: dict[int, list[str]] = {}
        for path in self._by_filename.get(parts[-1], []) if parts else []:
            own = path.split("/")
            agreed = _agreeing(own, parts)
            if agreed == min(len(own), len(parts)) or agreed > 1:
                agreeing.setdefault(agreed, []).append(path)
        return agreeing[max(agreeing)] if agreeing else []


def reported_names(function: str, namespace: str) -> list[str]:
    """The names of a reported function from the outside in, its namespace first."""
    function = function.partition(_INSIDE_A_FUNCTION)[0].removesuffix("()")
    names = [part for part in _SEPARATORS.split(_RECEIVER.sub(r"\1", function)) if part]
    while len(names) > 1 and names[-1] != _CONSTRUCTOR and _CLOSURE.fullmatch(names[-1]):
        names.pop()
    if len(names) > 1 and names[-1] == _CONSTRUCTOR:
        names[-1] = names[-2]
    around = [part for part in _SEPARATORS.split(_RECEIVER.sub(r"\1", namespace)) if part]
    return names if not names or names[: len(around)] == around else [*around, *names]


def _agreeing(one: Sequence[str], other: Sequence[str]) -> int:
    """How many parts are the same, counted from the last."""
    count = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _agreeing_path(path: str, names: Sequence[str]) -> int:
    """How many names around a symbol are also the names of its file and folders, counted from the last."""
    if not names:
        return 0
    place = PurePosixPath(path)
    folders = [part for folder in place.parts[:-1] for part in folder.split(".")]
    return max(_agreeing(folders, names), _agreeing([*folders, *place.stem.split(".")], names))


MIN_CONFIDENCE, MAX_CONFIDENCE = 0.2, 0.95
#: Observations after which confidence has risen by about two thirds of its range.
OBSERVATIONS_TO_TRUST = 20
#: The name of the file in the folder of an index.
DATABASE_FILE = "traces.db"
_MAX_TARGET = 300
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
class IngestSummary:
    """What was read from a file."""

    spans: int = 0
    mapped: int = 0  # spans that belong to a symbol
    new: int = 0  # of these, the new ones
    unmapped: Counter[str] = field(default_factory=Counter)  # why the others belong to none


def confidence(observations: int) -> float:
    """The confidence of an edge that was observed so often."""
    share = 1 - math.exp(-observations / OBSERVATIONS_TO_TRUST)
    return MIN_CONFIDENCE + (MAX_CONFIDENCE - MIN_CONFIDENCE) * share


class Observations:
    """The stored spans of one index that belong to symbols. A context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._explained():
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.executescript(_SCHEMA)
        self._rows: dict[tuple[str, ...], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
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

    def ingest(self, spans: Iterable[Span | None], functions: FunctionFinder) -> IngestSummary:
        """Store the spans of a file that belong to symbols; none if the file turns out to be unreadable."""
        did = IngestSummary()
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
        key = (table, *values)
        if key not in self._rows:
            name, _, columns = table.partition(" ")
            marks = ", ".join("?" * len(values))
            self._db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)  # noqa: S608  -- names from the two calls above
            condition = " AND ".join(f"{one} = ?" for one in columns.strip("()").split(", "))
            found = self._db.execute(f"SELECT id FROM {name} WHERE {condition}", values)  # noqa: S608  -- likewise
            self._rows[key] = int(found.fetchone()[0])
        return self._rows[key]

    def edges(self, now: float) -> list[Edge]:
        """All observed edges, in a fixed order; times later than now, from other clocks, become now."""
        with self._explained():
            rows = [row for query in (_CALLS, _RELATIONS) for row in self._db.execute(query)]
        return [
            Edge(source, target, kind, RUNTIME, round(confidence(count), 4), seen=min(seen, now), count=count)
            for source, target, kind, count, seen in sorted(rows)
        ]


def relation_of(span: Span) -> tuple[str, str] | None:
    """The route or remote procedure that a span serves or calls."""
    said = span.attributes
    route = said.get("http.route") or said.get("url.template")
    if route:
        method = (said.get("http.request.method") or said.get("http.method") or "ANY").upper()
        return _printable("consumes_endpoint" if span.kind == "client" else "handles_route", f"route:{method} {route}")
    if said.get("rpc.method") and span.kind in ("client", "server"):
        service, method = said.get("rpc.service", ""), said["rpc.method"].lstrip("/")
        procedure = method if "/" in method or not service else f"{service}/{method}"
        return _printable("consumes_rpc" if span.kind == "client" else "implements_rpc", f"rpc:{procedure}")
    return None


def _printable(kind: str, target: str) -> tuple[str, str] | None:
    return (kind, target) if len(target) <= _MAX_TARGET and target.isprintable() else None
