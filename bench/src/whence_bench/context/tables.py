"""What `whence bench context` prints: the bars, each profile by tier and repository, costs, and what each stage is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whence.search import metrics
from whence_bench import report
from whence_bench.context.run import MEASURES, PEER, Answered, Run, Way, figures, summary
from whence_bench.search.ablation import Worth, worth_of

#: The profile that the bars are for.
JUDGED = "default"
#: What the means over all tasks must reach.
BARS = {"strict_precision": 0.27, "recall": 0.60, "precision": 0.46}
#: Repositories so large that the right package is hard to find, and what they must reach together.
LARGE, LARGE_BAR = ("kafka", "calcom"), 0.18
#: The repository whose costs have bars: milliseconds of a query, and of the peer's CPU time for an index.
COSTLY, QUERY_MS, INDEX_RATIO = "django", 80, 0.5
TITLES = {
    "precision": "P@10",
    "recall": "R@10",
    "ndcg": "NDCG@10",
    "mrr": "MRR",
    "strict_precision": "strict P@10",
    "strict_recall": "strict R@10",
}


def as_text(run: Run) -> str:
    """All tables of a run."""
    parts = [_bars(run)] if JUDGED in run.answered else []
    parts += [f"{name}\n\n{_one(answered)}" for name, answered in run.answered.items()]
    parts.append(_costs(run))
    return "\n\n".join(part for part in parts if part)


def _one(answered: Sequence[Answered]) -> str:
    """One profile: all tasks, each tier, each repository."""
    found = summary(answered)
    lines = [("all", found)]
    lines += [(f"tier {name}", of) for name, of in found["by_tier"].items()]
    lines += list(found["by_repository"].items())
    rows = [(name, of["tasks"], *(of[measure] for measure in MEASURES), *_times(of)) for name, of in lines]
    return report.table(("", "tasks", *(TITLES[measure] for measure in MEASURES), "CPU ms p50", "p95"), rows)


def _times(of: dict[str, Any]) -> tuple[str, str]:
    return f"{of['cpu_ms_p50']:.1f}", f"{of['cpu_ms_p95']:.1f}"


def _bars(run: Run) -> str:
    return f"bars, profile {JUDGED}\n\n" + report.table(("what", "bar", "measured", ""), bar_rows(run))


def bar_rows(run: Run) -> list[tuple[str, str, float, str]]:
    """Each bar: what it is of, what is asked, what was measured, and the verdict."""
    answered = run.answered[JUDGED]
    found = figures(answered)
    rows = [(TITLES[measure], f">= {bar}", found[measure], report.verdict(found[measure] >= bar)) for measure, bar in BARS.items()]
    if large := [one for one in answered if one.repository in LARGE]:
        value = figures(large)["strict_precision"]
        rows.append((f"{TITLES['strict_precision']}, {' and '.join(LARGE)}", f">= {LARGE_BAR}", value, report.verdict(value >= LARGE_BAR)))
    if costly := [one for one in answered if one.repository == COSTLY]:
        value = figures(costly)["cpu_ms_p50"]
        rows.append((f"query, {COSTLY}, p50 CPU ms", f"<= {QUERY_MS}", value, report.verdict(value <= QUERY_MS)))
    ratio = next((_index_ratio(one) for one in run.repositories if one["name"] == COSTLY), None)
    if ratio is not None:
        rows.append((f"index, {COSTLY}, CPU", f"<= {INDEX_RATIO} x {PEER}", ratio, report.verdict(ratio <= INDEX_RATIO)))
    return rows


def _index_ratio(described: dict[str, Any]) -> float | None:
    """Our CPU time for an index over the peer's, both passes of it."""
    peer, ours = described.get(PEER), described["index_cpu"]
    if not peer or ours is None:
        return None
    return float(ours) / float(peer["index_cpu"] + peer["resolver_cpu"])


def _costs(run: Run) -> str:
    """CPU time of indexing and, where a peer ran beside, its own; the peer needs a process for each query."""
    beside = any(PEER in one for one in run.repositories)
    header = ["repository", "files", "units", "index CPU s"]
    header += [f"{PEER} index", "+ resolver", "ratio", f"{PEER} query CPU ms p50"] if beside else []
    return report.table(header, [_cost(one, beside=beside) for one in run.repositories])


def _cost(described: dict[str, Any], *, beside: bool) -> list[object]:
    cpu = described["index_cpu"]
    row: list[object] = [described["name"], described["files"], described["units"], None if cpu is None else f"{cpu:.2f}"]
    if beside:
        peer = described.get(PEER)
        row += (
            [
                f"{peer['index_cpu']:.2f}",
                f"{peer['resolver_cpu']:.2f}",
                _index_ratio(described),
                f"{metrics.percentile(peer['cpu_ms'], 0.5):.0f}",
            ]
            if peer
            else [None] * 4
        )
    return row


def worths(run: Run, ways: Sequence[Way]) -> dict[str, list[Worth]]:
    """What each stage is worth by strict precision and by official recall, the greatest first."""
    base = run.answered[ways[0].name]
    places = [one.repository for one in base]
    found: dict[str, list[Worth]] = {}
    for measure in ("strict_precision", "precision", "recall"):
        full = np.array([getattr(one, measure) for one in base])
        losses = {way.without: full - [getattr(one, measure) for one in run.answered[way.name]] for way in ways[1:]}
        found[measure] = sorted((worth_of(stage, "stage", loss, places) for stage, loss in losses.items()), key=lambda one: -one.loss)
    return found


def ablated_text(run: Run, ways: Sequence[Way]) -> str:
    """The profile as it is, then what it loses without each stage."""
    found = worths(run, ways)
    losses = {measure: {one.part: one.loss for one in of} for measure, of in found.items()}
    rows = [
        (
            one.part,
            f"{one.loss:+.4f}",
            f"{one.low:+.4f}",
            f"{one.high:+.4f}",
            f"{losses['precision'][one.part]:+.4f}",
            f"{losses['recall'][one.part]:+.4f}",
        )
        for one in found["strict_precision"]
    ]
    table = report.table(("without", "strict P@10 lost", "from", "to", "P@10 lost", "R@10 lost"), rows)
    title = f"profile {ways[0].profile}: loss without each stage, 95 % over repositories"
    return f"{ways[0].name}\n\n{_one(run.answered[ways[0].name])}\n\n{title}\n\n{table}"
