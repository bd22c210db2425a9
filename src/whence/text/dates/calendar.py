"""The calendar: days of months, weeks, seasons and years, and those before or after a given day.

Days are counted as by `datetime.date.toordinal`. Weeks go from Monday to Sunday, winter from December to February.
"""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import NamedTuple

FINAL_DAY = date.max.toordinal()
Days = tuple[int, int]  # the first and the last
_IN_DAYS = {"day": 1, "week": 7}
_IN_MONTHS = {"month": 1, "quarter": 3, "year": 12}


class Recurring(NamedTuple):
    """A time without its year: a day, a month, some months, or a day of the week."""

    month: int = 0
    day: int = 0
    months: int = 1
    weekday: int = -1


def months(year: int, month: int, count: int = 1) -> Days | None:
    """Some months in a row; `month` may be outside of 1 to 12."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    after, then = year + (month + count - 1) // 12, (month + count - 1) % 12 + 1
    if year < 1 or year > date.max.year or after > date.max.year + (then == 1):
        return None
    return date(year, month, 1).toordinal(), FINAL_DAY if after > date.max.year else date(after, then, 1).toordinal() - 1


def day(year: int, month: int, number: int) -> Days | None:
    """One day, or None if the calendar has no such day."""
    try:
        at = date(year, month, number).toordinal()
    except ValueError:
        return None
    return at, at


def within(first: int, last: int) -> Days | None:
    """Days, or None beyond the end of the calendar."""
    return (first, last) if 1 <= first <= last <= FINAL_DAY else None


def whole(unit: str, steps: int, today: int) -> Days | None:
    """The week, weekend, month, quarter or year that is some steps after the current one."""
    now = date.fromordinal(today)
    monday = today - (today - 1) % 7 + 7 * steps
    if unit == "week":
        return within(monday, monday + 6)
    if unit == "weekend":
        return within(monday + 5, monday + 6)
    if unit == "month":
        return months(now.year, now.month + steps)
    if unit == "quarter":
        return months(now.year, (now.month - 1) // 3 * 3 + 1 + 3 * steps, 3)
    return months(now.year + steps, 1, 12) if unit == "year" else None


def away(unit: str, least: int, most: int, today: int, way: int) -> Days | None:
    """The days so many units before (-1) or after (1) a day; for weeks the seven days around it."""
    near, far = least * way, most * way
    if unit == "day":
        return within(today + min(near, far), today + max(near, far))
    if unit == "week":
        return within(today + 7 * min(near, far) - 3, today + 7 * max(near, far) + 3)
    one, other = whole(unit, near, today), whole(unit, far, today)
    return (min(one[0], other[0]), max(one[1], other[1])) if one and other else None


def rolling(unit: str, count: int, today: int, way: int) -> Days | None:
    """The days from today back (-1) or onwards (1) over so many units."""
    if unit in _IN_DAYS:
        return within(*sorted((today, today + _IN_DAYS[unit] * count * way)))
    if unit not in _IN_MONTHS:
        return None
    now = date.fromordinal(today)
    month = months(now.year, now.month + way * count * _IN_MONTHS[unit])
    return within(*sorted((today, min(month[0] + now.day - 1, month[1])))) if month else None


def occurrence(what: Recurring, year: int) -> Days | None:
    """A time in a given year."""
    if not 1 <= year <= date.max.year:
        return None
    return day(year, what.month, what.day) if what.day else months(year, what.month, what.months)


def latest(what: Recurring, today: int, *, over: bool = False) -> Days | None:
    """The last occurrence that has begun by today, or that is over."""
    if what.weekday >= 0:
        return within(*[today - 1 - (today - 2 - what.weekday) % 7] * 2)
    year = date.fromordinal(today).year
    found = (occurrence(what, year - back) for back in range(9))
    return next((one for one in found if one and (one[1] < today if over else one[0] <= today)), None)


def coming(what: Recurring, today: int, *, later: bool = False) -> Days | None:
    """The first occurrence that is not yet over, or that has not yet begun."""
    if what.weekday >= 0:
        return within(*[today + 1 + (what.weekday - today) % 7] * 2)
    year = date.fromordinal(today).year
    found = (occurrence(what, year + on) for on in range(-1, 9))
    return next((one for one in found if one and (one[0] > today if later else one[1] >= today)), None)


@lru_cache(256)  # a text names the same months again and again
def placed(what: Recurring, which: str, today: int, *, ahead: bool) -> Days | None:
    """The occurrence meant by last, this or next, or by none of them."""
    if which in ("last", "past"):
        return latest(what, today, over=True)
    if which in ("next", "coming"):
        return coming(what, today, later=True)
    if which == "this" and what.weekday >= 0:
        at = today - (today - 1) % 7 + what.weekday
        return coming(what, today) if ahead and at < today else within(at, at)
    if which == "this" and what.month + what.months <= 13:
        return occurrence(what, date.fromordinal(today).year)
    if which == "this":  # a winter, which is in two years: the nearer one
        before, after = latest(what, today), coming(what, today)
        return before if before and after and today - before[1] <= after[0] - today else after
    return coming(what, today) if ahead else latest(what, today)


def iso_week(year: int, week: int) -> Days | None:
    """A week by its number: the first one contains the fourth of January."""
    january, following = day(year, 1, 4), day(year + 1, 1, 4)
    if not january or not following:
        return None
    monday = january[0] - (january[0] - 1) % 7 + 7 * (week - 1)
    return (monday, monday + 6) if week >= 1 and monday < following[0] - (following[0] - 1) % 7 else None
