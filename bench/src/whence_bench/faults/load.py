"""8 clients at once, over HTTP and in one process: no error, and neither memory nor handles grow."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from whence.app.index import Index
from whence_bench.faults import load_http as http
from whence_bench.faults.crowds_tree import apply, states_of
from whence_bench.faults.load_figures import Sample, Watch, growth, latencies, sample_of
from whence_bench.faults.part import Bounds, Part

CLIENTS = 8
#: Seconds of load of each kind.
SECONDS, SMALL_SECONDS = 60.0, 1.5
#: Seconds that a server has to let go of what clients held who are gone.
TO_LET_GO = 5.0
#: After so many seconds the server of the test forgets a session of which nothing is heard.
SESSION_SECONDS = 1.0


@dataclass(slots=True)
class Seen:
    """What was tried and found so far."""

    tried: int = 0
    wrong: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def take(self, kind: str, took: list[float], wrong: list[str], samples: list[Sample]) -> None:
        """Take a run of some kind into account."""
        memory, said = growth(samples)
        self.tried += len(took)
        self.wrong += [f"{kind}: {line}" for line in (*wrong, said) if line]
        for name, value in {"calls": len(took), "errors": len(wrong), **latencies(took), **memory}.items():
            self.facts[f"{kind}: {name}"] = value
        if not took:
            self.wrong.append(f"{kind}: nothing was asked")

    def let_go(self, kind: str, before: Sample, pid: int, *, spare: int = 0) -> None:
        """Handles and threads are as they were, sooner or later."""
        until = time.monotonic() + TO_LET_GO
        while (after := sample_of(pid)).handles > before.handles + spare and time.monotonic() < until:
            time.sleep(0.05)
        self.facts[f"{kind}: handles before and after"] = f"{before.handles}, {after.handles}"
        self.facts[f"{kind}: handles of databases before and after"] = f"{before.databases}, {after.databases}"
        self.facts[f"{kind}: threads before and after"] = f"{before.threads}, {after.threads}"
        if after.handles > before.handles + spare or after.databases > before.databases:
            self.wrong.append(f"{kind}: {after.handles} handles are open, {before.handles} were before")
        if after.threads > before.threads:
            self.wrong.append(f"{kind}: {after.threads} threads run, {before.threads} did before")


def run(bounds: Bounds) -> Part:
    """Load of every kind, one after the other."""
    seen, files = Seen(), 60 if bounds.small else 300
    folder = bounds.scratch / "load"
    (folder / "tree").mkdir(parents=True)
    apply(folder / "tree", {}, states_of(bounds.seed, files, 0, 1)[0])
    with Index.open(folder / "tree", data_dir=folder / "data") as index:
        _ = index.open_graph()
    scenes: dict[str, Callable[[float], None]] = {
        "HTTP": lambda seconds: _http(folder, bounds.seed, seconds, files, seen),
        "vanished": lambda _: _vanished(folder, CLIENTS if bounds.small else 100, seen),
        "API, one index": lambda seconds: _api(folder, bounds.seed, seconds, files, seen, shared=True),
        "API, an index each": lambda seconds: _api(folder, bounds.seed, seconds, files, seen, shared=False),
    }
    missed = []
    for at, (name, scene) in enumerate(scenes.items()):
        if bounds.left <= 0:
            missed.append(name)
            continue
        bounds.tell(name)
        scene(
            SMALL_SECONDS / 2 if bounds.small and "API" in name else SMALL_SECONDS if bounds.small else min(SECONDS, bounds.left / (4 - at))
        )
    if missed:
        seen.facts["not reached"] = "; ".join(missed)
    return Part("load", seen.tried, tuple(seen.wrong), seen.facts)


def _http(folder: Path, seed: int, seconds: float, files: int, seen: Seen) -> None:
    with http.serving(folder / "tree", http.environment(folder)) as served:
        wrong: list[str] = []
        asyncio.run(http.once(served, files, wrong))
        time.sleep(0.2)
        before = sample_of(served.pid)
        with Watch(served.pid, seconds / 60) as watch:
            took, more = asyncio.run(http.load(served, clients=CLIENTS, seconds=seconds, seed=seed, files=files))
        seen.take("HTTP", took, [*wrong, *more], watch.samples)
        seen.let_go("HTTP", before, served.pid)


def _vanished(folder: Path, clients: int, seen: Seen) -> None:
    with http.serving(folder / "tree", http.environment(folder), session_seconds=SESSION_SECONDS) as served:
        asyncio.run(http.vanish(served, 1))
        before = sample_of(served.pid)
        sessions = asyncio.run(http.vanish(served, clients))
        seen.tried += len(sessions)
        time.sleep(SESSION_SECONDS * 2)
        left = asyncio.run(http.known(served, sessions))
        seen.facts["sessions of clients who vanished, and left"] = f"{len(sessions)}, {left}"
        if left:
            seen.wrong.append(f"{left} of {len(sessions)} sessions of clients who vanished are kept")
        seen.let_go("vanished", before, served.pid)


def _api(folder: Path, seed: int, seconds: float, files: int, seen: Seen, *, shared: bool) -> None:
    kind = "API, one index" if shared else "API, an index each"
    asked = {"root": str(folder / "tree"), "data": str(folder / "data"), "shared": shared, "seconds": seconds, "seed": seed}
    process = subprocess.Popen(
        [sys.executable, "-m", "whence_bench.faults.load_api", json.dumps({**asked, "threads": CLIENTS, "files": files})],
        # One heap: with one for each thread, each grows to the largest that it ever held, and that hides what is kept.
        env={**http.environment(folder), "MALLOC_ARENA_MAX": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        out = cast("IO[str]", process.stdout)
        out.readline()  # it is ready
        before = sample_of(process.pid)
        with Watch(process.pid, seconds / 60) as watch:
            said = out.readline()
        if not said:
            seen.wrong.append(f"{kind}: the process ended with {process.wait()}")
            return
        told = json.loads(said)
        seen.take(kind, told["took"], told["wrong"], watch.samples)
        seen.let_go(kind, before, process.pid)
        process.communicate("\n", timeout=10)
    finally:
        process.kill()
