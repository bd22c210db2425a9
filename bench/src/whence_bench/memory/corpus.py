"""The memory benchmarks on disk: conversations over many days, and questions with the sessions that answer them.

A corpus is a file, or a folder with such files. `locomo*.json` is a list of conversations, each with `id`,
`sessions` (by number: `date`, and `turns` of speaker, turn id, text and caption of a picture) and `qa`
(`question`, `evidence` and `category`). Evidence is a turn such as D3:11, which stands in session 3.
`whence bench fetch memory` makes one. `longmemeval*.json.gz` has `sessions` (by id: `date`, and `turns` of role and
text) and `questions` (`question`, `type`, the session ids of its `haystack` and of its `evidence`): each question has
a store of its own.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from whence.core.errors import UsageError
from whence.text.dates import find_document_date
from whence_bench.search.corpus import read_json

FILES = ("locomo*.json", "longmemeval*.json.gz")
#: What the numbers of categories stand for.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

_TURN = re.compile(r"D(\d+):\d+")
_SESSION = re.compile(r"session_(\d+)")
_CLOCKED = "%Y/%m/%d (%a) %H:%M"
#: The kind of question that a later session answers otherwise than an earlier one.
UPDATE = "knowledge-update"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said, and what was on a picture that came with it."""

    speaker: str
    number: str
    text: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """One meeting of a conversation."""

    number: int
    date: str
    turns: tuple[Turn, ...]

    @property
    def created(self) -> datetime | None:
        """Its date and time."""
        with suppress(ValueError):
            return datetime.strptime(self.date, _CLOCKED).replace(tzinfo=timezone.utc)
        day = find_document_date(self.date)
        return datetime.fromordinal(day).replace(tzinfo=timezone.utc) if day else None


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the sessions that answer it."""

    text: str
    wanted: tuple[int, ...]
    category: str
    newest: int = 0  # the latest of the wanted sessions, where a later one answers otherwise
    turns: tuple[str, ...] = ()  # the turns that answer it, where they are known


@dataclass(frozen=True, slots=True)
class Conversation:
    """All sessions of two people, and the questions that have evidence."""

    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Writing:
    """One way to write sessions as notes."""

    name: str
    captions: bool = True
    turn_numbers: bool = False
    lines: bool = True  # each turn in a line of its own
    dated: bool = True  # the date is the first line; else it is only when the note was created
    together: bool = False  # all conversations in one store, told apart by their projects


AS_GIVEN = Writing("as given")
WRITINGS = (
    AS_GIVEN,
    Writing("no captions", captions=False),
    Writing("numbered turns", turn_numbers=True),
    Writing("one paragraph", lines=False),
    Writing("date not in the text", dated=False),
    Writing("one store for all", together=True),
)


def text_of(session: Session, writing: Writing = AS_GIVEN) -> str:
    """A session as the text of a note."""
    said = [_turn_text(turn, writing) for turn in session.turns]
    return ("\n" if writing.lines else " ").join([session.date, *said] if writing.dated and session.date else said)


def _turn_text(turn: Turn, writing: Writing) -> str:
    number = f"[{turn.number}] " if writing.turn_numbers else ""
    caption = f" [{turn.caption}]" if writing.captions and turn.caption else ""
    return f"{number}{turn.speaker}: {turn.text}{caption}"


def load(place: Path) -> list[Conversation]:
    """The conversations of a file, or of a folder with such files."""
    files = sorted(file for form in FILES for file in place.glob(form)) if place.is_dir() else [place]
    if not files:
        raise UsageError(f"{place}: no {FILES[0]} there", hint="whence bench fetch memory DIR makes one")
    found = [conversation for file in files for conversation in _conversations(file)]
    names = [one.name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{place}: conversation {twice[0]} is there twice", hint="name the file to measure")
    if not any(one.questions for one in found):
        raise UsageError(f"{place}: no question has evidence", hint="there is nothing to measure")
    return found


def _conversations(file: Path) -> list[Conversation]:
    try:
        if file.suffix == ".gz":
            return _haystacks(json.loads(gzip.decompress(file.read_bytes())))
        return [_conversation(raw) for raw in read_json(file)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{file}: not a list of conversations: {type(error).__name__} {error}") from error


def _conversation(raw: Mapping[str, Any]) -> Conversation:
    sessions = tuple(
        Session(int(number), str(one["date"] or ""), tuple(_turn(*turn) for turn in one["turns"]))
        for number, one in sorted(raw["sessions"].items(), key=lambda pair: int(pair[0]))
    )
    known = {one.number for one in sessions}
    questions = [
        Question(
            str(one["question"]),
            tuple(number for number in sessions_of(one["evidence"]) if number in known),
            CATEGORIES.get(one["category"], str(one["category"])),
            turns=tuple(turn[0] for entry in one["evidence"] for turn in _TURN.finditer(entry)),
        )
        for one in raw["qa"]
    ]
    return Conversation(str(raw["id"]), sessions, tuple(one for one in questions if one.wanted))


def _haystacks(raw: Mapping[str, Any]) -> list[Conversation]:
    """One conversation for each question: all sessions among which it is asked."""
    return [_haystack(one, raw["sessions"]) for one in raw["questions"]]


def _haystack(asked: Mapping[str, Any], every: Mapping[str, Any]) -> Conversation:
    numbers = {name: number for number, name in enumerate(asked["haystack"], 1)}
    sessions = tuple(
        Session(
            number,
            str(every[name]["date"]),
            tuple(Turn(role, f"D{number}:{at}", text) for at, (role, text) in enumerate(every[name]["turns"], 1)),
        )
        for name, number in numbers.items()
    )
    wanted = tuple(numbers[name] for name in asked["evidence"] if name in numbers)
    latest = max(wanted, key=lambda number: sessions[number - 1].created or datetime.min.replace(tzinfo=timezone.utc))
    question = Question(str(asked["question"]), wanted, str(asked["type"]), latest if asked["type"] == UPDATE else 0)
    return Conversation(str(asked["id"]), sessions, (question,))


def _turn(speaker: str, number: str, text: str, caption: str | None = None) -> Turn:
    return Turn(speaker, number, text, caption or "")


def sessions_of(evidence: Iterable[str]) -> tuple[int, ...]:
    """The sessions that some turns stand in, each once; an entry may name several turns, or none."""
    return tuple(sorted({int(number) for entry in evidence for number in _TURN.findall(entry)}))


def converted(published: Any) -> list[dict[str, Any]]:
    """Conversations as they are published in the form of a corpus."""
    try:
        return [_published(one) for one in published]
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"what is published is not a list of conversations: {type(error).__name__} {error}") from error


def _published(one: Mapping[str, Any]) -> dict[str, Any]:
    said = one["conversation"]
    numbers = sorted(int(match[1]) for name in said if (match := _SESSION.fullmatch(name)))
    sessions = {
        str(number): {
            "date": said.get(f"session_{number}_date_time", ""),
            "turns": [
                [turn["speaker"], turn["dia_id"], turn.get("text", ""), turn.get("blip_caption")] for turn in said[f"session_{number}"]
            ],
        }
        for number in numbers
    }
    kept = ("question", "answer", "evidence", "category", "adversarial_answer")
    return {
        "id": str(one["sample_id"]).removeprefix("conv-"),
        "speakers": [said["speaker_a"], said["speaker_b"]],
        "sessions": {number: session for number, session in sessions.items() if session["turns"]},
        "qa": [{name: question[name] for name in kept if name in question} for question in one["qa"]],
    }
