"""All notes as arrays: words with their positions, vectors of passages, and the columns that filters read.

Most notes of a large folder are in one array file, which is memory-mapped; newer ones are read from the database into
memory. Both are segments of the same form, and each note has one row: those of the file come first.
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
from whence.storage.postings import spread, unique_counts

#: The columns of the database that a segment is built from.
COLUMNS = "id, owner || char(10) || project, kind, archived, day, valid_from, valid_until, words, spans, vectors, at"
#: Marks a kind that does not exist.
UNKNOWN_KIND = len(KINDS)
#: Letters in a character n-gram, and how many numbers n-grams are hashed to.
NGRAM, NGRAM_NUMBERS = 4, 1 << 16


class Arrays(dict[str, Array]):
    """Arrays by name, as an array file has them."""

    def __init__(self, arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
        super().__init__(arrays)
        self.facts = facts


@dataclass(frozen=True)
class NoteSegment:
    """Some notes as arrays: an array file, or the same in memory."""

    arrays: Any

    @cached_property
    def size(self) -> int:
        """How many notes."""
        return len(self.arrays["ids"])

    @cached_property
    def token_starts(self) -> Array:
        """Where the words of each note start, and one past the last."""
        return np.concatenate([[0], np.cumsum(self.arrays["lengths"], dtype=np.int64)])

    @cached_property
    def span_starts(self) -> Array:
        """Where the dates that each note mentions start."""
        return np.concatenate([[0], np.cumsum(self.arrays["span_counts"], dtype=np.int64)])

    @cached_property
    def vectors(self) -> SegmentVectors:
        """The passages of all notes; the unit of a passage is its note's row."""
        return SegmentVectors(self.arrays, int(self.arrays.facts["width"]))

    def postings(self, stem: int) -> tuple[Array, Array]:
        """The rows of the notes with a stem, and its counts."""
        stems = self.arrays["stems"]
        at = int(np.searchsorted(stems, stem))
        if at == len(stems) or stems[at] != stem:
            return np.empty(0, np.int64), np.empty(0, np.uint8)
        low, high = int(self.arrays["stem_starts"][at]), int(self.arrays["stem_starts"][at + 1])
        return self.arrays["stem_rows"][low:high], self.arrays["stem_counts"][low:high]


def segment_arrays(rows: Sequence[Any], stem_of: Array, project_codes: dict[str, int], width: int) -> Arrays:
    """The arrays of some notes from their rows in the database (see COLUMNS)."""
    tokens = [np.frombuffer(row[7], np.int32) for row in rows]
    spans = [np.frombuffer(row[8], np.int32) for row in rows]
    passages = [np.frombuffer(row[9], np.uint8).reshape(-1, 4 + width) if width else np.empty((0, 4), np.uint8) for row in rows]
    words = np.concatenate([np.empty(0, np.int32), *tokens])
    lengths = np.array([len(one) for one in tokens], np.int64)
    return Arrays(
        {
            "ids": np.array([row[0] for row in rows], np.int64),
            "projects": np.array([project_codes.setdefault(row[1], len(project_codes)) for row in rows], np.int32),
            "kinds": np.array([KINDS.index(row[2]) if row[2] in KINDS else UNKNOWN_KIND for row in rows], np.uint8),
            "archived": np.array([row[3] for row in rows], np.uint8),
            "days": np.array([row[4] for row in rows], np.int32),
            "at": np.array([row[10] for row in rows], np.float64),
            "valid_from": np.array([-np.inf if row[5] is None else row[5] for row in rows], np.float64),
            "valid_until": np.array([np.inf if row[6] is None else row[6] for row in rows], np.float64),
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
    """For each stem the notes that contain it, and how often."""
    rows = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    key, counts = unique_counts(stems.astype(np.int64) * max(len(lengths), 1) + rows)
    stem, row = np.divmod(key, max(len(lengths), 1))
    distinct, sizes = unique_counts(stem)
    return {
        "stems": distinct,
        "stem_starts": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "stem_rows": row.astype(np.uint32),
        "stem_counts": np.minimum(counts, 255).astype(np.uint8),
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
    """Vectors of passages as the database stores them: a scale and one byte per dimension each."""
    scale = (np.abs(rows).max(axis=1, initial=0.0) / 127).astype(np.float32)
    small = np.round(rows / np.maximum(scale, 1e-12)[:, None]).astype(np.int8)
    return np.concatenate([scale[:, None].view(np.uint8), small.view(np.uint8)], axis=1).tobytes()


class NoteReader:
    """One generation of the note index. Rows are dense; rows of removed notes stay and are not `alive`."""

    def __init__(self, segments: Sequence[NoteSegment], ids: Array, vocabulary: NoteVocabulary, projects: Sequence[str]) -> None:
        """`ids` are those of the notes that still exist."""
        self.segments = [one for one in segments if one.size]
        self.vocabulary, self.projects = vocabulary, list(projects)
        self.bases = np.concatenate([[0], np.cumsum([one.size for one in self.segments], dtype=np.int64)]).astype(np.int64)
        self.size = int(self.bases[-1])
        self._columns: dict[str, Array] = {}
        self._note_counts: dict[object, Array] = {}
        self.alive = np.isin(self.column("ids"), ids)

    def column(self, name: str) -> Array:
        """One value for each note."""
        if name not in self._columns:
            found = [one.arrays[name] for one in self.segments] or [np.empty(0, np.int64)]
            self._columns[name] = np.concatenate(found) if len(found) != 1 else found[0]
        return self._columns[name]

    @cached_property
    def recallable(self) -> Array:
        """Which notes may be recalled at all: existing ones that are not generated."""
        return np.asarray(self.alive & ~np.isin(self.column("kinds"), [KINDS.index(kind) for kind in GENERATED]))

    @cached_property
    def vectors(self) -> SnapshotVectors:
        """The passages of all notes."""
        return SnapshotVectors([one.vectors for one in self.segments], self.bases[:-1].tolist())

    def note_counts(self, population: Array, name: object) -> Array:
        """How many notes of a population contain each stem; cached by the population's name."""
        if name not in self._note_counts:
            found = np.zeros(int(self.vocabulary.stems.max(initial=0)) + 1, np.int64)
            for segment, base in zip(self.segments, self.bases.tolist(), strict=False):
                stems, starts = segment.arrays["stems"], segment.arrays["stem_starts"]
                included = population[base : base + segment.size]
                if len(stems):
                    counts = included[segment.arrays["stem_rows"]].astype(np.int64)
                    found[stems] += np.diff(starts) if included.all() else np.add.reduceat(counts, starts[:-1])
            self._note_counts[name] = found
        return self._note_counts[name]

    @cached_property
    def mean_length(self) -> float:
        """The average number of words in a note."""
        return float(self.column("lengths")[self.alive].mean()) if self.alive.any() else 1.0

    def postings(self, stem: int) -> tuple[Array, Array]:
        """The rows of the notes with a stem, and its counts."""
        found = [one.postings(stem) for one in self.segments]
        rows = [some.astype(np.int64) + base for (some, _), base in zip(found, self.bases[:-1].tolist(), strict=True)]
        if len(rows) == 1:
            return rows[0], found[0][1]
        return np.concatenate([np.empty(0, np.int64), *rows]), np.concatenate([np.empty(0, np.uint8), *(one[1] for one in found)])

    def tokens(self, rows: Array, limit: int) -> tuple[Array, Array]:
        """The words of some notes, at most `limit` each: (index into `rows`, word)."""
        return self._flattened(rows, "token_starts", "words", limit, 1)

    def spans(self, rows: Array) -> tuple[Array, Array]:
        """The dates that some notes mention: (index into `rows`, first and last day)."""
        owner, days = self._flattened(rows, "span_starts", "spans", 1 << 20, 2)
        return owner[::2], days.reshape(-1, 2)

    def _flattened(self, rows: Array, starts: str, name: str, limit: int, each: int) -> tuple[Array, Array]:
        owners, values = [], []
        segment_of = np.searchsorted(self.bases, rows, side="right") - 1
        for number, segment in enumerate(self.segments):
            mine = np.flatnonzero(segment_of == number)
            at = rows[mine] - self.bases[number]
            low, high = getattr(segment, starts)[at] * each, getattr(segment, starts)[at + 1] * each
            owner, place = spread(low, np.minimum(high, low + limit))
            owners.append(mine[owner])
            values.append(segment.arrays[name][place])
        if not owners:
            return np.empty(0, np.int64), np.empty(0, np.int32)
        owner, value = np.concatenate(owners), np.concatenate(values)
        if len(owners) > 1:
            order = np.argsort(owner, kind="stable")
            owner, value = owner[order], value[order]
        return owner, value


class NoteVocabulary:
    """The words of all notes: their stems and their character n-grams."""

    def __init__(self, database: NoteDatabase) -> None:
        self._database = database
        self.stems = np.zeros(1, np.int64)  # the stem id of each word; ids start at 1
        self.rows = np.full(1, -1, np.int64)  # the row of each word in the shipped model's table
        self.texts: list[str] = [""]
        self._stem_ids: dict[str, int] = {}
        self._ngrams: tuple[Array, Array] | None = None
        self._words_by_ngram: tuple[Array, Array] | None = None

    def read(self) -> None:
        """Add words that are new in the database."""
        rows = self._database.rows("SELECT id, word, stem, row FROM words WHERE id > ? ORDER BY id", (len(self.texts) - 1,))
        if rows:
            self.texts += [row[1] for row in rows]
            self.stems = np.concatenate([self.stems, np.array([row[2] for row in rows], np.int64)])
            self.rows = np.concatenate([self.rows, np.array([row[3] for row in rows], np.int64)])
            self._ngrams = self._words_by_ngram = None

    def stem_ids(self, stems: Sequence[str]) -> dict[str, int]:
        """The ids of stems; those that no note contains are missing."""
        unknown = [stem for stem in stems if stem not in self._stem_ids]
        self._stem_ids.update(self._database.rows_in("SELECT stem, id FROM stems WHERE stem IN ({})", unknown))
        return {stem: self._stem_ids[stem] for stem in stems if stem in self._stem_ids}

    @property
    def ngrams(self) -> tuple[Array, Array]:
        """The n-grams of all words: (where each word's start, n-grams)."""
        if self._ngrams is None:
            self._ngrams = ngrams_of(self.texts)
        return self._ngrams

    @property
    def words_by_ngram(self) -> tuple[Array, Array]:
        """The words that contain each n-gram: (where each n-gram's start, words)."""
        if self._words_by_ngram is None:
            starts, ngrams = self.ngrams
            owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            ends = np.cumsum(np.bincount(ngrams, minlength=NGRAM_NUMBERS))
            self._words_by_ngram = np.concatenate([[0], ends]), owner[np.argsort(ngrams, kind="stable")]
        return self._words_by_ngram


def ngrams_of(words: Sequence[str]) -> tuple[Array, Array]:
    """The character n-grams of words in angle brackets, hashed to 16 bits: (where each word's start, n-grams)."""
    raw = [f"<{word}>".encode("utf-8", "surrogateescape") for word in words]
    lengths = np.array([len(one) for one in raw], np.int64)
    letters = np.frombuffer(b"".join(raw) + b"\0" * NGRAM, np.uint8).astype(np.uint32)
    count = int(lengths.sum())
    mixed = np.zeros(count, np.uint32)
    for step in range(NGRAM):
        mixed = (mixed ^ letters[step : step + count]) * np.uint32(0x01000193) + np.uint32(step)
    mixed ^= mixed >> np.uint32(16)
    sizes = np.maximum(lengths - NGRAM + 1, 0)
    starts = np.cumsum(lengths) - lengths
    _, place = spread(starts, starts + sizes)
    return np.concatenate([[0], np.cumsum(sizes)]), (mixed[place] & np.uint32(NGRAM_NUMBERS - 1)).astype(np.uint16)
