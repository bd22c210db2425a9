"""A process of its own in which one thing of notes is measured: `python -m whence_bench.memory.probe ACTION FILE`.

FILE has what is asked, as JSON. It prints one line of JSON. The index is where `WHENCE_DATA_DIR` says.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

from whence.memory.memory import Memory
from whence.search.metrics import DEPTH
from whence.text.analyzer import prose_language
from whence_bench.measure import RSS_UNIT, cpu_seconds, folder_bytes, run
from whence_bench.memory import peer
from whence_bench.search.run import default_settings

WARM_UP_QUESTIONS = 5
#: Seconds after which what was written counts as lost, and between two looks.
LONGEST_WAIT, PAUSE = 120.0, 0.01


def _open(asked: dict[str, Any]) -> Memory:
    return Memory.open(asked["notes"], settings=default_settings())


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT


def build(asked: dict[str, Any]) -> dict[str, Any]:
    """The index where there is none, up to the first answer."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    with _open(asked) as memory:
        opened = cpu_seconds() - cpu
        memory.recall(asked["questions"][0])
        spent = {"cpu": cpu_seconds() - cpu, "wall": time.perf_counter() - wall, "read_cpu": opened, "peak": _peak()}
        return {**spent, "notes": memory.index.open_reader().size, "size": folder_bytes(memory.layout.note_index)}


def build_peer(asked: dict[str, Any]) -> dict[str, Any]:
    """The table of full text over the same files."""
    cpu, root = cpu_seconds(), Path(asked["notes"])
    files = (file for folder in sorted(root.iterdir()) if folder.is_dir() for file in sorted(folder.glob("*.md")))
    texts = ((f"{file.parent.name}/{file.stem}", file.parent.name, file.read_text(encoding="utf-8")) for file in files)
    peer.make(asked["peer"], ((key, project, text.split("\n---\n", 1)[-1]) for key, project, text in texts))
    return {"cpu": cpu_seconds() - cpu, "peak": _peak(), "size": Path(asked["peer"]).stat().st_size}


def ask(asked: dict[str, Any]) -> dict[str, Any]:
    """Every question to both, of all projects and of the one its note is in; CPU seconds of each."""
    db, began = sqlite3.connect(asked["peer"]), cpu_seconds()
    with _open(asked) as memory:
        opened = cpu_seconds() - began
        pairs = list(zip(asked["questions"], asked["answers"], strict=True))
        found: dict[str, Any] = {}
        for name in ("all", "one"):
            answered = [_ask_both(memory, db, *pair, one=name == "one") for pair in [*pairs[:WARM_UP_QUESTIONS], *pairs]]
            columns = list(zip(*answered[WARM_UP_QUESTIONS:], strict=True))
            found[name] = {"whence": columns[0], "whence_found": sum(columns[1]), "peer": columns[2], "peer_found": sum(columns[3])}
    return {**found, "open": opened, "peak": _peak()}


def _ask_both(memory: Memory, db: sqlite3.Connection, question: str, answer: str, *, one: bool) -> tuple[float, bool, float, bool]:
    """Of us and of the peer the CPU seconds, and whether the note was found that the question was made from."""
    project = answer.partition("/")[0] if one else ""
    began = time.process_time()
    ours = [hit.note.key for hit in memory.recall(question, k=DEPTH, project=project or None)]
    between = time.process_time()
    theirs = peer.ask(db, prose_language("english").content_words(question), DEPTH, project)
    return between - began, answer in ours, time.process_time() - between, answer in theirs


def watch(asked: dict[str, Any]) -> dict[str, Any]:
    """How long it takes until notes are found that are written meanwhile: by another process, as a file, in a file."""
    project = asked["answers"][0].partition("/")[0]
    folder = Path(asked["notes"]) / project
    with _open(asked) as memory:
        memory.recall(asked["questions"][0])
        spent = run([*asked["remember"], "the zanzibarquill was remembered elsewhere"], cwd=Path(asked["notes"]).parent)
        found = {"remembered": _until_found(memory, "zanzibarquill"), "remember_cpu": spent.cpu, "remember_wall": spent.wall}
        (folder / "copied-by-hand.md").write_text("the yttriumferret came as a file\n", encoding="utf-8")
        found["copied"] = _until_found(memory, "yttriumferret")
        with folder.joinpath(asked["answers"][0].partition("/")[2] + ".md").open("a", encoding="utf-8") as file:
            file.write("\nthe xenonwalrus was added by hand\n")
        found["edited"] = _until_found(memory, "xenonwalrus")
    return {**found, "lost": [name for name, took in found.items() if took >= LONGEST_WAIT]}


def _until_found(memory: Memory, word: str) -> float:
    began = time.perf_counter()
    while time.perf_counter() - began < LONGEST_WAIT:
        if any(word in hit.note.text for hit in memory.recall(word)):
            return time.perf_counter() - began
        time.sleep(PAUSE)
    return LONGEST_WAIT


def main(arguments: Sequence[str]) -> None:
    """Do what is asked and print what it took."""
    asked = json.loads(Path(arguments[1]).read_text(encoding="utf-8"))
    print(json.dumps({"build": build, "build_peer": build_peer, "ask": ask, "watch": watch}[arguments[0]](asked)))


if __name__ == "__main__":
    main(sys.argv[1:])
