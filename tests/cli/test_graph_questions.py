"""`whence callers`, `callees`, `impact`, `path` and `tests`, run as a person or a program runs them (W5, A4)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sample_trees import git, whence_process, write
from whence.cli.main import main

FILES = {
    "shop/store.py": "import json\n\n\nclass Store:\n    def save(self, item):\n        return json.dumps(item)\n\n\n"
    "class FileStore(Store):\n    def save(self, item):\n        return self.flush(item)\n\n    def flush(self, item):\n        return mystery(item)\n\n\n"
    "def keep(store: Store, item):\n    return store.save(item)\n",
    "shop/cart.py": "from shop.store import Store, keep\n\n\nclass Cart:\n    def checkout(self):\n        return keep(Store(), self)\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_paying():\n    cart = Cart()\n    assert cart.checkout()\n",
}
Command = Callable[..., str]

pytestmark = pytest.mark.shared_data


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that no test changes."""
    root = write(tmp_path_factory.mktemp("tree") / "tree", FILES)
    git("init", cwd=root)
    return root


@pytest.fixture
def asked(tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in the tree and gives what it prints: on standard error where it fails."""

    def run(*arguments: str, cwd: Path = tree, code: int = 0) -> str:
        with monkeypatch.context() as here:
            here.chdir(cwd)
            assert main([*arguments]) == code
        out, err = capsys.readouterr()
        assert (out == "") == (code == 2)
        return err if code == 2 else out

    return run


def lines(text: str) -> list[list[str]]:
    """The lines of an answer in words, without the freshness at its end."""
    return [line.split() for line in text.splitlines()[:-1]]


def test_callers_are_printed_in_columns_with_provenance_confidence_and_freshness(asked):
    text = asked("callers", "keep")
    assert lines(text) == [
        ["callers", "of", "keep", "function", "shop/store.py:17"],
        ["Cart.checkout", "shop/cart.py:6", "calls", "ast_inferred", "0.70"],
        ["1", "caller,", "0", "open", "mentions,", "0", "outside"],
    ]
    assert text.splitlines()[-1].endswith("up to date")
    assert "\x1b[" not in text


def test_colour_comes_when_it_is_asked_for_and_changes_nothing_else(asked):
    for question in (["callers", "keep", "--depth", "2"], ["callees", "keep"], ["path", "test_paying", "keep"]):
        plain, coloured = asked(*question), asked(*question, "--color", "always")
        assert "\x1b[35m" in coloured
        assert lines(re.sub(r"\x1b\[\d*m", "", coloured)) == lines(plain)


def test_callers_end_with_other_uses_and_what_may_reach(asked):
    assert "other uses: 1 extends" in asked("callers", "Store")
    assert "may reach: calls Store.save" in asked("callers", "FileStore.save")
    assert ["FileStore", "shop/store.py:9", "extends", "ast_inferred", "0.70"] in lines(asked("callers", "Store", "--all-kinds"))
    assert "extends" in asked("callers", "Store", "--kind", "extends,references")


def test_every_call_of_a_name_is_a_caller_an_open_mention_or_outside(tmp_path: Path, monkeypatch, capsys):
    """Over certain callers and open mentions together, none is missing."""
    files = {
        "a.py": "class Cart:\n    def beat(self):\n        return 1\n\n\nclass Drum:\n    def beat(self):\n        return 2\n",
        "b.py": "from a import Cart\n\n\ndef sure():\n    cart = Cart()\n    return cart.beat()\n\n\ndef guessed(thing):\n    return thing.beat()\n",
        "c.py": "from music import beat\n\n\ndef play():\n    return beat()\n",
    }
    monkeypatch.chdir(write(tmp_path / "tree", files))
    assert main(["callers", "Cart.beat"]) == 0
    text = capsys.readouterr().out
    assert "1 caller, 1 open mention, 1 outside" in text
    assert text.index("sure  b.py:6") < text.index("open mentions") < text.index("guessed  b.py:10  one of a.py#Cart.beat, a.py#Drum.beat")
    assert main(["callers", "Cart.beat", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["answers"][0]
    assert found["counts"] == {"callers": 1, "open": 1, "outside": 1}
    assert [(one["qualified_name"], one["candidates"]) for one in found["results"]] == [
        ("sure", []),
        ("guessed", ["a.py#Cart.beat", "a.py#Drum.beat"]),
    ]


def test_callees_end_with_where_the_graph_stops(asked):
    assert lines(asked("callees", "Store", code=1)) == [
        ["called", "by", "Store", "class", "shop/store.py:4"],
        ["nothing"],
        ["calls", "that", "lead", "to", "nothing", "here:"],
        ["json.dumps", "shop/store.py:6", "imported", "from", "outside"],
        ["the", "graph", "stops", "at", "1", "call,", "1", "of", "them", "out", "of", "this", "repository"],
    ]
    assert "mystery  shop/store.py:14  not defined here" in asked("callees", "FileStore.flush", code=1)


def test_impact_counts_by_distance_and_lists_tests_apart(asked):
    text = asked("impact", "Store")
    assert "code: " in text
    assert "at distance 1" in text
    assert text.index(" tests: 1 at distance 2") < text.index("test_paying")


def test_a_limit_leaves_the_rest_out_and_says_how_many(asked):
    found = json.loads(asked("impact", "Store", "--limit", "1", "--json"))["answers"][0]
    assert len(found["results"]) == 2  # one of the code, one of the tests
    assert found["left_out"] == found["count"] - 2 > 0
    assert f"and {found['count'] - 2} more: --limit" in asked("impact", "Store", "--limit", "1")


def test_tests_are_printed_with_their_distance(asked):
    assert ["2", "test_paying", "tests/test_cart.py:6", "calls", "ast_inferred", "0.70", "through", "Cart.checkout"] in lines(
        asked("tests", "keep")
    )
    assert lines(asked("tests", "FileStore.flush", "--depth", "1", code=1))[1] == ["nothing"]


def test_a_path_is_printed_step_by_step(asked):
    assert lines(asked("path", "test_paying", "keep")) == [
        ["test_paying"],
        ["-calls->", "Cart.checkout", "tests/test_cart.py:6", "ast_inferred", "0.70"],
        ["-calls->", "keep", "shop/cart.py:6", "ast_inferred", "0.70"],
    ]


def test_where_there_is_no_path_that_is_the_answer(asked):
    assert "no path from keep to test_paying within 12 steps; the other way there is one of 2" in asked(
        "path", "keep", "test_paying", code=1
    )
    found = json.loads(asked("path", "test_paying", "keep", "--steps", "1", "--json", code=1))
    assert (found["found"], found["steps"], found["way_back"]) == (False, [], None)


def test_several_symbols_of_a_name_are_listed_and_not_answered(asked):
    assert asked("callers", "save", code=2) == (
        "whence: 2 symbols are called 'save'; write one of these, or --all:\n"
        "  shop/store.py#Store.save      method     shop/store.py:5\n"
        "  shop/store.py#FileStore.save  method     shop/store.py:10\n"
    )


def test_all_answers_for_each_symbol_of_a_name(asked):
    answers = json.loads(asked("callers", "save", "--all", "--json"))["answers"]
    assert [one["symbol"]["name"] for one in answers] == ["Store.save", "FileStore.save"]
    assert [[result["qualified_name"] for result in one["results"]] for one in answers] == [["keep"], ["keep"]]
    assert asked("callers", "save", "--all").count("callers of ") == 2
    assert "-calls->" in asked("path", "keep", "save", "--all")


@pytest.mark.parametrize("command", ["callers", "callees", "impact", "tests"])
def test_a_name_that_nothing_bears_is_refused_with_the_nearest(asked, command):
    assert asked(command, "Store.sav", code=2) == "whence: no such symbol: 'Store.sav'; nearest: Store.save, FileStore.save\n"
    assert asked(command, "json.dumps", code=2).startswith("whence: 'json.dumps' is called in 1 place, not defined in this repository")


def test_a_path_to_a_name_that_nothing_bears_is_refused(asked):
    assert "no such symbol: 'kep'; nearest: keep" in asked("path", "test_paying", "kep", code=2)


def test_letters_of_another_case_are_answered_with_a_note(tree, monkeypatch, capsys):
    monkeypatch.chdir(tree)
    assert main(["callers", "KEEP"]) == 0
    out, err = capsys.readouterr()
    assert "Cart.checkout" in out
    assert err == "whence: nothing is written 'KEEP'; answering for keep\n"


def test_wrong_options_are_refused(asked):
    assert "kind of edge 'call'" in asked("callers", "keep", "--kind", "call", code=2)
    assert "--depth" in asked("callers", "keep", "--depth", "0", code=2)
    assert "--limit" in asked("callers", "keep", "--limit", "0", code=2)


def test_json_has_one_form_for_every_question(asked):
    for command in ("callers", "callees", "impact", "tests"):
        told = json.loads(asked(command, "Cart.checkout", "--json"))
        assert told["question"] == command
        (answer,) = told["answers"]
        assert answer["symbol"] == {
            "key": "shop/cart.py#Cart.checkout",
            "name": "Cart.checkout",
            "kind": "method",
            "path": "shop/cart.py",
            "line": 5,
            "definitions": 1,
        }
        assert {"count", "left_out", "results", "by_name", "stops"} <= answer.keys()
        assert {"qualified_name", "path", "line", "kind", "provenance", "confidence", "distance", "through", "note"} <= answer["results"][
            0
        ].keys()
        assert told["index"]["freshness"]["fresh"]


def test_paths_are_those_of_the_caller_and_a_symbol_may_be_given_by_its_place(asked, tree):
    assert "shop/cart.py:6" in asked("callers", "shop/store.py:17")
    below = asked("callers", "store.py#keep", cwd=tree / "shop")
    assert ["Cart.checkout", "cart.py:6", "calls", "ast_inferred", "0.70"] in lines(below)
    assert "../shop/cart.py:6" in asked("callers", "../shop/store.py:17", cwd=tree / "tests")
    assert "shop/cart.py:6" in asked("callers", "keep", "--path", str(tree), cwd=tree.parent)


def test_an_answer_of_an_old_index_says_so_and_a_fresh_one_sees_the_edit(tmp_path, asked):
    root = write(tmp_path / "tree", FILES)
    asked("callers", "keep", cwd=root)
    write(root, {"shop/late.py": "from shop.store import keep\n\n\ndef late():\n    return keep(None, 1)\n"})
    assert "1 files changed since" in (old := asked("callers", "keep", "--no-refresh", cwd=root))
    assert "late" not in old
    assert ["late", "shop/late.py:5", "calls", "ast_inferred", "0.70"] in lines(asked("callers", "keep", cwd=root))


def test_a_real_process_prints_on_standard_output_and_ends_with_its_code(tree):
    done = whence_process("callers", "keep", cwd=tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Cart.checkout  shop/cart.py:6  calls  ast_inferred 0.70" in done.stdout
    done = whence_process("callers", "kep", cwd=tree)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "whence: no such symbol: 'kep'; nearest: keep\n"
