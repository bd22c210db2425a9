"""`whence bench memory --team`: the notes of a made team over three months, asked about in other words.

The notes are in `team_notes.txt`, the questions in `team_questions.txt`; every other question of a kind is of the half
that nobody looks at while tuning. Questions that no note answers measure whether an answer says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.memory.memory import Memory
from whence.memory.recall import RecallResponse
from whence.search.metrics import mean
from whence_bench import report
from whence_bench.search.run import default_settings

NOTES, QUESTIONS = (Path(__file__).with_name(f"team_{name}.txt") for name in ("notes", "questions"))
#: When the questions are asked, and the project of all notes.
NOW, PROJECT = datetime(2026, 11, 13, 18, tzinfo=timezone.utc), "ferries"
DEPTH, TOP = 10, 3
#: The kind of question that no note answers.
NONE = "none"
LOOKED_AT, HELD_OUT = "looked at", "held out"
_HEAD = re.compile(r"@ (?P<id>\S+) (?P<day>\S+) (?P<kind>\S+) (?P<writer>\S+) \| (?P<topic>[^|]*)(?:\| (?P<tags>.*))?")


@dataclass(frozen=True, slots=True)
class TeamNote:
    """One note and who wrote it when."""

    id: str
    created: datetime
    kind: str
    writer: str
    topic: str
    tags: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class TeamQuestion:
    """A question and the notes that answer it; none where no note does."""

    kind: str
    text: str
    wanted: tuple[str, ...]
    half: str


@dataclass(frozen=True, slots=True)
class TeamAnswer:
    """What came of a question."""

    question: TeamQuestion
    returned: tuple[str, ...]
    said_no: bool

    def is_right(self, depth: int) -> bool:
        """Whether a wanted note is among the first."""
        return not {*self.question.wanted}.isdisjoint(self.returned[:depth])


def load_notes() -> list[TeamNote]:
    """All notes, by day."""
    found = []
    for block in re.split(r"\n(?=@ )", NOTES.read_text(encoding="utf-8")):
        if head := _HEAD.match(block):
            day = datetime.fromisoformat(f"{head['day']}T09:00:00+00:00")
            tags = tuple((head["tags"] or "").split())
            text = f"{block.partition(chr(10))[2].strip()}\n-- {head['writer']}\n"
            found.append(TeamNote(head["id"], day, head["kind"], head["writer"], head["topic"].strip(), tags, text))
    return sorted(found, key=lambda one: one.created)


def load_questions() -> list[TeamQuestion]:
    """All questions; those of a kind fall into the halves in turn."""
    found: list[TeamQuestion] = []
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, text, *wanted = (part.strip() for part in line.split("|"))
            half = (LOOKED_AT, HELD_OUT)[sum(one.kind == kind for one in found) % 2]
            found.append(TeamQuestion(kind, text, tuple(one.strip() for one in (wanted or [""])[0].split(",") if one), half))
    return found


def store(memory: Memory) -> dict[str, str]:
    """Write all notes; their ids by key."""
    written = {}
    for one in load_notes():
        note = memory.remember(
            one.text, kind=one.kind, project=PROJECT, topic=one.topic, tags=one.tags, source=one.writer, created=one.created
        )
        written[note.key] = one.id
    return written


def says_no(found: RecallResponse) -> bool:
    """Whether an answer says that no note knows."""
    return not found or found.is_low_confidence


def run() -> list[TeamAnswer]:
    """Ask everything."""
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        place = Path(temporary)
        with Memory.open(place / "notes", data_dir=place / "data", settings=default_settings()) as memory:
            ids = store(memory)
            return [_answer(memory, ids, one) for one in load_questions()]


def _answer(memory: Memory, ids: Mapping[str, str], question: TeamQuestion) -> TeamAnswer:
    found = memory.recall(question.text, k=DEPTH, project=PROJECT, as_of=NOW)
    return TeamAnswer(question, tuple(ids[one.note.key] for one in found), says_no(found))


def figures(answers: Sequence[TeamAnswer]) -> dict[str, float]:
    """The share of right answers first and among the first three, by kind; what was said where no note answers, and where one does."""
    asked = [one for one in answers if one.question.kind != NONE]
    found = {"top 1": mean([one.is_right(1) for one in asked]), f"top {TOP}": mean([one.is_right(TOP) for one in asked])}
    for kind in dict.fromkeys(one.question.kind for one in asked):
        of = [one for one in asked if one.question.kind == kind]
        found |= {f"{kind}, top 1": mean([one.is_right(1) for one in of]), f"{kind}, top {TOP}": mean([one.is_right(TOP) for one in of])}
    unanswered = [one for one in answers if one.question.kind == NONE]
    return {**found, "no answer, said so": mean([one.said_no for one in unanswered]), "false alarms": mean([one.said_no for one in asked])}


def as_text(answers: Sequence[TeamAnswer]) -> str:
    """The table: both halves apart."""
    halves = [figures([one for one in answers if one.question.half == half]) for half in (LOOKED_AT, HELD_OUT)]
    return report.table(("a team's notes", LOOKED_AT, HELD_OUT), [(name, *(f"{half[name]:.3f}" for half in halves)) for name in halves[0]])


def as_json(answers: Sequence[TeamAnswer]) -> dict[str, Any]:
    """Everything that was measured."""
    halves = {half: figures([one for one in answers if one.question.half == half]) for half in (LOOKED_AT, HELD_OUT)}
    return {**halves, "answers": [asdict(one) for one in answers if one.question.half == LOOKED_AT]}
