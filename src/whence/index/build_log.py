"""The build log: the last builds of an index. Nothing depends on it: it may be missing, damaged or not writable."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from whence.core.types import RefreshSummary
from whence.core.version import __version__
from whence.index.store import IndexStore
from whence.storage.files import remove_part_files, write_atomically

MAX_RECORDS = 100
#: Only so much of the end of the file is read; a line has a few hundred bytes.
MAX_LOG_BYTES = 100_000
MAX_REASON_CHARACTERS = 200
KINDS = BUILT, REFRESHED, REPAIRED, ADOPTED = ("built", "refreshed", "repaired", "adopted")


class BuildCause(NamedTuple):
    """Why an index was written: one of the kinds, and a reason."""

    what: str
    because: str = ""


@dataclass(frozen=True, slots=True)
class BuildRecord:
    """One build, refresh, repair or reuse of an index."""

    at: float  # when it ended, in seconds since 1970
    seconds: float  # from taking the write lock to an index that can be searched
    what: str  # built, refreshed, repaired or adopted
    because: str = ""
    added: int = 0  # files
    changed: int = 0  # files
    removed: int = 0  # files
    known: int = 0  # of those added or changed, the ones whose content was indexed already, here or in another tree
    bytes: int = 0  # of source that was read
    files: int = 0  # searchable afterwards
    units: int = 0
    skipped: int = 0  # files and folders left out
    version: str = __version__  # of whence


@dataclass(frozen=True, slots=True)
class BuildBaseline:
    """What an index contained before a build."""

    files: int
    derived: frozenset[str]
    whole: bool  # whether a build was ever completed

    @classmethod
    def of(cls, store: IndexStore) -> BuildBaseline:
        """The current state."""
        return cls(store.count_files()[0], frozenset(store.derived_files()), "indexed_at" in store.meta())

    def cause(self, adopted: str, repaired: str, otherwise: str) -> BuildCause:
        """Why it is written: where it was reused from, what was damaged, how it was built differently before; each may be empty."""
        if repaired:
            return BuildCause(REPAIRED, repaired)
        if adopted:
            return BuildCause(ADOPTED, f"from {adopted}")
        if self.whole and not otherwise:
            return BuildCause(REFRESHED)
        return BuildCause(
            BUILT, f"it was made with {otherwise}" if otherwise else "goes on with one that was cut off" if self.files else ""
        )


def record_of_build(
    before: BuildBaseline, store: IndexStore, done: RefreshSummary, cause: BuildCause, *, at: float, seconds: float, units: int
) -> BuildRecord | None:
    """The record of a build; None if it changed nothing."""
    files, unfit = store.count_files()
    if not (done.read or done.reused or done.deleted) and before.derived == frozenset(store.derived_files()):
        return None
    added = max(files - before.files + done.deleted, 0)
    return BuildRecord(
        at=round(at, 3),
        seconds=round(seconds, 3),
        what=cause.what,
        because=" ".join(cause.because.split())[:MAX_REASON_CHARACTERS],
        added=added,
        changed=max(done.read + done.reused - added, 0),
        removed=done.deleted,
        known=done.reused,
        bytes=done.bytes,
        files=files - unfit,
        units=units,
        skipped=unfit + store.count_skipped_places(),
    )


def append_record(place: Path, record: BuildRecord | None) -> None:
    """Append a record and drop the oldest; does nothing where it cannot write."""
    with suppress(OSError):
        if record is None:
            remove_part_files(place)  # of a killed writer
            return
        records = [*read_log(place), record][-MAX_RECORDS:]
        write_atomically(place, "".join(f"{json.dumps(asdict(one))}\n" for one in records))


def read_log(place: Path) -> list[BuildRecord]:
    """The last records, oldest first, without unreadable lines. Only a regular file is read: opening a FIFO would wait."""
    try:
        if not place.is_file():
            return []
        with place.open("rb") as file:
            file.seek(max(place.stat().st_size - MAX_LOG_BYTES, 0))
            lines = file.read(MAX_LOG_BYTES).split(b"\n")
    except OSError:
        return []
    found = (_record(line) for line in lines)
    return [one for one in found if one is not None][-MAX_RECORDS:]


def _record(line: bytes) -> BuildRecord | None:
    try:
        noted = json.loads(line)
        return BuildRecord(**_values(noted)) if isinstance(noted, dict) else None
    except (ValueError, TypeError, RecursionError):
        return None


def _values(noted: Mapping[str, Any]) -> dict[str, Any]:
    """The known fields of a record, converted to their types; those of later versions are ignored."""
    kinds = {"float": float, "int": int, "str": str}
    found: dict[str, Any] = {}
    for one in fields(BuildRecord):
        if one.name in noted:
            found[one.name] = kinds[str(one.type)](noted[one.name])
    if found.get("what") not in KINDS or not all(math.isfinite(value) for value in found.values() if isinstance(value, float)):
        raise ValueError
    return found
