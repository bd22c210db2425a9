"""Fits any output into a budget of tokens: its beginning, and a line on what was asked, given and left out (P2, Z4).

A document is cut between its items. If whole items would leave half of the room empty, the next item is shortened by
lines, and a long line by characters. A JSON value stays valid: lists lose elements from their end, long strings lose
their end, and if a budget is too small for all fields, the last ones go. Numbers stay: a count counts all that was found.

A larger budget never gives less: the output grows line by line, or element by element.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from whence.app.presenters.text import Document
from whence.core.errors import UsageError
from whence.text import token_estimate

#: How to get the rest: words, or a function from the budget that holds everything to words.
Rest = Callable[[int], str] | str
#: Marks a text that was shortened.
MORE = "..."
#: Strings in JSON up to this length are names and paths, kept whole or dropped; longer ones may lose their end.
MIN_CUTTABLE = 200
#: The first list, mostly the answer itself, gets this many times the room of another field.
FIRST_LIST_SHARES = 4
#: Fields that stay as long as anything does: where something is, what it is worth, and whether to trust it.
ESSENTIAL = frozenset({"path", "key", "score", "confidence", "rank"})
#: The field of a JSON list, which has no place for the budget itself.
ITEMS = "items"
BUDGET = "budget"
#: The budget that holds everything is rounded up: the answer may have grown when it is asked for again.
SPARE, STEP = 10, 50
#: No answer holds a larger number: with room for it, the least budget is known before there is an answer.
LARGEST_NUMBER = 9_999_999
#: The foot stays as long as it takes no larger share of the room.
MAX_FOOT_SHARE = 1 / 4

#: Colours, and links.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\")
_NO_COLOUR = "\x1b[0m"
_encode = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class BudgetedText:
    """An output within its budget. It ends with a newline; printing another would exceed the count."""

    text: str
    budget: int
    tokens: int  # what the text costs, this number included
    left_out: int  # lines; in JSON elements, fields and ends of long texts
    whole: int  # the smallest budget that leaves nothing out


def fit_document(document: Document, budget: int, *, rest: Rest, coloured: bool = False) -> BudgetedText:
    """Fit a document into `budget` tokens, with a last line on what was asked, given and left out.

    The foot stays when items are cut, unless the budget is small. `coloured` is for a terminal, where colours cost
    nothing. Raises a UsageError that names the smallest budget if not even the last line fits.
    """
    items = [[f"{part}\n" for line in lines for part in line.split("\n")] for lines in document.items]
    lines, last = [line for item in items for line in item], [f"{line}\n" for line in document.foot]
    begins = set(accumulate((len(item) for item in items), initial=0))
    seen = _plain if coloured else str
    weights = token_estimate.weigh_texts([seen(line) for line in (*lines, *last)])
    everything = sum(weights)
    whole = _self_counting(lambda number: everything + _weight(_closing(number, number, 0, "")))
    given = _self_counting(lambda number: everything + _weight(_closing(budget, number, 0, "")))
    if given <= budget:
        return BudgetedText("".join((*lines, *last)) + _closing(budget, given, 0, ""), budget, given, 0, whole)
    how = _rest_words(rest, whole)
    room = _room_beside(budget, lambda number: _closing(number, number, len(weights), how))
    of_foot = sum(weights[len(lines) :])
    if of_foot > room * MAX_FOOT_SHARE:
        last, of_foot = [], 0
    kept = _fitting_lines(begins, weights[: len(lines)], room - of_foot)
    empty = room - of_foot - sum(weights[:kept])
    shown = "".join(lines[:kept])
    if kept < len(lines) and empty * 2 > room - of_foot:
        shown += _shorten_line(_plain(lines[kept]), empty)
    shown = (_reset_colour(shown) if coloured else shown) + "".join(last)
    left_out = len(weights) - kept - len(last)
    weight = _weight(seen(shown))
    given = _self_counting(lambda number: weight + _weight(_closing(budget, number, left_out, how)))
    return BudgetedText(shown + _closing(budget, given, left_out, how), budget, given, left_out, whole)


def fit_json(value: Any, budget: int, *, rest: Rest) -> BudgetedText:
    """Fit a JSON value into `budget` tokens, on one line, with an object "budget" in it; a list becomes the field "items".

    Raises a UsageError that names the smallest budget if not even that object fits.
    """
    fields = value if isinstance(value, dict) else {ITEMS: value}
    document = _measure({name: one for name, one in fields.items() if name != BUDGET})
    whole = _self_counting(lambda number: _weight(_with_budget(document.text, number, number, 0, "")))
    everything = _fitted_document(document.text, 0, "", budget, whole)
    if everything.tokens <= budget:
        return everything
    how = _rest_words(rest, whole)
    _room_beside(budget, lambda number: _with_budget("{}", number, number, len(document.parts), how))
    best, size, too_large = _fitted_document("{}", len(document.parts), how, budget, whole), len("{}"), len(document.text)
    while too_large - size > 1:
        between = (size + too_large) // 2
        text, left_out = _fitted(document, between)
        # weighing is slow: skip what is certainly too long
        tried = (
            _fitted_document(text, left_out, how, budget, whole)
            if token_estimate.least_weight(text) <= budget * token_estimate.PARTS
            else None
        )
        if tried and tried.tokens <= budget:
            best, size = tried, between
        else:
            too_large = between
    return best


def check_budget(budget: int, *, rest: Rest, as_json: bool) -> None:
    """Raise a UsageError if a budget may be too small for any answer, before any work is done."""
    how = _rest_words(rest, LARGEST_NUMBER)
    _room_beside(
        budget,
        lambda number: (
            _with_budget("{}", number, number, LARGEST_NUMBER, how) if as_json else _closing(number, number, LARGEST_NUMBER, how)
        ),
    )


# The words on a budget.
def _closing(asked: int, given: int, left_out: int, how: str) -> str:
    """The last line of a text."""
    left = f"{left_out} line{'s' if left_out != 1 else ''} left out; {how}" if left_out else "nothing left out"
    return f"budget: {asked} asked, {given} given, {left}\n"


def _with_budget(document: str, asked: int, given: int, left_out: int, how: str) -> str:
    """A JSON document with the facts of its budget as the last field."""
    said = _encode({"asked": asked, "given": given, "left_out": left_out, "rest": how})
    return f'{document[:-1]}{"," if document != "{}" else ""}"{BUDGET}":{said}}}\n'


def _fitted_document(text: str, left_out: int, how: str, budget: int, whole: int) -> BudgetedText:
    given = _self_counting(lambda number: _weight(_with_budget(text, budget, number, left_out, how)))
    return BudgetedText(_with_budget(text, budget, given, left_out, how), budget, given, left_out, whole)


def _rest_words(rest: Rest, whole: int) -> str:
    if isinstance(rest, str):
        return rest
    return rest(-(-(whole + SPARE) // STEP) * STEP)


def _self_counting(weight_with: Callable[[int], int]) -> int:
    """The number of tokens of a text that contains this number: raised until it covers its own text."""
    number = 0
    while (cost := token_estimate.tokens_from_weight(weight_with(number))) > number:
        number = cost
    return number


def _room_beside(budget: int, frame: Callable[[int], str]) -> int:
    """The room that a budget leaves beside its own words, in parts of a token."""
    room = budget * token_estimate.PARTS - _weight(frame(budget)) if budget > 0 else -1
    if room < 0:
        raise UsageError(
            f"a budget of {budget} tokens is too small for an answer", hint=f"the least is {_self_counting(lambda n: _weight(frame(n)))}"
        )
    return room


def _weight(text: str) -> int:
    return token_estimate.weigh_texts([text])[0]


# Texts.
def _plain(line: str) -> str:
    return _COLOUR.sub("", line)


def _fitting_lines(begins: Collection[int], weights: Sequence[int], room: int) -> int:
    """How many lines fit, preferably in whole items; `begins` holds the lines at which items begin, and the end."""
    sums = list(accumulate(weights, initial=0))
    by_lines = bisect_right(sums, room) - 1
    by_items = max((row for row in begins if row <= by_lines), default=0)
    return by_items if sums[by_items] * 2 >= room else by_lines


def _shorten_line(line: str, room: int) -> str:
    """As much of a line as fits; empty if that is less than a character."""
    end = f"{MORE}\n"
    room -= _weight(end)
    fits, too_long = 0, min(len(line) - 1, room // token_estimate.LEAST_OF_A_CHARACTER) + 1
    while too_long - fits > 1:
        between = (fits + too_long) // 2
        fits, too_long = (between, too_long) if _weight(line[:between]) <= room else (fits, between)
    return line[:fits] + end if fits else ""


def _reset_colour(text: str) -> str:
    """End any colour that a text leaves on."""
    colours = [one for one in _COLOUR.findall(text) if not one.startswith("\x1b]")]
    return text + _NO_COLOUR if colours and colours[-1] not in (_NO_COLOUR, "\x1b[m") else text


# JSON.
@dataclass(frozen=True, slots=True)
class _Measured:
    """A value in JSON, its smallest useful length, and its parts."""

    text: str
    least: int
    value: Any
    parts: tuple[tuple[str, _Measured], ...] = ()  # each with its prefix: the name of a field


def _measure(value: Any) -> _Measured:
    if isinstance(value, dict):
        fields = tuple((f"{_encode(str(name))}:", _measure(one)) for name, one in value.items())
        needed = [field for name, field in zip(value, fields, strict=True) if name in ESSENTIAL] or fields[:1]
        least = sum(len(name) + one.least + 1 for name, one in needed) + 1 if needed else 2
        return _Measured("{" + ",".join(name + one.text for name, one in fields) + "}", least, value, fields)
    if isinstance(value, list | tuple):
        elements = tuple(("", _measure(one)) for one in value)
        return _Measured("[" + ",".join(one.text for _, one in elements) + "]", 2, value, elements)
    text = _encode(value)
    return _Measured(text, min(len(text), MIN_CUTTABLE) if isinstance(value, str) else len(text), value)


def _fitted(one: _Measured, room: int) -> tuple[str, int]:
    """A value within a number of characters, and how much of it is left out."""
    if len(one.text) <= room:
        return one.text, 0
    if isinstance(one.value, str):
        return _fitted_text(one.value, room), 1
    return _fitted_fields(one, room) if isinstance(one.value, dict) else _fitted_list(one, room)


def _fitted_text(text: str, room: int) -> str:
    fits = bisect_right(range(1, min(len(text), room)), room, key=lambda size: len(_encode(text[:size] + MORE)))
    return _encode(text[:fits] + MORE)


def _fitted_list(one: _Measured, room: int) -> tuple[str, int]:
    """The first elements that fit; the next is shortened if less than half of the room is used."""
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


def _fitted_fields(one: _Measured, room: int) -> tuple[str, int]:
    """All fields, each as long as the room allows; or the essential and then the first ones, at their least."""
    rooms = [part.least for _, part in one.parts]
    spare = room - sum(len(name) + part.least + 1 for name, part in one.parts) - 1
    if spare > 0:
        rooms = [least + more for least, more in zip(rooms, _share_room(spare, [part for _, part in one.parts]), strict=True)]
    used, left_out, kept = 1, 0, dict[int, str]()
    for row in sorted(range(len(rooms)), key=lambda row: json.loads(one.parts[row][0][:-1]) not in ESSENTIAL):
        (name, part), share = one.parts[row], rooms[row]
        if used + len(name) + share + 1 > room:
            break
        used += len(name) + share + 1
        text, left = _fitted(part, share)
        left_out += left
        kept[row] = name + text
    return "{" + ",".join(kept[row] for row in sorted(kept)) + "}", left_out + len(one.parts) - len(kept)


def _share_room(spare: int, parts: Sequence[_Measured]) -> list[int]:
    """How much of the spare room each part gets: no more than it can use, and the first list the most."""
    wanted = [len(part.text) - part.least for part in parts]
    shares = [1] * len(parts)
    first = next((row for row, part in enumerate(parts) if isinstance(part.value, list | tuple)), 0)
    shares[first] = FIRST_LIST_SHARES
    given, sharing = [0] * len(parts), sum(shares)
    for row in sorted(range(len(parts)), key=lambda row: wanted[row] / shares[row]):
        given[row] = min(wanted[row], spare * shares[row] // sharing)
        spare -= given[row]
        sharing -= shares[row]
    return given
