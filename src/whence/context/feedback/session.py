"""What a named session was shown: it ranks higher for a while (L1), and waits for signs that it was used (L4).

Sessions are stored beside the index, because their calls may come from several processes.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.context.feedback.store import FeedbackStore, loaded, stored
from whence.context.feedback.verdicts import Verdict, add, is_common
from whence.core.settings import LearnSettings
from whence.text.analyzer import parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: All but the youngest accesses of each symbol of a session.
_BEYOND = """
DELETE FROM accesses WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY symbol ORDER BY at DESC, id DESC) AS place FROM accesses WHERE session = ?)
    WHERE place > ?)
"""
#: Seconds after which symbols that a session was shown and never reported on are forgotten, without a verdict.
FORGOTTEN_AFTER = 86_400.0
END_OF_FILE = sys.maxsize
_WORD = re.compile(r"\w+")


class FeedbackSession:
    """The symbols that a session was shown, and how much each still counts."""

    def __init__(self, settings: LearnSettings, store: FeedbackStore, name: str) -> None:
        self._settings, self._store, self._name = settings, store, stored(name)

    def record(self, symbols: Iterable[str], now: float) -> None:
        """Note that symbols were shown."""
        settings = self._settings
        lifetime = settings.session_half_life * max(math.log2(settings.session_kept / settings.session_floor), 0.0)
        with self._store.transaction() as db:
            rows = [(self._name, stored(symbol), now) for symbol in symbols]
            db.executemany("INSERT INTO accesses (session, symbol, at) VALUES (?, ?, ?)", rows)
            db.execute(_BEYOND, (self._name, settings.session_kept))
            db.execute("DELETE FROM accesses WHERE at < ?", [now - lifetime])

    def boosts(self, symbols: Sequence[str], now: float) -> NDArray[np.float64]:
        """The boost of each symbol, from 0 to the cap."""
        import numpy as np  # noqa: PLC0415  -- a hook that reports a use needs no arrays

        shown: dict[str, list[float]] = {}
        for symbol, at in self._store.rows("SELECT symbol, at FROM accesses WHERE session = ? ORDER BY at, id", [self._name]):
            shown.setdefault(loaded(symbol), []).append(at)
        return np.array([boost_of(shown.get(symbol, ()), now, self._settings) for symbol in symbols], np.float64)

    def contributions(self, symbols: Sequence[str], now: float) -> NDArray[np.float64]:
        """What the boosts add to each symbol's score."""
        return self.boosts(symbols, now) / self._settings.session_cap * self._settings.session_weight


def boost_of(times: Sequence[float], now: float, settings: LearnSettings) -> float:
    """The boost of a symbol that was shown at some times: each counts half after one half-life."""
    # A clock that was set back must not make an access count more than one made now.
    total = sum(math.exp(-max(now - at, 0.0) * math.log(2) / settings.session_half_life) for at in times)
    return min(total, settings.session_cap) if total >= settings.session_floor else 0.0


@dataclass(frozen=True, slots=True)
class ReturnedSymbol:
    """A symbol that was shown to an agent: its lines, and the hash of the code around it."""

    symbol: str
    root: str
    first_line: int = 1
    last_line: int = END_OF_FILE


@dataclass(frozen=True, slots=True)
class EditedRange:
    """Lines of a file that were read or edited; by default all of them."""

    path: str
    first_line: int = 1
    last_line: int = END_OF_FILE


class PendingFeedback:
    """Symbols that a session was shown and has not used yet."""

    def __init__(self, store: FeedbackStore, settings: LearnSettings, session: str = "") -> None:
        self._store, self._settings, self._session = store, settings, stored(session)

    def returned(self, task: str, found: Sequence[ReturnedSymbol], now: float) -> int:
        """Note the symbols shown for a task. Those shown before and never used count as not useful; returns how many."""
        if not found and not self.waiting():
            return 0
        with self._store.transaction() as db:
            rows = db.execute("SELECT symbol, root, task FROM pending WHERE session = ? AND NOT used", [self._session]).fetchall()
            unused = [Verdict(loaded(symbol), False, loaded(root), loaded(before), now, seen=True) for symbol, root, before in rows]
            add(db, unused, self._settings)
            db.execute("DELETE FROM pending WHERE session = ? OR at < ?", [self._session, now - FORGOTTEN_AFTER])
            waiting = [Verdict(one.symbol, True, one.root, task, now) for one in found]  # checks them
            lines = [(one.first_line, one.last_line) for one in found]
            db.executemany(
                "INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
                [
                    (self._session, stored(one.symbol), stored(one.root), stored(one.task), first, last, now)
                    for one, (first, last) in zip(waiting, lines, strict=True)
                ],
            )
        return len(unused)

    def used(self, *, text: str = "", places: Sequence[EditedRange] = (), names: Sequence[str] = (), now: float) -> list[str]:
        """The pending symbols that an agent used, by what it wrote or read: text, lines of files, or names. Each counts once."""
        if not self.waiting():
            return []
        words = frozenset(_WORD.findall(text))
        with self._store.transaction() as db:
            rows = db.execute(
                "SELECT symbol, root, task, first, last FROM pending WHERE session = ? AND NOT used ORDER BY symbol", [self._session]
            ).fetchall()
            used = []
            for key, root, task, first, last in rows:
                symbol = loaded(key)
                path, _, qualified = symbol.partition("#")
                named = any(name in (symbol, qualified) or qualified.endswith(f".{name}") for name in names)
                touched = any(place.path == path and place.first_line <= last and place.last_line >= first for place in places)
                if named or touched or _is_in_text(path, qualified, text, words):
                    used.append(Verdict(symbol, True, loaded(root), loaded(task), now, seen=True))
            add(db, used, self._settings)
            done = [(self._session, stored(record.symbol)) for record in used]
            db.executemany("UPDATE pending SET used = 1 WHERE session = ? AND symbol = ?", done)
        return [record.symbol for record in used]

    def waiting(self) -> list[str]:
        """The symbols that were not used yet."""
        rows = self._store.rows("SELECT symbol FROM pending WHERE session = ? AND NOT used ORDER BY symbol", [self._session])
        return [loaded(symbol) for (symbol,) in rows]


def _is_in_text(path: str, qualified: str, text: str, words: frozenset[str]) -> bool:
    """Whether a text holds a symbol's name as a word; a common name such as `get` counts only beside that of its owner."""
    *parents, name = qualified.split(".")
    if not _holds(text, words, name):
        return False
    if not all(is_common(part) for part in parts(name)):
        return True
    owner = parents[-1] if parents else path.rpartition("/")[2].partition(".")[0]
    return _holds(text, words, owner)


def _holds(text: str, words: frozenset[str], name: str) -> bool:
    if _WORD.fullmatch(name):
        return name in words
    before = r"(?<!\w)" if _WORD.match(name) else ""
    after = r"(?!\w)" if _WORD.match(name[-1:]) else ""
    return bool(name) and re.search(f"{before}{re.escape(name)}{after}", text) is not None
