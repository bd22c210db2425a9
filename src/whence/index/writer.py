"""The index writer: builds an index, keeps it up to date, repairs it, and opens a reader of each generation."""

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
from whence.core.settings import Setting, Settings, default_data_dir, load_settings, resolve_root
from whence.core.types import RUNTIME, Edge, Freshness, PendingWork, RefreshSummary
from whence.core.version import __version__
from whence.embed.encoder import Encoder, open_encoder
from whence.index.layout import Layout, mark_clean, verified_at
from whence.index.reader import Generation, IndexReader, has_current_columns
from whence.index.store import COLUMNS, FORMAT, IndexStore
from whence.source import git
from whence.source.walk import FileTree, Walker

if TYPE_CHECKING:
    from typing_extensions import Self

    from whence.index.reuse import ReusableIndex

#: How a note begins that says that results are older than the files.
STALE_NOTE = "results are from before the last changes"
#: How a note ends that says that there is no model.
NO_MODEL_NOTE = "searching by words only"
#: Said when the database is rebuilt: edges observed at run time are in no other file.
_LOST_EDGES_NOTE = "; call edges observed at run time may be lost (whence ingest adds them again)"
Progress = Callable[[int, int], None]
#: While another process creates the database, SQLite may report it as locked without waiting.
OPENING_SECONDS, OPENING_PAUSE = 2.0, 0.05
#: The tree in memory may differ from the stored one.
_UNKNOWN = -1


class IndexWriter:
    """Keeps the index of one root up to date. `reader` is the latest generation, which each refresh replaces as a whole."""

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
        """Open the index and bring it up to date, unless `refresh` is off. A first build starts from `reuse`, if given."""
        self.layout, self.settings, self.provenance = layout, settings, list(provenance)
        self.notes: list[str] = []  # what the user should know about this index
        self.last_refresh = RefreshSummary()
        self.tree = FileTree()
        self._tree_version = _UNKNOWN  # `store.changes()` when `tree` was last equal to the stored one
        self._stale_files = 0
        self._store: IndexStore | None = None
        self._reader: IndexReader | None = None
        self._lock = RLock()  # held by the thread that makes the next generation
        self._reusable = reuse
        self._verified_at = 0.0
        self._encoder: Encoder | None = None
        try:
            self._encoder = open_encoder(settings.index.model)
        except ModelUnavailable as error:
            self._note_missing_model(error)
        self._open(refresh=refresh, progress=progress or _no_progress)

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
        """Open the index of a folder with the settings that apply there."""
        root = resolve_root(Path(path))
        merged, provenance = load_settings(root, call=settings, command_line=command_line)
        where = Path(data_dir).absolute() if data_dir is not None else default_data_dir(dict(os.environ), Path.home())
        return cls(Layout(where, root), merged, refresh=refresh, progress=progress, reuse=reuse, provenance=provenance)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                if self._verified_at and not self._store.read_only:
                    mark_clean(self.layout, self._verified_at)
                self._store = None
            self._publish(None)

    @property
    def root(self) -> Path:
        """The folder that is indexed."""
        return self.layout.root

    @property
    def store(self) -> IndexStore:
        """The index store."""
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
        """The encoder, unless its model is not available."""
        return self._encoder

    @property
    def model(self) -> str:
        """The fingerprint of the encoder; empty without one."""
        return self._encoder.fingerprint if self._encoder is not None else ""

    @property
    def freshness(self) -> Freshness:
        """The commit and time that results are from, and how many files changed since."""
        meta = self.store.meta()
        return Freshness(
            meta.get("commit", ""),
            meta.get("branch", ""),
            float(meta.get("indexed_at", 0)),
            self._stale_files,
            "; ".join(note for note in self.notes if note.startswith(STALE_NOTE)),
            int(meta.get("edited", 0)),
            int(meta.get("new", 0)),
        )

    def refresh(self, progress: Progress | None = None) -> RefreshSummary:
        """Index what changed on disk since the index was opened or last refreshed."""
        progress = progress or _no_progress
        with self._lock, self._repairing(progress):
            self._drop_stale_notes()
            self._refresh(progress)
            self._open_latest()
        return self.last_refresh

    def poll(self) -> PendingWork:
        """See what changed on disk, and what other processes have indexed, without indexing anything: the work of a refresh."""
        with self._lock:
            self._drop_stale_notes()
            self._poll()
            self._open_latest()
            pending = sum(self.tree.files[path].size for path in self.tree.changed)
            return PendingWork(pending, self._is_behind() or self._stale_files > 0)

    def add_edges(self, provenance: str, edges: Sequence[Edge], *, paths: Sequence[str] | None = None) -> None:
        """Store edges found by something other than the parser. They replace those of the same provenance (of some files, or all)."""
        with self.layout.write_lock(self.settings.index.lock_wait), self.store.transaction():
            self.store.replace_edges(provenance, edges, paths)
        self.store.checkpoint()
        self._open_latest()

    # Opening.
    def _open(self, *, refresh: bool, progress: Progress) -> None:
        if not self.layout.exists():
            if not refresh:
                raise StorageError(f"{self.root} is not indexed", hint="search without --no-refresh, or run whence index")
            self.layout.create()
        damage = ""
        if self.layout.is_orphaned():
            damage = f"{self.layout.database.name} was lost"
            self.notes.append(f"{damage}; rebuilt{_LOST_EDGES_NOTE}")
        with self._repairing(progress):
            self._open_store()
            self._verified_at = self._verify_if_due(time.time(), self.settings.index.verify_after)
            if refresh:
                self._refresh(progress, damage)
            else:
                self._poll()
            self._open_latest()

    def _open_store(self) -> None:
        """Open the database, read-only if it cannot be written. One that another process is creating is waited for."""
        self._tree_version = _UNKNOWN
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
            except StorageError as error:
                if "disk I/O error" in error.message and time.monotonic() < until:  # another process is replacing the file
                    time.sleep(OPENING_PAUSE)
                    continue
                if not self.layout.exists():
                    raise
                break
        self._store = IndexStore(self.layout.database, read_only=True)

    def _verify_if_due(self, now: float, verify_after: float) -> float:
        """When the index was last verified. A database that is not as it was left (a user was killed) is verified now."""
        if self.store.meta().get("format", str(FORMAT)) != str(FORMAT):
            return 0.0  # another version may have had no checksums; the index is rebuilt anyway
        if known := verified_at(self.layout, now, verify_after):
            return known
        from whence.index.integrity import verify_as_due  # noqa: PLC0415  -- seldom due

        return verify_as_due(self.layout, self.store, now, verify_after)

    def _open_replaced_store(self) -> None:
        """If another process has replaced the database, open the new one: the old one lists files that are gone."""
        if not (self.store.read_only or self.store.is_current()):
            self.layout.create()
            self.store.close()
            self._open_store()

    def _open_latest(self) -> None:
        if self._reader is None or self._reader.generation != Generation.of(self.store, self.model):
            self._publish(IndexReader.open(self.layout, self.settings, self.store, self._encoder))

    def _publish(self, reader: IndexReader | None) -> None:
        before, self._reader = self._reader, reader
        if before is not None:
            before.release()
            del before
            gc.collect(1)  # the last answers are cycles that hold its files open; they are young, so this takes no time

    def _note_missing_model(self, error: ModelUnavailable) -> None:
        self.notes.append(f"{error}: {NO_MODEL_NOTE}")

    # Refreshing.
    def _refresh(self, progress: Progress, damage: str = "") -> None:
        """Build what differs from disk. An index that cannot be written now still answers, with a note."""
        if not self._scan(build=True) and not self._is_behind():
            return
        try:
            with self.layout.write_lock(self.settings.index.lock_wait):
                self._build(progress, damage)
        except IndexDamaged:
            raise
        except StorageError as error:
            if not self.store.segments():
                raise
            reason = error.message if isinstance(error, IndexBusy) else f"the index cannot be written: {error}"
            self.notes.append(f"{STALE_NOTE}: {reason}")

    def _poll(self) -> None:
        """See what differs from disk, and build nothing."""
        self._scan(build=False)
        self._tree_version = _UNKNOWN  # `tree` has changes that are not indexed
        if self._stale_files:
            from whence.index.changes import split_changed  # noqa: PLC0415  -- hashing, only if time stamps moved

            changed, _ = split_changed(self.store, self.root, self.tree.changed, self.settings.index.max_file_bytes)
            self._stale_files = len(self.tree.deleted) + len(changed)

    def _scan(self, *, build: bool) -> bool:
        """Walk the tree; whether any file, folder or ignore rule differs from what is stored."""
        if build or self.layout.exists():
            self._open_replaced_store()
        known = self._known_tree(build=build)
        self.tree = self._walk(known)
        self._stale_files = len(self.tree.changed) + len(self.tree.deleted)
        return self._stale_files > 0 or self.tree.folders != known.folders or self.tree.rules != known.rules

    def _walk(self, known: FileTree) -> FileTree:
        chosen = self.settings.index
        return Walker(str(self.root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=time.time_ns()).refresh(known)

    def _known_tree(self, *, build: bool) -> FileTree:
        """The tree as it was last indexed; read again only if another process may have changed it."""
        if not self._is_compatible(build=build):
            return FileTree()
        if not self.tree.folders or self._tree_version != self.store.changes():
            self._tree_version = self.store.changes()
            return self.store.tree()
        return self.tree

    def _is_behind(self) -> bool:
        """Whether there is work although no file changed: an interrupted build, another commit, or commits or vectors to add."""
        meta, head = self.store.meta(), git.read_head(self.root)
        commit, branch = (head.commit, head.branch) if head else ("", "")
        if not has_current_columns(self.store) or (meta.get("commit", ""), meta.get("branch", "")) != (commit, branch):
            return True
        wanted = self.settings.index.history
        if self.store.json_meta("history").get("count", wanted) != wanted:
            return True
        return bool(self.model and len(self.store.vectors_of(self.model)) < len(self.store.segments()))

    def _drop_stale_notes(self) -> None:
        self.notes = [note for note in self.notes if not note.startswith(STALE_NOTE)]

    # Building.
    def _build(self, progress: Progress, damage: str = "") -> None:
        """Build with the write lock held. Another process may have done the work while we waited."""
        now, began, cpu = time.time_ns(), time.monotonic(), sum(os.times()[:4])
        self._open_replaced_store()
        difference = self._difference(self.store.meta())
        if not self._is_compatible(build=True):
            with self.store.transaction():
                self.store.clear()
                self.store.set_meta(**self._identity())
        if self._tree_version != self.store.changes():  # another process wrote while we waited for the lock
            self.tree = self._walk(self.store.tree())
        from whence.index.build_log import BuildBaseline, append_record, expected_cpu, record_of_build  # noqa: PLC0415  -- only if there is work
        from whence.index.builder import Builder  # noqa: PLC0415  -- as above

        before = BuildBaseline.of(self.store)
        expected = expected_cpu((path, self.tree.files[path].size) for path in self.tree.changed) if not before.files else 0.0
        head = git.read_head(self.root) or git.Head("")
        reused, source = self._reuse_segments(head.commit, now) if not self.store.segments() else (0, "")
        builder = Builder(self.layout, self.store, self.settings.index, now, self._encoder)
        done = builder.bring_up_to_date(self.tree, head.commit, progress)
        self.last_refresh = replace(done, reused=done.reused + reused)
        if builder.model_error is not None:
            self._encoder = None
            self._note_missing_model(builder.model_error)
        with self.store.transaction():
            self.store.set_meta(indexed_at=str(time.time()), commit=head.commit, branch=head.branch, **self._identity())
        self._stale_files = 0
        self.tree.changed, self.tree.deleted = [], []
        self._open_latest()
        cause = before.cause(source, damage, difference)
        units, seconds = self.reader.snapshot.live_units, time.monotonic() - began
        used = sum(os.times()[:4]) - cpu  # of the workers, too
        record = record_of_build(
            before, self.store, self.last_refresh, cause, at=time.time(), seconds=seconds, units=units, cpu=used, expected=expected
        )
        append_record(self.layout.build_log_file, record)

    def _reuse_segments(self, commit: str, now_ns: int) -> tuple[int, str]:
        """Start from an index of the same repository; how many files it had in common, and which index it is."""
        from whence.index.reuse import find_reusable_indexes, reuse_segments  # noqa: PLC0415  -- for a first build only

        limit, settings = self.settings.index.max_file_bytes, self._identity()["settings"]
        nearby = find_reusable_indexes(self.layout, commit, settings) if self.settings.index.adopt else ()
        for other in chain([self._reusable] if self._reusable else (), nearby):
            reused = reuse_segments(self.layout, self.store, other, self.tree, model=self.model, limit=limit, now_ns=now_ns)
            if reused:
                return reused, "an index archive" if other is self._reusable else "the index of another worktree or clone"
        return 0, ""

    # What an index was built with.
    def _identity(self) -> dict[str, str]:
        return {
            "format": str(FORMAT),
            "version": __version__,
            "settings": self.settings.index_fingerprint(),
            "repository": git.common_dir(self.root),
            "root": os.fsencode(self.root).decode("utf-8", "backslashreplace"),
        }

    def _difference(self, meta: Mapping[str, str]) -> str:
        """How the index was built differently from how it would be built now; empty if it was not, or is new."""
        identity = self._identity()
        for key, what in (("format", "another version of whence"), ("settings", "other index settings")):
            if meta and meta.get(key) != identity[key]:
                return what
        return ""

    def _is_compatible(self, *, build: bool) -> bool:
        """Whether what is stored can be kept. If not, raises StorageError unless it may be built again."""
        meta = self.store.meta()
        if not (difference := self._difference(meta)):
            return bool(meta)
        if not build:
            raise StorageError(f"the index was built with {difference}", hint="search without --no-refresh to rebuild it")
        note = f"the index was built with {difference}; rebuilt"
        if note not in self.notes:
            self.notes.append(note)
        return False

    # Repairing.
    @contextmanager
    def _repairing(self, progress: Progress) -> Iterator[None]:
        """Rebuild whatever turns out to be damaged, with a note."""
        try:
            yield
        except (VectorsDamaged, ColumnsDamaged) as damage:
            self._rebuild_derived(damage, progress)
        except IndexDamaged as damage:
            self._rebuild(damage, progress)

    def _rebuild_derived(self, damage: IndexDamaged, progress: Progress) -> None:
        """Build again what follows from the segments: vectors, or the columns over all files."""
        vectors = isinstance(damage, VectorsDamaged)
        self.notes.append(f"{damage.message}; {'vectors ' if vectors else ''}rebuilt")
        with self.layout.write_lock(self.settings.index.lock_wait):
            with self.store.transaction():
                if vectors:
                    self.store.drop_vectors()
                else:
                    self.store.delete_meta(*COLUMNS)
            self._build(progress, damage.message)
        self._open_latest()

    def _rebuild(self, damage: IndexDamaged, progress: Progress) -> None:
        """Build a damaged index from scratch. It contains nothing that the user wrote."""
        from whence.index.integrity import delete_files, rescue_edges  # noqa: PLC0415  -- only for what is damaged

        edges, complete = rescue_edges(self._store, self._identity()["root"])
        if self._store is not None:
            self._store.close()
        with self.layout.write_lock(self.settings.index.lock_wait):
            if self._is_repaired(progress):
                return
            self.notes.append(f"{damage.message}; rebuilt{'' if complete else _LOST_EDGES_NOTE}")
            delete_files(self.layout)
            self.layout.create()
            self._store, self._tree_version = IndexStore(self.layout.database), _UNKNOWN
            self._build(progress, damage.message)
            if edges:
                with self._store.transaction():
                    self._store.replace_edges(RUNTIME, edges)
        self._open_latest()

    def _is_repaired(self, progress: Progress) -> bool:
        """Whether another process has repaired the same damage while this one waited for the lock."""
        if not self.layout.exists():
            return False
        from whence.index.integrity import verify  # noqa: PLC0415  -- as above

        try:
            self._open_store()
            verify(self.layout, self.store)
            self._build(progress)
            self._open_latest()
        except StorageError:
            if self._store is not None:
                self._store.close()
            return False
        return True


def _no_progress(done: int, total: int) -> None:
    """Ignores progress."""
