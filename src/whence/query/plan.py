"""A query made ready: its content words in order, their terms and weights, and its kind."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from whence.core.errors import QueryError
from whence.query import words as lexicon
from whence.text import analyzer
from whence.text.stop_words import QUERY_STOP_WORDS, stop_words

#: A query longer than this is a pasted document; its first words are what is meant.
MAX_WORDS = 400
#: Letters of a query in which identifiers are looked for.
MOST_SCANNED = 20_000
_SYMBOL = re.compile(r"^[A-Za-z_$][\w$]*(?:(?:::|\\|->|\.|#)[A-Za-z_]\w*)*$")
_SYMBOL_MARK = re.compile(r"[A-Z_.:\\#]|->")
_SEPARATOR = re.compile(r"::|\\|->|\.|#")


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One indexed term of the query with its weight.

    `word` says which content word it came from. The whole of a word with several
    parts is one more way to find it, not one more thing to ask for.
    """

    text: str
    weight: float
    word: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class NamePart:
    """One lower-cased part of a content word, as it may stand on a path."""

    text: str
    stem: str
    weight: float


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What a query asks for. All weights are positional: the first words matter most."""

    text: str
    words: tuple[str, ...]  # content words as written, in order
    terms: tuple[QueryTerm, ...]
    parts: tuple[NamePart, ...]
    joined: frozenset[str]  # each word, and each two or three neighbours, as one lower-cased word
    symbol: str  # the name asked for when the query is one identifier; else empty
    exact: tuple[str, ...]  # words long enough to look for exactly as written
    length: float  # 0: a short question, 1: a long text or the wish for a change
    paths: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    identifiers: frozenset[str] = frozenset()  # words that can only be names: quoted, or written as no prose is

    @property
    def required(self) -> tuple[str, ...]:
        """The terms that must all occur when every word is wanted (Q2)."""
        return tuple(term.text for term in self.terms if not term.whole)

    def asks_for(self, what: str) -> bool:
        """Whether a short question names the kind of file that is otherwise ranked low."""
        return self.length < 1 and lexicon.ASKED_FOR[what].search(self.text) is not None


#: A query without words, for answers that go by something else.
EMPTY_PLAN = QueryPlan("", (), (), (), frozenset(), "", (), 0.0)


def make_plan(text: str, *, decay: float, quoted: float, boilerplate: float = 1.0) -> QueryPlan:
    """Read a query; a pasted text is cleaned before (`query.paste`).

    `decay` lowers each later word, `quoted` those seen only in quoted code, `boilerplate` those every task has.
    """
    text = text.replace("\0", " ")
    prose, code = lexicon.split_prose(text)
    spoken = _content_words(prose)
    found = [*spoken, *_content_words(code)][:MAX_WORDS]
    if not found:
        raise QueryError("the query holds no word to search for", hint="give at least one word, or a pattern")
    weights = [(quoted if number >= len(spoken) else 1.0) / (1 + decay * number) for number in range(len(found))]
    if boilerplate != 1:
        weights = [weight * (boilerplate if word.lower() in stop_words("task") else 1) for word, weight in zip(found, weights, strict=True)]
    return QueryPlan(
        text=text,
        words=tuple(found),
        terms=_terms(found, weights),
        parts=_parts(found, weights),
        joined=_joined_words(found),
        symbol=_symbol(text, found),
        exact=tuple(dict.fromkeys(word for word in analyzer.words(text) if len(word) >= 4 and word.lower() not in QUERY_STOP_WORDS)),
        length=_length(text, found),
        paths=tuple(dict.fromkeys(lexicon.PATH_IN_TEXT.findall(text)))[:20],
        modules=tuple(dict.fromkeys(lexicon.MODULE_IN_TEXT.findall(text)))[:20],
        identifiers=frozenset(_identifiers(text[:MOST_SCANNED])),
    )


def _identifiers(text: str) -> Iterator[str]:
    """Words in back quotes, with an underscore or a capital inside, after a dot or before a bracket."""
    for found in lexicon.IDENTIFIER.finditer(text):
        yield next(group for group in found.groups() if group)


def _content_words(text: str) -> list[str]:
    """The words of a text without stop words; when only stop words are there, they are the content."""
    every = analyzer.words(text)
    return [word for word in every if word.lower() not in QUERY_STOP_WORDS and analyzer.parts(word)] or [
        word for word in every if analyzer.parts(word)
    ]


def _terms(found: list[str], weights: list[float]) -> tuple[QueryTerm, ...]:
    seen: dict[str, QueryTerm] = {}
    for number, (word, weight) in enumerate(zip(found, weights, strict=True)):
        found_terms = analyzer.terms(word)
        for place, text in enumerate(found_terms):
            seen.setdefault(text, QueryTerm(text, weight, number, whole=place > 0 and place == len(found_terms) - 1))
    return tuple(seen.values())


def _parts(found: list[str], weights: list[float]) -> tuple[NamePart, ...]:
    seen: dict[str, NamePart] = {}
    for word, weight in zip(found, weights, strict=True):
        for text in analyzer.parts(word):
            seen.setdefault(text, NamePart(text, analyzer.stem(text), weight))
    return tuple(seen.values())


def _joined_words(found: list[str]) -> frozenset[str]:
    whole = [analyzer.normalize_identifier(word) for word in found]
    pairs = {a + b for a, b in pairwise(whole)}
    triples = {a + b + c for a, b, c in zip(whole, whole[1:], whole[2:], strict=False)}
    return frozenset(whole) | pairs | triples


def _symbol(text: str, found: list[str]) -> str:
    asked = text.strip()
    if (_SYMBOL.match(asked) and _SYMBOL_MARK.search(asked)) or len(found) == 1:
        return _SEPARATOR.split(asked)[-1] if _SYMBOL.match(asked) else found[0]
    return ""


def _length(text: str, found: list[str]) -> float:
    first = re.match(r"\s*(\w+)", text)
    if len(found) > 1 and first and first.group(1).lower() in stop_words("change_verbs"):
        return 1.0
    if lexicon.SCOPE_PREFIX.match(text.strip()) or lexicon.PROBLEM.search(text):
        return 1.0
    return min(max(math.log(len(found) / 8) / math.log(2), 0.0), 1.0)
