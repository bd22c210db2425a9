"""Which parts the report of each benchmark has, in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from whence_bench.html import goals
from whence_bench.html.blocks import Block, Figure, Section, Table
from whence_bench.html.parts import Faults, Goals, Groups, Part, SpeedRows, Spreads, Worths
from whence_bench.html.systems import CPU, Measure, Result, Systems
from whence_bench.html.walking import titled, walked
from whence_bench.memory.run import DEPTHS
from whence_bench.search import confidence, confidence_plot
from whence_bench.search.pastes import REACHES
from whence_bench.search.run import NDCG_BARS


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The title of a report, what was measured in a sentence or two, and its parts."""

    title: str
    about: str
    parts: tuple[Part, ...]


# Results that keep their answers in another form.
def _of_history(result: Result, key: str) -> dict[str, Any]:
    """Systems with their figures by part, and with an answer for each question."""
    return {
        name: {
            **figures,
            "by_repository": {place: of[name] for place, of in result["by_repository"].items()},
            "by_language": {place: of[name] for place, of in result["by_language"].items()},
            "answers": [{**one, "ndcg": one["systems"][name]["ndcg"]} for one in result["questions"]],
        }
        for name, figures in result[key].items()
    }


def _of_memory(result: Result, key: str) -> dict[str, Any]:
    """Ways with what each question recalls."""
    return {name: {**of, "answers": [{**one, **_recalled(one)} for one in of["answers"]]} for name, of in result.get(key, {}).items()}


def _recalled(answer: Mapping[str, Any]) -> dict[str, float]:
    wanted = set(answer["wanted"])
    return {f"R@{depth}": len(wanted & set(answer["returned"][:depth])) / len(wanted) for depth in DEPTHS}


@dataclass(frozen=True, slots=True)
class Believed:
    """How far "not here" can be believed: two drawings, with the tables that are printed."""

    keys: tuple[str, ...] = ("at_the_line", "roc", "reliability", "calibration_error", "words_alone")

    def sections(self, result: Result) -> list[Section]:
        """Kinds and categories in tables, the price and the promises drawn."""
        kinds, categories, prices, promises = (Table(header, rows) for header, rows in confidence.tables(dict(result)))
        return [
            Section("What was promised and kept", [Figure(confidence_plot.promises(dict(result)), promises, _LARGER)]),
            Section("What is caught at what price", [Figure(confidence_plot.price(dict(result)), prices)]),
            Section("Questions without an answer", [kinds]),
            Section("Questions with an answer", [categories]),
        ]


_LARGER = "A larger dot holds more questions, which count alike with an answer and without. Promises are kept on the broken line."


@dataclass(frozen=True, slots=True)
class Walked:
    """A field of a result, shown by its shape under a title of its own."""

    key: str
    title: str

    @property
    def keys(self) -> tuple[str, ...]:
        """What it shows of a result."""
        return (self.key,)

    def sections(self, result: Result) -> list[Section]:
        """The field, where it is there."""
        found: list[Block] = walked(self.key, result[self.key]) if result.get(self.key) else []
        return [Section(self.title, found)] if found else []


_NDCG, _RECALL = Measure("ndcg", "NDCG@10"), Measure("recall", "recall")
_CONTEXT = Systems(
    "profiles",
    "tasks",
    (
        Measure("strict_precision", "strict P@10"),
        Measure("strict_recall", "strict R@10"),
        Measure("precision", "P@10"),
        Measure("recall", "R@10"),
        _NDCG,
        Measure("mrr", "MRR"),
    ),
    ("tier", "repository"),
    "repository",
    ("repository", "tier", "task"),
)
_REPOSITORIES = Walked("repositories", "Repositories")
_PASTED = (
    Measure("alone", "question alone"),
    Measure("as_is", "paste as it is"),
    Measure("found", "question found"),
    Measure("kept", "kept", reach=None),
    Measure("exact", "letter by letter"),
)
_TRACED = tuple(
    Measure(f"{way}_in_{reach}", f"{said}, first {reach}") for way, said in (("as_is", "as it is"), ("found", "read")) for reach in REACHES
)
_RECALLS = tuple(Measure(f"R@{depth}", f"R@{depth}") for depth in reversed(DEPTHS))

ARRANGEMENTS: Mapping[str, Arrangement] = {
    "search": Arrangement(
        "How well files are ranked",
        "Every question of a corpus was asked with every profile. NDCG@10 is over files; recall is of wanted files among the candidates.",
        (
            Goals(goals.of_search),
            Systems(
                "profiles",
                "queries",
                (_NDCG, _RECALL),
                ("category", "language", "repository"),
                "repository",
                ("repository", "category", "query"),
                goals=NDCG_BARS,
            ),
            _REPOSITORIES,
        ),
    ),
    "search, ablated": Arrangement(
        "What each signal and each retriever is worth",
        "Nothing was learned again: the weights stay, one part is taken away, and what NDCG@10 loses is counted.",
        (Worths("parts"),),
    ),
    "search, learned": Arrangement(
        "Weights learned without the repository asked",
        "Leave one repository out: NDCG@10 of every question, under weights that its repository had no part in.",
        (Walked("ndcg", "NDCG@10"),),
    ),
    "context": Arrangement(
        "How well the symbols that a task needs are ranked",
        "Strict figures credit every wanted name once; the others follow the public benchmark, where several results may match one name.",
        (Goals(goals.of_context), _CONTEXT, _REPOSITORIES),
    ),
    "context, ablated": Arrangement(
        "What each stage of a context pack is worth",
        "Every task was answered with the whole profile and then without each of its stages.",
        (Worths("parts"), replace(_CONTEXT, parts=()), _REPOSITORIES),
    ),
    "context, learned": Arrangement(
        "Context with weights learned without the repository asked",
        "Every task was answered with weights that its repository had no part in.",
        (_CONTEXT, _REPOSITORIES),
    ),
    "history": Arrangement(
        "How well the files are found that a commit changed",
        "Every question is the message of a commit, asked of the tree before it; the baseline is BM25 over whole files.",
        (
            Goals(goals.of_history),
            Systems(
                "systems",
                "questions",
                (_NDCG, *(Measure(f"all_in_{reach}", f"all in {reach}") for reach in (1, 5, 10))),
                ("repository", "language"),
                "repository",
                ("repository", "text"),
                _of_history,
                holds=("by_repository", "by_language", "questions", "baseline"),
            ),
            _REPOSITORIES,
        ),
    ),
    "memory": Arrangement(
        "How well the sessions that answer a question are recalled",
        "Each conversation became notes, one for each session; a question is recalled by the share of its sessions among the first notes.",
        (
            Goals(goals.of_memory, keys=("behind",)),
            Systems(
                "ways",
                "questions",
                _RECALLS,
                ("category", "conversation"),
                "conversation",
                ("conversation", "category", "question"),
                _of_memory,
            ),
            Groups("without", "Without each signal", "", _RECALLS, tuple(one.key for one in _RECALLS)),
            Walked("written", "Notes written in other ways"),
            Walked("weights", "Weights"),
            SpeedRows("load"),
            Walked("writers", "Several writers at once"),
        ),
    ),
    "speed": Arrangement(
        "How fast, beside others",
        "Every figure was measured in a process of its own, turn by turn with a peer or a floor where there is one.",
        (SpeedRows(),),
    ),
    "scale": Arrangement(
        "What a unit costs a fleet",
        "A fleet on a local server was doubled again and again; a model of its sizes was held against the last, which it had not seen.",
        (SpeedRows(),),
    ),
    "fleet": Arrangement(
        "Whether many repositories are searched as one",
        "Repositories on a local server were searched beside their own indexes, indexed by workers of which one was killed, and the "
        "engine got into trouble.",
        (SpeedRows(),),
    ),
    "ui": Arrangement(
        "How the page feels",
        "The page was served from a tree of real source and used in a real browser: typed into, loaded, moved, and looked at by axe.",
        (SpeedRows(),),
    ),
    "agents": Arrangement(
        "What an agent pays",
        "The real server was asked over standard streams; tokens are compared with grep for the question's words and reading what matches.",
        (
            Goals(goals.of_agents),
            Spreads(
                "answers",
                "Question by question",
                {
                    "tokens": ("Tokens until a wanted file is in sight", "tokens"),
                    "grep_tokens": ("Tokens of grep and reading until it is found", "tokens"),
                    "grep_all_tokens": ("Tokens of grep and reading all that matches", "tokens"),
                    "call_ms": ("CPU of the server for the first call", CPU),
                    "search_ms": ("CPU of the search itself", CPU),
                },
                by="category",
                place="repository",
            ),
            Walked("calls", "Found by so many calls"),
            Walked("idle", "Servers that are not asked any more"),
        ),
    ),
    "confidence": Arrangement(
        "How far \u201cnot here\u201d can be believed",
        "Questions that have an answer were asked of their own repository, and of others, where they have none.",
        (Goals(goals.of_confidence), Believed()),
    ),
    "pastes": Arrangement(
        "How well a question is found in what is pasted around it",
        "Questions were wrapped in prompts, chats, envelopes and forms, and traces were made of real functions.",
        (
            Goals(goals.of_pastes),
            Groups("pasted", "Questions in pastes, NDCG@10", "pastes", _PASTED, ("alone", "as_is", "found")),
            Groups("pasted_by_form", "By form, NDCG@10", "pastes", _PASTED, ("alone", "as_is", "found")),
            Groups("traced", "Traces, wanted file in the first results", "traces", _TRACED, ("as_is_in_1", "found_in_1")),
            Groups("traced_by_language", "Traces by language", "traces", _TRACED, ("as_is_in_1", "found_in_1")),
            Spreads(
                "pastes",
                "Paste by paste",
                {
                    "alone": ("The question alone", "NDCG@10"),
                    "as_is": ("The paste as it is", "NDCG@10"),
                    "found": ("The question found in the paste", "NDCG@10"),
                },
                by="part",
                place="repository",
            ),
        ),
    ),
    "faults": Arrangement(
        "Whether it keeps working",
        "Kills, damage, crowds, hostile trees and input, secrets: what was tried, and every line of what was wrong.",
        (Goals(goals.of_faults), Faults()),
    ),
}


def arrangement_of(result: Result) -> Arrangement:
    """The arrangement of a result's benchmark; one that is not known is shown by its shape."""
    name = str(result.get("benchmark") or "figures")
    return ARRANGEMENTS.get(name, Arrangement(titled(name), "", ()))
