"""A segment: the postings and columns of some files, immutable. What was parsed of each file is in it too, compressed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from whence.core.errors import IndexDamaged
from whence.core.types import CODE, CONFIG, DOCS, KINDS, ParsedFile, Unit
from whence.storage.arrayfile import Array, ArrayFile, Columns, Stamp, StringTable, unpack_strings
from whence.storage.postings import UNIT_STEP, WINDOW_STEP, read, unpack_windows
from whence.text import analyzer

FIELDS = ("name", "parents", "signature", "doc", "body")
NAME, PARENTS, SIGNATURE, DOC, BODY = range(len(FIELDS))
#: Bits of each field in a posting's code, lowest first, and the weights that their levels represent.
BITS = (3, 3, 3, 3, 4)
SHIFTS = (0, 3, 6, 9, 12)
COARSE_LEVELS = np.concatenate([[0.0], 0.25 * 1.6 ** np.arange(7)]).astype(np.float32)
FINE_LEVELS = np.concatenate([[0.0], 0.1 * np.sqrt(2.0) ** np.arange(15)]).astype(np.float32)
LEVELS = (COARSE_LEVELS, COARSE_LEVELS, COARSE_LEVELS, COARSE_LEVELS, FINE_LEVELS)
#: Windows split a file evenly, whatever its units.
WINDOW_BYTES = 800
#: A path posting says where in the path the term occurs.
IN_STEM, IN_DIRECTORY = 1, 2
#: Whatever is not part of a word becomes a space; characters beyond ASCII are examined when a word is first seen.
SPACED_OUT = bytes(byte if chr(byte).isalnum() or chr(byte) in "_\0" or byte > 127 else ord(" ") for byte in range(256))
#: The kinds of content and of unit, by their number in columns.
CONTENTS = (CODE, DOCS, CONFIG)
KIND_NAMES = tuple(sorted(KINDS))
#: Flags of a unit: nothing encloses it; it defines a name; it is private; it is a constructor of the type around it.
TOP_LEVEL, DEFINES, HIDDEN, CONSTRUCTS = 1, 2, 4, 8
#: Set in the kind of a reference whose receiver is the enclosing type itself.
OF_RECEIVER = 0x80


def name_hash(word: str) -> int:
    """The hash of a word in the tables of names and words."""
    try:
        return zlib.crc32(word.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:  # half a surrogate pair: only a query can contain that, and it names nothing
        return zlib.crc32(word.encode("utf-8", "replace"))


def fold_name(name: str) -> str:
    """A name without case and underscores, so that `http_client` equals HttpClient; dunder names stay as they are."""
    return name if name.startswith("__") else analyzer.normalize_identifier(name)


def word_runs(text: str) -> list[str]:
    """The runs of word characters that a text is indexed by, as written and in order."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a surrogate pair, as above
        raw = text.encode("utf-8", "replace")
    return [run.decode("utf-8", "surrogateescape") for run in raw.translate(SPACED_OUT).split()]


def lead_hash(term: str) -> int:
    """A 16-bit hash of a term."""
    return zlib.crc32(term.encode("utf-8", "surrogateescape")) & 0xFFFF


#: Columns with one value per file or unit, which a merge simply concatenates.
FILE_COLUMNS = tuple(f"files.{name}" for name in ("content", "bytes", "roles", "depth", "version", "name", "stem", "singular_stem"))
#: How many lines of each file its grammar could not read.
ERROR_LINES, MAX_ERROR_LINES = "files.error_lines", (1 << 16) - 1
UNIT_COLUMNS = tuple(
    f"units.{name}" for name in ("first", "last", "inside", "kind", "flags", "name_hash", "scope_hash", "sound_hash", "full_hash")
)
#: More than the parsed form of the largest file that is ever indexed.
MAX_PARSED_BYTES = 1 << 28


class SegmentReader(Protocol):
    """The files of one segment, wherever they are stored. Rows are its own: files, units and windows each count from 0."""

    name: str
    files: int
    units: int
    windows: int
    unit_ends: Array  # one past the last unit of each file
    window_ends: Array
    paths: StringTable
    unit_names: StringTable

    @property
    def arrays(self) -> Columns:
        """Its columns by name."""

    def languages(self) -> list[str]:
        """The language of each file."""

    def parsed_of(self, row: int) -> bytes:
        """The parsed form of a file, compressed."""

    def find_term(self, term: str) -> int:
        """The key of a term for the postings below, or -1."""

    def unit_postings(self, term: int) -> tuple[Array, Array]:
        """The units that contain a term, and the code of each."""

    def window_postings(self, term: int) -> tuple[Array, Array]:
        """The windows that contain a term, and how often (up to a ceiling)."""

    def path_postings(self, term: int) -> tuple[Array, Array]:
        """The files with a term in their path, and where in it."""

    def files_with_word(self, hashed: int) -> Array:
        """The files that contain a word exactly as written, by its hash."""


class Segment:
    """A segment in an array file."""

    def __init__(self, file: ArrayFile) -> None:
        self.arrays, self.name = file, file.path.name
        self.terms = unpack_strings(file, "terms")
        self.paths = unpack_strings(file, "files.path")
        self.unit_names = unpack_strings(file, "units.name")
        self.unit_ends = file["files.units"]
        self.window_ends = file["files.windows"]
        self.files = len(self.unit_ends)
        self.units = len(file["units.first"])
        self.windows = int(self.window_ends[-1]) if self.files else 0

    def languages(self) -> list[str]:
        """The language of each file."""
        names = unpack_strings(self.arrays, "languages").all()
        return [names[row] for row in self.arrays["files.language"].tolist()]

    def parsed_of(self, row: int) -> bytes:
        """The parsed form of a file, compressed."""
        ends = self.arrays["parsed.ends"]
        return self.arrays["parsed.blob"][int(ends[row - 1]) if row else 0 : int(ends[row])].tobytes()

    def find_term(self, term: str) -> int:
        """The row of a term, or -1."""
        return self.terms.find(term)

    def unit_postings(self, term: int) -> tuple[Array, Array]:
        """The units that contain a term, and the code of each."""
        a, b = self.arrays["terms.units"][term : term + 2].tolist()
        first = int(self.arrays["terms.first_unit"][term])
        return read(first, self.arrays["postings.unit"][a:b], self.arrays["postings.code"][a:b], self.units > UNIT_STEP)

    def window_postings(self, term: int) -> tuple[Array, Array]:
        """The windows that contain a term, and how often (up to a ceiling)."""
        a, b = self.arrays["terms.windows"][term : term + 2].tolist()
        first = int(self.arrays["terms.first_window"][term])
        return read(first, *unpack_windows(self.arrays["postings.window"][a:b]), self.windows > WINDOW_STEP)

    def path_postings(self, term: int) -> tuple[Array, Array]:
        """The files with a term in their path, and where in it."""
        table = self.arrays["paths.term"]
        a, b = np.searchsorted(table, np.array([term, term + 1], table.dtype))  # any other type would convert the whole table
        return self.arrays["paths.file"][a:b], self.arrays["paths.place"][a:b]

    def files_with_word(self, hashed: int) -> Array:
        """The files that contain a word exactly as written, by its hash."""
        table = self.arrays["mentions.hash"]
        row = int(np.searchsorted(table, table.dtype.type(hashed)))
        if row >= len(table) or int(table[row]) != hashed:
            return np.empty(0, np.uint32)
        a, b = self.arrays["mentions.files"][row : row + 2].tolist()
        return self.arrays["postings.mention"][a:b]


def open_segment(path: Path, stamp: Stamp) -> Segment:
    """Open a segment, checking that it is the file that was written."""
    try:
        return Segment(ArrayFile(path, stamp))
    except (KeyError, ValueError, TypeError) as error:
        raise IndexDamaged(f"{path.name} lacks {error}") from error


# The parsed form of files.
def parsed_columns(blobs: Sequence[bytes]) -> dict[str, Array]:
    """The columns with the parsed form of some files, in the order of their rows."""
    ends = np.cumsum([len(blob) for blob in blobs], dtype=np.uint32) if blobs else np.empty(0, np.uint32)
    return {"parsed.blob": np.frombuffer(b"".join(blobs), np.uint8), "parsed.ends": ends}


def pack_parsed(parsed: ParsedFile) -> bytes:
    """A parsed file, compressed. Written out by hand: `dataclasses.asdict` copies deeply and is many times slower."""
    units = [
        (u.kind, u.name, u.first_line, u.last_line, u.start, u.end, u.parents, u.signature, u.doc, u.parameters, u.calls)
        for u in parsed.units
    ]
    values: dict[str, Any] = {"language": parsed.language, "units": units, "imports": parsed.imports}
    if parsed.errors:
        values["errors"] = parsed.errors
    return zlib.compress(json.dumps(values, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogateescape"), 1)


def unpack_parsed(blob: bytes) -> ParsedFile:
    """The reverse of `pack_parsed`; comments and references are not stored."""
    try:
        found = json.loads(_decompress(blob))
        errors = tuple((int(first), int(last)) for first, last in found.get("errors", ()))
        return ParsedFile(found["language"], tuple(map(_unit, found["units"])), tuple(found["imports"]), errors=errors)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable() from error


def find_units(blob: bytes, keys: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
    """Some units of a parsed file, by first line and name, without decoding the others.

    JSON escapes every quotation mark inside a string, so `,"name",12,` occurs nowhere but in a unit.
    """
    text, decoder = _decompress(blob), json.JSONDecoder()
    found = {}
    for first, name in keys:
        at = text.rfind(f",{json.dumps(name, ensure_ascii=False)},{first},")
        if at >= 0:
            try:
                found[first, name] = _unit(decoder.raw_decode(text, text.rindex("[", 0, at))[0])
            except (ValueError, TypeError, RecursionError) as error:
                raise _unreadable() from error
    return found


def _decompress(blob: bytes) -> str:
    """Decompress a blob; one from another machine may contain anything, but must not fill the memory."""
    try:
        return zlib.decompressobj().decompress(blob, MAX_PARSED_BYTES).decode("utf-8", "surrogateescape")
    except zlib.error as error:
        raise _unreadable() from error


def _unreadable() -> IndexDamaged:
    return IndexDamaged("the parsed form of a file cannot be read")


def _unit(values: Sequence[Any]) -> Unit:
    """A unit from its values, in the order in which `pack_parsed` writes them."""
    kind, name, first, last, start, end, parents, signature, doc, parameters, calls = values
    qualified = ".".join((*parents, name)) if name else ""
    return Unit(kind, name, qualified, first, last, start, end, tuple(parents), signature, doc, tuple(parameters), tuple(calls))
