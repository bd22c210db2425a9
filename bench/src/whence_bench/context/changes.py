"""`whence bench history --symbols`: from the message of a commit to the functions it changed.

Wanted are the innermost functions whose lines a commit changes, of commits that change one to three. Each repository is indexed
once, as it was before the first of its commits that are asked about: an index for each would take a hundred times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.context.changes import innermost
from whence.context.pipeline import ContextRun, RankedSymbols, rank_symbols
from whence.core.errors import UsageError
from whence.core.profiles import SYMBOLS, SYMBOLS_FIRST, Weight
from whence.core.types import CALLABLES, Unit
from whence.index.segment import name_hash
from whence.parse.languages import language_of
from whence.parse.units import parse
from whence.ranking.pool import INCLUDED
from whence.retrieval.lexical import FieldWeights
from whence.storage.arrayfile import Array
from whence_bench import report
from whence_bench.context.learning import LONG, SOFT, Case, left_out_of
from whence_bench.fetch import GitError, History, plain_git
from whence_bench.search.history import Question, Tree, newest_questions
from whence_bench.search.run import default_settings

REACHES = (1, 5, 10, 20)
MAX_FUNCTIONS = 3
#: Of the commits of a repository, so many in four are long texts, as issues are: at least so many words.
LONG_SHARE, LONG_TEXT = 0.8, 40
#: Commits looked at for each that is kept: many change no function, or too many.
TRIED = 6
#: Candidates that are kept to learn from, the best. Wanted ones below them are not: kept all the same, they would teach that
#: what ranks low is wanted.
RIVALS = 300
#: More of a file's head than any language needs to be known by.
HEAD_BYTES = 4_000

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? ")

Span = tuple[int, int]  # the first and the last of some lines

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


@dataclass(frozen=True, slots=True)
class Change:
    """A commit and the functions that it changed, by path and qualified name."""

    question: Question
    wanted: tuple[tuple[str, str], ...]


def changed_spans(repository: Path, question: Question) -> dict[str, list[Span]]:
    """The lines of each of the parent's files that a commit changes; an insertion is as if between two lines: from the next to the last."""
    options = ("diff", "--no-ext-diff", "--no-textconv", "--no-renames", "-U0", question.parent, question.commit, "--", *question.wanted)
    spans: dict[str, list[Span]] = {path: [] for path in question.wanted}
    inside: list[Span] = []
    for line in plain_git(*options, cwd=repository).split("\n"):
        if line.startswith("--- a/"):
            inside = spans.setdefault(line.removeprefix("--- a/").rstrip("\t"), [])
        elif found := _HUNK.match(line):
            start, lines = int(found[1]), int(found[2] or 1)
            inside.append((start, start + lines - 1) if lines else (start + 1, start))
    return spans


def changed_functions(units: Sequence[Unit], spans: Sequence[Span]) -> set[str]:
    """The qualified names of the innermost functions of a file that hold changed lines, or both lines around an insertion."""
    functions = [one for one in units if one.kind in CALLABLES]
    places = [(one.first_line, one.last_line) for one in functions]
    found: set[int] = set()
    for low, high in spans:
        found |= (
            set(innermost(places, range(low, high + 1))) if low <= high else set(innermost(places, [low])) & set(innermost(places, [high]))
        )
    return {functions[at].qualified_name for at in found}


def newest_changes(repository: History, count: int) -> list[Change]:
    """So many of the newest commits that change one to three functions, long texts and short ones in their shares."""
    left = {True: round(count * LONG_SHARE), False: count - round(count * LONG_SHARE)}
    found: list[Change] = []
    for question in newest_questions(repository)[: count * TRIED]:
        is_long = len(question.text.split()) >= LONG_TEXT
        if left[is_long] and (wanted := _wanted(repository.path, question)):
            found.append(Change(question, wanted))
            left[is_long] -= 1
    return found


def _wanted(repository: Path, question: Question) -> tuple[tuple[str, str], ...]:
    """The functions that a commit changed; none if they are too many, or if an object is missing."""
    found: list[tuple[str, str]] = []
    try:
        for path, spans in changed_spans(repository, question).items():
            source = plain_git("show", f"{question.parent}:{path}", cwd=repository).encode()
            units = parse(source, language_of(path, source[:HEAD_BYTES]).name).units
            found += [(path, name) for name in sorted(changed_functions(units, spans))]
    except GitError:
        return ()
    return tuple(found) if len(found) <= MAX_FUNCTIONS else ()


def asked_functions(repository: History, count: int) -> Iterator[tuple[Question, Index, list[int]]]:
    """Some of the newest commits, each with an index of the tree before the first of them and the functions of it that were changed."""
    changes = newest_changes(repository, count)
    if not changes:
        return
    before = min(one.question.time for one in changes) - 1
    base = plain_git("rev-list", "-1", "--first-parent", f"--before={before}", repository.revision, cwd=repository.path).strip()
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        tree = Tree(repository, Path(temporary) / "tree")
        tree.fill(base)
        with Index.open(tree.folder, data_dir=Path(temporary) / "data", settings=default_settings()) as index:
            for one in changes:
                found = [row for wanted in one.wanted if (row := _row(index, *wanted)) is not None]
                if len(found) == len(one.wanted):
                    yield one.question, index, found


def _row(index: Index, path: str, name: str) -> int | None:
    """The function of a path and a qualified name."""
    snapshot = index.snapshot
    file = snapshot.symbols.file_row.get(path)
    rows = range(int(snapshot.unit_starts[file]), int(snapshot.unit_starts[file + 1])) if file is not None else ()
    return next((row for row in rows if snapshot.symbols.full[row] == name_hash(name) and snapshot.kind(row) in CALLABLES), None)


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
    if not questions:
        raise UsageError("no repository has history to ask about", hint="clones need their history: no --depth")
    progress(len(repositories), len(repositories))
    return questions, cases


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
