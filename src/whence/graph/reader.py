"""The symbol graph of one snapshot: a compact adjacency, written beside the segments and opened by memory map.

Nodes are the units of the snapshot by their rows, then what has no place in the
source (routes, environment variables, processes). Edges are kept in the order of
their sources; a second order, by target, answers who points here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from whence.core.errors import IndexDamaged, StorageError
from whence.core.types import EDGE_KINDS, EDGE_WEIGHTS, LSP, PROVENANCES, Edge
from whence.graph.builder.derived_edges import with_derived_edges
from whence.graph.builder.imports import Imports
from whence.graph.builder.references import ENDPOINT_PREFIXES, ImportBindings, ReferenceColumns
from whence.graph.builder.resolve import PARSED_CONFIDENCE, EdgeColumns, Resolver
from whence.index.reader import IndexReader
from whence.index.snapshot import Snapshot
from whence.index.store import IndexStore
from whence.index.symbols import SymbolTable, possible_paths
from whence.storage.arrayfile import Array, ArrayFile, open_columns, pack_strings, unpack_strings, write_arrays
from whence.storage.rows import first_of_each

ReadText = Callable[[str], str | None]
#: Changes with anything that makes other edges of the same segments.
GRAPH_FORMAT = 4
#: Edges that a language server resolved are followed this much (W2).
LSP_SHARE = 0.3
_KIND_ROWS = {kind: row for row, kind in enumerate(EDGE_KINDS)}
_REFERRING = frozenset({"calls", "references", "type_hint_of", "extends", "implements", "decorates", "throws"})
_KIN = frozenset({"contains", "member_of", "extends", "implements", "overrides", "inherits"})
_TESTING = frozenset({"tests", "tested_by", "co_tested_with"})
#: Whether an edge of each kind says that its source depends on its target.
IS_REFERENCE = np.array([kind in _REFERRING for kind in EDGE_KINDS])
#: Whether an edge of each kind says what contains, extends, implements or inherits what; what uses what, tests aside.
IS_STRUCTURE = np.array([kind in _KIN for kind in EDGE_KINDS])
IS_USE = np.array([kind not in _KIN | _TESTING for kind in EDGE_KINDS])
#: The arrays of a graph file that hold all edges in both directions.
WALK_STARTS, WALK_TARGETS, WALK_WEIGHTS = "walk.starts", "walk.targets", "walk.weights"
_WEIGHTS = np.array(list(EDGE_WEIGHTS.values()), np.float32)


class Graph:
    """Reads the adjacency of a snapshot."""

    def __init__(self, file: Mapping[str, Array] | ArrayFile, symbols: SymbolTable) -> None:
        self.symbols = symbols
        self.source: Array = file["source"]
        self.target: Array = file["target"]
        self.kind: Array = file["kind"]
        self.provenance: Array = file["provenance"]
        self.confidence: Array = file["confidence"]
        self.line: Array = file["line"]
        #: When each edge was last observed at run time; 0 where it was not, which is not written where it is so of all.
        self.seen: Array = file["seen"] if "seen" in file else np.zeros(len(self.source))
        self.starts: Array = file["starts"]
        self.in_edges: Array = file["in_edges"]
        self.in_starts: Array = file["in_starts"]
        self._file = file
        self.endpoints = unpack_strings(file, "outside").all()
        self.nodes = symbols.units + len(self.endpoints)

    def edges_from(self, node: int) -> Array:
        """The edges that start at a node."""
        return np.arange(int(self.starts[node]), int(self.starts[node + 1]))

    def edges_to(self, node: int) -> Array:
        """The edges that end at a node."""
        return self.in_edges[int(self.in_starts[node]) : int(self.in_starts[node + 1])]

    def name(self, node: int) -> str:
        """What a node is called: a qualified name, or `route:GET /users`."""
        return self.symbols.qualified_name(node) if node < self.symbols.units else self.endpoints[node - self.symbols.units]

    @cached_property
    def undirected(self) -> Adjacency:
        """Every edge in both directions, the edges between two nodes as one."""
        kept = self._file if WALK_STARTS in self._file else _walk_arrays(self._file, self.nodes)
        return Adjacency(self.nodes, kept[WALK_STARTS], kept[WALK_TARGETS], kept[WALK_WEIGHTS], symmetric=True)

    @cached_property
    def referrers(self) -> Array:
        """How many units outside tests call or name each node."""
        inside = self.source < self.symbols.units
        counted = IS_REFERENCE[self.kind] & inside
        counted[inside] &= ~self.symbols.test[self.symbols.file[self.source[inside]]]
        return np.bincount(self.target[counted], weights=self.confidence[counted] / PARSED_CONFIDENCE, minlength=self.nodes)

    @property
    def walk_weights(self) -> Array:
        """How readily each edge is followed."""
        return _followed(self._file)


class Edges(Protocol):
    """The edges of a graph, those of each node next to one another.

    The edges of node `n` are the rows `starts[n]` to `starts[n + 1]` of `targets`
    and `weights`. An edge of weight 0 is never followed.
    """

    @property
    def nodes(self) -> int:
        """How many nodes there are."""

    @property
    def starts(self) -> Array:
        """Where the edges of each node begin, and the end of the last."""

    @property
    def targets(self) -> Array:
        """The node to which each edge leads."""

    @property
    def weights(self) -> Array:
        """How readily each edge is followed."""


@dataclass(frozen=True)
class Adjacency:
    """Edges to be followed: where each node's begin, where each leads, how readily."""

    nodes: int
    starts: Array
    targets: Array
    weights: Array
    symmetric: bool = False  # whether every edge lies there in both directions

    @classmethod
    def of(cls, edges: Edges) -> Adjacency:
        """The same edges; what is worked out of them stays with the object."""
        return edges if isinstance(edges, cls) else cls(edges.nodes, edges.starts, edges.targets, edges.weights)

    @cached_property
    def degrees(self) -> Array:
        """How many edges each node has."""
        return np.diff(self.starts)

    @cached_property
    def inverse_weights(self) -> Array:
        """One over the weight of all edges of each node; 0 where no edge can be followed."""
        total = np.bincount(self.sources, self.weights, minlength=self.nodes)
        return np.divide(1.0, total, out=np.zeros(self.nodes), where=total > 0)

    @property
    def sources(self) -> Array:
        """The node that each edge leaves."""
        return np.repeat(np.arange(self.nodes), self.degrees)

    @cached_property
    def transposed(self) -> Adjacency:
        """The same edges from their other ends."""
        if self.symmetric:
            return self
        order = np.argsort(self.targets, kind="stable")
        return Adjacency(self.nodes, _starts(self.targets, self.nodes), self.sources[order], self.weights[order])


def make_graph(snapshot: Snapshot, read: ReadText, extra: Sequence[Edge] = ()) -> dict[str, Array]:
    """The arrays of a snapshot's graph."""
    symbols = snapshot.symbols
    said = ReferenceColumns.of(snapshot)
    paths = [path for row, path in enumerate(snapshot.paths) if snapshot.alive[row]]
    resolver = Resolver(symbols, said, ImportBindings.of(snapshot, Imports(paths, read)))
    edges = with_derived_edges(symbols, resolver.resolve())
    return _arrays(symbols, edges, said.nodes, extra)


def _arrays(symbols: SymbolTable, edges: EdgeColumns, outside: list[str], extra: Sequence[Edge]) -> dict[str, Array]:
    outside = list(outside)
    others = _known(symbols, outside, extra)
    columns = {
        "source": np.concatenate([edges.source, [row for row, _, _ in others]]),
        "target": np.concatenate([edges.target, [row for _, row, _ in others]]),
        "kind": np.concatenate([edges.kind, [_KIND_ROWS[edge.kind] for _, _, edge in others]]),
        "provenance": np.concatenate([np.zeros(len(edges.source)), [PROVENANCES.index(edge.provenance) for _, _, edge in others]]),
        "confidence": np.concatenate([edges.confidence, [edge.confidence for _, _, edge in others]]),
        "line": np.concatenate([edges.line, [edge.line for _, _, edge in others]]),
        "seen": np.concatenate([np.zeros(len(edges.source)), [edge.seen for _, _, edge in others]]),
    }
    order = np.lexsort((columns["kind"], columns["target"], columns["source"]))
    types = {
        "source": np.int32,
        "target": np.int32,
        "kind": np.uint8,
        "provenance": np.uint8,
        "confidence": np.float32,
        "line": np.uint32,
        "seen": np.float64,
    }
    found = {name: column[order].astype(types[name]) for name, column in columns.items()}
    nodes = symbols.units + len(outside)
    into = np.argsort(found["target"], kind="stable")
    found |= {
        "starts": np.searchsorted(found["source"], np.arange(nodes + 1)).astype(np.int64),
        "in_edges": into.astype(np.int32),
        "in_starts": np.searchsorted(found["target"][into], np.arange(nodes + 1)).astype(np.int64),
        **pack_strings("outside", outside),
    }
    if not found["seen"].any():
        del found["seen"]
    return found | _walk_arrays(found, nodes)


def _followed(edges: Mapping[str, Array] | ArrayFile) -> Array:
    """How readily each edge is followed: by its kind, less where a language server alone knows it."""
    weights = _WEIGHTS[edges["kind"]] * edges["confidence"]
    return np.where(edges["provenance"] == PROVENANCES.index(LSP), weights * np.float32(LSP_SHARE), weights)


def _walk_arrays(edges: Mapping[str, Array] | ArrayFile, nodes: int) -> dict[str, Array]:
    """All edges in both directions, those between two nodes as one: how readily each pair is followed."""
    weights = _followed(edges).astype(np.float64)
    source, target = edges["source"].astype(np.int64), edges["target"].astype(np.int64)
    keys = np.concatenate([source * nodes + target, target * nodes + source])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = first_of_each(keys)
    summed = np.add.reduceat(np.concatenate([weights, weights])[order], first) if len(first) else np.zeros(0)
    return {
        WALK_STARTS: _starts(keys[first] // max(nodes, 1), nodes),
        WALK_TARGETS: (keys[first] % max(nodes, 1)).astype(np.int32),
        WALK_WEIGHTS: summed,
    }


def _starts(owners: Array, nodes: int) -> Array:
    """Where the entries of each node begin in a list that is in the order of nodes, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=nodes))])


def _known(symbols: SymbolTable, outside: list[str], extra: Sequence[Edge]) -> list[tuple[int, int, Edge]]:
    """Edges of other sources whose two ends are still there; nodes outside are added."""
    if not extra:
        return []
    wanted = {key for edge in extra for key in (edge.source, edge.target)}
    paths = {path for key in wanted for path in possible_paths(key)}
    rows: dict[str, int] = {text: symbols.units + at for at, text in enumerate(outside)}
    for file, path in enumerate(symbols.snapshot.paths):
        if path in paths and symbols.snapshot.alive[file]:
            for unit in range(int(symbols.snapshot.unit_starts[file]), int(symbols.snapshot.unit_starts[file + 1])):
                rows.setdefault(symbols.key(unit), unit)
    for key in sorted(wanted - rows.keys()):
        if key.startswith(ENDPOINT_PREFIXES):
            rows[key] = symbols.units + len(outside)
            outside.append(key)
    return [(rows[edge.source], rows[edge.target], edge) for edge in extra if edge.source in rows and edge.target in rows]


def graph_facts(store: IndexStore, snapshot: Snapshot) -> dict[str, Any]:
    """What a graph must have been made of to be this snapshot's."""
    return {
        "format": GRAPH_FORMAT,
        "of": snapshot.identity,  # the store may have other segments by now
        "edges": store.meta().get("edges", ""),
    }


def open_graph(reader: IndexReader, notes: list[str]) -> Graph:
    """The graph of a generation: as it was written, or made now and, where that is possible, kept. `notes` is told of damage."""
    layout, store, snapshot = reader.layout, reader.store, reader.snapshot
    facts = graph_facts(store, snapshot)
    known = store.json_meta("graph")
    if known.get("facts") == facts:
        try:
            return Graph(open_columns(layout.segments / known["name"], known["stamp"]), snapshot.symbols)
        except (IndexDamaged, KeyError) as damage:
            notes.append(f"{getattr(damage, 'message', f'the graph lacks {damage}')}; made again")
    arrays = make_graph(snapshot, reader.read_text, store.edges())
    # Where nothing can be written it is made again next time; beside an indexer, which removes what nobody lists, too.
    with suppress(StorageError, OSError), layout.write_lock(0):
        name = f"{os.urandom(8).hex()}.graph"
        stamp = write_arrays(layout.segments / name, arrays, {})
        with store.transaction():
            store.set_meta(graph=json.dumps({"name": name, "stamp": asdict(stamp), "facts": facts}))
    return Graph(arrays, snapshot.symbols)
