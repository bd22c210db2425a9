"""The keywords of a task in three tiers, from the most to the least specific (K1 to K5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise, zip_longest

from whence.query.plan import abbreviations_of, split_prose
from whence.text import analyzer
from whence.text.analyzer import QUERY_STOP_WORDS, stop_words

#: Words of a task that are read, prose before quoted code.
MAX_WORDS = 400
#: The most keywords in a tier.
MOST_IN_A_TIER = 200
LONGEST_NAME = 100
SHORTEST = 2
#: Two words are joined when each has this many letters and one has more (K4).
SHORTEST_JOINED = 3

#: Verbs that ask for a change or a search, which code seldom contains.
ACTION_VERBS = stop_words("classic_verbs")
#: The first word of a task is a verb also when it could elsewhere be a noun (`test`, `report`).
OPENING_VERBS = ACTION_VERBS | stop_words("change_verbs")
#: Words before the verb: "please add", "we should fix".
COURTESIES = frozenset("please we i you need needs want wants to should must can could would let us lets help me".split())
ENGLISH_STOP_WORDS = QUERY_STOP_WORDS | stop_words("classic")
STOP_WORDS = ENGLISH_STOP_WORDS | stop_words("classic_programming") | ACTION_VERBS
#: Generic nouns that never name the thing itself: the one that matters comes after "a tool for".
FRAME_NOUNS = frozenset("ability capability feature features functionality mechanism support tool tools way".split())

_QUOTED = re.compile(r"(?<!`)(`{1,2})([^`\s]{1,%d})\1(?!`)" % LONGEST_NAME)  # noqa: UP031 - braces mean repetition here
#: A name with everything joined to it. Only the first letter is required, so matching never backtracks.
_NAME = re.compile(r"(?<![\w$])[^\W\d][\w$]*(?:(?:::|->|[.#])[^\W\d][\w$]*)*(?:\(\))?")
_SEPARATOR = re.compile(r"::|->|[.#]")
_SURE_SEPARATOR = re.compile(r"::|->")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
#: The characters between two words that belong together.
_SOFT = frozenset(" \t\r\n-'\"`")
_LONGEST_GAP = 8
#: Long runs of blanks, which would make the search for quoted lines slow.
_LONG_BLANK = re.compile(r"[^\S\n]{9,}")


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords of a task, each tier in the order to look them up.

    `priority` is the subject of the task, if its first words name it: it comes first among the components, or among the
    compounds if it is an identifier.
    """

    exact: tuple[str, ...]
    compounds: tuple[str, ...]
    components: tuple[str, ...]
    priority: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Word:
    """One name of the text, its segments joined by dots."""

    text: str
    code: bool  # it looks like code (K2)
    follows: bool  # it belongs to the word before it


def keywords(task: str) -> Keywords:
    """The keywords of a task: names in back quotes, compound names, and single words."""
    text = _LONG_BLANK.sub(" " * (_LONGEST_GAP + 1), task.replace("\0", " "))
    prose, code = split_prose(text)
    found = list(islice(chain(_words(prose), _words(code)), MAX_WORDS))
    exact = _exact(text)
    verb = _opening_verb(found)
    spoken = found if verb is None else found[verb + 1 :]
    noun = None if verb is None else _priority_noun(spoken)
    named = noun is not None and (noun.code or _is_identifier(noun.text))
    compounds = _distinct(chain(_cases(noun) if noun and named else (), _compounds(spoken)), without=exact)
    priority = () if noun is None else _cases(noun) if named else _distinct((word := noun.text.lower(), _capital(word)))
    single = sorted(_distinct(_components(spoken), without=(*exact, *priority)), key=len, reverse=True)
    components = tuple(chain(() if named else priority, single))[:MOST_IN_A_TIER]
    if not (exact or compounds or components):
        components = _distinct(word.text.lower() for word in found if word.text.lower() not in ENGLISH_STOP_WORDS)
    return Keywords(exact, compounds, components, priority)


def _words(text: str) -> Iterator[_Word]:
    """The names of a text in order; a dotted one that may be prose is split into words."""
    end = -1
    for match in _NAME.finditer(text):
        whole = match.group()
        if not whole.isascii():
            whole = whole[:LONGEST_NAME]  # a sentence in a script without spaces matches as one name
        follows = end >= 0 and _is_soft(text[end : min(match.start(), end + _LONGEST_GAP + 1)])
        end = match.end()
        if len(whole) > LONGEST_NAME:
            end = -1
            continue
        called = whole.endswith("()")
        segments = _SEPARATOR.split(whole.removesuffix("()"))
        if called or _is_code_path(whole, segments):
            yield _Word(".".join(segments), code=True, follows=False)
            continue
        for segment in segments:
            if any(letter.isalnum() for letter in segment):
                yield _Word(segment, code=False, follows=follows and len(segments) == 1)


def _is_soft(gap: str) -> bool:
    return len(gap) <= _LONGEST_GAP and _SOFT.issuperset(gap) and gap.count("\n") <= 1


def _is_code_path(whole: str, segments: list[str]) -> bool:
    """Whether a dotted name is code and not prose: not `e.g`, nor `foo.bar`, which may be a missing space."""
    if len(segments) < 2 or max(map(len, segments)) < 2:
        return False
    return (
        _SURE_SEPARATOR.search(whole) is not None
        or any("_" in segment for segment in segments)
        or segments[0][0].isupper()
        or (len(segments) > 2 and min(map(len, segments)) >= 2)
    )


def _is_identifier(name: str) -> bool:
    """Whether a single name is snake_case or CamelCase."""
    if _PLURAL_ACRONYM.fullmatch(name):
        return False
    return "_" in name or (any(map(str.isupper, name[1:])) and any(map(str.islower, name)))


def _exact(text: str) -> tuple[str, ...]:
    """Names in back quotes, as written and in lower case; of a call, the called name."""
    found = []
    for match in _QUOTED.finditer(text):
        quoted = match.group(2)
        name = quoted.partition("(")[0] if quoted.endswith(")") else quoted
        name = (name or quoted).lstrip(".")
        if any(map(str.isalnum, name)):
            found += [name, name.lower()]
    return _distinct(found)


def _opening_verb(found: list[_Word]) -> int | None:
    """The position of the action verb that begins the task, after courtesies."""
    for place, word in enumerate(found):
        lowered = word.text.lower()
        if not word.code and lowered in OPENING_VERBS:
            return place
        if lowered not in COURTESIES:
            return None
    return None


def _priority_noun(after: list[_Word]) -> _Word | None:
    """The first specific word after the verb, else the first that is not a stop word."""
    first = None
    for word, following in zip_longest(after, after[1:]):
        lowered = word.text.lower()
        if not word.code and (lowered in STOP_WORDS or len(lowered) < SHORTEST):
            continue
        first = first or word
        framed = following is not None and following.follows and following.text.lower() in FRAME_NOUNS
        if lowered not in FRAME_NOUNS and not (framed and word.text.isupper()):
            return word
    return first


def _compounds(spoken: list[_Word]) -> Iterator[str]:
    """Code patterns, then identifiers, then pairs of neighbouring words."""
    for word in spoken:
        if word.code:
            yield from _cases(word)
    for word in spoken:
        for segment in word.text.split("."):
            if _is_identifier(segment):
                yield from (segment, segment.lower())
    for first, second in pairwise(spoken):
        if second.follows and _may_join(first) and _may_join(second) and second.text.lower() not in FRAME_NOUNS:
            left, right = first.text.lower(), second.text.lower()
            if max(len(left), len(right)) > SHORTEST_JOINED:
                yield from (_capital(left) + _capital(right), f"{left}_{right}")


def _may_join(word: _Word) -> bool:
    lowered = word.text.lower()
    return len(lowered) >= SHORTEST_JOINED and lowered.isalpha() and not _is_identifier(word.text) and lowered not in STOP_WORDS


def _components(spoken: list[_Word]) -> Iterator[str]:
    """The single words and the parts of identifiers, each followed by its other forms."""
    for word in spoken:
        for segment in word.text.split("."):
            for part in _parts(segment):
                if _says_something(part):
                    yield part
                    yield from filter(_says_something, sorted(abbreviations_of(part)))


def _says_something(part: str) -> bool:
    return len(part) >= SHORTEST and part not in STOP_WORDS and not part.isdigit()


def _parts(name: str) -> list[str]:
    lowered = name.lower()
    if _PLURAL_ACRONYM.fullmatch(name):
        return [lowered, lowered[:-1]]
    if _is_identifier(name) or lowered.isalpha():
        return analyzer.parts(name)
    return [lowered, *analyzer.parts(name)]


def _cases(word: _Word) -> tuple[str, ...]:
    return _distinct((word.text, word.text.lower()))


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def _distinct(found: Iterable[str], *, without: Iterable[str] = ()) -> tuple[str, ...]:
    """The first MOST_IN_A_TIER of the texts, in order, each once."""
    left_out = set(without)
    seen = dict.fromkeys(text for text in found if text not in left_out)
    return tuple(islice(seen, MOST_IN_A_TIER))
