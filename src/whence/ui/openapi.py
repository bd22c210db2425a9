"""The API's description of itself, as OpenAPI: every field with its meaning, every refusal with its shape, and the token."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from whence.app.workspace import Workspace
from whence.ui import api
from whence.ui.field_docs import EVERYWHERE, meaning_of
from whence.ui.models import ApiModel, ErrorReply

#: What every question may be refused with. The first of them is said by the guard, before anything is looked at.
REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"description": "The token was not shown.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    400: {"model": ErrorReply, "description": "It cannot be answered: what is wrong, and what to do."},
    422: {"model": ErrorReply, "description": "It is not a question: the first field that is missing, unknown or of the wrong type."},
}
_TOKEN = "The token of the link that `whence ui` prints. It holds until that process ends."  # noqa: S105  -- speaks of one

#: How half a character is written in JSON; two such together may be a whole one.
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def operation_id(route: APIRoute) -> str:
    """The function that answers, with its module: no two have the same."""
    return f"{route.endpoint.__module__.rpartition('.')[2]}.{route.endpoint.__name__}"


class Described(FastAPI):
    """An application whose description is whole."""

    def openapi(self) -> dict[str, Any]:
        """The description."""
        if self.openapi_schema is None:
            document = _without_titles(super().openapi())
            for methods in document["paths"].values():
                for operation in methods.values():
                    _describe(operation)
            document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": _TOKEN}}
            document["security"] = [{"token": []}]
            self.openapi_schema = document
        return self.openapi_schema


def _describe(operation: dict[str, Any]) -> None:
    """Say what the parameters of a question mean, which FastAPI takes out of their shape."""
    module, _, function = operation["operationId"].partition(".")
    shapes = _asked_by_address(getattr(sys.modules[f"{api.__name__}.{module}"], function))[1]
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        meant = (meaning_of(shape, name) for shape in shapes if name in shape.model_fields)
        parameter["description"] = next(meant, EVERYWHERE.get(name, ""))


def _without_titles(part: Any) -> Any:
    """A document without the titles that are only the names once more."""
    if isinstance(part, list):
        return [_without_titles(one) for one in part]
    if not isinstance(part, Mapping):
        return part
    return {name: _without_titles(one) for name, one in part.items() if name != "title" or not isinstance(one, str) or "version" in part}


@cache
def _asked_by_address(endpoint: Callable[..., Any]) -> tuple[frozenset[str], tuple[type[ApiModel], ...]]:
    """The names that an address may hold for a function, and the shapes that they are fields of."""
    names: set[str] = set()
    shapes: list[type[ApiModel]] = []
    hints = get_type_hints(endpoint, include_extras=True)
    for name in inspect.signature(endpoint).parameters:
        kind, *about = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        if not (isinstance(kind, type) and issubclass(kind, ApiModel | Workspace)):
            names.add(name)
        elif issubclass(kind, ApiModel) and any(isinstance(one, type(Query())) for one in about):
            names |= set(kind.model_fields)
            shapes.append(kind)
    return frozenset(names), tuple(shapes)


async def nothing_else(request: Request) -> None:
    """Refuse a question whose address holds a name that nobody reads, and one that holds half a character, which is no text."""
    known = _asked_by_address(request.scope["endpoint"])[0] - set(request.path_params)
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        raise _no_question(unknown[:80], "there is no such field")
    body = await request.body()
    if _HALF.search(body) and not _is_text(json.dumps(json.loads(body), ensure_ascii=False)):
        raise _no_question("the request", "holds half a character")


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _no_question(where: str, why: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("request", where), "msg": why, "type": "value_error"}])
