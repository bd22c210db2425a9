"""`whence bench search`: how well files are ranked on a corpus of questions (B2).

No setting of the user has a part in it: every setting is passed with its default value.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.app.index import Index
from whence.core.settings import merge
from whence.search import metrics
from whence_bench import report
from whence_bench.search.corpus import Corpus, Repository, Task

#: Files among which a wanted one must be to count as retrieved.
CANDIDATES = 200
DEFAULT_PROFILES = ("default", "classic", "semantic")
#: What the mean over all queries must reach, by profile, and the recall of each.
NDCG_BARS = {"default": 0.91, "classic": 0.80, "semantic": 0.83}
RECALL_BAR = 0.99
#: The profile whose candidates, too, come from vectors only.
VECTORS_ALONE = "semantic"
#: Asked once of every index before anything is timed.
WARM_UP = "read the settings and parse the file"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Answered:
    """One question with what came of it."""

    repository: str
    language: str
    category: str
    query: str
    ndcg: float
    ranks: tuple[int | None, ...]  # of each wanted file among the candidates
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Run:
    """All answers by profile, and what they were given with."""

    answered: dict[str, list[Answered]]
    settings: list[dict[str, Any]]
    repositories: list[dict[str, Any]]


def default_settings() -> dict[str, Any]:
    """Every setting by name with its default value, but that nothing which use taught has a part (L6)."""
    return {one.name: one.value for one in merge([])[1]} | {"learn.enabled": False}


def run(corpus: Corpus, profiles: Sequence[str], index_dir: Path | None, progress: Progress) -> Run:
    """Ask every question of the corpus with every profile."""
    answered: dict[str, list[Answered]] = {profile: [] for profile in profiles}
    settings: list[dict[str, Any]] = []
    repositories: list[dict[str, Any]] = []
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        for done, repository in enumerate(corpus.repositories):
            progress(done, len(corpus.repositories))
            with Index.open(repository.root, data_dir=index_dir or temporary, settings=default_settings()) as index:
                for profile in profiles:
                    answered[profile] += ask(index, repository, profile)
                settings = report.settings(index.provenance)
                repositories.append(_described(index, repository))
    progress(len(corpus.repositories), len(corpus.repositories))
    return Run(answered, settings, repositories)


def ask(index: Index, repository: Repository, profile: str) -> list[Answered]:
    """Ask all questions of one repository."""
    index.search(WARM_UP, k=metrics.DEPTH, profile=profile)
    return [_answer(index, repository, task, profile) for task in repository.tasks]


def _answer(index: Index, repository: Repository, task: Task, profile: str) -> Answered:
    asked: dict[str, Any] = {"strategy": "vector"} if profile == VECTORS_ALONE else {}
    began = time.process_time()
    results = index.search(task.query, k=metrics.DEPTH, profile=profile, **asked)
    spent = time.process_time() - began
    candidates = [result.path for result in index.search(task.query, k=CANDIDATES, profile=profile, **asked)]
    return Answered(
        repository.name,
        repository.language,
        task.category,
        task.query,
        metrics.ndcg(task.wanted, [result.path for result in results]),
        tuple(metrics.rank_of(target, candidates) for target in task.wanted),
        spent * 1e3,
    )


def _described(index: Index, repository: Repository) -> dict[str, Any]:
    snapshot = index.snapshot
    return {"name": repository.name, "revision": repository.revision, "files": snapshot.live_files, "units": snapshot.live_units}


def summary(answered: Sequence[Answered]) -> dict[str, Any]:
    """The figures of one profile."""
    ranks = [rank for one in answered for rank in one.ranks]
    times = [one.cpu_ms for one in answered]
    return {
        "queries": len(answered),
        "ndcg": metrics.mean([one.ndcg for one in answered]),
        "recall": metrics.mean([float(rank is not None) for rank in ranks]),
        "cpu_ms_p50": metrics.percentile(times, 0.5),
        "cpu_ms_p95": metrics.percentile(times, 0.95),
        **{f"by_{part}": _by(answered, part) for part in ("category", "language", "repository")},
    }


def _by(answered: Iterable[Answered], part: str) -> dict[str, dict[str, Any]]:
    """Mean NDCG by a part of the corpus, the worst first."""
    grouped: dict[str, list[float]] = {}
    for one in answered:
        grouped.setdefault(getattr(one, part), []).append(one.ndcg)
    means = {name: {"queries": len(values), "ndcg": metrics.mean(values)} for name, values in grouped.items()}
    return dict(sorted(means.items(), key=lambda pair: (pair[1]["ndcg"], pair[0])))


def as_text(run: Run) -> str:
    """The tables."""
    summaries = {profile: summary(answered) for profile, answered in run.answered.items()}
    header = ("profile", "queries", "NDCG@10", "bar", "", f"recall@{CANDIDATES}", "bar", "", "CPU ms p50", "p95")
    parts = [report.table(header, [_line(profile, figures) for profile, figures in summaries.items()])]
    for part in ("category", "language", "repository"):
        first = next(iter(summaries.values()))[f"by_{part}"]
        rows = [
            (name, of["queries"], *(figures[f"by_{part}"].get(name, {}).get("ndcg") for figures in summaries.values()))
            for name, of in first.items()
        ]
        parts.append(report.table((part, "queries", *summaries), rows))
    return "\n\n".join(parts)


def _line(profile: str, figures: dict[str, Any]) -> tuple[object, ...]:
    bar = NDCG_BARS.get(profile)
    return (
        profile,
        figures["queries"],
        f"{figures['ndcg']:.4f}",
        bar,
        report.verdict(None if bar is None else figures["ndcg"] >= bar),
        f"{figures['recall']:.4f}",
        None if profile == VECTORS_ALONE else RECALL_BAR,
        report.verdict(None if profile == VECTORS_ALONE else figures["recall"] >= RECALL_BAR),
        f"{figures['cpu_ms_p50']:.2f}",
        f"{figures['cpu_ms_p95']:.2f}",
    )


def as_json(run: Run, corpus: Corpus) -> dict[str, Any]:
    """Everything that was measured, and what is needed to measure it again."""
    return {
        "benchmark": "search",
        "profiles": {
            profile: {**summary(answered), "answers": [asdict(one) for one in answered]} for profile, answered in run.answered.items()
        },
        "repositories": run.repositories,
        "missing": list(corpus.missing),
        "settings": run.settings,
    }
