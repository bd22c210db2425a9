"""Which repositories a question is asked of: all that the caller may see, or those that `repo:PATTERN` chooses among them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from whence.fleet.registry import Repository

#: How a query names repositories.
_REPO = re.compile(r"(?:(?<=\s)|^)(-?)repo:(\S+)")


@dataclass(frozen=True, slots=True)
class Reach:
    """What a question is asked of."""

    repositories: tuple[Repository, ...]
    chosen: bool  # whether the query itself chose among them

    @property
    def names(self) -> frozenset[str]:
        """Their names."""
        return frozenset(one.name for one in self.repositories)


def chosen(query: str, every: Sequence[Repository]) -> tuple[str, Reach]:
    """The question without what chooses repositories, and what it is asked of."""
    named = _REPO.findall(query)
    wanted = [pattern for minus, pattern in named if not minus]
    unwanted = [pattern for minus, pattern in named if minus]
    kept = [
        one
        for one in every
        if (not wanted or any(fits(one.name, pattern) for pattern in wanted)) and not any(fits(one.name, pattern) for pattern in unwanted)
    ]
    return _REPO.sub("", query).strip() if named else query, Reach(tuple(kept), bool(named))


def fits(name: str, pattern: str) -> bool:
    """Whether a pattern means a repository: its whole name, or the last part of it."""
    return fnmatchcase(name, pattern) or fnmatchcase(name.rpartition("/")[2], pattern)
