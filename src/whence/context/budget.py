"""Chooses which symbols to show, and how much of each, within a budget of tokens (P1, P2, Z4).

Showing a symbol takes steps: a pointer to it, then its signature, then its body. A step's density is the value it adds
per token. Steps are taken by density, except that none may take more than a share of the text so far. The order does not
depend on the budget, which only says where it ends: a larger budget shows at least the symbols of a smaller one. What is
left after the first step that does not fit is spent on showing more of the symbols already in the text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

from whence.core.errors import UsageError
from whence.text import token_estimate

#: The exponent of the walk relative to the score: higher if much of the graph is not in the source (P1).
WALK_EXPONENT, WALK_EXPONENT_PER_PHANTOM, MAX_WALK_EXPONENT = 0.3, 0.2, 0.7
#: The worst symbol of a pack is worth at least this share of the best.
MIN_WORTH = 0.02
#: One symbol takes at most this share of the text so far; a short text is always allowed.
MAX_SHARE, SHORT = 1 / 3, 64 * token_estimate.PARTS


class Detail(Enum):
    """How much of a symbol is shown, from most to least; the value is the share of its worth."""

    BODY = 1.0
    SIGNATURE = 0.5
    POINTER = 0.25


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


@dataclass(frozen=True, slots=True)
class PackHeader:
    """The header of a pack: the task, how fresh the index is, and how to get what is left out."""

    task: str
    hint: str = ""
    freshness: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tally:
    """The numbers of a pack, for its last line."""

    budget: int
    tokens: int
    bodies: int
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
    """A symbol, and how much of it is in the text."""

    item: PackItem
    form: Detail
    weight: int  # in parts of a token


@dataclass(frozen=True, slots=True)
class PackedText:
    """A text within its budget, with its final newline."""

    text: str
    tokens: int
    budget: int
    shown: tuple[ShownItem, ...]  # best first, as in the text
    inside: tuple[PackItem, ...]  # in the text as part of the body of another
    left_out: tuple[PackItem, ...]


def pack(
    pieces: Sequence[PackItem], budget: int, render: Renderer, *, head: PackHeader, phantom_share: float = 0.0, beyond: int = 0
) -> PackedText:
    """The best items that fit into a text of `budget` tokens with its head and foot.

    `beyond` counts ranked symbols that are not among the items; they are left out. A budget too small for head and foot
    (60 to 150 tokens) raises a UsageError that names the least.
    """
    ranked = sorted(pieces, key=lambda piece: (-_finite(piece.score), piece.path, piece.start_line, piece.key))
    opening = render.head(head)
    room = budget * token_estimate.PARTS - _frame(opening, budget, len(ranked) + beyond, render, head)
    if room < 0 or budget < 0:
        least = _least_budget(opening, len(ranked) + beyond, render, head)
        raise UsageError(f"a budget of {budget} tokens is too small for an answer", hint=f"the least is {least}")
    steps = _Steps(_offers(ranked, room, render), _worths(ranked, phantom_share), _around(ranked))
    steps.fill(room)
    shown = [(row, offer) for row, offer in enumerate(steps.shown) if offer is not None]
    body = render.join(opening, [offer.text for _, offer in shown])
    tally = _tally([offer.form for _, offer in shown], len(steps.covered), len(ranked) + beyond, budget)
    foot, gave = _exact_foot(token_estimate.weigh_texts([body])[0], render, head, tally)
    return PackedText(
        text=body + foot,
        tokens=gave,
        budget=budget,
        shown=tuple(ShownItem(ranked[row], offer.form, offer.weight) for row, offer in shown),
        inside=tuple(ranked[row] for row in sorted(steps.covered)),
        left_out=tuple(piece for row, piece in enumerate(ranked) if steps.shown[row] is None and row not in steps.covered),
    )


def _offers(ranked: Sequence[PackItem], room: int, render: Renderer) -> list[list[_Offer]]:
    """What can be printed of each piece, least first; a form that weighs no more than a lesser one replaces it."""
    texts = [(row, form, render.symbol(piece, form)) for row, piece in enumerate(ranked) for form in _forms(piece, room)]
    offers: list[list[_Offer]] = [[] for _ in ranked]
    for (row, form, text), weight in zip(texts, token_estimate.weigh_texts([text for _, _, text in texts]), strict=True):
        while offers[row] and offers[row][-1].weight >= weight:
            offers[row].pop()
        offers[row].append(_Offer(form, form.value, weight, text))
    return offers


def _forms(piece: PackItem, room: int) -> list[Detail]:
    """The forms that a piece can take, least first. What can never fit is not looked at: a body may be a whole book."""
    forms = [Detail.POINTER]
    if piece.signature or piece.doc:
        forms.append(Detail.SIGNATURE)
    if piece.body and not piece.body.isspace() and token_estimate.least_weight(piece.body) <= room:
        forms.append(Detail.BODY)
    return forms


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
    """The number, or 0 if it is not finite."""
    return number if math.isfinite(number) else 0.0


def _around(ranked: Sequence[PackItem]) -> list[list[int]]:
    """For each piece, the rows of those whose lines hold all of its lines; of two with the same lines the better holds the other."""
    around: list[list[int]] = [[] for _ in ranked]
    open_at, path = list[int](), ""
    for row in sorted(range(len(ranked)), key=lambda row: (ranked[row].path, ranked[row].start_line, -ranked[row].end_line, row)):
        piece = ranked[row]
        if piece.path != path:
            open_at, path = [], piece.path
        open_at = [other for other in open_at if ranked[other].end_line >= piece.start_line]
        if piece.start_line <= piece.end_line:
            around[row] = [other for other in open_at if ranked[other].end_line >= piece.end_line]
            open_at.append(row)
    return around


def _tally(forms: Sequence[Detail], inside: int, pieces: int, asked: int) -> Tally:
    return Tally(
        budget=asked,
        tokens=asked,
        bodies=forms.count(Detail.BODY),
        signatures=forms.count(Detail.SIGNATURE),
        pointers=forms.count(Detail.POINTER),
        inside=inside,
        left_out=pieces - len(forms) - inside,
    )


def _frame(opening: str, budget: int, pieces: int, render: Renderer, head: PackHeader) -> int:
    """The most that head and foot can weigh: every number at its longest."""
    longest = Tally(budget, budget, pieces, pieces, pieces, pieces, pieces)
    return sum(token_estimate.weigh_texts([opening, render.foot(head, longest)]))


def _least_budget(opening: str, pieces: int, render: Renderer, head: PackHeader) -> int:
    """The smallest budget that holds head and foot."""
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


class _Offer(NamedTuple):
    """One form that a piece can take."""

    form: Detail
    known: float  # the value of the form
    weight: int
    text: str


class _Steps:
    """What is shown of each piece so far, and what the next step of each would add.

    The body of a piece shows all that is inside it: those pieces are taken out of the text, and their weight with them.
    """

    def __init__(self, offers: list[list[_Offer]], worths: list[float], around: list[list[int]]) -> None:
        self.shown: list[_Offer | None] = [None] * len(offers)
        self.covered: set[int] = set()
        self._offers, self._worths, self._around = offers, worths, around
        self._taken = [0] * len(offers)  # how many of its offers a piece has taken
        self._known, self._weights = [0.0] * len(offers), [0] * len(offers)
        self._inside: list[list[int]] = [[] for _ in offers]
        for row, holders in enumerate(around):
            for holder in holders:
                self._inside[holder].append(row)
        # Of the pieces inside each: what they weigh, what knowing all of them would add, how many are not in the text.
        self._weight_inside = [0] * len(offers)
        self._unknown_inside = [sum(worths[row] for row in rows) for rows in self._inside]
        self._absent_inside = [len(rows) for rows in self._inside]
        self._weight = 0
        self._ready: list[tuple[float, int, int]] = []
        self._version = [0] * len(offers)  # a step that is queued again makes its older entry void

    def fill(self, room: int) -> None:
        """Take steps in their order until one does not fit; then, of pieces that are in, whatever does."""
        self._in_order(room)
        self._what_fits(room)

    def _in_order(self, room: int) -> None:
        waiting: list[tuple[int, int, int]] = []
        for row in range(len(self._offers)):
            self._queue(row)
        while self._ready or waiting:
            small_enough = max(SHORT, self._weight * MAX_SHARE / (1 - MAX_SHARE))
            if waiting and waiting[0][0] <= small_enough:
                _, row, version = heappop(waiting)
                if version == self._version[row]:
                    self._queue(row)
                continue
            # What waits when nothing else is left is taken all the same, the lightest first.
            held_back = not self._ready
            _, row, version = heappop(waiting) if held_back else heappop(self._ready)
            if version != self._version[row]:
                continue
            if not held_back and self._next(row).weight > small_enough:
                heappush(waiting, (self._next(row).weight, row, version))
            elif self._weight + self._added(row) > room:
                return
            else:
                self._take(row)

    def _what_fits(self, room: int) -> None:
        """No piece comes in here, by itself or inside another, so that more room never means fewer pieces."""
        self._ready = []
        for row, offer in enumerate(self.shown):
            if offer is not None:
                self._queue(row)
        while self._ready:
            _, row, version = heappop(self._ready)
            if version != self._version[row] or self.shown[row] is None or self._weight + self._added(row) > room:
                continue
            if self._next(row).form is not Detail.BODY or not self._absent_inside[row]:
                self._take(row)

    def _next(self, row: int) -> _Offer:
        return self._offers[row][self._taken[row]]

    def _has_next(self, row: int) -> bool:
        return row not in self.covered and self._taken[row] < len(self._offers[row])

    def _added(self, row: int) -> int:
        """What the next step of a piece adds to the weight of the text."""
        offer = self._next(row)
        return offer.weight - self._weights[row] - (self._weight_inside[row] if offer.form is Detail.BODY else 0)

    def _queue(self, row: int) -> None:
        """Put the next step of a piece where its density belongs."""
        if not self._has_next(row):
            return
        offer = self._next(row)
        gain, added = self._worths[row] * (offer.known - self._known[row]), offer.weight - self._weights[row]
        if offer.form is Detail.BODY and self._inside[row]:
            gain, added = gain + max(self._unknown_inside[row], 0.0), added - self._weight_inside[row]
        self._version[row] += 1
        heappush(self._ready, (-gain / max(added, 1), row, self._version[row]))

    def _take(self, row: int) -> None:
        offer = self._next(row)
        self._taken[row] += 1
        self.shown[row] = offer
        self._change(row, offer.known, offer.weight)
        if offer.form is Detail.BODY:
            for part in self._inside[row]:
                self._change(part, offer.known, 0)
                self.shown[part] = None
                self._version[part] += 1
            self.covered.update(self._inside[row])
        self._queue(row)
        for holder in self._around[row]:
            if self._has_next(holder) and self._next(holder).form is Detail.BODY:
                self._queue(holder)

    def _change(self, row: int, known: float, weight: int) -> None:
        """Note what is known of a piece now and what it weighs, in its own books and those of the pieces around it."""
        new, learned, heavier = self._known[row] == 0, known - self._known[row], weight - self._weights[row]
        self._known[row], self._weights[row] = known, weight
        self._weight += heavier
        for holder in self._around[row]:
            self._absent_inside[holder] -= new
            self._unknown_inside[holder] -= self._worths[row] * learned
            self._weight_inside[holder] += heavier
