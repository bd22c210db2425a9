"""Where indexes and notes live on disk, which process may write an index, and whether it was closed cleanly."""

from __future__ import annotations

import glob
import json
import os
import re
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from whence.core.errors import IndexBusy, SettingError, StorageError, UsageError
from whence.core.settings import PROJECT_FILE, Setting, Settings
from whence.storage.files import try_lock, write_atomically

#: What an index folder contains.
DATABASE, SEGMENTS = "truth.db", "segments"
#: How folders begin in which an archive is unpacked, and the age at which one is left over from a killed process.
UNPACK_PREFIX, ABANDONED_NS = "pack-", 3_600_000_000_000
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one root's index."""

    data_dir: Path
    root: Path

    @property
    def directory(self) -> Path:
        """The folder of this index: its name says which root it is, a checksum of the full path tells equal names apart."""
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.root.name).strip("-") or "root"
        path = os.fsencode(self.root)
        key = f"{zlib.crc32(path):08x}{zlib.crc32(path[::-1]):08x}"  # hashlib would load all of OpenSSL
        return self.data_dir / "indexes" / f"{name[:40]}-{key}"

    @property
    def database(self) -> Path:
        """The index store."""
        return self.directory / DATABASE

    @property
    def segments(self) -> Path:
        """The folder of derived files."""
        return self.directory / SEGMENTS

    @property
    def note_indexes(self) -> Path:
        """The folder of the indexes over notes."""
        return self.data_dir / "memory"

    @property
    def note_index(self) -> Path:
        """The index over notes, when the root is a folder of notes."""
        return self.note_indexes / self.directory.name

    @property
    def grammars(self) -> Path:
        """Where grammars are unpacked, for all indexes."""
        return self.data_dir / "grammars"

    @property
    def lock_file(self) -> Path:
        """Locked by the writer; contains its process id."""
        return self.directory / "writer.lock"

    @property
    def clean_marker_file(self) -> Path:
        """How the database was last closed, and when it was verified."""
        return self.directory / "sealed"

    @property
    def build_log_file(self) -> Path:
        """The last builds of the index."""
        return self.directory / "runs.jsonl"

    def create(self) -> None:
        """Make the folders, readable by their owner only."""
        try:
            self.data_dir.mkdir(0o700, parents=True, exist_ok=True)
            self.directory.parent.mkdir(0o700, exist_ok=True)
            for folder in (self.directory, self.segments):
                folder.mkdir(0o700, exist_ok=True)
                if (mode := folder.stat().st_mode & 0o777) & 0o077:  # made by an older version, or changed by hand
                    folder.chmod(mode & 0o700)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> StorageError:
        hint = "set WHENCE_DATA_DIR to a folder you can write to"
        return StorageError(f"cannot write to {self.directory}: {error.strerror}", hint=hint)

    def unpack_folders(self) -> list[Path]:
        """Folders next to this index in which archives for it are unpacked."""
        found = self.directory.parent.glob(f"{UNPACK_PREFIX}{glob.escape(self.directory.name)}-*")
        return [folder for folder in found if folder.is_dir() and not folder.is_symlink()]

    def sibling_indexes(self) -> list[Path]:
        """The folders of the other indexes in the same data folder."""
        try:
            folders = [folder for folder in self.directory.parent.iterdir() if folder != self.directory]
            return sorted(folder for folder in folders if (folder / DATABASE).is_file() and (folder / DATABASE).stat().st_size)
        except OSError:
            return []

    def exists(self) -> bool:
        """Whether anything was ever indexed here."""
        return self.database.exists()

    def is_orphaned(self) -> bool:
        """Whether there are derived files but no database that lists them."""
        lost = not self.database.exists() or not self.database.stat().st_size
        return lost and next(self.segments.glob("*.segment"), None) is not None

    @contextmanager
    def write_lock(self, wait: float) -> Iterator[None]:
        """Be the only writer. Raises IndexBusy after `wait` seconds, naming the process that holds the lock.

        Both the lock file and its folder are locked: if somebody deletes the file, another process could make and lock a new one.
        """
        self.create()
        deadline = time.monotonic() + wait
        with ExitStack() as held:
            while (handle := self._try_lock(held)) is None:
                if time.monotonic() >= deadline:
                    raise IndexBusy(f"another process is writing the index: {self.holder()}", hint="try again, or search with --no-refresh")
                time.sleep(_POLL_SECONDS)
            with suppress(OSError):  # on a full disk nobody learns who holds the lock; it is held all the same
                os.ftruncate(handle, 0)
                os.pwrite(handle, json.dumps({"pid": os.getpid(), "since": time.time()}).encode(), 0)
            yield
            with suppress(OSError):
                os.ftruncate(handle, 0)

    def _try_lock(self, held: ExitStack) -> int | None:
        """An open handle of the lock file, locked until `held` closes; None while another process holds it."""
        handles = []
        with ExitStack() as locked:
            for path in (self.lock_file, self.directory):
                try:
                    handle = try_lock(path)
                except OSError as error:
                    raise self._unwritable(error) from error
                if handle is None:
                    return None
                locked.callback(os.close, handle)
                handles.append(handle)
            held.push(locked.pop_all())
        return handles[0]

    def holder(self) -> str:
        """Which process writes the index, and for how long."""
        try:
            found = json.loads(self.lock_file.read_text(encoding="utf-8"))
            return f"process {found['pid']}, for {max(time.time() - found['since'], 0):.0f} s"
        except (OSError, ValueError, KeyError, TypeError):
            return "process unknown"


#: A team's notes, relative to its repository's root.
TEAM_FOLDER = Path(".whence", "notes")
_OWN_FOLDER = Path("whence", "notes")


def notes_directory(
    settings: Settings, provenance: Sequence[Setting], root: Path | None, environment: Mapping[str, str], home: Path
) -> Path:
    """The notes folder that the settings name; `root` is the current repository."""
    chosen = settings.memory
    if chosen.directory:
        source = next(one.source for one in provenance if one.name == "memory.directory")
        if source.endswith(PROJECT_FILE):  # a repository must not decide where a user's files are written
            raise SettingError(f"{source}: a project may not set memory.directory", hint="it may set memory.place")
        return Path(chosen.directory).expanduser().absolute()
    if chosen.place == "repository":
        if root is None:
            raise UsageError("team notes need a repository, and this folder is in none", hint="run it in the repository")
        return root / TEAM_FOLDER
    if own := environment.get("WHENCE_DATA_DIR"):
        return Path(own).expanduser().absolute() / TEAM_FOLDER.name
    data = environment.get("XDG_DATA_HOME")
    return (Path(data) if data else home / ".local" / "share") / _OWN_FOLDER


def is_team_folder(directory: Path, root: Path) -> bool:
    """Whether a notes folder is stored in this repository; its notes then name code relative to it."""
    return directory.resolve() == (root / TEAM_FOLDER).resolve()


@dataclass(frozen=True, slots=True)
class CleanMarker:
    """The state of a database when it was last closed, and when everything was last verified.

    It is only a hint: a wrong one costs a verification, never an answer.
    """

    size: int
    mtime_ns: int
    inode: int
    verified: float

    @classmethod
    def of(cls, path: Path, verified: float) -> CleanMarker:
        """A marker for a database as it is now."""
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ino, verified)


def read_marker(path: Path) -> CleanMarker | None:
    """The marker that the last user of a database left, if any. Only a regular file is opened: a FIFO would block."""
    try:
        return CleanMarker(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None
    except (OSError, ValueError, TypeError):
        return None


def verified_at(layout: Layout, now: float, verify_after: float) -> float:
    """When a database that is as its last user left it was verified; 0 if it is not, or if that is too long ago."""
    marker = read_marker(layout.clean_marker_file)
    if marker is None or not 0 <= now - marker.verified < verify_after:
        return 0.0
    return marker.verified if marker == CleanMarker.of(layout.database, marker.verified) else 0.0


def write_marker(marker: CleanMarker, path: Path) -> None:
    """Write a marker."""
    write_atomically(path, json.dumps(asdict(marker)))


def mark_clean(layout: Layout, verified: float) -> None:
    """Mark the database of an index as clean. If that fails, it is verified again next time."""
    with suppress(OSError):
        marker = CleanMarker.of(layout.database, verified)
        if marker != read_marker(layout.clean_marker_file):
            write_marker(marker, layout.clean_marker_file)
