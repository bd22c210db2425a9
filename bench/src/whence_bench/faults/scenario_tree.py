"""A small repository of several languages whose files call one another, before and after a day's work."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_CART = '''"""The cart of a shop."""

from shop.prices import price_of


class Cart:
    """What somebody wants to buy."""

    def __init__(self, things):
        self.things = things

    def total_price(self):
        """The price of all things in the cart."""
        return sum(price_of(thing) for thing in self.things)


def empty(cart):
    cart.things.clear()
'''
_PRICES = '''PRICES = {"apple": 3}


def price_of(thing):
    """The price of one thing, from the list of prices."""
    return PRICES.get(thing, 0)


def read_prices(lines):
    return {name: int(price) for name, price in map(str.split, lines)}
'''
_STOCK = '''from shop.prices import read_prices


def parse_stock(text):
    """How many of each thing there are."""
    return read_prices(text.splitlines())


def is_sold_out(stock, thing):
    return not stock.get(thing)
'''
_TEST = """from shop.cart import Cart


def test_an_empty_cart_costs_nothing():
    assert Cart([]).total_price() == 0
"""
_RETRY = """package server

// Retry does a request again when it failed.
func Retry(times int, request func() error) error {
	var err error
	for i := 0; i < times; i++ {
		if err = request(); err == nil {
			return nil
		}
	}
	return err
}
"""
_SERVE = """package server

func Serve(request func() error) error {
	return Retry(3, request)
}
"""
_WEB_CART = """import { render } from './render.js';

export function showCart(cart) {
  return render('cart', cart.things);
}
"""
_RENDER = """export function render(name, things) {
  return `<${name}>${things.join(', ')}</${name}>`;
}
"""
_LIB = """mod parse;

pub struct Stock { pub count: u32 }

pub fn load(text: &str) -> Stock {
    parse::parse_stock(text)
}
"""
_PARSE = """use crate::Stock;

/// Reads a number of things.
pub fn parse_stock(text: &str) -> Stock {
    Stock { count: text.trim().parse().unwrap_or(0) }
}
"""
FIRST: Mapping[str, str] = {
    "shop/__init__.py": '"""A shop."""\n',
    "shop/cart.py": _CART,
    "shop/prices.py": _PRICES,
    "core/src/lib.rs": _LIB,
    "core/src/parse.rs": _PARSE,
}
SECOND: Mapping[str, str] = {
    "shop/stock.py": _STOCK,
    "tests/test_cart.py": _TEST,
    "server/retry.go": _RETRY,
    "server/serve.go": _SERVE,
}
THIRD: Mapping[str, str] = {
    "web/cart.js": _WEB_CART,
    "web/render.js": _RENDER,
    "docs/guide.md": "# Guide\n\nThe cart is rendered on the web; a failed request is tried again.\n",
    "settings.toml": '[shop]\nname = "corner"\n',
}
_DISCOUNT = '''from shop.cart import Cart


def discounted(cart: Cart, share):
    """The total price of a cart, less a discount."""
    return cart.total_price() * (1 - share)
'''


def write_tree(root: Path) -> Path:
    """Make the repository, in three commits."""
    root.mkdir(parents=True)
    git(root, "init", "-q")
    for number, (files, message) in enumerate(
        ((FIRST, "The cart knows its total price"), (SECOND, "Retry requests that failed"), (THIRD, "Render the cart on the web")), 1
    ):
        _write(root, files)
        commit(root, message, number)
    return root


def change_tree(root: Path, *, committed: bool = True) -> None:
    """A day's work: a file edited, one added, one deleted, one renamed; and a commit of it."""
    _write(root, {"shop/cart.py": _CART.replace("cart.things.clear()", "cart.things = []  # a new list"), "shop/discount.py": _DISCOUNT})
    (root / "web" / "render.js").unlink()
    (root / "server" / "retry.go").rename(root / "server" / "again.go")
    if committed:
        commit(root, "A discount on the total price", 4)


def _write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def commit(root: Path, message: str, day: int) -> None:
    """Commit all there is, always at the same time."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message, when=f"2026-11-{day:02d}T12:00:00+00:00")


def git(root: Path, *arguments: str, when: str = "") -> None:
    """Run git as nobody in particular, whatever its user has set."""
    who = {
        f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
    }
    dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when} if when else {}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "init.defaultBranch=main", "-c", "gc.auto=0", *arguments]
    subprocess.run(command, cwd=root, env={**os.environ, **who, **dates, **alone}, check=True, capture_output=True)
