"""The shop's public names."""

from shop.app import create_app
from shop.cart.cart import Cart

__all__ = ["Cart", "create_app"]
