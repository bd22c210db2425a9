"""`whence bench confidence`: whether "not here" can be believed (Z1).

Every question of a corpus is asked of its own repository, where its answer is, and some of the others' questions are
asked of it too. Those are the questions without an answer, but for a few: a name that is defined here, too, is
not counted among them, and questions from repositories of the same field are reported and not learned from.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.core.errors import QueryError, UsageError
from whence.core.profiles import PROFILES
from whence.core.settings import SearchSettings
from whence.ranking.confidence import MAX_LEADING, ConfidenceFeatures, features_of, fitted_weights, probability_of
from whence.search import metrics
from whence.search.pipeline import RankedFile, leading_files
from whence.storage.arrayfile import Array
from whence.text.analyzer import parts
from whence_bench import report
from whence_bench.search.corpus import Corpus, Repository, Task
from whence_bench.search.run import default_settings

OWN, ELSEWHERE, LANGUAGE, FIELD, NAME, FOREIGN, DEFINED = (
    "its own",
    "borrowed, another field",
    "borrowed, same language",
    "borrowed, same field",
    "a name that was made up",
    "words of another language",
    "borrowed, a name that is defined here",
)
#: Questions without an answer; those of the same field may have one, so that they are no part of what is learned.
WITHOUT = (ELSEWHERE, LANGUAGE, FIELD, NAME, FOREIGN)
LEARNED_FROM = (OWN, ELSEWHERE, LANGUAGE, NAME, FOREIGN)
#: Repositories of the corpus that do the same things.
FIELDS = (
    "chi curl flask framework http4s httpx ktor laravel-framework phoenix rails sinatra vapor".split(),
    "circe gson jackson-databind newtonsoft-json pydantic zod".split(),
    "click cobra zig-clap".split(),
    "kotlinx-coroutines libuv tokio".split(),
)
#: Asked of every repository: nothing in it can be meant.
FOREIGN_QUESTIONS = (
    "데이터베이스 연결 풀을 어떻게 닫나요",
    "사용자 비밀번호를 암호화하는 함수",
    "キャッシュの有効期限はどこで設定されますか",
    "数据库连接池在哪里初始化",
    "как работает планировщик задач",
    "où est calculée la taxe de la commande",
    "wie wird die Rechnung als PDF erzeugt",
    "dónde se envía el correo de bienvenida",
)
#: Borrowed questions and made-up names for each repository, at most.
BORROWED, MADE_UP, SEED = 600, 10, 11
#: Strength of the L2 on weights of facts scaled to variance 1.
RIDGE, STEPS = 3.0, 30
#: What must be reached: the share of questions without an answer that are said to have none, at so many false alarms.
CAUGHT_BAR, ALARM_BAR = 0.80, 0.05
ALARMS = (0.01, 0.02, 0.03, 0.05, 0.10)
BINS = 10
#: Facts that are used with vectors and without.
BY_MEANING = tuple(field.name for field in fields(ConfidenceFeatures) if field.name != "has_vectors")
BY_WORDS = tuple(name for name in BY_MEANING if name not in ("near", "nearest"))

Progress = Callable[[int, int], None]
Weights = dict[str, float]


@dataclass(frozen=True, slots=True)
class Case:
    """One question asked of one repository."""

    repository: str
    source: str  # the repository it is about
    category: str
    kind: str
    text: str
    found: bool  # whether a file that answers it is among the leading ones
    facts: ConfidenceFeatures | None  # None where nothing was found
    worth: float = 1.0

    @property
    def here(self) -> bool:
        """Whether its answer is in the repository."""
        return self.kind == OWN

    @property
    def taught(self) -> bool:
        """Whether it can be learned from: it is plain whether the answer is there, and it is found if so."""
        return self.facts is not None and self.kind in LEARNED_FROM and (self.found or not self.here)


def collect(corpus: Corpus, index_dir: Path | None, progress: Progress) -> list[Case]:
    """Ask every repository its own questions and those without an answer."""
    found: list[Case] = []
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        for done, repository in enumerate(corpus.repositories):
            progress(done, len(corpus.repositories))
            with Index.open(repository.root, data_dir=index_dir or temporary, settings=default_settings()) as index:
                found += _asked_of(index, repository, corpus)
    progress(len(corpus.repositories), len(corpus.repositories))
    return found


def _asked_of(index: Index, repository: Repository, corpus: Corpus) -> list[Case]:
    chance = random.Random(f"{SEED} {repository.name}")
    others = [(other, task) for other in corpus.repositories if other.name != repository.name for task in other.tasks]
    borrowed = chance.sample(others, min(BORROWED, len(others)))
    made = [Task(name, (), "symbol") for name in made_up_names([task.query for task in repository.tasks])]
    found = [_case(index, repository, repository.name, OWN, task) for task in repository.tasks]
    found += [_case(index, repository, other.name, kind_of(repository, other), task) for other, task in borrowed]
    found += [_case(index, repository, "", NAME, task) for task in made if not len(index.snapshot.files_with_word(task.query))]
    found += [_case(index, repository, "", FOREIGN, Task(text, (), "foreign")) for text in FOREIGN_QUESTIONS]
    return found


def kind_of(repository: Repository, other: Repository) -> str:
    """How near to each other two repositories are."""
    if any(repository.name in field and other.name in field for field in FIELDS):
        return FIELD
    return LANGUAGE if repository.language and repository.language == other.language else ELSEWHERE


def made_up_names(questions: Iterable[str]) -> list[str]:
    """Names that could be of the repository and are not: the beginning of one that is spoken of, the end of the next."""
    spoken = [parts(word) for text in questions for word in text.split() if word.isidentifier()]
    several = [of for of in dict.fromkeys(tuple(one) for one in spoken) if len(of) > 1]
    return [first[0].title() + second[-1].title() for first, second in pairwise(several) if first[0] != second[-1]][:MADE_UP]


def _case(index: Index, repository: Repository, source: str, kind: str, task: Task) -> Case:
    try:
        ranked = index.ranked(task.query, PROFILES["default"])
    except QueryError:
        return Case(repository.name, source, task.category, kind, task.query, found=False, facts=None)
    found = [RankedFile(ranked, hit) for hit in ranked.hits[:MAX_LEADING]]
    facts = features_of(leading_files(found)) if found else None
    symbol = ranked.pool.plan.symbol
    if kind in (ELSEWHERE, LANGUAGE, FIELD) and symbol and len(ranked.pool.snapshot.definitions(symbol)):
        kind = DEFINED
    paths = [ranked.pool.snapshot.path(one.hit.file) for one in found]
    reached = any(metrics.rank_of(target, paths) is not None for target in task.wanted)
    return Case(repository.name, source, task.category, kind, task.query, reached, facts)


# Learning, and what is learned without the repository asked.


def learn(cases: Sequence[Case], names: Sequence[str], *, ridge: float = RIDGE) -> Weights:
    """The logistic that tells questions with an answer from those without; both count alike, however many there are."""
    chosen = [one for one in cases if one.taught and one.facts is not None and (one.facts.has_vectors or "near" not in names)]
    here = np.array([one.here for one in chosen], float)
    if not 0 < here.sum() < len(here):
        raise UsageError("there are not both questions with an answer and without", hint="give at least two repositories")
    rows = np.array([[getattr(one.facts, name) for name in names] for one in chosen], float)
    worth = np.array([one.worth for one in chosen])
    worth *= np.where(here > 0, 1.0, worth[here > 0].sum() / worth[here == 0].sum())
    middle = np.average(rows, axis=0, weights=worth)
    spread = np.maximum(np.sqrt(np.average((rows - middle) ** 2, axis=0, weights=worth)), 1e-9)
    vector = _newton(np.column_stack([(rows - middle) / spread, np.ones(len(rows))]), here, worth, ridge)
    slopes = vector[:-1] / spread
    return dict(zip(names, slopes.tolist(), strict=True)) | {"constant": float(vector[-1] - slopes @ middle)}


def _newton(rows: Array, here: Array, worth: Array, ridge: float) -> Array:
    vector, held = np.zeros(rows.shape[1]), ridge * np.eye(rows.shape[1])
    held[-1, -1] = 1e-9  # the constant is free
    for _ in range(STEPS):
        odds = 1 / (1 + np.exp(-np.clip(rows @ vector, -60, 60)))
        slope = rows.T @ (worth * (odds - here)) + held @ vector
        step = np.linalg.solve((rows * (worth * odds * (1 - odds))[:, None]).T @ rows + held, slope)
        vector = vector - step
        if np.abs(step).max() < 1e-8:
            break
    return vector


def learn_both(cases: Sequence[Case]) -> dict[str, Weights]:
    """Weights for answers by words and meaning, and for answers by words alone."""
    return {"meaning": learn(cases, BY_MEANING), "words": learn(cases, BY_WORDS)}


def chances(cases: Sequence[Case], weights: dict[str, Weights], *, vectors: bool = True) -> list[float]:
    """The probability of each case under some weights; at will as if there were no vectors."""
    return [
        0.0 if one.facts is None else probability_of(one.facts, weights["meaning" if vectors and one.facts.has_vectors else "words"])
        for one in cases
    ]


def left_out(cases: Sequence[Case], *, vectors: bool = True) -> list[float]:
    """The probability of each case under weights in which neither its repository nor its questions had a part."""
    found = [0.0] * len(cases)
    for name in dict.fromkeys(one.repository.lower() for one in cases):
        weights = learn_both([one for one in cases if name not in (one.repository.lower(), one.source.lower())])
        mine = [at for at, one in enumerate(cases) if one.repository.lower() == name]
        for at, chance in zip(mine, chances([cases[at] for at in mine], weights, vectors=vectors), strict=True):
            found[at] = chance
    return found


def counting_like(cases: Sequence[Case], count: float) -> list[Case]:
    """Cases that together count like so many questions with an answer."""
    taught = sum(one.here and one.taught for one in cases)
    return [replace(one, worth=count / max(taught, 1)) for one in cases]


# Figures.


def run(corpus: Corpus, index_dir: Path | None, progress: Progress, *, apart: bool, line: float | None = None) -> dict[str, Any]:
    """All figures: with the shipped weights, or `apart` with weights learned without the repository asked."""
    cases = collect(corpus, index_dir, progress)
    if apart:
        found = figures(cases, left_out(cases), line)
        found["words_alone"] = _at_the_line(cases, left_out(cases, vectors=False), found["line"])
    else:
        found = figures(cases, chances(cases, fitted_weights()), line)
        found["words_alone"] = _at_the_line(cases, chances(cases, fitted_weights(), vectors=False), found["line"])
    weights = "learned without the repository asked" if apart else "as shipped"
    return {"benchmark": "confidence", "weights": weights, "repositories": len(corpus.repositories), **found}


def figures(cases: Sequence[Case], probabilities: Sequence[float], line: float | None = None) -> dict[str, Any]:
    """Everything that is reported of some probabilities."""
    line = SearchSettings().not_here if line is None else line
    return {
        "line": line,
        "questions": {kind: sum(one.kind == kind for one in cases) for kind in (OWN, *WITHOUT, DEFINED)},
        "at_the_line": _at_the_line(cases, probabilities, line),
        "roc": _roc(cases, probabilities),
        **_reliability(cases, probabilities),
    }


def _at_the_line(cases: Sequence[Case], probabilities: Sequence[float], line: float) -> dict[str, Any]:
    """False alarms and what is caught below a line, by kind and by category."""
    said = [(one, chance < line) for one, chance in zip(cases, probabilities, strict=True)]
    own = [(one, no) for one, no in said if one.here]
    without = [(one, no) for one, no in said if one.kind in WITHOUT]
    categories = sorted({one.category for one, _ in own})
    return {
        "alarms": _mean(no for _, no in own),
        "caught": _mean(no for _, no in without),
        "by_kind": {kind: _mean(no for one, no in without if one.kind == kind) for kind in WITHOUT},
        "by_category": {
            name: {
                "questions": sum(one.category == name for one, _ in own),
                "alarms": _mean(no for one, no in own if one.category == name),
                "caught": _mean(no for one, no in without if one.category == name),
            }
            for name in categories
        },
    }


def _mean(values: Iterable[bool]) -> float | None:
    found = [float(value) for value in values]
    return metrics.mean(found) if found else None


def _roc(cases: Sequence[Case], probabilities: Sequence[float]) -> list[dict[str, Any]]:
    """What is caught where so many false alarms are allowed."""
    own = sorted(chance for one, chance in zip(cases, probabilities, strict=True) if one.here)
    points = []
    for alarms in ALARMS:
        line = own[min(int(alarms * len(own)), len(own) - 1)]  # so many lie below it, at most
        at = _at_the_line(cases, probabilities, line)
        points.append({"line": line, "alarms": at["alarms"], "caught": at["caught"], "by_kind": at["by_kind"]})
    return points


def _reliability(cases: Sequence[Case], probabilities: Sequence[float]) -> dict[str, Any]:
    """What was promised beside what was kept, questions with an answer and without counting alike."""
    pairs = [(one.here, chance) for one, chance in zip(cases, probabilities, strict=True) if one.kind in LEARNED_FROM]
    here, chance = np.array([pair[0] for pair in pairs], bool), np.array([pair[1] for pair in pairs])
    worth = np.where(here, 0.5 / max(here.sum(), 1), 0.5 / max((~here).sum(), 1))
    place = np.minimum((chance * BINS).astype(int), BINS - 1)
    rows, error = [], 0.0
    for number in range(BINS):
        inside = place == number
        total = float(worth[inside].sum())
        promised = float((worth * chance)[inside].sum() / total) if total else None
        kept = float(worth[inside & here].sum() / total) if total else None
        if promised is not None and kept is not None:
            error += total * abs(promised - kept)
        rows.append({"from": number / BINS, "questions": int(inside.sum()), "share": total, "promised": promised, "kept": kept})
    return {"reliability": rows, "calibration_error": error}


def as_json(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Cases with their facts, to be looked at."""
    return [asdict(one) for one in cases]


def tables(found: dict[str, Any]) -> list[tuple[tuple[str, ...], list[tuple[object, ...]]]]:
    """What is printed: of each table its header and its rows."""
    at, five = found["at_the_line"], found["roc"][ALARMS.index(ALARM_BAR)]
    asked, reliability = found["questions"], found["reliability"]
    kinds = [(kind, asked[kind], at["by_kind"][kind], five["by_kind"][kind]) for kind in WITHOUT]
    categories = [(name, of["questions"], of["alarms"], of["caught"]) for name, of in at["by_category"].items()]
    return [
        (
            ("questions without an answer", "asked", "said not here", f"at {ALARM_BAR:.0%} false alarms"),
            [*kinds, ("all", sum(asked[kind] for kind in WITHOUT), at["caught"], five["caught"])],
        ),
        (
            ("category", "with an answer", "false alarms", "said not here, without one"),
            [*categories, ("all", asked[OWN], at["alarms"], at["caught"])],
        ),
        (("false alarms", "said not here", "line"), [(f"{one['alarms']:.3f}", one["caught"], one["line"]) for one in found["roc"]]),
        (
            ("probability", "questions", "promised", "kept"),
            [(f"{one['from']:.1f} to {one['from'] + 0.1:.1f}", one["questions"], one["promised"], one["kept"]) for one in reliability],
        ),
    ]


def verdict(found: dict[str, Any]) -> str:
    """The bar, the calibration and what words alone come to, in a sentence each."""
    caught, alone = found["roc"][ALARMS.index(ALARM_BAR)]["caught"], found["words_alone"]
    kept = report.verdict(None if caught is None else caught >= CAUGHT_BAR)
    return (
        f"Bar: {CAUGHT_BAR:.0%} said not here at {ALARM_BAR:.0%} false alarms: {kept}. Calibration error {found['calibration_error']:.3f}. "
        f"Without vectors, at the line: {_percent(alone['caught'])} said not here, {_percent(alone['alarms'])} false alarms."
    )


def _percent(share: float | None) -> str:
    return report.NOTHING if share is None else f"{share:.1%}"


def as_text(found: dict[str, Any]) -> str:
    """The tables, for a terminal."""
    opening = f"{found['repositories']} repositories, weights {found['weights']}, line {found['line']:.2f}"
    return "\n\n".join([opening, *(report.table(*one) for one in tables(found)), verdict(found)])
