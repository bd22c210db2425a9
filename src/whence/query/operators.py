"""The operators of a query: its tokens, which of them are operators given how the rest is written, and the conditions they make."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whence.core.errors import QueryError
from whence.core.types import KINDS
from whence.parse.languages import KNOWN_NAMES, language_named
from whence.query.filters import CONTENTS, check_glob
from whence.query.parser import PHRASE, REGEX, WORD, AllOf, AnyOf, Condition, Leaf, ParsedQuery, leaves_of
from whence.query.patterns import Pattern, compile_pattern
from whence.text import analyzer
from whence.text.tables import word_sections

TEXT, FIELD, OR, AND, OPEN, CLOSE = "text field or and open close".split()
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
#: Fields of other engines, and ours.
_OTHER_FIELDS = dict.fromkeys(("file", "filename", "dir", "folder"), "path") | {"ext": "lang", "extension": "lang", "symbol": "sym"}
_OTHER_FIELDS |= {"def": "sym", "caller": "callers", "callee": "callees", "scope": "in", "content": "in"}
#: Words before `in:` that make it no field: `log in:admin`.
_BEFORE_IN = frozenset("log logged sign signed opt plug check built fill zoom".split())
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
        known = language_named(value)
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


def similar_field(token: QueryToken, *, sure: bool) -> str:
    """The field that a word is meant to be: of another engine, or misspelt; empty if none. Unless `sure`, its value must fit."""
    from difflib import get_close_matches  # noqa: PLC0415  -- only for queries with operators

    found = _MISSPELT_FIELD.match(token.value)
    if not found or found.group(1) in FIELDS:
        return ""
    name, value = found.group(1), token.value.partition(":")[2].strip('"')
    field = _OTHER_FIELDS.get(name) or next(iter(get_close_matches(name, list(FIELDS), 1, _MIN_SIMILARITY)), "")
    if sure or (field in ("sym", "callers", "callees") and name in _OTHER_FIELDS):
        return field
    fits = any(mark in value for mark in "./*") if field == "path" else field in CLOSED_FIELDS and not _check_field(field, value)[1]
    return field if fits else ""


#: A text without any of these is a sentence all the same when it has this many words.
_MANY_WORDS = 9
_CONTRACTION = re.compile(r"\w['\u2019](?:t|s|re|ve|m|ll|d)\b")
#: The marks of a list, a heading, a quotation or a prompt in front of a text.
_TEXT_MARKS = frozenset("- * # ## ### > + • 1. 1) [ ] [x] // -- ;; <!-- /* \"\"\" ''' ```".split())
#: What no question in words holds, whatever the language of the code is.
_CODE = re.compile(r"[;{}=]|&&|\|\||\$\(|</?\w+[^>]*>|\":|^[#@]\w+|^//|^/\*|\*/|^\[.*\]$|^[|+*/%&^~!]$|<<|>>", re.MULTILINE)
#: What is code, or a name as it stands in code: a call, an item, a quoted argument, a label, a mark by itself.
_NEAR_CODE = re.compile(r"\w[(\[]|[)\]]\.|\w[\"']|[\"']\w*[,)\]]|->|\w:$|^\$\w|^@\w|\\|^[^\w\s]+$", re.MULTILINE)
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(?:[=:]\S*)?|--|-\d+")
_PLAIN_OPTION = re.compile(r"--[\w-]+(?:=\S*)?|-[A-Za-z0-9#@]|--")
_POWERSHELL = re.compile(r"[A-Z][a-z]+-[A-Z]\w+")
_SHELL_MARKS = frozenset("| > >> < && || 2>&1 & \\".split())
#: A word before an option: the prompt, or a program that runs the next.
_BEFORE_PROGRAMS = frozenset("$ % > sudo time env nohup exec".split())


@dataclass(frozen=True, slots=True)
class QueryStyle:
    """How the plain words of a query are written."""

    sentence: bool = False
    binding: bool = False  # a word that holds sentences together is there
    code: bool = False
    near_code: bool = False  # a call or a label: a name as it stands in code
    command: bool = False
    shell: bool = False  # it begins with a program that is nothing else
    shouting: bool = False  # all in capitals
    sql: bool = False

    @property
    def free(self) -> bool:
        """Whether operators may stand anywhere: a few words, and nothing else."""
        return not (self.sentence or self.code or self.near_code or self.command)

    @property
    def foreign(self) -> bool:
        """Whether it is text of another language than ours or English."""
        return self.code or self.command


def detect_style(words: Sequence[str], dashed: Sequence[str] = ()) -> QueryStyle:
    """How some words are written; `dashed` are those with a dash in front, which may be options or what is not wanted."""
    letters = [word.strip(".,:;!?()[]`'\"*_").lower() for word in words]
    text = "\n".join(words)
    capitals = [word for word in words if word.isalpha() and len(word) > 1]
    options = [*dashed, *(word for word in words if _OPTION.fullmatch(word))]
    begin = [word for word in words if word not in _BEFORE_PROGRAMS][:1]
    sql = sum(word in style_words("sql") for word in words)
    return QueryStyle(
        sentence=_is_sentence(words, letters),
        binding=any(one in style_words("binding") for one in letters),
        code=_CODE.search(text) is not None or sql > 1,
        near_code=_NEAR_CODE.search(text) is not None,
        command=_is_command(begin[0] if begin else "", options, words),
        shell=bool(begin) and begin[0] in style_words("shell_only"),
        shouting=len(capitals) > 2 and all(word.isupper() for word in capitals),
        sql=sql > 0,
    )


def _is_sentence(words: Sequence[str], letters: Sequence[str]) -> bool:
    if any(one in style_words("sentence") for one in letters) or sum(one in style_words("binding") for one in letters) > 1:
        return True
    if not words:
        return False
    ends = words[-1].endswith(("?", "!", "...")) or (len(words) > 2 and words[-1].endswith("."))
    return (
        ends
        or len(words) >= _MANY_WORDS
        or words[0] in _TEXT_MARKS
        or any(word.endswith((",", "?")) and len(word) > 1 for word in words)
        or _CONTRACTION.search(" ".join(words)) is not None
    )


def _is_command(first: str, options: Sequence[str], words: Sequence[str]) -> bool:
    if any(_PLAIN_OPTION.fullmatch(one) or one in style_words("options") for one in options) or any(word in _SHELL_MARKS for word in words):
        return True
    program = first.rpartition("/")[2]
    known = program in style_words("programs") or first.startswith("./") or _POWERSHELL.fullmatch(first) is not None
    return known and bool(options)


#: What texts in programs have where something is put in, and no phrase that is looked for.
_FILLED_IN = re.compile(r"#\{|\$[\w{(]|%[sdvq@(<{-]|%$|<%|\{\}|\\[nrt]")
#: A name with something inside that no word has: what follows it in quotes is its argument.
_CALLED = re.compile(r"\w[_.:]+\w")


def resolve_operators(query: str, pieces: list[QueryToken]) -> list[QueryToken]:
    """The pieces of a query with all that is doubtful as text; a mistake that is one beyond doubt is raised."""
    pieces = [replace(piece, certain=True) if _is_alternative(place, pieces) else piece for place, piece in enumerate(pieces)]
    words = [piece.value for piece in pieces if piece.kind == TEXT]
    dashed = [query[piece.start : piece.end] for piece in pieces if piece.kind == WORD]
    manner = detect_style(words, dashed)
    allowed = _places(pieces, manner)
    sure = [piece for place, piece in enumerate(pieces) if place in allowed and piece.certain]
    if manner.foreign and not any(piece.kind == FIELD and (piece.name in CLOSED_FIELDS or piece.negated) for piece in sure):
        sure = []
    kept = [
        piece if place in allowed and _acts_as_operator(place, pieces, manner, sure=bool(sure)) else _as_text(query, piece)
        for place, piece in enumerate(pieces)
    ]
    _refuse(query, pieces, kept, allowed, manner, sure)
    joined = _joining(query, kept, manner, sure=bool(sure))
    grouped = _grouping(query, joined, sure=bool(sure))
    loose = _count(OR, kept) > _count(OR, joined) or _count(OPEN, kept) != _count(CLOSE, kept)  # an end of something else
    if not any(map(_is_operator, grouped)) or (loose and not sure):
        return [_as_text(query, piece) for piece in pieces]
    return grouped


def _is_alternative(place: int, pieces: Sequence[QueryToken]) -> bool:
    """Whether a piece can only be an expression, because it stands beside OR."""
    piece = pieces[place]
    beside = [*pieces[max(place - 1, 0) : place], *pieces[place + 1 : place + 2]]
    folder = piece.value.strip("/").lower() in style_words("folders")
    return piece.kind == REGEX and not piece.error and not folder and any(one.kind == OR for one in beside)


def _places(pieces: Sequence[QueryToken], manner: QueryStyle) -> Collection[int]:
    """Where operators may stand: anywhere among a few words, else before and after the text."""
    if manner.free:
        return range(len(pieces))
    plain = [place for place, piece in enumerate(pieces) if piece.kind == TEXT and not piece.error]
    return {place for place in range(len(pieces)) if not plain or place < plain[0] or place > plain[-1]}


def _acts_as_operator(place: int, pieces: Sequence[QueryToken], manner: QueryStyle, *, sure: bool) -> bool:  # noqa: PLR0911  -- by kind
    """Whether a piece that may be an operator by its place is one; those that join others are looked at later."""
    piece = pieces[place]
    if piece.kind in (TEXT, OR, AND, OPEN, CLOSE):
        return True
    if piece.error:
        return False
    if piece.kind == FIELD or piece.certain:
        return sure
    if manner.foreign or not (manner.free or sure):
        return False
    before = pieces[place - 1].value.lower() if place and pieces[place - 1].kind == TEXT else ""
    if piece.kind == WORD:
        return sure or (
            not manner.binding
            and place > 0
            and before not in style_words("prefixes")
            and any(one.kind in (TEXT, PHRASE, OPEN) for one in pieces)
        )
    if piece.kind == PHRASE and not sure:
        return _is_phrase(piece, pieces, before, manner)
    return sure


def _is_phrase(piece: QueryToken, pieces: Sequence[QueryToken], before: str, manner: QueryStyle) -> bool:
    """Whether a text in quotes must be found as it stands: not the argument of a program, nor a name in a message."""
    if manner.shell or before in style_words("takes_text") or _CALLED.search(before) or _FILLED_IN.search(piece.value):
        return False
    if not re.search(r"\w\w", piece.value):  # one letter says nothing
        return False
    others = {one.value.lower() for one in pieces if one.kind == TEXT}
    return " " in piece.value or not others & style_words("names_quoted")


def _count(kind: str, pieces: Sequence[QueryToken]) -> int:
    return sum(piece.kind == kind for piece in pieces)


def _is_operator(piece: QueryToken) -> bool:
    return piece.kind not in (TEXT, AND)


def _as_text(query: str, piece: QueryToken) -> QueryToken:
    return QueryToken(TEXT, piece.start, piece.end, value=query[piece.start : piece.end])


def _refuse(
    query: str,
    pieces: Sequence[QueryToken],
    kept: Sequence[QueryToken],
    allowed: Collection[int],
    manner: QueryStyle,
    sure: Sequence[QueryToken],
) -> None:
    """Raise the first mistake that is one beyond doubt."""
    if manner.foreign and not sure:
        return
    for place, piece in enumerate(pieces):
        if place not in allowed or kept[place].kind != TEXT:
            continue
        if piece.error and piece.kind == FIELD and not manner.near_code:
            near = piece.hint.startswith("nearest")
            before = pieces[place - 1].value.lower() if place and pieces[place - 1].kind == TEXT else ""
            if sure or (manner.free and not (piece.name == "in" and before in _BEFORE_IN)) or (near and piece.name in CLOSED_FIELDS):
                raise syntax_error(piece.error, query, piece.at, piece.hint)
        elif piece.error and (sure or (piece.kind == REGEX and len(pieces) == 1)):
            raise syntax_error(piece.error, query, piece.at)
        elif manner.free and piece.kind == TEXT and (near_field := similar_field(piece, sure=bool(sure))):
            raise syntax_error(f"there is no field {piece.value.partition(':')[0]!r}", query, piece.start, f"nearest: {near_field}:")
        elif sure and piece.kind == TEXT and re.match(r"(?:path|lang|kind|sym|callers|callees|in):[^\s()]+\)+$", piece.value):
            raise syntax_error("the parenthesis closes nothing", query, piece.end - 1)


def _joining(query: str, kept: list[QueryToken], manner: QueryStyle, *, sure: bool) -> list[QueryToken]:
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
            raise syntax_error("OR needs something on both sides", query, piece.start, "write it in quotes to search for the word")
        found[place] = _as_text(query, piece)
    return found


def _can_be_joined(side: QueryToken, edge: str) -> bool:
    if side.kind == TEXT:
        return len(side.value) > 1 and any(map(str.isalpha, side.value)) and any(map(analyzer.terms, analyzer.words(side.value)))
    return side.kind in (FIELD, PHRASE, REGEX, WORD, edge) or (edge == OPEN and side.kind == OPEN)


def _grouping(query: str, kept: list[QueryToken], *, sure: bool) -> list[QueryToken]:
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
        if any(one.kind == OR or one.certain for one in inside) or (sure and inside):
            raise syntax_error("the parenthesis is never closed", query, kept[place].end - 1)
        found[place] = _as_text(query, kept[place])
    return found


def read_operators(query: str) -> ParsedQuery:
    """Read a query that has something like an operator."""
    pieces = resolve_operators(query, tokenize(query))
    if all(piece.kind == TEXT for piece in pieces):
        return ParsedQuery(query, query)
    conditions = _pushed(_Parser(pieces).conditions())
    notes = _asks_for_notes(query, conditions)
    kept = tuple(one for one in conditions if not (isinstance(one, Leaf) and one.field == "in" and one.value == NOTES))
    wanted = list(_ranked_tokens(pieces))
    joined = {leaf.at for one in kept for leaf in leaves_of(one)}
    text = " ".join(_ranked(query, piece) for piece in wanted)
    words = " ".join(_ranked(query, piece) for piece in wanted if piece.start not in joined)
    asked = ParsedQuery(query, text if any(map(analyzer.parts, analyzer.words(text))) else "", words, kept, notes)
    if notes:
        for leaf in asked.leaves():
            if leaf.field in _NOT_OF_NOTES:
                hint = "with in:notes go words, phrases, /regex/, -not, OR and path:"
                raise syntax_error(f"a note has no {leaf.field}:", asked.query, leaf.at, hint)
    return asked


def _ranked_tokens(pieces: Sequence[QueryToken]) -> Iterator[QueryToken]:
    """The pieces whose words are ranked: plain ones and phrases, outside of groups that are not wanted."""
    groups: list[bool] = []
    for piece in pieces:
        if piece.kind == OPEN:
            groups.append(piece.negated)
        elif piece.kind == CLOSE and groups:
            groups.pop()
        elif not any(groups) and (piece.kind == TEXT or (piece.kind == PHRASE and not piece.negated)):
            yield piece


def _ranked(query: str, piece: QueryToken) -> str:
    return piece.value if piece.kind == PHRASE else query[piece.start : piece.end]


# The tree.
class _Parser:
    """Makes conditions of pieces. OR joins its two neighbours, and nothing further."""

    def __init__(self, pieces: Sequence[QueryToken]) -> None:
        self._pieces, self._at = [piece for piece in pieces if piece.kind != AND], 0

    def conditions(self) -> list[Condition]:
        """All that must hold, up to the end of a group or of the query."""
        found: list[Condition] = []
        while self._at < len(self._pieces) and self._pieces[self._at].kind != CLOSE:
            several = [self._operand()]
            while self._at < len(self._pieces) and self._pieces[self._at].kind == OR:
                self._at += 1
                several.append(self._operand())
            if len(several) > 1:
                found.append(AnyOf(tuple(several)))
            elif not (isinstance(several[0], Leaf) and several[0].field == WORD and not several[0].negated):
                found.append(several[0])  # a word by itself is ranked, and restricts nothing
        return found

    def _operand(self) -> Condition:
        piece = self._pieces[self._at]
        self._at += 1
        if piece.kind == OPEN:
            first = self._at
            inside = self.conditions()
            words = [one for one in self._pieces[first : self._at] if one.kind == TEXT]
            self._at += 1
            if self._joins(piece):  # a group beside OR holds all that is in it, its words too
                known = {leaf.at for one in inside for leaf in leaves_of(one)}
                inside += [Leaf(WORD, one.value, at=one.start) for one in words if one.start not in known]
            whole: Condition = inside[0] if len(inside) == 1 else AllOf(tuple(inside))
            return negate(whole) if piece.negated else whole
        return Leaf(piece.name or (WORD if piece.kind == TEXT else piece.kind), piece.value, piece.negated, piece.start, piece.pattern)

    def _joins(self, opening: QueryToken) -> bool:
        """Whether a group stands beside OR, or is not wanted."""
        place = self._pieces.index(opening)
        around = self._pieces[max(place - 1, 0) : place] + self._pieces[self._at : self._at + 1]
        return opening.negated or any(one.kind == OR for one in around)


def negate(condition: Condition) -> Condition:
    """The opposite of a condition, with `not` at its leaves alone."""
    if isinstance(condition, Leaf):
        return replace(condition, negated=not condition.negated)
    parts = tuple(map(negate, condition.parts))
    return AnyOf(parts) if isinstance(condition, AllOf) else AllOf(parts)


def _pushed(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Conditions with groups that say nothing of their own opened."""
    return tuple(part for one in conditions for part in (_pushed(one.parts) if isinstance(one, AllOf) else (one,)))


# Notes.
#: What notes cannot be asked by.
_NOT_OF_NOTES = frozenset({"lang", "kind", "sym", "callers", "callees", "in"})


def _asks_for_notes(query: str, conditions: Sequence[Condition]) -> bool:
    every = [leaf for one in conditions for leaf in leaves_of(one) if leaf.field == "in" and leaf.value == NOTES]
    alone = [one for one in every if one in conditions and not one.negated]
    for leaf in every:
        if leaf not in alone:
            raise syntax_error(
                "in:notes asks for notes and nothing else", query, leaf.at, "ask for notes and for files one after the other"
            )
    return bool(alone)
