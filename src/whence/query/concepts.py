"""Equivalence classes: what tasks talk about and the names code commonly gives it, from `concept_classes/*.txt` (N3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from whence.text.analyzer import normalize_identifier, parts, stem, words
from whence.text.tables import content_lines

FOLDER = Path(__file__).with_name("concept_classes")
#: A word of a phrase with this in front is matched unstemmed: the stem of `locale` is that of `local`.
UNSTEMMED = "="
#: Names too common to point at anything (N3).
GENERIC = frozenset("get set do new run put post call add pop".split())
MIN_TARGET_LENGTH = 4


@dataclass(frozen=True, slots=True)
class Concept:
    """One equivalence class. Without languages it applies to all of them."""

    id: str  # the file and the class: `python/context_managers`
    phrases: tuple[str, ...]
    targets: tuple[str, ...]
    weight: float
    languages: frozenset[str]


@dataclass(frozen=True, slots=True)
class ConceptMatch:
    """A concept that a task mentions, and the phrases that mention it."""

    concept: Concept
    phrases: tuple[str, ...]


def is_strong(match: ConceptMatch) -> bool:
    """Whether two phrases matched, or one phrase of several words."""
    return len(match.phrases) > 1 or any(" " in phrase for phrase in match.phrases)


def name_key(name: str) -> str:
    """The form in which targets and symbol names are compared: `set_cookie`, `SetCookie` -> `setcookie`.

    A name that begins with two underscores belongs to the language and is compared as it is.
    """
    return name if name.startswith("__") else normalize_identifier(name)


def is_generic(target: str) -> bool:
    """Whether a target is too common to be useful; for `Type.member` the member counts."""
    key = name_key(target.rpartition(".")[2])
    return len(key) < MIN_TARGET_LENGTH or key in GENERIC


def match_concepts(task: str, languages: frozenset[str]) -> list[ConceptMatch]:
    """The concepts that a task mentions, those with most words matched first."""
    phrases_of: dict[int, dict[str, None]] = {}
    for number, phrase in _find_phrases([part for word in words(task) for part in parts(word)]):
        phrases_of.setdefault(number, {})[phrase] = None
    concepts = load_concepts()
    found = [
        ConceptMatch(concepts[number], tuple(phrases))
        for number, phrases in sorted(phrases_of.items())
        if not concepts[number].languages or concepts[number].languages & languages
    ]
    return sorted(found, key=lambda match: -sum(len(phrase.split()) for phrase in match.phrases))


def _find_phrases(task_words: list[str]) -> Iterator[tuple[int, str]]:
    """Each phrase that occurs in a task, with the number of its concept."""
    stems = [stem(part) for part in task_words]
    first_words = _phrases_by_first_word()
    for at, part in enumerate(task_words):
        for first in (stems[at], UNSTEMMED + part):
            for sought, number, phrase in first_words.get(first, ()):
                if _occurs_at(sought, at, task_words, stems):
                    yield number, phrase


def _occurs_at(sought: tuple[str, ...], at: int, task_words: list[str], stems: list[str]) -> bool:
    if at + len(sought) > len(task_words):
        return False
    return all(one in (stems[at + i], UNSTEMMED + task_words[at + i]) for i, one in enumerate(sought))


@cache
def _phrases_by_first_word() -> dict[str, list[tuple[tuple[str, ...], int, str]]]:
    """Phrases as stems, by their first stem; of a concept's phrases with the same stems only the first."""
    found: dict[str, list[tuple[tuple[str, ...], int, str]]] = {}
    for number, concept in enumerate(load_concepts()):
        seen: set[tuple[str, ...]] = set()
        for phrase in concept.phrases:
            sought = phrase_stems(phrase)
            if sought not in seen:
                seen.add(sought)
                found.setdefault(sought[0], []).append((sought, number, phrase))
    return found


def phrase_stems(phrase: str) -> tuple[str, ...]:
    """The stems of a phrase's words; marked words stay unstemmed."""
    found: list[str] = []
    for word in phrase.split():
        found += [word] if word.startswith(UNSTEMMED) else [stem(part) for part in parts(word)]
    return tuple(found)


@cache
def load_concepts() -> tuple[Concept, ...]:
    """All equivalence classes, in the order of their files."""
    return tuple(concept for file in sorted(FOLDER.glob("*.txt")) for concept in read_concepts(file))


def read_concepts(file: Path) -> Iterator[Concept]:
    """The classes of one file; what precedes the first class applies to all of them."""
    name = ""
    values: dict[str, list[str]] = {"weight": [], "languages": [], "phrases": [], "targets": []}
    for line in [*content_lines(file), ""]:
        key, colon, value = line.partition(":")
        if colon:
            values[key.strip()].append(value)
            continue
        if name:
            yield Concept(
                f"{file.stem}/{name}",
                tuple(phrase.strip() for row in values["phrases"] for phrase in row.split(",")),
                tuple(target for row in values["targets"] for target in row.split()),
                float(values["weight"][-1]),
                frozenset(language for row in values["languages"] for language in row.split()),
            )
        name = line.strip()
        values = values | {"phrases": [], "targets": []}
