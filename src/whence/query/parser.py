"""A query as it was read: conditions and the text to rank. Plain words, which most queries are, need nothing beyond this module."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from whence.core.types import CODE
from whence.source.ignore import BACKEND
from whence.source.read import strip_secrets
from whence.text import analyzer

if TYPE_CHECKING:
    from whence.query.patterns import Pattern

#: Conditions that are no fields.
WORD, PHRASE, REGEX = "word", "phrase", "regex"
#: The kind of a query that was not pasted.
PLAIN = "plain"
#: A single line with more characters is looked at more closely.
MAX_SHORT = 300
#: How a single short line starts that may be more than a question.
_SUSPECT = re.compile(
    r"\s*(?:[{\[<`]|\d\d|\w[\w.]*\(\s*(?:\{|\w+\s*=)|you(?:'re| are)\b|act as\b|(?:user|search|my|the) (?:question|query)\b|question\s*:)",
    re.IGNORECASE,
)
#: A longer text, or one of several lines, is never read as the language.
LONGEST = 400
#: What every operator has some of: a text without is plain, and known to be so at once.
_MARKS = re.compile(
    r'(?:^|[\s(])-?(?:["/]|(?:path|lang|language|kind|sym|callers|callees|in):\S|[a-z]{2,10}:[\w"./*])|(?:^|\s)-[\w(]|\bOR\b'
)


@dataclass(frozen=True, slots=True)
class CleanedQuery:
    """The text to search for, the kind of text it was in, and one sentence that says what was left out."""

    text: str
    kind: str = PLAIN
    note: str = ""


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


def clean_paste(text: str) -> CleanedQuery:
    """The question in a text: all of it, unless it is certain that it holds more than a question."""
    if len(text) <= MAX_SHORT and "\n" not in text and "</" not in text and not _SUSPECT.match(text):
        return CleanedQuery(text)
    from whence.query.paste import find_question  # noqa: PLC0415  -- only for what may be pasted

    return find_question(text)


def parse_operators(query: str, *, plain: bool = False) -> ParsedQuery:
    """Read a query; a mistake in one that is beyond doubt written in the language is shown with a caret under it."""
    if plain or not _MARKS.search(query) or len(query) > LONGEST or "\n" in query.strip():
        return ParsedQuery(query, query)
    from whence.query.operators import read_operators  # noqa: PLC0415  -- only for what may be an operator

    return read_operators(query)


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
    from whence.parse.languages import BY_NAME, UNKNOWN, language_of  # noqa: PLC0415  -- only for operators

    if leaf.field == "lang":
        return BY_NAME[leaf.value].content != CODE
    if leaf.field == "path":
        name = leaf.value.rpartition("/")[2].rpartition("*")[2]
        known = language_of(f"x{name}" if name.startswith(".") else name)
        return known is not UNKNOWN and known.content != CODE
    return leaf.field == "kind" and leaf.value == "section"
