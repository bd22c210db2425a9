"""Arithmetic on rows: sorted, distinct, grouped. numpy's own set functions hash first, and load modules nobody needs."""

from __future__ import annotations

import numpy as np

from whence.index.arrayfile import Array


def counted(keys: Array) -> tuple[Array, Array]:
    """The distinct keys in order, with how often each occurs."""
    keys = np.sort(keys)
    new = first_of_each(keys)
    return keys[new], np.diff(new, append=len(keys))


def distinct(keys: Array) -> Array:
    """The distinct keys in order."""
    return counted(keys)[0]


def first_of_each(owners: Array) -> Array:
    """Where each owner begins in a list that is grouped by owner."""
    if not len(owners):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))


def member(wanted: Array, among: Array) -> Array:
    """Whether each wanted row is among some sorted rows."""
    if not len(among):
        return np.zeros(len(wanted), bool)
    at = _places(wanted, among)
    return np.asarray(among[at] == wanted)


def values_at(wanted: Array, rows: Array, codes: Array, table: Array) -> Array:
    """table[code] of each wanted row, 0 where it is not among the sorted rows."""
    if not len(rows):
        return np.zeros(len(wanted), np.float32)
    at = _places(wanted, rows)
    return np.where(rows[at] == wanted, table[codes[at]], np.float32(0))


def _places(wanted: Array, among: Array) -> Array:
    """Where each wanted row would stand; asked in the type of the sorted rows, or numpy converts them all."""
    return np.minimum(np.searchsorted(among, wanted.astype(among.dtype, copy=False)), len(among) - 1)


def ranges(starts: Array, rows: Array) -> tuple[Array, Array]:
    """All members of some rows' ranges: (the place of the row, the member)."""
    sizes = starts[rows + 1] - starts[rows]
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(np.arange(len(rows)), sizes), within + np.repeat(starts[rows], sizes)
