"""Reads the package's tables: words, columns and patterns in `.txt` files beside the code that uses them. `#` starts a comment line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path


def content_lines(file: Path) -> list[str]:
    """The lines of a table without comments and empty lines."""
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip() and not line.startswith("#")]


@cache
def read_sections(file: Path) -> dict[str, list[str]]:
    """The lines of a table by section: `[name]` starts one."""
    sections: dict[str, list[str]] = {}
    for line in content_lines(file):
        if line.startswith("["):
            rows = sections[line[1:-1]] = []
        else:
            rows.append(line)
    return sections


@cache
def word_sections(file: Path) -> dict[str, frozenset[str]]:
    """The words of a table by section."""
    return {name: frozenset(" ".join(lines).split()) for name, lines in read_sections(file).items()}


def indented_entries(lines: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Each line at the left margin with the indented lines below it."""
    entries: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(" "):
            entries[-1][1].append(line.strip())
        else:
            entries.append((line, []))
    return entries


def named_patterns(lines: Iterable[str]) -> dict[str, str]:
    """Patterns by name: `NAME = pattern`, continued on indented lines; `{NAME}` inserts an earlier one."""
    patterns: dict[str, str] = {}
    for head, body in indented_entries(lines):
        name, _, start = head.partition(" = ")
        patterns[name] = insert_patterns("".join([start, *body]), patterns)
    return patterns


def insert_patterns(pattern: str, patterns: dict[str, str]) -> str:
    """A pattern with the ones that it names by `{NAME}`."""
    return re.sub(r"\{([A-Z_]+)\}", lambda found: patterns[found[1]], pattern)


class PatternTable(dict[str, re.Pattern[str]]):
    """Named patterns, compiled when they are first used."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.texts = named_patterns(lines)

    def __missing__(self, name: str) -> re.Pattern[str]:
        found = self[name] = re.compile(self.texts[name])
        return found

    def all(self) -> list[re.Pattern[str]]:
        """Every pattern, in the order of the table."""
        return [self[name] for name in self.texts]
