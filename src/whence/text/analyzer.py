"""Words of code and prose, the same way for documents and for queries (T1).

An identifier gives its parts, stemmed, and when it has several also its whole,
lower-cased and joined: `parseRequest` -> `pars request parserequest`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

import Stemmer

#: An identifier or word, or a short number that stands alone.
WORD = re.compile(r"[^\W\d]\w*|(?<!\w)\d{1,6}(?!\w)")
_ASCII_PARTS = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
#: Scripts written without spaces: their words are found by pairs of characters.
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]+")
#: Digits beyond this are noise (hashes, timestamps), not words.
LONGEST_NUMBER = 6
LONGEST_WORD = 64

#: Words that carry no content in a question (about 120, English).
STOP_WORDS = frozenset(
    "a an and are as at be been but by can could did do does doing for from get gets had has have how i if in into is "
    "it its itself me my no not of on onto or our out over own s should so some such than that the their them then "
    "there these they this those through to too under up via was we were what when where which while who whom whose "
    "why will with within without would you your".split()
)


def words(text: str) -> list[str]:
    """The identifiers and words of a text, as written."""
    return WORD.findall(text)


def parts(word: str) -> list[str]:
    """The lower-cased parts of an identifier: `getHTTPResponse` -> `get http response`."""
    if word.isascii() and word.isalpha() and word.islower() and len(word) <= LONGEST_WORD:
        return [word]
    found: list[str] = []
    for piece in word.split("_"):
        if piece.isascii():
            found += [part.lower() for part in _ASCII_PARTS.findall(piece)]
        else:
            found += _unicode_parts(piece)
    return [part for part in found if len(part) <= LONGEST_WORD and not (part.isdigit() and len(part) > LONGEST_NUMBER)]


def _unicode_parts(piece: str) -> list[str]:
    """Parts of a piece with letters beyond ASCII: split at capitals, digits and scripts."""
    found: list[str] = []
    for run in re.split(r"([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]+|[0-9]+)", piece):
        if _UNSPACED.fullmatch(run):
            found += [run] if len(run) < 3 else [run[i : i + 2] for i in range(len(run) - 1)]
        elif run.isdigit():
            found.append(run)
        elif run:
            found += _at_capitals(run)
    return found


def _at_capitals(run: str) -> list[str]:
    cuts = [0]
    for i in range(1, len(run)):
        begins = run[i].isupper() and (run[i - 1].islower() or (i + 1 < len(run) and run[i + 1].islower() and run[i - 1].isupper()))
        if begins:
            cuts.append(i)
    return [run[a:b].lower() for a, b in zip(cuts, [*cuts[1:], len(run)], strict=True)]


def split(word: str) -> list[str]:
    """An identifier's whole, lower-cased and joined, then its parts where there are several (T1)."""
    pieces = parts(word)
    return pieces if len(pieces) < 2 else [normalize_identifier(word), *pieces]


def normalize_identifier(word: str) -> str:
    """An identifier as one lower-cased word: `my_func`, `MyFunc` -> `myfunc`."""
    return word.replace("_", "").lower()[:LONGEST_WORD]


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")


@lru_cache(maxsize=1 << 14)
def stem(part: str) -> str:
    """The stem of a lower-cased part: `parsing`, `parses` -> `pars`."""
    try:
        return _stemmer().stemWord(part)  # type: ignore[no-any-return]
    except UnicodeEncodeError:  # half a character, as names of files may hold them: it has no stem but itself
        return part


def terms(word: str) -> tuple[str, ...]:
    """What an identifier is indexed under: its stemmed parts and, of several, the joined whole."""
    pieces = parts(word)
    stems = tuple(stem(piece) for piece in pieces)
    return stems if len(pieces) < 2 else (*stems, normalize_identifier(word))
