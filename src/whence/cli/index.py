"""`whence index` and `whence clear`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.app.presenters.text import freshness_json, freshness_words, safe
from whence.cli.output import print_item, print_json
from whence.cli.shared import json_option, open_indexes, say_notes


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--all", "everything", is_flag=True, help="Remove the indexes of all repositories.")
@click.option("--learned", is_flag=True, help="Also remove learned feedback, which cannot be rebuilt.")
@json_option
def clear(paths: tuple[str, ...], everything: bool, learned: bool, as_json: bool) -> int:
    """Remove an index. Source files are never touched.

    The next search rebuilds it. Learned feedback (whence feedback list) is kept
    unless --learned is given.
    """
    from whence.app.build_process import remove_index, remove_index_folder  # noqa: PLC0415
    from whence.context.feedback.store import FILE_NAME  # noqa: PLC0415
    from whence.index.layout import Layout, default_data_dir  # noqa: PLC0415

    data_dir = default_data_dir(dict(os.environ), Path.home())
    if everything:
        folder = data_dir / "indexes"
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        removed = [str(path) for path in found if remove_index_folder(path, learned=learned)]
    else:
        roots = [target.root for target in targets_of(paths)]
        found = [Layout(data_dir, root).directory for root in roots]
        removed = [str(path) for root in roots if (path := remove_index(root, learned=learned))]
    kept = [str(path / FILE_NAME) for path in found if (path / FILE_NAME).exists()]
    if as_json:
        print_json({"removed": removed, "kept": kept})
        return 0
    for name in removed:
        print_item(f"removed {safe(name)}")
    if not removed:
        print_item("no index to remove")
    for name in kept:
        print_item(f"kept {safe(name)}: what was learned from use (--learned removes that, too)")
    return 0


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--force", is_flag=True, help="Rebuild from scratch.")
@json_option
@set_option
def index(paths: tuple[str, ...], force: bool, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Build or refresh the index of a repository.

    Optional: searching does this automatically.
    """
    targets = targets_of(paths)
    if force:
        from whence.app.build_process import remove_index  # noqa: PLC0415

        for target in targets:
            remove_index(target.root)
    began = time.monotonic()
    values = {"index.verify_after": "0"} | ({"index.adopt": "false"} if force else {})  # asked for by name: nothing is taken on trust
    with open_indexes(targets, refresh=True, values=values | settings_of(assignments)) as opened:
        graphs = [one.open_graph() for one in opened]  # made now, so that the first question does not wait for it
        seconds = time.monotonic() - began
        say_notes(opened)
        done: list[dict[str, Any]] = []
        for one, graph in zip(opened, graphs, strict=True):
            did, snapshot = one.last_refresh, one.snapshot
            done.append(
                {
                    "root": str(one.root),
                    "files": snapshot.live_files,
                    "units": snapshot.live_units,
                    "edges": len(graph.source),
                    "read": did.read,
                    "touched": did.touched,
                    "adopted": did.reused,
                    "deleted": did.deleted,
                    "bytes_read": did.bytes,
                    "freshness": freshness_json(one.freshness),
                }
            )
            if not as_json:
                known = f", {did.reused} known from elsewhere or before" if did.reused else ""
                held = f"{snapshot.live_files} files, {snapshot.live_units} units, {len(graph.source)} edges"
                line = f"{safe(str(one.root))}: {held}; {did.read} read{known}, {did.deleted} gone, {seconds:.1f} s"
                print_item(line, freshness_words(one.freshness, time.time()))
        if as_json:
            print_json({"indexes": done, "seconds": round(seconds, 3)})
    return 0
