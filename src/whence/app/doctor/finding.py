"""What a check found: one line, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from whence.core.errors import WhenceError

#: From best to worst. `skipped` is what could not be looked at, or what there is nothing to say of.
LEVELS = OK, SKIPPED, WARNING, FAILED = ("ok", "skipped", "warning", "failed")


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was looked at, how it stands, what to do, and the figures behind it."""

    name: str
    level: str
    said: str
    hint: str = ""
    details: tuple[str, ...] = ()  # further lines, the worst first
    facts: Mapping[str, Any] = field(default_factory=dict)


def worst(findings: Iterable[Finding]) -> str:
    """The level of all findings together; what was skipped counts as well."""
    found = {one.level for one in findings}
    return FAILED if FAILED in found else WARNING if WARNING in found else OK


def guarded(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What a check finds; one that cannot be made is a finding too, and never the end of the others."""
    try:
        return list(check())
    except WhenceError as error:
        return [Finding(name, FAILED, error.message, error.hint)]
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return [Finding(name, FAILED, f"{where}{error.strerror or error}", "check who may read there")]
    except Exception as error:  # noqa: BLE001  -- what is broken breaks in ways of its own
        return [Finding(name, FAILED, f"this check broke off: {type(error).__name__}: {one_line(str(error))}")]


def one_line(text: str, most: int = 200) -> str:
    """A text as one line of bounded length."""
    joined = " ".join(text.split())
    return joined if len(joined) <= most else joined[: most - 1] + "…"


def some_of(names: Iterable[str], most: int = 5) -> str:
    """The first few of some names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def megabytes(size: float) -> str:
    """A size for people."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
