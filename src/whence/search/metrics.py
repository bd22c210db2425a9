"""Measures of search quality: rank, NDCG, mean and percentile (B2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: How many results count.
DEPTH = 10


def same_file(returned: str, wanted: str) -> bool:
    """Whether two paths name the same file: equal, or one ends with the other."""
    return returned == wanted or returned.endswith(f"/{wanted}") or wanted.endswith(f"/{returned}")


def rank_of(wanted: str, returned: Sequence[str]) -> int | None:
    """The rank, from 1, of the first returned file that is the wanted one."""
    return next((place for place, path in enumerate(returned, 1) if same_file(path, wanted)), None)


def ndcg(wanted: Sequence[str], returned: Sequence[str], depth: int = DEPTH) -> float:
    """NDCG at a depth: the gain of the targets at their ranks, relative to the best possible gain."""
    if not wanted:
        return 0.0
    ranks = [rank_of(target, returned[:depth]) for target in wanted]
    gained = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None)
    return gained / sum(1 / math.log2(place + 1) for place in range(1, min(depth, len(wanted)) + 1))


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; 0 without values."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else 0.0
