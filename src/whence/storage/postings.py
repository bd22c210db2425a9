"""Compact posting lists: each row is stored as its distance from the one before.

The first row of a list is stored in full, the others as steps of at most 16 bits. A longer step is split with fillers:
entries of value 0 that only advance. Small segments have none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.storage.arrayfile import Array

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
