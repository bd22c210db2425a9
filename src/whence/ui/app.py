"""The web application: static assets that anyone may load, and an API behind the guard."""

from __future__ import annotations

import inspect
import json
import logging
import re
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_args, get_origin, get_type_hints

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, JSONResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from whence.app.http_server import HttpGuard, Limits, http_server, listening_socket, url_of
from whence.app.presenters.text import sendable
from whence.app.server import run_until_exit
from whence.app.workspace import Workspace
from whence.core.errors import QueryError, WhenceError
from whence.core.version import __version__
from whence.source.read import strip_secrets
from whence.ui import api
from whence.ui.models import BY_NAME, ApiModel, ErrorReply, field_doc

log = logging.getLogger(__name__)
HOST = "127.0.0.1"
#: How long an index stays open after the last request: longer than for agents, because people think.
SECONDS_BEFORE_REST = 900.0
STATIC = Path(__file__).parent / "static"
#: The views of the page; all get the same document.
VIEWS = ("/", "/compare", "/graph", "/context", "/memory", "/index")
#: Only our own files are loaded, nothing is sent elsewhere, and no other page may frame this one.
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
#: Errors of every call. The guard sends the first of them.
ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"description": "The token is missing.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    400: {"model": ErrorReply, "description": "It cannot be answered: what is wrong, and what to do."},
    422: {"model": ErrorReply, "description": "It is not a valid request: the first field that is missing, unknown or of the wrong type."},
}
_TOKEN = "The token in the link that `whence ui` prints. It is valid until that process ends."  # noqa: S105  -- describes one

#: A surrogate as JSON writes it; two together may be a whole character.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def is_public(path: str) -> bool:
    """Whether a path belongs to the page itself, which is the same for everybody."""
    return not path.startswith("/api/")


def make_app(workspace: Workspace) -> FastAPI:
    """The application of a workspace. Every request has passed the guard."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with aclosing(workspace):
            yield

    app = DescribedApp(
        title="whence",
        version=__version__,
        description="The API behind `whence ui`. Every call needs the token: `Authorization: Bearer TOKEN`.",
        generate_unique_id_function=operation_id,
        separate_input_output_schemas=False,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
    )
    app.state.workspace = workspace
    for view, router in api.ROUTERS.items():
        app.include_router(router, prefix="/api", tags=[view], dependencies=[Depends(refuse_unknown)], responses=ERRORS)
    for view in VIEWS:
        app.add_api_route(view, _document, include_in_schema=False)
    app.mount("/static", GZipMiddleware(StaticFiles(directory=STATIC)), name="static")  # the API: not worth it on one machine
    app.middleware("http")(_with_headers)
    for kind in (WhenceError, RequestValidationError, HTTPException, OSError, Exception):
        app.exception_handler(kind)(_on_error)
    return app


async def _document() -> FileResponse:
    return FileResponse(STATIC / "index.html")


async def _with_headers(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await answer(request)
    response.headers.update(HEADERS)
    response.headers["cache-control"] = "no-store" if request.url.path.startswith("/api/") else "no-cache"
    return response


# The description of the API: all fields, errors and the token.
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


# Errors: one line and what to do, in one format.
def _error_reply(status: int, message: str, hint: str = "", at: int | None = None) -> JSONResponse:
    return JSONResponse(ErrorReply(error=strip_secrets(message), hint=strip_secrets(hint), at=at).model_dump(), status)


async def _on_error(_: Request, error: Exception) -> JSONResponse:
    described = "the API is described at /api/openapi.json"
    if isinstance(error, WhenceError):
        at = error.at if isinstance(error, QueryError) else None
        return _error_reply(400, error.message.partition("\n")[0], error.hint, at)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(one) for one in first["loc"][1:]) or "the request"
        return _error_reply(422, f"{where}: {first['msg']}", described)
    if isinstance(error, HTTPException):
        return _error_reply(error.status_code, str(error.detail), described)
    if isinstance(error, OSError):
        return _error_reply(500, f"{error.filename or 'a file'}: {error.strerror or error}")
    log.error("a request failed", exc_info=error)
    return _error_reply(500, "internal error of whence; see its log")


# Serving.
def run(
    folders: Sequence[Path], settings: Mapping[str, str], port: int, token: str, *, announce: Callable[[str], None], browser: bool
) -> NoReturn:
    """Serve some folders on this machine only, and open the page in a browser.

    The token is in the fragment of the link, which browsers never send: it appears in no log and no referrer.
    """
    workspace, limits = Workspace(folders, settings, rest=SECONDS_BEFORE_REST, everywhere=True), Limits()
    with listening_socket(HOST, port) as bound:
        server = http_server(HttpGuard(make_app(workspace), token, limits, is_public=is_public), limits)
        link = f"{url_of(HOST, bound)}/#token={token}"
        announce(link)
        if browser:
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

        async def serve() -> None:
            await server.serve([bound])

        run_until_exit(serve)
