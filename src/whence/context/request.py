"""A request for context: every option typed, documented and checked in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypedDict

from whence.core.errors import QueryError
from whence.core.profiles import SYMBOL_PROFILES
from whence.core.request import option
from whence.core.settings import ContextSettings
from whence.query.filters import Filters
from whence.source.read import strip_secrets

if TYPE_CHECKING:
    from typing_extensions import Unpack

FORMATS = ("markdown", "xml", "json")


class ContextOptions(TypedDict, total=False):
    """The options of a context request as keywords of Python calls; the fields of `ContextRequest`."""

    files: Sequence[str]
    diff: str | None
    staged: bool
    budget: int | None
    format: str | None
    profile: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    languages: tuple[str, ...]
    kinds: tuple[str, ...]
    paths: tuple[str, ...]
    symbols: int | None
    session: str
    without: str
    caller: str
    freshness: Mapping[str, Any]


@dataclass(frozen=True)
class ContextRequest:
    """What a pack is for: a task, or files, or a change. Options that are None take their value from the settings."""

    task: str = option("", "In words: what to do, a question, an issue's text.", mcp="what is to be done, or an issue's text")
    files: Sequence[str] = option(
        (), "Instead of a task: a file and what depends on it (repeatable).", "--files", metavar="FILE", mcp="instead of a task"
    )
    diff: str | None = option(
        None,
        "Instead of a task: review the changes since a commit, or of a range A..B (--diff alone: since HEAD).",
        "--diff",
        metavar="[COMMIT]",
        flag_value="HEAD",
        mcp="instead of a task: review what changed since this commit or in this range, e.g. HEAD, main...HEAD",
    )
    staged: bool = option(False, "Review what is staged, and nothing else.", "--staged", mcp="review what is staged")
    budget: int | None = option(None, "Token limit for the whole output (default: setting context.budget).", "--budget", metavar="TOKENS")
    format: str | None = option(
        None, "Output format: markdown, xml or json (default: setting context.format).", "--format", choices=FORMATS
    )
    profile: str | None = option(None, "Ranking profile: default or classic.", "--profile", metavar="NAME")
    include: tuple[str, ...] = option((), "Only symbols of files that match.", "--include", metavar="GLOB")
    exclude: tuple[str, ...] = option((), "No symbols of files that match.", "--exclude", metavar="GLOB")
    languages: tuple[str, ...] = option((), "Only symbols of files of a language.", "--lang", metavar="NAME")
    kinds: tuple[str, ...] = option((), "Only symbols of a kind: function, class, method, ...", "--kind", metavar="NAME")
    paths: tuple[str, ...] = ()  # only below these files or folders, relative to the root
    symbols: int | None = None  # how many ranked symbols the pack chooses from
    session: str = ""  # a name under which shown symbols are remembered beyond this process
    without: str = ""  # a stage or a signal to leave out
    caller: str = ""  # the folder that printed paths are relative to; empty: the root
    freshness: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, task: str | ContextRequest, **options: Unpack[ContextOptions]) -> ContextRequest:
        """A request as it is, or one made of a task and options."""
        if isinstance(task, ContextRequest):
            return replace(task, **options) if options else task
        return cls(task, **options)

    def __post_init__(self) -> None:
        """Refuse what cannot be answered, before anything is opened for it."""
        object.__setattr__(self, "task", strip_secrets(self.task))
        object.__setattr__(self, "files", tuple(self.files))
        _ = self.filters
        given = [bool(self.task.strip()), bool(self.files), self.is_review]
        if sum(given) != 1:
            message = "a task, files and a change exclude each other" if any(given) else "there is no task"
            raise QueryError(message, hint="give a task in words, or files, or a change")
        for name, value, allowed in (("profile", self.profile, SYMBOL_PROFILES), ("format", self.format, FORMATS)):
            if value is not None and value not in allowed:
                raise QueryError(f"there is no {name} {value!r}", hint=f"allowed: {', '.join(allowed)}")
        for name, number in (("budget", self.budget), ("symbols", self.symbols)):
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
                raise QueryError(f"{name} must be a whole number above 0, not {number!r}")

    @property
    def is_review(self) -> bool:
        """Whether it is about a change."""
        return self.diff is not None or self.staged

    @property
    def filters(self) -> Filters:
        """Which symbols may be ranked at all."""
        return Filters(self.include, self.exclude, self.languages, self.kinds, "all", self.paths)

    @property
    def title(self) -> str:
        """What was asked for, as a pack is headed."""
        if self.files:
            return f"files {' '.join(self.files)}"
        if not self.is_review:
            return self.task
        what = "staged changes" if self.staged else "changes"
        return f"{what} {'in' if '..' in (self.diff or '') else 'since'} {self.diff or 'HEAD'}"

    def resolved(self, settings: ContextSettings) -> ResolvedContext:
        """The options of a pack, filled in from the settings."""
        return ResolvedContext(
            budget=self.budget or (settings.diff_budget if self.is_review else settings.budget),
            format=self.format or settings.format,
            profile=self.profile or settings.profile,
            symbols=self.symbols or settings.symbols,
        )


@dataclass(frozen=True, slots=True)
class ResolvedContext:
    """The options of a pack, each with a value."""

    budget: int
    format: str
    profile: str
    symbols: int
