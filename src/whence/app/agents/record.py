"""Records of what was written into each file, so that it can be undone exactly.

They lie in the user's data folder and hold what we inserted, and of the user's text only what we replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whence.app.agents.json_edits import Scaffold
from whence.app.agents.text_edits import Splice
from whence.storage.files import make_private_folder, part_file, storage_errors

FORMAT = 1


@dataclass(frozen=True, slots=True)
class InstallRecord:
    """What was done to a file."""

    path: Path
    after: str  # hash of the file as we left it
    created: bool = False
    undo: tuple[Splice, ...] = ()
    scaffolds: Mapping[str, Scaffold] = field(default_factory=dict)  # by the names of parts
    folders: tuple[Path, ...] = ()  # created for it, outermost first


def digest(data: bytes) -> str:
    """The hash of a file's content."""
    return hashlib.sha256(data).hexdigest()


def records_folder(environment: Mapping[str, str], home: Path) -> Path:
    """The folder of records: beside the user's notes, not in the cache."""
    if own := environment.get("WHENCE_DATA_DIR"):
        return Path(own).expanduser().absolute() / "installed"
    return Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "whence" / "installed"


def load(folder: Path, path: Path) -> InstallRecord | None:
    """The record of a file; None if there is none or it cannot be read."""
    try:
        stored = json.loads(_place(folder, path).read_bytes())
        return _decode(stored) if stored["format"] == FORMAT and stored["path"] == os.fspath(path) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save(folder: Path, record: InstallRecord) -> None:
    """Write the record of a file."""
    place = _place(folder, record.path)
    with storage_errors("write", str(place)):
        make_private_folder(folder)
        with part_file(folder, json.dumps(_encode(record), indent=1).encode()) as part:
            part.replace(place)


def forget(folder: Path, path: Path) -> None:
    """Delete the record of a file, and the folder if it was the last."""
    with suppress(OSError):
        _place(folder, path).unlink()
    with suppress(OSError):
        folder.rmdir()


def _place(folder: Path, path: Path) -> Path:
    return folder / f"{digest(os.fsencode(path))[:32]}.json"


def _encode(record: InstallRecord) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "path": os.fspath(record.path),
        "after": record.after,
        "created": record.created,
        "undo": [[one.at, one.removed, one.inserted] for one in record.undo],
        "made": {name: {"containers": one.containers, "inside": one.blank} for name, one in record.scaffolds.items()},
        "folders": [os.fspath(one) for one in record.folders],
    }


def _decode(stored: dict[str, Any]) -> InstallRecord:
    return InstallRecord(
        path=Path(stored["path"]),
        after=stored["after"],
        created=stored["created"],
        undo=tuple(Splice(at, removed, inserted) for at, removed, inserted in stored["undo"]),
        scaffolds={name: Scaffold(tuple(map(tuple, one["containers"])), one["inside"]) for name, one in stored["made"].items()},
        folders=tuple(map(Path, stored["folders"])),
    )
