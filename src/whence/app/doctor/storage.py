"""Where indexes lie: whether the folder can be written, what is in it, and who is writing."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whence.app.doctor.finding import FAILED, OK, SKIPPED, WARNING, Finding, megabytes, some_of
from whence.app.doctor.index_files import opened
from whence.context.feedback.store import FILE_NAME as LEARNED
from whence.index.layout import Layout

#: Less space than this and nothing can be indexed; less than the other and a large index may not fit.
NO_SPACE, LITTLE_SPACE = 20_000_000, 500_000_000
#: A writer that has been at it for longer than this is worth a look.
LONG_SECONDS = 900.0
ELSEWHERE = "set WHENCE_DATA_DIR to a folder you can write to"
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """The folder of one index: of which root, how large, and whether that root is gone."""

    path: Path
    root: str  # empty when it cannot be told
    bytes: int
    gone: bool


def data_folder(data_dir: Path, folders: list[IndexFolder]) -> Iterator[Finding]:
    """Whether the folder of all indexes can be written, and how much room there is."""
    place = _nearest(data_dir)
    if not place.is_dir():
        yield Finding("data folder", FAILED, f"{data_dir} cannot be used: {place} is a file", ELSEWHERE)
        return
    usage, total = shutil.disk_usage(place), sum(one.bytes for one in folders)
    facts = {"path": str(data_dir), "free_bytes": usage.free, "indexes": len(folders), "index_bytes": total}
    count = f"{len(folders)} {'index' if len(folders) == 1 else 'indexes'}"
    here = (
        f"{data_dir}: {count}, {megabytes(total)}; {megabytes(usage.free)} free"
        if place == data_dir
        else (f"{data_dir} is not there yet; {megabytes(usage.free)} free")
    )
    if not os.access(place, os.R_OK):
        yield Finding("data folder", FAILED, f"{place} cannot be read: permission denied", ELSEWHERE, facts=facts)
    elif not os.access(place, os.W_OK | os.X_OK):
        read_only = bool(os.statvfs(place).f_flag & os.ST_RDONLY)
        why = "it is on a file system that is read-only" if read_only else "permission denied"
        yield Finding("data folder", FAILED, f"{place} cannot be written: {why}; what is indexed can still be read", ELSEWHERE, facts=facts)
    elif usage.free < NO_SPACE or _no_inodes(place):
        yield Finding(
            "data folder", FAILED, f"{here}: the disk is full", "free some space; indexes that are there still answer", facts=facts
        )
    elif usage.free < max(LITTLE_SPACE, max((one.bytes for one in folders), default=0)):
        yield Finding("data folder", WARNING, f"{here}: little room", "free some space, or whence clear what is not needed", facts=facts)
    else:
        yield Finding("data folder", OK, here, facts=facts)


def exposed(*places: Path) -> Iterator[Finding]:
    """Whether others can change what lies in a folder of the user's: what is read there is believed, grammars are run."""
    told, hints = [], []
    for place in places:
        try:
            found = place.stat()
        except OSError:
            continue  # not there: it will be made for its owner only
        if found.st_uid not in (os.geteuid(), 0):
            told.append(f"{place} belongs to another user")
            hints.append("choose a folder of your own with WHENCE_DATA_DIR or memory.directory")
        elif found.st_mode & stat.S_IWOTH:
            told.append(f"{place} can be written by everybody")
            hints.append(f"chmod go-w {place}")
    if told:
        yield Finding("privacy", WARNING, "; ".join(told), "; ".join(dict.fromkeys(hints)))
    else:
        yield Finding("privacy", OK, "nobody else can change what is kept")


def _nearest(path: Path) -> Path:
    return next((one for one in (path, *path.parents) if os.path.lexists(one)), Path("/"))


def _no_inodes(place: Path) -> bool:
    found = os.statvfs(place)
    return found.f_files > 0 and found.f_favail == 0


def index_folders(data_dir: Path) -> list[IndexFolder]:
    """Every index in the data folder, by name."""
    place = data_dir / "indexes"
    try:
        found = sorted(path for path in place.iterdir() if path.is_dir())
    except OSError:
        return []  # there is none, or it may not be read: the check of the folder says so
    return [_index_folder(data_dir, path) for path in found]


def _index_folder(data_dir: Path, path: Path) -> IndexFolder:
    root = _root_of(data_dir, path)
    return IndexFolder(path, str(root) if root else "", _size(path), gone=root is not None and _is_gone(root))


def _size(path: Path) -> int:
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue  # removed at this moment
    return total


def _root_of(data_dir: Path, path: Path) -> Path | None:
    """The root of an index, if the name of its folder confirms it: names that are no Unicode are noted with escapes."""
    try:
        with opened(path / "truth.db") as db:
            noted = db.execute("SELECT value FROM meta WHERE key = 'root'").fetchone()
    except (sqlite3.Error, OSError, UnicodeDecodeError):
        return None
    told = str(noted[0]) if noted else ""
    raw = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), told.encode("utf-8", "surrogateescape"))
    candidates = [Path(told), Path(os.fsdecode(raw))] if told else []
    return next((one for one in candidates if Layout(data_dir, one).directory.name == path.name), None)


def _is_gone(root: Path) -> bool:
    """Whether a folder was deleted; where it may lie on a disk that is not mounted, it is not said to be gone."""
    try:
        os.lstat(root)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            return False
    else:
        return False
    above = _nearest(root.parent)
    try:
        return next(above.iterdir(), None) is not None if above.is_dir() else True
    except OSError:
        return False


def orphans(folders: list[IndexFolder]) -> Iterator[Finding]:
    """Indexes of folders that are no more."""
    lost = sorted((one for one in folders if one.gone), key=lambda one: -one.bytes)
    facts = {"orphans": [{"path": str(one.path), "root": one.root, "bytes": one.bytes} for one in lost]}
    if lost:
        said = f"{len(lost)} of {len(folders)} are of folders that are gone, {megabytes(sum(one.bytes for one in lost))}"
        details = tuple(f"{one.root}: {megabytes(one.bytes)} in {one.path}" for one in lost[:10])
        yield Finding("orphans", WARNING, said, "whence doctor --fix removes them; what was learned from use stays", details, facts)
    else:
        yield Finding("orphans", OK, "no index is of a folder that is gone", facts=facts)


def remove_orphans(folders: list[IndexFolder]) -> list[str]:
    """Remove the indexes of folders that are gone, all but what was learned from use; what was done, line by line."""
    said = []
    for one in folders:
        if not one.gone:
            continue
        if lock_of(one.path / "writer.lock").held:
            said.append(f"kept {one.path}: a process is writing it")
            continue
        learned = [path for path in one.path.iterdir() if path.name.startswith(LEARNED)]
        for path in sorted(one.path.iterdir()):
            if path not in learned:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        if learned:
            said.append(f"removed the index of {one.root}; kept {one.path / LEARNED}: what was learned from use")
        else:
            one.path.rmdir()
            said.append(f"removed the index of {one.root}: {one.path}")
    return said


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock of a writer: whether it is held, and what the last writer noted in it."""

    held: bool
    pid: int = 0  # 0 when nothing is noted
    since: float = 0.0


def lock_of(path: Path) -> Lock:
    """Ask the kernel whether a lock is held, and read who noted themselves in it. It is never taken from anybody."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return Lock(held=False)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            held = False
        except BlockingIOError:
            held = True
        noted = os.pread(handle, 4_096, 0)
    finally:
        os.close(handle)
    try:
        found = json.loads(noted)
        return Lock(held, int(found["pid"]), float(found["since"]))
    except (ValueError, KeyError, TypeError):
        return Lock(held)


def writers_lock(layout: Layout, now: float) -> Iterator[Finding]:
    """Who is writing the index, if anybody is."""
    lock = lock_of(layout.lock_file)
    age = max(now - lock.since, 0.0)
    facts = {"held": lock.held, "pid": lock.pid or None, "seconds": round(age, 1) if lock.pid else None}
    if not lock.held and lock.pid:
        said = f"free; process {lock.pid}, the last to hold it, {'ended' if not is_alive(lock.pid) else 'let go'} before it was done"
        yield Finding("lock", OK, f"{said}: the next search goes on where it stopped", facts=facts)
    elif not lock.held:
        yield Finding("lock", OK, "free", facts=facts)
    elif not lock.pid or not is_alive(lock.pid):
        yield Finding(
            "lock", WARNING, "held by a process that did not note its number", "see with lsof " + str(layout.lock_file), facts=facts
        )
    elif age > LONG_SECONDS:
        hint = f"if it hangs, end it: kill {lock.pid}; what it has finished is kept"
        yield Finding("lock", WARNING, f"process {lock.pid} has been writing the index for {age / 60:.0f} min", hint, facts=facts)
    else:
        yield Finding("lock", OK, f"process {lock.pid} is writing the index, for {age:.0f} s", facts=facts)


def is_alive(pid: int) -> bool:
    """Whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def unreadable(folders: list[IndexFolder]) -> Iterator[Finding]:
    """Other indexes of which not even the root can be read."""
    lost = [one.path.name for one in folders if not one.root and (one.path / "truth.db").exists()]
    if lost:
        yield Finding("other indexes", SKIPPED, f"{len(lost)} do not say of which folder they are: {some_of(lost)}")
