"""Keeping the graph: true to an edited tree, made again when it is damaged or old, never made twice for the same tree (W1, W2)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns import examples
from graph.graph_edges import Edge as Row
from graph.graph_edges import edges_of, key_of, opened
from hindrances import environment, obeying_permissions
from sample_trees import truth, write
from whence import Index
from whence.core.types import EDGE_KINDS, EDGE_WEIGHTS, LSP, PROVENANCES, RUNTIME, Edge
from whence.index.layout import Layout
from whence.storage.arrayfile import ArrayFile

FILES = {
    "shop/__init__.py": "from .cart import Cart\n",
    "shop/cart.py": "from .money import Price\nfrom . import stock\n\n\nclass Cart(stock.Holder):\n    def add(self, item):\n        self.hold(item)\n        return Price()\n",
    "shop/money.py": "import os\n\n\nclass Price:\n    def rounded(self):\n        return os.environ['CURRENCY']\n",
    "shop/stock.py": "class Holder:\n    def hold(self, item):\n        return item\n\n    def let_go(self):\n        return 1\n",
    "app.py": "from shop import Cart\n\n\ndef main():\n    cart = Cart()\n    cart.add(1)\n",
    "tests/test_cart.py": "from shop.cart import Cart\nfrom shop.money import Price\n\n\ndef test_add():\n    Cart()\n    Price()\n",
    "web/view.ts": "import { load } from './load'\nexport function view() { return load() }\n",
    "web/load.ts": "export function load() { return fetch('/carts') }\n",
    "main.go": "package main\n\nfunc main() { run() }\n\nfunc run() {}\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", FILES)


def edges(root: Path, data_dir: Path | None = None) -> set[Row]:
    with Index.open(root, data_dir=data_dir) as index:
        return edges_of(index.open_graph())


def anew(root: Path, tmp_path: Path) -> set[Row]:
    """The edges of a tree that nobody has indexed before."""
    place = tmp_path / f"fresh-{os.urandom(4).hex()}"
    found = edges(root, place)
    shutil.rmtree(place)
    return found


def segments_of(root: Path, data_dir: Path) -> Path:
    return Layout(data_dir, root.resolve()).segments


def graphs(root: Path, data_dir: Path) -> list[Path]:
    return sorted(segments_of(root, data_dir).glob("*.graph"))


def listed(root: Path, data_dir: Path) -> Path:
    """The graph file that the index says is its own."""
    with truth(Layout(data_dir, root.resolve()).database) as database:
        (text,) = database.execute("SELECT value FROM meta WHERE key = 'graph'").fetchone()
    return segments_of(root, data_dir) / json.loads(text)["name"]


# True to the tree.

EDITS: dict[str, Callable[[Path], object]] = {
    "a call more": lambda root: write(root, {"app.py": FILES["app.py"] + "    cart.let_go()\n"}),
    "a call less": lambda root: write(root, {"app.py": "def main():\n    pass\n"}),
    "another parent": lambda root: write(root, {"shop/cart.py": FILES["shop/cart.py"].replace("stock.Holder", "Price")}),
    "a target renamed": lambda root: write(root, {"shop/stock.py": FILES["shop/stock.py"].replace("hold", "keep")}),
    "a file more": lambda root: write(root, {"shop/more.py": "from shop.cart import Cart\n\n\ndef more():\n    return Cart()\n"}),
    "a file less": lambda root: (root / "shop/stock.py").unlink(),
    "a file renamed": lambda root: (root / "shop/money.py").rename(root / "shop/coins.py"),
    "a folder renamed": lambda root: (root / "shop").rename(root / "store"),
    "what was outside is no longer spoken of": lambda root: write(root, {"shop/money.py": "class Price:\n    def rounded(self): pass\n"}),
    "a namesake more": lambda root: write(root, {"other.py": "class Price:\n    def rounded(self): pass\n"}),
    "nothing left": lambda root: [path.unlink() for path in root.rglob("*.*") if path.is_file()],
}


@pytest.mark.parametrize("edit", EDITS)
def test_the_graph_of_an_edited_tree_is_that_of_a_new_one(edit: str, tree: Path, tmp_path: Path) -> None:
    before = edges(tree)
    EDITS[edit](tree)
    after = edges(tree)
    assert after == anew(tree, tmp_path)
    assert after != before


def test_nodes_outside_that_nobody_speaks_of_any_more_are_gone(tree: Path) -> None:
    with Index.open(tree) as index:
        assert "env:CURRENCY" in index.open_graph().endpoints
        write(tree, {"shop/money.py": "class Price: pass\n"})
        index.refresh()
        assert "env:CURRENCY" not in index.open_graph().endpoints


def test_a_refresh_of_an_open_index_brings_its_graph_along(tree: Path, tmp_path: Path) -> None:
    with Index.open(tree) as index:
        before = edges_of(index.open_graph())
        EDITS["a call more"](tree)
        assert edges_of(index.open_graph()) == before
        index.refresh()
        assert edges_of(index.open_graph()) == anew(tree, tmp_path) != before


def test_many_small_edits_and_the_merges_between_them_lose_no_relation(tree: Path, tmp_path: Path, own_data_dir: Path) -> None:
    for number in range(8):
        write(tree, {f"extra/part_{number}.py": f"from shop.money import Price\n\n\ndef part_{number}():\n    return Price().rounded()\n"})
        if number % 3 == 2:
            (tree / f"extra/part_{number - 1}.py").unlink()
        found = edges(tree)
    assert found == anew(tree, tmp_path)
    with Index.open(tree) as index:
        assert len(index.snapshot.segments) < 8  # some were merged


names = st.sampled_from(["alpha", "beta", "gamma"])
contents = st.builds(
    lambda own, other, called: (
        f"from {other} import {called}\n\n\nclass {own.title()}:\n    def {own}(self):\n        self.{called}()\n\n\ndef {own}():\n    {called}()\n"
    ),
    names,
    names,
    names,
)


@given(st.lists(st.tuples(names, contents | st.none()), min_size=1, max_size=5))
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_edits_one_after_the_other_leave_the_graph_of_a_new_tree(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, str | None]]
) -> None:
    place = tmp_path_factory.mktemp("edited")
    root = write(place / "tree", {"alpha.py": "def alpha(): pass\n", "beta.py": "from alpha import alpha\n\n\ndef beta():\n    alpha()\n"})
    with Index.open(root, data_dir=place / "kept") as index:
        for name, text in edits:
            if text is None:
                (root / f"{name}.py").unlink(missing_ok=True)
            else:
                write(root, {f"{name}.py": text})
            index.refresh()
            found = edges_of(index.open_graph())
    assert found == edges(root, place / "fresh")


# One file, made once.


def test_a_graph_is_made_once_and_then_read(tree: Path, own_data_dir: Path) -> None:
    edges(tree)
    (made,) = graphs(tree, own_data_dir)
    stamp = made.stat().st_mtime_ns
    with Index.open(tree) as index:
        index.refresh()
        assert edges_of(index.open_graph())
        assert (
            isinstance(index.open_graph().source.base, np.ndarray | memoryview) or not index.open_graph().source.flags.owndata
        )  # of the memory map
    assert graphs(tree, own_data_dir) == [made]
    assert made.stat().st_mtime_ns == stamp


def test_a_touched_file_of_the_same_content_makes_no_new_graph(tree: Path, own_data_dir: Path) -> None:
    edges(tree)
    before = graphs(tree, own_data_dir)
    os.utime(tree / "app.py", (1, 1))
    edges(tree)
    assert graphs(tree, own_data_dir) == before


def test_what_is_read_from_the_file_is_what_was_made(tree: Path) -> None:
    with Index.open(tree) as index:
        made = index.open_graph()
        arrays = {
            name: getattr(made, name).tolist()
            for name in ("source", "target", "kind", "confidence", "line", "starts", "in_edges", "in_starts")
        }
    with Index.open(tree) as index:
        assert {name: getattr(index.open_graph(), name).tolist() for name in arrays} == arrays
        assert index.open_graph().endpoints == made.endpoints


def test_graphs_of_earlier_snapshots_and_strays_are_removed_by_the_next_build(tree: Path, own_data_dir: Path) -> None:
    edges(tree)
    stray = segments_of(tree, own_data_dir) / "0123456789abcdef.graph"
    stray.write_bytes(b"of a process that was ended")
    for number in range(3):
        write(tree, {"app.py": FILES["app.py"] + f"    print({number})\n"})
        edges(tree)
    assert not stray.exists()
    assert len(graphs(tree, own_data_dir)) <= 2
    assert listed(tree, own_data_dir) in graphs(tree, own_data_dir)


# Damage.


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def scribbled(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    data[-1] ^= 0xFF
    path.write_bytes(bytes(data))


def replaced(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


@pytest.mark.parametrize(
    "damage",
    [Path.unlink, cut, scribbled, replaced, lambda path: path.write_bytes(b"")],
    ids=["gone", "cut", "scribbled", "zeros", "empty"],
)
def test_a_damaged_graph_is_made_again_and_nothing_else_is_and_that_is_said(
    damage: Callable[[Path], object], tree: Path, own_data_dir: Path
) -> None:
    before = edges(tree)
    (made,) = graphs(tree, own_data_dir)
    damage(made)
    with Index.open(tree) as index:
        assert edges_of(index.open_graph()) == before
        assert len(index.notes) == 1
        assert made.name in index.notes[0]
        assert index.last_refresh.read == 0
    again = listed(tree, own_data_dir)
    assert again != made
    assert ArrayFile(again)["source"].size


def test_a_graph_of_an_older_format_is_made_again(tree: Path, own_data_dir: Path) -> None:
    before = edges(tree)
    made = listed(tree, own_data_dir)
    with truth(Layout(own_data_dir, tree.resolve()).database) as database:
        (text,) = database.execute("SELECT value FROM meta WHERE key = 'graph'").fetchone()
        known = json.loads(text)
        known["facts"]["format"] -= 1
        database.execute("UPDATE meta SET value = ? WHERE key = 'graph'", [json.dumps(known)])
        database.commit()
    assert edges(tree) == before
    assert listed(tree, own_data_dir) != made


def test_an_index_of_an_older_format_is_rebuilt_with_its_graph_and_keeps_what_was_observed(tree: Path, own_data_dir: Path) -> None:
    with Index.open(tree) as index:
        before = edges_of(index.open_graph())
        index.add_edges(RUNTIME, [SEEN])
        index.add_edges(LSP, [RESOLVED])
    with truth(Layout(own_data_dir, tree.resolve()).database) as database:
        database.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
        database.commit()
    with Index.open(tree) as index:
        assert index.notes == ["the index was built with another version of whence; rebuilt"]
        assert edges_of(index.open_graph()) - before == {row_of(SEEN)}
        assert before <= edges_of(index.open_graph())


def test_a_damaged_segment_costs_nothing_that_was_observed(tree: Path, own_data_dir: Path) -> None:
    with Index.open(tree) as index:
        index.add_edges(RUNTIME, [SEEN])
    for path in segments_of(tree, own_data_dir).glob("*.segment"):
        path.write_bytes(b"\0" * path.stat().st_size)
    with Index.open(tree) as index:
        assert any("rebuilt" in note for note in index.notes)
        assert row_of(SEEN) in edges_of(index.open_graph())


@pytest.mark.process
def test_an_index_folder_that_cannot_be_written_still_answers(tree: Path, own_data_dir: Path) -> None:
    before = edges(tree)
    (made,) = graphs(tree, own_data_dir)
    made.unlink()
    places = [own_data_dir, *own_data_dir.rglob("*")]
    with read_only(places):
        done = said_by(tree, preexec_fn=obeying_permissions())
    assert done == sorted(map(list, before))
    assert graphs(tree, own_data_dir) == []


@contextmanager
def read_only(places: list[Path]) -> Iterator[None]:
    modes = {place: place.stat().st_mode for place in places}
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        yield
    finally:
        for place, mode in modes.items():
            place.chmod(mode)


PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[2])
from graph.graph_edges import edges_of
from whence import Index
with Index.open(sys.argv[1]) as index:
    print(json.dumps(sorted(map(list, edges_of(index.open_graph())))))
"""
TESTS = str(Path(__file__).parents[2])


def said_by(tree: Path, preexec_fn: Callable[[], None] | None = None) -> list[list[object]]:
    """The edges that a process of its own finds."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tree), TESTS],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=preexec_fn,
    )
    assert done.returncode == 0, done.stderr
    found: list[list[object]] = json.loads(done.stdout)
    return found


@pytest.mark.process
def test_processes_that_make_the_graph_at_once_all_have_it(tree: Path, own_data_dir: Path) -> None:
    Index.open(tree).close()
    processes = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(tree), TESTS], env=environment(), stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    told = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    expected = sorted(map(list, edges(tree)))
    assert [json.loads(text) for text in told] == [expected] * 3
    assert listed(tree, own_data_dir).exists()


def test_a_graph_made_of_an_older_view_is_not_taken_for_that_of_the_newer(tree: Path, tmp_path: Path) -> None:
    """One process has the index open while another takes in edits and merges the segments into others."""
    old = Index.open(tree)
    for number in range(4):
        write(tree, {f"a{number}.py": f"def first_{number}(): pass\n"})
        Index.open(tree).close()
    for number in range(4):
        (tree / f"a{number}.py").unlink()
    write(tree, {"aa.py": "def before_all(): pass\n"})
    (tree / "main.go").unlink()
    Index.open(tree).close()  # as many files as `old` knows, in other rows
    made = edges_of(old.open_graph())
    old.close()
    assert ("main.go#main", "calls", "main.go#run", 0.7) in made
    assert edges(tree) == anew(tree, tmp_path)


# What others found.

SEEN = Edge("app.py#main", "shop/stock.py#Holder.let_go", "calls", RUNTIME, 0.5, line=5, seen=1_700_000_000.0, count=3)
ASKED = Edge("web/load.ts#load", "route:GET /carts", "consumes_endpoint", RUNTIME, 0.4, seen=1_700_000_000.0, count=2)
RESOLVED = Edge("app.py#main", "shop/stock.py#Holder.hold", "calls", LSP, 0.9, line=6)
FROM_CART = Edge("shop/cart.py#Cart.add", "shop/money.py#Price.rounded", "calls", LSP, 0.9, line=7)


def row_of(edge: Edge) -> Row:
    return (edge.source, edge.kind, edge.target, round(edge.confidence, 3))


def added(index: Index) -> set[Row]:
    """The edges that the parser did not find."""
    graph = index.open_graph()
    return {
        (
            key_of(graph, int(graph.source[row])),
            EDGE_KINDS[int(graph.kind[row])],
            key_of(graph, int(graph.target[row])),
            round(float(graph.confidence[row]), 3),
        )
        for row in np.flatnonzero(graph.provenance != 0).tolist()
    }


def test_edges_of_others_stand_beside_the_parsers_with_all_that_is_known_of_them(tree: Path) -> None:
    with Index.open(tree) as index:
        before = edges_of(index.open_graph())
        index.add_edges(RUNTIME, [SEEN, ASKED])
        index.add_edges(LSP, [RESOLVED])
        assert added(index) == {row_of(SEEN), row_of(ASKED), row_of(RESOLVED)}
        assert before <= edges_of(index.open_graph())
        graph = index.open_graph()
        (row,) = np.flatnonzero(graph.seen > 0)[
            [key_of(graph, int(graph.target[row])) == SEEN.target for row in np.flatnonzero(graph.seen > 0)]
        ]
        assert (PROVENANCES[graph.provenance[row]], int(graph.line[row]), float(graph.seen[row])) == (RUNTIME, SEEN.line, SEEN.seen)


def test_they_are_still_there_when_the_index_is_opened_again(tree: Path) -> None:
    with Index.open(tree) as index:
        index.add_edges(RUNTIME, [SEEN])
    with Index.open(tree) as index:
        assert added(index) == {row_of(SEEN)}


def test_a_language_servers_edges_go_with_the_text_they_were_found_in_and_observations_stay(tree: Path) -> None:
    with Index.open(tree) as index:
        index.add_edges(RUNTIME, [SEEN])
        index.add_edges(LSP, [RESOLVED, FROM_CART])
        write(tree, {"app.py": FILES["app.py"] + "    print(cart)\n"})
        index.refresh()
        assert added(index) == {row_of(SEEN), row_of(FROM_CART)}


def test_an_edge_whose_end_is_gone_is_not_answered_with_and_comes_back_with_it_when_it_was_observed(tree: Path) -> None:
    with Index.open(tree) as index:
        index.add_edges(RUNTIME, [SEEN])
        index.add_edges(LSP, [RESOLVED])
        (tree / "shop/stock.py").unlink()
        index.refresh()
        assert added(index) == set()
        write(tree, {"shop/stock.py": FILES["shop/stock.py"]})
        index.refresh()
        assert added(index) == {row_of(SEEN), row_of(RESOLVED)}
        (tree / "app.py").unlink()
        index.refresh()
        assert added(index) == set()
        write(tree, {"app.py": FILES["app.py"]})
        index.refresh()
        assert added(index) == {row_of(SEEN)}


def test_edges_of_one_file_are_replaced_and_those_of_others_are_not(tree: Path) -> None:
    with Index.open(tree) as index:
        index.add_edges(LSP, [RESOLVED, FROM_CART])
        index.add_edges(LSP, [], paths=["app.py"])
        assert added(index) == {row_of(FROM_CART)}
        index.add_edges(LSP, [RESOLVED])
        assert added(index) == {row_of(RESOLVED)}


def test_a_file_with_the_mark_in_its_name_keeps_its_edges_apart(tmp_path: Path) -> None:
    files = {"c#/a#1.js": "class A { #kept() { return 1 }\n  go() { return this.#kept() } }\n", "c": "", "b.js": "function b() {}\n"}
    edge = Edge("c#/a#1.js#A.go", "b.js#b", "calls", LSP, 0.9)
    with opened(tmp_path / "tree", files) as index:
        index.add_edges(LSP, [edge])
        assert added(index) == {row_of(edge)}
        assert index.snapshot.symbols.find("c#/a#1.js#A.go")
        index.add_edges(LSP, [], paths=["c#/a#1.js"])
        assert added(index) == set()


def test_an_edge_may_begin_outside_the_source(tree: Path) -> None:
    edge = Edge("route:GET /carts", "app.py#main", "references", RUNTIME, 0.5)
    with Index.open(tree) as index:
        index.add_edges(RUNTIME, [edge])
        assert added(index) == {row_of(edge)}
        assert index.open_graph().referrers.sum() > 0


# How it is walked.


def test_an_edge_is_followed_as_its_kind_says_and_less_when_only_a_language_server_knows_it(tree: Path) -> None:
    with Index.open(tree) as index:
        index.add_edges(LSP, [RESOLVED])
        graph = index.open_graph()
        for row in range(len(graph.kind)):
            share = 0.3 if PROVENANCES[graph.provenance[row]] == LSP else 1.0
            assert graph.walk_weights[row] == pytest.approx(EDGE_WEIGHTS[EDGE_KINDS[graph.kind[row]]] * graph.confidence[row] * share)
        assert (graph.provenance > 0).sum() == 1


def test_who_refers_to_a_symbol_is_counted_outside_tests_only(tree: Path) -> None:
    with Index.open(tree) as index:
        graph = index.open_graph()
        (price,), (cart,) = (graph.symbols.find(key) for key in ("shop/money.py#Price", "shop/cart.py#Cart"))
        callers = {key_of(graph, int(graph.source[edge])) for edge in graph.edges_to(price) if EDGE_KINDS[graph.kind[edge]] == "calls"}
        assert callers == {"shop/cart.py#Cart.add", "tests/test_cart.py#test_add"}
        assert graph.referrers[price] == pytest.approx(2)  # Cart.add, and the import at the head of its file
        assert graph.referrers[cart] == pytest.approx(3)
