"""Everything that can go wrong, as one tree.

WhenceError                  exit code 2, one line, a hint where there is one
├── UsageError               the caller asked for something that cannot be done
│   ├── QueryError           an empty or unusable query, a bad regular expression
│   ├── SettingError         a setting with a value that is not allowed
│   └── RootError            a path that cannot be indexed or searched
├── ModelUnavailable         a model that cannot be loaded: answers are lexical then
├── FleetError               the engine of the fleet cannot be used: local search goes on
└── StorageError             the index could not be read or written
    ├── IndexBusy            another process holds the writer's lock
    ├── ArchiveRefused          an index from elsewhere is not what it says it is
    └── IndexDamaged         a derived file is missing, truncated or altered
        ├── ColumnsDamaged   one that follows from all others: only it is made again
        └── VectorsDamaged   one that holds vectors: only they are made again

Trouble with a single file is not an exception: see `types.Skipped`.
"""

from __future__ import annotations


class WhenceError(Exception):
    """What happened and where, with a hint that says what to do."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """What to do stands on the first line: others may show a place in a text."""
        first, newline, rest = self.message.partition("\n")
        return f"{first}{f' ({self.hint})' if self.hint else ''}{newline}{rest}"


class UsageError(WhenceError):
    """The request itself is wrong."""


class QueryError(UsageError):
    """The query cannot be searched for."""

    def __init__(self, message: str, *, hint: str = "", at: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.at = at  # the character of the query that is wrong, from 0


class SettingError(UsageError):
    """A setting has a value that is not allowed."""


class RootError(UsageError):
    """A path cannot be indexed or searched."""


class UnlikelyRoot(RootError):
    """A folder is plainly no project: a first index of it is built only when that is confirmed."""


class ModelUnavailable(WhenceError):
    """A model cannot be loaded; search goes on with words alone."""


class FleetError(WhenceError):
    """The engine that many repositories share cannot be reached, or does not do what is asked of it."""


class StorageError(WhenceError):
    """The index could not be read or written."""


class IndexBusy(StorageError):
    """Another process is writing this index."""


class ArchiveRefused(StorageError):
    """An index from elsewhere is not what it says it is; nothing of it was used."""


class IndexDamaged(StorageError):
    """A derived file is missing, truncated or altered; it will be rebuilt."""


class ColumnsDamaged(IndexDamaged):
    """A file that is worked out of all others together is missing, truncated or altered; it will be made again, and nothing else."""


class VectorsDamaged(IndexDamaged):
    """A file of vectors is missing, truncated or altered; vectors will be made again, and nothing else."""
