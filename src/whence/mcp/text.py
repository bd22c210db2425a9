"""Answers for agents: few tokens, one fact per line, warnings first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from whence.app.presenters.text import ago, safe
from whence.app.session import BuildProgress
from whence.core.types import CODE

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.core.types import Freshness
    from whence.fleet.registry import Repository
    from whence.graph.neighbours import Neighbour
    from whence.graph.paths import PathStep
    from whence.graph.questions import NeighbourAnswer as GraphAnswer
    from whence.memory.result import RecalledNote
    from whence.ranking.ledger import LedgerLine
    from whence.search.result import SearchResult
    from whence.search.unindexed import UnindexedMatch
    from whence.text.injection import Instruction

#: Neighbours of a symbol that are listed; the rest are counted.
MAX_NEIGHBOURS = 60
TOP_LEVEL = "(top level)"
#: Characters of a note's source.
MAX_SOURCE = 60


def result_lines(result: SearchResult, prefix: str = "", *, why: bool = False) -> Iterator[str]:
    """A file of an answer: where, what, its score, and the lines that matter."""
    name = f" {result.kind} {result.qualified_name}" if result.name else ""
    matched = f" (matched: {result.matched})" if result.matched else ""
    sort = f" {result.sort}" if result.sort != CODE else ""
    yield f"{prefix}{safe(result.path)}:{result.best_start}-{result.best_end}{safe(name)} [{result.score:.2f}{sort}]{matched}"
    yield from flag_lines(result.flags)
    for line in result.lines:
        yield f"  {line.number}: {safe(line.text.strip())}"
    if why:
        yield from why_lines(result.why)


def flag_lines(flags: Sequence[Instruction], what: str = "this file") -> Iterator[str]:
    """A warning that an excerpt reads like an instruction; no line of an excerpt can begin like it (Z11)."""
    from whence.text.injection import warning_of  # noqa: PLC0415  -- loaded with the first answer

    if flags:
        yield f"  {warning_of(flags, what)}"


def name_flags(lines: Iterable[str]) -> Iterator[str]:
    """The same warning for lines of names and paths."""
    from whence.text.injection import Instruction, find_instructions, warning_of  # noqa: PLC0415  -- as above

    found = find_instructions("\n\n".join(lines))
    if found:
        yield warning_of([Instruction(one.kind, 0, one.reason) for one in found], "this tree").replace("its name", "a name below", 1)


def why_lines(why: Sequence[LedgerLine]) -> Iterator[str]:
    """The contributions to a score that change it."""
    for entry in why:
        if entry.is_visible:
            amount = f"{entry.contribution:+.3f}" if entry.operation == "+" else f"{entry.operation}{entry.contribution:.3f}"
            yield f"  {amount} {entry.signal}: {safe(entry.because)}"


def freshness_line(index: Index, label: str = "") -> str:
    """The state of the index, in one line."""
    freshness: Freshness = index.freshness
    of = f"commit {freshness.commit[:10]}" if freshness.commit else "no commit"
    state = f"{_files(freshness.changed)} changed since" if freshness.changed else "behind" if freshness.note else "up to date"
    whose = f" of {safe(label)}" if label else ""
    return f"index{whose}: {_files(index.snapshot.live_files)}, {of}, {ago(time.time() - freshness.indexed_at)}, {state}"


def fleet_line(searched: Sequence[Repository]) -> str:
    """What was searched in a fleet, and the age of the oldest index."""
    times = [one.indexed_at for one in searched if one.indexed_at]
    count = f"{len(searched)} repositor{'y' if len(searched) == 1 else 'ies'}"
    oldest = f", the oldest indexed {ago(time.time() - min(times))}" if times else ""
    return f"fleet: {count}, {_files(sum(one.files for one in searched))}{oldest}"


def _files(number: int) -> str:
    return f"{number} file{'s' if number != 1 else ''}"


def progress_lines(progress: BuildProgress, label: str = "") -> Iterator[str]:
    """What is missing from an answer while its index is being built."""
    whose = f" {safe(label)}" if label else ""
    if progress.building:
        missing = f"{_files(progress.indexed)} indexed, {progress.missing} new or changed not yet" if progress.indexed else "nothing yet"
        yield f"INDEXING{whose} ({progress.share:.0%} done): {missing}; it goes on, ask again for the whole"
    if progress.note:
        yield f"note:{whose} {safe(progress.note)}"


def guess_lines(guesses: Sequence[UnindexedMatch], read: int, of: int) -> Iterator[str]:
    """Files that are not indexed yet and contain words of the question."""
    if guesses:
        from whence.text.injection import flags_of  # noqa: PLC0415  -- loaded with the first answer

        yield f"not indexed yet, by their words alone ({read} of {of} files read):"
        for guess in guesses:
            yield f"- {safe(guess.path)}:{guess.line} holds {', '.join(guess.held)}: {safe(guess.text)}"
            yield from flag_lines(flags_of([(guess.line, guess.text)], (guess.path,)))


# The graph.
def neighbour_lines(answer: GraphAnswer, question: str, label: str = "") -> Iterator[str]:
    """The neighbours of a symbol, surest or nearest first, and unresolved calls."""
    symbol, found = answer.symbol, answer.rows
    sure = ", each with how sure it is" if len(found.node) else ""
    where = f"{symbol.kind} {label}{safe(symbol.path)}:{symbol.line}"
    yield f"{question} of {safe(symbol.name or TOP_LEVEL)} ({where}): {len(found.node)}{sure}"
    import numpy as np  # noqa: PLC0415  -- loaded with the graph

    for one in found.take(np.arange(len(found.node))[:MAX_NEIGHBOURS]).neighbours():
        yield f"- {_neighbour(one, label, defined=question == 'callees')}"
    if len(found.node) > MAX_NEIGHBOURS:
        yield f"and {len(found.node) - MAX_NEIGHBOURS} more; a smaller depth leaves out the farther ones"
    by_name = int(found.by_name.sum())
    if by_name:
        yield f"{by_name} of them by name alone: another of the same name may be meant"
    if answer.unresolved.total:
        some = ", ".join(f"{one.written} {label}{one.path}:{one.line}" for one in answer.unresolved.sample[:5])
        what = "calls lead out of what is indexed" if question == "callees" else "calls of that name may mean this or another"
        yield f"the graph stops: {answer.unresolved.total} {what}: {safe(some)}"


def _neighbour(one: Neighbour, label: str, *, defined: bool) -> str:
    place = f"{one.defined_path}:{one.defined_line}" if defined and one.defined_path else f"{one.path}:{one.line}"
    notes = [one.kind] if one.kind != "calls" else []
    notes += [f"distance {one.distance} through {one.through or TOP_LEVEL}"] if one.distance > 1 else []
    notes += [one.note] if one.note else []
    return safe(f"{one.qualified_name or TOP_LEVEL} {label}{place} ({', '.join([f'{one.confidence:.2f}', *notes])})")


def way_lines(way: Sequence[PathStep], label: str = "") -> Iterator[str]:
    """A path from one symbol to another."""
    if way:
        yield safe(way[0].source or TOP_LEVEL)
    for step in way:
        place = f" {label}{step.path}:{step.line}" if step.path else ""
        yield safe(f"-{step.kind}-> {step.target or TOP_LEVEL}{place} ({step.confidence:.2f}{', ' + step.note if step.note else ''})")


# Notes.
def recalled_lines(found: Sequence[RecalledNote], became: Iterable[str], *, why: bool = False) -> Iterator[str]:
    """Recalled notes in full: score, date, source, and whether their code changed."""
    from whence.text.injection import flags_of  # noqa: PLC0415  -- loaded with the memory

    for place, (one, changed) in enumerate(zip(found, became, strict=True), 1):
        note = one.note
        day = f", {note.updated:%Y-%m-%d}" if note.updated else ""
        topic = f" {note.topic!r}" if note.topic else ""
        source = f", from {note.source[:MAX_SOURCE]}" if note.source else ""
        held = ", its code is as it was" if note.about and not changed else ""
        yield f"{place}. {safe(note.key)} [{one.label} {one.score:.2f}] {note.kind}{safe(topic)}{day}{safe(source)}{held}"
        if changed:
            yield f"  THE CODE HAS CHANGED SINCE: {safe(changed)}"
        lines = note.text.strip("\n").split("\n")
        yield from flag_lines(flags_of(enumerate(lines, 1), (note.key, note.topic, note.source)), "this note")
        for line in lines:
            yield f"  | {safe(line)}"  # no line of a note can pass for ours
        if one.alike:
            yield f"  (and {len(one.alike)} alike)"
        if why:
            yield from why_lines(one.why)
