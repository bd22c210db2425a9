"""A pack that comes from elsewhere: every part of it is checked before anything of it is used (Z8).

Each member is compared with its hash, the manifest entry by entry with what may stand there, and every array is looked
through as anything that a stranger wrote (`soundness`). Of what is left, only what was made of content that lies in the
tree right now is ever taken over. The digest of the manifest stands for the whole pack: given on another way, it tells
that nobody changed anything.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.core.errors import ArchiveRefused, IndexDamaged, StorageError
from whence.index.archive import ARCHIVE_FORMAT, DIGEST, MANIFEST, Manifest, manifest_of
from whence.index.layout import ABANDONED_NS, UNPACK_PREFIX, Layout
from whence.index.reuse import KnownFile, ReusableIndex
from whence.index.segment import Segment
from whence.index.store import FORMAT, SegmentRow, VectorRow
from whence.index.validation import check_segment, check_vectors
from whence.index.vectors import vectors_in
from whence.parse.languages import BY_NAME
from whence.storage.arrayfile import ArrayFile, Stamp

#: No pack has more members, or larger ones, than an index of the largest trees.
MOST_MEMBERS, LARGEST_MANIFEST, LARGEST_MEMBER = 10_000, 1 << 30, 1 << 33
#: A zip archive may claim to hold a thousand times its size; derived files never shrink like that.
MOST_SHRINKING = 200
_AGAIN = "nothing of it was used; get it again from where it was made"
_MEMBER = re.compile(r"[0-9a-f]{16}[a-z0-9.-]{0,60}\.(segment|vectors)")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HASH = re.compile(r"[0-9a-f]{32}")
_MODEL = re.compile(r"[\x20-\x7e]{0,300}")
_CHUNK = 1 << 20


@contextmanager
def unpack_archive(file: Path, layout: Layout, settings: str, expect: str = "") -> Iterator[tuple[Manifest, ReusableIndex]]:
    """A pack, unpacked beside the indexes for as long as it takes to take it over; made with the index settings that are given."""
    with _scratch(layout) as scratch:
        begun = Path(scratch).stat().st_mtime_ns
        for left in layout.unpack_folders():
            if begun - left.stat().st_mtime_ns > ABANDONED_NS:  # of one that was killed; a younger one may be at work
                shutil.rmtree(left, ignore_errors=True)
        manifest, estate = read_archive(file, Path(scratch), expect)
        if manifest.settings != settings:
            raise ArchiveRefused(f"{file} was made with other index settings", hint="make it with the settings that are used here")
        yield manifest, estate


def _scratch(layout: Layout) -> TemporaryDirectory[str]:
    place = layout.directory.parent
    try:
        layout.data_dir.parent.mkdir(parents=True, exist_ok=True)
        for folder in (layout.data_dir, place):
            folder.mkdir(0o700, exist_ok=True)
        return TemporaryDirectory(prefix=f"{UNPACK_PREFIX}{layout.directory.name}-", dir=place, ignore_cleanup_errors=True)
    except OSError as error:
        raise _unwritten(place, error) from error


def _unwritten(place: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot write to {place}: {error.strerror or error}", hint="free some space, or set WHENCE_DATA_DIR to another folder"
    )


def read_archive(file: Path, into: Path, expect: str = "") -> tuple[Manifest, ReusableIndex]:
    """Unpack a pack into an empty folder; ArchiveRefused where it is not what it says it is."""
    try:
        with zipfile.ZipFile(file) as archive:
            sizes = _sizes(archive)
            with archive.open(MANIFEST) as source:
                text = source.read(min(sizes[MANIFEST], LARGEST_MANIFEST))
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
    if len(entries) > MOST_MEMBERS or len({one.filename for one in entries}) < len(entries):
        raise ArchiveRefused("the pack has too many members, or two of one name")
    for one in entries:
        if one.file_size > min(LARGEST_MEMBER, MOST_SHRINKING * max(one.compress_size, 1_000)):
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
    _fitting(_COMMIT, manifest.commit)
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
    """Writes pieces to a file that was not there; what the disk says of it is told apart from what is wrong with a pack."""
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unwritten(target.parent, error) from error

    def put(piece: bytes) -> None:
        try:
            while piece:
                piece = piece[os.write(handle, piece) :]
        except OSError as error:
            raise _unwritten(target.parent, error) from error

    try:
        yield put
    finally:
        os.close(handle)


def _checked_index(described: Mapping[str, Any], place: Path) -> ReusableIndex:
    segments = [
        SegmentRow(_number(row["id"]), row["name"], _number(row["files"]), _number(row["bytes"]), _stamp(row))
        for row in described["segments"]
    ]
    vectors = [VectorRow(_number(row["segment"]), _fitting(_MODEL, row["model"]), row["name"], _stamp(row)) for row in described["vectors"]]
    files = {
        _text(path): KnownFile(bytes.fromhex(_fitting(_HASH, known)), _one_of(BY_NAME, language), "", _number(segment), _number(row))
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


# What may stand in a manifest: anything else is a ValueError, and the pack is refused.
def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 40:
        raise ValueError("number")
    return value


def _text(value: object) -> str:
    if type(value) is not str or len(value) > 1 << 16:
        raise ValueError("text")
    return value


def _fitting(pattern: re.Pattern[str], value: object) -> str:
    if not pattern.fullmatch(text := _text(value)):
        raise ValueError("form")
    return text


def _one_of(known: Mapping[str, object], value: object) -> str:
    if (text := _text(value)) and text not in known:
        raise ValueError("name")
    return text


def _stamp(row: Mapping[str, Any]) -> Stamp:
    told = row["stamp"]
    return Stamp(_number(told["size"]), _number(told["checksum"]), 0, 0)
