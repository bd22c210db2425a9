"""Units as symbols: what encloses them, what they are called, how they are found by name and place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graph.graph_edges import opened
from whence.index.symbols import NameTable, SymbolTable, possible_paths


def owners(symbols: SymbolTable) -> dict[str, str]:
    """What each member is a member of."""
    return {symbols.key(unit): symbols.key(int(symbols.owner[unit])) for unit in np.flatnonzero(symbols.owner >= 0).tolist()}


def test_members_belong_to_the_innermost_type_around_them(tmp_path: Path) -> None:
    with opened(
        tmp_path / "tree", {"a.py": "class A:\n    def go(self): pass\n\n    class B:\n        def go(self): pass\n\n\ndef go(): pass\n"}
    ) as index:
        assert owners(index.snapshot.symbols) == {"a.py#A.go": "a.py#A", "a.py#A.B": "a.py#A", "a.py#A.B.go": "a.py#A.B"}


def test_a_method_defined_apart_from_its_type_belongs_to_it_in_the_folder_or_the_language(tmp_path: Path) -> None:
    files = {
        "p/type.go": "package p\n\ntype Cart struct{}\n",
        "p/methods.go": "package p\n\nfunc (c *Cart) Add() {}\n",
        "q/type.go": "package q\n\ntype Cart struct{}\n",
        "include/price.hpp": "class Price {\n public:\n  int plus(int a);\n};\n",
        "src/price.cpp": '#include "price.hpp"\nint Price::plus(int a) { return a; }\n',
    }
    with opened(tmp_path / "tree", files) as index:
        found = owners(index.snapshot.symbols)
        assert found["p/methods.go#Cart.Add"] == "p/type.go#Cart"
        assert found["src/price.cpp#Price.plus"] == "include/price.hpp#Price"


def test_a_method_whose_type_could_be_several_elsewhere_belongs_to_none(tmp_path: Path) -> None:
    files = {f"{folder}/type.hpp": "class Price {\n  int plus(int a);\n};\n" for folder in ("one", "two")} | {
        "src/price.cpp": "int Price::minus(int a) { return a; }\n"
    }
    with opened(tmp_path / "tree", files) as index:
        assert "src/price.cpp#Price.minus" not in owners(index.snapshot.symbols)


def test_what_a_function_defines_for_itself_is_local_to_it_and_has_the_self_of_its_method(tmp_path: Path) -> None:
    code = """
class Cart:
    def total(self):
        def one(item):
            def deep(): pass
            return self.cost(item)
        class Box:
            def open(self): pass


def total():
    def one(): pass
"""
    with opened(tmp_path / "tree", {"a.py": code, "b.py": "class total:\n    def two(self): pass\n"}) as index:
        symbols = index.snapshot.symbols
        name = {unit: symbols.qualified_name(unit) for unit in np.flatnonzero(symbols.defines).tolist()}
        functions = {name[unit]: name[int(symbols.function[unit])] for unit in name if symbols.function[unit] >= 0}
        assert functions == {
            "Cart.total.one": "Cart.total",
            "Cart.total.one.deep": "Cart.total.one",
            "Cart.total.Box": "Cart.total",
            "Cart.total.Box.open": "Cart.total",
            "total.one": "total",
        }
        assert {name[unit] for unit in name if symbols.is_local[unit]} == functions.keys() - {"Cart.total.Box.open"}
        own = {name[unit]: name.get(int(symbols.own_type[unit])) for unit in name if name[unit] in functions}
        assert own == {
            "Cart.total.one": "Cart",
            "Cart.total.one.deep": "Cart",
            "Cart.total.Box": "Cart.total.Box",
            "Cart.total.Box.open": "Cart.total.Box",
            "total.one": None,
        }


def test_names_are_written_as_their_language_writes_them(tmp_path: Path) -> None:
    files = {
        "a.rb": "module Shop\n  class Cart\n    def add(x)\n      x\n    end\n  end\nend\n",
        "a.py": "class Shop:\n    class Cart:\n        def add(self): pass\n",
    }
    with opened(tmp_path / "tree", files) as index:
        symbols = index.snapshot.symbols
        written = {symbols.written_name(unit) for unit in np.flatnonzero(symbols.defines).tolist()}
        assert written == {"Shop", "Shop::Cart", "Shop::Cart.add", "Shop.Cart", "Shop.Cart.add"}


def test_a_key_leads_to_its_definitions_and_no_others(tmp_path: Path) -> None:
    files = {
        "a.py": "def go(): pass\n\n\ndef go(x): pass\n\n\nclass A:\n    def go(self): pass\n",
        "b.py": "def go(): pass\n",
        "we#ird/a#b.py": "def go(): pass\n",
    }
    with opened(tmp_path / "tree", files) as index:
        symbols = index.snapshot.symbols
        assert [symbols.key(unit) for unit in symbols.find("a.py#go")] == ["a.py#go", "a.py#go"]
        assert len(symbols.find("a.py#A.go")) == 1
        assert len(symbols.find("we#ird/a#b.py#go")) == 1
        assert symbols.find("a.py#gone") == symbols.find("gone.py#go") == symbols.find("a.py") == symbols.find("") == []


def test_every_definition_is_found_by_its_own_key(tmp_path: Path) -> None:
    files = {
        "a.js": "class A { #kept() {}\n  open() {} }\nfunction f() {}\n",
        "b.md": "# C# and #tags\n\ntext\n",
        "c.rs": "struct S {}\nimpl S { fn new() {} }\n",
    }
    with opened(tmp_path / "tree", files) as index:
        symbols = index.snapshot.symbols
        for unit in np.flatnonzero(symbols.defines).tolist():
            assert unit in symbols.find(symbols.key(unit))


def test_files_that_are_gone_define_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "tree", {"a.py": "class A:\n    def go(self): pass\n", "b.py": "def stay(): pass\n" * 30}) as index:
        (tmp_path / "tree/a.py").unlink()
        index.refresh()
        symbols = index.snapshot.symbols
        assert owners(symbols) == {}
        assert symbols.find("a.py#A") == []
        assert {symbols.key(unit) for unit in np.flatnonzero(symbols.defines).tolist()} == {"b.py#stay"}


def test_languages_that_call_one_another_are_a_family_and_others_are_not(tmp_path: Path) -> None:
    with opened(
        tmp_path / "tree", dict.fromkeys(["a.ts", "a.js", "a.tsx", "a.c", "a.cpp", "A.java", "A.kt", "a.py", "a.rb"], "x\n")
    ) as index:
        family = dict(zip(index.snapshot.paths, index.snapshot.symbols.family.tolist(), strict=True))
        assert family["a.ts"] == family["a.js"] == family["a.tsx"]
        assert family["a.c"] == family["a.cpp"]
        assert family["A.java"] == family["A.kt"]
        assert len(set(family.values())) == 5


def test_a_path_may_hold_the_mark_that_ends_it() -> None:
    assert possible_paths("a.py#go") == ["a.py"]
    assert possible_paths("c#/a.js#A.#kept") == ["c", "c#/a.js", "c#/a.js#A."]
    assert possible_paths("a.py") == []


pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 99)), max_size=30)
wanted = st.lists(st.integers(0, 8), max_size=8)


@given(pairs, wanted, st.integers(0, 4))
def test_a_table_gives_the_rows_of_each_key_in_the_order_they_came(rows: list[tuple[int, int]], keys: list[int], most: int) -> None:
    table = NameTable(np.array([key for key, _ in rows], np.int64), np.array([row for _, row in rows], np.int64))
    under = [[row for key, row in rows if key == one] for one in keys]

    def given_by(found: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
        assert found[0].tolist() == sorted(found[0].tolist())
        return [found[1][found[0] == place].tolist() for place in range(len(keys))]

    asked = np.array(keys, np.int64)
    assert given_by(table.pairs(asked)) == under
    assert given_by(table.pairs_up_to(asked, most)) == [found if len(found) <= most else [] for found in under]
    assert given_by(table.first_pairs(asked, most)) == [found[:most] for found in under]
