"""What a word of time means where it stands: a month, a weekday, a season, a year, a number of weeks.

Every reader is given the text, the place of its word and the day from which it is seen. It looks only at the few
words beside, so that a text costs as much as its words of time. It gives None where nothing is meant for sure.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from whence.text.dates import calendar
from whence.text.dates.calendar import Days, Recurring

_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_WEEKDAYS = {name: number for number, name in enumerate("mon tue wed thu fri sat sun".split())}
WEEKDAYS = {name: _WEEKDAYS[name[:3]] for name in "monday tuesday wednesday thursday friday saturday sunday".split()}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = {name: number for number, name in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)}
_NUMBERS |= {"a": 1, "an": 1}
#: How many "a couple" and "a few" are, at least and at most.
_VAGUE = {"couple": (2, 3), "few": (2, 6), "several": (2, 6)}
_STEPS = {"last": -1, "this": 0, "next": 1}
UNITS = frozenset("day week weekend month quarter year".split())
_WHICH = frozenset("last past this next coming".split())
#: What stands before a month, a season, a quarter or a year and makes it one.
_LEADS = frozenset("in since before after during until till by from between through throughout around".split())
_WEEKDAY_LEADS = frozenset("on since before after until till by from between".split())
_EVERY = frozenset("every each most some any many all a of one".split())
#: Words that name a part of a time: the whole of it is taken.
_PARTS = frozenset("end start beginning middle rest half month week course quarter year".split())
_AMOUNTS = frozenset("out total sum limit size length width height maximum minimum max min instead number value count average".split())
#: "A picture of April", "written by Jan Brown": these are people, too.
_PEOPLE = frozenset("may april june jan august".split())
#: Words that turn a time without its year to the next one that comes, not to the last one that was.
_AHEAD = frozenset(
    "will won't shall going gonna plan plans planned planning schedule scheduled due deadline upcoming expect expected let's wait forward "
    "hope hoping should must i'll we'll you'll he'll she'll it'll they'll".split()
)
#: Words after which "in two days" says how long something took; so does a verb in the past.
_TOOK = frozenset(
    "did done made built wrote written took ran read lost won was were had has have been got grew went time times once twice not never "
    "ever best most".split()
)
_OPENING_MARKS = "([{\"'*>"
_OPENING_MARK = re.compile(r"[(\[{\"'*>]")
_DIGIT = re.compile("[0-9]")
#: So far back are words looked at.
_REACH = 56

#: A gap between two words: it may hold the end of a line, but not the end of a paragraph.
_GAP = r"(?:[^\S\n]{1,8}(?:\n[^\S\n]{0,8})?|\n[^\S\n]{0,8})"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2}|['\u2019][0-9]{2})"
_NUMBER_ENDS = r"(?![0-9A-Za-z_]|[.,:/-][0-9])"
_TH = "(?:st|nd|rd|th)?"
_DAY_BEFORE = re.compile(
    rf"(?<![\w.,:/-])(?:(?P<other>[0-9]{{1,2}}){_TH}[^\S\n]?(?:-|\u2013|to)[^\S\n]?)?(?P<day>[0-9]{{1,2}}){_TH}(?:{_GAP}of{_GAP}|{_GAP}|-)\Z",
    re.IGNORECASE,
)
_DAY_AFTER = re.compile(
    rf"\.?{_GAP}(?:the{_GAP})?(?P<day>[0-9]{{1,2}}){_TH}(?:[^\S\n]?[-\u2013][^\S\n]?(?P<other>[0-9]{{1,2}}){_TH})?{_NUMBER_ENDS}"
    r"(?![^\S\n]?(?:%|[ap]m\b))",
    re.IGNORECASE,
)
_YEAR_AFTER = re.compile(rf"[.,]?(?:(?:{_GAP}of)?{_GAP}|-){_YEAR}{_NUMBER_ENDS}", re.IGNORECASE)
_YEAR_BEFORE = re.compile(rf"(?<![\w.,/-]){_YEAR}(?:{_GAP}|-)\Z")
_YEAR_RANGE = re.compile(rf"[-\u2013]((?:19|20)[0-9]{{2}}){_NUMBER_ENDS}")
_PART_OF_DAY = re.compile(rf"{_GAP}(?:morning|afternoon|evening|night)(?!\w)", re.IGNORECASE)
_OF_WEEK = re.compile(rf"{_GAP}(?:of{_GAP})?(?P<which>last|this|next){_GAP}week(?!\w)", re.IGNORECASE)
_AFTER_UNIT = re.compile(
    rf"{_GAP}(ago(?:{_GAP}today)?|back|before{_GAP}last|after{_GAP}next|from{_GAP}(?:now|today)|of|before|after|prior|later|earlier|old)\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?:[Tt]|[^\S\n])[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?(?!\w)")
_NUMBER_GOES_ON = re.compile(r"\w|[.,:/-][0-9]")
#: A number of things, not a year: "2000 users".
_AMOUNT = re.compile(
    rf"{_GAP}(?:(?!(?:was|is|has|this|his|its|as|us|does|always)\b)[a-z]{{2,24}}s|px|ms|[kmg]i?b|k?m|k?hz|bit|people|percent|more|other|of)\b|[^\S\n]?%"
)
_SURNAME = re.compile(rf"\.?{_GAP}[A-Z]")


class DateReading(NamedTuple):
    """A time that words may speak of."""

    first: int
    last: int
    start: int
    end: int
    exact: bool
    kind: str
    sure: bool = True  # not sure: meant only beside another one, as June in "between March and June"
    recurring: Recurring | None = None


class _Lead(NamedTuple):
    """The words before a word of time."""

    word: str
    which: str
    the: bool
    part: bool
    start: int  # of last, this or next; else of the word of time


def words_before(text: str, at: int) -> list[str]:
    """The words before a place in its paragraph, the nearest first, in small letters; there are always enough of them."""
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


def start_of(text: str, at: int, count: int) -> int:
    """Where the word begins that stands so many words before a place."""
    window = text[max(0, at - _REACH) : at]
    last = ""
    for _ in range(count):
        last = window.split()[-1]
        window = window.rstrip()[: -len(last)]
    return max(0, at - _REACH) + len(window) + len(last) - len(last.lstrip(_OPENING_MARKS))


def after_part(words: list[str], at: int) -> tuple[int, bool, bool]:
    """How far words such as "the end of" or "early" reach; whether there is a "the", and whether there is a part."""
    begin = at
    at += words[at] == "the"
    if words[at] in ("early", "late", "mid"):
        at += 1
    elif words[at] == "of" and words[at + 1] in _PARTS:
        at += 2
        at += words[at] in ("first", "second", "very")
    part = at - begin > 1 or (at - begin == 1 and words[begin] != "the")
    at += words[at] == "the"
    return at, "the" in words[begin:at], part


def _lead(text: str, at: int) -> _Lead:
    if text[max(0, at - 4) : at].lower() == "mid-":
        return _Lead("in", "", the=False, part=True, start=at)
    words = words_before(text, at)
    count, which = 0, ""
    if words[0] in _WHICH:
        count, which = 1, words[0]
        count += which in ("past", "coming") and words[1] == "this"
    further, the, part = after_part(words, count)
    return _Lead(words[further], which, the, part, start_of(text, at, count) if count else at)


def _in_sentence(words: list[str]) -> list[str]:
    """Those of the words before a place that belong to its sentence."""
    end = next((at for at, word in enumerate(words) if word.endswith((".", "!", "?"))), len(words))
    return [word.replace("\u2019", "'").rstrip(",;:") for word in words[:end]]


def _is_ahead(text: str, at: int) -> bool:
    """Whether the words before speak of what is to come."""
    words = _in_sentence(words_before(text, at))
    return not _AHEAD.isdisjoint(words) or (words[:1] in (["on"], ["in"]) and words[1:2] in (["is"], ["are"]))


def _took(words: list[str]) -> bool:
    """Whether the words before speak of what has been."""
    words = _in_sentence(words)
    return not _TOOK.isdisjoint(words) or any(word.endswith(("n't", "ed")) and not word.endswith("eed") for word in words)


def _year(said: str) -> int:
    """A year that was said in full, or as '23."""
    return int(said) if len(said) == 4 else (2000 if int(said[1:]) < 70 else 1900) + int(said[1:])


def count_before(words: list[str], at: int) -> tuple[Days | None, int]:
    """How many are meant, at least and at most, and how far the words for it reach."""
    at += words[at] == "of" and words[at + 1] == "couple"
    word = words[at]
    if word in _VAGUE:
        return _VAGUE[word], at + 1 + (words[at + 1] == "a")
    number = _NUMBERS.get(word) or (int(word) if len(word) < 4 and word.isascii() and word.isdigit() else None)
    return ((number, number), at + 1) if number is not None else (None, at)


def _recurring(text: str, lead: _Lead, end: int, what: Recurring, kind: str, today: int | None, *, sure: bool) -> DateReading | None:
    """A time without its year. With no day to see it from, it can only be read beside another one."""
    known = None if lead.which else what
    if today is None:
        return DateReading(0, 0, lead.start, end, exact=False, kind=kind, sure=False, recurring=known)
    ahead = sure and ((kind == "weekday" and lead.word in ("by", "until", "till")) or _is_ahead(text, lead.start))
    span = calendar.placed(what, lead.which, today, ahead=ahead)
    return DateReading(*span, lead.start, end, exact=False, kind=kind, sure=sure, recurring=known) if span else None


def read_date(text: str, found: re.Match[str], _today: int | None) -> DateReading | None:
    """A date in numbers: the year first, or in an order that cannot be mistaken."""
    start, end = found.span()
    one, other, *last = found.group().replace("/", "-").split("-")
    if other[0] in "Ww":
        span = calendar.iso_week(int(one), int(other[1:]))
    elif len(one) == 4:
        span = calendar.day(int(one), int(other), int(last[0]))
    else:
        month, day = sorted((int(one), int(other)))
        span = calendar.day(int(last[0]), month, day) if day > 12 or day == month else None
    if clock := _CLOCK.match(text, end):
        end = clock.end()
    before = text[start - 1] if start else ""
    torn = before.isalnum() or (before != "" and before in ("_.-" if "-" in found.group() else "_.-/")) or _NUMBER_GOES_ON.match(text, end)
    return DateReading(*span, start, end, exact=True, kind="date") if span and not torn else None


def read_month(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    """A month, with the day and the year that stand beside it."""
    said, (start, end) = found.group(), found.span()
    name = said.lower()
    month = _MONTHS[name[:3]]
    short = len(name) < 5 and name not in ("may", "june", "july")
    plain = said[0].isupper() or not (short or name in ("may", "march"))
    if _DIGIT.search(text, max(0, start - 12), start):
        window = text[max(0, start - 24) : start]
        if on := _DAY_BEFORE.search(window):
            return _day_of_month(text, (start - len(window) + on.start(), end), month, on, today, plain=plain)
    if on := _DAY_AFTER.match(text, end):
        return _day_of_month(text, (start, on.end()), month, on, today, plain=plain)
    year = _YEAR_AFTER.match(text, end)
    if year and (plain or not (short or _AMOUNT.match(text, year.end()))):
        span = calendar.months(_year(year["year"]), month)
        return DateReading(*span, start, year.end(), exact=True, kind="month") if span else None
    if not (said.istitle() or (plain and not short) or name == "march"):
        return None
    lead = _lead(text, start)
    person = name in _PEOPLE and lead.word in ("by", "from", "after", "before", "since", "until", "of") and _SURNAME.match(text, end)
    sure = lead.part or lead.which != "" or lead.word in _LEADS or (lead.word == "of" and name not in _PEOPLE)
    end += short and text[end : end + 1] == "."
    return _recurring(text, lead, end, Recurring(month), "month", today, sure=sure) if not person else None


def _day_of_month(text: str, place: Days, month: int, on: re.Match[str], today: int | None, *, plain: bool) -> DateReading | None:
    """A day of a month, or a few in a row, with the year if it was said."""
    start, end = place
    first, last = sorted((int(on["day"]), int(on["other"] or on["day"])))
    words = words_before(text, start)
    year = _YEAR_AFTER.match(text, end)
    said = year["year"] if year else words[0] if len(words[0]) == 4 and words[0].isdigit() and words[0] > "1899" else ""
    if not year and said:
        start = start_of(text, start, 1)
    elif words[words[0] == "the"].rstrip(".,") in WEEKDAYS or words[0].rstrip(".,") in _WEEKDAYS:
        start = start_of(text, start, 1 + (words[0] == "the"))
    if said:
        one, other = (calendar.day(_year(said), month, number) for number in (first, last))
        return DateReading(one[0], other[1], start, year.end() if year else end, exact=True, kind="day") if one and other else None
    if not plain or not calendar.day(2000, month, last):
        return None
    reading = _recurring(text, _Lead("", "", the=False, part=False, start=start), end, Recurring(month, first), "day", today, sure=True)
    return reading._replace(last=reading.last + last - first) if reading else None


def read_weekday(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    """A day of the week, in this one or another."""
    name, (start, end) = found.group(), found.span()
    if len(name) < 6 and not name.istitle():
        return None
    what = Recurring(weekday=_WEEKDAYS[name[:3].lower()])
    week = _OF_WEEK.match(text, end)
    if week and today is not None:
        span = calendar.whole("week", _STEPS[week["which"].lower()], today)
        return DateReading(span[0] + what.weekday, span[0] + what.weekday, start, week.end(), exact=False, kind="day") if span else None
    part = _PART_OF_DAY.match(text, end)
    lead = _lead(text, start)
    if lead.the or lead.word == "of" or (part and not lead.which and lead.word in _EVERY):
        return None
    sure = bool(lead.which or part) or (name != "Sun" and lead.word in _WEEKDAY_LEADS)  # Sun is a company and a star, too
    return _recurring(text, lead, part.end() if part else end, what, "weekday", today, sure=sure)


def read_season(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    """A season, of a year that is said or of one near today."""
    name, (start, end) = found.group(), found.span()
    what = Recurring(_SEASONS[name.lower()], months=3)
    year = _YEAR_AFTER.match(text, end)
    if year and not (name in ("fall", "spring") and _AMOUNT.match(text, year.end())):
        span = calendar.occurrence(what, _year(year["year"]))
        return DateReading(*span, start, year.end(), exact=True, kind="season") if span else None
    lead = _lead(text, start)
    if name[0].isupper() and not lead.which:  # a thing of that name: Spring, Fall
        return None
    sure = bool(lead.which) or ((lead.the or lead.part) and lead.word in _LEADS | {"over"} and lead.word != "by")
    return _recurring(text, lead, end, what, "season", today, sure=sure)


def read_quarter(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    """A quarter of a year: Q3 2024, 2024 Q3, or the third one that was last."""
    start, end = found.span()
    what = Recurring(int(found.group()[1]) * 3 - 2, months=3)
    if year := _YEAR_AFTER.match(text, end):
        end = year.end()
    elif year := _YEAR_BEFORE.search(text[max(0, start - 12) : start]):
        start -= len(year.group())
    if year:
        span = calendar.occurrence(what, _year(year["year"]))
        return DateReading(*span, start, end, exact=True, kind="quarter") if span else None
    lead = _lead(text, start)
    return _recurring(text, lead, end, what, "quarter", today, sure=lead.part or bool(lead.which) or lead.word in _LEADS)


def read_year(text: str, found: re.Match[str], _today: int | None) -> DateReading | None:
    """A year, where the words before say that it is one."""
    start, end = found.span()
    year = until = int(found.group())
    if further := _YEAR_RANGE.match(text, end):
        until, end = int(further[1]), further.end()
    lead = _lead(text, start)
    if lead.which or _AMOUNT.match(text, end) or _NUMBER_GOES_ON.match(text, end):
        return None
    of = lead.word == "of" and words_before(text, start)[1] not in _AMOUNTS
    span = calendar.months(year, 1, 12 * (until - year + 1)) if year <= until else None
    sure = lead.part or of or (lead.word in _LEADS and lead.word != "around") or lead.word == "year"
    return DateReading(*span, start, end, exact=True, kind="year", sure=sure) if span else None


def read_word(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    """Today, tonight, yesterday or tomorrow; not what only feels like yesterday."""
    step = {"yesterday": -1, "tomorrow": 1}.get(found.group().lower(), 0)
    span = calendar.within(today + step, today + step) if today is not None else None
    words = words_before(text, found.start())
    figurative = words[words[0] in ("just", "only", "it's", "was")] == "like"
    return DateReading(*span, *found.span(), exact=False, kind="word") if span and not figurative else None


def read_unit(text: str, found: re.Match[str], today: int | None) -> DateReading | None:
    """Weeks, months, years and parts of a day: last week, two years ago, the past three days."""
    start, end = found.span()
    if today is None:
        return None
    words = words_before(text, start)
    count, at = count_before(words, 0)
    which = words[at] if words[at] in _WHICH else ""
    at += which != ""
    the = words[at] == "the" or (words[at] == "this" and which in ("past", "coming"))
    at += the
    after = _AFTER_UNIT.match(text, end)
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
    return DateReading(*span, start_of(text, start, at), end, exact=False, kind="unit") if span else None


def _one_unit(unit: str, which: str, today: int, *, known: bool) -> Days | None:
    """Last week, this morning, the past year."""
    if unit in ("night", "evening") and which == "last":
        return calendar.within(today - 1, today - 1)
    if unit in ("morning", "afternoon", "evening"):
        return (today, today) if which == "this" else None
    if unit == "weekend" and which in ("past", "coming"):
        return calendar.whole(unit, -1 if which == "past" else 0, today)
    if which == "past":
        return calendar.rolling(unit, 1, today, -1) if known and unit in UNITS and unit != "day" else None
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
