"""Operations as they should not be: what a kill leaves of them must be found out."""

from __future__ import annotations

from whence_bench.faults import compared
from whence_bench.faults.scenario import Place, Scenario

_LONG = "All of it is needed. " * 1_000


def _overwrite(place: Place) -> None:
    (place.notes / "a.md").write_text(_LONG + "New.", encoding="utf-8")


def _before(place: Place) -> None:
    place.notes.mkdir()
    (place.notes / "a.md").write_text(_LONG + "Old.", encoding="utf-8")


def _write_and_leave(place: Place) -> None:
    """Written beside and renamed, but what is left of a killed writer is never looked for."""
    place.out.mkdir(exist_ok=True)
    number = len(list(place.out.iterdir()))
    (place.out / f"{number}.part").write_text(_LONG, encoding="utf-8")
    (place.out / f"{number}.part").replace(place.out / "whole.md")


SCENARIOS = (
    Scenario("overwritten in place", _overwrite, lambda place: compared.of_files(place.notes), _before),
    Scenario(
        "left behind",
        _write_and_leave,
        lambda place: {name: text for name, text in compared.of_files(place.out).items() if name.endswith(".md")},
        strays=lambda place: compared.halves(place.out),
    ),
)
