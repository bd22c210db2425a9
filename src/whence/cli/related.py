"""`whence related`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.app.presenters.text import safe
from whence.cli.main import FOUND, NOTHING_FOUND
from whence.cli.options import request_options
from whence.cli.search import print_answer
from whence.cli.shared import color_option, json_option, open_indexes, say_notes
from whence.core.errors import UsageError
from whence.core.request import pick_fields
from whence.search.request import SearchRequest

_FILTERS = ("k", "include", "exclude", "languages", "kinds", "content")
_PLACE = re.compile(r"^(?P<path>.+):(?P<line>\d+)$")


@click.command(
    epilog="""\b
Examples:
  whence related src/shop/session.py:40
  whence related src/shop/session.py:40 --lang python --kind function -k 5"""
)
@click.argument("place", metavar="FILE:LINE")
@request_options(
    SearchRequest,
    only=_FILTERS,
    help_of={
        "k": "How many units (default: setting search.k).",
        "include": "Only in files that match.",
        "exclude": "Not in files that match.",
        "languages": "Only in files of a language.",
    },
)
@click.option("--why", "with_why", is_flag=True, help="Show what each score is made of.")
@click.option("--no-refresh", is_flag=True, help="Do not refresh the index first.")
@json_option
@color_option
@set_option
def related(place: str, **options: Any) -> int:
    """Show code similar to the code at FILE:LINE.

    Similar code has nearby vectors and shares rare words.
    """
    found = _PLACE.match(place)
    if found is None:
        raise UsageError(f"{safe(place)!r} names no line", hint="write FILE:LINE, for instance src/app.py:40")
    target = targets_of((found["path"],))[0]
    if not target.paths or Path(target.root, target.paths[0]).is_dir():
        raise UsageError(f"{safe(found['path'])} is a folder", hint="write FILE:LINE, for instance src/app.py:40")
    filters = pick_fields(SearchRequest, options)
    SearchRequest(**filters)  # refused before an index is opened
    with open_indexes([target], refresh=not options["no_refresh"], values=settings_of(options["assignments"])) as (index,):
        say_notes([index])
        results = index.related(target.paths[0], int(found["line"]), **filters)
        print_answer(place, [index], [(index, result) for result in results], options)
    return FOUND if results else NOTHING_FOUND
