"""How words of time go together: "since May", "from Monday to Friday", "May and June 2023", "the week before 3 August"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from whence.text.dates import calendar
from whence.text.dates import words as date_words
from whence.text.dates.calendar import Days, Recurring
from whence.text.dates.words import UNITS, WEEKDAYS, DateReading, after_part, count_before, start_of, words_before

#: How a word before a time opens it at one end, or begins a span between two.
_OPENERS = {
    "since": "since",
    "after": "after",
    "before": "before",
    "until": "until",
    "till": "until",
    "by": "until",
    "from": "from",
    "between": "between",
}
_READERS = {
    "date": date_words.read_date,
    "year": date_words.read_year,
    "month": date_words.read_month,
    "weekday": date_words.read_weekday,
    "season": date_words.read_season,
    "quarter": date_words.read_quarter,
    "word": date_words.read_word,
    "unit": date_words.read_unit,
}
#: Marks beside a word that make it a part of something longer: a path, a name in code, a tag.
_TORN_BEFORE = frozenset("./\\@#$=`~+<:_-|")
_TORN_BEHIND = re.compile(r"[\w`(|]|[-./=\\:@]\w")
#: Between two times: the second one goes on with the first, or ends what the first began.
_JOINT = re.compile(
    r"\s{0,3}(?:(?P<to>to|until|till|through|-|\u2013|\u2014)|(?P<also>,?\s?(?:and|or)|,|&))\s{0,3}"
    r"(?:(?:the|early|late|in|on)\s|mid[ -])?",
    re.IGNORECASE,
)
_LONGEST_JOINT = 20
_ONWARDS = re.compile(r"\s{1,3}on(?:wards?)?(?!\w)", re.IGNORECASE)


def resolve_dates(text: str, words: Iterable[re.Match[str]], today: int | None) -> list[DateReading]:
    """What the words of time in a text come to, in order and apart."""
    readings = _readings(text, words, today)
    settled: list[DateReading] = []
    at = 0
    while at < len(readings):
        taken, one = _settled(text, readings, at)
        if one:
            _add(settled, one)
        at += taken
    return settled


def _add(those: list[DateReading], one: DateReading) -> None:
    """Add a time; where it shares words with the ones before, the longer reading stays."""
    while those and one.start < those[-1].end:
        if one.end - one.start <= those[-1].end - those[-1].start:
            return
        those.pop()
    those.append(one)


def _readings(text: str, words: Iterable[re.Match[str]], today: int | None) -> list[DateReading]:
    """What each word of time may mean by itself."""
    readings: list[DateReading] = []
    for found in words:
        if readings and found.start() < readings[-1].end and readings[-1].sure:
            continue
        reading = _READERS[found.lastgroup or ""](text, found, today)
        if reading and (reading.kind == "date" or _stands_alone(text, reading.start, reading.end)):
            _add(readings, reading)
    return readings


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether words are prose, not a part of a longer word or of code."""
    before = text[start - 1] if start else ""
    if before and (before.isalnum() or (before in _TORN_BEFORE and text[max(0, start - 4) : start].lower() != "mid-")):
        return False
    quoted = before in ("'", '"') and text[end : end + 1] == before
    return not quoted and _TORN_BEHIND.match(text, end) is None


def _settled(text: str, readings: list[DateReading], at: int) -> tuple[int, DateReading | None]:
    """How many readings go together from here on, and what they come to."""
    one = readings[at]
    other = readings[at + 1] if at + 1 < len(readings) else None
    joint = _JOINT.fullmatch(text, one.end, other.start) if other and other.start - one.end < _LONGEST_JOINT else None
    if not one.sure and not joint:
        return 1, None
    words = words_before(text, one.start)
    word, start = _opening_word(text, one.start, words)
    if other and joint:
        if (joint["to"] and (one.sure or word or other.exact)) or (joint["also"] and word == "between"):
            if both := _from_to(one, other):
                return 2, both._replace(start=start) if word in ("from", "between") else both
        elif joint["also"] and one.kind == other.kind and (one.sure or other.exact):
            one = _of_same_year(one, other)
            readings[at + 1] = other._replace(sure=other.sure or (one.sure and other.first > 0))
    if not one.sure:
        return 1, None
    by_it = _moved(text, one, words)
    if by_it is None and (word != "from" or _ONWARDS.match(text, one.end)):
        return 1, _open(one, word, start)
    return 1, by_it or one


def _opening_word(text: str, at: int, words: list[str]) -> tuple[str, int]:
    """The word before a time that opens it, such as since or between, and where it stands."""
    count, _, _ = after_part(words, 0)
    if words[count] == "to" and words[count + 1] in ("prior", "up"):
        return ("before" if words[count + 1] == "prior" else "until"), start_of(text, at, count + 2)
    word = _OPENERS.get(words[count], "")
    return word, start_of(text, at, count + 1) if word else at


def _open(one: DateReading, word: str, start: int) -> DateReading | None:
    """A time with the word that opens it at one end."""
    if word in ("since", "from"):
        return one._replace(last=calendar.FINAL_DAY, start=start)
    if word == "after":
        return one._replace(first=one.last + 1, last=calendar.FINAL_DAY, start=start) if one.last < calendar.FINAL_DAY else None
    if word == "before":
        return one._replace(first=0, last=one.first - 1, start=start)
    if word == "until":
        return one._replace(first=0, start=start)
    return one


def _from_to(one: DateReading, other: DateReading) -> DateReading | None:
    """From one time to another; what lacks its year gets it from the other."""
    one = _of_same_year(one, other)
    if other.recurring and not other.exact and one.first:
        span = calendar.coming(other.recurring, one.first)
        other = other._replace(first=span[0], last=span[1], exact=one.exact) if span else other
    if not one.first or not other.first or one.first > other.last:
        return None
    return one._replace(last=other.last, end=other.end, exact=one.exact and other.exact)


def _of_same_year(one: DateReading, other: DateReading) -> DateReading:
    """May in "May and June 2023": the one before the other."""
    if not other.exact or one.recurring is None or one.recurring.weekday >= 0:
        return one
    span = calendar.latest(one.recurring, other.last)
    return one._replace(first=span[0], last=span[1], exact=True, sure=True) if span else one


def _moved(text: str, reading: DateReading, words: list[str]) -> DateReading | None:
    """A time by another one, if the words before say so: the week before 3 August, two days after 5 May."""
    at = 1 if words[0] == "the" else 0
    at, said = (at + 2, "before") if words[at : at + 2] == ["to", "prior"] else (at + 1, words[at])
    way = {"before": -1, "after": 1, "following": 1, "of": 0}.get(said)
    unit = words[at].removesuffix("s")
    if way is None or (unit not in UNITS and unit not in WEEKDAYS):
        return None
    count, further = count_before(words, at + 1)
    if not count and words[further] not in ("the", "last", "next"):
        return None
    span = _beside(reading, unit, count, way)
    start = start_of(text, reading.start, further + (count is None))
    return reading._replace(first=span[0], last=span[1], start=start) if span else None


def _beside(reading: DateReading, unit: str, count: Days | None, way: int) -> Days | None:
    """The unit before (-1), after (1) or around (0) a time."""
    near = reading.last if way > 0 else reading.first
    if way == 0:
        return calendar.whole(unit, 0, near) if unit in ("week", "weekend") and not count and reading.first == reading.last else None
    if count:
        return calendar.away(unit, *count, near, way) if unit in UNITS else None
    if unit == "week":
        return calendar.within(*sorted((near + way, near + 7 * way)))
    if unit == "weekend":
        edge = Recurring(weekday=5 if way > 0 else 6)
        found = calendar.coming(edge, near) if way > 0 else calendar.latest(edge, near)
        return calendar.within(*sorted((found[0], found[0] + way))) if found else None
    if unit in WEEKDAYS:
        what = Recurring(weekday=WEEKDAYS[unit])
        return calendar.coming(what, near) if way > 0 else calendar.latest(what, near)
    return calendar.away(unit, 1, 1, near, way)
