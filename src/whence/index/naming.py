"""A file that is whole gets its name: never in place of another."""

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
