"""Grammars and their queries, loaded when a file first needs them."""

from __future__ import annotations

import os
import re
import threading
import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import semble_grammars
from tree_sitter import Language as TreeSitterLanguage
from tree_sitter import Node, Parser, Query, QueryError, Tree

from whence.core.settings import default_data_dir
from whence.parse.languages import BY_NAME

if TYPE_CHECKING:
    from tree_sitter import QueryPredicate

#: Processor seconds for one file: many times what any source needs (about 0.3 s for a million bytes).
LONGEST_PARSE = 1.0
LONGEST_PARSE_PER_BYTE = 3e-6
READ_BYTES = 4_096
#: Limits of what a grammar can parse; a source smaller than the first does no harm.
MIN_CHECKED_BYTES = 2_000
MAX_NESTING = 500
MIN_LETTERS = 0.25
#: How far a source of some size may be compressed: code is written four to ten times as short, a thousand open tags a hundred times.
MIN_COMPRESSED_BYTES = 20_000
MAX_COMPRESSION = 40
_NESTING = np.array([(chr(code) in "([{") - int(chr(code) in ")]}") for code in range(256)], np.int8)
#: A file is a table if this share of it is digits and commas; code has a twentieth.
MIN_TABLE_BYTES = 20_000
TABLE_SHARE = 0.25
_IN_TABLES = np.array([chr(code) in "0123456789," for code in range(256)])


@dataclass(frozen=True, slots=True)
class Grammar:
    """A parser with the two halves of its language's query file.

    Definitions are asked for match by match, because a definition and its name
    belong together; the rest (calls, comments, imports) is asked for as plain
    lists, which is several times cheaper.
    """

    parser: Parser
    definitions: Query
    references: Query


#: Conditions on the text of nodes. The library's own read it through the callback that the parser read through, which is slow
#: and, with long nodes, beyond what is still in memory: under another name they are left to us.
_CONDITION = re.compile(r"#(eq|not-eq|match|not-match|any-of)\?")

#: The line of a query file that ends its definitions.
_REFERENCES = "; Mentions\n"
#: The library's own switch for where it unpacks. Unless somebody has set it, that is below our own folder.
_PLACE = "SEMBLE_GRAMMARS_CACHE_DIR"
_fallback: list[Path] = []
_OTHERS_WRITE = 0o022


_loading = threading.Lock()


def keep_grammars_in(directory: Path) -> None:
    """Where to unpack grammars when the user's cache, which all indexes share, cannot be written."""
    _fallback[:] = [directory / semble_grammars.__version__]


def load_language(name: str) -> TreeSitterLanguage:
    """A compiled grammar, unpacked when it is first needed."""
    with _loading:
        if chosen := os.environ.get(_PLACE):
            return _unpacked(name, Path(chosen))
        shared = default_data_dir(os.environ, Path.home()) / "grammars" / semble_grammars.__version__
        try:
            for place in (shared, *_fallback):
                os.environ[_PLACE] = str(place)
                try:
                    return _unpacked(name, place, () if os.environ.get("WHENCE_DATA_DIR") else place.parents[:2])
                except semble_grammars.GrammarLoadError as error:
                    refused = error
            raise refused
        finally:
            del os.environ[_PLACE]


def _unpacked(name: str, place: Path, above: Sequence[Path] = ()) -> TreeSitterLanguage:
    _make_private(place, tuple(above))
    return cast("TreeSitterLanguage", semble_grammars.get_language(name))


@cache
def _make_private(place: Path, above: tuple[Path, ...]) -> None:
    """Have nobody else be able to put a library where ours are: what is loaded from there runs as we do.

    The library looks at a file's bytes when it unpacks it, not when it loads it. What is not ours is unpacked anew;
    a folder that is not ours is not used. `above` are folders that are ours, too.
    """
    try:
        place.mkdir(0o700, parents=True, exist_ok=True)
        inside = [Path(folder) for folder, _, _ in os.walk(place)]
        for folder in (*above, *inside):
            if not _is_ours(folder):
                folder.chmod(folder.stat().st_mode & ~_OTHERS_WRITE)  # only its owner can
                if not _is_ours(folder):
                    raise semble_grammars.GrammarLoadError(f"others can write to {folder}")
        for file in (one for folder in inside for one in folder.iterdir() if not one.is_dir() and not _is_ours(one)):
            file.unlink()
    except OSError as error:
        raise semble_grammars.GrammarLoadError(f"{place} cannot be used: {error}") from error


def _is_ours(path: Path) -> bool:
    found = path.lstat()
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & _OTHERS_WRITE


@cache
def grammar_of(language_name: str) -> Grammar | None:
    """The grammar of a language, or None where it has none or it cannot be loaded."""
    language = BY_NAME.get(language_name)
    if language is None or not language.grammar:
        return None
    try:
        compiled = load_language(language.grammar)
    except (semble_grammars.GrammarLoadError, semble_grammars.LanguageNotFoundError, semble_grammars.UnsupportedPlatformError):
        return None
    text = (resources.files("whence.parse") / "queries" / language.query_file).read_text(encoding="utf-8")
    definitions, _, rest = _CONDITION.sub(r"#our-\1?", text).partition(_REFERENCES)
    try:
        return Grammar(Parser(compiled), Query(compiled, definitions), Query(compiled, rest))
    except QueryError:  # not the grammar that the query was written for
        return None


_Arguments = list[tuple[str, Literal["capture", "string"]]]


def conditions_on(text: bytes) -> QueryPredicate:
    """For `QueryCursor`: whether the nodes of a match have the text that a query asks for (`#eq?`, `#match?`, `#any-of?`, `#not-...?`)."""

    def holds(predicate: str, args: _Arguments, pattern_index: int, captures: dict[str, list[Node]]) -> bool:  # noqa: ARG001
        kind = predicate.removeprefix("our-").removesuffix("?")
        capture, *values = [value for value, _ in args]
        for node in captures.get(capture, ()):
            said = text[node.start_byte : node.end_byte].decode("utf-8", "replace")
            found = re.search(values[0], said) is not None if kind.endswith("match") else said in values
            if found == kind.startswith("not-"):
                return False
        return True

    return holds


class _Reading(threading.local):
    """Where a parser reads from: one place for each thread, used again for every file."""

    def __init__(self) -> None:
        self.piece = bytearray()


_reading = _Reading()


def tree_in_time(parser: Parser, text: bytes, longest: float = LONGEST_PARSE) -> Tree:
    """The tree of a text. A text that is one long error costs its length squared: TimeoutError when it takes too long."""
    deadline = time.thread_time() + longest + len(text) * LONGEST_PARSE_PER_BYTE
    late = False
    piece = _reading.piece  # the library never lets go of what a callback gives it: let it be always the same

    def read(start: int, _point: object) -> bytearray:
        nonlocal late
        late = late or time.thread_time() > deadline
        piece[:] = b"" if late else text[start : start + READ_BYTES]  # too late: as if the text ended here
        return piece

    tree = parser.parse(read)
    if late:
        raise TimeoutError
    return tree


def was_interrupted(error: BaseException | None) -> bool:
    """Whether an error came of Ctrl-C: one that falls into what the parser calls back is wrapped in others by the time it arrives."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


# What grammars can read.
def beyond_a_grammar(source: bytes, unbearable: bytes) -> bool:
    """Whether a source would crash its grammar or take too long: endless nesting or repetition, or hardly any letters."""
    if unbearable and re.search(unbearable, source):
        return True
    if len(source) < MIN_CHECKED_BYTES:
        return False
    codes = np.frombuffer(source, np.uint8)
    if int(np.cumsum(_NESTING[codes], dtype=np.int32).max()) > MAX_NESTING:
        return True
    if int(np.count_nonzero(codes >= ord("A"))) < MIN_LETTERS * len(source):
        return True
    return len(source) >= MIN_COMPRESSED_BYTES and len(zlib.compress(source, 1)) * MAX_COMPRESSION < len(source)


def looks_like_a_table(source: bytes) -> bool:
    """Whether a source is mostly numbers: harmless inside a declaration, one long syntax error otherwise."""
    if len(source) < MIN_TABLE_BYTES:
        return False
    return int(_IN_TABLES[np.frombuffer(source, np.uint8)].sum(dtype=np.int64)) > TABLE_SHARE * len(source)


def without_noise(source: bytes, patterns: Iterable[bytes]) -> bytes:
    """The source with what its grammar cannot parse (macros used as keywords) turned into spaces."""
    for pattern in patterns:
        source = re.sub(pattern, lambda found: found.group().replace(found.group(1), b" " * len(found.group(1))), source)
    return source


def blanked_outside(source: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """The source with everything outside some spans turned into spaces, so that offsets stay the same."""
    kept, upto = [], 0
    for start, end in sorted(spans):
        kept += [re.sub(rb"[^\n]", b" ", source[upto:start]), source[start:end]]
        upto = end
    kept.append(re.sub(rb"[^\n]", b" ", source[upto:]))
    return b"".join(kept)
