"""Stores of notes for tests: real folders with an index of their own, and other processes that use them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hindrances import environment
from whence import Memory
from whence.memory.recall import RecalledNote

#: What another process begins with: `place` is where the store is, `memory` is open.
_BEGINNING = """
import json, sys
from pathlib import Path
from whence import Memory
place = Path(sys.argv[1])
def memory_of(**settings):
    return Memory.open(place / "notes", data_dir=place / "data", settings={f"memory.{name}": value for name, value in settings.items()})
"""


def opened(place: Path, **settings: object) -> Memory:
    """The store of a place; settings are those of memory."""
    return Memory.open(place / "notes", data_dir=place / "data", settings={f"memory.{name}": value for name, value in settings.items()})


def by_hand(place: Path, name: str, data: bytes | str) -> Path:
    """A file that a person has written into the folder of notes."""
    path = place / "notes" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def slugs(found: Iterable[RecalledNote]) -> list[str]:
    return [one.note.slug for one in found]


def texts(found: Iterable[RecalledNote]) -> list[str]:
    return [one.note.text for one in found]


def answers(memory: Memory, questions: Sequence[str]) -> list[list[object]]:
    """All that is said to some questions, but for the last digits of scores."""
    return [
        [question, one.note.key, one.label, round(one.score, 6), round(one.semantic, 6), sorted(one.alike)]
        for question in questions
        for one in memory.recall(question, k=50)
    ]


def started(place: Path, program: str, hindered: Callable[[], None] | None = None, **variables: str) -> subprocess.Popen[str]:
    """Another process that does something with a store, under what hinders it."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": hindered}
    command = [sys.executable, "-c", _BEGINNING + program, str(place)]
    return subprocess.Popen(command, cwd=place, env=environment(**variables), text=True, **pipes)  # type: ignore[call-overload]


def said(process: subprocess.Popen[str]) -> str:
    """What a process printed, when it has ended well."""
    out, trouble = process.communicate(timeout=60)
    assert process.returncode == 0, trouble
    return out.strip()


def last_line(process: subprocess.Popen[str]) -> str:
    """The error that a process ended with."""
    _, trouble = process.communicate(timeout=60)
    assert process.returncode == 1, trouble
    return trouble.strip().splitlines()[-1]
