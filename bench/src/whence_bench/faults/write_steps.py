"""The write steps of an operation, over all of its processes: counted, named, and each a place to kill or to fail at.

`write_steps.c` is loaded before libc into the processes that are watched. What it counts, and what it is to do at
which step, is in a file that all of them and this module have mapped.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# What is done at a step. The numbers are those of `enum mode` in write_steps.c.
OFF, COUNT = 0, 1
#: The whole group of processes is killed: before the call, after it, or when half of its bytes are written.
KILL_BEFORE, KILL_AFTER, TEAR = 2, 3, 4
#: Only the process that makes the call is killed.
KILL_ONE = 5
#: From this step on the disk is full; from this step on every flush fails.
FULL, NO_FLUSH = 6, 7
NAMES = {
    KILL_BEFORE: "killed before",
    KILL_AFTER: "killed after",
    TEAR: "torn at",
    KILL_ONE: "one process killed at",
    FULL: "disk full from",
    NO_FLUSH: "flushes fail from",
}

#: Names the shared file to processes that are watched. Variables that begin with WHENCE_ are settings.
VARIABLE = "BENCH_WRITE_STEPS"
_SOURCE = Path(__file__).with_name("write_steps.c")
# The layout of `struct control` in write_steps.c.
_HEAD = struct.Struct("<QiiQQ32x")
_WATCHED, _LONGEST, _LOGGED = 8, 512, 32_768
_STEP = struct.Struct("<16siI232s")
_LOG = _HEAD.size + _WATCHED * _LONGEST
_WRITES = frozenset(("write", "pwrite", "writev", "sendfile", "copy"))
_FLUSHES = frozenset(("fsync", "fdatasync"))
_CHANCE = re.compile(r"[0-9a-f]{8,}|(?<=[.-])[a-z0-9_]{8}(?=\.new)")


class Step(NamedTuple):
    """One call that changes a disk."""

    call: str
    path: str  # below the watched folder
    pid: int
    bytes: int

    @property
    def writes(self) -> bool:
        """Whether it can be done by half."""
        return self.call in _WRITES

    @property
    def flushes(self) -> bool:
        """Whether it makes sure of what was written."""
        return self.call in _FLUSHES

    @property
    def kind(self) -> str:
        """The call and the file, without the part of its name that is drawn anew each time."""
        return f"{self.call} {_CHANCE.sub('*', self.path.rpartition('/')[2]) or '/'}"


def compiled(folder: Path) -> Path | str:
    """The library that watches, made in a folder by the system's own compiler; or why there is none."""
    if not sys.platform.startswith("linux"):
        return "write steps are counted on Linux only"
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return "there is no C compiler here"
    made = folder / "write_steps.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(_SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return made if done.returncode == 0 else f"the C compiler failed: {done.stderr.strip()[:200]}"


def environment(library: Path, control: Path) -> dict[str, str]:
    """What processes that are watched are started with, beside the rest."""
    return {"LD_PRELOAD": str(library), VARIABLE: str(control)}


class WriteSteps:
    """The shared file: what was counted, and what is to happen at which step."""

    def __init__(self, path: Path) -> None:
        """Make the file, or open the one that is there."""
        size = _LOG + _LOGGED * _STEP.size
        with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            file.truncate(size)
            self._map = mmap.mmap(file.fileno(), size)

    def watch(self, folders: Sequence[Path]) -> None:
        """Count what happens below some folders, and nowhere else."""
        names = [os.fsencode(folder.resolve()) for folder in folders]
        if len(names) > _WATCHED or any(len(name) >= _LONGEST for name in names):
            raise ValueError("more folders, or longer names, than there is room for")
        self._map[_HEAD.size : _LOG] = b"".join(name.ljust(_LONGEST, b"\0") for name in names).ljust(_LOG - _HEAD.size, b"\0")

    def arm(self, what: int, at: int = 0, group: int = 0) -> None:
        """Count from zero, and do something at a step (the first is 1); `group` is who is killed with it."""
        _HEAD.pack_into(self._map, 0, 0, what, group, at, 0)

    def disarm(self) -> None:
        """Do nothing and count nothing from now on."""
        struct.pack_into("<i", self._map, 8, OFF)

    @property
    def count(self) -> int:
        """How many steps there were since it was armed."""
        return int(_HEAD.unpack_from(self._map)[0])

    @property
    def acted(self) -> int:
        """How often something was done to one of them."""
        return int(_HEAD.unpack_from(self._map)[4])

    def steps(self) -> list[Step]:
        """The steps since it was armed, in order."""
        found = []
        for number in range(min(self.count, _LOGGED)):
            call, pid, size, path = _STEP.unpack_from(self._map, _LOG + number * _STEP.size)
            found.append(Step(_text(call), _text(path), pid, size))
        return found


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode("utf-8", "replace")
