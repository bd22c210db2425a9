"""Names in the folder of notes: which files are notes, and what a key may be."""

from __future__ import annotations

from whence.errors import UsageError
from whence.memory.slugs import is_name

ENDING = ".md"


def looks_like_one(name: str) -> bool:
    """Whether a file looks like a note to whoever sees the folder."""
    return name.endswith(ENDING) and not name.startswith(".")


def is_note_name(name: str) -> bool:
    """Whether a file is named as a note is."""
    return name.endswith(ENDING) and is_name(name.removesuffix(ENDING))


def check_names(*names: str) -> None:
    """Refuse names that no note or folder can have."""
    for name in names:
        if not is_name(name):
            raise UsageError(f"{name[:80]!r} cannot be the name of a note or a folder")


def parts_of(key: str) -> tuple[str, str]:
    """The folder and the slug of a key."""
    folder, _, slug = key.partition("/")
    if not (is_name(folder) and is_name(slug)):
        raise UsageError(f"{key[:80]!r} is no key of a note", hint="write folder/name, as it is shown")
    return folder, slug
