"""A file that is whole gets its name: one that nothing has yet, or that of an older file of its kind."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whence.core.errors import StorageError

#: What is said by disks that cannot give a file two names.
NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


def link_new(part: Path, path: Path) -> None:
    """Give a file a name that nothing has yet, or raise FileExistsError."""
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        part.rename(path)


def write_atomically(place: Path, text: str) -> None:
    """Put a small file in the place of an older one, and take away what others were killed over.

    Whose own is taken away meanwhile has written nothing: this is for hints that can be written again.
    """
    beside = place.with_name(f"{place.name}-{os.urandom(4).hex()}.part")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(place)
    finally:
        remove_part_files(place)


def remove_part_files(place: Path) -> None:
    """Take away what was begun to be put in a place and never got its name."""
    for left in place.parent.glob(f"{place.name}-*.part"):
        left.unlink(missing_ok=True)


#: What a file is called before it is whole.
PART = re.compile(r"\.write-[0-9a-f]{16}\.part")
#: Seconds after which a file that is not whole has no writer any more.
ABANDONED_SECONDS = 3_600.0
#: An earlier version of a note.
_VERSION = re.compile(r"(\d{4,9})\.md")
_POLL_SECONDS = (0.001, 0.02)
_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room; all notes are as they were"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "check who may read and write there"),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR), "something else lies where a folder of notes should be"),
}


@contextmanager
def storage_errors(doing: str, where: str) -> Iterator[None]:
    """Turn what the disk says into one line."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot {doing} {where}: {error.strerror or error}", hint=_HINTS.get(error.errno or 0, "")) from error


@contextmanager
def part_file(place: Path, data: bytes) -> Iterator[Path]:
    """A file in a folder, whole and on the disk, with a name that does not count; gone afterwards, unless it was renamed."""
    part = place / f".write-{os.urandom(8).hex()}.part"
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield part
    finally:
        with suppress(OSError):
            part.unlink()


def remove_abandoned(place: Path, before: float) -> int:
    """Delete what killed writers have left in a folder, if it was last written before a time; how many files those were."""
    gone = 0
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if PART.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < before:
                Path(entry.path).unlink(missing_ok=True)
                gone += 1
    return gone


def link_or_copy(path: Path, target: Path) -> None:
    """Give a file another name under which it stays when the first goes to another file; where that cannot be, copy it."""
    try:
        if not path.is_symlink():
            os.link(path, target)
            return
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
    with part_file(path.parent, path.read_bytes()) as part:
        part.rename(target)


def make_private_folder(place: Path) -> None:
    """Make a folder, and those above it, unless it is there; on the disk, and for its owner only."""
    if place.is_dir():
        return
    if place.parent != place:
        make_private_folder(place.parent)
    place.mkdir(0o700, exist_ok=True)
    sync_folder(place.parent)


def sync_folder(place: Path) -> None:
    """Have the names in a folder on the disk, where the file system knows of such a thing."""
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


def is_same_file(path: Path, other: Path | int) -> bool:
    """Whether two names, or a name and an open file, are one file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(other) if isinstance(other, int) else other.stat())
    except OSError:
        return False


def version_names(history: Path) -> list[str]:
    """The names of what is in the history of a note, oldest first."""
    names = [path.name for path in history.iterdir()] if history.is_dir() else []
    return sorted(filter(_VERSION.fullmatch, names), key=lambda name: int(name.partition(".")[0]))


def remove_if_empty(*places: Path) -> None:
    """Remove folders, one after the other, as far as nothing is in them."""
    for place in places:
        with suppress(OSError):
            place.rmdir()


@contextmanager
def file_lock(path: Path, wait: float) -> Iterator[None]:
    """Be the only one who holds a lock. It belongs to an open file, so it ends with its process, however that ends."""
    import fcntl  # noqa: PLC0415  -- readers need none

    handle = _lock_file(path)
    waited, pause = 0.0, _POLL_SECONDS[0]
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if waited >= wait:
                    message = f"another process has held {path} for {waited:.0f} s"
                    raise StorageError(message, hint="try again, or end that process if it hangs") from None
                time.sleep(pause)
                waited, pause = waited + pause, min(pause * 2, _POLL_SECONDS[1])
                continue
            if is_same_file(path, handle):
                break
            os.close(handle)  # it was deleted meanwhile: another may hold the lock under the same name
            handle = _lock_file(path)
        yield
    finally:
        os.close(handle)


def _lock_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
