"""What all drawings are made of: shapes, words, axes, a legend, and the frame that gives them a title and a description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whence_bench.html.markup import Markup, element
from whence_bench.html.scales import Scale
from whence_bench.html.style import DRAWING, SERIES, VARIABLES

#: The width of a drawing: that of a phone, so that its letters are read there at their own size.
WIDTH = 380
#: How far a letter reaches on average, and from line to line.
LETTER, LINE = 5.9, 18
#: The most letters of a name beside a drawing.
MOST_LETTERS = 30


@dataclass(frozen=True, slots=True)
class Drawing:
    """A finished drawing, and what it says to those who do not see it."""

    title: str
    describes: str
    height: float
    parts: tuple[Markup, ...]
    width: float = WIDTH

    def svg(self, **more: object) -> Markup:
        """As an element of a page."""
        return element(
            "svg",
            element("title", self.title),
            element("desc", self.describes),
            self.parts,
            viewBox=f"0 0 {self.width:.0f} {self.height:.0f}",
            role="img",
            aria_label=f"{self.title}. {self.describes}",
            **more,
        )


def beside(title: str, drawings: Sequence[Drawing]) -> str:
    """Drawings side by side, as a file of their own."""
    width, height = sum(one.width for one in drawings), max(one.height for one in drawings)
    moved, left = [], 0.0
    for one in drawings:
        moved.append(element("g", one.parts, transform=f"translate({left:.0f} 0)"))
        left += one.width
    describes = " ".join(one.describes for one in drawings)
    whole = Drawing(title, describes, height, (element("style", Markup(VARIABLES + DRAWING)), *moved), width)
    return whole.svg(xmlns="http://www.w3.org/2000/svg", width=f"{width:.0f}", height=f"{height:.0f}") + "\n"


def word(x: float, y: float, text: str, *, anchor: str | None = None, dim: bool = False) -> Markup:
    """Words that start, end or have their middle at a place."""
    return element("text", text, x=x, y=y, text_anchor=anchor, class_="dim" if dim else None)


def shortened(text: str, most: int = MOST_LETTERS) -> str:
    """A name that fits: of a long one a little of its beginning, and its end, where paths and names differ."""
    first = most // 3
    return text if len(text) <= most else f"{text[:first]}…{text[first + 1 - most :]}"


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=style)


def path(points: Sequence[tuple[float, float]], style: str) -> Markup:
    """A line from point to point."""
    steps = " ".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(points))
    return element("path", d=steps, class_=style)


def shape(number: int, x: float, y: float, size: float = 4.0, hint: str = "") -> Markup:
    """The mark of a series, by its number: each has a colour and a shape."""
    number %= len(SERIES)
    said = (element("title", hint),) if hint else ()
    style = f"f{number}"
    if number == 0:
        return element("circle", said, cx=x, cy=y, r=size, class_=style)
    if number == 1:
        return element("rect", said, x=x - size * 0.9, y=y - size * 0.9, width=size * 1.8, height=size * 1.8, class_=style)
    corners = {
        2: ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
        3: ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
        4: ((-1.15, -0.9), (1.15, -0.9), (0, 1.2)),
        5: ((-0.4, -1.2), (0.4, -1.2), (0.4, 1.2), (-0.4, 1.2)),
    }[number]
    points = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in corners)
    return element("polygon", said, points=points, class_=style)


def below(scale: Scale, top: float, bottom: float, name: str) -> list[Markup]:
    """An axis under a drawing: lines through it, numbers, and what they are of."""
    parts = [line(scale.at(mark), top, scale.at(mark), bottom, "grid") for mark in scale.marks]
    parts += [word(scale.at(mark), bottom + 14, scale.wording(mark), anchor="middle", dim=True) for mark in scale.marks]
    return [*parts, line(scale.start, bottom, scale.end, bottom, "axis"), word(scale.end, bottom + 29, name, anchor="end", dim=True)]


def legend(names: Sequence[str], left: float, top: float) -> tuple[list[Markup], float]:
    """The series by their marks, in as many lines as they take; and where that ends."""
    parts: list[Markup] = []
    x, y = left, top
    for number, name in enumerate(names):
        said = shortened(name, 34)
        room = 14 + len(said) * LETTER + 12
        if x > left and x + room > WIDTH:
            x, y = left, y + LINE
        parts += [shape(number, x + 4, y + 8), word(x + 13, y + 12, said)]
        x += room
    return parts, y + LINE + 4
