"""Whether the unit that a result shows is the one that was asked for.

A question is the first sentence of a doc comment, asked of the tree with all comments of that definition blanked; wanted
are the lines of the definition. Only results whose file was found count: this is about the last step, from file to unit.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whence.app.doctor.quality import first_sentence, mask_definition, shuffled
from whence.app.index import Index
from whence.core.profiles import DEFAULT, UNITS, Weight
from whence.ranking.ledger import score
from whence.search.result import SearchResult
from whence_bench import report
from whence_bench.context.learning import Case
from whence_bench.search.corpus import Corpus, Repository
from whence_bench.search.run import default_settings

PER_REPOSITORY, DEPTH = 25, 10
#: A shown unit is the wanted one if they share this much of the lines of both.
SAME = 0.5

UNIT_SIGNALS = tuple(UNITS.signals)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SpanQuestion:
    """A doc sentence, and the lines of what it documents."""

    text: str
    path: str
    first: int
    last: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class SpanAnswer:
    """What became of a question."""

    repository: str
    language: str
    question: SpanQuestion
    rank: int  # of the file; 0: not among the first ten
    overlaps: bool = False  # the shown unit overlaps the wanted lines
    is_same: bool = False  # and is about the wanted definition itself, not all around it
    line_inside: bool = False  # a shown line lies inside


def lay_out(root: Path, tree: Path) -> list[SpanQuestion]:
    """Copy a tree, blank the comments of some definitions, and ask for these."""
    shutil.copytree(root, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    questions: list[SpanQuestion] = []
    files = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    for name in shuffled([path.relative_to(tree).as_posix() for path in files]):
        if len(questions) == PER_REPOSITORY:
            break
        found = mask_definition(name, (tree / name).read_bytes())
        if found is not None:
            unit, masked = found
            (tree / name).write_bytes(masked)
            questions.append(SpanQuestion(first_sentence(unit.doc), name, unit.first_line, unit.last_line, unit.name))
    return questions


def ask(index: Index, repository: Repository, question: SpanQuestion) -> SpanAnswer:
    """Search for a doc sentence."""
    results = index.search(question.text, k=DEPTH, plain=True)
    rank = next((number for number, one in enumerate(results, 1) if one.path == question.path), 0)
    found = (repository.name, repository.language, question, rank)
    return SpanAnswer(*found, *_judged(results[rank - 1], question)) if rank else SpanAnswer(*found)


def _judged(result: SearchResult, question: SpanQuestion) -> tuple[bool, bool, bool]:
    shared = min(result.best_end, question.last) - max(result.best_start, question.first) + 1
    together = max(result.best_end, question.last) - min(result.best_start, question.first) + 1
    inside = any(question.first <= line.number <= question.last for line in result.lines)
    return shared > 0, shared / together >= SAME, inside


def run(corpus: Corpus, _index_dir: Path | None, progress: Progress) -> list[SpanAnswer]:
    """Ask the questions of every repository."""
    answers: list[SpanAnswer] = []
    for done, repository in enumerate(corpus.repositories):
        progress(done, len(corpus.repositories))
        with TemporaryDirectory(prefix="whence-bench-") as temporary:
            tree = Path(temporary) / "tree"
            questions = lay_out(repository.root, tree)
            with Index.open(tree, data_dir=Path(temporary) / "data", settings=default_settings()) as index:
                answers += [ask(index, repository, question) for question in questions]
    progress(len(corpus.repositories), len(corpus.repositories))
    return answers


def summary(answers: Sequence[SpanAnswer]) -> dict[str, Any]:
    """How often the file is found, and of these the unit."""
    found = [one for one in answers if one.rank] or [SpanAnswer("", "", SpanQuestion("", "", 0, 0), 0)]
    names = ("overlaps", "is_same", "line_inside")
    return {"questions": len(answers), "file_found": fmean(bool(one.rank) for one in answers)} | {
        name: fmean(getattr(one, name) for one in found) for name in names
    }


def as_text(answers: Sequence[SpanAnswer]) -> str:
    """All together, and by language."""
    heads = ("", "questions", "file in 10", "unit overlaps", "unit is the one", "a line inside")
    groups = {"all": list(answers)} | {
        name: [one for one in answers if one.language == name] for name in sorted({one.language for one in answers})
    }
    rows = [
        (name, *(value if isinstance(value, int) else f"{value:.3f}" for value in summary(some).values())) for name, some in groups.items()
    ]
    return report.table(heads, rows)


def as_json(answers: Sequence[SpanAnswer]) -> dict[str, Any]:
    """All answers."""
    return {"benchmark": "spans", **summary(answers), "answers": [asdict(one) for one in answers]}


def unit_case(name: str, index: Index, text: str, path: str, wanted: Sequence[int]) -> Case:
    """What every signal of the choice says of the units of a file, and which of them are wanted, to learn from."""
    snapshot = index.snapshot
    file = snapshot.symbols.file_row[path]
    units = np.arange(int(snapshot.unit_starts[file]), int(snapshot.unit_starts[file + 1]))
    pool = index.ranked(text, DEFAULT).pool.with_candidates(units, {})
    heard = {signal: Weight(1.0, 1.0) for signal in UNIT_SIGNALS}
    said = {entry.signal: entry.column.values for entry in score(pool, heard).entries}
    columns = np.stack([said[signal] for signal in UNIT_SIGNALS], axis=1).astype(np.float32)
    return Case(name, columns, (tuple(int(unit) - int(units[0]) for unit in wanted),))


def doc_cases(corpus: Corpus) -> Iterator[Case]:
    """The cases of all doc sentences of a corpus."""
    for repository in corpus.repositories:
        with TemporaryDirectory(prefix="whence-bench-") as temporary:
            tree = Path(temporary) / "tree"
            questions = lay_out(repository.root, tree)
            with Index.open(tree, data_dir=Path(temporary) / "data", settings=default_settings()) as index:
                for question in questions:
                    if wanted := _documented(index, question):
                        yield unit_case(repository.name, index, question.text, question.path, wanted)


def _documented(index: Index, question: SpanQuestion) -> list[int]:
    """The unit that a question is about: its comment may be outside now, its end is where it was."""
    snapshot, found = index.snapshot, index.snapshot.symbols.file_row.get(question.path)
    if found is None:
        return []
    rows = range(int(snapshot.unit_starts[found]), int(snapshot.unit_starts[found + 1]))
    first, last = snapshot.column("units.first"), snapshot.column("units.last")
    return [row for row in rows if snapshot.unit_name(row) == question.name and last[row] == question.last and first[row] >= question.first]
