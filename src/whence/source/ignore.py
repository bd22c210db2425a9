"""Ignore rules: `.gitignore` and `.whenceignore` at every level, and folders that never hold source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

#: In the order in which they are asked; a `!` in the first re-includes what any other rule leaves out.
OWN_RULES, GIT_RULES = ".whenceignore", ".gitignore"
RULE_FILES = (OWN_RULES, GIT_RULES)
#: Relative to the root; git keeps rules here that are not part of the tree.
PRIVATE_GIT_RULES = ".git/info/exclude"
#: Folders that hold what tools made or fetched. `output` is not among them: real modules have that name.
NEVER_SOURCE = frozenset(
    "node_modules bower_components jspm_packages target build dist out bin obj vendor venv env __pycache__ site-packages "
    "Pods DerivedData elm-stuff _build htmlcov".split()
)
NEVER_SOURCE_HIDDEN = frozenset(
    ".git .hg .svn .venv .tox .nox .mypy_cache .pytest_cache .ruff_cache .idea .gradle .terraform .next .nuxt .cache .eggs "
    ".bundle .whence".split()
)
NEVER_SOURCE_ENDINGS = (".egg-info", ".dist-info", ".xcodeproj", ".xcassets")
GENERATED_ENDINGS = (".min.js", ".min.css", ".min.mjs", ".bundle.js", ".js.map", ".css.map", ".map")

#: Reasons that do not hold for what git tracks, and the reason for its neighbours in a folder walked only for that.
GIT_IGNORED, NEVER, HIDDEN = f"ignored by {GIT_RULES}", "a folder that never holds source", "hidden"
UNLESS_TRACKED = frozenset((GIT_IGNORED, NEVER, HIDDEN))
UNTRACKED = "in an excluded folder, and not tracked by git"
#: No one writes more: each is asked for every file, and a path can be divided among double stars in very many ways.
MOST_RULES = 5_000
MOST_DOUBLE_STARS = 3
#: Of the library: it would choose RE2 where that is installed, which takes no file name that is not UTF-8.
BACKEND = "simple"
#: What a star and a double star between slashes are in the expressions that the library makes.
_STAR, _FOLDERS = "[^/]*", "(?:/.+)?"


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one folder: those of its own files and of all folders above, nearest first."""

    chain: tuple[tuple[str, str, GitIgnoreSpec], ...] = ()  # (rule file's name, folder it stands in, patterns)

    def with_file(self, name: str, folder: str, text: str) -> IgnoreRules:
        """These rules and those of one more file, which is asked before them."""
        patterns = _patterns(text)
        return self if patterns is None else IgnoreRules(((name, folder, patterns), *self.chain))

    def exclusion_reason(self, path: str, name: str, *, is_folder: bool, hidden: bool) -> str | None:
        """Why a path is left out, or None when it is in."""
        for kind in RULE_FILES:
            said = self._ask(kind, path, is_folder=is_folder)
            if said is False:
                return _never(name) if kind == GIT_RULES and is_folder else None
            if said is True:
                return f"ignored by {kind}"
        if is_folder and (reason := _never(name)):
            return reason
        if name.startswith(".") and not hidden:
            return HIDDEN
        if not is_folder and name.endswith(GENERATED_ENDINGS):
            return "generated or minified (by its name)"
        return None

    def _ask(self, kind: str, path: str, *, is_folder: bool) -> bool | None:
        for name, folder, patterns in self.chain:
            if name == kind:
                relative = path[len(folder) + 1 :] if folder else path
                said = patterns.check_file(relative + "/" if is_folder else relative).include
                if said is not None:
                    return said
        return None


def _never(name: str) -> str | None:
    if name in NEVER_SOURCE or name in NEVER_SOURCE_HIDDEN or name.endswith(NEVER_SOURCE_ENDINGS):
        return NEVER
    return None


@lru_cache(maxsize=256)
def _patterns(text: str) -> GitIgnoreSpec | None:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        return None
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  -- only where there are rules to read

    kept: list[Any] = []
    for line in lines[:MOST_RULES]:
        try:
            (pattern,) = GitIgnoreSpec.from_lines([_with_single_stars(line)], backend=BACKEND).patterns
        except (ValueError, re.error):  # a pattern git would not understand either is no rule
            continue
        if (expression := getattr(pattern, "regex", None)) is not None:
            if expression.pattern.count(_FOLDERS) > MOST_DOUBLE_STARS:
                continue
            pattern.regex = re.compile(_steady(expression.pattern))
        kept.append(pattern)
    return GitIgnoreSpec(kept, backend=BACKEND)


def _with_single_stars(line: str) -> str:
    """A pattern without stars that say nothing: two or more mean one, unless two are all there is between slashes."""
    return "/".join(part if part in ("**", "!**") else re.sub(r"(?<!\\)\*{2,}", "*", part) for part in line.split("/"))


def _steady(expression: str) -> str:
    """An expression that never looks twice: what follows a star is taken where it first comes, as in `fnmatch`.

    As the library writes it, a name of 250 letters can be divided among five stars in a thousand million ways.
    """
    first, *rest = expression.split(_STAR)
    if len(rest) <= 1:
        return expression
    steady = [first]
    for number, piece in enumerate(rest[:-1]):
        sure = f"(?=(?P<w{number}>{_STAR}?{piece}))(?P=w{number})"
        steady.append(_STAR + piece if "(?" in piece else sure)
    return "".join((*steady, _STAR, rest[-1]))
