"""How many tokens a text costs its reader, estimated from the kinds of its characters alone.

Every model cuts text in its own way, and no model's table is at hand when an
answer is printed. What a character adds depends here on its kind and on the kind
before it: a letter that starts a word costs almost a token, one inside a word
almost nothing. The costs were fitted to what three tokenizers count for source in
thirty languages and for prose; the greatest of the three counts was the target,
plus three per cent. `docs/experiments.md` has the table.

A text is weighed as if it stood at the start of a line. Texts that end with a
newline can therefore be weighed apart and added up: the sum is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

#: Weights are whole numbers: so many parts make a token. Sums of them are exact, in any order.
PARTS = 100
#: What `count(a + b)` may differ from `count(a) + count(b)` when `a` does not end with a newline.
MAX_JOINT_ERROR = 3


class Kind(IntEnum):
    """What a byte is, as far as its cost goes."""

    NEWLINE = 0
    SPACE = 1
    TAB = 2
    LOWER = 3
    UPPER = 4
    DIGIT = 5
    UNDERSCORE = 6
    MARK = 7
    LEADS_TWO = 8  # the first byte of a character of two bytes: accents, Greek, Cyrillic, Hebrew, Arabic
    LEADS_THREE = 9
    LEADS_FOUR = 10
    CONTINUES = 11
    CONTROL = 12


#: What a byte of each kind costs, after any other kind.
COSTS = {
    Kind.NEWLINE: 101, Kind.SPACE: 5, Kind.TAB: 130, Kind.LOWER: 92, Kind.UPPER: 92, Kind.DIGIT: 128, Kind.UNDERSCORE: 98, Kind.MARK: 99,
    Kind.LEADS_TWO: 99, Kind.LEADS_THREE: 136, Kind.LEADS_FOUR: 310, Kind.CONTINUES: 0, Kind.CONTROL: 200,
}  # fmt: skip
#: What it costs after a certain kind (the first), where that differs.
COSTS_AFTER = {
    (Kind.NEWLINE, Kind.NEWLINE): 86,
    (Kind.NEWLINE, Kind.SPACE): 10,
    (Kind.SPACE, Kind.SPACE): 2,
    (Kind.TAB, Kind.TAB): 2,
    (Kind.LOWER, Kind.LOWER): 3,
    (Kind.UPPER, Kind.LOWER): 3,
    (Kind.LOWER, Kind.UPPER): 95,
    (Kind.UPPER, Kind.UPPER): 14,
    (Kind.DIGIT, Kind.DIGIT): 32,
    (Kind.SPACE, Kind.DIGIT): 160,  # where a space joins a word, it does not join a number
    (Kind.MARK, Kind.MARK): 17,
    (Kind.CONTINUES, Kind.LEADS_TWO): 50,  # a word of another script is cut into fewer pieces than an accent cuts off
    (Kind.CONTINUES, Kind.LEADS_THREE): 100,
}
#: A mark that repeats the one before it: rules of dashes, opening fences.
SAME_MARK = 4
#: No character costs less, and no newline less than the second: what is certainly too long need not be weighed.
LEAST_OF_A_CHARACTER = 2
LEAST_OF_A_NEWLINE = 86


def count_tokens(text: str) -> int:
    """About how many tokens the text is; rather too many than too few, and never fewer when something is appended."""
    return tokens_from_weight(weigh_texts([text])[0])


def tokens_from_weight(parts: int) -> int:
    """The tokens that so many parts make: a token begun is a token."""
    return -(-parts // PARTS)


def weigh_texts(texts: Sequence[str]) -> list[int]:
    """What each text weighs at the start of a line, in parts of a token."""
    if not texts:
        return []
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    # A newline before each text, and one after the last: every text has its own, so none is an empty stretch.
    costs = _costs(b"\n" + b"\n".join(encoded) + b"\n")
    lengths = np.fromiter((len(one) + 1 for one in encoded), dtype=np.int64, count=len(encoded))
    ends = np.cumsum(lengths)
    sums = np.add.reduceat(costs, ends - lengths, dtype=np.int64) - costs[ends - 1]
    return [int(one) for one in sums]


def least_weight(text: str) -> int:
    """A weight that the text does not go below, known without looking at its words."""
    return LEAST_OF_A_CHARACTER * len(text) + (LEAST_OF_A_NEWLINE - LEAST_OF_A_CHARACTER) * text.count("\n")


def _costs(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.integer[Any]]]:
    """What each byte but the first costs. Tables of bytes are looked up many times quicker than others."""
    kinds = np.frombuffer(data.translate(_KINDS), dtype=np.uint8)
    pairs = kinds[:-1] << 4 | kinds[1:]
    small = bytearray(pairs.tobytes().translate(_SMALL_COST_OF_PAIR))
    costs: np.ndarray[tuple[int], np.dtype[np.integer[Any]]] = np.frombuffer(small, dtype=np.uint8)
    content = np.frombuffer(data, dtype=np.uint8)
    costs[(pairs == _TWO_MARKS) & (content[1:] == content[:-1])] = SAME_MARK
    if _GREAT in small:
        great = np.flatnonzero(costs == _GREAT)
        costs = costs.astype(np.int16)
        costs[great] = _COST_OF_PAIR[pairs[great]]
    return costs


def _kind_of(byte: int) -> Kind:
    for first, kind in _FIRST_OF_KIND:
        if byte >= first:
            return kind
    character = chr(byte)
    if character.isalnum():
        return Kind.DIGIT if character.isdigit() else Kind.UPPER if character.isupper() else Kind.LOWER
    named = {"\n": Kind.NEWLINE, "\r": Kind.NEWLINE, " ": Kind.SPACE, "\t": Kind.TAB, "_": Kind.UNDERSCORE}
    return named.get(character, Kind.MARK if character.isprintable() else Kind.CONTROL)


def _table_of_pairs() -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    table = np.zeros(256, dtype=np.int16)
    for before in Kind:
        for kind in Kind:
            table[before << 4 | kind] = COSTS_AFTER.get((before, kind), COSTS[kind])
    return table


#: In UTF-8 the first byte tells how long a character is.
_FIRST_OF_KIND = ((0xF0, Kind.LEADS_FOUR), (0xE0, Kind.LEADS_THREE), (0xC0, Kind.LEADS_TWO), (0x80, Kind.CONTINUES))
_KINDS = bytes(_kind_of(byte) for byte in range(256))
_COST_OF_PAIR = _table_of_pairs()
#: The same in bytes; a cost that is too great for one stands as the greatest.
_GREAT = 255
_SMALL_COST_OF_PAIR = bytes(min(int(cost), _GREAT) for cost in _COST_OF_PAIR)
_TWO_MARKS = Kind.MARK << 4 | Kind.MARK
