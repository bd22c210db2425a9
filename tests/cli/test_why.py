"""`whence why` explains the answer that `whence search` gives, and what is missing from it."""

from __future__ import annotations

import itertools
import json

import pytest

from campaigns import some
from sample_trees import git, whence, write

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


SHOP = {
    "web/cart.py": "def add_to_cart(item):\n    return total(item)\n\n\ndef total(item):\n    return item.price\n",
    "web/order.py": "from web.cart import total\n\n\ndef order_total(cart):\n    return total(cart)\n",
    "lib/cart.js": "function cartTotal(cart) {\n  return total(cart)\n}\n\nfunction total(cart) {\n  return cart.price\n}\n",
    "lib/prices.py": "from web.cart import total\n\n\ndef price(cart):\n    return total(cart)\n",
    "docs/cart.md": "# Total\n\nHow the total of a cart is found.\n",
}
OPTIONS = (
    (), ("--content", "all"), ("--lang", "js"), ("--include", "web/**"), ("--exclude", "lib/*"), ("--kind", "function"), ("web",),
    ("web", "lib/cart.js"), ("-e", "total.cart"), ("-e", "TOTAL", "-i", "-w"), ("--profile", "classic"), ("--operator", "and"),
    ("--strategy", "lexical"), ("--plain",),
)  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    root = write(tmp_path_factory.mktemp("shop"), SHOP)
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "a shop with carts")):
        git(*command, cwd=root)
    return root


@pytest.mark.parametrize(
    ("query", "options"),
    some(itertools.product(["cart total", "total lang:py", "total -order", '"total(cart)"'], OPTIONS)),
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_why_explains_exactly_the_answer_of_the_search_with_the_same_words_and_options(shop, query, options):
    found = json.loads(whence("search", query, *options, "--json", cwd=shop).stdout)["results"]
    for rank, result in enumerate(found, 1):
        why = json.loads(whence("why", query, result["path"], *options, "--json", cwd=shop).stdout)
        assert (why["rank"], why["score"]) == (rank, pytest.approx(result["score"]))


def test_a_file_that_an_option_leaves_out_says_which(shop):
    done = whence("why", "total", "lib/cart.js", "--lang", "python", cwd=shop)
    assert (done.returncode, done.stdout) == (2, "")
    assert "only python is searched, and this is javascript" in done.stderr
    for options, said in ((("web",), "does not lie in web"), (("--kind", "class"), "has no class"), (("-e", "nothing"), "no line of it")):
        done = whence("why", "total", "lib/cart.js", *options, cwd=shop)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_questions_about_symbols_take_the_paths_and_filters_of_a_search(shop):
    def paths(*arguments):
        return {one["path"] for one in json.loads(whence(*arguments, "--json", cwd=shop).stdout)["answers"][0]["results"]}

    total = ("callers", "web/cart.py#total")
    assert paths(*total) == {"web/cart.py", "web/order.py", "lib/prices.py"}
    assert paths(*total, "web") == {"web/cart.py", "web/order.py"}
    assert paths(*total, "--exclude", "web/*") == {"lib/prices.py"}
    assert paths("impact", "web/cart.py#total", "--include", "lib/*") == {"lib/prices.py"}
    assert whence(*total, "--lang", "js", cwd=shop).returncode == 1
    assert whence(*total, "--lang", "qqqq", cwd=shop).returncode == 2


def test_context_and_related_take_paths_and_filters(shop):
    def files(*arguments):
        return {
            one["path"]
            for one in json.loads(whence(*arguments, "--json", cwd=shop).stdout)["symbols" if arguments[0] == "context" else "results"]
        }

    assert {"web/cart.py", "lib/cart.js"} <= files("context", "the total of a cart", "--list")
    assert files("context", "the total of a cart", "web", "--list") == {"web/cart.py", "web/order.py"}
    assert files("context", "the total of a cart", "--lang", "javascript", "--list") == {"lib/cart.js"}
    assert files("context", "the total of a cart", "web", "lib/prices.py", "--exclude", "order.py", "--list") <= {
        "web/cart.py",
        "lib/prices.py",
    }
    assert "lib/cart.js" in files("related", "web/cart.py:5")
    assert files("related", "web/cart.py:5", "lib", "--lang", "py") == {"lib/prices.py"}
