"""`whence model`: sentence encoders for a second look. The only command that downloads one."""

from __future__ import annotations

from typing import Any

import click

from whence.app.presenters.text import safe
from whence.cli.shared import FOUND, NOTHING_FOUND, json_option, print_item, print_json
from whence.core.errors import ModelUnavailable, UsageError


@click.group()
def model() -> None:
    """List, download and remove models for a second look."""


@model.command(name="list")
@json_option
def list_models(*, as_json: bool) -> int:
    """List the known models with their licences, and which are on this machine."""
    from whence.embed.hub import folder_size  # noqa: PLC0415  -- numpy
    from whence.embed.sentence import find_model, known_models  # noqa: PLC0415

    found: list[dict[str, Any]] = []
    for known in known_models().values():
        place = find_model(known.name)
        found.append({"name": known.name, "published": known.hub_id, "licence": known.licence, "path": str(place) if place else None})
        found[-1]["bytes"] = folder_size(place) if place else 0
    if as_json:
        print_json(found)
        return FOUND
    for one in found:
        here = f"{one['bytes'] / 1e6:.0f} MB, {one['path']}" if one["path"] else "not on this machine"
        print_item(f"{one['name']:<30} {one['licence']:<11} {safe(here)}")
    return FOUND


@model.command()
@click.argument("name")
def get(name: str) -> int:
    """Download a model: a known name, or a hub id.

    Files are compared with the checksums that the hub states.
    """
    from whence.embed.sentence import download_model, known_models  # noqa: PLC0415

    known = next((one for one in known_models().values() if name in (one.name, one.hub_id)), None)
    licence = known.licence if known else "stated on the page of the model"
    click.echo(f"{safe(known.hub_id if known else name)}: licence of the weights: {licence}", err=True)
    print_item(safe(str(download_model(name))))
    click.echo(f"to use it, set rerank.model = onnx:{safe(name)}", err=True)
    return FOUND


@model.command()
@click.argument("name")
def remove(name: str) -> int:
    """Remove the download of a model. A directory of your own is left alone."""
    from whence.embed.hub import remove_download  # noqa: PLC0415
    from whence.embed.sentence import hub_id_of  # noqa: PLC0415

    try:
        freed = remove_download(hub_id_of(name))
    except ModelUnavailable as error:
        raise UsageError(error.message, hint=error.hint) from error
    if not freed:
        click.echo(f"{safe(name)} was not downloaded", err=True)
        return NOTHING_FOUND
    print_item(f"removed {freed / 1e6:.0f} MB")
    return FOUND
