"""A place where something is cut off, and what is known of the operation."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whence_bench.faults import compared
from whence_bench.faults.compared import Seen

#: The folders that an operation writes to.
WRITTEN = ("data", "notes", "out")
#: Derived files whose names are drawn by chance are never written twice: a link to them is as good as a copy, and keeps their stamp.
_NEVER_REWRITTEN = "segments"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one scenario happens."""

    folder: Path
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        """The repository that is indexed."""
        return self.folder / "tree"

    @property
    def data(self) -> Path:
        """The indexes."""
        return self.folder / "data"

    @property
    def notes(self) -> Path:
        """The notes of the user."""
        return self.folder / "notes"

    @property
    def shop(self) -> Path:
        """The folder whose notes they are; nothing is in it."""
        return self.folder / compared.SHOP

    @property
    def out(self) -> Path:
        """What is exported."""
        return self.folder / "out"

    @property
    def index_folder(self) -> Path:
        """The folder of the index, and of what was learned."""
        from whence.index.layout import Layout  # noqa: PLC0415

        return Layout(self.data, self.tree.resolve()).directory

    def keep(self) -> None:
        """Take what is there now for the state before the operation."""
        for name in WRITTEN:
            (self.folder / name).mkdir(exist_ok=True)
            (self.folder / name).rename(self._kept / name)

    def restore(self, *, linked: bool) -> None:
        """Put everything back as it was before the operation; derived files as copies or as what they were."""
        for name in WRITTEN:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            shutil.copytree(self._kept / name, self.folder / name, copy_function=_linking if linked else shutil.copy2)

    @property
    def _kept(self) -> Path:
        kept = self.folder / "before"
        kept.mkdir(exist_ok=True)
        return kept


def _linking(source: str, target: str) -> None:
    if f"{os.sep}{_NEVER_REWRITTEN}{os.sep}" in source:
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def nothing(place: Place) -> None:
    """Nothing is there before."""


def no_strays(place: Place) -> list[str]:  # noqa: ARG001
    """Nothing can be left behind."""
    return []


@dataclass(frozen=True, slots=True)
class Scenario:
    """An operation that is cut off, and what is looked at afterwards."""

    name: str
    operate: Callable[[Place], list[str] | None]  # what it says to the user, where it does not fail
    look: Callable[[Place], Seen]
    prepare: Callable[[Place], None] = nothing
    #: What is left behind when all was done once more.
    strays: Callable[[Place], list[str]] = no_strays
    #: The next use brings it to its end; else it is done or it is not.
    finishes: bool = False
    #: What may be done by parts: each entry of these is as before or as after.
    by_parts: tuple[str, ...] = ()
    #: What says nothing as long as the operation is not finished.
    loose: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    workers: bool = False  # whether it starts processes
