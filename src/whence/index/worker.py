"""Reads and parses a batch of files into a segment: in this process, or in one of several.

As its own process (`python -m whence.index.worker`) it reads one batch per line from standard input and answers with one line.
Both are JSON: that works in whatever program imported whence, and nothing is ever unpickled.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import stat
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from whence.core.errors import StorageError
from whence.embed.encoder import NONE, open_encoder
from whence.embed.passages import cut_passages
from whence.index.segment_writer import SegmentWriter
from whence.index.store import FileRecord
from whence.index.vectors import PassageRows
from whence.parse.grammars import keep_grammars_in
from whence.parse.languages import language_of
from whence.parse.units import parse
from whence.source.read import SNIFFED, content_hash, decode, longest_line, mask_secrets, open_inside, read_limit, read_prefix
from whence.source.walk import FileState
from whence.storage.arrayfile import Stamp, write_arrays

#: The beginning of a file, which tells its language.
HEAD = 4_096


@dataclass(frozen=True, slots=True)
class Batch:
    """Files to read, and where the segment goes."""

    root: str
    paths: list[str]
    out: str
    grammars: str
    max_file_bytes: int
    max_line_bytes: int
    now_ns: int
    model: str = NONE  # makes the vectors, too


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch: a record per file, and the stamp of the segment (None if no file was usable)."""

    records: list[FileRecord]
    stamp: Stamp | None
    bytes: int
    vectors: Stamp | None = None


def vectors_path(segment: str) -> Path:
    """The vector file next to a segment."""
    return Path(segment + ".vectors")


def run_batch(batch: Batch, at: Callable[[int], None] = lambda _: None) -> BatchResult:
    """Parse the files of a batch and write the segment. `at` is called with the number of each file, and with their count at the end."""
    collecting = gc.isenabled()
    gc.disable()  # a batch makes many small values and no cycles
    try:
        return _run_batch(batch, at)
    finally:
        if collecting:
            gc.enable()


def _run_batch(batch: Batch, at: Callable[[int], None]) -> BatchResult:
    keep_grammars_in(Path(batch.grammars))
    digest, encoder = SegmentWriter(), open_encoder(batch.model)
    passages = PassageRows(encoder) if encoder else None
    records: list[FileRecord] = []
    total = rows = units = 0
    for number, path in enumerate(batch.paths):
        at(number)
        record, text = _read(batch, path)
        if text is not None:
            language = language_of(path, text[:HEAD]).name
            parsed = parse(text, language)
            digest.add(path, text, parsed)
            if passages is not None:
                passages.add(cut_passages(path, text, parsed), units)
            units += len(parsed.units) or 1
            record = FileRecord(path, record.state, record.hash, language, "", rows, record.has_secret)
            rows, total = rows + 1, total + len(text)
        records.append(record)
    at(len(batch.paths))
    stamp = write_arrays(Path(batch.out), digest.arrays(), {}) if rows else None
    vectors = write_arrays(vectors_path(batch.out), passages.arrays(), {"width": passages.width}) if rows and passages else None
    return BatchResult(records, stamp, total, vectors)


def _read(batch: Batch, path: str) -> tuple[FileRecord, bytes | None]:
    """A file as text, or a record that says why not. Links and special files are refused."""
    full = f"{batch.root}/{path}"
    try:
        handle = open_inside(batch.root, path)
    except OSError as error:
        return FileRecord(path, state_of(full, batch.now_ns), b"", reason=f"cannot be read: {error.strerror}"), None
    found = os.fstat(handle)
    state = FileState(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, batch.now_ns)
    try:  # it may have been replaced
        raw = read_prefix(handle, min(found.st_size, read_limit(path, batch.max_file_bytes)) + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}" if stat.S_ISREG(found.st_mode) else "not a regular file"
        return FileRecord(path, state, b"", reason=reason), None
    digest = content_hash(raw)
    reason, text = _fit(raw, path, batch)
    masked = None if text is None else mask_secrets(text, path)
    return FileRecord(path, state, digest, reason=reason, has_secret=masked != text), masked


def state_of(full: str, now_ns: int) -> FileState:
    """The state of a file that cannot be opened: it is tried again when this changes."""
    try:
        found = os.lstat(full)
    except OSError:
        return FileState(-1, -1, -1, -1, 0)
    return FileState(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, now_ns)


def _fit(raw: bytes, path: str, batch: Batch) -> tuple[str, bytes | None]:
    limit = read_limit(path, batch.max_file_bytes)
    text = decode(raw, path) if len(raw) <= limit else b""
    if len(raw) > limit or (text is not None and len(raw) > batch.max_file_bytes < len(text)):
        return f"larger than {batch.max_file_bytes} bytes", None
    if text is None:
        return f"binary (a NUL byte in its first {SNIFFED} bytes)", None
    if not text.strip():
        return "empty", None
    if longest_line(text) > batch.max_line_bytes:
        return f"generated or minified (a line longer than {batch.max_line_bytes} bytes)", None
    return "", text.replace(b"\0", b" ")  # no grammar expects one


def result_to_json(result: BatchResult) -> dict[str, Any]:
    """A result for the pipe."""
    records = [(r.path, r.state._asdict(), r.hash.hex(), r.language, r.reason, r.row, r.has_secret) for r in result.records]
    stamps = {name: asdict(stamp) if stamp else None for name, stamp in (("stamp", result.stamp), ("vectors", result.vectors))}
    return {"records": records, "bytes": result.bytes, **stamps}


def result_from_json(found: dict[str, Any]) -> BatchResult:
    """The reverse of `result_to_json`."""
    records = [
        FileRecord(path, FileState(**state), bytes.fromhex(hashed), language, reason, row, hidden)
        for path, state, hashed, language, reason, row, hidden in found["records"]
    ]
    stamp, vectors = (Stamp(**found[name]) if found[name] else None for name in ("stamp", "vectors"))
    return BatchResult(records, stamp, found["bytes"], vectors)


def main() -> None:
    """Process batches until the input ends; answers with the number of each file, then with the result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one, after storing what is finished
    ours = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # a grammar may print something

    def say(value: object) -> None:
        ours.write(json.dumps(value) + "\n")
        ours.flush()

    for line in sys.stdin:
        batch = Batch(**json.loads(line))
        try:
            say(result_to_json(run_batch(batch, say)))
        except OSError as error:  # for instance no space left: no file's fault
            say({"error": f"{error.filename or batch.out}: {error.strerror}"})
        except StorageError as error:
            say({"error": error.message})


if __name__ == "__main__":
    main()
