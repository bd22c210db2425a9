"""Which files and units may be returned at all."""

from __future__ import annotations

import numpy as np

from whence.index.arrayfile import Array
from whence.index.digest import KIND_NAMES
from whence.index.snapshot import Snapshot
from whence.query.options import Options


def file_mask(snapshot: Snapshot, options: Options) -> Array:
    """A mask of the files that pass every filter; not to be written to."""
    mask = snapshot.alive if options.content == "all" else snapshot.content_mask(options.content)
    if options.languages:
        mask = mask & np.array([name in options.languages for name in snapshot.languages], bool)
    if options.paths and "" not in options.paths:
        mask = mask & np.array([_below(path, options.paths) for path in snapshot.paths], bool)
    if options.include:
        mask = mask & _globbed(snapshot, options.include)
    if options.exclude:
        mask = mask & ~_globbed(snapshot, options.exclude)
    return mask


def unit_mask(snapshot: Snapshot, options: Options) -> Array | None:
    """A mask of the units of the wanted kinds; None when any will do."""
    if not options.kinds:
        return None
    return np.array([kind in options.kinds for kind in KIND_NAMES])[snapshot.kinds]


def _below(path: str, wanted: tuple[str, ...]) -> bool:
    return any(path == one or path.startswith(one + "/") for one in wanted)


def _globbed(snapshot: Snapshot, globs: tuple[str, ...]) -> Array:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  -- only where globs are given

    spec = GitIgnoreSpec.from_lines(glob.lstrip("!") for glob in globs)
    return np.array([spec.match_file(path) for path in snapshot.paths], bool)
