"""What was said of symbols, and what it is worth while their code stays as it was (L2, L3)."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from whence.context.feedback.store import FeedbackStore, loaded, stored
from whence.context.feedback.vocabulary import keywords
from whence.core.errors import UsageError
from whence.core.settings_schema import LearnSettings
from whence.source.read import strip_secrets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: Gives the present hash of the code around a symbol; empty when there is no such symbol any more.
RootOf = Callable[[str], str]
#: More of a task is not kept: it may be a whole pasted text.
LONGEST_TASK = 500

_TALLIES = "SELECT symbol, root, sum(useful), count(*), max(at) FROM records {} GROUP BY symbol, root ORDER BY symbol, root"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One verdict on a symbol, `path#qualified.name`, about the code as it was then."""

    symbol: str
    useful: bool
    root: str  # the hash of the code around the symbol
    task: str
    at: float  # seconds since 1970
    seen: bool = False  # gathered from what an agent did, not said by anyone

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
    """All verdicts on one symbol: those about its code as it is now, and how many are about code that is gone."""

    symbol: str
    useful: int
    useless: int
    expired: int
    boost: float
    last: float  # when the youngest was given


def score(useful: int, useless: int) -> float | None:
    """The share of verdicts that were good, or None when there is no verdict."""
    return useful / (useful + useless) if useful + useless else None


def boost(share: float | None, chosen: LearnSettings) -> float:
    """What a share of good verdicts adds: nothing at one half, and on either side in a straight line to its limit."""
    if share is None:
        return 0.0
    return 2 * (share - 0.5) * (chosen.useful_weight if share > 0.5 else chosen.useless_weight)


def boosts(learned: FeedbackStore, symbols: Sequence[str], root_of: RootOf, chosen: LearnSettings) -> NDArray[np.float64]:
    """What verdicts add to each of some symbols. `root_of` is asked only for those that have any."""
    import numpy as np  # noqa: PLC0415  -- a hook that reports a use needs no arrays

    found = {one.symbol: one.boost for one in opinions(learned, root_of, chosen, symbols)}
    return np.array([found.get(symbol, 0.0) for symbol in symbols], np.float64)


def opinions(learned: FeedbackStore, root_of: RootOf, chosen: LearnSettings, symbols: Iterable[str] | None = None) -> list[VerdictSummary]:
    """What is held of some symbols, or of every one that anything was ever said of, by symbol."""
    if symbols is None:
        return _opinions(learned.rows(_TALLIES.format("")), root_of, chosen)
    rows = learned.rows_of(dict.fromkeys(symbols), lambda marks: _TALLIES.format(f"WHERE symbol IN ({marks})"))
    return _opinions(rows, root_of, chosen)


def _opinions(rows: Iterable[tuple[bytes, bytes, int, int, float]], root_of: RootOf, chosen: LearnSettings) -> list[VerdictSummary]:
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


def records(learned: FeedbackStore) -> list[Verdict]:
    """Every verdict, in an order that does not depend on when it was written."""
    rows = learned.rows("SELECT symbol, useful, root, task, at, seen FROM records ORDER BY symbol, at, root, useful, task, seen")
    return [
        Verdict(loaded(symbol), bool(useful), loaded(root), loaded(task), at, bool(seen)) for symbol, useful, root, task, at, seen in rows
    ]


def say(learned: FeedbackStore, said: Iterable[Verdict], chosen: LearnSettings, session: str = "") -> int:
    """Keep verdicts that somebody gave. What was waiting for signs of use in the session waits for these no longer."""
    said = list(said)
    with learned.transaction() as db:
        kept = add(db, said, chosen)
        settled = [(stored(session), stored(record.symbol)) for record in said]
        db.executemany("UPDATE pending SET used = 1 WHERE session = ? AND symbol = ?", settled)
    return kept


def add(db: sqlite3.Connection, new: Iterable[Verdict], chosen: LearnSettings) -> int:
    """Keep verdicts that are not yet there and say how many those were; call inside a transaction.

    When there are too many, the oldest go: first those that were gathered, then those that were said.
    """
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
    """Forget all that was learned of some symbols; how many verdicts those were."""
    gone = 0
    with learned.transaction() as db:
        db.execute("PRAGMA secure_delete = ON")
        for symbol in map(stored, symbols):
            gone += db.execute("DELETE FROM records WHERE symbol = ?", [symbol]).rowcount
            db.execute("DELETE FROM pending WHERE symbol = ?", [symbol])
            db.execute("DELETE FROM accesses WHERE symbol = ?", [symbol])
    learned.compact()
    return gone


FORMAT = 1
_TYPES: dict[str, type | tuple[type, ...]] = {
    "symbol": str, "useful": bool, "root": str, "task": str, "at": (int, float), "seen": bool,
}  # fmt: skip


def as_text(learned: FeedbackStore) -> str:
    """Every verdict as JSON, one to a line and in a fixed order: what was learned in between is what differs.

    Words need not be listed, because they follow from the tasks; what a session
    was shown and what waits for use is gone within the day.
    """
    lines = ",\n".join(f"    {json.dumps(asdict(record))}" for record in records(learned))
    listed = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "format": {FORMAT},\n  "records": {listed}\n}}\n'


def from_text(learned: FeedbackStore, text: str, chosen: LearnSettings) -> int:
    """Take in what `as_text` gave, all or nothing; how many verdicts were new. Taken in twice, it counts once."""
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
