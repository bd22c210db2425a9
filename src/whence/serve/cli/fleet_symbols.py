"""`whence fleet symbols`: a name across repositories."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from whence.serve.cli.main import FOUND, NOTHING_FOUND
from whence.serve.cli.shared import color_option, json_option, print_json, safe, set_option, settings_of, styler

if TYPE_CHECKING:
    from whence.fleet.symbols import Definition, Symbols

#: Files of one repository that are listed below a definition.
MOST_LISTED = 5
_BY = {"imports": "imported by", "mentions": "mentioned by"}


@click.command()
@click.argument("name")
@json_option
@color_option
@set_option
def symbols(name: str, **options: Any) -> int:
    """Say where NAME is defined, and which other files import or mention it.

    A use is led to definitions by the words of its import statement alone: a
    first step, which says what may be meant. Nothing is said of repositories
    that you may not see.
    """
    from whence.fleet.searching import Fleet  # noqa: PLC0415
    from whence.fleet.symbols import symbols_of  # noqa: PLC0415

    with Fleet.open(command_line=settings_of(options["assignments"])) as fleet:
        found = symbols_of(fleet, name)
    if options["as_json"]:
        print_json(asdict(found))
    else:
        _print(found, styler(options["color"]))
    return FOUND if found.definitions else NOTHING_FOUND


def _print(found: Symbols, style: Any) -> None:
    for one in found.definitions:
        where = style(safe(f"{one.repository}/{one.path}"), fg="magenta", bold=True)
        click.echo(f"{where}:{one.line}  {one.kind} {style(safe(found.name), bold=True)}", color=True)
        for line in _uses(found, one):
            click.echo(f"   {safe(line)}")
    defined = f"{len(found.definitions)} definition{'' if len(found.definitions) == 1 else 's'}"
    click.echo(style(f"{defined}, {len(found.uses)} files that use the name, of {found.files} looked at", dim=True), color=True)


def _uses(found: Symbols, of: Definition) -> list[str]:
    """The files that may mean a definition, by repository; what else they may mean is counted."""
    lines: list[str] = []
    for repository in dict.fromkeys(one.repository for one in found.uses):
        mine = [one for one in found.uses if one.repository == repository and of in one.means]
        for one in mine[:MOST_LISTED]:
            others = f" (or {len(one.means) - 1} more of that name)" if len(one.means) > 1 else ""
            lines.append(f"{_BY[one.how]} {repository}/{one.path}{f': {one.statement}' if one.statement else ''}{others}")
        if len(mine) > MOST_LISTED:
            lines.append(f"and {len(mine) - MOST_LISTED} more files of {repository}")
    return lines
