"""Which pieces of a query are operators beyond doubt; all others are text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from whence.parse import tokens
from whence.query.manner import Manner, manner_of
from whence.query.reading import AND, CLOSE, CLOSED, FIELD, FOLDERS, OPEN, OR, PHRASE, REGEX, TEXT, WORD, Piece, fault, nearly_field

#: Words of programs that take a text in quotes: what follows them is that text.
_TAKES_TEXT = frozenset(
    "import include require from return raise throw puts print println echo case extern use export package using yield assert goto".split()
)
#: What texts in programs have where something is put in, and no phrase that is looked for.
_FILLED_IN = re.compile(r"#\{|\$[\w{(]|%[sdvq@(<{-]|%$|<%|\{\}|\\[nrt]")
#: A name with something inside that no word has: what follows it in quotes is its argument.
_CALLED = re.compile(r"\w[_.:]+\w")
#: Words of messages that name something in quotes.
_TELLS_NAME = frozenset(
    "no not cannot unable failed invalid unexpected expected undefined unknown unrecognized missing named called error exception type "
    "module variable key file property attribute option argument table column value string".split()
)
#: What is joined to the next word by a dash that stands at the wrong place.
_PREFIXES = frozenset("non pre post re multi self well anti co sub semi cross un meta".split())


def meant(query: str, pieces: list[Piece]) -> list[Piece]:
    """The pieces of a query with all that is doubtful as text; a mistake that is one beyond doubt is raised."""
    pieces = [replace(piece, sure=True) if _is_alternative(place, pieces) else piece for place, piece in enumerate(pieces)]
    words = [piece.value for piece in pieces if piece.kind == TEXT]
    dashed = [query[piece.start : piece.end] for piece in pieces if piece.kind == WORD]
    manner = manner_of(words, dashed)
    allowed = _places(pieces, manner)
    sure = [piece for place, piece in enumerate(pieces) if place in allowed and piece.sure]
    if manner.foreign and not any(piece.kind == FIELD and (piece.name in CLOSED or piece.negated) for piece in sure):
        sure = []
    kept = [
        piece if place in allowed and _is_meant(place, pieces, manner, sure=bool(sure)) else _as_text(query, piece)
        for place, piece in enumerate(pieces)
    ]
    _refuse(query, pieces, kept, allowed, manner, sure)
    joined = _joining(query, kept, manner, sure=bool(sure))
    grouped = _grouping(query, joined, sure=bool(sure))
    loose = _count(OR, kept) > _count(OR, joined) or _count(OPEN, kept) != _count(CLOSE, kept)  # an end of something else
    if not any(map(_is_operator, grouped)) or (loose and not sure):
        return [_as_text(query, piece) for piece in pieces]
    return grouped


def _is_alternative(place: int, pieces: Sequence[Piece]) -> bool:
    """Whether a piece can only be an expression, because it stands beside OR."""
    piece = pieces[place]
    beside = [*pieces[max(place - 1, 0) : place], *pieces[place + 1 : place + 2]]
    folder = piece.value.strip("/").lower() in FOLDERS
    return piece.kind == REGEX and not piece.wrong and not folder and any(one.kind == OR for one in beside)


def _places(pieces: Sequence[Piece], manner: Manner) -> Collection[int]:
    """Where operators may stand: anywhere among a few words, else before and after the text."""
    if manner.free:
        return range(len(pieces))
    plain = [place for place, piece in enumerate(pieces) if piece.kind == TEXT and not piece.wrong]
    return {place for place in range(len(pieces)) if not plain or place < plain[0] or place > plain[-1]}


def _is_meant(place: int, pieces: Sequence[Piece], manner: Manner, *, sure: bool) -> bool:  # noqa: PLR0911  -- one for each kind
    """Whether a piece that may be an operator by its place is one; those that join others are looked at later."""
    piece = pieces[place]
    if piece.kind in (TEXT, OR, AND, OPEN, CLOSE):
        return True
    if piece.wrong:
        return False
    if piece.kind == FIELD or piece.sure:
        return sure
    if manner.foreign or not (manner.free or sure):
        return False
    before = pieces[place - 1].value.lower() if place and pieces[place - 1].kind == TEXT else ""
    if piece.kind == WORD:
        return sure or (not manner.binding and place > 0 and before not in _PREFIXES and not _is_alone(pieces))
    if piece.kind == PHRASE and not sure:
        return _is_phrase(piece, pieces, before, manner)
    return sure


def _is_alone(pieces: Sequence[Piece]) -> bool:
    return not any(piece.kind in (TEXT, PHRASE, OPEN) for piece in pieces)


def _is_phrase(piece: Piece, pieces: Sequence[Piece], before: str, manner: Manner) -> bool:
    """Whether a text in quotes must be found as it stands: not the argument of a program, nor a name in a message."""
    if manner.shell or before in _TAKES_TEXT or _CALLED.search(before) or _FILLED_IN.search(piece.value):
        return False
    if not re.search(r"\w\w", piece.value):  # one letter says nothing
        return False
    others = {one.value.lower() for one in pieces if one.kind == TEXT}
    return " " in piece.value or not others & _TELLS_NAME


def _count(kind: str, pieces: Sequence[Piece]) -> int:
    return sum(piece.kind == kind for piece in pieces)


def _is_operator(piece: Piece) -> bool:
    return piece.kind not in (TEXT, AND)


def _as_text(query: str, piece: Piece) -> Piece:
    return Piece(TEXT, piece.start, piece.end, value=query[piece.start : piece.end])


def _refuse(
    query: str, pieces: Sequence[Piece], kept: Sequence[Piece], allowed: Collection[int], manner: Manner, sure: Sequence[Piece]
) -> None:
    """Raise the first mistake that is one beyond doubt."""
    if manner.foreign and not sure:
        return
    for place, piece in enumerate(pieces):
        if place not in allowed or kept[place].kind != TEXT:
            continue
        if piece.wrong and piece.kind == FIELD and not manner.near_code:
            near = piece.hint.startswith("nearest")
            if sure or (manner.free and piece.name != "in") or (near and piece.name in ("lang", "kind", "in")):
                raise fault(piece.wrong, query, piece.at, piece.hint)
        elif piece.wrong and sure:
            raise fault(piece.wrong, query, piece.at)
        elif sure and manner.free and piece.kind == TEXT and (near_field := nearly_field(piece)):
            raise fault(f"there is no field {piece.value.partition(':')[0]!r}", query, piece.start, f"nearest: {near_field}:")
        elif sure and piece.kind == TEXT and re.match(r"(?:path|lang|kind|sym|callers|callees|in):[^\s()]+\)+$", piece.value):
            raise fault("the parenthesis closes nothing", query, piece.end - 1)


def _joining(query: str, kept: list[Piece], manner: Manner, *, sure: bool) -> list[Piece]:
    """OR only between two things that it can join."""
    found = list(kept)
    for place, piece in enumerate(kept):
        if piece.kind != OR:
            continue
        sides = (kept[place - 1] if place else None, kept[place + 1] if place + 1 < len(kept) else None)
        whole = all(side is not None and _can_be_joined(side, at) for side, at in zip(sides, (CLOSE, OPEN), strict=True))
        operators = all(side is not None and _is_operator(side) and side.kind != OR for side in sides)
        if whole and (operators or (manner.free and not manner.shouting and not manner.sql)):
            continue
        if sure and not whole and manner.free:
            raise fault("OR needs something on both sides", query, piece.start, "write it in quotes to search for the word")
        found[place] = _as_text(query, piece)
    return found


def _can_be_joined(side: Piece, edge: str) -> bool:
    if side.kind == TEXT:
        return len(side.value) > 1 and any(map(str.isalpha, side.value)) and any(map(tokens.terms, tokens.words(side.value)))
    return side.kind in (FIELD, PHRASE, REGEX, WORD, edge) or (edge == OPEN and side.kind == OPEN)


def _grouping(query: str, kept: list[Piece], *, sure: bool) -> list[Piece]:
    """Parentheses only in pairs, and around some operator."""
    found, opened = list(kept), []
    for place, piece in enumerate(kept):
        if piece.kind == OPEN:
            opened.append(place)
        elif piece.kind == CLOSE and opened:
            first = opened.pop()
            if not any(_is_operator(one) and one.kind not in (OPEN, CLOSE) for one in found[first + 1 : place]):
                found[first], found[place] = _as_text(query, kept[first]), _as_text(query, piece)
        elif piece.kind == CLOSE:
            found[place] = _as_text(query, piece)
    for place in opened:
        inside = [one for one in found[place + 1 :] if _is_operator(one)]
        if any(one.kind == OR or one.sure for one in inside) or (sure and inside):
            raise fault("the parenthesis is never closed", query, kept[place].end - 1)
        found[place] = _as_text(query, kept[place])
    return found
