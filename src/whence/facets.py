"""What a search found, counted by language, by kind and by folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from whence.answer import Found

#: Folders that are told apart, those with most files.
MOST_FOLDERS = 12


@dataclass(frozen=True, slots=True)
class Facets:
    """How many files of an answer's candidates are of each language, kind of best unit, and folder; most first."""

    files: int = 0
    languages: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)


def facets_of(found: Sequence[Found]) -> Facets:
    """Count the files that were ranked for a query, shown or not; of a listing those that are in it."""
    if not found:
        return Facets()
    ranked = found[0].ranked
    snapshot, pool = ranked.pool.snapshot, ranked.pool
    hits = ranked.hits or [one.hit for one in found]
    kinds = (snapshot.kind(int(pool.units[hit.row])) for hit in hits)
    return Facets(
        len(hits),
        _most_first(snapshot.languages[hit.file] for hit in hits),
        _most_first(kind for kind in kinds if kind != "raw"),
        folders_of([snapshot.path(hit.file) for hit in hits]),
    )


def folders_of(paths: Sequence[str]) -> dict[str, int]:
    """The folders right below the deepest one that all paths share, each with how many of them lie in it."""
    above = [path.rpartition("/")[0] for path in paths]
    shared = os.path.commonpath(above) if above and all(above) else ""
    depth = shared.count("/") + 1 if shared else 0
    below = ("/".join(folder.split("/")[: depth + 1]) for folder in above if folder != shared)
    return dict(list(_most_first(below).items())[:MOST_FOLDERS])


def _most_first(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(filter(None, values)).items(), key=lambda pair: (-pair[1], pair[0])))
