"""New inputs from old ones: bytes changed, cut, doubled, joined, and words put in that the target knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

#: What has hurt readers of text before: ends of text and of lines, marks of order, halves of characters, letters that
#: grow or shrink when their case changes, digits that are none in ASCII, bytes that are no text.
_LETTERS = (
    "\0 \t \n \r \v \x1b \x7f \x85 \xa0 \xad \u07c0 \u0663 \xb2 \xbd \u01c5 \xdf \u0131 \u0130 \u017f \u212a \u0300 \u200b \u200d"
    " \u202e \u2028 \u2029 \u3000 \ufeff \ufffd \ufffe \u6f22 \ud55c \uff66 \U0001d7d8 \U00020000 \U0001f600 \ud800 \udfff e\u0301"
)
TROUBLE = (
    *(letter.encode("utf-8", "surrogatepass") for letter in _LETTERS.split(" ")),
    *(b"\r\n", b"\n\n", b"\xff", b"\xc3", b"\x80", b"\xf5\x80", b"\xed\xa0\x80", b"\xe2\x82"),
)
PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"<", b">"), (b'"', b'"'), (b"'", b"'"), (b"`", b"`"), (b"/", b"/"))
NUMBERS = tuple(
    b"0 1 -1 7 00 1e9 1e999 -0.0 0x10 255 256 65535 65536 2147483647 2147483648 4294967295 4294967296 18446744073709551615"
    b" 9223372036854775807 9223372036854775808 -9223372036854775808 99999999999999999999 NaN Infinity 1_000 0.1".split()
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_WORD = re.compile(rb"\w+")

Change = Callable[[bytes, Random, Sequence[bytes], Sequence[bytes]], bytes]


def changed(data: bytes, random: Random, words: Sequence[bytes], others: Sequence[bytes], longest: int) -> bytes:
    """An input with one change or a few; `words` are those that the target knows, `others` inputs to take pieces from."""
    times = 1
    while times < 6 and random.random() < 0.5:
        times += 1
    for _ in range(times):
        data = random.choice(_CHANGES)(data, random, words, others)
    return data[:longest]


def _at(data: bytes, random: Random) -> int:
    return int(random.random() * (len(data) + 1))


def _span(data: bytes, random: Random) -> tuple[int, int]:
    start = _at(data, random)
    most = 4 if random.random() < 0.5 else len(data)
    return start, min(start + 1 + int(random.random() * most), len(data))


def _with_word(data: bytes, random: Random, words: Sequence[bytes], _: Sequence[bytes]) -> bytes:
    at = _at(data, random)
    return data[:at] + (random.choice(words) if words else b" ") + data[at:]


def _word_instead(data: bytes, random: Random, words: Sequence[bytes], _: Sequence[bytes]) -> bytes:
    start, end = _span(data, random)
    return data[:start] + (random.choice(words) if words else b"") + data[end:]


def _with_trouble(data: bytes, random: Random, _: Sequence[bytes], __: Sequence[bytes]) -> bytes:
    at = _at(data, random)
    return data[:at] + random.choice(TROUBLE) + data[at:]


def _other_byte(data: bytes, random: Random, _: Sequence[bytes], __: Sequence[bytes]) -> bytes:
    at = _at(data, random)
    return data[:at] + bytes((random.getrandbits(8),)) + data[at + 1 :]


def _other_bit(data: bytes, random: Random, _: Sequence[bytes], __: Sequence[bytes]) -> bytes:
    at = _at(data, random)
    if at == len(data):
        return data
    return data[:at] + bytes((data[at] ^ 1 << random.getrandbits(3),)) + data[at + 1 :]


def _without(data: bytes, random: Random, _: Sequence[bytes], __: Sequence[bytes]) -> bytes:
    start, end = _span(data, random)
    return data[:start] + data[end:]


def _twice(data: bytes, random: Random, _: Sequence[bytes], __: Sequence[bytes]) -> bytes:
    start, end = _span(data, random)
    times = 2 if random.random() < 0.8 else 1 << random.randrange(2, 9)
    return data[:start] + data[start:end] * times + data[end:]


def _piece_of_another(data: bytes, random: Random, _: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    other = random.choice(others) if others else data
    start, end = _span(other, random)
    at = _at(data, random)
    return data[:at] + other[start:end] + data[at:]


def _crossed(data: bytes, random: Random, _: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    other = random.choice(others) if others else data
    return data[: _at(data, random)] + other[_at(other, random) :]


def _between(data: bytes, random: Random, _: Sequence[bytes], __: Sequence[bytes]) -> bytes:
    start, end = _span(data, random)
    opening, closing = random.choice(PAIRS)
    times = 1 if random.random() < 0.9 else 1 << random.randrange(1, 9)
    return data[:start] + opening * times + data[start:end] + closing * times + data[end:]


def _other_number(data: bytes, random: Random, _: Sequence[bytes], __: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data[:2_000]))
    if not found:
        return data + random.choice(NUMBERS)
    start, end = random.choice(found).span()
    return data[:start] + random.choice(NUMBERS) + data[end:]


def _moved(data: bytes, random: Random, _: Sequence[bytes], __: Sequence[bytes]) -> bytes:
    start, end = _span(data, random)
    rest = data[:start] + data[end:]
    at = _at(rest, random)
    return rest[:at] + data[start:end] + rest[at:]


def _other_case(data: bytes, random: Random, _: Sequence[bytes], __: Sequence[bytes]) -> bytes:
    found = list(_WORD.finditer(data[:2_000]))
    if not found:
        return data
    start, end = random.choice(found).span()
    return data[:start] + data[start:end].swapcase() + data[end:]


_CHANGES: tuple[Change, ...] = (
    _with_word,
    _with_word,
    _with_word,
    _word_instead,
    _word_instead,
    _with_trouble,
    _with_trouble,
    _other_byte,
    _other_bit,
    _without,
    _without,
    _twice,
    _piece_of_another,
    _crossed,
    _between,
    _other_number,
    _moved,
    _other_case,
)
