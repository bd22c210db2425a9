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

from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence_bench import report
from whence_bench.speed import timings, trees
from whence_bench.speed.harness import Room, Tell, sized_tree
from whence_bench.speed.peers import find_ripgrep, find_semble


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the trees are. The large one is made only when it is asked for."""

    units: int = 10_000
    files: int = 10_000
    large_units: int = 0


LARGE_UNITS = 500_000


def run(tree: Path | None, sizes: Sizes, semble: str | None, tell: Tell) -> Room:
    """Measure everything, in a folder that is removed afterwards."""
    sources = trees.read_sources(tree)
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        room = Room(Path(temporary).resolve(), sources, tell)
        room.raw["sources"] = {"files": len(sources), "bytes": sum(len(source.content) for source in sources)}
        _by_units(room, sizes.units, semble)
        _by_files(room, sizes.files)
        if sizes.large_units:
            _large(room, sizes.large_units)
    return room


def _by_units(room: Room, units: int, semble: str | None) -> None:
    """The tree whose units count: searching, and building beside a peer."""
    room.tell(f"a tree of {units:,} units")
    made, built = sized_tree(room, "units", units)
    room.raw["tree by units"] = built
    room.semble = find_semble(semble, room.folder / "semble", made.root, room.notes)
    room.ripgrep = find_ripgrep(room.notes)
    room.tell("search in a new process")
    timings.new_process(room, made.root, built["data_dir"], built["units"])
    room.tell("first builds, and search in a running process")
    timings.beside_semble(room, made.root, built["data_dir"])
    room.tell("encoding")
    timings.encoding(room, made.root, built["data_dir"])
    timings.installed(room)


def _by_files(room: Room, files: int) -> None:
    """The tree whose files count: building, refreshing, editing."""
    room.tell(f"a tree of {files:,} files")
    made = room.make("files", files=files)
    room.tell("its first build")
    built = room.probe("build", "data_files", tree=str(made.root))
    room.raw["tree by files"] = built
    timings.memory(room, built)
    room.tell("refresh with nothing changed")
    timings.refresh(room, made.root, "data_files")
    room.tell("one file edited")
    timings.edited(room, made.root, "data_files")


def _large(room: Room, units: int) -> None:
    room.tell(f"a tree of {units:,} units")
    known = room.raw["tree by files"]
    made = room.make("large", size=int(units * known["source_bytes"] / max(known["units"], 1)))
    built = room.probe("build", "data_large", tree=str(made.root))
    room.raw["large tree"] = built
    timings.memory(room, built, most_mb=None)
    asked = timings.ask(room, made.root, "data_large")
    room.raw["large tree, queries"] = asked
    timings.running_process(room, asked["units"], asked["p50"], 35, None)


def as_text(room: Room) -> str:
    """The table, and what has to be known to read it."""
    rows = [
        (
            row.what,
            row.bar or None,
            f"{_short(row.measured)} {row.unit}",
            f"{row.peer} {_short(row.peer_value)}" if row.peer_value is not None else None,
            None if row.ratio is None else f"{row.ratio:.2f}",
            report.verdict(row.kept),
        )
        for row in room.rows
    ]
    text = report.table(("what", "bar", "measured", "peer", "ratio", ""), rows)
    return "\n".join([text, *(f"note: {note}" for note in room.notes)])


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def as_json(room: Room) -> dict[str, Any]:
    """Everything that was measured, and what is needed to measure it again."""
    built = room.raw.get("tree by units", {})
    return {
        "benchmark": "speed",
        "rows": [asdict(row) for row in room.rows],
        "notes": room.notes,
        "measured": room.raw,
        "settings": built.get("settings", []),
    }
