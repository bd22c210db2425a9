"""The symbol graph of one snapshot, read from memory-mapped arrays.

Nodes are the units of the snapshot by row, then the endpoints, which have no
place in the source (routes, environment variables, processes). Edges are sorted
by source; `in_edges` lists them by target. `graph.builder.build` makes the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.core.settings import WalkSettings
from whence.core.types import EDGE_KINDS, LSP, PROVENANCES
from whence.index.symbols import SymbolTable
from whence.storage.arrayfile import Array, ArrayFile, unpack_strings
from whence.storage.postings import first_of_each

#: Confidence of an edge that the parser resolved (W2).
PARSED_CONFIDENCE = 0.7
#: A walk follows edges from a language server at this share of their weight (W2).
LSP_SHARE = 0.3
KIND_ROWS = {kind: row for row, kind in enumerate(EDGE_KINDS)}
_REFERENCES = frozenset({"calls", "references", "type_hint_of", "extends", "implements", "decorates", "throws"})
_STRUCTURE = frozenset({"contains", "member_of", "extends", "implements", "overrides", "inherits"})
_TESTS = frozenset({"tests", "tested_by", "co_tested_with"})
#: By kind row: whether the source names the target; whether the edge is containment or inheritance; whether it is a use outside tests.
IS_REFERENCE = np.array([kind in _REFERENCES for kind in EDGE_KINDS])
IS_STRUCTURE = np.array([kind in _STRUCTURE for kind in EDGE_KINDS])
IS_USE = np.array([kind not in _STRUCTURE | _TESTS for kind in EDGE_KINDS])
#: Arrays of a graph file that hold the undirected graph.
_STARTS, _TARGETS, _UNDIRECTED_WEIGHTS = "walk.starts", "walk.targets", "walk.weights"

Columns = Mapping[str, Array] | ArrayFile
#: What stored graphs are made with.
DEFAULT_WALK = WalkSettings()


class Graph:
    """The nodes and edges of one snapshot."""

    def __init__(self, file: Columns, symbols: SymbolTable, walk: WalkSettings = DEFAULT_WALK) -> None:
        self.symbols = symbols
        self.source: Array = file["source"]
        self.target: Array = file["target"]
        self.kind: Array = file["kind"]
        self.provenance: Array = file["provenance"]
        self.confidence: Array = file["confidence"]
        self.line: Array = file["line"]
        #: When each edge was last observed at run time, 0 if never; not stored if no edge was observed.
        self.seen: Array = file["seen"] if "seen" in file else np.zeros(len(self.source))
        #: Keys of (unit, name) for mentions that a language server found outside the repository.
        self.outside_names: Array = file["outside_names"] if "outside_names" in file else np.empty(0, np.int64)
        #: How each reference ended, as `graph.outcomes` numbers it, in the order of the segments' live references.
        self.outcomes: Array = file["outcomes"]
        self.starts: Array = file["starts"]
        self.in_edges: Array = file["in_edges"]
        self.in_starts: Array = file["in_starts"]
        self._file, self._walk = file, walk
        self.endpoints = unpack_strings(file, "outside").all()
        self.nodes = symbols.units + len(self.endpoints)

    def edges_from(self, node: int) -> Array:
        """The edges that start at a node."""
        return np.arange(int(self.starts[node]), int(self.starts[node + 1]))

    def edges_to(self, node: int) -> Array:
        """The edges that end at a node."""
        return self.in_edges[int(self.in_starts[node]) : int(self.in_starts[node + 1])]

    def name(self, node: int) -> str:
        """A qualified name, or for example `route:GET /users`."""
        return self.symbols.qualified_name(node) if node < self.symbols.units else self.endpoints[node - self.symbols.units]

    def key(self, node: int) -> str:
        """`path#qualified.name`, or the name of an endpoint."""
        return self.symbols.key(node) if node < self.symbols.units else self.name(node)

    @cached_property
    def undirected(self) -> Adjacency:
        """Every edge in both directions, parallel edges merged."""
        is_stored = self._walk == DEFAULT_WALK and _STARTS in self._file
        arrays = self._file if is_stored else undirected_arrays(self._file, self.nodes, self._walk)
        return Adjacency(self.nodes, arrays[_STARTS], arrays[_TARGETS], arrays[_UNDIRECTED_WEIGHTS], symmetric=True)

    @cached_property
    def referrers(self) -> Array:
        """How many units outside tests call or name each node."""
        inside = self.source < self.symbols.units
        counted = IS_REFERENCE[self.kind] & inside
        counted[inside] &= ~self.symbols.test[self.symbols.file[self.source[inside]]]
        return np.bincount(self.target[counted], weights=self.confidence[counted] / PARSED_CONFIDENCE, minlength=self.nodes)

    @property
    def walk_weights(self) -> Array:
        """How readily a walk follows each edge."""
        return _walk_weights(self._file, self._walk)


def _walk_weights(edges: Columns, walk: WalkSettings) -> Array:
    """Weights by kind and confidence, lower for edges that only a language server found."""
    of_kind = np.array([walk.weights[kind] for kind in EDGE_KINDS], np.float32)
    weights = of_kind[edges["kind"]] * edges["confidence"] ** np.float32(walk.confidence)
    return np.where(edges["provenance"] == PROVENANCES.index(LSP), weights * np.float32(LSP_SHARE), weights)


def undirected_arrays(edges: Columns, nodes: int, walk: WalkSettings = DEFAULT_WALK) -> dict[str, Array]:
    """The arrays of the undirected graph: the weights of parallel edges are summed."""
    weights = _walk_weights(edges, walk).astype(np.float64)
    source, target = edges["source"].astype(np.int64), edges["target"].astype(np.int64)
    keys = np.concatenate([source * nodes + target, target * nodes + source])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = first_of_each(keys)
    summed = np.add.reduceat(np.concatenate([weights, weights])[order], first) if len(first) else np.zeros(0)
    return {
        _STARTS: _starts(keys[first] // max(nodes, 1), nodes),
        _TARGETS: (keys[first] % max(nodes, 1)).astype(np.int32),
        _UNDIRECTED_WEIGHTS: summed,
    }


@dataclass(frozen=True)
class Adjacency:
    """Weighted edges grouped by source: those of node `n` are the rows `starts[n]` to `starts[n + 1]`.

    An edge of weight 0 is never followed.
    """

    nodes: int
    starts: Array
    targets: Array
    weights: Array
    symmetric: bool = False  # every edge is there in both directions

    @classmethod
    def of_edges(cls, nodes: int, sources: Array, targets: Array, weights: Array) -> Adjacency:
        """Group edges that come in any order; edges of one node keep theirs."""
        order = np.argsort(sources, kind="stable")
        return cls(nodes, _starts(sources, nodes), targets[order], weights[order])

    @cached_property
    def degrees(self) -> Array:
        """How many edges each node has."""
        return np.diff(self.starts)

    @property
    def sources(self) -> Array:
        """The source of each edge."""
        return np.repeat(np.arange(self.nodes), self.degrees)

    @cached_property
    def inverse_weights(self) -> Array:
        """One over the total weight of each node's edges; 0 where no edge can be followed."""
        total = np.bincount(self.sources, self.weights, minlength=self.nodes)
        return np.divide(1.0, total, out=np.zeros(self.nodes), where=total > 0)

    @cached_property
    def transposed(self) -> Adjacency:
        """The same edges grouped by target."""
        return self if self.symmetric else Adjacency.of_edges(self.nodes, self.targets, self.sources, self.weights)

    def checked_rows(self, rows: Array) -> Array:
        """Rows sorted and without repeats; ValueError if one is not a node."""
        found = np.unique(np.asarray(rows, np.int64))
        if len(found) and (found[0] < 0 or found[-1] >= self.nodes):
            raise ValueError(f"rows must lie between 0 and {self.nodes - 1}")
        return found


def _starts(owners: Array, nodes: int) -> Array:
    """Where each node's entries begin in a list grouped by node, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=nodes))])


def edges_of(starts: Array, rows: Array) -> tuple[Array, Array]:
    """The edges of some nodes, node by node, and how many each node has."""
    begins = starts[rows].astype(np.int64, copy=False)
    counts = starts[rows + 1].astype(np.int64, copy=False) - begins
    edges = np.ones(int(counts.sum()), np.int64)
    filled = np.flatnonzero(counts)
    if len(filled):
        first, size = begins[filled], counts[filled]
        edges[0] = first[0]
        edges[np.cumsum(size[:-1])] = first[1:] - (first[:-1] + size[:-1] - 1)
        np.cumsum(edges, out=edges)
    return edges, counts
