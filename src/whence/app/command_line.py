"""Arguments that the commands of all front ends take: paths, and settings for one call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from whence.app.presenters.text import safe
from whence.core.errors import RootError, SettingError

set_option = click.option(
    "--set", "assignments", multiple=True, metavar="NAME=VALUE", help="Change a setting for this call (whence config lists them)."
)


@dataclass(frozen=True, slots=True)
class Target:
    """A root to open, and the paths below it to look at (none: all of it)."""

    root: Path
    paths: tuple[str, ...] = ()


def targets_of(paths: tuple[str, ...]) -> list[Target]:
    """The roots that some paths belong to: the repository around each, or the folder itself."""
    from whence.source.git import repository_root  # noqa: PLC0415

    found: dict[Path, list[str]] = {}
    for path in paths or (".",):
        try:
            place = Path(path).expanduser().resolve(strict=True)
        except FileNotFoundError as error:
            raise RootError(f"{safe(path)}: no such file or folder") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise RootError(f"{path!r}: cannot be opened: {error}") from error
        folder = place if place.is_dir() else place.parent
        root = repository_root(folder) or folder
        found.setdefault(root, []).append(place.relative_to(root).as_posix())
    return [Target(root, () if "." in below else tuple(below)) for root, below in found.items()]


def settings_of(assignments: tuple[str, ...]) -> dict[str, str]:
    """`--set` as names with values."""
    values = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise SettingError(f"--set {assignment!r}: no value", hint="write NAME=VALUE")
        values[name.strip()] = value.strip()
    return values
