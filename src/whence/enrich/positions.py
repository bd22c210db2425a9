"""Places in a text as the language server protocol counts them: lines, and columns in UTF-16 code units."""

from __future__ import annotations

import re
from bisect import bisect_right

#: The protocol knows three ends of a line; whence counts by the first alone.
_LINE_END = re.compile(rb"\r\n|\n|\r")
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
FILE_SCHEME = "file://"


class Places:
    """Turns the bytes of a UTF-8 text into lines and columns, and back."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def position(self, byte: int) -> tuple[int, int]:
        """Line and column, both from 0, of a byte."""
        line = bisect_right(self._starts, byte) - 1
        return line, _utf16_length(self.text[self._starts[line] : byte])

    def byte(self, line: int, column: int) -> int | None:
        """The byte at a line and column, or None when the text has no such place."""
        if not 0 <= line < len(self._starts) or column < 0:
            return None
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        row = self.text[start:end]
        if row.isascii():
            return start + column if column <= len(row) else None
        counted = 0
        for character in row.decode("utf-8", "replace"):
            if counted >= column:
                break
            counted += 2 if ord(character) > 0xFFFF else 1
            start += len(character.encode("utf-8"))
        return start if counted == column else None


def _utf16_length(text: bytes) -> int:
    return len(text) if text.isascii() else len(text.decode("utf-8", "replace").encode("utf-16-le")) // 2


def path_of(address: str) -> bytes | None:
    """The path of a `file://` address, or None when it is another kind of place."""
    if not address.startswith(FILE_SCHEME + "/"):
        return None
    raw = address[len(FILE_SCHEME) :].encode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), raw)
