"""Names across repositories: where a name is defined, and which other files import or mention it.

This is a first step. A use is matched to definitions by comparing the words of its import statement with their paths and
repository names; aliases and re-exports are not followed. Only files that the engine finds by the parts of the name are
searched for uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from whence.core.errors import QueryError
from whence.fleet.access import may_see, visible_rows
from whence.fleet.engine import equals
from whence.fleet.rows import FetchedFile
from whence.fleet.search import Fleet
from whence.index.segment import DEFINES, KIND_NAMES, name_hash, unpack_parsed
from whence.storage.arrayfile import StringTable
from whence.text import analyzer

#: Limits on definitions, on files searched for uses, and on the engine's hits.
MAX_DEFINITIONS, MAX_FILES, MAX_UNITS = 500, 400, 2_000
IMPORTS, MENTIONS = "imports", "mentions"


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition of a name."""

    repository: str
    path: str
    line: int
    kind: str
    language: str


@dataclass(frozen=True, slots=True)
class Use:
    """A file that uses a name without defining it."""

    repository: str
    path: str
    how: str  # imports: in an import statement; mentions: anywhere in the file
    statement: str  # the import statement, if there is one
    means: tuple[Definition, ...]  # the definitions that it may refer to


@dataclass(frozen=True, slots=True)
class FleetSymbols:
    """Definitions and uses of a name."""

    name: str
    definitions: tuple[Definition, ...]
    uses: tuple[Use, ...]
    files: int  # searched for uses


def find_symbols(fleet: Fleet, name: str) -> FleetSymbols:
    """Find definitions and uses of a name in the repositories that the caller may see."""
    if not name.isprintable() or not analyzer.terms(name):
        raise QueryError(f"{name[:80]!r} is not a symbol name", hint="write it as in the code, for instance SessionStore")
    seen, own = visible_rows(fleet.caller), {one.name for one in fleet.repositories()}
    rows = islice(fleet.engine.rows("units", seen & equals("name", name), ("file", "repo", "groups")), MAX_DEFINITIONS)
    defining = {row["file"] for row in rows if may_see(fleet.caller, row) and row["repo"] in own}
    hits = fleet.engine.search_words("units", " ".join(analyzer.terms(name)), MAX_UNITS, seen)
    others = [key for key in dict.fromkeys(hit.id.partition(".")[0] for hit in hits) if key not in defining]
    files = fleet.file_blobs([*sorted(defining), *others[:MAX_FILES]])
    definitions = tuple(sorted(_definitions(files, name), key=lambda one: (one.repository, one.path, one.line)))
    where = {(one.repository, one.path) for one in definitions}
    mentioning = [one for one in files if (one.repository, one.path) not in where and name_hash(name) in one.blob["mentions"]]
    searched = sum(one.key not in defining for one in files)  # not len(others): some may belong to other groups
    return FleetSymbols(name, definitions, tuple(_uses(fleet, mentioning, name, definitions)), searched)


def _definitions(files: Iterable[FetchedFile], name: str) -> Iterable[Definition]:
    for one in files:
        arrays = one.blob
        names = StringTable(np.ascontiguousarray(arrays["units.name.blob"]), arrays["units.name.ends"])
        for unit in np.flatnonzero(arrays["units.name_hash"] == np.uint32(name_hash(name))).tolist():
            if arrays["units.flags"][unit] & DEFINES and names[unit] == name:
                kind, language = KIND_NAMES[int(arrays["units.kind"][unit])], arrays["files.language"].tobytes().decode()
                yield Definition(one.repository, one.path, int(arrays["units.first"][unit]), kind, language)


def _uses(fleet: Fleet, files: Sequence[FetchedFile], name: str, definitions: Sequence[Definition]) -> Iterable[Use]:
    texts = fleet.texts({one.key: one.repository for one in files})
    for one in sorted(files, key=lambda one: (one.repository, one.path)):
        _, parsed = texts.get(one.key, ("", b""))
        statements = unpack_parsed(parsed).imports if parsed else ()
        statement = next((line for line in statements if name in analyzer.WORD.findall(line)), "")
        means = _referents(one.repository, name, statement, definitions)
        yield Use(one.repository, one.path, IMPORTS if statement else MENTIONS, statement, means)


def _referents(repository: str, name: str, statement: str, definitions: Sequence[Definition]) -> tuple[Definition, ...]:
    """The definitions that share most words with the import statement; those of the same repository, if there are any."""
    words = {word.casefold() for word in analyzer.WORD.findall(statement)} - {name.casefold()}
    shared = [len(words & _location_words(one)) for one in definitions]
    most = max(shared, default=0)
    nearest = [one for one, count in zip(definitions, shared, strict=True) if count == most]
    return tuple([one for one in nearest if one.repository == repository] or nearest)


def _location_words(one: Definition) -> set[str]:
    """The words by which an import statement may name the place of a definition."""
    location = f"{one.repository} {one.path.rpartition('.')[0] or one.path}".replace("-", "_")
    return {word.casefold() for word in analyzer.WORD.findall(location)}
