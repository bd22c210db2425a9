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
from typing import Any

import numpy as np

from whence.errors import IndexDamaged, StorageError
from whence.index.arrayfile import Array, ArrayFile, Stamp, pack_strings, unpack_strings, write_arrays
from whence.index.imports import Imports
from whence.index.kinship import with_consequences
from whence.index.layout import Layout
from whence.index.mentioned import Bindings, Mentions
from whence.index.resolve import CONFIDENCE, Resolved, Resolver
from whence.index.snapshot import Snapshot
from whence.index.store import Store
from whence.index.symbols import Symbols, paths_of
from whence.types import EDGE_KINDS, EDGE_WEIGHTS, LSP, PROVENANCES, Edge

ReadText = Callable[[str], str | None]
#: Changes with anything that makes other edges of the same segments.
GRAPH_FORMAT = 3
#: Edges that a language server resolved are followed this much (W2).
LSP_SHARE = 0.3
_KIND_ROWS = {kind: row for row, kind in enumerate(EDGE_KINDS)}
_REFERRING = [_KIND_ROWS[kind] for kind in ("calls", "references", "type_hint_of", "extends", "implements", "decorates", "throws")]
_KIN = [_KIND_ROWS[kind] for kind in ("contains", "member_of", "extends", "implements", "overrides", "inherits")]
_TESTING = [_KIND_ROWS[kind] for kind in ("tests", "tested_by", "co_tested_with")]
_WEIGHTS = np.array(list(EDGE_WEIGHTS.values()), np.float32)


class Graph:
    """Reads the adjacency of a snapshot."""

    def __init__(self, file: Mapping[str, Array] | ArrayFile, symbols: Symbols) -> None:
        self.symbols = symbols
        self.source: Array = file["source"]
        self.target: Array = file["target"]
        self.kind: Array = file["kind"]
        self.provenance: Array = file["provenance"]
        self.confidence: Array = file["confidence"]
        self.line: Array = file["line"]
        self.seen: Array = file["seen"]  # when an edge was last observed at run time; 0 where it was not
        self.starts: Array = file["starts"]
        self.in_edges: Array = file["in_edges"]
        self.in_starts: Array = file["in_starts"]
        self.outside = unpack_strings(file, "outside").all()  # type: ignore[arg-type]
        self.nodes = symbols.units + len(self.outside)

    def out_of(self, node: int) -> Array:
        """The edges that start at a node."""
        return np.arange(int(self.starts[node]), int(self.starts[node + 1]))

    def into(self, node: int) -> Array:
        """The edges that end at a node."""
        return self.in_edges[int(self.in_starts[node]) : int(self.in_starts[node + 1])]

    def name(self, node: int) -> str:
        """What a node is called: a qualified name, or `route:GET /users`."""
        return self.symbols.qualified_name(node) if node < self.symbols.units else self.outside[node - self.symbols.units]

    @cached_property
    def both_ways(self) -> Adjacency:
        """Every edge in both directions."""
        source, target = np.concatenate([self.source, self.target]), np.concatenate([self.target, self.source])
        weights = np.concatenate([self.walk_weights, self.walk_weights])
        order = np.argsort(source, kind="stable")
        return Adjacency(self.nodes, np.searchsorted(source[order], np.arange(self.nodes + 1)), target[order], weights[order])

    @cached_property
    def is_kin(self) -> Array:
        """Whether each edge says what contains, extends, implements or inherits what."""
        return np.isin(self.kind, _KIN)

    @cached_property
    def is_use(self) -> Array:
        """Whether each edge says what uses what, tests aside."""
        return ~np.isin(self.kind, _KIN + _TESTING)

    @cached_property
    def referrers(self) -> Array:
        """How many units outside tests call or name each node."""
        inside = self.source < self.symbols.units
        counted = np.isin(self.kind, _REFERRING) & inside
        counted[inside] &= ~self.symbols.test[self.symbols.file[self.source[inside]]]
        return np.bincount(self.target[counted], weights=self.confidence[counted] / CONFIDENCE, minlength=self.nodes)

    @cached_property
    def walk_weights(self) -> Array:
        """How readily each edge is followed: by its kind, less where a language server alone knows it."""
        weights = _WEIGHTS[self.kind] * self.confidence
        return np.where(self.provenance == PROVENANCES.index(LSP), weights * np.float32(LSP_SHARE), weights)


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Edges to be followed: where each node's begin, where each leads, how readily."""

    nodes: int
    starts: Array
    targets: Array
    weights: Array


def make_graph(snapshot: Snapshot, read: ReadText, extra: Sequence[Edge] = ()) -> dict[str, Array]:
    """The arrays of a snapshot's graph."""
    symbols = snapshot.symbols
    said = Mentions.of(snapshot)
    paths = [path for row, path in enumerate(snapshot.paths) if snapshot.alive[row]]
    resolver = Resolver(symbols, said, Bindings.of(snapshot, Imports(paths, read)))
    edges = with_consequences(symbols, resolver.resolve())
    return _arrays(symbols, edges, said.nodes, extra)


def _arrays(symbols: Symbols, edges: Resolved, outside: list[str], extra: Sequence[Edge]) -> dict[str, Array]:
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
    return found


def _known(symbols: Symbols, outside: list[str], extra: Sequence[Edge]) -> list[tuple[int, int, Edge]]:
    """Edges of other sources whose two ends are still there; nodes outside are added."""
    if not extra:
        return []
    wanted = {key for edge in extra for key in (edge.source, edge.target)}
    paths = {path for key in wanted for path in paths_of(key)}
    rows: dict[str, int] = {text: symbols.units + at for at, text in enumerate(outside)}
    for file, path in enumerate(symbols.snapshot.paths):
        if path in paths and symbols.snapshot.alive[file]:
            for unit in range(int(symbols.snapshot.unit_starts[file]), int(symbols.snapshot.unit_starts[file + 1])):
                rows.setdefault(symbols.key(unit), unit)
    for key in sorted(wanted - rows.keys()):
        if key.startswith(("route:", "env:", "process:")):
            rows[key] = symbols.units + len(outside)
            outside.append(key)
    return [(rows[edge.source], rows[edge.target], edge) for edge in extra if edge.source in rows and edge.target in rows]


def graph_facts(store: Store, snapshot: Snapshot) -> dict[str, Any]:
    """What a graph must have been made of to be this snapshot's."""
    return {
        "format": GRAPH_FORMAT,
        "segments": [segment.arrays.path.name for segment in snapshot.segments],  # the store may have others by now
        "files": snapshot.live_files,
        "edges": store.meta().get("edges", ""),
    }


def open_graph(layout: Layout, store: Store, snapshot: Snapshot, read: ReadText) -> Graph:
    """The graph of a snapshot: as it was written, or made now and, where that is possible, kept."""
    facts = graph_facts(store, snapshot)
    known = json.loads(store.meta().get("graph", "{}"))
    if known.get("facts") == facts:
        with suppress(IndexDamaged, KeyError):
            return Graph(ArrayFile(layout.segments / known["name"], Stamp(**known["stamp"])), snapshot.symbols)
    arrays = make_graph(snapshot, read, store.edges())
    with suppress(StorageError, OSError):  # where nothing can be written it is made again next time
        name = f"{os.urandom(8).hex()}.graph"
        stamp = write_arrays(layout.segments / name, arrays, {})
        with store.transaction():
            store.set_meta(graph=json.dumps({"name": name, "stamp": asdict(stamp), "facts": facts}))
    return Graph(arrays, snapshot.symbols)
