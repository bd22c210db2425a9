"""`whence bench graph`: which calls are asked about, and what counts as right, wrong, missing and open."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sample_trees import write
from whence.graph.enrich.definitions import Outline
from whence_bench.graph.answers import Sample, sampled
from whence_bench.graph.call_sites import call_sites
from whence_bench.graph.run import Score, as_json, as_text, by_language, run

CALLS = {
    "python": (b"def f(x):\n    g(1).h(k(2))\n    a.b.c()\n    @d(3)\n    def z(): pass\n", "g h k c d"),
    "typescript": (b"function f(x: A) { g(1).h(k(2)); a?.b(3); new Foo<X>(1); bar<T>(2); new ns.Bar() }", "g h k b Foo bar Bar"),
    "go": (b"package a\nfunc f(x int) { g(1).h(k(2)); pkg.F(1); G[int](2) }", "g h k F"),
    "c": (b"int f(int x);\nint f(int x) { return g(x) + s->cb(1); }\n", "g cb"),
    "cpp": (b"void A::f() { g<int>(1); ns::h(2); a.b(3); p->c<int>(4); }", "g h b c"),
    "rust": (b"fn f() { g(1); A::new(2); x.y(3).z::<T>(4); }", "g new y z"),
}


@pytest.mark.parametrize("language", CALLS)
def test_calls_are_found_in_the_syntax_and_definitions_are_not_calls(language: str) -> None:
    """A call whence overlooks must be asked about all the same."""
    text, names = CALLS[language]
    assert [site.name for site in call_sites(text, language)] == names.split()


def test_the_same_files_are_sampled_at_every_run() -> None:
    """In whatever order they come."""
    paths = [f"{at}.py" for at in range(50)]
    assert sampled(paths, 5) == sampled(paths[::-1], 5)
    assert len(sampled(paths, 5)) == 5


SHOP = {
    "a.py": "class Cart:\n    def add(self, item):\n        return item\n\n\nclass Stock:\n    def add(self, item):\n        return item\n",
    "b.py": "from a import Cart\n\n\ndef total():\n    return 1\n\n\ndef fill(things):\n    total()\n    for cart in things:\n        cart.add(1)\n",
    "c.py": "import json\n\nfrom b import fill, total\n\n\ndef run():\n    fill([])\n    total()\n    json.dumps({})\n",
    "d.py": "X = 1\n",
    "e.py": "Y = 1\n",
}


def _stored(root: Path, place: Path, answers: dict[str, list[tuple[str, list[tuple[str, str]] | None]]]) -> Path:
    """Answers as a server gave them: of each call, the definitions as (path, text before the name)."""
    import hashlib

    stored = {}
    for path, calls in answers.items():
        text = (root / path).read_bytes()
        sites = {site.name: site.at for site in call_sites(text, "python")}
        stored[path] = {
            "text": hashlib.sha256(text).hexdigest(),
            "answers": [
                {
                    "name": name,
                    "at": sites[name],
                    "known": places is not None,
                    "places": [
                        {"path": where, "at": (root / where).read_text().index(before) + len(before)} for where, before in places or []
                    ],
                }
                for name, places in calls
            ],
        }
    place.mkdir()
    (place / f"{root.name}-python.json").write_text(json.dumps(stored))
    return place


def _score(root: Path, stored: Path) -> Score:
    scores = run([root], ("python",), Sample(10, 60), None, stored, {"python": sys.executable + " -c ''"}, lambda *_: None, lambda _: None)
    return scores[0]


def test_a_call_the_graph_resolved_is_right_and_a_guessed_one_open(tmp_path: Path) -> None:
    """What lies outside is no expected pair; a call of unknown type is open, not missing."""
    root = write(tmp_path / "shop", SHOP)
    answers = _stored(
        root,
        tmp_path / "answers",
        {
            "b.py": [("total", [("b.py", "def ")]), ("add", [("a.py", "class Cart:\n    def ")])],
            "c.py": [("fill", [("b.py", "1\n\n\ndef ")]), ("total", [("b.py", "def ")]), ("dumps", [])],
        },
    )
    score = _score(root, answers)
    assert (score.expected, score.sure, score.open, score.right, score.wrong) == (4, 3, 1, 3, 0)
    assert [pair.call for pair in score.open_edges] == ["add"]


def test_an_edge_to_another_definition_than_the_server_named_is_wrong(tmp_path: Path) -> None:
    """And the call it stands for is missing."""
    root = write(tmp_path / "shop", SHOP)
    answers = _stored(root, tmp_path / "answers", {"c.py": [("fill", [("a.py", "class Cart:\n    def ")]), ("total", None)]})
    score = _score(root, answers)
    assert (score.expected, score.sure, score.open, score.right, score.wrong, score.unchecked) == (1, 0, 0, 0, 1, 1)
    assert score.missing_edges[0].meant == "a.py#Cart.add"
    assert "1.000" not in as_text([score])
    assert as_json([score])["languages"]["python"]["precision"] == 0.0


def test_repositories_of_a_language_are_added_up() -> None:
    """Pairs are counted, so a large repository weighs more."""
    scores = [Score("a", "go", right=9, wrong=1, expected=10, sure=5), Score("b", "go", right=0, wrong=10, expected=10, open=5)]
    assert by_language(scores)["go"].shares() == (0.45, 0.25, 0.5)


@pytest.mark.process
def test_answers_come_from_a_language_server_and_are_stored(tmp_path: Path) -> None:
    """Tests of a package under `src` find it, though it is not installed."""
    files = {
        "src/shop/__init__.py": "",
        "src/shop/cart.py": "def total(items):\n    return sum(items)\n",
        "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n",
        "tests/test_other.py": "X = 1\n",
        "tests/test_more.py": "Y = 1\n",
        "tests/test_last.py": "Z = 1\n",
    }
    root = write(tmp_path / "shop", files)
    scores = run([root], ("python",), Sample(10, 60), None, tmp_path / "answers", {}, lambda *_: None, pytest.fail)
    assert (scores[0].expected, scores[0].sure, scores[0].wrong) == (1, 1, 0)
    stored = json.loads((tmp_path / "answers" / "shop-python.json").read_text())
    called = {one["name"]: one["places"] for one in stored["tests/test_cart.py"]["answers"]}
    assert called["total"] == [{"path": "src/shop/cart.py", "at": 4}]
    assert Outline("src/shop/cart.py", (root / "src/shop/cart.py").read_bytes(), "python").definition_at(4) is not None
