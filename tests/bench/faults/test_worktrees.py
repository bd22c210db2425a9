from __future__ import annotations

from pathlib import Path

from whence_bench.faults import worktrees
from whence_bench.faults.part import Bounds


def test_a_second_worktree_reads_nothing_takes_little_room_and_answers_alike(tmp_path: Path) -> None:
    part = worktrees.run(Bounds(tmp_path, 60.0, 1, True, print))
    assert part.wrong == ()
    assert part.facts["adopted"] == part.facts["files"] == worktrees.SMALL_FILES
    assert part.facts["share_of_size"] < 0.1
