"""Changes, written: beside and then renamed, with the rights the file had; all files of an agent or none."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from whence.errors import StorageError, WhenceError
from whence.memory.disk import part_file, remove_empty
from whence.serve.install import record as records
from whence.serve.install.changes import Change, current


def write(changes: Sequence[Change], folder: Path) -> None:
    """Make changes, and remember them in a folder of records; when one cannot be made, those before it are taken back."""
    done: list[Change] = []
    try:
        for change in changes:
            if current(change.real) != change.before:
                raise StorageError(f"{change.path} was changed meanwhile; nothing was written", hint="run it again")
            made = _missing_folders(change.real.parent)
            done.append(change)
            _put(change.real, change.after)
            _remember(replace(change, folders=tuple(dict.fromkeys((*change.folders, *made)))), folder)
        emptied = {one for change in done if change.after is None for one in change.folders}
        remove_empty(*sorted(emptied, key=lambda one: len(one.parts), reverse=True))
    except (OSError, WhenceError) as error:
        for change in reversed(done):
            with suppress(OSError, WhenceError):
                _put(change.real, change.before)
                records.forget(folder, change.real)
        if isinstance(error, WhenceError):
            raise
        raise StorageError(f"cannot write {error.filename or ''}: {error.strerror or error}; nothing was changed") from error


def _remember(change: Change, folder: Path) -> None:
    kept = change.record if change.undo or change.created else None
    if kept is not None:
        records.save(folder, kept)
    else:
        records.forget(folder, change.real)


def _put(path: Path, data: bytes | None) -> None:
    """Have bytes in a file, or no file."""
    if data is None:
        with suppress(FileNotFoundError):
            path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with part_file(path.parent, data) as part:
        try:
            facts = path.stat()
        except FileNotFoundError:
            part.chmod(0o666 & ~_umask())
        else:
            part.chmod(stat.S_IMODE(facts.st_mode))
            if (facts.st_uid, facts.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(OSError):  # who may not give it away keeps it
                    os.chown(part, facts.st_uid, facts.st_gid)
        part.replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _missing_folders(place: Path) -> list[Path]:
    """The folders that have to be made for a file, outermost first."""
    missing: list[Path] = []
    while not place.exists() and place.parent != place:
        missing.append(place)
        place = place.parent
    return missing[::-1]
