"""Answers of the symbol graph as text, JSON and MCP content."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.app.presenters.text import Document, freshness_content, freshness_json, freshness_words, progress_content, relative, safe

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.app.workspace import BuildProgress
    from whence.graph.names import NamedSymbol
    from whence.graph.questions import Neighbour, NeighbourAnswer, NeighbourRows, PathStep
    from whence.graph.unresolved import UnresolvedCalls

#: How code outside of any definition is called.
TOP_LEVEL = "(top level)"
#: Calls that lead nowhere and are named where they only end an answer.
FEW = 3
#: Neighbours of a symbol that agents get; the rest are counted.
MAX_NEIGHBOURS = 60
#: Open mentions that they get.
MAX_OPEN = 20
_WIDEST = 60
_HEADS = {"callers": "callers of", "callees": "called by", "impact": "depends on", "tests": "tests of"}
_Cells = tuple[str, ...]
#: What columns are, and how they look.
_PLACE, _NOTE = "place", "note"
_LOOKS: dict[str, dict[str, Any]] = {_PLACE: {"fg": "magenta"}, _NOTE: {"dim": True}}


def answers_document(question: str, index: Index, answers: Sequence[NeighbourAnswer], *, limit: int, style: Callable[..., str]) -> Document:
    """The answers to one question, for each symbol that it is about."""
    writer = _Writer(index, style)
    for place, answer in enumerate(answers):
        if place:
            writer.document.more("")
        writer.answer(question, answer, limit)
    return writer.document


def answers_json(question: str, index: Index, answers: Sequence[NeighbourAnswer], *, limit: int) -> dict[str, Any]:
    """The same as JSON."""
    found = [_answer_json(question, index, answer, limit) for answer in answers]
    return {"question": question, "answers": found, "index": _index_json(index)}


@dataclass(frozen=True, slots=True)
class PathAnswer:
    """The shortest path between two symbols; None if there is none, and then perhaps one that leads back."""

    start: list[NamedSymbol]
    end: list[NamedSymbol]
    path: list[PathStep] | None
    back: list[PathStep] | None
    max_steps: int


def path_document(index: Index, answer: PathAnswer, *, style: Callable[..., str]) -> Document:
    """A path from one symbol to another, or that there is none."""
    writer = _Writer(index, style)
    if answer.path is None:
        other = f"; the other way there is one of {len(answer.back)}" if answer.back is not None else ""
        writer.line(f"no path from {answer.start[0].name} to {answer.end[0].name} within {answer.max_steps} steps{other}")
    else:
        writer.path(answer.start[0], answer.path)
    return writer.document


def path_json(index: Index, answer: PathAnswer) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "question": "path",
        "from": [_symbol_json(index, one) for one in answer.start],
        "to": [_symbol_json(index, one) for one in answer.end],
        "found": answer.path is not None,
        "steps": [asdict(step) | {"path": _path(index, step.path)} for step in answer.path or ()],
        "way_back": len(answer.back) if answer.back is not None else None,
        "index": _index_json(index),
    }


class _Writer:
    """Writes aligned lines to a document, in colour where that is wanted. Every symbol asked about is one item."""

    def __init__(self, index: Index, style: Callable[..., str]) -> None:
        self._index, self._style = index, style
        self.document = Document(foot=[style(freshness_words(index.freshness, time.time()), dim=True)])

    def line(self, text: str, **style: Any) -> None:
        self.document.item(self._styled(text, style))

    def more(self, text: str, **style: Any) -> None:
        self.document.more(self._styled(f"  {text}", style))

    def _styled(self, text: str, style: dict[str, Any]) -> str:
        return self._style(safe(text), **style) if style else safe(text)

    def answer(self, question: str, answer: NeighbourAnswer, limit: int) -> None:
        symbol = answer.symbol
        self.line(f"{_HEADS[question]} {_named(symbol)}{_place(self._index, symbol)}", bold=True)
        if question == "impact":
            self._impact(answer, limit)
        elif question == "callers":
            self._neighbours(answer.certain, limit)
            self._open_mentions(answer, limit)
        else:
            self._neighbours(answer.rows, limit, defined=question == "callees")
        if question == "callees":
            self._lead_out(answer.unresolved, limit)
        for line in _stops(question, answer):
            self.more(f"{line}", dim=True)

    def _impact(self, answer: NeighbourAnswer, limit: int) -> None:
        for what, found in (("code", answer.code), ("tests", answer.tests)):
            if len(found.node):
                counts = ", ".join(f"{count} at distance {distance}" for distance, count in _counts(found).items())
                self.line(f" {what}: {counts}")
                self._neighbours(found, limit)
        if not len(answer.rows.node):
            self.more("nothing")

    def _neighbours(self, found: NeighbourRows, limit: int, *, defined: bool = False) -> None:
        shown = found.take(np.arange(len(found.node))[:limit]).neighbours()
        far = bool(len(found.node)) and int(found.distance.max()) > 1
        looks = ("", _PLACE, "", "", _NOTE)
        self._table([self._neighbour(one, defined=defined, far=far) for one in shown], ("", *looks) if far else looks)
        if len(found.node) > len(shown):
            self.more(f"and {len(found.node) - len(shown)} more: --limit {len(found.node)}")
        elif not shown:
            self.more("nothing")

    def _neighbour(self, one: Neighbour, *, defined: bool, far: bool) -> _Cells:
        place = f"{_path(self._index, one.path)}:{one.line}"
        if defined and one.defined_path:
            place = f"{_path(self._index, one.defined_path)}:{one.defined_line}"
        notes = [f"line {one.line}"] if defined and one.distance == 1 else []
        notes += [f"through {one.through or TOP_LEVEL}"] if one.distance > 1 else []
        notes += [one.note] if one.note else []
        distance = (str(one.distance),) if far else ()
        return (*distance, one.qualified_name or TOP_LEVEL, place, one.kind, f"{one.provenance} {one.confidence:.2f}", ", ".join(notes))

    def _open_mentions(self, answer: NeighbourAnswer, limit: int) -> None:
        """What may be a caller: calls matched by name, and those that became no edge."""
        rows = list(_open_mentions(self._index, answer, limit))
        if rows:
            self.line(" open mentions, which may mean this or another:")
            self._table(rows, ("", _PLACE, _NOTE))
        if (left := _counts_of_callers(answer)["open"] - len(rows)) > 0:
            self.more(f"and {left} more")

    def _lead_out(self, stops: UnresolvedCalls, limit: int) -> None:
        """Calls that are no edges: where the graph stops."""
        if stops.total:
            looks = ("", _PLACE, _NOTE)
            self.line(" calls that lead to nothing here:")
            self._table([(one.written, f"{_path(self._index, one.path)}:{one.line}", one.reason) for one in stops.sample[:limit]], looks)
            if stops.total > limit:
                self.more(f"and {stops.total - min(limit, len(stops.sample))} more")

    def path(self, start: NamedSymbol, path: list[PathStep]) -> None:
        if not path:
            self.line(f"{_named(start)} is both", bold=True)
        else:
            self.line(f"{path[0].source or TOP_LEVEL}", bold=True)
        rows = []
        for step in path:
            place = f"{_path(self._index, step.path)}:{step.line}" if step.path else ""
            rows.append((f"-{step.kind}->", step.target or TOP_LEVEL, place, f"{step.provenance} {step.confidence:.2f}", step.note))
        self._table(rows, ("", "", _PLACE, "", _NOTE))
        by_name = sum("by name" in step.note for step in path)
        if by_name:
            self.more(f"{by_name} of {len(path)} steps by name alone", dim=True)

    def _table(self, rows: Sequence[_Cells], looks: Sequence[str]) -> None:
        """Rows with their columns below one another; `looks` says what each column is."""
        widths = [min(max(len(safe(cell)) for cell in column), _WIDEST) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [f"{safe(cell):<{width}}" for cell, width in zip(row, widths, strict=True)]
            while cells and not cells[-1].strip():  # colour at the end of a line would keep its blanks
                cells.pop()
            shown = [self._look(cell, look) for cell, look in zip(cells, looks, strict=False)]
            self.document.more(f"  {'  '.join(shown).rstrip()}")

    def _look(self, cell: str, look: str) -> str:
        path, _, line = cell.rstrip().rpartition(":")
        link = {"link": (path, int(line))} if look == _PLACE and line.isdecimal() else {}
        return self._style(cell, **_LOOKS[look], **link) if look else cell


def _stops(question: str, answer: NeighbourAnswer) -> Iterable[str]:
    """Where the graph stops, in a few lines."""
    stops, by_name = answer.unresolved, int(answer.rows.by_name.sum())
    if question == "callers":
        yield callers_words(answer)
    elif by_name:
        yield f"{by_name} of {len(answer.rows.node)} by name alone: another of the same name may be meant"
    if question == "callees":
        if stops.total:
            yield f"the graph stops at {_calls(stops.total)}, {stops.external} of them out of this repository"
    elif stops.open and question != "callers":
        some = [f"{one.path}:{one.line}" for one in stops.sample[:FEW]] + ["..."] * (stops.open > FEW)
        yield f"the graph stops at {_calls(stops.open)} of that name that may mean this: {', '.join(some)}"
    if answer.reason:
        yield f"no test: {answer.reason}"
    if answer.other_uses and question == "callers":
        yield f"other uses: {', '.join(f'{count} {kind}' for kind, count in answer.other_uses)} (--all-kinds)"


def _open_mentions(index: Index, answer: NeighbourAnswer, limit: int) -> Iterator[tuple[str, str, str]]:
    """The caller, place and candidates of open mentions."""
    for one in answer.guessed.take(np.arange(len(answer.guessed.node))[:limit]).neighbours():
        yield one.qualified_name or TOP_LEVEL, f"{_path(index, one.path)}:{one.line}", f"one of {', '.join(one.candidates)}"
    for call in answer.unresolved.sample[: max(limit - len(answer.guessed.node), 0)]:
        yield call.caller or TOP_LEVEL, f"{_path(index, call.path)}:{call.line}", f"{call.written}: {call.reason}"


def _counts_of_callers(answer: NeighbourAnswer) -> dict[str, int]:
    """How many callers are certain, how many calls of the name are open, and how many of them mean something outside."""
    guessed = int(answer.rows.by_name.sum())
    return {"callers": len(answer.rows.node) - guessed, "open": guessed + answer.unresolved.open, "outside": answer.unresolved.external}


def callers_words(answer: NeighbourAnswer) -> str:
    """The counts of an answer, which together cover every call of the name."""
    counts = _counts_of_callers(answer)
    one, open_ = counts["callers"], counts["open"]
    return f"{one} caller{'s' * (one != 1)}, {open_} open mention{'s' * (open_ != 1)}, {counts['outside']} outside"


def _calls(count: int) -> str:
    return f"{count} call{'s' if count != 1 else ''}"


def _counts(found: NeighbourRows) -> dict[int, int]:
    return {int(one): int(count) for one, count in zip(*np.unique(found.distance, return_counts=True), strict=True)}


def _named(symbol: NamedSymbol) -> str:
    return f"{symbol.name or TOP_LEVEL}  {symbol.kind}"


def _place(index: Index, symbol: NamedSymbol) -> str:
    many = f" ({len(symbol.nodes)} definitions)" if len(symbol.nodes) > 1 else ""
    return f"  {_path(index, symbol.path)}:{symbol.line}{many}" if symbol.path else ""


def _path(index: Index, path: str) -> str:
    return relative(index.root, path) if path else ""


# MCP content.
def graph_content(index: Index, progress: BuildProgress, lines: Sequence[str], label: str = "") -> Document:
    """Lines of names and paths, below a warning if one of them reads like an instruction (Z11)."""
    from whence.text.injection import (  # noqa: PLC0415  -- as above
        Instruction,
        find_instructions,
        warning_of,
    )

    flags = [Instruction(one.kind, 0, one.reason) for one in find_instructions("\n\n".join(lines))]
    warning = [warning_of(flags, "this tree").replace("its name", "a name below", 1)] if flags else []
    return Document([[line] for line in (*progress_content(progress, label), *warning, *lines)], [freshness_content(index, label)])


def neighbours_content(answer: NeighbourAnswer, question: str, label: str) -> Iterator[str]:
    """The neighbours of a symbol, surest or nearest first, and unresolved calls."""
    symbol, found = answer.symbol, answer.rows
    sure = ", each with how sure it is" if len(found.node) else ""
    where = f"{symbol.kind} {label}{safe(symbol.path)}:{symbol.line}"
    if question == "callers":
        yield f"callers of {safe(symbol.name or TOP_LEVEL)} ({where}): {callers_words(answer)}"
        yield from _callers_content(answer, label)
        return
    yield f"{question} of {safe(symbol.name or TOP_LEVEL)} ({where}): {len(found.node)}{sure}"
    for one in found.take(np.arange(len(found.node))[:MAX_NEIGHBOURS]).neighbours():
        yield f"- {_neighbour_content(one, label, defined=question == 'callees')}"
    if len(found.node) > MAX_NEIGHBOURS:
        yield f"and {len(found.node) - MAX_NEIGHBOURS} more; a smaller depth leaves out the farther ones"
    if by_name := int(found.by_name.sum()):
        yield f"{by_name} of them by name alone: another of the same name may be meant"
    if answer.reason:
        yield f"no test: {answer.reason}"
    stops = answer.unresolved
    if count := stops.total if question == "callees" else stops.open:
        some = ", ".join(f"{one.written} {label}{one.path}:{one.line}" for one in stops.sample[:5])
        what = "calls lead out of what is indexed" if question == "callees" else "calls of that name may mean this or another"
        yield f"the graph stops: {count} {what}: {safe(some)}"


def _callers_content(answer: NeighbourAnswer, label: str) -> Iterator[str]:
    certain, guessed, stops = answer.certain, answer.guessed, answer.unresolved
    for one in certain.take(np.arange(len(certain.node))[:MAX_NEIGHBOURS]).neighbours():
        yield f"- {_neighbour_content(one, label, defined=False)}"
    if len(certain.node) > MAX_NEIGHBOURS:
        yield f"and {len(certain.node) - MAX_NEIGHBOURS} more; a smaller depth leaves out the farther ones"
    if _counts_of_callers(answer)["open"]:
        yield "open mentions, which may mean this or another:"
    for one in guessed.take(np.arange(len(guessed.node))[:MAX_OPEN]).neighbours():
        yield f"- {_neighbour_content(one, label, defined=False)}"
    for call in stops.sample[: max(MAX_OPEN - len(guessed.node), 0)]:
        yield f"- {safe(call.caller or TOP_LEVEL)} {label}{safe(call.path)}:{call.line} ({safe(call.written)}, {safe(call.reason)})"


def _neighbour_content(one: Neighbour, label: str, *, defined: bool) -> str:
    place = f"{one.defined_path}:{one.defined_line}" if defined and one.defined_path else f"{one.path}:{one.line}"
    notes = [one.kind] if one.kind != "calls" else []
    notes += [f"distance {one.distance} through {one.through or TOP_LEVEL}"] if one.distance > 1 else []
    notes += [one.note] if one.note else []
    return safe(f"{one.qualified_name or TOP_LEVEL} {label}{place} ({', '.join([f'{one.confidence:.2f}', *notes])})")


def path_content(path: Sequence[PathStep], label: str) -> Iterator[str]:
    """A path from one symbol to another."""
    if path:
        yield safe(path[0].source or TOP_LEVEL)
    for step in path:
        place = f" {label}{step.path}:{step.line}" if step.path else ""
        yield safe(f"-{step.kind}-> {step.target or TOP_LEVEL}{place} ({step.confidence:.2f}{', ' + step.note if step.note else ''})")


# JSON.
def _answer_json(question: str, index: Index, answer: NeighbourAnswer, limit: int) -> dict[str, Any]:
    parts = {"impact": [answer.code, answer.tests], "callers": [answer.certain, answer.guessed]}.get(question, [answer.rows])
    shown = [one for part in parts for one in part.take(np.arange(len(part.node))[:limit]).neighbours()]
    found: dict[str, Any] = {
        "symbol": _symbol_json(index, answer.symbol),
        "count": len(answer.rows.node),
        "left_out": len(answer.rows.node) - len(shown),
        "results": [asdict(one) | {"path": _path(index, one.path), "defined_path": _path(index, one.defined_path)} for one in shown],
        "by_name": int(answer.rows.by_name.sum()),
        "stops": {
            "count": answer.unresolved.total if question == "callees" else answer.unresolved.open,
            "outside": answer.unresolved.external,
            "calls": [
                {
                    "call": one.written,
                    "caller": one.caller,
                    "path": _path(index, one.path),
                    "line": one.line,
                    "because": one.reason,
                    "candidates": one.candidates,
                }
                for one in answer.unresolved.sample[:limit]
            ],
        },
    }
    if question == "impact":
        code, tests = _counts(answer.code), _counts(answer.tests)
        found["distances"] = [{"distance": at, "code": code.get(at, 0), "tests": tests.get(at, 0)} for at in sorted(code | tests)]
    if question == "tests":
        found["reason"] = answer.reason
    if question == "callers":
        found["counts"] = _counts_of_callers(answer)
        found["other_uses"] = dict(answer.other_uses)
    return found


def _symbol_json(index: Index, symbol: NamedSymbol) -> dict[str, Any]:
    place = {"path": _path(index, symbol.path), "line": symbol.line}
    return {"key": symbol.key, "name": symbol.name, "kind": symbol.kind, **place, "definitions": len(symbol.nodes)}


def _index_json(index: Index) -> dict[str, Any]:
    return {"root": str(index.root), "freshness": freshness_json(index.freshness), "notes": index.notes}
