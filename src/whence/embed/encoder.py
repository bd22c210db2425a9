"""The seam of all encoders: what they are given, what they give back, and what they must know of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
else:
    Array = np.ndarray  # numpy.typing takes a tenth of the time of a short search to load


@dataclass(frozen=True, slots=True)
class UnitText:
    """A unit as an encoder reads it: where it is, what it and the things around it are called, and what it says."""

    path: str
    names: str  # enclosing names, its own, its signature
    body: bytes  # UTF-8, without what is nested in it


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of some texts, one after the other. One row for each text is the plain case of several."""

    rows: Array  # float32, each row of length 1, or all zero where a text says nothing
    starts: Array  # of each text its first row, and one past the last of all; every text has at least one row

    @classmethod
    def one_per_text(cls, rows: Array) -> Vectors:
        """Vectors of an encoder that gives one row for each text."""
        return cls(rows, np.arange(len(rows) + 1))


def unit_length(rows: Array) -> Array:
    """Rows of length 1; a row of zeros stays one."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)


class Encoder(Protocol):
    """A model that can be asked for vectors. Similarity is the dot product of rows, for several rows the best of each."""

    name: str  # as the user chose it
    width: int  # numbers in a row
    late: bool  # whether a text has a row for each token instead of one for all
    noise: float  # similarity below which likeness is chance; 0 where that was not measured
    fingerprint: str  # of everything that decides its vectors: another one means that vectors are made again

    def encode_units(self, units: Sequence[UnitText]) -> Vectors:
        """The vectors of units."""
        ...

    def encode_query(self, text: str) -> Vectors:
        """The vectors of one question: a single text."""
        ...
