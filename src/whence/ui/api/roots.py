"""Which folders the page is about."""

from __future__ import annotations

from fastapi import APIRouter

from whence.app.workspace import House
from whence.ui.models import Desks, Shape, Text

router = APIRouter()


class Root(Shape):
    """A folder that is served."""

    name: Text  # by which questions and answers know it
    path: Text  # where it is on this machine


class RootsAnswer(Shape):
    """All of them, in the order in which they were named."""

    roots: list[Root]
    fleet: bool  # whether the settings name a fleet, which can be searched as well


@router.get("/roots")
async def roots(house: Desks) -> RootsAnswer:
    """The folders that may be asked about, by the names under which the other questions know them."""
    return RootsAnswer(roots=[Root(name=name, path=str(path)) for name, path in names_of(house).items()], fleet=house.fleet.configured)


def names_of(house: House) -> dict[str, str]:
    """The name of each root in answers, and where it is."""
    return {house.label(desk).rstrip("/") or desk.root.name or "/": str(desk.root) for desk in house.desks()}
