"""Makes the graph of a snapshot and stores it beside the segments."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from whence.core.errors import IndexDamaged, StorageError
from whence.core.types import EDGE_KINDS, LSP, OUTSIDE, PROVENANCES, Edge
from whence.graph.builder.fixtures import fixture_calls
from whence.graph.builder.imports import ImportBindings, ImportResolver
from whence.graph.builder.resolve import ENDPOINT_PREFIXES, MAX_GENERATIONS, EdgeColumns, ReferenceColumns, Resolver
from whence.graph.reader import KIND_ROWS, PARSED_CONFIDENCE, Graph, undirected_arrays
from whence.index.reader import IndexReader
from whence.index.segment import KIND_NAMES, name_hash
from whence.index.snapshot import Snapshot
from whence.index.symbols import IS_CALLABLE, NameTable, SymbolTable, possible_paths, scoped_key
from whence.storage.arrayfile import Array, open_columns, pack_strings, write_arrays
from whence.storage.postings import distinct, first_of_each, is_member, spread, unique_counts

#: A type that inherits more methods, or a test that calls more symbols, gets no edges for them: each would say little.
MAX_INHERITED = 200
MAX_TESTED_TOGETHER = 5
#: Types have the methods of a smaller interface by chance.
MIN_METHODS = 2
_INTERFACE = KIND_NAMES.index("interface")


def with_derived_edges(symbols: SymbolTable, resolved: EdgeColumns) -> EdgeColumns:
    """Resolved edges and those that follow from them: each (source, target, kind) once, with its highest confidence."""
    parts = [resolved, _containment(symbols), _satisfied_interfaces(symbols)]
    parts += [_inheritance(symbols, _parents(_concatenated(parts))), *_tests(symbols, resolved)]
    edges = _concatenated(parts)
    pair = (edges.source * (symbols.units + (1 << 24)) + edges.target) * len(EDGE_KINDS) + edges.kind
    order = np.lexsort((-edges.confidence, pair))
    return edges.take(order[first_of_each(pair[order])])


def _edges(source: Array, target: Array, kind: str, confidence: float | Array = PARSED_CONFIDENCE) -> EdgeColumns:
    size = len(source)
    return EdgeColumns(
        source.astype(np.int64),
        target.astype(np.int64),
        np.full(size, KIND_ROWS[kind], np.int64),
        np.full(size, confidence, np.float32),
        np.zeros(size, np.int64),
    )


def _concatenated(parts: Iterable[EdgeColumns]) -> EdgeColumns:
    columns = zip(*((part.source, part.target, part.kind, part.confidence, part.line) for part in parts), strict=True)
    return EdgeColumns(*map(np.concatenate, columns))


def _containment(symbols: SymbolTable) -> EdgeColumns:
    holder = np.where(symbols.is_local, symbols.function, symbols.owner)
    inside = np.flatnonzero(holder >= 0)
    owner = holder[inside]
    apart = inside != owner
    inside, owner = inside[apart], owner[apart]
    return _concatenated([_edges(owner, inside, "contains", 1.0), _edges(inside, owner, "member_of", 1.0)])


def _parents(edges: EdgeColumns) -> NameTable:
    is_parent = np.isin(edges.kind, [KIND_ROWS["extends"], KIND_ROWS["implements"]])
    return NameTable(edges.source[is_parent], edges.target[is_parent])


def _inheritance(symbols: SymbolTable, parents: NameTable) -> EdgeColumns:
    """`inherits` from a type to every method of its parents, `overrides` where it defines one of that name (W2)."""
    members = np.flatnonzero((symbols.owner >= 0) & IS_CALLABLE[symbols.snapshot.kinds])
    by_owner = NameTable(symbols.owner[members], members)
    child, parent = _ancestors(parents, limit=50 * max(symbols.units, 1))
    at, method = by_owner.pairs(parent)
    child = child[at]
    low, high = symbols.of_type.find(scoped_key(child, symbols.name[method]))
    own = high > low
    few = np.bincount(child, minlength=symbols.units)[child] <= MAX_INHERITED
    overriding = symbols.of_type.rows[low[own]]
    differs = overriding != method[own]
    return _concatenated(
        [_edges(child[~own & few], method[~own & few], "inherits"), _edges(overriding[differs], method[own][differs], "overrides")]
    )


def _ancestors(parents: NameTable, limit: int) -> tuple[Array, Array]:
    """(child, ancestor) for some generations, until there are none or more pairs than the limit."""
    child = ancestor = np.empty(0, np.int64)
    near, far = parents.keys, parents.rows
    for _ in range(MAX_GENERATIONS):
        child, ancestor = np.concatenate([child, near]), np.concatenate([ancestor, far])
        at, up = parents.pairs(far)
        pairs = np.unique(np.stack([near[at], up], axis=1), axis=0) if len(at) else np.empty((0, 2), np.int64)
        near, far = pairs[:, 0], pairs[:, 1]
        if not len(near) or len(near) > limit:
            break
    return child, ancestor


def _satisfied_interfaces(symbols: SymbolTable) -> EdgeColumns:
    """Types that have every method of an interface, in Go, where that is all it takes to implement it."""
    snapshot = symbols.snapshot
    is_go = np.array([language == "go" for language in snapshot.languages], bool)
    if not is_go.any():
        return _edges(np.empty(0), np.empty(0), "implements")
    interfaces = np.flatnonzero(symbols.container & is_go[symbols.file] & (snapshot.kinds == _INTERFACE))
    methods = np.flatnonzero((symbols.owner >= 0) & is_go[symbols.file] & IS_CALLABLE[snapshot.kinds])
    by_owner, by_name = NameTable(symbols.owner[methods], methods), NameTable(symbols.name[methods], methods)
    source, target = [], []
    for interface in interfaces.tolist():
        _, own = by_owner.pairs(np.array([interface]))
        names = distinct(symbols.name[own])
        if len(names) < MIN_METHODS:
            continue
        at, candidates = by_name.pairs(names)
        owner, count = unique_counts(distinct(symbols.owner[candidates] * len(names) + at) // len(names))
        types = owner[(count == len(names)) & (owner != interface) & (snapshot.kinds[owner] != _INTERFACE)]
        source += types.tolist()
        target += [interface] * len(types)
    return _edges(np.array(source, np.int64), np.array(target, np.int64), "implements")


def _tests(symbols: SymbolTable, edges: EdgeColumns) -> list[EdgeColumns]:
    """A test tests what it calls outside tests; if those are few, they are tested together."""
    calls = np.flatnonzero((edges.kind == KIND_ROWS["calls"]) & (edges.target < symbols.units))
    source, target = edges.source[calls], edges.target[calls]
    across = symbols.test[symbols.file[source]] & ~symbols.test[symbols.file[target]]
    source, target, confidence = source[across], target[across], edges.confidence[calls][across]
    certain = confidence >= PARSED_CONFIDENCE * 0.5
    pair = distinct(source[certain] * symbols.units + target[certain])
    test, code = pair // max(symbols.units, 1), pair % max(symbols.units, 1)
    size = np.bincount(test, minlength=symbols.units)[test]
    few = (size > 1) & (size <= MAX_TESTED_TOGETHER)
    test, code = test[few], code[few]
    at, other = spread(np.searchsorted(test, test), np.searchsorted(test, test, side="right"))
    apart = code[at] != code[other]
    return [
        _edges(source, target, "tests", confidence),
        _edges(target, source, "tested_by", confidence),
        _edges(code[at][apart], code[other][apart], "co_tested_with"),
    ]


#: Raise it with any change that makes different edges from the same segments.
GRAPH_FORMAT = 10
#: Of the columns as `graph_arrays` lists them.
_COLUMN_TYPES = (np.int32, np.int32, np.uint8, np.uint8, np.float32, np.uint32, np.float64)


def open_graph(reader: IndexReader, notes: list[str]) -> Graph:
    """The graph of a generation, as stored or else made and stored now. A damaged file is reported in `notes`."""
    layout, store, snapshot = reader.layout, reader.store, reader.snapshot
    # What a stored graph must have been made from. The snapshot's own identity, because the store may have moved on.
    facts = {"format": GRAPH_FORMAT, "of": snapshot.id, "edges": store.meta().get("edges", "")}
    stored = store.json_meta("graph")
    if stored.get("facts") == facts:
        try:
            return Graph(open_columns(layout.segments / stored["name"], stored["stamp"]), snapshot.symbols, reader.settings.walk)
        except (IndexDamaged, KeyError) as damage:
            notes.append(f"{getattr(damage, 'message', f'the graph lacks {damage}')}; rebuilt")
    arrays = make_graph(snapshot, reader.read_text, store.edges())
    # A read-only index is not an error. Without the lock, an indexer would remove the file as one that nothing lists.
    with suppress(StorageError, OSError), layout.write_lock(0):
        name = f"{os.urandom(8).hex()}.graph"
        stamp = write_arrays(layout.segments / name, arrays, {})
        with store.transaction():
            store.set_meta(graph=json.dumps({"name": name, "stamp": asdict(stamp), "facts": facts}))
    return Graph(arrays, snapshot.symbols, reader.settings.walk)


def make_graph(snapshot: Snapshot, read_text: Callable[[str], str | None], extra: Sequence[Edge] = ()) -> dict[str, Array]:
    """The arrays of a snapshot's graph: edges from the source, derived edges, and `extra` edges from elsewhere."""
    symbols, references = snapshot.symbols, ReferenceColumns.of(snapshot)
    paths = [path for row, path in enumerate(snapshot.paths) if snapshot.alive[row]]
    bindings = ImportBindings.of(snapshot, ImportResolver(paths, read_text))
    answered = Answered.of(symbols, extra)
    resolver = Resolver(symbols, references, bindings)
    resolved = answered.without_guesses(symbols, resolver.resolve())
    edges = with_derived_edges(symbols, _concatenated([resolved, fixture_calls(symbols, references, read_text)]))
    arrays = graph_arrays(symbols, edges, references.endpoints, extra)
    return arrays | {"outside_names": answered.outside, "outcomes": resolver.outcome}


@dataclass(frozen=True, slots=True)
class Answered:
    """What language servers and indexers said of mentions, each a key of the unit and the name it mentions."""

    mentions: Array  # of all kinds, sorted
    outside: Array  # those of them that mean something outside the repository, sorted
    edges: Array  # (unit, what a mention means), sorted

    @classmethod
    def of(cls, symbols: SymbolTable, extra: Sequence[Edge]) -> Answered:
        """Read them from the edges that were stored."""
        said = [edge for edge in extra if edge.provenance == LSP]
        units = _units_of_keys(symbols, {key for edge in said for key in (edge.source, edge.target)}) if said else {}
        inside = np.array([(units[e.source], units[e.target]) for e in said if e.source in units and e.target in units], np.int64).reshape(
            -1, 2
        )
        away = [(units[e.source], name_hash(e.target[len(OUTSIDE) :])) for e in said if e.source in units and e.target.startswith(OUTSIDE)]
        outside = np.array(away, np.int64).reshape(-1, 2)
        named = scoped_key(inside[:, 0], symbols.name[inside[:, 1]])
        unnamed = np.setdiff1d(scoped_key(outside[:, 0], outside[:, 1]), named)
        return cls(np.union1d(named, unnamed), unnamed, np.sort(scoped_key(inside[:, 0], inside[:, 1])))

    def without_guesses(self, symbols: SymbolTable, edges: EdgeColumns) -> EdgeColumns:
        """Resolved edges without those whose mention was answered otherwise, and guesses that an answer confirms."""
        inside = np.flatnonzero(edges.target < symbols.units)
        source, target = edges.source[inside], edges.target[inside]
        is_answered = is_member(scoped_key(source, symbols.name[target]), self.mentions)
        confirmed = is_member(scoped_key(source, target), self.edges) & (edges.confidence[inside] >= PARSED_CONFIDENCE - 1e-3)
        keep = np.ones(len(edges.source), bool)
        keep[inside[is_answered & ~confirmed]] = False
        return edges.take(np.flatnonzero(keep))


def graph_arrays(symbols: SymbolTable, edges: EdgeColumns, endpoints: Sequence[str], extra: Sequence[Edge]) -> dict[str, Array]:
    """All arrays of a graph file: the edges sorted by source, their order by target, and the undirected graph."""
    endpoints = list(endpoints)
    others = _live_edges(symbols, endpoints, extra)
    unknown = np.zeros(len(edges.source))
    columns: dict[str, tuple[Array, list[Any]]] = {
        "source": (edges.source, [source for source, _, _ in others]),
        "target": (edges.target, [target for _, target, _ in others]),
        "kind": (edges.kind, [KIND_ROWS[edge.kind] for _, _, edge in others]),
        "provenance": (unknown, [PROVENANCES.index(edge.provenance) for _, _, edge in others]),
        "confidence": (edges.confidence, [edge.confidence for _, _, edge in others]),
        "line": (edges.line, [edge.line for _, _, edge in others]),
        "seen": (unknown, [edge.seen for _, _, edge in others]),
    }
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    order = np.lexsort((joined["kind"], joined["target"], joined["source"]))
    arrays: dict[str, Array] = {
        name: column[order].astype(kind) for (name, column), kind in zip(joined.items(), _COLUMN_TYPES, strict=True)
    }
    if not arrays["seen"].any():
        del arrays["seen"]
    nodes = np.arange(symbols.units + len(endpoints) + 1)
    by_target = np.argsort(arrays["target"], kind="stable")
    arrays |= {
        "starts": np.searchsorted(arrays["source"], nodes).astype(np.int64),
        "in_edges": by_target.astype(np.int32),
        "in_starts": np.searchsorted(arrays["target"][by_target], nodes).astype(np.int64),
        **pack_strings("outside", endpoints),
    }
    return arrays | undirected_arrays(arrays, len(nodes) - 1)


def _live_edges(symbols: SymbolTable, endpoints: list[str], extra: Sequence[Edge]) -> list[tuple[int, int, Edge]]:
    """Extra edges whose two ends still exist, by node; endpoints that only they name are added."""
    if not extra:
        return []
    keys = {key for edge in extra for key in (edge.source, edge.target)}
    nodes: dict[str, int] = {name: symbols.units + at for at, name in enumerate(endpoints)}
    nodes = _units_of_keys(symbols, keys) | nodes
    for key in sorted(keys - nodes.keys()):
        if key.startswith(ENDPOINT_PREFIXES):
            nodes[key] = symbols.units + len(endpoints)
            endpoints.append(key)
    return [(nodes[edge.source], nodes[edge.target], edge) for edge in extra if edge.source in nodes and edge.target in nodes]


def _units_of_keys(symbols: SymbolTable, keys: set[str]) -> dict[str, int]:
    """The units of the files that some keys name, by their own keys."""
    units: dict[str, int] = {}
    paths = {path for key in keys for path in possible_paths(key)}
    for file in (row for path, row in symbols.file_row.items() if path in paths):
        for unit in range(int(symbols.snapshot.unit_starts[file]), int(symbols.snapshot.unit_starts[file + 1])):
            units.setdefault(symbols.key(unit), unit)
    return units
