"""What may be asked beside the words, checked before any work is done."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from whence.core.errors import QueryError, UsageError
from whence.core.profiles import FUSIONS, PROFILES, Profile
from whence.core.types import KINDS
from whence.parse.languages import KNOWN_NAMES
from whence.query.pattern import Pattern, compile_pattern

OPERATORS = ("or", "and")
CONTENTS = ("code", "docs", "config", "all")
STRATEGIES = ("union", "vector", "lexical")
#: A distance is 1 - similarity.
FARTHEST = 2.0
#: A signal may be moved to so many times its weight.
MOST_TIMES = 100
_RELAXATION = re.compile(r"^>\s*([0-9]{1,9})$")
#: A name of 250 letters can be divided among five stars in a thousand million ways.
MOST_STARS = 3
#: Relaxation speaks of long queries; a short one is asked as it is (Q4).
FEWEST_WORDS_TO_RELAX = 4


@dataclass(frozen=True, slots=True)
class Options:
    """How to search: filters, operator and pattern. Build it with `make_options`."""

    k: int
    operator: str = "or"
    relax_above: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    content: str = "code"
    paths: tuple[str, ...] = ()  # files or folders, relative to the root
    pattern: Pattern | None = None
    strategy: str = "union"
    max_distance: float | None = None


def make_options(
    *,
    k: int,
    operator: str = "or",
    relaxation: str | None = None,
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    languages: tuple[str, ...] = (),
    kinds: tuple[str, ...] = (),
    content: str = "code",
    paths: tuple[str, ...] = (),
    pattern: str | None = None,
    fixed: bool = False,
    word: bool = False,
    ignore_case: bool = False,
    strategy: str = "union",
    max_distance: float | None = None,
) -> Options:
    """Check every option; the first that is wrong is named with what is allowed."""
    if k < 1:
        raise UsageError(f"k = {k} is not allowed", hint="ask for at least one file")
    _one_of("operator", operator, OPERATORS)
    _one_of("content", content, CONTENTS)
    _one_of("strategy", strategy, STRATEGIES)
    _check_distance(max_distance, strategy)
    for language in languages:
        _one_of("language", language, KNOWN_NAMES)
    for kind in kinds:
        _one_of("kind", kind, tuple(sorted(KINDS)))
    for glob in (*include, *exclude):
        check_glob(glob)
    if pattern is None and (fixed or word or ignore_case):
        raise UsageError("-F, -w and -i speak of a pattern", hint="give one with -e")
    compiled = compile_pattern(pattern, fixed=fixed, word=word, ignore_case=ignore_case) if pattern is not None else None
    return Options(
        k,
        operator,
        _relax_above(relaxation, operator),
        include,
        exclude,
        languages,
        kinds,
        content,
        paths,
        compiled,
        strategy,
        max_distance,
    )


def check_asked(asked: Mapping[str, Any], profile: str | None) -> None:
    """Refuse what cannot be asked, before any index is opened for it."""
    plain = {name: value for name, value in asked.items() if name not in {"fusion", "alpha", "factors"}}
    make_options(**{"k": 1, **plain})
    if profile is not None and profile not in PROFILES:
        raise QueryError(f"there is no profile {profile!r}", hint=f"allowed: {', '.join(PROFILES)}")
    if profile is not None:
        with_fusion(profile, PROFILES[profile], asked.get("fusion"), asked.get("alpha"))


def check_compared(asked: Mapping[str, Any]) -> None:
    """Refuse what speaks of words where a unit is compared as a whole."""
    wrong = sorted({"operator", "relaxation", "pattern", "fusion", "alpha", "factors"} & asked.keys())
    if wrong:
        raise UsageError(f"{wrong[0]} has no part in what is related", hint="filter by path, language, kind, strategy or distance")


def with_fusion(name: str, profile: Profile, fusion: str | None, alpha: float | None) -> Profile:
    """A profile with another way to join words and vectors, where it joins them at all (F2)."""
    if fusion is None and alpha is None:
        return profile
    if not profile.fuses:
        raise QueryError(f"the profile {name!r} adds weighted signals and has no fusion", hint="use --profile classic with it")
    if fusion is not None:
        _one_of("fusion", fusion, FUSIONS)
        profile = replace(profile, fusion=fusion)
    if alpha is not None and not 0 <= alpha <= 1:
        raise QueryError(f"alpha {alpha!r} is not allowed", hint="the share of the vectors, from 0 to 1")
    return profile if alpha is None else profile.with_share(alpha)


def with_factors(name: str, profile: Profile, factors: Mapping[str, float] | None) -> Profile:
    """A profile with the weights of some of its signals moved: to see what they are worth."""
    for signal, factor in (factors or {}).items():
        if signal not in profile.signals:
            near = get_close_matches(signal, profile.signals, 1)
            raise QueryError(
                f"the profile {name!r} has no signal {signal[:80]!r}",
                hint=f"did you mean {near[0]}?" if near else "docs/signals.md has them",
            )
        if not 0 <= factor <= MOST_TIMES:
            raise QueryError(f"the factor {factor!r} of {signal} is not allowed", hint=f"from 0 (off) to {MOST_TIMES}")
    return profile.scaled(factors) if factors else profile


def _one_of(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{what} {value!r} is not known", hint=f"allowed: {', '.join(allowed)}")


def _check_distance(distance: float | None, strategy: str) -> None:
    if distance is None:
        return
    if not 0 <= distance <= FARTHEST:
        raise UsageError(f"max_distance {distance!r} is not allowed", hint=f"a number from 0 (the same) to {FARTHEST:g} (the opposite)")
    if strategy == "lexical":
        raise UsageError("words alone know no distance", hint="drop --max-distance, or use --strategy union or vector")


def check_glob(glob: str) -> None:
    """Refuse a glob that can match nothing that was meant, or that takes ages to try on a long name."""
    if not glob.strip():
        raise QueryError("a glob is empty", hint="for instance '*.py' or 'src/**'")
    plain = re.sub(r"\\.", "", glob)
    if plain.count("[") > plain.count("]"):
        raise QueryError(f"bad glob {glob!r}: a [ that is never closed", hint=r"write \[ for the character itself")
    steps = plain.split("/")
    if max(steps.count("**"), *(step.count("*") for step in steps if step != "**"), 0) > MOST_STARS:
        raise QueryError(f"bad glob {glob!r}: too many stars", hint=f"at most {MOST_STARS} between two slashes, and {MOST_STARS} of **")
    if "[" in plain or plain.endswith("\\"):
        _check_sets(glob)


def _check_sets(glob: str) -> None:
    """Refuse a set that is none, such as `[z-a]`, and a backslash before nothing."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  -- only where a glob has a set

    try:
        with warnings.catch_warnings():  # what a later Python may read in another way is no news for a user
            warnings.simplefilter("ignore")
            GitIgnoreSpec.from_lines([glob.lstrip("!")])
    except (ValueError, re.error) as error:
        raise QueryError(f"bad glob {glob!r}: {error}", hint=r"write \[ or \\ for the character itself") from error


def _relax_above(relaxation: str | None, operator: str) -> int | None:
    if relaxation is None:
        return None
    if operator != "and":
        raise UsageError("--relaxation only goes with --operator and", hint="with 'or' every word is optional already")
    found = _RELAXATION.match(relaxation.strip())
    if not found or int(found.group(1)) < 1:
        raise UsageError(
            f"relaxation {relaxation!r} is not allowed", hint="write '>N': the fewest words that must remain, for instance '>2'"
        )
    return int(found.group(1))
