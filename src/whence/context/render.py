"""The formats of a pack: Markdown, XML and JSON, with the same bytes for the same items.

Source cannot pass for our own text: fences are longer than any in it, XML and JSON are well-formed, invisible characters
are escaped, and what reads like an instruction is flagged (Z11).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from whence.context.budget import DIFF, Detail, PackHeader, PackItem, Renderer, Tally
from whence.core.errors import UsageError
from whence.core.types import CODE
from whence.parse.languages import UNKNOWN, language_of
from whence.parse.paths import provenance_json, sort_of
from whence.text.injection import Instruction, escape_invisible, flags_json, flags_of, warning_of

#: Characters of the task in the header: it may be a whole issue.
LONGEST_TASK = 240
#: Control characters, lone surrogates and non-characters.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
#: What Markdown would interpret outside of a fence: links, images, tags, headings.
_ACTIVE = re.compile(r"[\[\]<>`*#!|~\\]|(?<!\w)_|_(?!\w)|https?:")
_BACKQUOTES = re.compile("`+")
_ASCII_CONTROLS = bytes((*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F))


#: What reads like an instruction, by key and detail of an item.
Flags = Mapping[tuple[str, Detail], Sequence[Instruction]]


def flags_shown(piece: PackItem, form: Detail, lines: Sequence[int] = ()) -> list[Instruction]:
    """What reads like an instruction in as much of a piece as is shown."""
    names = (piece.path, piece.qualified_name)
    if form is Detail.BODY:
        return flags_of([(piece.start_line, piece.body)], names)
    if form is Detail.EXCERPT:
        body = piece.body.split("\n")
        return flags_of([(number, body[number - piece.start_line]) for number in lines], names)
    said = [(piece.start_line, _line(f"{piece.signature} {piece.doc}"))] if form is Detail.SIGNATURE else []
    return flags_of(said, names)


class _Flagging:
    """A format that flags items."""

    def __init__(self, flags: Flags | None = None) -> None:
        self._flags: Flags = flags or {}

    def flags(self, piece: PackItem, form: Detail) -> Sequence[Instruction]:
        return self._flags.get((piece.key, form), ()) if self._flags else ()

    def warning(self, piece: PackItem, form: Detail) -> str:
        return warning_of(self.flags(piece, form)) if self._flags else ""

    def join(self, head: str, symbols: Sequence[str]) -> str:
        return head + "".join(symbols)


class Markdown(_Flagging):
    """Bodies under headings, everything else as items of a list."""

    def head(self, head: PackHeader) -> str:
        """The task, and how fresh the index is."""
        return f"# {_task(head)}\n\n" + (f"{_facts(head.freshness)}\n\n" if head.freshness else "")

    def symbol(self, piece: PackItem, form: Detail) -> str:
        """A heading with fenced source, or one line; before it, the heading of the section that it opens."""
        return (f"\n# {_line(piece.section)}\n" if piece.opens else "") + self._item(piece, form)

    def _item(self, piece: PackItem, form: Detail) -> str:
        if form in (Detail.BODY, Detail.EXCERPT):
            return self._body(piece, form)
        pointer = f"- {_inline_code(_pointer(piece))}"
        warning = f"\n  {said}" if (said := self.warning(piece, form)) else ""
        if form is Detail.POINTER:
            return f"{pointer}{warning}\n"
        signature = f" {_inline_code(_line(piece.signature))}" if piece.signature.strip() else ""
        doc = f" {_inert(_line(piece.doc))}" if piece.doc.strip() else ""
        because = f" ({_inert(_line(piece.because))})" if piece.because.strip() else ""
        return f"{pointer}{signature}{doc}{because}{warning}\n"

    def foot(self, head: PackHeader, tally: Tally) -> str:
        """One line."""
        return f"\n{_account(head, tally)}\n"

    def _body(self, piece: PackItem, form: Detail) -> str:
        source = _source(piece.body)
        fence = _quotes_around(source, "```")
        because = f" ({_inert(_line(piece.because))})" if piece.section and piece.because.strip() else ""
        lines = f":{piece.start_line}-{piece.end_line} {_label(piece.qualified_name)}" if piece.kind != DIFF else ""
        title = _inline_code(f"{_label(piece.path)}{lines}".rstrip())
        warning = f"{said}\n" if (said := self.warning(piece, form)) else ""
        excerpt = f", {_share_shown(piece)}" if form is Detail.EXCERPT else ""
        outline = f"in {_inert(_line(piece.outline))}\n" if piece.outline else ""
        tag = DIFF if piece.kind == DIFF else _tag(piece.path)
        return f"\n## {title} {_sorted(piece)}{excerpt}{because}\n{warning}{outline}{fence}{tag}\n{source}{fence}\n"


class Xml(_Flagging):
    """One element for each symbol; well-formed whatever the source holds."""

    def head(self, head: PackHeader) -> str:
        """The open element, and how fresh the index is."""
        fresh = f"<freshness>{_escaped(_facts(head.freshness))}</freshness>\n" if head.freshness else ""
        warning = f"<warning>{_escaped(_line(head.warning))}</warning>\n" if head.warning else ""
        return f"<context task={_quoted(_task(head))}>\n{fresh}{warning}"

    def symbol(self, piece: PackItem, form: Detail) -> str:
        """Where it is, and what is shown of it."""
        section = f" section={_quoted(_line(piece.section))}" if piece.section else ""
        if form is Detail.POINTER:
            return f"<symbol{section}{self._flag(piece, form)}>{_escaped(_pointer(piece))}</symbol>\n"
        because = f" because={_quoted(_line(piece.because))}" if piece.because.strip() else ""
        opening = f"<symbol{section} at={_quoted(_pointer(piece))} kind={_quoted(_sorted(piece))}{because}{self._flag(piece, form)}"
        if form in (Detail.BODY, Detail.EXCERPT):
            shown = f" excerpt={_quoted(_share_shown(piece))}" if form is Detail.EXCERPT else ""
            outline = f" in={_quoted(_line(piece.outline))}" if piece.outline else ""
            return f'{opening} end="{piece.end_line}"{shown}{outline}>\n{_cdata(_source(piece.body))}</symbol>\n'
        doc = f"\n<doc>{_escaped(_line(piece.doc))}</doc>" if piece.doc.strip() else ""
        return f"{opening}>{_cdata(_line(piece.signature))}{doc}</symbol>\n"

    def _flag(self, piece: PackItem, form: Detail) -> str:
        said = self.warning(piece, form)
        return f" flag={_quoted(said.removeprefix('! '))}" if said else ""

    def foot(self, head: PackHeader, tally: Tally) -> str:
        """The numbers, and the end of the context."""
        return f"<budget>{_escaped(_account(head, tally))}</budget>\n</context>\n"


class Json(_Flagging):
    """One object, one line for each symbol.

    `task`, `freshness`, `warning` where the answer is most likely not here, `symbols` (each with its `section` in a review,
    `form`, `key`, `start_line`; from the signature on also `end_line`, `path`, `name`, `kind` and, where there is one, `because`;
    then `signature` and `doc`, or `body`, with `lines_shown` where that is an excerpt and `in`, one line on its type; `provenance`
    where the file is not code, `flags` where something reads like an instruction), `inside` (how many are part of the body of
    another), `left_out` (`count`, and `how` to get them), `budget`, `tokens`.
    """

    def head(self, head: PackHeader) -> str:
        """Everything up to the symbols."""
        warning = f'"warning":{_json(_line(head.warning))},' if head.warning else ""
        return f'{{"task":{_json(_task(head))},"freshness":{_json(dict(head.freshness))},{warning}"symbols":[\n'

    def symbol(self, piece: PackItem, form: Detail) -> str:
        """An object with the comma before it."""
        shown: dict[str, Any] = {"section": _line(piece.section)} if piece.section else {}
        shown |= {"form": form.name.lower(), "key": piece.key, "start_line": piece.start_line}
        if form is not Detail.POINTER:
            shown |= {"end_line": piece.end_line, "path": piece.path, "name": piece.qualified_name, "kind": piece.kind}
            shown |= {"because": _line(piece.because)} if piece.because.strip() else {}
            shown |= provenance_json(piece.path)
        shown |= flags_json(self.flags(piece, form))
        if form is Detail.SIGNATURE:
            shown |= {name: text for name, text in (("signature", _line(piece.signature)), ("doc", _line(piece.doc))) if text}
        if form in (Detail.BODY, Detail.EXCERPT):
            shown |= {"in": _line(piece.outline)} if piece.outline else {}
            shown |= {"lines_shown": len(piece.lines)} if form is Detail.EXCERPT else {}
            shown["body"] = _source(piece.body, visible=False)
        return f",{_json(shown)}\n"

    def foot(self, head: PackHeader, tally: Tally) -> str:
        """Everything after the symbols."""
        left_out: dict[str, Any] = {"count": tally.left_out} | ({"how": _line(head.hint)} if tally.left_out and head.hint else {})
        return f'],"inside":{tally.inside},"left_out":{_json(left_out)},"budget":{tally.budget},"tokens":{tally.tokens}}}\n'

    def join(self, head: str, symbols: Sequence[str]) -> str:
        """No comma before the first."""
        return head + "".join(symbols).removeprefix(",")


RENDERERS: dict[str, type[Markdown | Xml | Json]] = {"markdown": Markdown, "xml": Xml, "json": Json}


def renderer(name: str, flags: Flags | None = None) -> Renderer:
    """The format with a name, and its flags."""
    if name not in RENDERERS:
        raise UsageError(f"there is no format {name!r}", hint=f"one of: {', '.join(RENDERERS)}")
    return RENDERERS[name](flags)


def _account(head: PackHeader, tally: Tally) -> str:
    """The budget, what is shown and left out, and how to get the rest (Z4)."""
    inside = f", {tally.inside} inside these" if tally.inside else ""
    more = f"; {_line(head.hint)}" if tally.left_out and head.hint.strip() else ""
    excerpts = f"{tally.excerpts} with an excerpt, " if tally.excerpts else ""
    shown = f"{tally.bodies} with body, {excerpts}{tally.signatures} with signature, {tally.pointers} named{inside}"
    return f"Tokens: {tally.budget} asked, {tally.tokens} given. Symbols: {shown}, {tally.left_out} left out{more}"


def _share_shown(piece: PackItem) -> str:
    return f"{len(piece.lines)} of {piece.end_line - piece.start_line + 1} lines"


def _pointer(piece: PackItem) -> str:
    return f"{_label(piece.path)}:{piece.start_line} {_label(piece.qualified_name)}" if piece.qualified_name else _label(piece.path)


def _task(head: PackHeader) -> str:
    task = _line(head.task)
    return task if len(task) <= LONGEST_TASK else f"{task[:LONGEST_TASK].rstrip()}…"


def _facts(facts: Mapping[str, Any]) -> str:
    words = {True: "yes", False: "no"}
    said = [
        f"{name.replace('_', ' ')} {words[value] if isinstance(value, bool) else value}"
        for name, value in facts.items()
        if value is not None
    ]
    return _line(" · ".join(said))


@lru_cache(maxsize=1024)
def _tag(path: str) -> str:
    """The language, as written after a fence."""
    language = language_of(path)
    return "" if language is UNKNOWN else language.name


def _line(text: str) -> str:
    return " ".join(_printable(text).split()) if text else ""


def _label(text: str) -> str:
    """A path or a name on one line, with its spaces."""
    return text if text.isprintable() else _printable(" ".join(text.splitlines()).replace("\t", " "))


def _source(text: str, *, visible: bool = True) -> str:
    """Source with whole lines and without unprintable characters."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    return f"{_printable(lines, visible=visible)}\n"


def _printable(text: str, *, visible: bool = True) -> str:
    if text.isascii():  # nearly always, and much faster
        plain = text.encode("ascii")
        if len(plain.translate(None, _ASCII_CONTROLS)) == len(plain):
            return text
    printed = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return escape_invisible(printed) if visible else printed


def _inert(text: str) -> str:
    """Foreign text inside ours: as code if Markdown would interpret it."""
    return _inline_code(text) if _ACTIVE.search(text) else text


def _sorted(piece: PackItem) -> str:
    """The kind of a symbol, and the sort of its file if that is not code."""
    sort = sort_of(piece.path)
    return _line(piece.kind) if sort == CODE else f"{_line(piece.kind)}, {sort}"


def _inline_code(text: str) -> str:
    """A code span: more backquotes around it than in it."""
    quotes = _quotes_around(text, "`")
    return f"{quotes}{text}{quotes}" if quotes == "`" else f"{quotes} {text} {quotes}"


def _quotes_around(text: str, fewest: str) -> str:
    """Backquotes that do not occur in the text, no fewer than given."""
    return fewest if fewest not in text else "`" * (max(map(len, _BACKQUOTES.findall(text))) + 1)


def _escaped(text: str) -> str:
    """Text for XML; loading the standard library's module takes longer than rendering a pack."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(text: str) -> str:
    """An attribute's value with the quotes around it."""
    escaped = _escaped(text).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")
    return f'"{escaped}"' if '"' not in escaped else f"'{escaped}'" if "'" not in escaped else '"' + escaped.replace('"', "&quot;") + '"'


def _cdata(text: str) -> str:
    """Source without escapes, which would cost tokens; only the end mark is split."""
    return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"


def _json(value: Any) -> str:
    """Compact JSON without escapes, which cost tokens, except for invisible characters."""
    text = _printable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str), visible=False)
    return text if text.isascii() else escape_invisible(text, lambda character: json.dumps(character)[1:-1])
