"""How sure it is that the answer to a query is among what was found (Z1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Confidence:
    """The chance that what was asked for is among the results, and what speaks against it."""

    probability: float
    line: float  # below it, the answer is "not here"
    because: str = ""

    @property
    def here(self) -> bool:
        """Whether the answer may be taken for one."""
        return self.probability >= self.line
