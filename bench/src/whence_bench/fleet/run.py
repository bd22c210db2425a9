"""`whence bench fleet`: whether many repositories on one engine are searched as well, as surely and as fast as they should be.

- **parity**: the questions of a corpus, asked of the index of each repository and of a fleet that holds them all.
- **workers**: two workers, one killed half way; every row is compared with those of an undisturbed run.
- **trouble**: engines that cannot be reached, are slow, full, of another version, or refuse the token.
- **load**: CPU of a query over many repositories at once, ours and the engine's, beside the indexes themselves.

The engine is the local server of milvus-lite, started in a folder that is removed afterwards, for each part anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.core.errors import UsageError
from whence_bench.fleet import errors as fleet_trouble
from whence_bench.fleet import load, parity, workers
from whence_bench.fleet.server import served
from whence_bench.search.corpus import Corpus
from whence_bench.speed import run as speed
from whence_bench.speed import trees
from whence_bench.speed.harness import Room, Tell

PARITY, WORKERS, TROUBLE, LOAD = PARTS = ("parity", "workers", "trouble", "load")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large everything is."""

    repositories: int = load.REPOSITORIES
    units: int = load.UNITS
    queries: int = load.QUERIES
    rounds: int = load.ROUNDS
    worked: int = workers.REPOSITORIES
    worked_units: int = workers.UNITS
    troubles: Sequence[str] = tuple(fleet_trouble.TROUBLES)


#: All of it, in seconds.
SMALL = Sizes(repositories=2, units=300, queries=2, rounds=1, worked=4, worked_units=60, troubles=("unreachable", "full"))


def run(
    tree: Path | None,
    tell: Tell,
    *,
    parts: Sequence[str] = PARTS,
    sizes: Sizes | None = None,
    corpus: Corpus | None = None,
    index_dir: Path | None = None,
) -> Room:
    """Measure some parts, in a folder that is removed afterwards."""
    sizes = sizes or Sizes()
    if unknown := [one for one in parts if one not in PARTS]:
        raise UsageError(f"there is no part {unknown[0]!r}", hint=f"there are {', '.join(PARTS)}")
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        room = Room(Path(temporary).resolve(), trees.read_sources(tree), tell)
        if PARITY in parts and corpus is not None:
            with served(_folder(room, PARITY)) as there:
                parity.run(room, there, corpus, index_dir)
        if PARITY in parts and corpus is None:
            room.notes.append("parity was not measured: --corpus DIR names the questions")
        if WORKERS in parts:
            with served(_folder(room, WORKERS)) as there:
                workers.run(room, there, repositories=sizes.worked, units=sizes.worked_units)
        if TROUBLE in parts:
            fleet_trouble.troubled(room, sizes.troubles)
        if LOAD in parts:
            how = {"repositories": sizes.repositories, "units": sizes.units, "queries": sizes.queries, "rounds": sizes.rounds}
            with served(_folder(room, LOAD)) as there:
                load.run(room, there, **how)
    return room


def _folder(room: Room, name: str) -> Path:
    folder = room.folder / f"engine-{name}"
    folder.mkdir()
    return folder


def as_text(room: Room) -> str:
    """The table, and what has to be known to read it."""
    return speed.as_text(room)


def as_json(room: Room) -> dict[str, Any]:
    """Everything that was measured, and what is needed to measure it again."""
    return {"benchmark": "fleet", "rows": [asdict(row) for row in room.rows], "notes": room.notes, "measured": room.raw}
