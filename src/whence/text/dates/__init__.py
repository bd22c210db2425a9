"""Times in a text, as days: "yesterday", "in May 2023", "two weeks ago", "between March and June".

English only; in other languages only dates such as 2023-05-08 are read. Unclear times are left out: none is better than a
wrong one. Days are counted as by `datetime.date.toordinal`, weeks run from Monday to Sunday, and seasons are those of the
north. A time without its year is the last one that has begun, unless the words before it are about the future.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: The last day of a span without an end; the first day of one without a beginning is 0.
OPEN = 3_652_059
#: The date of a document is in its first lines; a line such as `Date: ...` may be a little further down.
_HEADING_LINES, _KEY_LINES, _LONGEST_HEADING = 3, 12, 120

_MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_WEEKDAY = "mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
#: A word about time. Most words are rejected by their first letters; a text without any costs no more than this search.
_WORD = re.compile(
    r"(?<![0-9A-Za-z_])(?=[0-9]|a[fpu]|d[ae]|ev|f[aer]|j[au]|m[ao]|n[io]|oc|q[1-4u]|s[aepu]|thu|to[dmn]|tu|w[ei]|ye)(?:"
    r"(?P<date>[12][0-9]{3}(?:-[0-9]{2}-[0-9]{2}|/[0-9]{1,2}/[0-9]{1,2}|-w[0-9]{2})|[0-9]{1,2}/[0-9]{1,2}/[12][0-9]{3})(?=t[0-9]{2}:|(?!\w))|(?:"
    rf"(?P<year>(?:19|20)[0-9]{{2}})|(?P<month>{_MONTH})|(?P<weekday>{_WEEKDAY})|(?P<season>summer|winter|autumn|fall|spring)|(?P<quarter>q[1-4])|"
    r"(?P<word>today|tonight|yesterday|tomorrow)|(?P<unit>(?:day|week|weekend|month|quarter|year)s?|night|morning|afternoon|evening)"
    r")(?!\w))",
    re.IGNORECASE | re.ASCII,
)


class DateSpan(NamedTuple):
    """A time in a text, from the first to the last day, and the place of its words."""

    first: int  # 0 if it is open: before ...
    last: int  # OPEN if it is open: since ...
    start: int
    end: int
    exact: bool  # complete: a date, a month with its year, a year; not relative to today


def find_dates(text: str, today: int | None) -> list[DateSpan]:
    """The times in a text, in order; only exact ones if `today` is None."""
    word = _WORD.search(text)
    if word is None:
        return []
    from whence.text.dates.phrases import resolve_dates  # noqa: PLC0415  -- its patterns take a while to build, and most questions name no time

    day = today if today is not None and 1 <= today <= OPEN else None
    return [DateSpan(*one[:5]) for one in resolve_dates(text, _WORD.finditer(text, word.start()), day)]


#: What may be before and after a date that is the date of the document. Compiled on first use: only notes need them.
_CLOCK = r"(?:at\s+)?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?\s*(?:[ap]\.?m\.?)?"
_DAY_AND_CLOCK = rf"(?:(?:{_WEEKDAY})\.?,?\s+)?(?:{_CLOCK},?\s*(?:on\s+)?)?"
_NOTHING_BEFORE = rf"(?i)[\W_]*{_DAY_AND_CLOCK}[\W_]*"
_KEY_BEFORE = (
    r"(?i)[\W_]*(?:(?:session|meeting|call|conversation|chat|entry)\s+(?:[0-9]{1,4}\s+)?)?"
    r"(?:date|day|when|created|created[ _]at|recorded|sent|started|time|timestamp|written|posted)"
    rf"[\W_]*[:=][\W_]*{_DAY_AND_CLOCK}"
)
_TITLE_BEFORE = (
    r"(?i)(?:.*[(\[,|@\u2013\u2014]\s*|.*\s-\s+|"
    r"\s*#.*?(?<!\bfor)(?<!\bby)(?<!\buntil)(?<!\bbefore)(?<!\bafter)(?<!\bsince)(?<!\bdue)(?<!\bto)\s+|"
    r".*\b(?:notes|meeting|call|session|conversation|chat|standup|minutes|journal|diary|log|entry|interview|transcript|sync|retro)\s+"
    rf"(?:(?:of|from|on)\s+)?){_DAY_AND_CLOCK}"
)
_NOTHING_BEHIND = rf"(?i)(?:,?\s*{_CLOCK})?[\s)\]}}*_#:]*"
_MARK_BEHIND = rf"(?i)(?:,?\s*{_CLOCK})?\s*(?:$|[)\]}}:,;|*_\u2013\u2014]|-\s)"


def find_document_date(text: str) -> int | None:
    """The date of a document, if its first lines have it in full."""
    lines = [line for line in text[: _KEY_LINES * 2 * _LONGEST_HEADING].splitlines() if line.strip()][:_KEY_LINES]
    for number, line in enumerate(lines):
        if len(line) > 4 * _LONGEST_HEADING or not (spans := find_dates(line, None)):
            continue
        span = spans[0]
        if span.first == span.last and _is_heading(line, span, first=number < _HEADING_LINES):
            return span.first
    return None


def _is_heading(line: str, span: DateSpan, *, first: bool) -> bool:
    """Whether a date in a line is the date of the document, not one that its text mentions."""
    before, behind = line[: span.start], line[span.end :]
    if re.fullmatch(_KEY_BEFORE, before):
        return True
    if not first:
        return False
    if re.fullmatch(_NOTHING_BEFORE, before):
        return line[span.start : span.start + 4].isdigit() or before.lstrip().startswith("#") or re.match(_MARK_BEHIND, behind) is not None
    return len(line) <= _LONGEST_HEADING and bool(re.fullmatch(_TITLE_BEFORE, before) and re.fullmatch(_NOTHING_BEHIND, behind))
