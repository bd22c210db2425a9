"""What every store of edges must keep to: edges of a file are replaced together, and the adjacency is what was put in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns import examples
from graph.graph_edges import key_of
from sample_trees import write
from whence import Index
from whence.core.types import EDGE_KINDS, LSP, PROVENANCES, RUNTIME, Edge
from whence.graph.reader import Graph

#: Three files of two functions that do not call one another: every edge of a use is one that was put in.
FILES = {f"{name}.py": f"def {name}_one(): pass\n\n\ndef {name}_two(): pass\n" for name in "abc"}
KEYS = [f"{name}.py#{name}_{number}" for name in "abc" for number in ("one", "two")]
Told = tuple[str, str, str, str]  # source, kind, target, provenance


class GraphStore(Protocol):
    """The seam: edges of some files in, an adjacency out."""

    def replace(self, provenance: str, edges: list[Edge], paths: list[str] | None) -> None:
        """Put edges in place of those of the same provenance, of all files or of some."""
        ...

    def adjacency(self) -> Graph:
        """All edges, ready to be followed."""
        ...

    def reopen(self) -> None:
        """Let go of everything, and open it again."""
        ...


class Embedded:
    """The store that comes with whence: SQLite, and a derived file of arrays."""

    def __init__(self, place: Path) -> None:
        self._root, self._data_dir = write(place / "tree", FILES), place / "data"
        self._index = Index.open(self._root, data_dir=self._data_dir)

    def replace(self, provenance: str, edges: list[Edge], paths: list[str] | None) -> None:
        self._index.add_edges(provenance, edges, paths=paths)

    def adjacency(self) -> Graph:
        return self._index.open_graph()

    def reopen(self) -> None:
        self.close()
        self._index = Index.open(self._root, data_dir=self._data_dir)

    def close(self) -> None:
        self._index.close()


@pytest.fixture(params=[Embedded], ids=["embedded"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    made = request.param(tmp_path)
    yield made
    made.close()


def held(graph: Graph) -> set[Told]:
    rows = zip(graph.source.tolist(), graph.kind.tolist(), graph.target.tolist(), graph.provenance.tolist(), strict=True)
    return {
        (key_of(graph, source), EDGE_KINDS[kind], key_of(graph, target), PROVENANCES[provenance])
        for source, kind, target, provenance in rows
    }


def told(edge: Edge) -> Told:
    return (edge.source, edge.kind, edge.target, edge.provenance)


def edge(source: str, target: str, provenance: str = LSP, kind: str = "calls") -> Edge:
    return Edge(source, target, kind, provenance, 0.9)


def test_what_is_put_in_is_what_comes_out(store: GraphStore) -> None:
    put = [edge(KEYS[0], KEYS[2]), edge(KEYS[0], KEYS[3], kind="references"), edge(KEYS[4], KEYS[0])]
    store.replace(LSP, put, None)
    assert held(store.adjacency()) == set(map(told, put))


def test_replacing_the_edges_of_a_file_leaves_those_of_others(store: GraphStore) -> None:
    store.replace(LSP, [edge(KEYS[0], KEYS[2]), edge(KEYS[1], KEYS[2]), edge(KEYS[2], KEYS[0])], None)
    store.replace(LSP, [edge(KEYS[0], KEYS[4])], ["a.py"])
    assert held(store.adjacency()) == {told(edge(KEYS[0], KEYS[4])), told(edge(KEYS[2], KEYS[0]))}


def test_replacing_the_edges_of_one_provenance_leaves_those_of_another(store: GraphStore) -> None:
    store.replace(LSP, [edge(KEYS[0], KEYS[2])], None)
    store.replace(RUNTIME, [edge(KEYS[0], KEYS[2], RUNTIME)], None)
    store.replace(LSP, [], None)
    assert held(store.adjacency()) == {told(edge(KEYS[0], KEYS[2], RUNTIME))}


def test_an_edge_put_in_twice_is_there_once(store: GraphStore) -> None:
    store.replace(LSP, [edge(KEYS[0], KEYS[2]), edge(KEYS[0], KEYS[2])], None)
    assert len(store.adjacency().source) == 1


def test_an_edge_to_something_that_is_not_there_is_kept_out_of_the_adjacency(store: GraphStore) -> None:
    store.replace(LSP, [edge(KEYS[0], "gone.py#gone"), edge("gone.py#gone", KEYS[0]), edge(KEYS[0], "a.py#gone")], None)
    assert held(store.adjacency()) == set()


def test_what_has_no_place_in_the_source_is_a_node_all_the_same(store: GraphStore) -> None:
    store.replace(
        RUNTIME,
        [edge(KEYS[0], "route:GET /a", RUNTIME, "handles_route"), edge(KEYS[1], "route:GET /a", RUNTIME, "consumes_endpoint")],
        None,
    )
    graph = store.adjacency()
    assert graph.endpoints == ["route:GET /a"]
    assert len(graph.edges_to(graph.symbols.units)) == 2


def test_edges_are_kept_when_the_store_is_opened_again(store: GraphStore) -> None:
    store.replace(LSP, [edge(KEYS[0], KEYS[2])], None)
    store.reopen()
    assert held(store.adjacency()) == {told(edge(KEYS[0], KEYS[2]))}


keys = st.sampled_from(KEYS)
provenances = st.sampled_from([LSP, RUNTIME])
paths = st.none() | st.lists(st.sampled_from(sorted(FILES)), min_size=1, max_size=2, unique=True)
replacements = st.tuples(provenances, st.lists(st.tuples(keys, keys, st.sampled_from(["calls", "references"])), max_size=6), paths)


@given(st.lists(replacements, min_size=1, max_size=5))
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_replacements_leave_what_a_plain_set_would_hold(
    store: GraphStore, steps: list[tuple[str, list[tuple[str, str, str]], list[str] | None]]
) -> None:
    for provenance in (LSP, RUNTIME):
        store.replace(provenance, [], None)
    expected: set[Told] = set()
    for provenance, given_, files in steps:
        put = [
            edge(source, target, provenance, kind) for source, target, kind in given_ if files is None or source.partition("#")[0] in files
        ]
        store.replace(provenance, put, files)
        expected = {one for one in expected if one[3] != provenance or (files is not None and one[0].partition("#")[0] not in files)}
        expected |= set(map(told, put))
    graph = store.adjacency()
    assert held(graph) == expected
    keeps_its_word(graph)


def keeps_its_word(graph: Graph) -> None:
    """Every edge is among those out of its source and into its target, once, and nowhere else; both ways, nodes are as near as all edges between them say."""
    out = [(node, row) for node in range(graph.nodes) for row in graph.edges_from(node).tolist()]
    into = [(node, row) for node in range(graph.nodes) for row in graph.edges_to(node).tolist()]
    assert sorted(row for _, row in out) == sorted(row for _, row in into) == list(range(len(graph.source)))
    assert all(graph.source[row] == node for node, row in out)
    assert all(graph.target[row] == node for node, row in into)
    both, expected, found = graph.undirected, Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for source, target, weight in zip(graph.source.tolist(), graph.target.tolist(), graph.walk_weights.tolist(), strict=True):
        expected[source, target] += weight
        expected[target, source] += weight
    origin = np.repeat(np.arange(graph.nodes), np.diff(both.starts))
    for source, target, weight in zip(origin.tolist(), both.targets.tolist(), both.weights.tolist(), strict=True):
        found[source, target] += weight
    assert dict(found) == pytest.approx(dict(expected))
