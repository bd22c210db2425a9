"""A search as it is asked: every option typed, documented and checked in one place (Q, F, E4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypedDict

from whence.core.errors import QueryError, UsageError
from whence.core.profiles import FUSIONS, PROFILES, Profile
from whence.core.request import check_choice, option
from whence.core.settings import SearchSettings
from whence.query.filters import CONTENTS, OPERATORS, STRATEGIES, Filters, check_distance
from whence.query.parser import ParsedQuery, parse_query

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from whence.query.patterns import Pattern

#: A signal's weight may be multiplied by at most this.
MOST_TIMES = 100
_RELAXATION = re.compile(r"^>\s*([0-9]{1,9})$")
_NO_FACTORS: Mapping[str, float] = MappingProxyType({})


class SearchOptions(TypedDict, total=False):
    """The options of a search as keywords of Python calls; the fields of `SearchRequest`."""

    k: int | None
    plain: bool
    operator: str | None
    relaxation: str | None
    pattern: str | tuple[str, ...] | None
    fixed: bool
    word: bool
    ignore_case: bool
    invert: bool
    max_count: int | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    languages: tuple[str, ...]
    kinds: tuple[str, ...]
    content: str | None
    paths: tuple[str, ...]
    strategy: str | None
    max_distance: float | None
    profile: str | None
    fusion: str | None
    alpha: float | None
    factors: Mapping[str, float]


@dataclass(frozen=True)
class SearchRequest:
    """One search. Options that are None take their value from the settings."""

    query: str = option("", "A question, a few words, a name, or a query with operators.", mcp="question, name, or query")
    k: int | None = option(
        None, "How many files (default: setting search.k; all of them for -e alone).", "-k", mcp="how many files (8)", minimum=1
    )
    plain: bool = option(False, "Treat QUERY as plain words, without operators.", "--plain")
    operator: str | None = option(None, "Whether any word may match or every word must.", "--operator", choices=OPERATORS)
    relaxation: str | None = option(
        None, "With 'and': also try without the last words, while more than N remain.", "--relaxation", metavar=">N"
    )
    pattern: tuple[str, ...] | str | None = option(
        (), "Only units with a line that matches any; alone: like grep.", "-e", "--regexp", metavar="REGEX"
    )
    fixed: bool = option(False, "The pattern is plain text.", "-F", "--fixed-strings")
    word: bool = option(False, "The pattern matches whole words only.", "-w", "--word-regexp")
    ignore_case: bool = option(False, "The pattern ignores case.", "-i", "--ignore-case")
    invert: bool = option(False, "Lines that do not match; for a pattern alone.", "-v", "--invert-match")
    max_count: int | None = option(None, "Show at most N matching lines of each file.", "-m", "--max-count", metavar="N", minimum=1)
    include: tuple[str, ...] = option((), "Only files that match, for instance '*.py' or 'src/**'.", "--include", metavar="GLOB")
    exclude: tuple[str, ...] = option((), "No files that match.", "--exclude", metavar="GLOB")
    languages: tuple[str, ...] = option((), "Only files of a language.", "--lang", metavar="NAME")
    kinds: tuple[str, ...] = option((), "Only units of a kind: function, class, method, ...", "--kind", metavar="NAME")
    content: str | None = option(None, "Which files (default: code; all for a pattern alone).", "--content", choices=CONTENTS)
    paths: tuple[str, ...] = option((), "Only below these files or folders, relative to the root.")
    strategy: str | None = option(None, "Which retrievers to use (default: words and vectors).", "--strategy", choices=STRATEGIES)
    max_distance: float | None = option(None, "Only results within this vector distance (1 - similarity).", "--max-distance", metavar="D")
    profile: str | None = option(None, "Ranking profile: default, classic or semantic.", "--profile", metavar="NAME")
    fusion: str | None = option(None, "With the classic profile: how word and vector scores are fused.", "--fusion", choices=FUSIONS)
    alpha: float | None = option(None, "With the classic profile: the share of the vectors, from 0 to 1.", "--alpha", metavar="A")
    factors: Mapping[str, float] = field(default_factory=lambda: _NO_FACTORS)  # by signal: times its weight, 0 is off

    @classmethod
    def of(cls, query: str | SearchRequest, **options: Unpack[SearchOptions]) -> SearchRequest:
        """A request as it is, or one made of a query and options."""
        if isinstance(query, SearchRequest):
            return replace(query, **options) if options else query
        return cls(query, **options)

    def __post_init__(self) -> None:
        """Refuse what cannot be answered, before anything is opened for it; the first that is wrong is named."""
        if self.k is not None and self.k < 1:
            raise UsageError(f"k = {self.k} is not allowed", hint="ask for at least one file")
        check_choice("operator", self.operator, OPERATORS)
        check_choice("content", self.content, CONTENTS)
        check_choice("strategy", self.strategy, STRATEGIES)
        check_distance(self.max_distance, self.strategy)
        Filters(self.include, self.exclude, self.languages, self.kinds, self.content or "all", self.paths)
        if not self.patterns and (self.fixed or self.word or self.ignore_case or self.invert):
            raise UsageError("-F, -w, -i and -v speak of a pattern", hint="give one with -e")
        if self.invert and self.query.strip():
            raise UsageError("-v goes with a pattern alone", hint="in a query, -/regex/ leaves out files that match")
        if self.max_count is not None and self.max_count < 1:
            raise UsageError(f"max_count = {self.max_count} is not allowed", hint="ask for at least one line")
        _ = self.compiled, self.relax_above
        if self.profile is not None:
            check_profile(self.profile)
            self.ranked_by(PROFILES[self.profile], self.profile)

    @cached_property
    def parsed(self) -> ParsedQuery:
        """The query, parsed once, without secrets and without what was pasted around it."""
        return parse_query(self.query, plain=self.plain)

    @cached_property
    def compiled(self) -> Pattern | None:
        """The pattern, compiled once."""
        if not self.patterns:
            return None
        from whence.query.patterns import compile_pattern  # noqa: PLC0415  -- only where there is one

        return compile_pattern(self.patterns, fixed=self.fixed, word=self.word, ignore_case=self.ignore_case, invert=self.invert)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns, of which any may match."""
        return (self.pattern,) if isinstance(self.pattern, str) else tuple(self.pattern or ())

    @property
    def is_pattern_alone(self) -> bool:
        """Whether it is asked like grep: a pattern and no query."""
        return bool(self.patterns) and not self.query.strip()

    @cached_property
    def relax_above(self) -> int | None:
        """The number of words that must remain when the last are let go (Q4)."""
        if self.relaxation is None:
            return None
        if self.operator != "and":
            raise UsageError("--relaxation only goes with --operator and", hint="with 'or' every word is optional already")
        found = _RELAXATION.match(self.relaxation.strip())
        if not found or int(found.group(1)) < 1:
            raise UsageError(
                f"relaxation {self.relaxation!r} is not allowed",
                hint="write '>N': the fewest words that must remain, for instance '>2'",
            )
        return int(found.group(1))

    def filters(self, default_content: str) -> Filters:
        """Which files and units may be returned; a pattern alone, or a query that names documents, searches them, too."""
        beyond_code = self.parsed.reaches_beyond_code or self.is_pattern_alone
        content = self.content or ("all" if beyond_code else default_content)
        return Filters(self.include, self.exclude, self.languages, self.kinds, content, self.paths)

    @property
    def is_narrowed(self) -> bool:
        """Whether options or operators say which files or units may be returned, apart from a path."""
        chosen = (self.include, self.exclude, self.languages, self.kinds, self.content not in (None, "all"))
        return any(chosen) or bool(self.parsed.conditions)

    def ranked_by(self, profile: Profile, name: str) -> Profile:
        """A profile with the fusion and the weights that were asked for."""
        return with_factors(name, with_fusion(name, profile, self.fusion, self.alpha), self.factors)

    def resolved(self, chosen: SearchSettings, files: int) -> ResolvedRequest:
        """The request with the settings filled in; a pattern alone is grep: it loses nothing."""
        unbounded = self.k is None and not self.query.strip()
        return ResolvedRequest(
            k=files + 1 if unbounded else chosen.k if self.k is None else self.k,
            operator=self.operator or chosen.operator,
            relax_above=self.relax_above,
            pattern=self.compiled,
            max_count=self.max_count,
            strategy=self.strategy or chosen.strategy,
            max_distance=self.max_distance,
            filters=self.filters(chosen.content),
        )


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """What the stages of a search read: every option has a value."""

    k: int
    operator: str = "or"
    relax_above: int | None = None
    pattern: Pattern | None = None
    max_count: int | None = None
    strategy: str = "union"
    max_distance: float | None = None
    filters: Filters = field(default_factory=Filters)


def check_profile(name: str) -> None:
    """Refuse a profile that does not exist."""
    if name not in PROFILES:
        raise QueryError(f"there is no profile {name!r}", hint=f"allowed: {', '.join(PROFILES)}")


def check_related(options: Mapping[str, object]) -> None:
    """Refuse what speaks of words where a unit is compared as a whole."""
    wrong = sorted({"operator", "relaxation", "pattern", "fusion", "alpha", "factors"} & options.keys())
    if wrong:
        raise UsageError(f"{wrong[0]} has no part in what is related", hint="filter by path, language, kind, strategy or distance")


def with_fusion(name: str, profile: Profile, fusion: str | None, alpha: float | None) -> Profile:
    """A profile with another way to join words and vectors, where it joins them at all (F2)."""
    if fusion is None and alpha is None:
        return profile
    if not {"lexical", "semantic"} <= profile.signals.keys():
        raise QueryError(f"the profile {name!r} adds weighted signals and has no fusion", hint="use --profile classic with it")
    check_choice("fusion", fusion, FUSIONS)
    profile = replace(profile, fusion=fusion) if fusion is not None else profile
    if alpha is not None and not 0 <= alpha <= 1:
        raise QueryError(f"alpha {alpha!r} is not allowed", hint="the share of the vectors, from 0 to 1")
    return profile if alpha is None else profile.with_semantic_share(alpha)


def with_factors(name: str, profile: Profile, factors: Mapping[str, float] | None) -> Profile:
    """A profile with the weights of some of its signals multiplied: to see what they are worth."""
    for signal, factor in (factors or {}).items():
        if signal not in profile.signals:
            from difflib import get_close_matches  # noqa: PLC0415  -- only where something is wrong

            near = get_close_matches(signal, profile.signals, 1)
            raise QueryError(
                f"the profile {name!r} has no signal {signal[:80]!r}",
                hint=f"did you mean {near[0]}?" if near else "docs/signals.md has them",
            )
        if not 0 <= factor <= MOST_TIMES:
            raise QueryError(f"the factor {factor!r} of {signal} is not allowed", hint=f"from 0 (off) to {MOST_TIMES}")
    return profile.with_factors(factors) if factors else profile
