"""The words that paths and names are made of, over a whole snapshot."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from whence.storage.arrayfile import Array
from whence.storage.rows import distinct
from whence.text.bm25 import idf

#: What queries have asked of some names: by a word and its stem, the names that match it and how well.
KnownMatches = dict[tuple[str, str], tuple[Array, Array]]


class PathParts:
    """The words of all paths, with the files' stems and near directories as rows of them."""

    def __init__(self, names: list[str], stems: tuple[Array, Array], directories: tuple[Array, Array], alive: Array) -> None:
        self.names = names
        self.known: KnownMatches = {}
        self.stem_starts, self.stem_parts = stems
        self.directory_starts, self.directory_parts = directories
        files = len(alive)
        owner = np.concatenate([_owners(self.stem_starts), _owners(self.directory_starts)])
        part = np.concatenate([self.stem_parts, self.directory_parts])
        keep = alive[owner]
        pairs = distinct(part[keep].astype(np.int64) * max(files, 1) + owner[keep])
        self.seen_in = np.bincount(pairs // max(files, 1), minlength=len(names))  # in how many files
        self.weigh(self.seen_in, int(alive.sum()))

    def weigh(self, seen_in: Array, total: int) -> None:
        """Have each part weigh by how few of all files it is in."""
        self.seen_in = seen_in
        self.idf = idf(total, seen_in)
        self.max_idf = float(idf(total, np.array(0)))

    @cached_property
    def files_by_stem_part(self) -> tuple[Array, Array]:
        """For each part, the files whose stem has it: (offsets, files)."""
        return _inverted(self.stem_starts, self.stem_parts, len(self.names))

    @cached_property
    def files_by_directory_part(self) -> tuple[Array, Array]:
        """For each part, the files whose near directories have it: (offsets, files)."""
        return _inverted(self.directory_starts, self.directory_parts, len(self.names))


class NameParts:
    """The words of the names of all units, in order, with each unit's as rows of them."""

    def __init__(self, names: list[str], starts: Array, parts: Array, counted: Array) -> None:
        self.names, self.starts, self.parts = names, starts, parts
        self.known: KnownMatches = {}
        total = int(counted.sum())
        seen = np.bincount(parts[np.repeat(counted, np.diff(starts))], minlength=len(names))
        self.idf = idf(total, seen)


def _owners(starts: Array) -> Array:
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _inverted(starts: Array, parts: Array, count: int) -> tuple[Array, Array]:
    owner = _owners(starts)
    order = np.argsort(parts, kind="stable")
    offsets = np.searchsorted(parts[order], np.arange(count + 1))
    return offsets, owner[order]
