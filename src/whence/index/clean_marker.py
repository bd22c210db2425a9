"""Whether a database may be trusted without reading all of it: it is as its last user left it, and was verified not long ago.

The seal is a hint, kept beside the database: a wrong one costs a verification, never an answer.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from whence.core.errors import ColumnsDamaged, IndexDamaged, VectorsDamaged
from whence.index.layout import Layout
from whence.index.store import COLUMNS, FORMAT, IndexStore
from whence.storage.arrayfile import Stamp, checksum_of
from whence.storage.files import write_atomically


@dataclass(frozen=True, slots=True)
class CleanMarker:
    """The state of a database when it was last closed, and when everything was last compared with its checksums."""

    size: int
    mtime_ns: int
    inode: int
    verified: float

    @classmethod
    def of(cls, path: Path, verified: float) -> CleanMarker:
        """A seal for a database as it is now."""
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ino, verified)


def read_marker(place: Path) -> CleanMarker | None:
    """What the last user of a database left, where there is such; only a file is read, for to open a FIFO is to wait."""
    try:
        return CleanMarker(**json.loads(place.read_text(encoding="utf-8"))) if place.is_file() else None
    except (OSError, ValueError, TypeError):
        return None


def mark_clean(layout: Layout, verified: float) -> None:
    """Note that a database is as it should be; where nothing can be written it is verified again next time."""
    with suppress(OSError):
        seal = CleanMarker.of(layout.database, verified)
        if seal != read_marker(layout.clean_marker_file):
            write_marker(seal, layout.clean_marker_file)


def write_marker(seal: CleanMarker, place: Path) -> None:
    """Write a seal; whose own is lost meanwhile seals it next time."""
    write_atomically(place, json.dumps(asdict(seal)))


def check(layout: Layout, store: IndexStore, now: float, verify_after: float) -> float:
    """When the index was last verified as a whole, which may be now; raises IndexDamaged where it is not what was written.

    A database that is not as it was left (its last user was killed, another program wrote it) is read row by row; what
    was last verified too long ago is compared with its checksums, derived files too.
    """
    made = store.meta().get("format")
    if made is not None and made != str(FORMAT):
        return 0.0  # of another version, which may have had no checksums: it is made anew
    seal = read_marker(layout.clean_marker_file)
    recent = seal is not None and 0 <= now - seal.verified < verify_after
    if seal is not None and recent and seal == CleanMarker.of(layout.database, seal.verified):
        return seal.verified
    store.read_consistently(lambda: verify(layout, store, derived=not recent))
    return seal.verified if seal is not None and recent else now


def verify(layout: Layout, store: IndexStore, *, derived: bool = True) -> None:
    """Compare an index with its checksums; raises IndexDamaged where it is not what was written."""
    if trouble := store.verify():
        raise IndexDamaged(f"{layout.database.name} is damaged: {trouble[0]}")
    for name, stamp in store.derived_files().items() if derived else ():
        if said := describe_difference(layout.segments / name, stamp):
            raise _damage(name)(f"{name}: {said}")


def _damage(name: str) -> type[IndexDamaged]:
    """What is to be made again when a file is damaged."""
    if name.endswith(".vectors"):
        return VectorsDamaged
    return ColumnsDamaged if name.endswith(tuple(f".{column}" for column in COLUMNS)) else IndexDamaged


def describe_difference(path: Path, stamp: Stamp) -> str:
    """How a derived file differs from what was written; empty when it does not."""
    try:
        size = path.stat().st_size
        if size != stamp.size:
            return f"it has {size} bytes and should have {stamp.size}"
        return "" if checksum_of(path) == stamp.checksum else "its checksum is another"
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
