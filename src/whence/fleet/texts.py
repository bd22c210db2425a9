"""Texts of the fleet as one caller reads them: whatever the engine gives is looked at once more on the way out."""

from __future__ import annotations

from collections.abc import Mapping

from whence.fleet.access import Caller, may_see
from whence.fleet.milvus.engine import Engine, Row
from whence.fleet.rows import decode_text, join_blob, part_key

_FIELDS = ("file", "repo", "groups", "part", "parts", "blob")


def fetch_texts(engine: Engine, caller: Caller, files: Mapping[str, str]) -> dict[str, tuple[str, bytes]]:
    """The text and what was parsed of each of some files, given by their keys with their repositories, as far as the caller may see it."""
    first = engine.get("texts", [part_key(key, 0) for key in files], _FIELDS) if files else []
    more = [part_key(row["file"], part) for row in first for part in range(1, int(row["parts"]))]
    parts: dict[str, list[Row]] = {}
    for row in (*first, *(engine.get("texts", more, _FIELDS) if more else ())):
        if may_see(caller, row) and files.get(row["file"]) == row["repo"]:
            parts.setdefault(row["file"], []).append(row)
    ordered = {key: sorted(found, key=lambda row: int(row["part"])) for key, found in parts.items()}
    whole = {key: found for key, found in ordered.items() if len(found) == int(found[0]["parts"])}  # another may be writing it
    return {key: decode_text(join_blob([row["blob"] for row in found])) for key, found in whole.items()}
