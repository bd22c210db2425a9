"""The shipped encoder: a table of vectors for pieces of words, and how much each piece counts.

A text is the weighted mean of its pieces. A unit is the sum of three such means,
each brought to length 1 first: of its path, of its names, of its body. Keeping the
three apart matters more than anything else about the model (docs/experiments/embeddings.md):
in one bag, a long body would drown the path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from whence.core.errors import ModelUnavailable
from whence.embed.encoder import Array, UnitText, Vectors, unit_length

MODEL = Path(__file__).with_name("static_model")
#: Words inside an identifier, as the model was trained on them.
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
MIN_WORD_LENGTH, MAX_WORD_LENGTH = 2, 24
#: Pieces of a path that count: the last ones, nearest to the file.
PATH_PIECES = 24
#: Bytes of a body that are read: enough to know what it is about.
MAX_BODY_BYTES = 6000
#: Everything that cannot be part of a word becomes a space; the zero byte stands between texts.
_MARK = b"\0"
_SPACED_OUT = bytes(byte if (chr(byte).isalnum() and byte < 128) or byte == 0 else ord(" ") for byte in range(256))
#: Identifiers whose pieces are remembered; beyond this all are forgotten, to stay small.
MAX_CACHED_WORDS = 1 << 17
#: Words that do not exist reach less than this in nine trees of ten, questions that have an answer more in 98 of 100
#: (docs/experiments/embeddings.md).
NOISE = 0.28
#: Rows of the table that are gathered at a time.
_GATHERED = 1 << 14


def words_of(text: str) -> list[str]:
    """The words of a text, identifiers split into theirs."""
    return _WORD.findall(text)


class WordPieces:
    """Pieces of words and their numbers; the longest piece that fits comes first."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._beginnings = dict(zip(pieces, range(len(pieces)), strict=True))
        self._known: dict[str, tuple[int, ...]] = {}

    @cached_property
    def _endings(self) -> dict[str, int]:
        """Pieces that go on with a word; needed only where a word is no piece itself."""
        return {piece[2:]: row for piece, row in self._beginnings.items() if piece.startswith("##")}

    def pieces(self, text: str) -> list[int]:
        """The pieces of all words of a text."""
        return [row for word in words_of(text) if MIN_WORD_LENGTH <= len(word) <= MAX_WORD_LENGTH for row in self._of_word(word.lower())]

    def _of_word(self, word: str) -> tuple[int, ...]:
        found = self._known.get(word)
        if found is None:
            if len(self._known) >= MAX_CACHED_WORDS:
                self._known.clear()
            found = self._known[word] = self._cut(word)
        return found

    def _cut(self, word: str) -> tuple[int, ...]:
        whole = self._beginnings.get(word)
        if whole is not None:
            return (whole,)
        rows, at, known = [], 0, self._beginnings
        while at < len(word):
            for end in range(len(word), at, -1):
                row = known.get(word[at:end])
                if row is not None:
                    break
            else:
                return ()
            rows.append(row)
            at, known = end, self._endings
        return tuple(rows)


class StaticEncoder:
    """Reads the shipped model from its folder, by memory map."""

    late = False

    def __init__(self, folder: Path = MODEL) -> None:
        try:
            self._table = np.load(folder / "vectors.npy", mmap_mode="r")
            self._scale, self._asked, self._said = np.load(folder / "weights.npy")
            self._fields = np.load(folder / "fields.npy")
            self.fingerprint = (folder / "fingerprint.txt").read_text(encoding="utf-8").strip()
            self._text = (folder / "vocabulary.txt").read_text(encoding="utf-8")
        except (OSError, ValueError, EOFError) as error:
            raise ModelUnavailable(f"the shipped model cannot be read: {error}", hint="install whence again") from error
        if not self._text.count("\n") + 1 == len(self._table) == len(self._scale):
            raise ModelUnavailable("the tables of the shipped model do not belong together", hint="install whence again")
        self.name, self.noise = "shipped", NOISE
        self.width = int(self._table.shape[1])
        self._ids: dict[bytes, int] = {}
        self._flat: list[int] = []
        self._starts: list[int] = []
        self._forget()

    @cached_property
    def _vocabulary(self) -> WordPieces:
        return WordPieces(self._text.split("\n"))

    def encode_query(self, text: str) -> Vectors:
        """A question as the weighted mean of its pieces."""
        pieces = np.array(self._vocabulary.pieces(text), np.int64)
        return Vectors.one_per_text(unit_length(self._means(np.zeros(len(pieces), np.int64), pieces, self._asked, 1)))

    def encode_units(self, units: Sequence[UnitText]) -> Vectors:
        """One row for each unit: its path, its names and its body, each of equal length, weighted and added."""
        names = self._bags([unit.names.encode("utf-8", "replace") for unit in units])
        bodies = self._bags([unit.body[:MAX_BODY_BYTES] for unit in units])
        paths = sorted({unit.path for unit in units})
        row = {path: number for number, path in enumerate(paths)}
        places = self._paths(paths)[[row[unit.path] for unit in units]] if units else np.zeros((0, self.width), np.float32)
        rows = self._fields[0] * places + self._fields[1] * names + self._fields[2] * bodies
        return Vectors.one_per_text(unit_length(rows))

    def _paths(self, paths: list[str]) -> Array:
        pieces = [self._vocabulary.pieces(path)[-PATH_PIECES:] for path in paths]
        owner = np.repeat(np.arange(len(paths)), [len(found) for found in pieces])
        return unit_length(self._means(owner, np.array([row for found in pieces for row in found], np.int64), self._said, len(paths)))

    def _bags(self, texts: list[bytes]) -> Array:
        """The mean of each text, of length 1; all words are looked up in one sweep, with a mark between the texts."""
        if len(self._ids) > MAX_CACHED_WORDS:
            self._forget()
        joined = b" \0 ".join([text.replace(_MARK, b" ") for text in texts])
        ids = self._look_up(joined.translate(_SPACED_OUT).split())
        marks = ids == 0
        word, text = ids[~marks], np.cumsum(marks)[~marks]
        starts = np.array(self._starts, np.int64)
        flat = np.array(self._flat, np.int64)
        sizes = np.diff(starts)[word]
        at = np.repeat(starts[word] - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
        return unit_length(self._means(np.repeat(text, sizes), flat[at], self._said, len(texts)))

    def _forget(self) -> None:
        self._ids, self._flat, self._starts = {_MARK: 0}, [], [0, 0]

    def _look_up(self, found: list[bytes]) -> Array:
        known = self._ids
        for word in set(found).difference(known):
            known[word] = len(known)
            self._flat += self._vocabulary.pieces(word.decode("ascii"))
            self._starts.append(len(self._flat))
        return np.fromiter(map(known.__getitem__, found), np.int64, len(found))

    def _means(self, owner: Array, pieces: Array, weights: Array, count: int) -> Array:
        """For each owner the mean of its pieces' vectors: by weight, and by the logarithm of how often they occur."""
        means = np.zeros((count, self.width), np.float32)
        if not len(pieces):
            return means
        key = np.sort(owner * len(self._table) + pieces)
        new = np.flatnonzero(np.diff(key, prepend=-1))
        often = np.diff(np.append(new, len(key)))
        owner, pieces = np.divmod(key[new], len(self._table))
        worth = (weights[pieces] * (1 + np.log(often))).astype(np.float32)
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        total = np.add.reduceat(worth, first)
        scaled = worth * self._scale[pieces] / np.repeat(total, np.diff(np.append(first, len(owner))))
        for low, high in _stretches(np.append(first, len(owner)), _GATHERED):
            a, b = first[low], first[high] if high < len(first) else len(owner)
            rows = self._table[pieces[a:b]] * scaled[a:b, None].astype(np.float32)
            means[owner[first[low:high]]] = np.add.reduceat(rows, first[low:high] - a, axis=0)
        return means


def _stretches(bounds: Array, size: int) -> list[tuple[int, int]]:
    """Runs of groups that together hold about `size` items, or one group that holds more."""
    found, low, last = [], 0, len(bounds) - 1
    while low < last:
        high = max(low + 1, int(np.searchsorted(bounds, bounds[low] + size, side="right")) - 1)
        found.append((low, min(high, last)))
        low = high
    return found
