"""A record of each stage of a query: one line of JSON with its twenty best (E2)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TextIO

TOP = 20


class Trace:
    """Writes stages to a stream. Where there is no trace, nothing is made for it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def stage(self, name: str, query: str, items: Sequence[tuple[str, int, float]], **facts: object) -> None:
        """Write one stage: (path, line, score) of its best, and what else there is to say."""
        top = [
            {"path": path, "line": line, "score": round(score, 6) if math.isfinite(score) else None} for path, line, score in items[:TOP]
        ]
        self._stream.write(json.dumps({"stage": name, "query": query, "count": len(items), "top": top, **facts}) + "\n")
        self._stream.flush()
