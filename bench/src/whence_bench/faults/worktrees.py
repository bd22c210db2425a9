"""A second worktree of an indexed repository: what it costs beside the first, and whether it answers as a clean build does (Z5)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.app.index import Index
from whence.index.layout import Layout
from whence_bench.faults.part import Bounds, Part
from whence_bench.fetch import git
from whence_bench.speed import trees

FILES, SMALL_FILES = 3_000, 60
#: What a second worktree may cost of the first build, in time and in room; a small tree is mostly the start of a process.
BAR = 0.05
QUESTIONS = 12
EDITED = 3
#: Digits of scores that are compared.
DIGITS = 9


@dataclass(frozen=True, slots=True)
class Cost:
    """What a build took: seconds, seconds of processors, bytes that no other index shares, files that were read."""

    seconds: float
    cpu: float
    bytes: int
    read: int
    adopted: int


def run(bounds: Bounds) -> Part:
    """Index a repository, then a second worktree, one with changes, and one from a pack; compare each with a clean build."""
    sources = trees.read_sources(None)
    made = trees.grow(trees.Made(bounds.scratch / "first"), sources, files=SMALL_FILES if bounds.small else FILES)
    trees.commit(made.root)
    data, asked = bounds.scratch / "data", trees.questions(sources, QUESTIONS)
    bounds.tell(f"a tree of {made.files} files, {made.bytes / 1e6:.0f} MB")
    first = _indexed(made.root, data)
    same, edited = (_worktree(made.root, bounds.scratch / name) for name in ("same", "edited"))
    for path in sorted(edited.rglob("*.py"))[:EDITED]:
        path.write_bytes(path.read_bytes() + b"\n\ndef added_by_hand_later():\n    return 1\n")
    second, third = _indexed(same, data), _indexed(edited, data)
    wrong = [f"the {name} worktree answers otherwise than a clean build" for name, root in (("second", same), ("edited", edited))
             if _answers(root, data, asked) != _answers(root, bounds.scratch / f"clean-{name}", asked)]  # fmt: skip
    wrong += [f"the second worktree read {second.read} files"] if second.read else []
    wrong += [f"the edited worktree read {third.read} files instead of {EDITED}"] if third.read != EDITED else []
    shares = {"time": second.seconds / first.seconds, "cpu": second.cpu / first.cpu, "size": second.bytes / first.bytes}
    if not bounds.small:
        wrong += [f"a second worktree costs {share:.1%} of the first build's {what}" for what, share in shares.items() if share > BAR]
    return Part("worktrees", 2, tuple(wrong), _facts(first, second, third, shares, made))


def _facts(first: Cost, second: Cost, third: Cost, shares: dict[str, float], made: trees.Made) -> dict[str, Any]:
    return {
        "files": made.files,
        "source_bytes": made.bytes,
        "first_seconds": round(first.seconds, 2),
        "second_seconds": round(second.seconds, 2),
        "edited_seconds": round(third.seconds, 2),
        "first_bytes": first.bytes,
        "second_bytes": second.bytes,
        **{f"share_of_{what}": round(share, 4) for what, share in shares.items()},
        "adopted": second.adopted,
    }


def _worktree(root: Path, target: Path) -> Path:
    git("worktree", "add", "--quiet", "--detach", str(target), cwd=root)
    return target


def _indexed(root: Path, data_dir: Path) -> Cost:
    """Build in a process of its own, the graph too, as `whence index` does."""
    environment = {**os.environ, "WHENCE_DATA_DIR": str(data_dir), "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    before, began = os.times(), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "whence", "index", str(root), "--json"],
        capture_output=True,
        env=environment,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    seconds, after = time.monotonic() - began, os.times()
    (told,) = json.loads(done.stdout)["indexes"]
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(seconds, cpu, _own_bytes(data_dir, root), told["read"], told["adopted"])


def _own_bytes(data_dir: Path, root: Path) -> int:
    """What an index takes of the disk by itself: a file that has a second name in an older index takes nothing."""
    states = [path.stat() for path in Layout(data_dir, root.resolve()).directory.rglob("*") if path.is_file()]
    return sum(state.st_size for state in states if state.st_nlink == 1)


def _answers(root: Path, data_dir: Path, asked: list[str]) -> list[Any]:
    with Index.open(root, data_dir=data_dir) as index:
        # Sums of many numbers may differ in their last digit by the order of the files.
        found: list[Any] = [[(one.path, round(one.score, DIGITS), one.best_start) for one in index.search(query)] for query in asked]
        return [*found, index.context(asked[0], budget=4_000).text, len(index.open_graph().source)]
