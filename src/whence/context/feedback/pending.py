"""Whether what was returned was used: seen in edits and reads, or never (L4)."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from whence.context.feedback.store import FeedbackStore, loaded, stored
from whence.context.feedback.verdicts import Verdict, add
from whence.context.feedback.vocabulary import is_common
from whence.core.settings_schema import LearnSettings
from whence.text.analyzer import parts

#: What a session that never asks again was given is forgotten after this many seconds, without a verdict.
FORGOTTEN_AFTER = 86_400.0
END_OF_FILE = sys.maxsize
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ReturnedSymbol:
    """A symbol that was given to an agent: where it lies, and the hash of the code around it."""

    symbol: str
    root: str
    first_line: int = 1
    last_line: int = END_OF_FILE


@dataclass(frozen=True, slots=True)
class EditedRange:
    """Lines of a file that were read or edited; all of them when none are named."""

    path: str
    first_line: int = 1
    last_line: int = END_OF_FILE


class PendingFeedback:
    """What was returned in a session and waits for signs of use. Kept on disk, so that another process may report them."""

    def __init__(self, learned: FeedbackStore, chosen: LearnSettings, session: str = "") -> None:
        self._learned, self._chosen, self._session = learned, chosen, stored(session)

    def returned(self, task: str, found: Sequence[ReturnedSymbol], now: float) -> int:
        """Symbols were given for a task. Those given before and never used count as not useful: how many those were."""
        if not found and not self.waiting():
            return 0
        with self._learned.transaction() as db:
            rows = db.execute("SELECT symbol, root, task FROM pending WHERE session = ? AND NOT used", [self._session]).fetchall()
            unused = [Verdict(loaded(symbol), False, loaded(root), loaded(before), now, seen=True) for symbol, root, before in rows]
            add(db, unused, self._chosen)
            db.execute("DELETE FROM pending WHERE session = ? OR at < ?", [self._session, now - FORGOTTEN_AFTER])
            waiting = [Verdict(one.symbol, True, one.root, task, now) for one in found]  # checked as a verdict would be
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
        """What an agent wrote or read, as text, as lines of files, or as names: which symbols that uses.

        Each counts as useful once, however often it is seen.
        """
        if not self.waiting():
            return []
        words = frozenset(_WORD.findall(text))
        with self._learned.transaction() as db:
            rows = db.execute(
                "SELECT symbol, root, task, first, last FROM pending WHERE session = ? AND NOT used ORDER BY symbol", [self._session]
            ).fetchall()
            used = []
            for kept, root, task, first, last in rows:
                symbol = loaded(kept)
                if _is_named(symbol, names) or _is_touched(symbol, first, last, places) or _is_in_text(symbol, text, words):
                    used.append(Verdict(symbol, True, loaded(root), loaded(task), now, seen=True))
            add(db, used, self._chosen)
            done = [(self._session, stored(record.symbol)) for record in used]
            db.executemany("UPDATE pending SET used = 1 WHERE session = ? AND symbol = ?", done)
        return [record.symbol for record in used]

    def waiting(self) -> list[str]:
        """The symbols of which no use was seen yet."""
        rows = self._learned.rows("SELECT symbol FROM pending WHERE session = ? AND NOT used ORDER BY symbol", [self._session])
        return [loaded(symbol) for (symbol,) in rows]


def _is_named(symbol: str, names: Sequence[str]) -> bool:
    qualified = symbol.partition("#")[2]
    return any(name in (symbol, qualified) or qualified.endswith(f".{name}") for name in names)


def _is_touched(symbol: str, first: int, last: int, places: Sequence[EditedRange]) -> bool:
    path = symbol.partition("#")[0]
    return any(place.path == path and place.first_line <= last and place.last_line >= first for place in places)


def _is_in_text(symbol: str, text: str, words: frozenset[str]) -> bool:
    """Whether a text holds a symbol's own name as a word; a name like `get` or `run` only together with where it belongs."""
    path, _, qualified = symbol.partition("#")
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
