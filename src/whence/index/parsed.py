"""What was parsed of each file, packed small: an array of a segment, read file by file."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from whence.core.errors import IndexDamaged
from whence.core.types import ParsedFile, Unit
from whence.storage.arrayfile import Array

#: What is parsed of the largest file that is ever indexed takes less.
LARGEST = 1 << 28


def blob_arrays(blobs: Sequence[bytes]) -> dict[str, Array]:
    """The two arrays of what was parsed of some files, in the order of their rows."""
    ends = np.cumsum([len(blob) for blob in blobs], dtype=np.uint32) if blobs else np.empty(0, np.uint32)
    return {"parsed.blob": np.frombuffer(b"".join(blobs), np.uint8), "parsed.ends": ends}


def pack_parsed(parsed: ParsedFile) -> bytes:
    """What a file holds, in few bytes."""
    return zlib.compress(json.dumps(asdict_parsed(parsed), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogateescape"), 1)


def asdict_parsed(parsed: ParsedFile) -> dict[str, Any]:
    """A parsed file as plain values; many times quicker than `dataclasses.asdict`, which copies deeply."""
    units = [
        (u.kind, u.name, u.first_line, u.last_line, u.start, u.end, u.parents, u.signature, u.doc, u.parameters, u.calls)
        for u in parsed.units
    ]
    return {"language": parsed.language, "units": units, "imports": parsed.imports}


def unpack_parsed(blob: bytes) -> ParsedFile:
    """The reverse of `pack_parsed`; where the comments are is not kept."""
    try:
        found = json.loads(_unpacked(blob))
        return ParsedFile(found["language"], tuple(map(_unit, found["units"])), tuple(found["imports"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise IndexDamaged("what was parsed of a file cannot be read") from error


def find_units(blob: bytes, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
    """Some units of what `pack_parsed` made, by first line and name, without reading the others.

    No text inside a JSON string has a bare quotation mark, so that `,"name",12,` stands nowhere but in a unit.
    """
    text, decoder = _unpacked(blob), json.JSONDecoder()
    found = {}
    for first, name in wanted:
        at = text.rfind(f",{json.dumps(name, ensure_ascii=False)},{first},")
        if at >= 0:
            found[first, name] = _unit_at(decoder, text, at)
    return found


def _unit_at(decoder: json.JSONDecoder, text: str, at: int) -> Unit:
    try:
        values, _ = decoder.raw_decode(text, text.rindex("[", 0, at))
        return _unit(values)
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexDamaged("what was parsed of a file cannot be read") from error


def _unpacked(blob: bytes) -> str:
    """The text of what was packed. An index that comes from elsewhere may say anything, but not fill the memory."""
    try:
        return zlib.decompressobj().decompress(blob, LARGEST).decode("utf-8", "surrogateescape")
    except zlib.error as error:
        raise IndexDamaged("what was parsed of a file cannot be read") from error


def _unit(values: Sequence[Any]) -> Unit:
    """A unit from its values, in the order in which `asdict_parsed` writes them."""
    kind, name, first, last, start, end, parents, signature, doc, parameters, calls = values
    whole = ".".join((*parents, name)) if name else ""
    return Unit(kind, name, whole, first, last, start, end, tuple(parents), signature, doc, tuple(parameters), tuple(calls))
