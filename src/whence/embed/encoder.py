"""Encoders: what they are given, what they give back, and which one a name stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from whence.core.errors import SettingError

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


SHIPPED = "shipped"
NONE = "none"
#: The shipped encoder of notes.
PROSE = "prose"
LATE, MODEL2VEC, ONNX = "late:", "model2vec:", "onnx:"
ALLOWED = f"{SHIPPED} | {NONE} | " + " | ".join(f"{kind}DIRECTORY-OR-HUB-ID" for kind in (LATE, MODEL2VEC, ONNX))


def is_shipped(encoder: Encoder | None) -> bool:
    """Whether vectors are of the shipped model, whose similarities are known."""
    return encoder is not None and encoder.name == SHIPPED


@cache
def open_encoder(name: str) -> Encoder | None:
    """The encoder of a name, loaded once; None where none is wanted. Raises `ModelUnavailable`."""
    if name not in {SHIPPED, NONE} and not any(name.startswith(kind) and name != kind for kind in (LATE, MODEL2VEC, ONNX)):
        raise SettingError(f"index.model = {name!r} is not allowed", hint=f"allowed: {ALLOWED}")
    if name == NONE:
        return None
    encoder = _load_encoder(name)
    encoder.name = name
    return encoder


@cache
def open_note_encoder(name: str) -> Encoder | None:
    """The encoder of notes, by the setting memory.model; None where none is wanted. Raises `ModelUnavailable`."""
    if name == NONE:
        return None
    if name == PROSE:
        from whence.embed.prose import ProseEncoder  # noqa: PLC0415

        return ProseEncoder()
    return open_encoder(name)


def _load_encoder(name: str) -> Encoder:
    if name == SHIPPED:
        from whence.embed.static import StaticEncoder  # noqa: PLC0415  -- each encoder loads only what it needs

        return StaticEncoder()
    if name.startswith(LATE):
        from whence.embed.late import LateEncoder  # noqa: PLC0415

        return LateEncoder(name.removeprefix(LATE))
    if name.startswith(ONNX):
        from whence.embed.sentence import SentenceEncoder  # noqa: PLC0415

        return SentenceEncoder(name.removeprefix(ONNX))
    from whence.embed.model2vec import Model2VecEncoder  # noqa: PLC0415

    return Model2VecEncoder(name.removeprefix(MODEL2VEC))
