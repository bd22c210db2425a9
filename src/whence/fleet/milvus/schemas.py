"""The nine collections of a fleet, as data. Any change to them is a new format.

Row ids are derived from content, so that writes are idempotent. Every collection but `claims` names the repository of a
row and the groups that may see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

#: Written to the description of every collection; others are refused.
FORMAT = 1
#: Limits in bytes. Longer texts are split over several rows.
MAX_TEXT, MAX_NAME, MAX_GROUP = 65_535, 512, 64
#: Groups of one repository.
MAX_GROUPS = 32
#: Bits of a passage's binary vector.
SKETCH_BITS = 256

ID, WORDS, SPARSE, SKETCH, NO_VECTOR = "id", "words", "sparse", "sketch", "no_vector"
#: Milvus demands a vector of every row; this one goes where there is none.
NO_VALUE = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Field:
    """A field, with Milvus's name of its type."""

    name: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields of a collection. Rows are searched by words, by a binary vector, or not at all."""

    name: str
    fields: tuple[Field, ...]

    @property
    def has_words(self) -> bool:
        """Whether rows can be searched with BM25."""
        return any(one.name == WORDS for one in self.fields)

    @property
    def has_binary_vector(self) -> bool:
        """Whether rows can be searched by Hamming distance."""
        return any(one.name == SKETCH for one in self.fields)


def _text(name: str, limit: int = MAX_TEXT) -> Field:
    return Field(name, "VARCHAR", {"max_length": limit})


def _integer(name: str) -> Field:
    return Field(name, "INT64")


def _number(name: str) -> Field:
    return Field(name, "DOUBLE")


_KEY = Field(ID, "VARCHAR", {"max_length": 64, "is_primary": True})
_REPO = _text("repo", MAX_NAME)
_OWNED = (
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
_FILE = _text("file", 64)
_PARTS = (_integer("part"), _integer("parts"))
_CONTENT = _text("content", 32)

REPOS = Schema(
    "repos",
    (
        *_OWNED,
        *map(_text, ("source", "said")),
        *(_text(name, 128) for name in ("commit", "fingerprint")),
        _text("branch", MAX_NAME),
        _text("state", 16),
        *map(_number, ("indexed_at", "wanted", "seconds", "cpu")),
        *map(_integer, ("files", "units", "passages", "bytes_source", "bytes_sent")),
        _NONE,
    ),
)
CLAIMS = Schema("claims", (_KEY, _REPO, _text("worker", 256), _integer("number"), _text("state", 16), _number("until"), _NONE))
FILES = Schema(
    "files",
    (*_OWNED, _FILE, *_PARTS, _text("path", 4_096), _text("hash", 64), _text("language", 64), _CONTENT, *_WORDS, _text("blob")),
)
TEXTS = Schema("texts", (*_OWNED, _FILE, *_PARTS, _text("blob"), _NONE))
_LANGUAGE = _text("language", 64)
UNITS = Schema("units", (*_OWNED, _FILE, _integer("number"), _text("name", 512), _text("kind", 64), _LANGUAGE, _CONTENT, *_WORDS))
PASSAGES = Schema("passages", (*_OWNED, _FILE, _SKETCH))
COMMITS = Schema("commits", (*_OWNED, *_WORDS, _text("touched"), _integer("terms")))
COUNTS = Schema("counts", (*_OWNED, _text("scope", MAX_NAME), _integer("bucket"), _text("blob"), _NONE))
PACKS = Schema("packs", (*_OWNED, *_PARTS, _text("digest", 64), _text("commit", 128), _text("blob"), _NONE))

SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {one.name: one for one in (REPOS, CLAIMS, FILES, TEXTS, UNITS, PASSAGES, COMMITS, COUNTS, PACKS)}
)
