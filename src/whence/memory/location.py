"""Which folder holds the notes: the user's own, the repository's, or a configured one. Imports next to nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from whence.core.errors import SettingError, UsageError
from whence.core.settings import PROJECT_FILE, Setting
from whence.core.settings_schema import Settings

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
