"""`whence callers`, `callees`, `impact`, `path` and `tests`: questions to the symbol graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from whence.app.command_line import Target, settings_of, target_of, targets_of
from whence.app.presenters.graph import PathAnswer, answers_document, answers_json, path_document, path_json
from whence.app.presenters.text import safe
from whence.cli.completion import complete_symbol
from whence.cli.shared import (
    FOUND,
    NOTHING_FOUND,
    freshly,
    index_options,
    open_index,
    path_option,
    print_document,
    print_json,
    request_options,
    styler,
    together,
)
from whence.context.request import ContextRequest
from whence.core.errors import UsageError
from whence.core.types import EDGE_KINDS, SYMBOL_IN_FILE
from whence.graph.names import candidate_lines
from whence.graph.questions import CALLERS, CALLS, DEPENDENCIES
from whence.query.filters import Filters
from whence.retrieval.filters import file_mask

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.graph.names import NamedSymbol
    from whence.graph.questions import NeighbourAnswer, NeighbourRows, Questions

LIMIT = 50
_NAMES = """SYMBOL is a name (open), a qualified name (Session.open), path#name or FILE:LINE."""

all_option = click.option("--all", "every", is_flag=True, help="If several symbols have the name, answer for each.")
limit_option = click.option("--limit", type=click.IntRange(min=1), default=LIMIT, show_default=True, help="Show at most this many.")
kind_option = click.option("--kind", "kinds", multiple=True, metavar="NAME", help="Follow edges of a kind: references, type_hint_of, ...")
all_kinds_option = click.option("--all-kinds", is_flag=True, help="Follow every kind of dependency edge.")


_symbol_argument = click.argument("symbol", shell_complete=complete_symbol)


def _depth_option(default: int) -> Callable[[Any], Any]:
    return click.option(
        "--depth", type=click.IntRange(min=1), default=default, show_default=True, help="How many steps to follow; 1 is direct only."
    )


#: Which symbols are listed.
_filter_options = together(
    click.argument("paths", nargs=-1, metavar="[PATH]..."),
    request_options(ContextRequest, only=("include", "exclude", "languages")),
)
#: Options that all questions share, and those of callers and callees.
_question_options = together(_filter_options, all_option, limit_option, path_option, index_options)
_call_options = together(_symbol_argument, _depth_option(1), kind_option, all_kinds_option, _question_options)


@click.command(epilog=_NAMES)
@_call_options
def callers(symbol: str, depth: int, kinds: tuple[str, ...], all_kinds: bool, **options: Any) -> int:
    """Show the callers of SYMBOL, most certain first.

    Calls of a method that SYMBOL overrides may reach it; they are marked.
    """
    chosen = _edge_kinds(kinds, CALLERS, all_kinds=all_kinds)
    return _ask("callers", symbol, lambda asked: partial(asked.callers, kinds=chosen, depth=depth), options)


@click.command(epilog=_NAMES)
@_call_options
def callees(symbol: str, depth: int, kinds: tuple[str, ...], all_kinds: bool, **options: Any) -> int:
    """Show what SYMBOL calls; for a type, what its members call.

    Unresolved calls and calls out of the repository are listed last.
    """
    chosen = _edge_kinds(kinds, CALLS, all_kinds=all_kinds)
    return _ask("callees", symbol, lambda asked: partial(asked.callees, kinds=chosen, depth=depth), options)


@click.command(epilog=_NAMES)
@_symbol_argument
@_depth_option(3)
@_question_options
def impact(symbol: str, depth: int, **options: Any) -> int:
    """Show everything that depends on SYMBOL, by distance.

    Includes callers, subclasses, overriding methods, and users of a type and
    its members. Tests are listed separately.
    """
    return _ask("impact", symbol, lambda asked: partial(asked.impact, depth=depth), options)


@click.command(epilog=_NAMES)
@_symbol_argument
@_depth_option(4)
@_question_options
def tests(symbol: str, depth: int, **options: Any) -> int:
    """Show the tests that call SYMBOL, directly or indirectly.

    Calls of what it overrides, fixtures of pytest, and requests of a route it
    handles count. If no test calls it, those that use it in other ways are
    shown; if there are none, why.
    """
    return _ask("tests", symbol, lambda asked: partial(asked.tests, depth=depth), options)


@click.command(epilog=_NAMES)
@click.argument("source", metavar="A", shell_complete=complete_symbol)
@click.argument("target", metavar="B", shell_complete=complete_symbol)
@click.option("--steps", type=click.IntRange(min=1), default=12, show_default=True, help="Maximum length of the path.")
@click.option("--all", "every", is_flag=True, help="If several symbols have a name, use any of them.")
@path_option
@index_options
def path(source: str, target: str, steps: int, **options: Any) -> int:
    """Show the shortest path of calls and references from A to B."""
    with _open_repository(options) as (index, where):
        begin, end = (_resolve(index, where, text, every=options["every"]) for text in (source, target))
        way = index.questions().path(begin, end, hops=steps)
        back = index.questions().path(end, begin, hops=steps) if way is None else None
        answer = PathAnswer(begin, end, way, back, steps)
        if options["as_json"]:
            print_json(path_json(index, answer))
        else:
            print_document(path_document(index, answer, style=styler(options["color"])))
    return NOTHING_FOUND if way is None else FOUND


def _edge_kinds(kinds: tuple[str, ...], default: frozenset[str], *, all_kinds: bool) -> frozenset[str]:
    named = frozenset(one.strip() for kind in kinds for one in kind.split(","))
    if unknown := sorted(named - set(EDGE_KINDS)):
        raise UsageError(f"there is no kind of edge {safe(unknown[0])!r}", hint=f"allowed: {', '.join(EDGE_KINDS)}")
    return named | DEPENDENCIES if all_kinds else named or default


def _ask(
    question: str, symbol: str, asking: Callable[[Questions], Callable[[NamedSymbol], NeighbourAnswer]], options: dict[str, Any]
) -> int:
    with _open_repository(options) as (index, where):
        filters = Filters(options["include"], options["exclude"], options["languages"], paths=where.paths)
        named = _resolve(index, where, symbol, every=options["every"])
        answer = asking(index.questions())
        answers = [replace(found, rows=_within(index, found.rows, filters)) for found in map(answer, named)]
        if options["as_json"]:
            print_json(answers_json(question, index, answers, limit=options["limit"]))
        else:
            print_document(answers_document(question, index, answers, limit=options["limit"], style=styler(options["color"])))
    return FOUND if any(len(one.rows.node) for one in answers) else NOTHING_FOUND


@contextmanager
def _open_repository(options: dict[str, Any]) -> Iterator[tuple[Index, Target]]:
    """Open the index of the repository that PATHs, or `--path`, are in."""
    paths = options.get("paths", ())
    where = target_of(paths) if paths else replace(targets_of((options["place"],))[0], paths=())
    with open_index(where.root, settings_of(options["assignments"]), **freshly(options)) as index:
        yield index, where


def _within(index: Index, rows: NeighbourRows, filters: Filters) -> NeighbourRows:
    """Those neighbours that lie in files that filters leave."""
    if filters == Filters():
        return rows
    snapshot = index.snapshot
    mask = np.concatenate([snapshot.unit_mask(file_mask(snapshot, filters)), np.zeros(rows.graph.nodes - snapshot.units, bool)])
    return rows.take(np.flatnonzero(mask[rows.node]))


def _resolve(index: Index, where: Target, text: str, *, every: bool) -> list[NamedSymbol]:
    """Resolve a name to one symbol, or with `every` to all that have it."""
    named = index.questions().resolve(_from_root(where.root, text))
    if len(named) > 1 and not every:
        lines = "\n".join(safe(line) for line in candidate_lines(named))
        raise UsageError(f"{len(named)} symbols are called {safe(text)!r}; write one of these, or --all:\n{lines}")
    if named[0].case_differs:
        click.echo(f"whence: nothing is written {safe(text)!r}; answering for {', '.join(safe(one.name) for one in named[:3])}", err=True)
    return named


def _from_root(root: Path, text: str) -> str:
    """Rewrite the path of a symbol relative to the root; names without a path stay as they are."""
    found = SYMBOL_IN_FILE.fullmatch(text)
    if found is None or not Path(found["path"]).is_file():
        return text
    place = Path(found["path"]).resolve()
    return f"{place.relative_to(root).as_posix()}{found['rest']}" if place.is_relative_to(root) else text
