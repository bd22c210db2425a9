"""Index archives: an index in one file, to build in one place and use in many (Z8).

An archive (a `pack` to users) is a zip file: a manifest, and the segments and vectors of the files of one commit, which is its
key. The manifest lists every file with a hash of its content, and every member with a hash of its own. Files that are not in
the commit, or were in an earlier one, never get into an archive: a segment that has any is made again without them.

An archive comes from elsewhere, so everything in it is checked before anything of it is used: members against their hashes,
each value of the manifest, every array (`validation`). Only what was made from content that is in the tree now is taken over.
The digest of the manifest stands for the whole archive: whoever gets it in another way can tell that nothing was changed.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from whence.core.errors import ArchiveRefused, IndexDamaged, StorageError
from whence.core.settings import IndexSettings
from whence.embed.encoder import SHIPPED
from whence.index.layout import ABANDONED_NS, UNPACK_PREFIX, Layout
from whence.index.reuse import KnownFile, ReusableIndex, reusable_index
from whence.index.segment import Segment
from whence.index.store import FORMAT, IndexStore, SegmentRow, VectorRow
from whence.index.validation import check_segment, check_vectors
from whence.index.vectors import vectors_in
from whence.index.worker import Batch, run_batch, vectors_path
from whence.parse.languages import BY_NAME, UNKNOWN
from whence.storage.arrayfile import ArrayFile, Stamp
from whence.storage.files import link_new

MANIFEST = "manifest.json"
ARCHIVE_FORMAT = 1
#: The beginning of a digest, where people see one.
DIGEST = "blake2b:"
#: Limits: no index of the largest trees has more members, or larger ones.
MAX_MEMBERS, MAX_MANIFEST_BYTES, MAX_MEMBER_BYTES = 10_000, 1 << 30, 1 << 33
#: A zip file may claim to hold a thousand times its size; derived files never compress like that.
MAX_COMPRESSION = 200
_AGAIN = "nothing of it was used; get it again from where it was made"
_MEMBER = re.compile(r"[0-9a-f]{16}[a-z0-9.-]{0,60}\.(segment|vectors)")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HASH = re.compile(r"[0-9a-f]{32}")
_MODEL = re.compile(r"[\x20-\x7e]{0,300}")
_CHUNK = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What identifies an archive."""

    commit: str
    settings: str
    version: str
    files: int
    digest: str


@dataclass(frozen=True, slots=True)
class _Packed:
    segment: Path
    row: SegmentRow
    vectors: tuple[Path, VectorRow] | None
    files: list[tuple[str, KnownFile]]


def write_archive(
    store: IndexStore, layout: Layout, settings: IndexSettings, committed: Mapping[str, bytes], commit: str, file: Path
) -> Manifest:
    """Write an archive to a new file, which appears when it is complete; FileExistsError if there is one.

    `committed` are the files that are as in the commit, with the hashes of their content: no others are packed.
    """
    beside = file.with_name(f".{file.name}-{os.urandom(4).hex()}.part")
    try:
        with TemporaryDirectory(dir=layout.directory) as scratch, beside.open("xb") as into:
            packed = _segments_to_pack(store, layout, settings, committed, Path(scratch))
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


def _segments_to_pack(
    store: IndexStore, layout: Layout, settings: IndexSettings, committed: Mapping[str, bytes], scratch: Path
) -> list[_Packed]:
    """The segments whose files are all in the commit, and one made from such files of the other segments."""
    index = reusable_index(layout.segments, store)
    owned: dict[int, list[tuple[str, KnownFile]]] = {}
    for path, known in index.files.items():
        if known.row >= 0 and committed.get(path) == known.hash:
            owned.setdefault(known.segment, []).append((path, known))
    packed, again = [], []
    for row in index.segments:
        files = owned.get(row.id, [])
        if len(files) < row.files:
            again += [path for path, _ in files]
            continue
        vectors = index.vectors.get(row.id)
        packed.append(_Packed(layout.segments / row.name, row, (layout.segments / vectors.name, vectors) if vectors else None, files))
    model = next((row.model for row in index.vectors.values()), "")
    made = _new_segment(sorted(again), layout, settings, committed, scratch, model) if again else None
    return [*packed, made] if made is not None else packed


def _new_segment(
    paths: list[str], layout: Layout, settings: IndexSettings, committed: Mapping[str, bytes], scratch: Path, model: str
) -> _Packed | None:
    """A new segment of some files, without a trace of the others that were in their segments."""
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
        paths = [path for path in paths if path not in others]  # without those that changed meanwhile
    return None


def _write(packed: Collection[_Packed], meta: Mapping[str, str], commit: str, target: IO[bytes]) -> Manifest:
    described: dict[str, Any] = {"pack": ARCHIVE_FORMAT, "format": FORMAT, "commit": commit, "segments": [], "vectors": [], "files": []}
    described |= {"version": meta.get("version", ""), "settings": meta.get("settings", ""), "members": {}}
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
    """A row without what only holds on this disk."""
    return asdict(row) | {"stamp": asdict(Stamp(row.stamp.size, row.stamp.checksum, 0, 0))}


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)  # the same index gives the same archive
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
    """The summary of a manifest; the digest is of its bytes."""
    digest = hashlib.blake2b(text, digest_size=32).hexdigest()
    return Manifest(described["commit"], described["settings"], described["version"], len(described["files"]), digest)


# Reading.
@contextmanager
def unpack_archive(file: Path, layout: Layout, settings: str, expect: str = "") -> Iterator[tuple[Manifest, ReusableIndex]]:
    """Unpack an archive that was made with some index settings beside the indexes, and delete it afterwards."""
    with _scratch(layout) as scratch:
        begun = Path(scratch).stat().st_mtime_ns
        for left in layout.unpack_folders():
            if begun - left.stat().st_mtime_ns > ABANDONED_NS:  # of a killed import; a recent one may still be in use
                shutil.rmtree(left, ignore_errors=True)
        manifest, index = read_archive(file, Path(scratch), expect)
        if manifest.settings != settings:
            raise ArchiveRefused(f"{file} was made with other index settings", hint="make it with the settings that are used here")
        yield manifest, index


def _scratch(layout: Layout) -> TemporaryDirectory[str]:
    place = layout.directory.parent
    try:
        layout.data_dir.parent.mkdir(parents=True, exist_ok=True)
        for folder in (layout.data_dir, place):
            folder.mkdir(0o700, exist_ok=True)
        return TemporaryDirectory(prefix=f"{UNPACK_PREFIX}{layout.directory.name}-", dir=place, ignore_cleanup_errors=True)
    except OSError as error:
        raise _unwritable(place, error) from error


def _unwritable(place: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot write to {place}: {error.strerror or error}", hint="free some space, or set WHENCE_DATA_DIR to another folder"
    )


def read_archive(file: Path, into: Path, expect: str = "") -> tuple[Manifest, ReusableIndex]:
    """Unpack an archive into an empty folder; ArchiveRefused if anything in it is wrong."""
    try:
        with zipfile.ZipFile(file) as archive:
            sizes = _sizes(archive)
            with archive.open(MANIFEST) as source:
                text = source.read(min(sizes[MANIFEST], MAX_MANIFEST_BYTES))
            described = json.loads(text)
            manifest = _checked_manifest(described, text, sizes, expect)
            for member, told in described["members"].items():
                _unpack(archive, member, _number(told["size"]), _text(told["blake2b"]), into / member)
        return manifest, _checked_index(described, into)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError, OSError) as error:
        raise ArchiveRefused(f"{file} is no pack: {error}") from error
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise ArchiveRefused(f"{file} is no pack: its manifest cannot be read", hint=_AGAIN) from error
    except IndexDamaged as error:
        raise ArchiveRefused(f"{file} was not made by whence: {error.message}", hint=_AGAIN) from error


def _sizes(archive: zipfile.ZipFile) -> dict[str, int]:
    entries = archive.infolist()
    if len(entries) > MAX_MEMBERS or len({one.filename for one in entries}) < len(entries):
        raise ArchiveRefused("the pack has too many members, or two of one name")
    for one in entries:
        if one.file_size > min(MAX_MEMBER_BYTES, MAX_COMPRESSION * max(one.compress_size, 1_000)):
            raise ArchiveRefused(f"{one.filename[:80]!r} of the pack claims to be {one.file_size} bytes", hint=_AGAIN)
    return {one.filename: one.file_size for one in entries}


def _checked_manifest(described: Mapping[str, Any], text: bytes, sizes: Mapping[str, int], expect: str) -> Manifest:
    if described["pack"] != ARCHIVE_FORMAT or described["format"] != FORMAT:
        raise ArchiveRefused(
            "the pack was made by another version of whence", hint=f"this one writes format {FORMAT}; make it again with it"
        )
    manifest = manifest_of(described, text)
    if expect and not hmac.compare_digest(expect.removeprefix(DIGEST).lower().encode(), manifest.digest.encode()):
        raise ArchiveRefused(f"the pack is another one: its digest is {DIGEST}{manifest.digest}", hint=_AGAIN)
    names = [_text(row["name"]) for kind in ("segments", "vectors") for row in described[kind]]
    strange = [name for name in names if not _MEMBER.fullmatch(name)]
    if strange or len(set(names)) < len(names) or not set(names) == set(described["members"]) == set(sizes) - {MANIFEST}:
        raise ArchiveRefused("the pack holds other members than its manifest lists", hint=_AGAIN)
    _matching(_COMMIT, manifest.commit)
    _text(manifest.settings), _text(manifest.version)
    return manifest


def _unpack(archive: zipfile.ZipFile, member: str, size: int, expected: str, target: Path) -> None:
    digest, left = hashlib.blake2b(digest_size=32), size
    with archive.open(member) as source, _new_file(target) as put:
        while piece := source.read(min(_CHUNK, left + 1)):
            left -= len(piece)
            if left < 0:
                break
            digest.update(piece)
            put(piece)
    if left or digest.hexdigest() != expected:
        raise ArchiveRefused(f"{member} of the pack is not what was packed", hint=_AGAIN)


@contextmanager
def _new_file(target: Path) -> Iterator[Callable[[bytes], None]]:
    """Write pieces to a new file. Errors of the disk are told apart from errors of the archive."""
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unwritable(target.parent, error) from error

    def put(piece: bytes) -> None:
        try:
            while piece:
                piece = piece[os.write(handle, piece) :]
        except OSError as error:
            raise _unwritable(target.parent, error) from error

    try:
        yield put
    finally:
        os.close(handle)


def _checked_index(described: Mapping[str, Any], place: Path) -> ReusableIndex:
    segments = [
        SegmentRow(_number(row["id"]), row["name"], _number(row["files"]), _number(row["bytes"]), _stamp(row))
        for row in described["segments"]
    ]
    vectors = [
        VectorRow(_number(row["segment"]), _matching(_MODEL, row["model"]), row["name"], _stamp(row)) for row in described["vectors"]
    ]
    files = {
        _text(path): KnownFile(bytes.fromhex(_matching(_HASH, known)), _language(language), "", _number(segment), _number(row))
        for path, known, language, segment, row in described["files"]
    }
    listed = {(one.segment, one.row): path for path, one in files.items()}
    ids = {row.id for row in segments}
    whole = len(listed) == len(files) == len(described["files"]) == sum(row.files for row in segments)
    if not whole or len(ids) < len(segments) or len({row.segment for row in vectors} & ids) < len(vectors):
        raise ArchiveRefused("the manifest of the pack contradicts itself", hint=_AGAIN)
    beside = {row.segment: row for row in vectors}
    for row in segments:
        _check_members(place, row, beside.get(row.id), [listed.get((row.id, at)) for at in range(row.files)])
    return ReusableIndex(place, segments, beside, files, (), {})


def _check_members(place: Path, row: SegmentRow, beside: VectorRow | None, paths: list[str | None]) -> None:
    segment = Segment(ArrayFile(place / row.name))
    check_segment(segment)
    if segment.files != row.files or segment.paths.all() != paths:
        raise ArchiveRefused(f"{row.name} of the pack holds other files than its manifest lists", hint=_AGAIN)
    if beside is not None:
        file = ArrayFile(place / beside.name)
        check_vectors(vectors_in(file), file, segment.units)


# Values of a manifest: anything else is a ValueError, and the archive is refused.
def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 40:
        raise ValueError("number")
    return value


def _text(value: object) -> str:
    if type(value) is not str or len(value) > 1 << 16:
        raise ValueError("text")
    return value


def _matching(pattern: re.Pattern[str], value: object) -> str:
    if not pattern.fullmatch(text := _text(value)):
        raise ValueError("form")
    return text


def _language(value: object) -> str:
    if (text := _text(value)) not in ("", UNKNOWN.name) and text not in BY_NAME:
        raise ValueError("language")
    return text


def _stamp(row: Mapping[str, Any]) -> Stamp:
    told = row["stamp"]
    return Stamp(_number(told["size"]), _number(told["checksum"]), 0, 0)
