"""Pinned rankings: what a change of any signal or weight does to real answers is read as a diff of one file."""

from __future__ import annotations

import shutil
from pathlib import Path

from conftest import Golden
from whence import Index, SearchResult
from whence.ranking.ledger import LedgerLine

HERE = Path(__file__).parent
QUERIES: list[tuple[str, dict[str, object]]] = [
    ("parse the configuration file", {}),
    ("retry failed payments with backoff", {}),
    ("add_item", {}),
    ("Cart", {}),
    ("cart total with discount", {}),
    ("tests of the cart", {}),
    ("format a price as text", {}),
    ("add a timeout to the payment gateway", {}),
    ("tracking number of a parcel", {"content": "all"}),
    ("order items table", {}),
    ("checkout button disabled while the cart is empty", {}),
    ("cart", {"languages": ("typescript",)}),
    ("cart item quantity price", {"operator": "and"}),
    ("cart item quantity warehouse", {"operator": "and", "relaxation": ">1"}),
]


def listing(index: Index, profile: str) -> str:
    parts = []
    for query, options in QUERIES:
        said = "".join(f"  {name}={value}" for name, value in options.items())
        found = index.search(query, profile=profile, k=20, **options)
        parts.append("\n".join([f"[{profile}] {query}{said}", *(line(place, result) for place, result in enumerate(found, 1))]))
    return "\n\n".join(parts) + "\n"


def line(place: int, result: SearchResult) -> str:
    moved = [entry for entry in result.why if entry.contribution != (1.0 if entry.operation == "x" else 0.0)]
    top = sorted(moved, key=lambda entry: (-abs(entry.contribution), entry.signal))[:3]
    reasons = ", ".join(f"{entry.signal} {_signed(entry)}" for entry in top)
    matched = f"  matched: {result.matched}" if result.matched else ""
    span = f"{result.path}:{result.start_line}-{result.end_line}"
    return f"{place:>3}  {span:<48} {result.kind:<10} {result.name or '-':<24} {result.score:>8.3f}  {reasons}{matched}"


def _signed(entry: LedgerLine) -> str:
    return f"x {entry.contribution:.3f}" if entry.operation == "x" else f"{entry.contribution:+.3f}"


def test_rankings_are_as_they_were_when_last_looked_at(tmp_path, golden: Golden):
    shutil.copytree(HERE / "project", tmp_path / "project")
    with Index.open(tmp_path / "project") as index:
        golden(HERE / "rankings.txt", "\n".join(listing(index, profile) for profile in ("default", "classic")))
