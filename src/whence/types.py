"""The values that flow from stage to stage. All frozen; none knows how it was made."""

from __future__ import annotations

from dataclasses import dataclass

#: Kinds of unit that hold other units; their names qualify what is inside.
CONTAINERS = frozenset({"class", "struct", "enum", "interface", "trait", "module", "namespace", "type", "union"})
#: Kinds of unit whose insides are theirs alone: a function in a function is not a unit.
CALLABLES = frozenset({"function", "method", "macro"})
#: Kinds of unit that hold a value.
VALUES = frozenset({"constant", "field"})
#: What is left when the units are taken out, and sections of prose.
TEXTS = frozenset({"raw", "section"})
KINDS = CONTAINERS | CALLABLES | VALUES | TEXTS
#: Kinds that define something by name: a `raw` run of lines never does.
DEFINITIONS = KINDS - TEXTS


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a file that can be found: a definition, or a run of lines around them.

    Lines count from 1 and include the comments above the definition. `start` and
    `end` are the same span in bytes.
    """

    kind: str
    name: str
    qualified_name: str
    first_line: int
    last_line: int
    start: int
    end: int
    parents: tuple[str, ...] = ()
    signature: str = ""
    doc: str = ""
    parameters: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one file holds: its units in order, its imports, and where it speaks prose."""

    language: str
    units: tuple[Unit, ...]
    imports: tuple[str, ...] = ()
    comments: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did."""

    read: int = 0  # files that were read and parsed
    touched: int = 0  # files with a new time stamp and the same content
    deleted: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder left out, and why."""

    path: str
    reason: str
