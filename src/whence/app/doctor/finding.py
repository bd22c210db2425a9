"""The result of a check: one line, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whence.core.errors import WhenceError

#: From best to worst. `skipped` is a check that could not be made, or had nothing to look at.
LEVELS = OK, SKIPPED, WARNING, FAILED = ("ok", "skipped", "warning", "failed")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, with what to do and the figures behind it."""

    name: str
    level: str
    message: str
    hint: str = ""
    details: tuple[str, ...] = ()  # further lines, the worst first
    facts: Mapping[str, Any] = field(default_factory=dict)


def overall_level(findings: Iterable[Finding]) -> str:
    """The worst level of all findings; skipped checks count as ok."""
    levels = {one.level for one in findings}
    return FAILED if FAILED in levels else WARNING if WARNING in levels else OK


def run_check(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Run a check. If it breaks, that is a finding too, and the other checks still run."""
    try:
        return list(check())
    except WhenceError as error:
        return [Finding(name, FAILED, error.message, error.hint)]
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return [Finding(name, FAILED, f"{where}{error.strerror or error}", "check its permissions")]
    except Exception as error:  # noqa: BLE001  -- a broken installation fails in unexpected ways
        return [Finding(name, FAILED, f"the check itself failed: {type(error).__name__}: {one_line(str(error))}")]


def one_line(text: str, longest: int = 200) -> str:
    """A text as one line of limited length."""
    joined = " ".join(text.split())
    return joined if len(joined) <= longest else joined[: longest - 1] + "…"


def first_few(names: Iterable[str], count: int = 5) -> str:
    """The first few names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - count} more" if len(listed) > count else ""
    return ", ".join(listed[:count]) + more


def size_of(path: Path) -> int:
    """The size of a file; 0 if it is gone."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def format_size(size: float) -> str:
    """A number of bytes for people."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
