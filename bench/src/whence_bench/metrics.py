"""The measures of the search benchmark (B2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: How much of an answer counts.
DEPTH = 10


def same_file(returned: str, wanted: str) -> bool:
    """Whether two paths name one file: equal, or one is the other with folders before it."""
    return returned == wanted or returned.endswith(f"/{wanted}") or wanted.endswith(f"/{returned}")


def rank_of(wanted: str, returned: Sequence[str]) -> int | None:
    """The place, from 1, of the first returned file that is the wanted one."""
    return next((place for place, path in enumerate(returned, 1) if same_file(path, wanted)), None)


def ndcg(wanted: Sequence[str], returned: Sequence[str], depth: int = DEPTH) -> float:
    """NDCG at a depth: what the found targets are worth at their places, of what they could be worth."""
    if not wanted:
        return 0.0
    ranks = [rank_of(target, returned[:depth]) for target in wanted]
    gained = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None)
    return gained / sum(1 / math.log2(place + 1) for place in range(1, min(depth, len(wanted)) + 1))


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; of nothing it is 0."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed; of nothing it is 0."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else 0.0
