"""A local copy of a fleet repository, with a full index: for questions that a fleet search cannot answer.

Texts are written as files, and the index starts from the engine's archive, which is verified first. Others may have
written to the engine: no path leaves the folder or touches `.git`. A copy is kept until the repository changes.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from whence.app.index import Index
from whence.core.errors import ArchiveRefused, FleetError, StorageError, UsageError
from whence.core.settings import load_settings
from whence.fleet.engine import Row, equals
from whence.fleet.registry import Repository, may_see, visible_rows
from whence.fleet.rows import FleetArchive, archive_info, fetch_archive, file_key
from whence.fleet.search import Fleet
from whence.index.archive import unpack_archive
from whence.index.layout import Layout
from whence.index.writer import Progress

#: The folder of all copies, below the data folder, and the file that marks a copy as complete.
FOLDER, COMPLETE = "fleet-context", "whole"
#: Texts per request.
BATCH = 200
#: Seconds after which an unfinished copy is deleted.
MAX_AGE = 3_600


@dataclass(frozen=True, slots=True)
class FleetCheckout:
    """A local copy of a repository."""

    repository: Repository
    index: Index
    reused: bool  # whether the copy was there already
    warnings: tuple[str, ...] = ()  # to show to the user


@contextmanager
def open_checkout(fleet: Fleet, name: str, where: Path, *, now: float, progress: Progress | None = None) -> Iterator[FleetCheckout]:
    """Copy a repository that the caller may see below the data folder `where`, if need be, and open its index."""
    repository = _resolve(fleet, name)
    archive = archive_info(fleet.engine, repository.name, fleet.caller)
    rows = _file_rows(fleet, repository.name)
    if not rows:
        raise FleetError(f"{repository.name} is not indexed yet", hint="see whence fleet status")
    place = where / FOLDER / _folder_name(repository, archive, rows)
    reused = (place / COMPLETE).is_file()
    if not reused:
        _write_files(fleet, repository, rows, place)
    index, warnings = _open_index(fleet, repository, place / "tree", where, progress)
    _delete_outdated(place, where, now)
    with index:
        yield FleetCheckout(repository, index, reused, warnings)


def _resolve(fleet: Fleet, name: str) -> Repository:
    """The visible repository with a name or pattern."""
    found = [one for one in fleet.repositories() if one.name == name] or fleet.repositories(name)
    if len(found) > 1:
        raise UsageError(f"{name!r} matches {len(found)} repositories", hint=f"for instance {found[0].name}")
    if not found:
        raise UsageError(f"there is no repository {name!r} that you may see", hint="whence fleet list shows them")
    return found[0]


def _file_rows(fleet: Fleet, name: str) -> list[Row]:
    """The first row of each file of a repository."""
    which = visible_rows(fleet.caller) & equals("repo", name) & equals("part", 0)
    rows = fleet.engine.rows("files", which, ("file", "repo", "groups", "path", "hash"))
    own = (row for row in rows if may_see(fleet.caller, row) and row["repo"] == name and row["file"] == file_key(name, row["path"]))
    return sorted(own, key=lambda row: str(row["path"]))


def _folder_name(repository: Repository, archive: FleetArchive | None, rows: Iterable[Row]) -> str:
    """A readable name that changes with any change of the repository."""
    state = hashlib.blake2s(digest_size=8)
    for part in (archive.digest if archive else "", *(f"{row['path']}\0{row['hash']}" for row in rows)):
        state.update(part.encode("utf-8", "surrogatepass") + b"\n")
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", repository.name)[-40:].strip("-.") or "repository"
    own = hashlib.blake2s(repository.name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{plain}-{own}-{state.hexdigest()}"  # up to the last dash the same for all copies of a repository, and for no other


def _write_files(fleet: Fleet, repository: Repository, rows: list[Row], place: Path) -> None:
    """Write the texts of all files to a new folder, which is renamed when it is complete."""
    try:
        place.parent.mkdir(0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="part-", dir=place.parent, ignore_cleanup_errors=True) as scratch:
            made = Path(scratch) / "made"
            (made / "tree").mkdir(0o700, parents=True)
            for at in range(0, len(rows), BATCH):
                some = {row["file"]: row["path"] for row in rows[at : at + BATCH] if is_safe_path(row["path"])}
                for key, (text, _) in fleet.texts(dict.fromkeys(some, repository.name)).items():
                    _write(made / "tree" / some[key], text)
            (made / COMPLETE).touch(0o600)
            with suppress(OSError):  # another process was faster, with the same result
                made.rename(place)
        if not (place / COMPLETE).is_file():  # a copy that was interrupted
            shutil.rmtree(place, ignore_errors=True)
            raise StorageError(f"cannot create {place}", hint="try again")
    except OSError as error:
        hint = "free some space, or set WHENCE_DATA_DIR to another folder"
        raise StorageError(f"cannot write to {place.parent}: {error.strerror or error}", hint=hint) from error


def is_safe_path(path: str) -> bool:
    """Whether a path stays inside its folder and outside of `.git`."""
    steps = path.split("/")
    if not path or "\\" in path or any(ord(letter) < 32 for letter in path):
        return False
    return not any(step in ("", ".", "..") or step.casefold().rstrip(" .") == ".git" for step in steps)


def _write(file: Path, text: str) -> None:
    """Write a new file. One whose name clashes with another on this file system is skipped."""
    with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
        file.parent.mkdir(0o700, parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", errors="surrogateescape", newline="") as into:
            into.write(text)


def _open_index(fleet: Fleet, repository: Repository, tree: Path, where: Path, progress: Progress | None) -> tuple[Index, tuple[str, ...]]:
    """Open the index of a copy, starting from the archive if there is no index yet; also returns warnings."""
    layout = Layout(where, tree.resolve())
    exists = layout.exists() and layout.database.stat().st_size
    fetched = None if exists else fetch_archive(fleet.engine, repository.name, fleet.caller)
    if fetched is None:
        return Index.open(tree, data_dir=where, progress=progress), ()
    archive, raw = fetched
    try:
        with TemporaryDirectory(prefix="part-", dir=tree.parent.parent, ignore_cleanup_errors=True) as scratch:
            file = Path(scratch) / "pack"
            file.write_bytes(raw)
            made_with = load_settings(layout.root)[0].index_fingerprint()
            with unpack_archive(file, layout, made_with, archive.digest) as (_, reusable):
                return Index.open(tree, data_dir=where, progress=progress, reuse=reusable), ()
    except ArchiveRefused as refused:
        reason = refused.message.replace(str(tree.parent.parent), "").rpartition("/pack ")[2]
        return Index.open(tree, data_dir=where, progress=progress), (f"the index archive of {repository.name} is not used: it {reason}",)


def _delete_outdated(place: Path, where: Path, now: float) -> None:
    """Delete earlier copies of the same repository with their indexes, and unfinished copies."""
    own = place.name.rpartition("-")[0]
    for other in place.parent.iterdir():
        with suppress(OSError):
            unfinished = other.name.startswith("part-") and now - other.stat().st_mtime > MAX_AGE
            if unfinished or (other != place and other.name.rpartition("-")[0] == own):
                shutil.rmtree(Layout(where, (other / "tree").resolve()).directory, ignore_errors=True)
                shutil.rmtree(other, ignore_errors=True)
