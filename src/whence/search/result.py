"""What a search found: results with the lines that hold most of the query, and facets."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.parse.paths import sort_of
from whence.ranking.confidence import Confidence
from whence.ranking.ledger import LedgerLine
from whence.text.excerpt import ShownLine, choose_lines, shown_line
from whence.text.injection import Instruction, flags_of

if TYPE_CHECKING:
    from whence.index.reader import Reader
    from whence.search.pipeline import RankedFile


#: Folders that are told apart, those with most files.
MOST_FOLDERS = 12


@dataclass(frozen=True, slots=True)
class Facets:
    """How many files of an answer's candidates are of each language, kind of best unit, and folder; most first."""

    files: int = 0
    languages: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)


def facets_of(found: Sequence[RankedFile]) -> Facets:
    """Count the files that were ranked for a query, shown or not; of a listing those that are in it."""
    if not found:
        return Facets()
    ranked = found[0].ranked
    snapshot, pool = ranked.pool.snapshot, ranked.pool
    hits = ranked.hits or [one.hit for one in found]
    kinds = (snapshot.kind(int(pool.units[hit.row])) for hit in hits)
    return Facets(
        len(hits),
        _most_first(snapshot.languages[hit.file] for hit in hits),
        _most_first(kind for kind in kinds if kind != "raw"),
        folders_of([snapshot.path(hit.file) for hit in hits]),
    )


def folders_of(paths: Sequence[str]) -> dict[str, int]:
    """The folders right below the deepest one that all paths share, each with how many of them lie in it."""
    above = [path.rpartition("/")[0] for path in paths]
    shared = os.path.commonpath(above) if above and all(above) else ""
    depth = shared.count("/") + 1 if shared else 0
    below = ("/".join(folder.split("/")[: depth + 1]) for folder in above if folder != shared)
    return dict(list(_most_first(below).items())[:MOST_FOLDERS])


def _most_first(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(filter(None, values)).items(), key=lambda pair: (-pair[1], pair[0])))


class SearchResult:
    """One file of an answer: its best unit, its span, its score and why.

    `start_line` and `end_line` span all units of the file that matched (R5);
    `best_start` and `best_end` the best of them, which gives name and kind.
    """

    def __init__(self, source: Reader, found: RankedFile) -> None:
        self._source, self._found = source, found
        pool, hit = found.ranked.pool, found.hit
        snapshot, best = pool.snapshot, found.unit
        first, last = snapshot.column("units.first"), snapshot.column("units.last")
        spoken = pool.retrieved.get("words", np.full(len(pool.units), np.nan))
        others = [] if found.alone else np.flatnonzero(pool.files == hit.file).tolist()
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
    def why(self) -> list[LedgerLine]:
        """The ledger whose sum is the score."""
        return self._found.ranked.ledger.lines(self._found.hit.row)

    @cached_property
    def unit_why(self) -> list[LedgerLine]:
        """Why this unit of the file is shown; empty where there was no choice."""
        choice = self._found.choice
        return choice.ledger.lines(choice.row) if choice is not None else []

    @property
    def parts(self) -> list[tuple[str, str, float]]:
        """The lines of the ledger that change the score, without their reasons: signal, operation, contribution."""
        ledger, row = self._found.ranked.ledger, self._found.hit.row
        every = ((one.signal, one.operation, float(one.contribution[row])) for one in ledger.entries)
        return [(name, operation.value, value) for name, operation, value in every if operation.changes(value)]

    @cached_property
    def text_lines(self) -> list[str]:
        """The lines of the file as it is now, without secrets; none if it is gone."""
        text = self._source.read_text(self.path)
        return [] if text is None else text.replace("\r\n", "\n").split("\n")

    @cached_property
    def cell(self) -> int | None:
        """The cell of a notebook that the best unit is in; None for any other file."""
        if not self.path.endswith(".ipynb"):
            return None
        from whence.source.notebook import cell_at  # noqa: PLC0415  -- only for notebooks

        return cell_at(self.text_lines, self.best_start)

    @property
    def hidden_lines(self) -> int:
        """How many more lines match the pattern than are shown."""
        return len(self.matching_lines) - len(self.lines) if self.matching_lines else 0

    @cached_property
    def lines(self) -> list[ShownLine]:
        """The lines that matter: some that match the pattern, those of the best unit first, or those that hold most of the query."""
        every, count = self.text_lines, self._source.settings.search.lines
        if not every:
            return []
        terms = self._found.ranked.pool.statistics.terms
        weights = {found.term.text: found.term.weight * found.unit_idf for found in terms}
        if self.matching_lines:
            inside = [number for number in self.matching_lines if self.best_start <= number <= self.best_end]
            some = (inside or self.matching_lines)[: self._found.max_count or count]
            shown = self.matching_lines if self._found.shows_all else some
            return [shown_line(number, every[number - 1], weights, whole=True) for number in shown if number <= len(every)]
        exact = self._found.ranked.pool.exact
        leading = exact.lines.get(self._found.unit, ()) if exact is not None else ()
        return choose_lines(every, self.best_start, self.best_end, weights, count, leading)

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


class SearchResponse(list[SearchResult]):
    """The results of one search, best first, and what is to be said of them as a whole."""

    def __init__(
        self,
        results: Iterable[SearchResult] = (),
        *,
        confidence: Confidence | None = None,
        notes: tuple[str, ...] = (),
        found: Sequence[RankedFile] = (),
    ) -> None:
        super().__init__(results)
        self.found = found
        self.confidence = confidence  # None where nothing was asked in words, as for a pattern alone
        self.notes = notes  # how the query was read, where that is not plain to see

    @cached_property
    def facets(self) -> Facets:
        """What was found by language, kind and folder, also beyond the results that are given."""
        return facets_of(self.found)
