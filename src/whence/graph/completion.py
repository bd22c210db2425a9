"""Symbols for a name that is not written to its end, and those that most depends on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from whence.graph.symbols_named import Named
from whence.index.arrayfile import Array
from whence.index.graph import Graph

MOST = 20


class Completion:
    """Completes names in one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._symbols = graph, graph.symbols

    def symbols(self, text: str, most: int = MOST) -> list[tuple[Named, int]]:
        """Symbols whose names are a text, begin with it or hold it, in this order and then the most used; each with its uses.

        Points stand between the parts of a name: `Cart.to` finds `Cart.total`. No text at all finds the most used.
        """
        path, _, name = text.strip().casefold().rpartition("#")
        around, _, last = name.rpartition(".")
        units = self._bearing(last)
        if around or path:
            units = np.array([unit for unit in units.tolist() if self._is_in(unit, around, path)], np.int64)
        fits = np.array([_fit(self._folded[unit], last) for unit in units.tolist()], np.int64)
        order = units[np.lexsort((units, -self._graph.referrers[units], fits))]
        return self._first(order.tolist(), most)

    @cached_property
    def _folded(self) -> dict[int, str]:
        """The name of every live definition outside tests, without regard to case."""
        symbols = self._symbols
        every = [name for segment in symbols.snapshot.segments for name in segment.unit_names.all()]
        return {row: every[row].casefold() for row in np.flatnonzero(symbols.defines & ~symbols.test[symbols.file]).tolist()}

    def _bearing(self, last: str) -> Array:
        """The definitions whose name holds a text."""
        found: Iterable[int] = self._folded if not last else (unit for unit, name in self._folded.items() if last in name)
        return np.fromiter(found, np.int64)

    def _is_in(self, unit: int, around: str, path: str) -> bool:
        own = self._symbols.key(unit).casefold()
        file, _, name = own.rpartition("#")
        return file.endswith(path) and f".{name}".rpartition(".")[0].endswith(f".{around}" if around else "")

    def _first(self, units: list[int], most: int) -> list[tuple[Named, int]]:
        """The first symbols of some definitions, in their order."""
        found: dict[str, tuple[Named, int]] = {}
        for unit in units:
            key = self._symbols.key(unit)
            if key not in found:
                found[key] = self._named(unit, key), round(float(self._graph.referrers[unit]))
            if len(found) == most:
                break
        return list(found.values())

    def _named(self, unit: int, key: str) -> Named:
        symbols, snapshot = self._symbols, self._symbols.snapshot
        path, line = snapshot.path(int(symbols.file[unit])), int(snapshot.column("units.first")[unit])
        return Named(key, symbols.written_name(unit), snapshot.kind(unit), path, line, (unit,))


def _fit(name: str, text: str) -> int:
    """How well a name fits: it is the text, begins with it, or holds it."""
    return 0 if name == text or not text else 1 if name.startswith(text) else 2
