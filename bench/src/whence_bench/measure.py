"""What a process costs: CPU time, time on the clock, and memory."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import whence
from whence.core.errors import StorageError

#: `ru_maxrss` is in kilobytes on Linux.
RSS_UNIT = 1024
#: A package that takes less than this on disk was installed as a link to its source.
PACKAGE_AT_LEAST = 1_000_000


def cpu_seconds() -> float:
    """CPU seconds so far, of this process and of all children that have ended."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


@dataclass(frozen=True, slots=True)
class Spent:
    """What one process took, its own children included, and what it printed."""

    cpu: float
    wall: float
    peak: int  # bytes of memory, of the largest process among them
    code: int
    out: str
    complaint: str  # the last line of standard error


def run(
    arguments: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None, allowed: tuple[int, ...] = (0,)
) -> Spent:
    """Run a command to its end. Fails when it ends with a code that is not allowed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        process = subprocess.Popen(list(arguments), cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)  # what getrusage(RUSAGE_CHILDREN) would grow by, for this child alone
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
    complaint = (texts[1].strip().splitlines() or ["it said nothing"])[-1]
    spent = Spent(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * RSS_UNIT, process.returncode, texts[0], complaint)
    if spent.code not in allowed:
        raise StorageError(f"{Path(arguments[0]).name} {' '.join(arguments[1:3])} ended with {spent.code}: {complaint}")
    return spent


def interleaved(rounds: int, runs: Mapping[str, Callable[[int], Spent]]) -> dict[str, list[Spent]]:
    """Each run once per round, turn by turn, so that a busy moment of the machine falls on all of them.

    One round before those that count fills the caches of the machine.
    """
    spent: dict[str, list[Spent]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, call in runs.items():
            took = call(number)
            if number:
                spent[name].append(took)
    return spent


def folder_bytes(folder: Path) -> int:
    """The size of all files below a folder."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def installed_bytes(package: str) -> dict[str, int]:
    """The bytes of an installed package and of all that it requires, by name; empty where it is not installed as one."""
    found: dict[str, int] = {}
    waiting = [package]
    while waiting:
        name = canonical(waiting.pop())
        if name in found:
            continue
        try:
            files, required = metadata.files(name) or [], metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found[name] = sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file())
        waiting += [re.split(r"[\s;<>=!~\[(]", one, maxsplit=1)[0] for one in required if "extra ==" not in one]
    editable = package in found and found[package] < PACKAGE_AT_LEAST
    if editable:  # only links were installed: the source itself is what an installation would copy
        found[package] = folder_bytes(Path(whence.__file__).resolve().parent)
    return found if package in found else {}


def canonical(name: str) -> str:
    """A package's name as it is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()
