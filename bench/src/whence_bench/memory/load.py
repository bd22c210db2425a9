"""`whence bench memory --load`: recall among very many notes, beside plain full-text search over the same notes (B7).

The notes are made: words of everyday prose as often as they are used, a few of them again and again in one
note, and names that occur nowhere else. The same seed gives the same notes. They are written straight as files.
What is measured runs in processes of its own.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whence.embed.prose import MODEL
from whence.memory.front_matter import render
from whence.memory.note import Note
from whence.search.metrics import percentile
from whence.text.analyzer import prose_language
from whence_bench.measure import Spent, interleaved, run
from whence_bench.speed import run as speed
from whence_bench.speed.harness import Room, Row, Tell, least, ratio

NOTES = 100_000
SEED = 20
QUESTIONS = 200
ROUNDS = 5
PROJECTS = tuple("harbour quarry meadow lantern orchard viaduct".split())
#: Words of a note, at least and at most.
SHORTEST, LONGEST = 30, 150
#: How often words are used: the word at a rank with the weight 1 / (rank + OFFSET) ** POWER.
OFFSET, POWER = 2.7, 1.0
#: Shares of words that the note has used before, and that no other note uses.
AGAIN, NAMES = 0.25, 0.01
#: Every so manyth question asks for a month, and every so manyth note speaks of one.
DATED = 10
FIRST_DAY, DAYS = datetime(2023, 1, 1, tzinfo=timezone.utc), 1_000
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


@dataclass(frozen=True, slots=True)
class Made:
    """Notes on disk, and questions about some of them."""

    directory: Path
    count: int
    size: int  # bytes
    questions: list[str]
    answers: list[str]  # the key of the note that each question was made from


def made_notes(count: int, seed: int = SEED) -> Iterator[Note]:
    """Notes, the same ones for the same seed."""
    random = np.random.default_rng(seed)
    words = _words(random)
    chances = 1 / (np.arange(len(words)) + OFFSET) ** POWER
    ends = np.cumsum(chances / chances.sum())
    for number in range(count):
        drawn = np.minimum(np.searchsorted(ends, random.random(int(random.integers(SHORTEST, LONGEST + 1)))), len(words) - 1)
        chosen = [words[place] for place in drawn.tolist()]
        again, names, before = random.random(len(chosen)), random.random(len(chosen)), random.random(len(chosen))
        for place in range(1, len(chosen)):
            if again[place] < AGAIN:
                chosen[place] = chosen[int(before[place] * place)]
            elif names[place] < NAMES:
                chosen[place] = "".join(_SYLLABLES[one] for one in random.integers(len(_SYLLABLES), size=4).tolist())
        created = FIRST_DAY + timedelta(days=int(random.integers(DAYS)), seconds=int(random.integers(86_400)))
        month = f"\n\nThat was in {created - timedelta(days=int(random.integers(300))):%B %Y}." if number % DATED == 0 else ""
        project = PROJECTS[number % len(PROJECTS)]
        text = _in_lines(chosen) + month
        yield Note(text, f"note-{number:06d}", project, created=created, updated=created, folder=project)


def _words(random: np.random.Generator) -> list[str]:
    """Words by how often they are used: first those that say nothing, then those the shipped model knows, in an order of chance."""
    idle = sorted(prose_language("english").stop_words)
    known = sorted({*MODEL.joinpath("vocabulary.txt").read_text(encoding="utf-8").split()} - {*idle})
    return [*random.permutation(idle).tolist(), *random.permutation(known).tolist()]


def _in_lines(words: Sequence[str]) -> str:
    return "\n".join(" ".join(words[at : at + 12]) for at in range(0, len(words), 12))


def write_notes(directory: Path, count: int, questions: int = QUESTIONS, seed: int = SEED) -> Made:
    """Write notes as files; nobody waits for the disk, for they can be made again."""
    for project in PROJECTS:
        (directory / project).mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed + 1)
    asked = set(random.choice(count, min(questions, count), replace=False).tolist())
    size = 0
    found: list[str] = []
    answers: list[str] = []
    for number, note in enumerate(made_notes(count, seed)):
        data = render(note).encode()
        (directory / f"{note.key}.md").write_bytes(data)
        size += len(data)
        if number in asked:
            found.append(_question(note, len(found), random))
            answers.append(note.key)
    return Made(directory, count, size, found, answers)


def _question(note: Note, number: int, random: np.random.Generator) -> str:
    """A question with some words of a note that say something."""
    told = list(dict.fromkeys(prose_language("english").content_words(note.text.partition("\n\n")[0])))
    words = random.choice(told, min(int(random.integers(3, 7)), len(told)), replace=False).tolist() if told else ["nothing"]
    month = f" in {note.created:%B %Y}" if number % DATED == 0 and note.created else ""
    return f"What did we say about {' '.join(words[:-1])} and the {words[-1]}{month}?"


def run_load(count: int, tell: Tell, *, questions: int = QUESTIONS, rounds: int = ROUNDS) -> Room:
    """Make the notes and measure everything, in a folder that is removed afterwards."""
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        room = Room(Path(temporary).resolve(), [], tell)
        tell(f"{count:,} notes")
        made = write_notes(room.folder / "notes", count, questions)
        asked: dict[str, Any] = {
            "notes": str(made.directory),
            "questions": made.questions,
            "answers": made.answers,
            "peer": str(room.folder / "peer.db"),
        }
        tell("the index over them")
        _built(room, made, asked)
        tell("recall in a running process")
        _running(room, made, asked)
        tell("recall in a new process")
        _new_process(room, made, asked["peer"], rounds)
        tell("what another process writes")
        _written_elsewhere(room, made, asked)
    return room


def _probe(room: Room, action: str, asked: dict[str, Any]) -> dict[str, Any]:
    file = room.folder / "asked.json"  # too much for a command line
    file.write_text(json.dumps(asked), encoding="utf-8")
    spent = run([sys.executable, "-m", "whence_bench.memory.probe", action, str(file)], env=room.environment("data"), cwd=room.folder)
    found: dict[str, Any] = json.loads(spent.out.strip().splitlines()[-1])
    room.raw[action] = found
    return found


def _built(room: Room, made: Made, asked: dict[str, Any]) -> None:
    """The index from nothing but the files, beside a table of full text."""
    ours, peer = _probe(room, "build", asked), _probe(room, "build_peer", asked)
    room.rows += [
        Row(f"index over {made.count:,} notes", "", ours["cpu"], "s CPU", "FTS5", peer["cpu"], ratio(ours["cpu"], peer["cpu"])),
        Row("the same, notes per CPU-second", "", made.count / ours["cpu"], "notes/CPU-s"),
        Row("memory of that", "", ours["peak"] / 1e6, "MB", "FTS5", peer["peak"] / 1e6, ratio(ours["peak"], peer["peak"])),
        Row("size of the index", "", ours["size"] / 1e6, "MB", "notes", made.size / 1e6, ratio(ours["size"], made.size)),
        Row("size of the index", "", ours["size"] / 1e6, "MB", "FTS5", peer["size"] / 1e6, ratio(ours["size"], peer["size"])),
    ]


def _running(room: Room, made: Made, asked: dict[str, Any]) -> None:
    """Questions in a process that goes on, each answered by both before the next is asked."""
    found = _probe(room, "ask", asked)
    for name, what in (("all", "all projects"), ("one", "one project")):
        for share in (0.5, 0.95):
            ours, peer = (percentile(found[name][side], share) * 1e3 for side in ("whence", "peer"))
            room.rows.append(Row(f"recall in {what}, p{share * 100:.0f}", "", ours, "ms CPU", "FTS5", peer, ratio(ours, peer)))
    count = len(made.questions)
    ours, peer = (found["all"][f"{side}_found"] for side in ("whence", "peer"))
    what = f"of {count} questions, the note they were made from in the first 10"
    room.rows += [
        Row(what, "", ours, "notes", "FTS5", peer, ratio(ours, peer)),
        Row("opening in a new process", "", found["open"], "s CPU"),
        Row("memory of a running process", "", found["peak"] / 1e6, "MB"),
    ]


def _new_process(room: Room, made: Made, database: str, rounds: int) -> None:
    """`whence recall` in a new process, beside a process that asks the table of full text."""
    question, environment = made.questions[1 % len(made.questions)], room.environment("data")
    ours = [sys.executable, "-m", "whence", "recall", question, "--notes", str(made.directory), "-k", "10"]
    peer = [sys.executable, "-m", "whence_bench.memory.peer", database, " ".join(prose_language("english").content_words(question))]

    def recalled(command: Sequence[str]) -> Callable[[int], Spent]:
        return lambda _: run(command, env=environment, cwd=room.folder, allowed=(0, 1))

    spent = interleaved(rounds, {"whence": recalled(ours), "FTS5": recalled(peer)})
    room.raw["new process"] = {name: [{"cpu": one.cpu, "wall": one.wall} for one in of] for name, of in spent.items()}
    took, theirs = least(spent["whence"]), least(spent["FTS5"])
    room.rows.append(Row("whence recall in a new process", "", took, "s CPU", "FTS5", theirs, ratio(took, theirs)))
    room.rows.append(Row("the same on the clock", "", median(one.wall for one in spent["whence"]), "s"))


def _written_elsewhere(room: Room, made: Made, asked: dict[str, Any]) -> None:
    """How long it takes until a process that goes on finds what another has written."""
    remember = [sys.executable, "-m", "whence", "remember", "--notes", str(made.directory), "--project", PROJECTS[0]]
    found = _probe(room, "watch", {**asked, "remember": remember})
    room.raw["command"] = shlex.join(remember)
    for name, what in (
        ("remembered", "remembered by another process -> found"),
        ("copied", "a new file -> found"),
        ("edited", "a file edited in place -> found"),
    ):
        room.rows.append(Row(what, "", found[name], "s"))
    room.rows.append(Row("whence remember in a new process", "", found["remember_cpu"], "s CPU"))
    if found["lost"]:
        room.notes.append(f"not found at all: {', '.join(found['lost'])}")


def as_text(room: Room) -> str:
    """The table."""
    return speed.as_text(room)


def as_json(room: Room, count: int) -> dict[str, Any]:
    """Everything that was measured."""
    return {**speed.as_json(room), "benchmark": "memory, load", "notes_made": count, "seed": SEED}
