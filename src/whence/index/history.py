"""The commits of a repository as an index: which words of commit messages go with which files (Z9).

It is one file of arrays next to the segments, written again when the commit changes; git is only asked for the new commits. It
has paths, not rows, so that it outlives the segments; the shared column `past.rows` has the current row of each path.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.index.layout import Layout
from whence.index.reader import open_commits
from whence.index.snapshot import Snapshot
from whence.index.store import IndexStore
from whence.storage.arrayfile import Array, Columns, pack_strings, unpack_strings, write_arrays
from whence.text.analyzer import QUERY_STOP_WORDS, terms, words

if TYPE_CHECKING:
    from whence.source.history import Commit

#: How many terms of a message are stored.
MAX_TERMS = 60
#: After so many days a change counts half.
HALF_LIFE_DAYS = 180.0
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class CommitIndex:
    """Commits as rows of terms and paths, newest first."""

    terms: list[str]
    paths: list[str]
    times: Array
    term_ends: Array
    term_rows: Array
    path_ends: Array
    path_rows: Array

    @classmethod
    def of(cls, commits: Sequence[Commit], before: CommitIndex | None = None, *, count: int) -> CommitIndex:
        """New and known commits, the newest ones up to a count."""
        listed = [(one.time, message_terms(one.message), list(one.paths)) for one in commits]
        listed = sorted(listed + (before.listed() if before else []), key=lambda one: -one[0])[:count]
        known_terms = {text: row for row, text in enumerate(sorted({text for _, found, _ in listed for text in found}))}
        known_paths = {text: row for row, text in enumerate(sorted({path for _, _, found in listed for path in found}))}
        return cls(
            list(known_terms),
            list(known_paths),
            np.array([time for time, _, _ in listed], np.int64),
            np.cumsum([len(found) for _, found, _ in listed], dtype=np.int64),
            np.array([known_terms[text] for _, found, _ in listed for text in found], np.int64),
            np.cumsum([len(found) for _, _, found in listed], dtype=np.int64),
            np.array([known_paths[path] for _, _, found in listed for path in found], np.int64),
        )

    def listed(self) -> list[tuple[int, list[str], list[str]]]:
        """(time, terms, paths) of each commit."""
        term_cuts, path_cuts = np.split(self.term_rows, self.term_ends[:-1]), np.split(self.path_rows, self.path_ends[:-1])
        return [
            (time, [self.terms[row] for row in found], [self.paths[row] for row in touched])
            for time, found, touched in zip(self.times.tolist(), term_cuts, path_cuts, strict=False)
        ]

    def arrays(self) -> dict[str, Array]:
        """The arrays of the file: the terms of each commit, and the commits of each term."""
        owner = np.repeat(np.arange(len(self.times)), np.diff(self.term_ends, prepend=0))
        order = np.argsort(self.term_rows, kind="stable")
        return {
            **pack_strings("terms", self.terms),
            **pack_strings("paths", self.paths),
            "times": self.times,
            "term_ends": self.term_ends,
            "term_rows": self.term_rows,
            "path_ends": self.path_ends,
            "path_rows": self.path_rows,
            "postings": owner[order].astype(np.uint32),
            "offsets": np.searchsorted(self.term_rows[order], np.arange(len(self.terms) + 1)).astype(np.uint32),
        }

    def recency(self) -> Array:
        """The weight of the changes of each path: less the longer before the newest commit."""
        owner = np.repeat(np.arange(len(self.times)), np.diff(self.path_ends, prepend=0))
        age = (int(self.times.max(initial=0)) - self.times[owner]) / _DAY
        return np.bincount(self.path_rows, weights=0.5 ** (age / HALF_LIFE_DAYS), minlength=len(self.paths))


def update_history(layout: Layout, store: IndexStore, head: str, count: int) -> bool:
    """Bring the commits up to date; whether they changed."""
    known = store.json_meta("history")
    if known.get("head", "") == head and known.get("count", count) == count:
        return False
    past = _past_up_to(layout, known, head, count) if head and count else None
    facts: dict[str, Any] = {"head": head, "count": count}
    if past is not None:
        name = f"{os.urandom(8).hex()}.history"
        facts |= {"name": name, "stamp": asdict(write_arrays(layout.segments / name, past.arrays(), {}))}
    with store.transaction():
        store.set_meta(history=json.dumps(facts))
    return past is not None or "name" in known


def _past_up_to(layout: Layout, known: dict[str, Any], head: str, count: int) -> CommitIndex | None:
    from whence.source.history import read_history  # noqa: PLC0415  -- starts a process; queries never need it

    before = open_commits(layout, known) if known.get("count") == count else None
    if before is not None:
        newer = read_history(layout.root, head, count, since=known["head"])
        if newer is not None:
            return CommitIndex.of(newer, load_commits(before), count=count)
    commits = read_history(layout.root, head, count)
    return CommitIndex.of(commits, count=count) if commits else None


def history_columns(layout: Layout, store: IndexStore, snapshot: Snapshot) -> dict[str, Array]:
    """The row of each path in a snapshot, and how recently each file was changed."""
    file = open_commits(layout, store.json_meta("history"))
    if file is None:
        return {}
    past = load_commits(file)
    row_of = {path: row for row, path in enumerate(snapshot.paths) if snapshot.alive[row]}
    rows = np.array([row_of.get(path, -1) for path in past.paths], np.int64)
    recency = np.zeros(snapshot.files, np.float32)
    recency[rows[rows >= 0]] = past.recency()[rows >= 0]
    return {"recency": recency, "past.rows": rows.astype(np.int32)}


def load_commits(file: Columns) -> CommitIndex:
    """The commits of a file."""
    names = ("times", "term_ends", "term_rows", "path_ends", "path_rows")
    return CommitIndex(unpack_strings(file, "terms").all(), unpack_strings(file, "paths").all(), *(file[name] for name in names))


def message_terms(message: str) -> list[str]:
    """The distinct terms of a message, in order."""
    found = dict.fromkeys(term for word in words(message) if word.lower() not in QUERY_STOP_WORDS for term in terms(word))
    return list(found)[:MAX_TERMS]
