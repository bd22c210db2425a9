"""`whence status` and `whence config`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.app.presenters.text import freshness_json, freshness_words, safe
from whence.cli.shared import color_option, json_option, layout_of, open_index, print_item, print_json, print_more, styler
from whence.core.errors import UsageError

if TYPE_CHECKING:
    import sqlite3

    from whence.app.index import Index
    from whence.core.settings import Setting
    from whence.index.layout import Layout
    from whence.source.walk import FileTree

MAX_LARGEST = 10
#: Exit code if something is damaged.
DAMAGED = 1
#: A typical rate of indexing, per process.
TYPICAL_BYTES_PER_SECOND = 2_000_000


@click.command()
@click.argument("path", required=False, default=".")
@click.option("--files", "list_files", is_flag=True, help="List every file and folder, with the reason if it is left out.")
@click.option("--plan", is_flag=True, help="Show what would be indexed, without indexing.")
@click.option("--verify", is_flag=True, help="Check every index file and database row against its checksum.")
@json_option
@set_option
def status(path: str, list_files: bool, plan: bool, verify: bool, as_json: bool, assignments: tuple[str, ...]) -> int:
    """Show what is indexed, how fresh it is, and what is left out.

    With --verify, exit code 1 means that the index is damaged; nothing is repaired.
    """
    target = targets_of((path,))[0]
    values = settings_of(assignments)
    if plan or list_files:
        tree = _walk(target.root, values)
        if list_files:
            return _list_files(tree, _unfit_files(target.root), as_json)
        return _print_plan(target.root, tree, as_json)
    if verify and (damaged := _damaged(target.root)):
        _distrust(target.root)
        return _print_damaged(target.root, damaged, as_json)
    with open_index(target.root, values, refresh=False) as index:
        facts = _facts(index, verify=verify)
    if as_json:
        print_json(facts)
    else:
        _print_facts(facts)
    return 0


def _walk(root: Path, values: dict[str, str]) -> FileTree:
    from whence.core.settings import load_settings  # noqa: PLC0415
    from whence.source.walk import Walker  # noqa: PLC0415

    chosen = load_settings(root, command_line=values)[0].index
    return Walker(str(root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=time.time_ns()).walk()


def _unfit_files(root: Path) -> dict[str, str]:
    """Files that indexing left out after reading them (binary, minified, too much for the grammar), by the index if there is one."""
    from whence.app.doctor.index_files import ReadOnlyIndexStore  # noqa: PLC0415
    from whence.core.errors import StorageError  # noqa: PLC0415

    layout = layout_of(root)
    try:
        store = ReadOnlyIndexStore(layout.database) if layout.exists() else None
    except StorageError:
        return {}
    if store is None:
        return {}
    try:
        return {one.path: one.reason for one in store.skipped_files()}
    except StorageError:
        return {}
    finally:
        store.close()


def _list_files(tree: FileTree, unfit: dict[str, str], as_json: bool) -> int:
    from whence.source.walk import list_entries  # noqa: PLC0415

    listed = [(path, reason or unfit.get(path, "")) for path, reason in list_entries(tree)]
    if as_json:
        print_json([{"path": path, "indexed": not reason, "reason": reason} for path, reason in listed])
    else:
        for path, reason in listed:
            print_item(f"{'out' if reason else 'in ':<4} {safe(path)}{f'  ({reason})' if reason else ''}")
    return 0


def _print_plan(root: Path, tree: FileTree, as_json: bool) -> int:
    import os  # noqa: PLC0415

    total = sum(state.size for state in tree.files.values())
    folders: Counter[str] = Counter()
    for path, state in tree.files.items():
        folders[path.partition("/")[0] if "/" in path else "."] += state.size
    seconds = total / (TYPICAL_BYTES_PER_SECOND * (os.cpu_count() or 1))
    largest = sorted(((state.size, path) for path, state in tree.files.items()), reverse=True)[:MAX_LARGEST]
    reasons = Counter(one.reason for one in tree.skipped)
    if as_json:
        print_json(
            {
                "root": str(root),
                "files": len(tree.files),
                "bytes": total,
                "seconds": round(seconds, 1),
                "largest_files": [{"path": path, "bytes": size} for size, path in largest],
                "largest_folders": [{"path": path, "bytes": size} for path, size in folders.most_common(MAX_LARGEST)],
                "left_out": dict(reasons),
            }
        )
        return 0
    print_item(f"{safe(str(root))}: would index {len(tree.files)} files, {total / 1e6:.1f} MB, in about {max(seconds, 0.1):.0f} s")
    print_item("largest files:")
    for size, path in largest:
        print_more(f"  {size / 1e3:>9.1f} kB  {safe(path)}")
    print_item("largest folders:")
    for path, size in folders.most_common(MAX_LARGEST):
        print_more(f"  {size / 1e6:>9.2f} MB  {safe(path)}")
    print_item("left out: " + (", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or "nothing"))
    return 0


def _distrust(root: Path) -> None:
    """Have the next process that opens the index verify all checksums and repair the damage."""
    with suppress(OSError):
        layout_of(root).clean_marker_file.unlink(missing_ok=True)


def _damaged(root: Path) -> list[str]:
    """The damage of an index, found without opening it the usual way, which would repair it; empty if there is no index."""
    from whence.app.doctor.index_files import ReadOnlyIndexStore, check_database, open_read_only  # noqa: PLC0415
    from whence.core.errors import IndexBusy, IndexDamaged  # noqa: PLC0415
    from whence.index.integrity import describe_difference  # noqa: PLC0415
    from whence.index.store import FORMAT  # noqa: PLC0415

    layout = layout_of(root)
    if not layout.exists():
        return []
    checked = check_database(layout.database)
    if checked.busy:
        raise IndexBusy(f"{layout.database.name} is in use by another process: {checked.error}", hint="try again; nothing was changed")
    if checked.error:
        return [f"{layout.database.name}: {checked.error}"]
    with open_read_only(layout.database) as db:
        stored_format = dict(db.execute("SELECT key, value FROM meta")).get("format") if _has_meta(db) else None
    if stored_format != str(FORMAT):  # another version's: not damaged, but not readable
        return []
    try:
        store = ReadOnlyIndexStore(layout.database)
    except IndexDamaged as damage:
        return [damage.message]
    try:
        rows = [f"{layout.database.name}: {problem}" for problem in store.verify()]
        return rows or [
            f"{name}: {problem}"
            for name, stamp in store.derived_files().items()
            if (problem := describe_difference(layout.segments / name, stamp))
        ]
    finally:
        store.close()


def _has_meta(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0])


def _print_damaged(root: Path, damaged: list[str], as_json: bool) -> int:
    if as_json:
        print_json({"root": str(root), "damaged": damaged})
    else:
        print_item(safe(str(root)))
        for line in damaged:
            print_more(f"  damaged: {safe(' '.join(line.split()))}")
        print_more("  the next search rebuilds it, or run whence index now")
    return DAMAGED


def _facts(index: Index, *, verify: bool) -> dict[str, Any]:
    store, snapshot, layout = index.store, index.snapshot, index.layout
    skipped = [*index.tree.skipped, *store.skipped_files()]
    facts: dict[str, Any] = {
        "root": str(index.root),
        "directory": str(layout.directory),
        "files": snapshot.live_files,
        "units": snapshot.live_units,
        "source_bytes": sum(size for _, _, size in store.languages()),
        "index_bytes": sum(file.stat().st_size for file in layout.directory.rglob("*") if file.is_file()),
        "languages": [{"language": name, "files": files, "bytes": size} for name, files, size in store.languages()],
        "left_out": dict(Counter(one.reason for one in skipped).most_common()),
        "segments": len(store.segments()),
        "model": index.settings.index.model,
        "model_fingerprint": index.writer.model,
        "passages": snapshot.vectors.passages if snapshot.vectors is not None else 0,
        "commits": len(snapshot.commits["times"]) if snapshot.commits is not None else 0,
        "made_with": store.meta().get("version", ""),
        "last_run": _last_run(layout),
        "freshness": freshness_json(index.freshness),
        "freshness_words": freshness_words(index.freshness, time.time()),
    }
    if verify:
        facts["damaged"] = []  # damage was reported above
    return facts


def _last_run(layout: Layout) -> dict[str, Any] | None:
    """The latest entry of the build log; None if there is none."""
    from dataclasses import asdict  # noqa: PLC0415

    from whence.index.build_log import read_log  # noqa: PLC0415

    runs = read_log(layout.build_log_file)
    return asdict(runs[-1]) if runs else None


def _run_words(run: dict[str, Any]) -> str:
    because = f" ({run['because']})" if run["because"] else ""
    files = f"{run['added']} added, {run['changed']} changed, {run['removed']} removed"
    return f"{run['what']} in {run['seconds']:.1f} s: {files}{because}"


def _model_words(facts: dict[str, Any]) -> str:
    if not facts["model_fingerprint"]:
        return "none, search is lexical only"
    return f"{safe(facts['model'])} ({facts['model_fingerprint']}), {facts['passages']} passages"


def _print_facts(facts: dict[str, Any]) -> None:
    print_item(safe(facts["root"]))
    print_more(f"  {facts['files']} files, {facts['units']} units, {facts['source_bytes'] / 1e6:.1f} MB of source")
    print_more(f"  index: {facts['index_bytes'] / 1e6:.1f} MB in {safe(facts['directory'])}")
    print_more(f"  {facts['freshness_words']}")
    if facts["last_run"]:
        print_more(f"  last run: {safe(_run_words(facts['last_run']))}")
    print_more(f"  meaning: {_model_words(facts)}")
    if facts["commits"]:
        print_more(f"  history: {facts['commits']} commits")
    for one in facts["languages"]:
        print_more(f"  {one['language']:<14} {one['files']:>6} files {one['bytes'] / 1e3:>10.1f} kB")
    if facts["left_out"]:
        print_more("  left out: " + ", ".join(f"{count} {reason}" for reason, count in facts["left_out"].items()))
    if "damaged" in facts:
        print_more("  every index file matches its checksum")


# Settings.
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
        _print_settings(shown, styler(color))
    return 0


def _print_settings(shown: list[Setting], style: Callable[..., str]) -> None:
    width = max((len(one.name) for one in shown), default=0)
    for one in shown:
        source = "" if one.source == "default" else f"  from {one.source}"
        print_item(f"{one.name:<{width}} = {_value(one.value):<10} {one.doc}{style(source, fg='yellow')}".rstrip())


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
