"""What `context` gives back: ranked symbols, and a text of the best of them within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from whence.context import RankedSymbols
from whence.pack.budget import Head, Packed, Piece, pack
from whence.pack.render import renderer
from whence.rank.ledger import Line
from whence.types import Parsed, Unit


class Source(Protocol):
    """Where a pack reads what it shows."""

    def read_text(self, path: str) -> str | None:
        """The text of a file."""

    def parsed(self, path: str) -> Parsed | None:
        """What a file holds."""


class Symbol:
    """One symbol of an answer: what it is, where it is, its score and why."""

    def __init__(self, ranked: RankedSymbols, row: int) -> None:
        self._ranked, self._row = ranked, row
        pool = ranked.pool
        snapshot, unit = pool.snapshot, int(pool.units[row])
        self.qualified_name = snapshot.symbols.written_name(unit)
        self.key = snapshot.symbols.key(unit)
        self.path = snapshot.path(int(snapshot.file_of_unit[unit]))
        self.start_line = int(snapshot.column("units.first")[unit])
        self.end_line = int(snapshot.column("units.last")[unit])
        self.kind = snapshot.kind(unit)
        self.score = float(ranked.scores[row])
        self.walk = float(pool.walked[row]) if pool.walked is not None else 0.0

    @cached_property
    def why(self) -> list[Line]:
        """The ledger whose sum is the score."""
        return self._ranked.ledger.lines(self._row)

    @property
    def found_by(self) -> list[str]:
        """The retrievers that found it."""
        return [name for name, raw in self._ranked.pool.retrieved.items() if np.isfinite(raw[self._row])]

    def __repr__(self) -> str:
        return f"<Symbol {self.qualified_name} {self.path}:{self.start_line} {self.score:.3f}>"


class Pack:
    """The answer to a task. The text is made when it is first asked for."""

    def __init__(
        self,
        source: Source,
        ranked: RankedSymbols,
        head: Head,
        *,
        budget: int,
        form: str,
        most: int,
        shown: Callable[[list[str]], None],
        shown_path: Callable[[str], str],
    ) -> None:
        self._source, self._ranked, self._head, self._form, self._most, self._shown = source, ranked, head, form, most, shown
        self._shown_path = shown_path
        self.task, self.budget = head.task, budget

    @cached_property
    def symbols(self) -> list[Symbol]:
        """All symbols, best first, before the budget cuts."""
        return [Symbol(self._ranked, row) for row in self._ranked.order]

    @cached_property
    def packed(self) -> Packed:
        """The text with what is in it and what is not."""
        chosen = [Symbol(self._ranked, row) for row in self._ranked.order[: self._most]]
        pieces = pieces_of(self._source, chosen, self._shown_path)
        beyond, graph = len(self._ranked.order) - len(chosen), self._ranked.pool.graph
        phantoms = len(graph.outside) / max(graph.nodes, 1) if graph is not None else 0.0
        packed = pack(pieces, self.budget, renderer(self._form), head=self._head, phantom_share=phantoms, beyond=beyond)
        self._shown([piece.key for piece in (*(one.piece for one in packed.shown), *packed.inside)])
        return packed

    @property
    def text(self) -> str:
        """The pack as it is printed, no more than `budget` tokens of it."""
        return self.packed.text

    @property
    def tokens(self) -> int:
        """The tokens of the text."""
        return self.packed.tokens

    @property
    def left_out(self) -> list[str]:
        """The keys of ranked symbols that did not fit."""
        within = {piece.key for piece in (*(one.piece for one in self.packed.shown), *self.packed.inside)}
        return [one.key for one in self.symbols if one.key not in within]


def pieces_of(source: Source, symbols: Sequence[Symbol], shown_path: Callable[[str], str] = str) -> list[Piece]:
    """Symbols with their signatures, comments and source, each file read once; paths as `shown_path` writes them."""
    texts: dict[str, list[str]] = {}
    units: dict[str, dict[tuple[int, str], Unit]] = {}
    for path in dict.fromkeys(symbol.path for symbol in symbols):
        texts[path] = (source.read_text(path) or "").split("\n")
        parsed = source.parsed(path)
        units[path] = {(unit.first_line, unit.name): unit for unit in parsed.units} if parsed else {}
    found = []
    for one in symbols:
        unit = units[one.path].get((one.start_line, one.key.rpartition("#")[2].rpartition(".")[2]))
        found.append(
            Piece(
                one.key,
                one.qualified_name,
                one.kind,
                shown_path(one.path),
                one.start_line,
                one.end_line,
                one.score,
                one.walk,
                unit.signature if unit else "",
                _first_sentences(unit.doc) if unit else "",
                "\n".join(texts[one.path][one.start_line - 1 : one.end_line]),
                ", ".join(one.found_by),
            )
        )
    return found


def _first_sentences(doc: str) -> str:
    """The beginning of a comment, up to its first empty line."""
    return " ".join(doc.split("\n\n", 1)[0].split())
