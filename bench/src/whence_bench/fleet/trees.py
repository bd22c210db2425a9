"""Repositories of real source for a fleet: each has files that no other has, and commits of a few files each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from whence_bench.fetch import git
from whence_bench.speed import trees
from whence_bench.speed.harness import BYTES_PER_UNIT, Room
from whence_bench.speed.trees import Made

#: Files of one commit.
FILES_OF_A_COMMIT = 20
_WHO = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false", "-c", "gc.auto=0")
_DEFINED = re.compile(r"(?:def|class|func|fn|function)\s+([A-Za-z_][A-Za-z0-9_]{5,})")


@dataclass(slots=True)
class Nursery:
    """Makes repositories one after the other. What one came to corrects the guess of how large the next has to be."""

    room: Room
    files: int = 0
    units: int = 0
    bytes: int = 0

    def make(self, name: str, units: int) -> Path:
        """A committed tree of about so many units."""
        root = self.room.folder / "repositories" / name
        root.mkdir(parents=True)
        rate = self.bytes / self.units if self.units else BYTES_PER_UNIT
        made = trees.grow(Made(root, files=self.files), self.room.sources, size=max(1, int(units * rate)))
        self.files = made.files
        self.bytes += made.bytes
        _commit(root)
        return root

    def grown(self, units: int) -> None:
        """How many units the last one has."""
        self.units += units


def _commit(root: Path) -> None:
    git("init", "--quiet", cwd=root)
    paths = sorted(path.relative_to(root).as_posix() for path in root.rglob("part_*/**/*") if path.is_file())
    for start in range(0, len(paths), FILES_OF_A_COMMIT):
        some = paths[start : start + FILES_OF_A_COMMIT]
        git("add", "--", *some, cwd=root)
        git(*_WHO, "commit", "--quiet", "--no-verify", "--message", _message(root, some), cwd=root)


def _message(root: Path, paths: list[str]) -> str:
    """What a commit says: names that its files define."""
    names = [found[1] for path in paths if (found := _DEFINED.search((root / path).read_text(encoding="utf-8", errors="replace")))]
    return f"add {', '.join(names[:6]) or paths[0]}"
