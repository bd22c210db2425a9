"""Trees that go too deep, too far or on for too long: nesting, folders, long lines, many files, rules that match slowly."""

from __future__ import annotations

import os
from collections.abc import Callable

from whence_bench.faults.trees_ground import Ground

DEEP, SOME = 10_000, 400
#: What may be nested, or just repeated, without end; each with a line end now and then, so that no line is too long to be read.
SHAPES: dict[str, Callable[[int], str]] = {
    "open brackets": lambda n: "(\n" * n,
    "closed brackets": lambda n: "x = " + "(" * 60 + "\n" + "[\n" * n + "]\n" * n + ")" * 60,
    "braces": lambda n: "{ a\n" * n + "}\n" * n,
    "objects": lambda n: '{"a":\n' * n + "1" + "}\n" * n,
    "calls": lambda n: "f(a,\n" * n,
    "functions": lambda n: "function f() {\n" * n + "}\n" * n,
    "classes": lambda n: "class A {\n" * n + "}\n" * n,
    "branches": lambda n: "if (a) {} else \n" * n,
    "indented": lambda n: "".join(" " * i + "def a():\n" for i in range(min(n, 190))),
    "indented names": lambda n: "".join(" " * i + "a:\n" for i in range(min(n, 190))),
    "blocks": lambda n: "def f\n" * n + "end\n" * n,
    "tags": lambda n: "<div>\n" * n + "</div>\n" * n,
    "open tags": lambda n: "<a b=c>\n" * n,
    "quotes": lambda n: "> \n" * n + "> " * 90 + "a\n",
    "lists": lambda n: "".join("  " * (i % 90) + "- a\n" for i in range(n)),
    "links": lambda n: "[a](\n" * n,
    "generics": lambda n: "fn f<T: A<\n" * n,
    "comparisons": lambda n: "a<\n" * n,
    "pipes": lambda n: "a |> \n" * n,
    "comments": lambda n: "/* (* {- \n" * n,
    "interpolations": lambda n: '"#{ "${ `$(\n' * n,
    "cases": lambda n: "case a of b -> \n" * n,
    "questions": lambda n: "SELECT a FROM b JOIN (\n" * n,
    "skulls": lambda n: "\u2620\n" * n,
    "controls": lambda n: "\x01\x1b\n" * n,
}


def nesting(ground: Ground) -> None:
    """Every language that has a grammar reads some shapes: in bounded time, and a word at the end is found by all of them."""
    from whence.parse.languages import LANGUAGES  # noqa: PLC0415  -- a table, but of the parser

    named = [language for language in LANGUAGES if language.grammar] + [
        one for one in LANGUAGES if one.name in ("json", "yaml", "xml", "toml", "css")
    ]
    chance = ground.random
    pairs = [(language, shape) for language in named for shape in chance.sample(sorted(SHAPES), 2)]  # others with another seed
    if ground.small:
        pairs = chance.sample(pairs, 8)
    for language, shape in pairs:
        text = SHAPES[shape](SOME if ground.small else DEEP)
        ground.write(f"{language.name}/{shape.replace(' ', '_')}{language.extensions[0]}", f"{text}\nwalrus_end\n")
    ground.run("index", seconds=60 + 4 * len(pairs))
    found = ground.run("search", "walrus_end", "-l", "-k", "1000", "--content", "all").out.splitlines()
    from whence.app.index import Index  # noqa: PLC0415  -- with everything it needs

    with Index.open(ground.root, data_dir=ground.data) as index:
        left_out = {one.path: one.reason for one in index.store.skipped_files()}
    for language, shape in pairs:
        path = f"{language.name}/{shape.replace(' ', '_')}{language.extensions[0]}"
        ground.check(path in found or path in left_out, f"{path} is not found by a word in it, and it is not said why")


def sizes(ground: Ground) -> None:
    """Long lines, many files, and folders that no path reaches."""
    ground.write("long.py", "a = 1; " * (50_000 if ground.small else 700_000))
    ground.write("words.txt", "a" * 1_000_000)
    count = 2_000 if ground.small else 100_000
    many = ground.root / "many"
    many.mkdir()
    for number in range(count):
        (many / f"part_{number}.txt").write_bytes(b"walrus\n" if number % 1_000 == 0 else b"")
    _dig(ground, 300 if ground.small else DEEP)
    ground.write("plain.py", "def plain_walrus(): pass\n")
    ground.run("index", seconds=300)
    ground.check("plain.py" in ground.run("search", "plain_walrus", "-l").out, "a plain file beside it is not found")
    listed = ground.run("status", "--files").out
    ground.check("folders deep" in listed or "too long" in listed, "it is not said where the walk ended")
    _fill(ground)


def _dig(ground: Ground, depth: int) -> None:
    """Folders in folders, made from inside: longer than any path may be."""
    at = os.open(ground.root, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir("down", dir_fd=at)
        inner = os.open("down", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("bottom.py", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


def _fill(ground: Ground) -> None:
    """Take the folders out again, from inside: most tools that remove a tree cannot."""
    at = os.open(ground.root, os.O_RDONLY | os.O_DIRECTORY)
    depth = 0
    while True:
        try:
            inner = os.open("down", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        except FileNotFoundError:
            break
        os.close(at)
        at, depth = inner, depth + 1
    os.unlink("bottom.py", dir_fd=at)
    for _ in range(depth):
        above = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        os.rmdir("down", dir_fd=above)
        os.close(at)
        at = above
    os.close(at)


def rules(ground: Ground) -> None:
    """Rules that are written to match slowly: a walk past them takes no longer, and the sound ones among them hold."""
    lines = [
        "a*a*a*a*a*a*a*a*a*b",
        "a***b**",
        "*" * 300 + "b",
        "*a" * 120 + "b",
        "/**/a" * 40,
        "[a-z]*" * 50 + "!",
        "**/**/**/**/x",
        "[",
        "!",
        "\\",
        "hidden_*.py",
    ]
    while sum(map(len, lines)) < (20_000 if ground.small else 900_000):
        lines.append(f"*{len(lines)}*a*b*c*d*e*f")
    ground.write(".gitignore", "\n".join(lines) + "\nhidden_again.py\n")
    ground.write(".whenceignore", "".join(f"!*{number}*?*x\n" for number in range(200)))
    for number in range(20 if ground.small else 100):
        ground.write(f"{'a' * 60}/{'a' * (150 + number % 90)}{number}.py", f"def walrus_{number}(): pass\n")
    ground.write("hidden_away.py", "def hidden(): pass\n")
    ground.run("index")
    listed = ground.run("status", "--files").out
    ground.check("hidden_away.py  (ignored by .gitignore)" in listed, "a sound rule among the others does not hold")
    ground.check("0 files" not in ground.run("search", "walrus_1", "-l").out, "nothing is found")
