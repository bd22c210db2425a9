"""Atomic writes and locks: a file appears under its name only when it is complete, and only one process writes at a time."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whence.core.errors import StorageError

#: How file systems refuse a second name for a file.
NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
#: The name of a file until it is complete.
PART = re.compile(r"\.write-[0-9a-f]{16}\.part")
#: An incomplete file of this age has no writer any more.
ABANDONED_SECONDS = 3_600.0
_POLL_SECONDS = (0.001, 0.02)
_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free some space and try again; nothing was changed"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "check who may read and write there"),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR), "something else is where the folder should be"),
}


@contextmanager
def storage_errors(action: str, where: str) -> Iterator[None]:
    """Raise an OSError as a StorageError: cannot write somewhere, why, and what to do."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot {action} {where}: {error.strerror or error}", hint=_HINTS.get(error.errno or 0, "")) from error


# Atomic writes.
@contextmanager
def part_file(folder: Path, data: bytes) -> Iterator[Path]:
    """A complete file, synced to disk, under a temporary name; it is deleted afterwards unless it was renamed."""
    part = folder / f".write-{os.urandom(8).hex()}.part"
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield part
    finally:
        with suppress(OSError):
            part.unlink()


def remove_abandoned(folder: Path, before: float) -> int:
    """Delete incomplete files that were last written before a time; how many there were."""
    removed = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if PART.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < before:
                Path(entry.path).unlink(missing_ok=True)
                removed += 1
    return removed


def write_atomically(path: Path, text: str) -> None:
    """Replace a small file, without syncing it, and delete the incomplete ones of killed writers.

    For hints that can be written again: of two writers at once, one may lose its file.
    """
    part = path.with_name(f"{path.name}-{os.urandom(4).hex()}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    finally:
        remove_part_files(path)


def remove_part_files(path: Path) -> None:
    """Delete what `write_atomically` left when it was killed."""
    for part in path.parent.glob(f"{path.name}-*.part"):
        part.unlink(missing_ok=True)


def link_new(part: Path, path: Path) -> None:
    """Give a file a name that must not exist yet, or raise FileExistsError."""
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        part.rename(path)


def link_or_copy(path: Path, target: Path) -> None:
    """Give a file a second name, which it keeps when the first is replaced; where links are impossible, copy it."""
    try:
        if not path.is_symlink():
            os.link(path, target)
            return
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
    with part_file(path.parent, path.read_bytes()) as part:
        part.rename(target)


def is_same_file(path: Path, other: Path | int) -> bool:
    """Whether a path and another path, or an open file, are one file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(other) if isinstance(other, int) else other.stat())
    except OSError:
        return False


# Folders.
def make_private_folder(folder: Path) -> None:
    """Make a folder and its parents, for their owner only, synced to disk."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_private_folder(folder.parent)
    folder.mkdir(0o700, exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, where the file system can."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


def remove_if_empty(*folders: Path) -> None:
    """Remove those of some folders that are empty, in the order given."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


# Locks.
def try_lock(path: Path) -> int | None:
    """Lock a file, made if needed, or a folder. Returns an open handle that holds the lock, or None while another process does.

    The kernel releases the lock when its process ends, however it ends. Some network file systems cannot lock folders; there
    a folder always counts as locked.
    """
    import fcntl  # noqa: PLC0415  -- readers need no lock

    is_folder = path.is_dir()
    handle = os.open(path, os.O_CLOEXEC | (os.O_RDONLY | os.O_DIRECTORY if is_folder else os.O_RDWR | os.O_CREAT), 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError as error:
        if not is_folder:
            os.close(handle)
            raise StorageError(f"cannot lock {path}: {error.strerror}", hint="set WHENCE_DATA_DIR to a local folder") from error
    if not is_same_file(path, handle):  # deleted meanwhile: another process may hold the lock under the same name
        os.close(handle)
        return None
    return handle


@contextmanager
def file_lock(path: Path, wait: float) -> Iterator[None]:
    """Hold a lock, waiting for it at most so many seconds."""
    waited, pause = 0.0, _POLL_SECONDS[0]
    while (handle := try_lock(path)) is None:
        if waited >= wait:
            raise StorageError(f"another process has held {path} for {waited:.0f} s", hint="try again, or end that process if it hangs")
        time.sleep(pause)
        waited, pause = waited + pause, min(pause * 2, _POLL_SECONDS[1])
    try:
        yield
    finally:
        os.close(handle)
