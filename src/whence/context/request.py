"""What a pack is asked for, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whence.context.render import RENDERERS
from whence.core.errors import QueryError, UsageError
from whence.core.profiles import SYMBOL_PROFILES
from whence.core.settings_schema import ContextSettings
from whence.source.read import strip_secrets


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """What a pack is asked for: a task, or files, or a change."""

    task: str
    files: tuple[str, ...] = ()
    diff: str | None = None  # the commit to compare with
    budget: int = 50_000
    profile: str = "default"
    format: str = "markdown"
    symbols: int = 150
    session: str = ""  # a name under which what was shown is remembered beyond this process
    without: str = ""  # a stage or a signal to leave out
    caller: str = ""  # the folder that printed paths are relative to; empty: the root
    freshness: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, task: str, chosen: ContextSettings, asked: Mapping[str, Any]) -> ContextRequest:
        """What was asked, with settings where nothing was said; checked before any work."""
        given = {name: value for name, value in asked.items() if value is not None}
        if unknown := [name for name in given if name not in cls.__dataclass_fields__]:
            raise UsageError(f"context knows no option {unknown[0]!r}", hint=f"it has {', '.join(list(cls.__dataclass_fields__)[1:])}")
        given["files"] = tuple(given.get("files", ()))
        budget = chosen.diff_budget if given.get("diff") is not None else chosen.budget
        given = {"budget": budget, "profile": chosen.profile, "format": chosen.format, "symbols": chosen.symbols, **given}
        wanted = cls(strip_secrets(task), **given)
        wanted.check()
        return wanted

    def check(self) -> None:
        """Refuse what cannot be answered."""
        ways = [bool(self.task.strip()), bool(self.files), self.diff is not None]
        if sum(ways) != 1:
            said = "nothing was asked for" if not any(ways) else "a task, files and a change cannot be asked for at once"
            raise QueryError(said, hint="give a task in words, or files, or a change")
        for name, allowed in (("profile", SYMBOL_PROFILES), ("format", RENDERERS)):
            if getattr(self, name) not in allowed:
                raise QueryError(f"there is no {name} {getattr(self, name)!r}", hint=f"allowed: {', '.join(allowed)}")
        for name in ("budget", "symbols"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise QueryError(f"{name} must be a whole number above 0, not {value!r}")
