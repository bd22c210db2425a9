"""Two versions of a text, compared: whoever has one and what is said of the change has the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from small_cases import each
from whence.text import line_diff
from whence.text.line_diff import ADDED, CONTEXT_LINES, GAP, REMOVED, SAME, LineChange, diff_lines, number_lines, removed_lines

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "}"]), max_size=40)


def signs(then: str, now: str) -> str:
    return "".join(one.sign for one in diff_lines(number_lines(then), number_lines(now)) or ())


@each(
    ("text", "lines"),
    [("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\n", ["a", ""]), ("\n", [""]), ("a\r\nb", ["a\r", "b"])],
)
def test_a_text_is_cut_at_the_ends_of_its_lines(text, lines):
    assert [line.text for line in number_lines(text)] == lines


def test_lines_bear_the_numbers_that_they_have_in_their_file():
    assert [line.number for line in number_lines("a\nb\n", 17)] == [17, 18]


@each(
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
    assert diff_lines(number_lines("a\nb\n", 5), number_lines("a\nc\n", 9)) == [
        LineChange(SAME, 5, 9, "a"),
        LineChange(REMOVED, 6, None, "b"),
        LineChange(ADDED, None, 10, "c"),
    ]


def test_only_a_few_lines_around_a_change_are_shown():
    many = [str(number) for number in range(30)]
    changed = [*many[:15], "other", *many[16:]]
    found = diff_lines(number_lines("\n".join(many)), number_lines("\n".join(changed))) or []
    assert "".join(one.sign for one in found) == f"{GAP}{SAME * CONTEXT_LINES}{REMOVED}{ADDED}{SAME * CONTEXT_LINES}"


def test_code_that_is_gone_is_all_gone():
    assert [(one.sign, one.old_number, one.new_number) for one in removed_lines(number_lines("a\nb\n", 3))] == [
        (REMOVED, 3, None),
        (REMOVED, 4, None),
    ]


def test_a_text_that_is_too_long_is_not_compared(monkeypatch):
    monkeypatch.setattr(line_diff, "MAX_LINES", 3)
    assert diff_lines(number_lines("a\n" * 4), number_lines("a\n")) is None
    assert diff_lines(number_lines("a\n"), number_lines("a\n" * 4)) is None
    assert diff_lines(number_lines("a\n" * 3), number_lines("a\n")) is not None


@given(LINES, LINES)
def test_what_is_shown_is_true_of_both_versions(then, now):
    before, after = number_lines("".join(f"{line}\n" for line in then)), number_lines("".join(f"{line}\n" for line in now))
    found = diff_lines(before, after)
    assert found is not None
    assert [one for one in found if one.sign != GAP] == [] if then == now else found
    for one in found:
        assert one.sign in (SAME, REMOVED, ADDED, GAP)
        assert one.old_number is None or then[one.old_number - 1] == one.text
        assert one.new_number is None or now[one.new_number - 1] == one.text
    gone, new = (
        {getattr(one, side) for one in found if one.sign == sign} for side, sign in (("old_number", REMOVED), ("new_number", ADDED))
    )
    assert [line.text for line in before if line.number not in gone] == [line.text for line in after if line.number not in new]
