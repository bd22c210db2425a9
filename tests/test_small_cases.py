"""A table of cases in one test."""

from __future__ import annotations

import pytest

from small_cases import each


def test_every_case_is_tried_and_all_that_fail_are_listed() -> None:
    tried = []

    @each(("number", "name"), [(1, "one"), (2, "two"), (3, "three")])
    @each("sign", [1, -1])
    def check(number: int, name: str, sign: int) -> None:
        tried.append((number, name, sign))
        if number == 2:
            raise ValueError("too large")
        assert number * sign < 3

    with pytest.raises(AssertionError) as caught:
        check()
    assert len(tried) == 6
    told = str(caught.value)
    assert told.startswith("2 of 3 cases fail:\n")
    assert "2, 'two': 2 of 2 cases fail" in told
    assert "3, 'three': 1 of 2 cases fail" in told
    assert isinstance(caught.value.__cause__, AssertionError)


@each("number", [1, 2])
def test_fixtures_are_given_as_to_any_test(tmp_path, number):
    assert tmp_path.is_dir()
    assert number in (1, 2)
