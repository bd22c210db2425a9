"""Rows of the engine: their keys, how they are built, and how a caller reads them back.

Keys are derived from content, so writes are idempotent: whatever two workers do at the same time, no row is missing or
doubled. Blobs are base64 in fields of bounded length; longer ones continue in further rows (`part` of `parts`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whence.core.errors import IndexDamaged
from whence.fleet.engine import MAX_NAME, SKETCH_BITS, Engine, Row, equals
from whence.fleet.file_blobs import Arrays, FileBlob, decode_blob, encode_blob
from whence.fleet.registry import OPERATOR, Caller, may_see, visible_rows
from whence.index.history import load_commits
from whence.index.segment import CONTENTS, KIND_NAMES
from whence.index.snapshot import Snapshot
from whence.storage.arrayfile import StringTable

#: Characters of a blob in one row.
MAX_PART = 64_000
#: Limits of text fields in bytes, and of the list of files that a commit touched.
MAX_WORDS, MAX_PATH, MAX_TOUCHED = 65_000, 4_096, 60_000
#: Longest text that is decompressed: others may have written to the engine.
MAX_TEXT = 64 << 20
_HEAD = struct.Struct("<I")
_PART_FIELDS = ("file", "repo", "groups", "part", "parts", "blob")


def file_key(repository: str, path: str) -> str:
    """The key of a file."""
    return _digest("file", repository, path)


def bucket_key(scope: str, bucket: int) -> str:
    """The key of a bucket of term counts: of a repository, of a group (`@name`), or of all (`*`)."""
    return _digest("bucket", scope, str(bucket))


def part_key(key: str, part: int) -> str:
    """The key of one part of a blob."""
    return f"{key}.{part}"


def _digest(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.blake2s(text, digest_size=16).hexdigest()


def split_blob(raw: bytes) -> list[str]:
    """Bytes as base64 in parts that fit into a row each; at least one."""
    text = base64.b64encode(raw).decode("ascii")
    return [text[at : at + MAX_PART] for at in range(0, len(text), MAX_PART)] or [""]


def join_blob(parts: Sequence[str]) -> bytes:
    """The bytes of all parts."""
    try:
        return binascii.a2b_base64("".join(parts), strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise IndexDamaged("a row of the fleet cannot be read") from error


def encode_text(text: str, parsed: bytes) -> bytes:
    """A file's text (secrets removed) and its parsed units as bytes."""
    raw = text.encode("utf-8", "replace")
    return zlib.compress(_HEAD.pack(len(raw)) + raw + parsed, 6)


def decode_text(raw: bytes) -> tuple[str, bytes]:
    """The text and the parsed units."""
    try:
        data = zlib.decompressobj().decompress(raw, MAX_TEXT)
        (length,) = _HEAD.unpack_from(data)
        (text,) = struct.unpack_from(f"{length}s", data, _HEAD.size)
        return text.decode("utf-8"), data[_HEAD.size + length :]
    except (zlib.error, struct.error, ValueError) as error:
        raise IndexDamaged("a text of the fleet cannot be read") from error


def truncate(text: str, limit: int) -> str:
    """Text as the engine accepts it: valid Unicode of at most `limit` bytes, cut between words."""
    raw = text.encode("utf-8", "backslashreplace")
    if len(raw) <= limit:
        return raw.decode()
    cut = raw[:limit].decode("utf-8", "ignore")
    return cut.rpartition(" ")[0] or cut


def same_groups(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two lists name the same groups."""
    return sorted(one) == sorted(other)


@dataclass(frozen=True, slots=True)
class Owner:
    """The repository of rows, and the groups that may see them."""

    repository: str
    groups: tuple[str, ...]

    def row(self, key: str, **fields: Any) -> Row:
        """A row of this repository."""
        return {"id": key, "repo": self.repository, "groups": list(self.groups), **fields}

    def part_rows(self, key: str, raw: bytes, **fields: Any) -> list[Row]:
        """The rows of a blob."""
        parts = split_blob(raw)
        return [self.row(part_key(key, part), part=part, parts=len(parts), blob=blob, **fields) for part, blob in enumerate(parts)]

    def file_key(self, path: str) -> str:
        """The key of one of its files."""
        return file_key(self.repository, path)

    def archive_key(self) -> str:
        """The key of its index archive."""
        return _digest("pack", self.repository)


def blob_state(blob: FileBlob, content: bytes, fingerprint: str) -> str:
    """A digest that changes when a file must be sent again.

    It covers the file's content, what it was indexed with, and its columns that depend on other files and on history.
    Those move with every commit, so they count only when they double or halve; else every commit would send every file.
    """
    arrays = blob.arrays
    around = [np.round(np.log2(1.0 + arrays[name].astype(np.float64))) for name in ("files.centrality", "stem.seen", "directory.seen")]
    recent = np.round(np.log2(np.maximum(arrays["files.recency"].astype(np.float64), 1 / 16)))
    columns = (*around, recent, arrays["files.outdated"].astype(np.float64))
    rest = b"".join(np.asarray(one, np.int8).tobytes() + b"." for one in columns)
    digest = hashlib.blake2s(fingerprint.encode() + b"\0" + rest, digest_size=8).hexdigest()
    return f"{content.hex()}.{digest}"


def file_rows(owner: Owner, blob: FileBlob, state: str) -> list[Row]:
    """The rows of a file's blob; the first also has the words of its path."""
    key, path, content = owner.file_key(blob.path), truncate(blob.path, MAX_PATH), CONTENTS[blob.content]
    fields = {"file": key, "path": path, "hash": state, "language": blob.language, "content": content, "words": ""}
    rows = owner.part_rows(key, encode_blob(blob.arrays), **fields)
    rows[0]["words"] = truncate(blob.path_words, MAX_WORDS)
    return rows


def text_rows(owner: Owner, blob: FileBlob, text: str) -> list[Row]:
    """The rows of a file's text."""
    key = owner.file_key(blob.path)
    return owner.part_rows(key, encode_text(text, blob.parsed), file=key)


def unit_rows(owner: Owner, blob: FileBlob) -> Iterator[Row]:
    """One row per unit."""
    key, arrays = owner.file_key(blob.path), blob.arrays
    names = StringTable(np.ascontiguousarray(arrays["units.name.blob"]), arrays["units.name.ends"])
    for number, (words, kind) in enumerate(zip(blob.unit_words, arrays["units.kind"].tolist(), strict=True)):
        yield owner.row(
            f"{key}.u{number}",
            file=key,
            number=number,
            name=truncate(names[number], MAX_NAME),
            kind=KIND_NAMES[kind],
            language=blob.language,
            content=CONTENTS[blob.content],
            words=truncate(words, MAX_WORDS),
        )


def passage_rows(owner: Owner, blob: FileBlob) -> Iterator[Row]:
    """One row per passage, with the sign bits of the first dimensions of its vector."""
    key, count = owner.file_key(blob.path), passage_count(blob)
    if not count:
        return
    signs = blob.arrays["passages.rows"].reshape(count, -1)[:, :SKETCH_BITS] > 0
    signs = np.pad(signs, ((0, 0), (0, SKETCH_BITS - signs.shape[1])))
    for number, bits in enumerate(np.packbits(signs, axis=1)):
        yield owner.row(f"{key}.p{number}", file=key, sketch=bits.tobytes())


def passage_count(blob: FileBlob) -> int:
    """How many passages a file has."""
    return len(blob.arrays["passages.first"])


def commit_rows(owner: Owner, snapshot: Snapshot) -> Iterator[Row]:
    """One row per commit: the words of its message and the files that it changed. Its key is derived from both and its time."""
    if snapshot.commits is None:
        return
    seen: Counter[str] = Counter()
    for time, terms, paths in load_commits(snapshot.commits).listed():
        words = truncate(" ".join(terms), MAX_WORDS)
        while len(touched := json.dumps(paths)) > MAX_TOUCHED:
            paths.pop()
        digest = hashlib.blake2s(f"{time}\n{words}\n{touched}".encode(), digest_size=16).hexdigest()
        seen[digest] += 1
        key = _digest("commit", owner.repository, f"{digest} {seen[digest]}")
        yield owner.row(key, words=words, touched=touched, terms=len(terms))


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file's blob, fetched from the engine."""

    key: str
    repository: str
    path: str
    blob: Arrays


def fetch_blobs(engine: Engine, caller: Caller, keys: Iterable[str], repositories: frozenset[str]) -> list[FetchedFile]:
    """The blobs of files by their keys, of those repositories and as far as the caller may see them."""
    found = _fetch_parts(engine, "files", keys, lambda row: may_see(caller, row) and row["repo"] in repositories, ("path",))
    return [FetchedFile(key, row["repo"], row["path"], decode_blob(raw)) for key, (row, raw) in found.items()]


def fetch_texts(engine: Engine, caller: Caller, files: Mapping[str, str]) -> dict[str, tuple[str, bytes]]:
    """The text and parsed units of files, given as key and repository, as far as the caller may see them."""
    found = _fetch_parts(engine, "texts", files, lambda row: may_see(caller, row) and files.get(row["file"]) == row["repo"])
    return {key: decode_text(raw) for key, (_, raw) in found.items()}


def _fetch_parts(
    engine: Engine, name: str, keys: Iterable[str], is_visible: Callable[[Row], bool], fields: Sequence[str] = ()
) -> dict[str, tuple[Row, bytes]]:
    """The first row and the whole blob of each file; files that a worker is just replacing are left out."""
    wanted = (*_PART_FIELDS, *fields)
    first = [row for row in engine.get(name, [part_key(key, 0) for key in keys], wanted) if is_visible(row)]
    parts: dict[str, list[str]] = {row["file"]: [row["blob"]] for row in first}
    more = [part_key(row["file"], part) for row in first for part in range(1, int(row["parts"]))]
    for row in engine.get(name, more, wanted):
        if is_visible(row) and row["file"] in parts:
            parts[row["file"]].append(row["blob"])
    return {row["file"]: (row, join_blob(parts[row["file"]])) for row in first if len(parts[row["file"]]) == int(row["parts"])}


@dataclass(frozen=True, slots=True)
class FleetArchive:
    """A repository's index archive in the engine."""

    commit: str
    digest: str
    parts: int


def archive_info(engine: Engine, repository: str, caller: Caller = OPERATOR) -> FleetArchive | None:
    """The archive of a repository, without its bytes."""
    return complete_archive(_archive_rows(engine, repository, caller))


def fetch_archive(engine: Engine, repository: str, caller: Caller = OPERATOR) -> tuple[FleetArchive, bytes] | None:
    """The archive of a repository; None where the caller may see none, or a worker is just replacing it."""
    rows = _archive_rows(engine, repository, caller, "blob")
    archive = complete_archive(rows)
    return None if archive is None else (archive, join_blob([row["blob"] for row in sorted(rows, key=lambda row: int(row["part"]))]))


def _archive_rows(engine: Engine, repository: str, caller: Caller, *more: str) -> list[Row]:
    fields = ("repo", "groups", "part", "parts", "commit", "digest", *more)
    rows = engine.rows("packs", visible_rows(caller) & equals("repo", repository), fields)
    return [row for row in rows if may_see(caller, row) and row["repo"] == repository]


def complete_archive(rows: Sequence[Row]) -> FleetArchive | None:
    """The archive that some rows hold, if they are exactly its parts."""
    kinds = {FleetArchive(row["commit"], row["digest"], row["parts"]) for row in rows}
    one = next(iter(kinds), None)
    return one if one is not None and len(kinds) == 1 and sorted(row["part"] for row in rows) == list(range(one.parts)) else None
