"""Why a file stands where it stands: its ledger, who found it, and its rank without each signal (E1)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np

from whence.core.errors import UsageError
from whence.core.types import Skipped
from whence.index.segment import CONTENTS
from whence.index.snapshot import Snapshot
from whence.query.filters import Filters
from whence.query.parser import Condition
from whence.ranking.ledger import LedgerLine
from whence.ranking.receipt import Why, WhyLine, retrievals, scores_without, totals
from whence.retrieval.filters import file_mask, unit_mask
from whence.search.pipeline import RankedPool
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct, is_member

_WITH_LINE = re.compile(r"^(.*):(\d+)$")


def find_target(snapshot: Snapshot, target: str, *, wants_line: bool = False) -> Array:
    """The units that a target speaks of: `path`, the end of a path, `path:line`, or a symbol's name.

    Where a line is wanted, it must be one that the file has.
    """
    wanted, line = target, 0
    if found := _WITH_LINE.match(target):
        wanted, line = found.group(1), int(found.group(2))
    wanted = wanted.removeprefix("./").strip("/")
    files = [row for row, path in enumerate(snapshot.paths) if snapshot.alive[row] and path.endswith("/" + wanted)]
    files = [row for row, path in enumerate(snapshot.paths) if snapshot.alive[row] and path == wanted] or files
    if files:
        if wants_line:
            _check_line(snapshot, files, wanted, line)
        return np.concatenate([_units_at(snapshot, file, line) for file in files])
    units = _symbols(snapshot, target)
    if len(units):
        return units
    raise UsageError(f"no indexed file or symbol is called {target!r}", hint=_nearest(snapshot, wanted))


def _check_line(snapshot: Snapshot, files: list[int], wanted: str, line: int) -> None:
    if len(files) > 1:
        raise UsageError(f"{wanted!r} is the end of {len(files)} paths", hint=f"for instance {snapshot.path(files[0])}")
    a, b = int(snapshot.unit_starts[files[0]]), int(snapshot.unit_starts[files[0] + 1])
    last = int(snapshot.column("units.last")[a:b].max(initial=0))
    if not 1 <= line <= last:
        raise UsageError(f"{wanted} has no unit at line {line}", hint=f"its last line is {last}")


def _units_at(snapshot: Snapshot, file: int, line: int) -> Array:
    """The innermost unit around a line; all units of the file where there is none, or no line."""
    around = snapshot.units_around(file, line)
    return around[:1] if len(around) else np.arange(snapshot.unit_starts[file], snapshot.unit_starts[file + 1])


def _symbols(snapshot: Snapshot, target: str) -> Array:
    """Units of a name; of `Outer.name` those that lie in a unit, a file or a folder called Outer, and no others."""
    outer, _, name = target.replace("::", ".").rpartition(".")
    units = snapshot.definitions(name)
    if not outer:
        return units
    inside = [unit for unit in units.tolist() if _lies_in(snapshot, unit, outer.split("."))]
    return np.array(inside, np.int64)


def _lies_in(snapshot: Snapshot, unit: int, outer: list[str]) -> bool:
    path = PurePosixPath(snapshot.path(int(snapshot.file_of_unit[unit])))
    if {*outer} <= {path.stem, *path.parts[:-1]}:
        return True
    first, last = snapshot.column("units.first"), snapshot.column("units.last")
    before = range(int(snapshot.unit_starts[snapshot.file_of_unit[unit]]), unit)
    return any(snapshot.unit_name(one) == outer[-1] and first[one] <= first[unit] and last[unit] <= last[one] for one in before)


def _nearest(snapshot: Snapshot, wanted: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  -- only where something is wrong

    live = [path for row, path in enumerate(snapshot.paths) if snapshot.alive[row]]
    names = {path.rsplit("/", 1)[-1] for path in live} | {name for segment in snapshot.segments for name in segment.unit_names.all()}
    near = get_close_matches(wanted, live, 1, 0.8) or get_close_matches(wanted.rsplit("/", 1)[-1], names, 1, 0.6)
    return f"nearest: {near[0]}" if near else "whence status --files lists what is indexed"


def explain(query: str, units: Array, ranked: RankedPool) -> Why:
    """Read the receipt of a target off an answer whose pool holds at least one of its units."""
    pool, scores = ranked.pool, ranked.ledger.scores()
    rows = np.flatnonzero(is_member(pool.units, np.sort(units)))
    row = int(rows[np.argmax(scores[rows])])
    unit, file = int(pool.units[row]), int(pool.files[row])
    leader = ranked.hits[0]
    return Why(
        query=query,
        path=pool.path(row),
        unit=pool.snapshot.unit_name(unit),
        kind=pool.snapshot.kind(unit),
        line=int(pool.snapshot.column("units.first")[unit]),
        rank=next((place for place, hit in enumerate(ranked.hits, 1) if hit.row == row), 0) or _rank(ranked, scores, row, file),
        candidates=len(ranked.hits),
        score=float(scores[row]),
        found_by=tuple(retrievals(pool, [row] if len(rows) == 1 else rows.tolist())),
        lines=tuple(
            WhyLine(line, _rank(ranked, scores_without(line.signal, pool, ranked.ledger), row, file)) for line in ranked.ledger.lines(row)
        ),
        leader=pool.path(leader.row),
        leader_score=leader.score,
    )


def _rank(ranked: RankedPool, scores: Array, row: int, file: int) -> int:
    """The place a candidate's score would have: after every other file that has a better unit."""
    better = set(ranked.pool.files[scores > scores[row]].tolist()) - {file}
    return 1 + len(better)


@dataclass(frozen=True, slots=True)
class SignalGap:
    """What one signal makes of two files: how much it changes the score of each, and why."""

    signal: str
    mine: float  # its effect on the score of this file
    theirs: float  # its effect on the score of the other
    because_mine: str  # the reason for this file
    because_theirs: str  # the reason for the other


@dataclass(frozen=True, slots=True)
class Rival:
    """A file that stands before another, and what makes the difference, the largest first."""

    path: str
    place: int  # its rank, from 1
    score: float
    gaps: tuple[SignalGap, ...]  # together they are the difference of the scores


def rival_of(units: Array, ranked: RankedPool, shown: int) -> Rival | None:
    """The last of the files that are shown, or the first where the file of some units is shown; None for the first itself."""
    pool, scores = ranked.pool, ranked.ledger.scores()
    rows = np.flatnonzero(is_member(pool.units, np.sort(units)))
    row = int(rows[np.argmax(scores[rows])])
    at = next((place for place, hit in enumerate(ranked.hits) if hit.file == int(pool.files[row])), len(ranked.hits))
    place = 0 if at < shown else shown - 1
    if at == 0:
        return None
    other = ranked.hits[place]
    mine, theirs = ranked.ledger.lines(row), ranked.ledger.lines(other.row)
    changes = zip(mine, theirs, _changes(mine), _changes(theirs), strict=True)
    gaps = [SignalGap(one.signal, my, their, one.because, another.because) for one, another, my, their in changes if my != their]
    return Rival(pool.path(other.row), place + 1, other.score, tuple(sorted(gaps, key=lambda gap: -abs(gap.theirs - gap.mine))))


def _changes(lines: list[LedgerLine]) -> list[float]:
    """How much each line changes the score."""
    return [after - before for before, after in pairwise([0.0, *totals(lines)])]


#: Said of a file that was seen, but is newer than the index.
NOT_YET = "it is new or has changed, and is not taken in yet"
_LINE = re.compile(r":\d+$")


@dataclass(frozen=True, slots=True)
class Absence:
    """What keeps something out of an answer."""

    kind: Literal["kept_out", "left_out", "unknown"]  # by the query; of the index; there is no such file or symbol
    message: str  # in one sentence
    hint: str = ""
    unmet: tuple[str, ...] = ()  # the conditions of the query that it does not meet, as they were read


def excluded_by(
    units: Array, snapshot: Snapshot, filters: Filters, conditions: Sequence[Condition], left_by: Callable[[Sequence[Condition]], Array]
) -> Absence | None:
    """Which condition keeps some indexed units out; None where none does. `left_by` says which units some conditions leave."""
    files = snapshot.file_of_unit[units]
    what, language = CONTENTS[int(snapshot.column("files.content")[files[0]])], snapshot.languages[files[0]]
    for only, message, hint in (
        (Filters(content=filters.content), f"only {filters.content} is searched, and this is {what}", f"in:{what} asks for it"),
        (
            Filters(languages=filters.languages),
            f"only {' and '.join(filters.languages)} is searched, and this is {language}",
            "drop --lang",
        ),
        (Filters(paths=filters.paths), f"it does not lie in {' or '.join(filters.paths)}", "name no path, or its own"),
        (Filters(include=filters.include), f"it does not match {' or '.join(filters.include)}", "drop --include"),
        (Filters(exclude=filters.exclude), f"it matches {' or '.join(filters.exclude)}", "drop --exclude"),
    ):
        if not file_mask(snapshot, only)[files].any():
            return Absence("kept_out", message, hint)
    kinds = unit_mask(snapshot, filters)
    if kinds is not None and not kinds[units].any():
        return Absence("kept_out", f"it has no {' or '.join(filters.kinds)}", "drop --kind")
    alone = tuple(str(one) for one in conditions if not left_by([one])[units].any())
    if alone:
        return Absence("kept_out", f"it does not meet {', '.join(alone)}", unmet=alone)
    if conditions and not left_by(conditions)[units].any():
        every = tuple(map(str, conditions))
        return Absence("kept_out", f"no one part of it meets all of {', '.join(every)}", unmet=every)
    return None


#: Operators that narrow what others find.
NARROWING = frozenset({"path", "lang", "kind", "in"})
ALL_CONTENT = "--content all"


def removed_note(snapshot: Snapshot, units: Array, filters: Filters, conditions: Mapping[str, Array]) -> str:
    """How many of the files with matching units pass the filters and conditions that remove any, and how to see the others."""

    def count(mask: Array) -> int:
        return len(distinct(snapshot.file_of_unit[units & mask]))

    masks: dict[tuple[str, str], Array] = {}
    for name, said in _filters_in_words(filters).items():
        alone = replace(Filters(), **{name: getattr(filters, name)})
        by_unit = unit_mask(snapshot, alone)
        masks[said] = snapshot.unit_mask(file_mask(snapshot, alone)) if by_unit is None else by_unit
    masks |= {(f"meet {name}", name): mask for name, mask in conditions.items()}
    every = np.ones(snapshot.units, bool)
    total = count(every)
    removing = {said: mask for said, mask in masks.items() if count(mask) < total}
    if not removing:
        return ""
    left = count(np.logical_and.reduce(list(removing.values())))
    several = len(removing) > 1
    passing = " and ".join(f"{words} ({count(mask)})" if several else words for (words, _), mask in removing.items())
    dropped = ", ".join(name for _, name in removing if name != ALL_CONTENT)
    how = [f"drop {dropped}"] * bool(dropped) + [f"use {ALL_CONTENT} or in:all"] * any(name == ALL_CONTENT for _, name in removing)
    return f"{left} of {total:,} matching files {passing}; {' and '.join(how)} to see them"


def _filters_in_words(filters: Filters) -> dict[str, tuple[str, str]]:
    """The filters that are set: what files that pass them do, and the option."""
    listed = " or ".join
    words = {
        "content": (f"are {filters.content}", ALL_CONTENT) if filters.content != "all" else None,
        "languages": (f"are {listed(filters.languages)}", "--lang"),
        "paths": (f"are in {listed(filters.paths)}", "the path"),
        "include": (f"match {listed(filters.include)}", "--include"),
        "exclude": (f"do not match {listed(filters.exclude)}", "--exclude"),
        "kinds": (f"match in a {listed(filters.kinds)}", "--kind"),
    }
    return {name: said for name, said in words.items() if said is not None and getattr(filters, name)}


def _is_there(root: Path, path: str) -> bool:
    return ".." not in path.split("/") and os.path.lexists(root / path)


def left_out(target: str, root: Path, skipped: Iterable[Skipped], changed: Iterable[str]) -> Absence | None:
    """Why a file is not indexed, as the walk and the parser told; None where there is no such file."""
    wanted = _LINE.sub("", target).removeprefix("./").strip("/")
    if not wanted:
        return None
    for one in sorted(skipped, key=lambda one: len(one.path)):
        path = one.path.rstrip("/")
        if path == wanted or path.endswith(f"/{wanted}"):
            return Absence("left_out", f"{one.path} is not indexed: {one.reason}")
        if one.path.endswith("/") and wanted.startswith(one.path) and _is_there(root, wanted):
            return Absence("left_out", f"{wanted} is not indexed: it lies in {one.path}, which is left out ({one.reason})")
    fresh = next((path for path in changed if path == wanted or path.endswith(f"/{wanted}")), None)
    return Absence("left_out", f"{fresh} is not indexed: {NOT_YET}") if fresh is not None else None
