"""What a report is made of, as values: sections with words, facts, tables and drawings. Each knows how to become a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from whence_bench.html.drawing import Drawing
from whence_bench.html.markup import Markup, element, joined
from whence_bench.html.scales import form_of, written
from whence_bench.report import NOTHING, verdict

#: Lines of a table; of a longer one only the first are shown, and how many there are.
MOST_ROWS = 400
#: A table of more lines is scrolled in a frame of its own.
LONG = 60
#: A text longer than this is cut: a question may be a whole page.
MOST_LETTERS = 400
#: Headings have no more levels than these.
DEEPEST = 4


class Plain(Protocol):
    """A part of a page without a heading."""

    def markup(self) -> Markup:
        """As it stands in the page."""


@dataclass(frozen=True, slots=True)
class Prose:
    """A sentence or two."""

    text: str

    def markup(self) -> Markup:
        """A paragraph."""
        return element("p", self.text)


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines that belong together."""

    lines: Sequence[str]

    def markup(self) -> Markup:
        """A list, with how many more there are where they are many."""
        shown = [element("li", _cut(one)) for one in self.lines[:MOST_ROWS]]
        if len(self.lines) > MOST_ROWS:
            shown.append(element("li", f"and {len(self.lines) - MOST_ROWS:,} more"))
        return element("ul", shown, class_="lines")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header. Cells are figures or words; True and False are what became of a bar."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""
    most: int = MOST_ROWS

    def markup(self) -> Markup:
        """A table; numbers are to the right."""
        shown = self.rows[: self.most]
        forms = [form_of(cell for row in shown if isinstance(cell := row[at], float)) for at in range(len(self.header))]
        texts = [[_word(cell, forms[at]) for at, cell in enumerate(row)] for row in shown]
        right = [column > 0 and all(_is_number(row[column]) for row in texts) for column in range(len(self.header))]
        head = [element("th", name, scope="col", class_="number" if right[at] else None) for at, name in enumerate(self.header)]
        body = [
            element("tr", [_cell(at, cell, text, right[at]) for at, (cell, text) in enumerate(zip(row, said, strict=True))])
            for row, said in zip(shown, texts, strict=True)
        ]
        caption = self.caption
        if len(self.rows) > self.most:
            caption = f"{caption} The first {self.most} of {len(self.rows):,}.".strip()
        said_first = [element("caption", caption)] if caption else []
        table = element("table", said_first, element("thead", element("tr", head)), element("tbody", body))
        # What can be scrolled must be reachable with keys, and has to say what it is.
        kind = "beside long" if len(shown) > LONG else "beside"
        return element("div", table, class_=kind, tabindex=0, role="group", aria_label=f"Table: {', '.join(self.header)}")


def _cell(column: int, value: object, text: str, number: bool) -> Markup:
    if column == 0:
        return element("th", text, scope="row")
    if isinstance(value, bool):
        return element("td", text, class_="good" if value else "bad")
    return element("td", text, class_="number" if number else "text")


def _word(value: object, form: str) -> str:
    return verdict(value) if isinstance(value, bool) else _cut(written(value, form if isinstance(value, float) else ""))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def _is_number(text: str) -> bool:
    plain = text.lstrip("+-").replace(".", "", 1).replace(",", "").replace("%", "").strip()
    return text == NOTHING or plain.isdigit() or plain in ("inf", "nan")


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, and beside it the numbers that it shows."""

    drawing: Drawing
    numbers: Table
    caption: str = ""

    def markup(self) -> Markup:
        """The two side by side, where there is room for both."""
        said = [element("figcaption", self.caption)] if self.caption else []
        return element("figure", said, self.drawing.svg(), self.numbers.markup())


@dataclass(frozen=True, slots=True)
class Folded:
    """What only some want to see."""

    title: str
    blocks: Sequence[Plain]

    def markup(self) -> Markup:
        """A line that opens."""
        return element("details", element("summary", self.title), joined(one.markup() for one in self.blocks))


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and what stands under it."""

    title: str
    blocks: Sequence[Block] = ()

    def markup(self, level: int, anchor: str | None = None) -> Markup:
        """The heading at its level, under a name that can be pointed at; sections inside are one deeper."""
        inside = joined(one.markup(level + 1) if isinstance(one, Section) else one.markup() for one in self.blocks)
        return element("section", element(f"h{min(level, DEEPEST)}", self.title), inside, id=anchor)


Block = Section | Plain
