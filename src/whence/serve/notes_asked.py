"""A query that says `in:notes`: what recall finds, narrowed by the query's conditions before it is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whence.memories import Memory
    from whence.query.language import Asked
    from whence.recollections import Recalled


def recalled_within(memory: Memory, question: Asked, wanted: int, **ranking: Any) -> list[Recalled]:
    """The best notes among those that may be shown: more are asked for until there are as many, or no more."""
    from whence.query.language import note_passes  # noqa: PLC0415  -- loaded already
    from whence.query.note_options import MOST  # noqa: PLC0415  -- loaded with the memory

    count = min(wanted, MOST)
    while True:
        found = memory.recall(question.text, k=count, **ranking)
        left = [one for one in found if note_passes(question, one.note.text, [one.note.key, *(about.path for about in one.note.about)])]
        if len(left) >= wanted or len(found) < count or count == MOST:
            return left[:wanted]
        count = min(count * 4, MOST)
