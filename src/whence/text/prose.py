"""The words of a note: what they are found under, and which say nothing (M6).

The same function for notes and for questions. A word is kept as it is written, in
lower case, for the vectors; its stem is what postings are kept under.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from unicodedata import normalize

import Stemmer

from whence.core.errors import SettingError
from whence.text.analyzer import normalize_identifier, parts, words

#: Languages with a list of words that say nothing, and a stemmer. `none` has neither.
LANGUAGES = tuple(
    "danish dutch english finnish french german hungarian italian norwegian portuguese romanian russian spanish swedish turkish".split()
)
NONE = "none"
_LISTS = Path(__file__).with_name("stop_words")


class ProseLanguage:
    """How words of a language are read."""

    def __init__(self, name: str) -> None:
        if name not in (*LANGUAGES, NONE):
            raise SettingError(f"memory.language = {name!r} is not allowed", hint=f"allowed: {', '.join((*LANGUAGES, NONE))}")
        self.name = name
        self.stop_words = _stop_words(name)
        self._stem = Stemmer.Stemmer(name).stemWord if name != NONE else str

    def content_words(self, text: str) -> list[str]:
        """The words of a text that say something, in order and in lower case; identifiers give their parts and their whole."""
        found: list[str] = []
        # One spelling for each letter; a capital i with a dot would become two characters in lower case.
        for word in words(normalize("NFC", text).replace("\u0130", "I")):
            pieces = parts(word)
            whole = len(pieces) == 1
            # A letter or a figure that is part of a name (`v1`) says nothing by itself.
            found += [piece for piece in pieces if piece not in self.stop_words and (whole or len(piece) > 1)]
            if not whole and pieces:
                found.append(normalize_identifier(word))
        return found

    def stem(self, word: str) -> str:
        """What a word is found under."""
        return str(self._stem(word))


@cache
def prose_language(name: str) -> ProseLanguage:
    """A language, read once."""
    return ProseLanguage(name)


def _stop_words(name: str) -> frozenset[str]:
    if name == NONE:
        return frozenset()
    lines = (_LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
