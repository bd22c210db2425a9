"""What rows of the engine are called, and bytes as the text that they hold.

Keys follow from what they are of, so that writing a row twice is writing it once: whatever two workers do at the same
time, nothing is missing and nothing is doubled.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whence.core.errors import IndexDamaged
from whence.fleet.file_blobs import FileBlob, encode_blob
from whence.fleet.milvus.schemas import MAX_NAME, SKETCH_BITS
from whence.index.segment_writer import CONTENTS, KIND_NAMES
from whence.storage.arrayfile import StringTable

#: Letters of one field of a row; what is longer is kept in several rows.
MAX_PART = 64_000


def file_key(repository: str, path: str) -> str:
    """The key of a file."""
    return _digest("file", repository, path)


def commit_key(repository: str, commit: str) -> str:
    """The key of a commit."""
    return _digest("commit", repository, commit)


def bucket_key(scope: str, bucket: int) -> str:
    """The key of a bucket of counts: of a repository, of a group (`@name`), or of everything (`*`)."""
    return _digest("bucket", scope, str(bucket))


def archive_key(repository: str) -> str:
    """The key of a repository's portable index."""
    return _digest("pack", repository)


def part_key(key: str, part: int) -> str:
    """The key of one of several rows that are one thing."""
    return f"{key}.{part}"


def split_blob(raw: bytes) -> list[str]:
    """Bytes as text of bounded length; at least one part."""
    text = base64.b64encode(raw).decode("ascii")
    return [text[at : at + MAX_PART] for at in range(0, len(text), MAX_PART)] or [""]


def join_blob(parts: Sequence[str]) -> bytes:
    """The bytes again."""
    try:
        return binascii.a2b_base64("".join(parts), strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise IndexDamaged("a row of the fleet cannot be read") from error


def _digest(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.blake2s(text, digest_size=16).hexdigest()


_HEAD = struct.Struct("<I")
#: Of what is read, no text is larger: an engine may be written to by others.
MAX_TEXT = 64 << 20


def encode_text(text: str, parsed: bytes) -> bytes:
    """A text without its secrets, and its units as they were parsed, as bytes."""
    raw = text.encode("utf-8", "replace")
    return zlib.compress(_HEAD.pack(len(raw)) + raw + parsed, 6)


def decode_text(raw: bytes) -> tuple[str, bytes]:
    """The text and what was parsed of it."""
    try:
        data = zlib.decompressobj().decompress(raw, MAX_TEXT)
        (length,) = _HEAD.unpack_from(data)
        (text,) = struct.unpack_from(f"{length}s", data, _HEAD.size)
        return text.decode("utf-8"), data[_HEAD.size + length :]
    except (zlib.error, struct.error, ValueError) as error:
        raise IndexDamaged("a text of the fleet cannot be read") from error


Row = dict[str, Any]
#: Bytes of fields at most; engines count bytes.
MAX_WORDS, MAX_PATH = 65_000, 4_096


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose rows they are, and who may see them."""

    repository: str
    groups: tuple[str, ...]

    def row(self, key: str, **fields: Any) -> Row:
        """A row of this repository."""
        return {"id": key, "repo": self.repository, "groups": list(self.groups), **fields}

    def file_key(self, path: str) -> str:
        """The key of one of its files."""
        return file_key(self.repository, path)


def blob_state(piece: FileBlob, content: bytes, fingerprint: str) -> str:
    """What decides whether a file is sent again: its content, what it was made with, and roughly how it stands among the others.

    How often others mention it and how lately it was changed move with every commit: of that only what is twice as much,
    or half, is news. Else every commit would send every file.
    """
    arrays = piece.arrays
    around = [np.round(np.log2(1.0 + arrays[name].astype(np.float64))) for name in ("files.centrality", "stem.seen", "directory.seen")]
    recent = np.round(np.log2(np.maximum(arrays["files.recency"].astype(np.float64), 1 / 16)))
    columns = (*around, recent, arrays["files.outdated"].astype(np.float64))
    rest = b"".join(np.asarray(one, np.int8).tobytes() + b"." for one in columns)
    digest = hashlib.blake2s(fingerprint.encode() + b"\0" + rest, digest_size=8).hexdigest()
    return f"{content.hex()}.{digest}"


def file_rows(owner: Owner, piece: FileBlob, state: str) -> list[Row]:
    """The rows of a file: its piece, and in the first the words of its path."""
    key, blobs = owner.file_key(piece.path), split_blob(encode_blob(piece.arrays))
    return [
        owner.row(
            part_key(key, part),
            file=key,
            part=part,
            parts=len(blobs),
            path=truncate(piece.path, MAX_PATH),
            hash=state,
            language=piece.language,
            content=CONTENTS[piece.content],
            words="" if part else truncate(piece.path_words, MAX_WORDS),
            blob=blob,
        )
        for part, blob in enumerate(blobs)
    ]


def text_rows(owner: Owner, piece: FileBlob, text: str) -> list[Row]:
    """The rows of a file's text."""
    key, blobs = owner.file_key(piece.path), split_blob(encode_text(text, piece.parsed))
    return [owner.row(part_key(key, part), file=key, part=part, parts=len(blobs), blob=blob) for part, blob in enumerate(blobs)]


def unit_rows(owner: Owner, piece: FileBlob) -> Iterator[Row]:
    """One row for each unit."""
    key, arrays = owner.file_key(piece.path), piece.arrays
    names = StringTable(np.ascontiguousarray(arrays["units.name.blob"]), arrays["units.name.ends"])
    for number, (words, kind) in enumerate(zip(piece.unit_words, arrays["units.kind"].tolist(), strict=True)):
        yield owner.row(
            unit_key(key, number),
            file=key,
            number=number,
            name=truncate(names[number], MAX_NAME),
            kind=KIND_NAMES[kind],
            language=piece.language,
            content=CONTENTS[piece.content],
            words=truncate(words, MAX_WORDS),
        )


def passage_rows(owner: Owner, piece: FileBlob) -> Iterator[Row]:
    """One row for each passage: the signs of its vector, of a wide one those of its first numbers."""
    key, count = owner.file_key(piece.path), passage_count(piece)
    if not count:
        return
    signs = piece.arrays["passages.rows"].reshape(count, -1)[:, :SKETCH_BITS] > 0
    signs = np.pad(signs, ((0, 0), (0, SKETCH_BITS - signs.shape[1])))
    for number, bits in enumerate(np.packbits(signs, axis=1)):
        yield owner.row(passage_key(key, number), file=key, sketch=bits.tobytes())


def passage_count(piece: FileBlob) -> int:
    """How many passages a piece has."""
    return len(piece.arrays["passages.first"])


def unit_key(file: str, number: int) -> str:
    """The key of a unit."""
    return f"{file}.u{number}"


def passage_key(file: str, number: int) -> str:
    """The key of a passage."""
    return f"{file}.p{number}"


def passage_number(key: str) -> int:
    """Which of its file's passages a key is of."""
    return int(key.rpartition(".p")[2])


def truncate(text: str, most: int) -> str:
    """Text as an engine takes it: Unicode, and no more bytes than its field has. Words are not cut in two."""
    raw = text.encode("utf-8", "backslashreplace")
    if len(raw) <= most:
        return raw.decode()
    cut = raw[:most].decode("utf-8", "ignore")
    return cut.rpartition(" ")[0] or cut


def same_groups(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two lists of groups mean the same."""
    return sorted(one) == sorted(other)
