"""Units like another one (Q9): the like of it first, never itself or what is around it, inside every filter."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sample_trees import git, whence, write
from small_cases import each
from whence import Index
from whence.core.errors import UsageError
from whence.search.result import SearchResult

FILES = {
    "lib/text.py": '''def parse_json(text):
    """Parse a JSON document into values."""
    return decode(text)


def draw_circle(canvas, radius):
    """Draw a circle on the canvas."""
    return canvas.arc(radius)


class Basket:
    """What a customer wants to buy."""

    def total_price(self, items):
        """Add up the price of all items."""
        return sum(item.price for item in items)

    def rename(self, name):
        self.name = name
''',
    "lib/formats.py": 'def parse_yaml(text):\n    """Parse a YAML document into values."""\n    return load_document(text)\n',
    "web/json.js": "// Parse a JSON document into values.\nfunction parseJson(text) { return JSON.parse(text) }\n",
    "shop/cart.py": 'def cart_total(cart):\n    """Add up the price of all items in the cart."""\n    return sum(item.price for item in cart.items)\n',
    "paint/shapes.py": 'def draw_square(canvas, side):\n    """Draw a square on the canvas."""\n    return canvas.rect(side)\n',
    "net/socket.py": 'def connect(host):\n    """Open a connection."""\n    return dial(host)\n',
    "docs/guide.md": "# Parsing\n\nHow to parse a JSON document into values.\n",
    "one/same.py": "def same_here():\n    return 1\n",
    "two/same.py": "def same_there():\n    return 2\n",
}
PARSE_JSON, DRAW_CIRCLE, BASKET, TOTAL_PRICE = 1, 6, 11, 14


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write(tmp_path_factory.mktemp("related") / "tree", FILES)
    git("init", "--quiet", cwd=root)
    return root


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("related-data")


@pytest.fixture(scope="module", params=["shipped", "none"])
def index(request: pytest.FixtureRequest, tree: Path, data_dir: Path):
    """With vectors, and by words alone."""
    with Index.open(tree, data_dir=data_dir / request.param, settings={"index.model": request.param}) as opened:
        yield opened


def names(found: list[SearchResult]) -> list[str]:
    return [one.name for one in found]


# What is like it.


@pytest.mark.parametrize(
    ("path", "line", "first"),
    [
        ("lib/text.py", PARSE_JSON, {"parseJson", "parse_yaml"}),
        ("lib/formats.py", 1, {"parseJson", "parse_json"}),
        ("lib/text.py", TOTAL_PRICE, {"cart_total"}),
        ("shop/cart.py", 2, {"total_price"}),
        ("lib/text.py", DRAW_CIRCLE, {"draw_square"}),
        ("paint/shapes.py", 3, {"draw_circle"}),
    ],
)
def test_similar_functions_come_first(index: Index, path: str, line: int, first: set[str]):
    assert set(names(index.related(path, line, k=10))[: len(first)]) == first


def test_every_line_of_a_unit_stands_for_it(index: Index):
    of_first = names(index.related("lib/text.py", PARSE_JSON))
    assert names(index.related("lib/text.py", PARSE_JSON + 1)) == of_first
    assert names(index.related("lib/text.py", PARSE_JSON + 2)) == of_first


def test_neighbours_are_not_taken_for_similar_because_they_are_near(index: Index):
    """Small units share a passage: what it is like, because the example is in it, says nothing of the others in it."""
    for line, others in ((DRAW_CIRCLE, {"parse_json", "total_price", "rename"}), (TOTAL_PRICE, {"parse_json", "draw_circle", "rename"})):
        scores = {one.name: one.score for one in index.related("lib/text.py", line, k=50)}
        best = max(scores.values())
        assert all(scores.get(name, 0.0) < best / 2 for name in others), scores


def test_a_unit_of_the_same_file_can_be_the_answer(tmp_path: Path):
    twins = "".join(
        f'def {what}_{kind}(path):\n    """{what.title()} the {kind} table from a path."""\n    return open_{kind}(path, "{what}")\n\n\n'
        for what in ("load", "store")
        for kind in ("customer", "invoice")
    )
    write(tmp_path / "tree", {"tables.py": twins, "other.py": FILES["net/socket.py"]})
    with Index.open(tmp_path / "tree") as index:
        found = index.related("tables.py", 1)
        assert {one.path for one in found[:3]} == {"tables.py"}
        assert found[-1].path == "other.py" or "connect" not in names(found)


def test_each_unit_is_there_once_and_scores_fall(index: Index):
    found = index.related("lib/text.py", PARSE_JSON, k=50, content="all")
    places = [(one.path, one.best_start, one.name) for one in found]
    assert len(set(places)) == len(places)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_a_result_is_a_unit_and_spans_its_own_lines_only(index: Index):
    for one in index.related("paint/shapes.py", 1, k=50):
        assert (one.start_line, one.end_line) == (one.best_start, one.best_end), one


# What is no answer.


@pytest.mark.parametrize("line", range(1, 19))
def test_never_itself_nor_what_it_lies_in_nor_what_lies_in_it(index: Index, line: int):
    parsed = index.parsed("lib/text.py")
    assert parsed is not None
    holds = [unit for unit in parsed.units if unit.first_line <= line <= unit.last_line]
    asked = min(holds, key=lambda unit: unit.last_line - unit.first_line) if holds else None
    for one in index.related("lib/text.py", line, k=50):
        if one.path == "lib/text.py" and asked is not None:
            assert one.best_end < asked.first_line or one.best_start > asked.last_line


# Filters.


def test_filters_hold(index: Index):
    def asked(**filters: tuple[str, ...] | str) -> list[SearchResult]:
        return index.related("lib/text.py", PARSE_JSON, k=50, **filters)

    assert {one.language for one in asked(languages=("javascript",))} == {"javascript"}
    assert {one.kind for one in asked(kinds=("method",))} <= {"method"}
    assert {one.path for one in asked(include=("shop/**", "paint/**"))} <= {"shop/cart.py", "paint/shapes.py"}
    assert "lib/formats.py" not in {one.path for one in asked(exclude=("*formats*",))}
    assert {one.path for one in asked(paths=("lib",))} <= {"lib/text.py", "lib/formats.py"}
    assert {one.path for one in asked(content="docs")} == {"docs/guide.md"}
    assert "docs/guide.md" not in {one.path for one in asked()}
    assert "docs/guide.md" in {one.path for one in asked(content="all")}
    assert len(index.related("lib/text.py", PARSE_JSON, k=2)) == 2


# What cannot be asked.


@pytest.mark.parametrize(
    ("path", "line", "said"),
    [
        ("lib/nothing.py", 1, "no indexed file"),
        ("lib/text.py", 0, "line 0"),
        ("lib/text.py", 1000, "its last line is"),
        ("same.py", 1, "2 paths"),
        ("lib", 1, "no indexed file"),
        ("", 1, "no indexed file"),
    ],
)
def test_a_place_that_is_none_is_refused(index: Index, path: str, line: int, said: str):
    with pytest.raises(UsageError, match=said):
        index.related(path, line)


def test_the_end_of_a_path_will_do_where_it_is_the_end_of_one_only(index: Index):
    assert names(index.related("shapes.py", 1)) == names(index.related("paint/shapes.py", 1))


def test_a_whole_path_is_never_ambiguous(tmp_path: Path):
    write(tmp_path / "tree", {"same.py": "def parse_a(text):\n    return text\n", "deep/same.py": "def parse_b(text):\n    return text\n"})
    with Index.open(tmp_path / "tree") as index:
        assert names(index.related("same.py", 1)) == ["parse_b"]
        assert names(index.related("deep/same.py", 1)) == ["parse_a"]


@pytest.mark.parametrize("content", ["x = 1\n", "?!\n\n{}\n", "1\n2\n3\n", "größe = '読む'\n"])
def test_a_unit_with_hardly_a_word_is_no_trouble(tmp_path: Path, content: str):
    write(tmp_path / "tree", {"few.py": content, "other.py": FILES["net/socket.py"]})
    with Index.open(tmp_path / "tree") as index:
        assert all(one.path != "few.py" for one in index.related("few.py", 1))


# On the command line.


def asked(tree: Path, data_dir: Path, *arguments: str, cwd: Path | None = None):
    return whence("related", *arguments, cwd=cwd or tree, WHENCE_DATA_DIR=str(data_dir / "command"))


def test_the_command_prints_units_best_first(tree: Path, data_dir: Path):
    done = asked(tree, data_dir, "paint/shapes.py:1", "-k", "2")
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.splitlines()[0]
    assert "lib/text.py:6-8" in first
    assert "function draw_circle" in first


def test_the_command_prints_json_with_reasons(tree: Path, data_dir: Path):
    done = asked(tree, data_dir, "paint/shapes.py:1", "--json", "--why", "-k", "3")
    found = json.loads(done.stdout)
    assert (done.returncode, found["query"], found["count"]) == (0, "paint/shapes.py:1", 3)
    first = found["results"][0]
    assert (first["path"], first["name"], first["kind"], first["best_start_line"]) == ("lib/text.py", "draw_circle", "function", 6)
    assert sum(line["contribution"] for line in first["why"]) == pytest.approx(first["score"])


def test_paths_are_the_callers(tree: Path, data_dir: Path):
    done = asked(tree, data_dir, "shapes.py:1", "--json", "-k", "1", cwd=tree / "paint")
    assert json.loads(done.stdout)["results"][0]["path"] == "../lib/text.py"


def test_the_command_takes_filters(tree: Path, data_dir: Path):
    done = asked(tree, data_dir, "lib/text.py:1", "--lang", "javascript", "--json")
    assert {one["language"] for one in json.loads(done.stdout)["results"]} == {"javascript"}
    nothing = asked(tree, data_dir, "lib/text.py:1", "--kind", "enum")
    assert nothing.returncode == 1
    assert len(nothing.stderr.splitlines()) == 1
    assert nothing.stderr.startswith("nothing found")


@each(
    ("arguments", "said"),
    [
        (("lib/text.py",), "names no line"),
        (("lib/text.py:",), "names no line"),
        (("lib/text.py:x",), "names no line"),
        ((":3",), "names no line"),
        (("lib:3",), "is a folder"),
        ((".:3",), "is a folder"),
        (("lib/text.py:0",), "line 0"),
        (("lib/text.py:1000",), "its last line is"),
        (("lib/nothing.py:1",), "no such file"),
        (("lib/text.py:1", "--lang", "klingon"), "klingon"),
        (("lib/text.py:1", "--kind", "widget"), "widget"),
        (("lib/text.py:1", "--content", "images"), "images"),
        (("lib/text.py:1", "-k", "0"), "k = 0"),
        ((), "FILE:LINE"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(tree: Path, data_dir: Path, arguments: tuple[str, ...], said: str):
    done = asked(tree, data_dir, *arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done
    assert said in done.stderr


def test_a_file_that_is_not_indexed_is_told_apart_from_one_that_is_not_there(tree: Path, data_dir: Path, tmp_path: Path):
    other = shutil.copytree(tree, tmp_path / "tree")
    write(other, {"picture.bin": b"\0\1\2", ".gitignore": "secret.py\n", "secret.py": "x = 1\n"})
    for name in ("picture.bin", "secret.py"):
        done = asked(other, data_dir, f"{name}:1")
        assert done.returncode == 2
        assert "no indexed file" in done.stderr


def test_a_file_with_a_colon_in_its_name_can_be_asked_about(tmp_path: Path, data_dir: Path):
    other = write(tmp_path / "tree", {"a:1.py": "def parse_a(text):\n    return text\n", "b.py": "def parse_b(text):\n    return text\n"})
    done = asked(other, data_dir, "a:1.py:1", "--json")
    assert done.returncode == 0, done.stderr
    assert [one["name"] for one in json.loads(done.stdout)["results"]] == ["parse_b"]


def test_words_alone_and_vectors_alone_and_a_distance_are_followed(tmp_path: Path):
    write(
        tmp_path, {f"{name}.py": f"def {name}_total(items):\n    return sum(item.price for item in items)\n" for name in ("cart", "order")}
    )
    with Index.open(tmp_path) as index:
        found = {strategy: index.related("cart.py", 1, strategy=strategy) for strategy in ("lexical", "vector")}
        assert all("order.py" in [one.path for one in results] for results in found.values())
        assert index.related("cart.py", 1, max_distance=0.0) == []


@pytest.mark.parametrize("asked", [{"pattern": "x"}, {"operator": "and"}, {"relaxation": ">1"}, {"alpha": 0.5}], ids=str)
def test_what_speaks_of_words_is_refused(tmp_path: Path, asked: dict[str, object]):
    write(tmp_path, {"cart.py": "def total():\n    return 1\n"})
    with Index.open(tmp_path) as index, pytest.raises(UsageError, match="has no part in what is related"):
        index.related("cart.py", 1, **asked)
