"""Processes that write notes and say which ones are stored: `python writers.py DIRECTORY COUNT PREFIX [TOPICS]`.

Each key is printed when its note is on the disk. With TOPICS the notes share that many topics, so that they replace
one another; what is printed then is the text.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

from whence.memory.note import Note
from whence.memory.store import NoteStore

MOST = 100_000
MORNING = datetime(2026, 11, 16, 8, 0, 0, tzinfo=timezone.utc)


def write_notes(directory: Path, count: int, prefix: str, topics: int = 0) -> None:
    folder = NoteStore(directory, MOST)
    for number in range(count):
        text = f"{prefix} wrote {number}\n\n" + "All of it is here. " * (number % 50) + "The end."
        topic = f"topic {number % topics}" if topics else ""
        stored = folder.write(Note(text, "", project="shop", topic=topic, created=MORNING))
        sys.stdout.write(f"{text!r}\n" if topics else f"{stored.key}\n")
        sys.stdout.flush()


def started(*arguments: object, program: str = "", **how: object) -> subprocess.Popen[str]:
    """A process that writes notes, or one that runs a program of some lines that needs notes."""
    from hindrances import environment  # the processes themselves start without what it loads

    what = ["-c", program] if program else [__file__]
    command = [sys.executable, *what, *map(str, arguments)]
    tests = str(Path(__file__).parents[1])
    variables = environment()
    variables["PYTHONPATH"] += f":{tests}"
    return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)  # type: ignore[call-overload]


if __name__ == "__main__":
    write_notes(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:]))
