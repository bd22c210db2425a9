"""All notes as arrays: words and where they stand, passages as vectors, and what a question may be narrowed by.

Most notes of a large folder are in one file of arrays, opened by memory map; those
that came since are read from the database and kept in memory. Both are parts of the
same form, and a note has its row: rows of the file first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from whence.index.vectors import SegmentVectors, SnapshotVectors, binary_vectors
from whence.memory.database import NoteDatabase
from whence.memory.note import GENERATED, KINDS
from whence.storage.arrayfile import Array
from whence.storage.rows import spread, unique_counts

_OPEN = np.inf
#: Stands for a kind that is none of ours.
ODD_KIND = len(KINDS)


class Arrays(dict[str, Array]):
    """Arrays by name, as a file of arrays gives them."""

    def __init__(self, arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
        super().__init__(arrays)
        self.facts = facts


@dataclass(frozen=True)
class NoteSegment:
    """Some notes as arrays. `arrays` is a file of arrays, or the same in memory."""

    arrays: Any

    @cached_property
    def size(self) -> int:
        """How many notes."""
        return len(self.arrays["ids"])

    @cached_property
    def token_starts(self) -> Array:
        """Where the words of each note begin, and one past the last."""
        return np.concatenate([[0], np.cumsum(self.arrays["lengths"], dtype=np.int64)])

    @cached_property
    def span_starts(self) -> Array:
        """Where the times that each note speaks of begin."""
        return np.concatenate([[0], np.cumsum(self.arrays["span_counts"], dtype=np.int64)])

    @cached_property
    def vectors(self) -> SegmentVectors:
        """The passages of all notes; the unit of a passage is the row of its note."""
        return SegmentVectors(self.arrays, int(self.arrays.facts["width"]))

    def holding(self, stem: int) -> tuple[Array, Array]:
        """The notes that hold a stem, and how often."""
        stems = self.arrays["stems"]
        at = int(np.searchsorted(stems, stem))
        if at == len(stems) or stems[at] != stem:
            return np.empty(0, np.int64), np.empty(0, np.uint8)
        low, high = int(self.arrays["stem_starts"][at]), int(self.arrays["stem_starts"][at + 1])
        return self.arrays["stem_rows"][low:high], self.arrays["stem_counts"][low:high]


def read_part(rows: Sequence[Any], stem_of: Array, project_codes: dict[str, int], width: int) -> Arrays:
    """The arrays of some notes as the database has them."""
    tokens = [np.frombuffer(row[7], np.int32) for row in rows]
    spans = [np.frombuffer(row[8], np.int32) for row in rows]
    passages = [np.frombuffer(row[9], np.uint8).reshape(-1, 4 + width) if width else np.empty((0, 4), np.uint8) for row in rows]
    words = np.concatenate([np.empty(0, np.int32), *tokens])
    lengths = np.array([len(one) for one in tokens], np.int64)
    return Arrays(
        {
            "ids": np.array([row[0] for row in rows], np.int64),
            "projects": np.array([project_codes.setdefault(row[1], len(project_codes)) for row in rows], np.int32),
            "kinds": np.array([KINDS.index(row[2]) if row[2] in KINDS else ODD_KIND for row in rows], np.uint8),
            "archived": np.array([row[3] for row in rows], np.uint8),
            "days": np.array([row[4] for row in rows], np.int32),
            "valid_from": np.array([-_OPEN if row[5] is None else row[5] for row in rows], np.float64),
            "valid_until": np.array([_OPEN if row[6] is None else row[6] for row in rows], np.float64),
            "words": words,
            "lengths": lengths,
            "spans": np.concatenate([np.empty(0, np.int32), *spans]),
            "span_counts": np.array([len(one) // 2 for one in spans], np.int64),
            **_postings(stem_of[words], lengths),
            **_vectors(passages, width),
        },
        {"width": max(width, 1)},
    )


def _postings(stems: Array, lengths: Array) -> dict[str, Array]:
    """For each stem the notes that hold it, and how often."""
    rows = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    key, often = unique_counts(stems.astype(np.int64) * max(len(lengths), 1) + rows)
    stem, row = np.divmod(key, max(len(lengths), 1))
    distinct, sizes = unique_counts(stem)
    return {
        "stems": distinct,
        "stem_starts": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "stem_rows": row.astype(np.uint32),
        "stem_counts": np.minimum(often, 255).astype(np.uint8),
    }


def _vectors(passages: Sequence[Array], width: int) -> dict[str, Array]:
    owner = np.repeat(np.arange(len(passages)), [len(one) for one in passages]).astype(np.uint32)
    joined = np.concatenate([np.empty((0, 4 + width), np.uint8), *passages])
    rows = np.ascontiguousarray(joined[:, 4:]).view(np.int8) if width else np.zeros((len(owner), 1), np.int8)
    return {
        "first": owner,
        "last": owner,
        "scale": np.ascontiguousarray(joined[:, :4]).view(np.float32).reshape(-1),
        "rows": rows.reshape(-1),
        "sketch": binary_vectors(rows).reshape(-1),
    }


def packed_vectors(rows: Array) -> bytes:
    """Vectors of passages as the database keeps them."""
    scale = (np.abs(rows).max(axis=1, initial=0.0) / 127).astype(np.float32)
    small = np.round(rows / np.maximum(scale, 1e-12)[:, None]).astype(np.int8)
    return np.concatenate([scale[:, None].view(np.uint8), small.view(np.uint8)], axis=1).tobytes()


class NoteReader:
    """The notes of one folder at one moment. Rows are dense; a row that is dead stays until the next reading."""

    def __init__(self, parts: Sequence[NoteSegment], alive: Array, words: NoteVocabulary, projects: Sequence[str]) -> None:
        self.parts = [part for part in parts if part.size]
        self.alive, self.words, self.projects = alive, words, list(projects)
        self.bases = np.concatenate([[0], np.cumsum([part.size for part in self.parts], dtype=np.int64)]).astype(np.int64)
        self.size = int(self.bases[-1])

    def column(self, name: str) -> Array:
        """One value of each note."""
        if name not in self._columns:
            found = [part.arrays[name] for part in self.parts] or [np.empty(0, np.int64)]
            self._columns[name] = np.concatenate(found) if len(found) != 1 else found[0]
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, Array]:
        return {}

    @cached_property
    def recallable(self) -> Array:
        """Whether each note may be recalled at all: it is there, and was not made from others (M4)."""
        if not self.size:
            return np.zeros(0, bool)
        made = [KINDS.index(kind) for kind in GENERATED]
        return np.asarray(self.alive & ~np.isin(self.column("kinds"), made))

    @cached_property
    def view(self) -> SnapshotVectors:
        """The passages of all notes."""
        return SnapshotVectors([part.vectors for part in self.parts], self.bases[:-1].tolist())

    def note_counts(self, population: Array, name: object) -> Array:
        """How many notes of a population hold each stem; worked out once for each population, which is told by its name."""
        if name not in self._counts:
            found = np.zeros(int(self.words.stems.max(initial=0)) + 1, np.int64)
            for part, base in zip(self.parts, self.bases.tolist(), strict=False):
                stems, starts = part.arrays["stems"], part.arrays["stem_starts"]
                of_them = population[base : base + part.size]
                if len(stems):
                    held = of_them[part.arrays["stem_rows"]].astype(np.int64)
                    found[stems] += np.diff(starts) if of_them.all() else np.add.reduceat(held, starts[:-1])
            self._counts[name] = found
        return self._counts[name]

    @cached_property
    def _counts(self) -> dict[object, Array]:
        return {}

    @cached_property
    def mean_length(self) -> float:
        """Words of a note, on average."""
        return float(self.column("lengths")[self.alive].mean()) if self.alive.any() else 1.0

    def holding(self, stem: int) -> tuple[Array, Array]:
        """The rows of notes that hold a stem, and how often."""
        found = [part.holding(stem) for part in self.parts]
        rows = [one[0].astype(np.int64) + base for one, base in zip(found, self.bases[:-1].tolist(), strict=True)]
        if len(rows) == 1:
            return rows[0], found[0][1]
        return np.concatenate([np.empty(0, np.int64), *rows]), np.concatenate([np.empty(0, np.uint8), *(one[1] for one in found)])

    def tokens(self, rows: Array, most: int) -> tuple[Array, Array]:
        """The words of some notes, no more than `most` of each: (place of the note among the rows, word)."""
        return self._gathered(rows, "token_starts", "words", most, 1)

    def spans(self, rows: Array) -> tuple[Array, Array]:
        """The times that some notes speak of: (place of the note among the rows, pairs of days)."""
        owner, days = self._gathered(rows, "span_starts", "spans", 1 << 20, 2)
        return owner[::2], days.reshape(-1, 2)

    def _gathered(self, rows: Array, starts: str, name: str, most: int, each: int) -> tuple[Array, Array]:
        owners, values = [], []
        part_of = np.searchsorted(self.bases, rows, side="right") - 1
        for number, part in enumerate(self.parts):
            mine = np.flatnonzero(part_of == number)
            at = rows[mine] - self.bases[number]
            low, high = getattr(part, starts)[at] * each, getattr(part, starts)[at + 1] * each
            owner, place = spread(low, np.minimum(high, low + most))
            owners.append(mine[owner])
            values.append(part.arrays[name][place])
        if not owners:
            return np.empty(0, np.int64), np.empty(0, np.int32)
        owner, value = np.concatenate(owners), np.concatenate(values)
        if len(owners) > 1:
            order = np.argsort(owner, kind="stable")
            owner, value = owner[order], value[order]
        return owner, value


class NoteVocabulary:
    """The words of all notes: their stems, and the runs of letters in them."""

    def __init__(self, store: NoteDatabase) -> None:
        self._store = store
        self.stems = np.zeros(1, np.int64)  # of each word the number of its stem; numbers begin at 1
        self.rows = np.full(1, -1, np.int64)  # and its row in the table of the shipped model
        self.texts: list[str] = [""]
        self._stem_ids: dict[str, int] = {}
        self._runs: tuple[Array, Array] | None = None
        self._having: tuple[Array, Array] | None = None

    def read(self) -> None:
        """Take in the words that came since."""
        rows = self._store.rows("SELECT id, word, stem, row FROM words WHERE id > ? ORDER BY id", (len(self.texts) - 1,))
        if rows:
            self.texts += [row[1] for row in rows]
            self.stems = np.concatenate([self.stems, np.array([row[2] for row in rows], np.int64)])
            self.rows = np.concatenate([self.rows, np.array([row[3] for row in rows], np.int64)])
            self._runs = self._having = None

    def stem_ids(self, stems: Sequence[str]) -> dict[str, int]:
        """The numbers of stems, as far as any note holds them."""
        unknown = [stem for stem in stems if stem not in self._stem_ids]
        self._stem_ids.update(self._store.rows_in("SELECT stem, id FROM stems WHERE stem IN ({})", unknown))
        return {stem: self._stem_ids[stem] for stem in stems if stem in self._stem_ids}

    @property
    def runs(self) -> tuple[Array, Array]:
        """Runs of four letters in all words, as numbers: (where each word's begin, the numbers)."""
        if self._runs is None:
            self._runs = runs_of(self.texts)
        return self._runs

    @property
    def having(self) -> tuple[Array, Array]:
        """The words that have each run: (where those of each number begin, the words)."""
        if self._having is None:
            starts, runs = self.runs
            owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            ends = np.cumsum(np.bincount(runs, minlength=RUN_NUMBERS))
            self._having = np.concatenate([[0], ends]), owner[np.argsort(runs, kind="stable")]
        return self._having


#: Letters in a run, and how many numbers runs are spread over.
RUN, RUN_NUMBERS = 4, 1 << 16


def runs_of(words: Sequence[str]) -> tuple[Array, Array]:
    """Runs of four letters in some words, each word between two marks: (where each word's begin, numbers of 16 bits)."""
    raw = [f"<{word}>".encode("utf-8", "surrogateescape") for word in words]
    lengths = np.array([len(one) for one in raw], np.int64)
    letters = np.frombuffer(b"".join(raw) + b"\0" * RUN, np.uint8).astype(np.uint32)
    count = int(lengths.sum())
    mixed = np.zeros(count, np.uint32)
    for step in range(RUN):
        mixed = (mixed ^ letters[step : step + count]) * np.uint32(0x01000193) + np.uint32(step)
    mixed ^= mixed >> np.uint32(16)
    sizes = np.maximum(lengths - RUN + 1, 0)
    starts = np.cumsum(lengths) - lengths
    _, place = spread(starts, starts + sizes)
    return np.concatenate([[0], np.cumsum(sizes)]), (mixed[place] & np.uint32(RUN_NUMBERS - 1)).astype(np.uint16)
