"""Running the server over a transport until its caller is gone."""

from __future__ import annotations

import hmac
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import anyio
from mcp.server.stdio import stdio_server

from whence.errors import UsageError
from whence.serve.mcp.house import House
from whence.serve.mcp.server import closing, make_server
from whence.serve.mcp.stdio import Wire, end_with_parent

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

log = logging.getLogger(__name__)
#: No request over HTTP may be longer.
MOST_BYTES = 4 << 20
UNAUTHORIZED = 401


def run_stdio(wire: Wire, folders: Sequence[Path], settings: Mapping[str, str], session: str) -> NoReturn:
    """Serve one caller over the streams that were standard input and output."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="whence: %(message)s")
    house = House(folders, settings, session)

    async def serve() -> None:
        server = make_server(house)
        streams = cast("Any", wire)
        async with closing(house), stdio_server(stdin=streams, stdout=streams) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    end_with_parent()
    _run(serve)


def _run(serve: Callable[[], Awaitable[None]]) -> NoReturn:
    """Serve until the caller is gone or a signal comes. No thread is waited for: one may be reading, or searching for nobody."""
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda *_: os._exit(0))
    code = 2
    try:
        anyio.run(serve)
        code = 0
    except Exception:
        log.exception("the server failed")
    finally:
        sys.stderr.flush()
        os._exit(code)


def run_http(folders: Sequence[Path], settings: Mapping[str, str], session: str, host: str, port: int, token: str) -> NoReturn:
    """Serve any number of callers on this machine who show the token."""
    import socket  # noqa: PLC0415  -- for HTTP only

    import uvicorn  # noqa: PLC0415  -- as above

    house = House(folders, settings, session)
    app = make_server(house).streamable_http_app(host=host, max_request_body_size=MOST_BYTES)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen()  # before the address is told: who reads it may call at once, and waits until the server is up
        except OSError as error:
            raise UsageError(f"{host}:{port} cannot be served: {error.strerror}", hint="--port 0 takes a free port") from error
        place = f"[{host}]" if ":" in host else host
        print(f"serving http://{place}:{listening.getsockname()[1]}/mcp", f"token {token}", sep="\n", file=sys.stderr, flush=True)  # noqa: T201
        server = uvicorn.Server(
            uvicorn.Config(_Guarded(app, token), log_level="warning", lifespan="on", ws="none", timeout_graceful_shutdown=1)
        )

        async def serve() -> None:
            async with closing(house):
                await server.serve([listening])

        _run(serve)


class _Guarded:
    """An application that answers only those who show the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(shown, self._wanted):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": UNAUTHORIZED, "headers": headers})
            await send({"type": "http.response.body", "body": b"show the token: Authorization: Bearer TOKEN\n"})
            return
        await self._app(scope, receive, send)
