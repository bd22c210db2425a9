"""`whence why` explains the answer that `whence search` gives, and what is missing from it."""

from __future__ import annotations

import json

import pytest

from sample_trees import whence, write

TREE = {
    "shop/cart.py": "class Cart:\n    def add(self, item):\n        return item\n",
    "docs/cart.md": "# The cart\n\nHow a cart is filled.\n",
    ".gitignore": "made/\n",
    "made/cart.py": "class MadeCart:\n    pass\n",
}


@pytest.fixture
def tree(tmp_path):
    return write(tmp_path / "tree", TREE)


def test_rank_and_score_are_those_of_the_search(tree):
    first = json.loads(whence("search", "cart", "--json", cwd=tree).stdout)["results"][0]
    why = json.loads(whence("why", "cart", first["path"], "--json", cwd=tree).stdout)
    assert (why["rank"], why["score"]) == (1, pytest.approx(first["score"]))


def test_a_file_that_a_search_leaves_out_is_ranked_among_all_and_that_is_said(tree):
    done = whence("why", "cart", "docs/cart.md", cwd=tree)
    assert done.returncode == 0
    assert "a search leaves it out: only code is searched, and this is docs" in done.stderr


def test_an_ignored_file_names_the_rule_that_ignores_it(tree):
    done = whence("why", "cart", "made/cart.py", cwd=tree)
    assert done.returncode == 2
    assert "ignored by .gitignore" in done.stderr
