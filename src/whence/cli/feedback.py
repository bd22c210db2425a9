"""`whence feedback`."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import Target, set_option, settings_of, targets_of
from whence.app.presenters.text import safe
from whence.cli.completion import complete_symbol
from whence.cli.shared import (
    FOUND,
    NOTHING_FOUND,
    json_option,
    layout_of,
    no_refresh_option,
    open_index,
    path_option,
    print_item,
    print_json,
    print_more,
    print_result,
    together,
)
from whence.context.feedback.session import END_OF_FILE, EditedRange, PendingFeedback
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import Verdict, as_text, forget, from_text, opinions, pairs, records, say
from whence.core.errors import StorageError, UsageError
from whence.core.settings import load_settings

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.context.feedback.verdicts import LearnedPair, VerdictSummary
    from whence.core.settings import LearnSettings

_PLACE = re.compile(r"^(?P<path>.+?)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?$", re.DOTALL)

session_option = click.option(
    "--session", envvar="WHENCE_SESSION", default="", metavar="NAME", help="Session name (default: WHENCE_SESSION)."
)


@click.group(
    epilog="""\b
Examples:
  whence feedback useful SessionStore.open --task "expire idle sessions"
  whence feedback list
  whence feedback reset --yes"""
)
def feedback() -> None:
    """Report useful symbols, and manage what was learned.

    A verdict counts until the code around the symbol changes. Verdicts stay on
    this machine, separate from the index; learn.enabled=false turns them off.
    """


_verdict_options = together(
    click.argument("symbols", nargs=-1, required=True, metavar="SYMBOL...", shell_complete=complete_symbol),
    click.option("--task", default="", metavar="TEXT", help="The task they were for; its rare words are learned."),
    path_option,
    session_option,
    no_refresh_option,
    json_option,
    set_option,
)


@feedback.command()
@_verdict_options
def useful(**asked: Any) -> int:
    """Mark symbols as useful for a task.

    SYMBOL is a name such as SessionStore.open, or path#name if several have it.
    """
    return _record_verdicts(useful=True, **asked)


@feedback.command()
@_verdict_options
def useless(**asked: Any) -> int:
    """Mark symbols as not useful."""
    return _record_verdicts(useful=False, **asked)


@feedback.command("list")
@path_option
@no_refresh_option
@json_option
@set_option
def list_learned(place: str, no_refresh: bool, as_json: bool, assignments: tuple[str, ...]) -> int:
    """List what was learned: verdicts by symbol, and words that lead to symbols."""
    with _open_feedback(place, assignments) as (target, chosen, learned):
        held: list[VerdictSummary] = []
        if learned.rows("SELECT 1 FROM records LIMIT 1"):
            with open_index(target.root, settings_of(assignments), refresh=not no_refresh) as index:
                held = opinions(learned, lambda symbol: _package_hash(index, symbol), chosen)
        words = pairs(learned, chosen)
    if as_json:
        listed = [{"word": one.keyword, "symbol": one.symbol, "count": one.count, "weight": round(one.weight, 6)} for one in words]
        print_json({"enabled": chosen.enabled, "symbols": [_opinion_json(one) for one in held], "words": listed})
    else:
        _print_learned(held, words, enabled=chosen.enabled)
    return FOUND if held else NOTHING_FOUND


@feedback.command()
@path_option
@click.option("--json", "as_json", is_flag=True, help="No effect: the output is always JSON.")
def export(place: str, as_json: bool) -> int:  # noqa: ARG001
    """Print every verdict as JSON lines, for whence feedback import."""
    with _open_feedback(place) as (_, _, learned):
        click.echo(as_text(learned), nl=False)
    return FOUND


@feedback.command("import")
@click.argument("file", metavar="FILE")
@path_option
@json_option
@set_option
def import_(file: str, place: str, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Import the output of whence feedback export (- reads standard input).

    Verdicts that already exist are not counted again.
    """
    with _open_feedback(place, assignments, enabled_only=True) as (_, chosen, learned):
        added = from_text(learned, _read(file), chosen)
    print_result(as_json, {"imported": added}, f"{added} new")
    return FOUND


@feedback.command()
@click.argument("symbols", nargs=-1, metavar="[SYMBOL]...")
@click.option("--yes", is_flag=True, help="Confirm; this cannot be undone.")
@path_option
@json_option
def reset(symbols: tuple[str, ...], yes: bool, place: str, as_json: bool) -> int:
    """Delete learned feedback, for some symbols or all.

    Erased from disk. The index and your files are not touched.
    """
    with _open_feedback(place) as (_, _, learned):
        chosen = [_only_one(name, _learned_symbols(learned, name)) for name in symbols]
        if not yes:
            what = f"what was learned of {', '.join(map(safe, chosen))}" if symbols else "everything that was learned here"
            raise UsageError(f"would forget {what}", hint="add --yes to do it")
        forgotten = forget(learned, chosen) if symbols else _reset(learned)
    print_result(as_json, {"forgotten": forgotten}, f"forgot {forgotten} verdicts" if forgotten is not None else "removed a damaged file")
    return FOUND


@feedback.command()
@click.option("--text-file", metavar="FILE", help="Text that was written or read (- reads standard input); from JSON, its strings.")
@click.option("--place", "touched", multiple=True, metavar="FILE[:FIRST[-LAST]]", help="A file, or lines of it, read or edited.")
@click.option("--symbol", "names", multiple=True, metavar="NAME", help="A symbol that was used.")
@path_option
@session_option
@json_option
@set_option
def used(
    text_file: str | None,
    touched: tuple[str, ...],
    names: tuple[str, ...],
    place: str,
    session: str,
    as_json: bool,
    assignments: tuple[str, ...],
) -> int:
    """Report what an agent read or edited; what it used counts as useful.

    For hooks: does not open an index. Symbols not used by the next answer count
    as not useful.
    """
    if text_file is None and not touched and not names:
        raise UsageError("nothing to look at", hint="give --text-file, --place or --symbol")
    text = _json_texts(_read(text_file)) if text_file is not None else ""
    with _open_feedback(place, assignments) as (target, chosen, learned):
        places = [_edited_range(target, one) for one in touched]
        found = (
            PendingFeedback(learned, chosen, session).used(text=text, places=places, names=names, now=time.time()) if chosen.enabled else []
        )
    print_result(as_json, {"used": found}, *(f"used {safe(symbol)}" for symbol in found))
    return FOUND if found else NOTHING_FOUND


# Opening.
@contextmanager
def _open_feedback(
    place: str, assignments: tuple[str, ...] = (), *, enabled_only: bool = False
) -> Iterator[tuple[Target, LearnSettings, FeedbackStore]]:
    """Open the feedback on the repository around a place, with the settings that weigh it."""
    target = targets_of((place,))[0]
    chosen = load_settings(target.root, command_line=settings_of(assignments))[0].learn
    if enabled_only and not chosen.enabled:
        raise UsageError("learning is switched off", hint="set learn.enabled=true")
    with closing(FeedbackStore.beside(layout_of(target.root).directory)) as learned:
        yield target, chosen, learned


def _read(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"{safe(file)}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return raw.decode("utf-8", "replace")


def _json_texts(raw: str) -> str:
    """All strings of a JSON document, as hooks receive it; any other text as it is."""
    if raw.lstrip()[:1] not in ("{", "["):
        return raw
    try:
        waiting = [json.loads(raw)]
    except (ValueError, RecursionError):
        return raw
    texts: list[str] = []
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            texts.append(one)
        elif isinstance(one, dict | list):
            waiting.extend(one.values() if isinstance(one, dict) else one)
    return "\n".join(texts)


def _edited_range(target: Target, written: str) -> EditedRange:
    found = _PLACE.match(written)
    first, last = (int(found["first"] or 1), int(found["last"] or found["first"] or END_OF_FILE)) if found else (0, 0)
    if found is None or not 1 <= first <= last:
        raise UsageError(f"--place {safe(written)!r} names no lines", hint="write FILE, FILE:LINE or FILE:FIRST-LAST")
    path = Path(os.path.abspath(found["path"]))  # noqa: PTH100  -- a file that is gone since is named all the same
    try:
        inside = Path(path.parent.resolve(), path.name).relative_to(target.root).as_posix()
    except ValueError as error:
        raise UsageError(f"{safe(found['path'])} is not in {safe(str(target.root))}", hint="--path names the repository") from error
    return EditedRange(inside, first, last)


# Verdicts.
def _record_verdicts(
    *,
    useful: bool,
    symbols: tuple[str, ...],
    task: str,
    place: str,
    session: str,
    no_refresh: bool,
    as_json: bool,
    assignments: tuple[str, ...],
) -> int:
    with (
        _open_feedback(place, assignments, enabled_only=True) as (target, chosen, learned),
        open_index(target.root, settings_of(assignments), refresh=not no_refresh) as index,
    ):
        keys = list(dict.fromkeys(_only_one(name, index.symbol_keys(name)) for name in symbols))
        now = time.time()
        records = [Verdict(key, useful, index.package_hash(key), task, now) for key in keys]
        say(learned, records, chosen, session)
        held = {one.symbol: one for one in opinions(learned, lambda symbol: _package_hash(index, symbol), chosen, keys)}
    kept = {"useful": useful, "task": records[0].task if records else "", "symbols": [_opinion_json(held[key]) for key in keys]}
    print_result(as_json, kept, *(f"{'useful' if useful else 'useless'} {safe(key)}: {_tally(held[key])}" for key in keys))
    return FOUND


def _only_one(name: str, keys: list[str]) -> str:
    if len(keys) > 1:
        listed = "\n".join(f"  {safe(key)}" for key in keys)
        raise UsageError(f"{len(keys)} symbols are called {safe(name)!r}; write one of these:\n{listed}")
    return keys[0]


def _learned_symbols(learned: FeedbackStore, name: str) -> list[str]:
    """The symbols with feedback that a name may refer to; they need not exist any more."""
    known = dict.fromkeys(record.symbol for record in records(learned))
    if name in known:
        return [name]
    found = [key for key in known if (own := key.partition("#")[2]) == name or own.endswith(f".{name}")]
    if not found:
        raise UsageError(f"nothing was learned of {safe(name)!r}", hint="see whence feedback list")
    return found


def _package_hash(index: Index, symbol: str) -> str:
    """The hash of the code around a symbol; empty if the symbol is gone."""
    try:
        return index.package_hash(symbol)
    except UsageError:
        return ""


def _reset(learned: FeedbackStore) -> int | None:
    """Delete all feedback and return the number of verdicts; None if the file was damaged."""
    try:
        return int((learned.rows("SELECT count(*) FROM records") or [(0,)])[0][0])
    except StorageError:
        return None
    finally:
        learned.reset()


# Printing.
def _tally(one: VerdictSummary) -> str:
    expired = f", {one.expired} expired" if one.expired else ""
    return f"{one.useful} useful, {one.useless} not{expired}: {one.boost:+.3f}"


def _print_learned(held: list[VerdictSummary], words: list[LearnedPair], *, enabled: bool) -> None:
    if not enabled:
        print_item("learning is switched off; this is what was learned before")
    if not held:
        print_item("nothing was learned here")
    for one in held:
        print_item(f"{safe(one.symbol)}: {_tally(one)}")
    counted = [pair for pair in words if pair.weight]
    if counted:
        print_item("words:")
    for pair in counted:
        print_more(f"  {safe(pair.keyword)} -> {safe(pair.symbol)}: {pair.count} times, {pair.weight:.2f}")


def _opinion_json(one: VerdictSummary) -> dict[str, Any]:
    return asdict(one) | {"boost": round(one.boost, 6)}
