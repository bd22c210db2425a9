"""Validation of derived files that somebody else wrote: every array has its type, every row exists.

A checksum says that a file is what was written, not that whence wrote it. A file from another machine is validated once, when
it is imported: after that no query can run past the end of an array, and no path leads out of the root.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whence.core.errors import IndexDamaged, VectorsDamaged
from whence.core.types import EDGE_KINDS, PROVENANCES
from whence.index.segment import (
    CONTENTS,
    ERROR_LINES,
    FILE_COLUMNS,
    KIND_NAMES,
    OF_RECEIVER,
    UNIT_COLUMNS,
    WINDOW_BYTES,
    Segment,
    unpack_parsed,
)
from whence.index.vectors import SegmentVectors
from whence.storage.arrayfile import Array, ArrayFile, StringTable, unpack_strings
from whence.storage.postings import Steps, decode, unpack_windows

#: Tables of strings.
_TABLES = ("terms", "files.path", "parts", "languages", "units.name", "names", "imports", "name_parts", "parsed")
#: Where the members of each file, unit or term end: (ends, an array with one entry for each, members).
_ENDS = (
    ("files.units", "files.units", "units.first"),
    ("files.stem_ends", "files.units", "files.stem_parts"),
    ("files.directory_ends", "files.units", "files.directory_parts"),
    ("files.import_ends", "files.units", "files.import_rows"),
    ("units.part_ends", "units.first", "units.parts"),
    ("units.lead_ends", "units.first", "leads.term"),
)
#: The same, with the beginning of the first in front.
_OFFSETS = (
    ("terms.units", "terms.ends", "postings.unit"),
    ("terms.windows", "terms.ends", "postings.window"),
    ("mentions.files", "mentions.hash", "postings.mention"),
)
#: Arrays of rows, by the array that they are rows of.
_ROWS = {
    "languages.ends": ("files.language",),
    "parts.ends": ("files.stem_parts", "files.directory_parts"),
    "imports.ends": ("files.import_rows",),
    "names.ends": ("units.scope", "relations.name", "relations.receiver", "facts.name", "facts.path"),
    "name_parts.ends": ("units.parts",),
    "units.first": ("relations.unit", "facts.unit"),
    "terms.ends": ("paths.term",),
    "files.units": ("paths.file", "postings.mention"),
}
#: Arrays of equal length.
_ALONGSIDE = {
    "files.units": ("files.path.ends", "parsed.ends", "files.windows", "files.language", ERROR_LINES, *FILE_COLUMNS),
    "units.first": ("units.name.ends", "units.scope", *UNIT_COLUMNS),
    "terms.ends": ("terms.first_unit", "terms.first_window"),
    "postings.unit": ("postings.code",),
    "paths.term": ("paths.file", "paths.place"),
    "relations.unit": ("relations.kind", "relations.name", "relations.receiver", "relations.line"),
    "facts.unit": ("facts.name", "facts.path"),
}
_SORTED = ("paths.term", "mentions.hash")
#: Types of arrays; all others are unsigned integers.
_TYPES = {"files.version": "|i1", **dict.fromkeys(("postings.unit", "postings.code", "postings.window", "leads.term"), "<u2")}
_VECTOR_TYPES = {"first": "<u4", "last": "<u4", "rows": "|i1", "scale": "<f4", "sketch": "<u8"}
_TOKEN_TYPES = {"tokens": "|u1", "token_scale": "<f2", "starts": "<u4"}
#: A segment of few bytes may be of long files without a word; of more windows than this, each has some of the segment.
MAX_WINDOWS = 1 << 22
_UNSIGNED = frozenset({"|u1", "<u2", "<u4"})


class _Unsound(Exception):
    """What is wrong with a file."""


def check_segment(segment: Segment) -> None:
    """Raise IndexDamaged unless everything in a segment can be read safely."""
    try:
        _check_columns(segment.arrays)
        _check_postings(segment)
        _check_paths(segment.paths.all())
        for row in range(segment.files):
            unpack_parsed(segment.parsed_of(row))
    except (_Unsound, KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise IndexDamaged(f"{segment.arrays.path.name} is not what whence writes: {error}") from error


def check_vectors(vectors: SegmentVectors, file: ArrayFile, units: int) -> None:
    """Raise VectorsDamaged unless everything in a file of vectors can be read safely, beside a segment of so many units."""
    try:
        wanted = _VECTOR_TYPES | (_TOKEN_TYPES if "tokens" in file else {})
        for name, kind in wanted.items():
            _need(file[name].dtype.str == kind, f"{name} is of another type")
        _need(len(vectors.last) == len(vectors.scale) == vectors.passages, "passages differ in number")
        _below(vectors.last, units, "last")
        _need(bool((vectors.first <= vectors.last).all()), "a passage ends before it begins")
        _rising(vectors.first, "first")
        _rising(vectors.last, "last")
        _finite(vectors.scale, "scale")
        if vectors.starts is not None:
            _ends(file["starts"][1:], vectors.passages, len(file["token_scale"]), "starts")
            _need(len(file["starts"]) == vectors.passages + 1 and int(file["starts"][0]) == 0, "starts has another length")
            _need(len(file["tokens"]) == len(file["token_scale"]) * -(-vectors.width // 2), "tokens differ in number")
            _need(bool((np.diff(file["starts"].astype(np.int64)) > 0).all()), "a passage has no tokens")
            _finite(file["token_scale"], "token_scale")
    except (_Unsound, KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise VectorsDamaged(f"{file.path.name} is not what whence writes: {error}") from error


def check_graph(file: ArrayFile, units: int) -> None:
    """Raise IndexDamaged unless a graph can be walked safely, over a snapshot of so many units."""
    try:
        _check_table(file, "outside")
        edges, nodes = len(file["source"]), units + len(file["outside.ends"])
        for name, kind, most in (("source", "<i4", nodes), ("target", "<i4", nodes), ("kind", "|u1", len(EDGE_KINDS))):
            _check_rows(file, name, kind, edges, most)
        _check_rows(file, "provenance", "|u1", edges, len(PROVENANCES))
        _check_rows(file, "line", "<u4", edges, 1 << 32)
        _check_rows(file, "in_edges", "<i4", edges, edges)
        _check_starts(file, "starts", nodes, edges)
        _check_starts(file, "in_starts", nodes, edges)
        walked = len(file["walk.targets"])
        _check_rows(file, "walk.targets", "<i4", walked, nodes)
        _check_starts(file, "walk.starts", nodes, walked)
        for name, kind, size in (("confidence", "<f4", edges), ("walk.weights", "<f8", walked), ("seen", "<f8", edges)):
            if name != "seen" or name in file:
                _need(file[name].dtype.str == kind and len(file[name]) == size, f"{name} is of another type or length")
                _finite(file[name], name)
        _need(bool((np.repeat(np.arange(nodes), np.diff(file["starts"])) == file["source"]).all()), "edges are not in order")
        _need(bool((file["confidence"] <= 1).all()), "confidence is above 1")
    except (_Unsound, KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise IndexDamaged(f"{file.path.name} is not what whence writes: {error}") from error


def _check_columns(file: ArrayFile) -> None:
    for name in file.names():
        kind = file[name].dtype.str
        _need(kind == _TYPES.get(name, kind if kind in _UNSIGNED else ""), f"{name} is of another type")
    for name in _TABLES:
        _check_table(file, name)
    for other, names in _ALONGSIDE.items():
        for name in names:
            _need(len(file[name]) == len(file[other]), f"{name} has another length than {other}")
    for name, each, members in _ENDS:
        _ends(file[name], len(file[each]), len(file[members]), name)
    for name, each, members in _OFFSETS:
        _ends(file[name][1:], len(file[each]), len(file[members]), name)
        _need(not len(file[name]) or int(file[name][0]) == 0, f"{name} begins late")
    for other, names in _ROWS.items():
        for name in names:
            _below(file[name], len(file[other]), name)
    for name in _SORTED:
        _rising(file[name], name)
    _check_windows(file)
    _need(int((file["mentions.words"] == ord("\n")).sum()) == len(file["mentions.hash"]), "there are not as many words as hashes")
    _below(file["units.kind"], len(KIND_NAMES), "units.kind")
    _below(file["files.content"], len(CONTENTS), "files.content")
    _below(file["relations.kind"] & np.uint8(~OF_RECEIVER & 0xFF), len(EDGE_KINDS), "relations.kind")
    _need(bool((file["units.first"] <= file["units.last"]).all()) and bool((file["units.first"] > 0).all()), "units have no lines")


def _check_windows(file: ArrayFile) -> None:
    """Whether there are as many windows as files of these sizes have: what is worked out for each of them takes memory."""
    _rising(file["files.windows"], "files.windows")
    counts = np.diff(file["files.windows"].astype(np.int64), prepend=0)
    _need(bool((counts <= 2 + file["files.bytes"].astype(np.int64) * 2 // WINDOW_BYTES).all()), "a file has too many windows")
    _need(int(counts.sum()) <= MAX_WINDOWS + file.path.stat().st_size, "there are too many windows")


def _check_postings(segment: Segment) -> None:
    """Whether the lists of units and windows, which are kept as steps, stay within them."""
    arrays = segment.arrays
    steps, counts = unpack_windows(arrays["postings.window"])
    for what, most, lists in (
        (
            "units",
            segment.units,
            Steps(arrays["terms.units"], arrays["terms.first_unit"], arrays["postings.unit"], arrays["postings.code"]),
        ),
        ("windows", segment.windows, Steps(arrays["terms.windows"], arrays["terms.first_window"], steps, counts)),
    ):
        _below(lists.first, max(most, 1), f"the first of a list of {what}")
        _need(int(np.sum(lists.steps, dtype=np.int64)) < 1 << 31, f"lists of {what} are too long")
        rows = decode(lists).rows
        _need(not len(rows) or (int(rows.min()) >= 0 and int(rows.max()) < most), f"a list of {what} runs past the last")
        begins = arrays[f"terms.{what}"][:-1][np.diff(arrays[f"terms.{what}"]) > 0]
        _need(not lists.steps[begins].any(), f"a list of {what} does not begin at its first")


def _check_paths(paths: Sequence[str]) -> None:
    for path in paths:
        inside = bool(path) and not path.startswith("/") and "\0" not in path and not {"", ".", ".."} & set(path.split("/"))
        _need(inside, f"{path[:80]!r} is no path below a root")
    _need(len(set(paths)) == len(paths), "a path is there twice")


def _check_table(file: ArrayFile, name: str) -> None:
    table = StringTable(file[f"{name}.blob"], file[f"{name}.ends"])
    _need(file[f"{name}.blob"].dtype.str == "|u1" and file[f"{name}.ends"].dtype.str == "<u4", f"{name} is of another type")
    _ends(file[f"{name}.ends"], len(table), len(file[f"{name}.blob"]), name)
    if name != "parsed":
        unpack_strings(file, name).all()


def _check_rows(file: ArrayFile, name: str, kind: str, size: int, most: int) -> None:
    _need(file[name].dtype.str == kind and len(file[name]) == size, f"{name} is of another type or length")
    _below(file[name], most, name)


def _check_starts(file: ArrayFile, name: str, nodes: int, members: int) -> None:
    _need(
        file[name].dtype.str == "<i8" and len(file[name]) == nodes + 1 and int(file[name][0]) == 0, f"{name} is of another type or length"
    )
    _ends(file[name][1:], nodes, members, name)


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _Unsound(otherwise)


def _ends(ends: Array, count: int, members: int, name: str) -> None:
    """Where the members of so many end: never before they begin, and the last where there are no more."""
    _need(len(ends) == count, f"{name} has another length")
    _rising(ends, name)
    _need((int(ends[-1]) if count else 0) == members and not (count and int(ends[0]) < 0), f"{name} ends elsewhere")


def _rising(values: Array, name: str) -> None:
    _need(bool((values[1:] >= values[:-1]).all()), f"{name} is not in order")


def _below(rows: Array, most: int, name: str) -> None:
    _need(not len(rows) or (int(rows.max()) < most and int(rows.min()) >= 0), f"{name} has a row that does not exist")


def _finite(values: Array, name: str) -> None:
    _need(bool(np.isfinite(values).all()) and bool((values >= 0).all()), f"{name} has a value that cannot be")
