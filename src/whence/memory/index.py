"""The note index: everything derived from the files of notes, kept in step with them.

The files are the truth. A folder whose mtime is the recorded one has no new, renamed or deleted notes. Notes edited in
place are found by a stat of every file, which happens when the index is opened and, in a process that goes on, now and then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from whence.core.errors import IndexDamaged
from whence.embed.encoder import Encoder, UnitText
from whence.embed.prose import UNKNOWN, ProseEncoder
from whence.index.integrity import describe_difference
from whence.index.layout import CleanMarker, read_marker, write_marker
from whence.memory.database import NoteDatabase, NoteRow, file_name
from whence.memory.note import Note
from whence.memory.reader import COLUMNS, NoteReader, NoteSegment, NoteVocabulary, packed_vectors, segment_arrays
from whence.memory.store import NoteFile, NoteStore
from whence.storage.arrayfile import Array, ArrayFile, write_arrays
from whence.text.analyzer import ProseLanguage
from whence.text.dates import OPEN, find_dates, find_document_date
from whence.text.secrets import find_secrets, redact_secrets

#: Content words of a note that are indexed; a transcript of a long day has fewer.
MAX_WORDS = 50_000
#: Characters of a note that are searched for dates.
MAX_DATED = 200_000
#: Content words in a passage; the next passage starts before it ends.
PASSAGE_WORDS, PASSAGE_STEP = 48, 40
#: Notes that are read and stored in one transaction.
BATCH = 500
#: Notes kept in memory beside the array file, at most: a number, or a share of those in the file.
MAX_TAIL, MAX_TAIL_SHARE = 2_000, 0.1
#: A folder that changed less than this before it was scanned may change again under the same mtime.
YOUNG_NS = 50_000_000
#: Stats of all files may take this share of a process's time, and have at least this pause between them.
SCAN_SHARE, MIN_SCAN_PAUSE = 0.1, 2.0
#: An index of this many notes is verified whenever it is opened. A larger one is when it is not as its last user left
#: it, and after this many seconds.
FEW, VERIFY_AFTER = 500, 7 * 86_400.0
#: The ordinal of 1970-01-01.
_EPOCH = 719_163
#: The slug of a note without any words.
_GENERATED_SLUG = re.compile(r"note-[0-9a-f]{8}(?:-\d+)?")
_COUNTER = re.compile(r"(?<![^\W_])\d{1,2}(?![^\W_])")

Progress = Callable[[int, int], None]


class NoteAnalyzer:
    """What the index stores of a note: its words, the dates it mentions, and vectors of its passages."""

    def __init__(self, language: ProseLanguage, encoder: Encoder | None) -> None:
        self.language, self.encoder = language, encoder

    @property
    def identity(self) -> str:
        """Changes with everything that affects the stored rows."""
        return f"{self.language.name} {self.encoder.fingerprint if self.encoder else 'none'}"

    @property
    def width(self) -> int:
        """The dimensions of a vector; 0 without an encoder."""
        return self.encoder.width if self.encoder else 0

    def word(self, word: str) -> tuple[str, int]:
        """The stem of a word, and its row in the shipped model's table (-1: none)."""
        return self.language.stem(word), int(self.encoder.rows_of([word])[0]) if isinstance(self.encoder, ProseEncoder) else UNKNOWN

    def rows(self, notes: Sequence[tuple[Note, NoteFile]]) -> list[NoteRow]:
        """The rows to store for some notes; their passages are encoded in one batch."""
        texts = [searchable_text(note) for note, _ in notes]
        secrets = [find_secrets(text) for text in texts]
        # A secret that was written by hand stays in its file and goes nowhere else.
        clean = [redact_secrets(text, found) for text, found in zip(texts, secrets, strict=True)]
        words = [self.language.content_words(text)[:MAX_WORDS] for text in clean]
        analyzed = zip(notes, words, self._vectors(words), secrets, strict=True)
        return [self._row(note, file, some, vectors, secret=bool(found)) for (note, file), some, vectors, found in analyzed]

    def _row(self, note: Note, file: NoteFile, words: list[str], vectors: bytes, *, secret: bool) -> NoteRow:
        if secret:
            topic, project, *tags = map(redact_secrets, (note.topic, note.project, *note.tags))
            note = replace(note, topic=topic, project=project, tags=tuple(tags))
        day = day_of_note(note)
        spans = find_dates(note.text[:MAX_DATED], day or None)
        bounded = [(span.first, span.last) for span in spans if span.first > 0 and span.last < OPEN]
        return NoteRow(note, file, secret, day, _time_of(note, day), words, np.array(bounded, np.int32).tobytes(), vectors)

    def _vectors(self, words: Sequence[Sequence[str]]) -> list[bytes]:
        if self.encoder is None:
            return [b""] * len(words)
        passages = [passages_of(one) for one in words]
        rows = self.encoder.encode_units([UnitText("", "", " ".join(passage).encode()) for one in passages for passage in one]).rows
        ends = np.cumsum([len(one) for one in passages])
        return [packed_vectors(part) for part in np.split(rows, ends[:-1])] if passages else []


def searchable_text(note: Note) -> str:
    """The name, tags and text of a note. A short number in the name only counts notes and is left out."""
    name = note.topic or _distinct_words(note.slug, note.text.lower())
    return "\n".join([_COUNTER.sub(" ", name), " ".join(note.tags), note.text])


def _distinct_words(slug: str, text: str) -> str:
    """The words of a slug that are not in the text: those that are would count twice."""
    return "" if _GENERATED_SLUG.fullmatch(slug) else " ".join(word for word in slug.split("-") if word not in text)


def day_of_note(note: Note) -> int:
    """The date of a note: from its text, else when it became valid, else when it was created; 0 when unknown."""
    if found := find_document_date(note.text):
        return found
    known = note.valid_from or note.created
    return known.toordinal() if known else 0


def _time_of(note: Note, day: int) -> float:
    """When a note was written, in seconds: to the hour if the day is that of its creation, for notes of one sitting are equals."""
    known = note.valid_from or note.created
    return known.timestamp() // 3600 * 3600 if known and known.toordinal() == day else (day - _EPOCH) * 86_400.0


def passages_of(words: Sequence[str]) -> list[Sequence[str]]:
    """Overlapping runs of words."""
    starts = range(0, max(1, len(words) - (PASSAGE_WORDS - PASSAGE_STEP)), PASSAGE_STEP)
    return [words[start : start + PASSAGE_WORDS] for start in starts] if words else []


class NoteIndex:
    """The index over a store of notes."""

    def __init__(
        self, store: NoteStore, directory: Path, analyzer: NoteAnalyzer, clock: Callable[[], float], verify_after: float = VERIFY_AFTER
    ) -> None:
        """`directory` is where the index is stored, `clock` the time in seconds."""
        self.analyzer, self._store, self._clock, self._directory = analyzer, store, clock, directory
        self.database = NoteDatabase(directory / file_name(analyzer.identity))
        self._vocabulary = NoteVocabulary(self.database)
        self._projects: dict[str, int] = {}
        self._base: NoteSegment | None = None  # the array file
        self._tail: list[Any] = []  # newer rows of the database
        self._reader: NoteReader | None = None
        self._reader_state = (-1, -1)
        self._forgotten = self.database.times_forgotten()
        self._writes = 0  # our own, which `database.changes` does not count
        self._scanned_at, self._scan_seconds = -1e18, 0.0
        self._verified = 0.0  # when everything was last compared with its checksums
        if not self.database.was_damaged:
            self._check(verify_after)

    def close(self) -> None:
        """Close the files, and record what they look like now."""
        self.database.close()
        with suppress(OSError):  # without the marker the index is verified when it is opened next
            marker = CleanMarker.of(self.database.path, self._verified)
            if marker != read_marker(self._marker_file):
                write_marker(marker, self._marker_file)

    # Verification.
    def _check(self, verify_after: float) -> None:
        """Verify the index unless the clean marker vouches for it; start over if it is damaged."""
        now, marker = self._clock(), read_marker(self._marker_file)
        try:
            if marker is not None and self._is_clean(marker, now - verify_after, now):
                self._verified = marker.verified
                return
            damaged = bool(self.verify())
        except IndexDamaged:
            damaged = True
        self._verified = now
        if damaged:
            self.database.was_damaged = True
            self.database.reset()

    def _is_clean(self, marker: CleanMarker, since: float, now: float) -> bool:
        """Whether the database is as its last user left it and was verified recently; small ones are verified always."""
        return (
            marker == CleanMarker.of(self.database.path, marker.verified) and since < marker.verified <= now and self.database.count() > FEW
        )

    def verify(self) -> list[str]:
        """A line for everything that is damaged."""
        found = self.database.verify()
        file = None if found else self.database.array_file()
        problem = describe_difference(self._directory / file[0], file[1]) if file else ""
        return [*found, f"{file[0]}: {problem}"] if file and problem else found

    @property
    def _marker_file(self) -> Path:
        return self.database.path.with_name(f"{self.database.path.name}.sealed")

    def rebuild(self) -> None:
        """Start over: the index is damaged, and the files hold everything in it."""
        self.database.reset()
        self._vocabulary, self._projects, self._base, self._tail, self._reader = NoteVocabulary(self.database), {}, None, [], None
        self.refresh(full=True)

    # Keeping in step with the files.
    def refresh(self, *, full: bool = False, progress: Progress | None = None) -> None:
        """Index what has changed. Without `full`, files are only checked one by one if that was long ago."""
        began = self._clock()
        full = full or began - self._scanned_at > max(MIN_SCAN_PAUSE, self._scan_seconds / SCAN_SHARE) or began < self._scanned_at
        known, now = self.database.folders(), self._store.folders()
        changed = [name for name, mtime in now.items() if known.get(name) != mtime]
        if full or changed or known.keys() - now.keys():
            self._index_folders(list(now) if full else changed, now, [name for name in known if name not in now], progress)
        if full:
            self._scanned_at, self._scan_seconds = began, max(self._clock() - began, 0.0)

    def _index_folders(self, names: Sequence[str], mtimes: dict[str, int], removed: Sequence[str], progress: Progress | None) -> None:
        known: dict[str, tuple[int, int, int]] = {}
        for name in (*names, *removed):
            known |= self.database.file_states(name)
        files = {file.key: file for file in self._store.scan(*names)} if names else {}
        new = [file for key, file in files.items() if known.get(key) != (file.size, file.changed_ns, file.inode)]
        for at in range(0, len(new), BATCH):
            notes = [(note, file) for file in new[at : at + BATCH] for note in [self._store.read_or_explain(file.key)] if note is not None]
            self._put(self.analyzer.rows(notes), [], {})
            if progress is not None:
                progress(min(at + BATCH, len(new)), len(new))
        young = self._clock() * 1e9 - YOUNG_NS
        settled = {name: mtimes[name] if mtimes[name] < young else 0 for name in names} | dict.fromkeys(removed, -1)
        self._put([], [key for key in known if key not in files], settled)

    def _put(self, entries: Sequence[NoteRow], removed: Sequence[str], folders: dict[str, int]) -> None:
        if entries or removed or folders:
            self.database.put(entries, removed, folders, self.analyzer.word)
            self._writes += 1

    def record_write(self, note: Note, folders: dict[str, int]) -> None:
        """Index a note that was just written; `folders` are the store's before the write."""
        file = self._store.file_of(note.key)  # another process may have removed it: the next refresh sees that
        self._record(note.folder, folders, self.analyzer.rows([(note, file)]) if file else [], [])

    def record_removal(self, key: str, folders: dict[str, int]) -> None:
        """Remove a note that was just deleted; `folders` are the store's before that."""
        self._record(key.partition("/")[0], folders, [], [key])

    def _record(self, folder: str, before: dict[str, int], entries: Sequence[NoteRow], removed: Sequence[str]) -> None:
        """Take in a change of our own; a folder that was fully indexed before it still is, and needs no scan."""
        after, known = self._store.folders().get(folder), self.database.folders().get(folder)
        self._put(entries, removed, {folder: after} if after is not None and known == before.get(folder) else {})

    def read_as_indexed(self, key: str) -> Note | None:
        """A note without its secrets, if its file is still the one that was indexed."""
        known, file = self.database.file_state(key), self._store.file_of(key)
        if known is None or file is None or known[:3] != (file.size, file.changed_ns, file.inode):
            return None
        note = self._store.read_or_explain(key)
        return replace(note, text=redact_secrets(note.text)) if note is not None and known[3] else note

    def purge(self) -> None:
        """Leave no byte of deleted notes: words that no note has, their rows, the array file, the log, indexes of other settings."""
        self.refresh()
        words = [np.frombuffer(row[0], np.int32) for row in self.database.rows("SELECT words FROM notes")]
        used = set(np.unique(np.concatenate([np.empty(0, np.int32), *words])).tolist())
        known = self.database.rows("SELECT id FROM words WHERE row >= 0 OR stem > 0")
        self.database.forget_words([number for (number,) in known if number not in used])
        self._vocabulary, self._tail = NoteVocabulary(self.database), []
        if self.database.array_file() is not None:
            self._write_base(np.array(self.database.rows("SELECT id FROM notes ORDER BY id"), np.int64).reshape(-1))
        self._reader = None
        self.database.compact()
        arrays = self.database.array_file()
        keep = (self.database.path.name, *(arrays[:1] if arrays else ()))
        for other in self._directory.glob("notes-*"):
            if not other.name.startswith(keep):
                other.unlink(missing_ok=True)

    # The notes as arrays.
    def open_reader(self) -> NoteReader:
        """All notes as they are in the database now; writes the array file if too many are not in it."""
        state = (self.database.changes(), self._writes)
        if self._reader is None or state != self._reader_state:
            self._reader, self._reader_state = self._read(), state
        return self._reader

    def _read(self) -> NoteReader:
        if (forgotten := self.database.times_forgotten()) != self._forgotten:
            self._vocabulary, self._forgotten = NoteVocabulary(self.database), forgotten
        base = self._open_base()
        last = int(base.arrays["ids"].max(initial=0)) if base else 0
        ids = np.array(self.database.rows("SELECT id FROM notes ORDER BY id"), np.int64).reshape(-1)
        newer = ids[ids > last]
        tail = {row[0]: row for row in self._tail}
        missing = [int(one) for one in newer if one not in tail]
        if missing:
            for row in self.database.rows(f"SELECT {COLUMNS} FROM notes WHERE id >= ? ORDER BY id", (missing[0],)):  # noqa: S608
                tail[row[0]] = row
        self._tail = [tail[one] for one in newer.tolist() if one in tail]
        if len(self._tail) > max(MAX_TAIL, MAX_TAIL_SHARE * (base.size if base else 0)):
            base, self._tail = self._write_base(ids), []
        self._vocabulary.read()  # after the notes, so that every word of theirs is known
        newest = NoteSegment(segment_arrays(self._tail, self._vocabulary.stems, self._projects, self.analyzer.width))
        return NoteReader([base, newest] if base else [newest], ids, self._vocabulary, list(self._projects))

    def _open_base(self) -> NoteSegment | None:
        file = self.database.array_file()
        if file is None:
            self._base = None
        elif self._base is None or self._base.arrays.path.name != file[0]:
            try:
                arrays = ArrayFile(self._directory / file[0], file[1])
                self._base, self._tail = NoteSegment(arrays), []
                self._projects = {name: number for number, name in enumerate(arrays.facts["projects"])}
            except (IndexDamaged, KeyError):
                self.database.drop_array_file()
                self._base, self._tail, self._projects = None, [], {}
        return self._base

    def _write_base(self, ids: Array) -> NoteSegment:
        """Write all notes to a new array file."""
        rows = self.database.rows(f"SELECT {COLUMNS} FROM notes ORDER BY id")  # noqa: S608
        self._vocabulary.read()
        projects: dict[str, int] = {}
        arrays = segment_arrays(rows, self._vocabulary.stems, projects, self.analyzer.width)
        last = int(ids.max(initial=0))
        path = self._directory / f"{self.database.path.stem}-{last}-{os.getpid()}.arrays"
        before = self.database.array_file()
        stamp = write_arrays(path, arrays, {**arrays.facts, "projects": list(projects)})
        path.chmod(0o600)  # notes are private
        self.database.set_array_file(path.name, stamp, last)
        if before is not None and before[0] != path.name:
            (self._directory / before[0]).unlink(missing_ok=True)  # its readers have it open
        self._projects, self._base = projects, NoteSegment(ArrayFile(path, stamp))
        return self._base
