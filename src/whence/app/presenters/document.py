"""An answer as people and agents read it: items of lines, and a foot, so that a budget can cut between items."""

from __future__ import annotations

from dataclasses import dataclass, field


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
