"""Databases looked at from outside: whether one is whole, without opening it as whence does, which would mend it."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from whence.app.doctor.finding import FAILED, OK, SKIPPED, WARNING, Finding, guarded, megabytes, some_of
from whence.context.feedback.store import FILE_NAME as LEARNED
from whence.core.errors import IndexDamaged, StorageError
from whence.core.settings_schema import Settings
from whence.core.types import Skipped
from whence.index.changes import split_changed
from whence.index.clean_marker import describe_difference
from whence.index.layout import Layout
from whence.index.store import FORMAT, IndexStore
from whence.source import git
from whence.source.walk import FileTree, Walker
from whence.storage.sqlite import register_row_sum

#: A writer that is at work is waited for so long.
BUSY_SECONDS = 2.0
#: Lines of trouble that SQLite lists at most.
MOST_TROUBLE = 5
#: The column that holds the checksum of a row.
CHECKSUM = "row_sum"


@dataclass(frozen=True, slots=True)
class DatabaseCheck:
    """What SQLite says of a file: nothing when it is whole; whether it was only busy."""

    trouble: str = ""
    busy: bool = False


def check_database(path: Path) -> DatabaseCheck:
    """Whether a database is whole. One that is being written is not taken for a damaged one."""
    before = _state(path)
    found = _checked(path)
    if found.trouble and _state(path) != before:  # a writer came by: what was read was neither the old nor the new
        found = _checked(path)
    return found


def _checked(path: Path) -> DatabaseCheck:
    if not path.is_file():
        return DatabaseCheck("it is no file")
    if not path.stat().st_size:
        return DatabaseCheck("it is empty")
    try:
        with opened(path) as db:
            register_row_sum(db)
            said = [str(text) for (text,) in db.execute(f"PRAGMA integrity_check({MOST_TROUBLE})")]
            trouble = list(_altered_rows(db)) if said == ["ok"] else said
    except sqlite3.OperationalError as error:
        return DatabaseCheck(str(error), busy="locked" in str(error) or "busy" in str(error))
    except UnicodeDecodeError:
        return DatabaseCheck("it holds what is no text")
    except sqlite3.Error as error:
        return DatabaseCheck(str(error))
    return DatabaseCheck("; ".join(trouble))


def _altered_rows(db: sqlite3.Connection) -> Iterator[str]:
    """Tables with rows that are not what was written, as far as their rows have checksums: SQLite takes a flipped bit for a value."""
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        columns = [(row[1], row[6]) for row in db.execute(f'PRAGMA table_xinfo("{table}")')]
        if any(name == CHECKSUM and hidden for name, hidden in columns):
            summed = ", ".join(f'"{name}"' for name, hidden in columns if not hidden)
            wrong = db.execute(f'SELECT count(*) FROM "{table}" WHERE {CHECKSUM} IS NOT row_sum({summed})').fetchone()[0]  # noqa: S608
            if wrong:
                yield f"{wrong} of the rows of {table} are not what was written"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A database, to be read only, for a while."""
    with closing(connected(path)) as db:
        yield db


def connected(path: Path) -> sqlite3.Connection:
    """A database, to be read only. What a writer has in its log is seen where there is a log that can be read; it stays there."""
    address = f"file:{''.join(f'%{byte:02X}' for byte in os.fsencode(path))}"
    if has_log(path):
        db = _connection(f"{address}?mode=ro")
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return db
        except (sqlite3.Error, UnicodeDecodeError) as error:
            db.close()
            if "unable to open" not in str(error) and "readonly" not in str(error):
                raise  # else nothing can be written here, and so no log be opened
    return _connection(f"{address}?mode=ro&immutable=1")


def has_log(path: Path) -> bool:
    """Whether a writer left something that is not in the database itself yet: one at work, or one that was killed."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except OSError:
        return False


def _connection(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def _state(path: Path) -> tuple[int, int, int, bool]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino, has_log(path)


AGAIN = "the next search builds it again, or whence index does now"
WORST = 10
#: Reasons for leaving out that somebody asked for.
_ASKED_FOR = ("ignored", "hidden", "a symbolic link", "a folder", "empty")


@dataclass(frozen=True, slots=True)
class IndexState:
    """What was found of one index, and whether it can be searched as it is."""

    findings: list[Finding]
    searchable: bool = False
    languages: list[str] = field(default_factory=list)  # the one with the most source first


class ReadOnly(IndexStore):
    """The truth as it is, log and all; whoever looks at it leaves no trace, which `Store` does by opening it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)

    def _open(self) -> None:
        try:
            super()._open()
        except StorageError as error:
            if error.__cause__ is None:
                raise
            raise IndexDamaged(f"{self.path.name} cannot be read: {error.__cause__}") from error

    def _connected(self) -> sqlite3.Connection:
        return connected(self.path)


def look_at_index(layout: Layout, settings: Settings, now_ns: int) -> IndexState:
    """Every check of one index. The first that fails ends those that would build on it; nothing is opened to be written."""
    states: list[IndexState] = []

    def look() -> list[Finding]:
        states.append(_look(layout, settings, now_ns))
        return states[0].findings

    findings = guarded("index", look)
    return states[0] if states else IndexState(findings)


def _look(layout: Layout, settings: Settings, now_ns: int) -> IndexState:
    if layout.is_orphaned():
        return IndexState([Finding("index", FAILED, f"{layout.database.name} is lost, and with it what the other files mean", AGAIN)])
    if not layout.exists():
        return IndexState([Finding("index", SKIPPED, f"{layout.root} is not indexed yet", "the first search builds it, or whence index")])
    findings = guarded("database", lambda: _database(layout))
    if findings[-1].level != OK:
        return IndexState(findings)
    try:
        store = ReadOnly(layout.database)
    except StorageError as error:
        return IndexState([*findings, Finding("index", FAILED, error.message, AGAIN if isinstance(error, IndexDamaged) else error.hint)])
    try:
        return _look_inside(store, layout, settings, now_ns, findings)
    finally:
        store.close()


def _look_inside(store: IndexStore, layout: Layout, settings: Settings, now_ns: int, findings: list[Finding]) -> IndexState:
    try:
        meta = store.meta()
    except StorageError as error:
        return IndexState([*findings, Finding("index", FAILED, error.message, AGAIN)])
    findings = [*findings, _made_as(meta, settings, empty=not store.segments())]
    if meta.get("format") != str(FORMAT):
        return IndexState(findings)
    findings += (rows := guarded("rows", lambda: _rows(store)))
    findings += (derived := guarded("derived files", lambda: _derived_files(store, layout)))
    findings += guarded("freshness", lambda: _freshness(store, layout, settings, now_ns))
    findings += guarded("learned", lambda: _learned(layout))
    whole = all(one.level == OK for one in [*rows, *derived])
    return IndexState(findings, whole and bool(store.segments()), [name for name, _, _ in store.languages()])


def _database(layout: Layout) -> Iterator[Finding]:
    path = layout.database
    checked = check_database(path)
    if checked.busy:
        yield Finding("database", WARNING, f"{path.name} is busy: {checked.trouble}", "run it again in a moment")
    elif checked.trouble:
        yield Finding("database", FAILED, f"{path} is damaged: {checked.trouble}", AGAIN)
    else:
        size = path.stat().st_size
        yield Finding("database", OK, f"{path} is whole, {megabytes(size)}", facts={"path": str(path), "bytes": size})


def _rows(store: IndexStore) -> Iterator[Finding]:
    if trouble := store.verify():
        yield Finding("rows", FAILED, trouble[0], "whence clear, then whence index; what was learned from use stays", tuple(trouble[1:]))
    else:
        yield Finding("rows", OK, "every row has its checksum")


def _made_as(meta: dict[str, str], settings: Settings, *, empty: bool) -> Finding:
    """Whether the index is one that this version, with these settings, would have made."""
    facts = {"format": meta.get("format"), "version": meta.get("version")}
    if not meta:
        return Finding("index", WARNING, "a build was cut off before its first batch", AGAIN)
    if meta.get("format") != str(FORMAT):
        said = f"made by another version of whence (format {meta.get('format')}, this one writes {FORMAT})"
        return Finding("index", WARNING, said, AGAIN, facts=facts)
    if meta.get("settings") != settings.index_fingerprint():
        return Finding("index", WARNING, "made with other index settings", AGAIN, facts=facts)
    if "indexed_at" not in meta or ("shared" not in meta and not empty):  # a tree without files has nothing to share
        return Finding("index", WARNING, "a build was cut off; what it finished is kept", "the next search goes on with it", facts=facts)
    return Finding("index", OK, f"format {FORMAT}, made with whence {meta.get('version')}", facts=facts)


def _derived_files(store: IndexStore, layout: Layout) -> Iterator[Finding]:
    listed = store.derived_files()
    trouble = {name: said for name, stamp in listed.items() if (said := describe_difference(layout.segments / name, stamp))}
    if trouble:  # a writer may have replaced them since the list was read
        now = ReadOnly(layout.database)
        try:
            trouble = {name: said for name, said in trouble.items() if name in now.derived_files()}
        finally:
            now.close()
    size = sum(stamp.size for stamp in listed.values())
    facts = {"files": len(listed), "bytes": size, "damaged": sorted(trouble)}
    if trouble:
        details = tuple(f"{layout.segments / name}: {said}" for name, said in sorted(trouble.items()))
        hint = "whence clear, then whence index; what was learned from use stays"
        yield Finding("derived files", FAILED, f"{len(trouble)} of {len(listed)} are not what was written", hint, details, facts)
    else:
        yield Finding("derived files", OK, f"all {len(listed)} are as they were written, {megabytes(size)}", facts=facts)


def _freshness(store: IndexStore, layout: Layout, settings: Settings, now_ns: int) -> Iterator[Finding]:
    chosen, meta = settings.index, store.meta()
    tree = Walker(str(layout.root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=now_ns).refresh(store.tree())
    changed = len(split_changed(store, layout.root, tree.changed, chosen.max_file_bytes)[0]) + len(tree.deleted)
    head = git.read_head(layout.root)
    moved = meta.get("commit", "") != (head.commit if head else "")
    age = max(now_ns / 1e9 - float(meta.get("indexed_at", 0)), 0.0) / 3_600
    files = len(tree.files)
    facts = {"files": files, "folders": len(tree.folders), "changed": changed, "commit": meta.get("commit", ""), "hours": round(age, 2)}
    of = f"of {files} files, indexed {age:.1f} h ago"
    behind = f"{changed} changed since" if changed else "the commit has moved since" if moved else "nothing changed since"
    yield Finding("freshness", OK, f"{of}: {behind}" + ("; the next search takes that in" if changed or moved else ""), facts=facts)
    yield from _left_out(layout, [*tree.skipped, *store.skipped_files()], tree)


def _left_out(layout: Layout, skipped: list[Skipped], tree: FileTree) -> Iterator[Finding]:
    """What is not indexed by reason, and the largest files among those that nobody asked to leave out."""
    reasons = Counter(one.reason for one in skipped)
    unasked = [one for one in skipped if not one.reason.startswith(_ASKED_FOR) and not one.path.endswith("/")]
    sizes = sorted(((_size_of(layout.root / one.path), one) for one in unasked), key=lambda pair: (-pair[0], pair[1].path))[:WORST]
    details = tuple(f"{size / 1e3:.0f} kB  {one.path}: {one.reason}" for size, one in sizes)
    facts = {
        "reasons": dict(reasons.most_common()),
        "worst": [{"path": one.path, "bytes": size, "reason": one.reason} for size, one in sizes],
    }
    unread = [one.path for one in skipped if "cannot be" in one.reason]
    said = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(WORST)) or "nothing"
    if not tree.files:
        yield Finding(
            "left out", WARNING, f"there is no file to search: {said}", "whence status --files says why each is out", details, facts
        )
    elif unread:
        yield Finding("left out", WARNING, said, f"check who may read {some_of(unread, 3)}", details, facts)
    else:
        yield Finding("left out", OK, said, details=details, facts=facts)


def _size_of(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _learned(layout: Layout) -> Iterator[Finding]:
    path = layout.directory / LEARNED
    if not path.exists():
        return
    checked = check_database(path)
    if checked.trouble and not checked.busy:
        hint = "move it away, or forget it with whence feedback reset --yes"
        yield Finding("learned", FAILED, f"{path} is damaged: {checked.trouble}", hint)
    else:
        yield Finding("learned", OK, f"what was learned from use is whole, {megabytes(path.stat().st_size)}")
