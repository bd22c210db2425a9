"""`whence bench pastes`: what is found when the question comes in a paste, and what a stack trace finds.

A question of the corpus is asked as it is, in a paste that is read as it is, and in the same paste with the question found
first. Forms and texts are of two sets: the rules were developed on one, the other was only measured. Issues stand apart.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.core.types import CODE
from whence.index.snapshot import Snapshot
from whence.parse.paths import Role, roles
from whence.query import parser
from whence.query.parser import PLAIN, CleanedQuery, clean_paste
from whence.search import metrics
from whence_bench import report
from whence_bench.search.corpus import Corpus, Repository
from whence_bench.search.paste_forms import ISSUES, SETS, Around, Form
from whence_bench.search.paste_texts import bank
from whence_bench.search.run import default_settings
from whence_bench.search.trace_forms import TRACE_FORMS, Step

SEED = 11
#: What a question in a paste is to keep of the NDCG of the same question alone.
BAR = 0.97
#: About so many forms of each set a question is asked in.
FORMS_EACH = 6
#: Traces made of each repository, and the fewest and most steps of its own code in one.
TRACES, STEPS = 20, (3, 6)
#: Within these first places the file of the innermost own step is looked for.
REACHES = (1, 3, 10)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Pasted:
    """One question in one form: what it gives alone, in the paste as it is, and with the question found in the paste."""

    repository: str
    part: str  # which set of forms
    form: str
    alone: float
    as_is: float
    found: float
    exact: bool  # whether what was searched is the question letter by letter


@dataclass(frozen=True, slots=True)
class Traced:
    """One trace: the place of the wanted file with and without being read as a trace."""

    repository: str
    part: str
    language: str
    as_is: int | None
    found: int | None
    read: bool  # whether it was known as a trace


@dataclass(frozen=True, slots=True)
class Run:
    """All that was asked, and what it was asked with."""

    pasted: list[Pasted]
    traced: list[Traced]
    settings: list[dict[str, Any]]


@contextmanager
def _read_as_is() -> Iterator[None]:
    """While this lasts every text is taken for a plain question."""
    usual = vars(parser)["clean_paste"]
    vars(parser)["clean_paste"] = CleanedQuery
    parser.parse_query.cache_clear()
    try:
        yield
    finally:
        vars(parser)["clean_paste"] = usual
        parser.parse_query.cache_clear()


def run(corpus: Corpus, index_dir: Path | None, progress: Progress, seed: int = SEED) -> Run:
    """Ask every question of the corpus in some forms of every set, and every repository for its traces."""
    pasted: list[Pasted] = []
    traced: list[Traced] = []
    settings: list[dict[str, Any]] = []
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        for done, repository in enumerate(corpus.repositories):
            progress(done, len(corpus.repositories))
            with Index.open(repository.root, data_dir=index_dir or temporary, settings=default_settings()) as index:
                pasted += ask_pasted(index, repository, seed)
                traced += ask_traces(index, repository, seed)
                settings = report.settings(index.provenance)
    progress(len(corpus.repositories), len(corpus.repositories))
    return Run(pasted, traced, settings)


def _paths(index: Index, text: str) -> list[str]:
    return [result.path for result in index.search(text, k=metrics.DEPTH)]


def ask_pasted(index: Index, repository: Repository, seed: int) -> list[Pasted]:
    """Every question of one repository in some forms of every set."""
    files = sorted(path for path in index.snapshot.paths if path)
    answered = []
    for number, task in enumerate(repository.tasks):
        others = [other.query for other in repository.tasks if other is not task]
        alone = metrics.ndcg(task.wanted, _paths(index, task.query))
        for part, forms in SETS.items():
            for form, (texts, write) in _turn(forms, number).items():
                around = Around(random.Random(f"{seed} {repository.name} {task.query} {part} {form}"), bank(texts), others, files)
                text = write(task.query, around)
                with _read_as_is():
                    as_is = metrics.ndcg(task.wanted, _paths(index, text))
                exact = clean_paste(text).text == task.query
                found = alone if exact else metrics.ndcg(task.wanted, _paths(index, text))
                answered.append(Pasted(repository.name, part, form, alone, as_is, found, exact))
    return answered


def _turn(forms: Mapping[str, tuple[str, Form]], number: int) -> dict[str, tuple[str, Form]]:
    """Some of the forms, other ones for each question, so that each form has its turn."""
    every = max(len(forms) // FORMS_EACH, 1)
    return {name: form for place, (name, form) in enumerate(forms.items()) if place % every == number % every}


def ask_traces(index: Index, repository: Repository, seed: int) -> list[Traced]:
    """Traces through random functions of one repository, written as its language writes them."""
    if repository.language not in TRACE_FORMS:
        return []
    part, form = TRACE_FORMS[repository.language]
    chance = random.Random(f"{seed} {repository.name} traces")
    functions = own_functions(index.snapshot, repository.language)
    answered = []
    for _ in range(TRACES if functions else 0):
        steps = [chance.choice(functions) for _ in range(chance.randint(*STEPS))]
        text = form.write(steps, chance)
        with _read_as_is():
            as_is = metrics.rank_of(steps[0].path, _paths(index, text))
        found = metrics.rank_of(steps[0].path, _paths(index, text))
        answered.append(Traced(repository.name, part, repository.language, as_is, found, clean_paste(text).kind != PLAIN))
    return answered


def own_functions(snapshot: Snapshot, language: str) -> list[Step]:
    """The functions and methods of a repository in its main language, without tests."""
    owners = snapshot.symbols.owner
    files = snapshot.content_mask(CODE)
    languages = snapshot.languages
    found = []
    for unit in np.flatnonzero(snapshot.unit_mask(files)).tolist():
        file = int(snapshot.file_of_unit[unit])
        path = snapshot.path(file)
        if snapshot.kind(unit) in ("function", "method") and languages[file] == language and not roles(path) & Role.TEST:
            owner = int(owners[unit])
            found.append(Step(path, 10 + 7 * unit % 900, snapshot.unit_name(owner) if owner >= 0 else "", snapshot.unit_name(unit)))
    return found


def summary(run: Run) -> dict[str, Any]:
    """The figures of every form and of both sets."""
    return {
        "pasted": {part: _of_pasted([one for one in run.pasted if one.part == part]) for part in SETS},
        "pasted_by_form": {
            f"{part}: {form}": _of_pasted([one for one in run.pasted if (one.part, one.form) == (part, form)])
            for part, forms in SETS.items()
            for form in forms
        },
        "traced": {part: _of_traced([one for one in run.traced if one.part == part]) for part in SETS},
        "traced_by_language": {
            language: _of_traced([one for one in run.traced if one.language == language])
            for language in TRACE_FORMS
            if any(one.language == language for one in run.traced)
        },
    }


def _of_pasted(pasted: Sequence[Pasted]) -> dict[str, Any]:
    alone = metrics.mean([one.alone for one in pasted])
    as_is = metrics.mean([one.as_is for one in pasted])
    found = metrics.mean([one.found for one in pasted])
    return {
        "pastes": len(pasted),
        "alone": alone,
        "as_is": as_is,
        "found": found,
        "kept_as_is": as_is / alone if alone else 0.0,
        "kept": found / alone if alone else 0.0,
        "exact": metrics.mean([float(one.exact) for one in pasted]),
    }


def _of_traced(traced: Sequence[Traced]) -> dict[str, Any]:
    within = {
        f"{way}_in_{reach}": metrics.mean([float((getattr(one, way) or metrics.DEPTH + 1) <= reach) for one in traced])
        for way in ("as_is", "found")
        for reach in REACHES
    }
    return {"traces": len(traced), **within, "read": metrics.mean([float(one.read) for one in traced])}


def as_text(run: Run) -> str:
    """The tables."""
    figures = summary(run)
    header = ("paste", "pastes", "alone", "paste as it is", "question found", "kept", "bar", "", "letter by letter")
    columns = ("pastes", "alone", "as_is", "found", "kept")
    rows = [
        (name, *(of[column] for column in columns), *against_bar(name, of["kept"]), of["exact"])
        for name, of in (figures["pasted"] | figures["pasted_by_form"]).items()
    ]
    ways = [f"{way}_in_{reach}" for way in ("as_is", "found") for reach in REACHES]
    traces = [
        (name, of["traces"], *(of[way] for way in ways), of["read"])
        for name, of in (figures["traced"] | figures["traced_by_language"]).items()
        if of["traces"]
    ]
    heads = [f"{way}, first {reach}" for way in ("as it is", "read") for reach in REACHES]
    return "\n\n".join([report.table(header, rows), report.table(("traces", "traces", *heads, "known"), traces)])


def against_bar(name: str, kept: float) -> tuple[object, str]:
    """An issue says more than the question in it: what it keeps of it is no merit and no fault."""
    return (None, report.verdict(None)) if name.startswith(ISSUES) else (BAR, report.verdict(kept >= BAR))


def as_json(run: Run, corpus: Corpus) -> dict[str, Any]:
    """Everything that was measured, and what is needed to measure it again."""
    return {
        "benchmark": "pastes",
        "seed": SEED,
        **summary(run),
        "pastes": [asdict(one) for one in run.pasted],
        "traces": [asdict(one) for one in run.traced],
        "missing": list(corpus.missing),
        "settings": run.settings,
    }
