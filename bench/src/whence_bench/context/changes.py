"""`whence bench history --symbols`: from the message of a commit to the functions it changed.

Asked of the tree before the commit, as `whence bench history` asks for files. Wanted are the innermost functions whose lines
the commit changes, of commits that change one to three.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.context.changes import innermost
from whence.context.pipeline import ContextRun, RankedSymbols, rank_symbols
from whence.core.profiles import SYMBOLS, SYMBOLS_FIRST, Weight
from whence.core.types import CALLABLES
from whence.ranking.pool import INCLUDED
from whence.retrieval.lexical import FieldWeights
from whence.storage.arrayfile import Array
from whence_bench import report
from whence_bench.context.learning import LONG, SOFT, Case, left_out_of
from whence_bench.fetch import History, plain_git
from whence_bench.search import history
from whence_bench.search.history import Question, each_question

REACHES = (1, 5, 10, 20)
MAX_FUNCTIONS = 3
#: Questions drawn for each that is kept: many commits change no function, or too many.
DRAWN = 4
#: Candidates that are kept to learn from, the best. Wanted ones below them are not: kept all the same, they would teach that
#: what ranks low is wanted.
RIVALS = 800

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SymbolQuestion:
    """One commit: the ranks of the functions it changed among all functions, and of their files. 0: not found."""

    repository: str
    commit: str
    problem: float
    functions: tuple[int, ...]
    symbols: tuple[int, ...]  # the same among symbols of any kind
    files: tuple[int, ...]


def changed_spans(repository: Path, question: Question, path: str) -> list[tuple[int, int]]:
    """The lines of the parent's file that a commit changes; an insertion counts as the two lines around it."""
    options = ("diff", "--no-ext-diff", "--no-textconv", "-U0", question.parent, question.commit, "--", path)
    spans = []
    for first, count in _HUNK.findall(plain_git(*options, cwd=repository)):
        start, lines = int(first), int(count or 1)
        spans.append((start, start + lines - 1) if lines else (start, start + 1))
    return spans


def changed_functions(index: Index, path: str, spans: Sequence[tuple[int, int]]) -> set[int]:
    """The innermost functions of a file that hold changed lines."""
    snapshot = index.snapshot
    file = snapshot.symbols.file_row[path]
    rows = range(int(snapshot.unit_starts[file]), int(snapshot.unit_starts[file + 1]))
    first, last = snapshot.column("units.first"), snapshot.column("units.last")
    functions = [row for row in rows if snapshot.kind(row) in CALLABLES]
    lines = (line for low, high in spans for line in range(low, high + 1))
    return {functions[at] for at in innermost([(int(first[row]), int(last[row])) for row in functions], lines)}


def run(repositories: Sequence[History], per_repository: int, progress: Progress) -> tuple[list[SymbolQuestion], list[Case]]:
    """Ask about so many commits of each repository; what every signal says of the candidates is kept to learn from."""
    questions: list[SymbolQuestion] = []
    cases: list[Case] = []
    for done, repository in enumerate(repositories):
        progress(done, len(repositories))
        for question, index, wanted in asked_functions(repository, per_repository):
            ranked = _ranked(index, question.text, wanted)
            questions.append(_answered(repository.name, question, ranked, wanted))
            cases.append(_case(repository.name, ranked, wanted))
    progress(len(repositories), len(repositories))
    return questions, cases


def asked_functions(repository: History, count: int) -> Iterator[tuple[Question, Index, list[int]]]:
    """Each commit with an index of the tree before it, and the functions of it that the commit changes."""
    given = 0
    for question, index in each_question(repository, history.questions(repository, count * DRAWN)):
        known = index.snapshot.symbols.file_row
        if all(path in known for path in question.wanted):
            spans = {path: changed_spans(repository.path, question, path) for path in question.wanted}
            wanted = set().union(*(changed_functions(index, path, found) for path, found in spans.items()))
            if 1 <= len(wanted) <= MAX_FUNCTIONS:
                yield question, index, sorted(wanted)
                given += 1
        if given == count:
            return


def _ranked(index: Index, text: str, wanted: Sequence[int]) -> RankedSymbols:
    shipped = {name: SYMBOLS.signals.get(name, Weight()) for name in {*LONG, *SYMBOLS.signals}}
    heard = {name: Weight(weight.short or SOFT, weight.long or SOFT) for name, weight in shipped.items()}
    ranking = replace(SYMBOLS, signals=heard)
    run_of = ContextRun(index.snapshot, index.open_graph(), SYMBOLS_FIRST, ranking, FieldWeights.of(ranking), index.reader.encoder)
    return rank_symbols(text, replace(run_of, include=np.array(wanted, np.int64)))


def _answered(name: str, question: Question, ranked: RankedSymbols, wanted: Sequence[int]) -> SymbolQuestion:
    pool, snapshot = ranked.pool, ranked.pool.snapshot
    found = _is_found(ranked)
    order = [row for row in ranked.order if found[row]]
    units = [int(pool.units[row]) for row in order]
    functions = [unit for unit in units if snapshot.kind(unit) in CALLABLES]
    files = list(dict.fromkeys(int(snapshot.file_of_unit[unit]) for unit in units))
    return SymbolQuestion(
        name,
        question.commit,
        pool.plan.problem,
        tuple(_rank(unit, functions) for unit in wanted),
        tuple(_rank(unit, units) for unit in wanted),
        tuple(_rank(int(snapshot.file_of_unit[unit]), files) for unit in wanted),
    )


def _is_found(ranked: RankedSymbols) -> Array:
    """Which candidates a retriever found, and not only we who know the answer."""
    return np.asarray(np.any([np.isfinite(raw) for retriever, raw in ranked.pool.retrieved.items() if retriever != INCLUDED], axis=0))


def _rank(one: int, among: Sequence[int]) -> int:
    return among.index(one) + 1 if one in among else 0


def _case(name: str, ranked: RankedSymbols, wanted: Sequence[int]) -> Case:
    found = _is_found(ranked)
    rows = sorted(row for row in ranked.order[:RIVALS] if found[row])
    said = {entry.signal: entry.column.values for entry in ranked.ledger.entries}
    columns = np.stack([said[signal][rows] for signal in LONG], axis=1).astype(np.float32)
    units = [int(ranked.pool.units[row]) for row in rows]
    return Case(name, columns, tuple((units.index(unit),) for unit in wanted if unit in units))


def accuracies(questions: Sequence[SymbolQuestion]) -> dict[str, dict[int, float]]:
    """How often all wanted ones are among the first few."""
    names = ("functions", "symbols", "files")
    return {
        name: {reach: float(np.mean([all(0 < rank <= reach for rank in getattr(one, name)) for one in questions])) for reach in REACHES}
        for name in names
    }


def as_text(questions: Sequence[SymbolQuestion], cases: Sequence[Case]) -> str:
    """Accuracy of functions, of symbols of any kind, and of files; and with weights learned from the other repositories."""
    heads = ("commits", "questions", *(f"{what} in {reach}" for what in ("functions", "symbols", "files") for reach in REACHES))
    groups = {"all": list(questions)} | {
        label: some
        for label, low, high in (("requests", 0.0, 0.1), ("one sentence", 0.1, 0.9), ("reports", 0.9, 1.1))
        if (some := [one for one in questions if low <= one.problem < high])
    }
    rows = [
        (label, len(some), *(f"{value:.3f}" for figures in accuracies(some).values() for value in figures.values()))
        for label, some in groups.items()
    ]
    apart = left_out_of(cases, REACHES)
    learned = report.table(("weights learned from the others", *(f"symbols in {reach}" for reach in REACHES)), [("all", *apart)])
    return f"{report.table(heads, rows)}\n\n{learned}"


def as_json(questions: Sequence[SymbolQuestion]) -> dict[str, Any]:
    """All figures."""
    return {"benchmark": "history, symbols", "accuracy": accuracies(questions), "questions": [asdict(one) for one in questions]}


def save(cases: Sequence[Case], path: Path) -> None:
    """Keep what every signal said, to learn from (`training/learn_symbols.py`)."""
    arrays: dict[str, Any] = {"names": np.array(LONG), "repositories": np.array([one.repository for one in cases])}
    for number, one in enumerate(cases):
        arrays[f"columns{number}"] = one.columns
        arrays[f"wanted{number}"] = np.array([row for group in one.wanted for row in group], np.int64)
    np.savez_compressed(path, **arrays)


def load(path: Path) -> list[Case]:
    """What `save` kept."""
    with np.load(path) as kept:
        return [
            Case(str(name), kept[f"columns{number}"], tuple((row,) for row in kept[f"wanted{number}"].tolist()))
            for number, name in enumerate(kept["repositories"])
        ]
