"""The pieces of a query: plain words, and what may be an operator. What it is in the end, `language` decides."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace

from whence.core.errors import QueryError
from whence.core.types import KINDS
from whence.parse.languages import KNOWN_NAMES, LANGUAGES
from whence.query.filters import CONTENTS, check_glob
from whence.query.pattern import Pattern, compile_pattern

TEXT, FIELD, PHRASE, REGEX, WORD, OR, AND, OPEN, CLOSE = "text field phrase regex word or and open close".split()
#: Fields, each with what may stand after its colon without quotes.
_NAME, _PLACE, _SYMBOL = r"[\w+#.-]+", r"[\w.*?@+#~$:/\[\]-]+", r"[\w.:#$~@/\\-]+(?:\(\))?"
VALUES = {
    "path": _PLACE,
    "lang": _NAME,
    "language": _NAME,
    "kind": _NAME,
    "sym": _SYMBOL,
    "callers": _SYMBOL,
    "callees": _SYMBOL,
    "in": _NAME,
}
#: Fields whose values are known beforehand: nothing else looks like one with such a value.
CLOSED = frozenset({"lang", "kind", "in"})
NOTES = "notes"
PLACES = (*CONTENTS, NOTES)
_FIELDS = {name: re.compile(rf'{name}:(?:"(?P<quoted>(?:[^"\\]|\\.)+)"|(?P<value>(?![:/]/|:){value}))') for name, value in VALUES.items()}
_FIELD_NAME = re.compile(rf"({'|'.join(sorted(VALUES, key=len, reverse=True))}):")
_UNCLOSED_FIELD = re.compile(rf'(?:{"|".join(VALUES)}):"[^"]*$')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SLASHED = re.compile(r"/((?:[^/\\]|\\.)+)/(i?)")
#: A field under a name that is none: `lag:go`.
_NEARLY_FIELD = re.compile(r"-?([a-z]{2,10}):[\w\"./*]")
_NOT_WANTED = re.compile(r"-([A-Za-z_]\w{2,})")
#: A minus in letters, before a field alone: elsewhere it is a word.
_SPELLED_NOT = re.compile(r"NOT\s+(?=[a-z]+:|[(\"/])")
_CHUNK = re.compile(r"\S+")
#: What only a regular expression has: a set with a range, a quantifier after something, a class, an edge, alternatives.
_META = re.compile(
    r"\[(?:\^[^\]]|[^\]]*(?:\w-\w|\\))[^\]]*\]|\[[^\]]+\][*+?{]|[.)\]][*+]|\w\+|\.\?|\)\?|\w\?(?!\w+=)|\\[bBdDsSwW.(){}\[\]*+?|^$/<>]"
    r"|^\^|\$$|\(\?|[^\s|]\|[^\s|]|\{\d+(?:,\d*)?\}"
)
_ALIASES = {"golang": "go", "c++": "cpp", "c#": "csharp", "f#": "fsharp", "shell": "bash", "sh": "bash", "terraform": "hcl"}
NEARLY = 0.75


@dataclass(frozen=True, slots=True)
class QueryToken:
    """A part of a query and where it stands. `wrong` says why it cannot be what it looks like."""

    kind: str
    start: int
    end: int
    name: str = ""
    value: str = ""
    negated: bool = False
    sure: bool = False  # nothing else looks like this
    wrong: str = ""
    hint: str = ""
    at: int = 0  # where the fault is, or the value
    pattern: Pattern | None = None


def syntax_error(message: str, query: str, at: int, hint: str = "") -> QueryError:
    """A mistake in a query, with a caret under it."""
    shown = "".join(character if character.isprintable() else " " for character in query)
    return QueryError(f"{message}\n  {shown}\n  {' ' * min(at, len(shown))}^", hint=hint, at=at)


def tokenize(query: str) -> list[QueryToken]:
    """The pieces of a query in order, each read as the operator that it looks like most."""
    found: list[QueryToken] = []
    at, depth = 0, 0
    while at < len(query):
        if query[at].isspace():
            at += 1
            continue
        piece = _piece_at(query, at, depth)
        found.append(piece)
        at = piece.end
        depth += (piece.kind == OPEN) - (piece.kind == CLOSE)
    return found


def _piece_at(query: str, at: int, depth: int) -> QueryToken:
    if query[at] == ")" and depth and _ends(query, at + 1, depth):
        return QueryToken(CLOSE, at, at + 1)
    if spelled := _SPELLED_NOT.match(query, at):
        begin = spelled.end()
        if query[begin] == "(":
            return QueryToken(OPEN, at, begin + 1, negated=True)
        read = _field(query, begin, depth) or _phrase(query, begin, depth) or _regex(query, begin, depth)
        return replace(read, start=at, negated=True) if read and read.kind != TEXT else QueryToken(TEXT, at, at + 3, value="NOT")
    negated = query[at] == "-"
    begin = at + negated
    if query[begin : begin + 1] == "(":
        return QueryToken(OPEN, at, begin + 1, negated=negated)
    read = _field(query, begin, depth) or _phrase(query, begin, depth) or _regex(query, begin, depth)
    if read is not None:
        return replace(read, start=at, negated=negated, sure=(read.sure or negated) and not read.wrong)
    return _chunk(query, at, depth)


def _ends(query: str, at: int, depth: int) -> bool:
    """Whether a piece may end here: before a blank or the end, or before the end of a group."""
    rest = query[at : at + 1]
    return not rest or rest.isspace() or (rest == ")" and depth > 0 and query[at:].lstrip(")")[:1].strip() == "")


def _field(query: str, at: int, depth: int) -> QueryToken | None:
    begins = _FIELD_NAME.match(query, at)
    if not begins:
        return None
    found = _FIELDS[begins.group(1)].match(query, at)
    if not found or not _ends(query, found.end(), depth):
        unclosed = _UNCLOSED_FIELD.match(query, at)
        return QueryToken(TEXT, at, _chunk_end(query, at), wrong="the quote is never closed", at=begins.end()) if unclosed else None
    name = "lang" if begins.group(1) == "language" else begins.group(1)
    quoted = found.group("quoted")
    value = re.sub(r"\\(.)", r"\1", quoted).strip() if quoted is not None else found.group("value")
    if "//" in value or not value:
        return None
    value, wrong, hint = _checked(name, value)
    return QueryToken(FIELD, at, found.end(), name, value, sure=not wrong, wrong=wrong, hint=hint, at=begins.end())


def _checked(name: str, value: str) -> tuple[str, str, str]:
    """A field's value as it is kept; what is wrong with it, and a hint."""
    if name == "lang":
        known = _language(value)
        return (known, "", "") if known else (value, f"language {value!r} is not known", nearest(value.lower(), KNOWN_NAMES))
    if name in ("kind", "in"):
        allowed = tuple(sorted(KINDS)) if name == "kind" else PLACES
        what = f"kind {value!r} is not known" if name == "kind" else f"{value!r} is no place to search in"
        return (value.lower(), "", "") if value.lower() in allowed else (value, what, nearest(value.lower(), allowed))
    if name == "path":
        try:
            check_glob(value)
        except QueryError as error:
            return value, error.message, error.hint
    return value, "", ""


def _language(value: str) -> str:
    small = value.lower().lstrip(".")
    by_ending = {ending.lstrip("."): one.name for one in reversed(LANGUAGES) for ending in one.extensions}
    return small if small in KNOWN_NAMES else _ALIASES.get(small) or by_ending.get(small, "")


def nearest(value: str, allowed: tuple[str, ...]) -> str:
    """A hint: what is written most like a value that is not allowed, or all that is."""
    from difflib import get_close_matches  # noqa: PLC0415  -- only where something is wrong

    near = get_close_matches(value, allowed, 1)
    return f"nearest: {near[0]}" if near else f"allowed: {', '.join(allowed)}"


def _phrase(query: str, at: int, depth: int) -> QueryToken | None:
    if query[at : at + 1] != '"':
        return None
    found = _QUOTED.match(query, at)
    if not found:
        return QueryToken(TEXT, at, _chunk_end(query, at), wrong="the quote is never closed", at=at)
    if not _ends(query, found.end(), depth) or not found.group(1).strip():
        return None
    return QueryToken(PHRASE, at, found.end(), value=" ".join(re.sub(r'\\(["\\])', r"\1", found.group(1)).split()), at=at)


#: What stands between slashes and is a folder rather than a pattern, even where nothing else is asked.
FOLDERS = frozenset("api app bin dev etc home lib media mnt opt proc root run sbin src srv sys tmp users usr var www".split())


def _regex(query: str, at: int, depth: int) -> QueryToken | None:
    found = _SLASHED.match(query, at)
    if not found or not _ends(query, found.end(), depth):
        return None
    body, flag = found.groups()
    alone = not query[:at].strip() and not query[found.end() :].strip() and body.lower().rstrip("*") not in FOLDERS
    meant = bool(flag) or alone or _META.search(body) is not None
    if body[0].isspace() or body[-1].isspace() or body[0] == "*" or (any(map(str.isspace, body)) and not meant):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pattern = compile_pattern(body.replace(r"\/", "/"), ignore_case=bool(flag))
    except QueryError as error:
        wrong = error.message.partition("\n")[0]
        return QueryToken(REGEX, at, found.end(), value=body, wrong=wrong, at=at + 1 + _where(error))
    return QueryToken(REGEX, at, found.end(), value=found.group(), sure=meant, at=at, pattern=pattern)


def _where(error: QueryError) -> int:
    """How far into a pattern its mistake is, where that is known."""
    lines = error.message.split("\n")
    return lines[-1].index("^") - 2 if len(lines) > 1 and "^" in lines[-1] else 0


def _chunk_end(query: str, at: int) -> int:
    found = _CHUNK.match(query, at)
    return found.end() if found else at


def _chunk(query: str, at: int, depth: int) -> QueryToken:
    """A run of letters without a blank; a parenthesis at its end that nothing in it opens may close a group."""
    end = _chunk_end(query, at)
    while depth and end > at + 1 and query[end - 1] == ")" and query[at:end].count(")") > query[at:end].count("("):
        end -= 1
    chunk = query[at:end]
    if chunk in ("OR", "AND"):
        return QueryToken(OR if chunk == "OR" else AND, at, end)
    if unwanted := _NOT_WANTED.fullmatch(chunk):
        return QueryToken(WORD, at, end, value=unwanted.group(1), negated=True, at=at)
    return QueryToken(TEXT, at, end, value=chunk)


def nearly_field(piece: QueryToken) -> str:
    """The field that a word is nearly written like; empty where it is like none."""
    from difflib import get_close_matches  # noqa: PLC0415  -- only where a query has operators

    found = _NEARLY_FIELD.match(piece.value)
    if not found or found.group(1) in VALUES:
        return ""
    return next(iter(get_close_matches(found.group(1), list(VALUES), 1, NEARLY)), "")
