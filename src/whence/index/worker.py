"""Read and parse a batch of files into a segment: in this process, or in one of several.

As a process of its own (`python -m whence.index.worker`) it takes one batch per
line on standard input and answers with one line: plain JSON both ways, so that it
works whatever program imported whence, and nothing is ever unpickled.
"""

from __future__ import annotations

import gc
import json
import os
import stat
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from whence.encode.passages import passages
from whence.encode.registry import NONE, open_encoder
from whence.index.arrayfile import Stamp, write_arrays
from whence.index.changes import content_hash
from whence.index.digest import Digest
from whence.index.store import Record, pack_parsed
from whence.index.vectors import PassageRows
from whence.parse.grammars import keep_grammars_in
from whence.parse.languages import language_of
from whence.parse.units import parse
from whence.source.decode import SNIFFED, longest_line, to_utf8
from whence.source.walk import State

#: The beginning of a file, in which its language shows.
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
    model: str = NONE  # whose vectors are made on the way


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a batch: a record per file, and the segment's stamp (None when no file was fit)."""

    records: list[Record]
    stamp: Stamp | None
    bytes: int
    vectors: Stamp | None = None


def vectors_beside(segment: str) -> Path:
    """The vector file that is written beside a segment."""
    return Path(segment + ".vectors")


def run_batch(batch: Batch) -> Outcome:
    """Read, parse and digest every file of a batch; write the segment."""
    collecting = gc.isenabled()
    gc.disable()  # a batch makes many small values and no cycles to look for
    try:
        return _run_batch(batch)
    finally:
        if collecting:
            gc.enable()


def _run_batch(batch: Batch) -> Outcome:
    keep_grammars_in(Path(batch.grammars))
    digest, encoder = Digest(), open_encoder(batch.model)
    meaning = PassageRows(encoder) if encoder else None
    records: list[Record] = []
    total = rows = units = 0
    for path in batch.paths:
        record, text = _read(batch, path)
        if text is not None:
            language = language_of(path, text[:HEAD]).name
            parsed = parse(text, language)
            digest.add(path, text, parsed)
            if meaning is not None:
                meaning.add(passages(path, text, parsed), units)
            units += len(parsed.units) or 1
            record = Record(path, record.state, record.hash, language, "", rows, pack_parsed(parsed))
            rows, total = rows + 1, total + len(text)
        records.append(record)
    stamp = write_arrays(Path(batch.out), digest.arrays(), {}) if rows else None
    vectors = write_arrays(vectors_beside(batch.out), meaning.arrays(), {"width": meaning.width}) if rows and meaning else None
    return Outcome(records, stamp, total, vectors)


def _read(batch: Batch, path: str) -> tuple[Record, bytes | None]:
    """One file as text, or a record of why not. Links and special files are refused at opening."""
    full = f"{batch.root}/{path}"
    try:
        handle = open_plainly(full)
    except OSError as error:
        return Record(path, last_state(full, batch.now_ns), b"", reason=f"cannot be read: {error.strerror}"), None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        state = State(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, batch.now_ns)
        if not stat.S_ISREG(found.st_mode):
            return Record(path, state, b"", reason="not a regular file"), None
        try:
            raw = file.read(min(found.st_size, batch.max_file_bytes) + 1)
        except OSError as error:
            return Record(path, state, b"", reason=f"cannot be read: {error.strerror}"), None
    digest = content_hash(raw)
    reason, text = _fit(raw, batch)
    return Record(path, state, digest, reason=reason), text


def open_plainly(full: str) -> int:
    """A handle of a file that is no link, without waiting where it is a pipe."""
    return os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def last_state(full: str, now_ns: int) -> State:
    """What can be known of a file that cannot be opened: it is tried again when this changes."""
    try:
        found = os.lstat(full)
    except OSError:
        return State(-1, -1, -1, -1, 0)
    return State(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, now_ns)


def _fit(raw: bytes, batch: Batch) -> tuple[str, bytes | None]:
    if len(raw) > batch.max_file_bytes:
        return f"larger than {batch.max_file_bytes} bytes", None
    text = to_utf8(raw)
    if text is None:
        return f"binary (a NUL byte in its first {SNIFFED} bytes)", None
    if not text.strip():
        return "empty", None
    if longest_line(text) > batch.max_line_bytes:
        return f"generated or minified (a line longer than {batch.max_line_bytes} bytes)", None
    return "", text.replace(b"\0", b" ")  # no grammar expects one


def outcome_to_json(outcome: Outcome, blobs: Path) -> dict[str, Any]:
    """An outcome for the pipe; what was parsed goes to a file of its own."""
    with blobs.open("wb") as file:
        for record in outcome.records:
            file.write(record.parsed)
    records = [(r.path, r.state._asdict(), r.hash.hex(), r.language, r.reason, r.row, len(r.parsed)) for r in outcome.records]
    stamps = {name: asdict(stamp) if stamp else None for name, stamp in (("stamp", outcome.stamp), ("vectors", outcome.vectors))}
    return {"records": records, "bytes": outcome.bytes, **stamps}


def outcome_from_json(found: dict[str, Any], blobs: Path) -> Outcome:
    """The reverse of `outcome_to_json`; the file of what was parsed is used up."""
    data = blobs.read_bytes()
    blobs.unlink()
    records, at = [], 0
    for path, state, hashed, language, reason, row, size in found["records"]:
        records.append(Record(path, State(**state), bytes.fromhex(hashed), language, reason, row, data[at : at + size]))
        at += size
    stamp, vectors = (Stamp(**found[name]) if found[name] else None for name in ("stamp", "vectors"))
    return Outcome(records, stamp, found["bytes"], vectors)


def main() -> None:
    """Serve batches until the input ends."""
    for line in sys.stdin:
        batch = Batch(**json.loads(line))
        try:
            answer = outcome_to_json(run_batch(batch), Path(batch.out + ".units"))
        except OSError as error:  # no space left, say: not the fault of any file
            answer = {"error": f"{error.filename or batch.out}: {error.strerror}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
