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
@click.option("--learned", is_flag=True, help="Remove what was learned from use, too; that cannot be built again.")
@json_option
def clear(paths: tuple[str, ...], everything: bool, learned: bool, as_json: bool) -> int:
    """Remove an index. Source files are never touched.

    The next search builds it again. What was learned from use (whence feedback
    list) is no part of an index: it is kept, unless --learned is given.
    """
    from whence.index.layout import Layout, default_data_dir  # noqa: PLC0415
    from whence.learn.store import FILE_NAME  # noqa: PLC0415

    data_dir = default_data_dir(dict(os.environ), Path.home())
    if everything:
        folder = data_dir / "indexes"
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        removed = [str(path) for path in found if _remove(path, learned=learned)]
    else:
        roots = [target.root for target in targets_of(paths)]
        found = [Layout(data_dir, root).directory for root in roots]
        removed = [str(path) for root in roots if (path := remove_index(root, learned=learned))]
    kept = [str(path / FILE_NAME) for path in found if (path / FILE_NAME).exists()]
    if as_json:
        print_json({"removed": removed, "kept": kept})
        return 0
    for name in removed:
        click.echo(f"removed {safe(name)}")
    if not removed:
        click.echo("no index to remove")
    for name in kept:
        click.echo(f"kept {safe(name)}: what was learned from use (--learned removes that, too)")
    return 0


def remove_index(root: Path, *, learned: bool = False) -> Path | None:
    """Remove the index of one root, unless another process is writing it; what was learned only when asked to."""
    from whence.index.layout import Layout, default_data_dir  # noqa: PLC0415

    layout = Layout(default_data_dir(dict(os.environ), Path.home()), root)
    if not layout.directory.is_dir():
        return None
    with layout.writing(wait=0):
        return layout.directory if _remove(layout.directory, learned=learned) else None


def _remove(path: Path, *, learned: bool) -> bool:
    """Remove the folder of an index, or all of it but what was learned: whether there was anything to remove."""
    from whence.learn.store import FILE_NAME  # noqa: PLC0415

    if learned or not (path / FILE_NAME).exists():
        shutil.rmtree(path)
        return True
    there = False
    for one in sorted(path.iterdir()):
        if one.name.startswith(FILE_NAME):
            continue
        there = there or one.name.startswith("truth.db")
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    return there
