"""The measures of the context benchmark (B3): which of the wanted symbols are among those returned, and where.

The official measure is lenient: a class counts for its members and the other way round, and
several results may count for one wanted name. The strict one credits each wanted name once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from whence.search.metrics import DEPTH

#: A path up to the dot behind the file's extension, where a name stands behind its file.
_FILE = re.compile(r".*\.(?:go|py|tsx?|jsx?|rs|java|cs|rb)\.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Scores:
    """What one answer is worth by the official measure."""

    precision: float
    recall: float
    ndcg: float  # may exceed 1: several results may count for one wanted name
    mrr: float  # over the whole list


@dataclass(frozen=True, slots=True)
class StrictScores:
    """What one answer is worth when every wanted name is credited once."""

    precision: float
    recall: float


def canonical(name: str) -> str:
    """`Type.member` or `name`: without repository, file and modules before it."""
    bare = name.strip().split("://", 1)[-1]
    if behind_file := _FILE.match(bare):
        return bare[behind_file.end() :]
    if "/" in bare:
        package = bare.rpartition("/")[2]
        return package.partition(".")[2] or package
    parts = bare.split(".")
    first = next((place for place, part in enumerate(parts) if "A" <= part[:1] <= "Z"), len(parts) - 1)
    return ".".join(parts[first:])


def same_symbol(returned: str, wanted: str) -> bool:
    """The strict rules: equal ignoring case, or one is the other with components before it. Both names are canonical."""
    one, other = returned.lower(), wanted.lower()
    return bool(one and other) and (one == other or one.endswith(f".{other}") or other.endswith(f".{one}"))


def matches(returned: str, wanted: str) -> bool:
    """The official rules. Both names are canonical."""
    if not returned or not wanted:
        return False
    return same_symbol(returned, wanted) or _same_member(returned, wanted) or _contains(returned, wanted) or _contains(wanted, returned)


def _same_member(returned: str, wanted: str) -> bool:
    """Whether the last components are equal, and one has no other or they share another."""
    one, other = returned.lower().split("."), wanted.lower().split(".")
    return one[-1] == other[-1] and (len(one) == 1 or len(other) == 1 or not set(one[:-1]).isdisjoint(other[:-1]))


def _contains(outer: str, inner: str) -> bool:
    """Whether one name is a run of whole components of another; `::` is a dot here."""
    return f".{inner.replace('::', '.')}." in f".{outer.replace('::', '.')}."


def official(returned: Sequence[str], wanted: Sequence[str], depth: int = DEPTH) -> Scores:
    """The official measure of a ranked list of names."""
    results, targets = [canonical(name) for name in returned], [canonical(name) for name in wanted]
    if not targets:
        return Scores(0.0, 0.0, 0.0, 0.0)
    right = [any(matches(name, target) for target in targets) for name in results]
    found = sum(any(matches(name, target) for name in results[:depth]) for target in targets)
    gained = sum(_worth(place) for place, counts in enumerate(right[:depth], 1) if counts)
    ideal = sum(_worth(place) for place in range(1, min(depth, len(targets)) + 1))
    first = right.index(True) + 1 if True in right else None
    return Scores(sum(right[:depth]) / depth, found / len(targets), gained / ideal, 1 / first if first else 0.0)


def _worth(place: int) -> float:
    return 1 / math.log2(place + 1)


def strict(returned: Sequence[str], wanted: Sequence[str], depth: int = DEPTH) -> StrictScores:
    """The strict measure: a result counts when it is a wanted name that no result before it was."""
    waiting = [canonical(name) for name in wanted]
    credited = 0
    for name in map(canonical, returned[:depth]):
        if taken := _credit(name, waiting):
            waiting.remove(taken)
            credited += 1
    return StrictScores(credited / depth, credited / len(wanted) if wanted else 0.0)


def _credit(name: str, waiting: Sequence[str]) -> str:
    """The wanted name that a result is, an equal one before one that is only longer or shorter; empty where there is none."""
    fitting = [target for target in waiting if same_symbol(name, target)]
    return next((target for target in fitting if target.lower() == name.lower()), fitting[0] if fitting else "")
