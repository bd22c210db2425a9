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
from dataclasses import dataclass, field
from typing import NamedTuple

from whence.core.types import Skipped
from whence.source.ignore import GIT_RULES, PRIVATE_GIT_RULES, RULE_FILES, IgnoreRules
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
        rules = self._rules_above(folder)
        self._visit(folder, rules, tree, folder.count("/") + 1 if folder else 0, unless=known.folders.keys())

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
        return fits and rules.exclusion_reason(path, path.rpartition("/")[2], is_folder=is_folder, hidden=self._hidden) is None

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
        return self._compared(known.files if known else {}, tree)

    def _visit(self, folder: str, rules: IgnoreRules, tree: FileTree, depth: int, unless: AbstractSet[str] = frozenset()) -> None:
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
            self._enter(entry, _join(folder, entry.name), rules, tree, depth, unless)

    def _enter(self, entry: os.DirEntry[str], path: str, rules: IgnoreRules, tree: FileTree, depth: int, unless: AbstractSet[str]) -> None:
        try:
            is_link, is_folder = entry.is_symlink(), entry.is_dir(follow_symlinks=False)
        except OSError as error:
            tree.skipped.append(Skipped(path, f"cannot be looked at: {error.strerror or error}"))
            return
        if is_folder and path in unless:
            return
        reason = "a symbolic link" if is_link else rules.exclusion_reason(path, entry.name, is_folder=is_folder, hidden=self._hidden)
        if reason is not None:
            tree.skipped.append(Skipped(path + "/" if is_folder else path, reason))
        elif is_folder and depth >= MAX_DEPTH:
            tree.skipped.append(Skipped(path + "/", f"more than {MAX_DEPTH} folders deep"))
        elif is_folder:
            self._visit(path, rules, tree, depth + 1)
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
