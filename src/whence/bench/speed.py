"""`whence bench speed`: how fast, as ratios against a peer or a floor measured in the same run (B7).

Peers are used where they are installed. Ripgrep only has to be on the path. Semble
needs a model, and on a machine without a network it has to be given one:

1. Make a virtual environment and install `semble`, `wordllama` and `model2vec` into it.
2. In Python there, load the weights that come with wordllama (`weights/*.safetensors`)
   and its tokenizer (`tokenizers/*.json`), and write them as a model folder:
   `model2vec.StaticModel(vectors, tokenizer).save_pretrained("MODEL")`.
3. Run with `SEMBLE_MODEL_NAME=MODEL HF_HUB_OFFLINE=1` in the environment and
   `--semble ENVIRONMENT/bin/semble`.

Everything measured runs in a process of its own, so that this one stays small: a
child's peak memory is never reported below that of the process that started it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from whence.bench import report, trees
from whence.bench.measure import Spent, interleaved, run
from whence.bench.peers import Ripgrep, Semble, find_ripgrep, find_semble
from whence.bench.trees import Made, Source
from whence.errors import StorageError

ROUNDS = 7
EDITS = 5
QUERIES = 40
#: First guess of how much source a unit takes; corrected by what is measured.
BYTES_PER_UNIT = 700
#: A tree is large enough when it has this share of the units asked for.
NEAR_ENOUGH = 0.9

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the trees are."""

    units: int = 10_000
    files: int = 10_000
    large_units: int = 500_000


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
        """The caller's environment without any setting of the user."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WHENCE_")}
        return {**kept, "WHENCE_DATA_DIR": str(self.folder / data_dir), "XDG_CONFIG_HOME": str(self.folder / "config")}

    def probe(self, action: str, data_dir: str, **asked: Any) -> dict[str, Any]:
        """Measure one thing in a new process."""
        command = [sys.executable, "-m", "whence.bench.probe", action, json.dumps(asked)]
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


def new_process(room: Room, tree: Path, data_dir: str, units: int) -> None:
    """Search in a new process on an indexed tree, beside the peers."""
    query = trees.questions(room.sources, QUERIES)[0]
    runs: dict[str, Callable[[int], Spent]] = {"whence": lambda _: room.search(query, tree, data_dir)}
    if semble := room.semble:
        runs["semble"] = lambda _: semble.search(query, tree)
    if ripgrep := room.ripgrep:
        runs["rg"] = lambda _: ripgrep.search(query, tree)
    spent = interleaved(ROUNDS, runs)
    room.raw["new process"] = {name: [{"cpu": one.cpu, "wall": one.wall} for one in of] for name, of in spent.items()}
    ours, what = least(spent["whence"]), f"search in a new process, {units:,} units"
    for name, bar in (("semble", 0.25), ("rg", None)):
        peer = least(spent[name]) if name in spent else None
        times = ratio(ours, peer)
        if peer is not None or bar is not None:
            kept = None if bar is None else at_most(times, bar)
            room.rows.append(Row(what, f"<= {bar} x {name}" if bar else "", ours, "s CPU", name, peer, times, kept))


def running_process(room: Room, tree: Path, data_dir: str, bar_ms: float, peer_ms: float | None) -> None:
    """Search in a running process."""
    asked = trees.questions(room.sources, QUERIES)
    found = room.probe("ask", data_dir, tree=str(tree), queries=asked, rounds=3)
    room.raw[f"running process, {found['units']} units"] = found
    p50 = median(found["cpu"]) * 1e3
    what = f"search in a running process, {found['units']:,} units, p50"
    room.rows.append(Row(what, f"<= {bar_ms:g} ms", p50, "ms CPU", "semble", peer_ms, ratio(p50, peer_ms), at_most(p50, bar_ms)))


def first_build(room: Room, built: dict[str, Any], semble_cpu: float | None, memory: bool) -> None:
    """Bytes of source per CPU-second, and on the large tree memory and the size of the index."""
    rate = built["source_bytes"] / built["cpu"] / 1e6
    peer = built["source_bytes"] / semble_cpu / 1e6 if semble_cpu else None
    times = ratio(rate, peer)
    size = f"{built['source_bytes'] / 1e6:.0f} MB"
    bar = ">= 1.25 x semble" if not memory else ""
    room.rows.append(
        Row(f"first build, {size}", bar, rate, "MB/CPU-s", "semble", peer, times, None if times is None or memory else times >= 1.25)
    )
    if memory:
        peak = built["peak_own"] + built["workers"] * built["peak_worker"]
        share = built["index_bytes"] / built["source_bytes"]
        what = f"memory of a build, {size}: process + {built['workers']} workers"
        room.rows.append(Row(what, "<= 400 MB", peak / 1e6, "MB", kept=at_most(peak / 1e6, 400)))
        room.rows.append(
            Row(f"index, {size} of source", "<= 1 x source", built["index_bytes"] / 1e6, "MB", "source", built["source_bytes"] / 1e6, share, at_most(share, 1))
        )
