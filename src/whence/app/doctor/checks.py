"""All checks of `whence doctor`, in the order of the report."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from whence.app.doctor import environment as surroundings
from whence.app.doctor import installation
from whence.app.doctor.environment import LoadedSettings
from whence.app.doctor.finding import SKIPPED, Finding, run_check
from whence.app.doctor.index_files import IndexState, check_index
from whence.app.doctor.load_check import load_in_subprocess
from whence.core.settings import Settings
from whence.index.layout import Layout

#: Seconds for packages, grammars and models to load; far more than they need.
LOADING_SECONDS = 20.0
#: Questions of each kind, and the seconds for asking them, unless a number is given.
QUESTIONS, QUESTION_SECONDS = 40, 5.0


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """What to examine, and on which machine."""

    root: Path
    data_dir: Path
    home: Path
    environment: Mapping[str, str]
    now_ns: int
    command_line: Mapping[str, str] = field(default_factory=dict)
    questions: int | None = None  # None: as many as can be asked in a few seconds

    @property
    def layout(self) -> Layout:
        """The files of the root's index."""
        return Layout(self.data_dir, self.root)


def examine(context: DoctorContext) -> Iterator[Finding]:
    """All findings: the installation, the data folder, this index, its surroundings, agents, and measured quality."""
    chosen, index = _settings_and_index(context)
    yield from _installation(context, chosen.settings, index)
    yield from _quick_checks(context, chosen, index)
    yield from run_check("agents", lambda: surroundings.agents(context.root, context.environment, context.home))
    yield from run_check("recall", lambda: _recall(context, chosen.settings, index))


def examine_quickly(context: DoctorContext) -> Iterator[Finding]:
    """The findings that take no seconds: nothing is loaded on trial, and quality is not measured."""
    return _quick_checks(context, *_settings_and_index(context))


def _settings_and_index(context: DoctorContext) -> tuple[LoadedSettings, IndexState]:
    chosen = surroundings.read_settings(context.root, context.environment, context.home, context.command_line)
    return chosen, check_index(context.layout, chosen.settings, context.now_ns)


def _installation(context: DoctorContext, settings: Settings, index: IndexState) -> Iterator[Finding]:
    requirements = installation.own_requirements()
    parts = installation.parts_to_load(requirements, index.languages, settings)
    loaded = load_in_subprocess(parts, LOADING_SECONDS, context.environment)
    yield from run_check("versions", lambda: installation.versions(sys.version_info[:2]))
    yield from run_check("packages", lambda: installation.packages(requirements, loaded))
    yield from run_check("grammars", lambda: installation.grammars(loaded))
    yield from run_check("models", lambda: installation.models(settings, loaded))
    yield from run_check("git", lambda: installation.git_program(context.environment))


def _quick_checks(context: DoctorContext, chosen: LoadedSettings, index: IndexState) -> Iterator[Finding]:
    yield from chosen.findings
    folders = surroundings.index_folders(context.data_dir)
    yield from run_check("data folder", lambda: surroundings.data_folder(context.data_dir, folders))
    yield from run_check("orphans", lambda: surroundings.orphans(folders))
    yield from run_check("other indexes", lambda: surroundings.unreadable_indexes(folders))
    yield from run_check("lock", lambda: surroundings.writer_lock(context.layout, context.now_ns / 1e9))
    yield from index.findings
    where = (chosen, context.root, context.environment, context.home)
    yield from run_check("notes", lambda: surroundings.notes(*where))
    yield from run_check("privacy", lambda: surroundings.privacy(context.data_dir, *surroundings.note_folders(*where)))
    yield from run_check("processes", lambda: surroundings.processes(os.getuid(), os.getpid()))


def _recall(context: DoctorContext, settings: Settings, index: IndexState) -> Iterator[Finding]:
    if context.questions == 0:
        return
    if not index.searchable:
        yield Finding("recall", SKIPPED, "not measured: there is no usable index", "run whence index, then whence doctor again")
        return
    from whence.app.doctor.quality import measure, recall  # noqa: PLC0415  -- loads all of ranking

    seconds = QUESTION_SECONDS if context.questions is None else float("inf")
    count = QUESTIONS if context.questions is None else context.questions
    reports = list(measure(context.layout, settings, questions=count, seconds=seconds, now_ns=context.now_ns))
    yield from recall(reports, settings.index.model)
