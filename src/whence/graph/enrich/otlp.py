"""Spans from files of OpenTelemetry's JSON, read as a stream: a file may be larger than memory should be.

A file holds one document, an array of them, or one after another (JSON lines).
Names may be written as `resourceSpans` or `resource_spans`, numbers as text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import IO, Any, NoReturn

from whence.core.errors import UsageError

_CHUNK = 1 << 20
#: One span, or anything that is passed over, larger than this is no trace.
MOST_VALUE_CHARACTERS = 16_000_000
_BLANK = re.compile(r"[ \t\r\n]*")
_BEGINS_A_VALUE = frozenset('{["-0123456789tfn')
_RESOURCES = frozenset({"resourceSpans", "resource_spans"})
_SCOPES = frozenset({"scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"})
_KINDS = ("", "internal", "server", "client", "producer", "consumer")
#: Attributes that say where in the source a span was made, or what it was an answer to.
ATTRIBUTES = frozenset(
    "code.function code.function.name code.namespace code.filepath code.file.path code.lineno code.line.number http.route url.template"
    " http.method http.request.method rpc.system rpc.system.name rpc.service rpc.method".split()
)
#: The last second that a clock of nanoseconds in 64 bits can tell.
_LAST_SECOND = 2**63 / 1e9


class TraceError(UsageError):
    """A file that holds no OpenTelemetry JSON."""


@dataclass(frozen=True, slots=True)
class Span:
    """One span, as far as it can say something of the source."""

    id: bytes
    parent: bytes  # empty when it has none
    kind: str
    ended: float  # seconds since 1970; 0 when it is not known
    attributes: Mapping[str, str] = field(default_factory=dict)


def read_spans(file: IO[str]) -> Iterator[Span | None]:
    """Every span of a file; None for one that has no number of its own. Raises `TraceUnreadable`."""
    stream = _Stream(file)
    found = False
    for key in _documents(stream):
        found = True
        for resource_key in _members_of_elements(stream, key):
            if resource_key not in _SCOPES:
                stream.skip()
                continue
            for scope_key in _members_of_elements(stream, resource_key):
                if scope_key != "spans":
                    stream.skip()
                    continue
                for _ in stream.elements("spans"):
                    yield _span(stream.value(), stream)
    if not found:
        raise TraceError("no OpenTelemetry spans in it", hint="OTLP JSON has resourceSpans")


def _documents(stream: _Stream) -> Iterator[str]:
    """Stops at each list of resources, wherever a document holds one."""
    while (begins := stream.peek()) != "":
        if begins == "[":
            for _ in stream.elements("a document"):
                yield from _of_document(stream)
        else:
            yield from _of_document(stream)


def _of_document(stream: _Stream) -> Iterator[str]:
    for key in stream.members("a document"):
        if key in _RESOURCES:
            yield key
        else:
            stream.skip()


def _members_of_elements(stream: _Stream, what: str) -> Iterator[str]:
    for _ in stream.elements(what):
        yield from stream.members(what)


class _Stream:
    """A text of JSON in pieces: what is walked through is never whole in memory, what is taken is."""

    def __init__(self, file: IO[str]) -> None:
        self._file, self._text, self._at, self._passed, self._ended = file, "", 0, 0, False
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        if self._ended:
            return False
        try:
            piece = self._file.read(max(_CHUNK, len(self._text) - self._at))
        except UnicodeDecodeError as error:
            raise TraceError("it is no UTF-8 text") from error
        self._ended = not piece
        self._passed += self._at
        self._text, self._at = self._text[self._at :] + piece, 0
        return not self._ended

    def fail(self, what: str) -> NoReturn:
        """Complain, with the place."""
        raise TraceError(f"{what} at character {self._passed + self._at + 1}")

    def _expect(self, character: str) -> None:
        found = self.peek()
        if found != character:
            self.fail(f"expected {character}, found {found!a}" if found else f"the file ends where {character} is expected")
        self._at += 1

    def elements(self, what: str) -> Iterator[None]:
        """Stops before each element of an array, which the caller takes; null is an empty one."""
        yield from self._inside("[", "]", what)

    def members(self, what: str) -> Iterator[str]:
        """The name of each member of an object; the caller takes the value."""
        for _ in self._inside("{", "}", what):
            key = self.value()
            if not isinstance(key, str):
                self.fail("expected a name")
            self._expect(":")
            yield key

    def _inside(self, opens: str, closes: str, what: str) -> Iterator[None]:
        begins = self.peek()
        if begins == "n" and self.value() is None:
            return
        if begins != opens:
            self.fail(f"{what}: expected {opens}, found {begins!a}" if begins else f"{what}: the file ends early")
        self._at += 1
        if self.peek() == closes:
            self._at += 1
            return
        while True:
            yield
            if self.peek() == closes:
                self._at += 1
                return
            self._expect(",")

    def skip(self) -> None:
        """Pass over a value."""
        self.value()

    def value(self) -> Any:
        """The next value, whole."""
        if self.peek() not in _BEGINS_A_VALUE:
            self.fail("expected a value")
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                pass  # it may go on in the next piece
            except (ValueError, RecursionError) as error:
                raise TraceError(f"a value that no trace holds at character {self._passed + self._at + 1}") from error
            else:
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            if self._ended:
                self.fail("no valid JSON")
            if len(self._text) - self._at > MOST_VALUE_CHARACTERS:
                self.fail("a value that is too large or not JSON")
            self._more()


def _span(raw: Any, stream: _Stream) -> Span | None:
    if not isinstance(raw, dict):
        stream.fail("a span that is no object")
    trace, number = _either(raw, "traceId", "trace_id"), _either(raw, "spanId", "span_id")
    if not _is_text(trace) or not _is_text(number):
        return None
    parent = _either(raw, "parentSpanId", "parent_span_id")
    ended = _whole(_either(raw, "endTimeUnixNano", "end_time_unix_nano")) / 1e9
    return Span(
        _identity(trace, number),
        _identity(trace, parent) if _is_text(parent) and parent.strip("0") else b"",
        _kind(raw.get("kind")),
        ended if 0 < ended < _LAST_SECOND else 0.0,
        dict(_attributes(raw.get("attributes"))),
    )


def _either(raw: dict[str, Any], one: str, other: str) -> Any:
    return raw.get(one, raw.get(other))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _identity(trace: str, span: str) -> bytes:
    return blake2b(f"{trace.lower()}:{span.lower()}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _whole(value: Any) -> int:
    """A whole number, written as one or as text; 0 for anything else."""
    if isinstance(value, str):
        return int(value) if len(value) < 20 and value.isascii() and value.isdigit() else 0
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0


def _kind(value: Any) -> str:
    if isinstance(value, str) and not value.isdigit():
        name = value.lower().removeprefix("span_kind_")
        return name if name in _KINDS else ""
    number = _whole(value)
    return _KINDS[number] if 0 <= number < len(_KINDS) else ""


def _attributes(raw: Any) -> Iterator[tuple[str, str]]:
    for one in raw if isinstance(raw, list) else []:
        key = one.get("key") if isinstance(one, dict) else None
        held = one.get("value") if isinstance(one, dict) else None
        if isinstance(key, str) and key in ATTRIBUTES and isinstance(held, dict):
            text, number = _either(held, "stringValue", "string_value"), _either(held, "intValue", "int_value")
            if isinstance(text, str):
                yield key, text
            elif isinstance(number, int | str) and not isinstance(number, bool):
                yield key, str(_whole(number))
