"""Questions that a repository answers itself: its doc comments and its commits, each with the file it speaks of."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whence.parse import tokens
from whence.parse.languages import language_of
from whence.parse.paths import is_source
from whence.source.history import TELLS_NOTHING
from whence.types import DEFINITIONS, Unit

if TYPE_CHECKING:
    from whence.source.history import Commit

FEWEST_WORDS, MOST_WORDS = 4, 30
#: A commit that changed more is about no file in particular.
MOST_WANTED, MOST_TOUCHED = 3, 10
#: A larger file is not parsed for a question.
MOST_BYTES = 200_000

_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_PARAGRAPH = re.compile(r"\n\s*\n|\n\s*(?:[@:\\]\w+|Args|Returns|Parameters|Example)\b")
#: Comments that say nothing of the code below them.
_BESIDE = re.compile(r"copyright|licen[cs]e|todo|fixme|noqa|pylint|eslint|generated|do not edit|https?://", re.IGNORECASE)
_REFERENCE = re.compile(r"\(?(?:gh-|#)\d+\)?:?|\b[A-Z]{2,}-\d+\b|\b[0-9a-f]{7,40}\b")


@dataclass(frozen=True, slots=True)
class Known:
    """A question, and the files of which one answers it."""

    text: str
    wanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Masked:
    """A question from a doc comment, and its file without any comment of the definition that it speaks of."""

    known: Known
    source: bytes


def in_chance_order(paths: Sequence[str]) -> list[str]:
    """Paths in an order that has nothing to do with what they are, and is the same every time."""
    return sorted(paths, key=lambda path: (zlib.crc32(path.encode("utf-8", "surrogateescape")[::-1]), path))


def masked(path: str, source: bytes) -> Masked | None:
    """A question from one of the doc comments of a file, and the file with that definition's comments blanked."""
    from whence.parse.units import parse  # noqa: PLC0415  -- grammars

    if not is_source(path) or len(source) > MOST_BYTES:
        return None
    parsed = parse(source, language_of(path, source[:4_096]).name)
    fit = [(unit, text) for unit in parsed.units if unit.kind in DEFINITIONS if (text := question_of(unit))]
    if not fit:
        return None
    unit, text = fit[zlib.crc32(source) % len(fit)]
    blanked = bytearray(source)
    for start, end in parsed.comments:
        if unit.start <= start and end <= unit.end:  # what marks a comment stays, so that the file is parsed as before
            blanked[start:end] = bytes(byte if byte in b"\n\r\"'#/*-{}" else 32 for byte in source[start:end])
    return Masked(Known(text, (path,)), bytes(blanked))


def question_of(unit: Unit) -> str:
    """The first sentence of a unit's doc comment without the words of its name; empty when too little is left."""
    paragraph = _PARAGRAPH.split(unit.doc, maxsplit=1)[0].strip(" :*-/#|\"'\n")
    sentence = _SENTENCE.match(paragraph)
    said = " ".join((sentence[1] if sentence else paragraph).split())
    if not said or _BESIDE.search(said) or len(said.split()) > MOST_WORDS:
        return ""
    own = {term for name in (unit.name, *unit.parents) for term in tokens.terms(name)}
    left = tokens.WORD.sub(lambda word: "" if own & set(tokens.terms(word[0])) else word[0], said)
    return " ".join(left.split()) if says_enough(left) else ""


def says_enough(text: str) -> bool:
    """Whether a text has enough words to be a question."""
    return len({word.lower() for word in tokens.words(text)} - tokens.STOP_WORDS) >= FEWEST_WORDS


def from_commits(commits: Sequence[Commit], there: Callable[[str], bool], wanted: int) -> list[Known]:
    """The subjects of the newest commits that changed few files which are still there, no subject twice."""
    found: dict[str, Known] = {}
    for commit in commits:
        subject = _REFERENCE.sub(" ", commit.message.partition("\n")[0])
        text = " ".join(subject.split())
        files = tuple(path for path in commit.paths if is_source(path))
        fit = 1 <= len(files) <= MOST_WANTED and len(commit.paths) <= MOST_TOUCHED and all(map(there, files))
        if fit and says_enough(text) and not TELLS_NOTHING.search(text) and not _BESIDE.search(text):
            found.setdefault(text.lower(), Known(text, files))
        if len(found) >= wanted:
            break
    return list(found.values())


def text_on_disk(root: Path, path: str, most: int) -> bytes | None:
    """A file as it is indexed, or None."""
    from whence.source.reading import read_masked  # noqa: PLC0415

    return read_masked(root, path, most + 1)
