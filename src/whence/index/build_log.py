"""The build log: the last builds of an index. Nothing depends on it: it may be missing, damaged or not writable."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
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
#: CPU seconds of a first build: to begin with, for each file, and for each megabyte with and without a grammar.
BASE_CPU, CPU_PER_FILE, CPU_PER_PARSED_MB, CPU_PER_PLAIN_MB = 0.19, 0.0019, 0.774, 0.581
#: Share of a build that one process does alone, where several parse.
SERIAL_SHARE = 0.15
#: Builds of less CPU seconds say little about a machine; of the others the latest count.
MIN_LEARNED_CPU, MAX_LEARNED = 1.0, 15
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
    cpu: float = 0.0  # seconds of all processes; 0 where it is not known
    expected: float = 0.0  # CPU seconds that the table above says; 0 unless it was a first build
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
    before: BuildBaseline,
    store: IndexStore,
    done: RefreshSummary,
    cause: BuildCause,
    *,
    at: float,
    seconds: float,
    units: int,
    cpu: float = 0.0,
    expected: float = 0.0,
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
        cpu=round(cpu, 3),
        expected=round(expected, 3) if cause.what == BUILT else 0.0,
    )


# Estimates.
def expected_cpu(files: Iterable[tuple[str, int]]) -> float:
    """CPU seconds that a first build of some files (path, bytes) takes on the machine that the table above is from."""
    from whence.parse.languages import language_of  # noqa: PLC0415  -- a search does without

    total = BASE_CPU
    for path, size in files:
        per_mb = CPU_PER_PARSED_MB if language_of(path).grammar else CPU_PER_PLAIN_MB
        total += CPU_PER_FILE + per_mb * size / 1e6
    return total


def estimate_seconds(files: Sequence[tuple[str, int]], logs: Iterable[Path], workers: int, parallel_from: int) -> float:
    """Seconds that a first build of some files takes here, by the build logs of other indexes on this machine."""
    known = sorted(
        (one for log in logs for one in read_log(log) if one.expected > 0 and one.cpu >= MIN_LEARNED_CPU), key=lambda one: one.at
    )
    cpu = expected_cpu(files) * _median([one.cpu / one.expected for one in known[-MAX_LEARNED:]], 1.0)
    parallel = sum(size for _, size in files) >= parallel_from
    alike = [one.seconds / one.cpu for one in known if (one.bytes >= parallel_from) == parallel]
    return cpu * _median(alike[-MAX_LEARNED:], SERIAL_SHARE + (1 - SERIAL_SHARE) / workers if parallel else 1.0)


def _median(values: Sequence[float], otherwise: float) -> float:
    return sorted(values)[len(values) // 2] if values else otherwise


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
