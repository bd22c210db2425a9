"""`whence status` and `whence config`."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import complete_setting, set_option, settings_of, targets_of
from whence.app.presenters.text import freshness_json, freshness_words, safe
from whence.cli.shared import answer_options, json_option, layout_of, open_index, print_item, print_json, print_more, print_result, styler
from whence.core.errors import IndexBusy, IndexDamaged, StorageError, UsageError
from whence.core.settings import load_settings

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.source.walk import FileTree

MAX_LARGEST = 10
#: Exit code if something is damaged.
DAMAGED = 1


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
        with suppress(OSError):  # the next process that opens the index verifies all checksums and repairs the damage
            layout_of(target.root).clean_marker_file.unlink(missing_ok=True)
        return _print_damaged(target.root, damaged, as_json)
    with open_index(target.root, values, refresh=False) as index:
        facts = _facts(index, verify=verify)
    if as_json:
        print_json(facts)
    else:
        _print_facts(facts)
    return 0


def _walk(root: Path, values: dict[str, str]) -> FileTree:
    from whence.source.walk import Walker  # noqa: PLC0415

    chosen = load_settings(root, command_line=values)[0].index
    return Walker(str(root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=time.time_ns()).walk()


def _unfit_files(root: Path) -> dict[str, str]:
    """Files that indexing left out after reading them (binary, minified, too much for the grammar), by the index if there is one."""
    from whence.app.doctor.index_files import ReadOnlyIndexStore  # noqa: PLC0415

    layout = layout_of(root)
    with suppress(StorageError):
        if layout.exists():
            with closing(ReadOnlyIndexStore(layout.database)) as store:
                return {one.path: one.reason for one in store.skipped_files()}
    return {}


def _list_files(tree: FileTree, unfit: dict[str, str], as_json: bool) -> int:
    from whence.source.walk import list_entries  # noqa: PLC0415

    listed = [(path, reason or unfit.get(path, "")) for path, reason in list_entries(tree)]
    lines = (f"{'out' if reason else 'in ':<4} {safe(path)}{f'  ({reason})' if reason else ''}" for path, reason in listed)
    print_result(as_json, [{"path": path, "indexed": not reason, "reason": reason} for path, reason in listed], *lines)
    return 0


def _print_plan(root: Path, tree: FileTree, as_json: bool) -> int:
    total = sum(state.size for state in tree.files.values())
    folders: Counter[str] = Counter()
    for path, state in tree.files.items():
        folders[path.partition("/")[0] if "/" in path else "."] += state.size
    from whence.index.build_log import estimate_seconds  # noqa: PLC0415
    from whence.index.builder import SMALL_BUILD_BYTES  # noqa: PLC0415

    layout = layout_of(root)
    logs = layout.directory.parent.glob(f"*/{layout.build_log_file.name}")
    seconds = estimate_seconds([(path, state.size) for path, state in tree.files.items()], logs, os.cpu_count() or 1, SMALL_BUILD_BYTES)
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
    print_item("largest files:", *(f"  {size / 1e3:>9.1f} kB  {safe(path)}" for size, path in largest))
    print_item("largest folders:", *(f"  {size / 1e6:>9.2f} MB  {safe(path)}" for path, size in folders.most_common(MAX_LARGEST)))
    print_item("left out: " + (", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or "nothing"))
    return 0


def _damaged(root: Path) -> list[str]:
    """The damage of an index, found without opening it the usual way, which would repair it; empty if there is no index."""
    from whence.app.doctor.index_files import ReadOnlyIndexStore, check_database, connect_read_only  # noqa: PLC0415
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
    with closing(connect_read_only(layout.database)) as db:
        has_meta = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0]
        stored_format = dict(db.execute("SELECT key, value FROM meta")).get("format") if has_meta else None
    if stored_format != str(FORMAT):  # another version's: not damaged, but not readable
        return []
    try:
        store = ReadOnlyIndexStore(layout.database)
    except IndexDamaged as damage:
        return [damage.message]
    with closing(store):
        rows = [f"{layout.database.name}: {problem}" for problem in store.verify()]
        files = ((name, describe_difference(layout.segments / name, stamp)) for name, stamp in store.derived_files().items())
        return rows or [f"{name}: {problem}" for name, problem in files if problem]


def _print_damaged(root: Path, damaged: list[str], as_json: bool) -> int:
    if as_json:
        print_json({"root": str(root), "damaged": damaged})
    else:
        lines = (f"  damaged: {safe(' '.join(line.split()))}" for line in damaged)
        print_item(safe(str(root)), *lines, "  the next search rebuilds it, or run whence index now")
    return DAMAGED


def _facts(index: Index, *, verify: bool) -> dict[str, Any]:
    from whence.index.build_log import read_log  # noqa: PLC0415

    store, snapshot, layout = index.store, index.snapshot, index.layout
    runs = read_log(layout.build_log_file)
    skipped, errors = [*index.tree.skipped, *store.skipped_files()], snapshot.parse_errors()
    facts: dict[str, Any] = {
        "root": str(index.root),
        "directory": str(layout.directory),
        "files": snapshot.live_files,
        "units": snapshot.live_units,
        "source_bytes": sum(size for _, _, size in store.languages()),
        "index_bytes": sum(file.stat().st_size for file in layout.directory.rglob("*") if file.is_file()),
        "languages": [
            {
                "language": name,
                "files": files,
                "bytes": size,
                "files_with_errors": errors.get(name, (0, 0))[0],
                "error_lines": errors.get(name, (0, 0))[1],
            }
            for name, files, size in store.languages()
        ],
        "left_out": dict(Counter(one.reason for one in skipped).most_common()),
        "segments": len(store.segments()),
        "model": index.settings.index.model,
        "model_fingerprint": index.writer.model,
        "passages": snapshot.vectors.passages if snapshot.vectors is not None else 0,
        "commits": len(snapshot.commits["times"]) if snapshot.commits is not None else 0,
        "made_with": store.meta().get("version", ""),
        "last_run": asdict(runs[-1]) if runs else None,
        "freshness": freshness_json(index.freshness),
        "freshness_words": freshness_words(index.freshness, time.time()),
    }
    if verify:
        facts["damaged"] = []  # damage was reported above
    return facts


def _print_facts(facts: dict[str, Any]) -> None:
    print_item(safe(facts["root"]))
    print_more(f"  {facts['files']} files, {facts['units']} units, {facts['source_bytes'] / 1e6:.1f} MB of source")
    print_more(f"  index: {facts['index_bytes'] / 1e6:.1f} MB in {safe(facts['directory'])}")
    print_more(f"  {facts['freshness_words']}")
    if run := facts["last_run"]:
        because = f" ({run['because']})" if run["because"] else ""
        did = f"{run['what']} in {run['seconds']:.1f} s: {run['added']} added, {run['changed']} changed, {run['removed']} removed{because}"
        print_more(f"  last run: {safe(did)}")
    model = f"{safe(facts['model'])} ({facts['model_fingerprint']}), {facts['passages']} passages"
    print_more(f"  meaning: {model if facts['model_fingerprint'] else 'none, search is lexical only'}")
    if facts["commits"]:
        print_more(f"  history: {facts['commits']} commits")
    for one in facts["languages"]:
        unread = f", {one['files_with_errors']} did not parse cleanly ({one['error_lines']} lines)" if one["error_lines"] else ""
        print_more(f"  {one['language']:<14} {one['files']:>6} files {one['bytes'] / 1e3:>10.1f} kB{unread}")
    if facts["left_out"]:
        print_more("  left out: " + ", ".join(f"{count} {reason}" for reason, count in facts["left_out"].items()))
    if "damaged" in facts:
        print_more("  every index file matches its checksum")


# Settings.
@click.command()
@click.argument("prefix", required=False, default="", shell_complete=complete_setting)
@click.option("--path", "place", default=".", help="The repository (default: here).")
@click.option("--changed", is_flag=True, help="Only settings that differ from their default source.")
@answer_options
def config(prefix: str, place: str, changed: bool, as_json: bool, color: str, assignments: tuple[str, ...]) -> int:
    """Print every setting, its value and where the value came from.

    PREFIX narrows the list: search, index.workers, profiles.default. Values come
    from the command line, WHENCE_* variables, .whence.toml in the repository,
    config.toml in the user's configuration folder, then the defaults.
    """
    root: Path = targets_of((place,))[0].root
    _, listed = load_settings(root, command_line=settings_of(assignments))
    shown = [one for one in listed if one.name.startswith(prefix) and (not changed or one.source != "default")]
    if not shown and prefix:
        raise UsageError(f"no setting begins with {prefix!r}", hint="whence config lists all")
    if as_json:
        names = ("name", "value", "source", "variable", "allowed", "doc")
        print_json([{name: getattr(one, name) for name in names} for one in shown])
        return 0
    width = max((len(one.name) for one in shown), default=0)
    for one in shown:
        value = str(one.value).lower() if isinstance(one.value, bool) else str(one.value)
        source = "" if one.source == "default" else f"  from {one.source}"
        print_item(f"{one.name:<{width}} = {value:<10} {one.doc}{styler(color)(source, fg='yellow')}".rstrip())
    return 0
