"""The passage of a note that answers a query: the turns, lines or sentences that match, in their order (M11)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from whence.embed.encoder import Encoder, UnitText, Vectors
from whence.storage.arrayfile import Array
from whence.text.analyzer import ProseLanguage

#: Characters of a passage, and pieces of a note in it; a note that is no longer is a passage as it is.
MAX_PASSAGE, MAX_PIECES = 1_200, 8
#: Longer lines are cut where a sentence ends, into pieces of about this many characters.
MAX_PIECE = 300
#: Characters of a note that are read.
MAX_READ = 200_000
#: The share of the score of the piece before and of the one behind that a piece gets: answers follow questions.
BEFORE, BEHIND = 0.3, 0.2
_SENTENCE = re.compile(rf".{{1,{MAX_PIECE}}}(?:(?<=[.!?])\s+|$)|.{{1,{MAX_PIECE}}}(?:\s+|$)|.{{1,{MAX_PIECE}}}", re.DOTALL)
_SPEAKER = re.compile(r"\W{0,4}(?:\[[^\]]{1,20}\]\s*)?([^\W\d_][\w .'-]{0,40}?)\W{0,2}:\s")


@dataclass(frozen=True, slots=True)
class Piece:
    """A line of a note, or some sentences of a long one."""

    line: int  # from 1
    text: str
    speaker: str = ""  # who began the line, where the piece does not say it


@dataclass(frozen=True, slots=True)
class Passage:
    """The pieces of a note that answer a query."""

    pieces: tuple[Piece, ...]
    left: int = 0  # how many pieces of the note are not in it

    @property
    def line(self) -> int:
        """The line of the note that it begins in."""
        return self.pieces[0].line if self.pieces else 1

    @property
    def lines(self) -> list[str]:
        """Its pieces as they are shown: with the speaker where that is known."""
        return [f"{one.speaker}: ... {one.text}" if one.speaker else one.text for one in self.pieces]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)


def pieces_of(text: str) -> list[Piece]:
    """The pieces of a note, in order."""
    found = []
    for number, line in enumerate(text[:MAX_READ].split("\n"), 1):
        if not line.strip():
            continue
        parts = [line.rstrip()] if len(line) <= MAX_PIECE else [part.rstrip() for part in _SENTENCE.findall(line) if part.strip()]
        speaker = match[1] if len(parts) > 1 and (match := _SPEAKER.match(line)) else ""
        found += [Piece(number, part, speaker if at else "") for at, part in enumerate(parts)]
    return found


@dataclass(frozen=True)
class PassageChooser:
    """Chooses passages for one query."""

    stems: Sequence[str]
    idf_of: Callable[[str], float]
    language: ProseLanguage
    encoder: Encoder | None
    query: Vectors | None

    def passage(self, text: str, characters: int = MAX_PASSAGE, count: int = 0) -> Passage:
        """The best pieces of a note, as many as there is room for; all of a short one. `count`: that many pieces at most."""
        pieces = pieces_of(text)
        if sum(len(one.text) for one in pieces) <= characters and len(pieces) <= (count or len(pieces)):
            return Passage(tuple(pieces))
        scores, chosen, left = self._scores(pieces), list[int](), characters
        for at in np.argsort(-scores, kind="stable").tolist():
            if len(chosen) < (count or MAX_PIECES) and (not chosen or len(pieces[at].text) <= left):
                chosen.append(at)
                left -= len(pieces[at].text)
        return Passage(tuple(pieces[at] for at in sorted(chosen)), len(pieces) - len(chosen))

    def _scores(self, pieces: Sequence[Piece]) -> Array:
        """The share of the query's idf that each piece holds, and its similarity; and some of its neighbours'."""
        words = [self.language.content_words(one.text) for one in pieces]
        idfs = {stem: self.idf_of(stem) for stem in self.stems}
        total = sum(idfs.values()) or 1.0
        scores = np.array([sum(idfs[stem] for stem in idfs.keys() & set(map(self.language.stem, some))) / total for some in words])
        if self.encoder is not None and self.query is not None:
            vectors = self.encoder.encode_units([UnitText("", "", " ".join(some).encode()) for some in words]).rows
            scores = scores + vectors @ self.query.rows[0]
        before, behind = np.append(0.0, scores[:-1]), np.append(scores[1:], 0.0)
        return np.asarray(scores + BEFORE * before + BEHIND * behind)
