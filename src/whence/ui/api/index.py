"""The index view: what is indexed, its size, age and history; every file, indexed or left out; and what the doctor finds."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query

from whence.app.workspace import SERVER_SETTINGS, BuildProgress, IndexSession
from whence.core.errors import StorageError
from whence.index.build_log import BuildRecord, read_log
from whence.index.writer import NO_MODEL_NOTE
from whence.source.read import strip_secrets
from whence.ui.models import ApiModel, BuildProgressView, CurrentWorkspace, FreshnessView, Text, shows

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.core.types import Skipped
    from whence.index.snapshot import Snapshot
    from whence.storage.arrayfile import Array

router = APIRouter()
#: The parts of an index by the suffix of a file; databases by the beginning of its name.
PARTS = {".segment": "segments", ".vectors": "vectors", ".graph": "graph", ".shared": "columns", ".history": "columns"}
DATABASES = {"truth.db": "database", "learned.db": "learned"}
OTHERS = "others"
#: Files listed on one page.
PAGE = 50
#: Far more than the doctor needs; after that something hangs.
DOCTOR_SECONDS = 120.0


class DiskPart(ApiModel):
    """The size of one part of an index."""

    part: str  # segments, vectors, graph, columns, database, learned or others
    bytes: int


class LanguageSize(ApiModel):
    """What is indexed in one language."""

    language: str
    files: int
    units: int
    lines: int
    bytes: int


class ExcludedCount(ApiModel):
    """How many files and folders were left out, for one reason."""

    reason: Text  # why
    count: int


class ModelView(ApiModel):
    """The embedding model."""

    name: str  # as in the settings
    fingerprint: str  # empty if search is lexical only
    width: int  # dimensions of a vector
    passages: int  # passages that have a vector
    trouble: Text = ""  # why it cannot be used


class SettingView(ApiModel):
    """A setting that differs from the default."""

    name: str
    value: Text
    source: Text  # command line, environment, or a file


@shows(BuildRecord)
class BuildRecordView(ApiModel):
    """One build of the index."""


class IndexContents(ApiModel):
    """The contents of an index; during a build, so far."""

    files: int
    units: int
    lines: int
    source_bytes: int  # size of the files
    index_bytes: int  # size of the index
    directory: Text  # the folder of the index
    disk: list[DiskPart]
    languages: list[LanguageSize]
    left_out: list[ExcludedCount]
    segments: int  # how many segments it has
    commits: int  # commits in its history
    made_with: str  # the version of whence that built it
    model: ModelView
    settings: list[SettingView]
    fresh: FreshnessView
    notes: list[Text]


class IndexReply(ApiModel):
    """An overview of an index."""

    root: Text
    path: Text
    progress: BuildProgressView
    trouble: Text  # why the last build failed
    held: IndexContents | None  # null if nothing is indexed yet
    runs: list[BuildRecordView]  # newest first


class RefreshBody(ApiModel):
    """Which index to update."""

    root: str = ""
    force: bool = False  # rebuild it from scratch


@router.get("/index")
async def index(workspace: CurrentWorkspace, root: str = "") -> IndexReply:
    """The contents and the build history of a root's index; by default the first root's."""
    session = workspace.session(workspace.roots.select(root))
    return await session.ask(partial(_overview, workspace.name_of(session), session), wait=False)


@router.post("/index/refresh")
async def refresh(workspace: CurrentWorkspace, asked: RefreshBody) -> BuildProgressView:
    """Index what changed: at once if that is quick, else in a process of its own, as the progress shows."""
    return BuildProgressView.of(await workspace.session(workspace.roots.select(asked.root)).refresh(rebuild=asked.force))


def _overview(name: str, session: IndexSession, index: Index | None, progress: BuildProgress) -> IndexReply:
    runs = read_log(index.layout.build_log_file) if index is not None else []
    return IndexReply(
        root=name,
        path=str(session.root),
        progress=BuildProgressView.of(progress),
        trouble=session.build_error,
        held=_contents(index) if index is not None else None,
        runs=[BuildRecordView.of(one) for one in reversed(runs)],
    )


def _contents(index: Index) -> IndexContents:
    snapshot, store = index.snapshot, index.store
    languages, disk = languages_of(snapshot), disk_use(index.layout.directory)
    skipped = Counter(one.reason for one in [*index.tree.skipped, *store.skipped_files()])
    return IndexContents(
        files=snapshot.live_files,
        units=snapshot.live_units,
        lines=sum(one.lines for one in languages),
        source_bytes=sum(one.bytes for one in languages),
        index_bytes=sum(one.bytes for one in disk),
        directory=str(index.layout.directory),
        disk=disk,
        languages=languages,
        left_out=[ExcludedCount(reason=reason, count=count) for reason, count in skipped.most_common()],
        segments=len(snapshot.segments),
        commits=len(snapshot.commits["times"]) if snapshot.commits is not None else 0,
        made_with=store.meta().get("version", ""),
        model=_model(index),
        settings=_chosen_settings(index),
        fresh=FreshnessView.of(index.freshness),
        notes=list(dict.fromkeys(index.notes)),
    )


def languages_of(snapshot: Snapshot) -> list[LanguageSize]:
    """The live files of each language, most source first."""
    names, alive = np.array(snapshot.languages, dtype=object), snapshot.alive
    units, lines, sizes = np.diff(snapshot.unit_starts), lines_of(snapshot), snapshot.column("files.bytes")
    found = []
    for name in sorted(set(names[alive].tolist())):
        rows = alive & (names == name)
        sums = {what: int(column[rows].sum(dtype=np.int64)) for what, column in (("units", units), ("lines", lines), ("bytes", sizes))}
        found.append(LanguageSize(language=name, files=int(rows.sum()), **sums))
    return sorted(found, key=lambda one: (-one.bytes, one.language))


def disk_use(directory: Path) -> list[DiskPart]:
    """The size of each part of an index, largest first."""
    sizes: Counter[str] = Counter()
    for path in directory.rglob("*"):
        try:
            sizes[part_of(path)] += path.lstat().st_size if path.is_file() else 0
        except OSError:
            continue  # just replaced
    return [DiskPart(part=part, bytes=size) for part, size in sizes.most_common() if size]


def part_of(path: Path) -> str:
    """The part of an index that a file belongs to."""
    for beginning, part in DATABASES.items():
        if path.name.startswith(beginning):
            return part
    return PARTS.get(path.suffix, OTHERS)


def _model(index: Index) -> ModelView:
    encoder, name = index.writer.encoder, index.settings.index.model
    trouble = next((note for note in index.notes if note.endswith(NO_MODEL_NOTE)), "")
    return ModelView(
        name=name,
        fingerprint=index.writer.model,
        width=encoder.width if encoder is not None else 0,
        passages=index.snapshot.vectors.passages if index.snapshot.vectors is not None else 0,
        trouble=trouble,
    )


def _chosen_settings(index: Index) -> list[SettingView]:
    """The settings that the user chose, without those that every server sets."""
    ours = ("default", "call")  # a session calls with what it sets itself
    chosen = [one for one in index.provenance if one.source not in ours and SERVER_SETTINGS.get(one.name) != str(one.value)]
    return [SettingView.of(one, value=strip_secrets(str(one.value))) for one in chosen]


class FileRow(ApiModel):
    """A file, or a folder that was left out (its path ends with a slash)."""

    path: Text
    bytes: int
    language: str = ""
    units: int = 0
    lines: int = 0
    reason: Text = ""  # why it is not indexed


class FilesReply(ApiModel):
    """One page of files."""

    total: int
    page: int  # from 1
    pages: int
    files: list[FileRow]


class FilesQuery(ApiModel):
    """Which files to list."""

    root: str = ""
    q: str = ""  # words that a path must contain
    state: Literal["indexed", "left_out"] = "indexed"  # list indexed files, or those left out
    language: str = ""  # of indexed files
    reason: str = ""  # of files left out
    order: Literal["path", "bytes", "units"] = "path"  # of indexed files: by path, or largest first
    page: int = 1


@router.get("/index/files")
async def files(workspace: CurrentWorkspace, asked: Annotated[FilesQuery, Query()]) -> FilesReply:
    """The indexed files of a root, or those left out with the reason, fifty per page."""
    session = workspace.session(workspace.roots.select(asked.root))
    return await session.ask(partial(_files, asked), wait=False)


def _files(asked: FilesQuery, index: Index | None, _: BuildProgress) -> FilesReply:
    if index is None:
        return FilesReply(total=0, page=1, pages=1, files=[])
    if asked.state == "indexed":
        rows = _indexed(asked, index.snapshot)
        return _page(rows, asked.page, partial(_indexed_row, index.snapshot, lines_of(index.snapshot)))
    skipped = _left_out(asked, [*index.tree.skipped, *index.store.skipped_files()])
    return _page(skipped, asked.page, partial(_left_out_row, index.root))


def lines_of(snapshot: Snapshot) -> Array:
    """The lines of each file, up to the last one in a unit."""
    starts, last = snapshot.unit_starts, snapshot.column("units.last")
    lines = np.zeros(snapshot.files, np.int64)
    held = np.flatnonzero(np.diff(starts))
    if len(held):
        lines[held] = np.maximum.reduceat(last, starts[held])
    return lines


def _fits(asked: FilesQuery) -> Callable[[str], bool]:
    words = asked.q.casefold().split()
    return lambda path: all(word in path.casefold() for word in words)


def _indexed(asked: FilesQuery, snapshot: Snapshot) -> list[int]:
    """The rows of indexed files that match, in order."""
    fits, paths, languages = _fits(asked), snapshot.paths, snapshot.languages
    rows = [
        row
        for row in np.flatnonzero(snapshot.alive).tolist()
        if asked.language in ("", languages[row]) and (not asked.q or fits(paths[row]))
    ]
    sizes = {"bytes": snapshot.column("files.bytes"), "units": np.diff(snapshot.unit_starts)}.get(asked.order)
    return sorted(rows, key=lambda row: (-int(sizes[row]) if sizes is not None else 0, paths[row]))


def _left_out(asked: FilesQuery, skipped: Sequence[Skipped]) -> list[Skipped]:
    fits = _fits(asked)
    return sorted((one for one in skipped if asked.reason in ("", one.reason) and fits(one.path)), key=lambda one: one.path)


def _indexed_row(snapshot: Snapshot, lines: Array, row: int) -> FileRow:
    starts = snapshot.unit_starts
    return FileRow(
        path=snapshot.paths[row],
        bytes=int(snapshot.column("files.bytes")[row]),
        language=snapshot.languages[row],
        units=int(starts[row + 1] - starts[row]),
        lines=int(lines[row]),
    )


def _left_out_row(root: Path, one: Skipped) -> FileRow:
    try:
        size = 0 if one.path.endswith("/") else (root / one.path).lstat().st_size
    except OSError:
        size = 0  # gone, or not readable: the reason says so
    return FileRow(path=one.path, bytes=size, reason=one.reason)


def _page(found: Sequence[object], page: int, row_of: Callable[..., FileRow]) -> FilesReply:
    pages = max(-(-len(found) // PAGE), 1)
    page = min(max(page, 1), pages)
    return FilesReply(total=len(found), page=page, pages=pages, files=[row_of(one) for one in found[(page - 1) * PAGE : page * PAGE]])


class RecallScore(ApiModel):
    """Search quality measured with questions from the repository's own words, and that of counting words."""

    kind: str  # commits or doc comments
    questions: int  # how many
    first: float  # share of questions whose answer is the first result
    ten: float  # share of questions with an answer among the first ten
    floor_first: float  # the first share, by counting words
    floor_ten: float  # the second share, by counting words


class FindingView(ApiModel):
    """The result of one check."""

    name: str
    level: str  # ok, skipped, warning or failed
    said: Text  # the result, in one line
    hint: Text  # what to do
    details: list[Text]  # further lines
    recall: RecallScore | None


class HealthReply(ApiModel):
    """The results of all checks, and the worst level."""

    level: str
    findings: list[FindingView]
    milliseconds: float


@router.get("/index/health")
async def health(workspace: CurrentWorkspace, *, root: str = "", verify: bool = False, measure: bool = False) -> HealthReply:
    """The quick checks. `verify` also loads every package, grammar and model; `measure` also measures search quality."""
    began = time.perf_counter()
    session = workspace.session(workspace.roots.select(root))
    found = await (
        _check_all(session, measure=measure) if verify or measure else asyncio.to_thread(_check_quickly, session.root, session.overrides)
    )
    level = next((one for one in ("failed", "warning") if one in {finding.level for finding in found}), "ok")
    return HealthReply(level=level, findings=found, milliseconds=round((time.perf_counter() - began) * 1000, 1))


def _check_quickly(root: Path, command_line: dict[str, str]) -> list[FindingView]:
    """Run the quick checks; they only read."""
    from whence.app.doctor.checks import DoctorContext, examine_quickly  # noqa: PLC0415  -- all of the doctor
    from whence.core.settings import default_data_dir  # noqa: PLC0415  -- as above

    environment, home = dict(os.environ), Path.home()
    here = DoctorContext(root, default_data_dir(environment, home), home, environment, time.time_ns(), command_line)
    return [FindingView.of(one, said=one.message, recall=None) for one in examine_quickly(here)]


async def _check_all(session: IndexSession, *, measure: bool) -> list[FindingView]:
    """Run all checks in a process of their own: they take seconds, and searches must not wait."""
    settings = [part for name, value in session.overrides.items() for part in ("--set", f"{name}={value}")]
    questions = [] if measure else ["--questions", "0"]
    said = await _output([sys.executable, "-m", "whence", "doctor", str(session.root), "--json", *questions, *settings])
    try:
        return [_reported(one) for one in json.loads(said)["checks"]]
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError("the checks failed", hint="run whence doctor in a terminal") from error


async def _output(command: Sequence[str]) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry), "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        return (await asyncio.wait_for(process.communicate(), DOCTOR_SECONDS))[0]
    except asyncio.TimeoutError as error:
        raise StorageError("the checks did not finish in time", hint="run whence doctor in a terminal") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _reported(one: dict[str, Any]) -> FindingView:
    """A finding in the doctor's JSON."""
    facts, recall = one.pop("facts"), None
    if one["name"] == "recall" and "search" in facts:
        search, floor = facts["search"], {f"floor_{name}": facts["floor"][name] for name in ("first", "ten")}
        recall = RecallScore(kind=facts["kind"], questions=search["questions"], first=search["first"], ten=search["ten"], **floor)
    return FindingView(**one, recall=recall)
