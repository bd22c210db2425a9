"""Words that say too little to point at code: they are never learned (L5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whence.context.feedback.store import FeedbackStore, loaded, stored
from whence.core.settings_schema import LearnSettings
from whence.storage.sqlite import VALUES_AT_ONCE
from whence.text import analyzer
from whence.text.analyzer import QUERY_STOP_WORDS, stem, stop_words

COMMON_WORDS = QUERY_STOP_WORDS | stop_words("feedback_verbs") | stop_words("feedback_programming")
_COMMON_STEMS = frozenset(stem(word) for word in COMMON_WORDS)
#: Shorter words in Latin letters are abbreviations of anything.
SHORTEST_KEYWORD = 3


def is_common(part: str) -> bool:
    """Whether a lower-cased part of a word is too common to mean one piece of code."""
    return part.isdigit() or (part.isascii() and len(part) < SHORTEST_KEYWORD) or stem(part) in _COMMON_STEMS


#: A pasted text has more words than a task is about; the first say most.
MOST_KEYWORDS = 24

_PAIRS = (
    "SELECT keyword, symbol, count(*) FROM keywords JOIN records ON records.id = keywords.record {} GROUP BY keyword, symbol"
    " HAVING count(*) >= ? ORDER BY keyword, symbol"
)


@dataclass(frozen=True, slots=True)
class LearnedPair:
    """A word that went with a symbol, how often, and what that is worth in the fusion (0: not yet anything)."""

    keyword: str
    symbol: str
    count: int
    weight: float


def keywords(task: str) -> tuple[str, ...]:
    """The words of a task that may be learned: stems in lower case, each once, in order."""
    found: dict[str, None] = {}
    for word in analyzer.words(task):
        parts = analyzer.parts(word)
        rare = [part for part in parts if not is_common(part)]
        found.update(dict.fromkeys(analyzer.stem(part) for part in rare))
        if rare and len(parts) > 1:
            found[analyzer.normalize_identifier(word)] = None
        if len(found) >= MOST_KEYWORDS:
            break
    return tuple(found)[:MOST_KEYWORDS]


def weight(count: int, chosen: LearnSettings) -> float:
    """What a pair that was seen so often is worth: nothing, then a share that grows in a straight line up to a limit."""
    if count < chosen.pair_least:
        return 0.0
    if count >= chosen.pair_most:
        return chosen.pair_most_weight
    share = (count - chosen.pair_least) / (chosen.pair_most - chosen.pair_least)
    return chosen.pair_least_weight + share * (chosen.pair_most_weight - chosen.pair_least_weight)


def learned_symbols(learned: FeedbackStore, task: str, chosen: LearnSettings) -> list[tuple[str, float]]:
    """The symbols that words of a task went with before, each with the weight of its best word, heaviest first."""
    best: dict[str, float] = {}
    for pair in _pairs(learned, keywords(task), chosen, least=chosen.pair_least):
        best[pair.symbol] = max(pair.weight, best.get(pair.symbol, 0.0))
    return sorted(best.items(), key=lambda one: (-one[1], one[0]))


def pairs(learned: FeedbackStore, chosen: LearnSettings) -> list[LearnedPair]:
    """Every pair there is, by word and symbol."""
    return [_pair(row, chosen) for row in learned.rows(_PAIRS.format(""), [1])]


def _pairs(learned: FeedbackStore, words: Sequence[str], chosen: LearnSettings, *, least: int) -> list[LearnedPair]:
    asked = [stored(word) for word in words[:VALUES_AT_ONCE]]
    where = f"WHERE keyword IN ({','.join('?' * len(asked))})"
    return [_pair(row, chosen) for row in learned.rows(_PAIRS.format(where), [*asked, least])] if asked else []


def _pair(row: tuple[bytes, bytes, int], chosen: LearnSettings) -> LearnedPair:
    keyword, symbol, count = row
    return LearnedPair(loaded(keyword), loaded(symbol), count, weight(count, chosen))
