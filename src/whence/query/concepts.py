"""Equivalence classes: what a task may speak of, and how code commonly calls it, from `concepts/*.txt` (N3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from whence.query.vocabulary import content_lines
from whence.text.analyzer import normalize_identifier, parts, stem, words

FOLDER = Path(__file__).with_name("concept_classes")
#: A word of a phrase with this in front matches as it is written: the stem of `locale` is that of `local`.
AS_WRITTEN = "="
#: Names that so much code has that finding one says nothing (N3).
GENERIC = frozenset("get set do new run put post call add pop".split())
SHORTEST_TARGET = 4


@dataclass(frozen=True, slots=True)
class Concept:
    """One equivalence class. With no languages it is for all of them."""

    id: str  # the layer and the class: `python/context_managers`
    phrases: tuple[str, ...]
    targets: tuple[str, ...]
    weight: float
    languages: frozenset[str]


@dataclass(frozen=True, slots=True)
class ConceptMatch:
    """A concept that a task speaks of, and the phrases that say so."""

    concept: Concept
    phrases: tuple[str, ...]


def is_strong(match: ConceptMatch) -> bool:
    """Whether two phrases matched, or one of several words."""
    return len(match.phrases) > 1 or any(" " in phrase for phrase in match.phrases)


def name_key(name: str) -> str:
    """The form in which a target and the name of a symbol are compared: `set_cookie`, `SetCookie` -> `setcookie`.

    A name that begins with two underscores is the language's own and is compared as it is.
    """
    return name if name.startswith("__") else normalize_identifier(name)


def is_generic(target: str) -> bool:
    """Whether a target names too much to be of use; of `Type.member` the member counts."""
    key = name_key(target.rpartition(".")[2])
    return len(key) < SHORTEST_TARGET or key in GENERIC


def match_concepts(task: str, languages: frozenset[str]) -> list[ConceptMatch]:
    """The concepts that a task speaks of, those with most words matched first."""
    said = [part for word in words(task) for part in parts(word)]
    heard: dict[int, dict[str, None]] = {}
    for number, phrase in _spoken(said):
        heard.setdefault(number, {})[phrase] = None
    known = load_concepts()
    found = [
        ConceptMatch(known[number], tuple(phrases))
        for number, phrases in sorted(heard.items())
        if not known[number].languages or known[number].languages & languages
    ]
    return sorted(found, key=lambda match: -sum(len(phrase.split()) for phrase in match.phrases))


def _spoken(said: list[str]) -> Iterator[tuple[int, str]]:
    """Each phrase that occurs in a text, with the number of its concept."""
    stems = [stem(part) for part in said]
    first_words = _phrases_by_first_word()
    for at, part in enumerate(said):
        for first in (stems[at], AS_WRITTEN + part):
            for sought, number, phrase in first_words.get(first, ()):
                if _stands_at(sought, at, said, stems):
                    yield number, phrase


def _stands_at(sought: tuple[str, ...], at: int, said: list[str], stems: list[str]) -> bool:
    if at + len(sought) > len(said):
        return False
    return all(one in (stems[at + i], AS_WRITTEN + said[at + i]) for i, one in enumerate(sought))


@cache
def _phrases_by_first_word() -> dict[str, list[tuple[tuple[str, ...], int, str]]]:
    """Phrases as their stems, under the first; of phrases of one concept with the same stems the first is kept."""
    found: dict[str, list[tuple[tuple[str, ...], int, str]]] = {}
    for number, concept in enumerate(load_concepts()):
        seen: set[tuple[str, ...]] = set()
        for phrase in concept.phrases:
            sought = stems_of_phrase(phrase)
            if sought not in seen:
                seen.add(sought)
                found.setdefault(sought[0], []).append((sought, number, phrase))
    return found


def stems_of_phrase(phrase: str) -> tuple[str, ...]:
    """What a phrase is compared by: the stems of its words, and words that must be as written."""
    found: list[str] = []
    for word in phrase.split():
        found += [word] if word.startswith(AS_WRITTEN) else [stem(part) for part in parts(word)]
    return tuple(found)


@cache
def load_concepts() -> tuple[Concept, ...]:
    """All shipped equivalence classes, in the order of their files."""
    return tuple(concept for file in sorted(FOLDER.glob("*.txt")) for concept in read_concepts(file))


def read_concepts(file: Path) -> Iterator[Concept]:
    """The classes of one layer: lines before the first class say what holds for all of them."""
    name = ""
    said: dict[str, list[str]] = {"weight": [], "languages": [], "phrases": [], "targets": []}
    for line in [*content_lines(file), ""]:
        key, colon, value = line.partition(":")
        if colon:
            said[key.strip()].append(value)
            continue
        if name:
            yield Concept(
                f"{file.stem}/{name}",
                tuple(phrase.strip() for row in said["phrases"] for phrase in row.split(",")),
                tuple(target for row in said["targets"] for target in row.split()),
                float(said["weight"][-1]),
                frozenset(language for row in said["languages"] for language in row.split()),
            )
        name = line.strip()
        said = said | {"phrases": [], "targets": []}
