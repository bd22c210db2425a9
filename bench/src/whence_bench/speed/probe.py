"""A process of its own in which one thing is measured: `python -m whence_bench.speed.probe build|encode|ask|refresh TREE`.

It prints one line of JSON. The index is where `WHENCE_DATA_DIR` says.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

from whence.app.index import Index
from whence.embed.encoder import SHIPPED, open_encoder
from whence.embed.passages import cut_passages
from whence.index.vectors import PassageRows
from whence_bench import report
from whence_bench.measure import RSS_UNIT, cpu_seconds, folder_bytes, run
from whence_bench.search.run import default_settings

WARM_UP_QUERIES = 5


def _open(tree: Path) -> Index:
    return Index.open(tree, settings=default_settings())


def build(tree: Path) -> dict[str, Any]:
    """Build an index where there is none. A folder with one small file comes first: it loads what every build needs."""
    with TemporaryDirectory(prefix="whence-bench-") as small:
        (Path(small) / "one.py").write_text("def one():\n    return 1\n", encoding="utf-8")
        _open(Path(small)).close()
    cpu, wall = cpu_seconds(), time.perf_counter()
    with _open(tree) as index:
        spent = {"cpu": cpu_seconds() - cpu, "wall": time.perf_counter() - wall}
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT
        worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * RSS_UNIT
        return {
            **spent,
            "files": index.snapshot.live_files,
            "units": index.snapshot.live_units,
            "source_bytes": sum(state.size for state in index.tree.files.values()),
            "index_bytes": folder_bytes(index.layout.directory),
            "peak_own": own,
            "peak_worker": worker,
            "workers": (index.settings.index.workers or os.cpu_count() or 1) if worker else 0,
            "settings": report.settings(index.provenance),
        }


def encode(tree: Path) -> dict[str, Any]:
    """Make the vectors of every indexed file once more; the files are read and parsed beforehand."""
    encoder = open_encoder(SHIPPED)
    with _open(tree) as index:
        files = [(path, (index.read_text(path) or "").encode(), index.parsed(path)) for path in index.snapshot.paths]
        units = sum(len(parsed.units) for _, _, parsed in files if parsed is not None)
        began, found = time.process_time(), PassageRows(encoder) if encoder is not None else None
        for path, source, parsed in files:
            if parsed is not None and found is not None:
                found.add(cut_passages(path, source, parsed), 0)
        rows = len(found.arrays()["first"]) if found is not None else 0
        return {"cpu": time.process_time() - began, "units": units, "passages": rows}


def ask(tree: Path, queries: list[str], rounds: int) -> dict[str, Any]:
    """Ask queries in a running process; CPU seconds of each."""
    with _open(tree) as index:
        for query in queries[:WARM_UP_QUERIES]:
            index.search(query, k=10)
        times = []
        for query in queries * rounds:
            began = time.process_time()
            index.search(query, k=10)
            times.append(time.process_time() - began)
        return {"cpu": times, "units": index.snapshot.live_units, "files": index.snapshot.live_files}


def refresh(tree: Path, rounds: int) -> dict[str, Any]:
    """Refresh with nothing changed in a running process, turn by turn with `git status`."""
    ours: list[tuple[float, float]] = []
    peers: list[tuple[float, float]] = []
    with _open(tree) as index:
        index.refresh()
        for number in range(rounds + 1):
            cpu, wall = cpu_seconds(), time.perf_counter()
            did = index.refresh()
            took = (cpu_seconds() - cpu, time.perf_counter() - wall)
            status = run(["git", "status", "--porcelain"], cwd=tree)
            if number:
                ours.append(took)
                peers.append((status.cpu, status.wall))
        return {"whence": ours, "git": peers, "read": did.read, "files": index.snapshot.live_files}


def main(arguments: list[str]) -> None:
    """Do what is asked and print what it took."""
    asked = json.loads(arguments[1])
    actions: dict[str, Callable[..., dict[str, Any]]] = {"build": build, "encode": encode, "ask": ask, "refresh": refresh}
    print(json.dumps(actions[arguments[0]](Path(asked.pop("tree")), **asked)))


if __name__ == "__main__":
    main(sys.argv[1:])
