"""What all presenters share: documents of items, text made safe, paths, times, and how fresh an index is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.app.workspace import BuildProgress
    from whence.core.types import Freshness


@dataclass(slots=True)
class Document:
    """Lines in groups. An item is a line and the lines that belong to it; it is kept or cut as a whole where there is room."""

    items: list[list[str]] = field(default_factory=list)
    foot: list[str] = field(default_factory=list)  # how fresh the answer is and the like: the last to go

    @property
    def text(self) -> str:
        """All lines, items first."""
        return "".join(f"{line}\n" for lines in (*self.items, self.foot) for line in lines)

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
    state = f"{freshness.changed} files changed since" if freshness.changed else freshness.note or "up to date"
    return f"{commit_words(freshness)} · {indexed_words(freshness, now)} · {state}"


def commit_words(freshness: Freshness) -> str:
    """The commit of an index, and how many of its files are not as in it."""
    if not freshness.commit:
        return "no commit"
    parts = [f"{count} {what}" for count, what in ((freshness.edited, "edited"), (freshness.new, "new")) if count]
    files = "file" if freshness.edited + freshness.new == 1 else "files"
    return f"commit {freshness.commit[:10]}" + (f" + {' and '.join(parts)} {files}" if parts else "")


def indexed_words(freshness: Freshness, now: float) -> str:
    """When an index was last brought up to date; a first build that was cut off never did."""
    return f"indexed {ago(now - freshness.indexed_at)}" if freshness.indexed_at else "first build not finished"


def freshness_content(index: Index, label: str = "") -> str:
    """The state of an index, for agents."""
    freshness = index.freshness
    state = f"{count_files(freshness.changed)} changed since" if freshness.changed else "behind" if freshness.note else "up to date"
    whose = f" of {safe(label)}" if label else ""
    parts = count_files(index.snapshot.live_files), commit_words(freshness), indexed_words(freshness, time.time()), state
    return f"index{whose}: {', '.join(parts)}"


def progress_content(progress: BuildProgress, label: str = "") -> Iterator[str]:
    """What is missing from an answer while its index is being built, for agents."""
    whose = f" {safe(label)}" if label else ""
    if progress.building:
        found = f"{count_files(progress.indexed)} indexed, {progress.missing} new or changed not yet" if progress.indexed else "nothing yet"
        yield f"INDEXING{whose} ({progress.share:.0%} done): {found}; it goes on, ask again for the whole"
    if progress.note:
        yield f"note:{whose} {safe(progress.note)}"


def count_files(number: int) -> str:
    """A number of files in words."""
    return f"{number} file{'s' if number != 1 else ''}"


def freshness_json(freshness: Freshness) -> dict[str, Any]:
    """Freshness as JSON."""
    return {
        "commit": freshness.commit or None,
        "branch": freshness.branch or None,
        "indexed_at": freshness.indexed_at or None,
        "edited_files": freshness.edited,
        "new_files": freshness.new,
        "changed_files": freshness.changed,
        "fresh": freshness.fresh,
        "note": freshness.note,
    }


def freshness_facts(index: Index) -> dict[str, Any]:
    """Freshness without the time: the same question of the same code has the same answer."""
    found = freshness_json(index.freshness)
    uncommitted = {name: found[name] for name in ("edited_files", "new_files") if found[name]}
    return {"commit": found["commit"], **uncommitted, "changed_files": found["changed_files"], "fresh": found["fresh"]}
