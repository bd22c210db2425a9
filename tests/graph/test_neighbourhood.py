"""What lies around a symbol, asked of a small real tree (W3, W5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sample_trees import write
from small_cases import each
from whence import Index
from whence.core.errors import UsageError
from whence.core.types import EDGE_KINDS
from whence.graph.neighbourhood import GROUPS, Neighbourhood, edges_among
from whence.graph.reader import Graph

FILES = {
    "shop/store.py": """class Store:
    def save(self, item):
        check(item)
        return check(item)


class FileStore(Store):
    def save(self, item):
        return check(item)


def check(item):
    return check(item.next) if item.next else deep(item)


def deep(item):
    return deeper(item)


def deeper(item):
    return item


def alone():
    return 1
""",
    "web/page.py": "from shop.store import check\n\n\ndef page(item):\n    return check(item)\n",
    "tests/test_store.py": "from shop.store import Store, check\n\n\ndef test_it_is_saved():\n    assert Store().save(1) and check(1)\n",
}
STORE, SAVE, FILE_SAVE, CHECK, DEEP, DEEPER = (
    f"shop/store.py#{name}" for name in ("Store", "Store.save", "FileStore.save", "check", "deep", "deeper")
)
TEST = "tests/test_store.py#test_it_is_saved"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    place = tmp_path_factory.mktemp("around")
    with Index.open(write(place / "tree", FILES), data_dir=place / "data") as opened:
        yield opened


def around(index: Index, name: str, **how: Any) -> Neighbourhood:
    return index.around(index.questions().resolve_one(name), **how)


def keys(found: Neighbourhood) -> set[str]:
    return {one.key for one in found.nodes}


def test_the_symbol_itself_stands_first_and_is_where_the_walk_is_most(index):
    found = around(index, "check")
    first = found.nodes[0]
    assert (found.focus, first.key, first.score, first.distance) == (CHECK, CHECK, 1.0, 0)
    scores = [one.score for one in found.nodes[1:]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)


def test_what_calls_it_and_what_it_calls_is_around_it_with_kind_and_place(index):
    found = around(index, "check", depth=1)
    assert {SAVE, FILE_SAVE, DEEP, TEST, "web/page.py#page"} <= keys(found)
    page = next(one for one in found.nodes if one.key == "web/page.py#page")
    assert (page.name, page.kind, page.path, page.line, page.end_line, page.folder) == ("page", "function", "web/page.py", 4, 5, "web")
    assert [one.key for one in found.nodes if one.in_tests] == [TEST]


@pytest.mark.parametrize(("depth", "reached"), [(1, set()), (2, {DEEPER})])
def test_no_more_hops_are_gone_than_asked(index, depth, reached):
    found = around(index, "check", depth=depth, groups=["calls"])
    assert keys(found) & {DEEPER} == reached
    assert max(one.distance for one in found.nodes) <= depth


def test_only_edges_of_the_groups_that_are_asked_for_are_followed(index):
    found = around(index, "Store.save", groups=["inheritance"], depth=1)
    assert keys(found) == {SAVE, FILE_SAVE}
    assert {(one.source, one.group, one.target) for one in found.edges} == {(FILE_SAVE, "inheritance", SAVE)}


def test_two_calls_on_two_lines_are_one_edge_at_the_first(index):
    found = around(index, "Store.save", groups=["calls"], depth=1)
    [calls] = [one for one in found.edges if (one.source, one.target) == (SAVE, CHECK)]
    assert (calls.kind, calls.group, calls.count, calls.line) == ("calls", "calls", 1, 3)
    assert 0 < calls.confidence <= 1


def test_what_is_said_from_both_ends_is_shown_once_and_a_call_of_itself_never(index):
    found = around(index, "check")
    assert {one.kind for one in found.edges} <= set(EDGE_KINDS) - {"member_of", "tested_by", "co_tested_with"}
    assert [one for one in found.edges if one.source == one.target] == []


def test_no_more_symbols_are_shown_than_asked_and_the_others_are_counted(index):
    whole = around(index, "check")
    some = around(index, "check", most=3)
    assert [one.key for one in some.nodes] == [one.key for one in whole.nodes[:3]]
    assert some.omitted == len(whole.nodes) + whole.omitted - 3
    assert {end for one in some.edges for end in (one.source, one.target)} <= keys(some)


def test_what_nothing_is_joined_to_stands_by_itself(index):
    found = around(index, "alone", groups=["calls"])
    assert keys(found) == {"shop/store.py#alone"}
    assert (found.edges, found.omitted) == ((), 0)


@each(("how", "said"), [({"groups": ["kalls"]}, "kalls"), ({"depth": 0}, "depth 0"), ({"depth": 5}, "depth 5"), ({"most": 501}, "501")])
def test_what_cannot_be_asked_is_refused_with_what_can(index, how, said):
    with pytest.raises(UsageError, match=said) as refused:
        around(index, "check", **how)
    assert refused.value.hint


def test_every_group_can_be_asked_for(index):
    for group in GROUPS:
        assert around(index, "check", groups=[group]).nodes[0].key == CHECK


# The edges among some symbols.
@pytest.fixture(scope="module")
def graph(index: Index) -> Graph:
    return index.open_graph()


def joined(graph: Graph, *keys: str) -> set[tuple[str, str, str]]:
    """The edges among some symbols, in words."""
    nodes = [unit for key in keys for unit in graph.symbols.find(key)]
    assert len(nodes) == len(keys)
    return {(graph.name(one.source), one.group, graph.name(one.target)) for one in edges_among(graph, nodes)}


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
