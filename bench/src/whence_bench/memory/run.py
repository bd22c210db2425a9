"""`whence bench memory`: whether the sessions that answer a question are recalled (B4).

Each conversation becomes notes in an empty store, one for each session. A question is recalled at k by the
share of its evidence sessions among the first k notes. No setting of the user has a part in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.core.errors import UsageError
from whence.core.profiles import NOTES, NOTES_CLASSIC, Profile, Weight
from whence.core.settings import merge
from whence.memory.memory import Memory
from whence.memory.recall import RecalledNote
from whence.search import metrics
from whence_bench import report
from whence_bench.memory import learning
from whence_bench.memory.corpus import AS_GIVEN, Conversation, Question, Writing, text_of
from whence_bench.memory.learning import Case, Weights
from whence_bench.search.run import default_settings

#: How much of an answer counts, and how much is asked for.
DEPTHS = (5, 10)
DEPTH = max(DEPTHS)
#: The share of the wanted sessions among the first; whether one of them is; whether the latest of those returned is first;
#: and whether the passage that is shown of them holds a turn that answers.
PASSAGE = "passage"
SHARES, ANY, NEWEST = (*(f"R@{depth}" for depth in DEPTHS),), (*(f"any@{depth}" for depth in DEPTHS),), "newest first"
MEASURES = (*SHARES, *ANY, NEWEST, PASSAGE)
#: This share of the words of a turn makes a passage hold it.
HELD = 0.8

#: What answers are grouped by; conversations only where they are this many at most.
PARTS_OF_CORPUS, MAX_LISTED = ("category", "conversation"), 20

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to recall: who proposes, and what weighs."""

    profile: Profile
    strategy: str = "union"


def _only(signal: str) -> Profile:
    return Profile(signals={signal: Weight(1.0, 1.0)})


UNION, PARTS = "union", ("lexical", "vector")
#: The union as shipped, each of its parts alone, and the rule M3.
WAYS: Mapping[str, Way] = {
    "lexical": Way(_only("note_words"), "lexical"),
    "vector": Way(_only("note_meaning"), "vector"),
    UNION: Way(NOTES),
    "classic": Way(NOTES_CLASSIC),
}
#: Learned ways: without the conversation that is asked, and from all of them.
LEFT_OUT, FITTED = "left out", "fitted"


@dataclass(frozen=True, slots=True)
class Answered:
    """One question with what came of it."""

    conversation: str
    category: str
    question: str
    wanted: tuple[int, ...]
    returned: tuple[int, ...]  # sessions, best first
    cpu_ms: float = 0.0
    newest: int = 0  # of the wanted, the session that was last, where that matters
    shown: tuple[bool, ...] = ()  # for each wanted session that is returned, whether its passage holds a turn that answers

    def recall(self, depth: int) -> float:
        """The share of the wanted sessions among the first."""
        return len({*self.wanted} & {*self.returned[:depth]}) / len(self.wanted)

    def measure(self, name: str) -> float | None:
        """One of the MEASURES; None where it does not apply."""
        if name == PASSAGE:
            return metrics.mean([float(one) for one in self.shown]) if self.shown else None
        if name == NEWEST:
            first = next((one for one in self.returned if one in self.wanted), 0)
            return float(first == self.newest) if self.newest in self.returned else None
        share = self.recall(int(name.partition("@")[2]))
        return share if name in SHARES else float(share > 0)


@dataclass(slots=True)
class Run:
    """All answers by the way they were recalled, what was said of all sessions, and what was learned from it."""

    answered: dict[str, list[Answered]] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    names: tuple[str, ...] = ()
    weights: dict[str, Weights] = field(default_factory=dict)  # by the conversation left out, and fitted to all


@dataclass(frozen=True, slots=True)
class Stored:
    """A conversation in a store, and which note is which session."""

    conversation: Conversation
    memory: Memory
    keys: Mapping[str, int]


def run(
    conversations: Sequence[Conversation],
    progress: Progress,
    *,
    learn: bool = False,
    writing: Writing = AS_GIVEN,
    ways: Mapping[str, Way] = WAYS,
) -> Run:
    """Ask every question in every way; to learn, also note what every signal says of every session."""
    if learn and len(conversations) < 2:
        raise UsageError("learning without a conversation needs at least two", hint="give a corpus of several conversations")
    done = Run({name: [] for name in ways}, names=learning.learnable())
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        for number, one in enumerate(stored(conversations, Path(temporary), writing, Path(temporary) / "data")):
            progress(number, len(conversations))
            for name, way in ways.items():
                done.answered[name] += ask(one, way)
            if learn:
                done.cases += cases(one, done.names)
    progress(len(conversations), len(conversations))
    return _learned(done) if learn else done


def stored(
    conversations: Sequence[Conversation], place: Path, writing: Writing, data: Path, settings: Mapping[str, Any] | None = None
) -> Iterator[Stored]:
    """Every conversation in a store of its own, or all of them in one; `settings` differ from the defaults."""
    stores = [list(conversations)] if writing.together else [[one] for one in conversations]
    for number, together in enumerate(stores):
        with _opened(place / f"notes-{number}", data, settings or {}) as memory:
            written = [(one, _write(memory, one, writing)) for one in together]
            for one, keys in written:
                yield Stored(one, memory, keys)


@contextmanager
def _opened(notes: Path, data: Path, settings: Mapping[str, Any]) -> Iterator[Memory]:
    with Memory.open(notes, data_dir=data, settings={**default_settings(), **settings}) as memory:
        yield memory


def _write(memory: Memory, conversation: Conversation, writing: Writing) -> dict[str, int]:
    """Every session as a note; their keys with their numbers."""
    found = {}
    for session in conversation.sessions:
        topic = f"session {session.number}"
        note = memory.remember(text_of(session, writing), project=conversation.name, topic=topic, created=session.created)
        found[note.key] = session.number
    return found


def ask(one: Stored, way: Way) -> list[Answered]:
    """Ask all questions of one conversation in one way."""
    _weigh(one.memory, way.profile)
    return [_answer(one, question, way.strategy) for question in one.conversation.questions]


def _weigh(memory: Memory, profile: Profile) -> None:
    """Have a profile take the place of the one that is shipped."""
    memory.settings = replace(memory.settings, profiles={**memory.settings.profiles, "notes": profile})


def _answer(one: Stored, question: Question, strategy: str) -> Answered:
    began = time.process_time()
    found = one.memory.recall(question.text, k=DEPTH, project=one.conversation.name, strategy=strategy)
    spent = time.process_time() - began
    returned = tuple(one.keys[hit.note.key] for hit in found)
    shown = tuple(_shows(one.conversation, question, hit) for hit in found if question.turns and one.keys[hit.note.key] in question.wanted)
    return Answered(one.conversation.name, question.category, question.text, question.wanted, returned, spent * 1e3, question.newest, shown)


def _shows(conversation: Conversation, question: Question, hit: RecalledNote) -> bool:
    """Whether the passage of a session holds a turn that answers."""
    shown = set(hit.passage.text.split())
    turns = (turn.text.split() for session in conversation.sessions for turn in session.turns if turn.number in question.turns)
    return any(sum(word in shown for word in turn) >= HELD * len(turn) for turn in turns)


def cases(one: Stored, names: Sequence[str]) -> list[Case]:
    """What every signal says of the sessions of a conversation, question by question."""
    _weigh(one.memory, learning.speaking(names))
    name = one.conversation.name
    return [
        learning.case_of(one.memory.rank(question.text, k=DEPTH, project=name), name, question, one.keys, names)
        for question in one.conversation.questions
    ]


def _learned(done: Run) -> Run:
    """The same with answers under learned weights beside."""
    folds = learning.left_out(done.cases, done.names)
    fitted = learning.learn(done.cases, done.names)
    ways = {LEFT_OUT: folds, FITTED: dict.fromkeys(folds, fitted)}
    answered = {name: [judged(one, of[one.conversation], done.names) for one in done.cases] for name, of in ways.items()}
    return replace(done, answered={**done.answered, **answered}, weights={**folds, FITTED: fitted})


def judged(case: Case, weights: Weights, names: Sequence[str]) -> Answered:
    """What weights make of a question."""
    returned = tuple(case.ranked(weights, names)[:DEPTH])
    question = case.question
    return Answered(case.conversation, question.category, question.text, question.wanted, returned, newest=question.newest)


def taken_apart(done: Run) -> dict[str, list[Answered]]:
    """Answers without each signal, the others learned again without the conversation that is asked."""
    found = {}
    for name in done.names:
        left, names = learning.without(done.cases, done.names, name)
        folds = learning.left_out(left, names)
        found[name] = [judged(one, folds[one.conversation], names) for one in left]
    return found


# Tables.
def recalls(answered: Sequence[Answered]) -> dict[str, float]:
    """The mean of each measure over the questions that it applies to."""
    found = {name: [value for one in answered if (value := one.measure(name)) is not None] for name in MEASURES}
    return {name: metrics.mean(values) for name, values in found.items() if values}


def by(answered: Iterable[Answered], part: str) -> dict[str, list[Answered]]:
    """Answers by a part of the corpus, in the order of its names."""
    found: dict[str, list[Answered]] = {}
    for one in answered:
        found.setdefault(getattr(one, part), []).append(one)
    return dict(sorted(found.items()))


def summary(answered: Sequence[Answered]) -> dict[str, Any]:
    """The figures of one way."""
    times = [one.cpu_ms for one in answered]
    return {
        "questions": len(answered),
        **recalls(answered),
        "cpu_ms_p50": metrics.percentile(times, 0.5),
        "cpu_ms_p95": metrics.percentile(times, 0.95),
        **{
            f"by_{part}": {name: {"questions": len(of), **recalls(of)} for name, of in by(answered, part).items()}
            for part in PARTS_OF_CORPUS
        },
    }


def behind(done: Run, union: str = UNION) -> list[str]:
    """Where one part alone recalls more than the union: conversation, measure, part and figures."""
    found = []
    for name, of in by(done.answered[union], "conversation").items():
        whole = recalls(of)
        for part in PARTS:
            alone = recalls(by(done.answered[part], "conversation")[name])
            found += [f"{name}: {one} {whole[one]:.4f} < {alone[one]:.4f} {part}" for one in SHARES if whole[one] < alone[one] - 1e-9]
    return found


def as_text(done: Run) -> str:
    """The tables: one for each depth, then what the union owes to its parts, then weights."""
    summaries = {name: summary(answered) for name, answered in done.answered.items()}
    parts = [_table(measure, summaries) for measure in MEASURES if measure in summaries[next(iter(summaries))]]
    timed = [(name, f"{of['cpu_ms_p50']:.2f}", f"{of['cpu_ms_p95']:.2f}") for name, of in summaries.items() if of["cpu_ms_p95"]]
    parts.append(report.table(("way", "CPU ms p50", "p95"), timed))
    for union in (UNION, LEFT_OUT):
        if union in done.answered and len(summaries[union]["by_conversation"]) <= MAX_LISTED:
            worse = behind(done, union)
            verdict = report.verdict(not worse)
            parts.append("\n".join([f"{union}: at least its best part on every conversation: {verdict}", *(f"  {line}" for line in worse)]))
    if done.weights:
        rows = [(name, *(f"{weights[name]:.3f}" for weights in done.weights.values())) for name in done.names]
        parts.append(report.table(("weight", *(name if name == FITTED else f"without {name}" for name in done.weights)), rows))
    return "\n\n".join(parts)


def _table(measure: str, summaries: Mapping[str, dict[str, Any]]) -> str:
    first = next(iter(summaries.values()))
    rows: list[Sequence[object]] = [("all", first["questions"], *(_figure(of, measure) for of in summaries.values()))]
    for part in PARTS_OF_CORPUS if len(first["by_conversation"]) <= MAX_LISTED else PARTS_OF_CORPUS[:1]:
        rows += [
            (name, of["questions"], *(_figure(other[f"by_{part}"][name], measure) for other in summaries.values()))
            for name, of in first[f"by_{part}"].items()
            if measure in of
        ]
    return report.table((measure, "questions", *summaries), rows)


def _figure(of: Mapping[str, Any], measure: str) -> str:
    return f"{of[measure]:.4f}" if measure in of else ""


def ablated_text(done: Run, apart: Mapping[str, Sequence[Answered]]) -> str:
    """What is lost without each signal, the greatest loss first."""
    whole = recalls(done.answered[LEFT_OUT])
    found = {name: recalls(answered) for name, answered in apart.items()}
    order = sorted(found, key=lambda name: found[name][SHARES[0]])
    rows = [
        (name, *(f"{found[name][one]:.4f}" for one in SHARES), *(f"{whole[one] - found[name][one]:+.4f}" for one in SHARES))
        for name in order
    ]
    rows.insert(0, ("(nothing)", *(f"{whole[one]:.4f}" for one in SHARES), *("" for _ in SHARES)))
    return report.table(("left out, without", *SHARES, *(f"{one} lost" for one in SHARES)), rows)


def varied_text(runs: Mapping[str, Run]) -> str:
    """The same questions of notes that were written in other ways."""
    first = next(iter(runs.values()))
    rows = [
        (f"{writing}, {measure}", *(f"{recalls(answered)[measure]:.4f}" for answered in done.answered.values()))
        for measure in SHARES
        for writing, done in runs.items()
    ]
    return report.table(("written", *first.answered), rows)


def as_json(done: Run) -> dict[str, Any]:
    """Everything that was measured, and what is needed to measure it again."""
    return {
        "benchmark": "memory",
        "ways": {name: {**summary(answered), "answers": [asdict(one) for one in answered]} for name, answered in done.answered.items()},
        "behind": {name: behind(done, name) for name in (UNION, LEFT_OUT) if name in done.answered},
        "weights": {name: dict(weights) for name, weights in done.weights.items()},
        "settings": report.settings(merge([])[1]),
    }
