"""A query ready for retrieval: its content words in order, their terms and weights, related words, and what kind of query it is."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from whence.core.errors import QueryError
from whence.text import analyzer
from whence.text.analyzer import QUERY_STOP_WORDS, stem, stop_words
from whence.text.tables import content_lines

_NONE: frozenset[str] = frozenset()


def synonyms_of(stemmed: str) -> frozenset[str]:
    """The stems that mean the same as this one."""
    return _groups("synonyms").get(stemmed, _NONE)


def related_words(stemmed: str) -> frozenset[str]:
    """The stems of words related to this one, without itself."""
    return _groups("thesaurus").get(stemmed, _NONE)


@cache
def _groups(name: str) -> dict[str, frozenset[str]]:
    """For each stem of a table with one group of words a line, the other stems of its groups."""
    found: dict[str, frozenset[str]] = {}
    for line in content_lines(_table(name)):
        group = frozenset(stem(word) for word in line.split())
        for one in group:
            found[one] = found.get(one, _NONE) | (group - {one})
    return found


def _table(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.txt")


def abbreviations_of(word: str) -> frozenset[str]:
    """What a short form stands for, or the short forms of a word in any inflection; without the word itself.

    Two meanings of one short form are not forms of each other: `req` gives `request` and `requirement`, but `request`
    gives only `req`.
    """
    lowered = word.lower()
    return (_abbreviations().get(lowered) or _abbreviations_by_stem().get(stem(lowered), _NONE)) - {lowered}


@cache
def _abbreviations() -> dict[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in content_lines(_table("abbreviations")):
        short, _, full = line.partition(":")
        for one in short.split():
            found[one].update(short.split(), full.split())
        for one in full.split():
            found[one].update(short.split())
    return {word: frozenset(others - {word}) for word, others in found.items()}


@cache
def _abbreviations_by_stem() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for word, others in _abbreviations().items():
        found[stem(word)] = found.get(stem(word), _NONE) | others
    return found


#: A longer query is a pasted document; its first words are what is meant.
MAX_WORDS = 400
#: Identifiers, paths and modules are looked for in this many characters, and at most so many paths and modules are kept.
MAX_SCANNED, MAX_PLACES = 20_000, 20
_SYMBOL = re.compile(r"^[A-Za-z_$][\w$]*(?:(?:::|\\|->|\.|#)[A-Za-z_]\w*)*$")
_SYMBOL_MARK = re.compile(r"[A-Z_.:\\#]|->")
_SEPARATOR = re.compile(r"::|\\|->|\.|#")
#: `http: do not retry`, `fix(parser): ...`: a scope in front, as in commit messages.
SCOPE_PREFIX = re.compile(r"^[\w./()-]{2,40}:\s+\S")
#: Words that report a problem.
PROBLEM = re.compile(
    r"\b(?:bugs?|fails?|failed|failing|failure|crash(?:es|ed|ing)?|wrong|wrongly|incorrect(?:ly)?|broken|breaks"
    r"|(?:do|does|did|is) ?n[o']t|can ?not|can't|won't|unexpected(?:ly)?|should|instead of|missing|exceptions?|tracebacks?"
    r"|regressions?|hangs?|leaks?|segfault)\b",
    re.IGNORECASE,
)
#: Beginnings of texts that ask for something.
REQUEST = re.compile(
    r"\s*(?:how|where|what|which|why|trace|understand|find|explain|add|implement|create|write|build|configure|integrate|register|design"
    r"|extend|support|replace|migrate|refactor|set up|introduce)\b",
    re.IGNORECASE,
)
#: A text of so many words, or more lines than these, is a report and no question.
LONG_TEXT, MAX_SENTENCE_LINES = 40, 3
#: How much a sentence that asks for nothing counts as a report.
SENTENCE = 0.2
#: Words with which a short query asks for the kinds of file that otherwise rank low.
ASKED_FOR = {
    "test": re.compile(r"\b(?:tests?|testing|specs?|bench\w*|mocks?|fixtures?)\b", re.IGNORECASE),
    "compat": re.compile(r"compat|legacy|deprecat|vendor", re.IGNORECASE),
    "example": re.compile(r"example|sample|demo|tutorial|\bdocs?\b", re.IGNORECASE),
    "old_version": re.compile(r"\bv\d+\b|version", re.IGNORECASE),
    "platform": re.compile(r"windows|win32|aix|wasm|android|platform", re.IGNORECASE),
    "internal": re.compile(r"internal|private|impl", re.IGNORECASE),
}
#: The classic profile spares tests only when one of these is in the query (R1).
ASKS_FOR_TESTS = re.compile(r"\b(?:tests?|testing|specs?|benchmarks?)\b", re.IGNORECASE)

#: Literals of a query: so many texts and so many names, each at most so long. Among more words than a few, names are only words.
MAX_LITERALS, MAX_LITERAL, FEW_WORDS = 8, 300, 3
_QUOTATION = re.compile(r"\"([^\"\n]{8,300})\"|'([^'\n]{8,300})'|`([^`\n]{4,300})`|\u201c([^\u201d\n]{8,300})\u201d")

#: Numbers, hashes and names too long to be terms: they are looked for only as written.
_EDGES = "`'\".,:;()[]{}"
_NOT_PROSE = re.compile(r"[a-z0-9][A-Z]|[\d_./:\\#-]")
_LONG_WORD = re.compile(r"\w{4,}")

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_QUOTED_CODE = re.compile(r"^\s*(?:>>>|\.\.\. |\$ |In \[\d+\]:|at \S+\(|File \"[^\"]+\", line \d+|#\d+\s+0x|\^+\s*$)|^(?: {4,}|\t)\S")
#: A word that can only be an identifier: in back quotes, before a bracket, after a dot or `::`, or with `_` or a capital inside.
#: Bounded, and never begun in the middle of a run: a text of a hundred thousand dashes must not take minutes.
_IDENTIFIER = re.compile(
    r"`(?:[^`\s]{0,80}[.:#])?(\w{2,80})(?:\(\))?`|\b([A-Za-z_]\w{1,80})(?=\()|(?<=[a-zA-Z_][.:#])([A-Za-z_]\w{1,80})"
    r"|\b([A-Za-z]\w{0,60}(?:_\w|[a-z0-9][A-Z])\w{0,60})"
)
_PATH = re.compile(r"(?<![\w/\\.@+-])(?:[\w.@+-]{1,80}[/\\]){0,30}[\w@+-][\w.@+-]{0,80}\.[A-Za-z]\w{0,9}(?![\w/])")
_MODULE = re.compile(r"(?<![\w./\\])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w/\\])")


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One indexed term of the query with its weight.

    `word` is the number of the content word it comes from. The whole of a word with several parts is one more way to
    find that word, not one more word to find.
    """

    text: str
    weight: float
    word: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class NamePart:
    """One lower-cased part of a content word, as it may occur in a path."""

    text: str
    stem: str
    weight: float


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What to look for. All weights are positional: the first words matter most."""

    text: str
    words: tuple[str, ...]  # content words as written, in order
    terms: tuple[QueryTerm, ...]
    parts: tuple[NamePart, ...]
    joined: frozenset[str]  # each word, and each two or three neighbours, as one lower-cased word
    symbol: str  # the name, if the query is one identifier; else empty
    exact: tuple[str, ...]  # words long enough to look for exactly as written
    length: float  # 0: a short question, 1: a long text or a request for a change
    problem: float  # 0: asks for something, 1: tells at length of what is wrong or was changed, as issues and commits do
    paths: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    identifiers: frozenset[str] = frozenset()  # words that can only be names
    literals: tuple[str, ...] = ()  # texts and names to look for exactly as written

    @property
    def required(self) -> tuple[str, ...]:
        """The terms that must all occur when every word must match (Q2)."""
        return tuple(term.text for term in self.terms if not term.whole)

    def asks_for(self, kind: str) -> bool:
        """Whether a short query names a kind of file that otherwise ranks low."""
        return self.length < 1 and ASKED_FOR[kind].search(self.text) is not None


#: A query without words, for results ranked by something else.
EMPTY_PLAN = QueryPlan("", (), (), (), frozenset(), "", (), 0.0, 0.0)


def make_plan(text: str, *, decay: float, quoted: float, boilerplate: float = 1.0) -> QueryPlan:
    """Plan a query whose operators and pasted wrapping are gone already.

    `decay` lowers each later word, `quoted` words seen only in quoted code, `boilerplate` words that every task uses.
    """
    text = text.replace("\0", " ")
    prose, code = split_prose(text)
    prose_words = _content_words(prose)
    words = [*prose_words, *_content_words(code)][:MAX_WORDS] or _LONG_WORD.findall(text)[:MAX_WORDS]
    if not words:
        raise QueryError("the query contains no words to search for", hint="give at least one word, or a pattern")
    weights = [(quoted if number >= len(prose_words) else 1.0) / (1 + decay * number) for number in range(len(words))]
    if boilerplate != 1:
        weights = [weight * (boilerplate if word.lower() in stop_words("task") else 1) for word, weight in zip(words, weights, strict=True)]
    return QueryPlan(
        text=text,
        words=tuple(words),
        terms=_terms(words, weights),
        parts=_parts(words, weights),
        joined=_joined_words(words),
        symbol=_symbol(text, words),
        exact=tuple(dict.fromkeys(word for word in analyzer.words(text) if len(word) >= 4 and word.lower() not in QUERY_STOP_WORDS)),
        length=_length(text, words),
        problem=_problem(text),
        paths=tuple(dict.fromkeys(_PATH.findall(text)))[:MAX_PLACES],
        modules=tuple(dict.fromkeys(_MODULE.findall(text)))[:MAX_PLACES],
        identifiers=frozenset(found[found.lastindex or 0] for found in _IDENTIFIER.finditer(text[:MAX_SCANNED])),
        literals=_literals(text[:MAX_SCANNED], words),
    )


def split_prose(text: str) -> tuple[str, str]:
    """Split a text into its prose and its quoted code (fences, prompts, stack traces, indented blocks)."""
    lines = text.split("\n")
    if len(lines) == 1:
        return text, ""
    prose: list[str] = []
    code: list[str] = []
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or _QUOTED_CODE.match(line):
            code.append(line)
        else:
            prose.append(line)
    return "\n".join(prose), "\n".join(code)


def _literals(text: str, words: list[str]) -> tuple[str, ...]:
    """The texts of a query that may occur in the tree as typed: the whole, its lines, what it quotes, and its names."""
    lines = [line.strip() for line in text.split("\n")]
    quoted = [next(filter(None, found)) for found in _QUOTATION.findall(text)]
    texts = [line for line in (*quoted, *lines) if line and len(line) <= MAX_LITERAL]
    tokens = [token.strip(_EDGES) for token in text.split()]
    names = [*words, *tokens] if len(words) <= FEW_WORDS else []
    if len(tokens) > FEW_WORDS:  # a sentence: its plain words are words, even if something is called so
        names = [name for name in names if _NOT_PROSE.search(name)]
    return tuple(dict.fromkeys([*texts[:MAX_LITERALS], *filter(None, names)]))


def _content_words(text: str) -> list[str]:
    """The words of a text without stop words; if there are only stop words, those."""
    words = [word for word in analyzer.words(text) if analyzer.parts(word)]
    return [word for word in words if word.lower() not in QUERY_STOP_WORDS] or words


def _terms(words: list[str], weights: list[float]) -> tuple[QueryTerm, ...]:
    seen: dict[str, QueryTerm] = {}
    for number, (word, weight) in enumerate(zip(words, weights, strict=True)):
        terms = analyzer.terms(word)
        for place, text in enumerate(terms):
            seen.setdefault(text, QueryTerm(text, weight, number, whole=place > 0 and place == len(terms) - 1))
    return tuple(seen.values())


def _parts(words: list[str], weights: list[float]) -> tuple[NamePart, ...]:
    seen: dict[str, NamePart] = {}
    for word, weight in zip(words, weights, strict=True):
        for text in analyzer.parts(word):
            seen.setdefault(text, NamePart(text, analyzer.stem(text), weight))
    return tuple(seen.values())


def _joined_words(words: list[str]) -> frozenset[str]:
    whole = [analyzer.normalize_identifier(word) for word in words]
    pairs = {a + b for a, b in pairwise(whole)}
    triples = {a + b + c for a, b, c in zip(whole, whole[1:], whole[2:], strict=False)}
    return frozenset(whole) | pairs | triples


def _symbol(text: str, words: list[str]) -> str:
    query = text.strip()
    if (_SYMBOL.match(query) and _SYMBOL_MARK.search(query)) or len(words) == 1:
        return _SEPARATOR.split(query)[-1] if _SYMBOL.match(query) else words[0]
    return ""


def _length(text: str, words: list[str]) -> float:
    first = re.match(r"\s*(\w+)", text)
    if len(words) > 1 and first and first.group(1).lower() in stop_words("change_verbs"):
        return 1.0
    if SCOPE_PREFIX.match(text.strip()) or PROBLEM.search(text):
        return 1.0
    return min(max(math.log(len(words) / 8) / math.log(2), 0.0), 1.0)


def _problem(text: str) -> float:
    """How much a text tells of a problem or a change: a long one always, a sentence a little, a request or a question not at all."""
    if len(text.split()) >= LONG_TEXT or sum(bool(line.strip()) for line in text.split("\n")) > MAX_SENTENCE_LINES:
        return 1.0
    return 0.0 if REQUEST.match(text) else SENTENCE
