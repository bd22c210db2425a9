"""`whence callers`, `callees`, `impact`, `path` and `tests`: questions to the symbol graph (W5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.errors import UsageError
from whence.serve.cli.main import FOUND, NOTHING_FOUND
from whence.serve.cli.shared import (
    IN_A_FILE,
    Target,
    color_option,
    json_option,
    open_indexes,
    safe,
    say_notes,
    set_option,
    settings_of,
    targets_of,
)

if TYPE_CHECKING:
    from whence.engine import Index
    from whence.graph.questions import Answer, Questions
    from whence.graph.symbols_named import Named

LIMIT = 50
_NAMES = """A SYMBOL is a name (open), one with what is around it (Session.open), path#name or FILE:LINE."""

path_option = click.option("--path", "place", default=".", metavar="PATH", help="The repository it is about (default: here).")
all_option = click.option("--all", "every", is_flag=True, help="Where several symbols bear the name, answer for each of them.")
limit_option = click.option("--limit", type=click.IntRange(min=1), default=LIMIT, show_default=True, help="Show at most so many.")
no_refresh_option = click.option("--no-refresh", is_flag=True, help="Ask the index as it is.")
kind_option = click.option("--kind", "kinds", multiple=True, metavar="NAME", help="Follow edges of a kind: references, type_hint_of, ...")
all_kinds_option = click.option("--all-kinds", is_flag=True, help="Follow every kind of edge that makes one need the other.")


def _depth_option(default: int) -> Callable[[Any], Any]:
    return click.option(
        "--depth", type=click.IntRange(min=1), default=default, show_default=True, help="How many steps away to look: 1 is direct."
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
    """Show who calls SYMBOL, surest first.

    A call of a method that SYMBOL overrides may reach it, and is marked so.
    """
    chosen = _chosen(kinds, all_kinds=all_kinds)
    return _ask("callers", symbol, lambda asked: partial(asked.callers, kinds=chosen, depth=depth), options)


@click.command(epilog=_NAMES)
@click.argument("symbol")
@_options(_depth_option(1), kind_option, all_kinds_option)
def callees(symbol: str, depth: int, kinds: tuple[str, ...], all_kinds: bool, **options: Any) -> int:
    """Show what SYMBOL calls; of a type, what all its members call.

    Calls that lead out of the repository, or nowhere known, are listed after.
    """
    chosen = _chosen(kinds, all_kinds=all_kinds)
    return _ask("callees", symbol, lambda asked: partial(asked.callees, kinds=chosen, depth=depth), options)


@click.command(epilog=_NAMES)
@click.argument("symbol")
@_options(_depth_option(3))
def impact(symbol: str, depth: int, **options: Any) -> int:
    """Show everything that depends on SYMBOL, by distance.

    Callers, subclasses, overriding methods, users of a type and of its members:
    what a change may reach. Tests are listed apart.
    """
    return _ask("impact", symbol, lambda asked: partial(asked.impact, depth=depth), options)


@click.command(epilog=_NAMES)
@click.argument("symbol")
@_options(_depth_option(4))
def tests(symbol: str, depth: int, **options: Any) -> int:
    """Show the tests that call SYMBOL: directly first, then through others."""
    return _ask("tests", symbol, lambda asked: partial(asked.tests, depth=depth), options)


@click.command(epilog=_NAMES)
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
@click.option("--steps", type=click.IntRange(min=1), default=12, show_default=True, help="How long a way may be.")
@click.option("--all", "every", is_flag=True, help="Where several symbols bear a name, from or to any of them.")
@path_option
@no_refresh_option
@json_option
@color_option
@set_option
def path(source: str, target: str, steps: int, **options: Any) -> int:
    """Show the shortest way from A to B along calls, references and containment."""
    from whence.serve.cli.graph_output import print_way  # noqa: PLC0415

    with _asked(options) as (index, where):
        begin, end = (_meant(index, where, text, every=options["every"]) for text in (source, target))
        way = index.questions.path(begin, end, hops=steps)
        back = index.questions.path(end, begin, hops=steps) if way is None else None
        print_way(index, (begin, end), way, back, steps, options)
    return NOTHING_FOUND if way is None else FOUND


def _chosen(kinds: tuple[str, ...], *, all_kinds: bool) -> frozenset[str]:
    from whence.graph.questions import CALLS, NEEDS  # noqa: PLC0415
    from whence.types import EDGE_KINDS  # noqa: PLC0415

    named = frozenset(one.strip() for kind in kinds for one in kind.split(","))
    if unknown := sorted(named - set(EDGE_KINDS)):
        raise UsageError(f"there is no kind of edge {safe(unknown[0])!r}", hint=f"allowed: {', '.join(EDGE_KINDS)}")
    return named | NEEDS if all_kinds else named or CALLS


def _ask(question: str, symbol: str, asking: Callable[[Questions], Callable[[Named], Answer]], options: dict[str, Any]) -> int:
    from whence.serve.cli.graph_output import print_answers  # noqa: PLC0415

    with _asked(options) as (index, where):
        named = _meant(index, where, symbol, every=options["every"])
        answer = asking(index.questions)
        answers = [answer(one) for one in named]
        print_answers(question, index, answers, options)
    return FOUND if any(len(one.found.node) for one in answers) else NOTHING_FOUND


@contextmanager
def _asked(options: dict[str, Any]) -> Iterator[tuple[Index, Target]]:
    """The index that is asked, opened."""
    where = targets_of((options["place"],))[0]
    with open_indexes([where], refresh=not options["no_refresh"], values=settings_of(options["assignments"])) as (index,):
        say_notes([index])
        yield index, where


def _meant(index: Index, where: Target, text: str, *, every: bool) -> list[Named]:
    """The symbols that a name means: one, or with `every` all of them."""
    from whence.graph.symbols_named import listed  # noqa: PLC0415

    named = index.questions.meant(_from_root(where.root, text))
    if len(named) > 1 and not every:
        lines = "\n".join(safe(line) for line in listed(named))
        raise UsageError(f"{len(named)} symbols are called {safe(text)!r}; write one of these, or --all:\n{lines}")
    if named[0].loosely:
        click.echo(f"whence: nothing is written {safe(text)!r}; answering for {', '.join(safe(one.name) for one in named[:3])}", err=True)
    return named


def _from_root(root: Path, text: str) -> str:
    """A symbol given by its file, with the path from the root; others as they are."""
    found = IN_A_FILE.fullmatch(text)
    if found is None or not Path(found["path"]).is_file():
        return text
    place = Path(found["path"]).resolve()
    return f"{place.relative_to(root).as_posix()}{found['rest']}" if place.is_relative_to(root) else text
