"""The folder of all notes: one file for each, earlier versions beside it, one writer at a time (M1, M2).

`<directory>/<project>/<slug>.md`, and what it was before in `<directory>/<project>/.history/<slug>/0001.md`.
A version is whole before it gets its name, and has its place in the history before another takes that name:
whoever is killed, and whenever, nothing that was acknowledged is lost.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from whence.core.errors import StorageError, UsageError, WhenceError
from whence.memory.front_matter import parse, render, settled
from whence.memory.location import ENDING, check_names, is_note_name, looks_like_one, parts_of
from whence.memory.note import GENERAL, Note
from whence.storage.files import (
    PART,
    file_lock,
    is_same_file,
    link_new,
    link_or_copy,
    make_private_folder,
    part_file,
    remove_abandoned,
    remove_if_empty,
    storage_errors,
    sync_folder,
)
from whence.text.slugs import first_words, is_valid_name, normalize_topic, project_folder, slugify, topic_slugs

#: An earlier version of a note.
_VERSION = re.compile(r"(\d{4,9})\.md")
HISTORY = ".history"
LOCK = ".lock"
#: More than this is not read to find the end of a front matter.
_LONGEST_HEAD = 1 << 20
_HEAD_END = re.compile(rb"\n---[ \t]*(?:\r?\n|\Z)")
_TOPIC = re.compile(rb"t(?:opic|itle)|\\")  # or a key that is written in another way


class StoredNote(NamedTuple):
    """A file that is a note, and what tells whether it has changed. Thousands are made at a time."""

    folder: str
    slug: str
    size: int
    changed_ns: int  # when anything about the file last changed; unlike the time of its content nobody can set it
    inode: int


class NoteStore:
    """The notes in a directory.

    Made for one piece of work: a topic that is changed in place by hand meanwhile is not seen.
    """

    def __init__(self, directory: Path, *, wait: float = 30.0, slugs_of: Callable[[str, str], list[str]] | None = None) -> None:
        """`slugs_of` an index says which notes of a folder have a topic; without one their files are read."""
        self.directory, self._slugs_of = directory, slugs_of
        self._root = directory.absolute()
        self._wait = wait  # seconds for another writer to finish
        self.unfinished = False  # whether a scan has met files that are not whole
        self._topics: dict[str, dict[str, tuple[int, str]]] = {}  # folder -> slug -> inode and topic

    def write(self, note: Note, *, most_bytes: int, expected: Note | None = None) -> Note:
        """Store a note and give it as it is stored; it is on the disk then.

        With a slug it takes the place of that note. Without one it takes the place of the note of its topic, or it
        is a new one and gets a name of its own. What was there before goes to the history; what is the same but for
        `updated` is not written. `expected` is what should be there: if it is not, nothing is written.
        """
        if note.trouble:
            raise UsageError(f"{note.key} cannot be written: {note.trouble}", hint="mend its file by hand")
        folder = note.folder if note.slug else project_folder(note.project) if note.project else GENERAL
        note = settled(replace(note, folder=folder))
        check_names(folder, *filter(None, [note.slug]))
        data = _bytes_of(note, most_bytes)
        with storage_errors("write to", f"{self._root / folder}"):
            place = self._place(folder)
            if note.slug or note.topic or expected:
                with self._locked():
                    stored = self._put(note, most_bytes, expected)
            else:  # nothing to look up: all that takes long is done before the lock is taken
                stored = self._new(note, place, data)
            with suppress(FileNotFoundError):  # another one has removed the note and its folder since
                sync_folder(place)
        return stored

    def read(self, key: str, *, most_bytes: int) -> Note | None:
        """The note of a key, `folder/slug`, or None when there is none."""
        folder, slug = parts_of(key)
        with storage_errors("read", key):
            return self._note(self._path(folder, slug), folder, slug, most_bytes)

    def history(self, key: str, *, most_bytes: int) -> list[Note]:
        """What a note was before, oldest first; it outlives a file that was deleted by hand."""
        folder, slug = parts_of(key)
        with storage_errors("read", key):
            place = self._history(folder, slug)
            versions = version_names(place)
            if versions and is_same_file(place / versions[-1], self._path(folder, slug)):
                versions.pop()  # a writer was stopped before it could replace it
            notes = (self._note(place / name, folder, slug, most_bytes) for name in versions)
            return [note for note in notes if note]

    def remove(self, key: str) -> bool:
        """Delete a note and its history, and its folder when nothing else is in it; False when there is none."""
        folder, slug = parts_of(key)
        with storage_errors("remove", key):
            path, history = self._path(folder, slug), self._history(folder, slug)
            if not (os.path.lexists(path) or os.path.lexists(history)):
                return False
            with self._locked():
                # The file goes last: as long as anything of a note is left, it can be seen and removed again.
                for version in history.iterdir() if history.is_dir() else []:
                    version.unlink()
                remove_if_empty(history, history.parent)
                path.unlink(missing_ok=True)
                sync_folder(path.parent)
                remove_if_empty(path.parent)
        return True

    def prune(self, key: str, keep: int) -> int:
        """Delete the oldest of what a note was before, but for so many versions; how many are gone. One without a file keeps all."""
        folder, slug = parts_of(key)
        with storage_errors("prune", key), self._locked():
            path, history = self._path(folder, slug), self._history(folder, slug)
            versions = [name for name in version_names(history) if not is_same_file(history / name, path)]
            gone = versions[: max(len(versions) - keep, 0)] if path.is_file() else []
            for name in gone:
                (history / name).unlink()
            if gone:
                sync_folder(history)
        return len(gone)

    def scan(self, *folders: str) -> Iterator[StoredNote]:
        """Every note, or those of some folders, by folder and slug; none is read."""
        return (one for one in self._look(*folders) if isinstance(one, StoredNote))

    def stray(self) -> list[str]:
        """What looks like a note and is not taken for one: in no folder, oddly named, leading elsewhere, in a folder nobody may read."""
        return [one for one in self._look() if isinstance(one, str)]

    def folders(self) -> list[tuple[str, int]]:
        """The folders of projects, by name, each with the time of its last change in nanoseconds."""
        with storage_errors("read", f"{self._root}"):
            return [found for entry in self._entries("") for found in self._folder(entry)]

    def sweep(self, older_than: float, now: float) -> int:
        """Delete what killed writers have left behind, if it is older than some seconds; how many files those were."""
        self.unfinished = False
        return sum(remove_abandoned(self._root / folder, now - older_than) for folder, _ in self.folders())

    def _new(self, note: Note, place: Path, data: bytes) -> Note:
        """Store a note that replaces none."""
        try:
            with part_file(place, data) as part, self._locked():
                return replace(note, slug=_named(part, slugify(first_words(note.text))))
        except FileNotFoundError:  # the last note in the folder was removed at this moment, and the folder with it
            with self._locked():
                return self._put(note, len(data), None)

    def _put(self, note: Note, most_bytes: int, expected: Note | None) -> Note:
        """Store a note that may take the place of another; under the lock."""
        slug = note.slug or (note.topic and self._slug_of_topic(note.folder, note.topic))
        path = self._path(note.folder, slug)
        before = self._note(path, note.folder, slug, most_bytes) if slug else None
        if expected is not None and before != expected:
            raise UsageError(f"{expected.key} is not what it was when it was read", hint="read it again; nothing was written")
        if before is None:
            with part_file(self._place(note.folder), _bytes_of(note, most_bytes)) as part:
                if slug:
                    link_new(part, path)
                elif note.topic:
                    slug = self._named_by_topic(part, note)
                else:
                    slug = _named(part, slugify(first_words(note.text)))
            return replace(note, slug=slug)
        unchanged = replace(note, slug=slug, updated=before.updated)
        if not note.slug:
            updated = max(filter(None, [note.updated, before.created]), default=None)  # the clock may have gone backwards
            note = replace(note, slug=slug, created=before.created or note.created, updated=updated, other=note.other or before.other)
            unchanged = replace(unchanged, created=before.created, other=note.other)
        if unchanged == before:
            return before
        with part_file(path.parent, _bytes_of(note, most_bytes)) as part:
            part.chmod(stat.S_IMODE(path.stat().st_mode))
            _keep(path, self._history(note.folder, slug))
            part.replace(path)
        return note

    def _named_by_topic(self, part: Path, note: Note) -> str:
        """Give a file the name that its topic has, unless a note of another topic has it or had it; under the lock."""
        for slug in (usual := topic_slugs(note.topic)):
            history = self._history(note.folder, slug)
            versions = version_names(history)
            if versions and self._topic(history / versions[-1]) != normalize_topic(note.topic):
                continue
            with suppress(FileExistsError):
                link_new(part, self._path(note.folder, slug))
                return slug
        return _named(part, usual[-1])

    def _slug_of_topic(self, folder: str, topic: str) -> str:
        """Where the note of a topic is, whatever its file is called; empty when there is none."""
        wanted, usual = normalize_topic(topic), topic_slugs(topic)
        if not wanted:
            return ""
        known = self._topics.get(folder, {})
        if self._slugs_of is not None:
            known = dict.fromkeys(self._slugs_of(folder, wanted), (0, wanted))
        elif not any(self._topic(self._path(folder, slug)) == wanted for slug in usual):
            now: dict[str, tuple[int, str]] = {}
            for entry in self._entries(folder):
                if is_note_name(entry.name):
                    slug, inode = entry.name.removesuffix(ENDING), entry.inode()
                    known_inode, found = known.get(slug, (0, ""))  # a file that was replaced has another number
                    now[slug] = (inode, found if known_inode == inode else self._topic(Path(entry.path)))
            known = self._topics[folder] = now
        others = [slug for slug, (_, found) in known.items() if found == wanted]
        return next((slug for slug in (*usual, *others) if self._topic(self._path(folder, slug)) == wanted), "")

    def _topic(self, path: Path) -> str:
        """The topic of a note, with no more of its file read than is needed; empty when it has none."""
        try:
            with open(self._opened(path), "rb") as file:
                head = file.read(4_096)
                if not head.removeprefix(b"\xef\xbb\xbf").startswith(b"---"):
                    return ""
                if not _HEAD_END.search(head):
                    head += file.read(_LONGEST_HEAD)
        except (OSError, WhenceError):
            return ""
        end = _HEAD_END.search(head)
        if end is None or not _TOPIC.search(head, 0, end.end()):
            return ""
        return normalize_topic(parse(head[: end.end()], folder=GENERAL, slug="").topic)

    def _note(self, path: Path, folder: str, slug: str, most_bytes: int) -> Note | None:
        """The note in a file, or None when there is no file."""
        try:
            handle = self._opened(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with open(handle, "rb") as file:
            size = os.fstat(handle).st_size
            data = file.read(most_bytes + 1)
        if len(data) <= most_bytes:
            return parse(data, folder=folder, slug=slug)
        trouble = f"its file has {max(size, len(data))} bytes, more than memory.max_bytes ({most_bytes}): this is its beginning"
        text = data[:most_bytes].decode("utf-8", "replace")
        return replace(parse(b"", folder=folder, slug=slug), text=text, trouble=trouble)

    def _opened(self, path: Path) -> int:
        """A file of ours, open to be read; what is no file is not waited for."""
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            handle = os.open(path, flags | os.O_NOFOLLOW)
        except OSError:
            if not path.is_symlink():
                raise
            handle = os.open(self._checked(path), flags)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise StorageError(f"{path} is no file", hint="move away what lies there")
        return handle

    def _look(self, *folders: str) -> Iterator[StoredNote | str]:
        """All notes, and the paths of what only looks like one."""
        for top in self._entries(""):
            if folders and top.name not in folders:
                continue
            if not self._is_folder(top):
                if looks_like_one(top.name):
                    yield top.name
                continue
            try:
                found = self._entries(top.name)
            except OSError:
                yield f"{top.name}/"
                continue
            # Names are in order: those that begin with a dot come before all letters and digits.
            self.unfinished = self.unfinished or any(PART.fullmatch(entry.name) for entry in takewhile(lambda one: one.name < "/", found))
            for entry in (one for one in found if looks_like_one(one.name)):
                slug, facts = entry.name[: -len(ENDING)], self._facts(entry)
                if facts and is_valid_name(slug):
                    yield StoredNote(top.name, slug, facts.st_size, facts.st_ctime_ns, facts.st_ino)
                else:
                    yield f"{top.name}/{entry.name}"

    def _facts(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        """What the disk says of a file, if it is a file of ours."""
        try:
            facts = entry.stat() if not entry.is_symlink() or self._is_inside(Path(entry.path)) else None
        except OSError:
            return None
        return facts if facts and stat.S_ISREG(facts.st_mode) else None

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """What is in the directory or in one of its folders, by name."""
        try:
            with os.scandir(self._root / folder) as entries:
                return sorted(entries, key=attrgetter("name"))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        return is_valid_name(entry.name) and entry.is_dir() and (not entry.is_symlink() or self._is_inside(Path(entry.path)))

    def _folder(self, entry: os.DirEntry[str]) -> list[tuple[str, int]]:
        with suppress(FileNotFoundError, NotADirectoryError):  # it may be gone at this moment
            return [(entry.name, entry.stat().st_mtime_ns)] if self._is_folder(entry) else []
        return []

    def _path(self, folder: str, slug: str) -> Path:
        return self._checked(self._root / folder) / f"{slug}{ENDING}"

    def _history(self, folder: str, slug: str) -> Path:
        return self._checked(self._checked(self._checked(self._root / folder) / HISTORY) / slug)

    def _place(self, folder: str) -> Path:
        """The folder of a project, which is there then."""
        place = self._checked(self._root / folder)
        make_private_folder(place)
        return place

    def _checked(self, path: Path) -> Path:
        """A path, if it does not lead elsewhere."""
        if path.is_symlink() and not self._is_inside(path):
            raise UsageError(f"{path} leads out of the folder of notes", hint="put the files themselves there, not a link")
        return path

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._root.resolve())

    def _locked(self) -> AbstractContextManager[None]:
        return file_lock(self._root / LOCK, self._wait)


def _bytes_of(note: Note, most_bytes: int) -> bytes:
    """A note as the bytes of its file, if they will be read as the same note."""
    try:
        data = render(note).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"character {error.start} of the note is half of one: it cannot be stored") from error
    if len(data) > most_bytes:
        raise UsageError(f"the note has {len(data)} bytes, more than the {most_bytes} allowed", hint="memory.max_bytes sets the limit")
    if (again := parse(data, folder=note.folder, slug=note.slug)) != note:
        raise UsageError(f"the note would not be read as it was written: {again.trouble or 'its other keys are not its own'}")
    return data


def _keep(path: Path, history: Path) -> None:
    """Put a file into the history of its note, unless a writer that was stopped has done so."""
    make_private_folder(history)
    versions = version_names(history)
    if versions and is_same_file(history / versions[-1], path):
        return
    number = int(versions[-1].partition(".")[0]) + 1 if versions else 1
    link_or_copy(path, history / f"{number:04d}{ENDING}")
    sync_folder(history)


def _named(part: Path, stem: str) -> str:
    """Give a file that is whole a name that nothing has yet, and say which; under the lock."""
    slug = stem
    while True:
        if not os.path.lexists(part.parent / HISTORY / slug):  # the past of another note, whose file was deleted by hand
            with suppress(FileExistsError):
                link_new(part, part.with_name(f"{slug}{ENDING}"))
                return slug
        slug = _next_free(part.parent, stem)


def _next_free(place: Path, stem: str) -> str:
    """The name with a number that is free: by doubling, then by halving, because there may be thousands."""

    def taken(number: int) -> bool:
        return any(map(os.path.lexists, (place / f"{stem}-{number}{ENDING}", place / HISTORY / f"{stem}-{number}")))

    low, high = 1, 2
    while taken(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if taken(middle) else (low, middle)
    return f"{stem}-{high}"


def version_names(history: Path) -> list[str]:
    """The names of the earlier versions of a note, oldest first."""
    names = [path.name for path in history.iterdir()] if history.is_dir() else []
    return sorted(filter(_VERSION.fullmatch, names), key=lambda name: int(name.partition(".")[0]))
