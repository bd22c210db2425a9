"""Walk a tree: which files are there, which are left out and why, and what changed since last time.

A folder whose own time stamp has not moved has the same entries as before, so
only its known files are looked at; a folder that changed is listed anew. A stamp
is trusted only when it was some time old when it was read: an edit in the same
instant would not have moved it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from whence.core.types import Skipped
from whence.source import git
from whence.source.ignore import GIT_IGNORED, GIT_RULES, NEVER, PRIVATE_GIT_RULES, RULE_FILES, IgnoreRules
from whence.source.read import open_inside, read_prefix

#: A time stamp younger than this when it was read may hide a later change (coarse clocks, FAT).
RACY_NS = 2_000_000_000
MAX_DEPTH = 100
RULE_FILE_BYTES = 1_000_000


class FileState(NamedTuple):
    """What `lstat` said of a file or folder, and when it was asked; a tuple, for there are ten thousand of them."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    checked_ns: int

    def is_unchanged(self, found: os.stat_result) -> bool:
        """Whether nothing can have changed since: equal stamps, and old enough when they were read."""
        return (
            self.mtime_ns == found.st_mtime_ns
            and self.size == found.st_size
            and self.ctime_ns == found.st_ctime_ns
            and self.inode == found.st_ino
            and self.mtime_ns < (trusted := self.checked_ns - RACY_NS)
            and self.ctime_ns < trusted
        )

    @property
    def is_trusted(self) -> bool:
        """Whether the stamps were old enough when they were read."""
        return max(self.mtime_ns, self.ctime_ns) < self.checked_ns - RACY_NS

    @property
    def stamps(self) -> tuple[int, int, int, int]:
        """What must be equal for a file to be the same."""
        return self.size, self.mtime_ns, self.ctime_ns, self.inode


@dataclass(slots=True)
class FileTree:
    """A tree as it was found: files, folders and rule files with their states, and what was left out."""

    files: dict[str, FileState] = field(default_factory=dict)
    folders: dict[str, FileState] = field(default_factory=dict)
    rules: dict[str, FileState] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)  # new, or not known to be the same
    deleted: list[str] = field(default_factory=list)


def _state(found: os.stat_result, now_ns: int) -> FileState:
    return FileState(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, now_ns)


class Walker:
    """Walks one root."""

    def __init__(self, root: str, *, max_file_bytes: int, hidden: bool, now_ns: int) -> None:
        self.root = root.rstrip("/") or "/"
        self._max_file_bytes = max_file_bytes
        self._hidden = hidden
        self._now_ns = now_ns

    def refresh(self, known: FileTree) -> FileTree:
        """Look for changes against what is known; walk everything when a rule file changed."""
        if not known.folders or self._rules_changed(known):
            return self.walk(known)
        tree = FileTree(rules=dict(known.rules))
        for folder, state in known.folders.items():
            try:
                if state.is_unchanged(os.lstat(self._full(folder))):
                    tree.folders[folder] = state
            except OSError:
                continue  # gone, with all that was in it
        if len(tree.folders) == len(known.folders):
            tree.skipped = list(known.skipped)
            self._check_files(known.files, tree)
            return tree
        moved = known.folders.keys() - tree.folders.keys()
        tree.skipped = [one for one in known.skipped if _parent(one.path.rstrip("/")) not in moved]
        self._check_files({path: state for path, state in known.files.items() if _parent(path) not in moved}, tree)
        for folder in sorted(moved):
            self._list_again(folder, known, tree)
        return self._compared(known.files, tree)

    def _check_files(self, known: dict[str, FileState], tree: FileTree) -> None:
        """Ask for the state of files in folders whose entries are the same as before."""
        lstat, prefix, files, changed, limit = os.lstat, self._full(""), tree.files, tree.changed, self._max_file_bytes
        for path, state in known.items():
            try:
                found = lstat(prefix + path)
            except OSError:
                tree.deleted.append(path)
                continue
            if state.is_unchanged(found):
                files[path] = state
            elif stat.S_ISREG(found.st_mode) and found.st_size <= limit:
                files[path] = _state(found, self._now_ns)
                changed.append(path)
            else:
                tree.deleted.append(path)
                tree.skipped.append(Skipped(path, self._unfit(found)))

    def _list_again(self, folder: str, known: FileTree, tree: FileTree) -> None:
        """List one folder whose entries changed; folders in it that are known are looked after by themselves."""
        try:
            found = os.lstat(self._full(folder))
        except OSError:
            return
        if folder in tree.folders or not stat.S_ISDIR(found.st_mode):
            return
        rules, depth = self._rules_above(folder), folder.count("/") + 1 if folder else 0
        self._visit(folder, rules, tree, depth, unless=known.folders.keys(), tracked_only=self._is_excluded(folder))
        self._note_git_index(tree)

    def _is_excluded(self, folder: str) -> bool:
        """Whether rules exclude a walked folder or one above it: then it was walked for its tracked files."""
        steps = folder.split("/") if folder else []
        above = ("/".join(steps[: depth + 1]) for depth in range(len(steps)))
        return any(
            self._rules_above(path).exclusion_reason(path, path.rpartition("/")[2], is_folder=True, hidden=self._hidden) for path in above
        )

    @cached_property
    def _tracked(self) -> frozenset[str]:
        """The files that git tracks, and the folders they are in: neither ignore rules nor names of folders exclude them."""
        from whence.source.history import tracked_files  # noqa: PLC0415  -- starts a process; only if something is excluded

        if git.repository_root(Path(self.root)) is None:
            return frozenset()
        tracked = set(files := tracked_files(Path(self.root)))
        for path in files:
            while (path := _parent(path)) and path not in tracked:
                tracked.add(path)
        return frozenset(tracked)

    def _note_git_index(self, tree: FileTree) -> None:
        """Remember the state of git's index if it was consulted: once it changes, other files may be tracked."""
        if "_tracked" in self.__dict__ and (place := git.index_file(Path(self.root))) is not None:
            with suppress(OSError):
                tree.rules[os.path.relpath(place, self.root)] = _state(os.lstat(place), self._now_ns)

    def _rules_above(self, folder: str) -> IgnoreRules:
        """The rules that hold in a folder, without those of its own files."""
        rules, scratch = IgnoreRules(), FileTree()
        if (private := self._read_rules(PRIVATE_GIT_RULES, scratch)) is not None:
            rules = rules.with_file(GIT_RULES, "", private)
        above = folder.split("/")[:-1] if folder else []
        for depth in range(len(above) + 1 if folder else 0):
            place = "/".join(above[:depth])
            for name in reversed(RULE_FILES):
                if (text := self._read_rules(_join(place, name), scratch)) is not None:
                    rules = rules.with_file(name, place, text)
        return rules

    def rules_in(self, folder: str) -> IgnoreRules:
        """The rules that hold for the entries of a walked folder."""
        rules, scratch = self._rules_above(folder), FileTree()
        for name in reversed(RULE_FILES):
            if (text := self._read_rules(_join(folder, name), scratch)) is not None:
                rules = rules.with_file(name, folder, text)
        return rules

    def would_include(self, path: str, rules: IgnoreRules) -> bool:
        """Whether a walk would take in an entry as it is now, in a walked folder where these rules hold."""
        try:
            found = os.lstat(self._full(path))
        except OSError:
            return False
        is_folder = stat.S_ISDIR(found.st_mode)
        fits = is_folder or (stat.S_ISREG(found.st_mode) and found.st_size <= self._max_file_bytes)
        reason = rules.exclusion_reason(path, path.rpartition("/")[2], is_folder=is_folder, hidden=self._hidden)
        return fits and (reason is None or self._is_rescued(path, reason))

    def _is_rescued(self, path: str, reason: str) -> bool:
        return reason in (GIT_IGNORED, NEVER) and path in self._tracked

    def _compared(self, before: dict[str, FileState], tree: FileTree) -> FileTree:
        """Tell which files of a tree are new, changed or gone."""
        changed = set(tree.changed)
        for path, state in tree.files.items():
            old = before.get(path)
            if old is state or path in changed:
                continue
            if old is not None and old.is_trusted and old.stamps == state.stamps:
                tree.files[path] = old
            else:
                changed.add(path)
        tree.changed = sorted(changed)
        tree.deleted = [path for path in before if path not in tree.files]
        return tree

    def _rules_changed(self, known: FileTree) -> bool:
        for path, state in known.rules.items():
            try:
                if not state.is_unchanged(os.lstat(self._full(path))):
                    return True
            except OSError:
                return True
        return PRIVATE_GIT_RULES not in known.rules and os.path.exists(self._full(PRIVATE_GIT_RULES))

    def walk(self, known: FileTree | None = None) -> FileTree:
        """Walk the whole tree."""
        tree = FileTree()
        rules = IgnoreRules()
        private = self._read_rules(PRIVATE_GIT_RULES, tree)
        if private is not None:
            rules = rules.with_file(GIT_RULES, "", private)
        self._visit("", rules, tree, 0)
        self._note_git_index(tree)
        return self._compared(known.files if known else {}, tree)

    def _visit(
        self,
        folder: str,
        rules: IgnoreRules,
        tree: FileTree,
        depth: int,
        unless: AbstractSet[str] = frozenset(),
        *,
        tracked_only: bool = False,
    ) -> None:
        try:
            tree.folders[folder] = _state(os.lstat(self._full(folder)), self._now_ns)
            entries = sorted(os.scandir(self._full(folder)), key=lambda entry: entry.name)
        except OSError as error:
            tree.folders.pop(folder, None)
            tree.skipped.append(Skipped(folder or ".", f"cannot be listed: {error.strerror or error}"))
            return
        names = {entry.name for entry in entries}
        for name in reversed(RULE_FILES):
            if name in names and (text := self._read_rules(_join(folder, name), tree)) is not None:
                rules = rules.with_file(name, folder, text)
        for entry in entries:
            self._enter(entry, _join(folder, entry.name), rules, tree, depth, unless, tracked_only=tracked_only)

    def _enter(
        self,
        entry: os.DirEntry[str],
        path: str,
        rules: IgnoreRules,
        tree: FileTree,
        depth: int,
        unless: AbstractSet[str],
        *,
        tracked_only: bool,
    ) -> None:
        try:
            is_link, is_folder = entry.is_symlink(), entry.is_dir(follow_symlinks=False)
        except OSError as error:
            tree.skipped.append(Skipped(path, f"cannot be looked at: {error.strerror or error}"))
            return
        if is_folder and path in unless:
            return
        reason = "a symbolic link" if is_link else rules.exclusion_reason(path, entry.name, is_folder=is_folder, hidden=self._hidden)
        if reason is not None and self._is_rescued(path, reason):
            reason, tracked_only = None, True
        elif reason is None and tracked_only and path not in self._tracked:
            reason = "in an excluded folder, and not tracked by git"
        if reason is not None:
            tree.skipped.append(Skipped(path + "/" if is_folder else path, reason))
        elif is_folder and depth >= MAX_DEPTH:
            tree.skipped.append(Skipped(path + "/", f"more than {MAX_DEPTH} folders deep"))
        elif is_folder:
            self._visit(path, rules, tree, depth + 1, tracked_only=tracked_only)
        else:
            self._take(entry, path, tree)

    def _take(self, entry: os.DirEntry[str], path: str, tree: FileTree) -> None:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError as error:
            tree.skipped.append(Skipped(path, f"cannot be looked at: {error.strerror or error}"))
            return
        if stat.S_ISREG(found.st_mode) and found.st_size <= self._max_file_bytes:
            tree.files[path] = _state(found, self._now_ns)
        else:
            tree.skipped.append(Skipped(path, self._unfit(found)))

    def _unfit(self, found: os.stat_result) -> str:
        if stat.S_ISLNK(found.st_mode):
            return "a symbolic link"
        return "not a regular file" if not stat.S_ISREG(found.st_mode) else f"larger than {self._max_file_bytes} bytes"

    def _read_rules(self, path: str, tree: FileTree) -> str | None:
        try:
            found = os.lstat(self._full(path))
            if not stat.S_ISREG(found.st_mode) or found.st_size > RULE_FILE_BYTES:
                return None
            tree.rules[path] = _state(found, self._now_ns)
            return read_prefix(open_inside(self.root, path), RULE_FILE_BYTES).decode("utf-8", "surrogateescape")
        except OSError:
            return None

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}" if self.root != "/" else f"/{path}"


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def list_entries(tree: FileTree) -> Iterator[tuple[str, str]]:
    """Every file and folder of a tree with the reason why it is out, or an empty one when it is in."""
    yield from sorted([(path, "") for path in tree.files] + [(one.path, one.reason) for one in tree.skipped])
