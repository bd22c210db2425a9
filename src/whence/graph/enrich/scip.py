"""Edges from a SCIP index: what a compiler's indexer knows of every name, in one file (protocol buffers).

Only what edges need is read, by the numbers of the fields in scip.proto: of the
index its documents, of a document its path and occurrences, of an occurrence its
range, symbol and roles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from whence.core.errors import WhenceError
from whence.graph.enrich.definitions import EnrichedFile, Outlines, enriched_file, mentions_of

_DOCUMENTS = 2
_PATH, _OCCURRENCES, _ENCODING = 1, 2, 6
_RANGE, _SYMBOL, _ROLES = 1, 2, 3
_IS_DEFINITION = 1
#: Columns count bytes; everything else counts as the protocol of language servers does.
_IN_BYTES = 1
#: Symbols that only their own file knows.
_LOCAL = "local "
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_SHORT_RANGE, _LONG_RANGE = 3, 4

Place = tuple[int, int]  # line and column, from 0


class ScipError(WhenceError):
    """A file is no SCIP index."""


@dataclass(frozen=True, slots=True)
class ScipDocument:
    """What an indexer says of one file."""

    path: str
    in_bytes: bool
    symbols: Mapping[Place, str]  # by where a name begins
    definitions: Mapping[str, Place]


class ScipIndex:
    """The documents of a SCIP file, and where each symbol is defined."""

    def __init__(self, data: bytes) -> None:
        try:
            self.documents = [
                _document(body) for number, body in _fields(memoryview(data)) if number == _DOCUMENTS and not isinstance(body, int)
            ]
        except (IndexError, ValueError) as error:
            raise ScipError("this is no SCIP index", hint="scip-python index and scip-typescript index write one") from error
        self._definitions: dict[str, list[tuple[ScipDocument, Place]]] = defaultdict(list)
        for document in self.documents:
            for symbol, place in document.definitions.items():
                if not symbol.startswith(_LOCAL):
                    self._definitions[symbol].append((document, place))

    def definitions(self, document: ScipDocument, symbol: str) -> list[tuple[ScipDocument, Place]]:
        """Where a symbol that a document names is defined; empty if that is outside."""
        if symbol.startswith(_LOCAL):
            return [(document, document.definitions[symbol])] if symbol in document.definitions else []
        return self._definitions.get(symbol, [])

    def edges(self, outlines: Outlines, newest: float) -> Iterator[EnrichedFile]:
        """The edges of each file that has not changed since the index was made."""
        for document in self.documents:
            outline = outlines.outline(document.path)
            if outline is None:
                continue
            if _changed(outlines.root / document.path, newest):
                yield EnrichedFile(document.path, error="changed since the SCIP index was made")
                continue
            mentions = mentions_of(outline)
            places = [outline.places.position(spot, in_bytes=document.in_bytes) for _, spot in mentions]
            targets = [self._targets(document, document.symbols.get(place, ""), outlines) for place in places]
            yield enriched_file(outline, mentions, targets, outlines)

    def _targets(self, document: ScipDocument, symbol: str, outlines: Outlines) -> list[str] | None:
        """The symbols of the index that a name means; None if nothing is known, empty if it means something outside."""
        if not symbol:
            return None
        found = self.definitions(document, symbol)
        keys = [outlines.key_at(of.path, *place, in_bytes=of.in_bytes) for of, place in found]
        return None if found and not any(keys) else list(dict.fromkeys(filter(None, keys)))


def _changed(path: Path, newest: float) -> bool:
    try:
        return path.stat().st_mtime > newest
    except OSError:
        return True


def _document(body: memoryview) -> ScipDocument:
    path, in_bytes = "", False
    symbols: dict[Place, str] = {}
    definitions: dict[str, Place] = {}
    for number, value in _fields(body):
        if number == _PATH and not isinstance(value, int):
            path = str(value, "utf-8", "replace")
        elif number == _ENCODING:
            in_bytes = value == _IN_BYTES
        elif number == _OCCURRENCES and not isinstance(value, int):
            place, symbol, is_definition = _occurrence(value)
            if symbol:
                (definitions.setdefault(symbol, place) if is_definition else symbols.setdefault(place, symbol))
    return ScipDocument(path, in_bytes, symbols, definitions)


def _occurrence(body: memoryview) -> tuple[Place, str, bool]:
    numbers: list[int] = []
    symbol, roles = "", 0
    for number, value in _fields(body):
        if number == _RANGE:
            numbers += [value] if isinstance(value, int) else _packed(value)
        elif number == _SYMBOL and not isinstance(value, int):
            symbol = str(value, "utf-8", "replace")
        elif number == _ROLES and isinstance(value, int):
            roles = value
    if len(numbers) not in (_SHORT_RANGE, _LONG_RANGE):
        raise ValueError("a range has three or four numbers")
    return (numbers[0], numbers[1]), symbol, bool(roles & _IS_DEFINITION)


# Protocol buffers.
def _fields(body: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """The number and value of every field of a message; those of fixed size are passed over."""
    at = 0
    while at < len(body):
        key, at = _varint(body, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(body, at)
            yield number, value
        elif kind == _BYTES:
            size, at = _varint(body, at)
            if at + size > len(body):
                raise ValueError("a field is longer than its message")
            yield number, body[at : at + size]
            at += size
        elif kind in (_FIXED32, _FIXED64):
            at += 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"there is no wire type {kind}")


def _varint(body: memoryview, at: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, 7 * _LONGEST_VARINT, 7):
        byte = body[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, at
    raise ValueError("a number does not end")


def _packed(body: memoryview) -> list[int]:
    found, at = [], 0
    while at < len(body):
        value, at = _varint(body, at)
        found.append(value)
    return found
