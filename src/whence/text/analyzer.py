"""Words of code and prose, analyzed the same way in documents and in queries (T1).

An identifier yields its stemmed parts and, if there are several, also the whole, lower-cased and joined:
`parseRequest` -> `pars request parserequest`. Notes are prose: `ProseLanguage` stems them by their own language (M6).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from unicodedata import normalize

import Stemmer

from whence.core.errors import SettingError
from whence.text.tables import content_lines

#: An identifier or word, or a short number on its own.
WORD = re.compile(r"[^\W\d]\w*|(?<!\w)\d{1,6}(?!\w)")
_ASCII_PARTS = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
#: Scripts written without spaces: their words are found by pairs of characters.
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]+")
_RUNS = re.compile(rf"({_UNSPACED.pattern}|[0-9]+)")
#: Longer numbers are noise (hashes, timestamps), not words.
MAX_NUMBER_DIGITS = 6
MAX_WORD_LENGTH = 64
#: Languages with a stop word list and a stemmer. `none` has neither.
LANGUAGES = tuple(
    "danish dutch english finnish french german hungarian italian norwegian portuguese romanian russian spanish swedish turkish".split()
)
NO_LANGUAGE = "none"
_STOP_WORDS = Path(__file__).with_name("stop_words")


@cache
def stop_words(name: str) -> frozenset[str]:
    """The words of a list in `stop_words/`, which carry no content.

    `query` is for search queries, `languages/*` for notes, `change_verbs` and `task` for tasks, `classic*` for the classic
    ranking of symbols, `feedback*` for learning from feedback.
    """
    return frozenset(" ".join(content_lines(_STOP_WORDS / f"{name}.txt")).split())


QUERY_STOP_WORDS = stop_words("query")


def words(text: str) -> list[str]:
    """The identifiers and words of a text, as written."""
    return WORD.findall(text)


def parts(word: str) -> list[str]:
    """The lower-cased parts of an identifier: `getHTTPResponse` -> `get http response`."""
    if word.isascii() and word.isalpha() and word.islower() and len(word) <= MAX_WORD_LENGTH:
        return [word]
    found: list[str] = []
    for piece in word.split("_"):
        if piece.isascii():
            found += [part.lower() for part in _ASCII_PARTS.findall(piece)]
        else:
            found += _unicode_parts(piece)
    return [part for part in found if len(part) <= MAX_WORD_LENGTH and not (part.isdigit() and len(part) > MAX_NUMBER_DIGITS)]


def _unicode_parts(piece: str) -> list[str]:
    """Parts of a piece with letters beyond ASCII: split at capitals, digits and scripts."""
    found: list[str] = []
    for run in _RUNS.split(piece):
        if _UNSPACED.fullmatch(run):
            found += [run] if len(run) < 3 else [run[i : i + 2] for i in range(len(run) - 1)]
        elif run.isdigit():
            found.append(run)
        elif run:
            found += _split_at_capitals(run)
    return found


def _split_at_capitals(run: str) -> list[str]:
    def begins_word(i: int) -> bool:
        return run[i].isupper() and (run[i - 1].islower() or (run[i + 1 : i + 2].islower() and run[i - 1].isupper()))

    cuts = [0, *filter(begins_word, range(1, len(run)))]
    return [run[a:b].lower() for a, b in zip(cuts, [*cuts[1:], len(run)], strict=True)]


def normalize_identifier(word: str) -> str:
    """An identifier as one lower-cased word: `my_func`, `MyFunc` -> `myfunc`."""
    return word.replace("_", "").lower()[:MAX_WORD_LENGTH]


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")


@lru_cache(maxsize=1 << 14)
def stem(part: str) -> str:
    """The stem of a lower-cased part: `parsing`, `parses` -> `pars`."""
    try:
        return _stemmer().stemWord(part)  # type: ignore[no-any-return]
    except UnicodeEncodeError:  # a lone surrogate, as file names may hold them
        return part


def terms(word: str) -> tuple[str, ...]:
    """The terms an identifier is indexed under: its stemmed parts and, if there are several, the normalized whole."""
    pieces = parts(word)
    stems = tuple(stem(piece) for piece in pieces)
    return stems if len(pieces) < 2 else (*stems, normalize_identifier(word))


class ProseLanguage:
    """Stop words and stems of one natural language, for notes and for queries about them."""

    def __init__(self, name: str) -> None:
        if name not in (*LANGUAGES, NO_LANGUAGE):
            raise SettingError(f"memory.language = {name!r} is not allowed", hint=f"allowed: {', '.join((*LANGUAGES, NO_LANGUAGE))}")
        self.name = name
        self.stop_words = stop_words(f"languages/{name}") if name != NO_LANGUAGE else frozenset()
        self._stem = Stemmer.Stemmer(name).stemWord if name != NO_LANGUAGE else str

    def content_words(self, text: str) -> list[str]:
        """The words of a text without stop words, in order and lower case; identifiers give their parts and their whole."""
        found: list[str] = []
        # NFC gives each letter one spelling; a dotted capital I would become two characters in lower case.
        for word in words(normalize("NFC", text).replace("\u0130", "I")):
            pieces = parts(word)
            is_whole = len(pieces) == 1
            # A single letter or digit of a name (`v1`) means nothing by itself.
            found += [piece for piece in pieces if piece not in self.stop_words and (is_whole or len(piece) > 1)]
            if not is_whole and pieces:
                found.append(normalize_identifier(word))
        return found

    def stem(self, word: str) -> str:
        """The term a word is indexed under."""
        return str(self._stem(word))


@cache
def prose_language(name: str) -> ProseLanguage:
    """A language, loaded once."""
    return ProseLanguage(name)
