"""The bench of hostile trees: nothing is wrong on any of them, and it says so when something is."""

from __future__ import annotations

from pathlib import Path

from whence_bench.faults import trees
from whence_bench.faults.part import Bounds
from whence_bench.faults.trees_ground import Ground


def test_no_hostile_tree_is_read_beyond_its_root_hangs_or_takes_the_program_down(tmp_path: Path) -> None:
    part = trees.run(Bounds(tmp_path, 60.0, 1, small=True, tell=lambda _: None))
    assert part.wrong == ()
    assert "not_reached" not in part.facts
    assert part.facts["trees"] == len(trees.CASES)
    assert part.tried > 200


def test_what_goes_wrong_is_reported(tmp_path: Path) -> None:
    """A file of the tree that holds what must not be shown, a command that is given no time, and an answer that is missing."""
    ground = Ground("own fault", tmp_path / "tree", 1, small=True)
    ground.write("plan.py", f"def plan(): return '{ground.secret}'\n")
    ground.run("search", "plan")
    ground.check_nothing_leaked()
    ground.run("search", "plan", seconds=0.01)
    ground.check(False, "nothing is found")
    said = "\n".join(ground.wrong)
    assert "whence search plan showed what is outside the root" in said
    assert ".segment holds what is outside the root" in said
    assert "whence search plan did not end within 0 s" in said
    assert "own fault (seed 1): nothing is found" in said
