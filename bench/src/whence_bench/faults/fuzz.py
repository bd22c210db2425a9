"""Hostile input: every reader of text that others wrote is tried with inputs that grow out of one another.

Each target is tried in a process of its own kind, so that even a crash of the interpreter is seen, told with the input
that caused it, and gone on after. A failure is an exception that is no WhenceError, a broken promise (a note that is
not read back as it was written), a hang, or time that grows far faster than the input.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whence_bench.faults.fuzz_engine import GROWN_HANGS, HANGS, Current, Found, Target, fault_of
from whence_bench.faults.fuzz_targets import BY_NAME, TARGETS
from whence_bench.faults.part import Bounds, Part

#: Processes at once.
CROWD = 2
#: Seconds without a new input after which a process is taken for hung: far more than any input may take.
SILENT = 90.0
#: Times that a target may take its process down before it is left alone.
MOST_DEATHS = 3
#: Of the seconds that are left, what targets may take; the rest is for starting and setting up.
SHARE = 0.9


def run(bounds: Bounds, targets: Sequence[Target] = TARGETS) -> Part:
    """Try all targets."""
    crowd = min(CROWD, os.cpu_count() or 1)
    found: dict[str, Found] = {}
    workers = [_Worker(bounds, number, some, found) for number, some in enumerate(_divided(targets, crowd, small=bounds.small))]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _part(bounds, targets, found)


def replay(name: str, data: bytes, place: Path) -> str | None:
    """What goes wrong with one input; None where nothing does."""
    return fault_of(BY_NAME[name].make(place), data, HANGS if len(data) <= BY_NAME[name].longest else GROWN_HANGS)


def _divided(targets: Sequence[Target], crowd: int, *, small: bool) -> list[list[Target]]:
    """The targets for each process: those that take longest are dealt out first."""
    ordered = sorted(targets, key=lambda one: -_weight(one, small=small))
    dealt: list[list[Target]] = [[] for _ in range(crowd)]
    for target in ordered:
        min(dealt, key=lambda some: sum(_weight(one, small=small) for one in some)).append(target)
    return [some for some in dealt if some]


def _weight(target: Target, *, small: bool) -> float:
    """About how many seconds a target takes, beside others."""
    return (target.small if small else target.full) * target.cost


@dataclass(slots=True)
class _Worker:
    """Has some targets tried, in one process as long as that lives."""

    bounds: Bounds
    number: int
    targets: list[Target]
    found: dict[str, Found]
    deaths: dict[str, int] = field(default_factory=dict)
    runs: int = 0

    def run(self) -> None:
        """Try all of them, whatever happens to the process."""
        left = list(self.targets)
        while left and self.bounds.left > 1:
            died_of = self._process(left)
            if died_of is None:
                return
            name, trouble = died_of
            left = [one for one in left if one.name not in self.found or one.name == name]
            self.deaths[name] = self.deaths.get(name, 0) + 1
            found = self.found.setdefault(name, Found())
            found.wrong.append(f"{name}: {trouble}")
            if self.deaths[name] >= MOST_DEATHS:
                left = [one for one in left if one.name != name]

    def _process(self, targets: list[Target]) -> tuple[str, str] | None:
        """Run a process through targets; None when it came to its end, else the target that it died with, and how."""
        self.runs += 1
        path = self.bounds.scratch / f"current-{self.number}"
        current = Current(path, new=True)
        process = subprocess.Popen(
            [sys.executable, "-m", "whence_bench.faults.fuzz_worker", json.dumps(self._asked(targets, path))],
            env=_surroundings(self.bounds.scratch / f"home-{self.number}"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        readers = [threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)]
        errors: list[str] = []
        readers.append(threading.Thread(target=lambda: errors.extend(process.stderr or ()), daemon=True))
        for reader in readers:
            reader.start()
        name, silent = self._followed(process, lines, current)
        readers[1].join(1.0)
        if process.returncode == 0:
            return None
        if silent:
            how = "hangs where nothing can end it"
        elif process.returncode < 0:
            how = f"dies of {signal.Signals(-process.returncode).name}"
        else:
            how = f"ends its process: {''.join(errors).strip()[-300:]}"
        if name in self.found:
            self.found[name].executions += current.number
        else:
            self.found[name] = Found(executions=current.number)
        return name, f"{how}; input (base64): {base64.b64encode(current.data[:4_096]).decode()}"

    def _followed(self, process: subprocess.Popen[str], lines: queue.SimpleQueue[str], current: Current) -> tuple[str, bool]:
        """Take in what a process says until it ends; the last target, and whether it had to be ended."""
        name, seen, since = self.targets[0].name, -1, time.monotonic()
        while True:
            try:
                line = lines.get(timeout=0.5)
            except queue.Empty:
                if current.number != seen:
                    seen, since = current.number, time.monotonic()
                if time.monotonic() - since > SILENT or self.bounds.left < -SILENT:
                    process.kill()
                    process.wait()
                    return name, True
                continue
            if not line:
                process.wait()
                return name, False
            said = json.loads(line)
            name, since = said.get("begun") or said["done"], time.monotonic()
            if "done" in said:
                self._take_in(name, said["found"])

    def _take_in(self, name: str, facts: dict[str, Any]) -> None:
        before = self.found.get(name)
        found = Found(**facts)
        if before is not None:
            found.executions += before.executions
            found.wrong = before.wrong + found.wrong
        self.found[name] = found
        for line in (f"{name}: {_told(found)}", *found.wrong):
            self.bounds.tell(line)

    def _asked(self, targets: list[Target], current: Path) -> dict[str, Any]:
        small = self.bounds.small
        return {
            "run": f"{self.number}-{self.runs}",
            "seed": self.bounds.seed * 1_000 + sum(self.deaths.values()),
            "scratch": str(self.bounds.scratch),
            "current": str(current),
            "nice": 0 if small else 19,
            "long": 1 if small else 60,
            "seconds": max(self.bounds.left * SHARE - 1, 0.5),
            "targets": [(one.name, one.small if small else one.full, _weight(one, small=small)) for one in targets],
        }


def _read(stream: Any, lines: queue.SimpleQueue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


def _surroundings(home: Path) -> dict[str, str]:
    """An environment in which nothing of the user's can be read or written, and sets have one order."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WHENCE_", "XDG_", "GIT_"))}
    places = {"HOME": home, "WHENCE_DATA_DIR": home / "data", "XDG_CONFIG_HOME": home / "config", "XDG_CACHE_HOME": home / "cache"}
    sources = str(Path(__file__).parents[2])
    return {
        **kept,
        **{name: str(place) for name, place in places.items()},
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, (sources, kept.get("PYTHONPATH", "")))),
        "OPENBLAS_NUM_THREADS": "1",
    }


def _part(bounds: Bounds, targets: Sequence[Target], found: dict[str, Found]) -> Part:
    tried = sum(one.executions for one in found.values())
    facts: dict[str, Any] = {target.name: _told(found[target.name]) for target in targets if target.name in found}
    short = [one.name for one in targets if one.name not in found or found[one.name].executions < (one.small if bounds.small else one.full)]
    if short:
        facts["not tried to the end"] = ", ".join(short)
    facts["executions"] = {name: one.executions for name, one in found.items()}
    facts["edges"] = {name: one.edges for name, one in found.items()}
    facts["kept"] = {name: one.kept for name, one in found.items()}
    facts["long inputs"] = {name: one.long_ones for name, one in found.items()}
    wrong = tuple(line for target in targets for line in found.get(target.name, Found()).wrong)
    return Part("fuzz", tried, wrong, facts)


def _told(found: Found) -> str:
    speed = round(found.executions / found.seconds) if found.seconds else 0
    return f"{found.executions:,} tried ({speed:,}/s), {found.edges:,} steps seen, {found.kept:,} inputs kept, {len(found.wrong)} wrong"
