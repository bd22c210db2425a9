"""Whether an index on disk is what was written: the clean marker, verification by checksum, and what to save from a damaged one.

The clean marker says that the database is as its last user left it, and when everything was last verified. It is only a
hint: a wrong one costs a verification, never an answer.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from whence.core.errors import ColumnsDamaged, IndexDamaged, StorageError, VectorsDamaged
from whence.core.types import RUNTIME, Edge
from whence.index.layout import Layout
from whence.index.store import COLUMNS, FORMAT, IndexStore
from whence.storage.arrayfile import Stamp, checksum_of
from whence.storage.files import write_atomically


@dataclass(frozen=True, slots=True)
class CleanMarker:
    """The state of a database when it was last closed, and when everything was last verified."""

    size: int
    mtime_ns: int
    inode: int
    verified: float

    @classmethod
    def of(cls, path: Path, verified: float) -> CleanMarker:
        """A marker for a database as it is now."""
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ino, verified)


def read_marker(path: Path) -> CleanMarker | None:
    """The marker that the last user of a database left, if any. Only a regular file is opened: a FIFO would block."""
    try:
        return CleanMarker(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None
    except (OSError, ValueError, TypeError):
        return None


def write_marker(marker: CleanMarker, path: Path) -> None:
    """Write a marker."""
    write_atomically(path, json.dumps(asdict(marker)))


def mark_clean(layout: Layout, verified: float) -> None:
    """Mark the database of an index as clean. If that fails, it is verified again next time."""
    with suppress(OSError):
        marker = CleanMarker.of(layout.database, verified)
        if marker != read_marker(layout.clean_marker_file):
            write_marker(marker, layout.clean_marker_file)


def verify_if_due(layout: Layout, store: IndexStore, now: float, verify_after: float) -> float:
    """When the index was last verified as a whole, which may be now. Raises IndexDamaged if it is not what was written.

    A database that is not as it was left (a user was killed, another program wrote to it) is verified row by row; if the
    last full verification is too long ago, the derived files are verified too.
    """
    built_with = store.meta().get("format")
    if built_with is not None and built_with != str(FORMAT):
        return 0.0  # another version may have had no checksums; the index is rebuilt anyway
    marker = read_marker(layout.clean_marker_file)
    recent = marker is not None and 0 <= now - marker.verified < verify_after
    if marker is not None and recent and marker == CleanMarker.of(layout.database, marker.verified):
        return marker.verified
    store.read_consistently(lambda: verify(layout, store, derived=not recent))
    return marker.verified if marker is not None and recent else now


def verify(layout: Layout, store: IndexStore, *, derived: bool = True) -> None:
    """Compare an index with its checksums; raises IndexDamaged if it is not what was written."""
    if damage := store.verify():
        raise IndexDamaged(f"{layout.database.name} is damaged: {damage[0]}")
    for name, stamp in store.derived_files().items() if derived else ():
        if difference := describe_difference(layout.segments / name, stamp):
            raise _damage_of(name)(f"{name}: {difference}")


def _damage_of(name: str) -> type[IndexDamaged]:
    """The error for a damaged file, which says what has to be made again."""
    if name.endswith(".vectors"):
        return VectorsDamaged
    return ColumnsDamaged if name.endswith(tuple(f".{column}" for column in COLUMNS)) else IndexDamaged


def describe_difference(path: Path, stamp: Stamp) -> str:
    """How a derived file differs from what was written; empty if it does not."""
    try:
        size = path.stat().st_size
        if size != stamp.size:
            return f"it has {size} bytes instead of {stamp.size}"
        return "" if checksum_of(path) == stamp.checksum else "it does not match its checksum"
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        return f"it cannot be read: {error.strerror}"


# Repair.
def rescue_edges(store: IndexStore | None, root: str) -> tuple[list[Edge], bool]:
    """The edges observed at run time that can still be read, and whether those are all: no file could give them back."""
    if store is None:
        return [], False
    try:
        if store.meta().get("root") != root:  # the database of another index
            return [], False
        return store.edges(RUNTIME, intact=True), not store.verify()
    except StorageError:
        return [], False


def delete_files(layout: Layout) -> None:
    """Delete the database and all derived files. Folders are not ours, and stay."""
    for path in (layout.database, *layout.directory.glob(f"{layout.database.name}-*")):
        path.unlink(missing_ok=True)
    for path in layout.segments.glob("*"):
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
