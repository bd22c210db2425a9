"""Two workers on one fleet, one of them killed in the middle: the other finishes, and nothing is missing or doubled."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sample_trees import SOURCES
from whence.core.settings import FleetSettings
from whence.fleet.engine import EVERYTHING, SCHEMAS, SPARSE, Engine
from whence.fleet.leases import Leases
from whence.fleet.registry import READY, Registry

VICTIM, SURVIVOR = "victim", "survivor"
#: Seconds between two looks at who holds what.
LOOK = 0.01
#: A pack is made of segments with names drawn by lot: one of the same commit is as good. The row of a repository tells of its work.
APART = ("packs", "repos", "claims")

Rows = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Survived:
    """What came of it."""

    killed_with: str  # the repository that the victim held when it was killed
    ready: int  # repositories that were ready then
    seconds: float  # from the kill to the end of the survivor
    code: int  # how the survivor ended


def run_and_kill(settings: FleetSettings, data_dirs: tuple[Path, Path], *, after: int, seconds: float = 120.0) -> Survived:
    """Start two workers on repositories that wait, and kill one with -9 as soon as so many are ready and it holds another."""
    victim, survivor = (started(settings, name, data_dir) for name, data_dir in zip((VICTIM, SURVIVOR), data_dirs, strict=True))
    try:
        with Engine.open(settings) as engine:
            held, ready = _held_by_victim(engine, after, victim, time.monotonic() + seconds)
        victim.kill()
        began = time.monotonic()
        victim.wait(10)
        code = survivor.wait(seconds)
        return Survived(held, ready, time.monotonic() - began, code)
    finally:
        for process in (victim, survivor):
            process.kill()
            process.wait(10)


def started(settings: FleetSettings, name: str, data_dir: Path) -> subprocess.Popen[bytes]:
    """A worker in a process of its own, as on a machine of its own: it shares nothing but the engine."""
    chosen = {f"fleet.{field}": getattr(settings, field) for field in ("backend", "address", "prefix", "timeout", "lease")}
    given = [option for key, value in chosen.items() for option in ("--set", f"{key}={value}")]
    environment = {**os.environ, "WHENCE_DATA_DIR": str(data_dir), "PYTHONPATH": str(SOURCES)}
    if settings.token:
        environment["WHENCE_FLEET_TOKEN"] = settings.token  # others see the command line
    return subprocess.Popen(
        [sys.executable, "-m", "whence", "fleet", "index", "--worker", name, *given],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def rows_in(engine: Engine, *, apart: tuple[str, ...] = APART) -> Rows:
    """Every row that workers wrote, by collection and key, without what the engine makes itself."""
    found: Rows = {}
    for name, schema in SCHEMAS.items():
        if name not in apart:
            kept = [field for field in schema if field != SPARSE]
            rows = list(engine.rows(name, EVERYTHING, kept))
            found[name] = {row["id"]: row for row in rows}
            assert len(found[name]) == len(rows) == engine.count(name), f"{name} has rows twice"
    return found


def unlike(these: Rows, those: Rows) -> Mapping[str, tuple[int, int, int]]:
    """By collection how many rows only the first have, only the second, and both but otherwise; what is alike is not listed."""
    found = {}
    for name in these.keys() | those.keys():
        one, other = these.get(name, {}), those.get(name, {})
        differ = sum(one[key] != other[key] for key in one.keys() & other.keys())
        found[name] = (len(one.keys() - other.keys()), len(other.keys() - one.keys()), differ)
    return {name: counts for name, counts in found.items() if any(counts)}


def _held_by_victim(engine: Engine, after: int, victim: subprocess.Popen[bytes], until: float) -> tuple[str, int]:
    """The repository that the victim works on, and how many are ready, when there are enough of them."""
    registry, leases = Registry(engine), Leases(engine, "", engine.settings.lease, time.time)
    while time.monotonic() < until and victim.poll() is None:
        held = [repo for repo, worker in leases.holders().items() if worker == VICTIM]
        ready = sum(one.state == READY for one in registry.all())
        if held and ready >= after:
            return held[0], ready
        time.sleep(LOOK)
    raise AssertionError("the worker that was to be killed came to an end by itself")
