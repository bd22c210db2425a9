"""Pinned rankings of symbols: what a change of any signal or weight does to the answers of tasks is read as a diff of one file."""

from __future__ import annotations

import shutil
from pathlib import Path

from conftest import Golden
from whence import Index
from whence.context.pack import ContextPack

HERE = Path(__file__).parent
TASKS = [
    "add a timeout to the payment gateway",
    "cart total is wrong when two discounts apply",
    "Where is the configuration read, and what may override it?",
    "`Cart.add_item` should refuse a quantity below one",
    "show the price in the visitor's currency on the checkout button",
    "give every parcel a tracking number",
    "tests of the cart",
]


def listing(title: str, pack: ContextPack) -> str:
    lines = (f"{at:>3}  {one.score:>6.2f}  {one.qualified_name:<28} {one.path}:{one.start_line}" for at, one in enumerate(pack.symbols, 1))
    return "\n".join([title, *lines]) + "\n"


def test_symbols_are_ranked_as_they_were_when_last_looked_at(tmp_path, golden: Golden):
    shutil.copytree(HERE / "project", tmp_path / "project")
    with Index.open(tmp_path / "project") as index:
        told = [
            listing(f"[{profile}] {task}", index.context(task, profile=profile)) for profile in ("default", "classic") for task in TASKS
        ]
        told += [listing(f"[files] {path}", index.context(files=[path])) for path in ("shop/config.py", "shop/cart")]
    golden(HERE / "symbols.txt", "\n".join(told))
