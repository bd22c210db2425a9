"""`whence clear`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from whence.serve.cli.shared import json_option, print_json, safe, targets_of


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--all", "everything", is_flag=True, help="Remove the indexes of all repositories.")
@json_option
def clear(paths: tuple[str, ...], everything: bool, as_json: bool) -> int:
    """Remove an index. Source files are never touched.

    The next search builds it again.
    """
    from whence.index.layout import default_data_dir  # noqa: PLC0415

    if everything:
        folder = default_data_dir(dict(os.environ), Path.home()) / "indexes"
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        removed = [str(path) for path in found if _remove(path)]
    else:
        removed = [str(path) for target in targets_of(paths) if (path := remove_index(target.root))]
    if as_json:
        print_json({"removed": removed})
    else:
        for name in removed:
            click.echo(f"removed {safe(name)}")
        if not removed:
            click.echo("no index to remove")
    return 0


def remove_index(root: Path) -> Path | None:
    """Remove the index of one root, unless another process is writing it."""
    from whence.index.layout import Layout, default_data_dir  # noqa: PLC0415

    layout = Layout(default_data_dir(dict(os.environ), Path.home()), root)
    if not layout.directory.is_dir():
        return None
    with layout.writing(wait=0):
        return layout.directory if _remove(layout.directory) else None


def _remove(path: Path) -> bool:
    shutil.rmtree(path)
    return not path.exists()
