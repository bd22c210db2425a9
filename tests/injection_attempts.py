"""The corpus of injection attempts in tests/injections, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "injections"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A text that speaks to a machine, the kind of it, and where such a text was found."""

    kind: str
    where: str
    text: str


def attempts(name: str) -> list[Attempt]:
    """The attempts of one file: `tuned` or `held_out`."""
    found = []
    for block in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n=== ")[1:]:
        head, _, body = block.partition("\n")
        kind, _, where = head.partition(" | ")
        found.append(Attempt(kind, where, re.sub(r"\\u\{([0-9a-f]+)\}", lambda match: chr(int(match[1], 16)), body.rstrip("\n"))))
    return found


def ordinary() -> list[str]:
    """Lines of ordinary code and documentation that come near to an instruction."""
    return (FOLDER / "ordinary.txt").read_text(encoding="utf-8").splitlines()[1:]
