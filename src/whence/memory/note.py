"""What a note is: a text that is kept as it was given, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

#: What a note can be, with the part of an answer that it belongs to. The parts keep this order (M4).
CATEGORY_OF = {
    "durable": "memories",
    "session": "memories",
    "handoff": "handoffs",
    "resource": "resources",
    "skill": "skills",
    "pack": "generated",
    "summary": "generated",
}
KINDS = tuple(CATEGORY_OF)
CATEGORIES = ("memories", "handoffs", "resources", "skills")
#: Kinds that were made from other notes and from code: recall leaves them out, by this list and no other (M4).
GENERATED = frozenset(kind for kind, category in CATEGORY_OF.items() if category not in CATEGORIES)
#: The folder of notes that belong to no project.
GENERAL = "general"


@dataclass(frozen=True, slots=True)
class CodeRef:
    """A piece of code that a note speaks of, and what it looked like when the note was written (M8)."""

    code: str  # `src/app.py#Flask.run`, or `src/app.py` for the whole file; below the repository's root
    hash: str = ""  # of its text at that time; empty when that is not known
    repository: str = ""  # the root, as an absolute path; empty for notes that lie in the repository itself

    @property
    def path(self) -> str:
        """The file."""
        return self.code.partition("#")[0]

    @property
    def symbol(self) -> str:
        """The qualified name in the file; empty for the whole of it."""
        return self.code.partition("#")[2]


@dataclass(frozen=True, slots=True)
class Note:
    """One note. Times are in UTC, to the second."""

    text: str  # what was given, unchanged
    slug: str  # the name of its file
    project: str = ""  # empty: it belongs to none
    topic: str = ""
    kind: str = "durable"
    tags: tuple[str, ...] = ()
    source: str = ""  # where it came from: a file that was imported, a session, a person
    created: datetime | None = None
    updated: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    about: tuple[CodeRef, ...] = ()
    archived: datetime | None = None
    other: tuple[tuple[str, str], ...] = ()  # lines of the front matter that are not ours: kept as they were
    folder: str = GENERAL  # the name of its folder
    trouble: str = ""  # what is wrong with its file, in one line; such a note is shown and searched, but not rewritten

    @property
    def key(self) -> str:
        """What it is asked for by: its path below the folder of all notes, without its ending."""
        return f"{self.folder}/{self.slug}"

    @property
    def category(self) -> str:
        """The part of an answer that it belongs to."""
        return CATEGORY_OF.get(self.kind, "memories")
