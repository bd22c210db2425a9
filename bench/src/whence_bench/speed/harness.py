"""Where speed is measured: folders, an environment without the user's settings, peers, and the table so far."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import whence
from whence_bench.measure import Spent, run
from whence_bench.speed import trees
from whence_bench.speed.peers import Ripgrep, Semble
from whence_bench.speed.trees import Made, Source

#: First guess of how much source a unit takes; corrected by what is measured.
BYTES_PER_UNIT = 350
#: A tree is large enough when it has this share of the units asked for.
NEAR_ENOUGH = 0.9

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    bar: str
    measured: float
    unit: str
    peer: str = ""
    peer_value: float | None = None
    ratio: float | None = None
    kept: bool | None = None


@dataclass(slots=True)
class Room:
    """Where a run takes place: its folders, its environment, its peers, and what was found so far."""

    folder: Path
    sources: list[Source]
    tell: Tell
    semble: Semble | None = None
    ripgrep: Ripgrep | None = None
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)

    def environment(self, data_dir: str) -> dict[str, str]:
        """The caller's environment without any setting of the user, and with this very package, wherever it was found."""
        package = str(Path(whence.__file__).resolve().parents[1])
        paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WHENCE_")}
        ours = {"WHENCE_DATA_DIR": str(self.folder / data_dir), "XDG_CONFIG_HOME": str(self.folder / "config"), "PYTHONPATH": paths}
        return {**kept, **ours}

    def probe(self, action: str, data_dir: str, **asked: Any) -> dict[str, Any]:
        """Measure one thing in a new process."""
        command = [sys.executable, "-m", "whence_bench.speed.probe", action, json.dumps(asked)]
        spent = run(command, env=self.environment(data_dir), cwd=self.folder)
        found: dict[str, Any] = json.loads(spent.out.strip().splitlines()[-1])
        return found

    def search(self, query: str, tree: Path, data_dir: str) -> Spent:
        """`whence search` in a new process."""
        command = [sys.executable, "-m", "whence", "search", query, str(tree), "-k", "10"]
        return run(command, env=self.environment(data_dir), cwd=tree, allowed=(0, 1))

    def make(self, name: str, *, files: int | None = None, size: int | None = None) -> Made:
        """A committed tree."""
        root = self.folder / name
        root.mkdir()
        made = trees.grow(Made(root), self.sources, files=files, size=size)
        trees.commit(root)
        return made


def ratio(value: float, peer: float | None) -> float | None:
    """How many times the peer's figure."""
    return None if peer is None or peer <= 0 else value / peer


def at_most(found: float | None, bar: float) -> bool | None:
    """Whether a figure keeps below its bar; nothing where there is no figure."""
    return None if found is None else found <= bar


def least(spent: list[Spent]) -> float:
    """The CPU time of the run that was disturbed least."""
    return min(one.cpu for one in spent)


def sized_tree(room: Room, name: str, units: int) -> tuple[Made, dict[str, Any]]:
    """A tree of about so many units, with the figures of its first build."""
    size = units * BYTES_PER_UNIT
    for attempt in range(3):
        made = room.make(f"{name}_{attempt}", size=size)
        built = room.probe("build", f"data_{name}_{attempt}", tree=str(made.root))
        if built["units"] >= units * NEAR_ENOUGH and built["units"] <= units / NEAR_ENOUGH:
            break
        size = int(size * units / max(built["units"], 1))
    built["data_dir"] = f"data_{name}_{attempt}"
    return made, built
