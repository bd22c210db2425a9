"""Cutting files into units beyond the samples: nesting, what is left over, and every kind of strange file."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campaigns import examples
from hindrances import environment
from small_cases import each
from whence.core.types import ParsedFile, Unit
from whence.parse.languages import LANGUAGES, language_of
from whence.parse.units import WINDOW_LINES, parse

WITH_GRAMMAR = [language.name for language in LANGUAGES if language.grammar]
WORD = re.compile(rb"\w{2,}")


def shape(parsed: ParsedFile) -> list[tuple[str, str, int, int]]:
    return [(unit.kind, unit.qualified_name, unit.first_line, unit.last_line) for unit in parsed.units]


def uncovered_lines(source: bytes, units: tuple[Unit, ...]) -> list[int]:
    """Lines with a word that no unit spans."""
    covered = {line for unit in units for line in range(unit.first_line, unit.last_line + 1)}
    return [number for number, line in enumerate(source.split(b"\n"), 1) if WORD.search(line) and number not in covered]


def uncovered_words(source: bytes, units: tuple[Unit, ...]) -> list[bytes]:
    """Words that stand in no unit, so that no search can find them."""
    return [found.group() for found in WORD.finditer(source) if not any(unit.start <= found.start() < unit.end for unit in units)]


def check_spans(source: bytes, units: tuple[Unit, ...]) -> None:
    lines = source.count(b"\n") + 1
    for unit in units:
        assert 0 <= unit.start < unit.end <= len(source)
        assert 1 <= unit.first_line <= unit.last_line <= lines
        assert unit.first_line == source.count(b"\n", 0, unit.start) + 1


def test_units_nest_and_carry_the_names_around_them() -> None:
    source = b"class Outer:\n    class Inner:\n        def method(self):\n            pass\n"
    assert shape(parse(source, "python")) == [
        ("class", "Outer", 1, 4),
        ("class", "Outer.Inner", 2, 4),
        ("method", "Outer.Inner.method", 3, 4),
    ]


@each(
    ("language", "source", "inner"),
    [
        ("python", "def outer():\n    def inner():\n        pass\n    count = 1\n    return inner\n", [("function", "outer.inner")]),
        (
            "python",
            "def outer():\n    class Inner:\n        size = 1\n        def run(self): pass\n",
            [("class", "outer.Inner"), ("field", "outer.Inner.size"), ("method", "outer.Inner.run")],
        ),
        ("javascript", "function outer() {\n  function inner() {}\n  const count = 1;\n}\n", [("function", "outer.inner")]),
        (
            "typescript",
            "const outer = () => {\n  const inner = async (n: number) => n;\n  type Count = number;\n};\n",
            [("function", "outer.inner")],
        ),
        ("go", "func outer() {\n\tinner := func() {}\n\tcount := 1\n}\n", [("function", "outer.inner")]),
        (
            "rust",
            "fn outer() {\n    struct Inner;\n    impl Inner { fn run(&self) {} }\n}\n",
            [("struct", "outer.Inner"), ("method", "outer.Inner.run")],
        ),
        (
            "java",
            "class A {\n  Runnable outer() {\n    return new Runnable() { public void run() {} };\n  }\n}\n",
            [("method", "A.outer"), ("method", "A.outer.run")],
        ),
        ("kotlin", "fun outer() {\n    fun inner() {}\n    val count = 1\n}\n", [("function", "outer.inner")]),
        (
            "csharp",
            "class A {\n  void Outer() {\n    int Inner(int n) { return n; }\n  }\n}\n",
            [("method", "A.Outer"), ("function", "A.Outer.Inner")],
        ),
        ("php", "<?php\nfunction outer() {\n  function inner() {}\n}\n", [("function", "outer"), ("function", "outer.inner")]),
        (
            "cpp",
            "int outer() {\n  struct Inner { int run() { return 1; } };\n  Basket basket(1);\n  return 1;\n}\n",
            [("struct", "outer.Inner"), ("method", "outer.Inner.run")],
        ),
    ],
)
def test_what_a_function_defines_for_itself_is_a_unit_and_its_variables_are_not(
    language: str, source: str, inner: list[tuple[str, str]]
) -> None:
    found = [(unit.kind, unit.qualified_name) for unit in parse(source.encode(), language).units]
    assert found[1:] == inner


def test_what_stands_between_units_is_left_over_without_blank_edges() -> None:
    source = b"import os\n\n\ndef one():\n    pass\n\n\nprint(one())\n\n\ndef two():\n    pass\n\n"
    assert shape(parse(source, "python")) == [("raw", "", 1, 1), ("function", "one", 4, 5), ("raw", "", 8, 8), ("function", "two", 11, 12)]


def test_long_leftovers_are_cut_into_windows() -> None:
    source = b"call(1)\n" * (2 * WINDOW_LINES + 5)
    spans = [(unit.first_line, unit.last_line) for unit in parse(source, "python").units]
    assert spans == [(1, WINDOW_LINES), (WINDOW_LINES + 1, 2 * WINDOW_LINES), (2 * WINDOW_LINES + 1, 2 * WINDOW_LINES + 5)]


@each("language", ["unknown", "yaml", "erlang", "no such language"])
def test_a_language_without_a_grammar_is_cut_into_windows(language: str) -> None:
    source = b"key: value\n" * (WINDOW_LINES + 1)
    assert shape(parse(source, language)) == [("raw", "", 1, WINDOW_LINES), ("raw", "", WINDOW_LINES + 1, WINDOW_LINES + 1)]


@each("language", WITH_GRAMMAR)
def test_a_file_that_does_not_parse_is_never_dropped(language: str) -> None:
    source = b')))) zebra ]]]] <<<< {{{{ giraffe ``` """ \'\n=== walrus\n'
    parsed = parse(source, language)
    assert uncovered_lines(source, parsed.units) == []


@each("language", [*WITH_GRAMMAR, "unknown"])
@each("source", [b"", b"\n", b" \t\r\n \n", b"\f"])
def test_a_file_without_a_word_has_no_unit(language: str, source: bytes) -> None:
    assert parse(source, language).units == ()


def test_windows_line_ends_give_the_same_lines() -> None:
    source = b"import os\n\n# says what\ndef one(a,\n        b):\n    return 1\n\nclass Two:\n    x = 1\n"
    unix, windows = parse(source, "python"), parse(source.replace(b"\n", b"\r\n"), "python")
    assert shape(unix) == shape(windows)
    assert [unit.doc for unit in unix.units] == [unit.doc for unit in windows.units]
    assert [unit.signature for unit in unix.units] == [unit.signature for unit in windows.units]


@pytest.mark.process
def test_a_file_without_a_last_newline_keeps_its_last_line() -> None:
    assert shape(parse(b"def one():\n    return 1", "python")) == [("function", "one", 1, 2)]
    assert shape(parse(b"one\ntwo", "unknown")) == [("raw", "", 1, 2)]


def test_bytes_that_are_not_utf_8_do_not_hide_what_is_around_them() -> None:
    source = b"# caf\xe9\ndef first():\n    return '\xff\xfe'\n\ndef second():\n    pass\n"
    assert [name for _, name, *_ in shape(parse(source, "python"))] == ["first", "second"]


@each("language", ["python", "javascript", "json", "unknown"])
def test_a_huge_line_is_one_line(language: str) -> None:
    source = b"value = [" + b"1234, " * 200_000 + b"]\n"
    began = time.perf_counter()
    parsed = parse(source, language)
    assert {(unit.first_line, unit.last_line) for unit in parsed.units} == {(1, 1)}
    assert time.perf_counter() - began < 5


NESTED = {
    "java": ("class A {", "}"),
    "cpp": ("namespace a {", "}"),
    "ruby": ("module A\n", "end\n"),
    "javascript": ("function f() {", "}"),
    "python": ("(", ")"),
    "markdown": ("> ", ""),
    "html": ("<div>", "</div>"),
}
#: Reads a file in a process of its own, as a grammar that cannot bear it would take the tests with it.
READ = """
import resource, sys
from whence.index.segment import pack_parsed
from whence.parse.units import parse
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
source = sys.stdin.buffer.read()
parsed = parse(source, sys.argv[1])
assert any(unit.start <= source.index(b"zebra") < unit.end for unit in parsed.units), "a word is lost"
print(len(pack_parsed(parsed)))
"""


def packed_size(source: bytes, language: str, seconds: float) -> int:
    done = subprocess.run(
        [sys.executable, "-c", READ, language], input=source, env=environment(), capture_output=True, check=False, timeout=seconds
    )
    assert done.returncode == 0, done.stderr.decode()[-500:] or f"ended by signal {-done.returncode}"
    return int(done.stdout)


@pytest.mark.parametrize("language", NESTED)
@pytest.mark.process
def test_ten_thousand_levels_of_nesting_are_read_in_seconds_and_little_memory(language: str) -> None:
    before, after = (mark.encode() * 10_000 for mark in NESTED[language])
    assert packed_size(before + b" zebra " + after, language, seconds=10) < 2_000_000


@pytest.mark.parametrize("mark", [b"> ", b"- ", b"1. ", b"* > "], ids=bytes.decode)
@pytest.mark.parametrize("text", [b"zebra\n", b"zebra crossing\n" * 1_000], ids=["alone", "with text"])
@pytest.mark.process
def test_a_line_of_many_list_marks_is_read(mark: bytes, text: bytes) -> None:
    """A few hundred take the grammar down."""
    assert packed_size(mark * 400 + text, "markdown", seconds=10) < 2_000_000


@pytest.mark.parametrize("row", [b"0x12, 0x34, 0x56,\n", b"0xab, 0xcd, 0xef, 0xfa,\n"], ids=["digits", "letters"])
@pytest.mark.process
def test_a_large_table_of_bare_numbers_is_read_in_seconds(row: bytes) -> None:
    """Such files are included in the middle of a declaration: by themselves they are one long error to the grammar."""
    assert packed_size(b"/* zebra */\n" + row * 20_000, "c", seconds=10) < 2_000_000


def test_what_stands_before_a_unit_on_its_first_line_is_found_too() -> None:
    source = b"setupZebra(); function walk() { return 1 }\n"
    assert uncovered_words(source, parse(source, "javascript").units) == []


def test_what_stands_after_a_unit_on_its_last_line_is_found_too() -> None:
    source = b"int walk(void) {\n  return 1;\n} // endsWithZebra\n"
    assert uncovered_words(source, parse(source, "c").units) == []


CODE = {
    "python": ["class A:\n", "    def f(self, x):\n", "        return g(x)\n", "# comment\n", "X = 1\n", "@decorated\n", "def g():\n", "    pass\n", '"""doc"""\n', "x; y = 2\n"],
    "javascript": ["class A {", "f() {}\n", "}\n", "// comment\n", "const x = () => {\n", "};\n", "export default function g() {}\n", "call();\n", "/* block */ "],
    "c": ["int f(void) {\n", "}\n", "struct a {\n", "int x;\n", "};\n", "#define X 1\n", "// comment\n", "typedef int t;\n", "#if Y\n", "#endif\n"],
    "go": ["package p\n", "func f() {\n", "}\n", "type T struct {\n", "// comment\n", "func (t *T) m() {}\n", "var x = 1\n"],
    "markdown": ["# head\n", "text\n", "## sub\n", "```py\n", "code\n", "```\n", "- item\n", "\n", "head\n====\n"],
    "elixir": ["defmodule A do\n", "def f(x), do: x\n", "end\n", "# comment\n", '@doc "text"\n', "defp g do\n"],
    "vue": ["<script>\n", "function f() {}\n", "</script>\n", "<template><div>text</div></template>\n", "<style>\n", "</style>\n"],
}  # fmt: skip


@pytest.mark.parametrize("language", CODE)
@given(st.data())
@settings(max_examples=examples(80), deadline=None)
def test_every_line_with_a_word_is_in_some_unit(language: str, data: st.DataObject) -> None:
    pieces = data.draw(st.lists(st.sampled_from(CODE[language]) | st.text(alphabet="ab \n\t(){}#'\"/*é漢", max_size=8), max_size=14))
    source = "".join(pieces).encode()
    units = parse(source, language).units
    check_spans(source, units)
    assert uncovered_lines(source, units) == []


@pytest.mark.parametrize("language", CODE)
@given(st.data())
@settings(max_examples=examples(40), deadline=None)
def test_every_word_is_in_some_unit(language: str, data: st.DataObject) -> None:
    source = "".join(data.draw(st.lists(st.sampled_from(CODE[language]), max_size=14))).encode()
    assert uncovered_words(source, parse(source, language).units) == []


@given(st.binary(max_size=200), st.sampled_from([*WITH_GRAMMAR, "unknown"]))
@example(b"\xff\xfe\0def f(): pass", "python")
@settings(max_examples=examples(150), deadline=None)
def test_any_bytes_in_any_language_give_units_inside_the_file(source: bytes, language: str) -> None:
    check_spans(source, parse(source, language).units)


@given(st.text(max_size=60), st.binary(max_size=60))
def test_every_file_has_a_language(name: str, head: bytes) -> None:
    assert language_of(name, head).name


@each(
    ("name", "head", "language"),
    [
        ("run", b"#!/usr/bin/env python3\n", "python"),
        ("run", b"#!/usr/bin/env -S node --flag\n", "javascript"),
        ("run", b"#!/bin/bash -e\n", "bash"),
        ("run", b"#!/usr/bin/python3.11\n", "python"),
        ("run", b"#!\n", "unknown"),
        ("run", b"", "unknown"),
        ("A.PY", b"", "python"),
        ("a.R", b"", "r"),
        ("a.h", b"int f(void);\n", "c"),
        ("a.h", b"namespace a {}\n", "cpp"),
        ("Makefile", b"", "make"),
        ("lib/Dockerfile", b"", "dockerfile"),
        (".py", b"", "python"),
        ("a.", b"", "unknown"),
        ("a.nosuchending", b"", "unknown"),
    ],
)
def test_a_language_is_told_by_name_then_by_first_line(name: str, head: bytes, language: str) -> None:
    assert language_of(name, head).name == language


def test_a_declaration_that_lacks_its_name_costs_no_file():
    parsed = parse(b"void f() { int = 3; }\nint g() { return 1; }\n", "cpp")
    assert [unit.name for unit in parsed.units if unit.name] == ["f", "g"]


def test_brackets_that_do_not_pair_cost_no_file():
    source = b'fn f() {\n    say("Run `help`.\\n\\\n         Run `more`.\\n");\n    let made = ops::Options {\n        fast: args.flag("fast"),\n    };\n}\n'
    assert [unit.name for unit in parse(source, "rust").units if unit.name] == ["f"]
