"""`whence bench search --ablate`: what each retriever and each signal is worth, and how sure that is.

Nothing is learned again: the weights stay, one part is taken away. The interval is
of the paired difference, over repositories drawn with replacement, since questions
of one repository are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.core.errors import UsageError
from whence.core.profiles import PROFILES, Profile, Weight
from whence.search import metrics
from whence_bench import report
from whence_bench.search.corpus import Corpus
from whence_bench.search.features import FUSED, Asked, Judged, additive_signals, judge, ndcg, open_profile
from whence_bench.search.learning import UNLEARNED, left_out, scored_apart
from whence_bench.search.run import default_settings

DRAWS, SEED = 2_000, 7
#: The middle share of the draws that the interval spans.
SPAN = (2.5, 97.5)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Worth:
    """What NDCG@10 loses without a part, and between which bounds that lies."""

    part: str
    kind: str  # signal or retriever
    loss: float
    low: float
    high: float


def judged_corpus(corpus: Corpus, profile: Profile, index_dir: Path | None, progress: Progress) -> list[Judged]:
    """Every question of a corpus with all that was said of its candidates."""
    found: list[Judged] = []
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        for done, repository in enumerate(corpus.repositories):
            progress(done, len(corpus.repositories))
            with Index.open(repository.root, data_dir=index_dir or temporary, settings=default_settings()) as index:
                found += [
                    judge(index, profile, Asked(repository.name, repository.language, task.category, task.query, task.wanted))
                    for task in repository.tasks
                ]
    progress(len(corpus.repositories), len(corpus.repositories))
    return found


def worths(judged: Sequence[Judged], profile: Profile) -> list[Worth]:
    """The worth of every signal of a profile and of every retriever, the greatest first."""
    whole = np.array([ndcg(one, profile.signals) for one in judged])
    places = [one.repository for one in judged]
    found = [
        worth_of(name, "signal", whole - [ndcg(one, _without(profile.signals, name)) for one in judged], places) for name in profile.signals
    ]
    found += [
        worth_of(name, "retriever", whole - [ndcg(one, profile.signals, without=name) for one in judged], places)
        for name in dict.fromkeys(retriever for one in judged for retriever in one.retrievers)
    ]
    return sorted(found, key=lambda one: (one.kind, -one.loss))


def _without(weights: Mapping[str, Weight], name: str) -> dict[str, Weight]:
    return {other: weight for other, weight in weights.items() if other != name}


def worth_of(part: str, kind: str, losses: Any, places: Sequence[str]) -> Worth:
    """What the answers lose without a part, with bounds over repositories."""
    names = sorted(set(places))
    of = [np.array([loss for loss, place in zip(losses, places, strict=True) if place == name]) for name in names]
    sums, sizes = np.array([found.sum() for found in of]), np.array([len(found) for found in of])
    drawn = np.random.default_rng(SEED).integers(len(names), size=(DRAWS, len(names)))
    low, high = np.percentile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), SPAN)
    return Worth(part, kind, float(np.mean(losses)), float(low), float(high))


def as_text(found: Sequence[Worth], judged: Sequence[Judged], name: str) -> str:
    """The tables."""
    whole = metrics.mean([ndcg(one, PROFILES[name].signals) for one in judged])
    rows = [(one.part, one.kind, f"{one.loss:+.4f}", f"{one.low:+.4f}", f"{one.high:+.4f}") for one in found]
    return f"profile {name}: NDCG@10 {whole:.4f}; loss without each part, 95 % over repositories\n\n" + report.table(
        ("part", "kind", "loss", "from", "to"), rows
    )


def left_out_text(judged: Sequence[Judged]) -> tuple[str, dict[str, Any]]:
    """NDCG@10 with weights learned from all repositories but the one asked."""
    scores = scored_apart(judged, left_out(judged, UNLEARNED))
    by: dict[str, list[float]] = {}
    for one, value in zip(judged, scores, strict=True):
        by.setdefault(one.category, []).append(value)
        by.setdefault(one.repository, []).append(value)
    figures = {"all": metrics.mean(scores), **{name: metrics.mean(values) for name, values in by.items()}}
    rows = [(name, f"{value:.4f}") for name, value in figures.items()]
    return "weights learned on this corpus, leave-one-repository-out\n\n" + report.table(("part", "NDCG@10"), rows), figures


def opened(name: str, *, every_signal: bool) -> Profile:
    """A profile for judging: its own signals, or all that could be learned."""
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name!r}", hint=f"allowed: {', '.join(PROFILES)}")
    profile = PROFILES[name]
    weighed = [signal for signal in profile.signals if profile.weighs(signal)]
    if not set(weighed) <= {*additive_signals(), *FUSED}:
        raise UsageError(f"the profile {name!r} multiplies: its parts cannot be taken away one by one", hint="ablate default or semantic")
    return open_profile(profile, additive_signals() if every_signal else weighed)
