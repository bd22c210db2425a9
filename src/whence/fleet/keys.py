"""What rows of the engine are called, and bytes as the text that they hold.

Keys follow from what they are of, so that writing a row twice is writing it once: whatever two workers do at the same
time, nothing is missing and nothing is doubled.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence

from whence.errors import IndexDamaged

#: Letters of one field of a row; what is longer is kept in several rows.
MOST_LETTERS = 64_000


def file_key(repository: str, path: str) -> str:
    """The key of a file."""
    return _digest("file", repository, path)


def commit_key(repository: str, commit: str) -> str:
    """The key of a commit."""
    return _digest("commit", repository, commit)


def bucket_key(scope: str, bucket: int) -> str:
    """The key of a bucket of counts: of a repository, of a group (`@name`), or of everything (`*`)."""
    return _digest("bucket", scope, str(bucket))


def pack_key(repository: str) -> str:
    """The key of a repository's portable index."""
    return _digest("pack", repository)


def part_key(key: str, part: int) -> str:
    """The key of one of several rows that are one thing."""
    return f"{key}.{part}"


def in_parts(raw: bytes) -> list[str]:
    """Bytes as text of bounded length; at least one part."""
    text = base64.b64encode(raw).decode("ascii")
    return [text[at : at + MOST_LETTERS] for at in range(0, len(text), MOST_LETTERS)] or [""]


def from_parts(parts: Sequence[str]) -> bytes:
    """The bytes again."""
    try:
        return binascii.a2b_base64("".join(parts), strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise IndexDamaged("a row of the fleet cannot be read") from error


def _digest(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.blake2s(text, digest_size=16).hexdigest()
