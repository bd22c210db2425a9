"""Chooses how much of each symbol to show within a budget of tokens (P0, P2, Z4).

Symbols are taken in the order of their rank, each with as much code as its rank allows: the whole body, or an excerpt of
the lines that matter. The first that does not fit ends the pack, so that nothing far down takes room before what is near.
What is left when all are in extends excerpts, the best first. The classic profile packs by density instead (P1).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol

from whence.core.errors import UsageError
from whence.core.types import CONTAINERS
from whence.text import token_estimate
from whence.text.excerpt import line_worths

#: The share of the budget that the best symbol's code may take; the second's half of it, and so on.
BEST_SHARE = 0.1
#: Lines of code that every symbol gets in its turn, and how many more it may have to be shown whole.
FEW_LINES, FEW_MORE = 10, 3
#: Tokens of code in a section of a review: of a symbol whose change its hunks show in part, and of a hunk at the least.
MUCH_CODE, HUNK_CODE = 600, 300
#: Lines of an excerpt at the least; what is shorter says no more than a signature.
MIN_EXCERPT = 3
#: Lines of a signature, and lines of a body that are looked at for words of the task.
MAX_HEADER, MAX_READ = 5, 2_000
#: The exponent of the walk relative to the score: higher if much of the graph is not in the source (P1).
WALK_EXPONENT, WALK_EXPONENT_PER_PHANTOM, MAX_WALK_EXPONENT = 0.3, 0.2, 0.7
#: The worst symbol of a pack is worth at least this share of the best.
MIN_WORTH = 0.02
#: The kind of an item that shows how a file differs; its lines count within the difference.
DIFF = "diff"
#: Begins a line that is a comment in most languages.
COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;|\"\"\")")
_HEADER_ENDS = (":", "{", ";", ")", "=", "=>", "do", "then")


class Detail(Enum):
    """How much of a symbol is shown, from most to least."""

    BODY = "body"
    EXCERPT = "excerpt"
    SIGNATURE = "signature"
    POINTER = "pointer"


@dataclass(frozen=True, slots=True)
class PackItem:
    """A ranked symbol with everything that may be shown of it."""

    key: str  # path#qualified.name
    qualified_name: str
    kind: str
    path: str
    start_line: int
    end_line: int
    score: float
    walk: float  # the walk's score relative to the best, 0..1
    signature: str
    doc: str  # the first sentence, or a few
    body: str  # the source lines; empty when the file is gone
    because: str = ""  # one short phrase
    outline: str = ""  # one line on the type it belongs to
    members: tuple[int, ...] = ()  # lines on which members of a type are defined, from 1
    lines: tuple[int, ...] = ()  # the lines of an excerpt, from 1; empty: all
    section: str = ""  # of a review
    limit: int = -1  # tokens of code in its turn, in a review; -1: all that fit
    opens: bool = False  # whether it is the first of its section


@dataclass(frozen=True, slots=True)
class PackHeader:
    """The header of a pack: the task, how fresh the index is, how to get what is left out, and whether the answer is here at all."""

    task: str
    hint: str = ""
    freshness: Mapping[str, Any] = field(default_factory=dict)
    warning: str = ""  # for formats that a program reads; people are told beside the text


@dataclass(frozen=True, slots=True)
class Tally:
    """The numbers of a pack, for its last line."""

    budget: int
    tokens: int
    bodies: int
    excerpts: int
    signatures: int
    pointers: int
    inside: int
    left_out: int


class Renderer(Protocol):
    """An output format. Every text ends with a newline, so that weights add up."""

    def head(self, head: PackHeader) -> str:
        """The text before the symbols."""

    def symbol(self, piece: PackItem, form: Detail) -> str:
        """One symbol."""

    def foot(self, head: PackHeader, tally: Tally) -> str:
        """The text after the symbols: the budget, and what is left out."""

    def join(self, head: str, symbols: Sequence[str]) -> str:
        """Everything but the foot, no heavier than its parts."""


@dataclass(frozen=True, slots=True)
class ShownItem:
    """A symbol, how much of it is in the text, and how."""

    item: PackItem
    form: Detail
    weight: int  # in parts of a token
    text: str = field(repr=False)
    lines: tuple[int, ...] = ()  # of an excerpt: those that are shown, from 1


@dataclass(frozen=True, slots=True)
class PackedText:
    """A text within its budget, with its final newline."""

    text: str
    tokens: int
    budget: int
    shown: tuple[ShownItem, ...]  # best first, as in the text
    inside: tuple[PackItem, ...]  # in the text as part of the body of another
    left_out: tuple[PackItem, ...]


@dataclass(frozen=True, slots=True)
class ByDensity:
    """Pack by value per token (P1); the share of the walk that is not in the source says how much the walk counts."""

    phantom_share: float = 0.0


def pack(
    pieces: Sequence[PackItem],
    budget: int,
    render: Renderer,
    *,
    head: PackHeader,
    terms: Mapping[str, float] | None = None,
    by_density: ByDensity | None = None,
    shares: Mapping[str, float] | None = None,
    beyond: int = 0,
) -> PackedText:
    """The best items that fit into a text of `budget` tokens with its head and foot.

    `terms` are the words of the task with their weights, for excerpts. `shares` are the sections of a review, with the share of
    the room left that each may take. `beyond` counts ranked symbols that are not among the
    items; they are left out. A budget too small for head and foot (60 to 150 tokens) raises a UsageError that names the least.
    """
    ranked = sorted(pieces, key=lambda piece: (-_finite(piece.score), piece.path, piece.start_line, piece.key))
    opening = render.head(head)
    room = budget * token_estimate.PARTS - _frame(opening, budget, len(ranked) + beyond, render, head)
    if room < 0 or budget < 0:
        least = _least_budget(opening, len(ranked) + beyond, render, head)
        raise UsageError(f"a budget of {budget} tokens is too small for an answer", hint=f"the least is {least}")
    filling = _Filling(ranked, room, render, terms or {})
    if shares is not None:
        filling.by_section(shares)
    elif by_density is None:
        filling.by_rank()
    else:
        filling.by_density(_worths(ranked, by_density.phantom_share))
    shown = [one for one in filling.shown if one is not None]
    body = render.join(opening, [one.text for one in shown])
    tally = _tally([one.form for one in shown], len(filling.covered), len(ranked) + beyond, budget)
    foot, gave = _exact_foot(token_estimate.weigh_texts([body])[0], render, head, tally)
    return PackedText(
        text=body + foot,
        tokens=gave,
        budget=budget,
        shown=tuple(shown),
        inside=tuple(ranked[row] for row in sorted(filling.covered)),
        left_out=tuple(piece for row, piece in enumerate(ranked) if filling.shown[row] is None and row not in filling.covered),
    )


class _Filling:
    """What is shown of each symbol so far, and the room that is left. The body of a symbol also shows those inside it."""

    def __init__(self, ranked: Sequence[PackItem], room: int, render: Renderer, terms: Mapping[str, float]) -> None:
        self.shown: list[ShownItem | None] = [None] * len(ranked)
        self.covered: set[int] = set()
        self._ranked, self._room, self._render, self._terms = ranked, room, render, terms
        self._inside = _inside(ranked)
        self._outlined: dict[str, int] = {}  # by outline: the row that it is shown with
        self._opened: dict[str, int] = {}  # by section: the row that it begins with

    def by_rank(self) -> None:
        """In rank order until one does not fit; if all did, excerpts grow, the best first."""
        best = int(self._room * BEST_SHARE)
        for row in range(len(self._ranked)):
            if row in self.covered:
                continue
            offer = self._offer(row, self._room, code=best // (row + 1), lines=FEW_LINES)
            if offer is None:
                return
            self._take(row, offer)
        for row, shown in enumerate(self.shown):
            if shown is not None and shown.form is not Detail.BODY:
                self._extend(row, shown)

    def by_section(self, shares: Mapping[str, float]) -> None:
        """Each section within its share of the room, its items in rank order until one does not fit; then code grows, in the same order."""
        for section, share in shares.items():
            rows = [row for row, piece in enumerate(self._ranked) if piece.section == section]
            least = self._room - int(self._room * share)
            for at, row in enumerate(rows):
                limit, fair = self._ranked[row].limit, (self._room - least) // (len(rows) - at)
                offer = self._offer(
                    row, self._room - least, code=max(fair, HUNK_CODE * token_estimate.PARTS) if limit < 0 else limit * token_estimate.PARTS
                )
                if offer is None:
                    break
                self._take(row, offer)
        for row, piece in enumerate(self._ranked):
            shown = self.shown[row]
            if shown is not None and shown.form is not Detail.BODY and piece.limit != 0:
                self._extend(row, shown)
        for row in range(len(self._ranked)):
            if row not in self.covered and ((shown := self.shown[row]) is None or shown.form is not Detail.BODY):
                room = self._room + (shown.weight if shown is not None else 0)
                offer = self._offer(row, room, code=MUCH_CODE * token_estimate.PARTS)
                if offer is not None and (shown is None or offer.form is Detail.BODY or offer.weight > shown.weight):
                    self._take(row, offer)

    def by_density(self, worths: Sequence[float]) -> None:
        """By value per token, skipping what does not fit (P1)."""
        offers = [self._rendered(row, self._ranked[row], Detail.BODY if _has_body(self._ranked[row]) else Detail.SIGNATURE)
                  for row in range(len(self._ranked))]  # fmt: skip
        for row in sorted(range(len(offers)), key=lambda row: (-worths[row] / max(offers[row].weight, 1), row)):
            if row not in self.covered and offers[row].weight <= self._room:
                self._take(row, offers[row])

    def _extend(self, row: int, shown: ShownItem) -> None:
        held = sum(one.weight for inner in self._inside[row] if (one := self.shown[inner]) is not None)
        offer = self._offer(row, self._room + shown.weight, whole=self._room + shown.weight + held)
        if offer is not None and (offer.form is Detail.BODY or offer.weight > shown.weight):
            self._take(row, offer)

    def _offer(self, row: int, allowed: int, whole: int | None = None, code: int | None = None, lines: int = 0) -> ShownItem | None:
        """The most that can be shown of a symbol within a weight.

        `whole` is what its body may weigh where that differs, `code` the most that it may weigh with code unless it has few `lines`.
        """
        piece = self._ranked[row]
        repeats = whole is None and any(self.shown[inner] is not None for inner in self._inside[row])
        limit = allowed if whole is None else whole
        is_short = lines > 0 and piece.body.count("\n") < lines + FEW_MORE
        limit = limit if code is None or is_short else min(limit, code)
        if _has_body(piece) and not repeats and token_estimate.least_weight(piece.body) <= limit:
            body = self._rendered(row, piece, Detail.BODY)
            if body.weight <= limit:
                return body
        excerpt = self._excerpt(row, allowed, allowed if code is None else code, lines) if _has_body(piece) else None
        if excerpt is not None:
            return excerpt
        forms = (Detail.SIGNATURE, Detail.POINTER) if piece.signature or piece.doc or piece.section else (Detail.POINTER,)
        return next((one for one in (self._rendered(row, piece, form) for form in forms) if one.weight <= allowed), None)

    def _rendered(self, row: int, piece: PackItem, form: Detail) -> ShownItem:
        """A symbol in a form; the outline of its type comes with the first of its members that is shown with code."""
        if self._outlined.get(piece.outline, row) != row:
            piece = replace(piece, outline="")
        if piece.section and self._opened.get(piece.section, row) == row:
            piece = replace(piece, opens=True)
        text = self._render.symbol(piece, form)
        return ShownItem(self._ranked[row], form, token_estimate.weigh_texts([text])[0], text, piece.lines)

    def _excerpt(self, row: int, allowed: int, code: int, few: int) -> ShownItem | None:
        """The lines of a symbol that matter, as many as fit, but a `few` at the least; None if that is too few to be of use."""
        piece = self._ranked[row]
        lines = piece.body.rstrip("\n").split("\n")
        frame = self._rendered(row, replace(piece, body="", lines=(piece.start_line,)), Detail.EXCERPT).weight
        members = {number - piece.start_line for number in piece.members} if piece.kind in CONTAINERS else set()
        order = _line_order(piece, lines, self._terms)
        chosen = _lines_within(lines, order, allowed - frame, members, code - frame, few)
        while len(chosen) >= MIN_EXCERPT and len(chosen) < len(lines):
            shown = sorted(chosen)
            cut = replace(piece, body=_elided(lines, shown, members), lines=tuple(piece.start_line + at for at in shown))
            offer = self._rendered(row, cut, Detail.EXCERPT)
            if offer.weight <= allowed:
                return offer
            chosen = chosen[: -max(len(chosen) // 10, 1)]  # a format may escape characters
        return None

    def _take(self, row: int, offer: ShownItem) -> None:
        before = self.shown[row]
        self._room -= offer.weight - (before.weight if before is not None else 0)
        self.shown[row] = offer
        self._opened.setdefault(offer.item.section, row)
        if offer.form in (Detail.BODY, Detail.EXCERPT):
            self._outlined.setdefault(offer.item.outline, row)
        if offer.form is Detail.BODY:
            for inner in self._inside[row]:
                if (one := self.shown[inner]) is not None:
                    self._room += one.weight
                    self.shown[inner] = None
                self.covered.add(inner)


def _has_body(piece: PackItem) -> bool:
    return bool(piece.body) and not piece.body.isspace()


def _line_order(piece: PackItem, lines: Sequence[str], terms: Mapping[str, float]) -> list[int]:
    """The lines of a body by how much they matter, from 0: header, members, lines with words of the task, the rest."""
    header = _header(lines, piece.qualified_name)
    members = [number - piece.start_line for number in piece.members]
    worths = sorted(line_worths(lines, terms, header[0] + 1, MAX_READ), key=lambda pair: (-pair[1], pair[0])) if terms else []
    near = [at for number, _ in worths for at in (number - 1, number, number - 2)]
    rest = [] if members else [*range(header[0], len(lines)), *range(header[0])]  # members are symbols of their own
    inside = (at for at in (*header, *members, *near, *rest) if 0 <= at < len(lines))
    return [at for at in dict.fromkeys(inside) if lines[at].strip()]


def _header(lines: Sequence[str], name: str) -> list[int]:
    own = re.compile(rf"(?<!\w){re.escape(re.split(r'[.:#]', name)[-1])}(?!\w)")
    first = next((at for at, line in enumerate(lines[:MAX_READ]) if own.search(line) and not COMMENT.match(line)), 0)
    last = first
    while last + 1 < len(lines) and last - first + 1 < MAX_HEADER and not lines[last].rstrip().endswith(_HEADER_ENDS):
        last += 1
    return list(range(first, last + 1))


def _lines_within(lines: Sequence[str], order: Sequence[int], room: int, apart: Collection[int], code: int, few: int) -> list[int]:
    """As many lines as fit, the most important first, with a mark for every gap between them."""
    *weights, mark = token_estimate.weigh_texts([*(f"{line}\n" for line in lines), "        ... 1000 lines\n"])
    chosen: dict[int, None] = {}
    spent = mark
    for at in order:
        beside = (at == 0 or at - 1 in chosen) + (at == len(lines) - 1 or at + 1 in chosen)
        cost = weights[at] + (0 if at in apart else mark * (1 - beside))
        if spent + cost > (room if len(chosen) < few else min(room, code)):
            break
        chosen[at] = None
        spent += cost
    return list(chosen)


def _elided(lines: Sequence[str], shown: Sequence[int], apart: Collection[int] = ()) -> str:
    """Some lines of a text, with the number of those left out between them, but for those before members, which stand apart."""
    text, before = [], -1
    for at in [*shown, len(lines)]:
        missing = at - before - 1
        if missing and at not in apart and any(line.strip() for line in lines[before + 1 : at]):
            indent = len(lines[before + 1]) - len(lines[before + 1].lstrip())
            text.append(f"{lines[before + 1][:indent]}... {missing} line{'s' if missing > 1 else ''}")
        text += lines[at : at + 1]
        before = at
    return "\n".join(text)


def _worths(ranked: Sequence[PackItem], phantom_share: float) -> list[float]:
    """What it is worth to know all of each piece: score * walk^e, without the tokens (P1).

    Scores below zero are lifted so that the lowest is zero: only their distances mean something.
    """
    exponent = min(max(WALK_EXPONENT + WALK_EXPONENT_PER_PHANTOM * _finite(phantom_share), WALK_EXPONENT), MAX_WALK_EXPONENT)
    scores = [_finite(piece.score) for piece in ranked]
    unit = max(map(abs, scores), default=0.0) or 1.0
    scaled = [score / unit for score in scores]
    lowest = min(0.0, *scaled, 0.0)
    highest = max(*scaled, lowest, lowest) - lowest
    relative = [(score - lowest) / highest if highest > 0 else 1.0 for score in scaled]
    walks = [min(max(_finite(piece.walk), MIN_WORTH), 1.0) for piece in ranked]
    return [max(score, MIN_WORTH) * walk**exponent for score, walk in zip(relative, walks, strict=True)]


def _finite(number: float) -> float:
    return number if math.isfinite(number) else 0.0


def _inside(ranked: Sequence[PackItem]) -> list[list[int]]:
    """For each piece, the rows of those whose lines are all within its own; of two with the same lines the better holds the other."""
    inside: list[list[int]] = [[] for _ in ranked]
    open_at, path = list[int](), ""
    for row in sorted(range(len(ranked)), key=lambda row: (ranked[row].path, ranked[row].start_line, -ranked[row].end_line, row)):
        piece = ranked[row]
        if piece.path != path:
            open_at, path = [], piece.path
        open_at = [other for other in open_at if ranked[other].end_line >= piece.start_line]
        if piece.start_line <= piece.end_line:
            for other in open_at:
                if ranked[other].end_line >= piece.end_line and DIFF not in (piece.kind, ranked[other].kind) and piece.body:
                    inside[other].append(row)
            open_at.append(row)
    return inside


def _tally(forms: Sequence[Detail], inside: int, pieces: int, asked: int) -> Tally:
    return Tally(
        budget=asked,
        tokens=asked,
        bodies=forms.count(Detail.BODY),
        excerpts=forms.count(Detail.EXCERPT),
        signatures=forms.count(Detail.SIGNATURE),
        pointers=forms.count(Detail.POINTER),
        inside=inside,
        left_out=pieces - len(forms) - inside,
    )


def _frame(opening: str, budget: int, pieces: int, render: Renderer, head: PackHeader) -> int:
    """The most that head and foot can weigh: every number at its longest."""
    longest = Tally(budget, budget, *[pieces] * 6)
    return sum(token_estimate.weigh_texts([opening, render.foot(head, longest)]))


def _least_budget(opening: str, pieces: int, render: Renderer, head: PackHeader) -> int:
    least = 1
    while (needed := token_estimate.tokens_from_weight(_frame(opening, least, pieces, render, head))) > least:
        least = needed
    return least


def _exact_foot(before: int, render: Renderer, head: PackHeader, tally: Tally) -> tuple[str, int]:
    """The foot with the number of tokens of the whole text, itself included.

    All digits weigh the same, so only the number's length matters: a longer one is tried until it fits its own text.
    """
    gave = 0
    while True:
        foot = render.foot(head, replace(tally, tokens=gave))
        total = token_estimate.tokens_from_weight(before + token_estimate.weigh_texts([foot])[0])
        if total == gave:
            return foot, total
        gave = total
