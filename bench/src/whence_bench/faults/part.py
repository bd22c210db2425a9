"""What every part of the faults bench is given and gives back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a part may go: a folder to work in, seconds, and a seed that makes a run repeatable."""

    scratch: Path
    seconds: float
    seed: int
    small: bool  # some of everything, as for a test
    tell: Callable[[str], None]  # one line for whoever is waiting
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.started + self.seconds - time.monotonic()


@dataclass(frozen=True, slots=True)
class Part:
    """What one part found."""

    name: str
    tried: int  # kills, corruptions, executions, secrets: what the part counts
    wrong: tuple[str, ...]  # one line for each failure, with what it takes to repeat it
    facts: dict[str, Any] = field(default_factory=dict)  # counts and figures; all of it goes into the JSON
    skipped: str = ""  # why nothing was tried here, where nothing was

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong, and something was tried."""
        return not self.wrong and not self.skipped
