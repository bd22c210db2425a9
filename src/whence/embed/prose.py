"""The encoder of everyday prose: a table of vectors for whole words, and how much each word counts.

Notes speak of people, places and feelings as well as of code, and a question about
them seldom uses their words. The shipped encoder of code knows little of that; this
one has learned from a sentence model what words mean, one word at a time (see
`prose/CARD.md`). A text is the weighted sum of its words, brought to length 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from whence.core.errors import ModelUnavailable
from whence.embed.encoder import Array, UnitText, Vectors, unit_length
from whence.text.analyzer import parts, words

MODEL = Path(__file__).with_name("prose_model")
UNKNOWN = -1
#: The best passage of a note about everyday life stays below this for nine of ten questions about software; that of a
#: note that holds the answer is above it for 97 of 100 questions.
NOISE = 0.3
#: A word that is not in the table is looked up without its ending, and with what that ending may have replaced.
_ENDINGS = (("ies", "y"), ("es", ""), ("s", ""), ("ied", "y"), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"), ("ly", ""), ("er", "e"))
_SHORTEST_FORM = 4
#: Words whose rows are remembered; beyond this all are forgotten, to stay small.
_REMEMBERED = 1 << 16
#: Rows of the table that are gathered at a time.
_GATHERED = 1 << 14


class ProseEncoder:
    """Reads the model from its folder, by memory map."""

    late = False

    def __init__(self, folder: Path = MODEL) -> None:
        try:
            self._table = np.load(folder / "vectors.npy", mmap_mode="r").view(np.ndarray)  # a plain array is read sooner
            self._scale, self._weights = np.load(folder / "weights.npy").astype(np.float32)
            self.fingerprint = (folder / "fingerprint.txt").read_text(encoding="utf-8").strip()
            self._text = (folder / "vocabulary.txt").read_text(encoding="utf-8")
        except (OSError, ValueError, EOFError) as error:
            raise ModelUnavailable(f"the model of prose cannot be read: {error}", hint="install whence again") from error
        if not self._text.count("\n") + 1 == len(self._table) == len(self._weights):
            raise ModelUnavailable("the tables of the model of prose do not belong together", hint="install whence again")
        self.name, self.noise = "prose", NOISE
        self.width = int(self._table.shape[1])
        self._remembered: dict[str, list[int]] = {}

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        found = self._text.split("\n")
        return dict(zip(found, range(len(found)), strict=True))

    def rows_of(self, found: Sequence[str]) -> Array:
        """The row of each lower-cased word in the table; `UNKNOWN` for those it does not have."""
        return np.array([self._row(word) for word in found], np.int64)

    def vectors_at(self, rows: Array) -> Array:
        """The vectors of some rows, of length 1; zeros for `UNKNOWN`."""
        known = rows != UNKNOWN
        there = np.where(known, rows, 0)
        return np.asarray(self._table.take(there, axis=0) * (self._scale.take(there) * known)[:, None], np.float32)

    def word_similarities(self, rows: Array, others: Array) -> Array:
        """The similarity of each of some words to each of others.

        Products of small whole numbers are exact in whatever order they are added up, so that a word is as like
        another wherever it stands.
        """
        there, elsewhere = np.maximum(rows, 0), np.maximum(others, 0)
        products = self._table.take(there, axis=0).astype(np.float32) @ self._table.take(elsewhere, axis=0).astype(np.float32).T
        products *= (self._scale.take(there) * (rows != UNKNOWN))[:, None]
        products *= (self._scale.take(elsewhere) * (others != UNKNOWN))[None, :]
        return np.asarray(products)

    def weights_at(self, rows: Array) -> Array:
        """How much the words of some rows count; nothing for `UNKNOWN`."""
        return np.where(rows == UNKNOWN, np.float32(0), self._weights[rows])

    def encode_query(self, text: str) -> Vectors:
        """A question as the weighted sum of its words."""
        return self._sums([text])

    def encode_units(self, units: Sequence[UnitText]) -> Vectors:
        """One row for each unit: the weighted sum of the words of its body."""
        return self._sums(unit.body.decode("utf-8", "replace") for unit in units)

    def _row(self, word: str) -> int:
        known = self._vocabulary
        row = known.get(word)
        if row is not None:
            return row
        for ending, replaced in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) + len(replaced) >= _SHORTEST_FORM:
                row = known.get(word.removesuffix(ending) + replaced)
                if row is not None:
                    return row
        return UNKNOWN

    def _rows(self, text: str) -> list[int]:
        """The rows of the words of a text, identifiers split into theirs, those of no weight left out."""
        remembered, rows = self._remembered, []
        for word in words(text):
            found = remembered.get(word)
            if found is None:
                if len(remembered) >= _REMEMBERED:
                    remembered.clear()
                known = [self._row(part) for part in parts(word)]
                found = remembered[word] = [row for row in known if row != UNKNOWN and self._weights[row] > 0]
            rows += found
        return rows

    def _sums(self, texts: Iterable[str]) -> Vectors:
        found = [self._rows(text) for text in texts]
        sums = np.zeros((len(found), self.width), np.float32)
        low = 0
        while low < len(found):
            high, held = low + 1, len(found[low])
            while high < len(found) and held + len(found[high]) <= _GATHERED:
                held += len(found[high])
                high += 1
            self._add_up(found[low:high], sums[low:high])
            low = high
        return Vectors.one_per_text(unit_length(sums))

    def _add_up(self, found: list[list[int]], sums: Array) -> None:
        """Fill the sums of some texts that are not too long to be gathered at once."""
        sizes = np.array([len(rows) for rows in found])
        said = sizes > 0
        if said.any():
            rows = np.array([row for text in found for row in text], np.int64)
            worth = self._table.take(rows, axis=0) * (self._weights[rows] * self._scale[rows])[:, None]
            sums[said] = np.add.reduceat(worth, (np.cumsum(sizes) - sizes)[said], axis=0)
