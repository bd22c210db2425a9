"""Any output within a number of tokens: its beginning, and what was asked, given and left out (P2, Z4).

A document is cut between its items. Where whole items would leave half of the room
empty, the next one is shortened, by lines, and where whole lines would, a line. A JSON
value keeps its form: lists lose elements from their end, long texts their end, and where
a budget is too small for all fields, the last ones go. Numbers in it are as they were: a
count counts what was found.

More room never gives less: what is kept grows with it, line by line or element by element.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from whence.app.presenters.document import Document
from whence.core.errors import UsageError
from whence.text import token_estimate

#: How the rest can be had: words, or words for a number of tokens that holds all.
Rest = Callable[[int], str] | str
#: Where one ends that goes on.
MORE = "..."
#: A text in JSON with more characters may lose its end; a shorter one is a name or a path, whole or not there.
LONG = 200
#: So many times the share of any other field that is too large has the first list.
FIRST_LIST = 4
#: A list gets this name, for it cannot hold itself what was asked and given.
ITEMS = "items"
BUDGET = "budget"
#: What holds all is named with something to spare: an answer may have changed a little when it is asked for again.
SPARE, STEP = 10, 50
#: No greater number is expected in an answer: with room for it the least budget is known before there is one.
GREAT = 9_999_999
#: The foot of a text stays as long as it takes no greater share of the room.
MOST_OF_THE_FOOT = 1 / 4

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NO_COLOUR = "\x1b[0m"
_dumped = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class BudgetedText:
    """An output within its budget. It ends with a newline: printing another would not be counted."""

    text: str
    asked: int
    given: int  # what the text costs, this number included
    left_out: int  # lines; in JSON elements, fields and ends of long texts
    whole: int  # the least budget with which nothing is left out


def fit_document(document: Document, budget: int, *, rest: Rest, coloured: bool = False) -> BudgetedText:
    """The beginning of a document and a last line that says what was asked, given and left out, within `budget` tokens.

    Its foot stays when items are cut, unless the budget is small. `coloured` is for a terminal, where colours cost
    nothing. A budget that cannot hold the last line is a UsageError that names the least.
    """
    items = [[f"{part}\n" for line in lines for part in line.split("\n")] for lines in document.items]
    lines, last = [line for item in items for line in item], [f"{line}\n" for line in document.foot]
    begins = set(accumulate((len(item) for item in items), initial=0))
    seen = _plain if coloured else str
    weights = token_estimate.weigh_texts([seen(line) for line in (*lines, *last)])
    everything = sum(weights)
    whole = _fixed(lambda number: everything + _weight(_closing(number, number, 0, "")))
    given = _fixed(lambda number: everything + _weight(_closing(budget, number, 0, "")))
    if given <= budget:
        return BudgetedText("".join((*lines, *last)) + _closing(budget, given, 0, ""), budget, given, 0, whole)
    how = _how(rest, whole)
    room = _room(budget, lambda number: _closing(number, number, len(weights), how))
    of_foot = sum(weights[len(lines) :])
    if of_foot > room * MOST_OF_THE_FOOT:
        last, of_foot = [], 0
    kept = _kept(begins, weights[: len(lines)], room - of_foot)
    empty = room - of_foot - sum(weights[:kept])
    shown = "".join(lines[:kept])
    if kept < len(lines) and empty * 2 > room - of_foot:
        shown += _beginning(_plain(lines[kept]), empty)
    shown = (_colour_ended(shown) if coloured else shown) + "".join(last)
    left_out = len(weights) - kept - len(last)
    weight = _weight(seen(shown))
    given = _fixed(lambda number: weight + _weight(_closing(budget, number, left_out, how)))
    return BudgetedText(shown + _closing(budget, given, left_out, how), budget, given, left_out, whole)


def fit_json(value: Any, budget: int, *, rest: Rest) -> BudgetedText:
    """A JSON document on one line, with an object "budget" in it, within `budget` tokens; a list becomes the field "items".

    A budget that cannot hold that object is a UsageError that names the least.
    """
    fields = value if isinstance(value, dict) else {ITEMS: value}
    document = _sized({name: one for name, one in fields.items() if name != BUDGET})
    whole = _fixed(lambda number: _weight(_with_budget(document.text, number, number, 0, "")))
    everything = _document(document.text, 0, "", budget, whole)
    if everything.given <= budget:
        return everything
    how = _how(rest, whole)
    _room(budget, lambda number: _with_budget("{}", number, number, len(document.parts), how))
    best, size, too_large = _document("{}", len(document.parts), how, budget, whole), len("{}"), len(document.text)
    while too_large - size > 1:
        between = (size + too_large) // 2
        text, left_out = _fitted(document, between)
        # What is certainly too long need not be weighed.
        tried = (
            _document(text, left_out, how, budget, whole) if token_estimate.least_weight(text) <= budget * token_estimate.PARTS else None
        )
        if tried and tried.given <= budget:
            best, size = tried, between
        else:
            too_large = between
    return best


def check_budget(budget: int, *, rest: Rest, as_json: bool) -> None:
    """A UsageError when a budget may be too small for any answer, so that it can be refused before anything is done."""
    how = _how(rest, GREAT)
    _room(budget, lambda number: _with_budget("{}", number, number, GREAT, how) if as_json else _closing(number, number, GREAT, how))


# What is said of a budget.
def _closing(asked: int, given: int, left_out: int, how: str) -> str:
    """The last line of a text."""
    left = f"{left_out} line{'s' if left_out != 1 else ''} left out; {how}" if left_out else "nothing left out"
    return f"budget: {asked} asked, {given} given, {left}\n"


def _with_budget(document: str, asked: int, given: int, left_out: int, how: str) -> str:
    """A document in JSON with what there is to say of its budget as the last field."""
    said = _dumped({"asked": asked, "given": given, "left_out": left_out, "rest": how})
    return f'{document[:-1]}{"," if document != "{}" else ""}"{BUDGET}":{said}}}\n'


def _document(text: str, left_out: int, how: str, budget: int, whole: int) -> BudgetedText:
    given = _fixed(lambda number: _weight(_with_budget(text, budget, number, left_out, how)))
    return BudgetedText(_with_budget(text, budget, given, left_out, how), budget, given, left_out, whole)


def _how(rest: Rest, whole: int) -> str:
    if isinstance(rest, str):
        return rest
    return rest(-(-(whole + SPARE) // STEP) * STEP)


def _fixed(weight_with: Callable[[int], int]) -> int:
    """The number of tokens of a text that tells this number: a greater one is tried until it fits its own text."""
    number = 0
    while (cost := token_estimate.tokens_from_weight(weight_with(number))) > number:
        number = cost
    return number


def _room(budget: int, frame: Callable[[int], str]) -> int:
    """What a budget leaves beside what is said of it, in parts of a token."""
    room = budget * token_estimate.PARTS - _weight(frame(budget)) if budget > 0 else -1
    if room < 0:
        raise UsageError(
            f"a budget of {budget} tokens is too small for an answer", hint=f"the least is {_fixed(lambda n: _weight(frame(n)))}"
        )
    return room


def _weight(text: str) -> int:
    return token_estimate.weigh_texts([text])[0]


# Texts.
def _plain(line: str) -> str:
    return _COLOUR.sub("", line)


def _kept(begins: Collection[int], weights: Sequence[int], room: int) -> int:
    """How many lines there is room for, rather in whole items; `begins` says at which lines items begin and all ends."""
    sums = list(accumulate(weights, initial=0))
    by_lines = bisect_right(sums, room) - 1
    by_items = max((row for row in begins if row <= by_lines), default=0)
    return by_items if sums[by_items] * 2 >= room else by_lines


def _beginning(line: str, room: int) -> str:
    """As much of one line as there is room for; nothing when that is less than a character."""
    end = f"{MORE}\n"
    room -= _weight(end)
    fits, too_long = 0, min(len(line) - 1, room // token_estimate.LEAST_OF_A_CHARACTER) + 1
    while too_long - fits > 1:
        between = (fits + too_long) // 2
        fits, too_long = (between, too_long) if _weight(line[:between]) <= room else (fits, between)
    return line[:fits] + end if fits else ""


def _colour_ended(text: str) -> str:
    """A text after which nothing is coloured any more."""
    colours = _COLOUR.findall(text)
    return text + _NO_COLOUR if colours and colours[-1] not in (_NO_COLOUR, "\x1b[m") else text


# JSON.
@dataclass(frozen=True, slots=True)
class _Sized:
    """A value in JSON, the fewest characters that say something of it, and what it is made of."""

    text: str
    least: int
    value: Any
    parts: tuple[tuple[str, _Sized], ...] = ()  # each with what stands before it: the name of a field


def _sized(value: Any) -> _Sized:
    if isinstance(value, dict):
        fields = tuple((f"{_dumped(str(name))}:", _sized(one)) for name, one in value.items())
        least = len(fields[0][0]) + fields[0][1].least + 2 if fields else 2
        return _Sized("{" + ",".join(name + one.text for name, one in fields) + "}", least, value, fields)
    if isinstance(value, list | tuple):
        elements = tuple(("", _sized(one)) for one in value)
        return _Sized("[" + ",".join(one.text for _, one in elements) + "]", 2, value, elements)
    text = _dumped(value)
    return _Sized(text, min(len(text), LONG) if isinstance(value, str) else len(text), value)


def _fitted(one: _Sized, room: int) -> tuple[str, int]:
    """A value within so many characters, and how much of it is left out."""
    if len(one.text) <= room:
        return one.text, 0
    if isinstance(one.value, str):
        return _fitted_text(one.value, room), 1
    return _fitted_fields(one, room) if isinstance(one.value, dict) else _fitted_list(one, room)


def _fitted_text(text: str, room: int) -> str:
    fits, too_long = 0, min(len(text), room)
    while too_long - fits > 1:
        between = (fits + too_long) // 2
        fits, too_long = (between, too_long) if len(_dumped(text[:between] + MORE)) <= room else (fits, between)
    return _dumped(text[:fits] + MORE)


def _fitted_list(one: _Sized, room: int) -> tuple[str, int]:
    """Elements from the first on; one that does not fit is shortened where less than half of the room is used."""
    kept: list[str] = []
    used, left_out = 1, 0
    for _, part in one.parts:
        if used + len(part.text) + 1 > room:
            if used * 2 < room and used + part.least + 1 <= room:
                text, left_out = _fitted(part, room - used - 1)
                kept.append(text)
            break
        kept.append(part.text)
        used += len(part.text) + 1
    return f"[{','.join(kept)}]", left_out + len(one.parts) - len(kept)


def _fitted_fields(one: _Sized, room: int) -> tuple[str, int]:
    """All fields, each at its least and larger as far as there is room; or the first ones at their least."""
    rooms = [part.least for _, part in one.parts]
    spare = room - sum(len(name) + part.least + 1 for name, part in one.parts) - 1
    if spare > 0:
        rooms = [least + more for least, more in zip(rooms, _shared(spare, [part for _, part in one.parts]), strict=True)]
    used, left_out, kept = 1, 0, list[str]()
    for (name, part), share in zip(one.parts, rooms, strict=True):
        used += len(name) + share + 1
        if used > room:
            break
        text, left = _fitted(part, share)
        left_out += left
        kept.append(name + text)
    return "{" + ",".join(kept) + "}", left_out + len(one.parts) - len(kept)


def _shared(spare: int, parts: Sequence[_Sized]) -> list[int]:
    """What each part gets of the room that is left: no more than it can use, and the first list, mostly the answer itself, the most."""
    wanted = [len(part.text) - part.least for part in parts]
    shares = [1] * len(parts)
    first = next((row for row, part in enumerate(parts) if isinstance(part.value, list | tuple)), 0)
    shares[first] = FIRST_LIST
    given, sharing = [0] * len(parts), sum(shares)
    for row in sorted(range(len(parts)), key=lambda row: wanted[row] / shares[row]):
        given[row] = min(wanted[row], spare * shares[row] // sharing)
        spare -= given[row]
        sharing -= shares[row]
    return given
