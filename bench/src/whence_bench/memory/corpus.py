"""The memory benchmark on disk: conversations over many days, and questions with the sessions that answer them.

A corpus is a file, or a folder with files, called `locomo*.json`: a list of conversations, each with `id`,
`sessions` (by number: `date`, and `turns` of speaker, turn id, text and caption of a picture) and `qa`
(`question`, `evidence` and `category`). Evidence is a turn such as D3:11, which stands in session 3.
`whence bench fetch memory` makes one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.core.errors import UsageError
from whence_bench.search.corpus import read_json

FILES = "locomo*.json"
#: What the numbers of categories stand for.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

_TURN = re.compile(r"D(\d+):\d+")
_SESSION = re.compile(r"session_(\d+)")


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


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the sessions that answer it."""

    text: str
    wanted: tuple[int, ...]
    category: str


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
    files = sorted(place.glob(FILES)) if place.is_dir() else [place]
    if not files:
        raise UsageError(f"{place}: no {FILES} there", hint="whence bench fetch memory DIR makes one")
    found = [conversation for file in files for conversation in _conversations(file)]
    names = [one.name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{place}: conversation {twice[0]} is there twice", hint="name the file to measure")
    if not any(one.questions for one in found):
        raise UsageError(f"{place}: no question has evidence", hint="there is nothing to measure")
    return found


def _conversations(file: Path) -> list[Conversation]:
    try:
        return [_conversation(raw) for raw in read_json(file)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{file}: not a list of conversations: {type(error).__name__} {error}") from error


def _conversation(raw: Mapping[str, Any]) -> Conversation:
    sessions = tuple(
        Session(int(number), str(one["date"] or ""), tuple(_turn(*turn) for turn in one["turns"]))
        for number, one in sorted(raw["sessions"].items(), key=lambda pair: int(pair[0]))
    )
    known = {one.number for one in sessions}
    asked = [(str(one["question"]), sessions_of(one["evidence"]), one["category"]) for one in raw["qa"]]
    questions = [
        Question(text, tuple(number for number in wanted if number in known), CATEGORIES.get(category, str(category)))
        for text, wanted, category in asked
    ]
    return Conversation(str(raw["id"]), sessions, tuple(one for one in questions if one.wanted))


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
