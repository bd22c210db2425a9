"""Context packs and ranked symbols as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from whence.app.note_hints import NoteHint, hint_lines, notes_json
from whence.app.presenters.text import Document, safe

if TYPE_CHECKING:
    from whence.context.pack import ContextPack, Symbol

#: Longer names are not aligned.
_MAX_NAME = 60


def pack_json_with_notes(pack: ContextPack, hints: Sequence[NoteHint]) -> str | None:
    """A pack in JSON with its notes and what it costs then; None if that exceeds the budget."""
    from whence.text.token_estimate import count_tokens  # noqa: PLC0415  -- loaded with the pack

    before, _, _ = pack.text.rpartition(',"budget":')
    notes = json.dumps(notes_json(hints), ensure_ascii=True, separators=(",", ":"))[1:-1]
    tokens = 0
    while (cost := count_tokens(text := f'{before},{notes},"budget":{pack.budget},"tokens":{tokens}}}\n')) > tokens:
        tokens = cost  # the number is part of the text that it counts
    return text if tokens <= pack.budget else None


def symbols_document(
    symbols: Sequence[Symbol], hints: Sequence[NoteHint], style: Callable[..., str], written: Callable[[str], str], *, with_why: bool
) -> Document:
    """Ranked symbols, one item each, and notes about them; `written` turns a path into the one to show."""
    document = Document()
    width = min(max((len(one.qualified_name) for one in symbols), default=0), _MAX_NAME)
    for number, one in enumerate(symbols, 1):
        name = style(safe(one.qualified_name).ljust(width), bold=True)
        path = written(one.path)
        where = style(f"{safe(path)}:{one.start_line}", fg="magenta", link=(path, one.start_line))
        document.item(f"{number:>3}  {one.score:>7.3f}  {name}  {one.kind:<9} {where}")
        for line in sorted(one.why, key=lambda line: -abs(line.contribution)) if with_why else ():
            if round(line.contribution, 4):
                document.more(style(f"     {line.contribution:>+9.4f}  {line.signal:<14} {safe(line.because)}", dim=True))
    for hint in hint_lines(hints):
        document.item(style(hint, fg="cyan"))
    return document


def symbols_json(
    pack: ContextPack, symbols: Sequence[Symbol], hints: Sequence[NoteHint], written: Callable[[str], str], *, with_why: bool
) -> dict[str, Any]:
    """The same as JSON."""
    listed = [_symbol_json(written(one.path), one, with_why=with_why) for one in symbols]
    return {"task": pack.task, "symbols": listed, "ranked": len(pack.symbols), **notes_json(hints)}


def _symbol_json(path: str, one: Symbol, *, with_why: bool) -> dict[str, Any]:
    from whence.parse.paths import provenance_json  # noqa: PLC0415  -- loaded with the pack
    from whence.text.injection import flags_json, flags_of  # noqa: PLC0415  -- loaded with the pack

    return {
        "qualified_name": one.qualified_name,
        "kind": one.kind,
        "path": path,
        **{name: getattr(one, name) for name in ("start_line", "end_line", "score", "found_by")},
        **provenance_json(one.path),
        **flags_json(flags_of((), (one.path, one.qualified_name))),
        **({"why": [{name: getattr(line, name) for name in line.__slots__} for line in one.why]} if with_why else {}),
    }
