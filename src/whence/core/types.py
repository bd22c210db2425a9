"""The values that flow from stage to stage. All frozen; none knows how it was made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

#: What a file is: code, docs or configuration.
CODE, DOCS, CONFIG = "code", "docs", "config"


#: Kinds of unit that hold other units; their names qualify what is inside.
CONTAINERS = frozenset({"class", "struct", "enum", "interface", "trait", "module", "namespace", "type", "union"})
#: Kinds of unit that are called. What a function defines for itself, functions and types, are units, too; its variables are not.
CALLABLES = frozenset({"function", "method", "macro"})
#: Kinds of unit that hold a value.
VALUES = frozenset({"constant", "field"})
#: What is left when the units are taken out, and sections of prose.
TEXTS = frozenset({"raw", "section"})
KINDS = CONTAINERS | CALLABLES | VALUES | TEXTS
#: Kinds that define something by name: a `raw` run of lines never does.
DEFINITIONS = KINDS - TEXTS
#: Shorter words, in bytes, occur everywhere: the table of words as written leaves them out.
MIN_WORD_LENGTH = 4
#: A symbol given with its file: `path#name` or `path:line`.
SYMBOL_IN_FILE = re.compile(r"(?P<path>.+?)(?P<rest>#.*|:[0-9]{1,9})", re.DOTALL)


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


#: Kinds of edge, with how readily a walk follows each (W1). Their order is their number in files: add at the end.
EDGE_WEIGHTS = {
    "calls": 1.0, "implements": 0.8, "implements_rpc": 0.8, "overrides": 0.8, "contains": 0.8, "handles_route": 0.7, "extends": 0.7,
    "tests": 0.6, "consumes_rpc": 0.6, "accesses_field": 0.6, "member_of": 0.6, "imports": 0.5, "depends_on": 0.5,
    "consumes_endpoint": 0.5, "tested_by": 0.5, "co_tested_with": 0.5, "type_hint_of": 0.5, "executes_process": 0.5,
    "references": 0.4, "throws": 0.4, "deployed_by": 0.4, "reads_env": 0.4, "gated_by_flag": 0.3, "decorates": 0.3, "inherits": 0.3,
    "documents": 0.2, "similar_to": 0.15, "owned_by": 0.0, "authored_by": 0.0,
}  # fmt: skip
EDGE_KINDS = tuple(EDGE_WEIGHTS)
#: How an edge came to be known (W2).
PROVENANCES = AST, LSP, RUNTIME = ("ast_inferred", "lsp_resolved", "runtime")
#: Of a mention that something outside the repository defines, the edge leads to this and the name: it is stored, and never shown.
OUTSIDE = "outside:"


class Reference(NamedTuple):
    """A name that a unit uses, before it is known what it stands for. A tuple: a file has hundreds."""

    unit: int  # the row, in the file, of the innermost unit that holds it
    kind: str  # the edge it will be: one of EDGE_KINDS
    name: str
    receiver: str  # where what stands before it comes from, as `parse.values` writes it; empty where nothing does
    at: int  # the byte where the name starts


class TypeFact(NamedTuple):
    """What a unit tells of the type of something: of itself, of its result, or of a field of the type around it."""

    unit: int  # the row in the file
    name: str  # of the field; empty for the unit itself, or for the result of one that is called
    path: str  # where its value comes from, as `parse.values` writes it


@dataclass(frozen=True, slots=True)
class Edge:
    """One relation between two symbols, each `path#qualified.name`, that something other than the parser found."""

    source: str
    target: str  # or `route:GET /users`, `env:HOME`, `process:git`: what has no place in the source
    kind: str
    provenance: str
    confidence: float
    line: int = 0  # where in the source's file; 0 when it is not known
    seen: float = 0.0  # when it was last observed, in seconds since 1970; 0 when it was not
    count: int = 0  # how often it was observed


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What one file holds: its units in order, its imports, and where it speaks prose."""

    language: str
    units: tuple[Unit, ...]
    imports: tuple[str, ...] = ()
    comments: tuple[tuple[int, int], ...] = ()
    references: tuple[Reference, ...] = ()
    errors: tuple[tuple[int, int], ...] = ()  # first and last lines of what its grammar could not read
    facts: tuple[TypeFact, ...] = ()


@dataclass(frozen=True, slots=True)
class RefreshSummary:
    """What a refresh did."""

    read: int = 0  # files that were read and parsed
    touched: int = 0  # files with a new time stamp and the same content
    reused: int = 0  # files whose content was known already: of another tree, or from before
    deleted: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """What an answer is of (Z2)."""

    commit: str
    branch: str
    indexed_at: float
    changed: int  # files that differ from what was indexed
    note: str = ""
    edited: int = 0  # indexed files that differ from the commit, or are gone
    new: int = 0  # indexed files that the commit does not have

    @property
    def fresh(self) -> bool:
        """Whether the index is what is on disk."""
        return self.changed == 0 and not self.note


class PendingWork(NamedTuple):
    """What a refresh would do: bytes to read, and whether there is anything to do at all."""

    bytes: int
    needed: bool


@dataclass(frozen=True, slots=True)
class DocumentFrequency:
    """How many of all hold a term."""

    units: int
    windows: int
    files: int  # in their text, or on their path
