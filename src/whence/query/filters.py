"""What may be returned at all: filters on files and units (Q7)."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from whence.core.errors import QueryError, UsageError
from whence.core.request import check_choice
from whence.core.types import KINDS
from whence.source.ignore import BACKEND

OPERATORS = ("or", "and")
CONTENTS = ("code", "docs", "config", "all")
STRATEGIES = ("union", "vector", "lexical")
#: A distance is 1 - similarity.
MAX_DISTANCE = 2.0
#: A name of 250 letters can be divided among five stars in a thousand million ways.
MAX_STARS = 3


@dataclass(frozen=True, slots=True)
class Filters:
    """Which files and units may be returned at all (Q7)."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    content: str = "all"
    paths: tuple[str, ...] = ()  # files or folders, relative to the root

    def __post_init__(self) -> None:
        check_choice("content", self.content, CONTENTS)
        if self.languages:
            from whence.parse.languages import KNOWN_NAMES, language_named  # noqa: PLC0415  -- only where one is named

            for language in self.languages:
                check_choice("language", language_named(language) or language, KNOWN_NAMES)
            object.__setattr__(self, "languages", tuple(map(language_named, self.languages)))
        for kind in self.kinds:
            check_choice("kind", kind, sorted(KINDS))
        for glob in (*self.include, *self.exclude):
            check_glob(glob)


def check_distance(distance: float | None, strategy: str | None) -> None:
    """Reject a distance out of range, or one for a search that compares no vectors."""
    if distance is None:
        return
    if not 0 <= distance <= MAX_DISTANCE:
        raise UsageError(
            f"max_distance {distance!r} is out of range", hint=f"a number from 0 (the same) to {MAX_DISTANCE:g} (the opposite)"
        )
    if strategy == "lexical":
        raise UsageError("a lexical search has no distances", hint="drop --max-distance, or use --strategy union or vector")


def check_glob(glob: str) -> None:
    """Reject a glob that cannot match anything, or takes ages to match a long name."""
    if not glob.strip():
        raise QueryError("empty glob", hint="for instance '*.py' or 'src/**'")
    plain = re.sub(r"\\.", "", glob)
    if plain.count("[") > plain.count("]"):
        raise QueryError(f"bad glob {glob!r}: unclosed [", hint=r"write \[ for the character itself")
    steps = plain.split("/")
    if max(steps.count("**"), *(step.count("*") for step in steps if step != "**"), 0) > MAX_STARS:
        raise QueryError(f"bad glob {glob!r}: too many stars", hint=f"at most {MAX_STARS} between two slashes, and {MAX_STARS} of **")
    if "[" in plain or plain.endswith("\\"):
        _check_sets(glob)


def _check_sets(glob: str) -> None:
    """Reject an invalid set such as `[z-a]`, and a trailing backslash."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  -- only for globs with a set

    try:
        with warnings.catch_warnings():  # warnings about a later Python are not for users
            warnings.simplefilter("ignore")
            GitIgnoreSpec.from_lines([glob.lstrip("!")], backend=BACKEND)
    except (ValueError, re.error) as error:
        raise QueryError(f"bad glob {glob!r}: {error}", hint=r"write \[ or \\ for the character itself") from error
