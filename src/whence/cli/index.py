"""`whence index`, `whence clear` and `whence pack`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from whence.app.build_process import remove_index, remove_index_folder
from whence.app.command_line import Target, set_option, settings_of, targets_of
from whence.app.presenters.text import freshness_json, freshness_words, safe
from whence.cli.shared import data_dir, json_option, layout_of, open_index, open_indexes, print_item, print_json, print_notes, print_result
from whence.context.feedback.store import FILE_NAME
from whence.core.errors import StorageError, UsageError
from whence.core.settings import load_settings
from whence.source import git

#: The file extension of packs.
SUFFIX = ".whence-pack"


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
    if everything:
        folder = data_dir() / "indexes"
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        removed = [str(path) for path in found if remove_index_folder(path, learned=learned)]
    else:
        roots = [target.root for target in targets_of(paths)]
        found = [layout_of(root).directory for root in roots]
        removed = [str(path) for root in roots if (path := remove_index(root, learned=learned))]
    kept = [str(path / FILE_NAME) for path in found if (path / FILE_NAME).exists()]
    lines = [f"removed {safe(name)}" for name in removed] or ["no index to remove"]
    lines += [f"kept {safe(name)}: what was learned from use (--learned removes that, too)" for name in kept]
    print_result(as_json, {"removed": removed, "kept": kept}, *lines)
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
        for target in targets:
            remove_index(target.root)
    began = time.monotonic()
    values = {"index.verify_after": "0"} | ({"index.adopt": "false"} if force else {})  # asked for by name: nothing is taken on trust
    with open_indexes(targets, values | settings_of(assignments)) as opened:
        graphs = [one.open_graph() for one in opened]  # made now, so that the first question does not wait for it
        seconds = time.monotonic() - began
        print_notes(opened)
        done: list[dict[str, Any]] = []
        for one, graph in zip(opened, graphs, strict=True):
            did, snapshot = one.last_refresh, one.snapshot
            held = {"files": snapshot.live_files, "units": snapshot.live_units, "edges": len(graph.source)}
            work = {"read": did.read, "touched": did.touched, "adopted": did.reused, "deleted": did.deleted, "bytes_read": did.bytes}
            done.append({"root": str(one.root), **held, **work, "freshness": freshness_json(one.freshness)})
            if not as_json:
                known = f", {did.reused} known from elsewhere or before" if did.reused else ""
                counts = ", ".join(f"{count} {name}" for name, count in held.items())
                line = f"{safe(str(one.root))}: {counts}; {did.read} read{known}, {did.deleted} gone, {seconds:.1f} s"
                print_item(line, freshness_words(one.freshness, time.time()))
        if as_json:
            print_json({"indexes": done, "seconds": round(seconds, 3)})
    return 0


# Packs.
@click.group()
def pack() -> None:
    """Export an index to one file, or start from one.

    A pack holds the index of one commit. Importing it builds only the differences.
    """


@pack.command()
@click.argument("path", default=".")
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help=f"Output file (default: NAME-COMMIT{SUFFIX} here).")
@json_option
@set_option
def export(path: str, output: str | None, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Write the index of the current commit to a file.

    Only files that are unchanged since the commit are packed. The printed
    digest covers every byte: pass it on separately, for --expect.
    """
    from whence.index.archive import DIGEST, write_archive  # noqa: PLC0415
    from whence.index.changes import hash_committed_files  # noqa: PLC0415
    from whence.source.history import list_blobs  # noqa: PLC0415

    target = _target(path)
    head = git.read_head(target.root)
    if head is None:
        raise UsageError(f"{target.root} has no commit", hint="a pack belongs to a commit of git")
    with open_index(target.root, settings_of(assignments)) as index:
        chosen, blobs = index.settings.index, list_blobs(index.root, head.commit)
        if blobs is None:
            raise StorageError("git cannot tell what is in the commit", hint="whence needs the git program for this")
        committed = hash_committed_files(index.root, index.tree.files, blobs, chosen.max_file_bytes)
        file = Path(output or f"{index.root.name}-{head.commit[:12]}{SUFFIX}")
        try:
            manifest = write_archive(index.store, index.layout, chosen, committed, head.commit, file)
        except FileExistsError as error:
            raise UsageError(f"{file} is there already", hint="give another name with -o, or remove it") from error
        left = index.snapshot.live_files - manifest.files
    size, digest = file.stat().st_size, DIGEST + manifest.digest
    made = {"pack": str(file), "bytes": size, "commit": head.commit, "files": manifest.files, "left_out": left, "digest": digest}
    without = f"; without {left} not as in the commit" if left else ""
    line = f"{safe(str(file))}: {manifest.files} files at {head.commit[:12]}, {size / 1e6:.1f} MB{without}"
    print_result(as_json, made, line, digest)
    return 0 if manifest.files else 1


@pack.command("import")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.argument("path", default=".")
@click.option("--expect", metavar="DIGEST", default="", help="Refuse the pack unless it has this digest.")
@json_option
@set_option
def import_(file: str, path: str, expect: str, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Start an index from a pack, and build the differences.

    Every member is checked against its hash and validated before use. Only
    entries whose content exists in this tree are taken.
    """
    from whence.index.archive import unpack_archive  # noqa: PLC0415

    target, values = _target(path), settings_of(assignments)
    layout = layout_of(target.root)
    if layout.exists() and layout.database.stat().st_size:
        raise UsageError(f"{target.root} is indexed already", hint="whence clear removes that index, then a pack can be taken in")
    if not Path(file).is_file():
        raise UsageError(f"{file}: no such file")
    made_with = load_settings(target.root, command_line=values)[0].index_fingerprint()
    with unpack_archive(Path(file), layout, made_with, expect) as (manifest, estate):
        index = open_index(target.root, values, reuse=estate)
    with index:
        did, here = index.last_refresh, index.freshness.commit
    other = f"; the pack is of {manifest.commit[:12]}, here is {here[:12] or 'no commit'}" if here != manifest.commit else ""
    line = f"{safe(str(target.root))}: {did.reused} files taken from the pack, {did.read} read here{other}"
    print_result(as_json, {"pack": file, "commit": manifest.commit, "here": here, "taken": did.reused, "read": did.read}, line)
    return 0 if did.reused else 1


def _target(path: str) -> Target:
    target = targets_of((path,))[0]
    if target.paths:
        raise UsageError(f"{path} is a part of {target.root}", hint="a pack is of a whole repository")
    return target
