"""Merging segments: the columns of one segment from the live files of several, term by term and without sorting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.index.segment import ERROR_LINES, FILE_COLUMNS, UNIT_COLUMNS, Segment, parsed_columns
from whence.index.segment_writer import (
    fact_columns,
    relation_columns,
    unit_posting_columns,
    window_posting_columns,
    word_columns,
    word_keys,
    words_by_hash,
)
from whence.storage.arrayfile import Array, Columns, StringTable, narrow, pack_strings, unpack_strings
from whence.storage.postings import Lists, Steps, decode, unpack_windows


@dataclass(frozen=True, slots=True)
class MergeInput:
    """The columns of a segment, which of its files stay, and the new row of each file, unit and window (-1 for those that go)."""

    arrays: Columns
    keep: Array
    file_rows: Array
    unit_rows: Array
    window_rows: Array

    @property
    def keep_units(self) -> Array:
        """Which of its units stay."""
        return np.asarray(self.unit_rows >= 0)

    def strings(self, name: str, keep: Array) -> list[str]:
        """The strings of a table that stay."""
        texts = unpack_strings(self.arrays, name).all()
        return [text for text, stays in zip(texts, keep.tolist(), strict=True) if stays]

    def languages(self) -> list[str]:
        """The language of each file that stays."""
        names = unpack_strings(self.arrays, "languages").all()
        return [names[row] for row in self.arrays["files.language"][self.keep].tolist()]


def merge(segments: Sequence[tuple[Segment, Array]]) -> dict[str, Array]:
    """The columns of one segment with the files of several that stay, in the given order."""
    inputs = merge_inputs(segments)
    terms, term_rows = _merge_sorted([segment.terms for segment, _ in segments])
    found = {**pack_strings("terms", terms), **_file_and_unit_columns(inputs), **_path_parts(inputs)}
    found |= _unit_postings(inputs, term_rows, len(terms))
    found |= _window_postings(inputs, term_rows, len(terms))
    found |= _path_postings(inputs, term_rows)
    found |= _words(inputs)
    found |= parsed_columns([segment.parsed_of(row) for segment, keep in segments for row in np.flatnonzero(keep).tolist()])
    return found | merge_relations(inputs)


def merge_inputs(segments: Sequence[tuple[Segment, Array]]) -> list[MergeInput]:
    """Segments with the rows that their files, units and windows get when they are merged."""
    inputs, files, units, windows = [], 0, 0, 0
    for segment, keep in segments:
        unit_keep, window_keep = (np.repeat(keep, _sizes(ends)) for ends in (segment.unit_ends, segment.window_ends))
        rows = _new_rows(keep, files), _new_rows(unit_keep, units), _new_rows(window_keep, windows)
        inputs.append(MergeInput(segment.arrays, keep, *rows))
        files, units, windows = files + int(keep.sum()), units + int(unit_keep.sum()), windows + int(window_keep.sum())
    return inputs


def _new_rows(keep: Array, first: int) -> Array:
    return np.where(keep, np.cumsum(keep) - 1 + first, -1).astype(np.int32)


def _sizes(ends: Array) -> Array:
    return np.diff(ends, prepend=np.uint32(0))


def _merge_sorted(tables: Sequence[StringTable]) -> tuple[list[str], list[Array]]:
    """All strings of several tables, sorted, and the new row of each table's rows."""
    lists = [table.all() for table in tables]
    names = sorted(set().union(*lists)) if lists else []
    row = {name: number for number, name in enumerate(names)}
    return names, [np.array([row[name] for name in found], np.int64) for found in lists]


def _merge_lists(inputs: Sequence[MergeInput], ends: str, members: str, keeps: list[Array], rows: list[Array] | None) -> list[Array]:
    """Lists of members, one per file or unit: (ends, members). `rows` has the new row of each member, where members are rows."""
    sizes = [_sizes(one.arrays[ends]) for one in inputs]
    columns = [one.arrays[members] for one in inputs]
    if rows is not None:
        columns = [row[column] for row, column in zip(rows, columns, strict=True)]
    values = [column[np.repeat(keep, size)] for column, keep, size in zip(columns, keeps, sizes, strict=True)]
    merged_ends = np.cumsum(np.concatenate([size[keep] for size, keep in zip(sizes, keeps, strict=True)])).astype(np.uint32)
    return [merged_ends, np.concatenate(values)]


def _file_and_unit_columns(inputs: Sequence[MergeInput]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for column in (*FILE_COLUMNS, ERROR_LINES):
        found[column] = np.concatenate([one.arrays[column][one.keep] for one in inputs])
    for column in UNIT_COLUMNS:
        joined = np.concatenate([one.arrays[column][one.keep_units] for one in inputs])
        found[column] = narrow(joined) if any(one.arrays[column].dtype == np.uint16 for one in inputs) else joined
    for column in ("files.units", "files.windows"):
        found[column] = np.cumsum(np.concatenate([_sizes(one.arrays[column])[one.keep] for one in inputs])).astype(np.uint32)
    found |= pack_strings("files.path", [text for one in inputs for text in one.strings("files.path", one.keep)])
    found |= pack_strings("units.name", [text for one in inputs for text in one.strings("units.name", one.keep_units)])
    languages = [name for one in inputs for name in one.languages()]
    known = sorted(set(languages))
    row = {name: number for number, name in enumerate(known)}
    return found | pack_strings("languages", known) | {"files.language": np.array([row[name] for name in languages], np.uint8)}


def _path_parts(inputs: Sequence[MergeInput]) -> dict[str, Array]:
    names, rows = _merge_sorted([unpack_strings(one.arrays, "parts") for one in inputs])
    found = pack_strings("parts", names)
    keeps = [one.keep for one in inputs]
    for ends, members in (("files.stem_ends", "files.stem_parts"), ("files.directory_ends", "files.directory_parts")):
        found[ends], values = _merge_lists(inputs, ends, members, keeps, rows)
        found[members] = values.astype(np.uint32)
    return found


def _unit_postings(inputs: Sequence[MergeInput], term_rows: list[Array], vocabulary: int) -> dict[str, Array]:
    lists = []
    for one in inputs:
        offsets, first, steps, codes = (one.arrays[name] for name in ("terms.units", "terms.first_unit", "postings.unit", "postings.code"))
        found = decode(Steps(offsets, first, steps, codes))
        lists.append(Lists(found.offsets, one.unit_rows[found.rows], found.values))
    return unit_posting_columns(_join_lists(lists, term_rows, vocabulary))


def _window_postings(inputs: Sequence[MergeInput], term_rows: list[Array], vocabulary: int) -> dict[str, Array]:
    lists = []
    for one in inputs:
        steps, counts = unpack_windows(one.arrays["postings.window"])
        found = decode(Steps(one.arrays["terms.windows"], one.arrays["terms.first_window"], steps, counts))
        lists.append(Lists(found.offsets, one.window_rows[found.rows], found.values))
    return window_posting_columns(_join_lists(lists, term_rows, vocabulary))


def _join_lists(lists: Sequence[Lists], term_rows: list[Array], vocabulary: int) -> Lists:
    """The postings of several segments, term by term. Nothing is sorted: each segment's rows follow those of the one before."""
    counts = []
    totals = np.zeros(vocabulary, np.int64)
    for found, term_row in zip(lists, term_rows, strict=True):
        kept_before = np.concatenate([[0], np.cumsum(found.rows >= 0)])
        counts.append(np.diff(kept_before[found.offsets]))
        totals[term_row] += counts[-1]
    ends = np.concatenate([[0], np.cumsum(totals)])
    cursor = ends[:-1].copy()
    rows, values = np.empty(int(ends[-1]), np.uint32), np.empty(int(ends[-1]), np.uint16)
    for found, term_row, count in zip(lists, term_rows, counts, strict=True):
        keep = found.rows >= 0
        place = np.repeat(cursor[term_row] - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
        rows[place], values[place] = found.rows[keep], found.values[keep]
        cursor[term_row] += count
    return Lists(ends, rows, values)


def _path_postings(inputs: Sequence[MergeInput], term_rows: list[Array]) -> dict[str, Array]:
    found = []
    for one, term_row in zip(inputs, term_rows, strict=True):
        rows = one.file_rows[one.arrays["paths.file"]]
        keep = rows >= 0
        found.append((term_row[one.arrays["paths.term"]][keep], rows[keep], one.arrays["paths.place"][keep]))
    term, file, place = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((file, term))
    return {"paths.term": term[order].astype(np.uint32), "paths.file": file[order].astype(np.uint32), "paths.place": place[order]}


def _words(inputs: Sequence[MergeInput]) -> dict[str, Array]:
    keys = []
    for one in inputs:
        rows = one.file_rows[one.arrays["postings.mention"]]
        key = word_keys(one.arrays["mentions.hash"], one.arrays["mentions.files"], np.maximum(rows, 0))
        keys.append(key[rows >= 0])
    tables = ((one.arrays["mentions.hash"].tolist(), one.arrays["mentions.words"].tobytes().splitlines()) for one in inputs)
    written = words_by_hash(pair for hashes, words in tables for pair in zip(hashes, words, strict=True))
    return word_columns(np.sort(np.concatenate(keys)), written)


def merge_relations(inputs: Sequence[MergeInput]) -> dict[str, Array]:
    """The columns that the graph is built from."""
    names, name_rows = _merge_in_order([unpack_strings(one.arrays, "names") for one in inputs])
    imports, import_rows = _merge_in_order([unpack_strings(one.arrays, "imports") for one in inputs])
    parts, part_rows = _merge_in_order([unpack_strings(one.arrays, "name_parts") for one in inputs])
    unit_keeps, scopes, relations, facts = [one.keep_units for one in inputs], [], [], []
    for one, name_row, keep in zip(inputs, name_rows, unit_keeps, strict=True):
        scopes.append(name_row[one.arrays["units.scope"]][keep])
        unit, kind, name, receiver, line = (one.arrays[f"relations.{name}"] for name in ("unit", "kind", "name", "receiver", "line"))
        columns = one.unit_rows[unit], kind, name_row[name], name_row[receiver], line
        relations.append(np.stack([column.astype(np.int64) for column in columns], axis=1)[columns[0] >= 0])
        told = one.unit_rows[one.arrays["facts.unit"]], name_row[one.arrays["facts.name"]], name_row[one.arrays["facts.path"]]
        facts.append(np.stack([column.astype(np.int64) for column in told], axis=1)[told[0] >= 0])
    part_ends, part_members = _merge_lists(inputs, "units.part_ends", "units.parts", unit_keeps, part_rows)
    lead_ends, lead_members = _merge_lists(inputs, "units.lead_ends", "leads.term", unit_keeps, None)
    keeps = [one.keep for one in inputs]
    import_ends, import_members = _merge_lists(inputs, "files.import_ends", "files.import_rows", keeps, import_rows)
    return {
        **pack_strings("names", names),
        **pack_strings("imports", imports),
        **pack_strings("name_parts", parts),
        "units.scope": narrow(np.concatenate(scopes)),
        "units.part_ends": part_ends,
        "units.parts": narrow(part_members),
        "units.lead_ends": lead_ends,
        "leads.term": lead_members,
        **relation_columns(np.concatenate(relations)),
        **fact_columns(np.concatenate(facts)),
        "files.import_ends": import_ends,
        "files.import_rows": narrow(import_members),
    }


def _merge_in_order(tables: Sequence[StringTable]) -> tuple[list[str], list[Array]]:
    """All strings of several tables in the order they come, and the new row of each table's rows."""
    row: dict[str, int] = {}
    moved = [np.array([row.setdefault(text, len(row)) for text in table.all()], np.int64) for table in tables]
    return list(row), moved
