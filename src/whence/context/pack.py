"""A context pack: ranked symbols, and a text of the best of them within a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from whence.context.budget import COMMENT, ByDensity, Detail, PackedText, PackHeader, PackItem, ShownItem, pack
from whence.context.pipeline import RankedSymbols
from whence.context.render import Flags, flags_shown, renderer
from whence.context.request import ResolvedContext
from whence.core.types import CONTAINERS
from whence.index.reader import Reader
from whence.index.snapshot import Snapshot
from whence.ranking.confidence import Confidence
from whence.ranking.ledger import LedgerLine
from whence.text.injection import Instruction

#: Members of a type that its outline names, and those whose lines an excerpt of the type may show.
MAX_OUTLINE, MAX_MEMBERS = 6, 60
#: More tokens than any text has.
NO_BUDGET = 10**9


class Symbol:
    """A ranked symbol: its name, its lines, its score and why."""

    def __init__(self, ranked: RankedSymbols, row: int) -> None:
        self._ranked, self._row = ranked, row
        self._snapshot, self._unit = ranked.pool.snapshot, int(ranked.pool.units[row])

    @property
    def unit(self) -> int:
        """Its row in the snapshot."""
        return self._unit

    @cached_property
    def qualified_name(self) -> str:
        """Its name with the names around it, as its language writes them."""
        return self._snapshot.symbols.written_name(self._unit)

    @cached_property
    def path(self) -> str:
        """The file that defines it, relative to the root."""
        return self._snapshot.path(int(self._snapshot.file_of_unit[self._unit]))

    @cached_property
    def key(self) -> str:
        """Its key outside of one snapshot: `path#qualified.name`."""
        return f"{self.path}#{self._snapshot.symbols.qualified_name(self._unit)}"

    @property
    def start_line(self) -> int:
        """The first line, from 1, comments included."""
        return int(self._snapshot.column("units.first")[self._unit])

    @property
    def end_line(self) -> int:
        """The last line."""
        return int(self._snapshot.column("units.last")[self._unit])

    @property
    def kind(self) -> str:
        """Its kind: class, function, ..."""
        return self._snapshot.kind(self._unit)

    @property
    def score(self) -> float:
        """The sum of its ledger."""
        return float(self._ranked.scores[self._row])

    @property
    def walk(self) -> float:
        """How near it is to the best in the graph, 0 to 1."""
        walked = self._ranked.pool.walk_scores
        return float(walked[self._row]) if walked is not None else 0.0

    @cached_property
    def why(self) -> list[LedgerLine]:
        """The ledger whose sum is the score."""
        return self._ranked.ledger.lines(self._row)

    @property
    def found_by(self) -> list[str]:
        """The retrievers that found it."""
        return [name for name, raw in self._ranked.pool.retrieved.items() if math.isfinite(raw[self._row])]

    @property
    def owner(self) -> int:
        """The row of the type it belongs to; -1 for none."""
        return int(self._snapshot.symbols.owner[self._unit])

    def members(self) -> list[tuple[int, int, str]]:
        """The first line, last line and name of each member of a type, in order."""
        return _members(self._snapshot, self._unit)

    def outline(self) -> str:
        """One line on the type it belongs to: its name and those of its members."""
        if self.owner < 0:
            return ""
        names = list(dict.fromkeys(name for _, _, name in _members(self._snapshot, self.owner)))
        more = f", +{len(names) - MAX_OUTLINE}" if len(names) > MAX_OUTLINE else ""
        return (
            f"{self._snapshot.kind(self.owner)} {self._snapshot.symbols.written_name(self.owner)}: {', '.join(names[:MAX_OUTLINE])}{more}"
        )

    def __repr__(self) -> str:
        return f"<Symbol {self.qualified_name} {self.path}:{self.start_line} {self.score:.3f}>"


def _members(snapshot: Snapshot, owner: int) -> list[tuple[int, int, str]]:
    symbols, first, last = snapshot.symbols, snapshot.column("units.first"), snapshot.column("units.last")
    _, units = symbols.type_table.members.pairs(np.array([owner]))
    here = units[(symbols.file[units] == symbols.file[owner]) & (symbols.owner[units] == owner)]
    return sorted((int(first[unit]), int(last[unit]), snapshot.unit_name(int(unit))) for unit in here.tolist())


class ContextPack:
    """The symbols of a task. The text is made when first used."""

    def __init__(
        self,
        source: Reader,
        ranked: RankedSymbols,
        head: PackHeader,
        options: ResolvedContext,
        *,
        confidence: Callable[[], Confidence | None],
        on_shown: Callable[[list[str]], None],
        shown_path: Callable[[str], str],
        review: tuple[Sequence[PackItem], Mapping[str, float]] | None = None,
    ) -> None:
        self._review = review  # the items of a review, and the shares of its sections
        self._source, self._ranked, self._head, self._options = source, ranked, head, options
        self._confidence, self._on_shown, self._shown_path = confidence, on_shown, shown_path
        self._flags: dict[tuple[str, Detail, tuple[int, ...]], list[Instruction]] = {}  # by symbol, detail and lines of an excerpt
        self.task, self.budget = head.task, options.budget

    @cached_property
    def symbols(self) -> list[Symbol]:
        """All symbols, best first, before the budget cuts."""
        return [Symbol(self._ranked, row) for row in self._ranked.order]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show: no symbol, and no change."""
        return not self._ranked.order and (self._review is None or not self._review[0])

    @cached_property
    def confidence(self) -> Confidence | None:
        """The confidence that the task is about this code; None for files and changes."""
        return self._confidence()

    @property
    def remark(self) -> str:
        """What a second look has not read yet; empty where nothing is missing."""
        look = self._ranked.pool.second_look
        return look.remark if look is not None else ""

    @cached_property
    def packed(self) -> PackedText:
        """The text, with the symbols it shows and those it leaves out."""
        packed = self.within(self.budget)
        self._on_shown([piece.key for piece in (*(one.item for one in packed.shown), *packed.inside)])
        return packed

    def within(self, budget: int) -> PackedText:
        """The same symbols within another budget; not recorded as shown."""
        flags: dict[tuple[str, Detail], list[Instruction]] = {}
        while True:  # flags cost tokens, and only what is shown is checked: the few packs with any are packed again
            packed = self._cut(budget, flags)
            new = {(one.item.key, one.form): one for one in packed.shown if (one.item.key, one.form) not in flags}
            flags |= {key: self.flags(one) for key, one in new.items()}
            if not any(flags[key] for key in new):
                return packed

    @cached_property
    def uncut(self) -> PackedText:
        """The text without a budget, to know what a budget leaves out; without flags."""
        return self._cut(NO_BUDGET, {})

    def flags(self, one: ShownItem) -> list[Instruction]:
        """What reads like an instruction in the shown part of a symbol."""
        key = (one.item.key, one.form, one.lines)
        if key not in self._flags:
            self._flags[key] = flags_shown(one.item, one.form, one.lines)
        return self._flags[key]

    def _cut(self, budget: int, flags: Flags) -> PackedText:
        graph, beyond = self._ranked.pool.graph, len(self._ranked.order) - len(self._pieces) if self._review is None else 0
        phantoms = len(graph.endpoints) / max(graph.nodes, 1) if graph is not None else 0.0
        by_density = ByDensity(phantoms) if self._options.profile == "classic" else None
        terms = {found.term.text: found.term.weight * found.unit_idf for found in self._ranked.pool.statistics.terms}
        render = renderer(self._options.format, flags)
        head = replace(self._head, warning=self.confidence.warning() if self.confidence is not None else "")
        shares = self._review[1] if self._review is not None else None
        return pack(self._pieces, budget, render, head=head, terms=terms, by_density=by_density, shares=shares, beyond=beyond)

    @cached_property
    def _pieces(self) -> list[PackItem]:
        if self._review is not None:
            return [replace(item, path=self._shown_path(item.path)) for item in self._review[0]]
        chosen = [Symbol(self._ranked, row) for row in self._ranked.order[: self._options.symbols]]
        return pieces_of(self._source, chosen, self._shown_path)

    @property
    def text(self) -> str:
        """The pack as printed, of at most `budget` tokens."""
        return self.packed.text

    @property
    def tokens(self) -> int:
        """The tokens of the text."""
        return self.packed.tokens

    @property
    def left_out(self) -> list[str]:
        """The keys of ranked symbols that did not fit."""
        within = {piece.key for piece in (*(one.item for one in self.packed.shown), *self.packed.inside)}
        return [one.key for one in self.symbols if one.key not in within]


def pieces_of(source: Reader, symbols: Sequence[Symbol], shown_path: Callable[[str], str] = str) -> list[PackItem]:
    """Symbols with their signatures, comments and source; each file is read once. `shown_path` formats paths."""
    places: dict[str, list[tuple[int, str]]] = {}
    for one in symbols:
        places.setdefault(one.path, []).append(_place(one))
    texts = {path: _TextLines(source.read_text(path) or "") for path in places}
    units = {path: source.units_at(path, wanted) for path, wanted in places.items()}
    found = []
    for one in symbols:
        unit = units[one.path].get(_place(one))
        found.append(
            PackItem(
                one.key,
                one.qualified_name,
                one.kind,
                shown_path(one.path),
                one.start_line,
                one.end_line,
                one.score,
                one.walk,
                unit.signature if unit else "",
                " ".join(unit.doc.split("\n\n", 1)[0].split()) if unit else "",
                texts[one.path].between(one.start_line, one.end_line),
                ", ".join(one.found_by),
                one.outline(),
                texts[one.path].definitions(one.members()[:MAX_MEMBERS]) if one.kind in CONTAINERS else (),
            )
        )
    return found


def _place(one: Symbol) -> tuple[int, str]:
    """The first line of a symbol, and its own name."""
    return one.start_line, one.key.rpartition("#")[2].rpartition(".")[2]


class _TextLines:
    """A text from which some lines are taken without splitting all of it."""

    def __init__(self, text: str) -> None:
        self._data = text.encode("utf-8")
        self._ends = np.append(np.flatnonzero(np.frombuffer(self._data, np.uint8) == ord("\n")), len(self._data))

    def between(self, first: int, last: int) -> str:
        """The lines from first to last, from 1, as far as they exist."""
        if not 1 <= first <= min(last, len(self._ends)):
            return ""
        begin = int(self._ends[first - 2]) + 1 if first > 1 else 0
        return self._data[begin : int(self._ends[min(last, len(self._ends)) - 1])].decode("utf-8")

    def definitions(self, members: Sequence[tuple[int, int, str]]) -> tuple[int, ...]:
        """The lines on which members are defined: their comments come first, and name them too."""
        found = []
        for first, last, name in members:
            lines = self.between(first, last).split("\n")
            found.append(first + next((at for at, line in enumerate(lines) if name in line and not COMMENT.match(line)), 0))
        return tuple(found)
