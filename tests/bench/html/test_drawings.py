"""Where things stand in a drawing, how numbers are written, and whether colours can be read."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_cases import each
from whence_bench.html.drawing import Drawing, beside, shortened
from whence_bench.html.plots import Extras, Mark, Point, Row, Side, dots, lines, spreads
from whence_bench.html.scales import form_of, scale_over, written
from whence_bench.html.style import COLOURS, SERIES

DOCS = Path(__file__).parents[3] / "docs"
NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-5, 5).map(float)
SIDE = 380


def tree(drawing: Drawing) -> ET.Element:
    """A drawing, read by a parser that forgives nothing."""
    return ET.fromstring(drawing.svg())


def circles(drawing: Drawing) -> list[tuple[float, float]]:
    return [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in tree(drawing).iter("circle")]


def axis(drawing: Drawing) -> list[str]:
    return [one.text or "" for one in tree(drawing).iter("text") if one.get("text-anchor") == "middle"]


# Scales.
def test_an_axis_goes_from_a_round_number_to_a_round_number():
    scale = scale_over([0.13, 0.87], 0, 100)
    assert (scale.low, scale.high) == (0.0, 1.0)
    assert [scale.wording(mark) for mark in scale.marks] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]


def test_what_is_beyond_an_end_is_drawn_there():
    scale = scale_over([], 10, 20, reach=(0.0, 1.0))
    assert [scale.at(value) for value in (-5, 0, 0.5, 1, 7)] == [10, 10, 15, 20, 20]


def test_values_over_many_powers_of_ten_are_told_apart():
    drawing = dots("t", "ms", [Row(str(number), (Mark(10.0**number),)) for number in range(5)])
    places = [x for x, _ in circles(drawing)]
    steps = [later - earlier for earlier, later in pairwise(places)]
    assert max(steps) - min(steps) < 0.3
    assert axis(drawing) == ["1", "10", "100", "1000", "10k"]


def test_one_value_and_equal_values_have_an_axis():
    assert axis(dots("t", "", [Row("a", (Mark(5.0),)), Row("b", (Mark(5.0),))])) == ["4.4", "4.6", "4.8", "5.0", "5.2", "5.4", "5.6"]
    assert axis(dots("t", "", [Row("a", (Mark(0.0),))]))[0] == "0.0"


@given(st.lists(NUMBERS, max_size=12), st.booleans())
def test_all_values_have_a_place_between_the_ends(values: list[float], powers: bool):
    scale = scale_over(values, 10, 200, powers=powers)
    assert scale.low < scale.high
    assert 1 <= len(scale.marks) <= 700
    for value in filter(math.isfinite, values):
        assert 10 <= scale.at(value) <= 200
    places = [scale.at(mark) for mark in scale.marks]
    assert places == sorted(places)


# Drawings.
@given(st.lists(st.tuples(NUMBERS, NUMBERS | st.none(), NUMBERS | st.none(), NUMBERS | st.none()), max_size=6), st.booleans())
def test_whatever_the_values_are_all_marks_are_inside_the_drawing(values: list[tuple[float, ...]], bars: bool):
    drawing = dots("t", "u", [Row(f"<{number}>", (Mark(*one),)) for number, one in enumerate(values)], bars=bars)
    shown = tree(drawing)
    for one in shown.iter():
        for name in ("x", "x1", "x2", "cx", "y", "y1", "y2", "cy"):
            assert 0 <= float(one.get(name, "0")) <= max(SIDE, drawing.height)


@given(st.lists(st.lists(NUMBERS, max_size=80), max_size=3))
def test_every_value_of_a_distribution_that_is_a_number_is_counted(series: list[list[float]]):
    drawing = spreads("t", "u", [(f"s{number}", of) for number, of in enumerate(series)])
    tree(drawing)
    assert ("median" in drawing.describes) == any(abs(value) < 1e100 for of in series for value in of)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=8))
def test_whatever_the_points_are_a_line_can_be_drawn(points: list[tuple[float, float]]):
    extras = Extras(diagonal=True, area=(0, 0, 1, 1), ring=Point(*points[0]) if points else None)
    drawing = lines("t", Side("x"), Side("y"), [("one", [Point(x, y) for x, y in points])], extras=extras)
    tree(drawing)
    assert "nan" not in "".join(drawing.parts)


def test_whiskers_reach_from_bound_to_bound_and_a_broken_line_stands_at_the_bar():
    shown = tree(dots("t", "", [Row("a", (Mark(0.5, 0.25, 0.75, 1.0),)), Row("b", (Mark(0.0),))]))
    whisker = next(one for one in shown.iter("line") if one.get("class") == "k0")
    goal = next(one for one in shown.iter("line") if one.get("class") == "goal")
    places = sorted((float(one.attrib["cx"]) for one in shown.iter("circle")), reverse=True)
    low, high = float(whisker.attrib["x1"]), float(whisker.attrib["x2"])
    assert (low + high) / 2 == pytest.approx(places[0], abs=0.1)
    assert float(goal.attrib["x1"]) == pytest.approx(places[1] + 2 * (places[0] - places[1]), abs=0.2)


def test_bars_go_from_zero_to_the_left_and_to_the_right():
    shown = tree(dots("t", "", [Row("gain", (Mark(-0.5),)), Row("loss", (Mark(1.0),))], bars=True))
    gain, loss = shown.iter("rect")
    assert float(gain.attrib["x"]) + float(gain.attrib["width"]) == pytest.approx(float(loss.attrib["x"]), abs=0.2)
    assert float(loss.attrib["width"]) == pytest.approx(2 * float(gain.attrib["width"]), abs=0.3)


def test_every_series_has_a_shape_and_a_colour_of_its_own():
    names = [f"series {number}" for number in range(len(SERIES))]
    shown = tree(dots("t", "", [Row("a", tuple(Mark(float(number)) for number in range(len(SERIES))))], names))
    marks = [one for one in shown.iter() if re.fullmatch(r"f\d", one.get("class", ""))]
    assert {one.get("class") for one in marks} == {f"f{number}" for number in range(len(SERIES))}
    assert [one.text for one in shown.iter("text")][: len(names)] == names


def test_what_is_drawn_is_said_too():
    drawing = spreads("CPU", "ms", [("ours", [1.0, 2.0, 3.0]), ("none", [])])
    assert drawing.describes == "ours: median 2.0000, 95 % at most 3.00 ms."
    assert dots("t", "u", []).describes == "Nothing was measured."


def test_a_long_name_keeps_its_beginning_and_its_end():
    assert shortened("a" * 40 + "/the_end.py", 20) == "aaaaaa…aa/the_end.py"
    assert len(shortened("x" * 99, 20)) == 20


def test_drawings_side_by_side_are_a_file_of_their_own():
    one = dots("one", "u", [Row("a", (Mark(1.0),))])
    shown = ET.fromstring(beside("both", [one, one]))
    assert shown.attrib["viewBox"] == f"0 0 {2 * SIDE} {one.height:.0f}"
    assert shown.find("{http://www.w3.org/2000/svg}title").text == "both"  # type: ignore[union-attr]


# Numbers in words.
@each(
    ("value", "said"),
    [
        (None, "-"),
        ("", "-"),
        (12345, "12,345"),
        (0.12345, "0.1235"),
        (12.345, "12.35"),
        (1234.5, "1,234"),
        (math.nan, "nan"),
        (True, "True"),
    ],
)
def test_numbers_are_written_with_the_decimals_they_need(value: object, said: str):
    assert written(value) == said


def test_figures_that_stand_together_are_written_alike():
    assert form_of([0.5, 0.25]) == ".4f"
    assert form_of([150.0, 900.0]) == ".1f"
    assert form_of([math.nan]) == form_of([])


# Colours.
def brightness(colour: str) -> float:
    """Relative luminance, as WCAG 2 has it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((brightness(one), brightness(other)))
    return (light + 0.05) / (dark + 0.05)


@each("side", [0, 1])
@each("name", ["ink", "dim", "accent", "good", "bad"])
def test_text_meets_aa_on_its_ground(name: str, side: int):
    assert contrast(COLOURS[name][side], COLOURS["ground"][side]) >= 4.5


@each("side", [0, 1])
@each("number", range(len(SERIES)))
def test_marks_are_seen_on_their_ground(number: int, side: int):
    assert contrast(SERIES[number][side], COLOURS["ground"][side]) >= 3


# The drawing in the documentation.
def test_the_drawing_of_confidence_shows_the_tables_beside_it():
    text = (DOCS / "confidence.md").read_text(encoding="utf-8").partition("## The questions of the search benchmark")[2]
    table = re.findall(r"^\| 0\.\d to [01]\.\d \| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", text.partition("\n## ")[0], re.MULTILINE)
    promises, price = ET.parse(DOCS / "images/confidence.svg").getroot().findall("{http://www.w3.org/2000/svg}g")
    assert price is not None
    shown = promises.findall("{http://www.w3.org/2000/svg}circle")
    assert [one[0].text for one in shown] == [f"{questions} questions" for questions, _, _ in table]
    ends = [Point(0.0, 0.0), Point(1.0, 1.0)]
    low, high = circles(lines("t", Side("x", (0.0, 1.0)), Side("y", (0.0, 1.0)), [("", ends)]))
    for one, (_, promised, kept) in zip(shown, table, strict=True):
        assert float(one.attrib["cx"]) == pytest.approx(low[0] + float(promised) * (high[0] - low[0]), abs=0.5)
        assert float(one.attrib["cy"]) == pytest.approx(low[1] + float(kept) * (high[1] - low[1]), abs=0.5)
