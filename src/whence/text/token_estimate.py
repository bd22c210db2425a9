"""How many tokens a text has, estimated from the kinds of its characters alone.

Every model has its own tokenizer, and none is at hand when an answer is printed. The cost of a character depends on its
kind and on the kind before it: a letter that starts a word costs almost a token, one inside a word almost nothing. The
costs were fitted to the counts of three tokenizers for source in thirty languages and for prose, to the highest of the
three plus three per cent. `docs/experiments.md` has the table.

A text is weighed as if it started a line, so the weights of texts that end with a newline add up exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

#: Weights are whole numbers, this many to a token: their sums are exact, in any order.
PARTS = 100
#: How much `count(a + b)` and `count(a) + count(b)` may differ if `a` does not end with a newline.
MAX_JOINT_ERROR = 3


class Kind(IntEnum):
    """The kinds of bytes that differ in cost."""

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


#: The cost of a byte of each kind, after any other kind.
COSTS = {
    Kind.NEWLINE: 101, Kind.SPACE: 5, Kind.TAB: 130, Kind.LOWER: 92, Kind.UPPER: 92, Kind.DIGIT: 128, Kind.UNDERSCORE: 98, Kind.MARK: 99,
    Kind.LEADS_TWO: 99, Kind.LEADS_THREE: 136, Kind.LEADS_FOUR: 310, Kind.CONTINUES: 0, Kind.CONTROL: 200,
}  # fmt: skip
#: Its cost after a certain kind (the first), where that differs.
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
    (Kind.SPACE, Kind.DIGIT): 160,  # a space is part of the next word, but not of a number
    (Kind.MARK, Kind.MARK): 17,
    (Kind.CONTINUES, Kind.LEADS_TWO): 50,  # a word of another script has fewer tokens than an accent adds
    (Kind.CONTINUES, Kind.LEADS_THREE): 100,
}
#: A mark that repeats the one before it: rules of dashes, opening fences.
SAME_MARK = 4
#: No character costs less, and no newline less than the second: a text that is certainly too long need not be weighed.
LEAST_OF_A_CHARACTER = 2
LEAST_OF_A_NEWLINE = 86


def count_tokens(text: str) -> int:
    """About how many tokens a text has: rather too many than too few, and never fewer for a longer text."""
    return tokens_from_weight(weigh_texts([text])[0])


def tokens_from_weight(parts: int) -> int:
    """The tokens of a weight, rounded up."""
    return -(-parts // PARTS)


def weigh_texts(texts: Sequence[str]) -> list[int]:
    """The weight of each text at the start of a line, in parts of a token."""
    if not texts:
        return []
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    # A newline before each text, and one after the last, so that no text is an empty range.
    costs = _costs(b"\n" + b"\n".join(encoded) + b"\n")
    lengths = np.fromiter((len(one) + 1 for one in encoded), dtype=np.int64, count=len(encoded))
    ends = np.cumsum(lengths)
    sums = np.add.reduceat(costs, ends - lengths, dtype=np.int64) - costs[ends - 1]
    return [int(one) for one in sums]


def least_weight(text: str) -> int:
    """A lower bound of a text's weight, known without looking at its words."""
    return LEAST_OF_A_CHARACTER * len(text) + (LEAST_OF_A_NEWLINE - LEAST_OF_A_CHARACTER) * text.count("\n")


def _costs(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.integer[Any]]]:
    """The cost of each byte but the first. Tables of bytes are by far the fastest to look up."""
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


#: In UTF-8 the first byte gives the length of a character.
_FIRST_OF_KIND = ((0xF0, Kind.LEADS_FOUR), (0xE0, Kind.LEADS_THREE), (0xC0, Kind.LEADS_TWO), (0x80, Kind.CONTINUES))
_KINDS = bytes(_kind_of(byte) for byte in range(256))
_COST_OF_PAIR = _table_of_pairs()
#: The same in bytes; a cost that does not fit is the greatest byte.
_GREAT = 255
_SMALL_COST_OF_PAIR = bytes(min(int(cost), _GREAT) for cost in _COST_OF_PAIR)
_TWO_MARKS = Kind.MARK << 4 | Kind.MARK
