"""Vectors on disk: of each passage one row of small whole numbers, and a sketch of it in bits.

Up to `SKETCHED` passages every row is compared. Above, the sketches (one bit for
each sign) say which few thousand rows are worth comparing: 500,000 passages in
about 4 ms instead of 37, with 99 of the 100 best found (docs/experiments/embeddings.md).
A model that gives a row for each token has those beside, in half a byte for each
number; its one row for a passage is then their mean, and only finds candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whence.core.errors import IndexDamaged, VectorsDamaged
from whence.embed.encoder import Encoder, UnitText, Vectors, unit_length
from whence.storage.arrayfile import Array, ArrayFile, Columns, Stamp
from whence.storage.postings import highest, ranges

if TYPE_CHECKING:
    from whence.embed.passages import Passage

#: Above this many passages, sketches choose what is compared.
MAX_FULL_SCAN = 40_000
#: How many are compared then: at least this many, and so many for each one wanted.
MIN_CANDIDATES, CANDIDATES_PER_RESULT = 4_000, 20
#: Candidates for each one wanted that a token model looks at closely.
TOKEN_CANDIDATES_PER_RESULT = 5
#: Rows that are turned into floating point at a time, so that they stay in the processor's cache.
_BLOCK = 8_192
#: Passages that go to the encoder at a time.
ENCODER_BATCH = 512
_WORD_BITS = 64
_BYTE_TOP, _HALF_TOP = 127, 7
#: Whole numbers up to this are exact in 32-bit floating point.
_EXACT = 1 << 24


class PassageRows:
    """The passages of a segment on their way to disk: which units each holds some of, and their vectors."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.width = encoder.width
        self._first: list[int] = []
        self._last: list[int] = []
        self._vectors: list[Vectors] = []
        self._waiting: list[UnitText] = []

    def add(self, found: Sequence[Passage], base: int) -> None:
        """Take in the passages of a file whose first unit has row `base`."""
        self._first += [one.first + base for one in found]
        self._last += [one.last + base for one in found]
        self._waiting += [one.text for one in found]
        if len(self._waiting) >= ENCODER_BATCH:
            self._encode()

    def _encode(self) -> None:
        if self._waiting:
            self._vectors.append(self._encoder.encode_units(self._waiting))
            self._waiting = []

    def arrays(self) -> dict[str, Array]:
        """The arrays of a vector file."""
        self._encode()
        found = {"first": np.array(self._first, np.uint32), "last": np.array(self._last, np.uint32)}
        rows = _strung([one.rows for one in self._vectors], np.zeros((0, self._encoder.width), np.float32))
        if not self._encoder.late:
            return found | _row_arrays(rows)
        sizes = _strung([np.diff(one.starts) for one in self._vectors], np.zeros(0, np.int64))
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        means = np.add.reduceat(rows, starts[:-1], axis=0) if len(rows) else rows
        return found | _row_arrays(unit_length(means)) | _token_arrays(rows, starts)


def _strung(arrays: list[Array], empty: Array) -> Array:
    return np.concatenate(arrays) if arrays else empty


def _row_arrays(rows: Array) -> dict[str, Array]:
    scale = np.abs(rows).max(axis=1, initial=0.0) / _BYTE_TOP
    small = np.round(rows / np.maximum(scale, 1e-12)[:, None]).astype(np.int8)
    return {"rows": small.reshape(-1), "scale": scale.astype(np.float32), "sketch": binary_vectors(small).reshape(-1)}


def binary_vectors(rows: Array) -> Array:
    """The signs of rows as bits: one line of 64-bit words for each 64 numbers."""
    padded = np.pad(rows > 0, ((0, 0), (0, -rows.shape[1] % _WORD_BITS)))
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)


def _token_arrays(rows: Array, starts: Array) -> dict[str, Array]:
    scale = np.abs(rows).max(axis=1, initial=0.0) / _HALF_TOP
    small = (np.round(rows / np.maximum(scale, 1e-12)[:, None]) + _HALF_TOP + 1).astype(np.uint8)
    small = np.pad(small, ((0, 0), (0, small.shape[1] % 2)))
    packed = small[:, 0::2] << 4 | small[:, 1::2]
    return {"tokens": packed.reshape(-1), "token_scale": scale.astype(np.float16), "starts": starts.astype(np.uint32)}


def _in_whole_numbers(query: Array, top: int) -> tuple[Array, np.float32]:
    """A row of length 1 in whole numbers, and how many make up 1: as fine as its product with rows up to `top` stays exact.

    A product of whole numbers below 2**24 is the same in whatever order a processor adds it up, so that
    a passage is as near in one file as in another, and equal passages are equally near.
    """
    side = np.sqrt(query.shape[-1])
    grain = np.float32(_EXACT // (top * side) - side // 2 - 1)
    return np.rint(query * grain).astype(np.float32), grain


class SegmentVectors:
    """Reads one vector file. Passages and units count from 0."""

    def __init__(self, file: Columns, width: int) -> None:
        self.first, self.last, self.scale = file["first"], file["last"], file["scale"]
        self.passages = len(self.first)
        self.width = width
        self.rows = file["rows"].reshape(self.passages, self.width)
        self.sketch = file["sketch"].reshape(-(-self.width // _WORD_BITS), self.passages)
        self.starts = file["starts"].astype(np.int64) if "starts" in file else None
        self._tokens = file["tokens"].reshape(-1, -(-self.width // 2)) if "tokens" in file else None
        self._token_scale = file["token_scale"] if "tokens" in file else None

    def similarities(self, query: Array, passages: Array | None) -> Array:
        """The dot product of a row with all passages, or with some."""
        count = self.passages if passages is None else len(passages)
        found = np.empty(count, np.float32)
        whole, grain = _in_whole_numbers(query, _BYTE_TOP)
        for at in range(0, count, _BLOCK):
            block = self.rows[at : at + _BLOCK] if passages is None else self.rows.take(passages[at : at + _BLOCK], axis=0)
            found[at : at + _BLOCK] = block.astype(np.float32) @ whole
        return found * ((self.scale if passages is None else self.scale[passages]) / grain)

    def bit_distances(self, bits: Array) -> Array:
        """How many bits of each sketch differ from some bits."""
        found = np.zeros(self.passages, np.uint16)
        for line, word in zip(self.sketch, bits, strict=True):
            found += np.bitwise_count(line ^ word)
        return found

    def max_sim(self, query: Array, passages: Array) -> Array:
        """For each passage the mean, over the rows of a query, of its most similar token."""
        if self._tokens is None or self._token_scale is None or self.starts is None:
            return self.similarities(query.mean(axis=0), passages)
        owner, token = ranges(self.starts, passages)
        packed = self._tokens[token]
        rows = np.empty((len(token), 2 * packed.shape[1]), np.float32)
        rows[:, 0::2], rows[:, 1::2] = packed >> 4, packed & 15
        whole, grain = _in_whole_numbers(query, _HALF_TOP)
        similar = ((rows[:, : self.width] - (_HALF_TOP + 1)) @ whole.T) * (self._token_scale[token].astype(np.float32) / grain)[:, None]
        best = np.maximum.reduceat(similar, np.searchsorted(owner, np.arange(len(passages))), axis=0)
        return np.asarray(best.mean(axis=1), np.float32)

    def tokens_of(self, passages: Array) -> tuple[Array, Array, Array] | None:
        """The tokens of some passages as they are stored: rows, scales, and how many each has."""
        if self._tokens is None or self._token_scale is None or self.starts is None:
            return None
        _, token = ranges(self.starts, passages)
        return self._tokens[token], self._token_scale[token], np.diff(self.starts.astype(np.int64))[passages]


def vectors_in(file: ArrayFile) -> SegmentVectors:
    """The vectors in an open file."""
    return SegmentVectors(file, int(file.facts["width"]))


def open_vectors(path: Path, stamp: Stamp) -> SegmentVectors:
    """Open a vector file, checking that it is what was written."""
    try:
        return vectors_in(ArrayFile(path, stamp))
    except IndexDamaged as damage:
        raise VectorsDamaged(damage.message) from damage
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise VectorsDamaged(f"{path.name} lacks {error}") from error


def merge_vectors(parts: Sequence[tuple[SegmentVectors, Array]]) -> dict[str, Array]:
    """The arrays of one vector file from several, given the new row of each unit (-1 for those that go)."""
    keeps = [np.flatnonzero(unit_rows[vectors.first] >= 0) for vectors, unit_rows in parts]
    found = {
        name: np.concatenate([unit_rows[getattr(vectors, name)[keep]] for (vectors, unit_rows), keep in zip(parts, keeps, strict=True)])
        for name in ("first", "last")
    }
    merged: dict[str, Array] = {name: rows.astype(np.uint32) for name, rows in found.items()}
    pairs = list(zip([vectors for vectors, _ in parts], keeps, strict=True))
    merged["rows"] = np.concatenate([vectors.rows[keep] for vectors, keep in pairs]).reshape(-1)
    merged["scale"] = np.concatenate([vectors.scale[keep] for vectors, keep in pairs])
    merged["sketch"] = np.concatenate([vectors.sketch[:, keep] for vectors, keep in pairs], axis=1).reshape(-1)
    return merged | _merged_tokens(pairs)


def _merged_tokens(pairs: Sequence[tuple[SegmentVectors, Array]]) -> dict[str, Array]:
    found = [vectors.tokens_of(keep) for vectors, keep in pairs]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return {}
    tokens, scales, sizes = (np.concatenate([one[part] for one in known]) for part in range(3))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return {"tokens": tokens.reshape(-1), "token_scale": scales, "starts": starts.astype(np.uint32)}


class SnapshotVectors:
    """The vectors of a snapshot, read as if they were in one file. Rows of units are the snapshot's."""

    def __init__(self, parts: Sequence[SegmentVectors], unit_bases: Iterable[int]) -> None:
        self._parts = list(parts)
        self._unit_bases = list(unit_bases)
        self._bases = np.concatenate([[0], np.cumsum([part.passages for part in self._parts])]).astype(np.int64)
        self.passages = int(self._bases[-1])

    @property
    def parts_by_unit(self) -> dict[int, SegmentVectors]:
        """The vectors of each segment, by its first unit."""
        return dict(zip(self._unit_bases, self._parts, strict=True))

    @cached_property
    def first(self) -> Array:
        """The first unit of each passage."""
        return self._units("first")

    @cached_property
    def last(self) -> Array:
        """The last unit of each passage."""
        return self._units("last")

    def _units(self, name: str) -> Array:
        found = [getattr(part, name).astype(np.int64) + base for part, base in zip(self._parts, self._unit_bases, strict=True)]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def passages_of_units(self, units: Array, inside: Array | int = 0) -> tuple[Array, Array]:
        """For each unit, with so many after it that are inside it, the passages it has a part in: (first, one past the last)."""
        return np.searchsorted(self.last, units), np.searchsorted(self.first, units + inside, side="right")

    def passages_with_units(self, units: Array | None) -> Array | None:
        """The passages that hold some of the units of a mask."""
        if units is None:
            return None
        before = np.concatenate([[0], np.cumsum(units)])
        return np.asarray(before[self.last + 1] > before[self.first])

    def compare(self, query: Vectors, passages: Array) -> Array:
        """How similar each of some passages is to a query."""
        found = np.zeros(len(passages), np.float32)
        part = np.searchsorted(self._bases, passages, side="right") - 1
        for number, one in enumerate(self._parts):
            mine = np.flatnonzero(part == number)
            if len(mine):
                rows = passages[mine] - int(self._bases[number])
                close = one.starts is not None
                found[mine] = one.max_sim(query.rows, rows) if close else one.similarities(query.rows[0], rows)
        return found

    def compare_all(self, query: Vectors) -> Array | None:
        """How similar every passage is to a query; None where there are too many to compare them all."""
        if self.passages > MAX_FULL_SCAN or any(part.starts is not None for part in self._parts):
            return None
        return self._compared(query.rows[0], None)

    def nearest(self, query: Vectors, count: int, allowed: Array | None, every: Array | None = None) -> tuple[Array, Array]:
        """The passages most similar to a query, best first: (passages, similarity). `every` spares comparing them once more."""
        if every is not None:
            rows = np.arange(self.passages) if allowed is None else np.flatnonzero(allowed)
            return highest(rows, every[rows], count)
        close = any(part.starts is not None for part in self._parts)
        row = unit_length(query.rows.mean(axis=0, keepdims=True))[0] if close else query.rows[0]
        rows, scores = self._first_look(row, TOKEN_CANDIDATES_PER_RESULT * count if close else count, allowed)
        return highest(np.sort(rows), self.compare(query, np.sort(rows)), count) if close else (rows, scores)

    def _first_look(self, row: Array, count: int, allowed: Array | None) -> tuple[Array, Array]:
        wanted = np.arange(self.passages) if allowed is None else np.flatnonzero(allowed)
        if len(wanted) > MAX_FULL_SCAN:
            wanted = self._sketched(row, max(MIN_CANDIDATES, CANDIDATES_PER_RESULT * count), allowed)
        scores = self._compared(row, None if len(wanted) == self.passages else wanted)
        return highest(wanted, scores, count)

    def _sketched(self, row: Array, count: int, allowed: Array | None) -> Array:
        bits = binary_vectors(row[None, :])[:, 0]
        differing = np.concatenate([part.bit_distances(bits) for part in self._parts])
        if allowed is not None:
            differing[~allowed] = np.iinfo(np.uint16).max
        last = min(count, len(differing)) - 1
        most = min(int(np.partition(differing, last)[last]), row.size)
        return np.flatnonzero(differing <= most)

    def _compared(self, row: Array, passages: Array | None) -> Array:
        if passages is None:
            found = [part.similarities(row, None) for part in self._parts]
            return np.concatenate(found) if found else np.empty(0, np.float32)
        cuts = np.searchsorted(passages, self._bases)
        parts = [
            part.similarities(row, passages[a:b] - int(base))
            for part, a, b, base in zip(self._parts, cuts, cuts[1:], self._bases, strict=False)
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.float32)
