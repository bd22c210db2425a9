"""Makes the graph of a snapshot and stores it beside the segments."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from whence.core.errors import IndexDamaged, StorageError
from whence.core.types import PROVENANCES, Edge
from whence.graph.builder.derived_edges import with_derived_edges
from whence.graph.builder.imports import ImportBindings, ImportResolver
from whence.graph.builder.resolve import ENDPOINT_PREFIXES, EdgeColumns, ReferenceColumns, Resolver
from whence.graph.reader import KIND_ROWS, Graph, undirected_arrays
from whence.index.reader import IndexReader
from whence.index.snapshot import Snapshot
from whence.index.symbols import SymbolTable, possible_paths
from whence.storage.arrayfile import Array, open_columns, pack_strings, write_arrays

#: Raise it with any change that makes different edges from the same segments.
GRAPH_FORMAT = 4
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
            return Graph(open_columns(layout.segments / stored["name"], stored["stamp"]), snapshot.symbols)
        except (IndexDamaged, KeyError) as damage:
            notes.append(f"{getattr(damage, 'message', f'the graph lacks {damage}')}; rebuilt")
    arrays = make_graph(snapshot, reader.read_text, store.edges())
    # A read-only index is not an error. Without the lock, an indexer would remove the file as one that nothing lists.
    with suppress(StorageError, OSError), layout.write_lock(0):
        name = f"{os.urandom(8).hex()}.graph"
        stamp = write_arrays(layout.segments / name, arrays, {})
        with store.transaction():
            store.set_meta(graph=json.dumps({"name": name, "stamp": asdict(stamp), "facts": facts}))
    return Graph(arrays, snapshot.symbols)


def make_graph(snapshot: Snapshot, read_text: Callable[[str], str | None], extra: Sequence[Edge] = ()) -> dict[str, Array]:
    """The arrays of a snapshot's graph: edges from the source, derived edges, and `extra` edges from elsewhere."""
    symbols, references = snapshot.symbols, ReferenceColumns.of(snapshot)
    paths = [path for row, path in enumerate(snapshot.paths) if snapshot.alive[row]]
    bindings = ImportBindings.of(snapshot, ImportResolver(paths, read_text))
    edges = with_derived_edges(symbols, Resolver(symbols, references, bindings).resolve())
    return graph_arrays(symbols, edges, references.endpoints, extra)


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
    paths = {path for key in keys for path in possible_paths(key)}
    for file in (row for path, row in symbols.file_row.items() if path in paths):
        for unit in range(int(symbols.snapshot.unit_starts[file]), int(symbols.snapshot.unit_starts[file + 1])):
            nodes.setdefault(symbols.key(unit), unit)
    for key in sorted(keys - nodes.keys()):
        if key.startswith(ENDPOINT_PREFIXES):
            nodes[key] = symbols.units + len(endpoints)
            endpoints.append(key)
    return [(nodes[edge.source], nodes[edge.target], edge) for edge in extra if edge.source in nodes and edge.target in nodes]
