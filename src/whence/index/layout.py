"""Where an index lives on disk, and who may write it."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from whence.errors import IndexBusy, StorageError

APPLICATION = "whence"
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
        return self.directory / "truth.db"

    @property
    def segments(self) -> Path:
        """The folder of derived files."""
        return self.directory / "segments"

    @property
    def notes(self) -> Path:
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

    def create(self) -> None:
        """Make the folders."""
        try:
            self.segments.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"cannot write to {self.directory}: {error.strerror}", hint="set WHENCE_DATA_DIR to a folder you can write to"
            ) from error

    def exists(self) -> bool:
        """Whether anything was ever indexed here."""
        return self.database.exists()

    def orphaned(self) -> bool:
        """Whether derived files are there without the truth they belong to."""
        lost = not self.database.exists() or not self.database.stat().st_size
        return lost and next(self.segments.glob("*.segment"), None) is not None

    @contextmanager
    def writing(self, wait: float) -> Iterator[None]:
        """Be the only writer. Fails after `wait` seconds, naming the holder.

        The lock is the kernel's: it is gone when its process is, however that ended.
        """
        self.create()
        try:
            handle = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(
                f"cannot write to {self.directory}: {error.strerror}", hint="set WHENCE_DATA_DIR to a folder you can write to"
            ) from error
        try:
            deadline = time.monotonic() + wait
            while not _try_lock(handle):
                if time.monotonic() >= deadline:
                    raise IndexBusy(f"another process is writing the index: {self.holder()}", hint="try again, or search with --no-refresh")
                time.sleep(_POLL_SECONDS)
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps({"pid": os.getpid(), "since": time.time()}).encode(), 0)
            yield
            os.ftruncate(handle, 0)
        finally:
            os.close(handle)

    def holder(self) -> str:
        """Who writes the index, and for how long."""
        try:
            found = json.loads(self.lock_file.read_text(encoding="utf-8"))
            return f"process {found['pid']}, for {max(time.time() - found['since'], 0):.0f} s"
        except (OSError, ValueError, KeyError, TypeError):
            return "process unknown"


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
