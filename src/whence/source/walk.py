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
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from whence.core.types import Skipped
from whence.source import git
from whence.source.ignore import GIT_RULES, PRIVATE_GIT_RULES, RULE_FILES, UNLESS_TRACKED, UNTRACKED, IgnoreRules
from whence.source.read import open_inside, read_limit, read_prefix

#: A time stamp younger than this when it was read may hide a later change (coarse clocks, FAT).
RACY_NS = 2_000_000_000
MAX_DEPTH = 100
RULE_FILE_BYTES = 1_000_000
#: Among the rule files of a tree, for git's index, wherever that is: it decides about files that other rules leave out.
GIT_INDEX = ".git/index"


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


class FolderRules(NamedTuple):
    """The rules for the entries of a folder, and whether only what git tracks is taken: the folder itself is left out by rules."""

    rules: IgnoreRules
    tracked_only: bool = False


class Walker:
    """Walks one root."""

    def __init__(self, root: str, *, max_file_bytes: int, hidden: bool, now_ns: int) -> None:
        self.root = root.rstrip("/") or "/"
        self._max_file_bytes = max_file_bytes
        self._hidden = hidden
        self._now_ns = now_ns
        self._folder_rules: dict[str, FolderRules] = {}

    def refresh(self, known: FileTree) -> FileTree:
        """Look for changes against what is known; walk everything when a rule file changed."""
        if not known.folders or self._rules_changed(known) or self.tracking_changed(known):
            return self.walk(known)
        tree = FileTree(rules=dict(known.rules))
        self._note_git_index(tree)
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
            elif stat.S_ISREG(found.st_mode) and found.st_size <= read_limit(path, limit):
                files[path] = _state(found, self._now_ns)
                changed.append(path)
            else:
                tree.deleted.append(path)
                tree.skipped.append(Skipped(path, self._unfit(path, found)))

    def _list_again(self, folder: str, known: FileTree, tree: FileTree) -> None:
        """List one folder whose entries changed; folders in it that are known are looked after by themselves."""
        try:
            found = os.lstat(self._full(folder))
        except OSError:
            return
        if folder in tree.folders or not stat.S_ISDIR(found.st_mode):
            return
        depth = folder.count("/") + 1 if folder else 0
        self._visit(folder, self._rules_above(folder), tree, depth, unless=known.folders.keys())
        self._note_git_index(tree)

    def _rules_above(self, folder: str) -> FolderRules:
        """The rules that hold in a folder, without those of its own files."""
        if not folder:
            private = self._read_rules(PRIVATE_GIT_RULES, FileTree())
            return FolderRules(IgnoreRules() if private is None else IgnoreRules().with_file(GIT_RULES, "", private))
        rules, tracked_only = self._rules_in(_parent(folder))
        reason = rules.exclusion_reason(folder, folder.rpartition("/")[2], is_folder=True, hidden=self._hidden)
        return FolderRules(rules, tracked_only or reason is not None)

    def _rules_in(self, folder: str) -> FolderRules:
        """The rules that hold for the entries of a folder, as they were when this was first asked."""
        if folder not in self._folder_rules:
            rules, tracked_only = self._rules_above(folder)
            for name in reversed(RULE_FILES):
                if (text := self._read_rules(_join(folder, name), FileTree())) is not None:
                    rules = rules.with_file(name, folder, text)
            self._folder_rules[folder] = FolderRules(rules, tracked_only)
        return self._folder_rules[folder]

    def would_include(self, path: str) -> bool:
        """Whether a walk would take in an entry of a walked folder as it is now."""
        try:
            found = os.lstat(self._full(path))
        except OSError:
            return False
        is_folder = stat.S_ISDIR(found.st_mode)
        fits = is_folder or (stat.S_ISREG(found.st_mode) and found.st_size <= read_limit(path, self._max_file_bytes))
        return fits and self._judge(path, self._rules_in(_parent(path)), is_folder=is_folder)[0] is None

    def _judge(self, path: str, rules: FolderRules, *, is_folder: bool) -> tuple[str | None, bool]:
        """Why an entry is left out, if it is, and whether it is taken only because git tracks it."""
        reason = rules.rules.exclusion_reason(path, path.rpartition("/")[2], is_folder=is_folder, hidden=self._hidden)
        if reason is None and not rules.tracked_only:
            return None, False
        if reason is not None and reason not in UNLESS_TRACKED:
            return reason, False
        if path.rpartition("/")[2] != ".git" and self._tracked.holds(path, is_folder=is_folder):
            return None, True
        return reason or UNTRACKED, False

    # What git tracks is taken whatever its folder is called, and whatever .gitignore says.
    @cached_property
    def _git_index(self) -> FileState:
        found = git.index_state(Path(self.root))
        return _state(found, self._now_ns) if found is not None else FileState(0, 0, 0, 0, self._now_ns)

    @cached_property
    def _tracked(self) -> git.TrackedFiles:
        _ = self._git_index  # its state from before it was read
        return git.tracked_files(Path(self.root)) or git.TrackedFiles([])

    def _note_git_index(self, tree: FileTree) -> None:
        """Keep the state of git's index if it was asked: when it changes, other files may be tracked."""
        if "_tracked" in self.__dict__:
            tree.rules[GIT_INDEX] = self._git_index

    def tracking_changed(self, known: FileTree) -> bool:
        """Whether git tracks other files than when a tree was walked, and that decides about any."""
        state = known.rules.get(GIT_INDEX)
        if state is not None and state.is_trusted and state.stamps == self._git_index.stamps:
            return False
        doubtful = [one for one in known.skipped if (one.reason in UNLESS_TRACKED or one.reason == UNTRACKED) and one.path != ".git/"]
        if state is None and not doubtful:  # it was not asked
            return False
        if any(self._tracked.holds(one.path.rstrip("/"), is_folder=one.path.endswith("/")) for one in doubtful):
            return True
        untracked = known.files.keys() - self._tracked.files
        return any(self._judge(path, self._rules_in(_parent(path)), is_folder=False)[0] is not None for path in untracked)

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
            if path == GIT_INDEX:
                continue
            try:
                if not state.is_unchanged(os.lstat(self._full(path))):
                    return True
            except OSError:
                return True
        return PRIVATE_GIT_RULES not in known.rules and os.path.exists(self._full(PRIVATE_GIT_RULES))

    def walk(self, known: FileTree | None = None) -> FileTree:
        """Walk the whole tree."""
        tree = FileTree()
        self._folder_rules.clear()
        self._read_rules(PRIVATE_GIT_RULES, tree)
        self._visit("", self._rules_above(""), tree, 0)
        self._note_git_index(tree)
        return self._compared(known.files if known else {}, tree)

    def _visit(self, folder: str, above: FolderRules, tree: FileTree, depth: int, unless: AbstractSet[str] = frozenset()) -> None:
        try:
            tree.folders[folder] = _state(os.lstat(self._full(folder)), self._now_ns)
            entries = sorted(os.scandir(self._full(folder)), key=lambda entry: entry.name)
        except OSError as error:
            tree.folders.pop(folder, None)
            tree.skipped.append(Skipped(folder or ".", f"cannot be listed: {error.strerror or error}"))
            return
        (rules, tracked_only), names = above, {entry.name for entry in entries}
        for name in reversed(RULE_FILES):
            if name in names and (text := self._read_rules(_join(folder, name), tree)) is not None:
                rules = rules.with_file(name, folder, text)
        for entry in entries:
            self._enter(entry, _join(folder, entry.name), FolderRules(rules, tracked_only), tree, depth, unless)

    def _enter(self, entry: os.DirEntry[str], path: str, rules: FolderRules, tree: FileTree, depth: int, unless: AbstractSet[str]) -> None:
        try:
            is_link, is_folder = entry.is_symlink(), entry.is_dir(follow_symlinks=False)
        except OSError as error:
            tree.skipped.append(Skipped(path, f"cannot be looked at: {error.strerror or error}"))
            return
        if is_folder and path in unless:
            return
        reason, tracked_only = ("a symbolic link", False) if is_link else self._judge(path, rules, is_folder=is_folder)
        if reason is not None:
            tree.skipped.append(Skipped(path + "/" if is_folder else path, reason))
        elif is_folder and depth >= MAX_DEPTH:
            tree.skipped.append(Skipped(path + "/", f"more than {MAX_DEPTH} folders deep"))
        elif is_folder:
            self._visit(path, FolderRules(rules.rules, tracked_only), tree, depth + 1)
        else:
            self._take(entry, path, tree)

    def _take(self, entry: os.DirEntry[str], path: str, tree: FileTree) -> None:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError as error:
            tree.skipped.append(Skipped(path, f"cannot be looked at: {error.strerror or error}"))
            return
        if stat.S_ISREG(found.st_mode) and found.st_size <= read_limit(path, self._max_file_bytes):
            tree.files[path] = _state(found, self._now_ns)
        else:
            tree.skipped.append(Skipped(path, self._unfit(path, found)))

    def _unfit(self, path: str, found: os.stat_result) -> str:
        if stat.S_ISLNK(found.st_mode):
            return "a symbolic link"
        return "not a regular file" if not stat.S_ISREG(found.st_mode) else f"larger than {read_limit(path, self._max_file_bytes)} bytes"

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
