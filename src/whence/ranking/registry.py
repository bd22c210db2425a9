"""Signals by name. A signal is one decorated function in the file of its name (`PACKAGES`)."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from whence.core.errors import SettingError
from whence.ranking.ledger import Column, Operation

#: What a signal says of a pool: of files and symbols, or of notes.
Score = Callable[[Any], Column]

#: Where signals live; the file is named for its signal.
PACKAGES = ("whence.ranking.signals.files", "whence.ranking.signals.symbols", "whence.memory.signals")
#: How the names of signals begin that are of notes, and read a pool of notes.
OF_NOTES = "note_"


class Phase(IntEnum):
    """When a signal is read. Signals of one phase see the same frozen scores."""

    MATCH = 0
    PENALTY = 1
    STEM = 2
    DEFINITION = 3
    COHERENCE = 4


@dataclass(frozen=True, slots=True)
class Signal:
    """One reason for a file to stand higher or lower."""

    name: str
    doc: str
    phase: Phase
    operation: Operation
    relative: bool  # its value is a share of the best score so far
    score: Score


_found: dict[str, Signal] = {}


def signal(phase: Phase = Phase.MATCH, operation: Operation = Operation.ADD, *, relative: bool = False) -> Callable[[Score], Score]:
    """Register a function as the signal of its name; its docstring is the documentation."""

    def register(score: Score) -> Score:
        doc = " ".join((score.__doc__ or "").split())
        _found[score.__name__] = Signal(score.__name__, doc, phase, operation, relative, score)
        return score

    return register


@cache
def signal_named(name: str) -> Signal:
    """A signal, loaded from its file when first asked for."""
    try:
        import_module(f"{_packages()[name]}.{name}")
    except KeyError as error:
        raise SettingError(f"there is no signal {name!r}", hint="see docs/signals.md") from error
    return _found[name]


def signal_names() -> list[str]:
    """The names of all signals, as their files have them."""
    return sorted(_packages())


@cache
def _packages() -> dict[str, str]:
    """The package of each signal, by its file's name."""
    rooms = Path(__file__).parents[1]
    folders = {package: rooms.joinpath(*package.split(".")[1:]) for package in PACKAGES}
    return {module.name: package for package, folder in folders.items() for module in pkgutil.iter_modules([str(folder)])}
