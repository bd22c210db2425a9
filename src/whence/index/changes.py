"""Whether a file has changed, by its content and not its time stamp (I3)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from whence.index.store import IndexStore
from whence.source.read import content_hash, open_inside, read_limit, read_prefix
from whence.source.walk import FileState

_SHA1_DIGITS = 40


def hash_committed_files(root: str | os.PathLike[str], paths: Iterable[str], blobs: Mapping[str, str], limit: int) -> dict[str, bytes]:
    """The files that are as in a commit, with the hashes of their content; `blobs` are git's own hashes."""
    found = {}
    for path in paths:
        try:
            raw = read_prefix(open_inside(root, path), read_limit(path, limit) + 1) if path in blobs else None
        except OSError:
            continue
        # Line ends may be others on disk than in the commit.
        if raw is not None and blobs[path] in (_blob(raw, blobs[path]), _blob(raw.replace(b"\r\n", b"\n"), blobs[path])):
            found[path] = content_hash(raw)
    return found


def update_committed(store: IndexStore, root: Path, head: str, changed: Sequence[str], limit: int) -> None:
    """Bring up to date what the files of the commit contain. git runs once per commit; files it did not change are not read again."""
    if store.meta().get("committed", "") == head:
        known = store.committed(changed)
        blobs = {path: blob for path, (blob, _) in known.items()}
    else:
        from whence.source.history import list_blobs  # noqa: PLC0415  -- starts a process; only where the commit has moved

        known, blobs = store.committed(), (list_blobs(root, head) if head else None) or {}
    live, new = store.indexed_paths(), set(changed)
    moved = {
        path: blob for path, blob in blobs.items() if path not in known or known[path][0] != blob or (path in new and not known[path][1])
    }
    seen = {path for path in moved if path in live or (path in known and known[path][1] is not None)}
    same = hash_committed_files(root, seen, moved, limit)
    with store.transaction():
        store.set_committed(
            {path: (blob, same.get(path, b"") if path in seen else None) for path, blob in moved.items()}, known.keys() - blobs
        )
        edited, added = store.count_uncommitted()
        store.set_meta(committed=head, edited=str(edited), new=str(added))


def _blob(raw: bytes, like: str) -> str:
    """Git's hash of some content: SHA-1 or SHA-256, like another one."""
    import hashlib  # noqa: PLC0415  -- for a pack only

    make = hashlib.sha1 if len(like) == _SHA1_DIGITS else hashlib.sha256
    return make(b"blob %d\0%b" % (len(raw), raw), usedforsecurity=False).hexdigest()


class DiskState(NamedTuple):
    """A file as it was read: its state, and the hash of its content."""

    state: FileState
    hash: bytes


def read_state(root: str | os.PathLike[str], path: str, limit: int, now_ns: int) -> DiskState | None:
    """The state and the hash of a file; None if it cannot be read."""
    try:
        handle = open_inside(root, path)
        found = os.fstat(handle)
        raw = read_prefix(handle, read_limit(path, limit) + 1)
    except OSError:
        return None
    return DiskState(FileState(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, now_ns), content_hash(raw))


def split_changed(store: IndexStore, root: Path, paths: Sequence[str], limit: int) -> tuple[list[str], list[str]]:
    """Files whose content differs from the index, and those with only a new time stamp."""
    known = store.hashes(paths) if paths else {}
    changed: list[str] = []
    touched: list[str] = []
    for path in paths:
        same = bool(known.get(path)) and known[path] == hash_file(root, path, limit)
        (touched if same else changed).append(path)
    return changed, touched


def hash_file(root: str | os.PathLike[str], path: str, limit: int) -> bytes:
    """The hash of a file's content; `unreadable`, which is no hash, if it cannot be read."""
    try:
        return content_hash(read_prefix(open_inside(root, path), read_limit(path, limit) + 1))
    except OSError:
        return b"unreadable"
