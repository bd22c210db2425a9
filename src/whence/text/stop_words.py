"""Words that carry no content: one list per file in `stop_words/`.

`query` is for search queries; `languages/*` are for notes; `change_verbs` and `task` are for tasks; `classic*` are
for the classic ranking of symbols; `feedback*` are for what feedback teaches.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from whence.text.tables import content_lines

_FOLDER = Path(__file__).with_suffix("")


@cache
def stop_words(name: str) -> frozenset[str]:
    """Read one list."""
    return frozenset(" ".join(content_lines(_FOLDER / f"{name}.txt")).split())


QUERY_STOP_WORDS = stop_words("query")
