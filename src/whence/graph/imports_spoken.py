"""What the import statements of a file speak of, and whether they lead out of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from whence.parse.tokens import WORD

_QUOTED = re.compile(r"[\"'<]([^\"'<>]+)[\"'>]")
#: Words with which statements begin, and those that mean the package at hand.
_KEYWORDS = frozenset(
    "import from use using require require_relative require_once include export package static pub type extern mod alias".split()
)
_HERE = frozenset({"crate", "self", "super"})


@dataclass(frozen=True, slots=True)
class Spoken:
    """The words of a file's import statements."""

    words: frozenset[str]
    inside: frozenset[str]  # those of statements that may lead to a file of the repository

    @classmethod
    def of(cls, statements: Iterable[str], places: frozenset[str]) -> Spoken:
        """Read statements; `places` are the names of the repository's folders and files, without case."""
        words: set[str] = set()
        inside: set[str] = set()
        for statement in statements:
            found = WORD.findall(statement)
            words.update(found)
            if _may_lead_inside(statement, found, places):
                inside.update(found)
        return cls(frozenset(words), frozenset(inside))

    def outside(self, word: str) -> bool:
        """Whether a word was imported, and from elsewhere."""
        return word in self.words and word not in self.inside


def _may_lead_inside(statement: str, words: list[str], places: frozenset[str]) -> bool:
    """Whether the module that a statement names could be here: by the end of its path, or by the first of its words."""
    quoted = _QUOTED.search(statement)
    if quoted:
        module = quoted[1]
        return module.startswith((".", "@/", "~/", "#")) or module.rstrip("/").rpartition("/")[2].partition(".")[0].casefold() in places
    first = next((word for word in words if word not in _KEYWORDS), "")
    return "from ." in statement or first in _HERE or first.casefold() in places
