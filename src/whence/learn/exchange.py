"""What was learned as a text that can be read, compared and taken in again (L6)."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from whence.errors import UsageError
from whence.knobs import LearnSettings
from whence.learn.feedback import Record, add, records
from whence.learn.store import Learned

FORMAT = 1
_TYPES: dict[str, type | tuple[type, ...]] = {
    "symbol": str, "useful": bool, "root": str, "task": str, "at": (int, float), "seen": bool,
}  # fmt: skip


def as_text(learned: Learned) -> str:
    """Every verdict as JSON, one to a line and in a fixed order: what was learned in between is what differs.

    Words need not be listed, because they follow from the tasks; what a session
    was shown and what waits for use is gone within the day.
    """
    lines = ",\n".join(f"    {json.dumps(asdict(record))}" for record in records(learned))
    listed = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "format": {FORMAT},\n  "records": {listed}\n}}\n'


def from_text(learned: Learned, text: str, chosen: LearnSettings) -> int:
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


def _checked(number: int, one: Any) -> Record:
    if not isinstance(one, dict):
        raise UsageError(f"record {number} is no object")
    for name, kind in _TYPES.items():
        value = one.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise UsageError(f"record {number}: {name} = {json.dumps(value)[:80]} is not allowed")
    try:
        return Record(**{field.name: one[field.name] for field in fields(Record)} | {"at": float(one["at"])})
    except (UsageError, OverflowError) as error:
        raise UsageError(f"record {number}: {error}") from error
