"""What all presenters share: documents of items, text made safe, paths, times, and how fresh an index is."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.core.types import Freshness


@dataclass(slots=True)
class Document:
    """Lines in groups. An item is a line and the lines that belong to it; it is kept or cut as a whole where there is room."""

    items: list[list[str]] = field(default_factory=list)
    foot: list[str] = field(default_factory=list)  # how fresh the answer is and the like: the last to go

    @classmethod
    def from_text(cls, text: str) -> Document:
        """Group the lines of a text: an indented or blank line belongs to the item before it."""
        document = cls()
        for line in text.removesuffix("\n").split("\n") if text else ():
            (document.more if line.startswith(("  ", "\t", " \t")) or not line.strip() else document.item)(line)
        return document

    def item(self, *lines: str) -> None:
        """Begin an item."""
        self.items.append(list(lines))

    def more(self, *lines: str) -> None:
        """Add lines to the last item."""
        if not self.items:
            self.items.append([])
        self.items[-1] += lines


def safe(text: str) -> str:
    """Escape control characters, invisible characters and broken Unicode, so that a terminal shows them."""
    from whence.text.injection import escape_invisible  # noqa: PLC0415  -- with the first text that is printed

    shown = escape_invisible(text).encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(character if character.isprintable() or character in " \t" else f"\\x{ord(character):02x}" for character in shown)


def sendable(text: str) -> str:
    """A text without lone surrogates, which file names may contain and JSON may not."""
    return text.encode("utf-8", "replace").decode("utf-8")


def plain(text: str, **_style: object) -> str:
    """Style nothing: what presenters use where there is no colour."""
    return text


def relative(root: Path, path: str) -> str:
    """Write a path of an index as the caller would (A4)."""
    return os.path.relpath(f"{root}/{path}")


def ago(seconds: float) -> str:
    """Write a span of time in words."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{max(seconds, 0):.0f} s ago"


def freshness_words(freshness: Freshness, now: float) -> str:
    """Freshness as part of a line."""
    of = f"commit {freshness.commit[:10]}" if freshness.commit else "no commit"
    state = f"{freshness.changed} files changed since" if freshness.changed else freshness.note or "up to date"
    return f"{of} · indexed {ago(now - freshness.indexed_at)} · {state}"


def freshness_json(freshness: Freshness) -> dict[str, Any]:
    """Freshness as JSON."""
    return {
        "commit": freshness.commit or None,
        "branch": freshness.branch or None,
        "indexed_at": freshness.indexed_at,
        "changed_files": freshness.changed,
        "fresh": freshness.fresh,
        "note": freshness.note,
    }


def freshness_facts(index: Index) -> dict[str, Any]:
    """Freshness without the time: the same question of the same code has the same answer."""
    found = freshness_json(index.freshness)
    return {name: found[name] for name in ("commit", "changed_files", "fresh")}
