"""Arguments that the commands of all front ends take: paths, the roots they belong to, and settings for one call."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from whence.app.presenters.text import safe
from whence.core.errors import RootError, SettingError, UnlikelyRoot


def complete_setting(_context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Names of settings, for a shell; those of an option with the sign that a value follows."""
    from whence.core.settings import merge  # noqa: PLC0415

    sign = "=" if isinstance(parameter, click.Option) else ""
    return [f"{one.name}{sign}" for one in merge([])[1] if one.name.startswith(begun)]


set_option = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a setting for this call (whence config lists them).",
    shell_complete=complete_setting,
)


@dataclass(frozen=True, slots=True)
class Target:
    """A root to open, and the paths below it to look at (none: all of it)."""

    root: Path
    paths: tuple[str, ...] = ()


def targets_of(paths: tuple[str, ...]) -> list[Target]:
    """The roots that some paths belong to, each with the paths in it."""
    found: dict[Path, list[str]] = {}
    for path in paths or (".",):
        try:
            place = Path(path).expanduser().resolve(strict=True)
        except FileNotFoundError as error:
            raise RootError(f"{safe(path)}: no such file or folder") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise RootError(f"{path!r}: cannot be opened: {error}") from error
        folder = place if place.is_dir() else place.parent
        root = _root_around(folder)
        found.setdefault(root, []).append(place.relative_to(root).as_posix())
    return [Target(root, () if "." in below else tuple(below)) for root, below in found.items()]


def target_of(paths: tuple[str, ...]) -> Target:
    """The one root that some paths belong to."""
    found = targets_of(paths)
    if len(found) > 1:
        raise RootError(f"{safe(paths[0])} and others are of several repositories", hint="ask one at a time")
    return found[0]


def _root_around(folder: Path) -> Path:
    """The repository around a folder; without git the nearest folder that has an index, else the current one if it is around it."""
    from whence.core.settings import default_data_dir  # noqa: PLC0415
    from whence.index.layout import Layout  # noqa: PLC0415
    from whence.source.git import repository_root  # noqa: PLC0415

    if (repository := repository_root(folder)) is not None:
        return repository
    data = default_data_dir(os.environ, Path.home())
    likely = [place for place in (folder, *folder.parents) if place == folder or not _is_no_project(place)]
    here = Path.cwd().resolve()
    return next((place for place in likely if Layout(data, place).exists()), here if here in likely else folder)


def _is_no_project(folder: Path) -> bool:
    """Whether a folder holds all of somebody's files: `/`, a home folder or one around it, a folder for temporary files."""
    shared = (Path.home(), Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))  # noqa: S108  -- nothing is written there
    return any(place.resolve() == folder for place in shared) or Path.home().resolve().is_relative_to(folder)


def require_project(root: Path, values: Mapping[str, str]) -> None:
    """Refuse a first index of what is plainly no project, until that is confirmed by the setting `index.confirm_above`."""
    from whence.core.settings import default_data_dir, load_settings  # noqa: PLC0415
    from whence.index.layout import Layout  # noqa: PLC0415
    from whence.source.git import repository_root  # noqa: PLC0415

    if Layout(default_data_dir(os.environ, Path.home()), root).exists():
        return
    most = load_settings(root, command_line=values)[0].index.confirm_above
    if not most:
        return
    hint = "name a folder in it, or confirm with --set index.confirm_above=0"
    if _is_no_project(root):
        raise UnlikelyRoot(f"{safe(str(root))} is no project", hint=hint)
    if repository_root(root) is None and _has_more_files(root, most):
        raise UnlikelyRoot(f"{safe(str(root))} has more than {most:,} files and is no git repository", hint=hint)


def _has_more_files(root: Path, most: int) -> bool:
    from whence.source.ignore import NEVER_SOURCE  # noqa: PLC0415

    count = 0
    for _, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in NEVER_SOURCE and not name.startswith(".")]
        count += len(files)
        if count > most:
            return True
    return False


def settings_of(assignments: tuple[str, ...]) -> dict[str, str]:
    """`--set` as names with values."""
    values = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise SettingError(f"--set {assignment!r}: no value", hint="write NAME=VALUE")
        values[name.strip()] = value.strip()
    return values
