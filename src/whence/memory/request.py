"""A recall as it is requested: every option is typed, documented and checked here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypedDict

from whence.core.errors import QueryError, UsageError
from whence.core.profiles import NOTE_PROFILES
from whence.core.request import check_choice, option
from whence.memory.note import KINDS
from whence.query.filters import STRATEGIES, check_distance
from whence.text.dates import find_dates

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from whence.memory.repository import Repository

MAX_NOTES = 10_000
_OPERATOR = re.compile(r'(?<!\S)(project|topic|kind|tag|since|until):(?:"([^"\n]+)"|([^\s"]+))')
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class RecallOptions(TypedDict, total=False):
    """The options of a recall as Python keywords: the fields of `RecallRequest`. None means not given."""

    k: int | None
    project: str | None
    everywhere: bool
    topic: str | None
    kinds: Sequence[str] | None
    tags: Sequence[str] | None
    since: str | datetime | None
    until: str | datetime | None
    as_of: str | datetime | None
    any_time: bool
    archived: bool
    max_distance: float | None
    strategy: str | None
    profile: str | None


@dataclass(frozen=True, slots=True)
class NoteFilters:
    """Which notes may be returned."""

    projects: tuple[str, ...] = ()
    repository: Repository | None = None  # only its notes and the user's own
    topic: str = ""
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    first_day: int = 0
    last_day: int = 0  # 0: no end
    archived: bool = False  # include archived notes
    valid_at: float | None = None  # only notes valid at this time; None: regardless of validity


@dataclass(frozen=True)
class RecallRequest:
    """One recall. Options that are None take their value from the settings."""

    query: str = option("", "A question, or a few words.", mcp="question")
    k: int | None = option(None, "How many notes (default: setting memory.k).", "-k", mcp="how many notes (5)", minimum=1)
    project: str | None = option(None, "Only notes of a project, also of another repository.", "--project", metavar="NAME", mcp="")
    everywhere: bool = option(False, "Also notes of other repositories.")
    topic: str = option("", "Only notes with this topic.", "--topic", metavar="TEXT", mcp="")
    kinds: tuple[str, ...] = option(
        (), "Only notes of a kind: durable, handoff, session, resource, skill. Repeatable.", "--kind", metavar="NAME"
    )
    tags: tuple[str, ...] = option((), "Only notes with this tag; repeat it to require more.", "--tag", metavar="TAG", mcp="all of these")
    since: str | datetime | None = option(
        None, "Only notes from this day on: 2026-01-31, or words such as 'last week'.", "--since", metavar="DATE", mcp="date"
    )
    until: str | datetime | None = option(None, "Only notes up to this day.", "--until", metavar="DATE", mcp="date")
    as_of: str | datetime | None = option(
        None, "Only notes that were valid at this time; 'last week' and the like are relative to it.", "--as-of", metavar="TIME"
    )
    any_time: bool = option(False, "Also notes that have expired or are not valid yet.")
    archived: bool = option(False, "Also archived notes.")
    max_distance: float | None = option(
        None, "Only notes that vectors find within this distance (1 - similarity).", "--max-distance", metavar="D"
    )
    strategy: str | None = option(None, "Which retrievers to use (default: words and vectors).", "--strategy", choices=STRATEGIES)
    profile: str | None = option(None, "Ranking of notes: default or classic.", "--profile", metavar="NAME")

    @classmethod
    def of(cls, query: str | RecallRequest = "", **options: Unpack[RecallOptions]) -> RecallRequest:
        """A request as it is, or one built from a query and options; an unknown option is an error."""
        names = [field.name for field in fields(cls)][1:]
        if unknown := options.keys() - set(names):
            raise QueryError(f"recall has no option {min(unknown)!r}", hint=f"options: {', '.join(names)}")
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        for name in given.keys() & {"kinds", "tags"}:
            given[name] = strings(given[name])
        return replace(query, **given) if isinstance(query, RecallRequest) else cls(query, **given)

    def __post_init__(self) -> None:
        """Reject bad options before any work is done."""
        if self.k is not None and (isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= MAX_NOTES):
            raise QueryError(f"k = {self.k!r} is not allowed", hint=f"a whole number from 1 to {MAX_NOTES}")
        check_choice("profile", self.profile, tuple(NOTE_PROFILES))
        check_choice("strategy", self.strategy, STRATEGIES)
        for kind in self.kinds:
            check_choice("kind", kind, KINDS)
        if not isinstance(self.max_distance, int | float | None):
            raise QueryError(f"max_distance = {self.max_distance!r} is not a number")
        check_distance(self.max_distance, self.strategy)

    def time(self, now: float) -> float:
        """The time in seconds that the request is asked at: `as_of`, or now."""
        as_of = parse_time(self.as_of, "as_of")
        return as_of.timestamp() if as_of else now

    def with_operators(self) -> RecallRequest:
        """The same request with `project:`, `topic:`, `kind:`, `tag:`, `since:` and `until:` taken out of its query."""
        given: dict[str, str] = {}
        kinds, tags = list(self.kinds), list(self.tags)

        def take(found: re.Match[str]) -> str:
            name, value = found[1], found[2] or found[3]
            if name == "kind" and value not in KINDS:
                return found[0]
            if name in ("kind", "tag"):
                (kinds if name == "kind" else tags).append(value)
            else:
                given[name] = value
            return ""

        query = _OPERATOR.sub(take, self.query) if ":" in self.query else self.query
        if query == self.query:
            return self
        new: dict[str, Any] = {name: value for name, value in given.items() if not getattr(self, name)}
        return replace(self, query=" ".join(query.split()), kinds=tuple(kinds), tags=tuple(tags), **new)

    def filters(self, now: float, repository: Repository | None = None) -> NoteFilters:
        """Which notes may be returned, with dates resolved at a time in seconds; by default only the repository's and the user's."""
        now = self.time(now)
        return NoteFilters(
            () if self.project is None else (self.project,),
            repository if self.project is None and not self.everywhere else None,
            _utf8(self.topic),
            self.kinds,
            tuple(map(_utf8, self.tags)),
            parse_day(self.since, "since", now),
            parse_day(self.until, "until", now, last=True),
            self.archived,
            None if self.any_time else now,
        )


def strings(given: Sequence[str]) -> tuple[str, ...]:
    """A sequence of strings; a single string counts as one."""
    return (given,) if isinstance(given, str) else tuple(given)


def _utf8(given: str) -> str:
    """Text that SQLite accepts: command-line arguments may hold bytes that are not UTF-8."""
    return given.encode("utf-8", "replace").decode()


def parse_time(given: str | datetime | None, name: str) -> datetime | None:
    """A date, or a date and time, in UTC; without a zone it is taken as UTC."""
    if given is None or given == "":
        return None
    try:
        found = given if isinstance(given, datetime) else datetime.fromisoformat(re.sub("[Zz]", "+00:00", given.strip()))
        return found.astimezone(timezone.utc) if found.tzinfo else found.replace(tzinfo=timezone.utc)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise UsageError(f"{name} = {given!r} is not a date", hint="write 2026-11-16 or 2026-11-16T10:30:00Z") from error


def parse_day(given: str | datetime | None, name: str, now: float, *, last: bool = False) -> int:
    """The ordinal of a date, or of words such as `last week`: the first day they name, or the last. 0 for none."""
    if isinstance(given, str) and given and not _DAY.match(given.strip()):
        today = datetime.fromtimestamp(now, timezone.utc).toordinal()
        spans = find_dates(given, today) or find_dates(f"on {given}", today)  # a bare weekday is a date only where one is asked for
        if not spans:
            raise UsageError(f"{name} = {given!r} is not a date", hint="write 2026-11-16, or words such as 'last week' or 'May 2023'")
        return spans[-1].last if last else spans[0].first
    found = parse_time(given, name)
    return found.toordinal() if found else 0
