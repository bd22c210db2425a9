"""An index on disk: opened, built or refreshed, repaired where it is damaged, read. Knows nothing of questions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from whence import settings as settings_module
from whence.encode.encoder import Encoder
from whence.encode.registry import open_encoder
from whence.errors import IndexBusy, IndexDamaged, ModelUnavailable, RootError, StorageError, VectorsDamaged
from whence.index.layout import Layout, default_data_dir
from whence.index.opening import is_behind, open_snapshot
from whence.index.snapshot import Snapshot
from whence.index.store import FORMAT, Store
from whence.settings import Setting, Settings
from whence.source import git
from whence.source.decode import to_utf8
from whence.source.walk import Tree, Walker
from whence.trace import Trace
from whence.types import RUNTIME, Edge, Parsed, Refreshed, Unit
from whence.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Self

    from whence.index.graph import Graph

Progress = Callable[[int, int], None]
#: Two processes that open a new index at once: one is told that it is locked, whatever time it allows for waiting.
OPENING_TRIES, OPENING_PAUSE = 40, 0.05
#: How notes begin that tell of an answer older than the files.
BEHIND = "answering from before the last changes"


@dataclass(frozen=True, slots=True)
class Freshness:
    """What an answer is of (Z2)."""

    commit: str
    branch: str
    indexed_at: float
    changed: int  # files that differ from what was indexed
    note: str = ""

    @property
    def fresh(self) -> bool:
        """Whether the index is what is on disk."""
        return self.changed == 0 and not self.note


class Work(NamedTuple):
    """What a refresh would do: bytes to read, and whether there is anything to do at all."""

    bytes: int
    needed: bool


class OpenIndex:
    """An index of one root, kept true to its files."""

    def __init__(self, layout: Layout, settings: Settings, provenance: list[Setting], trace: Trace | None = None) -> None:
        self.layout, self.settings, self.provenance = layout, settings, provenance
        self.notes: list[str] = []  # what a user should know of how this index came to be
        self.refreshed = Refreshed()
        self.tree = Tree()
        self.trace = trace
        self._store: Store | None = None
        self._snapshot: Snapshot | None = None
        self._graph: Graph | None = None
        self._stale = 0
        self._seen = -1
        self._encoder: Encoder | None = self._open_encoder()

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
        trace: Trace | None = None,
    ) -> Self:
        """Open the index of a folder, building or refreshing it first.

        `settings` are dotted names with values, for instance `{"search.k": 5}`.
        """
        root = _checked_root(Path(path))
        merged, provenance = load_settings(root, call=settings, command_line=command_line)
        where = Path(data_dir).absolute() if data_dir is not None else default_data_dir(dict(os.environ), Path.home())
        index = cls(Layout(where, root), merged, provenance, trace)
        index._start(refresh=refresh, progress=progress or _unseen)
        return index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files."""
        if self._store is not None:
            self._store.close()
            self._store = None
        self._snapshot = self._graph = None

    @property
    def root(self) -> Path:
        """The folder that is indexed."""
        return self.layout.root

    @property
    def store(self) -> Store:
        """The truth, opened."""
        if self._store is None:
            raise StorageError("the index is closed")
        return self._store

    @property
    def snapshot(self) -> Snapshot:
        """The view that answers are of."""
        if self._snapshot is None:
            raise StorageError("the index is closed")
        return self._snapshot

    @property
    def graph(self) -> Graph:
        """The symbol graph of the snapshot; made now where it is not there yet, and kept for the next who asks."""
        if self._graph is None:
            from whence.index.graph import open_graph  # noqa: PLC0415  -- a search does without

            self._graph = open_graph(self.layout, self.store, self.snapshot, self.read_text)
        return self._graph

    def add_edges(self, provenance: str, edges: Sequence[Edge], *, paths: Sequence[str] | None = None) -> None:
        """Keep edges that something other than the parser found, in place of those of the same provenance (of some files, or of all)."""
        with self.layout.writing(self.settings.index.lock_wait), self.store.transaction():
            self.store.replace_edges(provenance, edges, paths)
        self._graph = None

    # Opening and refreshing.
    def _look(self) -> None:
        """Open the view that answers are of."""
        self._snapshot, self._graph = open_snapshot(self.layout, self.store, self.model), None

    def _open_encoder(self) -> Encoder | None:
        try:
            return open_encoder(self.settings.index.model)
        except ModelUnavailable as trouble:
            self._do_without(trouble)
            return None

    def _do_without(self, trouble: ModelUnavailable) -> None:
        self._encoder = None
        self.notes.append(f"{trouble}: answers are by words alone")

    @property
    def encoder(self) -> Encoder | None:
        """What reads meaning here, if anything does."""
        return self._encoder

    @property
    def model(self) -> str:
        """What reads meaning here; empty when nothing does."""
        return self._encoder.fingerprint if self._encoder is not None else ""

    def _start(self, *, refresh: bool, progress: Progress) -> None:
        if not self.layout.exists():
            if not refresh:
                raise StorageError(f"{self.root} is not indexed", hint="search without --no-refresh, or run whence index")
            self.layout.create()
        if self.layout.orphaned():
            self.notes.append(f"{self.layout.database.name} was lost; rebuilt")
        try:
            self._open_store()
            self._refresh(build=refresh, progress=progress)
            self._look()
        except VectorsDamaged as damage:
            self._make_vectors_again(damage, progress)
        except IndexDamaged as damage:
            self._repair(damage, progress)

    def _open_store(self) -> None:
        """Open the truth; where nothing can be written, only to read. A database that is being made is waited for."""
        for attempt in range(OPENING_TRIES):
            try:
                self._store = Store(self.layout.database)
                return
            except IndexDamaged:
                raise
            except StorageError as trouble:
                if not self.layout.exists():
                    raise
                if "locked" not in trouble.message or attempt == OPENING_TRIES - 1:
                    break
                time.sleep(OPENING_PAUSE)
        self._store = Store(self.layout.database, read_only=True)

    def refresh(self, progress: Progress | None = None) -> Refreshed:
        """Take in what changed on disk since the index was opened or last refreshed."""
        self.notes = [note for note in self.notes if not note.startswith(BEHIND)]
        self._refresh(build=True, progress=progress or _unseen)
        self._look()
        return self.refreshed

    def look(self) -> Work:
        """See what changed on disk and what other processes indexed, without indexing anything: what a refresh would do."""
        self._refresh(build=False, progress=_unseen)
        self._look()
        behind = is_behind(self.store, git.head(self.root), self.settings.index.history, self.model)
        return Work(sum(self.tree.files[path].size for path in self.tree.changed), behind or self._stale > 0)

    def _refresh(self, *, build: bool, progress: Progress) -> None:
        known = self._known_tree(build=build)
        self.tree = self._walker().refresh(known)
        self._stale = len(self.tree.changed) + len(self.tree.deleted)
        if not build:
            self._seen = -1  # what is seen now is not indexed: the next look compares with what is
            self._stale = len(self.tree.deleted) + self._count_changed() if self._stale else 0
        settled = self.tree.folders == known.folders and self.tree.rules == known.rules
        if not build or (
            settled and not self._stale and not is_behind(self.store, git.head(self.root), self.settings.index.history, self.model)
        ):
            return
        try:
            with self.layout.writing(self.settings.index.lock_wait):
                self._build(progress)
        except IndexDamaged:
            raise
        except StorageError as trouble:
            if not self.store.segments():
                raise
            under_way = isinstance(trouble, IndexBusy)
            self.notes.append(f"{BEHIND}: {trouble.message if under_way else 'the index cannot be written'}")

    def _count_changed(self) -> int:
        from whence.index.changes import split_changed  # noqa: PLC0415  -- hashing, only where stamps moved

        return len(split_changed(self.store, self.root, self.tree.changed, self.settings.index.max_file_bytes)[0])

    def _known_tree(self, *, build: bool) -> Tree:
        """The tree as it was last seen: read again only when another process may have changed it."""
        if not self._check_format(build=build):
            return Tree()
        if not self.tree.folders or self._seen != self.store.changes():
            self._seen = self.store.changes()
            return self.store.tree()
        return self.tree

    def _build(self, progress: Progress) -> None:
        """Build with the writer's lock held; another process may have done the work while we waited."""
        now = time.time_ns()
        if not self._check_format(build=True):
            with self.store.transaction():
                self.store.clear()
                self.store.set_meta(**self._identity())
        if self._seen != self.store.changes():  # another process wrote while we waited for the lock
            self.tree = self._walker().refresh(self.store.tree())
        from whence.index.build import Builder  # noqa: PLC0415  -- grammars and processes, only when there is work

        builder = Builder(self.layout, self.store, self.settings.index, now, self._encoder)
        head = git.head(self.root)
        self.refreshed = builder.bring_up_to_date(self.tree, head.commit if head else "", progress)
        if builder.trouble is not None:
            self._do_without(builder.trouble)
        with self.store.transaction():
            self.store.set_meta(
                indexed_at=str(time.time()), commit=head.commit if head else "", branch=head.branch if head else "", **self._identity()
            )
        self._stale = 0
        self.tree.changed, self.tree.deleted = [], []

    def _identity(self) -> dict[str, str]:
        return {
            "format": str(FORMAT),
            "version": __version__,
            "settings": self.settings.index_fingerprint(),
            "root": os.fsencode(self.root).decode("utf-8", "backslashreplace"),
        }

    def _check_format(self, *, build: bool) -> bool:
        meta = self.store.meta()
        if not meta:
            return False
        for key, what in (("format", "another version of whence"), ("settings", "other index settings")):
            if meta.get(key) != self._identity()[key]:
                if not build:
                    raise StorageError(f"the index was made with {what}", hint="search without --no-refresh to rebuild it")
                note = f"the index was made with {what}; rebuilt"
                if note not in self.notes:
                    self.notes.append(note)
                return False
        return True

    def _walker(self) -> Walker:
        chosen = self.settings.index
        return Walker(str(self.root), max_file_bytes=chosen.max_file_bytes, hidden=chosen.hidden, now_ns=time.time_ns())

    def _make_vectors_again(self, damage: VectorsDamaged, progress: Progress) -> None:
        self.notes.append(f"{damage.message}; vectors rebuilt")
        with self.layout.writing(self.settings.index.lock_wait):
            with self.store.transaction():
                self.store.drop_vectors()
            self._build(progress)
        self._look()

    def _repair(self, damage: IndexDamaged, progress: Progress) -> None:
        """Build again what is damaged. What the user wrote is never part of it."""
        self.notes.append(f"{damage.message}; rebuilt")
        observed = self._observed()
        if self._store is not None:
            self._store.close()
        with self.layout.writing(self.settings.index.lock_wait):
            for path in (self.layout.database, *self.layout.directory.glob("truth.db-*")):
                path.unlink(missing_ok=True)
            for path in self.layout.segments.glob("*"):
                path.unlink(missing_ok=True)
            self.layout.create()
            self._store, self._seen = Store(self.layout.database), -1
            self._build(progress)
            if observed:
                with self._store.transaction():
                    self._store.replace_edges(RUNTIME, observed)
        self._look()

    def _observed(self) -> list[Edge]:
        """What was observed at run time, as far as it can still be read: no file can give it back."""
        try:
            return self._store.edges(RUNTIME) if self._store is not None else []
        except StorageError:
            return []

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

    # Reading what is indexed.
    def read_text(self, path: str) -> str | None:
        """The text of a file as it is on disk now, or None when it is gone or no text."""
        full = os.path.join(self.root, path)
        if os.path.realpath(full) != full:  # links are not indexed: one that is there now may lead anywhere
            return None
        try:
            with open(full, "rb") as file:
                text = to_utf8(file.read(self.settings.index.max_file_bytes + 1))
        except OSError:
            return None
        return None if text is None else text.decode("utf-8", "replace")

    def parsed(self, path: str) -> Parsed | None:
        """What a file holds, as it was indexed."""
        return self.store.parsed(path)

    def units_at(self, path: str, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """The units of a file that begin at some lines under some names, as they were indexed."""
        return self.store.units_at(path, wanted)


def _unseen(done: int, total: int) -> None:
    """Progress that nobody looks at."""


def _checked_root(path: Path) -> Path:
    try:
        root = path.expanduser().resolve(strict=True)
    except FileNotFoundError as error:
        raise RootError(f"{path}: no such file or folder") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise RootError(f"{path}: cannot be opened: {error}") from error
    if not root.is_dir():
        raise RootError(f"{path} is a file", hint="give the folder to index; a file can narrow a search on the command line")
    if not os.access(root, os.R_OK | os.X_OK):
        raise RootError(f"{path}: permission denied")
    return root


def load_settings(
    root: Path | None, *, call: Mapping[str, Any] | None = None, command_line: Mapping[str, Any] | None = None
) -> tuple[Settings, list[Setting]]:
    """Settings for a root from every source there is, with provenance (E4)."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "whence" / settings_module.USER_FILE
    return settings_module.load(root=root, environment=dict(os.environ), user_file=config, command_line=command_line, call=call)
