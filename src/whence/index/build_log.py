"""What was done to an index and when: its last runs, kept beside it.

Nothing is built on them. A file that is missing or damaged tells less, and a run that cannot be noted is done all the same.
"""

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
#: A line is a few hundred bytes; of a file that is longer than all of them could be only the end is read.
MAX_LOG_BYTES = 100_000
MAX_REASON_CHARACTERS = 200
KINDS = BUILT, REFRESHED, REPAIRED, ADOPTED = ("built", "refreshed", "repaired", "adopted")


class BuildCause(NamedTuple):
    """Why an index was written: one of the kinds, and what is to be said of it."""

    what: str
    because: str = ""


@dataclass(frozen=True, slots=True)
class BuildRecord:
    """One time that an index was built, refreshed, repaired or taken over."""

    at: float  # when it was done, in seconds since 1970
    seconds: float  # from the writer's lock to an index that can be asked
    what: str
    because: str = ""
    added: int = 0
    changed: int = 0
    removed: int = 0
    known: int = 0  # of those added or changed: whose content was known already, of another tree or from before
    bytes: int = 0  # of source that was read
    files: int = 0  # that can be found afterwards
    units: int = 0
    skipped: int = 0  # files and folders that were left out
    version: str = __version__


@dataclass(frozen=True, slots=True)
class BuildBaseline:
    """What an index held before a run: what the run did is told by what is different."""

    files: int
    derived: frozenset[str]
    whole: bool  # whether a build had come to its end

    @classmethod
    def of(cls, store: IndexStore) -> BuildBaseline:
        """As it is now."""
        return cls(store.count_files()[0], frozenset(store.derived_files()), "indexed_at" in store.meta())

    def cause(self, adopted: str, repaired: str, otherwise: str) -> BuildCause:
        """Why it is written: from whom it was taken over, what was damaged, how it had been made; each empty where it was not so."""
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
    """What a run did; None where nothing is different after it."""
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


def append_record(place: Path, run: BuildRecord | None) -> None:
    """Note a run after those before it, and let the oldest go; where nothing can be written it is not noted."""
    with suppress(OSError):
        if run is None:
            remove_part_files(place)  # of a writer that was killed
            return
        kept = [*read_log(place), run][-MAX_RECORDS:]
        write_atomically(place, "".join(f"{json.dumps(asdict(one))}\n" for one in kept))


def read_log(place: Path) -> list[BuildRecord]:
    """The last runs, the oldest first; lines that cannot be read are left out. Only a file is read, for to open a FIFO is to wait."""
    try:
        if not place.is_file():
            return []
        with place.open("rb") as file:
            file.seek(max(place.stat().st_size - MAX_LOG_BYTES, 0))
            lines = file.read(MAX_LOG_BYTES).split(b"\n")
    except OSError:
        return []
    found = (_run_of(line) for line in lines)
    return [run for run in found if run is not None][-MAX_RECORDS:]


def _run_of(line: bytes) -> BuildRecord | None:
    try:
        noted = json.loads(line)
        return BuildRecord(**_values(noted)) if isinstance(noted, dict) else None
    except (ValueError, TypeError, RecursionError):
        return None


def _values(noted: Mapping[str, Any]) -> dict[str, Any]:
    """What is noted of a run, each value of its kind; what a later version notes besides is passed over."""
    kinds = {"float": float, "int": int, "str": str}
    found: dict[str, Any] = {}
    for one in fields(BuildRecord):
        if one.name in noted:
            found[one.name] = kinds[str(one.type)](noted[one.name])
    if found.get("what") not in KINDS or not all(math.isfinite(value) for value in found.values() if isinstance(value, float)):
        raise ValueError
    return found
