"""What a rule gives back for one import statement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Binding:
    """A name that a file uses for something of another file. Several of one local name are alternatives."""

    local: str  # the name in this file; "" where everything of the other file becomes visible, or where it only runs
    files: tuple[str, ...]  # files of the repository it may come from: one file, or all source files of a package's folder
    symbol: str  # the name there, `default` for a default export; "" when the local name stands for the module, package or file itself


class Rule(Protocol):
    """How one family of languages finds what a statement imports."""

    def bindings(self, path: str, statement: str) -> Iterable[Binding]:
        """What the statement, standing in the file of that path, makes known."""
        ...
