"""Times in English prose: months, weekdays, years, "two weeks ago", and how they combine: "since May", "from Monday to Friday".

Each reader gets the text, the place of its word and the day it is seen from. It looks only at the few words beside it, so
time grows with the number of words about time. It returns None if the meaning is not clear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from whence.text.dates import calendar
from whence.text.dates.calendar import Days, Recurring
from whence.text.tables import PatternTable, read_sections, word_sections

_TABLE = Path(__file__).with_name("words.txt")
_WORDS, _PATTERN = word_sections(_TABLE), PatternTable(read_sections(_TABLE)["patterns"])
_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_SHORT_WEEKDAYS = {name: number for number, name in enumerate("mon tue wed thu fri sat sun".split())}
_WEEKDAYS = {name: _SHORT_WEEKDAYS[name[:3]] for name in "monday tuesday wednesday thursday friday saturday sunday".split()}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = {name: number for number, name in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)}
_NUMBERS |= {"a": 1, "an": 1}
#: How many "a couple" and "a few" are, at least and at most.
_VAGUE = {"couple": (2, 3), "few": (2, 6), "several": (2, 6)}
_STEPS = {"last": -1, "this": 0, "next": 1}
_OPENING_MARKS = "([{\"'*>"
_OPENING_MARK = re.compile(r"[(\[{\"'*>]")
_DIGIT = re.compile("[0-9]")
#: Characters before a place that are looked at.
_REACH = 56
#: Words that open a span at one end, or start one between two times.
_OPENERS = {word: word for word in ("since", "after", "before", "until", "from", "between")} | {"till": "until", "by": "until"}
#: Characters before a word that make it part of something longer: a path, a name in code, a tag.
_TORN_BEFORE = frozenset("./\\@#$=`~+<:_-|")
_LONGEST_JOINT = 20


class DateReading(NamedTuple):
    """A time that words may mean."""

    first: int
    last: int
    start: int
    end: int
    exact: bool
    kind: str
    sure: bool = True  # not sure: a time only beside another one, as June in "between March and June"
    recurring: Recurring | None = None


class _Lead(NamedTuple):
    word: str
    which: str
    the: bool
    part: bool
    start: int  # of last, this or next; else of the word itself


def resolve_dates(text: str, words: Iterable[re.Match[str]], today: int | None) -> list[DateReading]:
    """The times in a text, in order, without overlaps; `words` are the words about time."""
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
    """Add a time; of two that share words, the longer one stays."""
    while those and one.start < those[-1].end:
        if one.end - one.start <= those[-1].end - those[-1].start:
            return
        those.pop()
    those.append(one)


def _readings(text: str, words: Iterable[re.Match[str]], today: int | None) -> list[DateReading]:
    """What each word about time may mean by itself."""
    readings: list[DateReading] = []
    for found in words:
        if readings and found.start() < readings[-1].end and readings[-1].sure:
            continue
        reading = _READERS[found.lastgroup or ""](text, found, today)
        if reading and (reading.kind == "date" or _stands_alone(text, reading.start, reading.end)):
            _add(readings, reading)
    return readings


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether words are prose, not part of a longer word or of code."""
    before = text[start - 1] if start else ""
    if before and (before.isalnum() or (before in _TORN_BEFORE and text[max(0, start - 4) : start].lower() != "mid-")):
        return False
    quoted = before in ("'", '"') and text[end : end + 1] == before
    return not quoted and _PATTERN["TORN_BEHIND"].match(text, end) is None


def _settled(text: str, readings: list[DateReading], at: int) -> tuple[int, DateReading | None]:
    """How many readings from here on combine, and the time they mean."""
    one = readings[at]
    other = readings[at + 1] if at + 1 < len(readings) else None
    joint = _PATTERN["JOINT"].fullmatch(text, one.end, other.start) if other and other.start - one.end < _LONGEST_JOINT else None
    if not one.sure and not joint:
        return 1, None
    words = _words_before(text, one.start)
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
    if by_it is None and (word != "from" or _PATTERN["ONWARDS"].match(text, one.end)):
        return 1, _open(one, word, start)
    return 1, by_it or one


def _opening_word(text: str, at: int, words: list[str]) -> tuple[str, int]:
    """The word before a time that opens a span, such as since or between, and its place."""
    count, _, _ = _after_part(words, 0)
    if words[count] == "to" and words[count + 1] in ("prior", "up"):
        return ("before" if words[count + 1] == "prior" else "until"), _start_of(text, at, count + 2)
    word = _OPENERS.get(words[count], "")
    return word, _start_of(text, at, count + 1) if word else at


def _open(one: DateReading, word: str, start: int) -> DateReading | None:
    """A time that a word opens at one end."""
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
    """From one time to another; one without a year takes it from the other."""
    one = _of_same_year(one, other)
    if other.recurring and not other.exact and one.first:
        span = calendar.coming(other.recurring, one.first)
        other = other._replace(first=span[0], last=span[1], exact=one.exact) if span else other
    if not one.first or not other.first or one.first > other.last:
        return None
    return one._replace(last=other.last, end=other.end, exact=one.exact and other.exact)


def _of_same_year(one: DateReading, other: DateReading) -> DateReading:
    """May in "May and June 2023": its last occurrence before the other time."""
    if not other.exact or one.recurring is None or one.recurring.weekday >= 0:
        return one
    span = calendar.latest(one.recurring, other.last)
    return one._replace(first=span[0], last=span[1], exact=True, sure=True) if span else one


def _moved(text: str, reading: DateReading, words: list[str]) -> DateReading | None:
    """A time relative to another one, if the words before say so: the week before 3 August, two days after 5 May."""
    at = 1 if words[0] == "the" else 0
    at, said = (at + 2, "before") if words[at : at + 2] == ["to", "prior"] else (at + 1, words[at])
    way = {"before": -1, "after": 1, "following": 1, "of": 0}.get(said)
    unit = words[at].removesuffix("s")
    if way is None or (unit not in _WORDS["units"] and unit not in _WEEKDAYS):
        return None
    count, further = _count_before(words, at + 1)
    if not count and words[further] not in ("the", "last", "next"):
        return None
    span = _beside(reading, unit, count, way)
    start = _start_of(text, reading.start, further + (count is None))
    return reading._replace(first=span[0], last=span[1], start=start) if span else None


def _beside(reading: DateReading, unit: str, count: Days | None, way: int) -> Days | None:
    """The unit before (-1), after (1) or around (0) a time."""
    near = reading.last if way > 0 else reading.first
    if way == 0:
        return calendar.whole(unit, 0, near) if unit in ("week", "weekend") and not count and reading.first == reading.last else None
    if count:
        return calendar.away(unit, *count, near, way) if unit in _WORDS["units"] else None
    if unit == "week":
        return calendar.within(*sorted((near + way, near + 7 * way)))
    if unit == "weekend":
        edge = Recurring(weekday=5 if way > 0 else 6)
        found = calendar.coming(edge, near) if way > 0 else calendar.latest(edge, near)
        return calendar.within(*sorted((found[0], found[0] + way))) if found else None
    if unit in _WEEKDAYS:
        what = Recurring(weekday=_WEEKDAYS[unit])
        return calendar.coming(what, near) if way > 0 else calendar.latest(what, near)
    return calendar.away(unit, 1, 1, near, way)


# Reading one word.
def _words_before(text: str, at: int) -> list[str]:
    """The words before a place in its paragraph, nearest first, in lower case; padded with empty ones."""
    window = text[max(0, at - _REACH) : at]
    if not window[-1:].isspace():
        return [""] * 8
    if "\n\n" in window:
        window = window[window.rindex("\n\n") :]
    elif at > _REACH:
        window = window[window.find(" ") + 1 :]  # the first word may be cut
    words = window.lower().split()[:-9:-1]
    if _OPENING_MARK.search(window):
        words = [word.lstrip(_OPENING_MARKS) for word in words]
    return words + [""] * 8


def _start_of(text: str, at: int, count: int) -> int:
    """Where the word begins that is so many words before a place."""
    window = text[max(0, at - _REACH) : at]
    last = ""
    for _ in range(count):
        last = window.split()[-1]
        window = window.rstrip()[: -len(last)]
    return max(0, at - _REACH) + len(window) + len(last) - len(last.lstrip(_OPENING_MARKS))


def _after_part(words: list[str], at: int) -> tuple[int, bool, bool]:
    """How many words "the end of" or "early" take, whether there is a "the", and whether a part is named."""
    begin = at
    at += words[at] == "the"
    if words[at] in ("early", "late", "mid"):
        at += 1
    elif words[at] == "of" and words[at + 1] in _WORDS["parts"]:
        at += 2
        at += words[at] in ("first", "second", "very")
    part = at - begin > 1 or (at - begin == 1 and words[begin] != "the")
    at += words[at] == "the"
    return at, "the" in words[begin:at], part


def _lead(text: str, at: int) -> _Lead:
    if text[max(0, at - 4) : at].lower() == "mid-":
        return _Lead("in", "", the=False, part=True, start=at)
    words = _words_before(text, at)
    count, which = 0, ""
    if words[0] in _WORDS["which"]:
        count, which = 1, words[0]
        count += which in ("past", "coming") and words[1] == "this"
    further, the, part = _after_part(words, count)
    return _Lead(words[further], which, the, part, _start_of(text, at, count) if count else at)


def _in_sentence(words: list[str]) -> list[str]:
    """The words before a place that belong to its sentence."""
    end = next((at for at, word in enumerate(words) if word.endswith((".", "!", "?"))), len(words))
    return [word.replace("\u2019", "'").rstrip(",;:") for word in words[:end]]


def _is_ahead(text: str, at: int) -> bool:
    """Whether the words before a place are about the future."""
    words = _in_sentence(_words_before(text, at))
    return not _WORDS["ahead"].isdisjoint(words) or (words[:1] in (["on"], ["in"]) and words[1:2] in (["is"], ["are"]))


def _took(words: list[str]) -> bool:
    """Whether the words before are about the past."""
    words = _in_sentence(words)
    return not _WORDS["took"].isdisjoint(words) or any(word.endswith(("n't", "ed")) and not word.endswith("eed") for word in words)


def _year(said: str) -> int:
    """A year written in full, or as '23."""
    return int(said) if len(said) == 4 else (2000 if int(said[1:]) < 70 else 1900) + int(said[1:])


def _count_before(words: list[str], at: int) -> tuple[Days | None, int]:
    """A number before a unit, at least and at most, and how many words it takes."""
    at += words[at] == "of" and words[at + 1] == "couple"
    word = words[at]
    if word in _VAGUE:
        return _VAGUE[word], at + 1 + (words[at + 1] == "a")
    number = _NUMBERS.get(word) or (int(word) if len(word) < 4 and word.isascii() and word.isdigit() else None)
    return ((number, number), at + 1) if number is not None else (None, at)


def _recurring(text: str, lead: _Lead, end: int, what: Recurring, kind: str, today: int | None, *, sure: bool) -> DateReading | None:
    """A time without its year; if today is unknown, it can only be read beside another one."""
    known = None if lead.which else what
    if today is None:
        return DateReading(0, 0, lead.start, end, exact=False, kind=kind, sure=False, recurring=known)
    ahead = sure and ((kind == "weekday" and lead.word in ("by", "until", "till")) or _is_ahead(text, lead.start))
    span = calendar.placed(what, lead.which, today, ahead=ahead)
    return DateReading(*span, lead.start, end, exact=False, kind=kind, sure=sure, recurring=known) if span else None


def _read_date(text: str, found: re.Match[str], _today: int | None) -> DateReading | None:
    """A date in numbers: the year first, or in an unambiguous order."""
    start, end = found.span()
    one, other, *last = found.group().replace("/", "-").split("-")
    if other[0] in "Ww":
        span = calendar.iso_week(int(one), int(other[1:]))
    elif len(one) == 4:
        span = calendar.day(int(one), int(other), int(last[0]))
    else:
        month, day = sorted((int(one), int(other)))
        span = calendar.day(int(last[0]), month, day) if day > 12 or day == month else None
    if clock := _PATTERN["CLOCK"].match(text, end):
        end = clock.end()
    before = text[start - 1] if start else ""
    torn = (
        before.isalnum()
        or (before != "" and before in ("_.-" if "-" in found.group() else "_.-/"))
        or _PATTERN["NUMBER_GOES_ON"].match(text, end)
    )
    return DateReading(*span, start, end, exact=True, kind="date") if span and not torn else None


def _read_month(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    """A month, with the day and the year beside it."""
    said, (start, end) = found.group(), found.span()
    name = said.lower()
    month = _MONTHS[name[:3]]
    short = len(name) < 5 and name not in ("may", "june", "july")
    plain = said[0].isupper() or not (short or name in ("may", "march"))
    if _DIGIT.search(text, max(0, start - 12), start):
        window = text[max(0, start - 24) : start]
        if on := _PATTERN["DAY_BEFORE"].search(window):
            return _day_of_month(text, (start - len(window) + on.start(), end), month, on, today, plain=plain)
    if on := _PATTERN["DAY_AFTER"].match(text, end):
        return _day_of_month(text, (start, on.end()), month, on, today, plain=plain)
    year = _PATTERN["YEAR_AFTER"].match(text, end)
    if year and (plain or not (short or _PATTERN["AMOUNT"].match(text, year.end()))):
        span = calendar.months(_year(year["year"]), month)
        return DateReading(*span, start, year.end(), exact=True, kind="month") if span else None
    if not (said.istitle() or (plain and not short) or name == "march"):
        return None
    lead = _lead(text, start)
    person = (
        name in _WORDS["people"]
        and lead.word in ("by", "from", "after", "before", "since", "until", "of")
        and _PATTERN["SURNAME"].match(text, end)
    )
    sure = lead.part or lead.which != "" or lead.word in _WORDS["leads"] or (lead.word == "of" and name not in _WORDS["people"])
    end += short and text[end : end + 1] == "."
    return _recurring(text, lead, end, Recurring(month), "month", today, sure=sure) if not person else None


def _day_of_month(text: str, place: Days, month: int, on: re.Match[str], today: int | None, *, plain: bool) -> DateReading | None:
    """A day of a month, or a few in a row, with the year if it is given."""
    start, end = place
    first, last = sorted((int(on["day"]), int(on["other"] or on["day"])))
    words = _words_before(text, start)
    year = _PATTERN["YEAR_AFTER"].match(text, end)
    said = year["year"] if year else words[0] if len(words[0]) == 4 and words[0].isdigit() and words[0] > "1899" else ""
    if not year and said:
        start = _start_of(text, start, 1)
    elif words[words[0] == "the"].rstrip(".,") in _WEEKDAYS or words[0].rstrip(".,") in _SHORT_WEEKDAYS:
        start = _start_of(text, start, 1 + (words[0] == "the"))
    if said:
        one, other = (calendar.day(_year(said), month, number) for number in (first, last))
        return DateReading(one[0], other[1], start, year.end() if year else end, exact=True, kind="day") if one and other else None
    if not plain or not calendar.day(2000, month, last):
        return None
    reading = _recurring(text, _Lead("", "", the=False, part=False, start=start), end, Recurring(month, first), "day", today, sure=True)
    return reading._replace(last=reading.last + last - first) if reading else None


def _read_weekday(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    name, (start, end) = found.group(), found.span()
    if len(name) < 6 and not name.istitle():
        return None
    what = Recurring(weekday=_SHORT_WEEKDAYS[name[:3].lower()])
    week = _PATTERN["OF_WEEK"].match(text, end)
    if week and today is not None:
        span = calendar.whole("week", _STEPS[week["which"].lower()], today)
        return DateReading(span[0] + what.weekday, span[0] + what.weekday, start, week.end(), exact=False, kind="day") if span else None
    part = _PATTERN["PART_OF_DAY"].match(text, end)
    lead = _lead(text, start)
    if lead.the or lead.word == "of" or (part and not lead.which and lead.word in _WORDS["every"]):
        return None
    sure = bool(lead.which or part) or (name != "Sun" and lead.word in _WORDS["weekday_leads"])  # Sun is a company and a star, too
    return _recurring(text, lead, part.end() if part else end, what, "weekday", today, sure=sure)


def _read_season(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    name, (start, end) = found.group(), found.span()
    what = Recurring(_SEASONS[name.lower()], months=3)
    year = _PATTERN["YEAR_AFTER"].match(text, end)
    if year and not (name in ("fall", "spring") and _PATTERN["AMOUNT"].match(text, year.end())):
        span = calendar.occurrence(what, _year(year["year"]))
        return DateReading(*span, start, year.end(), exact=True, kind="season") if span else None
    lead = _lead(text, start)
    if name[0].isupper() and not lead.which:  # a thing of that name: Spring, Fall
        return None
    sure = bool(lead.which) or ((lead.the or lead.part) and lead.word in _WORDS["leads"] | {"over"} and lead.word != "by")
    return _recurring(text, lead, end, what, "season", today, sure=sure)


def _read_quarter(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    """A quarter: Q3 2024, 2024 Q3, or the last third quarter."""
    start, end = found.span()
    what = Recurring(int(found.group()[1]) * 3 - 2, months=3)
    if year := _PATTERN["YEAR_AFTER"].match(text, end):
        end = year.end()
    elif year := _PATTERN["YEAR_BEFORE"].search(text[max(0, start - 12) : start]):
        start -= len(year.group())
    if year:
        span = calendar.occurrence(what, _year(year["year"]))
        return DateReading(*span, start, end, exact=True, kind="quarter") if span else None
    lead = _lead(text, start)
    return _recurring(text, lead, end, what, "quarter", today, sure=lead.part or bool(lead.which) or lead.word in _WORDS["leads"])


def _read_year(text: str, found: re.Match[str], _today: int | None) -> DateReading | None:
    """A year, if the words before make it one."""
    start, end = found.span()
    year = until = int(found.group())
    if further := _PATTERN["YEAR_RANGE"].match(text, end):
        until, end = int(further[1]), further.end()
    lead = _lead(text, start)
    if lead.which or _PATTERN["AMOUNT"].match(text, end) or _PATTERN["NUMBER_GOES_ON"].match(text, end):
        return None
    of = lead.word == "of" and _words_before(text, start)[1] not in _WORDS["amounts"]
    span = calendar.months(year, 1, 12 * (until - year + 1)) if year <= until else None
    sure = lead.part or of or (lead.word in _WORDS["leads"] and lead.word != "around") or lead.word == "year"
    return DateReading(*span, start, end, exact=True, kind="year", sure=sure) if span else None


def _read_word(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    """Today, tonight, yesterday or tomorrow, but not in "it feels like yesterday"."""
    step = {"yesterday": -1, "tomorrow": 1}.get(found.group().lower(), 0)
    span = calendar.within(today + step, today + step) if today is not None else None
    words = _words_before(text, found.start())
    figurative = words[words[0] in ("just", "only", "it's", "was")] == "like"
    return DateReading(*span, *found.span(), exact=False, kind="word") if span and not figurative else None


def _read_unit(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    """Weeks, months, years and parts of a day: last week, two years ago, the past three days."""
    start, end = found.span()
    if today is None:
        return None
    words = _words_before(text, start)
    count, at = _count_before(words, 0)
    which = words[at] if words[at] in _WORDS["which"] else ""
    at += which != ""
    the = words[at] == "the" or (words[at] == "this" and which in ("past", "coming"))
    at += the
    after = _PATTERN["AFTER_UNIT"].match(text, end)
    behind = " ".join(after[1].lower().split()) if after else ""
    unit = found.group().lower()
    if after and behind in ("before last", "after next"):
        span, end = calendar.whole(unit, -2 if behind == "before last" else 2, today), after.end()
    elif count:
        in_ = words[at] == "in" and not which and not the and not behind
        if in_ and _took(words):
            return None
        span, at = _counted_units(unit.removesuffix("s"), count, "in" if in_ else which, behind, today, the=the, lead=words[at]), at + in_
        end = after.end() if after else end
    elif behind in ("of", "before", "after"):
        return None
    elif which:
        span = _one_unit(unit, which, today, known=the)
    elif unit == "weekend" and the and words[at] in ("at", "on", "over"):
        span, at = calendar.whole(unit, 0 if today % 7 in (6, 0) else -1, today), at + 1
    else:
        return None
    return DateReading(*span, _start_of(text, start, at), end, exact=False, kind="unit") if span else None


def _one_unit(unit: str, which: str, today: int, *, known: bool) -> Days | None:
    """Last week, this morning, the past year."""
    if unit in ("night", "evening") and which == "last":
        return calendar.within(today - 1, today - 1)
    if unit in ("morning", "afternoon", "evening"):
        return (today, today) if which == "this" else None
    if unit == "weekend" and which in ("past", "coming"):
        return calendar.whole(unit, -1 if which == "past" else 0, today)
    if which == "past":
        return calendar.rolling(unit, 1, today, -1) if known and unit in _WORDS["units"] and unit != "day" else None
    return calendar.whole(unit, _STEPS[which], today) if which in _STEPS else None


def _counted_units(unit: str, count: Days, which: str, behind: str, today: int, *, the: bool, lead: str) -> Days | None:
    """Two weeks ago, the last three months, in a few days."""
    if which in ("last", "past", "next") and not behind:
        return calendar.rolling(unit, count[1], today, 1 if which == "next" else -1)
    if which == "in" or (behind.startswith("from") and not which):
        return calendar.away(unit, *count, today, 1)
    if behind not in ("ago", "ago today", "back") or which or the or lead in ("over", "under", "than", "least", "within"):
        return None
    return calendar.away(unit, *count, today, -1)


_READERS = {
    "date": _read_date,
    "year": _read_year,
    "month": _read_month,
    "weekday": _read_weekday,
    "season": _read_season,
    "quarter": _read_quarter,
    "word": _read_word,
    "unit": _read_unit,
}
