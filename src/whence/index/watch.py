"""Following a tree: whether anything that matters has changed, as the kernel noted it, or found by looking now and then.

The kernel notes a change before the call that made it returns, and keeps the
note until somebody reads it. So there is no thread here and no time between an
edit and the answer; while nobody asks, nothing runs. Watched are the folders that
the indexer walks and no others, one by one, and the few in which git says which
commit is checked out. What is noted is sifted by the indexer's own rules.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from whence.index.writer import IndexWriter
from whence.source import git
from whence.source.ignore import RULE_FILES
from whence.source.walk import FileTree, Walker

if TYPE_CHECKING:
    from typing_extensions import Self

# From <sys/inotify.h>, the same on every Linux.
_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED, _CREATE, _DELETE = 0x2, 0x4, 0x8, 0xC0, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
_ONLY_FOLDERS, _NO_LINKS, _NOT_UNLINKED = 0x1000000, 0x2000000, 0x4000000
#: What is noted of a folder: everything that can change what is read from it, and nothing of who only reads.
_NOTED = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF | _ONLY_FOLDERS | _NO_LINKS | _NOT_UNLINKED
)
_FOLDER_ITSELF = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _IGNORED
_HEADER = struct.Struct("iIII")
_READ_BYTES = 1 << 18
#: File systems (by the beginnings of their names) that others may write to without this kernel noting it.
_WRITTEN_ELSEWHERE = tuple("nfs cifs smb 9p fuse virtiofs ceph afs lustre gpfs gluster vboxsf vmhgfs prl_fs drvfs".split())


class FileEvent(NamedTuple):
    """What the kernel noted: in which watched folder, what, and the name of the entry (empty: the folder itself)."""

    watch: int
    what: int
    name: str


class Inotify:
    """The kernel's notes of changes in some folders (inotify): one open handle, whatever their number."""

    def __init__(self) -> None:
        import ctypes  # noqa: PLC0415  -- only who follows a tree needs it

        self._libc, self._errno = ctypes.CDLL(None, use_errno=True), ctypes.get_errno
        self.handle = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def _checked(self, result: int, path: str | None = None) -> int:
        if result < 0:
            code = self._errno()
            raise OSError(code, os.strerror(code), path)
        return result

    def add(self, path: str) -> int:
        """Have changes in a folder noted; the number that its notes bear."""
        return self._checked(self._libc.inotify_add_watch(self.handle, os.fsencode(path), _NOTED), path)

    def remove(self, watch: int) -> None:
        """Have nothing more noted of a folder."""
        self._libc.inotify_rm_watch(self.handle, watch)  # fails where the folder is gone, and its watch with it

    def read(self) -> Iterator[FileEvent]:
        """All that was noted since the last time, in order."""
        while True:
            try:
                raw = os.read(self.handle, _READ_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(raw):
                watch, what, _, length = _HEADER.unpack_from(raw, at)
                at += _HEADER.size + length
                yield FileEvent(watch, what, os.fsdecode(raw[at - length : at].rstrip(b"\0")))

    def close(self) -> None:
        """Forget everything."""
        with suppress(OSError):
            os.close(self.handle)


class TreeWatcher:
    """Says whether a tree may have changed since it was last asked. For one thread.

    `changed` first, then look at the tree or refresh the index: what changes
    meanwhile is said the next time. The folders to watch are those of
    `index.tree`, so after each look the follower knows new ones by itself.
    """

    def __init__(self, index: IndexWriter) -> None:
        self._index, self._root = index, str(index.root).rstrip("/")
        self._walker: Walker | None = None  # with the rules that hold now
        self._notes: Inotify | None = None
        self._watches: dict[str, int] = {}  # by full path
        self._places: dict[int, dict[str, str | None]] = {}  # watch -> full paths, each with its path in the tree (None: one of git's)
        self._tree: FileTree | None = None  # the one whose folders are watched
        self._head: git.Head | None = None
        self._identity: tuple[int, int] | None = None
        self._doubt = True
        self.polling_reason = ""  # why the tree has to be looked through instead of being watched; empty when it is watched

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def handle(self) -> int | None:
        """What to wait on for something to be noted, where the tree is watched."""
        return self._notes.handle if self._notes is not None else None

    @property
    def folder_count(self) -> int:
        """How many folders are watched."""
        return len(self._watches)

    def start(self) -> None:
        """Begin to watch. Done by the first `changed`, too; its answer is True."""
        if self._notes is not None or self.polling_reason:
            return
        if sys.platform != "linux":
            self.polling_reason = "this system does not tell of changes in a way that can be relied on"
        elif kind := shared_file_system(self._root, self._index.tree.folders, _mounts()):
            self.polling_reason = f"it is on a file system ({kind}) that may be changed from elsewhere"
        else:
            try:
                self._notes = Inotify()
            except OSError as error:
                self._give_up(error)
            else:
                self._identity = self._root_now()
                self._follow(self._index.tree)

    def _root_now(self) -> tuple[int, int] | None:
        """Which folder is where the root is; asked each time, because nothing is noted when a folder above gets another name."""
        try:
            found = self._index.root.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def has_changed(self) -> bool:
        """Whether anything that matters may have changed since this was last asked; True when that cannot be known."""
        if self._notes is not None and self._identity != self._root_now():
            self.close()  # another folder is where the root was: what is watched is elsewhere now
        self.start()
        changed = self._read()
        if self._tree is not self._index.tree and not self.polling_reason:
            self._follow(self._index.tree)
        changed, self._doubt = changed or self._doubt, False
        return changed

    def mark_changed(self) -> None:
        """Have the next answer be True: what changed could not be taken in."""
        self._doubt = True

    def close(self) -> None:
        """Stop watching."""
        if self._notes is not None:
            self._notes.close()
        self._notes, self._tree, self._doubt = None, None, True
        self._watches.clear()
        self._places.clear()

    def _give_up(self, error: OSError) -> None:
        """Look through the tree from now on; a part that is watched is no help."""
        self.close()
        full = error.errno in (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
        self.polling_reason = f"the system gives no more watches: {error.strerror}" if full else f"it cannot be watched: {error}"

    # Which folders are watched.
    def _follow(self, tree: FileTree) -> None:
        """Watch the folders of a tree and no others. What was in a new one before it was watched has to be looked at again."""
        self._walker = None
        before, self._tree = self._tree, tree
        if before is not None and before.folders.keys() == tree.folders.keys():
            return
        wanted = self._folders_to_watch(tree)
        most = self._index.settings.watch.max_folders
        if len(wanted) > most:
            self.close()
            self.polling_reason = f"it has {len(wanted)} folders to watch, and watch.max_folders is {most}"
            return
        for path in self._watches.keys() - wanted.keys():
            self._drop(path)
        for path in wanted.keys() - self._watches.keys():
            self._add(path, wanted[path])
        if self._commit_moved():
            self._doubt = True

    def _folders_to_watch(self, tree: FileTree) -> dict[str, str | None]:
        ours = str(self._index.layout.directory)  # an index inside its tree is written by the refresh itself
        wanted: dict[str, str | None] = {}
        for folder in tree.folders:
            path = f"{self._root}/{folder}" if folder else self._root or "/"
            if not f"{path}/".startswith(f"{ours}/"):
                wanted[path] = folder
        return {**dict.fromkeys(git.watch_folders(self._index.root)), **wanted}

    def _add(self, path: str, folder: str | None) -> None:
        if self._notes is None:
            return
        self._doubt = self._doubt or folder is not None
        try:
            watch = self._notes.add(path)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                self._give_up(error)
            self._tree = None  # gone meanwhile: the next look will tell, and if it is there again, it is to be watched
            return
        self._watches[path] = watch
        self._places.setdefault(watch, {})[path] = folder  # two paths of one folder (a bind mount) share their watch

    def _drop(self, path: str) -> None:
        watch = self._watches.pop(path)
        del self._places[watch][path]
        if not self._places[watch]:
            del self._places[watch]
            if self._notes is not None:
                self._notes.remove(watch)

    # What the kernel noted.
    def _read(self) -> bool:
        """Whether among the notes is one that matters."""
        if self._notes is None:
            return True
        matters = of_git = of_git_index = False
        try:
            for note in self._notes.read():
                if note.what & _OVERFLOW:
                    self.close()
                    self.start()
                    return True
                for path, folder in list(self._places.get(note.watch, {}).items()):
                    if note.what & _FOLDER_ITSELF:
                        self._tree = None  # the folder went away, or has another name
                        for other in [other for other in self._watches if f"{other}/".startswith(f"{path}/")]:
                            self._drop(other)
                    if folder is None or (not folder and note.name == ".git"):
                        of_git, of_git_index = True, of_git_index or note.name == "index"
                        matters = matters or note.name in (".git", "info", "exclude")  # with them come rules
                    else:
                        matters = matters or bool(note.what & _FOLDER_ITSELF) or self._matters(folder, note.name)
        except OSError as error:
            self._give_up(error)
            return True
        return (of_git and self._commit_moved()) or (of_git_index and self._tracking_moved()) or matters

    def _matters(self, folder: str, name: str) -> bool:
        """Whether the indexer would see a difference when this entry of a walked folder changed."""
        tree = self._index.tree
        path = f"{folder}/{name}" if folder and name else folder or name
        if name in RULE_FILES:
            self._walker = None
            return True
        if path in tree.files or path in tree.folders:
            return bool(name) or not folder  # what is noted of a folder itself is also noted in the one above
        return self._current_walker().would_include(path)

    def _current_walker(self) -> Walker:
        if self._walker is None:
            chosen = self._index.settings.index
            self._walker = Walker(str(self._index.root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=0)
        return self._walker

    def _tracking_moved(self) -> bool:
        """Whether git tracks other files now, of those that are walked only for that."""
        self._walker = None
        return self._current_walker().tracking_changed(self._index.tree)

    def _commit_moved(self) -> bool:
        for place in git.watch_folders(self._index.root):
            if place not in self._watches:
                self._add(place, None)
        before, self._head = self._head, git.read_head(self._index.root)
        return before != self._head


def shared_file_system(root: str, folders: Collection[str], mounts: str) -> str:
    """The kind of file system of a root, or of one of its folders, when others may write to it unnoted; else empty.

    `mounts` is what Linux says in /proc/self/mountinfo.
    """
    kinds: dict[str, str] = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        kinds[before.split()[4].replace("\\040", " ")] = after.split()[0]  # the last mount on a place hides the others
    around = [place for place in kinds if f"{root}/".startswith(f"{place.rstrip('/')}/")]
    inside = [place for place in kinds if place.startswith(f"{root}/") and place[len(root) + 1 :] in folders]
    places = [max(around, key=len), *inside] if around else inside
    return next((kinds[place] for place in places if kinds[place].startswith(_WRITTEN_ELSEWHERE)), "")


def _mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
