"""Posting lists: what is encoded is decoded, however far apart its rows stand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from whence.storage.postings import COUNT_TOP, UNIT_STEP, WINDOW_STEP, Lists, Steps, decode, encode, pack_windows, read, unpack_windows

STEPS = {"units": UNIT_STEP, "windows": WINDOW_STEP}
#: Rows close together, and rows at distances where one more filler is needed.
DISTANCES = (
    st.integers(1, 5)
    | st.integers(1, 200_000)
    | st.sampled_from([n * s + d for s in STEPS.values() for n in (1, 2, 3) for d in (-1, 0, 1, 2)])
)
ROWS = st.lists(DISTANCES, max_size=12).map(lambda found: np.cumsum(found).tolist())
MANY = st.lists(ROWS, max_size=8)


def lists_of(many: list[list[int]]) -> Lists:
    rows = np.array([row for one in many for row in one], np.uint32)
    values = np.arange(len(rows)) % COUNT_TOP + 1
    return Lists(np.cumsum([0, *map(len, many)]), rows, values.astype(np.uint16))


def as_plain(lists: Lists) -> list[list[tuple[int, int]]]:
    bounds = lists.offsets.tolist()
    pairs = list(zip(lists.rows.tolist(), lists.values.tolist(), strict=True))
    return [pairs[a:b] for a, b in itertools.pairwise(bounds)]


@pytest.mark.parametrize("longest", STEPS.values(), ids=STEPS)
@given(many=MANY)
@example(many=[[1, 1 + 131_071]])
@example(many=[[0, 32_767]])
@example(many=[[], [70_000], [], [0, 70_000, 500_000], []])
def test_what_is_encoded_is_decoded(longest: int, many: list[list[int]]) -> None:
    lists = lists_of(many)
    assert as_plain(decode(encode(lists, longest))) == as_plain(lists)


@pytest.mark.parametrize("longest", STEPS.values(), ids=STEPS)
@given(many=MANY)
@example(many=[[1, 1 + 131_071]])
@example(many=[[0, 32_767]])
def test_no_step_is_longer_than_its_bits(longest: int, many: list[list[int]]) -> None:
    lists = lists_of(many)
    steps = encode(lists, longest)
    assert steps.steps.dtype == np.uint16
    assert int(steps.steps.max(initial=0)) <= longest
    assert int(steps.steps.astype(np.int64).sum()) == sum(one[-1] - one[0] for one in many if one)


@given(many=MANY)
@example(many=[[0, 32_767]])
def test_windows_survive_being_packed(many: list[list[int]]) -> None:
    lists = lists_of(many)
    steps = encode(lists, WINDOW_STEP)
    unpacked = decode(Steps(steps.offsets, steps.first, *unpack_windows(pack_windows(steps))))
    assert as_plain(unpacked) == as_plain(lists)


@pytest.mark.parametrize("longest", STEPS.values(), ids=STEPS)
@given(many=MANY)
@example(many=[[1, 1 + 131_071]])
def test_one_list_is_read_as_all_are_decoded(longest: int, many: list[list[int]]) -> None:
    lists = lists_of(many)
    steps = encode(lists, longest)
    for number, wanted in enumerate(as_plain(lists)):
        a, b = steps.offsets[number], steps.offsets[number + 1]
        rows, values = read(int(steps.first[number]), steps.steps[a:b], steps.values[a:b], may_have_fillers=True)
        assert list(zip(rows.tolist(), values.tolist(), strict=True)) == wanted


def test_close_rows_need_no_fillers() -> None:
    lists = lists_of([[3, 4, 9], [0]])
    assert len(encode(lists, UNIT_STEP).steps) == 4


def test_no_lists_at_all_are_no_trouble() -> None:
    assert as_plain(decode(encode(lists_of([]), UNIT_STEP))) == []
