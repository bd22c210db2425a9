"""Posting lists and arithmetic on row numbers: sorting, counting, grouping. numpy's own set functions hash first, and import more.

A stored list has its first row in full and the others as steps of at most 16 bits. A longer step is split with fillers:
entries of value 0 that only advance. Small segments have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from whence.storage.arrayfile import Array


def unique_counts(keys: Array) -> tuple[Array, Array]:
    """The distinct keys in order, and how often each occurs."""
    keys = np.sort(keys)
    new = first_of_each(keys)
    return keys[new], np.diff(new, append=len(keys))


def distinct(keys: Array) -> Array:
    """The distinct keys in order."""
    return unique_counts(keys)[0]


def first_of_each(owners: Array) -> Array:
    """Where each owner begins in a list grouped by owner."""
    if not len(owners):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))


def is_member(rows: Array, among: Array) -> Array:
    """Whether each row is among some sorted rows."""
    if not len(among):
        return np.zeros(len(rows), bool)
    return np.asarray(among[_insertion_points(rows, among)] == rows)


def values_at(wanted: Array, rows: Array, codes: Array, table: Array) -> Array:
    """table[code] of each `wanted` row; 0 if it is not among the sorted rows."""
    if not len(rows):
        return np.zeros(len(wanted), np.float32)
    at = _insertion_points(wanted, rows)
    return np.where(rows[at] == wanted, table[codes[at]], np.float32(0))


def _insertion_points(wanted: Array, among: Array) -> Array:
    """Where each row would be inserted. Searched in the type of the sorted rows, or numpy would convert them all."""
    return np.minimum(np.searchsorted(among, wanted.astype(among.dtype, copy=False)), len(among) - 1)


def ranges(starts: Array, rows: Array) -> tuple[Array, Array]:
    """All members of some rows' ranges: (position of the row, member)."""
    return spread(starts[rows], starts[rows + 1])


def spread(low: Array, high: Array) -> tuple[Array, Array]:
    """Every number from each low up to its high: (position of the low, number)."""
    low, high = low.astype(np.int64), high.astype(np.int64)
    sizes = np.maximum(high - low, 0)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(np.arange(len(low)), sizes), within + np.repeat(low, sizes)


def best_first(owner: Array, values: Array) -> tuple[Array, Array, Array]:
    """Values grouped by owner, highest first: (owner, value, rank within the owner)."""
    order = np.lexsort((-values, owner))
    owner, values = owner[order], values[order]
    return owner, values, np.arange(len(owner)) - np.searchsorted(owner, owner)


def highest(rows: Array, values: Array, count: int, places: Callable[[Array], Array] | None = None) -> tuple[Array, Array]:
    """The rows with the highest values, best first; equal ones in their order.

    When not all rows of equal value fit, `places` decides which come first: the order of rows depends on when files were
    indexed, and the same code must give the same answer however its index was built.
    """
    if len(rows) > count:
        floor = np.partition(values, len(values) - count)[len(values) - count]
        keep = values >= floor
        rows, values = rows[keep], values[keep]
        if len(rows) > count and places is not None:
            order = np.lexsort((places(rows), -values))
            rows, values = rows[order], values[order]
    order = np.argsort(-values, kind="stable")[:count]
    return rows[order], values[order]


def dead_mask(size: int, rows: Sequence[int]) -> Array:
    """A mask with the dead rows set."""
    mask = np.zeros(size, bool)
    mask[list(rows)] = True
    return mask


UNIT_STEP = (1 << 16) - 1
#: A window's entry packs its step and its count: 0 for a filler, 1, 2, and 3 for more.
COUNT_BITS = 2
COUNT_TOP = (1 << COUNT_BITS) - 1
WINDOW_STEP = (1 << (16 - COUNT_BITS)) - 1


@dataclass(frozen=True, slots=True)
class Lists:
    """Many posting lists in a row: where each begins and ends, their rows and values."""

    offsets: Array
    rows: Array
    values: Array


@dataclass(frozen=True, slots=True)
class Steps:
    """The same lists as first rows and steps between rows."""

    offsets: Array
    first: Array
    steps: Array
    values: Array


def encode(lists: Lists, longest: int) -> Steps:
    """Turn rows into steps of at most `longest`."""
    starts = lists.offsets[:-1][np.diff(lists.offsets) > 0]
    first = np.zeros(len(lists.offsets) - 1, np.uint32)
    first[np.diff(lists.offsets) > 0] = lists.rows[starts]
    steps = np.diff(lists.rows.astype(np.int64), prepend=0)
    steps[starts] = 0
    fillers = np.maximum(steps - 1, 0) // longest
    if not fillers.any():
        return Steps(lists.offsets, first, steps.astype(np.uint16), lists.values)
    places = np.arange(len(steps)) + np.cumsum(fillers)
    spread = np.full(len(steps) + int(fillers.sum()), longest, np.int64)
    spread[places] = steps - fillers * longest
    values = np.zeros(len(spread), lists.values.dtype)
    values[places] = lists.values
    before = np.concatenate([[0], np.cumsum(fillers)])
    return Steps(lists.offsets + before[lists.offsets], first, spread.astype(np.uint16), values)


def decode(steps: Steps) -> Lists:
    """Turn steps back into rows, without the fillers."""
    sizes = np.diff(steps.offsets.astype(np.int64))
    reached = np.cumsum(steps.steps, dtype=np.int32)  # may wrap around; differences within a list are still right
    starts = np.minimum(steps.offsets[:-1].astype(np.int64), max(len(reached) - 1, 0))
    base = steps.first.astype(np.int32) - reached[starts] if len(reached) else np.zeros(len(sizes), np.int32)
    rows = reached + np.repeat(base, sizes.astype(np.int64))
    keep = steps.values > 0
    if keep.all():
        return Lists(steps.offsets.astype(np.int64), rows, steps.values)
    before = np.concatenate([[0], np.cumsum(keep)])
    return Lists(before[steps.offsets], rows[keep], steps.values[keep])


def read(first: int, steps: Array, values: Array, may_have_fillers: bool) -> tuple[Array, Array]:
    """The rows and values of one list."""
    rows = np.cumsum(steps, dtype=np.int64)
    rows += first
    if may_have_fillers:
        keep = values > 0
        return rows[keep], values[keep]
    return rows, values


def pack_windows(steps: Steps) -> Array:
    """Steps and counts of windows, packed into 16 bits."""
    return steps.steps << np.uint16(COUNT_BITS) | steps.values.astype(np.uint16)


def unpack_windows(packed: Array) -> tuple[Array, Array]:
    """Steps and counts of windows."""
    return packed >> COUNT_BITS, packed & COUNT_TOP
