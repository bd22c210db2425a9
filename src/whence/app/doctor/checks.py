"""Every check in order, on one root."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whence.app.doctor import environment as surroundings
from whence.app.doctor import installation, storage
from whence.app.doctor.environment import LoadedSettings
from whence.app.doctor.finding import SKIPPED, Finding, guarded
from whence.app.doctor.index_files import IndexState, look_at_index
from whence.app.doctor.load_check import load_apart
from whence.core.settings_schema import Settings
from whence.index.layout import Layout

#: Seconds for packages, grammars and models to load; far more than they need.
LOADING_SECONDS = 20.0
#: Questions of each kind, and the seconds in which they are asked when nobody said how many.
QUESTIONS, QUESTION_SECONDS = 40, 5.0

Check = Callable[[], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """What is examined, and what the world says of it."""

    root: Path
    data_dir: Path
    home: Path
    environment: Mapping[str, str]
    now_ns: int
    command_line: Mapping[str, str] = field(default_factory=dict)
    questions: int | None = None  # None: as many as are quickly asked
    others: Sequence[tuple[str, Check]] = ()  # checks by name that only the front end can make

    @property
    def layout(self) -> Layout:
        """The places of the root's index."""
        return Layout(self.data_dir, self.root)


def examine(here: DoctorContext) -> Iterator[Finding]:
    """Every finding, in the order of a report: what whence stands on, where it keeps things, this index, what is around it."""
    chosen, index = _looked_at(here)
    yield from _installation(here, chosen.settings, index)
    yield from _without_loading(here, chosen, index)
    yield from guarded("recall", lambda: _recall(here, chosen.settings, index))


def examine_at_once(here: DoctorContext) -> Iterator[Finding]:
    """The findings that take no seconds: nothing is loaded to see whether it can be, and nothing is measured."""
    return _without_loading(here, *_looked_at(here))


def _looked_at(here: DoctorContext) -> tuple[LoadedSettings, IndexState]:
    chosen = surroundings.read_settings(here.root, here.environment, here.home, here.command_line)
    return chosen, look_at_index(here.layout, chosen.settings, here.now_ns)


def _without_loading(here: DoctorContext, chosen: LoadedSettings, index: IndexState) -> Iterator[Finding]:
    yield from chosen.findings
    yield from _storage(here)
    yield from index.findings
    yield from _around(here, chosen)


def _installation(here: DoctorContext, settings: Settings, index: IndexState) -> Iterator[Finding]:
    needed = installation.needed_here()
    loaded = load_apart(installation.parts_to_load(needed, index.languages, settings), LOADING_SECONDS, here.environment)
    yield from guarded("versions", lambda: installation.python_and_whence(sys.version_info[:2]))
    yield from guarded("packages", lambda: installation.packages(needed, loaded))
    yield from guarded("grammars", lambda: installation.grammars(loaded))
    yield from guarded("models", lambda: installation.models(settings, loaded))
    yield from guarded("git", lambda: installation.git_program(here.environment))


def _storage(here: DoctorContext) -> Iterator[Finding]:
    folders = storage.index_folders(here.data_dir)
    yield from guarded("data folder", lambda: storage.data_folder(here.data_dir, folders))
    yield from guarded("orphans", lambda: storage.orphans(folders))
    yield from guarded("other indexes", lambda: storage.unreadable(folders))
    yield from guarded("lock", lambda: storage.writers_lock(here.layout, here.now_ns / 1e9))


def _around(here: DoctorContext, chosen: LoadedSettings) -> Iterator[Finding]:
    yield from guarded("notes", lambda: surroundings.notes(chosen, here.root, here.environment, here.home))
    yield from guarded(
        "privacy", lambda: storage.exposed(here.data_dir, *surroundings.notes_places(chosen, here.root, here.environment, here.home))
    )
    yield from guarded("processes", lambda: surroundings.processes(os.getuid(), os.getpid()))
    for name, check in here.others:
        yield from guarded(name, check)


def _recall(here: DoctorContext, settings: Settings, index: IndexState) -> Iterator[Finding]:
    if here.questions == 0:
        return
    if not index.searchable:
        yield Finding("recall", SKIPPED, "not measured: there is no index that could be asked", "whence index, then whence doctor again")
        return
    from whence.app.doctor.quality import measure, recall  # noqa: PLC0415  -- all of ranking

    seconds = QUESTION_SECONDS if here.questions is None else float("inf")
    count = QUESTIONS if here.questions is None else here.questions
    found = list(measure(here.layout, settings, questions=count, seconds=seconds, now_ns=here.now_ns))
    yield from recall(found, settings.index.model)
