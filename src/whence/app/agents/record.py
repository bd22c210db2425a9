"""What was done to each file, so that it can be taken back: what was put where, and what the file was after that.

A record lies in the user's data folder. It holds what we put in, and of the user's text only what was in the way of that.
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

from whence.app.agents.json_text import Made
from whence.app.agents.splices import Splice
from whence.storage.files import make_folder, part_file, telling

FORMAT = 1


@dataclass(frozen=True, slots=True)
class InstallRecord:
    """What was done to a file."""

    path: Path
    after: str  # the hash of the file as we left it
    created: bool = False
    undo: tuple[Splice, ...] = ()
    made: Mapping[str, Made] = field(default_factory=dict)  # by the names of parts
    folders: tuple[Path, ...] = ()  # that were made for it, outermost first


def digest(data: bytes) -> str:
    """What tells a file from any other."""
    return hashlib.sha256(data).hexdigest()


def records_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Where records lie: beside the user's notes, for they must outlive a cache."""
    if own := environment.get("WHENCE_DATA_DIR"):
        return Path(own).expanduser().absolute() / "installed"
    return Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "whence" / "installed"


def load(folder: Path, path: Path) -> InstallRecord | None:
    """What was done to a file; None where that is not known, or cannot be read."""
    try:
        found = json.loads(_place(folder, path).read_bytes())
        return _record(found) if found["format"] == FORMAT and found["path"] == os.fspath(path) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save(folder: Path, record: InstallRecord) -> None:
    """Remember what was done to a file."""
    place = _place(folder, record.path)
    with telling("write", str(place)):
        make_folder(folder)
        with part_file(folder, json.dumps(_written(record), indent=1).encode()) as part:
            part.replace(place)


def forget(folder: Path, path: Path) -> None:
    """Nothing is done to a file any more."""
    with suppress(OSError):
        _place(folder, path).unlink()
    with suppress(OSError):
        folder.rmdir()


def _place(folder: Path, path: Path) -> Path:
    return folder / f"{digest(os.fsencode(path))[:32]}.json"


def _written(record: InstallRecord) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "path": os.fspath(record.path),
        "after": record.after,
        "created": record.created,
        "undo": [[one.at, one.removed, one.inserted] for one in record.undo],
        "made": {name: {"containers": one.containers, "inside": one.inside} for name, one in record.made.items()},
        "folders": [os.fspath(one) for one in record.folders],
    }


def _record(found: dict[str, Any]) -> InstallRecord:
    return InstallRecord(
        path=Path(found["path"]),
        after=found["after"],
        created=found["created"],
        undo=tuple(Splice(at, removed, inserted) for at, removed, inserted in found["undo"]),
        made={name: Made(tuple(map(tuple, one["containers"])), one["inside"]) for name, one in found["made"].items()},
        folders=tuple(map(Path, found["folders"])),
    )
