"""The index view: what is indexed, from when, how large, made how, and what was last done to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from fastapi import APIRouter

from whence.app.session import SERVER_SETTINGS, BuildProgress, IndexSession
from whence.index.build_log import read_log
from whence.index.writer import NO_MODEL_NOTE
from whence.source.read import strip_secrets
from whence.ui.api import index_files, index_health
from whence.ui.models import ApiModel, BuildProgressView, CurrentWorkspace, FreshnessView, Text

if TYPE_CHECKING:
    from pathlib import Path

    from whence.app.index import Index
    from whence.index.snapshot import Snapshot

router = APIRouter()
router.include_router(index_files.router)
router.include_router(index_health.router)
#: What a file of an index is part of, by how its name ends; the database is told by how it begins.
PARTS = {".segment": "segments", ".vectors": "vectors", ".graph": "graph", ".shared": "columns", ".history": "columns"}
DATABASES = {"truth.db": "database", "learned.db": "learned"}
OTHERS = "others"


class DiskPart(ApiModel):
    """How much room one part of an index takes."""

    part: str  # segments, vectors, graph, columns, database, learned or others
    bytes: int


class LanguageSize(ApiModel):
    """What is indexed of one language."""

    language: str
    files: int
    units: int
    lines: int
    bytes: int


class ExcludedCount(ApiModel):
    """How many files and folders were left out for one reason."""

    reason: Text  # why they were left out
    count: int


class ModelView(ApiModel):
    """What reads meaning."""

    name: str  # as it is set
    fingerprint: str  # empty when answers are by words alone
    width: int  # how many numbers a vector has
    passages: int  # pieces of source that have a vector
    trouble: Text = ""  # why it cannot be used


class SettingView(ApiModel):
    """A setting that is not as by default."""

    name: str
    value: Text
    source: Text  # command line, environment, or the file it stands in


class BuildRecordView(ApiModel):
    """One time that the index was written."""

    at: float  # when it was done, in seconds since 1970
    seconds: float  # that it took
    what: str  # built, refreshed, repaired or adopted
    because: Text
    added: int  # files
    changed: int  # files
    removed: int  # files
    known: int  # of those added or changed: whose content was known already
    bytes: int  # of source that was read
    files: int  # that could be found afterwards
    units: int
    skipped: int  # files and folders that were left out
    version: str  # of whence


class IndexContents(ApiModel):
    """What an index holds; where it is being built, as far as it is."""

    files: int
    units: int
    lines: int
    source_bytes: int  # how large the files are
    index_bytes: int  # how large the index is
    directory: Text  # where the index lies
    disk: list[DiskPart]
    languages: list[LanguageSize]
    left_out: list[ExcludedCount]
    segments: int  # how many pieces it is in
    commits: int  # whose messages are known
    made_with: str  # the version of whence
    model: ModelView
    settings: list[SettingView]
    fresh: FreshnessView
    notes: list[Text]


class IndexReply(ApiModel):
    """An index at a glance."""

    root: Text
    path: Text
    progress: BuildProgressView
    trouble: Text  # what the last build failed with
    held: IndexContents | None  # nothing is indexed yet
    runs: list[BuildRecordView]  # the newest first


class RefreshBody(ApiModel):
    """Which index to bring up to date."""

    root: str = ""
    force: bool = False  # build from nothing, whatever is there


@router.get("/index")
async def index(workspace: CurrentWorkspace, root: str = "") -> IndexReply:
    """What the index of a root holds, and how it came to be; the first root where none is named."""
    session = workspace.session(workspace.roots.select(root))
    return await session.ask(partial(_told, workspace.name_of(session), session), wait=False)


@router.post("/index/refresh")
async def refresh(workspace: CurrentWorkspace, asked: RefreshBody) -> BuildProgressView:
    """Take in what changed: at once where that is quick, else beside the server, as the progress tells."""
    return BuildProgressView.of(await workspace.session(workspace.roots.select(asked.root)).refresh(rebuild=asked.force))


def _told(name: str, session: IndexSession, index: Index | None, progress: BuildProgress) -> IndexReply:
    runs = read_log(index.layout.build_log_file) if index is not None else []
    return IndexReply(
        root=name,
        path=str(session.root),
        progress=BuildProgressView.of(progress),
        trouble=session.build_error,
        held=_held(index) if index is not None else None,
        runs=[BuildRecordView(**asdict(one)) for one in reversed(runs)],
    )


def _held(index: Index) -> IndexContents:
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
        settings=_differing(index),
        fresh=FreshnessView.of(index.freshness),
        notes=list(dict.fromkeys(index.notes)),
    )


def languages_of(snapshot: Snapshot) -> list[LanguageSize]:
    """What is alive of each language, the one with the most source first."""
    names, alive = np.array(snapshot.languages, dtype=object), snapshot.alive
    units, lines, sizes = np.diff(snapshot.unit_starts), index_files.lines_of(snapshot), snapshot.column("files.bytes")
    found = []
    for name in sorted(set(names[alive].tolist())):
        rows = alive & (names == name)
        sums = {what: int(column[rows].sum(dtype=np.int64)) for what, column in (("units", units), ("lines", lines), ("bytes", sizes))}
        found.append(LanguageSize(language=name, files=int(rows.sum()), **sums))
    return sorted(found, key=lambda one: (-one.bytes, one.language))


def disk_use(directory: Path) -> list[DiskPart]:
    """How much room each part of an index takes, the largest first."""
    sizes: Counter[str] = Counter()
    for path in directory.rglob("*"):
        try:
            sizes[part_of(path)] += path.lstat().st_size if path.is_file() else 0
        except OSError:
            continue  # replaced at this moment
    return [DiskPart(part=part, bytes=size) for part, size in sizes.most_common() if size]


def part_of(path: Path) -> str:
    """What a file of an index belongs to."""
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


def _differing(index: Index) -> list[SettingView]:
    """The settings that somebody chose; not those that every server of this kind gives itself."""
    chosen = [one for one in index.provenance if one.source != "default" and SERVER_SETTINGS.get(one.name) != str(one.value)]
    return [SettingView(name=one.name, value=strip_secrets(str(one.value)), source=one.source) for one in chosen]
