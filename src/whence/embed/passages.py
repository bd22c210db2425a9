"""Files cut into passages, the pieces that get a vector: small neighbours together, long units in several.

A vector for every unit would be two thirds more vectors and a little worse: a
constant of one line says too little, a function of a thousand lines too much
(docs/experiments/embeddings.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whence.core.types import CONFIG, ParsedFile, Unit
from whence.embed.encoder import UnitText
from whence.parse.languages import BY_NAME, UNKNOWN
from whence.parse.units import own_spans
from whence.parse.values import functions_around

#: Neighbouring units share a passage while it stays below this many bytes.
TARGET_BYTES = 1_000
#: A longer one is cut, at the end of a line.
MAX_BYTES = 2_000
#: What a file of settings or data is about shows in its beginning; the rest are values.
MAX_CONFIG_PASSAGES = 8


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a file: its text, and the first and last unit that it holds some of."""

    text: UnitText
    first: int
    last: int


def cut_passages(path: str, source: bytes, parsed: ParsedFile) -> list[Passage]:
    """The passages of a file, in order. Tables of values get a few, all else as many as it takes."""
    found = _cut(path, source, parsed.units) or [Passage(UnitText(path, "", source[:MAX_BYTES]), 0, 0)]
    return found[:MAX_CONFIG_PASSAGES] if BY_NAME.get(parsed.language, UNKNOWN).content == CONFIG else found


def _cut(path: str, source: bytes, units: Sequence[Unit]) -> list[Passage]:
    outer = [row for row, around in enumerate(functions_around(units)) if around < 0]  # what a function defines for itself is its text
    bodies = [bytearray() for _ in outer]
    for start, end, at in own_spans([units[row] for row in outer]):
        bodies[at] += source[start:end]
    found: list[Passage] = []
    names: list[str] = []
    body, first = b"", 0
    for row, after, own in zip(outer, [*outer[1:], len(units)], bodies, strict=False):
        unit = units[row]
        if row > first and len(body) + len(own) > TARGET_BYTES:
            found.append(Passage(UnitText(path, " ".join(names), body), first, row - 1))
            names, body, first = [], b"", row
        names += [*unit.parents, unit.name]
        body += b"\n" + own
        last, left = row, unit.start  # of the unit: where what is left begins
        while len(body) > MAX_BYTES:
            line = body.rfind(b"\n", MAX_BYTES // 2, MAX_BYTES)
            cut = line if line > 0 else MAX_BYTES
            upto = unit.end - (len(body) - cut)
            inner = [one for one in range(row + 1, after) if units[one].start < upto and units[one].end > left]
            first, last = first if left == unit.start else min(inner, default=last), max(inner, default=last)
            found.append(Passage(UnitText(path, " ".join(names), body[:cut]), first, last))
            names, body, left = [*unit.parents, unit.name], body[cut:], upto
        if left > unit.start:
            first = min((one for one in range(row + 1, after) if units[one].end > left), default=last)
    if units:
        found.append(Passage(UnitText(path, " ".join(names), body), first, len(units) - 1))
    return found
