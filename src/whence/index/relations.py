"""The part of a segment that the graph is made of: what encloses each unit, what it mentions, what its file imports.

Names are kept once in a table of their own and stand elsewhere as rows of it. What
a name stands for depends on all files and is worked out for a whole snapshot, in
`resolve`; here everything depends on its file alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np

from whence.core.types import EDGE_KINDS, ParsedFile, Reference, Unit
from whence.storage.arrayfile import Array, ArrayFile, StringTable, narrow, pack_strings, unpack_strings
from whence.text.analyzer import parts, stem, words

#: Set in a mention's kind where the receiver is not what stands before the name but the type that speaks.
OF_RECEIVER = 0x80
#: Letters of a leading comment by which a unit can be told.
LEAD_CHARACTERS = 250
#: Languages that write a parameter's type before its name.
TYPE_FIRST = frozenset("java c cpp csharp php dart".split())
#: Languages in which a variable is never called by its mere name.
CALLS_APART = frozenset({"java", "ruby", "php", "perl"})
#: What may stand before a parameter.
MODIFIERS = frozenset("const final mut ref out in readonly public private protected val var let async static params required late".split())
_WORDS = re.compile(r"[^\W\d]\w*")
_KIND_ROWS = {kind: row for row, kind in enumerate(EDGE_KINDS)}


class RelationRows:
    """Collects the relations of a batch of files."""

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
        self._import_rows: list[int] = []
        self._import_ends: list[int] = []

    def add(self, source: bytes, units: Sequence[Unit], parsed: ParsedFile) -> None:
        """Take in one file."""
        first = len(self._scope)
        names = self._names
        for unit in units:
            self._scope.append(names.setdefault(".".join(unit.parents), len(names)))
            self._part += [self._parts.setdefault(part, len(self._parts)) for part in _name_parts(unit.name)]
            self._part_ends.append(len(self._part))
            self._lead += lead_hashes(unit.doc)
            self._lead_ends.append(len(self._lead))
        line_ends = _LineEnds(source)
        hidden = _Hidden(units, parsed.language)
        for one in parsed.references:
            if not one.receiver and hidden.hides(one):
                continue
            kind = _KIND_ROWS[one.kind] | (OF_RECEIVER if one.unit < 0 else 0)
            name, receiver = names.setdefault(one.name, len(names)), names.setdefault(one.receiver, len(names))
            self._rows.append((first + max(one.unit, 0), kind, name, receiver, line_ends.line(one.at)))
        self._import_rows += [self._imports.setdefault(text, len(self._imports)) for text in parsed.imports]
        self._import_ends.append(len(self._import_rows))

    def arrays(self) -> dict[str, Array]:
        """The arrays of the segment."""
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
            **_relation_columns(rows),
            "files.import_ends": np.array(self._import_ends, np.uint32),
            "files.import_rows": narrow(np.array(self._import_rows, np.uint32)),
        }


class _Hidden:
    """Names that mean a parameter inside a unit, and nothing of that name outside."""

    def __init__(self, units: Sequence[Unit], language: str) -> None:
        self._units, self._type_first, self._apart = units, language in TYPE_FIRST, language in CALLS_APART
        self._known: dict[int, frozenset[str]] = {}

    def hides(self, one: Reference) -> bool:
        """Whether a name that stands alone means a parameter of the unit around it."""
        if self._apart and one.kind == "calls":
            return False
        found = self._known.get(one.unit)
        if found is None:
            parameters = self._units[one.unit].parameters if 0 <= one.unit < len(self._units) else ()
            found = self._known[one.unit] = frozenset(filter(None, map(self._name, parameters)))
        return one.name in found

    def _name(self, parameter: str) -> str:
        """`send`, `send: Sender`, `send Sender`, `Sender send`: empty where it is no plain name."""
        words = _WORDS.findall(parameter.partition("=")[0].partition(":")[0].partition("(")[0])
        words = [word for word in words if word not in MODIFIERS] if len(words) > 1 else words
        if not words or "{" in parameter:
            return ""
        name: str = words[-1] if self._type_first else words[0]
        return name if name[0].islower() else ""


class _LineEnds:
    """Counts lines up to places that are asked for in order."""

    def __init__(self, source: bytes) -> None:
        self._source, self._at, self._line = source, 0, 1

    def line(self, at: int) -> int:
        """The line of a byte."""
        if at < self._at:
            self._at, self._line = 0, 1
        self._line += self._source.count(b"\n", self._at, at)
        self._at = at
        return self._line


def _relation_columns(rows: Array) -> dict[str, Array]:
    columns = ("relations.unit", "relations.kind", "relations.name", "relations.receiver", "relations.line")
    widths = (np.uint32, np.uint8, None, None, None)
    return {
        name: narrow(rows[:, at]) if width is None else rows[:, at].astype(width)
        for at, (name, width) in enumerate(zip(columns, widths, strict=True))
    }


@lru_cache(maxsize=1 << 14)
def _name_parts(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parts(name)))


def lead_hash(term: str) -> int:
    """A small hash of a term."""
    return crc32(term.encode("utf-8", "surrogateescape")) & 0xFFFF


def lead_hashes(doc: str) -> list[int]:
    """Small hashes of the terms of a leading comment, each once."""
    return (
        [lead_hash(term) for term in dict.fromkeys(stem(part) for word in words(doc[:LEAD_CHARACTERS]) for part in parts(word))]
        if doc
        else []
    )


def merge_relations(files: Sequence[tuple[ArrayFile, Array, Array]]) -> dict[str, Array]:
    """The relations of several segments as one: (arrays, which files stay, new row of each unit)."""
    names, name_rows = _joined_tables([unpack_strings(arrays, "names") for arrays, _, _ in files])
    imports, import_rows = _joined_tables([unpack_strings(arrays, "imports") for arrays, _, _ in files])
    found = {**pack_strings("names", names), **pack_strings("imports", imports)}
    part_names, part_rows = _joined_tables([unpack_strings(arrays, "name_parts") for arrays, _, _ in files])
    found |= pack_strings("name_parts", part_names)
    scopes, leads, lead_sizes, relations, imported, import_sizes, pieces, piece_sizes = [], [], [], [], [], [], [], []
    for (arrays, keep, unit_rows), name_row, import_row, part_row in zip(files, name_rows, import_rows, part_rows, strict=True):
        kept = unit_rows >= 0
        scopes.append(name_row[arrays["units.scope"]][kept])
        sizes = np.diff(arrays["units.lead_ends"], prepend=np.uint32(0))
        lead_sizes.append(sizes[kept])
        leads.append(arrays["leads.term"][np.repeat(kept, sizes)])
        sizes = np.diff(arrays["units.part_ends"], prepend=np.uint32(0))
        piece_sizes.append(sizes[kept])
        pieces.append(part_row[arrays["units.parts"]][np.repeat(kept, sizes)])
        unit = unit_rows[arrays["relations.unit"]]
        columns = (
            unit,
            arrays["relations.kind"],
            name_row[arrays["relations.name"]],
            name_row[arrays["relations.receiver"]],
            arrays["relations.line"],
        )
        relations.append(np.stack([column.astype(np.int64) for column in columns], axis=1)[unit >= 0])
        sizes = np.diff(arrays["files.import_ends"], prepend=np.uint32(0))
        import_sizes.append(sizes[keep])
        imported.append(import_row[arrays["files.import_rows"]][np.repeat(keep, sizes)])
    return found | {
        "units.scope": narrow(np.concatenate(scopes)),
        "units.part_ends": np.cumsum(np.concatenate(piece_sizes)).astype(np.uint32),
        "units.parts": narrow(np.concatenate(pieces)),
        "units.lead_ends": np.cumsum(np.concatenate(lead_sizes)).astype(np.uint32),
        "leads.term": np.concatenate(leads),
        **_relation_columns(np.concatenate(relations)),
        "files.import_ends": np.cumsum(np.concatenate(import_sizes)).astype(np.uint32),
        "files.import_rows": narrow(np.concatenate(imported)),
    }


def _joined_tables(tables: Sequence[StringTable]) -> tuple[list[str], list[Array]]:
    """All strings of several tables in the order they come, and where each table's rows went."""
    row: dict[str, int] = {}
    moved = [np.array([row.setdefault(text, len(row)) for text in table.all()], np.int64) for table in tables]
    return list(row), moved
