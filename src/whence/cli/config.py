"""`whence config`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.cli.output import print_item, print_json
from whence.cli.shared import color_option, json_option, styler
from whence.core.errors import UsageError

if TYPE_CHECKING:
    from whence.core.settings import Setting


@click.command()
@click.argument("prefix", required=False, default="")
@click.option("--path", "place", default=".", help="The repository (default: here).")
@click.option("--changed", is_flag=True, help="Only settings that differ from their default source.")
@json_option
@color_option
@set_option
def config(prefix: str, place: str, changed: bool, as_json: bool, color: str, assignments: tuple[str, ...]) -> int:
    """Print every setting, its value and where the value came from.

    PREFIX narrows the list: search, index.workers, profiles.default. Values come
    from the command line, WHENCE_* variables, .whence.toml in the repository,
    config.toml in the user's configuration folder, then the defaults.
    """
    from whence.core.settings import load_settings  # noqa: PLC0415

    root: Path = targets_of((place,))[0].root
    _, listed = load_settings(root, command_line=settings_of(assignments))
    shown = [one for one in listed if one.name.startswith(prefix) and (not changed or one.source != "default")]
    if not shown and prefix:
        raise UsageError(f"no setting begins with {prefix!r}", hint="whence config lists all")
    if as_json:
        print_json(
            [
                {
                    "name": one.name,
                    "value": one.value,
                    "source": one.source,
                    "variable": one.variable,
                    "allowed": one.allowed,
                    "doc": one.doc,
                }
                for one in shown
            ]
        )
    else:
        _print(shown, styler(color))
    return 0


def _print(shown: list[Setting], style: object) -> None:
    width = max((len(one.name) for one in shown), default=0)
    for one in shown:
        source = "" if one.source == "default" else f"  from {one.source}"
        print_item(
            f"{one.name:<{width}} = {_value(one.value):<10} {one.doc}{style(source, fg='yellow') if callable(style) else source}".rstrip()
        )


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
