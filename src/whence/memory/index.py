"""The index over a folder of notes, kept in step with the files: whatever is written there is found at the next question.

Files are the truth. A folder whose time of change is the one that was noted has
no new, renamed or deleted notes; what is edited in place is found by looking at
every file, which is done when a catalog is opened and, in a process that goes on,
now and then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whence.core.errors import IndexDamaged, WhenceError
from whence.index.clean_marker import CleanMarker, describe_difference, read_marker, write_marker
from whence.memory.analyzer import NoteAnalyzer
from whence.memory.database import NoteDatabase, file_name, kept, told
from whence.memory.note import Note
from whence.memory.reader import NoteReader, NoteSegment, NoteVocabulary, read_part
from whence.memory.store import NoteStore, StoredNote
from whence.storage.arrayfile import Array, ArrayFile, write_arrays
from whence.text.slugs import normalize_topic

#: Notes that are read and stored together.
TOGETHER = 500
#: Notes that are kept in memory beside the file of arrays: so many, or this share of those in it.
MOST_BESIDE, SHARE_BESIDE = 2_000, 0.1
#: A folder that was changed less than this before it was looked at may change again under the same time.
YOUNG_NS = 50_000_000
#: Looking at every file may take this share of the time of a process that goes on, and is not done more often than this.
SHARE_LOOKING, LEAST_PAUSE = 0.1, 2.0

#: An index over so few notes is compared with its checksums whenever it is opened. A larger one is where it is not as its last
#: user left it, and where that was last done so many seconds ago.
FEW, VERIFY_AFTER = 500, 7 * 86_400.0

Progress = Callable[[int, int], None]
_COLUMNS = "id, project, kind, archived, day, valid_from, valid_until, words, spans, vectors"


class KnownNote(NamedTuple):
    """What is known of a note whose file is as it was read."""

    secret: bool  # whether it holds one


class NoteIndex:
    """The notes of a folder as they can be searched."""

    def __init__(
        self,
        directory: Path,
        place: Path,
        reader: NoteAnalyzer,
        most_bytes: int,
        clock: Callable[[], float],
        verify_after: float = VERIFY_AFTER,
    ) -> None:
        """`place` is where the index lies, `clock` the time in seconds; what was verified longer ago is verified again."""
        self.reader, self._most_bytes, self._clock, self._place = reader, most_bytes, clock, place
        self.store = NoteDatabase(place / file_name(reader.identity))
        self.folder = NoteStore(directory, slugs_of=self._slugs_of)
        self.words = NoteVocabulary(self.store)
        self._projects: dict[str, int] = {}
        self._base: NoteSegment | None = None
        self._tail: list[Any] = []  # rows of the database that are not in the file of arrays
        self._corpus: NoteReader | None = None
        self._seen = (-1, -1)  # the state of the database that the corpus is of
        self._writes = 0  # of our own, which the database does not count as changes
        self._looked, self._took = -1e18, 0.0
        self._verified = 0.0  # when everything was last compared with its checksums
        if not self.store.was_damaged:
            self._check(verify_after)

    def close(self) -> None:
        """Let go of the files, and note what they look like now."""
        self.store.close()
        with suppress(OSError):  # where nothing can be written it is verified again next time
            seal = CleanMarker.of(self.store.path, self._verified)
            if seal != read_marker(self._seal_file):
                write_marker(seal, self._seal_file)

    # Whether the index is what was written.
    def _check(self, verify_after: float) -> None:
        """Begin again where the index is damaged. One that may be trusted without reading all of it is trusted."""
        now, seal = self._clock(), read_marker(self._seal_file)
        left = seal is not None and seal == CleanMarker.of(self.store.path, seal.verified) and 0 <= now - seal.verified < verify_after
        try:
            if left and seal is not None and self.store.rows("SELECT count(*) FROM notes")[0][0] > FEW:
                self._verified = seal.verified
                return
            trouble = self.verify()
        except IndexDamaged as damage:
            trouble = [damage.message]
        self._verified = now
        if trouble:
            self.store.was_damaged = True
            self.store.begin_again()

    def verify(self) -> list[str]:
        """What of the index is not what was written."""
        found = self.store.verify()
        named = None if found else self.store.arrays()
        said = describe_difference(self._place / named[0], named[1]) if named else ""
        return [*found, f"{named[0]}: {said}"] if named and said else found

    @property
    def _seal_file(self) -> Path:
        return self.store.path.with_name(f"{self.store.path.name}.sealed")

    # Keeping in step with the files.
    def refresh(self, *, full: bool = False, progress: Progress | None = None) -> None:
        """Take in what has changed. Without `full`, every file is looked at only when the last time is long ago."""
        began = self._clock()
        full = full or began - self._looked > max(LEAST_PAUSE, self._took / SHARE_LOOKING) or began < self._looked
        known = self.store.folders()
        now = dict(self.folder.folders())
        changed = [name for name, mtime in now.items() if known.get(name) != mtime]
        if full or changed or known.keys() - now.keys():
            self._take_in(list(now) if full else changed, now, [name for name in known if name not in now], progress)
        if full:
            self._looked, self._took = began, max(self._clock() - began, 0.0)

    def _take_in(self, names: Sequence[str], times: dict[str, int], lost: Sequence[str], progress: Progress | None) -> None:
        known: dict[str, tuple[int, int, int]] = {}
        for name in (*names, *lost):
            known |= self.store.states(name)
        found = list(self.folder.scan(*names)) if names else []
        there = {f"{one.folder}/{one.slug}": one for one in found}
        new = [one for key, one in there.items() if known.get(key) != (one.size, one.changed_ns, one.inode)]
        for at in range(0, len(new), TOGETHER):
            self._store_all(new[at : at + TOGETHER])
            if progress is not None:
                progress(min(at + TOGETHER, len(new)), len(new))
        young = self._clock() * 1e9 - YOUNG_NS
        settled = {name: times[name] if times[name] < young else 0 for name in names} | dict.fromkeys(lost, -1)
        self._put([], [key for key in known if key not in there], settled)

    def _store_all(self, found: Iterable[StoredNote]) -> None:
        notes = [(note, one) for one in found for note in [self._read(one)] if note is not None]
        self._put(self.reader.entries(notes), [], {})

    def _put(self, entries: Sequence[Any], gone: Sequence[str], folders: dict[str, int]) -> None:
        if entries or gone or folders:
            self.store.put(entries, gone, folders, self.reader.word)
            self._writes += 1

    def _read(self, found: StoredNote) -> Note | None:
        try:
            return self.folder.read(f"{found.folder}/{found.slug}", most_bytes=self._most_bytes)
        except WhenceError as error:  # a link that leads elsewhere, or something that is no file
            return Note("", found.slug, folder=found.folder, trouble=error.message)

    def write(self, note: Note, expected: Note | None = None) -> Note:
        """Store a note; it is on the disk and in the index then."""
        before = dict(self.folder.folders())
        stored = self.folder.write(note, most_bytes=self._most_bytes, expected=expected)
        self._note_change(stored.folder, before.get(stored.folder), stored)
        return stored

    def remove(self, key: str) -> bool:
        """Delete a note and its history."""
        folder = key.partition("/")[0]
        before = dict(self.folder.folders())
        removed = self.folder.remove(key)
        if removed:
            self._note_change(folder, before.get(folder), None)
            self._put([], [key], {})
        return removed

    def _note_change(self, name: str, before: int | None, note: Note | None) -> None:
        """Take in one change of our own without looking at its whole folder, if the index knew all that was there."""
        after = dict(self.folder.folders()).get(name)
        entries = []
        if note is not None:
            with suppress(OSError):  # another process may have removed it already: the next refresh sees that
                state = (self.folder.directory / name / f"{note.slug}.md").stat()
                found = StoredNote(name, note.slug, state.st_size, state.st_ctime_ns, state.st_ino)
                entries = self.reader.entries([(note, found)])
        known = self.store.folders().get(name)
        complete = after is not None and (known == before or (before is None and known is None))
        self._put(entries, [], {name: after} if complete and after is not None else {})

    def keys_of(self, folder: str, topic: str) -> list[str]:
        """The notes of a folder that have a topic."""
        rows = self.store.rows("SELECT key FROM notes WHERE folder = ? AND alike = ?", (kept(folder), normalize_topic(topic)))
        return [told(key) for (key,) in rows]

    def _slugs_of(self, folder: str, topic: str) -> list[str]:
        return [key.partition("/")[2] for key in self.keys_of(folder, topic)]

    def begin_again(self) -> None:
        """Make the index anew: it is damaged, and everything in it can be read from the notes."""
        self.store.begin_again()
        self.words, self._projects, self._base, self._tail, self._corpus = NoteVocabulary(self.store), {}, None, [], None
        self.refresh(full=True)

    def as_indexed(self, key: str) -> KnownNote | None:
        """What is known of a note, if its file is still the one that was read."""
        known = self.store.rows("SELECT size, changed_ns, inode, secret FROM notes WHERE key = ?", (kept(key),))
        try:
            state = (self.folder.directory / f"{key}.md").stat()
        except OSError:
            return None
        same = known and known[0][:3] == (state.st_size, state.st_ctime_ns, state.st_ino)
        return KnownNote(bool(known[0][3])) if same else None

    def numbers_of_topic(self, topic: str) -> list[tuple[int]]:
        """The numbers of the notes of a topic, in every folder."""
        return self.store.rows("SELECT id FROM notes WHERE alike = ?", (normalize_topic(topic),))

    # The notes as arrays.
    @property
    def corpus(self) -> NoteReader:
        """All notes as the database has them now."""
        state = (self.store.version(), self._writes)
        if self._corpus is None or state != self._seen:
            self._corpus, self._seen = self._read_corpus(), state
        return self._corpus

    def _read_corpus(self) -> NoteReader:
        base = self._opened_arrays()
        last = int(base.arrays["ids"].max(initial=0)) if base else 0
        ids = np.array(self.store.rows("SELECT id FROM notes ORDER BY id"), np.int64).reshape(-1)
        newer = ids[ids > last]
        held = {row[0]: row for row in self._tail}
        missing = [int(one) for one in newer if one not in held]
        if missing:
            for row in self.store.rows(f"SELECT {_COLUMNS} FROM notes WHERE id >= ? ORDER BY id", (missing[0],)):  # noqa: S608
                held[row[0]] = row
        self._tail = [held[one] for one in newer.tolist() if one in held]
        if len(self._tail) > max(MOST_BESIDE, SHARE_BESIDE * (base.size if base else 0)):
            return self._rewritten(ids)
        self.words.read()  # after the notes, so that every word of theirs is known
        tail = NoteSegment(read_part(self._tail, self.words.stems, self._projects, self._width))
        parts = [base, tail] if base else [tail]
        every = np.concatenate([part.arrays["ids"] for part in parts])
        return NoteReader(parts, np.isin(every, ids), self.words, list(self._projects))

    @property
    def _width(self) -> int:
        return self.reader.encoder.width if self.reader.encoder else 0

    def _opened_arrays(self) -> NoteSegment | None:
        named = self.store.arrays()
        if named is None:
            self._base = None
        elif self._base is None or self._base.arrays.path.name != named[0]:
            try:
                file = ArrayFile(self._place / named[0], named[1])
                self._base, self._tail = NoteSegment(file), []
                self._projects = {name: number for number, name in enumerate(file.facts["projects"])}
            except (IndexDamaged, KeyError):
                self.store.drop_arrays()
                self._base, self._tail, self._projects = None, [], {}
        return self._base

    def _rewritten(self, ids: Array) -> NoteReader:
        """Put all notes into one new file of arrays."""
        rows = self.store.rows(f"SELECT {_COLUMNS} FROM notes ORDER BY id")  # noqa: S608
        self.words.read()
        projects: dict[str, int] = {}
        arrays = read_part(rows, self.words.stems, projects, self._width)
        path = self._place / f"{self.store.path.stem}-{int(ids.max(initial=0))}-{os.getpid()}.arrays"
        before = self.store.arrays()
        stamp = write_arrays(path, arrays, {**arrays.facts, "projects": list(projects)})
        path.chmod(0o600)  # notes are private
        self.store.set_arrays(path.name, stamp, int(ids.max(initial=0)))
        if before is not None and before[0] != path.name:
            (self._place / before[0]).unlink(missing_ok=True)  # who reads it has it open
        self._tail, self._projects, self._base = [], projects, NoteSegment(ArrayFile(path, stamp))
        every = self._base.arrays["ids"]
        return NoteReader([self._base], np.isin(every, ids), self.words, list(projects))
