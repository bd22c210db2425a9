"""Real commands on a disk that is full: one line and exit code 2, or an answer; and afterwards all is well."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence_bench.faults import write_steps
from whence_bench.faults.part import Bounds
from whence_bench.faults.scenario_tree import change_tree, write_tree
from whence_bench.faults.write_steps import COUNT, FULL, NAMES, Step, WriteSteps

#: Each command is tried at so many steps.
STEPS_EACH = 6
SUCCEEDED, FAILED = 0, 2
_LONGEST = 60.0
#: What is done, each after all before it has been done once.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("index",),
    ("search", "total price"),
    ("remember", "Prices are in cents.", "--topic", "prices"),
    ("feedback", "useful", "Cart.total_price", "--task", "discount"),
    ("export", "../out/notes"),
    ("export", "../out/notes.jsonl"),
)


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where commands are run, and how they are watched."""

    place: Path
    environment: dict[str, str]
    steps: WriteSteps

    def run(self, command: tuple[str, ...], fault: int, at: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command with a fault at a step of it."""
        self.steps.arm(fault, at)
        try:
            return subprocess.run(
                [sys.executable, "-m", "whence", *command],
                cwd=self.place / "tree",
                env=self.environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=_LONGEST,
                stdin=subprocess.DEVNULL,
            )
        finally:
            self.steps.disarm()

    def put_back(self, kept: Path) -> None:
        """Have data and exports as they were."""
        for name in ("data", "out"):
            shutil.rmtree(self.place / name, ignore_errors=True)
            shutil.copytree(kept / name, self.place / name)


def tried(bounds: Bounds, library: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Some commands, each on a disk that is full from some step on; what was found, as of a scenario."""
    place = bounds.scratch.resolve() / "commands"
    write_tree(place / "tree")
    steps = WriteSteps(place / "control")
    steps.watch([place / "data", place / "out"])
    watched = write_steps.environment(library, place / "control")
    desk = _Desk(place, environment | watched | {"WHENCE_DATA_DIR": str(place / "data")}, steps)
    chance, count, seen = random.Random(bounds.seed), 0, 0
    wrong: list[str] = []
    commands = COMMANDS[2:3] if bounds.small else COMMANDS
    for name in ("data", "out"):
        (place / name).mkdir()
    for command in commands:
        kept = place / f"before-{'-'.join(command[:2]).replace('/', '-')}"
        for name in ("data", "out"):
            shutil.copytree(place / name, kept / name)
        if command[0] == "search":
            change_tree(place / "tree")
        done = desk.run(command, COUNT)
        taken = steps.steps()
        seen += len(taken)
        if done.returncode != SUCCEEDED:
            wrong.append(f"whence {command[0]}: nothing was done to it, and it failed: {done.stderr.strip()[:200]}")
            continue
        for at in sorted(chance.sample(range(1, len(taken) + 1), min(1 if bounds.small else STEPS_EACH, len(taken)))):
            if bounds.left < 0:
                break
            count += 1
            wrong += [f"whence {' '.join(command)}: {NAMES[FULL]} step {at} ({line}" for line in _wrong(desk, command, kept, at, taken)]
    return {"steps": seen, "kinds": {}, "tried": {NAMES[FULL]: count}, "not_reached": 0, "wrong": wrong}


def _wrong(desk: _Desk, command: tuple[str, ...], kept: Path, at: int, taken: list[Step]) -> Iterator[str]:
    desk.put_back(kept)
    done = desk.run(command, FULL, at)
    kind = taken[at - 1].kind
    said = done.stderr.strip().splitlines()
    if "Traceback" in done.stderr + done.stdout:
        yield f"{kind}): a traceback: {done.stderr.strip()[-200:]}"
    elif done.returncode == FAILED and (len(said) != 1 or not said[0].startswith("whence: ")):
        yield f"{kind}): what it said is not one line: {done.stderr[:300]!r}"
    elif done.returncode not in (SUCCEEDED, FAILED):
        yield f"{kind}): exit code {done.returncode}: {done.stderr[:200]}"
    again = desk.run(command, write_steps.OFF)
    if again.returncode != SUCCEEDED or again.stderr:
        yield f"{kind}): afterwards it ends with {again.returncode}: {again.stderr.strip()[:200]}"
