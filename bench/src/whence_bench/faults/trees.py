"""Hostile trees: what is in a tree was written by somebody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from whence_bench.faults import trees_deep, trees_git, trees_moving, trees_names
from whence_bench.faults.part import Bounds, Part
from whence_bench.faults.trees_ground import Clerk, Ground

CASES: Mapping[str, Callable[[Ground], None]] = {
    "links": trees_names.links,
    "names": trees_names.names,
    "rules": trees_deep.rules,
    "repositories": trees_git.repositories,
    "settings": trees_git.settings,
    "grammars": trees_git.grammars,
    "moving files": trees_moving.moving_files,
    "changing branches": trees_moving.changing_branches,
    "nesting": trees_deep.nesting,
    "sizes": trees_deep.sizes,
}


def run(bounds: Bounds) -> Part:
    """Index, search and refresh every kind of hostile tree, and look through all that is said and kept."""
    tried, wrong = 0, []
    missed: list[str] = []
    peak = slowest = 0.0
    clerk = Clerk() if bounds.small else None
    for name, case in CASES.items():
        if bounds.left <= 0:
            missed.append(name)
            continue
        bounds.tell(name)
        ground = Ground(name, bounds.scratch / name.replace(" ", "-"), bounds.seed, bounds.small, clerk)
        try:
            case(ground)
        except Exception as error:  # noqa: BLE001  -- one tree that cannot be tried is one that failed
            ground.check(False, f"{type(error).__name__}: {error}")
        finally:
            ground.close()
        tried, peak, slowest = tried + ground.tried, max(peak, ground.peak), max(slowest, ground.slowest)
        wrong += ground.wrong
    if clerk is not None:
        clerk.close()
    facts = {"trees": len(CASES) - len(missed), "largest_mb": round(peak), "slowest_command_s": round(slowest, 1)}
    return Part("trees", tried, tuple(wrong), facts | ({"not_reached": ", ".join(missed)} if missed else {}))
