"""What stands around an index: settings, notes, and the processes that are at work."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from whence.app.doctor.finding import FAILED, OK, SKIPPED, WARNING, Finding, some_of
from whence.app.doctor.storage import lock_of
from whence.core import settings as settings_module
from whence.core.errors import SettingError, WhenceError
from whence.core.settings import Layer, Setting
from whence.core.settings_schema import Settings
from whence.memory.location import notes_directory
from whence.memory.store import LOCK, NoteStore
from whence.text.secrets import find_secrets

#: Seconds that reading notes may take; the rest is left, and said to be.
NOTES_SECONDS = 2.0
#: The same for looking at the files that processes have open.
PROCESSES_SECONDS = 1.0
#: Above this share of what the system allows, watching may soon fail.
MUCH = 0.8
MOST_LISTED = 10


class LoadedSettings(NamedTuple):
    """Settings as they can be read, where they came from, and what was found on the way."""

    settings: Settings
    provenance: list[Setting]
    findings: list[Finding]


def user_file(environment: Mapping[str, str], home: Path) -> Path:
    """Where the user's own settings are."""
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "whence" / settings_module.USER_FILE


def read_settings(root: Path, environment: Mapping[str, str], home: Path, command_line: Mapping[str, str]) -> LoadedSettings:
    """Every source of settings by itself, so that each that is wrong is named; those are left out of what the rest is checked with."""
    sound: list[Layer] = []
    trouble: list[WhenceError] = []
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
                sound.append(layer)
        except SettingError as error:
            trouble.append(error)
    settings, provenance = settings_module.merge(sound)
    set_ones = [one for one in provenance if one.source != "default"]
    facts = {"read": [layer.source for layer in sound if layer.values], "set": {one.name: one.source for one in set_ones}}
    if trouble:
        details = tuple(f"{error.message}{f' ({error.hint})' if error.hint else ''}" for error in trouble)
        found = Finding(
            "settings", FAILED, "values that cannot be used were found; they are left out here", "mend what is named above", details, facts
        )
    else:
        read = some_of([layer.source for layer in sound if layer.values])
        found = Finding("settings", OK, f"{len(set_ones)} set, from {read}" if read else "all as by default", facts=facts)
    return LoadedSettings(settings, provenance, [found])


def notes_places(chosen: LoadedSettings, root: Path, environment: Mapping[str, str], home: Path) -> list[Path]:
    """The folder of notes and those of its projects."""
    place = notes_directory(chosen.settings, chosen.provenance, root, environment, home)
    return [place, *(place / name for name, _ in NoteStore(place).folders())]


def notes(chosen: LoadedSettings, root: Path, environment: Mapping[str, str], home: Path) -> Iterator[Finding]:
    """Whether every note can be read as one, and whether one holds a secret; what the secret is, nobody is told."""
    place = notes_directory(chosen.settings, chosen.provenance, root, environment, home)
    if not place.is_dir():
        yield (
            Finding("notes", FAILED, f"{place} is a file", "put the folder of notes there")
            if place.exists()
            else Finding("notes", SKIPPED, f"there are none in {place}")
        )
        return
    if not os.access(place, os.R_OK | os.X_OK):
        yield Finding("notes", FAILED, f"{place} cannot be read: permission denied", "check who may read there")
        return
    folder = NoteStore(place)
    found, stray = list(folder.scan()), folder.stray()
    told, read = _read_notes(folder, [f"{one.folder}/{one.slug}" for one in found], chosen.settings.memory.max_bytes)
    facts = {"path": str(place), "notes": len(found), "read": read, "trouble": len(told), "stray": len(stray)}
    short = f"; {len(found) - read} were not reached in time" if read < len(found) else ""
    held = "; a process is writing them" if lock_of(place / LOCK).held else ""
    said = f"{len(found)} in {place}{short}{held}"
    details = (*told[:MOST_LISTED], *(f"{name}: is not taken for a note" for name in stray[:MOST_LISTED]))
    if details:
        yield Finding(
            "notes", WARNING, f"{said}; {len(told) + len(stray)} need a look", "whence edit KEY, or mend the file", details, facts
        )
    else:
        yield Finding("notes", OK, said, facts=facts)


def _read_notes(folder: NoteStore, keys: list[str], most_bytes: int) -> tuple[list[str], int]:
    """What is wrong with each of some notes, and how many were read in time."""
    told: list[str] = []
    deadline = time.monotonic() + NOTES_SECONDS
    for read, key in enumerate(keys):
        if time.monotonic() > deadline:
            return told, read
        try:
            note = folder.read(key, most_bytes=most_bytes)
        except WhenceError as error:
            told.append(f"{key}: {error.message}")
            continue
        if note is None:
            continue
        if note.trouble:
            told.append(f"{key}: {note.trouble}")
        told += [f"{key}: line {one.line} looks like a secret ({one.kind})" for one in find_secrets(note.text)]
    return told, len(keys)


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A process of whence: what it does, and how much memory it holds. Its arguments are nobody's business."""

    pid: int
    command: str
    megabytes: float


def processes(uid: int, own: int, proc: Path = Path("/proc")) -> Iterator[Finding]:
    """Which processes of whence the user runs, and how near the user is to what the system allows for watching files."""
    if not (proc / "self" / "fdinfo").is_dir():
        yield Finding("processes", SKIPPED, "not looked at: this system has no /proc")
        return
    running, watches, instances = [], 0, 0
    deadline, complete = time.monotonic() + PROCESSES_SECONDS, True
    for pid in sorted(int(name) for name in os.listdir(proc) if name.isdigit()):  # noqa: PTH208  -- names are all that is needed
        place = proc / str(pid)
        try:
            if place.stat().st_uid != uid:
                continue
            if pid != own and (command := _command(place / "cmdline")):
                running.append(RunningProcess(pid, command, _resident(place / "statm")))
            if complete := complete and time.monotonic() < deadline:
                found = list(_watched(place))
                watches, instances = watches + sum(found), instances + len(found)
        except OSError:
            continue  # ended at this moment, or not ours to look at
    listed = [{"pid": one.pid, "command": one.command, "megabytes": one.megabytes} for one in running]
    said = f"{len(running)} of whence: " + some_of([f"{one.command} ({one.pid}, {one.megabytes:.0f} MB)" for one in running])
    yield Finding("processes", OK, said if running else "no other of whence is running", facts={"processes": listed})
    yield from _inotify(watches, instances, proc, complete=complete)


def _command(path: Path) -> str:
    """What a process of whence does, from its command line; empty for any other process."""
    words = path.read_bytes().split(b"\0")
    for at, word in enumerate(words[:6]):
        name = word.rpartition(b"/")[2]
        if name == b"whence.index.worker":
            return "worker"
        if name == b"whence" and (at == 0 or words[at - 1] == b"-m" or b"python" in words[at - 1].rpartition(b"/")[2]):
            asked = words[at + 1] if at + 1 < len(words) else b""
            return asked.decode("ascii", "replace") if asked.isalpha() else "whence"
    return ""


def _resident(path: Path) -> float:
    return int(path.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _watched(place: Path) -> Iterator[int]:
    """Of every inotify handle of a process, how many files and folders it watches."""
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
            yield Finding("inotify", SKIPPED, "not looked at: this system does not say what it allows")
            return
    facts = {"watches": watches, "instances": instances, **limits, "complete": complete}
    said = f"{watches} of {limits['max_user_watches']} watches, {instances} of {limits['max_user_instances']} instances"
    said += "" if complete else ", as far as they were counted in time"
    if watches > MUCH * limits["max_user_watches"] or instances > MUCH * limits["max_user_instances"]:
        hint = "raise fs.inotify.max_user_watches (sysctl), or lower watch.max_folders; a search never needs to watch"
        yield Finding("inotify", WARNING, said, hint, facts=facts)
    else:
        yield Finding("inotify", OK, said, facts=facts)
