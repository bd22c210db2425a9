"""kill -9 at every write step, a full disk from every write step on, and flushes that fail (Z6)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import IO, Any, cast

from whence_bench.faults import kill_commands, kill_runs, write_steps
from whence_bench.faults.part import Bounds, Part
from whence_bench.faults.write_steps import FULL, NAMES, NO_FLUSH, WriteSteps

NAME = "kills"
#: Where scenarios are listed.
TABLE = "whence_bench.faults.scenarios"
#: Processes that work beside one another, each on scenarios of its own.
PROCESSES = 2
#: The share of the time that is for real commands.
COMMANDS_SHARE = 0.1
#: Seconds beyond those that are allowed, for the last fault to be looked at.
GRACE = 120.0
_FAILURES = frozenset((NAMES[FULL], NAMES[NO_FLUSH]))


def run(bounds: Bounds, names: Sequence[str] = (), table: str = TABLE) -> Part:
    """Every fault at every write step of every scenario, or of the named ones."""
    scratch = bounds.scratch.resolve()
    library = write_steps.compiled(scratch)
    if isinstance(library, str):
        return Part(NAME, 0, (), skipped=library)
    listed = import_module(table).SCENARIOS
    chosen = [one.name for one in listed if one.name in names or not (names or (bounds.small and one.workers))]
    seconds = max(bounds.left, 1.0) * (1 - COMMANDS_SHARE)
    request = {"seconds": seconds, "seed": bounds.seed, "small": bounds.small, "table": table}
    shares = [share for first in range(PROCESSES) if (share := chosen[first::PROCESSES])]
    started = [(_started(scratch / f"share-{number}", library, {**request, "names": share})) for number, share in enumerate(shares)]
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for number, process in enumerate(started):
        said = _waited_for(process, max(bounds.left, 0.0) + GRACE, bounds.tell)
        if process.returncode:
            wrong.append(f"a process of kills ended with {process.returncode}: {said}")
        else:
            found |= json.loads((scratch / f"share-{number}" / kill_runs.FOUND).read_text(encoding="utf-8"))
    if not names:
        found["commands"] = kill_commands.tried(bounds, library, environment(scratch))
    return _put_together({name: found[name] for name in (*chosen, "commands") if name in found}, wrong)


def _started(scratch: Path, library: Path, request: dict[str, Any]) -> subprocess.Popen[str]:
    scratch.mkdir()
    control = scratch / "control"
    WriteSteps(control)
    request = {**request, "scratch": str(scratch), "control": str(control)}
    return subprocess.Popen(
        [sys.executable, "-m", "whence_bench.faults.kill_runs", json.dumps(request)],
        env=environment(scratch) | write_steps.environment(library, control),
        stderr=subprocess.PIPE,
        text=True,
    )


def _waited_for(process: subprocess.Popen[str], longest: float, tell: Callable[[str], None]) -> str:
    """Pass on what a process says until it ends, or is ended; the last that it said."""
    late = Timer(longest, process.kill)
    late.start()
    said = ""
    for line in cast("IO[str]", process.stderr):
        said = line.strip() or said
        tell(said)
    process.wait()
    late.cancel()
    return said


def environment(scratch: Path) -> dict[str, str]:
    """The environment of a process that knows nothing of the user's settings and indexes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WHENCE_")}
    ours = str(Path(__file__).parents[2])
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([ours, *filter(None, [kept.get("PYTHONPATH")])]),
        "XDG_CONFIG_HOME": str(scratch / "config"),
        "OPENBLAS_NUM_THREADS": "1",
    }


def _put_together(found: dict[str, Any], wrong: list[str]) -> Part:
    tried: Counter[str] = Counter()
    for one in found.values():
        tried.update(one["tried"])
    facts: dict[str, Any] = {
        "write steps": sum(one["steps"] for one in found.values()),
        "kills": sum(count for name, count in tried.items() if name not in _FAILURES),
        **dict(tried),
        "not reached": sum(one["not_reached"] for one in found.values()),
        "scenarios": {name: {key: value for key, value in one.items() if key != "wrong"} for name, one in found.items()},
    }
    return Part(NAME, sum(tried.values()), (*wrong, *(line for one in found.values() for line in one["wrong"])), facts)
