"""One language for queries (Z3): words, "phrases", /regex/, -not, OR, parentheses and fields such as `path:` or `sym:`.

Everything doubtful is plain text: an operator is read only where nothing else can be
meant, and a mistake is one only in a query that is beyond doubt written in the language.
Among a few words operators may stand anywhere; beside a sentence, before or after it;
beside code or a command line only fields with known values count, and what goes with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from whence.parse import tokens
from whence.parse.languages import BY_NAME, CODE, UNKNOWN, language_of
from whence.query.operators import meant
from whence.query.pattern import Pattern
from whence.query.reading import AND, CLOSE, NOTES, OPEN, OR, PHRASE, REGEX, TEXT, WORD, Piece, fault, pieces_of

#: A longer text, or one of several lines, is never read as the language.
LONGEST = 400
#: What every operator has some of: a text without is plain, and known to be so at once.
_MARKS = re.compile(r'(?:^|[\s(])-?(?:["/]|(?:path|lang|language|kind|sym|callers|callees|in):\S)|(?:^|\s)-[\w(]|\bOR\b')
#: What notes cannot be asked by.
_NOT_OF_NOTES = frozenset({"lang", "kind", "sym", "callers", "callees"})


@dataclass(frozen=True, slots=True)
class Leaf:
    """One condition on what may be returned. `of` is a field, or `word`, `phrase` or `regex`; `at` is its place in the query."""

    of: str
    value: str
    negated: bool = False
    at: int = 0
    pattern: Pattern | None = None

    def __str__(self) -> str:
        value = f'"{self.value}"' if self.of == PHRASE or (self.of in ("path", "sym") and " " in self.value) else self.value
        shown = value if self.of in (WORD, PHRASE, REGEX) else f"{self.of}:{value}"
        return f"not {shown}" if self.negated else shown


@dataclass(frozen=True, slots=True)
class Both:
    """Conditions that must all hold."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Either:
    """Conditions of which one must hold."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return f"({' or '.join(map(str, self.parts))})"


Condition = Leaf | Both | Either


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it was read: the words that are ranked, and what may be returned at all."""

    query: str
    text: str  # what is ranked; the query itself where it is plain
    words: str = ""  # of that, what restricts nothing
    conditions: tuple[Condition, ...] = ()  # all of them must hold
    notes: bool = False  # it asks for notes, not for files

    @property
    def plain(self) -> bool:
        """Whether it has no operator."""
        return not self.conditions and not self.notes

    @property
    def said(self) -> str:
        """How it was read, as one line; empty where it is plain."""
        words = [f'words "{self.words}"'] if self.words else []
        place = ["in:notes"] if self.notes else []
        return f"read as: {', '.join([*words, *place, *map(str, self.conditions)])}" if not self.plain else ""

    def leaves(self) -> Iterator[Leaf]:
        """Every condition by itself."""
        for condition in self.conditions:
            yield from leaves_of(condition)

    @property
    def optional(self) -> frozenset[str]:
        """The terms of words of which one is enough, whatever is asked of the others."""
        either = [leaf for one in self.conditions if not isinstance(one, Leaf) for leaf in leaves_of(one)]
        return frozenset(
            term for leaf in either if leaf.of in (WORD, PHRASE) for word in tokens.words(leaf.value) for term in tokens.terms(word)
        )

    @property
    def beyond_code(self) -> bool:
        """Whether it names what is no code: a place to search in, a language of documents, a file of one."""
        return any(leaf.of == "in" or (not leaf.negated and _of_documents(leaf)) for leaf in self.leaves())


def read(query: str, *, plain: bool = False) -> Asked:
    """Read a query; a mistake in one that is beyond doubt written in the language is shown with a caret under it."""
    if plain or not _MARKS.search(query) or len(query) > LONGEST or "\n" in query.strip():
        return Asked(query, query)
    pieces = meant(query, pieces_of(query))
    if all(piece.kind == TEXT for piece in pieces):
        return Asked(query, query)
    conditions = _pushed(_Parser(pieces).conditions())
    notes = _asks_for_notes(query, conditions)
    kept = tuple(one for one in conditions if not (isinstance(one, Leaf) and one.of == "in" and one.value == NOTES))
    wanted = list(_wanted(pieces))
    joined = {leaf.at for one in kept for leaf in leaves_of(one)}
    text = " ".join(_ranked(query, piece) for piece in wanted)
    words = " ".join(_ranked(query, piece) for piece in wanted if piece.start not in joined)
    asked = Asked(query, text if any(map(tokens.parts, tokens.words(text))) else "", words, kept, notes)
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


def phrase_spans(phrase: str, text: str) -> Iterator[tuple[int, int]]:
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

        match = GitIgnoreSpec.from_lines([value.removeprefix("./").lstrip("!")]).match_file
        return lambda path: bool(match(path))
    wanted = value.casefold()
    rooted = wanted.startswith(("/", "./"))
    wanted = wanted.removeprefix("./").lstrip("/") if rooted else wanted
    if rooted:
        return lambda path: path.casefold().startswith(wanted)
    if "/" in wanted:  # folders are meant: they begin where one begins
        return lambda path: f"/{wanted}" in f"/{path.casefold()}"
    return lambda path: wanted in path.casefold()


def note_passes(asked: Asked, text: str, places: Collection[str]) -> bool:
    """Whether a note may be in an answer: by its text, and by its key and the paths that it speaks of."""

    def holds(one: Condition) -> bool:
        if isinstance(one, Both):
            return all(map(holds, one.parts))
        if isinstance(one, Either):
            return any(map(holds, one.parts))
        return _note_fits(one, text, places) is not one.negated

    return all(map(holds, asked.conditions))


def _note_fits(leaf: Leaf, text: str, places: Collection[str]) -> bool:
    if leaf.of == "path":
        return any(map(path_predicate(leaf.value), places))
    if leaf.pattern is not None:
        return bool(leaf.pattern.matching_lines(text))
    if leaf.of == PHRASE:
        return next(phrase_spans(leaf.value, text.lower()), None) is not None
    held = {term for word in tokens.words(" ".join([text, *places])) for term in tokens.terms(word)}
    return held.issuperset(term for word in tokens.words(leaf.value) for term in tokens.terms(word))


def _of_documents(leaf: Leaf) -> bool:
    if leaf.of == "lang":
        return BY_NAME[leaf.value].content != CODE
    if leaf.of == "path":
        name = leaf.value.rpartition("/")[2].rpartition("*")[2]
        known = language_of(f"x{name}" if name.startswith(".") else name)
        return known is not UNKNOWN and known.content != CODE
    return leaf.of == "kind" and leaf.value == "section"


def _wanted(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces whose words are ranked: plain ones and phrases, outside of groups that are not wanted."""
    groups: list[bool] = []
    for piece in pieces:
        if piece.kind == OPEN:
            groups.append(piece.negated)
        elif piece.kind == CLOSE and groups:
            groups.pop()
        elif not any(groups) and (piece.kind == TEXT or (piece.kind == PHRASE and not piece.negated)):
            yield piece


def _ranked(query: str, piece: Piece) -> str:
    return piece.value if piece.kind == PHRASE else query[piece.start : piece.end]


# The tree.
class _Parser:
    """Makes conditions of pieces. OR joins its two neighbours, and nothing further."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
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
                found.append(Either(tuple(several)))
            elif not (isinstance(several[0], Leaf) and several[0].of == WORD and not several[0].negated):
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
            whole: Condition = inside[0] if len(inside) == 1 else Both(tuple(inside))
            return negation(whole) if piece.negated else whole
        return Leaf(piece.name or (WORD if piece.kind == TEXT else piece.kind), piece.value, piece.negated, piece.start, piece.pattern)

    def _joins(self, opening: Piece) -> bool:
        """Whether a group stands beside OR, or is not wanted."""
        place = self._pieces.index(opening)
        around = self._pieces[max(place - 1, 0) : place] + self._pieces[self._at : self._at + 1]
        return opening.negated or any(one.kind == OR for one in around)


def _is_joined(piece: Piece, inside: Sequence[Condition]) -> bool:
    return any(leaf.at == piece.start for one in inside for leaf in leaves_of(one))


def negation(condition: Condition) -> Condition:
    """The opposite of a condition, with `not` at its leaves alone."""
    if isinstance(condition, Leaf):
        return replace(condition, negated=not condition.negated)
    parts = tuple(map(negation, condition.parts))
    return Either(parts) if isinstance(condition, Both) else Both(parts)


def _pushed(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Conditions with groups that say nothing of their own opened."""
    return tuple(part for one in conditions for part in (_pushed(one.parts) if isinstance(one, Both) else (one,)))


# Notes.
def _asks_for_notes(query: str, conditions: Sequence[Condition]) -> bool:
    every = [leaf for one in conditions for leaf in leaves_of(one) if leaf.of == "in" and leaf.value == NOTES]
    alone = [one for one in every if one in conditions and not one.negated]
    for leaf in every:
        if leaf not in alone:
            raise fault("in:notes asks for notes and nothing else", query, leaf.at, "ask for notes and for files one after the other")
    return bool(alone)


def _check_notes(asked: Asked) -> None:
    for leaf in asked.leaves():
        if leaf.of in _NOT_OF_NOTES or leaf.of == "in":
            raise fault(f"a note has no {leaf.of}:", asked.query, leaf.at, "with in:notes go words, phrases, /regex/, -not, OR and path:")
