"""Which files a language server was asked about, so that the next run goes on where one ended."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from whence.enrich.definitions import Enriched

#: The name of the file in the folder of an index.
RECORD = "enriched.json"


class Record:
    """For each file that is finished: the content that was asked about, and how many edges came of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done: dict[str, tuple[str, int]] = {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            self._done = {name: (str(content), int(edges)) for name, (content, edges) in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            pass  # without it, files are asked about again

    def is_done(self, path: str, content: bytes, with_edges: Collection[str]) -> bool:
        """Whether a file is as it was asked about, and what came of it is still there."""
        known, edges = self._done.get(path, ("", 0))
        return known == content.hex() and (not edges or path in with_edges)

    def note(self, finished: list[Enriched], contents: Mapping[str, bytes]) -> None:
        """Remember files as finished."""
        for one in finished:
            if one.path in contents:
                self._done[one.path] = (contents[one.path].hex(), len(one.edges))
        beside = self._path.with_suffix(".new")
        beside.touch(0o600)
        beside.write_text(json.dumps(self._done), encoding="utf-8")
        beside.replace(self._path)
