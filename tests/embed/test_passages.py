"""Files cut into passages: nothing is lost, small neighbours share one, long units are cut."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples, some
from whence.core.types import CONFIG, ParsedFile
from whence.embed.passages import MAX_BYTES, MAX_CONFIG_PASSAGES, TARGET_BYTES, Passage, cut_passages
from whence.parse.languages import BY_NAME, UNKNOWN, language_of
from whence.parse.units import own_spans, parse
from whence.parse.values import functions_around

SAMPLES = sorted(Path(__file__).parents[1].glob("parse/fixtures/*/sample.*"))
SOURCES = sorted((Path(__file__).parents[2] / "src/whence/index").glob("*.py"))


def parsed(path: str, source: bytes) -> ParsedFile:
    return parse(source, language_of(path, source[:4096]).name)


def cut(path: str, source: bytes) -> list[Passage]:
    return cut_passages(path, source, parsed(path, source))


def own_texts(source: bytes, found: ParsedFile) -> list[bytes]:
    """What each unit holds that is not nested in it; what a function defines for itself is of the function."""
    texts, around = [b""] * len(found.units), functions_around(found.units)
    for start, end, row in own_spans(found.units):
        outer = row
        while around[outer] >= 0:
            outer = around[outer]
        texts[outer] += source[start:end]
    return texts


def said(text: bytes) -> bytes:
    """A text without its line ends, which a cut may add or move."""
    return text.replace(b"\n", b"")


def check(path: str, source: bytes) -> list[Passage]:
    """Everything that holds for the passages of any file."""
    found = parsed(path, source)
    cuts = cut_passages(path, source, found)
    values = BY_NAME.get(found.language, UNKNOWN).content == CONFIG
    texts = own_texts(source, found)
    assert cuts
    assert cuts[0].first == 0
    assert all(one.text.path == path and one.first <= one.last and len(one.text.body) <= MAX_BYTES for one in cuts)
    for before, after in pairwise(cuts):
        assert before.first <= after.first <= before.last + 1
        if after.first > before.last:  # neighbours that were not joined would have been too large together
            assert len(before.text.body) + len(texts[after.first]) > TARGET_BYTES
    if found.units:
        assert len(cuts) <= MAX_CONFIG_PASSAGES if values else cuts[-1].last == len(found.units) - 1
        around = functions_around(found.units)
        joined, every = said(b"".join(one.text.body for one in cuts)), said(b"".join(texts))
        assert every.startswith(joined) if values else every == joined
        for one in cuts:
            rows = [row for row in range(one.first, one.last + 1) if around[row] < 0]
            held = {name for row in rows for name in (*found.units[row].parents, found.units[row].name) if name}
            assert held <= set(one.text.names.split()) | {name for name in held if " " in name and name in one.text.names}
    return cuts


@pytest.mark.parametrize("path", some([*SAMPLES, *SOURCES]), ids=lambda path: path.name)
def test_every_unit_of_a_real_file_has_a_part_in_order(path: Path):
    check(path.name, path.read_bytes())


PIECES = {
    "a.py": (
        "def small(a):\n    return a\n",
        "LIMIT = 3\n",
        "class Box:\n    '''Holds.'''\n\n    def put(self, thing):\n        self.thing = thing\n\n    size = 1\n",
        "# a comment that stands alone\n",
        "def long():\n" + "    total = add(total, 1)\n" * 120,
        "text = '" + "x" * 2500 + "'\n",
        "def broken(:\n",
        "\n\n\n",
        "größe = '読む'\n",
    ),
    "a.js": (
        "function small(a) { return a }\n",
        "const f = () => {\n" + "  go()\n" * 300 + "}\n",
        "class A { b() { return 1 } c() { return 2 } }\n",
        "x\r\n",
    ),
    "a.md": ("# Head\n\nSome words.\n", "## Sub\n\n" + "A long line of words. " * 200 + "\n", "text\n"),
    "a.json": ('{"a": [1, 2, 3]}\n', "[" + "1,\n" * 2000 + "1]\n", '{"key": "value"}\n' * 50),
    "a.unknown": ("words and words\n", "y" * 3000 + "\n", "line\n" * 500),
}


@settings(max_examples=examples(120), deadline=None)
@given(data=st.data(), path=st.sampled_from(sorted(PIECES)))
def test_every_unit_has_a_part_in_order_however_a_file_is_made_up(data: st.DataObject, path: str):
    pieces = data.draw(st.lists(st.sampled_from(PIECES[path]), min_size=1, max_size=25))
    check(path, "".join(pieces).encode())


@settings(max_examples=examples(60), deadline=None)
@given(source=st.binary(max_size=6000), path=st.sampled_from(sorted(PIECES)))
def test_bytes_that_are_no_text_are_cut_without_loss_too(source: bytes, path: str):
    check(path, source)


def test_small_neighbours_share_a_passage():
    (found,) = cut("a.py", b"".join(b"def f%d(a):\n    return a\n\n" % number for number in range(10)))
    assert (found.first, found.last) == (0, 9)
    assert found.text.names.split() == [f"f{number}" for number in range(10)]


def test_many_small_units_fill_passages_and_no_unit_is_in_two():
    found = cut("a.py", b"".join(b"def f%d(a):\n    return a\n\n" % number for number in range(200)))
    assert len(found) > 3
    assert all(TARGET_BYTES / 2 < len(one.text.body) <= TARGET_BYTES + len(found) for one in found[:-1])
    assert [one.first for one in found[1:]] == [one.last + 1 for one in found[:-1]]


def test_a_long_unit_is_cut_at_line_ends_and_each_piece_has_its_name():
    found = cut("a.py", b"def endless():\n" + b"    total = add(total, 1)\n" * 400)
    assert len(found) > 3
    assert {(one.first, one.last, one.text.names) for one in found} == {(0, 0, "endless")}
    assert all(one.text.body.startswith(b"\n") for one in found)
    assert all(line in (b"", b"def endless():", b"    total = add(total, 1)") for one in found for line in one.text.body.split(b"\n"))


def test_what_a_long_function_defines_for_itself_is_in_the_passages_that_hold_its_text():
    step = b"    total = add(total, 1)\n" * 60
    inner = b"    def %s():\n" + b"        return total\n" * 60
    source = b"def outer():\n" + step + inner % b"early" + step + inner % b"late"
    units = parsed("a.py", source).units
    assert [unit.name for unit in units] == ["outer", "early", "late"]
    cuts = cut("a.py", source)
    for row, name in enumerate((b"def early", b"def late"), 1):
        held = [one for one in cuts if one.first <= row <= one.last]
        assert any(name in one.text.body for one in held)
        assert any(name not in one.text.body for one in cuts if one not in held)
    assert {one.text.names for one in cuts} == {"outer"}


def test_a_line_without_end_is_cut_all_the_same():
    found = cut("a.py", b"text = '" + b"x" * 10_000 + b"'\n")
    assert [len(one.text.body) for one in found[:-1]] == [MAX_BYTES] * (len(found) - 1)


def test_what_is_nested_belongs_to_the_inner_unit_alone():
    source = (
        b"class Box:\n    limit = 1\n"
        b"    def put(self):\n        return 'needle'\n"
        b"    def get(self):\n        return " + b"1 + " * 300 + b"1\n"
    )
    found = cut("a.py", source)
    assert sum(one.text.body.count(b"needle") for one in found) == 1
    assert all("Box" in one.text.names.split() for one in found)


def test_a_long_table_of_values_keeps_its_beginning_only():
    source = b"[" + b"".join(b'{"key": "value number %d"},\n' % number for number in range(3000)) + b"{}]\n"
    found = cut("table.json", source)
    assert len(found) == MAX_CONFIG_PASSAGES
    assert b"value number 0" in found[0].text.body


def test_prose_and_code_of_the_same_length_are_kept_whole():
    lines = b"".join(b"value number %d\n" % number for number in range(3000))
    for path in ("table.md", "table.unknown"):
        assert len(cut(path, lines)) > MAX_CONFIG_PASSAGES
        assert b"value number 2999" in cut(path, lines)[-1].text.body


def test_a_file_in_which_no_unit_was_found_is_one_passage_of_its_beginning():
    source = b"x" * 5000
    (found,) = cut_passages("a.bin", source, ParsedFile("text", ()))
    assert (found.first, found.last, found.text.body, found.text.names) == (0, 0, source[:MAX_BYTES], "")
