"""Shapes that several views have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict

from whence.serve.desks.house import House

if TYPE_CHECKING:
    from whence.rank.ledger import Line
    from whence.serve.desks.desk import Standing
    from whence.types import Freshness


def sendable(text: str) -> str:
    """A text without halves of characters, as names of files may hold them: JSON has no place for those."""
    return text.encode("utf-8", "replace").decode("utf-8")


#: Text that comes from a tree.
Text = Annotated[str, BeforeValidator(sendable)]


class Shape(BaseModel):
    """A part of an answer, or of a question: nothing that is not named is taken."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Trouble(Shape):
    """What is wrong with a question, and what to do."""

    error: str
    hint: str = ""
    at: int | None = None  # the character of the query that is wrong, from 0


class Fresh(Shape):
    """How an index stands to its files (Z2)."""

    commit: str
    branch: str
    indexed_at: float
    changed_files: int
    fresh: bool
    note: str

    @classmethod
    def of(cls, freshness: Freshness) -> Fresh:
        """As it was when the index was last looked at."""
        return cls(
            commit=freshness.commit or "",
            branch=freshness.branch or "",
            indexed_at=freshness.indexed_at,
            changed_files=freshness.changed,
            fresh=freshness.fresh,
            note=freshness.note,
        )


class Progress(Shape):
    """How far an index is that is being built."""

    building: bool
    share: float
    missing: int

    @classmethod
    def of(cls, standing: Standing) -> Progress:
        """As a desk tells it."""
        return cls(building=standing.building, share=standing.share, missing=standing.missing)


class LedgerLine(Shape):
    """One contribution to a score."""

    signal: str
    phase: str
    operation: str  # + or x
    value: float
    weight: float
    contribution: float
    because: Text

    @classmethod
    def of(cls, line: Line) -> LedgerLine:
        """A line of a ledger."""
        return cls(
            signal=line.signal,
            phase=line.phase,
            operation=line.operation,
            value=line.value,
            weight=line.weight,
            contribution=line.contribution,
            because=line.because,
        )


#: A piece of a line of code: its text, what it is (a keyword, a string; empty: nothing special), and whether it matched.
Run = tuple[Text, str, bool]


class CodeLine(Shape):
    """A line of a file, cut where its colour changes."""

    number: int
    runs: list[Run]


def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


#: What a function of the API is given to answer from.
Desks = Annotated[House, Depends(_house)]
