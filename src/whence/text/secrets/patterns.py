"""Reads `patterns.txt`: published formats of keys and tokens, and the words that tell secrets from other values (Z10)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from whence.text.tables import read_sections


class TokenPattern(NamedTuple):
    """A secret with a format of its own, found by a literal it starts with."""

    kind: str
    literals: tuple[str, ...]
    pattern: str  # starts at the literal; if it has a group, only that part is secret
    lead: str  # pattern of the part of the secret before the literal
    near: tuple[str, ...]  # one of these must be close by


class NamedPattern(NamedTuple):
    """A secret without a format of its own, known by the name before it."""

    kind: str
    names: str  # pattern to find in the line before the value
    value: str  # pattern of the whole value


UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@cache
def cached_regex(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed."""
    return re.compile(pattern)


def _columns(row: str) -> list[str]:
    return [column.strip() for column in row.split("  ") if column]


def _token_pattern(row: str) -> TokenPattern:
    kind, literals, pattern, *rest = _columns(row)
    options = dict(column.split("=", 1) for column in rest)
    near = options.get("near", "")
    return TokenPattern(kind, tuple(literals.split()), pattern, options.get("lead", ""), tuple(near.split("|")) if near else ())


def _named_pattern(row: str) -> NamedPattern:
    kind, names, value = _columns(row)
    return NamedPattern(kind, "" if names == "-" else names, value.replace("{uuid}", UUID))


_SECTIONS = read_sections(Path(__file__).with_suffix(".txt"))
TOKENS = tuple(map(_token_pattern, _SECTIONS["tokens"]))
NAMED = tuple(map(_named_pattern, _SECTIONS["named"]))
PUBLISHED = tuple(_SECTIONS["published"])
NOT_SECRET_WORDS, EXAMPLE_PASSWORDS, LETTER_PAIRS = (
    frozenset(" ".join(_SECTIONS[name]).split()) for name in ("not_secret", "example_passwords", "letter_pairs")
)
