"""The tokens of a query: plain words, and whatever may be an operator. The parser decides which ones are operators."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

from whence.core.errors import QueryError
from whence.core.types import KINDS
from whence.parse.languages import KNOWN_NAMES, LANGUAGES
from whence.query.filters import CONTENTS, Pattern, check_glob, compile_pattern
from whence.text.tables import word_sections

TEXT, FIELD, PHRASE, REGEX, WORD, OR, AND, OPEN, CLOSE = "text field phrase regex word or and open close".split()
#: What a field's value may be without quotes.
_NAME, _PATH, _SYMBOL = r"[\w+#.-]+", r"[\w.*?@+#~$:/\[\]-]+", r"[\w.:#$~@/\\-]+(?:\(\))?"
FIELDS = {
    "path": _PATH,
    "lang": _NAME,
    "language": _NAME,
    "kind": _NAME,
    "sym": _SYMBOL,
    "callers": _SYMBOL,
    "callees": _SYMBOL,
    "in": _NAME,
}
#: Fields with a fixed set of values: with such a value they cannot be anything else.
CLOSED_FIELDS = frozenset({"lang", "kind", "in"})
NOTES = "notes"
SCOPES = (*CONTENTS, NOTES)
_FIELD = {name: re.compile(rf'{name}:(?:"(?P<quoted>(?:[^"\\]|\\.)+)"|(?P<value>(?![:/]/|:){value}))') for name, value in FIELDS.items()}
_FIELD_NAME = re.compile(rf"({'|'.join(sorted(FIELDS, key=len, reverse=True))}):")
_UNCLOSED_FIELD = re.compile(rf'(?:{"|".join(FIELDS)}):"[^"]*$')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SLASHED = re.compile(r"/((?:[^/\\]|\\.)+)/(i?)")
#: Something like a field: `lag:go`.
_MISSPELT_FIELD = re.compile(r"-?([a-z]{2,10}):[\w\"./*]")
_NEGATED_WORD = re.compile(r"-([A-Za-z_]\w{2,})")
#: Only before an operator; elsewhere NOT is a word.
_NOT = re.compile(r"NOT\s+(?=[a-z]+:|[(\"/])")
_CHUNK = re.compile(r"\S+")
#: What only a regular expression has: a set with a range, a quantifier after something, a class, an edge, alternatives.
_REGEX_SYNTAX = re.compile(
    r"\[(?:\^[^\]]|[^\]]*(?:\w-\w|\\))[^\]]*\]|\[[^\]]+\][*+?{]|[.)\]][*+]|\w\+|\.\?|\)\?|\w\?(?!\w+=)|\\[bBdDsSwW.(){}\[\]*+?|^$/<>]"
    r"|^\^|\$$|\(\?|[^\s|]\|[^\s|]|\{\d+(?:,\d*)?\}"
)
_LANGUAGE_ALIASES = {"golang": "go", "c++": "cpp", "c#": "csharp", "f#": "fsharp", "shell": "bash", "sh": "bash", "terraform": "hcl"}
#: How alike a misspelt field must be to one there is.
_MIN_SIMILARITY = 0.75


@dataclass(frozen=True, slots=True)
class QueryToken:
    """A part of a query and where it is. `error` says why it cannot be the operator it looks like."""

    kind: str
    start: int
    end: int
    name: str = ""
    value: str = ""
    negated: bool = False
    certain: bool = False  # it cannot be anything else
    error: str = ""
    hint: str = ""
    at: int = 0  # offset of the error, or of the value
    pattern: Pattern | None = None


def style_words(section: str) -> frozenset[str]:
    """A list of words from `style_words.txt`, read when a query first has something like an operator."""
    return word_sections(Path(__file__).with_name("style_words.txt"))[section]


def syntax_error(message: str, query: str, at: int, hint: str = "") -> QueryError:
    """An error that shows the query with a caret under the mistake."""
    shown = "".join(character if character.isprintable() else " " for character in query)
    return QueryError(f"{message}\n  {shown}\n  {' ' * min(at, len(shown))}^", hint=hint, at=at)


def tokenize(query: str) -> list[QueryToken]:
    """Split a query into tokens, each read as the operator it looks like most."""
    tokens: list[QueryToken] = []
    at, depth = 0, 0
    while at < len(query):
        if query[at].isspace():
            at += 1
            continue
        token = _token_at(query, at, depth)
        tokens.append(token)
        at = token.end
        depth += (token.kind == OPEN) - (token.kind == CLOSE)
    return tokens


def _token_at(query: str, at: int, depth: int) -> QueryToken:
    if query[at] == ")" and depth and _may_end(query, at + 1, depth):
        return QueryToken(CLOSE, at, at + 1)
    not_ = _NOT.match(query, at)
    negated = not_ is not None or query[at] == "-"
    start = not_.end() if not_ else at + negated
    if query[start : start + 1] == "(":
        return QueryToken(OPEN, at, start + 1, negated=negated)
    token = _field(query, start, depth) or _phrase(query, start, depth) or _regex(query, start, depth)
    if not_:
        return replace(token, start=at, negated=True) if token and token.kind != TEXT else QueryToken(TEXT, at, at + 3, value="NOT")
    if token is not None:
        return replace(token, start=at, negated=negated, certain=(token.certain or negated) and not token.error)
    return _chunk(query, at, depth)


def _may_end(query: str, at: int, depth: int) -> bool:
    """Whether a token may end here: before a space or the end of the query or of a group."""
    rest = query[at : at + 1]
    return not rest or rest.isspace() or (rest == ")" and depth > 0 and query[at:].lstrip(")")[:1].strip() == "")


def _field(query: str, at: int, depth: int) -> QueryToken | None:
    name_match = _FIELD_NAME.match(query, at)
    if not name_match:
        return None
    found = _FIELD[name_match.group(1)].match(query, at)
    if not found or not _may_end(query, found.end(), depth):
        unclosed = _UNCLOSED_FIELD.match(query, at)
        return QueryToken(TEXT, at, _chunk_end(query, at), error="unclosed quote", at=name_match.end()) if unclosed else None
    name = "lang" if name_match.group(1) == "language" else name_match.group(1)
    quoted = found.group("quoted")
    value = re.sub(r"\\(.)", r"\1", quoted).strip() if quoted is not None else found.group("value")
    if "//" in value or not value:
        return None
    value, error, hint = _check_field(name, value)
    return QueryToken(FIELD, at, found.end(), name, value, certain=not error, error=error, hint=hint, at=name_match.end())


def _check_field(name: str, value: str) -> tuple[str, str, str]:
    """A field's normalized value, an error and a hint."""
    if name == "lang":
        known = _language(value)
        return (known, "", "") if known else (value, f"unknown language {value!r}", nearest(value.lower(), KNOWN_NAMES))
    if name in ("kind", "in"):
        allowed = tuple(sorted(KINDS)) if name == "kind" else SCOPES
        error = f"unknown kind {value!r}" if name == "kind" else f"cannot search in {value!r}"
        return (value.lower(), "", "") if value.lower() in allowed else (value, error, nearest(value.lower(), allowed))
    if name == "path":
        try:
            check_glob(value)
        except QueryError as error:
            return value, error.message, error.hint
    return value, "", ""


def _language(value: str) -> str:
    lowered = value.lower().lstrip(".")
    by_extension = {extension.lstrip("."): one.name for one in reversed(LANGUAGES) for extension in one.extensions}
    return lowered if lowered in KNOWN_NAMES else _LANGUAGE_ALIASES.get(lowered) or by_extension.get(lowered, "")


def nearest(value: str, allowed: tuple[str, ...]) -> str:
    """A hint: the allowed value most like this one, or all of them."""
    from difflib import get_close_matches  # noqa: PLC0415  -- only for errors

    near = get_close_matches(value, allowed, 1)
    return f"nearest: {near[0]}" if near else f"allowed: {', '.join(allowed)}"


def _phrase(query: str, at: int, depth: int) -> QueryToken | None:
    if query[at : at + 1] != '"':
        return None
    found = _QUOTED.match(query, at)
    if not found:
        return QueryToken(TEXT, at, _chunk_end(query, at), error="unclosed quote", at=at)
    if not _may_end(query, found.end(), depth) or not found.group(1).strip():
        return None
    return QueryToken(PHRASE, at, found.end(), value=" ".join(re.sub(r'\\(["\\])', r"\1", found.group(1)).split()), at=at)


def _regex(query: str, at: int, depth: int) -> QueryToken | None:
    found = _SLASHED.match(query, at)
    if not found or not _may_end(query, found.end(), depth):
        return None
    body, flag = found.groups()
    is_alone = not query[:at].strip() and not query[found.end() :].strip() and body.lower().rstrip("*") not in style_words("folders")
    certain = bool(flag) or is_alone or _REGEX_SYNTAX.search(body) is not None
    if body[0].isspace() or body[-1].isspace() or body[0] == "*" or (any(map(str.isspace, body)) and not certain):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pattern = compile_pattern(body.replace(r"\/", "/"), ignore_case=bool(flag))
    except QueryError as error:
        return QueryToken(REGEX, at, found.end(), value=body, error=error.message.partition("\n")[0], at=at + 1 + _caret(error))
    return QueryToken(REGEX, at, found.end(), value=found.group(), certain=certain, at=at, pattern=pattern)


def _caret(error: QueryError) -> int:
    """How far into a pattern its mistake is, as far as known."""
    lines = error.message.split("\n")
    return lines[-1].index("^") - 2 if len(lines) > 1 and "^" in lines[-1] else 0


def _chunk_end(query: str, at: int) -> int:
    found = _CHUNK.match(query, at)
    return found.end() if found else at


def _chunk(query: str, at: int, depth: int) -> QueryToken:
    """A run of characters without a space; a parenthesis at its end that it does not open may close a group."""
    end = _chunk_end(query, at)
    while depth and end > at + 1 and query[end - 1] == ")" and query[at:end].count(")") > query[at:end].count("("):
        end -= 1
    chunk = query[at:end]
    if chunk in ("OR", "AND"):
        return QueryToken(OR if chunk == "OR" else AND, at, end)
    if negated := _NEGATED_WORD.fullmatch(chunk):
        return QueryToken(WORD, at, end, value=negated.group(1), negated=True, at=at)
    return QueryToken(TEXT, at, end, value=chunk)


def similar_field(token: QueryToken) -> str:
    """The field that a word looks like a misspelling of; empty if none."""
    from difflib import get_close_matches  # noqa: PLC0415  -- only for queries with operators

    found = _MISSPELT_FIELD.match(token.value)
    if not found or found.group(1) in FIELDS:
        return ""
    return next(iter(get_close_matches(found.group(1), list(FIELDS), 1, _MIN_SIMILARITY)), "")
