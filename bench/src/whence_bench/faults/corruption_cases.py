"""Every kind of file with every kind of damage."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path

from whence.context.feedback.store import FILE_NAME as LEARNED
from whence_bench.faults.corruption_damage import OTHER_SIZE, REPLACED, SAME_SIZE, Change, change_bytes, change_unseen
from whence_bench.faults.corruption_ground import Ground

#: Every kind of file that is not the user's own, by how its names end; the first that is found is damaged.
KINDS = (
    *(".segment", ".vectors", ".parsed", ".shared", ".history", ".graph", ".arrays"),
    *("/sealed", ".sealed", "truth.db", LEARNED, "notes.db", "truth.db-wal", f"{LEARNED}-wal", "notes.db-wal"),
)
#: What is done to a file and cannot be told from what its owner does: verdicts are no file's copy, so that nothing says what
#: there was. One that is put in the place of another is a backup that is put back; one that is gone was removed.
THE_OWNERS = {(LEARNED, "deleted"), (LEARNED, "another of its kind")}
#: How often the changes that depend on chance are tried.
TIMES = 2


@dataclass(frozen=True, slots=True)
class Case:
    """One damage to one file of a fresh copy."""

    name: str
    kind: str
    unseen: bool  # whether size, times and number of the file are as before
    apply: Callable[[Path], None]  # damages a file

    @property
    def logged(self) -> bool:
        """Whether the file is there only after a process was killed."""
        return self.kind.endswith("-wal")


def file_of(kind: str, data: Path) -> Path | None:
    """The file of a kind below a data folder."""
    wanted = kind.replace("notes.db", ".db")
    found = sorted(path for path in data.rglob("*") if str(path).endswith(wanted) and path.is_file())
    mine = [path for path in found if not kind.startswith("notes.db") or path.name.startswith("notes-")]
    return mine[0] if mine else None


def cases(ground: Ground, seed: int) -> Iterator[Case]:
    """All of them, kind by kind."""
    for kind in KINDS:
        whole = file_of(kind, ground.logged if kind.endswith("-wal") else ground.data)
        if whole is None or not whole.stat().st_size:  # a log that is put into its database at once is empty
            continue
        other = file_of(kind, ground.other)
        for what, change in SAME_SIZE.items():
            for time in range(TIMES):
                for unseen in (False, True):
                    name = f"{kind}: {what} ({'unseen' if unseen else 'seen'}, {time})"
                    yield Case(name, kind, unseen, partial(_change, change, other, f"{seed} {name}", unseen))
        for what, change in OTHER_SIZE.items():
            if (kind, what) not in THE_OWNERS and (other or "another" not in what):
                yield Case(f"{kind}: {what}", kind, unseen=False, apply=partial(_change, change, other, f"{seed} {kind} {what}", False))
        for what, replace in REPLACED.items():
            if (kind, what) not in THE_OWNERS:
                yield Case(f"{kind}: {what}", kind, unseen=False, apply=replace)


def _change(change: Change, other: Path | None, seed: str, unseen: bool, path: Path) -> None:
    raw = path.read_bytes()
    changed = change(raw, other.read_bytes() if other else b"", random.Random(zlib.crc32(seed.encode())))
    (change_unseen if unseen else change_bytes)(path, changed)


def some_of_everything(every: Sequence[Case], count: int, seed: int) -> list[Case]:
    """So many cases, one of each kind of file after the other; others for another seed. A run that is cut short has tried all kinds."""
    by_kind: dict[str, list[Case]] = {}
    for one in random.Random(seed).sample(every, len(every)):
        by_kind.setdefault(one.kind, []).append(one)
    return [one for some in zip_longest(*by_kind.values()) for one in some if one is not None][:count]
