"""Reads the package's text tables: lists of words and patterns that live in `.txt` files beside the code using them."""

from __future__ import annotations

from functools import cache
from pathlib import Path


def content_lines(file: Path) -> list[str]:
    """The lines of a table without comments and empty lines."""
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip() and not line.startswith("#")]


def read_sections(file: Path) -> dict[str, list[str]]:
    """The lines of a table by section: `[name]` begins one."""
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
