"""The writer of an index: builds it, refreshes it, repairs it, and opens a reader of each generation."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from whence.core.errors import ColumnsDamaged, IndexBusy, IndexDamaged, ModelUnavailable, StorageError, VectorsDamaged
from whence.core.settings import Setting, load_settings, resolve_root
from whence.core.settings_schema import Settings
from whence.core.types import RUNTIME, Edge, Freshness, PendingWork, RefreshSummary
from whence.core.version import __version__
from whence.embed.encoder import Encoder
from whence.embed.registry import open_encoder
from whence.index.build_log import BuildBaseline, BuildCause, append_record, record_of_build
from whence.index.clean_marker import check, mark_clean, verify
from whence.index.layout import Layout, default_data_dir
from whence.index.opening import generation_of, is_behind, open_snapshot
from whence.index.reader import IndexReader
from whence.index.store import COLUMNS, FORMAT, IndexStore
from whence.source import git
from whence.source.walk import FileTree, Walker

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from whence.index.reuse import ReusableIndex

#: How notes begin that tell of an answer older than the files.
BEHIND = "answering from before the last changes"
Progress = Callable[[int, int], None]
#: Two processes that open a new index at once: one is told that it is locked, whatever time it allows for waiting.
OPENING_SECONDS, OPENING_PAUSE = 2.0, 0.05
#: Said where the database is lost: what programs were observed to do is in no other file.
KEPT = "; of what was observed at run time only what could be read is kept (whence ingest takes it in again)"


class IndexWriter:
    """Keeps the index of one root true to its files. `reader` is the latest generation; it is replaced as a whole."""

    def __init__(
        self,
        layout: Layout,
        settings: Settings,
        *,
        refresh: bool = True,
        progress: Progress | None = None,
        reuse: ReusableIndex | None = None,
        provenance: Sequence[Setting] = (),
    ) -> None:
        """Open the index, building or refreshing it first; a first build begins with what it inherits, if anything."""
        self.layout, self.settings, self.provenance = layout, settings, list(provenance)
        self.notes: list[str] = []  # what a user should know of how this index came to be
        self.last_refresh = RefreshSummary()
        self.tree = FileTree()
        self._store: IndexStore | None = None
        self._reader: IndexReader | None = None
        self._alone = RLock()  # held by the thread that makes the next generation
        self._stale = 0
        self._seen = -1
        self._reuse = reuse
        self._damage = ""  # what of it was lost or damaged, until it is built again
        self._verified = 0.0  # when everything was last compared with its checksums
        self._encoder: Encoder | None = self._open_encoder()
        self._start(refresh=refresh, progress=progress or _unseen)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        data_dir: str | os.PathLike[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        command_line: Mapping[str, Any] | None = None,
        refresh: bool = True,
        progress: Progress | None = None,
        reuse: ReusableIndex | None = None,
    ) -> Self:
        """Open the index of a folder with the settings that hold there."""
        root = resolve_root(Path(path))
        merged, provenance = load_settings(root, call=settings, command_line=command_line)
        where = Path(data_dir).absolute() if data_dir is not None else default_data_dir(dict(os.environ), Path.home())
        return cls(Layout(where, root), merged, refresh=refresh, progress=progress, reuse=reuse, provenance=provenance)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files."""
        with self._alone:
            if self._store is not None:
                self._store.close()
                if self._verified and not self._store.read_only:
                    mark_clean(self.layout, self._verified)
                self._store = None
            self._publish(None)

    @property
    def root(self) -> Path:
        """The folder that is indexed."""
        return self.layout.root

    @property
    def store(self) -> IndexStore:
        """The truth, opened."""
        if self._store is None:
            raise StorageError("the index is closed")
        return self._store

    @property
    def reader(self) -> IndexReader:
        """The latest generation."""
        if self._reader is None:
            raise StorageError("the index is closed")
        return self._reader

    @property
    def encoder(self) -> Encoder | None:
        """The encoder, unless its model cannot be had."""
        return self._encoder

    @property
    def model(self) -> str:
        """The fingerprint of the encoder; empty without one."""
        return self._encoder.fingerprint if self._encoder is not None else ""

    @property
    def freshness(self) -> Freshness:
        """What answers are of: commit, time, and whether files changed since."""
        meta = self.store.meta()
        return Freshness(
            meta.get("commit", ""),
            meta.get("branch", ""),
            float(meta.get("indexed_at", 0)),
            self._stale,
            "; ".join(note for note in self.notes if note.startswith(BEHIND)),
        )

    def add_edges(self, provenance: str, edges: Sequence[Edge], *, paths: Sequence[str] | None = None) -> None:
        """Keep edges that something other than the parser found, in place of those of the same provenance (of some files, or of all)."""
        with self.layout.write_lock(self.settings.index.lock_wait), self.store.transaction():
            self.store.replace_edges(provenance, edges, paths)
        self.store.checkpoint()
        self._open_latest()

    # Generations.
    def _open_latest(self) -> None:
        """Open the latest generation, unless nobody wrote anything since the last was opened."""
        latest = generation_of(self.store, self.model)  # before it is opened: what is written meanwhile is seen next time
        if self._reader is None or self._reader.generation != latest:
            snapshot = open_snapshot(self.layout, self.store, self.model)
            self._publish(IndexReader(self.layout, self.settings, self.store, snapshot, self._encoder, latest))

    def _publish(self, reader: IndexReader | None) -> None:
        before, self._reader = self._reader, reader
        if before is not None:
            before.release()
            del before
            gc.collect(1)  # the last answers refer to themselves and to its files; they are young, and this takes no time

    def _open_encoder(self) -> Encoder | None:
        try:
            return open_encoder(self.settings.index.model)
        except ModelUnavailable as trouble:
            self._do_without(trouble)
            return None

    def _do_without(self, trouble: ModelUnavailable) -> None:
        self._encoder = None
        self.notes.append(f"{trouble}: answers are by words alone")

    # Opening and refreshing.
    def _start(self, *, refresh: bool, progress: Progress) -> None:
        if not self.layout.exists():
            if not refresh:
                raise StorageError(f"{self.root} is not indexed", hint="search without --no-refresh, or run whence index")
            self.layout.create()
        if self.layout.is_orphaned():
            self._damage = f"{self.layout.database.name} was lost"
            self.notes.append(f"{self._damage}; rebuilt{KEPT}")
        with self._mending(progress):
            self._open_store()
            self._verified = check(self.layout, self.store, time.time(), self.settings.index.verify_after)
            self._refresh(build=refresh, progress=progress)
            self._open_latest()

    @contextmanager
    def _mending(self, progress: Progress) -> Iterator[None]:
        """Where work with the index meets damage, what is damaged is made again, and that is said."""
        try:
            yield
        except (VectorsDamaged, ColumnsDamaged) as damage:
            self._make_again(damage, progress)
        except IndexDamaged as damage:
            self._repair(damage, progress)

    def _open_store(self) -> None:
        """Open the truth; where nothing can be written, only to read. One that is being made is waited for."""
        until = time.monotonic() + OPENING_SECONDS
        while True:
            try:
                self._store = IndexStore(self.layout.database)
                return
            except IndexDamaged:
                raise
            except IndexBusy:
                if time.monotonic() > until:
                    raise
                time.sleep(OPENING_PAUSE)
            except StorageError:
                if not self.layout.exists():
                    raise
                break
        self._store = IndexStore(self.layout.database, read_only=True)

    def refresh(self, progress: Progress | None = None) -> RefreshSummary:
        """Take in what changed on disk since the index was opened or last refreshed."""
        with self._alone, self._mending(progress or _unseen):
            self.notes = [note for note in self.notes if not note.startswith(BEHIND)]
            self._refresh(build=True, progress=progress or _unseen)
            self._open_latest()
        return self.last_refresh

    def poll(self) -> PendingWork:
        """See what changed on disk and what other processes indexed, without indexing anything: what a refresh would do."""
        with self._alone:
            self.notes = [note for note in self.notes if not note.startswith(BEHIND)]
            self._refresh(build=False, progress=_unseen)
            self._open_latest()
            behind = is_behind(self.store, git.read_head(self.root), self.settings.index.history, self.model)
            return PendingWork(sum(self.tree.files[path].size for path in self.tree.changed), behind or self._stale > 0)

    def _keep_up(self) -> None:
        """Where another process made the database anew, go on with that one: what this one lists is gone."""
        if not (self.store.read_only or self.store.is_current()):
            self.layout.create()
            self.store.close()
            self._open_store()
            self._seen = -1

    def _refresh(self, *, build: bool, progress: Progress) -> None:
        if build or self.layout.exists():
            self._keep_up()
        known = self._known_tree(build=build)
        self.tree = self._walker().refresh(known)
        self._stale = len(self.tree.changed) + len(self.tree.deleted)
        if not build:
            self._seen = -1  # what is seen now is not indexed: the next look compares with what is
            self._stale = len(self.tree.deleted) + self._count_changed() if self._stale else 0
        settled = self.tree.folders == known.folders and self.tree.rules == known.rules
        if not build or (
            settled and not self._stale and not is_behind(self.store, git.read_head(self.root), self.settings.index.history, self.model)
        ):
            return
        try:
            with self.layout.write_lock(self.settings.index.lock_wait):
                self._build(progress)
        except IndexDamaged:
            raise
        except StorageError as trouble:
            if not self.store.segments():
                raise
            under_way = isinstance(trouble, IndexBusy)
            self.notes.append(f"{BEHIND}: {trouble.message if under_way else f'the index cannot be written: {trouble}'}")

    def _count_changed(self) -> int:
        from whence.index.changes import split_changed  # noqa: PLC0415  -- hashing, only where stamps moved

        return len(split_changed(self.store, self.root, self.tree.changed, self.settings.index.max_file_bytes)[0])

    def _known_tree(self, *, build: bool) -> FileTree:
        """The tree as it was last seen: read again only when another process may have changed it."""
        if not self._check_format(build=build):
            return FileTree()
        if not self.tree.folders or self._seen != self.store.changes():
            self._seen = self.store.changes()
            return self.store.tree()
        return self.tree

    def _build(self, progress: Progress) -> None:
        """Build with the writer's lock held; another process may have done the work while we waited."""
        now, began = time.time_ns(), time.monotonic()
        self._keep_up()
        otherwise = self._made_otherwise(self.store.meta())
        if not self._check_format(build=True):
            with self.store.transaction():
                self.store.clear()
                self.store.set_meta(**self._identity())
        if self._seen != self.store.changes():  # another process wrote while we waited for the lock
            self.tree = self._walker().refresh(self.store.tree())
        from whence.index.builder import Builder  # noqa: PLC0415  -- grammars and processes, only when there is work

        before = BuildBaseline.of(self.store)
        builder = Builder(self.layout, self.store, self.settings.index, now, self._encoder)
        head = git.read_head(self.root)
        reused, whose = self._take_over(head.commit if head else "", now) if not self.store.segments() else (0, "")
        done = builder.bring_up_to_date(self.tree, head.commit if head else "", progress)
        self.last_refresh = replace(done, reused=done.reused + reused)
        if builder.trouble is not None:
            self._do_without(builder.trouble)
        with self.store.transaction():
            self.store.set_meta(
                indexed_at=str(time.time()), commit=head.commit if head else "", branch=head.branch if head else "", **self._identity()
            )
        self._stale = 0
        self.tree.changed, self.tree.deleted = [], []
        self._open_latest()
        self._note_run(before, before.cause(whose, self._damage, otherwise), began)

    def _note_run(self, before: BuildBaseline, cause: BuildCause, began: float) -> None:
        """Keep what was done with the others beside the index."""
        now, seconds, units = time.time(), time.monotonic() - began, self.reader.snapshot.live_units
        run = record_of_build(before, self.store, self.last_refresh, cause, at=now, seconds=seconds, units=units)
        append_record(self.layout.build_log_file, run)
        self._damage = ""

    def _take_over(self, commit: str, now_ns: int) -> tuple[int, str]:
        """Begin with what the index of another tree of this repository has of the same content; how many files it had, and what it is."""
        from whence.index.reuse import find_reusable_indexes, reuse_segments  # noqa: PLC0415  -- for a first build only

        limit, identity = self.settings.index.max_file_bytes, self._identity()["settings"]
        nearby = find_reusable_indexes(self.layout, commit, identity) if self.settings.index.adopt else ()
        for estate in chain([self._reuse] if self._reuse else (), nearby):
            taken = reuse_segments(self.layout, self.store, estate, self.tree, model=self.model, limit=limit, now_ns=now_ns)
            if taken:
                return taken, "a pack" if estate is self._reuse else "the index of another worktree or clone"
        return 0, ""

    def _identity(self) -> dict[str, str]:
        return {
            "format": str(FORMAT),
            "version": __version__,
            "settings": self.settings.index_fingerprint(),
            "repository": git.common_dir(self.root),
            "root": os.fsencode(self.root).decode("utf-8", "backslashreplace"),
        }

    def _made_otherwise(self, meta: Mapping[str, str]) -> str:
        """With what an index was made that is not as it would be made now; empty where all is the same, or nothing is there."""
        identity = self._identity()
        for key, what in (("format", "another version of whence"), ("settings", "other index settings")):
            if meta and meta.get(key) != identity[key]:
                return what
        return ""

    def _check_format(self, *, build: bool) -> bool:
        meta = self.store.meta()
        if not (what := self._made_otherwise(meta)):
            return bool(meta)
        if not build:
            raise StorageError(f"the index was made with {what}", hint="search without --no-refresh to rebuild it")
        note = f"the index was made with {what}; rebuilt"
        if note not in self.notes:
            self.notes.append(note)
        return False

    def _walker(self) -> Walker:
        chosen = self.settings.index
        return Walker(str(self.root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=time.time_ns())

    def _make_again(self, damage: IndexDamaged, progress: Progress) -> None:
        """Make again what follows from the rest: vectors, or columns over all files."""
        vectors, self._damage = isinstance(damage, VectorsDamaged), damage.message
        self.notes.append(f"{damage.message}; {'vectors ' if vectors else ''}rebuilt")
        with self.layout.write_lock(self.settings.index.lock_wait):
            with self.store.transaction():
                if vectors:
                    self.store.drop_vectors()
                else:
                    self.store.delete_meta(*COLUMNS)
            self._build(progress)
        self._open_latest()

    def _repair(self, damage: IndexDamaged, progress: Progress) -> None:
        """Build again what is damaged. What the user wrote is never part of it."""
        observed, whole = self._observed()
        if self._store is not None:
            self._store.close()
        with self.layout.write_lock(self.settings.index.lock_wait):
            if self._is_repaired(progress):
                return
            self._damage = damage.message
            self.notes.append(f"{damage.message}; rebuilt{'' if whole else KEPT}")
            for path in (self.layout.database, *self.layout.directory.glob("truth.db-*")):
                path.unlink(missing_ok=True)
            for path in self.layout.segments.glob("*"):
                if path.is_symlink() or not path.is_dir():  # a folder is none of ours
                    path.unlink(missing_ok=True)
            self.layout.create()
            self._store, self._seen = IndexStore(self.layout.database), -1
            self._build(progress)
            if observed:
                with self._store.transaction():
                    self._store.replace_edges(RUNTIME, observed)
        self._open_latest()

    def _is_repaired(self, progress: Progress) -> bool:
        """Whether another process that met the same damage has repaired it, while this one waited for the lock."""
        if not self.layout.exists():
            return False
        try:
            self._open_store()
            self._seen = -1
            verify(self.layout, self.store)
            self._build(progress)
            self._open_latest()
        except StorageError:
            if self._store is not None:
                self._store.close()
            return False
        return True

    def _observed(self) -> tuple[list[Edge], bool]:
        """What was observed at run time, as far as it can still be read, for no file can give it back; and whether that is all."""
        if self._store is None:
            return [], False
        try:
            own = self._store.meta().get("root") == self._identity()["root"]  # not the database of another index
            return (self._store.edges(RUNTIME, intact=True), not self._store.verify()) if own else ([], False)
        except StorageError:
            return [], False


def _unseen(done: int, total: int) -> None:
    """Progress that nobody looks at."""
