"""What was shown a moment ago comes first again (L1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from whence.context.feedback.store import FeedbackStore, loaded, stored
from whence.core.settings_schema import LearnSettings

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


class FeedbackSession:
    """The symbols that were returned since a conversation began.

    One with a name is kept beside the index, so that its calls may come from
    several processes; one without is gone with its process.
    """

    def __init__(self, chosen: LearnSettings, learned: FeedbackStore | None = None, name: str = "") -> None:
        self._chosen = chosen
        self._kept = learned if name else None
        self._name = stored(name)
        self._accesses: dict[str, list[float]] = {}

    def record(self, symbols: Iterable[str], now: float) -> None:
        """Note that symbols were returned."""
        if self._kept is not None:
            self._keep(self._kept, symbols, now)
            return
        for symbol in symbols:
            times = self._accesses.setdefault(symbol, [])
            times.append(now)
            del times[: -self._chosen.session_kept]
        faded = [symbol for symbol, times in self._accesses.items() if not self._boost(times, now)]
        for symbol in faded:
            del self._accesses[symbol]

    def _keep(self, learned: FeedbackStore, symbols: Iterable[str], now: float) -> None:
        with learned.transaction() as db:
            rows = [(self._name, stored(symbol), now) for symbol in symbols]
            db.executemany("INSERT INTO accesses (session, symbol, at) VALUES (?, ?, ?)", rows)
            db.execute(_BEYOND, (self._name, self._chosen.session_kept))
            db.execute("DELETE FROM accesses WHERE at < ?", [now - self._lifetime()])

    def _lifetime(self) -> float:
        """Seconds after which as many accesses as are kept come to nothing, whatever the session."""
        return self._chosen.session_half_life * max(math.log2(self._chosen.session_kept / self._chosen.session_floor), 0.0)

    def boosts(self, symbols: Sequence[str], now: float) -> NDArray[np.float64]:
        """How present each symbol is, from 0 to the cap: each access counts half after one half-life."""
        import numpy as np  # noqa: PLC0415  -- a hook that reports a use needs no arrays

        accesses = self._accesses if self._kept is None else self._read(self._kept)
        return np.array([self._boost(accesses.get(symbol, ()), now) for symbol in symbols], np.float64)

    def contributions(self, symbols: Sequence[str], now: float) -> NDArray[np.float64]:
        """What that adds to each symbol's score."""
        return self.boosts(symbols, now) / self._chosen.session_cap * self._chosen.session_weight

    def _read(self, learned: FeedbackStore) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for symbol, at in learned.rows("SELECT symbol, at FROM accesses WHERE session = ? ORDER BY at, id", [self._name]):
            found.setdefault(loaded(symbol), []).append(at)
        return found

    def _boost(self, times: Sequence[float], now: float) -> float:
        # A clock that was set back must not make an access count more than one that is just now.
        total = sum(math.exp(-max(now - at, 0.0) * math.log(2) / self._chosen.session_half_life) for at in times)
        return min(total, self._chosen.session_cap) if total >= self._chosen.session_floor else 0.0
