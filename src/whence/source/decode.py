"""From bytes on disk to UTF-8, or the reason why not."""

from __future__ import annotations

import codecs

#: Enough of a file to tell text from anything else.
SNIFFED = 8_192
_WIDE = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def to_utf8(raw: bytes) -> bytes | None:
    """The text as UTF-8, or None when it is no text. Unknown encodings are read as Latin-1: searchable, if not pretty."""
    for mark, encoding in _WIDE:
        if raw.startswith(mark):
            try:
                return raw.decode(encoding).encode("utf-8")
            except UnicodeError:
                return None
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if b"\0" in raw[:SNIFFED]:
        return None
    try:
        if not raw.isascii():
            raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1").encode("utf-8")
    return raw


def longest_line(text: bytes) -> int:
    """The length of the longest line, in bytes."""
    longest, at = 0, 0
    while True:
        end = text.find(b"\n", at)
        if end < 0:
            return max(longest, len(text) - at)
        longest, at = max(longest, end - at), end + 1
