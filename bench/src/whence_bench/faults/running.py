"""Run the parts one after another, and put what they found together."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from whence.core.version import __version__
from whence_bench.faults.part import Bounds, Part

#: Each part: what it tries, and the seconds it may take. A part that is done earlier ends earlier.
PARTS: Mapping[str, tuple[str, float]] = {
    "kills": ("kill -9 at every write step, a full disk, a failing flush", 900.0),
    "corruption": ("damaged, lost and half-written files", 600.0),
    "crowds": ("readers and writers at once", 120.0),
    "load": ("8 clients at once, over HTTP and in one process", 270.0),
    "trees": ("hostile trees", 400.0),
    "fuzz": ("hostile input", 900.0),
    "secrets": ("planted secrets, in the index and in every output", 300.0),
    "worktrees": ("a second worktree of an indexed repository", 300.0),
}
#: Seconds for a part when only some of everything is tried.
SMALL_SECONDS = 20.0


def run(names: Sequence[str], scratch: Path, *, seconds: float | None, seed: int, small: bool, tell: Callable[[str], None]) -> list[Part]:
    """What the named parts found, or all of them where none is named."""
    found = []
    for name in names or PARTS:
        place = scratch / name
        place.mkdir()
        allowed = seconds if seconds is not None else SMALL_SECONDS if small else PARTS[name][1]
        bounds = Bounds(place, allowed, seed, small, _telling(tell, name))
        tell(f"{name}: {PARTS[name][0]}")
        part = cast("Callable[[Bounds], Part]", import_module(f"whence_bench.faults.{name}").run)(bounds)
        part.facts.setdefault("seconds", round(time.monotonic() - bounds.started, 1))
        found.append(part)
    return found


def _telling(tell: Callable[[str], None], name: str) -> Callable[[str], None]:
    return lambda line: tell(f"{name}: {line}")


def as_json(parts: Sequence[Part], seed: int) -> dict[str, Any]:
    """Everything that was found, and where."""
    machine = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "executable": sys.implementation.name,
    }
    found = [asdict(part) | {"passed": part.passed} for part in parts]
    return {"benchmark": "faults", "version": __version__, "seed": seed, "machine": machine, "parts": found}


def as_text(parts: Sequence[Part]) -> str:
    """A line for each part, and under it what was wrong."""
    lines = []
    for part in parts:
        said = f"skipped: {part.skipped}" if part.skipped else f"{part.tried:>9,} tried  {len(part.wrong):>3} wrong"
        lines.append(f"{part.name:<11} {said}  {part.facts.get('seconds', 0):>6} s")
        lines += [
            f"    {name}: {value}" for name, value in part.facts.items() if name != "seconds" and isinstance(value, int | float | str)
        ]
        lines += [f"    wrong: {line}" for line in part.wrong]
    return "\n".join(lines)
