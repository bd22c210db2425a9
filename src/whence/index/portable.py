"""An index in one file, to be built in one place and used in many (Z8).

A pack is a zip archive: a manifest, and the segments and vectors of one snapshot. It is keyed by the commit that was
indexed; the manifest lists every file of the tree with a hash of its content, and every member with a hash of its own.
Whoever takes a pack in checks each member, looks through it as through anything that a stranger wrote (`soundness`),
and uses of it only what was made of content that lies in the tree right now. The digest of the manifest stands for the
whole pack: given on another way, it tells that nobody changed anything.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from whence.errors import IndexDamaged, PackRefused, StorageError
from whence.index.adoption import NO_LINKS, Estate, Known, estate_of
from whence.index.arrayfile import ArrayFile, Stamp
from whence.index.layout import UNPACKED, Layout
from whence.index.segment import Segment
from whence.index.soundness import check_segment, check_vectors
from whence.index.store import FORMAT, SegmentRow, Store, VectorRow
from whence.index.vectors import SegmentVectors

MANIFEST = "manifest.json"
PACK_FORMAT = 1
#: No pack has more members, or larger ones, than an index of the largest trees.
MOST_MEMBERS, LARGEST_MANIFEST, LARGEST_MEMBER = 10_000, 1 << 30, 1 << 33
#: A zip archive may claim to hold a thousand times its size; derived files never shrink like that.
MOST_SHRINKING = 200
#: What a digest of a pack begins with, where people see it.
DIGEST = "blake2b:"
_MEMBER = re.compile(r"[0-9a-f]{8,}[a-z0-9.-]{0,80}")
_AGAIN = "nothing of it was used; get it again from where it was made"
_CHUNK = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a pack says of itself."""

    commit: str
    settings: str
    version: str
    root: str  # the name of the folder, for people
    files: int
    digest: str


def write_pack(store: Store, layout: Layout, commit: str, file: Path) -> Manifest:
    """Write what an index holds of a commit to a new file, which is there when it is whole; FileExistsError where one is."""
    beside = file.with_name(f".{file.name}-{os.urandom(4).hex()}.part")
    try:
        with beside.open("xb") as into:
            manifest = _pack(store, layout.segments, commit, into, layout.root.name)
            into.flush()
            os.fsync(into.fileno())
        _give_name(beside, file)
        return manifest
    except FileExistsError:
        raise
    except OSError as error:
        hint = "free some space and run it again" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise StorageError(f"cannot write {file}: {error.strerror or error}", hint=hint) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _give_name(beside: Path, file: Path) -> None:
    """Never in place of another file; where a disk knows no second names, as near to that as can be."""
    try:
        os.link(beside, file)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if os.path.lexists(file):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(file)) from error
        beside.rename(file)


def _pack(store: Store, segments: Path, commit: str, target: IO[bytes], name: str) -> Manifest:
    meta, estate = store.meta(), estate_of(segments, store)
    members = {row.name: row.stamp for row in estate.segments} | {row.name: row.stamp for row in estate.vectors.values()}
    described: dict[str, Any] = {
        "pack": PACK_FORMAT,
        "format": FORMAT,
        "version": meta.get("version", ""),
        "settings": meta.get("settings", ""),
        "commit": commit,
        "root": name,
        "segments": [asdict(row) for row in estate.segments],
        "vectors": [asdict(row) for row in estate.vectors.values()],
        "files": [[path, one.hash.hex(), one.language, one.reason, one.segment, one.row] for path, one in sorted(estate.files.items())],
        "dead": [[path, known.hex(), language, segment, row] for path, known, language, segment, row in estate.dead],
        "members": {},
    }
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for member, stamp in sorted(members.items()):
            described["members"][member] = {"size": stamp.size, "blake2b": _packed(archive, segments / member, member)}
        text = json.dumps(described, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
        archive.writestr(_entry(MANIFEST), text)
    return _manifest(described, text)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)  # the same pack has the same bytes, whenever it is made
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


def _packed(archive: zipfile.ZipFile, path: Path, member: str) -> str:
    digest = hashlib.blake2b(digest_size=32)
    with path.open("rb") as source, archive.open(_entry(member), "w", force_zip64=True) as into:
        while piece := source.read(_CHUNK):
            digest.update(piece)
            into.write(piece)
    return digest.hexdigest()


def _manifest(described: Mapping[str, Any], text: bytes) -> Manifest:
    digest = hashlib.blake2b(text, digest_size=32).hexdigest()
    return Manifest(described["commit"], described["settings"], described["version"], described["root"], len(described["files"]), digest)


@contextmanager
def unpacked(file: Path, layout: Layout, expect: str = "") -> Iterator[tuple[Manifest, Estate]]:
    """A pack, unpacked beside an index for as long as it takes to take it over."""
    layout.create()
    for left in layout.unpacked():  # of one that was killed
        shutil.rmtree(left, ignore_errors=True)
    with TemporaryDirectory(prefix=UNPACKED, dir=layout.directory) as place:
        yield read_pack(file, Path(place), expect)


def read_pack(file: Path, into: Path, expect: str = "") -> tuple[Manifest, Estate]:
    """Unpack a pack into an empty folder; PackRefused where it is not what it says it is."""
    try:
        with zipfile.ZipFile(file) as archive:
            sizes = _sizes(archive)
            text = _read(archive, MANIFEST, min(sizes.get(MANIFEST, 0), LARGEST_MANIFEST))
            described = json.loads(text)
            manifest = _manifest(described, text)
            _check_manifest(manifest, described, sizes, expect)
            for member, told in described["members"].items():
                _unpack(archive, member, int(told["size"]), str(told["blake2b"]), into / member)
        return manifest, _checked_estate(described, into)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise PackRefused(f"{file} is no pack: {error}") from error
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise PackRefused(f"{file} is no pack: its manifest cannot be read", hint="get it again from where it was made") from error
    except IndexDamaged as error:
        raise PackRefused(f"{file} was not made by whence: {error.message}", hint=_AGAIN) from error


def _sizes(archive: zipfile.ZipFile) -> dict[str, int]:
    entries = archive.infolist()
    if len(entries) > MOST_MEMBERS or len({one.filename for one in entries}) < len(entries):
        raise PackRefused("the pack has too many members, or two of one name")
    for one in entries:
        if one.file_size > min(LARGEST_MEMBER, MOST_SHRINKING * max(one.compress_size, 1_000)):
            raise PackRefused(f"{one.filename[:80]!r} of the pack claims to be {one.file_size} bytes", hint=_AGAIN)
    return {one.filename: one.file_size for one in entries}


def _check_manifest(manifest: Manifest, described: Mapping[str, Any], sizes: Mapping[str, int], expect: str) -> None:
    if described["pack"] != PACK_FORMAT or described["format"] != FORMAT:
        raise PackRefused("the pack was made by another version of whence", hint=f"this one writes format {FORMAT}; make it again with it")
    if expect and not hmac.compare_digest(expect.removeprefix(DIGEST).lower().encode(), manifest.digest.encode()):
        raise PackRefused(f"the pack is another one: its digest is {DIGEST}{manifest.digest}", hint=_AGAIN)
    strange = [name for name in described["members"] if not _MEMBER.fullmatch(name)]
    if strange or set(described["members"]) | {MANIFEST} != set(sizes):
        raise PackRefused("the pack holds other members than its manifest lists", hint=_AGAIN)


def _read(archive: zipfile.ZipFile, member: str, most: int) -> bytes:
    with archive.open(member) as source:
        return source.read(most)


def _unpack(archive: zipfile.ZipFile, member: str, size: int, expected: str, target: Path) -> None:
    digest, left = hashlib.blake2b(digest_size=32), size
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with archive.open(member) as source, open(handle, "wb") as into:
        while piece := source.read(min(_CHUNK, left + 1)):
            left -= len(piece)
            if left < 0:
                break
            digest.update(piece)
            into.write(piece)
    if left or digest.hexdigest() != expected:
        raise PackRefused(f"{member} of the pack is not what was packed", hint=_AGAIN)


def _checked_estate(described: Mapping[str, Any], place: Path) -> Estate:
    segments = [SegmentRow(**(row | {"stamp": Stamp(**row["stamp"])})) for row in described["segments"]]
    vectors = {int(row["segment"]): VectorRow(**(row | {"stamp": Stamp(**row["stamp"])})) for row in described["vectors"]}
    files = {str(path): Known(bytes.fromhex(known), str(language), str(reason), int(segment), int(row))
             for path, known, language, reason, segment, row in described["files"]}  # fmt: skip
    dead = [
        (str(path), bytes.fromhex(known), str(language), int(segment), int(row))
        for path, known, language, segment, row in described["dead"]
    ]
    listed = {(one.segment, one.row): path for path, one in files.items() if one.row >= 0}
    listed |= {(segment, row): path for path, _, _, segment, row in dead}
    for row in segments:
        segment = Segment(ArrayFile(place / row.name))
        check_segment(segment)
        if segment.paths.all() != [listed.get((row.id, at)) for at in range(row.files)] or segment.files != row.files:
            raise PackRefused(f"{row.name} of the pack holds other files than its manifest lists", hint=_AGAIN)
        if row.id in vectors:
            file = ArrayFile(place / vectors[row.id].name)
            check_vectors(SegmentVectors(file), file, segment.units)
    return Estate(place, segments, vectors, files, dead, {})
