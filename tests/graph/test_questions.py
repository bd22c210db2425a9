"""Questions to the graph, asked of small real trees in several languages (W5)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from sample_trees import write
from whence import Index
from whence.core.errors import UsageError
from whence.core.types import LSP, Edge
from whence.graph.builder.build import graph_arrays
from whence.graph.builder.resolve import EdgeColumns
from whence.graph.questions import Questions
from whence.graph.reader import Graph

PYTHON = {
    "shop/store.py": """import json
from requests import get


class Store:
    def __init__(self, place):
        self.place = place_of(place)

    def save(self, item):
        return json.dumps(item)

    def load(self, key):
        return get(key)


class FileStore(Store):
    def save(self, item):
        return self.flush(item)

    def flush(self, item):
        return mystery(item)


def place_of(text):
    return text


def keep(store: Store, item):
    store.save(item)
    return item
""",
    "shop/cart.py": """from shop.store import Store, keep


class Cart:
    def get(self, key):
        return key

    def checkout(self):
        return keep(Store("here"), self)


class Basket:
    def fill(self, things):
        return things.checkout()


class Trolley:
    def checkout(self):
        return None
""",
    "tests/test_cart.py": """from shop.cart import Cart


def test_paying():
    cart = Cart()
    assert cart.checkout()


def paid():
    cart = Cart()
    return cart.checkout()


def test_paid():
    assert paid()
""",
}
TYPESCRIPT = {
    "ui/view.ts": "import { draw } from './draw';\n\nexport class View {\n  render() {\n    return draw(1);\n  }\n}\n",
    "ui/draw.ts": "import { View } from './view';\n\nexport function draw(n: number) {\n  return n + 1;\n}\n\nexport function show(): number {\n  return new View().render();\n}\n",
    "ui/other.ts": "import { draw } from 'canvas';\n\nexport function paint() {\n  return draw(2);\n}\n",
}
GO = {
    "go.mod": "module example.org/shop\n",
    "disk/disk.go": """package disk

type Disk struct{ path string }

func (d *Disk) Open(name string) error { return check(name) }

func (d *Disk) Close() error { return nil }

func check(name string) error { return nil }
""",
    "shop/shop.go": """package shop

import "example.org/shop/disk"

type Opener interface {
	Open(name string) error
	Close() error
}

func Use(opener Opener) error { return opener.Open("a") }

func Fresh() *disk.Disk { return &disk.Disk{} }
""",
}
JAVA = {
    "src/main/java/org/shop/Cart.java": """package org.shop;

public class Cart {
    private final Ledger ledger;

    public Cart(Ledger ledger) { this.ledger = ledger; }

    public int add(int price) { return ledger.note(price); }

    public int add(int price, int count) { return add(price * count); }
}
""",
    "src/main/java/org/shop/Ledger.java": """package org.shop;

public class Ledger {
    public int note(int price) { return price; }
}
""",
    "src/main/java/org/shop/Till.java": """package org.shop;

public class Till {
    public int sell(Ledger ledger) {
        Cart cart = new Cart(ledger);
        return cart.add(3);
    }
}
""",
    "src/test/java/org/shop/TillTest.java": """package org.shop;

public class TillTest {
    public void sells() {
        Till till = new Till();
        till.sell(null);
    }
}
""",
}
Open = Callable[..., Index]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[Open]:
    """Opens the index of a tree that no test changes."""
    known: dict[int, Index] = {}

    def index_of(files: dict[str, str]) -> Index:
        if id(files) not in known:
            known[id(files)] = Index.open(write(tmp_path_factory.mktemp("tree"), files), data_dir=data)
        return known[id(files)]

    yield index_of
    for index in known.values():
        index.close()


@pytest.fixture
def python(opened: Open) -> Index:
    return opened(PYTHON)


@pytest.fixture
def own(tmp_path: Path, data: Path) -> Iterator[Callable[[dict[str, str]], Index]]:
    """Opens the index of a tree that one test may change."""
    known = []

    def index_of(files: dict[str, str]) -> Index:
        known.append(Index.open(write(tmp_path / "tree", files), data_dir=data))
        return known[-1]

    yield index_of
    for index in known:
        index.close()


def names(found) -> list[str]:
    return [one.qualified_name for one in found]


# Callers.
def test_callers_come_with_the_place_of_the_call_and_how_the_edge_is_known(python):
    (caller,) = python.callers("keep")
    assert (caller.qualified_name, caller.path, caller.line) == ("Cart.checkout", "shop/cart.py", 9)
    assert (caller.kind, caller.provenance, caller.confidence, caller.distance) == ("calls", "ast_inferred", 0.7, 1)
    assert (caller.key, caller.note, caller.in_tests) == ("shop/cart.py#Cart.checkout", "", False)


def test_a_call_of_the_parents_method_may_reach_the_one_that_overrides_it(python):
    assert [(one.qualified_name, one.note) for one in python.callers("Store.save")] == [("keep", "")]
    (caller,) = python.callers("FileStore.save")
    assert (caller.qualified_name, caller.note) == ("keep", "may reach: calls Store.save")
    assert caller.confidence < 0.7


def test_who_makes_an_object_calls_its_constructor(python):
    assert names(python.callers("Store.__init__")) == ["Cart.checkout"]


def test_with_depth_callers_of_callers_come_after_with_the_step_between(python):
    found = python.callers("place_of", depth=3)
    assert [(one.qualified_name, one.distance, one.through) for one in found[:2]] == [
        ("Store.__init__", 1, ""),
        ("Cart.checkout", 2, "Store.__init__"),
    ]
    assert [one.distance for one in found] == sorted(one.distance for one in found)


def test_other_kinds_of_use_are_asked_for_by_name(python):
    assert names(python.callers("Store", kinds=["extends"])) == ["FileStore"]
    assert "keep" in names(python.callers("Store", kinds=["type_hint_of"]))


def test_a_kind_or_a_depth_that_does_not_exist_is_refused(python):
    with pytest.raises(UsageError, match="unknown kind of edge: 'call'"):
        python.callers("keep", kinds=["call"])
    with pytest.raises(UsageError, match="depth 0 is too small"):
        python.callers("keep", depth=0)


def test_what_was_imported_from_outside_is_not_replaced_by_a_method_of_the_same_name(python):
    assert python.callers("Cart.get") == []
    answer = python.questions().callees(python.questions().resolve_one("Store.load"))
    assert answer.neighbours() == []
    assert [(one.written, one.reason) for one in answer.unresolved.sample] == [("get", "imported from outside")]


def test_an_edge_taken_by_name_says_that_it_is_one_of_several(python):
    found = {one.qualified_name: one for one in python.callees("Basket.fill")}
    assert set(found) == {"Cart.checkout", "Trolley.checkout"}
    assert {one.note for one in found.values()} == {"by name, one of 2"}
    assert all(one.confidence < 0.5 for one in found.values())


def test_what_another_source_knows_keeps_its_provenance(own):
    index = own({"a.py": "def one(f):\n    f()\n\n\ndef two():\n    return 2\n"})
    assert index.callers("two") == []
    index.add_edges(LSP, [Edge("a.py#one", "a.py#two", "calls", LSP, 0.9, 2)])
    (caller,) = index.callers("two")
    assert (caller.qualified_name, caller.line, caller.provenance, caller.confidence, caller.note) == ("one", 2, LSP, 0.9, "")


# Callees.
def test_callees_are_given_with_their_definition_and_what_may_be_reached(python):
    found = python.callees("keep")
    assert [(one.qualified_name, one.defined_path, one.defined_line, one.line) for one in found] == [
        ("Store.save", "shop/store.py", 9, 29),
        ("FileStore.save", "shop/store.py", 17, 29),
    ]
    assert [one.note for one in found] == ["", "may reach: calls Store.save"]


def test_the_callees_of_a_type_are_those_of_its_members(python):
    assert names(python.callees("Store")) == ["place_of"]
    stops = python.questions().callees(python.questions().resolve_one("Store")).unresolved
    assert [one.written for one in stops.sample] == ["json.dumps", "get"]
    assert (stops.total, stops.external) == (2, 2)


def test_a_call_of_something_that_is_nowhere_is_where_the_graph_stops(python):
    answer = python.questions().callees(python.questions().resolve_one("FileStore.flush"))
    assert answer.neighbours() == []
    assert [(one.name, one.line, one.reason) for one in answer.unresolved.sample] == [("mystery", 21, "not defined here")]


def test_calls_that_lead_nowhere_and_may_mean_a_symbol_are_counted_with_its_callers(own):
    several = {f"lib/{name}.py": f"class {name.title()}:\n    def beat(self):\n        return 1\n" for name in "abcdefgh"}
    index = own({**several, "use.py": "def use(thing):\n    return thing.beat()\n"})
    answer = index.questions().callers(index.questions().resolve_one("A.beat"))
    assert answer.neighbours() == []
    assert answer.unresolved.total == 1
    assert (answer.unresolved.sample[0].path, answer.unresolved.sample[0].reason) == (
        "use.py",
        "one of 8 of that name: lib/a.py#A.beat, lib/b.py#B.beat, lib/c.py#C.beat, lib/d.py#D.beat, ...",
    )


# Impact and tests.
def test_the_impact_of_a_type_is_who_uses_it_or_its_members_each_once(python):
    found = python.impact("Store")
    assert {"keep", "Cart.checkout", "FileStore", "FileStore.save"} <= {one.qualified_name for one in found if one.distance == 1}
    assert len({one.key for one in found if one.qualified_name}) == len([one for one in found if one.qualified_name])
    assert {one.qualified_name for one in found if one.in_tests and one.qualified_name} >= {"test_paying", "paid"}


def test_the_impact_of_a_constant_is_who_refers_to_it(own):
    index = own({"limits.py": "MOST_TRIES = 3\n\n\ndef again(count):\n    return count < MOST_TRIES\n"})
    assert [(one.qualified_name, one.kind) for one in index.impact("MOST_TRIES")] == [("again", "references")]


def test_tests_are_told_with_their_distance_the_direct_ones_first(python):
    assert [(one.qualified_name, one.distance) for one in python.tests("Cart.checkout")] == [
        ("test_paying", 1),
        ("paid", 1),
        ("test_paid", 2),
    ]
    assert ("test_paying", 2) in [(one.qualified_name, one.distance) for one in python.tests("keep")]
    assert python.tests("FileStore.flush", depth=1) == []


# Paths.
def test_a_path_is_told_edge_by_edge(python):
    way = python.path("test_paid", "keep")
    assert [(step.source, step.kind, step.target) for step in way] == [
        ("test_paid", "calls", "paid"),
        ("paid", "calls", "Cart.checkout"),
        ("Cart.checkout", "calls", "keep"),
    ]
    assert (way[-1].path, way[-1].line, way[-1].provenance, way[-1].confidence) == ("shop/cart.py", 9, "ast_inferred", 0.7)


def test_a_path_goes_on_to_what_overrides_a_called_method(python):
    way = python.path("keep", "FileStore.flush")
    assert [(step.kind, step.target, step.note) for step in way] == [
        ("calls", "Store.save", ""),
        ("overridden_by", "FileStore.save", "may reach"),
        ("calls", "FileStore.flush", ""),
    ]


def test_a_path_that_is_too_long_or_goes_the_other_way_is_none(python):
    assert python.path("test_paid", "keep", hops=2) is None
    assert python.path("keep", "test_paid") is None
    assert python.path("keep", "keep") == []


# Names.
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("keep", "shop/store.py#keep"),
        ("keep()", "shop/store.py#keep"),
        ("Store.save", "shop/store.py#Store.save"),
        ("Store::save", "shop/store.py#Store.save"),
        ("Store#save", "shop/store.py#Store.save"),
        ("shop.store.Store.save", "shop/store.py#Store.save"),
        ("shop/store.py#Store.save", "shop/store.py#Store.save"),
        ("store.py#Store.load", "shop/store.py#Store.load"),
        ("shop/store.py:18", "shop/store.py#FileStore.save"),
        ("filestore.FLUSH", "shop/store.py#FileStore.flush"),
    ],
)
def test_a_symbol_is_named_in_the_ways_of_many_languages(python, text, key):
    assert python.symbol_keys(text) == [key]


def test_a_name_of_several_symbols_means_each_of_them_and_is_answered_for_none(python):
    assert python.symbol_keys("save") == ["shop/store.py#Store.save", "shop/store.py#FileStore.save"]
    with pytest.raises(UsageError, match=r"2 symbols are called 'save'(.|\n)*shop/store.py#FileStore.save +method +shop/store.py:17"):
        python.callers("save")


def test_letters_as_they_are_written_come_before_others(own):
    index = own({"a.py": "class Timer:\n    pass\n\n\ndef timer():\n    return Timer()\n"})
    assert index.symbol_keys("timer") == ["a.py#timer"]
    assert index.symbol_keys("Timer") == ["a.py#Timer"]
    assert index.symbol_keys("TIMER") == ["a.py#Timer", "a.py#timer"]


@pytest.mark.parametrize("text", ["Store.sav", "Stoer.save", "Nothing.save", "Store.save.save", "shop/cart.py#Store.save", "save.Store"])
def test_a_name_that_nothing_bears_is_refused_and_never_answered_for_another(python, text):
    for question in (python.callers, python.callees, python.impact, python.tests, python.symbol_keys):
        with pytest.raises(UsageError, match=r"^no such symbol: "):
            question(text)


def test_a_name_that_nothing_bears_is_told_the_nearest(python):
    with pytest.raises(UsageError, match=r"no such symbol: 'Store.sav'; nearest: Store.save"):
        python.callers("Store.sav")
    with pytest.raises(UsageError, match=r"nearest: Cart.checkout, Trolley.checkout"):
        python.callers("chekout")


@pytest.mark.parametrize("text", ["", " ", ".", "#", "::", "a" * 10_000, "shop/store.py:99999", "\x00", "*", "[", "..save"])
def test_what_is_no_name_at_all_is_refused(python, text):
    with pytest.raises(UsageError):
        python.callers(text)


def test_what_is_only_called_here_is_said_to_be_defined_elsewhere(python):
    with pytest.raises(UsageError, match=r"'dumps' is called in 1 place, not defined in this repository: shop/store.py:10"):
        python.callers("dumps")
    with pytest.raises(UsageError, match=r"'json.dumps' is called in 1 place"):
        python.callers("json.dumps")
    with pytest.raises(UsageError, match=r"no such symbol: 'yaml.dumps'"):
        python.callers("yaml.dumps")


def test_what_lies_outside_the_source_is_asked_by_its_own_name(own):
    index = own({"a.py": 'import os\n\n\ndef home():\n    return os.environ["SHOP_HOME"]\n'})
    assert [(one.qualified_name, one.kind) for one in index.callers("env:SHOP_HOME")] == [("home", "reads_env")]


# Other languages.
def test_typescript_imports_are_followed_in_a_circle_and_others_are_not(opened):
    index = opened(TYPESCRIPT)
    assert names(index.callers("draw")) == ["View.render"]
    assert names(index.callers("View.render")) == ["show"]
    assert names(index.callers("draw", depth=9)) == ["View.render", "show"]
    assert index.callees("paint") == []


def test_go_packages_and_interfaces_are_followed(opened):
    index = opened(GO)
    assert names(index.callers("disk.check")) == ["Disk.Open"]
    (caller,) = index.callers("Disk.Open")
    assert (caller.qualified_name, caller.note) == ("Use", "may reach: calls Opener.Open")
    assert [(one.qualified_name, one.note) for one in index.callees("shop.Use")[:1]] == [("Opener.Open", "")]


def test_java_constructors_and_overloads_are_one_symbol_with_what_bears_their_name(opened):
    index = opened(JAVA)
    assert index.symbol_keys("Cart") == ["src/main/java/org/shop/Cart.java#Cart"]
    assert index.symbol_keys("Cart.add") == ["src/main/java/org/shop/Cart.java#Cart.add"]
    assert index.symbol_keys("org.shop.Cart.add") == ["src/main/java/org/shop/Cart.java#Cart.add"]
    assert [(one.qualified_name, one.confidence) for one in index.callers("Cart.add")] == [("Till.sell", 0.7)]
    assert names(index.callers("Cart")) == ["Till.sell"]
    assert names(index.tests("Ledger.note")) == ["TillTest.sells"]


def test_what_a_c_header_declares_is_one_symbol_with_its_definition(own):
    index = own(
        {
            "src/area.h": "int area(int x);\n",
            "src/area.c": '#include "area.h"\n\nint area(int x) { return x * x; }\n',
            "main.c": '#include "src/area.h"\n\nint main(void) { return area(2); }\n',
        }
    )
    assert index.symbol_keys("area") == ["src/area.c#area"]
    assert names(index.callers("area")) == ["main"]


# Changes.
def test_after_an_edit_callers_of_other_files_stay_and_those_that_went_are_gone(own, tmp_path):
    index = own(
        {
            "lib.py": "def work():\n    return 1\n",
            "one.py": "from lib import work\n\n\ndef first():\n    return work()\n",
            "two.py": "from lib import work\n\n\ndef second():\n    return work()\n",
        }
    )
    assert names(index.callers("work")) == ["first", "second"]
    write(tmp_path / "tree", {"lib.py": "# moved down\n\n\ndef work():\n    return 2\n"})
    index.refresh()
    assert [(one.qualified_name, one.path, one.line) for one in index.callers("work")] == [("first", "one.py", 5), ("second", "two.py", 5)]
    write(tmp_path / "tree", {"two.py": "def second():\n    return 2\n"})
    index.refresh()
    assert names(index.callers("work")) == ["first"]
    (tmp_path / "tree/lib.py").unlink()
    index.refresh()
    with pytest.raises(UsageError, match=r"'work' is called in 1 place, not defined"):
        index.callers("work")


def test_the_hash_of_a_package_changes_with_its_code_only(own, tmp_path):
    tree = tmp_path / "tree"
    index = own(
        {"a/one.py": "def one():\n    return 1\n", "a/two.py": "def two():\n    return 2\n", "b/three.py": "def three():\n    return 3\n"}
    )

    def root(key: str) -> str:
        index.refresh()
        return index.package_hash(key)

    before, elsewhere = root("a/one.py#one"), root("b/three.py#three")
    assert before == root("a/two.py#two") != elsewhere
    write(tree, {"a/README.md": "# Words\n", "b/three.py": "def three():\n    return 4\n"})
    assert root("a/one.py#one") == before
    assert root("b/three.py#three") != elsewhere
    write(tree, {"a/two.py": "def two():\n    return 5\n"})
    assert root("a/one.py#one") != before
    assert root("a/README.md#Words") not in ("", root("a/one.py#one"))
    assert root("a/one.py#gone") == root("c/none.py#one") == ""


# Sizes.
def test_a_file_that_defines_one_name_ten_thousand_times_is_answered_at_once(own):
    many = (f"def same():\n    return other({n * 7919 % 10_007})\n\n\n" for n in range(10_000))
    index = own({"many.py": "".join(many) + "def other():\n    return 1\n"})
    assert index.open_graph().nodes > 10_000
    for answer, expected in (
        (lambda: index.symbol_keys("same"), ["many.py#same"]),
        (lambda: sorted({one.key for one in index.callers("other")}), ["many.py#same"]),
        (lambda: names(index.callees("same")), ["other"]),
        (lambda: index.callers("same"), []),
    ):
        began = time.process_time()
        assert answer() == expected
        assert time.process_time() - began < 3


def test_half_a_million_edges_are_answered_within_a_second(own):
    files = {f"part{number}.py": "".join(f"def work{number}_{one}():\n    return {one}\n" for one in range(100)) for number in range(40)}
    index = own(files)
    symbols, count = index.snapshot.symbols, 500_000
    draw = np.random.default_rng(7)
    units = np.flatnonzero(symbols.defines)
    source, target = draw.choice(units, count), draw.choice(units, count)
    edges = EdgeColumns(source, target, np.zeros(count, np.int64), np.full(count, 0.7, np.float32), np.ones(count, np.int64))
    questions = Questions(Graph({**graph_arrays(symbols, edges, [], ()), "outcomes": np.empty(0, np.uint8)}, symbols))
    one, other = questions.resolve_one("work0_1"), questions.resolve_one("work39_99")
    began = time.process_time()
    direct = questions.callers(one)
    assert len(direct.rows.node) == len(set(source[(target == one.nodes[0]) & (source != one.nodes[0])].tolist()))
    assert len(questions.impact(one).neighbours(50)) == 50
    assert len(questions.impact(one).rows.node) == len(units) - 1
    assert 1 <= len(questions.path([one], [other])) <= 3
    assert time.process_time() - began < 3


def test_a_wrong_name_among_half_a_million_is_answered_soon(own):
    index = own({"a.py": "def reticulate_splines():\n    return 1\n"})
    lookup = index.questions().names
    lookup.__dict__["_all_names"] = {f"spline_{number:x}_reticulated" for number in range(500_000)} | {"reticulate_splines"}
    began = time.process_time()
    assert lookup.similar("reticulate_spline") == ["reticulate_splines"]
    assert time.process_time() - began < 2


def test_super_means_the_parent(own):
    index = own(
        {"a.py": "class A:\n    def save(self):\n        return 1\n\n\nclass B(A):\n    def save(self):\n        return super().save()\n"}
    )
    assert names(index.callers("A.save")) == ["B.save"]
    assert index.callers("B.save") == []


def test_a_mere_name_in_a_python_method_is_not_a_method(own):
    index = own(
        {
            "a.py": "from requests import get\n\n\ndef put(x):\n    return x\n\n\nclass Cart:\n    def get(self):\n        return 1\n\n    def put(self):\n        return 2\n\n    def load(self):\n        return put(get(3))\n"
        }
    )
    assert [one.key for one in index.callees("Cart.load")] == ["a.py#put"]


# What tests reach, and how.
def _tests_of(index: Index, name: str) -> list[str]:
    questions = index.questions()
    return [one.qualified_name for one in questions.tests(questions.resolve_one(name)).neighbours()]


def test_tests_reach_through_fixtures_named_by_their_parameters(own):
    """The nearest fixture of a name, also through another fixture; one of a sibling folder is out of sight."""
    fixture = "import pytest\n\nfrom shop import {made}\n\n\n@pytest.fixture{scope}\ndef {name}({asks}):\n    return {made}()\n"
    index = own(
        {
            "shop.py": "def make():\n    return 1\n\n\ndef fill():\n    return 2\n",
            "tests/conftest.py": fixture.format(made="make", scope='(scope="module")', name="cart", asks=""),
            "tests/a/conftest.py": fixture.format(made="fill", scope="", name="trolley", asks="cart"),
            "tests/a/test_pay.py": "def test_pay(trolley):\n    assert trolley\n\n\ndef test_cart(cart: int = 1) -> None:\n    assert cart\n",
            "tests/b/test_other.py": "def test_other(trolley):\n    assert trolley\n",
        }
    )
    assert sorted(_tests_of(index, "fill")) == ["test_pay", "trolley"]
    assert sorted(_tests_of(index, "make")) == ["cart", "test_cart", "test_pay", "trolley"]


def test_tests_reach_a_handler_through_its_route(own):
    """A request in a test depends on the function that answers it."""
    index = own(
        {
            "app.py": "from flask import Flask\n\napp = Flask(__name__)\n\n\ndef total():\n    return 1\n\n\n"
            '@app.get("/carts")\ndef carts():\n    return total()\n',
            "tests/load.test.ts": "test('carts', async () => {\n  await load();\n});\n\n"
            "async function load() {\n  return fetch('/carts');\n}\n",
        }
    )
    questions = index.questions()
    assert "load" in [one.qualified_name for one in questions.tests(questions.resolve_one("total")).neighbours()]
    assert "load" in [one.qualified_name for one in questions.impact(questions.resolve_one("total")).neighbours()]


def test_without_a_call_the_tests_that_use_a_symbol_otherwise_are_given(own):
    """As those do that hand it on."""
    handing = "from shop import fill\n\n\ndef test_each():\n    assert list(map(fill, [1]))\n"
    index = own({"shop.py": "def fill(one):\n    return one\n", "tests/test_shop.py": handing})
    assert _tests_of(index, "fill") == ["test_each"]


def test_where_no_test_is_known_the_answer_says_why(own):
    """Never empty without a reason."""
    index = own({"a.py": "def one():\n    return two()\n\n\ndef two():\n    return 2\n", "tests/test_b.py": "def test_b():\n    pass\n"})
    questions = index.questions()
    assert questions.tests(questions.resolve_one("one")).reason == "nothing is known to use it"
    reason = "it has 1 direct and indirect user within 4 steps, and none is in a test"
    assert questions.tests(questions.resolve_one("two")).reason == reason


def test_a_path_never_climbs_through_a_container(own):
    """That two functions are members of one class joins them by no call; a type stands for its members at the start only."""
    index = own(
        {
            "a.py": "class Cart:\n    def one(self):\n        return 1\n\n    def two(self):\n        return three()\n\n\ndef three():\n    return 3\n"
        }
    )
    questions = index.questions()
    symbol = questions.resolve_one
    assert questions.path([symbol("Cart.one")], [symbol("three")]) is None
    assert [step.source for step in questions.path([symbol("Cart")], [symbol("three")]) or ()] == ["Cart.two"]
    assert questions.path([symbol("Cart")], [symbol("Cart.one")]) == []


LOCAL = {
    "lib.py": """from mail import send


def audited(action):
    def wrapper(*args):
        send("x")
        return action(*args)
    def again():
        wrapper()
    return wrapper


@audited
def pay(): pass


class Cart:
    def total(self):
        def one(item):
            one(item)
            return self.cost(item)
        register(one)
        return Local().run()

    def cost(self, item): pass


def register(callback):
    callback()


def other(handler):
    handler()
    register(handler)


def apart():
    def handler(): pass
""",
    "mail.py": "def send(text): pass\n\n\ndef one(): pass\n\n\ndef action(): pass\n",
    "tests/test_lib.py": "from lib import pay\n\n\ndef test_pay():\n    pay()\n",
    "ui.ts": "export function outer() {\n  const inner = () => helper();\n  return inner() + inner();\n}\nfunction helper() { return 1 }\n",
}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Questions]:
    root = tmp_path_factory.mktemp("local")
    write(root / "tree", LOCAL)
    with Index.open(root / "tree", data_dir=root / "data") as index:
        yield index.questions()


def test_what_a_function_defines_for_itself_is_called_by_name_inside_it_only(local: Questions) -> None:
    def callers(name: str) -> list[str]:
        return [one.qualified_name for one in local.callers(local.resolve_one(name)).neighbours()]

    assert callers("audited.wrapper") == ["audited.again"]
    assert callers("mail.py#send") == ["audited.wrapper"]
    assert callers("Cart.total.one") == []  # only handed on: a reference, and a call of its own
    assert callers("Cart.cost") == ["Cart.total.one"]
    assert callers("mail.py#one") == callers("mail.py#action") == []
    assert callers("apart.handler") == []
    assert callers("helper") == ["outer.inner"]
    assert callers("outer.inner") == ["outer"]


def test_what_is_called_inside_a_function_in_a_function_is_reached_through_both(local: Questions) -> None:
    tests = local.tests(local.resolve_one("mail.py#send")).neighbours()
    assert [(one.qualified_name, one.through) for one in tests] == [("test_pay", "pay")]
    affected = {one.qualified_name for one in local.impact(local.resolve_one("mail.py#send")).neighbours()}
    assert affected >= {"audited.wrapper", "audited", "pay"}
    assert "send" in {one.qualified_name for one in local.callees(local.resolve_one("audited")).neighbours()}
    steps = local.path([local.resolve_one("pay")], [local.resolve_one("mail.py#send")])
    assert steps is not None
    assert [one.target for one in steps] == ["audited", "audited.wrapper", "send"]


def test_a_name_means_what_can_be_called_by_it_before_what_is_local(local: Questions) -> None:
    assert [one.key for one in local.resolve("one")] == ["mail.py#one"]
    assert [one.key for one in local.resolve("handler")] == ["lib.py#apart.handler"]
