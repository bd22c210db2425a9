"""Names across repositories: where one is defined, and which files of other repositories import or mention it.

A first step. A use is led to definitions by the words of its import statement alone, which are compared with their paths
and the names of their repositories; what is imported under another name, or handed on by a third file, is not followed.
Uses are looked for among the files that the engine finds by the parts of the name, not in all files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from whence.core.errors import QueryError
from whence.fleet.access import may_see, visible_rows
from whence.fleet.milvus.filters import equals
from whence.fleet.remote_reader import FetchedFile
from whence.fleet.search import Fleet
from whence.fleet.texts import fetch_texts
from whence.index.segment import unpack_parsed
from whence.index.segment_writer import DEFINES, KIND_NAMES, name_hash
from whence.storage.arrayfile import StringTable
from whence.text import analyzer

#: Definitions and files that are looked at, at most.
MOST_DEFINITIONS, MOST_FILES = 500, 400
#: Units that the engine is asked for.
MOST_UNITS = 2_000
IMPORTS, MENTIONS = "imports", "mentions"


@dataclass(frozen=True, slots=True)
class Definition:
    """One place where a name is defined."""

    repository: str
    path: str
    line: int
    kind: str
    language: str


@dataclass(frozen=True, slots=True)
class Use:
    """A file that speaks of a name and does not define it."""

    repository: str
    path: str
    how: str  # imports: a statement names it; mentions: it stands somewhere in the file
    statement: str  # the statement; empty where there is none
    means: tuple[Definition, ...]  # what it may mean, by the statement and by what is defined next to it


@dataclass(frozen=True, slots=True)
class FleetSymbols:
    """What the visible repositories know of a name."""

    name: str
    definitions: tuple[Definition, ...]
    uses: tuple[Use, ...]
    files: int  # that were looked at for uses


def find_symbols(fleet: Fleet, name: str) -> FleetSymbols:
    """Where a name is defined in the repositories that the caller may see, and where it is used."""
    if not name.isprintable() or not analyzer.terms(name):
        raise QueryError(f"{name[:80]!r} is no name of a symbol", hint="give it as it is written, for instance SessionStore")
    seen, own = visible_rows(fleet.caller), {one.name for one in fleet.repositories()}
    rows = islice(fleet.engine.rows("units", seen & equals("name", name), ("file", "repo", "groups")), MOST_DEFINITIONS)
    defining = {row["file"] for row in rows if may_see(fleet.caller, row) and row["repo"] in own}
    hits = fleet.engine.search_words("units", " ".join(analyzer.terms(name)), MOST_UNITS, seen)
    others = [key for key in dict.fromkeys(hit.id.partition(".")[0] for hit in hits) if key not in defining]
    pieces = fleet.file_blobs([*sorted(defining), *others[:MOST_FILES]])
    definitions = tuple(sorted(_definitions(pieces, name), key=lambda one: (one.repository, one.path, one.line)))
    where = {(one.repository, one.path) for one in definitions}
    mentioning = [one for one in pieces if (one.repository, one.path) not in where and name_hash(name) in one.blob["mentions"]]
    looked_at = sum(one.key not in defining for one in pieces)  # of those that came: others may have been another's
    return FleetSymbols(name, definitions, tuple(_uses(fleet, mentioning, name, definitions)), looked_at)


def _definitions(pieces: Iterable[FetchedFile], name: str) -> Iterable[Definition]:
    for one in pieces:
        arrays = one.blob
        names = StringTable(np.ascontiguousarray(arrays["units.name.blob"]), arrays["units.name.ends"])
        for unit in np.flatnonzero(arrays["units.name_hash"] == np.uint32(name_hash(name))).tolist():
            if arrays["units.flags"][unit] & DEFINES and names[unit] == name:
                kind, language = KIND_NAMES[int(arrays["units.kind"][unit])], arrays["files.language"].tobytes().decode()
                yield Definition(one.repository, one.path, int(arrays["units.first"][unit]), kind, language)


def _uses(fleet: Fleet, files: Sequence[FetchedFile], name: str, definitions: Sequence[Definition]) -> Iterable[Use]:
    texts = fetch_texts(fleet.engine, fleet.caller, {one.key: one.repository for one in files})
    for one in sorted(files, key=lambda one: (one.repository, one.path)):
        _, parsed = texts.get(one.key, ("", b""))
        statements = unpack_parsed(parsed).imports if parsed else ()
        statement = next((said for said in statements if name in analyzer.WORD.findall(said)), "")
        means = _meant(one.repository, name, statement, definitions)
        yield Use(one.repository, one.path, IMPORTS if statement else MENTIONS, statement, means)


def _meant(repository: str, name: str, statement: str, definitions: Sequence[Definition]) -> tuple[Definition, ...]:
    """The definitions that a use may mean: those that its statement speaks of most; without one, those beside it, else all."""
    said = {word.casefold() for word in analyzer.WORD.findall(statement)} - {name.casefold()}
    worth = [len(said & _words(one)) for one in definitions]
    best = max(worth, default=0)
    nearest = [one for one, much in zip(definitions, worth, strict=True) if much == best]
    beside = [one for one in nearest if one.repository == repository]
    return tuple(beside or nearest)


def _words(one: Definition) -> set[str]:
    """What an import statement may call the place of a definition."""
    return {
        word.casefold() for word in analyzer.WORD.findall(f"{one.repository} {one.path.rpartition('.')[0] or one.path}".replace("-", "_"))
    }
