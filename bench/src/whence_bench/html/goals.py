"""What each benchmark has to reach, read off its result."""

from __future__ import annotations

from collections.abc import Mapping

from whence_bench import report
from whence_bench.agents.run import LINES
from whence_bench.context import run as context
from whence_bench.context import tables
from whence_bench.html.parts import Goal
from whence_bench.html.scales import written
from whence_bench.html.systems import Result
from whence_bench.search import confidence, history, pastes
from whence_bench.search import run as search

_KEPT: Mapping[str, bool | None] = {report.verdict(kept): kept for kept in (None, True, False)}


def of_search(result: Result) -> list[Goal]:
    """The mean NDCG of each profile, and how many wanted files are candidates at all."""
    found = []
    for profile, figures in result["profiles"].items():
        bar = search.NDCG_BARS.get(profile)
        if bar is not None:
            found.append(Goal(f"NDCG@10, {profile}", f">= {bar}", f"{figures['ndcg']:.4f}", figures["ndcg"] >= bar))
        if profile != search.VECTORS_ALONE:
            kept = figures["recall"] >= search.RECALL_BAR
            found.append(Goal(f"recall@{search.CANDIDATES}, {profile}", f">= {search.RECALL_BAR}", f"{figures['recall']:.4f}", kept))
    return found


def of_context(result: Result) -> list[Goal]:
    """The bars as they are printed."""
    answered = {
        name: [context.Answered(**{**one, "returned": tuple(one["returned"])}) for one in of["answers"]]
        for name, of in result["profiles"].items()
    }
    if tables.JUDGED not in answered:
        return []
    rows = tables.bar_rows(context.Run(answered, repositories=list(result["repositories"])))
    return [Goal(what, bar, written(value), _KEPT[said]) for what, bar, value, said in rows]


def of_history(result: Result) -> list[Goal]:
    """How many times the baseline's NDCG each system has."""
    return [
        Goal(f"NDCG@10, {name}", f">= {history.BAR} x {result['baseline']}", written(of["ratio"]), _at_least(of["ratio"], history.BAR))
        for name, of in result["systems"].items()
        if name != result["baseline"]
    ]


def _at_least(value: float | None, bar: float) -> bool | None:
    return None if value is None else value >= bar


def of_memory(result: Result) -> list[Goal]:
    """The union is at least its best part on every conversation; nothing that was acknowledged is lost."""
    found = [
        Goal(f"{name}: at least its best part on every conversation", "nowhere behind", "; ".join(lines) or "nowhere behind", not lines)
        for name, lines in result.get("behind", {}).items()
    ]
    if written_at_once := result.get("writers"):
        lost = written_at_once["lost"]
        found.append(Goal("nothing acknowledged is lost, one writer killed", "0 lost", f"{lost} lost", lost == 0))
    return found


def of_agents(result: Result) -> list[Goal]:
    """Every figure of the table, those without a bar too."""
    return [
        Goal(what, "" if bar is None else f"<= {bar:g}", f"{result[name]:{form}}", None if bar is None else result[name] <= bar)
        for what, name, form, bar in LINES
    ]


def of_confidence(result: Result) -> list[Goal]:
    """What is caught at so many false alarms."""
    caught = result["roc"][confidence.ALARMS.index(confidence.ALARM_BAR)]["caught"]
    what = f"said not here, of questions without an answer, at {confidence.ALARM_BAR:.0%} false alarms"
    return [
        Goal(what, f">= {confidence.CAUGHT_BAR}", written(caught), _at_least(caught, confidence.CAUGHT_BAR)),
        Goal("calibration error", "", written(result["calibration_error"]), None),
        Goal("words alone: said not here, at the line", "", written(result["words_alone"]["caught"]), None),
        Goal("words alone: false alarms, at the line", "", written(result["words_alone"]["alarms"]), None),
    ]


def of_pastes(result: Result) -> list[Goal]:
    """What is kept of a question's NDCG in each set of forms."""
    found = []
    for name, of in result["pasted"].items():
        bar, said = pastes.against_bar(name, of["kept"])
        found.append(Goal(f"{name}: NDCG@10 kept, of the question alone", f">= {bar}" if bar else "", written(of["kept"]), _KEPT[said]))
    return found


def of_faults(result: Result) -> list[Goal]:
    """What was tried and what was wrong, part by part."""
    return [
        Goal(
            part["name"],
            "0 wrong",
            f"skipped: {part['skipped']}" if part["skipped"] else f"{part['tried']:,} tried, {len(part['wrong'])} wrong",
            None if part["skipped"] else not part["wrong"],
        )
        for part in result["parts"]
    ]
