"""A note: text stored verbatim, with its metadata."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from whence.text.slugs import project_folder

#: Every kind of note, with the category it is listed under. Answers keep the order of CATEGORIES.
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
#: Kinds that are derived from other notes or from code. They are listed, never recalled.
GENERATED = frozenset(kind for kind, category in CATEGORY_OF.items() if category not in CATEGORIES)
#: The fields of a note that hold a time, in the order of its front matter.
TIMES = ("created", "updated", "valid_from", "valid_until", "archived")
#: The topic of a handoff is this and the name of its branch.
HANDOFF = "handoff "
#: The folder for notes without a project.
GENERAL = "general"
#: What owners begin with: a folder without a history, and the name of a project whose repository is unknown.
FOLDER, PROJECT = "folder:", "project:"
#: The same for a note that cannot be parsed: whoever has notes in its folder sees it, so that it is not lost.
UNREADABLE = "unreadable:"
#: The owner of notes that are nobody's but the user's: they are recalled everywhere.
USER = PROJECT


@dataclass(frozen=True, slots=True)
class CodeRef:
    """Code that a note is about, with the hash it had when the note was written."""

    code: str  # `src/app.py#Flask.run`, or `src/app.py` for the whole file; relative to the repository root
    hash: str = ""  # empty when unknown
    repository: str = ""  # the identity of its repository, in older notes the path of its root; empty in a team's notes

    @property
    def path(self) -> str:
        """The file."""
        return self.code.partition("#")[0]

    @property
    def symbol(self) -> str:
        """The qualified name in the file; empty for the whole file."""
        return self.code.partition("#")[2]


@dataclass(frozen=True, slots=True)
class Note:
    """One note. Times are UTC, to the second."""

    text: str  # verbatim
    slug: str  # the file name without its suffix
    project: str = ""  # a name to read; empty: none
    repository: str = ""  # the identity of the repository it belongs to; empty for the user's own, a team's and older ones
    topic: str = ""
    kind: str = "durable"
    tags: tuple[str, ...] = ()
    source: str = ""  # where it came from: an imported file, a session, a person
    created: datetime | None = None
    updated: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    about: tuple[CodeRef, ...] = ()
    archived: datetime | None = None
    other: tuple[tuple[str, str], ...] = ()  # unknown front matter lines, preserved as they are
    folder: str = GENERAL  # the folder its file is in
    problem: str = ""  # why its file cannot be parsed, in one line; such a note is shown and searched, never rewritten

    @property
    def key(self) -> str:
        """Its path below the notes folder, without the suffix: `folder/slug`."""
        return f"{self.folder}/{self.slug}"

    @property
    def owner(self) -> str:
        """Whose it is. A note without a repository is its project's, or, if it names code in a folder, that folder's."""
        if self.problem and not self.repository and self.folder != GENERAL:
            return UNREADABLE + self.folder
        folder = next((ref.repository for ref in self.about if ref.repository.startswith("/")), "")
        return self.repository or (FOLDER + folder if folder else PROJECT + (project_folder(self.project) if self.project else ""))

    @property
    def category(self) -> str:
        """The category it is listed under."""
        return CATEGORY_OF.get(self.kind, "memories")
