"""Where an index lives on disk, and who may write it."""

from __future__ import annotations

import fcntl
import glob
import json
import os
import re
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from whence.core.errors import IndexBusy, StorageError

APPLICATION = "whence"
#: What is in the folder of an index.
DATABASE, SEGMENTS = "truth.db", "segments"
#: What the folder begins with in which a pack is unpacked; after so long without a touch it is left over.
UNPACK_PREFIX, ABANDONED_NS = "pack-", 3_600_000_000_000
_POLL_SECONDS = 0.05


def default_data_dir(environment: dict[str, str], home: Path) -> Path:
    """The folder for all indexes: `WHENCE_DATA_DIR`, or the user's cache folder (I6)."""
    if chosen := environment.get("WHENCE_DATA_DIR"):
        return Path(chosen).expanduser().absolute()
    cache = environment.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else home / ".cache") / APPLICATION


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of one root's index."""

    data_dir: Path
    root: Path

    @property
    def directory(self) -> Path:
        """The folder of this index: named for people, told apart by the root's full path."""
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.root.name).strip("-") or "root"
        path = os.fsencode(self.root)
        key = f"{zlib.crc32(path):08x}{zlib.crc32(path[::-1]):08x}"  # hashlib would load all of OpenSSL for this
        return self.data_dir / "indexes" / f"{name[:40]}-{key}"

    @property
    def database(self) -> Path:
        """The truth."""
        return self.directory / DATABASE

    @property
    def segments(self) -> Path:
        """The folder of derived files."""
        return self.directory / SEGMENTS

    @property
    def note_index(self) -> Path:
        """The index over notes, when the root is a folder of notes."""
        return self.data_dir / "memory" / self.directory.name

    @property
    def grammars(self) -> Path:
        """Where grammars are unpacked, shared by all indexes."""
        return self.data_dir / "grammars"

    @property
    def lock_file(self) -> Path:
        """Held by the one writer; says who it is."""
        return self.directory / "writer.lock"

    @property
    def clean_marker_file(self) -> Path:
        """Says how the database was left, and when it was verified."""
        return self.directory / "sealed"

    @property
    def build_log_file(self) -> Path:
        """Says what was last done to the index."""
        return self.directory / "runs.jsonl"

    def create(self) -> None:
        """Make the folders, for their owner's eyes only."""
        try:
            self.data_dir.mkdir(0o700, parents=True, exist_ok=True)
            self.directory.parent.mkdir(0o700, exist_ok=True)
            for place in (self.directory, self.segments):
                place.mkdir(0o700, exist_ok=True)
                if (mode := place.stat().st_mode & 0o777) & 0o077:  # made by an older version, or with a careless hand
                    place.chmod(mode & 0o700)
        except OSError as error:
            raise StorageError(
                f"cannot write to {self.directory}: {error.strerror}", hint="set WHENCE_DATA_DIR to a folder you can write to"
            ) from error

    def unpack_folders(self) -> list[Path]:
        """Folders in which packs for this index are unpacked, beside it."""
        found = self.directory.parent.glob(f"{UNPACK_PREFIX}{glob.escape(self.directory.name)}-*")
        return [place for place in found if place.is_dir() and not place.is_symlink()]

    def sibling_indexes(self) -> list[Path]:
        """The folders of the other indexes beside this one."""
        try:
            places = [place for place in self.directory.parent.iterdir() if place != self.directory]
            return sorted(place for place in places if (place / DATABASE).is_file() and (place / DATABASE).stat().st_size)
        except OSError:
            return []

    def exists(self) -> bool:
        """Whether anything was ever indexed here."""
        return self.database.exists()

    def is_orphaned(self) -> bool:
        """Whether derived files are there without the truth they belong to."""
        lost = not self.database.exists() or not self.database.stat().st_size
        return lost and next(self.segments.glob("*.segment"), None) is not None

    @contextmanager
    def write_lock(self, wait: float) -> Iterator[None]:
        """Be the only writer. Fails after `wait` seconds, naming the holder.

        The lock is the kernel's: it is gone when its process is, however that ended. The folder is locked beside the
        file: were the file deleted under its holder, another could make and lock a new one.
        """
        self.create()
        deadline = time.monotonic() + wait
        with ExitStack() as held:
            while (handle := self._try_lock(held)) is None:
                if time.monotonic() >= deadline:
                    raise IndexBusy(f"another process is writing the index: {self.holder()}", hint="try again, or search with --no-refresh")
                time.sleep(_POLL_SECONDS)
            with suppress(OSError):  # on a full disk nobody learns who holds it; it is held all the same
                os.ftruncate(handle, 0)
                os.pwrite(handle, json.dumps({"pid": os.getpid(), "since": time.time()}).encode(), 0)
            yield
            with suppress(OSError):
                os.ftruncate(handle, 0)

    def _try_lock(self, held: ExitStack) -> int | None:
        """The lock file, locked and to be closed with `held`; None when another process holds it."""
        with ExitStack() as opened:
            try:
                handle = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                opened.callback(os.close, handle)
                folder = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                opened.callback(os.close, folder)
            except OSError as error:
                raise StorageError(
                    f"cannot write to {self.directory}: {error.strerror}", hint="set WHENCE_DATA_DIR to a folder you can write to"
                ) from error
            if not (_locks(handle) and _locks(folder) and _is(handle, self.lock_file) and _is(folder, self.directory)):
                return None
            held.push(opened.pop_all())
            return handle

    def holder(self) -> str:
        """Who writes the index, and for how long."""
        try:
            found = json.loads(self.lock_file.read_text(encoding="utf-8"))
            return f"process {found['pid']}, for {max(time.time() - found['since'], 0):.0f} s"
        except (OSError, ValueError, KeyError, TypeError):
            return "process unknown"


def _locks(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            raise StorageError(
                f"no lock can be had on this file system: {error.strerror}", hint="set WHENCE_DATA_DIR to a local folder"
            ) from error
    return True  # a folder that cannot be locked, as on some network file systems, is left to the lock file


def _is(handle: int, path: Path) -> bool:
    """Whether an open file is still the one of its name: another may have been made in its place."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
