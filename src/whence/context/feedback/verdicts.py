"""Verdicts on symbols, what they add while the code stays as it was (L2, L3), and the words of tasks that lead to symbols (L5)."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from whence.context.feedback.store import FeedbackStore, loaded, stored
from whence.core.errors import UsageError
from whence.core.settings import LearnSettings
from whence.source.read import strip_secrets
from whence.text import analyzer
from whence.text.analyzer import QUERY_STOP_WORDS, stem, stop_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Gives the current hash of the code around a symbol; empty if the symbol is gone.
RootOf = Callable[[str], str]
#: Characters of a task that are stored: it may be a whole pasted text.
LONGEST_TASK = 500
#: Keywords that are learned of a task, the first.
MOST_KEYWORDS = 24
#: Shorter words in Latin letters may abbreviate anything.
SHORTEST_KEYWORD = 3
#: Words that are never learned: too common to point at code.
COMMON_WORDS = QUERY_STOP_WORDS | stop_words("feedback_verbs") | stop_words("feedback_programming")
_COMMON_STEMS = frozenset(stem(word) for word in COMMON_WORDS)
#: The format of an export, and the types of a record in it.
FORMAT = 1
_TYPES = {"symbol": str, "useful": bool, "root": str, "task": str, "at": int | float, "seen": bool}
_TALLIES = "SELECT symbol, root, sum(useful), count(*), max(at) FROM records {} GROUP BY symbol, root ORDER BY symbol, root"
_PAIRS = (
    "SELECT keyword, symbol, count(*) FROM keywords JOIN records ON records.id = keywords.record {} GROUP BY keyword, symbol"
    " HAVING count(*) >= ? ORDER BY keyword, symbol"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One verdict on a symbol, `path#qualified.name`, about the code as it was then."""

    symbol: str
    useful: bool
    root: str  # the hash of the code around the symbol
    task: str
    at: float  # seconds since 1970
    seen: bool = False  # inferred from what an agent did, not stated by anyone

    def __post_init__(self) -> None:
        path, _, name = self.symbol.partition("#")
        if not path or not name:
            raise UsageError(f"{self.symbol!r} is no symbol", hint="write path#qualified.name")
        if not self.root:
            raise UsageError(f"{self.symbol}: a verdict needs the hash of the code it is about")
        if not math.isfinite(self.at):
            raise UsageError(f"{self.symbol}: {self.at} is no time")
        object.__setattr__(self, "task", " ".join(strip_secrets(self.task).split())[:LONGEST_TASK])


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """All verdicts on one symbol: those about its current code, and how many are about earlier code."""

    symbol: str
    useful: int
    useless: int
    expired: int
    boost: float
    last: float  # time of the latest


def score(useful: int, useless: int) -> float | None:
    """The share of good verdicts; None without verdicts."""
    return useful / (useful + useless) if useful + useless else None


def boost(share: float | None, chosen: LearnSettings) -> float:
    """What a share of good verdicts adds: nothing at one half, from there linearly to the limit on either side."""
    if share is None:
        return 0.0
    return 2 * (share - 0.5) * (chosen.useful_weight if share > 0.5 else chosen.useless_weight)


def boosts(learned: FeedbackStore, symbols: Sequence[str], root_of: RootOf, chosen: LearnSettings) -> NDArray[np.float64]:
    """What verdicts add to each symbol. `root_of` is called only for symbols that have any."""
    import numpy as np  # noqa: PLC0415  -- a hook that reports a use needs no arrays

    found = {one.symbol: one.boost for one in opinions(learned, root_of, chosen, symbols)}
    return np.array([found.get(symbol, 0.0) for symbol in symbols], np.float64)


def opinions(learned: FeedbackStore, root_of: RootOf, chosen: LearnSettings, symbols: Iterable[str] | None = None) -> list[VerdictSummary]:
    """The verdicts on some symbols, or on all that have any, by symbol."""
    if symbols is None:
        rows = learned.rows(_TALLIES.format(""))
    else:
        rows = learned.rows_of(dict.fromkeys(symbols), _TALLIES.format("WHERE symbol IN ({})"))
    by_symbol: dict[str, list[tuple[str, int, int, float]]] = {}
    for key, root, useful, count, last in rows:
        by_symbol.setdefault(loaded(key), []).append((loaded(root), useful, count, last))
    found = []
    for symbol, tallies in by_symbol.items():
        now = root_of(symbol)
        useful = sum(useful for root, useful, _, _ in tallies if root == now)
        current = sum(count for root, _, count, _ in tallies if root == now)
        expired = sum(count for _, _, count, _ in tallies) - current
        worth = boost(score(useful, current - useful), chosen)
        found.append(VerdictSummary(symbol, useful, current - useful, expired, worth, max(last for *_, last in tallies)))
    return found


# The store.
def records(learned: FeedbackStore) -> list[Verdict]:
    """Every verdict, in an order that does not depend on when it was stored."""
    rows = learned.rows("SELECT symbol, useful, root, task, at, seen FROM records ORDER BY symbol, at, root, useful, task, seen")
    return [
        Verdict(loaded(symbol), bool(useful), loaded(root), loaded(task), at, bool(seen)) for symbol, useful, root, task, at, seen in rows
    ]


def say(learned: FeedbackStore, said: Iterable[Verdict], chosen: LearnSettings, session: str = "") -> int:
    """Store verdicts that somebody gave; their symbols are no longer pending in the session. Returns how many were new."""
    said = list(said)
    with learned.transaction() as db:
        kept = add(db, said, chosen)
        settled = [(stored(session), stored(record.symbol)) for record in said]
        db.executemany("UPDATE pending SET used = 1 WHERE session = ? AND symbol = ?", settled)
    return kept


def add(db: sqlite3.Connection, new: Iterable[Verdict], chosen: LearnSettings) -> int:
    """Store verdicts inside a transaction and return how many were new. If there are too many, the oldest inferred ones go first."""
    added = 0
    for record in new:
        values = (stored(record.symbol), record.useful, stored(record.root), stored(record.task), record.at, record.seen)
        done = db.execute("INSERT OR IGNORE INTO records (symbol, useful, root, task, at, seen) VALUES (?, ?, ?, ?, ?, ?)", values)
        if not done.rowcount:
            continue
        added += 1
        if record.useful:
            words = [(stored(word), done.lastrowid) for word in keywords(record.task)]
            db.executemany("INSERT INTO keywords VALUES (?, ?)", words)
    excess = db.execute("SELECT count(*) FROM records").fetchone()[0] - chosen.kept
    if excess > 0:
        db.execute("DELETE FROM records WHERE id IN (SELECT id FROM records ORDER BY seen DESC, at, id LIMIT ?)", [excess])
    return added


def forget(learned: FeedbackStore, symbols: Iterable[str]) -> int:
    """Delete everything learned about some symbols; returns how many verdicts that were."""
    gone = 0
    with learned.transaction() as db:
        db.execute("PRAGMA secure_delete = ON")
        for symbol in map(stored, symbols):
            gone += db.execute("DELETE FROM records WHERE symbol = ?", [symbol]).rowcount
            db.execute("DELETE FROM pending WHERE symbol = ?", [symbol])
            db.execute("DELETE FROM accesses WHERE symbol = ?", [symbol])
    learned.compact()
    return gone


# Export and import.
def as_text(learned: FeedbackStore) -> str:
    """Every verdict as JSON, one per line in a fixed order, so that a diff shows what was learned. Words follow from the tasks."""
    lines = ",\n".join(f"    {json.dumps(asdict(record))}" for record in records(learned))
    listed = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "format": {FORMAT},\n  "records": {listed}\n}}\n'


def from_text(learned: FeedbackStore, text: str, chosen: LearnSettings) -> int:
    """Import what `as_text` wrote, all or nothing; returns how many verdicts were new."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not what whence feedback export writes: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT or not isinstance(found.get("records"), list):
        raise UsageError("not what whence feedback export writes", hint=f"a JSON object with format {FORMAT} and records")
    checked = [_checked(number, one) for number, one in enumerate(found["records"], 1)]
    if not checked:
        return 0
    with learned.transaction() as db:
        return add(db, checked, chosen)


def _checked(number: int, one: Any) -> Verdict:
    if not isinstance(one, dict):
        raise UsageError(f"record {number} is no object")
    for name, kind in _TYPES.items():
        value = one.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise UsageError(f"record {number}: {name} = {json.dumps(value)[:80]} is not allowed")
    try:
        return Verdict(**{field.name: one[field.name] for field in fields(Verdict)} | {"at": float(one["at"])})
    except (UsageError, OverflowError) as error:
        raise UsageError(f"record {number}: {error}") from error


# Words of tasks.
def is_common(part: str) -> bool:
    """Whether a lower-case part of a word is too common to point at code."""
    return part.isdigit() or (part.isascii() and len(part) < SHORTEST_KEYWORD) or stem(part) in _COMMON_STEMS


@dataclass(frozen=True, slots=True)
class LearnedPair:
    """A word and a symbol that was useful for tasks with it: how often, and the weight in the fusion."""

    keyword: str
    symbol: str
    count: int
    weight: float


def keywords(task: str) -> tuple[str, ...]:
    """The words of a task that are learned: lower-case stems, each once, in order."""
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
    """The weight of a pair seen this often: nothing at first, then growing linearly up to a limit."""
    if count < chosen.pair_least:
        return 0.0
    if count >= chosen.pair_most:
        return chosen.pair_most_weight
    share = (count - chosen.pair_least) / (chosen.pair_most - chosen.pair_least)
    return chosen.pair_least_weight + share * (chosen.pair_most_weight - chosen.pair_least_weight)


def learned_symbols(learned: FeedbackStore, task: str, chosen: LearnSettings) -> list[tuple[str, float]]:
    """The symbols that words of a task led to before, each with the weight of its best word, heaviest first."""
    best: dict[str, float] = {}
    words = [stored(word) for word in keywords(task)]
    where = f"WHERE keyword IN ({','.join('?' * len(words))})"
    for row in learned.rows(_PAIRS.format(where), [*words, chosen.pair_least]) if words else ():
        pair = _pair(row, chosen)
        best[pair.symbol] = max(pair.weight, best.get(pair.symbol, 0.0))
    return sorted(best.items(), key=lambda one: (-one[1], one[0]))


def pairs(learned: FeedbackStore, chosen: LearnSettings) -> list[LearnedPair]:
    """Every learned pair, by word and symbol."""
    return [_pair(row, chosen) for row in learned.rows(_PAIRS.format(""), [1])]


def _pair(row: tuple[bytes, bytes, int], chosen: LearnSettings) -> LearnedPair:
    keyword, symbol, count = row
    return LearnedPair(loaded(keyword), loaded(symbol), count, weight(count, chosen))
