"""Which folders the page is about."""

from __future__ import annotations

from fastapi import APIRouter

from whence.app.workspace import Workspace
from whence.ui.models import ApiModel, CurrentWorkspace, Text

router = APIRouter()


class RootView(ApiModel):
    """A folder that is served."""

    name: Text  # by which questions and answers know it
    path: Text  # where it is on this machine


class RootsReply(ApiModel):
    """All of them, in the order in which they were named."""

    roots: list[RootView]
    fleet: bool  # whether the settings name a fleet, which can be searched as well


@router.get("/roots")
async def roots(workspace: CurrentWorkspace) -> RootsReply:
    """The folders that may be asked about, by the names under which the other questions know them."""
    return RootsReply(
        roots=[RootView(name=name, path=str(path)) for name, path in names_of(workspace).items()], fleet=workspace.fleet.configured
    )


def names_of(workspace: Workspace) -> dict[str, str]:
    """The name of each root in answers, and where it is."""
    return {workspace.name_of(session): str(session.root) for session in workspace.sessions()}
