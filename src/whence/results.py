"""What a search gives back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from whence.answer import Found
from whence.confidence import Confidence
from whence.facets import Facets, facets_of
from whence.knobs import Settings
from whence.pack.excerpt import ShownLine, choose_lines, shown_line
from whence.pack.provenance import flags_of, sort_of
from whence.rank.collapse import candidates_of
from whence.rank.ledger import Line
from whence.source.instructions import Instruction
from whence.types import Unit


class Source(Protocol):
    """Where a result reads what it shows."""

    settings: Settings

    def read_text(self, path: str) -> str | None:
        """The text of a file."""

    def units_at(self, path: str, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """The units of a file that begin at some lines under some names."""


class Result:
    """One file of an answer: its best unit, its span, its score and why.

    `start_line` and `end_line` span all units of the file that matched (R5);
    `best_start` and `best_end` the best of them, which gives name and kind.
    """

    def __init__(self, source: Source, found: Found) -> None:
        self._source, self._found = source, found
        pool, hit = found.ranked.pool, found.hit
        snapshot, best = pool.snapshot, int(pool.units[hit.row])
        first, last = snapshot.column("units.first"), snapshot.column("units.last")
        spoken = pool.retrieved.get("words", np.full(len(pool.units), np.nan))
        others = [] if found.alone else candidates_of(pool, hit)
        rows = [best, *(int(pool.units[row]) for row in others if np.isfinite(spoken[row]))]
        self.path = snapshot.path(hit.file)
        self.start_line = int(min(first[row] for row in rows))
        self.end_line = int(max(last[row] for row in rows))
        self.best_start, self.best_end = int(first[best]), int(last[best])
        self.name = snapshot.unit_name(best)
        self.kind = snapshot.kind(best)
        self.language = snapshot.languages[hit.file]
        self.score = hit.score
        self.matched = found.matched  # the words that had to match, when not all of them did (Q4)
        self.units_matched = len(rows) - 1 if len(rows) > 1 else 1
        self.matching_lines = found.lines  # all lines that match the pattern, when one was given

    @cached_property
    def why(self) -> list[Line]:
        """The ledger whose sum is the score."""
        return self._found.ranked.ledger.lines(self._found.hit.row)

    @property
    def parts(self) -> list[tuple[str, str, float]]:
        """The lines of the ledger that change the score, without their reasons: signal, operation, contribution."""
        ledger, row = self._found.ranked.ledger, self._found.hit.row
        every = ((one.signal, one.operation, float(one.contribution[row])) for one in ledger.entries)
        return [(name, operation.value, value) for name, operation, value in every if operation.tells(value)]

    @cached_property
    def lines(self) -> list[ShownLine]:
        """The lines that matter: those that match the pattern, or hold most of the query."""
        text = self._source.read_text(self.path)
        if text is None:
            return []
        every = text.split("\n")
        terms = self._found.ranked.pool.evidence.terms
        weights = {found.term.text: found.term.weight * found.unit_rarity for found in terms}
        if self.matching_lines:
            return [shown_line(number, every[number - 1], weights, whole=True) for number in self.matching_lines if number <= len(every)]
        return choose_lines(every, self.best_start, self.best_end, weights, self._source.settings.search.lines)

    @cached_property
    def qualified_name(self) -> str:
        """The unit's name with the names around it."""
        if not self.name:
            return ""
        wanted = (self.best_start, self.name)
        found = self._source.units_at(self.path, [wanted]).get(wanted)
        return found.qualified_name if found is not None else self.name

    @cached_property
    def flags(self) -> list[Instruction]:
        """What reads like an instruction in the lines that are shown, in the path or in the name (Z11). No rank depends on it."""
        return flags_of(((line.number, line.text) for line in self.lines), (self.path, self.qualified_name))

    @property
    def sort(self) -> str:
        """What the file is to a reader: code, docs, config, a test, an example, vendored or generated."""
        return sort_of(self.path)

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the shown lines come from."""
        lines = [self.best_start, self.best_end]
        return {"sort": self.sort, "path": self.path, "lines": lines, "language": self.language}

    def __repr__(self) -> str:
        return f"<Result {self.path}:{self.best_start} {self.kind} {self.name or '-'} {self.score:.3f}>"


class Answer(list[Result]):
    """The results of one search, best first, and what is to be said of them as a whole."""

    def __init__(
        self,
        results: Iterable[Result] = (),
        *,
        confidence: Confidence | None = None,
        notes: tuple[str, ...] = (),
        found: Sequence[Found] = (),
    ) -> None:
        super().__init__(results)
        self._found = found
        self.confidence = confidence  # None where nothing was asked in words, as for a pattern alone
        self.notes = notes  # how the query was read, where that is not plain to see

    @cached_property
    def facets(self) -> Facets:
        """What was found by language, kind and folder, also beyond the results that are given."""
        return facets_of(self._found)
