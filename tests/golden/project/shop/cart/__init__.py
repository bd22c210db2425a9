"""Carts and discounts."""

from shop.cart.cart import Cart
from shop.cart.discount import Discount

__all__ = ["Cart", "Discount"]
