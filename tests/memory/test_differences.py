"""Two versions of a text, compared: whoever has one and what is said of the change has the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.text import line_diff
from whence.text.line_diff import AROUND, GONE, KEPT, LEFT_OUT, NEW, Difference, all_gone, compared, numbered

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "}"]), max_size=40)


def signs(then: str, now: str) -> str:
    return "".join(one.sign for one in compared(numbered(then), numbered(now)) or ())


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\n", ["a", ""]), ("\n", [""]), ("a\r\nb", ["a\r", "b"])],
)
def test_a_text_is_cut_at_the_ends_of_its_lines(text, lines):
    assert [line.text for line in numbered(text)] == lines


def test_lines_bear_the_numbers_that_they_have_in_their_file():
    assert [line.number for line in numbered("a\nb\n", 17)] == [17, 18]


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ("a\nb\n", "a\nb\n", ""),
        ("a\nb\n", "a\nc\n", " -+"),
        ("", "a\nb\n", "++"),
        ("a\nb\n", "", "--"),
        ("a\nb\n", "b\n", "- "),
        ("a\n", "a\nb\n", " +"),
        ("a\n", "a", ""),
    ],
)
def test_what_went_and_what_came_is_told_by_signs(then, now, said):
    assert signs(then, now) == said


def test_each_line_has_its_number_in_the_version_it_is_of():
    assert compared(numbered("a\nb\n", 5), numbered("a\nc\n", 9)) == [
        Difference(KEPT, 5, 9, "a"),
        Difference(GONE, 6, None, "b"),
        Difference(NEW, None, 10, "c"),
    ]


def test_only_a_few_lines_around_a_change_are_shown():
    many = [str(number) for number in range(30)]
    changed = [*many[:15], "other", *many[16:]]
    found = compared(numbered("\n".join(many)), numbered("\n".join(changed))) or []
    assert "".join(one.sign for one in found) == f"{LEFT_OUT}{KEPT * AROUND}{GONE}{NEW}{KEPT * AROUND}"


def test_code_that_is_gone_is_all_gone():
    assert [(one.sign, one.then, one.now) for one in all_gone(numbered("a\nb\n", 3))] == [(GONE, 3, None), (GONE, 4, None)]


def test_a_text_that_is_too_long_is_not_compared(monkeypatch):
    monkeypatch.setattr(line_diff, "MOST_LINES", 3)
    assert compared(numbered("a\n" * 4), numbered("a\n")) is None
    assert compared(numbered("a\n"), numbered("a\n" * 4)) is None
    assert compared(numbered("a\n" * 3), numbered("a\n")) is not None


@given(LINES, LINES)
def test_what_is_shown_is_true_of_both_versions(then, now):
    before, after = numbered("".join(f"{line}\n" for line in then)), numbered("".join(f"{line}\n" for line in now))
    found = compared(before, after)
    assert found is not None
    assert [one for one in found if one.sign != LEFT_OUT] == [] if then == now else found
    for one in found:
        assert one.sign in (KEPT, GONE, NEW, LEFT_OUT)
        assert one.then is None or then[one.then - 1] == one.text
        assert one.now is None or now[one.now - 1] == one.text
    gone, new = ({getattr(one, side) for one in found if one.sign == sign} for side, sign in (("then", GONE), ("now", NEW)))
    assert [line.text for line in before if line.number not in gone] == [line.text for line in after if line.number not in new]
