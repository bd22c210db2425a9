"""Which symbol a running program means by the function, namespace, file and line it reports. Never a guess.

A reported function is a symbol when its qualified name agrees with what was
reported, as far as both go, and exactly one symbol fits best. With a file, only
files whose path agrees can hold it; without one, what is left of the namespace must
name the symbol's file or folder. A line decides between equals, and nothing else:
the program may have run another version of the source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from whence.types import DEFINITIONS, Parsed, Unit

UNKNOWN, AMBIGUOUS, UNNAMED = "unknown", "ambiguous", "unnamed"
_SEPARATORS = re.compile(r"::|[.\\/#$:]")
#: Go writes `pkg.(*Type).Method` and names closures `func1`; Python marks what is inside a function.
_RECEIVER = re.compile(r"\(\*?([^()]*)\)")
_CLOSURE = re.compile(r"func\d+(?:\.\d+)*|<\w+>|lambda|\d+")
_INSIDE_A_FUNCTION = ".<locals>"
_CONSTRUCTOR = "<init>"
#: Names longer than this are not names.
_MOST_CHARACTERS = 500


class Symbols(Protocol):
    """What an index knows of its symbols, as far as traces need it."""

    def paths(self) -> Sequence[str]:
        """The paths of all files."""
        ...

    def files_defining(self, name: str) -> Sequence[str]:
        """The files that define a name, the last part of a qualified one."""
        ...

    def parsed(self, path: str) -> Parsed | None:
        """What a file holds."""
        ...


@dataclass(frozen=True, slots=True)
class _Candidate:
    path: str
    unit: Unit
    agreed: int  # how many names agree, from the last

    @property
    def key(self) -> str:
        return f"{self.path}#{self.unit.qualified_name}"


class Functions:
    """Finds symbols by what spans report, each report once."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._known: dict[tuple[str, str, str, str], tuple[str, str]] = {}
        self._by_filename: dict[str, list[str]] | None = None

    def find(self, attributes: Mapping[str, str]) -> tuple[str, str]:
        """The key of a symbol, or why there is none: `unnamed`, `unknown` or `ambiguous`."""
        name = attributes.get("code.function.name") or attributes.get("code.function") or ""
        path = attributes.get("code.file.path") or attributes.get("code.filepath") or ""
        line = attributes.get("code.line.number") or attributes.get("code.lineno") or ""
        report = (name, attributes.get("code.namespace", ""), path, line)
        if not name or max(map(len, report)) > _MOST_CHARACTERS:
            return "", UNNAMED
        if report not in self._known:
            self._known[report] = self._find(*report)
        return self._known[report]

    def _find(self, name: str, namespace: str, path: str, line: str) -> tuple[str, str]:
        names = reported_names(name, namespace)
        if not names:
            return "", UNNAMED
        paths = self._paths_like(path) if path else self._symbols.files_defining(names[-1])
        found = [one for place in paths for one in self._candidates(place, names, placed=bool(path))]
        best = max((one.agreed for one in found), default=0)
        equals = [one for one in found if one.agreed == best]
        if len({one.key for one in equals}) > 1 and line.isdigit():
            equals = [one for one in equals if one.unit.first_line <= int(line) <= one.unit.last_line] or equals
        keys = {one.key for one in equals}
        return (keys.pop(), "") if len(keys) == 1 else ("", AMBIGUOUS if keys else UNKNOWN)

    def _candidates(self, path: str, names: Sequence[str], *, placed: bool) -> list[_Candidate]:
        parsed = self._symbols.parsed(path)
        found = []
        for unit in parsed.units if parsed else ():
            if unit.name != names[-1] or unit.kind not in DEFINITIONS:
                continue
            own = (*unit.parents, unit.name)
            agreed = _agreeing(own, names)
            if agreed < min(len(own), len(names)):
                continue
            outside = _agreeing_path(path, names[: len(names) - len(own)])
            if placed or outside or len(names) <= len(own):
                found.append(_Candidate(path, unit, agreed + outside))
        return found

    def _paths_like(self, reported: str) -> list[str]:
        """The files that a path from another machine may mean: those that agree with most of its end."""
        if self._by_filename is None:
            self._by_filename = {}
            for path in self._symbols.paths():
                self._by_filename.setdefault(path.rpartition("/")[2], []).append(path)
        parts = [part for part in re.split(r"[/\\]", reported) if part not in ("", ".")]
        agreeing: dict[int, list[str]] = {}
        for path in self._by_filename.get(parts[-1], []) if parts else []:
            own = path.split("/")
            agreed = _agreeing(own, parts)
            if agreed == min(len(own), len(parts)) or agreed > 1:
                agreeing.setdefault(agreed, []).append(path)
        return agreeing[max(agreeing)] if agreeing else []


def reported_names(function: str, namespace: str) -> list[str]:
    """The names of a reported function from the outside in, its namespace first."""
    function = function.partition(_INSIDE_A_FUNCTION)[0].removesuffix("()")
    names = [part for part in _SEPARATORS.split(_RECEIVER.sub(r"\1", function)) if part]
    while len(names) > 1 and names[-1] != _CONSTRUCTOR and _CLOSURE.fullmatch(names[-1]):
        names.pop()
    if len(names) > 1 and names[-1] == _CONSTRUCTOR:
        names[-1] = names[-2]
    around = [part for part in _SEPARATORS.split(_RECEIVER.sub(r"\1", namespace)) if part]
    return names if not names or names[: len(around)] == around else [*around, *names]


def _agreeing(one: Sequence[str], other: Sequence[str]) -> int:
    """How many parts are the same, counted from the last."""
    count = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _agreeing_path(path: str, names: Sequence[str]) -> int:
    """How many names around a symbol its file and folders bear, counted from the last; a file may stand for its folder."""
    if not names:
        return 0
    place = PurePosixPath(path)
    folders = [part for folder in place.parts[:-1] for part in folder.split(".")]
    return max(_agreeing(folders, names), _agreeing([*folders, *place.stem.split(".")], names))
