"""What the index keeps of a note: its words, the times it speaks of, and vectors of its passages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from whence.embed.encoder import Encoder, UnitText
from whence.embed.prose import UNKNOWN, ProseEncoder
from whence.memory.database import NoteRow
from whence.memory.note import Note
from whence.memory.reader import packed_vectors
from whence.memory.store import StoredNote
from whence.text.analyzer import ProseLanguage
from whence.text.dates import OPEN, find_dates, find_document_date
from whence.text.secrets import find_secrets, redact_secrets

#: Words of a note that are kept: a transcript of a long day has fewer.
MOST_WORDS = 50_000
#: Characters that are looked at for times.
MOST_DATED = 200_000
#: A passage is this many words that say something; the next begins before it ends.
PASSAGE_WORDS, PASSAGE_STEP = 48, 40
#: What a note without any words is called.
_MADE_UP = re.compile(r"note-[0-9a-f]{8}(?:-\d+)?")
_COUNTER = re.compile(r"(?<![^\W_])\d{1,2}(?![^\W_])")


class NoteAnalyzer:
    """Reads notes for the index."""

    def __init__(self, language: ProseLanguage, encoder: Encoder | None) -> None:
        self.language, self.encoder = language, encoder

    @property
    def identity(self) -> str:
        """Of everything that decides what is read from a note."""
        return f"{self.language.name} {self.encoder.fingerprint if self.encoder else 'none'}"

    def word(self, word: str) -> tuple[str, int]:
        """The stem of a word, and its row in the table of the shipped model; -1 where it has none."""
        return self.language.stem(word), int(self.encoder.rows_of([word])[0]) if isinstance(self.encoder, ProseEncoder) else UNKNOWN

    def entries(self, notes: Sequence[tuple[Note, StoredNote]]) -> list[NoteRow]:
        """What is kept of some notes; their passages are encoded together."""
        texts = [searched_text(note) for note, _ in notes]
        secrets = [find_secrets(text) for text in texts]
        # One that was written by hand is in the file, and nowhere else.
        clean = [redact_secrets(text, found) if found else text for text, found in zip(texts, secrets, strict=True)]
        words = [self.language.content_words(text)[:MOST_WORDS] for text in clean]
        read = zip(notes, words, self._vectors(words), secrets, strict=True)
        return [self._entry(note, found, one, packed, secret=bool(secret)) for (note, found), one, packed, secret in read]

    def _entry(self, note: Note, found: StoredNote, words: list[str], vectors: bytes, *, secret: bool) -> NoteRow:
        if secret:
            clean = [redact_secrets(one, find_secrets(one)) for one in (note.topic, note.project, *note.tags)]
            note = replace(note, topic=clean[0], project=clean[1], tags=tuple(clean[2:]))
        day = day_of_note(note)
        spans = find_dates(note.text[:MOST_DATED], day or None)
        bounded = [(span.first, span.last) for span in spans if span.first > 0 and span.last < OPEN]
        return NoteRow(
            key=note.key,
            folder=note.folder,
            size=found.size,
            changed_ns=found.changed_ns,
            inode=found.inode,
            project=note.project,
            topic=note.topic,
            kind=note.kind,
            archived=note.archived is not None,
            trouble=note.trouble,
            secret=secret,
            day=day,
            valid_from=_seconds(note.valid_from),
            valid_until=_seconds(note.valid_until),
            words=words,
            spans=np.array(bounded, np.int32).tobytes(),
            vectors=vectors,
            tags=note.tags,
            about=tuple((about.repository, about.path, about.code, about.hash) for about in note.about),
        )

    def _vectors(self, words: Sequence[Sequence[str]]) -> list[bytes]:
        if self.encoder is None:
            return [b""] * len(words)
        passages = [passages_of(one) for one in words]
        rows = self.encoder.encode_units([UnitText("", "", " ".join(passage).encode()) for one in passages for passage in one]).rows
        ends = np.cumsum([len(one) for one in passages])
        return [packed_vectors(part) for part in np.split(rows, ends[:-1])] if passages else []


def searched_text(note: Note) -> str:
    """What of a note is searched: its name, its tags and its text. A short number in a name counts notes, and is no word for them."""
    named = note.topic or _own_words(note.slug, note.text.lower())
    return "\n".join([_COUNTER.sub(" ", named), " ".join(note.tags), note.text])


def _own_words(slug: str, text: str) -> str:
    """The words of a name that a person gave; those that were taken from the text are not counted twice."""
    return "" if _MADE_UP.fullmatch(slug) else " ".join(word for word in slug.split("-") if word not in text)


def day_of_note(note: Note) -> int:
    """The day that a note is of: what its text says, else when it began to hold, else when it was written; 0 when none is known."""
    said = find_document_date(note.text)
    if said:
        return said
    known = note.valid_from or note.created
    return known.toordinal() if known else 0


def passages_of(words: Sequence[str]) -> list[Sequence[str]]:
    """The passages of a note: runs of words, each a little over the one before."""
    starts = range(0, max(1, len(words) - (PASSAGE_WORDS - PASSAGE_STEP)), PASSAGE_STEP)
    return [words[start : start + PASSAGE_WORDS] for start in starts] if words else []


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
