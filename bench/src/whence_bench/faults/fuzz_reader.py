"""Files of an index that somebody else wrote, their checksums right: whatever is in them, they are refused or read.

An input is a list of changes to the files of a small real index. What passes the check that an index from elsewhere
has to pass is then used for all that an index is used for.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.core.errors import WhenceError
from whence.graph.reader import Graph
from whence.index.merge import merge
from whence.index.segment import open_segment
from whence.index.snapshot import Snapshot
from whence.index.validation import check_graph, check_segment, check_vectors
from whence.index.vectors import open_vectors
from whence.storage.arrayfile import ALIGN, MAGIC, ArrayFile, stamp_of
from whence.storage.postings import dead_mask
from whence_bench.faults.fuzz_engine import Try
from whence_bench.faults.fuzz_wire import FILES

#: Bytes of one change: what is done, to which array, where (two), and with what.
_CHANGE = 5
SEEDS = tuple(
    bytes((kind, op, array, 0, at, value)) for kind in range(3) for op, array, at, value in ((0, 3, 1, 2), (2, 5, 0, 3), (5, 0, 9, 0))
)
_TYPES = (
    "<u1",
    "<u2",
    "<u4",
    "<u8",
    "<i4",
    "<f4",
    "<f8",
    "|O",
    "|V8",
    "<M8[ns]",
    "|S5",
    "<i4,<f8",
    "(2,2)<i4",
    "|V99999999999",
    "<c16",
    "",
    "<U3",
    "|b1",
)
_COUNTS = (0, 1, -1, 1 << 31, 1 << 40, 1 << 63, -(1 << 63), 10**30)
_HEADERS = (
    b"{}",
    b"[]",
    b"null",
    b"[" * 5_000,
    b'{"facts":{},"arrays":[]}',
    b'{"facts":1,"arrays":{"first":[1]}}',
    b"\xff",
    b'{"arrays":{}}',
)
_PATHS = (b"/etc/passwd", b"../secret", b"\0", b"\xff", b"a//b", b"./a")
_CODE = "def total(cart):\n    return 1\n"


@dataclass(slots=True)
class _File:
    """A file of arrays, taken apart."""

    header: dict[str, Any]
    body: bytearray
    raw: bytes | None = None  # a header that is none
    cut: int | None = None

    @classmethod
    def of(cls, path: Path) -> _File:
        data = path.read_bytes()
        length = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 8], "little")
        at = len(MAGIC) + 8
        return cls(json.loads(data[at : at + length]), bytearray(data[-(-(at + length) // ALIGN) * ALIGN :]))

    def copy(self) -> _File:
        arrays = {name: list(entry) for name, entry in self.header["arrays"].items()}
        return _File({"facts": dict(self.header["facts"]), "arrays": arrays}, bytearray(self.body))

    def bytes(self) -> bytes:
        text = self.raw if self.raw is not None else json.dumps(self.header).encode()
        head = MAGIC + len(text).to_bytes(8, "little") + text
        return (head + b"\0" * (-len(head) % ALIGN) + self.body)[: self.cut]


def _changed(file: _File, data: bytes) -> None:
    """Make the changes that an input asks for."""
    for at in range(0, len(data) - _CHANGE + 1, _CHANGE):
        op, which, high, low, value = data[at : at + _CHANGE]
        names = list(file.header["arrays"])
        if names:
            _CHANGES[op % len(_CHANGES)](file, names[which % len(names)], high << 8 | low, value)


def _value(file: _File, name: str, at: int, value: int) -> None:
    """Another number at a place of an array."""
    kind, count, offset = file.header["arrays"][name]
    with suppress(ValueError, TypeError, OverflowError, SyntaxError):
        array = np.frombuffer(file.body, kind, count, offset)  # of a bytearray: it can be written to
        if len(array) and array.dtype.kind in "iuf":
            place, high = at % len(array), (1 << 8 * array.itemsize) - 1 if array.dtype.kind != "f" else 1 << 60
            old = array[place].item()
            choices = (0, 1, high, high >> 1, len(array), len(array) - 1, float("nan"), float("inf"), -1, value)
            new = choices[value % len(choices)] if value & 0x80 else old + value % 64 - 32
            with np.errstate(invalid="ignore", over="ignore"):
                array[place : place + 1].view(f"V{array.itemsize}")[0] = np.array([new]).astype(array.dtype, casting="unsafe").tobytes()


def _type(file: _File, name: str, _: int, value: int) -> None:
    file.header["arrays"][name][0] = _TYPES[value % len(_TYPES)]


def _count(file: _File, name: str, at: int, value: int) -> None:
    entry = file.header["arrays"][name]
    entry[1] = _COUNTS[at % len(_COUNTS)] if value & 0x80 or not isinstance(entry[1], int) else entry[1] + value % 16 - 8


def _offset(file: _File, name: str, at: int, value: int) -> None:
    entry = file.header["arrays"][name]
    entry[2] = _COUNTS[at % len(_COUNTS)] if value & 0x80 or not isinstance(entry[2], int) else entry[2] + value % 128 - 64


def _gone(file: _File, name: str, at: int, value: int) -> None:
    entry = file.header["arrays"].pop(name)
    if value & 1 and file.header["arrays"]:
        file.header["arrays"][list(file.header["arrays"])[at % len(file.header["arrays"])]] = entry


def _short(file: _File, _: str, at: int, __: int) -> None:
    file.cut = at


def _byte(file: _File, _: str, at: int, value: int) -> None:
    if file.body:
        file.body[at % len(file.body)] ^= value | 1


def _fact(file: _File, _: str, at: int, value: int) -> None:
    choices: tuple[Any, ...] = (0, -1, 1 << 40, "256", None, [], 1e308, value)
    for fact in list(file.header["facts"]) or ["width"]:
        file.header["facts"][fact] = choices[at % len(choices)]


def _header(file: _File, _: str, __: int, value: int) -> None:
    file.raw = _HEADERS[value % len(_HEADERS)]


def _path(file: _File, _: str, at: int, value: int) -> None:
    """Another text in the middle of a table of strings: a path that leads elsewhere."""
    entry = file.header["arrays"].get("files.path.blob" if value & 1 else "names.blob")
    if entry is not None and isinstance(entry[2], int) and 0 <= entry[2] < len(file.body):
        text = _PATHS[value % len(_PATHS)]
        start = entry[2] + at % 16
        file.body[start : start + len(text)] = text


_CHANGES: tuple[Callable[[_File, str, int, int], None], ...] = (
    _value, _value, _value, _value, _value, _value, _type, _count, _offset, _gone, _short, _byte, _fact, _header, _path,
)  # fmt: skip


def files(place: Path) -> Try:
    """A segment, its vectors and a graph, one of them changed."""
    root = place / "root"
    for name, text in {**FILES, "shop/total.py": _CODE}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    index = Index.open(root, command_line={"index.workers": "1"})
    index.open_graph()
    paths = [next(index.layout.segments.glob(f"*{ending}")) for ending in ("segment", "vectors", "graph")]
    whole = [_File.of(path) for path in paths]
    hostile = [place / path.name for path in paths]
    for path, file in zip(hostile, whole, strict=True):
        path.write_bytes(file.bytes())
    _used(index, *hostile)  # as they are, they must pass: else nothing would be tried

    def tried(data: bytes) -> None:
        which = data[0] % 3 if data else 0
        file = whole[which].copy()
        _changed(file, data[1:])
        before = hostile[which].read_bytes()
        try:
            hostile[which].unlink()  # what is still mapped must not change
            hostile[which].write_bytes(file.bytes())
            _used(index, *hostile)
        finally:
            hostile[which].unlink()
            hostile[which].write_bytes(before)

    return tried


def _used(index: Index, segment_path: Path, vector_path: Path, graph_path: Path) -> None:
    """Take in an index from elsewhere, and do with it whatever is done with one."""
    segment_stamp, vector_stamp, graph_stamp = (
        stamp_of(path, zlib.crc32(path.read_bytes())) for path in (segment_path, vector_path, graph_path)
    )
    segment = open_segment(segment_path, segment_stamp)
    check_segment(segment)
    vectors = open_vectors(vector_path, vector_stamp)
    check_vectors(vectors, ArrayFile(vector_path, vector_stamp), segment.units)
    graph = ArrayFile(graph_path, graph_stamp)
    check_graph(graph, segment.units)
    snapshot = Snapshot([segment], [dead_mask(segment.files, [])])
    snapshot.set_vectors({0: vectors})
    made = {"graph": Graph(graph, snapshot.symbols)}
    index.writer._reader = replace(index.reader, snapshot=snapshot, _computed=made)  # noqa: SLF001  -- as if they were its own
    _asked(index, segment_stamp.checksum ^ graph_stamp.checksum)
    merge([(segment, np.arange(segment.files) % 2 == 0)])


def _asked(index: Index, number: int) -> None:
    """One question of several: which, the files tell, so that the same input asks the same."""
    questions: tuple[Callable[[], Any], ...] = (
        lambda: index.search("how is the total of a cart made", k=3),
        lambda: index.search("callers:total path:shop"),
        lambda: index.search("discount", content="all"),
        lambda: index.context("charge the total of the cart", budget=400).text,
        lambda: index.related("shop/cart.py", 5, k=2),
        lambda: index.questions().impact(index.questions().resolve_one("discount")),
    )
    with suppress(WhenceError):
        questions[number % len(questions)]()
