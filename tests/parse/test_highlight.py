"""What the pieces of a line are: by a grammar where there is one, else by a pattern."""

from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples, some
from small_cases import each
from whence.parse.highlight import MAX_CHARACTERS, Stretch, colour_lines
from whence.parse.languages import BY_NAME

KINDS = {"comment", "string", "number", "keyword", "type", "function", "constant", "attribute"}
#: A piece of code in each language, and for each kind what of it is of that kind, in order and all of it.
CODE: dict[str, tuple[str, dict[str, list[str]]]] = {
    "bash": (
        "# c\ntotal() {\n  local n=\"a $x\"\n  if [ -f x ]; then echo 'b'; fi\n}",
        {"comment": ["# c"], "function": ["total", "echo"], "keyword": ["local", "if", "then", "fi"], "string": ['"a ', '"', "'b'"]},
    ),
    "c": (
        '#include <stdio.h>\n/* c */\nstatic int total(struct cart *c) { return sum("x", 3, NULL); }',
        {
            "keyword": ["#include", "static", "struct", "return"],
            "string": ["<stdio.h>", '"x"'],
            "comment": ["/* c */"],
            "type": ["int", "cart"],
            "function": ["total", "sum"],
            "number": ["3"],
            "constant": ["NULL"],
        },
    ),
    "cpp": (
        'template <typename T> class Cart : public Base {\n  auto total() -> int { return sum<int>("x", 3); } // c\n};',
        {
            "keyword": ["template", "typename", "class", "public", "auto", "return"],
            "type": ["T", "Cart", "Base", "int", "int"],
            "function": ["total", "sum"],
            "string": ['"x"'],
            "number": ["3"],
            "comment": ["// c"],
        },
    ),
    "csharp": (
        'public class Cart : Base {\n  // c\n  public int Total(string s) => Sum($"a{s}", 3, null);\n}',
        {
            "keyword": ["public", "class", "public"],
            "type": ["Cart", "Base", "int", "string"],
            "comment": ["// c"],
            "function": ["Total", "Sum"],
            "string": ['$"a', '"'],
            "number": ["3"],
            "constant": ["null"],
        },
    ),
    "css": (
        "/* c */\n.cart {\n  color: #ffaa00;\n  width: 3px !important;\n}",
        {
            "comment": ["/* c */"],
            "type": [".cart"],
            "attribute": ["color", "width"],
            "number": ["#ffaa00", "3px"],
            "keyword": ["!important"],
        },
    ),
    "dart": (
        '// c\nclass Cart extends Base {\n  int total(int n) => sum("x", 3, null);\n}',
        {"comment": ["// c"], "keyword": ["class", "extends"], "function": ["total", "sum"], "string": ['"x"'], "number": ["3"]},
    ),
    "elixir": (
        '# c\ndefmodule Cart do\n  def total(n) do\n    sum("x", 3, :key, nil)\n  end\nend',
        {
            "comment": ["# c"],
            "keyword": ["defmodule", "do", "def", "do", "end", "end"],
            "type": ["Cart"],
            "function": ["total", "sum"],
            "string": ['"x"'],
            "number": ["3"],
            "constant": [":key", "nil"],
        },
    ),
    "go": (
        'package pay\n// c\nfunc (t *Terminal) Charge(total int) string {\n\treturn "paid" + fmt.Sprint(12, nil)\n}\ntype Terminal struct{}',
        {
            "keyword": ["package", "func", "return", "type", "struct"],
            "comment": ["// c"],
            "type": ["Terminal", "int", "string", "Terminal"],
            "function": ["Charge", "Sprint"],
            "string": ['"paid"'],
            "number": ["12"],
            "constant": ["nil"],
        },
    ),
    "haskell": (
        '-- c\ntotal :: Int -> String\ntotal n = sum "x" 3\ndata Cart = Cart Int',
        {
            "comment": ["-- c"],
            "function": ["total", "total", "sum"],
            "type": ["Int", "String", "Cart", "Cart", "Int"],
            "string": ['"x"'],
            "number": ["3"],
            "keyword": ["data"],
        },
    ),
    "html": (
        '<!-- c -->\n<p class="x">t</p>\n<script>const a = 1; f("y")</script>',
        {
            "comment": ["<!-- c -->"],
            "keyword": ["p", "p", "script", "const", "script"],
            "attribute": ["class"],
            "string": ['"x"', '"y"'],
            "number": ["1"],
            "function": ["f"],
        },
    ),
    "java": (
        '@Override\npublic class Cart extends Base {\n  // c\n  int total(String s) { return sum("x", 0x1F, null); }\n}',
        {
            "attribute": ["@Override"],
            "keyword": ["public", "class", "extends", "return"],
            "type": ["Cart", "Base", "int", "String"],
            "comment": ["// c"],
            "function": ["total", "sum"],
            "string": ['"x"'],
            "number": ["0x1F"],
            "constant": ["null"],
        },
    ),
    "javascript": (
        "// c\nexport class Cart extends Base {\n  total(n) { return `a${n}` + sum(1.5, null); }\n}\nconst f = async (x) => x;",
        {
            "comment": ["// c"],
            "keyword": ["export", "class", "extends", "return", "const", "async"],
            "type": ["Cart", "Base"],
            "function": ["total", "sum", "f"],
            "string": ["`a", "`"],
            "number": ["1.5"],
            "constant": ["null"],
        },
    ),
    "json": (
        '{"key": "x", "n": 3.5, "t": true}',
        {"attribute": ['"key"', '"n"', '"t"'], "string": ['"x"'], "number": ["3.5"], "constant": ["true"]},
    ),
    "kotlin": (
        '// c\nclass Cart : Base() {\n  fun total(n: Int): String { return sum("x", 3, null) }\n}',
        {
            "comment": ["// c"],
            "keyword": ["class", "fun", "return"],
            "type": ["Cart", "Base", "Int", "String"],
            "function": ["total", "sum"],
            "string": ['"x"'],
            "number": ["3"],
            "constant": ["null"],
        },
    ),
    "lua": (
        '-- c\nlocal function total(n)\n  return sum("x", 3, nil)\nend',
        {
            "comment": ["-- c"],
            "keyword": ["local", "function", "return", "end"],
            "function": ["total", "sum"],
            "string": ['"x"'],
            "number": ["3"],
            "constant": ["nil"],
        },
    ),
    "markdown": (
        "# Head\n\nText `code` **bold** [a](b.md)\n\n```python\nx = 1\n```\n> quote",
        {
            "keyword": ["# Head"],
            "string": ["`code`", "b.md", "```python", "x = 1", "```"],
            "type": ["**bold**"],
            "comment": ["> quote"],
            "number": [],
        },
    ),
    "php": (
        '<?php\n// c\nclass Cart extends Base {\n  public function total(int $n): string { return sum("x", 3, null); }\n}',
        {
            "keyword": ["<?php", "class", "extends", "public", "function", "return"],
            "comment": ["// c"],
            "type": ["Cart", "Base", "int", "string"],
            "function": ["total", "sum"],
            "string": ['"x"'],
            "number": ["3"],
            "constant": ["null"],
        },
    ),
    "python": (
        '@app.route("/x")\ndef total(self, n: int = 10) -> Price:\n    # c\n    return sum(n, None) + "a" + f"b{n}"\nclass Cart(Base):\n    RATE = 0.5',
        {
            "attribute": ["@app.route"],
            "string": ['"/x"', '"a"', 'f"b', '"'],
            "keyword": ["def", "return", "class"],
            "function": ["total", "sum"],
            "constant": ["self", "None", "RATE"],
            "type": ["int", "Price", "Cart", "Base"],
            "number": ["10", "0.5"],
            "comment": ["# c"],
        },
    ),
    "ruby": (
        '# c\nclass Cart < Base\n  def total(n = 1)\n    sum("x", :key, nil)\n  end\nend',
        {
            "comment": ["# c"],
            "keyword": ["class", "def", "end", "end"],
            "type": ["Cart", "Base"],
            "function": ["total", "sum"],
            "number": ["1"],
            "string": ['"x"'],
            "constant": [":key", "nil"],
        },
    ),
    "rust": (
        '/// c\n#[derive(Debug)]\npub struct Cart { n: u32 }\nimpl Cart {\n  fn total(&self) -> u64 { println!("x"); sum(42) }\n}',
        {
            "comment": ["/// c"],
            "attribute": ["#[derive(Debug)]"],
            "keyword": ["pub", "struct", "impl", "fn"],
            "type": ["Cart", "u32", "Cart", "u64"],
            "function": ["total", "println", "sum"],
            "constant": ["self"],
            "string": ['"x"'],
            "number": ["42"],
        },
    ),
    "scala": (
        '// c\nclass Cart extends Base {\n  def total(n: Int): String = sum("x", 3, null)\n}',
        {
            "comment": ["// c"],
            "keyword": ["class", "extends", "def"],
            "type": ["Cart", "Base", "Int", "String"],
            "function": ["total", "sum"],
            "string": ['"x"'],
            "number": ["3"],
            "constant": ["null"],
        },
    ),
    "sql": (
        "-- c\nSELECT sum(total), 'x' FROM cart WHERE n = 3;\nCREATE TABLE cart (id INT);",
        {
            "comment": ["-- c"],
            "keyword": ["SELECT", "FROM", "WHERE", "CREATE", "TABLE"],
            "function": ["sum"],
            "string": ["'x'"],
            "number": ["3"],
            "type": ["INT"],
        },
    ),
    "swift": (
        '// c\nclass Cart: Base {\n  func total(n: Int) -> String { return sum("x", 3, nil) }\n}',
        {
            "comment": ["// c"],
            "keyword": ["class", "func", "return"],
            "type": ["Cart", "Base", "Int", "String"],
            "function": ["total", "sum"],
            "string": ['"x"'],
            "number": ["3"],
            "constant": ["nil"],
        },
    ),
    "toml": (
        '# c\n[table]\nkey = "x"\nn = 3\nt = true',
        {"comment": ["# c"], "type": ["[table]"], "attribute": ["key", "n", "t"], "string": ['"x"'], "number": ["3"], "constant": ["true"]},
    ),
    "tsx": (
        "const A = (p: Props) => <Cart total={3}>x</Cart>;",
        {"keyword": ["const"], "type": ["A", "Props", "Cart", "Cart"], "attribute": ["total"], "number": ["3"]},
    ),
    "typescript": (
        'interface Cart { total(n: number): Price }\nfunction sum<T>(a: T): string { return "x"; }',
        {
            "keyword": ["interface", "function", "return"],
            "type": ["Cart", "number", "Price", "T", "T", "string"],
            "function": ["total", "sum"],
            "string": ['"x"'],
        },
    ),
    "yaml": (
        '# c\nkey: "x"\nn: 3\nt: true',
        {"comment": ["# c"], "attribute": ["key", "n", "t"], "string": ['"x"'], "number": ["3"], "constant": ["true"]},
    ),
    "zig": (
        '// c\nconst Cart = struct {\n  pub fn total(n: u32) u64 { return sum("x", 3); }\n};',
        {
            "comment": ["// c"],
            "keyword": ["const", "struct", "pub", "fn", "return"],
            "type": ["Cart", "u32", "u64"],
            "function": ["total", "sum"],
            "string": ['"x"'],
            "number": ["3"],
        },
    ),
}


def pieces(language: str, text: str) -> dict[str, list[str]]:
    """What of a text is of which kind, in order."""
    lines = text.split("\n")
    found: dict[str, list[str]] = {}
    for line, stretches in zip(lines, colour_lines(language, lines), strict=True):
        for start, end, kind in stretches:
            found.setdefault(kind, []).append(line[start:end])
    return found


def is_sound(lines: list[str], found: list[list[Stretch]]) -> bool:
    """Whether stretches lie in their lines, in order and without overlap."""
    return len(found) == len(lines) and all(
        all(kind in KINDS and 0 <= start < end <= len(line) for start, end, kind in stretches)
        and all(one[1] <= other[0] for one, other in pairwise(stretches))
        for line, stretches in zip(lines, found, strict=True)
    )


@each("language", CODE)
def test_pieces_of_code_are_told_apart(language: str):
    text, expected = CODE[language]
    found = pieces(language, text)
    assert {kind: found.get(kind, []) for kind in expected} == expected


@each("language", sorted({*BY_NAME} - {"text", "csv"}))
def test_every_language_but_plain_text_has_colours(language: str):
    """At least what every language has in some form: strings, numbers, comments."""
    every = "\n".join(
        [
            'x = "text" 12 true <a b="c">t</a> {} [s]',
            *("# c", "// c", "-- c", "; c", "% c", "! c", "/* c */", "(* c *)", "{ c }", "<!-- c -->", "{# c #}", "REM c", '" c'),
        ]
    )
    assert pieces(language, every), language


@each("language", ["", "text", "csv", "no such language"])
def test_what_is_no_language_has_no_colours(language: str):
    assert colour_lines(language, ["def total(): return 1", "# c"]) == [[], []]


@each(
    ("language", "text", "kind", "piece"),
    [
        ("python", "def total(:\n    return ((('x'", "keyword", "return"),
        ("python", "    return sum(1)\n  else:\n)))", "function", "sum"),
        ("javascript", "total(n) {\n  return 'x';\n}", "function", "total"),  # from the middle of a class
        ("javascript", "}\n}\nconst a = 'x'", "string", "'x'"),
        ("go", "\treturn fmt.Sprint(12", "number", "12"),
        ("rust", "fn total(&self { let x = 42;", "number", "42"),
        ("java", "  return sum(\n  // c\n", "comment", "// c"),
        ("php", "public function total() { return 3; }", "keyword", "return"),  # without its tag
        ("c", "int total( { return 3;", "number", "3"),
        ("vue", "const a = sum('x')", "string", "'x'"),  # from the middle of its script
        ("json", '{"key": [3, ', "number", "3"),
    ],
)
def test_code_that_is_broken_or_cut_out_has_colours_too(language: str, text: str, kind: str, piece: str):
    assert piece in pieces(language, text).get(kind, [])


def test_only_lines_that_are_wanted_are_coloured_and_as_in_the_whole():
    lines = CODE["python"][0].split("\n")
    whole = colour_lines("python", lines)
    assert colour_lines("python", lines, {1, 3}) == [[], whole[1], [], whole[3], [], []]
    assert colour_lines("python", lines, ()) == [[]] * len(lines)


def test_what_goes_over_several_lines_is_cut_at_their_ends():
    lines = ['x = """one', "", "  two", '"""', "y = 1"]
    assert colour_lines("python", lines) == [[(4, 10, "string")], [], [(0, 5, "string")], [(0, 3, "string")], [(4, 5, "number")]]


def test_columns_are_characters_not_bytes():
    line = "größe = 'Maß' + \"🙂\"  # Ende ä"
    [found] = colour_lines("python", [line])
    assert [line[start:end] for start, end, _ in found] == ["'Maß'", '"🙂"', "# Ende ä"]


PIECES = st.sampled_from(
    [
        *("def ", "class ", "return ", "function ", "fn ", "if", "end", "total", "Cart", "RATE", "x", " ", "    ", "\n", "\t"),
        *(
            "(",
            ")",
            "{",
            "}",
            "[",
            "]",
            "<",
            ">",
            "=",
            "=>",
            "->",
            ":",
            ";",
            ",",
            ".",
            "@",
            "$",
            "#",
            "//",
            "/*",
            "*/",
            "--",
            "`",
            '"',
            "'",
            '"""',
            "\\",
        ),
        *("0x1F", "3.5", "ä", "🙂", "\0", "\ud800", "${", "#{", "<?php", "<script>", "</script>", "---", "```", "# ", "- ", "&amp;"),
    ]
)


@settings(max_examples=examples(1_000))
@given(st.sampled_from(sorted(BY_NAME)), st.lists(PIECES, max_size=30).map("".join))
def test_stretches_lie_in_their_lines_in_order_and_apart(language: str, text: str):
    lines = text.split("\n")
    assert is_sound(lines, colour_lines(language, lines))


@given(st.lists(PIECES, max_size=30).map("".join), st.sets(st.integers(0, 10)))
def test_a_line_is_the_same_whichever_others_are_wanted(text: str, wanted: set[int]):
    lines = text.split("\n")
    for language in ("python", "typescript", "html"):
        whole = colour_lines(language, lines)
        assert colour_lines(language, lines, wanted) == [one if row in wanted else [] for row, one in enumerate(whole)]


HUGE = 50_000
#: Of those with a pattern, the ones that differ; of those with a grammar a few: the time of all of them is bounded alike.
READ_DIFFERENTLY = ["assembly", "batch", "css", "fsharp", "ini", "json", "markdown", "pascal", "template", "toml", "vim", "xml", "yaml"]
LONG = [
    "x",
    "1",
    "a = 1; ",
    "(",
    '"',
    "'",
    "/* ",
    "{",
    "# ",
    "<a ",
    "a.",
    "[[",
    "```",
    "- ",
    "--",
    "\\",
    "total(",
    "x => ",
    "<!--",
    "(*",
    "**",
    "](",
    " ",
    "a:",
]


@each("language", [*READ_DIFFERENTLY, "cpp", "html", "javascript", "python", "ruby"])
def test_a_huge_line_holds_nobody_up(language: str):
    colour_lines(language, ["x"])  # loads its grammar
    for piece in some(LONG):
        line = (piece * HUGE)[:HUGE]
        began = time.process_time()
        found = colour_lines(language, [line])
        taken = time.process_time() - began
        assert is_sound([line], found), piece
        assert taken < 2, f"{taken:.1f} s for {piece!r}"  # a hundredth of that is usual


def test_a_text_that_is_too_long_has_no_colours():
    assert colour_lines("python", ["x = 1"] * (MAX_CHARACTERS // 5 + 1)) == [[]] * (MAX_CHARACTERS // 5 + 1)
