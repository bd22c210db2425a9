"""A file as bytes and lines: where lines start, runs of lines, and what to keep from a grammar."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator

import numpy as np

from whence.core.types import Unit

#: A run of lines longer than this is cut: a result should be readable.
WINDOW_LINES = 40
NEWLINE = 10
#: What grammars cannot bear; below the smallest size nothing hurts.
SMALLEST_TROUBLE = 2_000
DEEPEST = 500
FEWEST_LETTERS = 0.25
#: A file that says the same thing over and over: source can be written four to ten times as short, a thousand open tags a hundred times.
SMALLEST_REPETITION = 20_000
MOST_REPEATED = 40
_NESTING = np.array([(chr(code) in "([{") - int(chr(code) in ")]}") for code in range(256)], np.int8)
#: A file is a table when this share of it are digits and commas; source has a twentieth.
SMALLEST_TABLE = 20_000
TABLE_SHARE = 0.25
_TABULAR = np.array([chr(code) in "0123456789," for code in range(256)])
WORD_BYTE = re.compile(rb"\w|[\x80-\xff]")


def beyond_a_grammar(source: bytes, unbearable: bytes) -> bool:
    """Whether a file would take its grammar down, or ages: nesting or repetition without end, or a table that is one long error to it."""
    if unbearable and re.search(unbearable, source):
        return True
    if len(source) < SMALLEST_TROUBLE:
        return False
    codes = np.frombuffer(source, np.uint8)
    if int(np.cumsum(_NESTING[codes], dtype=np.int32).max()) > DEEPEST:
        return True
    if int(np.count_nonzero(codes >= ord("A"))) < FEWEST_LETTERS * len(source):
        return True
    return len(source) >= SMALLEST_REPETITION and len(zlib.compress(source, 1)) * MOST_REPEATED < len(source)


def looks_like_a_table(source: bytes) -> bool:
    """Whether a file is mostly numbers: harmless inside a declaration, and one long error without."""
    if len(source) < SMALLEST_TABLE:
        return False
    return int(_TABULAR[np.frombuffer(source, np.uint8)].sum(dtype=np.int64)) > TABLE_SHARE * len(source)


def line_starts(source: bytes) -> list[int]:
    """The byte at which each line starts."""
    starts = [0, *(np.flatnonzero(np.frombuffer(source, np.uint8) == NEWLINE) + 1).tolist()]
    if starts[-1] == len(source) and len(starts) > 1:
        starts.pop()
    return starts


def windows(lines: list[int], first: int, last: int, source: bytes) -> Iterator[Unit]:
    """Cut lines first..last (from 0, inclusive) into runs with no blank edges."""
    while first <= last:
        stop = min(first + WINDOW_LINES - 1, last)
        begin, end = first, stop
        while begin <= end and not _line_text(lines, begin, source).strip():
            begin += 1
        while end >= begin and not _line_text(lines, end, source).strip():
            end -= 1
        finish = lines[end + 1] if end + 1 < len(lines) else len(source)
        if begin <= end and WORD_BYTE.search(source, lines[begin], finish):
            yield Unit("raw", "", "", begin + 1, end + 1, lines[begin], finish)
        first = stop + 1


def _line_text(lines: list[int], line: int, source: bytes) -> bytes:
    return source[lines[line] : lines[line + 1] if line + 1 < len(lines) else len(source)]


def without_noise(source: bytes, patterns: Iterable[bytes]) -> bytes:
    """The source with what its grammar cannot know (macros used as keywords) turned to spaces."""
    for pattern in patterns:
        source = re.sub(pattern, lambda found: found.group().replace(found.group(1), b" " * len(found.group(1))), source)
    return source


def blanked_outside(source: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """The source with everything but these spans turned to spaces, so that offsets hold."""
    kept, upto = [], 0
    for start, end in sorted(spans):
        kept += [re.sub(rb"[^\n]", b" ", source[upto:start]), source[start:end]]
        upto = end
    kept.append(re.sub(rb"[^\n]", b" ", source[upto:]))
    return b"".join(kept)
