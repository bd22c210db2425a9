"""The page and what it asks, as one application: assets that tell nothing, and an API behind the guard."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from whence.app.workspace import Workspace
from whence.core.errors import QueryError, WhenceError
from whence.core.version import __version__
from whence.source.read import strip_secrets
from whence.ui.api import ROUTERS
from whence.ui.models import ErrorReply
from whence.ui.openapi import REFUSALS, Described, nothing_else, operation_id

log = logging.getLogger(__name__)
STATIC = Path(__file__).parent / "static"
#: The addresses that are views of the page; each is given the same document.
VIEWS = ("/", "/compare", "/graph", "/context", "/memory", "/index")
#: Nothing but what the package holds is loaded, nothing is sent elsewhere, and no other page may frame this one.
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def needs_no_token(path: str) -> bool:
    """Whether a path is of the page itself, which is the same for everybody."""
    return not path.startswith("/api/")


def make_app(workspace: Workspace) -> FastAPI:
    """The application of a workspace. The guard stands before it: whoever comes here may ask."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with aclosing(workspace):
            yield

    app = Described(
        title="whence",
        version=__version__,
        description="What `whence ui` asks. Every call shows the token: `Authorization: Bearer TOKEN`.",
        generate_unique_id_function=operation_id,
        separate_input_output_schemas=False,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a path is known or it is not
        lifespan=life,
    )
    app.state.workspace = workspace
    for view, router in ROUTERS.items():
        app.include_router(router, prefix="/api", tags=[view], dependencies=[Depends(nothing_else)], responses=REFUSALS)
    for view in VIEWS:
        app.add_api_route(view, _document, include_in_schema=False)
    app.mount("/static", GZipMiddleware(StaticFiles(directory=STATIC)), name="static")  # answers are not worth packing on one machine
    app.middleware("http")(_with_headers)
    app.exception_handler(WhenceError)(_refused)
    app.exception_handler(RequestValidationError)(_misspelt)
    app.exception_handler(HTTPException)(_unknown)
    app.exception_handler(OSError)(_unreadable)
    app.exception_handler(Exception)(_failed)
    return app


async def _document() -> FileResponse:
    return FileResponse(STATIC / "index.html")


async def _with_headers(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await answer(request)
    response.headers.update(HEADERS)
    response.headers["cache-control"] = "no-store" if request.url.path.startswith("/api/") else "no-cache"
    return response


# What went wrong: one line and what to do, in one shape.
def _trouble(status: int, message: str, hint: str = "", at: int | None = None) -> JSONResponse:
    return JSONResponse(ErrorReply(error=strip_secrets(message), hint=strip_secrets(hint), at=at).model_dump(), status)


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, WhenceError)
    at = error.at if isinstance(error, QueryError) else None
    return _trouble(400, error.message.partition("\n")[0], error.hint, at)


async def _misspelt(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(one) for one in first["loc"][1:]) or "the request"
    return _trouble(422, f"{where}: {first['msg']}", "the API is described at /api/openapi.json")


async def _unknown(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _trouble(error.status_code, str(error.detail), "the API is described at /api/openapi.json")


async def _unreadable(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OSError)
    return _trouble(500, f"{error.filename or 'a file'}: {error.strerror or error}")


async def _failed(_: Request, error: Exception) -> JSONResponse:
    log.error("the page asked for something that failed", exc_info=error)
    return _trouble(500, "this is a fault of whence, its log says more")
