"""Shapes that several views have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, create_model
from pydantic.json_schema import JsonSchemaValue

from whence.app.workspace import Workspace
from whence.core.request import options_of
from whence.ui.field_docs import meaning_of

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

    from whence.app.session import BuildProgress
    from whence.core.types import Freshness
    from whence.ranking.ledger import LedgerLine


def sendable(text: str) -> str:
    """A text without halves of characters, as names of files may hold them: JSON has no place for those."""
    return text.encode("utf-8", "replace").decode("utf-8")


#: Text that comes from a tree.
Text = Annotated[str, BeforeValidator(sendable)]


class ApiModel(BaseModel):
    """A part of an answer, or of a question: nothing that is not named is taken. Comments behind its fields describe them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The shape as JSON Schema has it, with what its fields mean."""
        found = handler(schema)
        for name, about in handler.resolve_ref_schema(found).get("properties", {}).items():
            about.setdefault("description", meaning_of(cls, name))
        return found


_Body = TypeVar("_Body", bound=ApiModel)
_TYPES: dict[str, Any] = {
    "int": int | None,
    "float": float | None,
    "bool": bool,
    "str": str | None,
    "strs": tuple[str, ...],
    "factors": dict[str, float],
}


def takes(request: type, *only: str) -> Callable[[type[_Body]], type[_Body]]:
    """Give a body the options of a request, or some of them, that it does not declare itself."""

    def extend(body: type[_Body]) -> type[_Body]:
        missing = {one.name: one for one in options_of(request) if one.name not in body.model_fields and (not only or one.name in only)}
        fields: dict[str, Any] = {
            name: (str if one.default == "" else _TYPES[one.type], Field(one.default, description=one.doc)) for name, one in missing.items()
        }
        return create_model(body.__name__, __base__=body, __module__=body.__module__, __doc__=body.__doc__, **fields)

    return extend


class ErrorReply(ApiModel):
    """What is wrong with a question, and what to do."""

    error: Text
    hint: Text = ""
    at: int | None = None  # the character of the query that is wrong, from 0


class FreshnessView(ApiModel):
    """How an index stands to its files (Z2)."""

    commit: str  # that the index was made of; empty without git
    branch: str  # as above
    indexed_at: float  # when it was last brought up to date, in seconds since 1970
    changed_files: int  # how many files are not as they were indexed
    fresh: bool  # whether it is known that nothing has changed since
    note: str  # why that is not known; empty where it is

    @classmethod
    def of(cls, freshness: Freshness) -> FreshnessView:
        """As it was when the index was last looked at."""
        return cls(
            commit=freshness.commit or "",
            branch=freshness.branch or "",
            indexed_at=freshness.indexed_at,
            changed_files=freshness.changed,
            fresh=freshness.fresh,
            note=freshness.note,
        )


class BuildProgressView(ApiModel):
    """How far an index is that is being built."""

    building: bool  # whether it is still being built
    share: float  # from 0 to 1
    missing: int  # how many files are still to come

    @classmethod
    def of(cls, progress: BuildProgress) -> BuildProgressView:
        """As a session tells it."""
        return cls(building=progress.building, share=progress.share, missing=progress.missing)


class LedgerLineView(ApiModel):
    """One contribution to a score."""

    signal: str
    phase: str
    operation: str
    value: float  # what the signal says of this file, before its weight
    weight: float
    contribution: float
    because: Text

    @classmethod
    def of(cls, line: LedgerLine) -> LedgerLineView:
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


class CodeLine(ApiModel):
    """A line of a file, cut where its colour changes."""

    number: int  # of the line, from 1
    runs: list[Run]  # its text in pieces: each a text, what it is (keyword, string, empty: nothing special), whether it matched


def _workspace(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


#: What a function of the API is given to answer from.
CurrentWorkspace = Annotated[Workspace, Depends(_workspace)]
