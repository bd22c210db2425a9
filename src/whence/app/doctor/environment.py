"""Checks of what surrounds an index: settings, the data folder, the writer's lock, notes, running processes."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from whence.app.build_process import remove_index_folder
from whence.app.doctor.finding import FAILED, OK, SKIPPED, WARNING, Finding, first_few, format_size, size_of
from whence.app.doctor.index_files import connect_read_only
from whence.context.feedback.store import FILE_NAME as LEARNED
from whence.core import settings as settings_module
from whence.core.errors import SettingError, WhenceError
from whence.core.settings import Layer, Setting, Settings
from whence.index.layout import Layout, notes_directory
from whence.memory.store import LOCK, NoteStore
from whence.text.secrets import find_secrets

#: With less space than this nothing can be indexed; with less than the other a large index may not fit.
NO_SPACE, LITTLE_SPACE = 20_000_000, 500_000_000
#: A writer that takes longer than this deserves a warning.
LONG_WRITE_SECONDS = 900.0
#: Time limits for reading notes, and for looking at the open files of processes.
NOTES_SECONDS, PROCESSES_SECONDS = 2.0, 1.0
#: Above this share of the system's limit, watching may soon fail.
NEAR_LIMIT = 0.8
MAX_DETAILS = 10
OTHER_FOLDER = "set WHENCE_DATA_DIR to a folder you can write to"
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


# Settings.
class LoadedSettings(NamedTuple):
    """The usable settings, where each came from, and the findings about the rest."""

    settings: Settings
    provenance: list[Setting]
    findings: list[Finding]


def user_file(environment: Mapping[str, str], home: Path) -> Path:
    """The user's own settings file."""
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "whence" / settings_module.USER_FILE


def read_settings(root: Path, environment: Mapping[str, str], home: Path, command_line: Mapping[str, str]) -> LoadedSettings:
    """Read each source of settings by itself. A source with errors is reported and left out; the rest apply."""
    layers: list[Layer] = []
    errors: list[WhenceError] = []
    sources: list[Callable[[], Layer | None]] = [
        lambda: Layer("command line", command_line),
        lambda: settings_module.environment_layer(environment),
        lambda: settings_module.file_layer(root / settings_module.PROJECT_FILE),
        lambda: settings_module.file_layer(user_file(environment, home)),
    ]
    for source in sources:
        try:
            if (layer := source()) is not None:
                settings_module.merge([layer])
                layers.append(layer)
        except SettingError as error:
            errors.append(error)
    settings, provenance = settings_module.merge(layers)
    explicit = [one for one in provenance if one.source != "default"]
    sources_read = [layer.source for layer in layers if layer.values]
    facts = {"read": sources_read, "set": {one.name: one.source for one in explicit}}
    if errors:
        details = tuple(f"{error.message}{f' ({error.hint})' if error.hint else ''}" for error in errors)
        message = "some sources have errors; the checks below run without them"
        finding = Finding("settings", FAILED, message, "fix the sources above", details, facts)
    else:
        message = f"{len(explicit)} set, from {first_few(sources_read)}" if sources_read else "all defaults"
        finding = Finding("settings", OK, message, facts=facts)
    return LoadedSettings(settings, provenance, [finding])


# The data folder.
@dataclass(frozen=True, slots=True)
class IndexFolder:
    """The folder of one index, and whether the folder it indexes was deleted."""

    path: Path
    root: str  # empty if unknown
    bytes: int
    orphaned: bool


def data_folder(data_dir: Path, folders: list[IndexFolder]) -> Iterator[Finding]:
    """Whether the folder of all indexes is writable, and how much space there is."""
    place = _nearest_existing(data_dir)
    if not place.is_dir():
        yield Finding("data folder", FAILED, f"{data_dir} cannot be used: {place} is a file", OTHER_FOLDER)
        return
    free, total = shutil.disk_usage(place).free, sum(one.bytes for one in folders)
    facts = {"path": str(data_dir), "free_bytes": free, "indexes": len(folders), "index_bytes": total}
    count = f"{len(folders)} {'index' if len(folders) == 1 else 'indexes'}"
    contents = f": {count}, {format_size(total)}" if place == data_dir else " does not exist yet"
    here = f"{data_dir}{contents}; {format_size(free)} free"
    if not os.access(place, os.R_OK):
        yield Finding("data folder", FAILED, f"{place} is not readable: permission denied", OTHER_FOLDER, facts=facts)
    elif not os.access(place, os.W_OK | os.X_OK):
        why = "the file system is read-only" if os.statvfs(place).f_flag & os.ST_RDONLY else "permission denied"
        message = f"{place} is not writable: {why}; existing indexes can still be read"
        yield Finding("data folder", FAILED, message, OTHER_FOLDER, facts=facts)
    elif free < NO_SPACE or ((disk := os.statvfs(place)).f_files > 0 and disk.f_favail == 0):
        yield Finding("data folder", FAILED, f"{here}: the disk is full", "free some space; existing indexes still work", facts=facts)
    elif free < max(LITTLE_SPACE, max((one.bytes for one in folders), default=0)):
        yield Finding("data folder", WARNING, f"{here}: little space", "free some space, or whence clear old indexes", facts=facts)
    else:
        yield Finding("data folder", OK, here, facts=facts)


def privacy(*folders: Path) -> Iterator[Finding]:
    """Whether other users can write to our folders: their content is trusted, and grammars in them are executed."""
    problems, hints = [], []
    for folder in folders:
        try:
            facts = folder.stat()
        except OSError:
            continue  # does not exist yet; it will be created for its owner only
        if facts.st_uid not in (os.geteuid(), 0):
            problems.append(f"{folder} belongs to another user")
            hints.append("choose a folder of your own with WHENCE_DATA_DIR or memory.directory")
        elif facts.st_mode & stat.S_IWOTH:
            problems.append(f"{folder} is writable by everybody")
            hints.append(f"chmod go-w {folder}")
    if problems:
        yield Finding("privacy", WARNING, "; ".join(problems), "; ".join(dict.fromkeys(hints)))
    else:
        yield Finding("privacy", OK, "no other user can write to our folders")


def _nearest_existing(path: Path) -> Path:
    return next((one for one in (path, *path.parents) if os.path.lexists(one)), Path("/"))


def index_folders(data_dir: Path) -> list[IndexFolder]:
    """Every index in the data folder, by name."""
    try:
        paths = sorted(path for path in (data_dir / "indexes").iterdir() if path.is_dir())
    except OSError:
        return []  # `data_folder` reports this
    folders = []
    for path in paths:
        root = _root_of(data_dir, path)
        size = sum(size_of(Path(folder, name)) for folder, _, names in os.walk(path) for name in names)
        folders.append(IndexFolder(path, str(root) if root else "", size, orphaned=root is not None and _is_deleted(root)))
    return folders


def _root_of(data_dir: Path, path: Path) -> Path | None:
    """The root of an index, if the name of its folder confirms it. Bytes that are not Unicode were stored escaped."""
    try:
        with closing(connect_read_only(path / "truth.db")) as db:
            row = db.execute("SELECT value FROM meta WHERE key = 'root'").fetchone()
    except (sqlite3.Error, OSError, UnicodeDecodeError):
        return None
    stored = str(row[0]) if row else ""
    raw = _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), stored.encode("utf-8", "surrogateescape"))
    candidates = [Path(stored), Path(os.fsdecode(raw))] if stored else []
    return next((one for one in candidates if Layout(data_dir, one).directory.name == path.name), None)


def _is_deleted(root: Path) -> bool:
    """Whether a folder was deleted. If it may be on a disk that is not mounted, it does not count as deleted."""
    try:
        os.lstat(root)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            return False
    else:
        return False
    above = _nearest_existing(root.parent)
    try:
        return next(above.iterdir(), None) is not None if above.is_dir() else True
    except OSError:
        return False


def orphans(folders: list[IndexFolder]) -> Iterator[Finding]:
    """Indexes of folders that were deleted."""
    lost = sorted((one for one in folders if one.orphaned), key=lambda one: -one.bytes)
    facts = {"orphans": [{"path": str(one.path), "root": one.root, "bytes": one.bytes} for one in lost]}
    if lost:
        message = f"{len(lost)} of {len(folders)} indexes belong to deleted folders, {format_size(sum(one.bytes for one in lost))}"
        details = tuple(f"{one.root}: {format_size(one.bytes)} in {one.path}" for one in lost[:MAX_DETAILS])
        yield Finding("orphans", WARNING, message, "whence doctor --fix removes them; learned feedback stays", details, facts)
    else:
        yield Finding("orphans", OK, "no index of a deleted folder", facts=facts)


def remove_orphans(folders: list[IndexFolder]) -> list[str]:
    """Remove the indexes of deleted folders, except learned feedback; returns a line for each."""
    lines = []
    for one in (folder for folder in folders if folder.orphaned):
        if read_lock(one.path / "writer.lock").held:
            lines.append(f"kept {one.path}: a process is writing it")
            continue
        remove_index_folder(one.path, learned=False)
        kept = f"; kept its learned feedback in {one.path / LEARNED}" if one.path.exists() else f": {one.path}"
        lines.append(f"removed the index of {one.root}{kept}")
    return lines


def unreadable_indexes(folders: list[IndexFolder]) -> Iterator[Finding]:
    """Other indexes of which not even the root can be read."""
    names = [one.path.name for one in folders if not one.root and (one.path / "truth.db").exists()]
    if names:
        yield Finding("other indexes", SKIPPED, f"{len(names)} do not say which folder they index: {first_few(names)}")


# The writer's lock.
@dataclass(frozen=True, slots=True)
class WriterLock:
    """Whether the lock is held, and what the last writer noted in it."""

    held: bool
    pid: int = 0  # 0 if nothing is noted
    since: float = 0.0


def read_lock(path: Path) -> WriterLock:
    """Ask the kernel whether a lock is held, without taking it, and read what its writer noted."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return WriterLock(held=False)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            held = False
        except BlockingIOError:
            held = True
        text = os.pread(handle, 4_096, 0)
    finally:
        os.close(handle)
    try:
        note = json.loads(text)
        return WriterLock(held, int(note["pid"]), float(note["since"]))
    except (ValueError, KeyError, TypeError):
        return WriterLock(held)


def writer_lock(layout: Layout, now: float) -> Iterator[Finding]:
    """Which process is writing the index, if any."""
    lock = read_lock(layout.lock_file)
    age = max(now - lock.since, 0.0)
    facts = {"held": lock.held, "pid": lock.pid or None, "seconds": round(age, 1) if lock.pid else None}
    if not lock.held and lock.pid:
        ended = "released it" if is_alive(lock.pid) else "ended"
        message = f"free; its last holder, process {lock.pid}, {ended} before finishing; the next search resumes"
        yield Finding("lock", OK, message, facts=facts)
    elif not lock.held:
        yield Finding("lock", OK, "free", facts=facts)
    elif not lock.pid or not is_alive(lock.pid):
        yield Finding("lock", WARNING, "held by an unknown process", f"find it with lsof {layout.lock_file}", facts=facts)
    elif age > LONG_WRITE_SECONDS:
        hint = f"if it hangs, end it: kill {lock.pid}; finished work is kept"
        yield Finding("lock", WARNING, f"process {lock.pid} has been writing the index for {age / 60:.0f} min", hint, facts=facts)
    else:
        yield Finding("lock", OK, f"process {lock.pid} is writing the index, for {age:.0f} s", facts=facts)


def is_alive(pid: int) -> bool:
    """Whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


# Notes.
def note_folders(chosen: LoadedSettings, root: Path, environment: Mapping[str, str], home: Path) -> list[Path]:
    """The folder of notes and those of its projects."""
    place = notes_directory(chosen.settings, chosen.provenance, root, environment, home)
    return [place, *(place / name for name in NoteStore(place, chosen.settings.memory.max_bytes).folders())]


def notes(chosen: LoadedSettings, root: Path, environment: Mapping[str, str], home: Path) -> Iterator[Finding]:
    """Whether every note can be read, and whether any holds a secret. The secret itself is never shown."""
    place = notes_directory(chosen.settings, chosen.provenance, root, environment, home)
    if not place.is_dir() or not os.access(place, os.R_OK | os.X_OK):
        if not place.exists():
            yield Finding("notes", SKIPPED, f"none in {place}")
        elif place.is_dir():
            yield Finding("notes", FAILED, f"{place} is not readable: permission denied", "check its permissions")
        else:
            yield Finding("notes", FAILED, f"{place} is a file", "make it a folder")
        return
    store = NoteStore(place, chosen.settings.memory.max_bytes)
    keys, stray = [one.key for one in store.scan()], store.stray_files()
    problems, read = _note_problems(store, keys)
    facts = {"path": str(place), "notes": len(keys), "read": read, "trouble": len(problems), "stray": len(stray)}
    unread = f"; {len(keys) - read} not checked for lack of time" if read < len(keys) else ""
    writing = "; a process is writing them" if read_lock(place / LOCK).held else ""
    message = f"{len(keys)} in {place}{unread}{writing}"
    details = (*problems[:MAX_DETAILS], *(f"{name}: not recognized as a note" for name in stray[:MAX_DETAILS]))
    if details:
        message = f"{message}; {len(problems) + len(stray)} need attention"
        yield Finding("notes", WARNING, message, "whence edit KEY, or fix the file by hand", details, facts)
    else:
        yield Finding("notes", OK, message, facts=facts)


def _note_problems(store: NoteStore, keys: list[str]) -> tuple[list[str], int]:
    """What is wrong with notes, and how many were read in time."""
    problems: list[str] = []
    deadline = time.monotonic() + NOTES_SECONDS
    for read, key in enumerate(keys):
        if time.monotonic() > deadline:
            return problems, read
        try:
            note = store.read(key)
        except WhenceError as error:
            problems.append(f"{key}: {error.message}")
            continue
        if note is None:
            continue
        if note.problem:
            problems.append(f"{key}: {note.problem}")
        problems += [f"{key}: line {one.line} looks like a secret ({one.kind})" for one in find_secrets(note.text)]
    return problems, len(keys)


# Processes.
def processes(uid: int, own: int, proc: Path = Path("/proc")) -> Iterator[Finding]:
    """The user's whence processes, and how close the user is to the system's limits for watching files."""
    if not (proc / "self" / "fdinfo").is_dir():
        yield Finding("processes", SKIPPED, "not checked: this system has no /proc")
        return
    running: list[dict[str, Any]] = []
    watches, instances = 0, 0
    deadline, complete = time.monotonic() + PROCESSES_SECONDS, True
    for pid in sorted(int(name) for name in os.listdir(proc) if name.isdigit()):  # noqa: PTH208  -- names are all that is needed
        place = proc / str(pid)
        try:
            if place.stat().st_uid != uid:
                continue
            if pid != own and (command := _whence_command(place / "cmdline")):
                resident = int((place / "statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
                running.append({"pid": pid, "command": command, "megabytes": resident / 1e6})
            if complete := complete and time.monotonic() < deadline:
                counts = list(_watch_counts(place))
                watches, instances = watches + sum(counts), instances + len(counts)
        except OSError:
            continue  # just ended, or not accessible
    listed = first_few([f"{one['command']} ({one['pid']}, {one['megabytes']:.0f} MB)" for one in running])
    message = f"{len(running)} of whence: {listed}" if running else "no other whence process is running"
    yield Finding("processes", OK, message, facts={"processes": running})
    yield from _inotify(watches, instances, proc, complete=complete)


def _whence_command(path: Path) -> str:
    """The subcommand of a whence process, from its command line but without its arguments; empty for any other process."""
    words = path.read_bytes().split(b"\0")
    for at, word in enumerate(words[:6]):
        name = word.rpartition(b"/")[2]
        if name == b"whence.index.worker":
            return "worker"
        if name == b"whence" and (at == 0 or words[at - 1] == b"-m" or b"python" in words[at - 1].rpartition(b"/")[2]):
            command = words[at + 1] if at + 1 < len(words) else b""
            return command.decode("ascii", "replace") if command.isalpha() else "whence"
    return ""


def _watch_counts(place: Path) -> Iterator[int]:
    """For each inotify handle of a process, how many files and folders it watches."""
    for name in os.listdir(place / "fd"):  # noqa: PTH208
        try:
            if os.readlink(place / "fd" / name) == "anon_inode:inotify":  # noqa: PTH115  -- thousands of them
                text = (place / "fdinfo" / name).read_text(encoding="ascii", errors="replace")
                yield sum(line.startswith("inotify wd:") for line in text.splitlines())
        except OSError:
            continue


def _inotify(watches: int, instances: int, proc: Path, *, complete: bool) -> Iterator[Finding]:
    limits = {}
    for name in ("max_user_watches", "max_user_instances"):
        try:
            limits[name] = int((proc / "sys" / "fs" / "inotify" / name).read_text(encoding="ascii"))
        except (OSError, ValueError):
            yield Finding("inotify", SKIPPED, "not checked: this system does not state its limits")
            return
    facts = {"watches": watches, "instances": instances, **limits, "complete": complete}
    message = f"{watches} of {limits['max_user_watches']} watches, {instances} of {limits['max_user_instances']} instances"
    message += "" if complete else " (count incomplete for lack of time)"
    if watches > NEAR_LIMIT * limits["max_user_watches"] or instances > NEAR_LIMIT * limits["max_user_instances"]:
        hint = "raise fs.inotify.max_user_watches (sysctl), or lower watch.max_folders; search works without watching"
        yield Finding("inotify", WARNING, message, hint, facts=facts)
    else:
        yield Finding("inotify", OK, message, facts=facts)


# Agents.
def agents(root: Path, environment: Mapping[str, str], home: Path) -> Iterator[Finding]:
    """Which coding agents are configured, for this repository or for the user."""
    from whence.app.agents.plan import install_state  # noqa: PLC0415  -- quick checks do without
    from whence.app.agents.registry import AGENTS, InstallScope  # noqa: PLC0415  -- as above

    scopes = (InstallScope(home, environment, root), InstallScope(home, environment))
    states = [install_state(agent, scope) for agent in AGENTS for scope in scopes]
    for one in states:
        if one.error:
            yield Finding("agents", WARNING, f"{one.agent.name}: {one.error}")
    configured = dict.fromkeys(one.agent.name for one in states if one.configured)
    others = dict.fromkeys(one.agent.name for one in states if one.installed and one.agent.name not in configured)
    if configured:
        yield Finding("agents", OK, f"whence is configured for {', '.join(configured)}")
    if others:
        message = f"whence is not configured for {', '.join(others)}"
        yield Finding("agents", OK if configured else SKIPPED, message, f"whence install {next(iter(others))}")
    if not configured and not others:
        yield Finding("agents", SKIPPED, "no agent is installed on this machine")
