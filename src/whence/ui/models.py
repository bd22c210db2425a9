"""Models that several views of the API share.

A field's description is the comment beside it, else the docstring of its type, else the description of its name.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import sys
import tokenize
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_type_hints

from fastapi import Depends, Request
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, create_model
from pydantic.json_schema import JsonSchemaValue

from whence.app.presenters.text import sendable
from whence.app.workspace import Workspace
from whence.core.request import options_of
from whence.ranking.ledger import LedgerLine
from whence.ranking.receipt import Retrieval

if TYPE_CHECKING:
    from pydantic_core import CoreSchema
    from typing_extensions import Self

    from whence.core.types import Freshness


#: Descriptions of fields by name, for models that do not describe them.
BY_NAME = dict(line.split(": ", 1) for line in Path(__file__).with_name("field_docs.txt").read_text("utf-8").splitlines())


def field_doc(model: type[BaseModel], field: str) -> str:
    """The description of a model's field."""
    own, comments = model.model_fields[field], (_comments_of(one.__module__).get((one.__name__, field), "") for one in model.__mro__)
    types = (inspect.getdoc(one) or "" for one in _models_in(own.annotation))
    return next(filter(None, chain([own.description], comments, types)), BY_NAME.get(field, ""))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


@cache
def _comments_of(module: str) -> dict[tuple[str, str], str]:
    """By class and field, the comment on the line where the field ends, or those on the lines above it."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return {}  # installed without its source
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(source).readline) if one.type == tokenize.COMMENT]
    comments = {one.start[0]: one.string.lstrip("#: ").strip() for one in tokens}
    alone = {one.start[0] for one in tokens if one.line.lstrip().startswith("#")}
    found = {}
    for place in (one for one in ast.parse(source).body if isinstance(one, ast.ClassDef)):
        for field in place.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                first = field.lineno
                while first - 1 in alone:
                    first -= 1
                above = " ".join(comments[line] for line in range(first, field.lineno))
                found[place.name, field.target.id] = comments.get(field.end_lineno or field.lineno) or above
    return found


#: Text from a tree.
Text = Annotated[str, BeforeValidator(sendable)]
#: A score with six decimals.
Rounded = Annotated[float, AfterValidator(partial(round, ndigits=6))]


class ApiModel(BaseModel):
    """A part of a request or a reply. Unknown fields are refused; comments beside fields are their descriptions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def of(cls, source: Any, **other: Any) -> Self:
        """A model with the attributes of an object, nested ones included; `other` are fields that it has under no such name."""
        own = {name: getattr(source, name) for name in cls.model_fields if name not in other and hasattr(source, name)}
        return cls.model_validate({**own, **other}, from_attributes=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The JSON Schema with descriptions of all fields."""
        found = handler(schema)
        for name, about in handler.resolve_ref_schema(found).get("properties", {}).items():
            about.setdefault("description", field_doc(cls, name))
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


def takes(request: type, *only: str, but: tuple[str, ...] = ()) -> Callable[[type[_Body]], type[_Body]]:
    """Give a body the options of a request, some of them, or all but some, that it does not declare itself."""

    def extend(body: type[_Body]) -> type[_Body]:
        left_out = {*body.model_fields, *but}
        missing = {one.name: one for one in options_of(request) if one.name not in left_out and (not only or one.name in only)}
        fields: dict[str, Any] = {
            name: (str if one.default == "" else _TYPES[one.type], Field(one.default, description=one.doc)) for name, one in missing.items()
        }
        return create_model(body.__name__, __base__=body, __module__=body.__module__, __doc__=body.__doc__, **fields)

    return extend


def shows(source: type) -> Callable[[type[_Body]], type[_Body]]:
    """Give a reply the fields of a dataclass that it does not declare itself, with their comments."""

    def extend(reply: type[_Body]) -> type[_Body]:
        types, comments = get_type_hints(source), _comments_of(source.__module__)
        fields: dict[str, Any] = {
            name: (Text if types[name] is str else types[name], Field(description=comments[source.__name__, name] or None))
            for name in (one.name for one in dataclasses.fields(source) if one.name not in reply.model_fields)
        }
        return create_model(reply.__name__, __base__=reply, __module__=reply.__module__, __doc__=reply.__doc__, **fields)

    return extend


class ErrorReply(ApiModel):
    """What is wrong with a request, and what to do."""

    error: Text
    hint: Text = ""
    at: int | None = None  # position of the error in the query, from 0


class FreshnessView(ApiModel):
    """How an index compares to its files (Z2)."""

    commit: str  # that was indexed; empty without git
    branch: str  # that was indexed; empty without git
    indexed_at: float  # when it was last updated, in seconds since 1970; 0: the first build is not finished
    edited_files: int  # indexed files that differ from the commit, or are gone
    new_files: int  # indexed files that the commit does not have
    changed_files: int  # files that changed since
    fresh: bool  # whether nothing is known to have changed since
    note: str  # why that is not known; empty if it is

    @classmethod
    def of(cls, source: Freshness, **other: Any) -> Self:
        """The freshness of an index when it was last checked."""
        counts = {"edited_files": source.edited, "new_files": source.new, "changed_files": source.changed}
        return super().of(source, commit=source.commit or "", branch=source.branch or "", **counts, **other)


class BuildProgressView(ApiModel):
    """How far the build of an index is."""

    building: bool  # whether it is still running
    share: float  # from 0 to 1
    missing: int  # files still to be indexed


@shows(LedgerLine)
class LedgerLineView(ApiModel):
    """One contribution to a score."""


@shows(Retrieval)
class RetrievalView(ApiModel):
    """The score and rank that one retriever gave."""


#: A piece of a line of code: its text, its kind (keyword, string, ...; empty: nothing special), and whether it matched.
Run = tuple[Text, str, bool]


class CodeLine(ApiModel):
    """A line of a file, split where its colour changes."""

    number: int  # line number, from 1
    runs: list[Run]  # pieces of its text, each with its kind (keyword, string, ...; empty: nothing special) and whether it matched


def _workspace(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


#: The workspace that a call is answered from.
CurrentWorkspace = Annotated[Workspace, Depends(_workspace)]
