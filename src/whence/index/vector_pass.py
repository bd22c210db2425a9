"""Vectors for segments that have none of the chosen model: after a change of model, or for one too slow to run while parsing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from whence.encode.encoder import Encoder
from whence.encode.passages import passages
from whence.index.arrayfile import write_arrays
from whence.index.layout import Layout
from whence.index.parsed import unpack_parsed
from whence.index.segment import open_segment
from whence.index.store import SegmentRow, Store, VectorRow
from whence.index.vectors import PassageRows
from whence.source.reading import read_masked

Progress = Callable[[int, int], None]


def make_vectors(layout: Layout, store: Store, encoder: Encoder, max_file_bytes: int, progress: Progress) -> int:
    """Make what is missing, segment by segment, each kept as soon as it is done; how many were made."""
    known = store.vectors()
    missing = [row for row in store.segments() if row.id not in known or known[row.id].model != encoder.fingerprint]
    total, done = sum(row.bytes for row in missing), 0

    def seen(size: int) -> None:
        nonlocal done
        done += size
        progress(min(done, total), total)

    for row in missing:
        _make(layout, store, encoder, row, max_file_bytes, seen)
    return len(missing)


def _make(layout: Layout, store: Store, encoder: Encoder, row: SegmentRow, max_file_bytes: int, seen: Callable[[int], None]) -> None:
    segment = open_segment(layout.segments / row.name, row.stamp)
    firsts = np.concatenate([[0], segment.unit_ends]).tolist()
    found = PassageRows(encoder)
    for at, path in store.paths_of(row.id):
        source = _source(layout.root, path, max_file_bytes)
        if source is not None:
            found.add(passages(path, source, unpack_parsed(segment.parsed_of(at))), firsts[at])
            seen(len(source))
    name = f"{os.urandom(8).hex()}.vectors"
    stamp = write_arrays(layout.segments / name, found.arrays(), {"width": encoder.width})
    with store.transaction():
        store.set_vectors(VectorRow(row.id, encoder.fingerprint, name, stamp))


def _source(root: Path, path: str, max_file_bytes: int) -> bytes | None:
    """A file as it was parsed; None when it is gone, in which case the next refresh will say so."""
    text = read_masked(root, path, max_file_bytes + 1)
    return None if text is None else text.replace(b"\0", b" ")
