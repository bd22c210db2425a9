"""BM25: the weight of a term by its rarity, and the score of its occurrences in a text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, overload

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Saturation of repeated occurrences, and how much a text's length counts.
K1, B = 1.2, 0.75


@overload
def idf(total: int, holding: int) -> float: ...
@overload
def idf(total: int, holding: NDArray[Any]) -> NDArray[np.float64]: ...
def idf(total: int, holding: int | NDArray[Any]) -> float | NDArray[np.float64]:
    """The weight of a term, or of several, that `holding` of `total` texts contain; never negative."""
    if isinstance(holding, np.ndarray):
        return np.log(1 + (total - holding + 0.5).clip(0.5) / (holding + 0.5))
    return math.log(1 + max(total - holding + 0.5, 0.5) / (holding + 0.5))


def length_norm(lengths: NDArray[Any], mean: float) -> NDArray[np.float64]:
    """How much each text's length lowers its score: 1 at the mean length."""
    return 1 - B + B * lengths / mean


def bm25(counts: NDArray[Any], norm: NDArray[Any], weight: float = 1.0) -> NDArray[np.float64]:
    """The score that a term of some weight adds to texts in which it occurs `counts` times."""
    return weight * counts * (K1 + 1) / (counts + K1 * norm)
