"""What a path tells about a file: its words, its role in a project, and where it comes from."""

from __future__ import annotations

import re
from enum import IntFlag
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from whence.core.types import CODE
from whence.text.analyzer import parts

#: So many folders right above a file tell what it is about.
NEAR_DIRECTORIES = 2


class Role(IntFlag):
    """Roles of a file, by its path alone."""

    TEST = 1
    COMPAT = 2
    EXAMPLE = 4
    INTERNAL = 8
    PLATFORM = 16
    HEADER = 32
    BARREL = 64
    DECLARATION = 128
    DOCS = 512
    LEGACY = 256  # what SPEC R1 calls compat: narrower than COMPAT, which also knows vendored trees


_TEST_FILE = (
    r"(?:^|/)(?:test_[^/]*|[^/]*_test|[^/]*_tests|[^/]*[a-z0-9]Tests?|[^/]*[a-z0-9]TestCase|[^/]*[a-z0-9](?:Spec|Specs|Suite|IT)|[^/]*[._-](?:test|tests|spec|specs|bench|cy|e2e)"
    r"|[^/]*_spec|[^/]*_benchmark|[^/]*Benchmark|conftest|runtests|test_?helpers?[^/]*|tests?|spec_helper)\.[A-Za-z]+$"
    r"|(?:^|/)(?:[^/]*_(?:unit|g|perf|browser|api)tests?\.[A-Za-z]+|test-[^/]*\.(?:[Rr]|c|cc|cpp|el)|[^/]*_SUITE\.erl)$"
    r"|\.bats$|\.t$|\.Tests\.ps1$|(?:^|/)[A-Z][A-Za-z0-9]*_test\.[a-z]+$"
)
#: How paths announce roles. Plain text: compiled when a path is first read, which a search never does.
_ROLES = (
    (Role.TEST, _TEST_FILE),
    (Role.TEST, r"(?i)(?:^|/)(?:tests?|__tests__|specs?|testing|testdata|fixtures?|benchmarks?|bench|mocks?|__mocks__|[a-z]+[-_]tests?)/"),
    (Role.COMPAT, r"(?i)(?:^|/)(?:_?compat|legacy|deprecated|_?vendor|third_party)/|(?:^|/)[^/]*(?:compat|deprecated|legacy)[^/]*$"),
    (Role.LEGACY, r"(?i)(?:^|/)_?(?:compat|legacy)(?:/|\.[^/]*$)"),
    (Role.EXAMPLE, r"(?i)(?:^|/)(?:_?examples?|docs?_src)/"),
    (Role.DOCS, r"(?i)(?:^|/)(?:docs?|samples?|demos?|galler(?:y|ies)|tutorials?)/"),
    (Role.INTERNAL, r"(?i)internal|impl\b|private|detail"),
    (
        Role.PLATFORM,
        r"(?i)(?:^|/)(?:win|windows|win32|mingw|msvc|aix|sunos|os390|haiku|cygwin|ibmi|qnx|hurd|android|wasm|wasi)(?:[/._-]|$)",
    ),
    (Role.BARREL, r"(?:^|/)(?:__init__\.pyi?|package-info\.java|module-info\.java|mod\.rs|index\.(?:ts|js|tsx|jsx|mjs))$"),
    (Role.HEADER, r"\.(?:h|hpp|hh|hxx)\Z"),
    (Role.DECLARATION, r"\.d\.[mc]?ts\Z"),
)
_VERSION = r"(?:^|/)v(\d{1,2})(?=/)"


def roles(path: str) -> Role:
    """Every role that a path announces."""
    found = Role(0)
    for role, pattern in _ROLES:
        if re.search(pattern, path):
            found |= role
    return found


def is_source(path: str) -> bool:
    """Whether a file is code that is parsed, and neither a test nor an example."""
    from whence.parse.languages import language_of  # noqa: PLC0415  -- the table, where a path alone does not tell

    language = language_of(path)
    return language.content == CODE and bool(language.grammar) and not roles(path) & (Role.TEST | Role.EXAMPLE)


def version(path: str) -> int:
    """The N of the last `vN/` directory on a path, or -1."""
    found = re.findall(_VERSION, path)
    return max(int(number) for number in found) if found else -1


def depth(path: str) -> int:
    """How many folders are above a file."""
    return path.count("/")


def stem(path: str) -> str:
    """A file's name up to its first dot: `src/http_client.test.ts` -> `http_client`."""
    name = PurePosixPath(path).name
    return name.split(".")[0] or name


def stem_parts(path: str) -> list[str]:
    """The words of a file's stem, lower-cased."""
    return _words(stem(path))


def near_directory_parts(path: str) -> list[str]:
    """The words of the last directories above a file."""
    return [word for part in PurePosixPath(path).parts[:-1][-NEAR_DIRECTORIES:] for word in _words(part)]


def directory_parts(path: str) -> list[str]:
    """The words of all directories above a file."""
    return [word for part in PurePosixPath(path).parts[:-1] for word in _words(part)]


def _words(text: str) -> list[str]:
    return [part for piece in re.split(r"[^\w]+", text) for part in parts(piece)]


_VENDORED = re.compile(r"(?i)(?:^|/)(?:_?vendor(?:ed)?|third[_-]party|node_modules|bower_components|site-packages|external|deps)/")
_GENERATED = re.compile(
    r"(?i)(?:^|/)(?:generated|__generated__|autogen)/|\.(?:pb|g|gen|generated|designer|min|bundle)\.\w+$|_pb2(?:_grpc)?\.pyi?$|[._-]lock(?:\.\w+)?$|-lock\.\w+$"
)


@lru_cache(maxsize=1024)
def sort_of(path: str) -> str:
    """What a file is to a reader: vendored, generated, a test, an example, docs, config, or code."""
    from whence.parse.languages import language_of  # noqa: PLC0415  -- as above

    found = roles(path)
    if _VENDORED.search(path):
        return "vendored"
    if _GENERATED.search(path):
        return "generated"
    return "test" if found & Role.TEST else "example" if found & Role.EXAMPLE else language_of(path).content


def provenance_json(path: str) -> dict[str, Any]:
    """What a file is as a part of a JSON document; nothing for code, which nearly all is."""
    return {"provenance": {"sort": sort}} if (sort := sort_of(path)) != CODE else {}
