"""Why a file stands where it stands: its ledger, who found it, and its rank without each signal (E1)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from whence.answer import Found, Ranked
from whence.errors import UsageError
from whence.index.arrayfile import Array
from whence.index.snapshot import Snapshot
from whence.rank.collapse import candidates_of, collapse
from whence.rank.ledger import Line

_WITH_LINE = re.compile(r"^(.*):(\d+)$")


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What one retriever said of the file's best unit."""

    retriever: str
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class WhyLine:
    """A line of the ledger, with the rank the file would have without it."""

    line: Line
    rank_without: int


@dataclass(frozen=True, slots=True)
class Why:
    """The whole receipt of one file for one query."""

    query: str
    path: str
    unit: str
    kind: str
    line: int
    rank: int  # from 1
    candidates: int  # files ranked
    score: float
    found_by: tuple[Retrieval, ...]
    lines: tuple[WhyLine, ...]
    leader: str  # the first file of the answer, and its score, to compare with
    leader_score: float


def find_target(snapshot: Snapshot, target: str) -> Array:
    """The units that a target speaks of: `path`, the end of a path, `path:line`, or a symbol's name."""
    wanted, line = target, 0
    if found := _WITH_LINE.match(target):
        wanted, line = found.group(1), int(found.group(2))
    wanted = wanted.removeprefix("./").strip("/")
    files = [row for row, path in enumerate(snapshot.paths) if snapshot.alive[row] and (path == wanted or path.endswith("/" + wanted))]
    if files:
        return np.concatenate([_units_at(snapshot, file, line) for file in files])
    units = snapshot.definitions(target.rsplit(".", 1)[-1])
    if len(units):
        return units
    live = [path for row, path in enumerate(snapshot.paths) if snapshot.alive[row]]
    near = get_close_matches(wanted, live, 1, 0.5) or get_close_matches(
        wanted.rsplit("/", 1)[-1], [path.rsplit("/", 1)[-1] for path in live], 1, 0.5
    )
    raise UsageError(
        f"no indexed file or symbol is called {target!r}",
        hint=f"nearest: {near[0]}" if near else "whence status --files lists what is indexed",
    )


def _units_at(snapshot: Snapshot, file: int, line: int) -> Array:
    a, b = int(snapshot.unit_starts[file]), int(snapshot.unit_starts[file + 1])
    rows = np.arange(a, b)
    if not line:
        return rows
    holds = (snapshot.column("units.first")[a:b] <= line) & (line <= snapshot.column("units.last")[a:b])
    return rows[holds] if holds.any() else rows


def explain(snapshot: Snapshot, query: str, target: str, units: Array, found: Sequence[Found]) -> Why:
    """Read the receipt of a target off an answer that was made with it in the pool."""
    wanted = set(snapshot.file_of_unit[units].tolist())
    place = next((number for number, one in enumerate(found) if one.hit.file in wanted), None)
    if place is None:
        raise UsageError(f"{target!r} is outside what was searched", hint="drop the filters, or use --content all")
    ranked, hit = found[place].ranked, found[place].hit
    pool, unit = ranked.pool, int(ranked.pool.units[hit.row])
    first = found[0]
    return Why(
        query=query,
        path=snapshot.path(hit.file),
        unit=snapshot.unit_name(unit),
        kind=snapshot.kind(unit),
        line=int(snapshot.column("units.first")[unit]),
        rank=place + 1,
        candidates=len(found),
        score=hit.score,
        found_by=tuple(_retrievals(ranked, candidates_of(pool, hit))),
        lines=tuple(WhyLine(line, _rank_without(ranked, line.signal, hit.file)) for line in ranked.ledger.lines(hit.row)),
        leader=pool.snapshot.path(first.hit.file),
        leader_score=first.hit.score,
    )


def _retrievals(ranked: Ranked, rows: list[int]) -> list[Retrieval]:
    found = []
    for name, scores in ranked.pool.retrieved.items():
        mine = [float(scores[row]) for row in rows if math.isfinite(scores[row])]
        if mine and name != "asked":
            found.append(Retrieval(name, max(mine), 1 + int(np.nansum(scores > max(mine)))))
    return found


def _rank_without(ranked: Ranked, signal: str, file: int) -> int:
    hits = collapse(ranked.pool, ranked.ledger.scores(leave_out=signal))
    return next(number for number, hit in enumerate(hits, 1) if hit.file == file)
