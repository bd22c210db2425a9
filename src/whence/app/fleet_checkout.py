"""A repository of the fleet as a folder of this machine, with an index that can be asked all that an index can (Z8).

Its texts are laid out as files, and the index begins with the portable one of the engine, each part of which is compared
with its hash and looked through first. What the engine holds may have been written by others: no path leads out of the
folder, and none to where git keeps what it runs. A folder is kept until the repository is another.
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
from whence.fleet.access import Caller, may_see, visible_rows
from whence.fleet.archives import FleetArchive, archive_info, fetch_archive
from whence.fleet.milvus.engine import Engine, Row
from whence.fleet.milvus.filters import equals
from whence.fleet.registry import Repository
from whence.fleet.rows import file_key
from whence.fleet.search import Fleet
from whence.fleet.texts import fetch_texts
from whence.index.archive_import import unpack_archive
from whence.index.layout import Layout
from whence.index.writer import Progress

#: Where folders lie, below the folder of all indexes, and what says that one is whole.
FOLDER, WHOLE = "fleet-context", "whole"
#: Texts that are asked for at once.
AT_ONCE = 200
#: Seconds after which a folder that was begun and never finished is removed.
OLD = 3_600


@dataclass(frozen=True, slots=True)
class FleetCheckout:
    """A repository that lies here."""

    repository: Repository
    index: Index
    reused: bool  # whether it lay here already
    warnings: tuple[str, ...] = ()  # what a user should know of how it came here


@contextmanager
def open_checkout(fleet: Fleet, name: str, where: Path, *, now: float, progress: Progress | None = None) -> Iterator[FleetCheckout]:
    """The index of one repository that the caller may see, opened; kept in the folder of all indexes."""
    repository = _one(fleet, name)
    portable = archive_info(fleet.engine, repository.name, fleet.caller)
    rows = _files(fleet.engine, fleet.caller, repository.name)
    if not rows:
        raise FleetError(f"nothing of {repository.name} is in the fleet yet", hint="whence fleet status says what became of it")
    place = where / FOLDER / _named(repository, portable, rows)
    reused = (place / WHOLE).is_file()
    if not reused:
        _lay_out(fleet.engine, fleet.caller, repository, rows, place)
    index, said = _opened(fleet, repository, place / "tree", where, progress)
    _forget_others(place, where, now)
    with index:
        yield FleetCheckout(repository, index, reused, said)


def _one(fleet: Fleet, name: str) -> Repository:
    """The repository of a name. One that the caller may not see is none."""
    found = [one for one in fleet.repositories() if one.name == name] or fleet.repositories(name)
    if len(found) > 1:
        raise UsageError(f"{name!r} means {len(found)} repositories", hint=f"for instance {found[0].name}")
    if not found:
        raise UsageError(f"there is no repository {name!r} that you may see", hint="whence search --fleet says which there are")
    return found[0]


def _files(engine: Engine, caller: Caller, name: str) -> list[Row]:
    """The first row of each file of a repository."""
    which = visible_rows(caller) & equals("repo", name) & equals("part", 0)
    rows = engine.rows("files", which, ("file", "repo", "groups", "path", "hash"))
    mine = (row for row in rows if may_see(caller, row) and row["repo"] == name and row["file"] == file_key(name, row["path"]))
    return sorted(mine, key=lambda row: str(row["path"]))


def _named(repository: Repository, portable: FleetArchive | None, rows: Iterable[Row]) -> str:
    """A name that is another one when anything of the repository is: for people, and told apart by all that it holds."""
    state = hashlib.blake2s(digest_size=8)
    for part in (portable.digest if portable else "", *(f"{row['path']}\0{row['hash']}" for row in rows)):
        state.update(part.encode("utf-8", "surrogatepass") + b"\n")
    return f"{_own(repository.name)}-{state.hexdigest()}"


def _own(name: str) -> str:
    """What all folders of one repository begin with, and those of no other."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[-40:].strip("-.") or "repository"
    return f"{plain}-{hashlib.blake2s(name.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _lay_out(engine: Engine, caller: Caller, repository: Repository, rows: list[Row], place: Path) -> None:
    """Write the texts of all files to a new folder, which gets its name when it is whole."""
    try:
        place.parent.mkdir(0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="part-", dir=place.parent, ignore_cleanup_errors=True) as scratch:
            made = Path(scratch) / "made"
            (made / "tree").mkdir(0o700, parents=True)
            for at in range(0, len(rows), AT_ONCE):
                some = {row["file"]: row["path"] for row in rows[at : at + AT_ONCE] if lies_inside(row["path"])}
                for key, (text, _) in fetch_texts(engine, caller, dict.fromkeys(some, repository.name)).items():
                    _write(made / "tree" / some[key], text)
            (made / WHOLE).touch(0o600)
            with suppress(OSError):  # another process was quicker: what it made is the same
                made.rename(place)
        if not (place / WHOLE).is_file():  # one that was cut off in the middle
            shutil.rmtree(place, ignore_errors=True)
            raise StorageError(f"{place} cannot be made", hint="try again")
    except OSError as error:
        hint = "free some space, or set WHENCE_DATA_DIR to another folder"
        raise StorageError(f"cannot write to {place.parent}: {error.strerror or error}", hint=hint) from error


def lies_inside(path: str) -> bool:
    """Whether a path is that of a file below a folder, and none of git's own."""
    steps = path.split("/")
    if not path or "\\" in path or any(ord(letter) < 32 for letter in path):
        return False
    return not any(step in ("", ".", "..") or step.casefold().rstrip(" .") == ".git" for step in steps)


def _write(file: Path, text: str) -> None:
    """Write a file that is not there; one whose name cannot be had here is left out, the others come."""
    with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
        file.parent.mkdir(0o700, parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", errors="surrogateescape", newline="") as into:
            into.write(text)


def _opened(fleet: Fleet, repository: Repository, tree: Path, where: Path, progress: Progress | None) -> tuple[Index, tuple[str, ...]]:
    """The index of a folder that was laid out: one that is there, else one that begins with the portable index."""
    layout = Layout(where, tree.resolve())
    known = layout.exists() and layout.database.stat().st_size
    pack = None if known else fetch_archive(fleet.engine, repository.name, fleet.caller)
    if pack is None:
        return Index.open(tree, data_dir=where, progress=progress), ()
    portable, raw = pack
    try:
        with TemporaryDirectory(prefix="part-", dir=tree.parent.parent, ignore_cleanup_errors=True) as scratch:
            file = Path(scratch) / "pack"
            file.write_bytes(raw)
            made_with = load_settings(layout.root)[0].index_fingerprint()
            with unpack_archive(file, layout, made_with, portable.digest) as (_, estate):
                return Index.open(tree, data_dir=where, progress=progress, reuse=estate), ()
    except ArchiveRefused as refused:
        said = refused.message.replace(str(tree.parent.parent), "").rpartition("/pack ")[2]
        return Index.open(tree, data_dir=where, progress=progress), (f"the portable index of {repository.name} is not used: it {said}",)


def _forget_others(place: Path, where: Path, now: float) -> None:
    """Remove folders of the same repository as it was before, their indexes, and what was begun and never finished."""
    own = place.name.rpartition("-")[0]
    for other in place.parent.iterdir():
        with suppress(OSError):
            left = other.name.startswith("part-") and now - other.stat().st_mtime > OLD
            if left or (other != place and other.name.rpartition("-")[0] == own):
                shutil.rmtree(Layout(where, (other / "tree").resolve()).directory, ignore_errors=True)
                shutil.rmtree(other, ignore_errors=True)
