"""What may be asked of notes beside the words, checked before any work is done."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import Any

from whence.core.errors import QueryError, UsageError
from whence.core.profiles import NOTE_PROFILES
from whence.core.settings_schema import MemorySettings
from whence.memory.note import KINDS
from whence.query.filters import MAX_DISTANCE, STRATEGIES
from whence.text.dates import find_dates

#: The most notes that can be asked for.
MOST = 10_000
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class NoteFilters:
    """What an answer is narrowed to."""

    projects: tuple[str, ...] = ()
    topic: str = ""
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    first_day: int = 0  # notes of this day and later
    last_day: int = 0  # and up to this one; 0 for no end
    archived: bool = False  # also those that are archived
    valid_at: float | None = None  # only what holds at this moment; None for whatever is written


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question's options as they were given."""

    k: int
    profile: str
    strategy: str
    project: str | None = None
    topic: str = ""
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: str | datetime | None = None
    until: str | datetime | None = None
    as_of: str | datetime | None = None
    any_time: bool = False  # also what holds no longer, or not yet
    archived: bool = False
    max_distance: float | None = None

    @classmethod
    def of(cls, settings: MemorySettings, **given: Any) -> RecallRequest:
        """Options with their defaults; a wrong one is refused by its name."""
        unknown = given.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise QueryError(f"recall takes no {min(unknown)!r}", hint=f"it takes {', '.join(field.name for field in fields(cls))}")
        for name in ("kinds", "tags"):
            if isinstance(given.get(name), str):
                given[name] = (given[name],)
        chosen = {"k": settings.k, "profile": settings.profile, "strategy": settings.strategy}
        asked = cls(**{**chosen, **{name: value for name, value in given.items() if value is not None}})
        _check(asked)
        return asked


def _check(asked: RecallRequest) -> None:
    if isinstance(asked.k, bool) or not isinstance(asked.k, int) or not 1 <= asked.k <= MOST:
        raise QueryError(f"k = {asked.k!r} is not allowed", hint=f"a whole number from 1 to {MOST}")
    for name, value, allowed in (("profile", asked.profile, tuple(NOTE_PROFILES)), ("strategy", asked.strategy, STRATEGIES)):
        if value not in allowed:
            raise QueryError(f"{name} {value!r} is not allowed", hint=f"allowed: {', '.join(allowed)}")
    for kind in asked.kinds:
        if kind not in KINDS:
            raise QueryError(f"there is no kind of note {kind!r}", hint=f"allowed: {', '.join(KINDS)}")
    distance = asked.max_distance
    if distance is not None and not (isinstance(distance, int | float) and 0 <= distance <= MAX_DISTANCE):
        raise QueryError(f"max_distance = {distance} is not allowed", hint=f"a number from 0 to {MAX_DISTANCE}")
    if distance is not None and asked.strategy == "lexical":
        raise QueryError("max_distance asks for vectors, and the strategy is lexical", hint="use union or vector")


def filters_of(asked: RecallRequest, now: float) -> NoteFilters:
    """What an answer is narrowed to, seen from a moment."""
    as_of = moment(asked.as_of, "as_of")
    return NoteFilters(
        () if asked.project is None else (asked.project,),
        _text(asked.topic),
        tuple(asked.kinds),
        tuple(map(_text, asked.tags)),
        day(asked.since, "since", now),
        day(asked.until, "until", now, last=True),
        asked.archived,
        None if asked.any_time else as_of.timestamp() if as_of else now,
    )


def _text(given: str) -> str:
    """Text that a database takes: a command line may hold bytes that are none."""
    return given.encode("utf-8", "replace").decode()


def moment(given: str | datetime | None, name: str) -> datetime | None:
    """A moment as it was given: a date, or a date and time; without a zone it is taken as UTC."""
    if given is None or given == "":
        return None
    try:
        found = given if isinstance(given, datetime) else datetime.fromisoformat(_iso(given))
        return found.astimezone(timezone.utc) if found.tzinfo else found.replace(tzinfo=timezone.utc)
    except (ValueError, TypeError, OverflowError) as error:
        raise UsageError(f"{name} = {given!r} is no date", hint="write 2026-11-16 or 2026-11-16T10:30:00Z") from error


def _iso(given: str) -> str:
    if not isinstance(given, str):
        raise TypeError(given)
    return given.strip().replace("Z", "+00:00").replace("z", "+00:00")


def day(given: str | datetime | None, name: str, now: float, *, last: bool = False) -> int:
    """A day as it was given: a date, or words such as `last week`; 0 for none. Of several days the first, or the last."""
    if given is None or given == "":
        return 0
    if isinstance(given, str) and not _DAY.match(given.strip()):
        spans = find_dates(given, datetime.fromtimestamp(now, timezone.utc).toordinal())
        if not spans:
            raise UsageError(f"{name} = {given!r} is no date", hint="write 2026-11-16, or words such as 'last week' or 'May 2023'")
        return spans[-1].last if last else spans[0].first
    found = moment(given, name)
    return found.toordinal() if found else 0
