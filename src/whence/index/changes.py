"""Whether a file that looks changed is changed: told by its content, not by its time stamp (I3)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from whence.index.store import Store


def content_hash(raw: bytes) -> bytes:
    """What stands for a file's content."""
    return hashlib.blake2b(raw, digest_size=16).digest()


def split_changed(store: Store, root: Path, paths: Sequence[str], limit: int) -> tuple[list[str], list[str]]:
    """Files whose content differs from what is indexed, and those of which only the time stamp moved."""
    known = store.hashes(paths) if paths else {}
    changed: list[str] = []
    touched: list[str] = []
    for path in paths:
        same = bool(known.get(path)) and known[path] == _hash_of(f"{root}/{path}", limit)
        (touched if same else changed).append(path)
    return changed, touched


def _hash_of(path: str, limit: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return content_hash(file.read(limit + 1))
    except OSError:
        return b"unreadable"
