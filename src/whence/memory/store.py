"""The Markdown files: one for each note, with its earlier versions beside it and one writer at a time.

A note is `<directory>/<project>/<slug>.md`; its earlier versions are `<directory>/<project>/.history/<slug>/0001.md` and so on.
A version is complete before it gets its name, and is in the history before another takes that name: a process
that is killed at any point loses nothing that was acknowledged.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from whence.core.errors import StorageError, UsageError, WhenceError
from whence.memory.front_matter import normalized, parse, render
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

SUFFIX = ".md"
HISTORY = ".history"
LOCK = ".lock"
#: Front matter that has not ended after this many bytes is not read further.
_MAX_HEAD = 1 << 20
_HEAD_END = re.compile(rb"\n---[ \t]*(?:\r?\n|\Z)")
_TOPIC = re.compile(rb"t(?:opic|itle)|\\")  # a backslash may be part of an escaped key

_VERSION = re.compile(r"(\d{4,9})\.md")

#: The notes that a new one may replace because of its topic: their keys, each with its owner.
TopicLookup = Callable[[Note], Sequence[tuple[str, str]]]


class NoteFile(NamedTuple):
    """The file of a note, with the facts that show whether it has changed. Created by the thousand."""

    folder: str
    slug: str
    size: int
    changed_ns: int  # ctime: unlike mtime, nobody can set it
    inode: int

    @property
    def key(self) -> str:
        """The key of the note."""
        return f"{self.folder}/{self.slug}"


class NoteStore:
    """The notes in a directory."""

    def __init__(self, directory: Path, max_bytes: int, *, wait: float = 30.0) -> None:
        """`wait` is how many seconds a writer waits for another one to finish."""
        self.directory, self.max_bytes = directory, max_bytes
        self._root = directory.absolute()
        self._wait = wait
        self.has_partial_files = False  # set by a scan that meets files of interrupted writers

    def write(self, note: Note, *, expected: Note | None = None, lookup: TopicLookup | None = None) -> Note:
        """Store a note and return it as stored; it is on disk by then.

        With a slug it replaces that note. Without one it replaces its owner's note on its topic, or becomes a new note with a
        name of its own. The replaced version goes to the history; a note that differs in `updated` alone is not
        written. If the note on disk is not `expected`, nothing is written. `lookup` saves reading files for topics.
        """
        if note.problem:
            raise UsageError(f"{note.key} cannot be written: {note.problem}", hint="fix its file by hand")
        folder = note.folder if note.slug else project_folder(note.project) if note.project else GENERAL
        note = normalized(replace(note, folder=folder))
        for name in filter(None, (folder, note.slug)):
            if not is_valid_name(name):
                raise UsageError(f"{name[:80]!r} cannot be the name of a note or a folder")
        data = self._bytes_of(note)
        with storage_errors("write to", f"{self._root / folder}"):
            place = self._make_folder(folder)
            if note.slug or note.topic or expected:
                with self._locked():
                    stored = self._replace(note, expected, lookup)
            else:  # there is nothing to look up: write the file before taking the lock
                stored = self._add(note, place, data)
            with suppress(FileNotFoundError):  # another process has removed the note and its folder since
                sync_folder(place)
        return stored

    def read(self, key: str, *, max_bytes: int | None = None) -> Note | None:
        """The note with a key, `folder/slug`, or None."""
        folder, slug = _split_key(key)
        with storage_errors("read", key):
            return self._read(self._path(folder, slug), folder, slug, max_bytes)

    def read_or_explain(self, key: str) -> Note | None:
        """The same for listings: a note that cannot be read says why in its `problem`."""
        try:
            return self.read(key)
        except WhenceError as error:  # a link that leaves the folder, or something that is not a file
            folder, _, slug = key.partition("/")
            return Note("", slug, folder=folder, problem=error.message)

    def history(self, key: str) -> list[Note]:
        """The earlier versions of a note, oldest first; they survive when the file is deleted by hand."""
        folder, slug = _split_key(key)
        with storage_errors("read", key):
            place = self._history(folder, slug)
            versions = _version_names(place)
            if versions and is_same_file(place / versions[-1], self._path(folder, slug)):
                versions.pop()  # a writer was stopped before it replaced the note
            notes = (self._read(place / name, folder, slug) for name in versions)
            return [note for note in notes if note]

    def remove(self, key: str) -> bool:
        """Delete a note with its history, and its folder if that is empty then; False if there is no such note."""
        folder, slug = _split_key(key)
        with storage_errors("remove", key):
            path, history = self._path(folder, slug), self._history(folder, slug)
            if not (os.path.lexists(path) or os.path.lexists(history)):
                return False
            with self._locked():
                # The file goes last: as long as anything of a note is left, it is listed and can be removed again.
                for version in history.iterdir() if history.is_dir() else []:
                    version.unlink()
                remove_if_empty(history, history.parent)
                path.unlink(missing_ok=True)
                sync_folder(path.parent)
                remove_if_empty(path.parent)
        return True

    def former_names(self, note: Note) -> list[str]:
        """The keys under which a note's earlier versions are left: its file was moved or renamed by hand."""
        found = []
        for history in sorted(self._root.glob(f"*/{HISTORY}/*")):
            key = f"{history.parent.parent.name}/{history.name}"
            versions = [] if (self._root / f"{key}{SUFFIX}").exists() or history.is_symlink() else self.history(key)
            if any(one.text == note.text or (one.created and one.created == note.created and one.owner == note.owner) for one in versions):
                found.append(key)
        return found

    def version_counts(self, keys: Iterable[str]) -> dict[str, int]:
        """How many earlier versions notes have; those without any are left out."""
        histories: dict[str, set[str]] = {}
        found: dict[str, int] = {}
        for key in keys:
            folder, slug = _split_key(key)
            place = self._root / folder / HISTORY
            if folder not in histories:  # one listing for each folder: most notes have no history
                histories[folder] = set(os.listdir(place)) if place.is_dir() and not place.is_symlink() else set()  # noqa: PTH208
            if slug in histories[folder] and not (place / slug).is_symlink() and (versions := _version_names(place / slug)):
                found[key] = len(versions) - is_same_file(place / slug / versions[-1], self._root / f"{key}{SUFFIX}")
        return found

    def prune(self, key: str, keep: int) -> int:
        """Delete all but the newest earlier versions; returns how many. A note without a file keeps its whole history."""
        folder, slug = _split_key(key)
        with storage_errors("prune", key), self._locked():
            path, history = self._path(folder, slug), self._history(folder, slug)
            versions = [name for name in _version_names(history) if not is_same_file(history / name, path)]
            gone = versions[: max(len(versions) - keep, 0)] if path.is_file() else []
            for name in gone:
                (history / name).unlink()
            if gone:
                sync_folder(history)
        return len(gone)

    # Listing.
    def scan(self, *folders: str) -> Iterator[NoteFile]:
        """The files of all notes, or those in some folders, by folder and slug; none is read."""
        return (one for one in self._scan(*folders) if isinstance(one, NoteFile))

    def stray_files(self) -> list[str]:
        """Files that look like notes and are not: outside a folder, oddly named, links that leave, unreadable folders."""
        return [one for one in self._scan() if isinstance(one, str)]

    def folders(self) -> dict[str, int]:
        """The project folders by name, with their mtime in nanoseconds."""
        found: dict[str, int] = {}
        with storage_errors("read", f"{self._root}"):
            for entry in self._entries(""):
                with suppress(FileNotFoundError, NotADirectoryError):  # removed at this moment
                    if self._is_folder(entry):
                        found[entry.name] = entry.stat().st_mtime_ns
        return found

    def file_of(self, key: str) -> NoteFile | None:
        """The file of a note as it is on disk now."""
        folder, _, slug = key.partition("/")
        try:
            state = (self.directory / folder / f"{slug}{SUFFIX}").stat()
        except OSError:
            return None
        return NoteFile(folder, slug, state.st_size, state.st_ctime_ns, state.st_ino)

    def sweep(self, older_than: float, now: float) -> int:
        """Delete what killed writers left behind more than some seconds ago; returns how many files."""
        self.has_partial_files = False
        return sum(remove_abandoned(self._root / folder, now - older_than) for folder in self.folders())

    def _scan(self, *folders: str) -> Iterator[NoteFile | str]:
        """All notes, and the paths of files that only look like one."""
        for top in self._entries(""):
            if folders and top.name not in folders:
                continue
            if not self._is_folder(top):
                if _looks_like_note(top.name):
                    yield top.name
                continue
            try:
                found = self._entries(top.name)
            except OSError:
                yield f"{top.name}/"
                continue
            # Names are sorted: those that start with a dot come first.
            partial = (PART.fullmatch(entry.name) for entry in takewhile(lambda one: one.name < "/", found))
            self.has_partial_files = self.has_partial_files or any(partial)
            for entry in (one for one in found if _looks_like_note(one.name)):
                slug, state = entry.name[: -len(SUFFIX)], self._stat(entry)
                if state and is_valid_name(slug):
                    yield NoteFile(top.name, slug, state.st_size, state.st_ctime_ns, state.st_ino)
                else:
                    yield f"{top.name}/{entry.name}"

    def _stat(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        """The state of a regular file inside the directory."""
        try:
            state = entry.stat() if not entry.is_symlink() or self._is_inside(Path(entry.path)) else None
        except OSError:
            return None
        return state if state and stat.S_ISREG(state.st_mode) else None

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """The entries of the directory or of one of its folders, by name."""
        try:
            with os.scandir(self._root / folder) as entries:
                return sorted(entries, key=attrgetter("name"))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        return is_valid_name(entry.name) and entry.is_dir() and (not entry.is_symlink() or self._is_inside(Path(entry.path)))

    # Writing.
    def _bytes_of(self, note: Note) -> bytes:
        """The content of a note's file, if it will be parsed as the same note."""
        try:
            data = render(note).encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"the note cannot be stored: character {error.start} is half of a surrogate pair") from error
        if len(data) > self.max_bytes:
            raise UsageError(
                f"the note has {len(data)} bytes, more than the {self.max_bytes} allowed", hint="memory.max_bytes sets the limit"
            )
        if (again := parse(data, folder=note.folder, slug=note.slug)) != note:
            raise UsageError(f"the note would not be read back as written: {again.problem or 'a key in `other` is one of its own'}")
        return data

    def _add(self, note: Note, place: Path, data: bytes) -> Note:
        """Store a note that replaces none."""
        try:
            with part_file(place, data) as part, self._locked():
                return replace(note, slug=_give_free_name(part, slugify(first_words(note.text))))
        except FileNotFoundError:  # the folder was removed at this moment, with the last note in it
            with self._locked():
                return self._replace(note, None, None)

    def _replace(self, note: Note, expected: Note | None, lookup: TopicLookup | None) -> Note:
        """Store a note that may replace another; needs the lock."""
        slug = note.slug
        if note.topic and not slug and (known := self._key_of_topic(note, lookup)):
            folder, _, slug = known.partition("/")
            note = replace(note, folder=folder)
        path = self._path(note.folder, slug)
        before = self._read(path, note.folder, slug) if slug else None
        if expected is not None and before != expected:
            raise UsageError(f"{expected.key} has changed since it was read", hint="read it again; nothing was written")
        if before is None:
            with part_file(self._make_folder(note.folder), self._bytes_of(note)) as part:
                if slug:
                    link_new(part, path)
                elif note.topic:
                    slug = self._give_topic_name(part, note)
                else:
                    slug = _give_free_name(part, slugify(first_words(note.text)))
            return replace(note, slug=slug)
        unchanged = replace(note, slug=slug, updated=before.updated)
        if not note.slug:
            updated = max(filter(None, [note.updated, before.created]), default=None)  # the clock may have gone backwards
            note = replace(note, slug=slug, created=before.created or note.created, updated=updated, other=note.other or before.other)
            unchanged = replace(unchanged, created=before.created, other=note.other)
        if unchanged == before:
            return before
        with part_file(path.parent, self._bytes_of(note)) as part:
            part.chmod(stat.S_IMODE(path.stat().st_mode))
            _add_to_history(path, self._history(note.folder, slug))
            part.replace(path)
        return note

    def _give_topic_name(self, part: Path, note: Note) -> str:
        """Name a file after its topic, unless a note of another topic has or had that name; needs the lock."""
        for slug in (usual := topic_slugs(note.topic)):
            history = self._history(note.folder, slug)
            versions = _version_names(history)
            if versions and self._label(history / versions[-1], note.folder) != (note.owner, normalize_topic(note.topic)):
                continue
            with suppress(FileExistsError):
                link_new(part, self._path(note.folder, slug))
                return slug
        return _give_free_name(part, usual[-1])

    def _key_of_topic(self, note: Note, lookup: TopicLookup | None) -> str:
        """The note that has the topic of a new one, whatever its file is called; empty if there is none."""
        topic, folder = normalize_topic(note.topic), note.folder
        own = [f"{folder}/{slug}" for slug in topic_slugs(note.topic)]
        if lookup is None:
            own += [f"{folder}/{entry.name.removesuffix(SUFFIX)}" for entry in self._entries(folder)]
        pairs = [*((key, note.owner) for key in own), *(lookup(note) if lookup is not None else ())]
        found = (key for key, owner in pairs if self._label(self._path(*key.split("/")), key.partition("/")[0]) == (owner, topic))
        return next(found, "") if topic else ""

    # Reading.
    def _label(self, path: Path, folder: str) -> tuple[str, str]:
        """The owner and topic of a note, reading no more of its file than needed; empty if it has no topic."""
        try:
            with open(self._open(path), "rb") as file:
                head = file.read(4_096)
                if not head.removeprefix(b"\xef\xbb\xbf").startswith(b"---"):
                    return "", ""
                if not _HEAD_END.search(head):
                    head += file.read(_MAX_HEAD)
        except (OSError, WhenceError):
            return "", ""
        end = _HEAD_END.search(head)
        if end is None or not _TOPIC.search(head, 0, end.end()):
            return "", ""
        note = parse(head[: end.end()], folder=folder, slug="")
        return note.owner, normalize_topic(note.topic)

    def _read(self, path: Path, folder: str, slug: str, max_bytes: int | None = None) -> Note | None:
        """The note in a file, or None if there is no file."""
        limit = max_bytes or self.max_bytes
        try:
            handle = self._open(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with open(handle, "rb") as file:
            size = os.fstat(handle).st_size
            data = file.read(limit + 1)
        if len(data) <= limit:
            return parse(data, folder=folder, slug=slug)
        problem = f"its file has {max(size, len(data))} bytes, more than memory.max_bytes ({limit}): this is only the beginning"
        text = data[:limit].decode("utf-8", "replace")
        return replace(parse(b"", folder=folder, slug=slug), text=text, problem=problem)

    def _open(self, path: Path) -> int:
        """A regular file inside the directory, opened for reading; never blocks on a pipe."""
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            handle = os.open(path, flags | os.O_NOFOLLOW)
        except OSError:
            if not path.is_symlink():
                raise
            handle = os.open(self._checked(path), flags)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise StorageError(f"{path} is not a file", hint="move it out of the notes folder")
        return handle

    # Paths.
    def _path(self, folder: str, slug: str) -> Path:
        return self._checked(self._root / folder) / f"{slug}{SUFFIX}"

    def _history(self, folder: str, slug: str) -> Path:
        return self._checked(self._checked(self._checked(self._root / folder) / HISTORY) / slug)

    def _make_folder(self, folder: str) -> Path:
        place = self._checked(self._root / folder)
        make_private_folder(place)
        return place

    def _checked(self, path: Path) -> Path:
        if path.is_symlink() and not self._is_inside(path):
            raise UsageError(f"{path} leads out of the notes folder", hint="put the files there, not a link to them")
        return path

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._root.resolve())

    def _locked(self) -> AbstractContextManager[None]:
        return file_lock(self._root / LOCK, self._wait)


def _split_key(key: str) -> tuple[str, str]:
    folder, _, slug = key.partition("/")
    if not (is_valid_name(folder) and is_valid_name(slug)):
        raise UsageError(f"{key[:80]!r} is not the key of a note", hint="write folder/name, as listed")
    return folder, slug


def _version_names(history: Path) -> list[str]:
    """The files of a history, oldest first."""
    names = [path.name for path in history.iterdir()] if history.is_dir() else []
    return sorted(filter(_VERSION.fullmatch, names), key=lambda name: int(name.partition(".")[0]))


def _looks_like_note(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.startswith(".")


def _add_to_history(path: Path, history: Path) -> None:
    """Copy a file to its note's history, unless an interrupted writer has done so."""
    make_private_folder(history)
    versions = _version_names(history)
    if versions and is_same_file(history / versions[-1], path):
        return
    number = int(versions[-1].partition(".")[0]) + 1 if versions else 1
    link_or_copy(path, history / f"{number:04d}{SUFFIX}")
    sync_folder(history)


def _give_free_name(part: Path, stem: str) -> str:
    """Give a complete file the first free name, and return its slug; needs the lock."""
    slug = stem
    while True:
        if not os.path.lexists(part.parent / HISTORY / slug):  # the history of a note whose file was deleted by hand
            with suppress(FileExistsError):
                link_new(part, part.with_name(f"{slug}{SUFFIX}"))
                return slug
        slug = _next_free(part.parent, stem)


def _next_free(place: Path, stem: str) -> str:
    """The free name with the lowest number, by galloping: there may be thousands."""

    def taken(number: int) -> bool:
        return any(map(os.path.lexists, (place / f"{stem}-{number}{SUFFIX}", place / HISTORY / f"{stem}-{number}")))

    low, high = 1, 2
    while taken(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if taken(middle) else (low, middle)
    return f"{stem}-{high}"
