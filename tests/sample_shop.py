"""A small shop with a cart: the project that the servers' tests ask about."""

from __future__ import annotations

from pathlib import Path

from sample_trees import git, write

FILES = {
    "shop/cart.py": '''"""The shopping cart."""

from shop.price import discount


class Cart:
    """What a customer is about to buy."""

    def add(self, article, count=1):
        """Put an article into the cart."""
        self.lines.append((article, count))

    def total(self):
        """The sum of all prices, discounts taken off."""
        return sum(discount(article.price, count) for article, count in self.lines)
''',
    "shop/price.py": '''"""Prices."""

RATE = 0.1


def discount(price, count):
    """The price of some pieces, less for many."""
    return price * count * (1 - RATE if count > 10 else 1)
''',
    "shop/checkout.py": '''"""Paying."""

from shop.cart import Cart


def pay(cart: Cart, card):
    """Charge the card with the total of the cart."""
    return card.charge(cart.total())


def receipt(cart: Cart):
    """Print what was bought."""
    return f"total: {cart.total()}"
''',
    "tests/test_cart.py": """from shop.cart import Cart


def test_the_total_is_the_sum():
    cart = Cart()
    assert cart.total() == 0
""",
    "README.md": "# Shop\n\nA shop for walruses: herring, clams and ice.\n",
}


def make_project(place: Path) -> Path:
    """A repository with one commit."""
    root = write(place, FILES)
    git("init", "-q", cwd=root)
    git("add", ".", cwd=root)
    git("commit", "-qm", "A shop with a cart", cwd=root)
    return root
