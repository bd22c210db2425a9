"""`whence index`."""

from __future__ import annotations

import time
from typing import Any

import click

from whence.serve.cli.shared import (
    freshness_json,
    freshness_words,
    json_option,
    open_indexes,
    print_json,
    safe,
    say_notes,
    set_option,
    settings_of,
    targets_of,
)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--force", is_flag=True, help="Build from nothing, whatever is there.")
@json_option
@set_option
def index(paths: tuple[str, ...], force: bool, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Build or refresh the index of a repository.

    Searching does this by itself; use it to do the work beforehand.
    """
    from whence.serve.cli.clear import remove_index  # noqa: PLC0415

    targets = targets_of(paths)
    if force:
        for target in targets:
            remove_index(target.root)
    began = time.monotonic()
    values = {"index.verify_after": "0"} | ({"index.adopt": "false"} if force else {})  # asked for by name: nothing is taken on trust
    with open_indexes(targets, refresh=True, values=values | settings_of(assignments)) as opened:
        graphs = [one.graph for one in opened]  # made now, so that the first question does not wait for it
        seconds = time.monotonic() - began
        say_notes(opened)
        done: list[dict[str, Any]] = []
        for one, graph in zip(opened, graphs, strict=True):
            did, snapshot = one.refreshed, one.snapshot
            done.append(
                {
                    "root": str(one.root),
                    "files": snapshot.live_files,
                    "units": snapshot.live_units,
                    "edges": len(graph.source),
                    "read": did.read,
                    "touched": did.touched,
                    "adopted": did.adopted,
                    "deleted": did.deleted,
                    "bytes_read": did.bytes,
                    "freshness": freshness_json(one.freshness),
                }
            )
            if not as_json:
                known = f", {did.adopted} known from elsewhere or before" if did.adopted else ""
                held = f"{snapshot.live_files} files, {snapshot.live_units} units, {len(graph.source)} edges"
                click.echo(f"{safe(str(one.root))}: {held}; {did.read} read{known}, {did.deleted} gone, {seconds:.1f} s")
                click.echo(freshness_words(one.freshness, time.time()))
        if as_json:
            print_json({"indexes": done, "seconds": round(seconds, 3)})
    return 0
