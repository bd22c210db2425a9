"""The text of a file and what was parsed of it, as bytes of a row: to show an answer where the file itself is not."""

from __future__ import annotations

import struct
import zlib

from whence.errors import IndexDamaged

_HEAD = struct.Struct("<I")
#: Of what is read, no text is larger: an engine may be written to by others.
LARGEST = 64 << 20


def packed_text(text: str, parsed: bytes) -> bytes:
    """A text without its secrets, and its units as they were parsed, as bytes."""
    raw = text.encode("utf-8", "replace")
    return zlib.compress(_HEAD.pack(len(raw)) + raw + parsed, 6)


def unpacked_text(raw: bytes) -> tuple[str, bytes]:
    """The text and what was parsed of it."""
    try:
        data = zlib.decompressobj().decompress(raw, LARGEST)
        (length,) = _HEAD.unpack_from(data)
        (text,) = struct.unpack_from(f"{length}s", data, _HEAD.size)
        return text.decode("utf-8"), data[_HEAD.size + length :]
    except (zlib.error, struct.error, ValueError) as error:
        raise IndexDamaged("a text of the fleet cannot be read") from error
