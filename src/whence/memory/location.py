"""Where notes lie: in the user's data folder, in a repository for its team, or where a setting says. Loads next to nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from whence.core.errors import SettingError, UsageError
from whence.core.settings import PROJECT_FILE, Setting
from whence.core.settings_schema import Settings
from whence.text.slugs import is_valid_name

#: Where a team's notes lie in its repository.
TEAM_FOLDER = Path(".whence", "notes")
_OWN_FOLDER = Path("whence", "notes")


def notes_directory(
    settings: Settings, provenance: Sequence[Setting], root: Path | None, environment: Mapping[str, str], home: Path
) -> Path:
    """The folder of notes that settings ask for; `root` is the repository one is in."""
    chosen = settings.memory
    if chosen.directory:
        source = next(one.source for one in provenance if one.name == "memory.directory")
        if source.endswith(PROJECT_FILE):  # whoever writes a repository may not say where a user's files go
            raise SettingError(f"{source}: a project may not set memory.directory", hint="it may set memory.place")
        return Path(chosen.directory).expanduser().absolute()
    if chosen.place == "repository":
        if root is None:
            raise UsageError("there is no repository here whose notes could be meant", hint="run it in the repository")
        return root / TEAM_FOLDER
    if own := environment.get("WHENCE_DATA_DIR"):
        return Path(own).expanduser().absolute() / TEAM_FOLDER.name
    data = environment.get("XDG_DATA_HOME")
    return (Path(data) if data else home / ".local" / "share") / _OWN_FOLDER


def is_team_folder(directory: Path, root: Path) -> bool:
    """Whether a folder of notes is that of a repository's team: its notes speak of code below its own root."""
    return directory.resolve() == (root / TEAM_FOLDER).resolve()


ENDING = ".md"


def looks_like_one(name: str) -> bool:
    """Whether a file looks like a note to whoever sees the folder."""
    return name.endswith(ENDING) and not name.startswith(".")


def is_note_name(name: str) -> bool:
    """Whether a file is named as a note is."""
    return name.endswith(ENDING) and is_valid_name(name.removesuffix(ENDING))


def check_names(*names: str) -> None:
    """Refuse names that no note or folder can have."""
    for name in names:
        if not is_valid_name(name):
            raise UsageError(f"{name[:80]!r} cannot be the name of a note or a folder")


def parts_of(key: str) -> tuple[str, str]:
    """The folder and the slug of a key."""
    folder, _, slug = key.partition("/")
    if not (is_valid_name(folder) and is_valid_name(slug)):
        raise UsageError(f"{key[:80]!r} is no key of a note", hint="write folder/name, as it is shown")
    return folder, slug
