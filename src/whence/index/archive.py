"""An index in one file, to be built in one place and used in many (Z8).

A pack is a zip archive: a manifest, and segments and vectors of the files of one commit. It is keyed by that commit; the
manifest lists every file with a hash of its content, and every member with a hash of its own. What an index knows beside
(files that are not in the commit, or were there before) is in none of them: a segment that holds such is made anew.
Whoever takes a pack in reads it with `unpacking`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import zipfile
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from whence.core.errors import StorageError
from whence.core.settings_schema import IndexSettings
from whence.embed.registry import SHIPPED
from whence.index.layout import Layout
from whence.index.reuse import KnownFile, reusable_index
from whence.index.store import FORMAT, IndexStore, SegmentRow, VectorRow
from whence.index.worker import Batch, run_batch, vectors_path
from whence.storage.arrayfile import Stamp
from whence.storage.files import link_new

MANIFEST = "manifest.json"
ARCHIVE_FORMAT = 1
#: What a digest of a pack begins with, where people see it.
DIGEST = "blake2b:"
_CHUNK = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a pack says of itself."""

    commit: str
    settings: str
    version: str
    files: int
    digest: str


@dataclass(frozen=True, slots=True)
class _Packed:
    """A segment to pack: where it and its vectors lie, and the files in it."""

    segment: Path
    row: SegmentRow
    vectors: tuple[Path, VectorRow] | None
    files: list[tuple[str, KnownFile]]


def write_archive(
    store: IndexStore, layout: Layout, settings: IndexSettings, committed: Mapping[str, bytes], commit: str, file: Path
) -> Manifest:
    """Write what an index holds of a commit to a new file, which is there when it is whole; FileExistsError where one is.

    `committed` are the files that are as in the commit, with the hashes of their content: nothing of others is packed.
    """
    beside = file.with_name(f".{file.name}-{os.urandom(4).hex()}.part")
    try:
        with TemporaryDirectory(dir=layout.directory) as scratch, beside.open("xb") as into:
            packed = _to_pack(store, layout, settings, committed, Path(scratch))
            manifest = _write(packed, store.meta(), commit, into)
            into.flush()
            os.fsync(into.fileno())
        link_new(beside, file)
        return manifest
    except FileExistsError:
        raise
    except OSError as error:
        hint = "free some space and run it again" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise StorageError(f"cannot write {file}: {error.strerror or error}", hint=hint) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _to_pack(store: IndexStore, layout: Layout, settings: IndexSettings, committed: Mapping[str, bytes], scratch: Path) -> list[_Packed]:
    """The segments that hold files of the commit and nothing else; the others made anew of their files that are."""
    estate = reusable_index(layout.segments, store)
    owned: dict[int, list[tuple[str, KnownFile]]] = {}
    for path, known in estate.files.items():
        if known.row >= 0 and committed.get(path) == known.hash:
            owned.setdefault(known.segment, []).append((path, known))
    packed, again = [], []
    for row in estate.segments:
        files = owned.get(row.id, [])
        if len(files) < row.files:
            again += [path for path, _ in files]
            continue
        vectors = estate.vectors.get(row.id)
        packed.append(_Packed(layout.segments / row.name, row, (layout.segments / vectors.name, vectors) if vectors else None, files))
    model = next((row.model for row in estate.vectors.values()), "")
    made = _made_anew(sorted(again), layout, settings, committed, scratch, model) if again else None
    return [*packed, made] if made is not None else packed


def _made_anew(
    paths: list[str], layout: Layout, settings: IndexSettings, committed: Mapping[str, bytes], scratch: Path, model: str
) -> _Packed | None:
    """A segment of some files, which leaves nothing behind of those that were beside them."""
    out, shipped = scratch / f"{os.urandom(8).hex()}.segment", settings.model == SHIPPED and bool(model)
    limits = (settings.max_file_bytes, settings.max_line_bytes)
    while paths:
        done = run_batch(Batch(str(layout.root), paths, str(out), str(layout.grammars), *limits, 0, SHIPPED if shipped else "none"))
        others = {one.path for one in done.records if committed.get(one.path) != one.hash or one.row < 0}
        if not others and done.stamp is not None:
            files = [(one.path, KnownFile(one.hash, one.language, "", 0, one.row)) for one in done.records]
            row = SegmentRow(0, out.name, len(files), done.bytes, done.stamp)
            beside = vectors_path(str(out))
            return _Packed(out, row, (beside, VectorRow(0, model, beside.name, done.vectors)) if done.vectors else None, files)
        paths = [path for path in paths if path not in others]  # changed while it was read
    return None


def _write(packed: Collection[_Packed], meta: Mapping[str, str], commit: str, target: IO[bytes]) -> Manifest:
    described: dict[str, Any] = {
        "pack": ARCHIVE_FORMAT,
        "format": FORMAT,
        "version": meta.get("version", ""),
        "settings": meta.get("settings", ""),
        "commit": commit,
        "segments": [],
        "vectors": [],
        "files": [],
        "members": {},
    }
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for number, one in enumerate(packed, 1):
            described["segments"].append(_archived_row(replace(one.row, id=number)))
            described["members"][one.row.name] = _put(archive, one.segment, one.row.name)
            described["files"] += sorted([path, known.hash.hex(), known.language, number, known.row] for path, known in one.files)
            if one.vectors is not None:
                path, row = one.vectors
                described["vectors"].append(_archived_row(replace(row, segment=number)))
                described["members"][row.name] = _put(archive, path, row.name)
        text = json.dumps(described, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
        archive.writestr(_entry(MANIFEST), text)
    return manifest_of(described, text)


def _archived_row(row: SegmentRow | VectorRow) -> dict[str, Any]:
    """A row without what is true of this disk alone."""
    return asdict(row) | {"stamp": asdict(Stamp(row.stamp.size, row.stamp.checksum, 0, 0))}


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)  # of one index, the same pack whenever it is made
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


def _put(archive: zipfile.ZipFile, path: Path, member: str) -> dict[str, Any]:
    digest, size = hashlib.blake2b(digest_size=32), 0
    with path.open("rb") as source, archive.open(_entry(member), "w", force_zip64=True) as into:
        while piece := source.read(_CHUNK):
            digest.update(piece)
            into.write(piece)
            size += len(piece)
    return {"size": size, "blake2b": digest.hexdigest()}


def manifest_of(described: Mapping[str, Any], text: bytes) -> Manifest:
    """What a manifest says, in short; the digest is of its bytes."""
    digest = hashlib.blake2b(text, digest_size=32).hexdigest()
    return Manifest(described["commit"], described["settings"], described["version"], len(described["files"]), digest)
