"""What the engine holds: nine collections, as data. A change of any of them is another format.

Every row has an id that follows from what it is of, so that writing twice is writing once. All but claims say which
repository they belong to and which groups may see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

#: Written beside every collection; those of another are refused.
FORMAT = 1
#: Letters of a text at most, in bytes; longer ones are split.
MAX_TEXT = 65_535
#: Groups of a repository at most, and bytes of one's name.
MAX_GROUPS, MAX_GROUP = 32, 64
MAX_NAME = 512
#: Bits of a sketch.
SKETCH_BITS = 256

ID, WORDS, SPARSE, SKETCH, NO_VECTOR = "id", "words", "sparse", "sketch", "no_vector"
#: What stands in the vector that the engine demands of rows that have none.
NO_VALUE = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Field:
    """One field: what the engine calls its kind, and what else it must know."""

    name: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields of a collection, and by which of them rows are found: words, a sketch, or neither."""

    name: str
    fields: tuple[Field, ...]

    @property
    def has_words(self) -> bool:
        """Whether rows are found by their words, weighed by the engine's own BM25."""
        return any(one.name == WORDS for one in self.fields)

    @property
    def has_sketch(self) -> bool:
        """Whether rows are found by how few bits of a sketch differ."""
        return any(one.name == SKETCH for one in self.fields)


def _text(name: str, most: int = MAX_TEXT) -> Field:
    return Field(name, "VARCHAR", {"max_length": most})


def _whole(name: str) -> Field:
    return Field(name, "INT64")


def _number(name: str) -> Field:
    return Field(name, "DOUBLE")


_KEY = Field(ID, "VARCHAR", {"max_length": 64, "is_primary": True})
_REPO = _text("repo", MAX_NAME)
_SEEN = (
    _KEY,
    _REPO,
    Field("groups", "ARRAY", {"element_type": "VARCHAR", "max_capacity": MAX_GROUPS, "max_length": MAX_GROUP}),
)
_WORDS = (
    Field(WORDS, "VARCHAR", {"max_length": MAX_TEXT, "enable_analyzer": True, "analyzer_params": {"tokenizer": "whitespace"}}),
    Field(SPARSE, "SPARSE_FLOAT_VECTOR"),
)
_SKETCH = Field(SKETCH, "BINARY_VECTOR", {"dim": SKETCH_BITS})
_NONE = Field(NO_VECTOR, "FLOAT_VECTOR", {"dim": len(NO_VALUE)})
_PARTS = (_whole("part"), _whole("parts"))

REPOS = Schema(
    "repos",
    (
        *_SEEN,
        *map(_text, ("source", "said")),
        *(_text(name, 128) for name in ("commit", "fingerprint")),
        _text("branch", MAX_NAME),
        _text("state", 16),
        *map(_number, ("indexed_at", "wanted", "seconds", "cpu")),
        *map(_whole, ("files", "units", "passages", "bytes_source", "bytes_sent")),
        _NONE,
    ),
)
CLAIMS = Schema("claims", (_KEY, _REPO, _text("worker", 256), _whole("number"), _text("state", 16), _number("until"), _NONE))
FILES = Schema(
    "files",
    (
        *_SEEN,
        _text("file", 64),
        *_PARTS,
        _text("path", 4_096),
        _text("hash", 64),
        _text("language", 64),
        _text("content", 32),
        *_WORDS,
        _text("blob"),
    ),
)
TEXTS = Schema("texts", (*_SEEN, _text("file", 64), *_PARTS, _text("blob"), _NONE))
UNITS = Schema(
    "units",
    (
        *_SEEN,
        _text("file", 64),
        _whole("number"),
        _text("name", 512),
        *(_text(n, 64) for n in ("kind", "language")),
        _text("content", 32),
        *_WORDS,
    ),
)
PASSAGES = Schema("passages", (*_SEEN, _text("file", 64), _SKETCH))
COMMITS = Schema("commits", (*_SEEN, *_WORDS, _text("touched"), _whole("terms")))
COUNTS = Schema("counts", (*_SEEN, _text("scope", MAX_NAME), _whole("bucket"), _text("blob"), _NONE))
PACKS = Schema("packs", (*_SEEN, *_PARTS, _text("digest", 64), _text("commit", 128), _text("blob"), _NONE))

SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {one.name: one for one in (REPOS, CLAIMS, FILES, TEXTS, UNITS, PASSAGES, COMMITS, COUNTS, PACKS)}
)
