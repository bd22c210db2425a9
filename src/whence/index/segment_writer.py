"""The segment writer: turns parsed files into the postings and columns of a segment.

A unit is indexed under five fields. For each, a posting stores not the raw count but its weight relative to the field's
length, in a few bits. Lengths are compared with fixed averages instead of the tree's own, so that a posting depends on
its file alone: a refreshed index has the same numbers as a new one, and the weights of fields can be chosen per query.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from whence.core.types import DEFINITIONS, EDGE_KINDS, MIN_WORD_LENGTH, ParsedFile, Reference, Unit
from whence.index.segment import (
    BODY,
    CONSTRUCTS,
    CONTENTS,
    DEFINES,
    DOC,
    ERROR_LINES,
    FIELDS,
    HIDDEN,
    IN_DIRECTORY,
    IN_STEM,
    KIND_NAMES,
    LEVELS,
    MAX_ERROR_LINES,
    NAME,
    OF_RECEIVER,
    PARENTS,
    SHIFTS,
    SIGNATURE,
    SPACED_OUT,
    TOP_LEVEL,
    WINDOW_BYTES,
    fold_name,
    lead_hash,
    name_hash,
    pack_parsed,
    parsed_columns,
)
from whence.parse import paths
from whence.parse.languages import BY_NAME, UNKNOWN
from whence.parse.references import CALLS_APART
from whence.parse.units import is_constructor, is_hidden, line_starts, own_spans
from whence.parse.values import functions_around
from whence.storage.arrayfile import Array, narrow, pack_strings
from whence.storage.postings import (
    COUNT_TOP,
    UNIT_STEP,
    WINDOW_STEP,
    Lists,
    distinct,
    encode,
    first_of_each,
    pack_windows,
    spread,
    unique_counts,
)
from whence.text import analyzer

#: Average lengths of the fields, in terms, over many repositories (docs/experiments/indexing.md).
AVERAGE_LENGTH = np.array([3.0, 3.0, 12.0, 20.0, 45.0], np.float32)
MAX_LENGTH_RATIO = 20.0

#: Separates the pieces of a file while its words are looked up; never a word itself.
MARK = b"\0"
_SPACED_MARK = b" \0 "
#: Words whose terms a worker caches.
MAX_CACHED_WORDS = 1 << 14

_KIND_ROWS = {kind: row for row, kind in enumerate(KIND_NAMES)}
#: Characters of a leading comment that are indexed with its unit.
LEAD_CHARACTERS = 250
#: Languages that write a parameter's type before its name.
TYPE_FIRST = frozenset("java c cpp csharp php dart".split())
#: Words that may precede a parameter.
MODIFIERS = frozenset("const final mut ref out in readonly public private protected val var let async static params required late".split())
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_EDGE_KIND_ROWS = {kind: row for row, kind in enumerate(EDGE_KINDS)}


@lru_cache(maxsize=MAX_CACHED_WORDS)
def _terms_of(raw: bytes) -> tuple[str, ...]:
    word = raw.decode("utf-8", "replace")
    if raw.isascii() and not raw[:1].isdigit():
        return analyzer.terms(word)
    return tuple(term for one in analyzer.words(word) for term in analyzer.terms(one))


@dataclass(slots=True)
class _Words:
    """The words seen so far, each with the terms it is indexed under."""

    ids: dict[bytes, int] = field(default_factory=lambda: {MARK: 0})
    term_ids: dict[str, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=lambda: [0, 0])
    flat: list[int] = field(default_factory=list)
    parts: list[int] = field(default_factory=lambda: [0])  # how many of a word's terms are parts of it, not the whole

    def look_up(self, found: list[bytes]) -> Array:
        """The ids of words, adding those that are new."""
        known = self.ids
        for word in dict.fromkeys(found):
            if word not in known:
                self._add(word)
        return np.fromiter(map(known.__getitem__, found), np.int64, len(found))

    def _add(self, raw: bytes) -> None:
        self.ids[raw] = len(self.ids)
        terms = _terms_of(raw)
        for term in terms:
            self.flat.append(self.term_ids.setdefault(term, len(self.term_ids)))
        self.starts.append(len(self.flat))
        self.parts.append(len(terms) - (len(terms) > 1))


class SegmentWriter:
    """Collects a batch of files and makes the columns of their segment."""

    def __init__(self) -> None:
        self._words = _Words()
        self._paths: list[str] = []
        self._languages: list[str] = []
        self._sizes: list[int] = []
        self._error_lines: list[int] = []
        self._units: list[Unit] = []
        self._inside: list[int] = []
        self._flags: list[int] = []
        self._unit_ends: list[int] = []
        self._window_ends: list[int] = []
        self._word: list[Array] = []  # every word of every unit ...
        self._slot: list[Array] = []  # ... and the unit and field it occurs in
        self._text_word: list[Array] = []  # every word of the text ...
        self._text_window: list[Array] = []  # ... and the window it occurs in
        self._file_words: list[Array] = []  # the distinct words of each file
        self._relations = RelationRows()
        self._parsed: list[bytes] = []

    def add(self, path: str, source: bytes, parsed: ParsedFile) -> None:
        """Add one file."""
        source = source.replace(MARK, b" ")
        units = parsed.units or (Unit("raw", "", "", 1, 1, 0, len(source)),)
        around = functions_around(units)
        cuts = _window_cuts(source)
        self._file_words.append(self._add_words(source, units, around, parsed.comments, cuts))
        self._relations.add(source, units, parsed)
        self._parsed.append(pack_parsed(parsed))
        self._paths.append(path)
        self._languages.append(parsed.language)
        self._sizes.append(len(source))
        self._error_lines.append(min(sum(last - first + 1 for first, last in parsed.errors), MAX_ERROR_LINES))
        self._units += units
        self._inside += _counts_inside(around)
        holders = (units[row] if row >= 0 else None for row in around)
        self._flags += [_flags(unit, parsed.language, holder) for unit, holder in zip(units, holders, strict=True)]
        self._unit_ends.append(len(self._units))
        self._window_ends.append(len(cuts) + (self._window_ends[-1] if self._window_ends else 0))

    def _add_words(
        self, source: bytes, units: tuple[Unit, ...], around: Sequence[int], comments: tuple[tuple[int, int], ...], cuts: Array
    ) -> Array:
        """Look up every word of a file in one pass, with its unit and field; returns the distinct words of its text as a whole.

        The text is cut wherever the unit, the window, or code and comment change, and joined again with a mark at each cut:
        one split then finds all words, and the marks tell the pieces apart. Names, enclosing names and signatures follow as
        pieces of their own, and once more, for a function around it, the text of what that defines for itself.
        """
        pieces, unit, where, window = _text_pieces(source, units, comments, cuts)
        texts = [*pieces]
        for piece, row, field_ in [*zip(pieces, unit, where, strict=True)] if max(around) >= 0 else ():
            holder = around[row]
            while holder >= 0:
                texts.append(piece)
                unit.append(holder)
                where.append(field_)
                holder = around[holder]
        for row, one in enumerate(units):
            if one.name:
                texts += [one.name.encode(), " ".join(one.parents).encode(), one.signature.encode()]
                unit += [row, row, row]
                where += [NAME, PARENTS, SIGNATURE]
        ids = self._words.look_up(_SPACED_MARK.join(texts).translate(SPACED_OUT).split())
        marks = ids == 0
        words, piece = ids[~marks], np.cumsum(marks)[~marks]
        in_text = int(np.searchsorted(piece, len(pieces)))  # the words before the names
        self._word.append(words)
        self._slot.append((np.array(unit, np.int64) * len(FIELDS) + np.array(where, np.int64))[piece] + len(self._units) * len(FIELDS))
        self._text_word.append(words[:in_text])
        self._text_window.append(np.array(window, np.int64)[piece[:in_text]] + (self._window_ends[-1] if self._window_ends else 0))
        whole = sorted(set(source.translate(SPACED_OUT).split()))  # a cut may divide a word, and there may be text outside units
        return self._words.look_up(whole)

    def arrays(self) -> dict[str, Array]:
        """The columns of a segment with these files, in the order they were added."""
        path_terms = self._path_terms()
        names = sorted(self._words.term_ids)
        rank = np.empty(len(names), np.int64)
        rank[[self._words.term_ids[name] for name in names]] = np.arange(len(names))
        starts, flat = (
            np.array(self._words.starts, np.int64),
            rank[np.array(self._words.flat, np.int64)] if self._words.flat else np.empty(0, np.int64),
        )
        found = {**pack_strings("terms", names), **self._file_arrays(), **self._unit_arrays()}
        found |= self._unit_postings(starts, flat, len(names))
        found |= self._window_postings(starts, flat, len(names))
        found |= _path_postings(path_terms, rank, self._words.term_ids)
        found |= self._word_columns()
        return found | self._relations.arrays() | parsed_columns(self._parsed)

    def _path_terms(self) -> list[tuple[str, int, int]]:
        """(term, file, where) of every path; its terms are added to the vocabulary."""
        found = []
        for row, path in enumerate(self._paths):
            for where, pieces in ((IN_STEM, paths.stem_parts(path)), (IN_DIRECTORY, paths.directory_parts(path))):
                terms = {analyzer.stem(piece) for piece in pieces}
                if where == IN_STEM and len(pieces) > 1:
                    terms.add("".join(pieces))
                found += [(term, row, where) for term in terms]
        for term, _, _ in found:
            self._words.term_ids.setdefault(term, len(self._words.term_ids))
        return found

    def _file_arrays(self) -> dict[str, Array]:
        contents = [CONTENTS.index(BY_NAME.get(name, UNKNOWN).content) for name in self._languages]
        languages = sorted(set(self._languages))
        return {
            **pack_strings("files.path", self._paths),
            **_path_parts(self._paths),
            **pack_strings("languages", languages),
            "files.language": np.array([languages.index(name) for name in self._languages], np.uint8),
            "files.content": np.array(contents, np.uint8),
            "files.bytes": np.array(self._sizes, np.uint32),
            ERROR_LINES: np.array(self._error_lines, np.uint16),
            "files.units": np.array(self._unit_ends, np.uint32),
            "files.windows": np.array(self._window_ends, np.uint32),
            "files.roles": np.array([int(paths.roles(path)) for path in self._paths], np.uint16),
            "files.depth": np.array([min(paths.depth(path), 255) for path in self._paths], np.uint8),
            "files.stem": np.array([name_hash("".join(paths.stem_parts(path))) for path in self._paths], np.uint32),
            "files.singular_stem": np.array([name_hash("".join(paths.stem_parts(path)).rstrip("s")) for path in self._paths], np.uint32),
            "files.name": np.array([name_hash(path.rsplit("/", 1)[-1]) for path in self._paths], np.uint32),
            "files.version": np.array([paths.version(path) for path in self._paths], np.int8),
        }

    def _unit_arrays(self) -> dict[str, Array]:
        return {
            **pack_strings("units.name", [unit.name for unit in self._units]),
            "units.first": narrow(np.array([unit.first_line for unit in self._units], np.uint32)),
            "units.last": narrow(np.array([unit.last_line for unit in self._units], np.uint32)),
            "units.inside": narrow(np.array(self._inside, np.uint32)),
            "units.kind": np.array([_KIND_ROWS[unit.kind] for unit in self._units], np.uint8),
            "units.flags": np.array(self._flags, np.uint8),
            "units.name_hash": np.array([name_hash(unit.name) if unit.name else 0 for unit in self._units], np.uint32),
            "units.scope_hash": np.array([name_hash(".".join(unit.parents)) if unit.parents else 0 for unit in self._units], np.uint32),
            "units.sound_hash": np.array([name_hash(fold_name(unit.name)) if unit.name else 0 for unit in self._units], np.uint32),
            "units.full_hash": np.array([name_hash(unit.qualified_name) if unit.name else 0 for unit in self._units], np.uint32),
        }

    def _unit_postings(self, starts: Array, flat: Array, vocabulary: int) -> dict[str, Array]:
        slots = max(len(self._units), 1) * len(FIELDS)
        slot, term = _terms_of_words(_joined(self._word), _joined(self._slot), starts, flat, np.diff(starts))
        lengths = np.bincount(slot, minlength=slots).astype(np.float32)
        key, count = unique_counts(term * slots + slot)
        slot, term = key % slots, key // slots
        unit, where = slot // len(FIELDS), slot % len(FIELDS)
        ratio = np.minimum(lengths[slot] / AVERAGE_LENGTH[where], MAX_LENGTH_RATIO)
        code = np.zeros(len(key), np.uint32)
        for number, levels in enumerate(LEVELS):
            mine = where == number
            code[mine] = nearest_level(count[mine] / (0.5 + 0.5 * ratio[mine]), levels) << SHIFTS[number]
        new = np.flatnonzero(np.diff(term * len(self._units) + unit, prepend=-1))
        codes = np.add.reduceat(code, new) if len(new) else code
        offsets = np.searchsorted(term[new], np.arange(vocabulary + 1))
        return unit_posting_columns(Lists(offsets, unit[new], codes.astype(np.uint16)))

    def _window_postings(self, starts: Array, flat: Array, vocabulary: int) -> dict[str, Array]:
        """Windows index only the parts of words: the joined whole would add nothing but size."""
        windows = max(self._window_ends[-1] if self._window_ends else 0, 1)
        parts = np.array(self._words.parts, np.int64)
        window, term = _terms_of_words(_joined(self._text_word), _joined(self._text_window), starts, flat, parts)
        key, count = unique_counts(term * windows + window)
        offsets = np.searchsorted(key // windows, np.arange(vocabulary + 1))
        return window_posting_columns(Lists(offsets, key % windows, np.minimum(count, COUNT_TOP).astype(np.uint16)))

    def _word_columns(self) -> dict[str, Array]:
        """Which files contain which word exactly as written, by hash."""
        hashes = np.zeros(len(self._words.ids), np.uint32)
        for word, row in self._words.ids.items():
            if len(word) >= MIN_WORD_LENGTH:
                hashes[row] = zlib.crc32(word)
        written = words_by_hash((hashed, word) for word, hashed in zip(self._words.ids, hashes.tolist(), strict=True) if hashed)
        pairs = [np.stack([hashes[ids].astype(np.uint64), np.full(len(ids), row, np.uint64)]) for row, ids in enumerate(self._file_words)]
        joined = np.concatenate(pairs, axis=1) if pairs else np.empty((2, 0), np.uint64)
        return word_columns(distinct((joined[0] << np.uint64(32) | joined[1])[joined[0] > 0]), written)


def _flags(unit: Unit, language: str, holder: Unit | None) -> int:
    if unit.kind not in DEFINITIONS:
        return 0 if unit.parents else TOP_LEVEL
    found = DEFINES | (HIDDEN if holder is not None or is_hidden(unit, language) else 0)
    in_type = holder is None or holder.qualified_name != ".".join(unit.parents)
    return found | (CONSTRUCTS if in_type and is_constructor(unit) else 0) if unit.parents else found | TOP_LEVEL


def _counts_inside(around: Sequence[int]) -> list[int]:
    """How many of the units after each function are inside it."""
    counts = [0] * len(around)
    for row in reversed(range(len(around))):  # what is inside comes after
        if around[row] >= 0:
            counts[around[row]] += 1 + counts[row]
    return counts


def unit_posting_columns(lists: Lists) -> dict[str, Array]:
    """The columns of unit postings."""
    steps = encode(lists, UNIT_STEP)
    return {
        "terms.units": steps.offsets.astype(np.uint32),
        "terms.first_unit": steps.first,
        "postings.unit": steps.steps,
        "postings.code": steps.values,
    }


def window_posting_columns(lists: Lists) -> dict[str, Array]:
    """The columns of window postings."""
    steps = encode(lists, WINDOW_STEP)
    return {"terms.windows": steps.offsets.astype(np.uint32), "terms.first_window": steps.first, "postings.window": pack_windows(steps)}


def word_keys(hashes: Array, offsets: Array, files: Array) -> Array:
    """The reverse of `word_columns`: (hash << 32 | file) pairs."""
    return np.repeat(hashes.astype(np.uint64), np.diff(offsets)) << np.uint64(32) | files.astype(np.uint64)


def words_by_hash(words: Iterable[tuple[int, bytes]]) -> dict[int, bytes]:
    """The word of each hash; several with the same hash, in order, with spaces between them."""
    found: dict[int, bytes] = {}
    for hashed, word in words:
        if found.setdefault(hashed, word) != word:
            found[hashed] = b" ".join(sorted({*found[hashed].split(), *word.split()}))
    return found


def word_columns(key: Array, written: Mapping[int, bytes]) -> dict[str, Array]:
    """Sorted (hash << 32 | file) pairs as a table of words, a line for each hash, with their files."""
    hashes = (key >> np.uint64(32)).astype(np.uint32)
    new = first_of_each(hashes)
    lines = b"".join(written[hashed] + b"\n" for hashed in hashes[new].tolist())
    return {
        "mentions.words": np.frombuffer(lines, np.uint8),
        "mentions.hash": hashes[new],
        "mentions.files": np.append(new, len(hashes)).astype(np.uint32),
        "postings.mention": narrow(key & np.uint64(0xFFFFFFFF)),
    }


def nearest_level(weights: Array, levels: Array) -> Array:
    """The level (from 1) nearest to each weight; the border between two levels is their geometric mean."""
    middles = np.sqrt(levels[1:-1] * levels[2:])
    return (np.searchsorted(middles, weights, side="right") + 1).astype(np.uint32)


def _terms_of_words(word: Array, place: Array, starts: Array, flat: Array, sizes: Array) -> tuple[Array, Array]:
    """(place, term) of the first `sizes` terms of every word."""
    owner, at = spread(starts[word], starts[word] + sizes[word])
    return place[owner], flat[at]


def _joined(arrays: list[Array]) -> Array:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)


def _text_pieces(
    source: bytes, units: tuple[Unit, ...], comments: tuple[tuple[int, int], ...], cuts: Array
) -> tuple[list[bytes], list[int], list[int], list[int]]:
    """The text in pieces, and the unit, field and window of each."""
    starts, ends, owners = np.array(own_spans(units), np.int64).reshape(-1, 3).T
    marks = np.array(comments, np.int64).reshape(-1, 2)
    edges = distinct(np.concatenate([starts, ends, marks.ravel(), cuts]))
    owner, owned = _holder(starts, ends, edges[:-1])
    _, in_comment = _holder(marks[:, 0], marks[:, 1], edges[:-1])
    window = np.searchsorted(cuts, edges[:-1], side="right") - 1
    kept = np.flatnonzero(owned)
    bounds = zip(edges[kept].tolist(), edges[kept + 1].tolist(), strict=True)
    return (
        [source[a:b] for a, b in bounds],
        owners[owner[kept]].tolist(),
        np.where(in_comment[kept], DOC, BODY).tolist(),
        window[kept].tolist(),
    )


def _holder(starts: Array, ends: Array, at: Array) -> tuple[Array, Array]:
    """Which of some disjoint spans contains each position, and whether any does."""
    if not len(starts):
        return np.zeros(len(at), np.int64), np.zeros(len(at), bool)
    row = np.searchsorted(starts, at, side="right") - 1
    return row, (row >= 0) & (at < ends[row])


def _window_cuts(source: bytes) -> Array:
    """Where windows start: at 0, then at the line end nearest to their size."""
    cuts, at = [0], WINDOW_BYTES
    while at < len(source):
        line = source.rfind(b"\n", cuts[-1] + 1, at)
        if line < 0:
            line = source.find(b"\n", at)
        if line < 0 or line + 1 >= len(source):
            break
        cuts.append(line + 1)
        at = line + 1 + WINDOW_BYTES
    return np.array(cuts, np.int64)


def _path_postings(path_terms: list[tuple[str, int, int]], rank: Array, term_ids: dict[str, int]) -> dict[str, Array]:
    places: dict[tuple[int, int], int] = {}
    for term, row, where in path_terms:
        key = (int(rank[term_ids[term]]), row)
        places[key] = places.get(key, 0) | where
    ordered = sorted(places)
    return {
        "paths.term": np.array([term for term, _ in ordered], np.uint32),
        "paths.file": np.array([row for _, row in ordered], np.uint32),
        "paths.place": np.array([places[key] for key in ordered], np.uint8),
    }


def _path_parts(file_paths: list[str]) -> dict[str, Array]:
    """The words of each file's stem and nearest directories, as rows of a table of all such words."""
    stems = [paths.stem_parts(path) for path in file_paths]
    directories = [paths.near_directory_parts(path) for path in file_paths]
    known = sorted({part for found in (*stems, *directories) for part in found})
    row = {part: number for number, part in enumerate(known)}
    return {
        **pack_strings("parts", known),
        "files.stem_ends": np.cumsum([len(found) for found in stems]).astype(np.uint32),
        "files.stem_parts": np.array([row[part] for found in stems for part in found], np.uint32),
        "files.directory_ends": np.cumsum([len(found) for found in directories]).astype(np.uint32),
        "files.directory_parts": np.array([row[part] for found in directories for part in found], np.uint32),
    }


# References, imports and names, for the graph.
class RelationRows:
    """Collects what the graph is built from: what encloses each unit, the names it uses, what its file imports.

    A name is stored once, in a table; elsewhere it is a row of that table. What a name refers to depends on all files and is
    resolved over a whole snapshot (`graph.builder.resolve`).
    """

    def __init__(self) -> None:
        self._names: dict[str, int] = {"": 0}
        self._imports: dict[str, int] = {}
        self._scope: list[int] = []
        self._parts: dict[str, int] = {}
        self._part: list[int] = []
        self._part_ends: list[int] = []
        self._lead: list[int] = []
        self._lead_ends: list[int] = []
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._facts: list[tuple[int, int, int]] = []
        self._import_rows: list[int] = []
        self._import_ends: list[int] = []

    def add(self, source: bytes, units: Sequence[Unit], parsed: ParsedFile) -> None:
        """Add one file."""
        first = len(self._scope)
        names = self._names
        for unit in units:
            self._scope.append(names.setdefault(".".join(unit.parents), len(names)))
            self._part += [self._parts.setdefault(part, len(self._parts)) for part in _name_parts(unit.name)]
            self._part_ends.append(len(self._part))
            self._lead += lead_hashes(unit.doc)
            self._lead_ends.append(len(self._lead))
        lines = line_starts(source)
        parameters = _Parameters(units, parsed.language)
        for one in parsed.references:
            if not one.receiver and parameters.shadow(one):
                continue
            kind = _EDGE_KIND_ROWS[one.kind] | (OF_RECEIVER if one.unit < 0 else 0)
            name, receiver = names.setdefault(one.name, len(names)), names.setdefault(one.receiver, len(names))
            self._rows.append((first + max(one.unit, 0), kind, name, receiver, bisect_right(lines, one.at)))
        for fact in parsed.facts:
            self._facts.append((first + fact.unit, names.setdefault(fact.name, len(names)), names.setdefault(fact.path, len(names))))
        self._import_rows += [self._imports.setdefault(text, len(self._imports)) for text in parsed.imports]
        self._import_ends.append(len(self._import_rows))

    def arrays(self) -> dict[str, Array]:
        """The columns of the segment."""
        rows = np.array(self._rows, np.uint32).reshape(-1, 5)
        return {
            **pack_strings("names", list(self._names)),
            **pack_strings("imports", list(self._imports)),
            "units.scope": narrow(np.array(self._scope, np.uint32)),
            **pack_strings("name_parts", list(self._parts)),
            "units.part_ends": np.array(self._part_ends, np.uint32),
            "units.parts": narrow(np.array(self._part, np.uint32)),
            "units.lead_ends": np.array(self._lead_ends, np.uint32),
            "leads.term": np.array(self._lead, np.uint16),
            **relation_columns(rows),
            **fact_columns(np.array(self._facts, np.uint32).reshape(-1, 3)),
            "files.import_ends": np.array(self._import_ends, np.uint32),
            "files.import_rows": narrow(np.array(self._import_rows, np.uint32)),
        }


class _Parameters:
    """Names that are parameters of the functions around them, and so refer to nothing outside."""

    def __init__(self, units: Sequence[Unit], language: str) -> None:
        self._units, self._around = units, functions_around(units)
        self._type_first, self._apart = language in TYPE_FIRST, language in CALLS_APART
        self._known: dict[int, frozenset[str]] = {}

    def shadow(self, one: Reference) -> bool:
        """Whether a name without a receiver is a parameter of its unit or of a function around it."""
        return not (self._apart and one.kind == "calls") and one.name in self._of(one.unit)

    def _of(self, row: int) -> frozenset[str]:
        found = self._known.get(row)
        if found is None:
            own = self._units[row].parameters if 0 <= row < len(self._units) else ()
            outer = self._of(self._around[row]) if 0 <= row < len(self._units) and self._around[row] >= 0 else frozenset()
            found = self._known[row] = outer.union(filter(None, map(self._name, own)))
        return found

    def _name(self, parameter: str) -> str:
        """The name in `send`, `send: Sender`, `send Sender` or `Sender send`; empty if it is not a plain name."""
        words = _IDENTIFIER.findall(parameter.partition("=")[0].partition(":")[0].partition("(")[0])
        words = [word for word in words if word not in MODIFIERS] if len(words) > 1 else words
        if not words or "{" in parameter:
            return ""
        name: str = words[-1] if self._type_first else words[0]
        return name if name[0].islower() else ""


def relation_columns(rows: Array) -> dict[str, Array]:
    """The columns of references, given as rows of (unit, kind, name, receiver, line)."""
    unit, kind, name, receiver, line = rows.T
    return {
        "relations.unit": unit.astype(np.uint32),
        "relations.kind": kind.astype(np.uint8),
        "relations.name": narrow(name),
        "relations.receiver": narrow(receiver),
        "relations.line": narrow(line),
    }


def fact_columns(rows: Array) -> dict[str, Array]:
    """The columns of facts about types, given as rows of (unit, name, path)."""
    unit, name, path = rows.T
    return {"facts.unit": unit.astype(np.uint32), "facts.name": narrow(name), "facts.path": narrow(path)}


@lru_cache(maxsize=MAX_CACHED_WORDS)
def _name_parts(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(analyzer.parts(name)))


def lead_hashes(doc: str) -> list[int]:
    """The hashes of the distinct terms of a leading comment."""
    found: dict[tuple[str, int], None] = {}
    for word in analyzer.words(doc[:LEAD_CHARACTERS]) if doc else ():
        found.update(_hashed_terms(word))
    return [hashed for _, hashed in found]


@lru_cache(maxsize=MAX_CACHED_WORDS)
def _hashed_terms(word: str) -> dict[tuple[str, int], None]:
    terms = map(analyzer.stem, analyzer.parts(word))
    return {(term, lead_hash(term)): None for term in terms}
