"""Whether an index on disk is what was written, by checksum, and what to save from a damaged one."""

from __future__ import annotations

from pathlib import Path

from whence.core.errors import ColumnsDamaged, IndexDamaged, StorageError, VectorsDamaged
from whence.core.types import RUNTIME, Edge
from whence.index.layout import Layout, read_marker
from whence.index.store import COLUMNS, IndexStore
from whence.storage.arrayfile import Stamp, checksum_of


def verify_as_due(layout: Layout, store: IndexStore, now: float, verify_after: float) -> float:
    """When the index was last verified as a whole, which may be now. Raises IndexDamaged if it is not what was written.

    The database is verified row by row; if the last full verification is too long ago, the derived files are verified too.
    """
    marker = read_marker(layout.clean_marker_file)
    recent = marker is not None and 0 <= now - marker.verified < verify_after
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
