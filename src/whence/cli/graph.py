"""How answers of the symbol graph are printed, in words and as JSON."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from whence.app.command_line import Target, set_option, settings_of, targets_of
from whence.app.presenters.text import freshness_json, freshness_words, relative, safe
from whence.cli.main import FOUND, NOTHING_FOUND
from whence.cli.output import print_foot, print_item, print_json, print_more
from whence.cli.shared import color_option, json_option, open_indexes, say_notes, styler
from whence.core.errors import UsageError
from whence.core.types import SYMBOL_IN_FILE

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.graph.names import NamedSymbol
    from whence.graph.neighbours import Neighbour, NeighbourRows
    from whence.graph.paths import PathStep
    from whence.graph.questions import NeighbourAnswer, Questions
    from whence.graph.unresolved import UnresolvedCall, UnresolvedCalls


#: How code outside of any definition is called.
TOP_LEVEL = "(top level)"
#: Calls that lead nowhere and are named where they only end an answer.
FEW = 3
_WIDEST = 60
_HEADS = {"callers": "callers of", "callees": "called by", "impact": "depends on", "tests": "tests of"}
_Cells = tuple[str, ...]
#: What columns are, and how they look.
_PLACE, _NOTE = "place", "note"
_LOOKS: dict[str, dict[str, Any]] = {_PLACE: {"fg": "magenta"}, _NOTE: {"dim": True}}


def print_answers(question: str, index: Index, answers: list[NeighbourAnswer], options: dict[str, Any]) -> None:
    """The answers to one question, for each symbol that it is about."""
    if options["as_json"]:
        found = [_answer_json(question, index, answer, options["limit"]) for answer in answers]
        print_json({"question": question, "answers": found, "index": _index_json(index)})
        return
    printer = _Printer(index, options)
    for place, answer in enumerate(answers):
        if place:
            printer.say("")
        printer.answer(question, answer, options["limit"])
    printer.freshness()


def print_way(
    index: Index,
    ends: tuple[list[NamedSymbol], list[NamedSymbol]],
    way: list[PathStep] | None,
    back: list[PathStep] | None,
    steps: int,
    options: dict[str, Any],
) -> None:
    """A way from one symbol to another, or that there is none."""
    if options["as_json"]:
        found = {
            "question": "path",
            "from": [_symbol_json(index, one) for one in ends[0]],
            "to": [_symbol_json(index, one) for one in ends[1]],
            "found": way is not None,
            "steps": [asdict(step) | {"path": _path(index, step.path)} for step in way or ()],
            "way_back": len(back) if back is not None else None,
            "index": _index_json(index),
        }
        print_json(found)
        return
    printer = _Printer(index, options)
    if way is None:
        other = f"; the other way there is one of {len(back)}" if back is not None else ""
        printer.say(f"no path from {ends[0][0].name} to {ends[1][0].name} within {steps} steps{other}")
    else:
        printer.way(ends[0][0], way)
    printer.freshness()


class _Printer:
    """Aligned lines, in colour where that is wanted."""

    def __init__(self, index: Index, options: dict[str, Any]) -> None:
        self._index, self._style = index, styler(options["color"])

    def say(self, text: str, **style: Any) -> None:
        write = print_more if text.startswith("  ") or not text else print_item
        write(self._style(safe(text), **style) if style else safe(text))

    def freshness(self) -> None:
        print_foot(self._style(freshness_words(self._index.freshness, time.time()), dim=True))

    # Answers.
    def answer(self, question: str, answer: NeighbourAnswer, limit: int) -> None:
        symbol = answer.symbol
        self.say(f"{_HEADS[question]} {_named(symbol)}{_place(self._index, symbol)}", bold=True)
        if question == "impact":
            self._impact(answer, limit)
        else:
            self._neighbours(answer.rows, limit, defined=question == "callees")
        if question == "callees":
            self._lead_out(answer.unresolved, limit)
        for line in _stops(question, answer):
            self.say(f"  {line}", dim=True)

    def _impact(self, answer: NeighbourAnswer, limit: int) -> None:
        for what, found in (("code", answer.code), ("tests", answer.tests)):
            if len(found.node):
                counts = ", ".join(f"{count} at distance {distance}" for distance, count in _counts(found).items())
                self.say(f" {what}: {counts}")
                self._neighbours(found, limit)
        if not len(answer.rows.node):
            self.say("  nothing")

    def _neighbours(self, found: NeighbourRows, limit: int, *, defined: bool = False) -> None:
        shown = found.take(np.arange(len(found.node))[:limit]).neighbours()
        far = bool(len(found.node)) and int(found.distance.max()) > 1
        looks = ("", _PLACE, "", "", _NOTE)
        self._table([self._neighbour(one, defined=defined, far=far) for one in shown], ("", *looks) if far else looks)
        if len(found.node) > len(shown):
            self.say(f"  and {len(found.node) - len(shown)} more: --limit {len(found.node)}")
        elif not shown:
            self.say("  nothing")

    def _neighbour(self, one: Neighbour, *, defined: bool, far: bool) -> _Cells:
        place = f"{_path(self._index, one.path)}:{one.line}"
        if defined and one.defined_path:
            place = f"{_path(self._index, one.defined_path)}:{one.defined_line}"
        notes = [f"line {one.line}"] if defined and one.distance == 1 else []
        notes += [f"through {one.through or TOP_LEVEL}"] if one.distance > 1 else []
        notes += [one.note] if one.note else []
        distance = (str(one.distance),) if far else ()
        return (*distance, one.qualified_name or TOP_LEVEL, place, one.kind, f"{one.provenance} {one.confidence:.2f}", ", ".join(notes))

    def _lead_out(self, stops: UnresolvedCalls, limit: int) -> None:
        """Calls that are no edges: where the graph stops."""
        if stops.total:
            looks = ("", _PLACE, _NOTE)
            self.say(" calls that lead to nothing here:")
            self._table([(one.written, f"{_path(self._index, one.path)}:{one.line}", one.reason) for one in stops.sample[:limit]], looks)
            if stops.total > limit:
                self.say(f"  and {stops.total - min(limit, len(stops.sample))} more")

    def way(self, start: NamedSymbol, way: list[PathStep]) -> None:
        if not way:
            self.say(f"{_named(start)} is both", bold=True)
        else:
            self.say(f"{way[0].source or TOP_LEVEL}", bold=True)
        rows = []
        for step in way:
            place = f"{_path(self._index, step.path)}:{step.line}" if step.path else ""
            rows.append((f"-{step.kind}->", step.target or TOP_LEVEL, place, f"{step.provenance} {step.confidence:.2f}", step.note))
        self._table(rows, ("", "", _PLACE, "", _NOTE))
        by_name = sum("by name" in step.note for step in way)
        if by_name:
            self.say(f"  {by_name} of {len(way)} steps by name alone", dim=True)

    def _table(self, rows: Sequence[_Cells], looks: Sequence[str]) -> None:
        """Rows with their columns below one another; `looks` says what each column is."""
        widths = [min(max(len(safe(cell)) for cell in column), _WIDEST) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [f"{safe(cell):<{width}}" for cell, width in zip(row, widths, strict=True)]
            while cells and not cells[-1].strip():  # colour at the end of a line would keep its blanks
                cells.pop()
            shown = [self._style(cell, **_LOOKS[look]) if look else cell for cell, look in zip(cells, looks, strict=False)]
            print_more(f"  {'  '.join(shown).rstrip()}")


def _stops(question: str, answer: NeighbourAnswer) -> Iterable[str]:
    """Where the graph stops, in a few lines."""
    stops, by_name = answer.unresolved, int(answer.rows.by_name.sum())
    if by_name:
        yield f"{by_name} of {len(answer.rows.node)} by name alone: another of the same name may be meant"
    if question == "callees":
        if stops.total:
            yield f"the graph stops at {_calls(stops)}, {stops.external} of them out of this repository"
    elif stops.total:
        some = [f"{one.path}:{one.line}" for one in stops.sample[:FEW]] + ["..."] * (stops.total > FEW)
        yield f"the graph stops at {_calls(stops)} of that name that may mean this: {', '.join(some)}"
    if answer.other_uses and question == "callers":
        yield f"other uses: {', '.join(f'{count} {kind}' for kind, count in answer.other_uses)} (--all-kinds)"


def _calls(stops: UnresolvedCalls) -> str:
    return f"{stops.total} call{'s' if stops.total != 1 else ''}"


def _counts(found: NeighbourRows) -> dict[int, int]:
    return {int(one): int(count) for one, count in zip(*np.unique(found.distance, return_counts=True), strict=True)}


def _named(symbol: NamedSymbol) -> str:
    return f"{symbol.name or TOP_LEVEL}  {symbol.kind}"


def _place(index: Index, symbol: NamedSymbol) -> str:
    many = f" ({len(symbol.nodes)} definitions)" if len(symbol.nodes) > 1 else ""
    return f"  {_path(index, symbol.path)}:{symbol.line}{many}" if symbol.path else ""


def _path(index: Index, path: str) -> str:
    return relative(index.root, path) if path else ""


# JSON.
def _answer_json(question: str, index: Index, answer: NeighbourAnswer, limit: int) -> dict[str, Any]:
    parts = [answer.code, answer.tests] if question == "impact" else [answer.rows]
    shown = [one for part in parts for one in part.take(np.arange(len(part.node))[:limit]).neighbours()]
    found: dict[str, Any] = {
        "symbol": _symbol_json(index, answer.symbol),
        "count": len(answer.rows.node),
        "left_out": len(answer.rows.node) - len(shown),
        "results": [_neighbour_json(index, one) for one in shown],
        "by_name": int(answer.rows.by_name.sum()),
        "stops": {
            "count": answer.unresolved.total,
            "outside": answer.unresolved.external,
            "calls": [_open_call_json(index, one) for one in answer.unresolved.sample[:limit]],
        },
    }
    if question == "impact":
        found["distances"] = [
            {"distance": distance, "code": code, "tests": tests} for distance, code, tests in _by_distance(answer.code, answer.tests)
        ]
    if question == "callers":
        found["other_uses"] = dict(answer.other_uses)
    return found


def _by_distance(code: NeighbourRows, tests: NeighbourRows) -> list[tuple[int, int, int]]:
    here, there = _counts(code), _counts(tests)
    return [(distance, here.get(distance, 0), there.get(distance, 0)) for distance in sorted(here | there)]


def _symbol_json(index: Index, symbol: NamedSymbol) -> dict[str, Any]:
    return {
        "key": symbol.key,
        "name": symbol.name,
        "kind": symbol.kind,
        "path": _path(index, symbol.path),
        "line": symbol.line,
        "definitions": len(symbol.nodes),
    }


def _neighbour_json(index: Index, one: Neighbour) -> dict[str, Any]:
    return asdict(one) | {"path": _path(index, one.path), "defined_path": _path(index, one.defined_path)}


def _open_call_json(index: Index, one: UnresolvedCall) -> dict[str, Any]:
    return {"call": one.written, "caller": one.caller, "path": _path(index, one.path), "line": one.line, "because": one.reason}


def _index_json(index: Index) -> dict[str, Any]:
    return {"root": str(index.root), "freshness": freshness_json(index.freshness), "notes": index.notes}


LIMIT = 50
_NAMES = """SYMBOL is a name (open), a qualified name (Session.open), path#name or FILE:LINE."""

path_option = click.option("--path", "place", default=".", metavar="PATH", help="The repository (default: here).")
all_option = click.option("--all", "every", is_flag=True, help="If several symbols have the name, answer for each.")
limit_option = click.option("--limit", type=click.IntRange(min=1), default=LIMIT, show_default=True, help="Show at most this many.")
no_refresh_option = click.option("--no-refresh", is_flag=True, help="Do not refresh the index first.")
kind_option = click.option("--kind", "kinds", multiple=True, metavar="NAME", help="Follow edges of a kind: references, type_hint_of, ...")
all_kinds_option = click.option("--all-kinds", is_flag=True, help="Follow every kind of dependency edge.")


def _depth_option(default: int) -> Callable[[Any], Any]:
    return click.option(
        "--depth", type=click.IntRange(min=1), default=default, show_default=True, help="How many steps to follow; 1 is direct only."
    )


def _options(*more: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The options of every question, after those of one."""

    def decorate(function: Any) -> Any:
        for option in reversed((*more, all_option, limit_option, path_option, no_refresh_option, json_option, color_option, set_option)):
            function = option(function)
        return function

    return decorate


@click.command(epilog=_NAMES)
@click.argument("symbol")
@_options(_depth_option(1), kind_option, all_kinds_option)
def callers(symbol: str, depth: int, kinds: tuple[str, ...], all_kinds: bool, **options: Any) -> int:
    """Show the callers of SYMBOL, most certain first.

    Calls of a method that SYMBOL overrides may reach it; they are marked.
    """
    chosen = _chosen(kinds, all_kinds=all_kinds)
    return _ask("callers", symbol, lambda asked: partial(asked.callers, kinds=chosen, depth=depth), options)


@click.command(epilog=_NAMES)
@click.argument("symbol")
@_options(_depth_option(1), kind_option, all_kinds_option)
def callees(symbol: str, depth: int, kinds: tuple[str, ...], all_kinds: bool, **options: Any) -> int:
    """Show what SYMBOL calls; for a type, what its members call.

    Unresolved calls and calls out of the repository are listed last.
    """
    chosen = _chosen(kinds, all_kinds=all_kinds)
    return _ask("callees", symbol, lambda asked: partial(asked.callees, kinds=chosen, depth=depth), options)


@click.command(epilog=_NAMES)
@click.argument("symbol")
@_options(_depth_option(3))
def impact(symbol: str, depth: int, **options: Any) -> int:
    """Show everything that depends on SYMBOL, by distance.

    Includes callers, subclasses, overriding methods, and users of a type and
    its members. Tests are listed separately.
    """
    return _ask("impact", symbol, lambda asked: partial(asked.impact, depth=depth), options)


@click.command(epilog=_NAMES)
@click.argument("symbol")
@_options(_depth_option(4))
def tests(symbol: str, depth: int, **options: Any) -> int:
    """Show the tests that call SYMBOL, directly or indirectly."""
    return _ask("tests", symbol, lambda asked: partial(asked.tests, depth=depth), options)


@click.command(epilog=_NAMES)
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
@click.option("--steps", type=click.IntRange(min=1), default=12, show_default=True, help="Maximum length of the path.")
@click.option("--all", "every", is_flag=True, help="If several symbols have a name, use any of them.")
@path_option
@no_refresh_option
@json_option
@color_option
@set_option
def path(source: str, target: str, steps: int, **options: Any) -> int:
    """Show the shortest path from A to B through calls, references and containment."""
    with _asked(options) as (index, where):
        begin, end = (_meant(index, where, text, every=options["every"]) for text in (source, target))
        way = index.questions().path(begin, end, hops=steps)
        back = index.questions().path(end, begin, hops=steps) if way is None else None
        print_way(index, (begin, end), way, back, steps, options)
    return NOTHING_FOUND if way is None else FOUND


def _chosen(kinds: tuple[str, ...], *, all_kinds: bool) -> frozenset[str]:
    from whence.core.types import EDGE_KINDS  # noqa: PLC0415
    from whence.graph.questions import CALLS, DEPENDENCIES  # noqa: PLC0415

    named = frozenset(one.strip() for kind in kinds for one in kind.split(","))
    if unknown := sorted(named - set(EDGE_KINDS)):
        raise UsageError(f"there is no kind of edge {safe(unknown[0])!r}", hint=f"allowed: {', '.join(EDGE_KINDS)}")
    return named | DEPENDENCIES if all_kinds else named or CALLS


def _ask(
    question: str, symbol: str, asking: Callable[[Questions], Callable[[NamedSymbol], NeighbourAnswer]], options: dict[str, Any]
) -> int:

    with _asked(options) as (index, where):
        named = _meant(index, where, symbol, every=options["every"])
        answer = asking(index.questions())
        answers = [answer(one) for one in named]
        print_answers(question, index, answers, options)
    return FOUND if any(len(one.rows.node) for one in answers) else NOTHING_FOUND


@contextmanager
def _asked(options: dict[str, Any]) -> Iterator[tuple[Index, Target]]:
    """The index that is asked, opened."""
    where = targets_of((options["place"],))[0]
    with open_indexes([where], refresh=not options["no_refresh"], values=settings_of(options["assignments"])) as (index,):
        say_notes([index])
        yield index, where


def _meant(index: Index, where: Target, text: str, *, every: bool) -> list[NamedSymbol]:
    """The symbols that a name means: one, or with `every` all of them."""
    from whence.graph.names import candidate_lines  # noqa: PLC0415

    named = index.questions().resolve(_from_root(where.root, text))
    if len(named) > 1 and not every:
        lines = "\n".join(safe(line) for line in candidate_lines(named))
        raise UsageError(f"{len(named)} symbols are called {safe(text)!r}; write one of these, or --all:\n{lines}")
    if named[0].case_differs:
        click.echo(f"whence: nothing is written {safe(text)!r}; answering for {', '.join(safe(one.name) for one in named[:3])}", err=True)
    return named


def _from_root(root: Path, text: str) -> str:
    """A symbol given by its file, with the path from the root; others as they are."""
    found = SYMBOL_IN_FILE.fullmatch(text)
    if found is None or not Path(found["path"]).is_file():
        return text
    place = Path(found["path"]).resolve()
    return f"{place.relative_to(root).as_posix()}{found['rest']}" if place.is_relative_to(root) else text
