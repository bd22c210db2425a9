"""Edges that follow from others: containment, inheritance, interfaces that are met, tests and what they test (W2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph.graph_edges import edges_of, opened, told
from whence.graph.builder.build import MAX_INHERITED, MAX_TESTED_TOGETHER


def test_a_type_contains_its_members_and_they_are_of_it(tmp_path: Path) -> None:
    with opened(
        tmp_path / "tree", {"a.py": "class A:\n    size = 1\n\n    def go(self): pass\n\n    class Inner:\n        def turn(self): pass\n"}
    ) as index:
        assert told(index.open_graph(), "contains") == [
            "a.py#A contains a.py#A.Inner 1.00",
            "a.py#A contains a.py#A.go 1.00",
            "a.py#A contains a.py#A.size 1.00",
            "a.py#A.Inner contains a.py#A.Inner.turn 1.00",
        ]
        back = {(target, source) for source, _, target, _ in edges_of(index.open_graph(), ["member_of"])}
        assert back == {(source, target) for source, _, target, _ in edges_of(index.open_graph(), ["contains"])}


FAMILY = """\
--- root.py
class Root:
    def name(self): pass
    def size(self): pass
--- middle.py
from root import Root

class Middle(Root):
    def size(self): pass
    def turn(self): pass
--- leaf.py
from middle import Middle

class Leaf(Middle):
    def turn(self): pass
"""


def test_a_child_inherits_what_its_parents_have_and_overrides_what_it_has_too(tmp_path: Path) -> None:
    with opened(tmp_path / "tree", FAMILY) as index:
        assert told(index.open_graph(), "extends", "inherits", "overrides") == [
            "leaf.py#Leaf extends middle.py#Middle",
            "leaf.py#Leaf inherits middle.py#Middle.size",
            "leaf.py#Leaf inherits root.py#Root.name",
            "leaf.py#Leaf inherits root.py#Root.size",
            "leaf.py#Leaf.turn overrides middle.py#Middle.turn",
            "middle.py#Middle extends root.py#Root",
            "middle.py#Middle inherits root.py#Root.name",
            "middle.py#Middle.size overrides root.py#Root.size",
        ]


def test_of_a_parent_with_very_many_methods_none_is_inherited_one_by_one(tmp_path: Path) -> None:
    methods = "".join(f"    def m{n}(self): pass\n" for n in range(MAX_INHERITED + 1))
    files = {
        "a.py": f"class A:\n{methods}\n\nclass B(A):\n    def m3(self): pass\n\n\nclass C: \n    def one(self): pass\n\n\nclass D(C): pass\n"
    }
    with opened(tmp_path / "tree", files) as index:
        assert told(index.open_graph(), "inherits", "overrides") == ["a.py#B.m3 overrides a.py#A.m3", "a.py#D inherits a.py#C.one"]


GO = """\
--- go.mod
module example.com/own
--- store/store.go
package store

type Store interface {
	Save(item string) error
	Fetch() string
}

type Named interface {
	Title() string
}

type Wide interface {
	Save(item string) error
	Fetch() string
	Drop()
}
--- disk/disk.go
package disk

type Disk struct{}

func (d *Disk) Save(item string) error { return nil }

func (d Disk) Fetch() string { return "" }

func (d *Disk) Title() string { return "" }

type Half struct{}

func (h Half) Save(item string) error { return nil }
--- disk/free.go
package disk

func Save(item string) error { return nil }

func Fetch() string { return "" }
--- other/disk.py
class Disk:
    def Save(self, item): pass

    def Fetch(self): pass
"""


def test_a_type_of_go_implements_the_interfaces_whose_every_method_it_has(tmp_path: Path) -> None:
    with opened(tmp_path / "tree", GO) as index:
        assert told(index.open_graph(), "implements", "overrides") == [
            "disk.go#Disk implements store.go#Store",
            "disk.go#Disk.Fetch overrides store.go#Store.Fetch",
            "disk.go#Disk.Save overrides store.go#Store.Save",
        ]


def test_an_interface_of_one_method_is_met_by_chance_and_says_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "tree", GO) as index:
        assert not [line for line in told(index.open_graph(), "implements") if "Named" in line]


# Tests and what they test.

TESTED = """\
--- lib/cart.py
def add(item):
    return check(item)


def check(item):
    return item


def drop(item):
    return item
--- tests/test_cart.py
from lib.cart import add, drop


def arranged():
    return add(1)


def test_add_and_drop():
    add(1)
    drop(arranged())
    print(add(2))
"""


def test_a_test_tests_what_it_calls_outside_of_tests(tmp_path: Path) -> None:
    with opened(tmp_path / "tree", TESTED) as index:
        assert told(index.open_graph(), "tests") == [
            "test_cart.py#arranged tests cart.py#add",
            "test_cart.py#test_add_and_drop tests cart.py#add",
            "test_cart.py#test_add_and_drop tests cart.py#drop",
        ]
        back = {(target, source) for source, _, target, _ in edges_of(index.open_graph(), ["tested_by"])}
        assert back == {(source, target) for source, _, target, _ in edges_of(index.open_graph(), ["tests"])}


def test_what_one_test_calls_is_tested_together(tmp_path: Path) -> None:
    with opened(tmp_path / "tree", TESTED) as index:
        assert told(index.open_graph(), "co_tested_with") == [
            "cart.py#add co_tested_with cart.py#drop",
            "cart.py#drop co_tested_with cart.py#add",
        ]


@pytest.mark.parametrize("count", [MAX_TESTED_TOGETHER, MAX_TESTED_TOGETHER + 1])
def test_a_test_of_many_things_says_nothing_of_any_two(count: int, tmp_path: Path) -> None:
    functions = "".join(f"def act_{n}(): pass\n" for n in range(count))
    called = "".join(f"    act_{n}()\n    keep(act_{n}())\n" for n in range(count))
    files = {"lib/a.py": functions, "tests/test_a.py": f"from lib.a import *\n\n\ndef test_all():\n{called}"}
    with opened(tmp_path / "tree", files) as index:
        assert len(told(index.open_graph(), "tests")) == count
        assert len(told(index.open_graph(), "co_tested_with")) == (count * (count - 1) if count <= MAX_TESTED_TOGETHER else 0)


def test_a_call_that_is_unsure_makes_a_test_that_is_as_unsure_and_nothing_tested_together(tmp_path: Path) -> None:
    files = {
        "lib/a.py": "class A:\n    def settle(self): pass\n\n\nclass B:\n    def settle(self): pass\n",
        "tests/test_a.py": "def test_it(thing):\n    thing.settle()\n",
    }
    with opened(tmp_path / "tree", files) as index:
        assert told(index.open_graph(), "tests", "co_tested_with") == [
            "test_a.py#test_it tests a.py#A.settle 0.21",
            "test_a.py#test_it tests a.py#B.settle 0.21",
        ]


def test_each_relation_is_there_once_and_the_surest_of_several_is_kept(tmp_path: Path) -> None:
    files = {
        "a.py": "from b import B\n\n\ndef go(thing, b: B):\n    thing.settle()\n    b.settle()\n    b.settle()\n",
        "b.py": "class B:\n    def settle(self): pass\n",
    }
    with opened(tmp_path / "tree", files) as index:
        assert told(index.open_graph(), "calls") == ["a.py#go calls b.py#B.settle"]
        rows = list(
            zip(index.open_graph().source.tolist(), index.open_graph().kind.tolist(), index.open_graph().target.tolist(), strict=True)
        )
        assert len(rows) == len(set(rows))


# What has no place in the source.


def test_routes_variables_of_the_environment_and_programs_are_nodes_of_their_own(tmp_path: Path) -> None:
    files = {
        "app.py": 'import os\nimport subprocess\nfrom flask import Flask\n\napp = Flask(__name__)\n\n\n@app.get("/carts")\ndef carts():\n    return os.environ["CURRENCY"]\n\n\ndef build():\n    subprocess.run(["git", "status"])\n    return os.getenv("CURRENCY")\n',
        "view.ts": "export async function view() { return fetch('/carts') }\n",
    }
    with opened(tmp_path / "tree", files) as index:
        assert told(index.open_graph(), "handles_route", "consumes_endpoint", "reads_env", "executes_process") == [
            "app.py#build executes_process process:git",
            "app.py#build reads_env env:CURRENCY",
            "app.py#carts handles_route route:GET /carts",
            "app.py#carts reads_env env:CURRENCY",
            "view.ts#view consumes_endpoint route:GET /carts",
        ]
        assert index.open_graph().nodes == index.snapshot.units + 3
        assert index.open_graph().endpoints == ["env:CURRENCY", "process:git", "route:GET /carts"]
