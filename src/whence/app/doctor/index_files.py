"""Checks of one index, reading only: opening it the usual way would repair it."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from whence.app.doctor.finding import FAILED, OK, SKIPPED, WARNING, Finding, first_few, format_size, run_check, size_of
from whence.context.feedback.store import FILE_NAME as LEARNED
from whence.core.errors import IndexDamaged, StorageError
from whence.core.settings import Settings
from whence.core.types import Skipped
from whence.index.changes import split_changed
from whence.index.integrity import describe_difference
from whence.index.layout import Layout
from whence.index.reader import open_segments
from whence.index.store import FORMAT, IndexStore
from whence.source import git
from whence.source.walk import FileTree, Walker
from whence.storage.sqlite import connect

#: How many problems SQLite lists.
MAX_PROBLEMS = 5
#: The column that holds the checksum of a row.
CHECKSUM = "row_sum"
REBUILD = "the next search rebuilds it, or run whence index now"
CLEAR = "run whence clear, then whence index; learned feedback stays"
MAX_LARGEST = 10
#: Reasons for leaving a file out that somebody asked for.
_ON_PURPOSE = ("ignored", "hidden", "a symbolic link", "a folder", "empty")


# Databases.
@dataclass(frozen=True, slots=True)
class DatabaseCheck:
    """What is wrong with a database (empty: nothing), and whether it was only busy."""

    error: str = ""
    busy: bool = False


def check_database(path: Path) -> DatabaseCheck:
    """Check a database for damage. One that is being written does not count as damaged."""
    before = _state(path)
    result = _check_once(path)
    if result.error and _state(path) != before:  # a writer interfered: we read a mix of old and new
        result = _check_once(path)
    return result


def _check_once(path: Path) -> DatabaseCheck:
    if not path.is_file():
        return DatabaseCheck("it is not a file")
    if not path.stat().st_size:
        return DatabaseCheck("it is empty")
    try:
        with closing(connect_read_only(path)) as db:
            problems = [str(text) for (text,) in db.execute(f"PRAGMA integrity_check({MAX_PROBLEMS})")]
            problems = list(_altered_rows(db)) if problems == ["ok"] else problems
    except sqlite3.OperationalError as error:
        return DatabaseCheck(str(error), busy="locked" in str(error) or "busy" in str(error))
    except UnicodeDecodeError:
        return DatabaseCheck("it holds text that is not UTF-8")
    except sqlite3.Error as error:
        return DatabaseCheck(str(error))
    return DatabaseCheck("; ".join(problems))


def _altered_rows(db: sqlite3.Connection) -> Iterator[str]:
    """Tables with rows that do not match their checksums: to SQLite a flipped bit is just another value."""
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        columns = [(row[1], row[6]) for row in db.execute(f'PRAGMA table_xinfo("{table}")')]
        if any(name == CHECKSUM and hidden for name, hidden in columns):
            summed = ", ".join(f'"{name}"' for name, hidden in columns if not hidden)
            wrong = db.execute(f'SELECT count(*) FROM "{table}" WHERE {CHECKSUM} IS NOT row_sum({summed})').fetchone()[0]  # noqa: S608
            if wrong:
                yield f"{wrong} rows of {table} do not match their checksums"


def connect_read_only(path: Path) -> sqlite3.Connection:
    """A read-only connection. A writer's log (WAL) is read if possible, and left as it is."""
    if _has_log(path):
        db = connect(path, "ro")
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return db
        except (sqlite3.Error, UnicodeDecodeError) as error:
            db.close()
            if "unable to open" not in str(error) and "readonly" not in str(error):
                raise  # else the folder is read-only, and SQLite cannot open the log
    return connect(path, "ro&immutable=1")


def _has_log(path: Path) -> bool:
    """Whether there is a log of a writer that is at work or was killed."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except OSError:
        return False


def _state(path: Path) -> tuple[int, int, int, bool]:
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns, facts.st_ino, _has_log(path)


# The index.
@dataclass(frozen=True, slots=True)
class IndexState:
    """The findings about an index, and whether it can be searched as it is."""

    findings: list[Finding]
    searchable: bool = False
    languages: list[str] = field(default_factory=list)  # those with the most source first


class ReadOnlyIndexStore(IndexStore):
    """An index store that leaves no trace: opening an `IndexStore` writes to it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)

    def _open(self) -> None:
        try:
            super()._open()
        except StorageError as error:
            if error.__cause__ is None:
                raise
            raise IndexDamaged(f"{self.path.name} cannot be read: {error.__cause__}") from error

    def _connect(self) -> sqlite3.Connection:
        return connect_read_only(self.path)


def check_index(layout: Layout, settings: Settings, now_ns: int) -> IndexState:
    """All checks of one index. One that fails ends those that depend on it. Nothing is written."""
    states: list[IndexState] = []

    def check() -> list[Finding]:
        states.append(_check_index(layout, settings, now_ns))
        return states[0].findings

    findings = run_check("index", check)
    return states[0] if states else IndexState(findings)


def _check_index(layout: Layout, settings: Settings, now_ns: int) -> IndexState:
    if layout.is_orphaned():
        return IndexState([Finding("index", FAILED, f"{layout.database.name} is lost; the other files are useless without it", REBUILD)])
    if not layout.exists():
        hint = "the first search builds it, or run whence index now"
        return IndexState([Finding("index", SKIPPED, f"{layout.root} is not indexed yet", hint)])
    findings = run_check("database", lambda: _database(layout))
    if findings[-1].level != OK:
        return IndexState(findings)
    try:
        store = ReadOnlyIndexStore(layout.database)
    except StorageError as error:
        return IndexState([*findings, Finding("index", FAILED, error.message, REBUILD if isinstance(error, IndexDamaged) else error.hint)])
    with closing(store):
        return _check_store(store, layout, settings, now_ns, findings)


def _check_store(store: IndexStore, layout: Layout, settings: Settings, now_ns: int, findings: list[Finding]) -> IndexState:
    try:
        meta = store.meta()
    except StorageError as error:
        return IndexState([*findings, Finding("index", FAILED, error.message, REBUILD)])
    findings = [*findings, _compatibility(meta, settings, empty=not store.segments())]
    if meta.get("format") != str(FORMAT):
        return IndexState(findings)
    findings += (rows := run_check("rows", lambda: _rows(store)))
    findings += (derived := run_check("derived files", lambda: _derived_files(store, layout)))
    findings += run_check("freshness", lambda: _freshness(store, layout, settings, now_ns))
    if store.segments() and all(one.level == OK for one in derived):
        findings += run_check("parsing", lambda: _parsing(store, layout))
    findings += run_check("learned", lambda: _learned(layout))
    intact = all(one.level == OK for one in [*rows, *derived])
    return IndexState(findings, intact and bool(store.segments()), [name for name, _, _ in store.languages()])


def _database(layout: Layout) -> Iterator[Finding]:
    path = layout.database
    checked = check_database(path)
    if checked.busy:
        yield Finding("database", WARNING, f"{path.name} is busy: {checked.error}", "run it again in a moment")
    elif checked.error:
        yield Finding("database", FAILED, f"{path} is damaged: {checked.error}", REBUILD)
    else:
        size = path.stat().st_size
        yield Finding("database", OK, f"{path} is intact, {format_size(size)}", facts={"path": str(path), "bytes": size})


def _rows(store: IndexStore) -> Iterator[Finding]:
    if problems := store.verify():
        yield Finding("rows", FAILED, problems[0], CLEAR, tuple(problems[1:]))
    else:
        yield Finding("rows", OK, "every row matches its checksum")


def _compatibility(meta: dict[str, str], settings: Settings, *, empty: bool) -> Finding:
    """Whether this version would have built the index, with these settings."""
    facts = {"format": meta.get("format"), "version": meta.get("version")}
    if not meta:
        return Finding("index", WARNING, "a build was interrupted before its first batch", REBUILD)
    if meta.get("format") != str(FORMAT):
        message = f"built by another version of whence (format {meta.get('format')}, this one writes {FORMAT})"
        return Finding("index", WARNING, message, REBUILD, facts=facts)
    if meta.get("settings") != settings.index_fingerprint():
        return Finding("index", WARNING, "built with other index settings", REBUILD, facts=facts)
    if "indexed_at" not in meta or ("shared" not in meta and not empty):  # an empty tree has no shared data
        return Finding("index", WARNING, "a build was interrupted; finished batches are kept", "the next search resumes it", facts=facts)
    return Finding("index", OK, f"format {FORMAT}, built by whence {meta.get('version')}", facts=facts)


def _derived_files(store: IndexStore, layout: Layout) -> Iterator[Finding]:
    listed = store.derived_files()
    damaged = {name: problem for name, stamp in listed.items() if (problem := describe_difference(layout.segments / name, stamp))}
    if damaged:  # a writer may have replaced them since the list was read
        with closing(ReadOnlyIndexStore(layout.database)) as now:
            damaged = {name: problem for name, problem in damaged.items() if name in now.derived_files()}
    size = sum(stamp.size for stamp in listed.values())
    facts = {"files": len(listed), "bytes": size, "damaged": sorted(damaged)}
    if damaged:
        details = tuple(f"{layout.segments / name}: {problem}" for name, problem in sorted(damaged.items()))
        yield Finding("derived files", FAILED, f"{len(damaged)} of {len(listed)} are damaged", CLEAR, details, facts)
    else:
        yield Finding("derived files", OK, f"all {len(listed)} match their checksums, {format_size(size)}", facts=facts)


def _freshness(store: IndexStore, layout: Layout, settings: Settings, now_ns: int) -> Iterator[Finding]:
    chosen, meta = settings.index, store.meta()
    tree = Walker(str(layout.root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=now_ns).refresh(store.tree())
    changed = len(split_changed(store, layout.root, tree.changed, chosen.max_file_bytes)[0]) + len(tree.deleted)
    head = git.read_head(layout.root)
    moved = meta.get("commit", "") != (head.commit if head else "")
    age = max(now_ns / 1e9 - float(meta.get("indexed_at", 0)), 0.0) / 3_600
    files = len(tree.files)
    facts = {"files": files, "folders": len(tree.folders), "changed": changed, "commit": meta.get("commit", ""), "hours": round(age, 2)}
    behind = f"{changed} changed since" if changed else "the commit changed since" if moved else "nothing changed since"
    when = f"indexed {age:.1f} h ago" if "indexed_at" in meta else "first build not finished"
    message = f"{files} files, {when}: {behind}" + ("; the next search updates the index" if changed or moved else "")
    yield Finding("freshness", OK, message, facts=facts)
    yield from _left_out(layout, [*tree.skipped, *store.skipped_files()], tree)


def _parsing(store: IndexStore, layout: Layout) -> Iterator[Finding]:
    """How much grammars could not read, by language."""
    errors = open_segments(layout, store).parse_errors()
    facts = {name: {"files_with_errors": files, "error_lines": lines} for name, (files, lines) in errors.items()}
    details = tuple(f"{name}: {lines} lines in {files} files" for name, (files, lines) in errors.items())
    files, lines = (sum(column) for column in zip(*errors.values(), strict=True)) if errors else (0, 0)
    message = (
        f"{lines} lines in {files} files did not parse; declarations there are found by pattern" if files else "every file parsed cleanly"
    )
    yield Finding("parsing", OK, message, details=details, facts={"languages": facts})


def _left_out(layout: Layout, skipped: list[Skipped], tree: FileTree) -> Iterator[Finding]:
    """What is not indexed, by reason, and the largest files that nobody asked to leave out."""
    reasons = Counter(one.reason for one in skipped)
    unexpected = [one for one in skipped if not one.reason.startswith(_ON_PURPOSE) and not one.path.endswith("/")]
    sizes = sorted(((size_of(layout.root / one.path), one) for one in unexpected), key=lambda pair: (-pair[0], pair[1].path))[:MAX_LARGEST]
    details = tuple(f"{size / 1e3:.0f} kB  {one.path}: {one.reason}" for size, one in sizes)
    worst = [{"path": one.path, "bytes": size, "reason": one.reason} for size, one in sizes]
    facts = {"reasons": dict(reasons.most_common()), "worst": worst}
    unread = [one.path for one in skipped if "cannot be" in one.reason]
    message = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(MAX_LARGEST)) or "nothing"
    if not tree.files:
        yield Finding("left out", WARNING, f"no file to search: {message}", "whence status --files gives the reasons", details, facts)
    elif unread:
        yield Finding("left out", WARNING, message, f"check the permissions of {first_few(unread, 3)}", details, facts)
    else:
        yield Finding("left out", OK, message, details=details, facts=facts)


def _learned(layout: Layout) -> Iterator[Finding]:
    path = layout.directory / LEARNED
    if not path.exists():
        return
    checked = check_database(path)
    if checked.error and not checked.busy:
        hint = "move it away, or delete it with whence feedback reset --yes"
        yield Finding("learned", FAILED, f"{path} is damaged: {checked.error}", hint)
    else:
        yield Finding("learned", OK, f"learned feedback is intact, {format_size(path.stat().st_size)}")
