"""The OpenAPI description of the API: descriptions of all fields, errors and the token."""

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

from whence.app.presenters.text import sendable
from whence.app.workspace import Workspace
from whence.ui import api
from whence.ui.models import BY_NAME, ApiModel, ErrorReply, field_doc

#: Errors of every call. The guard sends the first of them.
ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"description": "The token is missing.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    400: {"model": ErrorReply, "description": "It cannot be answered: what is wrong, and what to do."},
    422: {"model": ErrorReply, "description": "It is not a valid request: the first field that is missing, unknown or of the wrong type."},
}
_TOKEN = "The token in the link that `whence ui` prints. It is valid until that process ends."  # noqa: S105  -- describes one

#: A surrogate as JSON writes it; two together may be a whole character.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def operation_id(route: APIRoute) -> str:
    """The function that answers, with its module: a unique name."""
    return f"{route.endpoint.__module__.rpartition('.')[2]}.{route.endpoint.__name__}"


class DescribedApp(FastAPI):
    """An application with a complete description."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, built once."""
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
    """Describe the parameters of a call, which FastAPI separates from their model."""
    module, _, function = operation["operationId"].partition(".")
    models = _query_parameters(getattr(sys.modules[f"{api.__name__}.{module}"], function))[1]
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        docs = (field_doc(model, name) for model in models if name in model.model_fields)
        parameter["description"] = next(docs, BY_NAME.get(name, ""))


def _without_titles(part: Any) -> Any:
    """A document without titles, which only repeat names."""
    if isinstance(part, list):
        return [_without_titles(one) for one in part]
    if not isinstance(part, Mapping):
        return part
    return {name: _without_titles(one) for name, one in part.items() if name != "title" or not isinstance(one, str) or "version" in part}


@cache
def _query_parameters(endpoint: Callable[..., Any]) -> tuple[frozenset[str], tuple[type[ApiModel], ...]]:
    """The query parameters of a function, and the models that they are fields of."""
    names: set[str] = set()
    models: list[type[ApiModel]] = []
    hints = get_type_hints(endpoint, include_extras=True)
    for name in inspect.signature(endpoint).parameters:
        kind, *about = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        if not (isinstance(kind, type) and issubclass(kind, ApiModel | Workspace)):
            names.add(name)
        elif issubclass(kind, ApiModel) and any(isinstance(one, type(Query())) for one in about):
            names |= set(kind.model_fields)
            models.append(kind)
    return frozenset(names), tuple(models)


async def refuse_unknown(request: Request) -> None:
    """Refuse a request with an unknown query parameter, or with a lone surrogate in its body."""
    known = _query_parameters(request.scope["endpoint"])[0] - set(request.path_params)
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        raise _invalid(unknown[:80], "there is no such field")
    body = await request.body()
    if _SURROGATE.search(body) and (text := json.dumps(json.loads(body), ensure_ascii=False)) != sendable(text):
        raise _invalid("the request", "contains half a character")


def _invalid(where: str, why: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("request", where), "msg": why, "type": "value_error"}])
