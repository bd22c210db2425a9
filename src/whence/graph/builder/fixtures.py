"""Fixtures of pytest: a test calls what its parameters name (W5)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from whence.graph.builder.resolve import EdgeColumns, ReferenceColumns
from whence.graph.reader import KIND_ROWS, PARSED_CONFIDENCE
from whence.index.segment import name_hash
from whence.index.symbols import SymbolTable

_DEFINITION = re.compile(r"\bdef\s+\w+\s*\(([^)]*)\)", re.ASCII)
_PARAMETER = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*)", re.ASCII)
#: A fixture in a file of this name serves its folder and those below; in any other, its file.
_SHARED = "conftest.py"
#: Lines of decorators and parameters that are read.
_LONGEST_SIGNATURE = 40


def fixture_calls(symbols: SymbolTable, references: ReferenceColumns, read_text: Callable[[str], str | None]) -> EdgeColumns:
    """An edge from each test and fixture to the fixtures it asks for, the nearest of each name."""
    decorated = (references.kind == KIND_ROWS["decorates"]) & (references.name == name_hash("fixture"))
    fixtures: dict[str, list[int]] = defaultdict(list)
    for unit in np.unique(references.unit[decorated]).tolist():
        fixtures[symbols.snapshot.unit_name(unit)].append(unit)
    edges = list(_edges(symbols, fixtures, read_text)) if fixtures else []
    source, target, line = np.array(edges, np.int64).reshape(-1, 3).T
    calls, confidence = np.full(len(edges), KIND_ROWS["calls"], np.int64), np.full(len(edges), PARSED_CONFIDENCE, np.float32)
    return EdgeColumns(source, target, calls, confidence, line)


def _edges(symbols: SymbolTable, fixtures: dict[str, list[int]], read_text: Callable[[str], str | None]) -> Iterator[tuple[int, int, int]]:
    snapshot = symbols.snapshot
    first, starts = snapshot.column("units.first"), snapshot.unit_starts
    places = {unit: snapshot.path(int(symbols.file[unit])) for units in fixtures.values() for unit in units}
    for file in np.flatnonzero(symbols.test & snapshot.alive).tolist():
        path = snapshot.path(file)
        text = read_text(path) if path.endswith(".py") else None
        lines = text.splitlines(keepends=True) if text else []
        for unit in range(int(starts[file]), int(starts[file + 1])):
            if not symbols.defines[unit] or not lines:
                continue
            at = int(first[unit]) - 1
            head = "".join(lines[at : at + _LONGEST_SIGNATURE])
            found = _DEFINITION.search(head)
            for name in _PARAMETER.findall(found[1]) if found else ():
                target = _nearest(path, unit, fixtures.get(name, ()), places)
                if found and target is not None:
                    yield unit, target, at + 1 + head.count("\n", 0, found.start())


def _nearest(path: str, unit: int, candidates: list[int] | tuple[int, ...], places: dict[int, str]) -> int | None:
    """The fixture of a name that pytest would take: of the file itself, or of the nearest conftest.py above."""
    best, depth = None, -1
    for one in candidates:
        folder, _, name = places[one].rpartition("/")
        if one == unit:
            continue
        if places[one] == path:
            return one
        if name == _SHARED and (not folder or path.startswith(f"{folder}/")) and len(folder) > depth:
            best, depth = one, len(folder)
    return best
