"""Single units are read out of what was parsed as they would be out of the whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whence.core.types import ParsedFile, Unit
from whence.index.segment import find_units, pack_parsed, unpack_parsed

names = st.text(min_size=1, max_size=12)


@given(st.lists(st.tuples(names, st.integers(1, 40), st.lists(names, max_size=2), names, st.lists(names, max_size=3)), max_size=8))
def test_a_unit_found_alone_is_the_one_found_among_all(drawn):
    units = tuple(
        Unit("method", name, ".".join((*parents, name)), first, first + 1, 0, 9, tuple(parents), signature, signature, tuple(parameters))
        for name, first, parents, signature, parameters in drawn
    )
    blob = pack_parsed(ParsedFile("python", units))
    whole = {(unit.first_line, unit.name): unit for unit in unpack_parsed(blob).units}
    assert find_units(blob, list(whole)) == whole


def test_what_is_not_there_is_not_found():
    unit = Unit("function", 'a","b', 'a","b', 3, 4, 0, 9, (), 'def a(x="[1,\\"b\\",3,")', "")
    blob = pack_parsed(ParsedFile("python", (unit,)))
    assert find_units(blob, [(3, "b"), (4, 'a","b'), (3, "")]) == {}
