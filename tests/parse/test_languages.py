"""Each language has a sample file and the units a person expects of it, as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Golden
from whence.core.types import ParsedFile, Unit
from whence.parse.languages import LANGUAGES, language_of
from whence.parse.units import parse

FIXTURES = Path(__file__).parent / "fixtures"
KIN = ("extends", "implements", "decorates", "throws")
SAMPLES = sorted(path for path in FIXTURES.glob("*/sample.*") if path.suffix != ".units")


def render(parsed: ParsedFile) -> str:
    """Units as lines: span, kind and name, then what is known of each."""
    lines = [line for row, unit in enumerate(parsed.units) for line in [*_unit_lines(unit), *_kin_lines(parsed, row)]]
    return "\n".join([*lines, *(f"import  {text}" for text in parsed.imports)]) + "\n"


def _unit_lines(unit: Unit) -> list[str]:
    lines = [f"{unit.first_line:>3}-{unit.last_line:<3} {unit.kind:<9} {unit.qualified_name}".rstrip()]
    if unit.signature:
        lines.append(f"          | {unit.signature}")
    if unit.doc:
        lines.append(f"          doc: {unit.doc.splitlines()[0]}")
    if unit.parameters:
        lines.append(f"          parameters: {'; '.join(unit.parameters)}")
    if unit.calls:
        lines.append(f"          calls: {' '.join(unit.calls)}")
    return lines


def _kin_lines(parsed: ParsedFile, row: int) -> list[str]:
    """What a unit is by others: parents, decorators and what it throws; the rest of its relations has samples of its own."""
    kin: dict[str, list[str]] = {}
    for one in parsed.references:
        if one.unit == row and one.kind in KIN:
            kin.setdefault(one.kind, []).append(one.name)
    return [f"          {kind}: {' '.join(names)}" for kind, names in kin.items()]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.parent.name)
def test_a_sample_gives_the_units_a_person_expects(sample: Path, golden: Golden) -> None:
    source = sample.read_bytes()
    language = language_of(sample.name, source)
    assert language.name == sample.parent.name
    golden(sample.parent / "expected.units", render(parse(source, language.name)))


def test_every_language_with_a_grammar_has_a_sample() -> None:
    with_grammar = {language.name for language in LANGUAGES if language.grammar}
    assert with_grammar == {path.parent.name for path in SAMPLES}
