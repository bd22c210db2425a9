"""What the context benchmark prints of answers that are made up for the purpose."""

from __future__ import annotations

from typing import Any

import pytest

from whence_bench.context import tables
from whence_bench.context.run import Answered, Run, Way


def answer(repository: str, value: float, *, strict: float | None = None, cpu_ms: float = 10.0) -> Answered:
    exact = value if strict is None else strict
    return Answered(repository, "easy", f"{repository}-1", value, value, value, value, exact, exact, cpu_ms, ())


def described(name: str, index_cpu: float | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "files": 3, "units": 7, "index_cpu": index_cpu, **more}


def line_of(text: str, start: str) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith(start)).split()


def test_a_bar_is_kept_or_missed_by_the_default_profile():
    kept = tables.as_text(Run({"default": [answer("ash", 0.65)]}, repositories=[described("ash")]))
    missed = tables.as_text(Run({"default": [answer("ash", 0.1)]}, repositories=[described("ash")]))
    for what in ("strict P@10", "R@10", "P@10"):
        assert line_of(kept, what)[-1] == "OK"
        assert line_of(missed, what)[-1] == "MISS"


def test_no_bar_is_shown_for_another_profile_or_for_repositories_that_were_not_asked():
    text = tables.as_text(Run({"classic": [answer("ash", 0.5)]}, repositories=[described("ash")]))
    assert "bars" not in text
    assert tables.COSTLY not in tables.as_text(Run({"default": [answer("ash", 0.5)]}, repositories=[described("ash")]))


def test_large_repositories_have_a_bar_of_their_own():
    answered = [answer("ash", 0.9), *(answer(name, 0.9, strict=strict) for name, strict in zip(tables.LARGE, (0.1, 0.2), strict=True))]
    line = line_of(tables.as_text(Run({"default": answered})), "strict P@10, ")
    assert line[-2:] == ["0.150", "MISS"]


@pytest.mark.parametrize(("ours", "verdict"), [(14.0, "OK"), (16.0, "MISS")])
def test_an_index_is_held_against_both_passes_of_the_peer(ours: float, verdict: str):
    peer = {"index_cpu": 20.0, "resolver_cpu": 10.0, "cpu_ms": [7000.0]}
    text = tables.as_text(Run({"default": [answer(tables.COSTLY, 0.5)]}, repositories=[described(tables.COSTLY, ours, knowing=peer)]))
    assert line_of(text, "index, ")[-2:] == [f"{ours / 30:.3f}", verdict]
    assert text.splitlines()[-1].split() == [tables.COSTLY, "3", "7", f"{ours:.2f}", "20.00", "10.00", f"{ours / 30:.3f}", "7000"]


def test_a_query_that_takes_too_long_misses_its_bar():
    slow = Run({"default": [answer(tables.COSTLY, 0.5, cpu_ms=81.0)]})
    assert line_of(tables.as_text(slow), "query, ")[-1] == "MISS"


def test_costs_that_were_not_measured_are_left_open():
    text = tables.as_text(Run({"classic": [answer("ash", 0.5)]}, repositories=[described("ash", knowing=None)]))
    assert text.splitlines()[-1].split() == ["ash", "3", "7", "-", "-", "-", "-", "-"]


def test_the_stage_that_loses_most_comes_first_with_the_bounds_of_its_loss():
    ways = [Way("default"), Way("default", "noise"), Way("default", "walk")]
    answered = {
        "default": [answer("ash", 0.5), answer("elm", 0.7)],
        "default without noise": [answer("ash", 0.5), answer("elm", 0.7)],
        "default without walk": [answer("ash", 0.4), answer("elm", 0.4)],
    }
    walk, noise = tables.worths(Run(answered), ways)["strict_precision"]
    assert (walk.part, noise.part) == ("walk", "noise")
    assert walk.loss == pytest.approx(0.2)
    assert walk.low >= 0.1 - 1e-9
    assert walk.low < walk.high <= 0.3 + 1e-9
    assert (noise.loss, noise.low, noise.high) == (0.0, 0.0, 0.0)
    assert line_of(tables.ablated_text(Run(answered), ways), "walk")[:2] == ["walk", "+0.2000"]
