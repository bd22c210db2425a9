"""A file that is whole gets its name: one that nothing has yet, or that of an older file of its kind."""

from __future__ import annotations

import errno
import os
from pathlib import Path

#: What is said by disks that cannot give a file two names.
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


def give_name(part: Path, path: Path) -> None:
    """Give a file a name that nothing has yet, or raise FileExistsError."""
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        part.rename(path)


def put_whole(place: Path, text: str) -> None:
    """Put a small file in the place of an older one, and take away what others were killed over.

    Whose own is taken away meanwhile has written nothing: this is for hints that can be written again.
    """
    beside = place.with_name(f"{place.name}-{os.urandom(4).hex()}.part")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(place)
    finally:
        remove_parts(place)


def remove_parts(place: Path) -> None:
    """Take away what was begun to be put in a place and never got its name."""
    for left in place.parent.glob(f"{place.name}-*.part"):
        left.unlink(missing_ok=True)
