"""Vectors that took long to make, kept for whoever needs them again: one file for all indexes of a data folder.

It is a cache: what is damaged, missing or too old is made again, and no answer fails for it. Several processes may use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

import numpy as np

from whence.core.errors import IndexDamaged, StorageError
from whence.storage.arrayfile import Array
from whence.storage.sqlite import CHECKSUM, Database, column_names, schema_of

#: `day` is the last one on which a vector was needed.
_VECTORS = "key BLOB, day INTEGER, vector BLOB"
_SPEEDS = "model TEXT, tokens REAL"
_SCHEMA = schema_of({"vectors": (_VECTORS, "PRIMARY KEY (key)) WITHOUT ROWID"), "speeds": (_SPEEDS, "PRIMARY KEY (model))")}, {})
_TODAY = "CAST(strftime('%s', 'now') AS INTEGER) / 86400"
#: The share of a full cache that makes room.
_EVICTED = 0.25
#: The largest number of a row is stored as this one, the others in proportion.
_LARGEST = 127.0


class VectorCache:
    """Vectors of length 1 by key, a byte for each number."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path, self._max_bytes = path, max_bytes
        self._lock, self._database = Lock(), self._open()

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Array]:
        """The vectors of the keys that are there and sound."""
        columns = column_names(_VECTORS)
        sql = f"SELECT key, day < {_TODAY}, vector FROM vectors WHERE key IN ({{}}) AND {CHECKSUM} IS {CHECKSUM}({columns})"  # noqa: S608
        with self._lock, suppress(StorageError):
            if self._database is not None:
                rows = self._database.rows_in(sql, keys)
                found = {key: _row(vector) for key, _, vector in rows}
                self._renew(self._database, [key for key, is_old, _ in rows if is_old])
                return found
        return {}

    def add(self, vectors: Mapping[bytes, Array]) -> None:
        """Keep vectors; the ones not needed for longest make room where there is none."""
        rows = [(key, _bytes(row)) for key, row in vectors.items()]
        with self._lock:
            try:
                self._write(rows)
            except IndexDamaged:
                self._database = self._open(anew=True)
            except StorageError:
                pass  # a full disk or a folder that is read only: they are made again

    def speed(self, model: str) -> float | None:
        """How many tokens a second of processor time a model was found to read."""
        with self._lock, suppress(StorageError):
            if self._database is not None:
                return next((tokens for (tokens,) in self._database.rows("SELECT tokens FROM speeds WHERE model = ?", [model])), None)
        return None

    def set_speed(self, model: str, tokens: float) -> None:
        """Keep that number, so that the same question reads as much every time."""
        with self._lock, suppress(StorageError):
            if self._database is not None:
                with self._database.transaction() as db:
                    db.execute("INSERT OR IGNORE INTO speeds (model, tokens) VALUES (?, ?)", [model, tokens])

    def __len__(self) -> int:
        with self._lock, suppress(StorageError):
            if self._database is not None:
                return int(self._database.rows("SELECT count(*) FROM vectors")[0][0])
        return 0

    def _open(self, *, anew: bool = False) -> Database | None:
        """The database, made again where it is damaged; None where there can be none."""
        try:
            self.path.parent.mkdir(0o700, parents=True, exist_ok=True)
            if anew:
                for suffix in ("", "-wal", "-shm"):
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            return Database(self.path, _SCHEMA)
        except IndexDamaged:
            return None if anew else self._open(anew=True)
        except (StorageError, OSError):
            return None

    def _write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        if self._database is None:
            return
        with self._database.transaction() as db:
            pages, free, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size"))
            if (pages - free) * size > self._max_bytes:
                (count,) = db.execute("SELECT count(*) FROM vectors").fetchone()
                oldest = "DELETE FROM vectors WHERE key IN (SELECT key FROM vectors ORDER BY day LIMIT ?)"
                db.execute(oldest, [int(count * _EVICTED) + 1])
            db.executemany(f"INSERT OR REPLACE INTO vectors (key, day, vector) VALUES (?, {_TODAY}, ?)", rows)  # noqa: S608

    def _renew(self, database: Database, keys: Sequence[bytes]) -> None:
        """Mark vectors as needed today; where that cannot be written, they only seem older than they are."""
        if keys:
            with suppress(StorageError), database.transaction() as db:
                db.executemany(f"UPDATE vectors SET day = {_TODAY} WHERE key = ?", [(key,) for key in keys])  # noqa: S608


def stored(row: Array) -> Array:
    """A row as the cache gives it back: what is new must rank as what is not."""
    return _row(_bytes(row))


def _bytes(row: Array) -> bytes:
    return np.round(row * (_LARGEST / max(float(np.abs(row).max(initial=0.0)), 1e-9))).astype(np.int8).tobytes()


def _row(stored_row: bytes) -> Array:
    values = np.frombuffer(stored_row, np.int8).astype(np.float32)
    return np.asarray(values / max(float(np.linalg.norm(values)), 1e-9), np.float32)
