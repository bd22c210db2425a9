"""Tests of the cart."""

from shop.cart.cart import Cart
from shop.cart.discount import Discount


def test_total_of_a_cart_with_a_discount():
    cart = Cart()
    cart.add_item("lamp", 1000, quantity=2)
    cart.discounts.append(Discount("SPRING", 10))
    assert cart.total() == 1800


def test_an_item_can_be_removed():
    cart = Cart()
    cart.add_item("lamp", 1000)
    cart.remove_item("lamp")
    assert cart.total() == 0
