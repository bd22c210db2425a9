"""What is measured of speed, one function for each line or few lines of the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from whence.core.errors import StorageError, WhenceError
from whence_bench.measure import Spent, installed_bytes, interleaved, run
from whence_bench.speed import trees
from whence_bench.speed.harness import Room, Row, at_most, least, ratio

ROUNDS = 7
EDITS = 5
BUILDS = 2
QUERIES = 40
#: Bars: units per CPU-second, and megabytes.
ENCODED, INSTALLED_MB = 4_000, 160


def new_process(room: Room, tree: Path, data_dir: str, units: int, rounds: int = ROUNDS) -> None:
    """Search in a new process on an indexed tree, beside the peers."""
    query = trees.questions(room.sources, QUERIES)[0]
    runs: dict[str, Callable[[int], Spent]] = {"whence": lambda _: room.search(query, tree, data_dir)}
    if semble := room.semble:
        runs["semble"] = lambda _: semble.search(query, tree)
    if ripgrep := room.ripgrep:
        runs["rg"] = lambda _: ripgrep.search(query, tree)
    spent = interleaved(rounds, runs)
    room.raw["new process"] = {name: [{"cpu": one.cpu, "wall": one.wall} for one in of] for name, of in spent.items()}
    ours, what = least(spent["whence"]), f"search in a new process, {units:,} units"
    for name, bar in (("semble", 0.3), ("rg", None)):
        peer = least(spent[name]) if name in spent else None
        times = ratio(ours, peer)
        if peer is not None or bar is not None:
            kept = None if bar is None else at_most(times, bar)
            room.rows.append(Row(what, f"<= {bar} x {name}" if bar else "", ours, "s CPU", name, peer, times, kept))


def ask(room: Room, tree: Path, data_dir: str) -> dict[str, Any]:
    """Queries in a running process; `p50` in milliseconds of CPU time."""
    found = room.probe("ask", data_dir, tree=str(tree), queries=trees.questions(room.sources, QUERIES), rounds=3)
    return {**found, "p50": median(found["cpu"]) * 1e3}


def beside_semble(room: Room, tree: Path, data_dir: str) -> None:
    """First build and queries in a running process, turn by turn with semble doing the same."""
    ours: list[dict[str, Any]] = []
    peers: list[dict[str, Any]] = []
    for number in range(BUILDS):
        built = room.probe("build", f"{data_dir}_again_{number}", tree=str(tree))
        ours.append({**built, "asked": ask(room, tree, data_dir)})
        if room.semble:
            try:
                peers.append(room.semble.in_process(tree, trees.questions(room.sources, QUERIES), 3))
            except WhenceError as error:
                room.notes.append(f"semble in a running process: {error.message}")
                room.semble = None
    room.raw["beside semble"] = {"whence": ours, "semble": peers}
    peer_p50 = min((median(one["cpu"]) * 1e3 for one in peers), default=None)
    running_process(room, ours[0]["units"], min(one["asked"]["p50"] for one in ours), 6, peer_p50)
    first_build(room, ours[0]["source_bytes"], min(one["cpu"] for one in ours), min((one["build_cpu"] for one in peers), default=None))


def running_process(room: Room, units: int, p50: float, bar_ms: float, peer_ms: float | None) -> None:
    """Search in a running process."""
    what = f"search in a running process, {units:,} units, p50"
    room.rows.append(Row(what, f"<= {bar_ms:g} ms", p50, "ms CPU", "semble", peer_ms, ratio(p50, peer_ms), at_most(p50, bar_ms)))


def first_build(room: Room, size: int, cpu: float, semble_cpu: float | None) -> None:
    """Bytes of source per CPU-second, beside semble."""
    rate, peer = size / cpu / 1e6, size / semble_cpu / 1e6 if semble_cpu else None
    times = ratio(rate, peer)
    kept = None if times is None else times >= 1
    room.rows.append(Row(f"first build, {size / 1e6:.0f} MB", ">= 1 x semble", rate, "MB/CPU-s", "semble", peer, times, kept))


def encoding(room: Room, tree: Path, data_dir: str) -> None:
    """Units whose vectors the shipped encoder makes per CPU-second, cutting files into passages included."""
    found = room.probe("encode", data_dir, tree=str(tree))
    room.raw["encoding"] = found
    rate = found["units"] / found["cpu"]
    room.rows.append(Row("encoding", f">= {ENCODED:,} units/CPU-s", rate, "units/CPU-s", kept=rate >= ENCODED))


def installed(room: Room) -> None:
    """What whence and everything it requires take on disk."""
    found = installed_bytes("whence")
    room.raw["installed"] = found
    if found:
        size = sum(found.values()) / 1e6
        room.rows.append(Row("installed, with what it requires", f"<= {INSTALLED_MB} MB", size, "MB", kept=size <= INSTALLED_MB))
    else:
        room.notes.append("whence runs from its source here: what an installation takes was not measured")


def memory(room: Room, built: dict[str, Any], most_mb: float | None = 400) -> None:
    """A build that is large: its speed, its memory (every worker at its largest) and the size of the index."""
    bar, what = f"<= {most_mb:g} MB" if most_mb else "", f"memory of that build, process and {built['workers']} workers"
    source, kept = built["source_bytes"], built["index_bytes"]
    size = f"{source / 1e6:.0f} MB"
    peak = built["peak_own"] + built["workers"] * built["peak_worker"]
    share = ratio(kept, source)
    room.rows += [
        Row(f"first build, {size}", "", source / built["cpu"] / 1e6, "MB/CPU-s"),
        Row(what, bar, peak / 1e6, "MB", kept=None if most_mb is None else at_most(peak / 1e6, most_mb)),
        Row(f"index of {size}", "<= 1 x source", kept / 1e6, "MB", "source", source / 1e6, share, at_most(share, 1)),
    ]


def refresh(room: Room, tree: Path, data_dir: str, rounds: int = ROUNDS) -> None:
    """Refresh with nothing changed, beside `git status`."""
    found = room.probe("refresh", data_dir, tree=str(tree), rounds=rounds)
    room.raw["refresh"] = found
    if found["read"]:
        room.notes.append(f"a refresh with nothing changed read {found['read']} files")
    for column, unit in ((0, "s CPU"), (1, "s")):
        ours, peer = (min(pair[column] for pair in found[name]) for name in ("whence", "git"))
        times = ratio(ours, peer)
        what = f"refresh with nothing changed, {found['files']:,} files"
        room.rows.append(Row(what, "<= 2 x git status", ours, unit, "git status", peer, times, None if times is None else times <= 2))


def edited(room: Room, tree: Path, data_dir: str, edits: int = EDITS) -> None:
    """Edit a file, then find what was written in a new process."""
    files = sorted(path for path in tree.rglob("part_*/**/*") if path.is_file())

    def edit_and_find(number: int) -> Spent:
        path, name = files[(number + 1) * len(files) // (edits + 3)], f"edited_by_bench_{number}"
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef {name}():\n    return {number}\n")
        spent = room.search(name, tree, data_dir)
        if path.relative_to(tree).as_posix() not in spent.out:
            raise StorageError(f"what was written into {path.relative_to(tree)} was not found")
        return spent

    spent = interleaved(edits, {"whence": edit_and_find, "git": lambda _: run(["git", "status", "--porcelain"], cwd=tree)})
    room.raw["edited"] = {name: [{"cpu": one.cpu, "wall": one.wall} for one in of] for name, of in spent.items()}
    ours, peer = (median(one.wall for one in spent[name]) for name in ("whence", "git"))
    what = f"one file edited -> found in a new process, {len(files):,} files"
    room.rows.append(Row(what, "<= 0.4 s", ours, "s", "git status", peer, ratio(ours, peer), at_most(ours, 0.4)))
