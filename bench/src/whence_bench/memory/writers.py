"""`whence bench memory --writers`: several processes remember at once, one is killed half way, and nothing acknowledged may be lost.

`python -m whence_bench.memory.writers NOTES WRITER COUNT` is one of those processes: it prints the key of a note
when `remember` has returned.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.core.errors import StorageError
from whence.memory.memory import Memory
from whence.storage.files import PART
from whence_bench import report
from whence_bench.search.run import default_settings
from whence_bench.speed.harness import Room, Tell

NOTES, WRITERS = 10_000, 4
#: Notes that are asked for by their words; all are looked for in the list.
RECALLED = 500
PROJECTS = 3
_LETTERS = "bcfhkmpqvz"


@dataclass(frozen=True, slots=True)
class Written:
    """What came of it."""

    asked: int  # notes that the writers were to remember
    acknowledged: int  # notes that a writer was told are stored
    whole: int  # of these, files that hold exactly what was given
    listed: int  # of these, notes that the index knows
    recalled: int  # of those asked for by their words, notes that came first
    recalled_of: int
    more: int  # notes that nobody was told of: stored in the moment of the kill
    broken: int  # files that are no whole note, whoever wrote them
    left_over: int  # unnamed parts of files that the kill left
    seconds: float
    damaged: bool  # whether the index had to be made again

    @property
    def lost(self) -> int:
        """What was acknowledged and is not there."""
        return self.acknowledged - min(self.whole, self.listed)


def text_of(writer: int, number: int) -> str:
    """The note that a writer remembers at one point: a word of its own, and some lines that differ in length."""
    line = f"writer {writer} says that number {number} has been seen near the bridge\n"
    return f"the mark is {mark_of(writer, number)}\n" + line * (1 + number % 7)


def mark_of(writer: int, number: int) -> str:
    """A word that no other note has: letters alone, so that it stays one word, and none that could be an ending."""
    return "mark" + "".join(_LETTERS[int(digit)] for digit in f"{writer}{number:06d}")


def write(notes: str, writer: int, count: int) -> None:
    """Remember so many notes, every other one with a topic, and say so after each."""
    with Memory.open(notes, settings=default_settings()) as memory:
        for number in range(count):
            topic = f"topic {writer} {number}" if number % 2 else None
            key = memory.remember(text_of(writer, number), project=f"project {number % PROJECTS}", topic=topic).key
            print(f"{number}\t{key}", flush=True)


def run_writers(tell: Tell, *, notes: int = NOTES, writers: int = WRITERS, recalled: int = RECALLED) -> Written:
    """Let the writers write, kill one of them half way, and look at what is there."""
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        room = Room(Path(temporary).resolve(), [], tell)
        tell(f"{notes:,} notes by {writers} processes")
        began = time.perf_counter()
        acknowledged = _acknowledged(room, writers, notes // writers)
        seconds = time.perf_counter() - began
        tell("what is there")
        return _looked_at(room, acknowledged, notes, seconds, recalled)


def _acknowledged(room: Room, writers: int, each: int) -> dict[str, tuple[int, int]]:
    """The keys that writers were given, each with its writer and number."""
    files = [room.folder / f"said-{writer}" for writer in range(writers)]
    running = [_started(room, writer, each, file) for writer, file in enumerate(files)]
    try:
        while running[0].poll() is None and _lines(files[0]) < each // 2:
            time.sleep(0.002)
        running[0].send_signal(signal.SIGKILL)
        for writer, process in enumerate(running):
            code = process.wait()
            if code not in ((0, -signal.SIGKILL) if writer == 0 else (0,)):
                raise StorageError(f"writer {writer} ended with {code}", hint=(room.folder / f"error-{writer}").read_text()[-300:])
    finally:
        for process in running:
            process.kill()
    found = {}
    for writer, file in enumerate(files):
        for line in file.read_text(encoding="utf-8").split("\n")[:-1]:  # a line without its end was not said
            number, _, key = line.partition("\t")
            found[key] = (writer, int(number))
    return found


def _started(room: Room, writer: int, count: int, said: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "whence_bench.memory.writers", str(room.folder / "notes"), str(writer), str(count)]
    with said.open("wb") as out, (room.folder / f"error-{writer}").open("wb") as err:
        return subprocess.Popen(command, env=room.environment("data"), cwd=room.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n")


def _looked_at(room: Room, acknowledged: dict[str, tuple[int, int]], asked: int, seconds: float, most: int) -> Written:
    directory = room.folder / "notes"
    with Memory.open(directory, data_dir=room.folder / "data", settings=default_settings()) as memory:
        there = {note.key: note for note in memory.list()}
        whole = sum(key in there and there[key].text == text_of(*of) for key, of in acknowledged.items())
        step = max(1, len(acknowledged) // most)
        sample = list(acknowledged.items())[::step]
        recalled = sum([hit.note.key for hit in memory.recall(mark_of(*of), k=1)] == [key] for key, of in sample)
        parts = [file for file in directory.glob("*/.*.part") if PART.fullmatch(file.name)]
        return Written(
            asked,
            len(acknowledged),
            whole,
            sum(key in there for key in acknowledged),
            recalled,
            len(sample),
            len(there.keys() - acknowledged.keys()),
            sum(bool(note.problem) for note in there.values()),
            len(parts),
            seconds,
            memory.index.database.was_damaged,
        )


def as_text(found: Written) -> str:
    """The table."""
    rows = [
        ("to be remembered", found.asked),
        ("acknowledged", found.acknowledged),
        ("whole", found.whole),
        ("in the index", found.listed),
        (f"recalled by their words, of {found.recalled_of}", found.recalled),
        ("lost", found.lost),
        ("stored and not acknowledged", found.more),
        ("broken files", found.broken),
        ("unnamed parts left over", found.left_over),
        ("notes per second", f"{found.acknowledged / max(found.seconds, 1e-9):.0f}"),
    ]
    verdict = report.verdict(found.lost == 0 and found.broken == 0 and found.recalled == found.recalled_of and not found.damaged)
    return report.table((f"{WRITERS} writers, one killed", "notes"), rows) + f"\n\nnothing acknowledged is lost: {verdict}"


def as_json(found: Written) -> dict[str, Any]:
    """Everything that was counted."""
    return {"benchmark": "memory, writers", **asdict(found), "lost": found.lost}


def main(arguments: Sequence[str]) -> None:
    """Be one of the writers."""
    notes, writer, count = arguments
    write(notes, int(writer), int(count))


if __name__ == "__main__":
    main(sys.argv[1:])
