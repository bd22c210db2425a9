"""What is asked of notes: words, names written with hyphens, and times."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from whence.query.paste import clean_paste
from whence.text.analyzer import NO_LANGUAGE, ProseLanguage, prose_language
from whence.text.dates import find_dates

#: Characters of a question that are read, and different words of it that count.
MOST_READ, MOST_WORDS = 20_000, 64
_HYPHENATED = re.compile(r"\w+(?:-\w+)+")
#: Words that place a time by the day on which they are said. Any other time without a year, such as "in July", is one of every year.
_DEICTIC = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|ago|last|past|previous|this|next|coming|current|since|recent(?:ly)?|night|morning|before|after)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NotePlan:
    """A question to notes."""

    text: str
    words: tuple[str, ...] = ()  # that say something, each once, in lower case
    stems: tuple[str, ...] = ()  # of each word
    hyphenated: tuple[str, ...] = ()  # names such as `valencia-v1`, in lower case
    spans: tuple[tuple[int, int], ...] = ()  # times, as first and last day
    yearly: bool = False  # whether they are of every year, and the one given is only the latest
    length: float = 0.0  # ranking has one set of weights for notes
    said: str = ""  # what was done with a pasted text to find the question in it; empty where nothing was

    def without(self, stems: frozenset[str]) -> NotePlan:
        """The question without some words."""
        left = [(word, stem) for word, stem in zip(self.words, self.stems, strict=True) if stem not in stems]
        return replace(self, words=tuple(word for word, _ in left), stems=tuple(stem for _, stem in left))


def make_note_plan(text: str, language: ProseLanguage, today: int) -> NotePlan:
    """A question, or the one in a pasted text, as it can be asked of notes.

    Words that only tell a time that has been understood do not count.
    """
    question = clean_paste(text)
    text = question.text[:MOST_READ]
    spans = find_dates(text, today)
    said_now = [span for span in spans if not span.exact and _DEICTIC.search(text, span.start, span.end)]
    left = text
    for span in reversed(said_now):
        left = left[: span.start] + " " + left[span.end :]
    words = language.content_words(left)
    if not words and not spans:
        words = prose_language(NO_LANGUAGE).content_words(left)  # nothing but words that say nothing: better than no answer
    first = {language.stem(word): word for word in reversed(words)}
    stems = list(dict.fromkeys(language.stem(word) for word in words))[:MOST_WORDS]
    exact = [span for span in spans if span.exact] or spans
    return NotePlan(
        text,
        tuple(first[stem] for stem in stems),
        tuple(stems),
        tuple(dict.fromkeys(found.lower() for found in _HYPHENATED.findall(text))),
        tuple((span.first, span.last) for span in exact),
        yearly=bool(exact) and not any(span.exact or span in said_now for span in exact),
        said=question.note,
    )
