"""Times in prose become days: those that are meant, and no others."""

from __future__ import annotations

import itertools
import string
import time
from datetime import date

from hypothesis import example, given, settings
from hypothesis import strategies as st

from small_cases import each
from whence.text.dates import OPEN, DateSpan, find_dates, find_document_date

TODAY = date(2023, 5, 17)  # a Wednesday
WORDS = (
    "a an the of in on at by to and or since before after until till between from last this next past coming few couple several ago back "
    "later now week weeks weekend month months year years day days night morning quarter today tonight yesterday tomorrow two twelve 2 3 29 "
    "30 31 99 999 2023 1999 '23 0001-01-01 9999-12-31 2023-02-29 2024-W53 1/1/2023 31/12/9999 May may March Feb. February Sept Sun Monday Fri "
    "summer winter fall Q1 q4 early mid- end will - – , . ( ) \n \n\n"
).split(" ")
#: Text in which nearly every word is one of time, and text of any kind.
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(
    alphabet=string.printable + "éſKİ١٢’\u00a0\u2028", max_size=80
)
DAYS = st.integers(1, OPEN)


def said(text: str, today: date | None = TODAY) -> list[str]:
    """The times of a text, as `first..last`; a single day as itself, an open end as nothing."""
    return [shown(span) for span in find_dates(text, today.toordinal() if today else None)]


def shown(span: DateSpan) -> str:
    first = "" if span.first == 0 else date.fromordinal(span.first).isoformat()
    last = "" if span.last == OPEN else date.fromordinal(span.last).isoformat()
    return first if first == last else f"{first}..{last}"


def check(text: str, expected: str, today: date | None = TODAY) -> None:
    assert said(text, today) == expected.split()


@each("today", [TODAY, None])
@each(
    ("text", "expected"),
    [
        ("2023-05-08", "2023-05-08"),
        ("at 2023-05-08T13:56:01.5+02:00, then", "2023-05-08"),
        ("[2023-05-08 13:56] it failed", "2023-05-08"),
        ("see 2023-05-08-standup.md", "2023-05-08"),
        ("am 2023-05-08 war es so weit", "2023-05-08"),
        ("2023/5/8", "2023-05-08"),
        ("5/25/2023 and 25/5/2023 and 5/5/2023", "2023-05-25 2023-05-25 2023-05-05"),
        ("8 May 2023", "2023-05-08"),
        ("on 8 May, 2023", "2023-05-08"),
        ("the 8th of May 2023", "2023-05-08"),
        ("8-May-2023", "2023-05-08"),
        ("May 8, 2023", "2023-05-08"),
        ("May the 8th, 2023", "2023-05-08"),
        ("on may 8 2023", "2023-05-08"),
        ("Oct. 3, 2022", "2022-10-03"),
        ("2023 May 8", "2023-05-08"),
        ("8 May\n2023", "2023-05-08"),
        ("Monday, May 8, 2023", "2023-05-08"),
        ("Mon, 8 May 2023 13:56", "2023-05-08"),
        ("May 3-5, 2023", "2023-05-03..2023-05-05"),
        ("3 to 5 May 2023", "2023-05-03..2023-05-05"),
        ("May 2023", "2023-05-01..2023-05-31"),
        ("in early may 2023", "2023-05-01..2023-05-31"),
        ("Feb 2024", "2024-02-01..2024-02-29"),
        ("since May '23", "2023-05-01.."),
        ("in 2023 we moved", "2023-01-01..2023-12-31"),
        ("the events of 1999", "1999-01-01..1999-12-31"),
        ("in 2019-2021", "2019-01-01..2021-12-31"),
        ("in 2019 and 2020", "2019-01-01..2019-12-31 2020-01-01..2020-12-31"),
        ("summer 2022", "2022-06-01..2022-08-31"),
        ("the winter of 2022", "2022-12-01..2023-02-28"),
        ("Q3 2024, then 2024 Q4", "2024-07-01..2024-09-30 2024-10-01..2024-12-31"),
        ("2020-W53", "2020-12-28..2021-01-03"),
        ("before 2022", "..2021-12-31"),
        ("after 8 May 2023", "2023-05-09.."),
        ("until the end of 2021", "..2021-12-31"),
        ("by July 10, 2022", "..2022-07-10"),
        ("from 2019 on", "2019-01-01.."),
        ("the paper from 2019", "2019-01-01..2019-12-31"),
        ("from 2019 to 2021", "2019-01-01..2021-12-31"),
        ("between 2019 and 2021", "2019-01-01..2021-12-31"),
        ("between March and June 2022", "2022-03-01..2022-06-30"),
        ("from November 2021 to February", "2021-11-01..2022-02-28"),
        ("November to February 2022", "2021-11-01..2022-02-28"),
        ("from May 3 until May 5, 2022", "2022-05-03..2022-05-05"),
        ("in May and June 2022", "2022-05-01..2022-05-31 2022-06-01..2022-06-30"),
        ("the week before August 3, 2023", "2023-07-27..2023-08-02"),
        ("two weeks before August 11, 2023", "2023-07-25..2023-07-31"),
        ("three days after 30 April 2023", "2023-05-03"),
        ("the Sunday before October 25, 2022", "2022-10-23"),
        ("the weekend after 10 April 2023", "2023-04-15..2023-04-16"),
        ("the week of 10 May 2023", "2023-05-08..2023-05-14"),
        ("the year before 2020", "2019-01-01..2019-12-31"),
    ],
)
def test_what_is_said_in_full_means_the_same_on_any_day(text, expected, today):
    check(text, expected, today)
    assert all(span.exact for span in find_dates(text, TODAY.toordinal()))


RELATIVE = [
    ("today, tonight and this morning", "2023-05-17 2023-05-17 2023-05-17"),
    ("Yesterday's talk, and last night", "2023-05-16 2023-05-16"),
    ("tomorrow", "2023-05-18"),
    ("the day before yesterday", "2023-05-15"),
    ("the day after tomorrow", "2023-05-19"),
    ("What did I do last week?", "2023-05-08..2023-05-14"),
    ("this week", "2023-05-15..2023-05-21"),
    ("next week", "2023-05-22..2023-05-28"),
    ("the week before last", "2023-05-01..2023-05-07"),
    ("last weekend", "2023-05-13..2023-05-14"),
    ("this past weekend", "2023-05-13..2023-05-14"),
    ("over the weekend", "2023-05-13..2023-05-14"),
    ("this weekend", "2023-05-20..2023-05-21"),
    ("two weekends ago", "2023-05-06..2023-05-07"),
    ("last month", "2023-04-01..2023-04-30"),
    ("next quarter", "2023-07-01..2023-09-30"),
    ("last year's trip", "2022-01-01..2022-12-31"),
    ("three days ago", "2023-05-14"),
    ("a week ago", "2023-05-07..2023-05-13"),
    ("about 2 years ago", "2021-01-01..2021-12-31"),
    ("twelve months ago", "2022-05-01..2022-05-31"),
    ("a few days ago", "2023-05-11..2023-05-15"),
    ("a couple of weeks ago", "2023-04-23..2023-05-06"),
    ("leaving in 3 days", "2023-05-20"),
    ("two weeks from now", "2023-05-28..2023-06-03"),
    ("the past 10 days", "2023-05-07..2023-05-17"),
    ("over the last two months", "2023-03-17..2023-05-17"),
    ("the past week", "2023-05-10..2023-05-17"),
    ("the next three weeks", "2023-05-17..2023-06-07"),
    ("on Monday", "2023-05-15"),
    ("on Wednesday", "2023-05-10"),
    ("last Friday", "2023-05-12"),
    ("last Fri. I went", "2023-05-12"),
    ("next Tuesday", "2023-05-23"),
    ("this Friday", "2023-05-19"),
    ("Monday of last week", "2023-05-08"),
    ("on Monday and Tuesday", "2023-05-15 2023-05-16"),
    ("from Monday to Wednesday", "2023-05-15..2023-05-17"),
    ("since Tuesday", "2023-05-16.."),
    ("before yesterday", "..2023-05-15"),
    ("finish it by Friday", "..2023-05-19"),
    ("since last week", "2023-05-08.."),
    ("in February", "2023-02-01..2023-02-28"),
    ("in May", "2023-05-01..2023-05-31"),
    ("in June", "2022-06-01..2022-06-30"),
    ("in june and july", "2022-06-01..2022-06-30 2022-07-01..2022-07-31"),
    ("it will be out in October", "2023-10-01..2023-10-31"),
    ("last May", "2022-05-01..2022-05-31"),
    ("next May", "2024-05-01..2024-05-31"),
    ("this June", "2023-06-01..2023-06-30"),
    ("at the end of April", "2023-04-01..2023-04-30"),
    ("in mid-April", "2023-04-01..2023-04-30"),
    ("the last week of April", "2023-04-01..2023-04-30"),
    ("since March", "2023-03-01.."),
    ("between March and June", "2023-03-01..2023-06-30"),
    ("from November to February", "2022-11-01..2023-02-28"),
    ("on May 8", "2023-05-08"),
    ("the 8th of May", "2023-05-08"),
    ("on June 3", "2022-06-03"),
    ("on 29 February", "2020-02-29"),
    ("3-5 May", "2023-05-03..2023-05-05"),
    ("this summer", "2023-06-01..2023-08-31"),
    ("last summer", "2022-06-01..2022-08-31"),
    ("this winter", "2022-12-01..2023-02-28"),
    ("next winter", "2023-12-01..2024-02-29"),
    ("during the summer", "2022-06-01..2022-08-31"),
    ("in Q1", "2023-01-01..2023-03-31"),
]


@each(("text", "expected"), RELATIVE)
def test_what_is_said_in_passing_is_seen_from_its_day(text, expected):
    check(text, expected)
    assert not any(span.exact for span in find_dates(text, TODAY.toordinal()))


@each("text", [text for text, _ in RELATIVE])
def test_what_is_said_in_passing_means_nothing_without_its_day(text):
    check(text, "", None)


@each(
    "text",
    [
        "",
        "We may march, and it may 8 times fail.",
        "may",
        "May I? May Smith said so; a picture of April",
        "written by Jan Brown",
        "marching saturated sunny decide secondary Mayor",
        "I sat in the sun on Sun machines",
        "every Monday morning, on Mondays, Monday to Friday",
        "8/5/2023",
        "2023-02-30, 2023-13-01, Feb 30, 2023, 31 June, 2023-W60",
        "2023.1.2, v1.2.3, 2023.1, 1.2023-05-08, 12023-05-08",
        "a1b2-2023-05-08-c3",
        "https://example.org/2023/05/08/title",
        "in 2000 users, out of 2000, a limit of 2048, in 1990s, Cyberpunk 2077, 2023",
        "`today`, date.today(), is_today, today-1, --since=yesterday, #today, 'tomorrow'",
        "in Spring Boot, a spring day, Fall back, summer",
        "recently, two days later, the other day, a while ago, years ago, one day",
        "more than two years ago, over a year ago, 1.5 years ago, a year and a half ago",
        "we finished in 3 days; for the first time in two years; 5 years old",
        "the last day of it, last time, next steps, this time",
        "it feels like yesterday",
        "planned for May\n\n8 people came",
        "in two-day steps, last-week, year-end",
    ],
)
def test_what_is_no_time_or_not_clear_is_not_read(text):
    check(text, "")


@each(
    ("today", "text", "expected"),
    [
        ("2023-05-15", "last week", "2023-05-08..2023-05-14"),  # a Monday
        ("2023-05-21", "last week", "2023-05-08..2023-05-14"),  # a Sunday
        ("2023-05-21", "over the weekend", "2023-05-20..2023-05-21"),
        ("2023-01-02", "last month and last quarter", "2022-12-01..2022-12-31 2022-10-01..2022-12-31"),
        ("2023-03-31", "the past month", "2023-02-28..2023-03-31"),
        ("2024-02-29", "the past year", "2023-02-28..2024-02-29"),
        ("2023-01-15", "this winter", "2022-12-01..2023-02-28"),
        ("2023-09-15", "this winter", "2023-12-01..2024-02-29"),
        ("2023-01-10", "in December", "2022-12-01..2022-12-31"),
        ("0001-01-03", "last week and 5 days ago and two years ago", ""),
        ("9999-12-30", "next week and in 5 days and next year", ""),
    ],
)
def test_the_edges_of_weeks_years_and_the_calendar(today, text, expected):
    check(text, expected, date.fromisoformat(today))


@each(
    ("text", "words"),
    [
        ("I went (last week) there", ["last week"]),
        ("What happened since the beginning of May 2023?", ["since the beginning of May 2023"]),
        ("notes between March and June", ["between March and June"]),
        ("on the Sunday before October 25, 2022 we", ["the Sunday before October 25, 2022"]),
        ("Last Friday on 23 January, 2022", ["Last Friday", "23 January, 2022"]),
        ("İİ a  couple of\n weeks ago", ["a  couple of\n weeks ago"]),
    ],
)
def test_a_span_says_where_its_words_stand(text, words):
    assert [text[span.start : span.end] for span in find_dates(text, TODAY.toordinal())] == words


@each(
    "text",
    [
        "1:56 pm on 8 May, 2023",
        "Date: 2023-05-08",
        "# 2023-05-08 standup",
        "[2023-05-08T13:56]",
        "2023-05-08 10:30 standup",
        "May 8, 2023 – call with Ann",
        "Session 3 (8 May 2023)",
        "## Call with Ann, 8 May 2023",
        "Meeting on 8 May 2023\n\nWe spoke of 2022-01-01.",
        "8 May 2023, 13:56\n\nAnn: Tea?",
        "**Monday, May 8, 2023**",
        "---\ntitle: Tea\ndate: 2023-05-08\n---\nMore.",
        "From: Ann\nTo: Ben\nSubject: Tea\nList: all\nDate: Mon, 8 May 2023 13:56:00 +0200",
    ],
)
def test_the_first_lines_say_which_day_a_text_is_of(text):
    assert find_document_date(text) == date(2023, 5, 8).toordinal()


@each(
    "text",
    [
        "",
        "We moved on 8 May 2023 to the new server.",
        "On 8 May 2023 we decided",
        "Due: 2023-05-08",
        "# Plan for 2024-01-01",
        "Sprint (2023-05-08 to 2023-05-12)",
        "May 2023",
        "yesterday",
        "One.\n\nTwo.\n\nThree.\n\n# 2023-05-08",
    ],
)
def test_a_day_that_a_text_only_speaks_of_is_not_its_own(text):
    assert find_document_date(text) is None


@settings(deadline=None)
@example("in 2 months after next winter 9999-12-31", OPEN)
@example("the day before 0001-01-01 and before 0001-01-01", 1)
@given(TEXTS, st.none() | DAYS | st.integers(-5, 5))
def test_any_text_on_any_day_gives_spans_in_order_and_apart(text, today):
    spans = find_dates(text, today)
    for span in spans:
        assert 0 <= span.first <= span.last <= OPEN
        assert 0 <= span.start < span.end <= len(text)
    assert all(one.end <= other.start for one, other in itertools.pairwise(spans))
    if today is None:
        assert all(span.exact for span in spans)
    day = find_document_date(text)
    assert day is None or 1 <= day <= OPEN


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)), DAYS)
def test_every_date_is_read_as_it_was_written(day, today):
    month = "January February March April May June July August September October November December".split()[day.month - 1]
    ways = [day.isoformat(), f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", f"{day.day} {month[:3].upper()} {day.year}"]
    for way in ways:
        assert [span[:2] for span in find_dates(f"It was on {way}, they say.", today)] == [(day.toordinal(), day.toordinal())]


@each("piece", ["1", "last ", " ", "\n", "since the ", "(", "a few "])
def test_a_megabyte_of_anything_takes_less_than_a_second(piece):
    text = piece * (1_000_000 // len(piece))
    begun = time.process_time()
    find_dates(text, TODAY.toordinal())
    find_document_date(text)
    assert time.process_time() - begun < 1


def test_a_text_that_is_all_times_takes_time_in_proportion():
    def seconds(count: int) -> float:
        text = "between March and June, last week; 2023-05-08. " * count
        begun = time.process_time()
        assert len(find_dates(text, TODAY.toordinal())) == 3 * count
        return time.process_time() - begun

    assert seconds(4_000) < 40 * min(seconds(400) for _ in range(3))
