"""Edges from a language server: asks it where each name of a file is defined."""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from whence.core.types import DEFINITIONS, LSP, OUTSIDE, Edge, ParsedFile, Reference, Unit
from whence.graph.enrich.client import LanguageServer, ServerError, language_id
from whence.index.segment import name_hash
from whence.parse.units import parse
from whence.source.read import decode, open_inside, read_limit, read_prefix

#: The protocol has three line ends.
_LINE_END = re.compile(rb"\r\n|\n|\r")
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
FILE_SCHEME = "file://"


class TextPositions:
    """Turns the bytes of a UTF-8 text into lines and columns, and back."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def position(self, byte: int, *, in_bytes: bool = False) -> tuple[int, int]:
        """Line and column, both from 0, of a byte."""
        line = bisect_right(self._starts, byte) - 1
        before = self.text[self._starts[line] : byte]
        return line, len(before) if in_bytes or before.isascii() else len(before.decode("utf-8", "replace").encode("utf-16-le")) // 2

    def byte(self, line: int, column: int, *, in_bytes: bool = False) -> int | None:
        """The byte at a line and column; None if the text has no such place."""
        if not 0 <= line < len(self._starts) or column < 0:
            return None
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        row = self.text[start:end]
        if in_bytes or row.isascii():
            return start + column if column <= len(row) else None
        counted = 0
        for character in row.decode("utf-8", "replace"):
            if counted >= column:
                break
            counted += 2 if ord(character) > 0xFFFF else 1
            start += len(character.encode("utf-8"))
        return start if counted == column else None


def path_of_uri(address: str) -> bytes | None:
    """The path of a `file://` address; None for any other."""
    if not address.startswith(FILE_SCHEME + "/"):
        return None
    raw = address[len(FILE_SCHEME) :].encode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), raw)


#: The name of the file in the folder of an index.
RECORD_FILE = "enriched.json"


class EnrichRecord:
    """The finished files, each with its content at that time and its number of edges."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done: dict[str, tuple[str, int]] = {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            self._done = {name: (str(content), int(edges)) for name, (content, edges) in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            pass  # without it, all files are done again

    def is_done(self, path: str, content: bytes, with_edges: Collection[str]) -> bool:
        """Whether a file is unchanged since, and its edges are still there."""
        known, edges = self._done.get(path, ("", 0))
        return known == content.hex() and (not edges or path in with_edges)

    def add(self, finished: list[EnrichedFile], contents: Mapping[str, bytes]) -> None:
        """Record finished files."""
        for one in finished:
            if one.path in contents:
                self._done[one.path] = (contents[one.path].hex(), len(one.edges))
        beside = self._path.with_suffix(".new")
        beside.touch(0o600)
        beside.write_text(json.dumps(self._done), encoding="utf-8")
        beside.replace(self._path)


#: Confidence of an edge that a language server resolved (W2).
LSP_CONFIDENCE = 0.9
#: Mentions of what is defined in the source; a route or a variable of the environment is not.
ASKED = frozenset("calls implements extends inherits overrides accesses_field type_hint_of references throws decorates imports".split())
#: An answer with more definitions is ignored.
MOST_TARGETS = 8
#: Files kept open at the server: closing the last one of a project would make it load the project again.
OPEN_FILES = 8
OUTLINES_KEPT = 512
#: Failures in a row after which a server is not started again.
MAX_FAILURES = 3
#: How far behind the start of a mention its last name may stand: `package.module.Type`.
_REACH = 200
_WORD = re.compile(rb"[\w$\x80-\xff]+")


@dataclass(frozen=True, slots=True)
class EnrichedFile:
    """The edges of one file."""

    path: str
    edges: tuple[Edge, ...] = ()
    requests: int = 0  # names that the server was asked for
    resolved: int = 0  # names that it found in the repository
    error: str = ""  # why the file is not finished; empty if it is


class Outline:
    """A file: its text, its units, and the positions in it."""

    def __init__(self, path: str, text: bytes, language: str) -> None:
        self.path, self.text, self.language = path, text, language

    @cached_property
    def places(self) -> TextPositions:
        """Its lines and columns."""
        return TextPositions(self.text)

    @cached_property
    def parsed(self) -> ParsedFile:
        """Its units and what they mention."""
        return parse(self.text, self.language)

    @cached_property
    def _starts(self) -> list[int]:
        return [unit.start for unit in self.parsed.units]

    def definition_at(self, byte: int) -> Unit | None:
        """The unit whose name is at a place; None for a parameter, a variable or a module."""
        word = _WORD.match(self.text, byte)
        for row in range(bisect_right(self._starts, byte) - 1, -1, -1):
            unit = self.parsed.units[row]
            if unit.end > byte:  # units are in order of their starts, so the first that holds it is the innermost
                named = word is not None and word[0].decode("utf-8", "replace") == unit.name
                return unit if named and unit.kind in DEFINITIONS else None
        return None


class Outlines:
    """The files of an index, read and parsed on demand."""

    def __init__(self, root: Path, languages: Mapping[str, str], most_bytes: int, names: Collection[int] = ()) -> None:
        self.root, self.languages, self._most_bytes = root, languages, most_bytes
        self.names = names  # hashes of the names that the index defines
        self._kept: OrderedDict[str, Outline | None] = OrderedDict()

    def outline(self, path: str) -> Outline | None:
        """A file as it is on disk now; None if it is not in the index, gone, or not text."""
        if path not in self.languages:
            return None
        if path not in self._kept:
            self._kept[path] = self._read(path)
            if len(self._kept) > OUTLINES_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(path)
        return self._kept[path]

    def _read(self, path: str) -> Outline | None:
        try:
            text = decode(read_prefix(open_inside(self.root, path), read_limit(path, self._most_bytes)), path)
        except OSError:
            return None
        return None if text is None else Outline(path, text, self.languages[path])

    def key_at(self, path: str, line: int, column: int, *, in_bytes: bool = False) -> str:
        """The symbol whose name begins at a place; empty if none does."""
        outline = self.outline(path)
        byte = None if outline is None else outline.places.byte(line, column, in_bytes=in_bytes)
        unit = None if outline is None or byte is None else outline.definition_at(byte)
        return "" if unit is None else f"{path}#{unit.qualified_name}"

    def address(self, path: str) -> str:
        """A file as the protocol names it."""
        return (self.root / path).as_uri()

    def at_address(self, address: Any) -> Outline | None:
        """The file at an address; None if it is not in the index."""
        raw = path_of_uri(address) if isinstance(address, str) else None
        if raw is None:
            return None
        path, root = os.path.normpath(os.fsdecode(raw)), f"{self.root}".rstrip("/") + "/"
        return self.outline(path[len(root) :]) if path.startswith(root) else None


def enrich(
    start: Callable[[], LanguageServer], outlines: Outlines, paths: Sequence[str], progress: Callable[[int, int], None]
) -> Iterator[EnrichedFile]:
    """The edges of each file. If the server fails, the file is skipped and the server started again.

    Raises `ServerError` when it cannot be started or fails at several files in a row.
    """
    failures, rows = 0, deque(enumerate(paths, 1))
    while rows:
        with start() as server:
            asking = DefinitionLookup(server, outlines)
            while rows:
                done, path = rows.popleft()
                try:
                    yield asking.file(path)
                except ServerError as trouble:
                    failures += 1
                    yield EnrichedFile(path, error=str(trouble))
                    if failures >= MAX_FAILURES:
                        raise
                    break
                failures = 0
                progress(done, len(paths))


class DefinitionLookup:
    """A server that is asked about one file after another."""

    def __init__(self, server: LanguageServer, outlines: Outlines) -> None:
        self._server, self._outlines = server, outlines
        self._open: deque[str] = deque()

    def file(self, path: str) -> EnrichedFile:
        """The edges from one file."""
        outline = self._outlines.outline(path)
        if outline is None:
            return EnrichedFile(path)
        mentions = mentions_of(outline)
        if not mentions:
            return EnrichedFile(path)
        answers = self.definitions(outline, [spot for _, spot in mentions])
        return enriched_file(outline, mentions, [self._targets(answer) for answer in answers], self._outlines)

    def definitions(self, outline: Outline, spots: Iterable[int]) -> list[Any]:
        """What the server answers for names that begin at some bytes of a file."""
        self._show(outline)
        address = {"uri": self._outlines.address(outline.path)}
        positions = [outline.places.position(spot) for spot in spots]
        questions = [{"textDocument": address, "position": {"line": line, "character": column}} for line, column in positions]
        return self._server.request_all("textDocument/definition", questions)

    def _show(self, outline: Outline) -> None:
        address = self._outlines.address(outline.path)
        document = {
            "uri": address,
            "languageId": language_id(outline.path, outline.language),
            "version": 1,
            "text": outline.text.decode("utf-8", "replace"),
        }
        self._server.notify("textDocument/didOpen", {"textDocument": document})
        self._open.append(address)
        if len(self._open) > OPEN_FILES:
            self._server.notify("textDocument/didClose", {"textDocument": {"uri": self._open.popleft()}})

    def _targets(self, answer: Any) -> list[str] | None:
        """The symbols of the index that an answer points to, each once; None if it tells nothing, empty if they are outside."""
        places = [place for place in (answer if isinstance(answer, list) else [answer]) if isinstance(place, dict)]
        if not 0 < len(places) <= MOST_TARGETS:
            return None
        if not any(self._outlines.at_address(place.get("targetUri", place.get("uri"))) for place in places):
            return []
        return list(dict.fromkeys(target for place in places if (target := self._target(place)))) or None

    def _target(self, place: dict[str, Any]) -> str:
        outline = self._outlines.at_address(place.get("targetUri", place.get("uri")))
        span = place.get("targetSelectionRange", place.get("range"))
        start = span.get("start") if isinstance(span, dict) else None
        if outline is None or not isinstance(start, dict):
            return ""
        line, column = start.get("line"), start.get("character")
        return self._outlines.key_at(outline.path, line, column) if isinstance(line, int) and isinstance(column, int) else ""


def mentions_of(outline: Outline) -> list[tuple[Reference, int]]:
    """The mentions of a file that may mean a symbol, each with the byte where its name begins."""
    units = outline.parsed.units
    known = (one for one in outline.parsed.references if one.kind in ASKED and 0 <= one.unit < len(units))
    return [(one, _spot(outline.text, one)) for one in known if units[one.unit].kind in DEFINITIONS]


def enriched_file(
    outline: Outline, mentions: Sequence[tuple[Reference, int]], targets: Sequence[Sequence[str] | None], outlines: Outlines
) -> EnrichedFile:
    """The edges of a file whose mentions mean these symbols: None if unknown, none if they mean something outside."""
    found: dict[tuple[str, str, str], Edge] = {}
    for (mention, spot), meant in zip(mentions, targets, strict=True):
        source = f"{outline.path}#{outline.parsed.units[mention.unit].qualified_name}"
        # A name that nothing here has is never guessed, so there is nothing to replace.
        nothing = [OUTSIDE + mention.name] if meant is not None and name_hash(mention.name) in outlines.names else []
        for target in meant or nothing:
            if target != source:
                line = outline.text.count(b"\n", 0, spot) + 1
                found.setdefault((source, target, mention.kind), Edge(source, target, mention.kind, LSP, LSP_CONFIDENCE, line))
    return EnrichedFile(outline.path, tuple(found.values()), len(mentions), sum(map(bool, targets)))


def _spot(text: bytes, mention: Reference) -> int:
    """Where the name itself is: a reference may begin with a package."""
    found = text.find(mention.name.encode("utf-8", "surrogateescape"), mention.at, mention.at + _REACH)
    return mention.at if found < 0 else found
