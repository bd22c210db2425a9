"""What it costs to find a file without an index: grep for the words of a question, and read what matches."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whence.app.index import Index
from whence.search import metrics
from whence.text.analyzer import QUERY_STOP_WORDS, words
from whence.text.token_estimate import count_tokens


class Grep:
    """The files of an index, each with its text and what reading it costs."""

    def __init__(self, index: Index) -> None:
        self._texts = {path: text.lower() for path in sorted(index.tree.files) if (text := index.read_text(path)) is not None}
        self._costs: dict[str, int] = {}
        self._read = index.read_text

    def cost(self, question: str, wanted: Sequence[str]) -> tuple[int, int]:
        """Tokens until a wanted file is read, those that hold most of the words first, and tokens of all files that match."""
        asked = sorted({word.lower() for word in words(question) if word.lower() not in QUERY_STOP_WORDS and len(word) > 2}) or [
            question.lower()
        ]
        patterns = [re.compile(re.escape(word)) for word in asked]
        held = {path: [len(one.findall(text)) for one in patterns] for path, text in self._texts.items()}
        matching = [path for path, counts in held.items() if any(counts)]
        matching.sort(key=lambda path: (-sum(map(bool, held[path])), -sum(held[path]), path))
        listed = count_tokens("\n".join(matching))
        costs = [self._cost(path) for path in matching]
        ranks = [rank for target in wanted if (rank := metrics.rank_of(target, matching)) is not None]
        until = sum(costs[: min(ranks)]) if ranks else sum(costs)
        return listed + until, listed + sum(costs)

    def _cost(self, path: str) -> int:
        if path not in self._costs:
            self._costs[path] = count_tokens(self._read(path) or "")
        return self._costs[path]
