"""How a query is written: as a few words, a sentence, code or a command line. Only among a few words are all operators meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from whence.core.types import CODE
from whence.parse.languages import BY_NAME, UNKNOWN, language_of
from whence.query.filters import Pattern
from whence.query.lexer import (
    AND,
    CLOSE,
    CLOSED_FIELDS,
    FIELD,
    NOTES,
    OPEN,
    OR,
    PHRASE,
    REGEX,
    TEXT,
    WORD,
    QueryToken,
    similar_field,
    style_words,
    syntax_error,
    tokenize,
)
from whence.query.paste import clean_paste
from whence.source.ignore import BACKEND
from whence.source.read import strip_secrets
from whence.text import analyzer

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
        return sure or (not manner.binding and place > 0 and before not in style_words("prefixes") and not _is_alone(pieces))
    if piece.kind == PHRASE and not sure:
        return _is_phrase(piece, pieces, before, manner)
    return sure


def _is_alone(pieces: Sequence[QueryToken]) -> bool:
    return not any(piece.kind in (TEXT, PHRASE, OPEN) for piece in pieces)


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
            if sure or (manner.free and piece.name != "in") or (near and piece.name in ("lang", "kind", "in")):
                raise syntax_error(piece.error, query, piece.at, piece.hint)
        elif piece.error and sure:
            raise syntax_error(piece.error, query, piece.at)
        elif sure and manner.free and piece.kind == TEXT and (near_field := similar_field(piece)):
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


#: A longer text, or one of several lines, is never read as the language.
LONGEST = 400
#: What every operator has some of: a text without is plain, and known to be so at once.
_MARKS = re.compile(r'(?:^|[\s(])-?(?:["/]|(?:path|lang|language|kind|sym|callers|callees|in):\S)|(?:^|\s)-[\w(]|\bOR\b')
#: What notes cannot be asked by.
_NOT_OF_NOTES = frozenset({"lang", "kind", "sym", "callers", "callees"})


@dataclass(frozen=True, slots=True)
class Leaf:
    """One condition on what may be returned. `of` is a field, or `word`, `phrase` or `regex`; `at` is its place in the query."""

    field: str
    value: str
    negated: bool = False
    at: int = 0
    pattern: Pattern | None = None

    def __str__(self) -> str:
        value = f'"{self.value}"' if self.field == PHRASE or (self.field in ("path", "sym") and " " in self.value) else self.value
        shown = value if self.field in (WORD, PHRASE, REGEX) else f"{self.field}:{value}"
        return f"not {shown}" if self.negated else shown


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conditions that must all hold."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Conditions of which one must hold."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return f"({' or '.join(map(str, self.parts))})"


Condition = Leaf | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query as it was read: the words that are ranked, and what may be returned at all."""

    query: str
    text: str  # what is ranked; the query itself where it is plain
    words: str = ""  # of that, what restricts nothing
    conditions: tuple[Condition, ...] = ()  # all of them must hold
    is_for_notes: bool = False  # it asks for notes, not for files
    paste_note: str = ""  # what was done to find the question in a pasted text; empty where nothing was

    @property
    def is_plain(self) -> bool:
        """Whether it has no operator."""
        return not self.conditions and not self.is_for_notes

    @property
    def reading(self) -> str:
        """How it was read, as one line; empty where it is plain."""
        words = [f'words "{self.words}"'] if self.words else []
        place = ["in:notes"] if self.is_for_notes else []
        return f"read as: {', '.join([*words, *place, *map(str, self.conditions)])}" if not self.is_plain else ""

    def leaves(self) -> Iterator[Leaf]:
        """Every condition by itself."""
        for condition in self.conditions:
            yield from leaves_of(condition)

    @property
    def optional_terms(self) -> frozenset[str]:
        """The terms of words of which one is enough, whatever is asked of the others."""
        either = [leaf for one in self.conditions if not isinstance(one, Leaf) for leaf in leaves_of(one)]
        return frozenset(
            term for leaf in either if leaf.field in (WORD, PHRASE) for word in analyzer.words(leaf.value) for term in analyzer.terms(word)
        )

    @property
    def reaches_beyond_code(self) -> bool:
        """Whether it names what is no code: a place to search in, a language of documents, a file of one."""
        return any(leaf.field == "in" or (not leaf.negated and _of_documents(leaf)) for leaf in self.leaves())


@lru_cache(maxsize=8)  # front ends look at a query before the search does
def parse_query(text: str, *, plain: bool = False) -> ParsedQuery:
    """Find the question in a text, without secrets and without what was pasted around it, and read its operators."""
    question = clean_paste(strip_secrets(text))
    parsed = parse_operators(question.text, plain=plain)
    return replace(parsed, paste_note=question.note) if question.note else parsed


def parse_operators(query: str, *, plain: bool = False) -> ParsedQuery:
    """Read a query; a mistake in one that is beyond doubt written in the language is shown with a caret under it."""
    if plain or not _MARKS.search(query) or len(query) > LONGEST or "\n" in query.strip():
        return ParsedQuery(query, query)
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
        _check_notes(asked)
    return asked


def leaves_of(condition: Condition) -> Iterator[Leaf]:
    """The single conditions of one."""
    if isinstance(condition, Leaf):
        yield condition
    else:
        for part in condition.parts:
            yield from leaves_of(part)


def find_phrase(phrase: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a text in small letters holds a phrase: its words in a row, whole, whatever the case and the blanks between them.

    Many files are looked through for one phrase: the expression begins with plain letters, which makes that fast.
    """
    small = phrase.lower()
    after = r"(?![^\W_])" if small[-1:].isalnum() else ""
    begins = small[:1].isalnum()
    for found in re.finditer(r"\s+".join(map(re.escape, small.split())) + after, text):
        if not (begins and found.start() and text[found.start() - 1].isalnum()):
            yield found.span()


def path_predicate(value: str) -> Callable[[str], bool]:
    """Whether a path fits a `path:`: a glob as in .gitignore, or a part of the path; from its root after `/` or `./`."""
    if any(mark in value for mark in "*?["):
        from pathspec import GitIgnoreSpec  # noqa: PLC0415  -- only where globs are given

        match = GitIgnoreSpec.from_lines([value.removeprefix("./").lstrip("!")], backend=BACKEND).match_file
        return lambda path: bool(match(path))
    wanted = value.casefold()
    rooted = wanted.startswith(("/", "./"))
    wanted = wanted.removeprefix("./").lstrip("/") if rooted else wanted
    if rooted:
        return lambda path: path.casefold().startswith(wanted)
    if "/" in wanted:  # folders are meant: they begin where one begins
        return lambda path: f"/{wanted}" in f"/{path.casefold()}"
    return lambda path: wanted in path.casefold()


def note_matches(asked: ParsedQuery, text: str, places: Collection[str]) -> bool:
    """Whether a note may be in an answer: by its text, and by its key and the paths that it speaks of."""

    def holds(one: Condition) -> bool:
        if isinstance(one, AllOf):
            return all(map(holds, one.parts))
        if isinstance(one, AnyOf):
            return any(map(holds, one.parts))
        return _note_fits(one, text, places) is not one.negated

    return all(map(holds, asked.conditions))


def _note_fits(leaf: Leaf, text: str, places: Collection[str]) -> bool:
    if leaf.field == "path":
        return any(map(path_predicate(leaf.value), places))
    if leaf.pattern is not None:
        return bool(leaf.pattern.matching_lines(text))
    if leaf.field == PHRASE:
        return next(find_phrase(leaf.value, text.lower()), None) is not None
    held = {term for word in analyzer.words(" ".join([text, *places])) for term in analyzer.terms(word)}
    return held.issuperset(term for word in analyzer.words(leaf.value) for term in analyzer.terms(word))


def _of_documents(leaf: Leaf) -> bool:
    if leaf.field == "lang":
        return BY_NAME[leaf.value].content != CODE
    if leaf.field == "path":
        name = leaf.value.rpartition("/")[2].rpartition("*")[2]
        known = language_of(f"x{name}" if name.startswith(".") else name)
        return known is not UNKNOWN and known.content != CODE
    return leaf.field == "kind" and leaf.value == "section"


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
                inside += [Leaf(WORD, one.value, at=one.start) for one in words if not _is_joined(one, inside)]
            whole: Condition = inside[0] if len(inside) == 1 else AllOf(tuple(inside))
            return negate(whole) if piece.negated else whole
        return Leaf(piece.name or (WORD if piece.kind == TEXT else piece.kind), piece.value, piece.negated, piece.start, piece.pattern)

    def _joins(self, opening: QueryToken) -> bool:
        """Whether a group stands beside OR, or is not wanted."""
        place = self._pieces.index(opening)
        around = self._pieces[max(place - 1, 0) : place] + self._pieces[self._at : self._at + 1]
        return opening.negated or any(one.kind == OR for one in around)


def _is_joined(piece: QueryToken, inside: Sequence[Condition]) -> bool:
    return any(leaf.at == piece.start for one in inside for leaf in leaves_of(one))


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
def _asks_for_notes(query: str, conditions: Sequence[Condition]) -> bool:
    every = [leaf for one in conditions for leaf in leaves_of(one) if leaf.field == "in" and leaf.value == NOTES]
    alone = [one for one in every if one in conditions and not one.negated]
    for leaf in every:
        if leaf not in alone:
            raise syntax_error(
                "in:notes asks for notes and nothing else", query, leaf.at, "ask for notes and for files one after the other"
            )
    return bool(alone)


def _check_notes(asked: ParsedQuery) -> None:
    for leaf in asked.leaves():
        if leaf.field in _NOT_OF_NOTES or leaf.field == "in":
            raise syntax_error(
                f"a note has no {leaf.field}:", asked.query, leaf.at, "with in:notes go words, phrases, /regex/, -not, OR and path:"
            )
