"""Why something is not in an answer: it is left out of the index, or the query keeps it out; and what it lacks where it is ranked."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from sample_trees import whence, write
from small_cases import each
from whence import Index

FILES = {
    "shop/cart.py": 'class Cart:\n    """A cart of articles."""\n\n    def total(self):\n        """The total of the cart."""\n        return 1\n',
    "shop/stock.py": "def count(article):\n    return article.pieces\n",
    "web/cart.ts": "export function total(cart) { return cart.sum }\n",
    "docs/cart.md": "# The cart\n\nIts total is a sum.\n",
    "notes/cart.py": "def keep(cart):\n    return cart\n",
    ".gitignore": "build/\nlocal.py\n",
    "build/cart.py": "cart = total\n",
    "local.py": "cart = total\n",
    "large.py": "x = 1\n" * 400,
    "picture.py": "cart\0total\0\0\0",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = write(tmp_path_factory.mktemp("absence") / "shop", FILES)
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data"), settings={"index.max_file_bytes": 2000}) as opened:
        yield opened


@each(
    ("target", "kind", "said"),
    [
        ("local.py", "left_out", "local.py is not indexed: ignored by .gitignore"),
        ("build/cart.py", "left_out", "it lies in build/, which is left out"),
        ("build/cart.py:3", "left_out", "it lies in build/"),
        ("build", "left_out", "build/ is not indexed"),
        ("large.py", "left_out", "larger than 2000 bytes"),
        ("picture.py", "left_out", "binary"),
        ("build/none.py", "unknown", "no indexed file or symbol"),
        ("build/../../../etc/hostname", "unknown", "no indexed file or symbol"),
        ("build/\0", "unknown", "no indexed file or symbol"),
        ("build/" + 300 * "x", "unknown", "no indexed file or symbol"),
        ("Cartt", "unknown", "no indexed file or symbol"),
        ("docs/cart.md", "kept_out", "only code is searched, and this is docs"),
    ],
)
def test_what_is_not_in_the_answer_has_a_reason(index, target, kind, said):
    found = index.absence("cart total", target)
    assert found is not None
    assert (found.kind, said in found.message) == (kind, True), found


def test_a_name_that_nothing_bears_is_answered_with_the_nearest(index):
    assert index.absence("cart total", "Cartt").hint == "nearest: Cart"


@each(
    ("query", "unmet"),
    [
        ("total path:web", ("path:web",)),
        ("total lang:typescript kind:field", ("lang:typescript", "kind:field")),
        ("total -articles", ("not articles",)),
        ('"no such words" total lang:go', ("lang:go",)),
    ],
)
def test_the_conditions_that_keep_a_file_out_are_named(index, query, unmet):
    found = index.absence(query, "shop/cart.py")
    assert found is not None
    assert (found.kind, found.unmet) == ("kept_out", unmet)


def test_conditions_that_hold_one_by_one_but_not_together_are_told_as_such(index):
    found = index.absence("cart kind:class sym:total", "shop/cart.py")
    assert found.message.startswith("no one part of it meets all of")


def test_what_is_ranked_is_not_absent(index):
    assert index.absence("cart total", "shop/cart.py") is None
    assert index.absence("cart in:docs", "docs/cart.md") is None


def test_what_a_file_lacks_adds_up_to_the_difference_of_the_scores(index):
    results = index.search("cart total", k=2)
    for profile in ("default", "classic", "semantic"):
        rival = index.rival("cart total", "shop/stock.py", k=2, profile=profile)
        mine = index.why("cart total", "shop/stock.py", k=2, profile=profile)
        assert rival is not None
        assert sum(gap.theirs - gap.mine for gap in rival.gaps) == pytest.approx(rival.score - mine.score)
        assert [abs(gap.theirs - gap.mine) for gap in rival.gaps] == sorted((abs(g.theirs - g.mine) for g in rival.gaps), reverse=True)
    rival = index.rival("cart total", "shop/stock.py", k=2)
    assert (rival.path, rival.place, rival.score) == (results[1].path, 2, results[1].score)


def test_a_file_that_is_shown_is_compared_with_the_first_and_the_first_with_nothing(index):
    first, second = index.search("cart total", k=2)
    assert index.rival("cart total", second.path).path == first.path
    assert index.rival("cart total", first.path) is None


@each("k", [1, 3, 10])
@each("query", ["cart total", "sym:total cart", "total kind:function"])
def test_a_receipt_has_the_score_and_the_place_that_the_search_shows(index, query, k):
    for place, result in enumerate(index.search(query, k=k), 1):
        why = index.why(query, result.path, k=k)
        assert (why.rank, why.score) == (place, result.score)


# What filters removed.
@each(
    ("query", "options", "said"),
    [
        ("sum", {"content": "config"}, "0 of 2 matching files are config; use --content all or in:all to see them"),
        ("count", {"languages": ("go",)}, "0 of 1 matching files are go; drop --lang to see them"),
        ("total", {"languages": ("python",)}, "1 of 2 matching files are python; drop --lang to see them"),
        ("total", {"kinds": ("constant",)}, "0 of 2 matching files match in a constant; drop --kind to see them"),
        ("total", {"include": ("*.rb",)}, "0 of 2 matching files match *.rb; drop --include to see them"),
        ("count", {"exclude": ("shop/**",)}, "0 of 1 matching files do not match shop/**; drop --exclude to see them"),
        ("count", {"paths": ("web",)}, "0 of 1 matching files are in web; drop the path to see them"),
        ("count lang:go", {}, "0 of 1 matching files meet lang:go; drop lang:go to see them"),
        ('"the cart" in:config', {}, "0 of 2 matching files meet in:config; drop in:config to see them"),
        ("total path:shop/** lang:typescript", {}, "0 of 2 matching files meet path:shop/** (1) and meet lang:typescript (1); drop "),
        ("", {"pattern": "Its total", "content": "code"}, "0 of 1 matching files are code; use --content all or in:all to see them"),
        ("total", {"content": "docs", "languages": ("go",)}, "0 of 3 matching files are docs (1) and are go (0); drop --lang and use"),
    ],
)
def test_filters_say_what_they_removed_from_an_answer_that_is_empty_or_short(words, query, options, said):
    answer = words.search(query, **options)
    assert [note for note in answer.notes if "matching files" in note and note.startswith(said)], answer.notes


@each(
    ("query", "options"),
    [("total", {}), ("total", {"languages": ("python", "typescript")}), ("nosuchword", {"languages": ("go",)}), ("cart -path:web", {})],
)
def test_filters_that_removed_nothing_say_nothing(words, query, options):
    assert not [note for note in words.search(query, **options).notes if "matching files" in note]


def test_what_the_usual_content_removed_is_said_where_nothing_is_found(words):
    assert words.search("sum", paths=("docs",)).notes[-1].startswith("0 of 2 matching files are code (1) and are in docs (1)")


def test_every_front_end_says_it(tmp_path):
    root = write(tmp_path / "shop", FILES)
    done = whence("search", "total lang:go", "--json", cwd=root)
    assert json.loads(done.stdout)["remarks"][-1].startswith("0 of 2 matching files meet lang:go")
    done = whence("search", "total", "--lang", "go", cwd=root)
    assert (done.returncode, "0 of 2 matching files are go; drop --lang to see them" in done.stderr) == (1, True)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The same, searched by words alone: vectors find something that is near."""
    root = write(tmp_path_factory.mktemp("words") / "shop", FILES)
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data"), settings={"index.model": "none"}) as opened:
        yield opened
