"""What joins some symbols, as a picture of them shows it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sample_trees import write
from whence import Index
from whence.graph.neighbourhood import edges_among
from whence.graph.reader import Graph

FILES = {
    "shop/store.py": """class Store:
    def save(self, item):
        return check(item) and check(item)


class FileStore(Store):
    def save(self, item):
        return check(item)


def check(item):
    return check(item.next) if item.next else True
""",
    "tests/test_store.py": "from shop.store import Store, check\n\n\ndef test_it_is_saved():\n    assert Store().save(1) and check(1)\n",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    place = tmp_path_factory.mktemp("among")
    with Index.open(write(place / "tree", FILES), data_dir=place / "data") as index:
        yield index.open_graph()


def joined(graph: Graph, *keys: str) -> set[tuple[str, str, str]]:
    """The edges among some symbols, in words."""
    nodes = [unit for key in keys for unit in graph.symbols.with_key(key)]
    assert len(nodes) == len(keys)
    return {(graph.name(one.source), one.group, graph.name(one.target)) for one in edges_among(graph, nodes)}


STORE, SAVE, FILE_SAVE, CHECK = (f"shop/store.py#{name}" for name in ("Store", "Store.save", "FileStore.save", "check"))
TEST = "tests/test_store.py#test_it_is_saved"


def test_two_calls_of_one_symbol_are_one_edge_and_a_call_of_itself_is_none(graph):
    assert joined(graph, SAVE, CHECK) == {("Store.save", "calls", "check")}


def test_edges_to_others_are_left_out(graph):
    assert joined(graph, SAVE, FILE_SAVE) == {("FileStore.save", "inheritance", "Store.save")}


def test_what_is_said_in_both_directions_is_drawn_once(graph):
    assert joined(graph, STORE, SAVE) == {("Store", "contains", "Store.save")}
    assert {group for _, group, _ in joined(graph, TEST, CHECK)} == {"calls", "tests"}
    assert {(source, target) for source, _, target in joined(graph, TEST, CHECK)} == {("test_it_is_saved", "check")}


def test_nothing_joins_nothing(graph):
    assert edges_among(graph, []) == []
