"""From values to places in a drawing, and from numbers to words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whence_bench.report import NOTHING

#: Steps between the marks of an axis, times a power of ten.
_STEPS = (1, 2, 2.5, 5, 10)
#: Of values that spread wider than this, the powers of ten are marked.
WIDE = 50.0
#: Marks of this size are written in thousands or millions.
MANY = 1e4
#: What is beyond this has no place in a drawing; steps between such values could not be counted.
LARGEST = 1e100
#: Values that differ by a smaller share of themselves are drawn as the same.
ALIKE = 1e-9


@dataclass(frozen=True, slots=True)
class Scale:
    """Values along a line of a drawing: from which to which value, from which to which place."""

    low: float
    high: float
    start: float
    end: float
    marks: tuple[float, ...]
    powers: bool = False

    def at(self, value: float) -> float:
        """The place of a value; one that lies beyond an end is drawn there."""
        low, high, given = (math.log10(max(one, 1e-12)) if self.powers else one for one in (self.low, self.high, value))
        share = min(max((given - low) / (high - low), 0.0), 1.0) if high > low else 0.0
        return self.start + share * (self.end - self.start)

    def wording(self, mark: float) -> str:
        """A mark in words: all marks with as many decimals as their step needs."""
        if abs(mark) >= MANY:
            return f"{mark / 1e6:g}M" if abs(mark) >= 1e6 else f"{mark / 1e3:g}k"
        if self.powers or len(self.marks) < 2:
            return f"{mark:g}"
        step = self.marks[1] - self.marks[0]
        decimals = next((places for places in range(6) if math.isclose(step * 10**places, round(step * 10**places), abs_tol=1e-6)), 6)
        return f"{mark:,.{decimals}f}"


def drawable(value: float) -> bool:
    """Whether a value has a place in a drawing: what is infinite or no number has none."""
    return abs(value) < LARGEST


def scale_over(
    values: Iterable[float], start: float, end: float, *, reach: tuple[float, float] | None = None, count: int = 5, powers: bool = False
) -> Scale:
    """A scale that holds all values, or `reach`, from a round number to a round number."""
    found = [value for value in values if drawable(value)]
    low, high = reach or (min(found, default=0.0), max(found, default=1.0))
    if powers and low > 0:
        least = math.floor(math.log10(low))
        most = max(math.ceil(math.log10(high)), least + 1)
        return Scale(10.0**least, 10.0**most, start, end, tuple(10.0**power for power in range(least, most + 1)), powers=True)
    if high - low <= ALIKE * max(abs(low), abs(high), ALIKE):
        low, high = (low - abs(low) * 0.1, high + abs(high) * 0.1) if abs(high) > ALIKE else (0.0, 1.0)
    step = _step((high - low) / count)
    first, last = (low, high) if reach else (math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step)
    begin = math.ceil(first / step - 1e-9)
    return Scale(first, last, start, end, tuple(number * step for number in range(begin, math.floor(last / step + 1e-9) + 1)))


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in _STEPS if step * power >= rough * 0.999)


def spread_wide(values: Sequence[float]) -> bool:
    """Whether values are better told apart by powers of ten."""
    found = [value for value in values if drawable(value)]
    return bool(found) and min(found) > 0 and max(found) / min(found) > WIDE


def form_of(values: Iterable[float]) -> str:
    """How figures that stand together are written: with as many decimals as it takes to tell them apart, all alike."""
    sizes = [abs(value) for value in values if math.isfinite(value)]
    least, most = min((size for size in sizes if size), default=0.0), max(sizes, default=0.0)
    if most >= 1000:
        return ",.0f" if least >= 1 else ",.3f"
    return ".1f" if least >= 100 else ".2f" if least >= 1 and most > 2 else ".4f" if most <= 2 else ".3f"


def written(value: object, form: str = "") -> str:
    """A figure for a table."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if form:
        return f"{value:{form}}"
    return f"{value:,}" if isinstance(value, int) else f"{value:{form_of([value])}}"
