"""What a segment keeps for the graph: scopes, mentions with their lines, imports, parts of names and leading comments."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.core.types import EDGE_KINDS
from whence.index.merge import MergeInput, merge_relations
from whence.index.segment import OF_RECEIVER, lead_hash
from whence.index.segment_writer import RelationRows, lead_hashes
from whence.parse.units import parse
from whence.storage.arrayfile import ArrayFile, unpack_strings, write_arrays

PYTHON = '''\
import os
from b import settle


class Cart:
    """Holds what will be bought."""

    def add_item(self, item):
        self.check(item)
        return settle(item)
'''
RUST = "struct S {}\n\nimpl Store for S {\n    fn keep(&self) { self.go(); }\n}\n"
RUBY = "module Shop\n  class Cart < Base\n    def add(x)\n      check(x)\n    end\n  end\nend\n"
TEXTS = {"python": PYTHON, "rust": RUST, "ruby": RUBY, "go": "package a\n\nfunc a() { b() }\n", "text": "nothing of the kind\n"}


def kept(place: Path, *texts: tuple[str, str]) -> ArrayFile:
    """Files of (language, text) as a segment would keep their relations."""
    rows, sizes = RelationRows(), []
    for language, text in texts:
        parsed = parse(text.encode(), language)
        rows.add(text.encode(), parsed.units, parsed)
        sizes.append(len(parsed.units))
    arrays = rows.arrays() | {"sizes": np.array(sizes, np.int64)}
    write_arrays(place, arrays, {})
    return ArrayFile(place)


def said(arrays: ArrayFile) -> list[tuple[int, str, str, str, int, bool]]:
    """(unit, kind, name, receiver, line, whether the receiver is the type that speaks) of every mention."""
    names = unpack_strings(arrays, "names").all()
    columns = (arrays[f"relations.{name}"].tolist() for name in ("unit", "kind", "name", "receiver", "line"))
    return [
        (unit, EDGE_KINDS[kind & ~OF_RECEIVER], names[name], names[receiver], line, bool(kind & OF_RECEIVER))
        for unit, kind, name, receiver, line in zip(*columns, strict=True)
    ]


def imports(arrays: ArrayFile) -> list[list[str]]:
    """The import statements of every file."""
    texts, rows = unpack_strings(arrays, "imports").all(), arrays["files.import_rows"].tolist()
    ends = [0, *arrays["files.import_ends"].tolist()]
    return [[texts[row] for row in rows[start:end]] for start, end in pairwise(ends)]


def of_units(arrays: ArrayFile) -> list[tuple[str, list[str], list[int]]]:
    """(scope, parts of the name, terms of the leading comment) of every unit."""
    names, parts = unpack_strings(arrays, "names").all(), unpack_strings(arrays, "name_parts").all()
    scopes = [names[row] for row in arrays["units.scope"].tolist()]
    part_ends, lead_ends = ([0, *arrays[name].tolist()] for name in ("units.part_ends", "units.lead_ends"))
    return [
        (
            scope,
            [parts[row] for row in arrays["units.parts"][part_ends[n] : part_ends[n + 1]].tolist()],
            arrays["leads.term"][lead_ends[n] : lead_ends[n + 1]].tolist(),
        )
        for n, scope in enumerate(scopes)
    ]


def test_mentions_are_kept_with_their_lines_and_what_stands_before_them(tmp_path: Path) -> None:
    arrays = kept(tmp_path / "one", ("python", PYTHON))
    calls = [(name, receiver, line) for _, kind, name, receiver, line, _ in said(arrays) if kind == "calls"]
    assert calls == [("check", "self", 9), ("settle", "", 10)]
    assert imports(arrays) == [["import os", "from b import settle"]]


def test_a_type_that_speaks_from_elsewhere_is_marked(tmp_path: Path) -> None:
    arrays = kept(tmp_path / "one", ("rust", RUST))
    assert [row[1:] for row in said(arrays) if row[5]] == [("implements", "Store", "S", 3, True)]


def test_units_are_kept_with_their_scope_the_parts_of_their_names_and_their_comments(tmp_path: Path) -> None:
    found = {(scope, *parts): leads for scope, parts, leads in of_units(kept(tmp_path / "one", ("python", PYTHON)))}
    assert {"Cart"} == {scope for scope, *_ in found if scope}
    assert ("Cart", "add", "item") in found
    assert found["", "cart"] == lead_hashes("Holds what will be bought.")


def test_equal_names_of_many_files_are_kept_once(tmp_path: Path) -> None:
    arrays = kept(tmp_path / "many", *[("python", PYTHON)] * 20)
    names = unpack_strings(arrays, "names").all()
    assert len(names) == len(set(names))
    assert unpack_strings(arrays, "imports").all() == ["import os", "from b import settle"]


GLOBAL, LOCAL = ("settle", ""), ("settle", "?settle")  # name and receiver


@pytest.mark.parametrize(
    ("language", "parameters", "called"),
    [
        ("python", "settle", LOCAL),
        ("python", "settle=None", ("None", "")),
        ("python", "*settle", LOCAL),
        ("python", "settle: Callable[[int], int] = other", ("other", "")),
        ("python", "other=settle", GLOBAL),
        ("python", "unsettle", GLOBAL),
        ("go", "settle func(int)", LOCAL),
        ("typescript", "settle: () => void", LOCAL),
        ("rust", "mut settle: fn()", LOCAL),
        ("c", "callback_t settle", LOCAL),
        ("c", "settle other", GLOBAL),
        ("java", "Runnable settle", GLOBAL),
    ],
)
def test_a_call_of_a_parameter_is_of_its_default_or_marked_as_local(
    language: str, parameters: str, called: tuple[str, str], tmp_path: Path
) -> None:
    around = {
        "python": "def go({}):\n    settle(1)\n",
        "go": "package a\n\nfunc goes({}) {{ settle(1) }}\n",
        "typescript": "function go({}) {{ settle(1) }}\n",
        "rust": "fn go({}) {{ settle(1); }}\n",
        "c": "void go({}) {{ settle(1); }}\n",
        "java": "class A {{ void go({}) {{ settle(1); }} }}\n",
    }[language]
    arrays = kept(tmp_path / "one", (language, around.format(parameters)))
    calls = [(name, receiver) for _, kind, name, receiver, *_ in said(arrays) if kind == "calls"]
    assert calls == [called]


def test_a_parameter_hides_no_member(tmp_path: Path) -> None:
    arrays = kept(tmp_path / "one", ("python", "class A:\n    def go(self, settle):\n        self.settle()\n"))
    assert [(name, receiver) for _, kind, name, receiver, *_ in said(arrays) if kind == "calls"] == [("settle", "self")]


files = st.lists(st.sampled_from(sorted(TEXTS)), min_size=1, max_size=4)


@given(st.lists(st.tuples(files, st.integers(0, 15)), min_size=1, max_size=3))
def test_segments_merged_keep_what_the_kept_files_said(
    tmp_path_factory: pytest.TempPathFactory, segments: list[tuple[list[str], int]]
) -> None:
    """Each segment is a list of files and, as bits, which of them stay."""
    place = tmp_path_factory.mktemp("merged")
    if not any(bits >> n & 1 for languages, bits in segments for n in range(len(languages))):
        return
    parts, stay, row = [], [], 0
    for number, (languages, bits) in enumerate(segments):
        arrays = kept(place / f"part-{number}", *[(language, TEXTS[language]) for language in languages])
        keep = np.array([bool(bits >> n & 1) for n in range(len(languages))])
        units = np.repeat(keep, arrays["sizes"])
        parts.append(MergeInput(arrays, keep, keep, np.where(units, np.cumsum(units) - 1 + row, -1), keep))
        row += int(units.sum())
        stay += [language for language, kept_ in zip(languages, keep.tolist(), strict=True) if kept_]
    write_arrays(place / "merged", merge_relations(parts), {})
    merged, expected = ArrayFile(place / "merged"), kept(place / "expected", *[(language, TEXTS[language]) for language in stay])
    assert said(merged) == said(expected)
    assert imports(merged) == imports(expected)
    assert of_units(merged) == of_units(expected)


def test_a_leading_comment_is_kept_as_small_hashes_of_its_terms_each_once() -> None:
    assert lead_hashes("") == []
    assert lead_hashes("carts and carts") == [lead_hash("cart"), lead_hash("and")]
    assert all(0 <= one < 1 << 16 for one in lead_hashes("every term of a comment, however long it may be"))
