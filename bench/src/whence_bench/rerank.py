"""`whence bench rerank`: what a second look is worth with a model, and what it costs.

Every question is asked without it, then with it (most texts are new then: cold), then once more (warm). Time for new texts is
not bounded here, so that the gain is that of everything that was to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.context.pipeline import ContextRun, rank_symbols
from whence.core.profiles import SYMBOLS, SYMBOLS_FIRST
from whence.core.settings import merge
from whence.core.types import CALLABLES
from whence.ranking.rerank import CACHE, UnitReranker
from whence.retrieval.lexical import FieldWeights
from whence.storage.arrayfile import Array
from whence_bench import report
from whence_bench.context import changes
from whence_bench.context import corpus as context_corpus
from whence_bench.context import run as context_run
from whence_bench.fetch import histories_in
from whence_bench.measure import cpu_seconds
from whence_bench.memory import corpus as memory_corpus
from whence_bench.memory import run as memory_run
from whence_bench.search import corpus as search_corpus
from whence_bench.search import run as search_run

#: Milliseconds that nothing reaches.
UNBOUNDED = 600_000
#: What files weigh here: shipped, they are not read again.
FILES = {"profiles.default.signals.rerank.short": 0.2, "profiles.default.signals.rerank.long": 0.2}
#: Commits of a repository that are asked about.
COMMITS = 10
RESAMPLES, SEED = 2_000, 0

#: A question's figure and the milliseconds of processor time that it took.
Answered = tuple[float, float]
#: Asks all questions of a benchmark with some settings, in a data folder.
Ask = Callable[[Mapping[str, Any], Path], Iterator[Answered]]


@dataclass(frozen=True, slots=True)
class Compared:
    """The answers to the same questions without a second look, with it, and with it again."""

    measure: str
    without: Array  # (questions, 2): figure and time
    cold: Array
    warm: Array
    cache_bytes: int

    @property
    def interval(self) -> tuple[float, float]:
        """Where the gain lies, nine times in ten."""
        gains = self.warm[:, 0] - self.without[:, 0]
        chance = np.random.default_rng(SEED)
        means = [float(gains[chance.integers(0, len(gains), len(gains))].mean()) for _ in range(RESAMPLES)]
        return float(np.percentile(means, 5)), float(np.percentile(means, 95))

    def as_json(self) -> dict[str, Any]:
        """All figures."""
        times = {name: float(np.median(getattr(self, name)[:, 1])) for name in ("without", "cold", "warm")}
        return {
            "measure": self.measure,
            "questions": len(self.without),
            "without": float(self.without[:, 0].mean()),
            "with": float(self.warm[:, 0].mean()),
            "interval": self.interval,
            "cpu_ms_p50": times,
            "cache_bytes": self.cache_bytes,
        }


def compare(measure: str, ask: Ask, model: str) -> Compared:
    """Ask three times."""
    chosen = {"rerank.model": model, "rerank.milliseconds": UNBOUNDED, **FILES}
    with TemporaryDirectory(prefix="whence-bench-") as place:
        data = Path(place)
        without, cold, warm = (np.array(list(ask(settings, data))) for settings in ({}, chosen, chosen))
        return Compared(measure, without, cold, warm, sum(file.stat().st_size for file in (data / CACHE).parent.iterdir()))


def benchmarks(places: Mapping[str, str]) -> dict[str, tuple[str, Ask]]:
    """The benchmarks that were named, with what each measures."""
    known: dict[str, tuple[str, Callable[..., Iterator[Answered]]]] = {
        "search": ("NDCG@10", _searches),
        "context": ("strict P@10", _tasks),
        "memory": ("R@5", _recalls),
        "history": ("functions in 10", _commits),
    }
    return {name: (known[name][0], partial(known[name][1], Path(place))) for name, place in places.items()}


def _searches(corpus: Path, settings: Mapping[str, Any], data: Path) -> Iterator[Answered]:
    for repository in search_corpus.load(corpus).repositories:
        with Index.open(repository.root, data_dir=data, settings={**search_run.default_settings(), **settings}) as index:
            yield from ((one.ndcg, one.cpu_ms) for one in search_run.ask(index, repository, "default"))


def _tasks(corpus: Path, settings: Mapping[str, Any], data: Path) -> Iterator[Answered]:
    for repository in context_corpus.load(corpus).repositories:
        with Index.open(repository.root, data_dir=data, settings={**search_run.default_settings(), **settings}) as index:
            index.open_graph()
            yield from ((one.strict_precision, one.cpu_ms) for one in context_run.ask(index, repository, context_run.Way("default")))


def _recalls(corpus: Path, settings: Mapping[str, Any], data: Path) -> Iterator[Answered]:
    with TemporaryDirectory(prefix="whence-bench-") as place:
        for one in memory_run.stored(memory_corpus.load(corpus), Path(place), memory_corpus.AS_GIVEN, data, settings):
            yield from ((found.recall(5), found.cpu_ms) for found in memory_run.ask(one, memory_run.WAYS[memory_run.UNION]))


def _commits(corpus: Path, settings: Mapping[str, Any], data: Path) -> Iterator[Answered]:
    merged = merge([])[0]
    chosen = replace(merged.rerank, **{name.partition(".")[2]: value for name, value in settings.items() if name.startswith("rerank.")})
    for repository in histories_in(corpus)[0]:
        for question, index, wanted in changes.asked_functions(repository, COMMITS):
            reader = replace(index.reader, layout=replace(index.layout, data_dir=data), settings=replace(merged, rerank=chosen))
            reranker = UnitReranker(reader) if settings else None
            run = ContextRun(index.snapshot, index.open_graph(), SYMBOLS_FIRST, SYMBOLS, FieldWeights.of(SYMBOLS), index.reader.encoder)
            began = cpu_seconds()
            ranked = rank_symbols(question.text, replace(run, reranker=reranker))
            spent = (cpu_seconds() - began) * 1e3
            units = [int(ranked.pool.units[row]) for row in ranked.order]
            functions = [unit for unit in units if index.snapshot.kind(unit) in CALLABLES][:10]
            yield float({*wanted} <= {*functions}), spent


def as_text(found: Mapping[str, Compared]) -> str:
    """The table."""
    rows: list[Sequence[object]] = []
    for name, one in found.items():
        figures, (low, high) = one.as_json(), one.interval
        times = (f"{figures['cpu_ms_p50'][kind]:.1f}" for kind in ("without", "cold", "warm"))
        gain = f"{figures['with'] - figures['without']:+.4f}"
        size = f"{one.cache_bytes / 1e6:.1f}"
        parts = (f"{figures['without']:.4f}", f"{figures['with']:.4f}", gain, f"{low:+.4f} to {high:+.4f}")
        rows.append((f"{name}: {one.measure}", figures["questions"], *parts, *times, size))
    heads = ("benchmark", "questions", "without", "with", "gain", "90 %", "CPU ms without", "cold", "warm", "cache MB")
    return report.table(heads, rows)
