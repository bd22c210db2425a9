"""Names that are not written to their end, completed in a small real tree."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sample_trees import write
from whence import Index

FILES = {
    "shop/cart.py": """class Cart:
    def total(self):
        return sum_of(self)

    def tot(self):
        return sum_of(self)


class Basket:
    def total(self):
        return 0


def sum_of(cart):
    return 0


def subtotal(cart: Cart):
    return cart.total()
""",
    "tests/test_cart.py": "def test_total():\n    pass\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    place = tmp_path_factory.mktemp("completed")
    with Index.open(write(place / "tree", FILES), data_dir=place / "data") as opened:
        yield opened


def names(index: Index, text: str, most: int = 20) -> list[str]:
    return [one.key.rpartition("#")[2] for one, _ in index.completed(text, most)]


def test_a_name_that_is_the_text_comes_before_one_that_begins_with_it_and_one_that_holds_it(index):
    assert names(index, "tot") == ["Cart.tot", "Cart.total", "Basket.total", "subtotal"]


def test_case_does_not_matter(index):
    assert names(index, "CART") == ["Cart"]


def test_points_stand_between_the_parts_of_a_name(index):
    assert names(index, "Cart.to") == ["Cart.total", "Cart.tot"]  # the more used first
    assert names(index, "basket.") == ["Basket.total"]


def test_a_file_may_stand_before_the_name(index):
    assert names(index, "cart.py#sum") == ["sum_of"]
    assert names(index, "other.py#sum") == []


def test_no_text_gives_the_most_used(index):
    found = index.completed("", 20)
    uses = [count for _, count in found]
    assert uses == sorted(uses, reverse=True)
    assert found[0][0].name == "sum_of"


def test_tests_are_not_offered(index):
    assert names(index, "test") == []


def test_no_more_are_offered_than_asked(index):
    assert names(index, "t", 2) == names(index, "t")[:2]
