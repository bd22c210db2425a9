"""A file of named arrays, written atomically and opened by memory map.

Layout: a magic word, the length of a JSON header, the header, then each array aligned to 64 bytes. The header says where
each array starts; the checksum of the whole file is in the store that lists it (`IndexStore`).
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from whence.core.errors import ColumnsDamaged, IndexDamaged, StorageError

MAGIC = b"WHENCE01"
ALIGN = 64
CHUNK = 1 << 20
#: The types an array may have: plain numbers, nothing that numpy would have to interpret.
TYPES = frozenset("|b1 |i1 |u1 <i2 <u2 <f2 <i4 <u4 <f4 <i8 <u8 <f8".split())

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
else:
    Array = np.ndarray  # numpy.typing takes a tenth of the time of a short search to import


class Columns(Protocol):
    """Named arrays, in a file or in memory."""

    def __getitem__(self, name: str, /) -> Array: ...

    def __contains__(self, name: str, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class Stamp:
    """The state of a derived file when it was written: size, checksum, modification time, inode."""

    size: int
    checksum: int
    mtime_ns: int
    inode: int


def stamp_of(path: Path, checksum: int) -> Stamp:
    """The stamp of a file that was just written."""
    state = path.stat()
    return Stamp(state.st_size, checksum, state.st_mtime_ns, state.st_ino)


def write_arrays(path: Path, arrays: Mapping[str, Array], facts: Mapping[str, object]) -> Stamp:
    """Write arrays and facts to a new file, which appears under its name only when it is complete."""
    header: dict[str, Any] = {"facts": dict(facts), "arrays": {}}
    offset = 0
    for name, array in arrays.items():
        header["arrays"][name] = [array.dtype.str, int(array.shape[0]), offset]
        offset += -(-array.nbytes // ALIGN) * ALIGN
    text = json.dumps(header, separators=(",", ":")).encode()
    start = -(-(len(MAGIC) + 8 + len(text)) // ALIGN) * ALIGN
    prefix = MAGIC + len(text).to_bytes(8, "little") + text
    part = path.with_name(path.name + ".part")
    try:
        checksum = _write(part, _pieces(prefix.ljust(start, b"\0"), arrays))
        part.replace(path)
        return stamp_of(path, checksum)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)  # the disk may be full, and half a file takes space
        hint = "free some space and run it again" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise StorageError(f"cannot write {path}: {error.strerror or error}", hint=hint) from error


def _write(part: Path, pieces: Iterable[Any]) -> int:
    """Write a file, readable by its owner only, and sync it to disk; its checksum."""
    checksum = 0
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        for piece in pieces:
            checksum = zlib.crc32(piece, checksum)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return checksum


def _pieces(prefix: bytes, arrays: Mapping[str, Array]) -> Any:
    yield prefix
    for array in arrays.values():
        raw = np.ascontiguousarray(array).data.cast("B") if array.nbytes else memoryview(b"")
        for at in range(0, len(raw), CHUNK):
            yield raw[at : at + CHUNK]
        yield b"\0" * (-len(raw) % ALIGN)


def checksum_of(path: Path) -> int:
    """The checksum of a whole file."""
    checksum = 0
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            checksum = zlib.crc32(piece, checksum)
    return checksum


class ArrayFile:
    """An open file of arrays. They are views of a memory map; nothing is read until it is used."""

    def __init__(self, path: Path, stamp: Stamp | None = None) -> None:
        self.path = path
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # opening a FIFO would wait for a writer
                state = os.fstat(file.fileno())
                if not stat.S_ISREG(state.st_mode):
                    raise IndexDamaged(f"{path.name} is not a regular file")
                if stamp is not None and state.st_size != stamp.size:
                    raise IndexDamaged(f"{path.name} has {state.st_size} bytes instead of {stamp.size}")
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise IndexDamaged(f"{path.name} cannot be opened: {error}") from error
        touched = stamp is not None and (state.st_mtime_ns != stamp.mtime_ns or state.st_ino != stamp.inode)
        if stamp is not None and touched and checksum_of(path) != stamp.checksum:
            raise IndexDamaged(f"{path.name} does not match its checksum")
        try:
            self._read_header()
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise IndexDamaged(f"{path.name} has no readable header") from error

    def _read_header(self) -> None:
        if self._map[: len(MAGIC)] != MAGIC:
            raise ValueError("magic")
        length = int.from_bytes(self._map[len(MAGIC) : len(MAGIC) + 8], "little")
        header = json.loads(self._map[len(MAGIC) + 8 : len(MAGIC) + 8 + length])
        self.facts: dict[str, Any] = header["facts"]
        start = -(-(len(MAGIC) + 8 + length) // ALIGN) * ALIGN
        self._arrays: dict[str, Array] = {
            name: self._array(dtype, count, start, offset) for name, (dtype, count, offset) in header["arrays"].items()
        }

    def _array(self, dtype: str, count: int, start: int, offset: int) -> Array:
        if dtype not in TYPES or count < 0 or offset < 0:
            raise ValueError("array")
        return np.frombuffer(self._map, dtype=dtype, count=count, offset=start + offset)

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def names(self) -> list[str]:
        """The names of all arrays."""
        return list(self._arrays)


def open_columns(path: Path, stamp: Mapping[str, int]) -> ArrayFile:
    """Open a file that was computed from all segments. Damage to it costs only itself: it is computed again."""
    try:
        return ArrayFile(path, Stamp(**stamp))
    except (IndexDamaged, TypeError) as error:
        raise ColumnsDamaged(getattr(error, "message", f"{path.name} has no valid stamp")) from error


def narrow(values: Array) -> Array:
    """Integers in 16 bits if they fit, else in 32."""
    return values.astype(np.uint16 if not len(values) or int(values.max()) < 1 << 16 else np.uint32)


class StringTable:
    """A column of strings: one blob of UTF-8, and where each string ends in it."""

    def __init__(self, blob: Array, ends: Array) -> None:
        self._blob = blob.data
        self._ends = ends

    @classmethod
    def of(cls, texts: list[str]) -> StringTable:
        """A table of strings in memory."""
        return unpack_strings(pack_strings("texts", texts), "texts")

    def __len__(self) -> int:
        return len(self._ends)

    def raw(self, row: int) -> bytes:
        """One string as bytes."""
        start = int(self._ends[row - 1]) if row else 0
        return bytes(self._blob[start : int(self._ends[row])])

    def __getitem__(self, row: int) -> str:
        return self.raw(row).decode("utf-8", "surrogateescape")

    def scan(self, text: str) -> Iterator[int]:
        """The rows of a string in a table of any order."""
        key, data = text.encode("utf-8", "surrogateescape"), bytes(self._blob)
        at = data.find(key) if key else -1
        while at >= 0:
            row = int(np.searchsorted(self._ends, at, side="right"))
            if self.raw(row) == key:
                yield row
            at = data.find(key, at + 1)

    def find(self, text: str) -> int:
        """The row of a string in a sorted table, or -1."""
        key = text.encode("utf-8", "surrogateescape")
        low, high = 0, len(self._ends)
        while low < high:
            middle = (low + high) // 2
            if self.raw(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self._ends) and self.raw(low) == key else -1

    def all(self) -> list[str]:
        """Every string, in order."""
        data, start, found = bytes(self._blob), 0, []
        for end in self._ends.tolist():
            found.append(data[start:end].decode("utf-8", "surrogateescape"))
            start = end
        return found


def pack_strings(name: str, texts: list[str]) -> dict[str, Array]:
    """The two columns of a string table."""
    encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.uint32) if encoded else np.empty(0, np.uint32)
    return {f"{name}.blob": np.frombuffer(b"".join(encoded), np.uint8), f"{name}.ends": ends.astype(np.uint32)}


def unpack_strings(columns: Columns, name: str) -> StringTable:
    """A string table from the columns of `pack_strings`."""
    return StringTable(columns[f"{name}.blob"], columns[f"{name}.ends"])
