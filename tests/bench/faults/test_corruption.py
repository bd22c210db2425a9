"""The part that damages files: some of everything goes well, and what does not go well is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whence.context.feedback import verdicts
from whence.context.feedback.store import FILE_NAME as LEARNED
from whence.context.feedback.store import FeedbackStore
from whence.memory import index as note_index
from whence_bench.faults import corruption
from whence_bench.faults.corruption import DETECTED, HARMLESS, REFUSED, Undetected, tried
from whence_bench.faults.corruption_apart import apart
from whence_bench.faults.corruption_cases import Case, cases
from whence_bench.faults.part import Bounds


@pytest.fixture(autouse=True)
def few_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the part sets for its own process is taken back here."""
    monkeypatch.setattr(note_index, "MAX_TAIL", note_index.MAX_TAIL)


def test_some_of_everything_is_noticed_and_nothing_is_lost(tmp_path: Path) -> None:
    told: list[str] = []
    part = corruption.run(Bounds(tmp_path, 40.0, 1, small=True, tell=told.append))
    assert part.wrong == ()
    assert part.facts["not reached"] == 0
    assert part.tried >= 30
    assert part.facts[DETECTED] > 5
    assert {REFUSED, HARMLESS} <= part.facts.keys()


def test_every_kind_of_file_is_damaged_in_every_way_and_what_nobody_notices_is_told(tmp_path: Path) -> None:
    """A verdict that is taken back, a note that is gone, a process that hangs or dies."""
    ground = corruption.healthy_ground(tmp_path / "ground")
    every = list(cases(ground, 1))
    assert len({one.name for one in every}) == len(every) >= 200
    assert {one.kind for one in every} >= {
        ".segment",
        ".vectors",
        ".shared",
        ".history",
        ".graph",
        ".arrays",
        "truth.db",
        LEARNED,
        "notes.db",
    }

    def noticed(kind: str, damage: object) -> str:
        with pytest.raises(Undetected) as raised:
            tried(Case(f"{kind}: on purpose", kind, unseen=False, apply=damage), ground, tmp_path / "case")  # type: ignore[arg-type]
        return str(raised.value)

    def forget(path: Path) -> None:
        verdicts.forget(FeedbackStore(path), ["src/part_1.py#stop_ledger"])

    assert "without a word, other" in noticed(LEARNED, forget)
    lost = next(ground.notes.rglob("*.md"))
    raw = lost.read_bytes()
    assert "notes.listed" in noticed("notes.db", lambda _path: lost.unlink())
    lost.write_bytes(raw)
    assert apart(lambda: os.kill(os.getpid(), 9), tmp_path / "result") == "killed by SIGKILL"
    assert str(apart(lambda: 1 / 0, tmp_path / "result")).startswith("raised ZeroDivisionError")
    assert apart(lambda: os.read(os.pipe()[0], 1), tmp_path / "result", seconds=1) == "hung for 1 s"
