"""`whence bench context`: how well the symbols that a task needs are ranked (B3).

No setting of the user has a part in it, and nothing is learned from one task for the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.app.index import Index
from whence.context.pipeline import STAGES
from whence.core.errors import UsageError, WhenceError
from whence.core.profiles import SYMBOL_PROFILES, USAGE_WEIGHTS
from whence.search import metrics
from whence_bench import report
from whence_bench.context.corpus import ContextCorpus, ContextRepository, ContextTask
from whence_bench.context.knowing import Knowing
from whence_bench.context.metrics import official, strict
from whence_bench.measure import cpu_seconds
from whence_bench.search.run import WARM_UP, default_settings

DEFAULT_PROFILES = ("default", "classic")
#: What the peer's answers are called among those of the profiles.
PEER = "knowing"
#: Tasks of a repository that the peer is asked when only its time counts.
PEER_TASKS = 5
#: The measures of an answer, as fields of it.
MEASURES = ("precision", "recall", "ndcg", "mrr", "strict_precision", "strict_recall")

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Way:
    """One way of answering: a profile, whole or without one of its stages."""

    profile: str
    without: str = ""

    @property
    def name(self) -> str:
        """As it is called in tables."""
        return f"{self.profile} without {self.without}" if self.without else self.profile


@dataclass(frozen=True, slots=True)
class Answered:
    """One task with what came of it."""

    repository: str
    tier: str
    task: str
    precision: float
    recall: float
    ndcg: float
    mrr: float
    strict_precision: float
    strict_recall: float
    cpu_ms: float
    returned: tuple[str, ...]  # the names that count


@dataclass(slots=True)
class Run:
    """All answers by the way they were given, and what they were given with."""

    answered: dict[str, list[Answered]]
    settings: list[dict[str, Any]] = field(default_factory=list)
    repositories: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Peer:
    """The peer, and whether its answers count or only their time."""

    knowing: Knowing
    quality: bool


def whole(profiles: Sequence[str]) -> list[Way]:
    """Each profile as it is."""
    return [Way(profile) for profile in profiles]


def taken_apart(profile: str) -> list[Way]:
    """A profile as it is, and then without each of its stages."""
    if profile not in SYMBOL_PROFILES:
        raise UsageError(f"there is no profile {profile!r}", hint=f"allowed: {', '.join(SYMBOL_PROFILES)}")
    parts = dict.fromkeys((*(STAGES if profile == "default" else ()), *SYMBOL_PROFILES[profile].signals))
    return [Way(profile), *(Way(profile, part) for part in parts if part not in USAGE_WEIGHTS)]


def run(corpus: ContextCorpus, ways: Sequence[Way], index_dir: Path | None, progress: Progress, peer: Peer | None = None) -> Run:
    """Ask for every task of the corpus in every way."""
    done = Run({way.name: [] for way in ways})
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        for number, repository in enumerate(corpus.repositories):
            progress(number, len(corpus.repositories))
            described = _measure(repository, ways, index_dir or Path(temporary), done)
            if peer is not None:
                described[PEER] = _beside(peer, repository, done)
            done.repositories.append(described)
    progress(len(corpus.repositories), len(corpus.repositories))
    return done


def _measure(repository: ContextRepository, ways: Sequence[Way], data_dir: Path, done: Run) -> dict[str, Any]:
    """Index a repository and ask for all its tasks."""
    began = cpu_seconds()
    with Index.open(repository.root, data_dir=data_dir, settings=default_settings()) as index:
        graph = index.open_graph()  # part of the pipeline: no task is answered without it
        spent = cpu_seconds() - began
        for way in ways:
            done.answered[way.name] += ask(index, repository, way)
        done.settings = report.settings(index.provenance)
        fresh = index.last_refresh.read >= index.snapshot.live_files
        return {
            "name": repository.name,
            "language": repository.language,
            "revision": repository.revision,
            "files": index.snapshot.live_files,
            "units": index.snapshot.live_units,
            "edges": len(graph.source),
            "index_cpu": spent if fresh else None,  # an index that was there already cost nothing now
        }


def ask(index: Index, repository: ContextRepository, way: Way) -> list[Answered]:
    """Ask for all tasks of one repository."""
    _symbols(index, WARM_UP, way)
    found = []
    for task in repository.tasks:
        began = time.process_time()
        names = _symbols(index, task.description, way)
        found.append(judged(repository, task, names, (time.process_time() - began) * 1e3))
    return found


def _symbols(index: Index, description: str, way: Way) -> list[str]:
    return [symbol.qualified_name for symbol in index.context(description, profile=way.profile, without=way.without).symbols]


def judged(repository: ContextRepository, task: ContextTask, names: Sequence[str], cpu_ms: float) -> Answered:
    """An answer with what it is worth."""
    lenient, exact = official(names, task.wanted), strict(names, task.wanted)
    return Answered(
        repository.name,
        task.tier,
        task.name,
        **asdict(lenient),
        strict_precision=exact.precision,
        strict_recall=exact.recall,
        cpu_ms=cpu_ms,
        returned=tuple(names[: metrics.DEPTH]),
    )


def _beside(peer: Peer, repository: ContextRepository, done: Run) -> dict[str, Any] | None:
    """The peer on the same repository; a note where it fails."""
    try:
        indexed = peer.knowing.index(repository.name, repository.root)
        peer.knowing.context(repository.name, WARM_UP)
    except WhenceError as error:
        done.notes.append(f"{PEER} on {repository.name}: {error.message}")
        return None
    answered = [_peer_answer(peer, repository, task, done) for task in repository.tasks[: None if peer.quality else PEER_TASKS]]
    if peer.quality:
        done.answered.setdefault(PEER, []).extend(answered)
    return {"index_cpu": indexed.index, "resolver_cpu": indexed.resolver, "cpu_ms": [one.cpu_ms for one in answered]}


def _peer_answer(peer: Peer, repository: ContextRepository, task: ContextTask, done: Run) -> Answered:
    """The peer's answer to one task; none where it fails, with a note."""
    try:
        names, spent = peer.knowing.context(repository.name, task.description)
    except WhenceError as error:
        done.notes.append(f"{PEER} on {task.name}: {error.message}")
        return judged(repository, task, [], 0.0)
    return judged(repository, task, names, spent.cpu * 1e3)


def summary(answered: Sequence[Answered]) -> dict[str, Any]:
    """The figures of one way of answering."""
    return {
        **figures(answered),
        "by_tier": _by(answered, "tier"),
        "by_repository": _by(answered, "repository"),
    }


def figures(answered: Sequence[Answered]) -> dict[str, Any]:
    """The means of all measures, and the CPU time of a query."""
    times = [one.cpu_ms for one in answered]
    return {
        "tasks": len(answered),
        **{measure: metrics.mean([getattr(one, measure) for one in answered]) for measure in MEASURES},
        "cpu_ms_p50": metrics.percentile(times, 0.5),
        "cpu_ms_p95": metrics.percentile(times, 0.95),
    }


def _by(answered: Sequence[Answered], part: str) -> dict[str, dict[str, Any]]:
    grouped: dict[str, list[Answered]] = {}
    for one in answered:
        grouped.setdefault(getattr(one, part), []).append(one)
    return {name: figures(grouped[name]) for name in sorted(grouped)}


def as_json(run: Run, corpus: ContextCorpus) -> dict[str, Any]:
    """Everything that was measured, and what is needed to measure it again."""
    return {
        "benchmark": "context",
        "profiles": {name: {**summary(answered), "answers": [asdict(one) for one in answered]} for name, answered in run.answered.items()},
        "repositories": run.repositories,
        "missing": list(corpus.missing),
        "notes": run.notes,
        "settings": run.settings,
    }
