"""Running the server over a transport until its caller is gone."""

from __future__ import annotations

import logging
import logging.handlers
import os
import queue
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import anyio
from mcp.server.stdio import stdio_server

from whence.errors import UsageError
from whence.serve.mcp.house import House
from whence.serve.mcp.server import CALL_SECONDS, closing, make_server
from whence.serve.mcp.stdio import Wire, end_with_parent

if TYPE_CHECKING:
    from uvicorn import Server

    from whence.serve.mcp.guard import Limits

log = logging.getLogger(__name__)
#: Connections that the kernel keeps until they are taken, and that are taken in one go: fewer than handles that may be open.
BACKLOG = 512
#: Lines of the log that wait for a reader; more are dropped.
MOST_LINES = 1_000
SECONDS_FOR_THE_LOG = 1.0


def run_stdio(
    wire: Wire, folders: Sequence[Path], settings: Mapping[str, str], session: str, *, call_seconds: float = CALL_SECONDS
) -> NoReturn:
    """Serve one caller over the streams that were standard input and output."""
    house = House(folders, settings, session)

    async def serve() -> None:
        server = make_server(house, call_seconds)
        streams = cast("Any", wire)
        async with closing(house), stdio_server(stdin=streams, stdout=streams) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    end_with_parent()
    _run(serve)


def _run(serve: Callable[[], Awaitable[None]]) -> NoReturn:
    """Serve until the caller is gone or a signal comes. No thread is waited for: one may be reading, or searching for nobody."""
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda *_: os._exit(0))
    lines = _log_aside()
    code = 2
    try:
        anyio.run(serve)
        code = 0
    except Exception:
        log.exception("the server failed")
    finally:
        deadline = time.monotonic() + SECONDS_FOR_THE_LOG
        while lines.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.01)
        os._exit(code)


class _Dropping(logging.handlers.QueueHandler):
    """A log that is written by another thread, as far as somebody reads it."""

    def enqueue(self, record: logging.LogRecord) -> None:
        """Put a line where the thread finds it, or nowhere."""
        with suppress(queue.Full):
            self.queue.put_nowait(record)


def _log_aside() -> queue.Queue[logging.LogRecord]:
    """Have a thread write the log: standard error may be a pipe that nobody reads, and a server that waits for it serves nobody."""
    lines: queue.Queue[logging.LogRecord] = queue.Queue(MOST_LINES)
    logging.basicConfig(level=logging.WARNING, handlers=[_Dropping(lines)], format="whence: %(message)s")
    logging.handlers.QueueListener(lines, logging.StreamHandler(sys.stderr)).start()
    return lines


def run_http(
    folders: Sequence[Path],
    settings: Mapping[str, str],
    session: str,
    address: tuple[str, int],
    token: str,
    *,
    limits: Limits | None = None,
    call_seconds: float = CALL_SECONDS,
) -> NoReturn:
    """Serve callers on this machine who show the token, within limits."""
    import socket  # noqa: PLC0415  -- for HTTP only

    house = House(folders, settings, session)
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen(BACKLOG)  # before the address is told: who reads it may call at once, and waits until the server is up
        except OSError as error:
            raise UsageError(f"{host}:{port} cannot be served: {error.strerror}", hint="--port 0 takes a free port") from error
        place = f"[{host}]" if ":" in host else host
        print(f"serving http://{place}:{listening.getsockname()[1]}/mcp", f"token {token}", sep="\n", file=sys.stderr, flush=True)  # noqa: T201
        server = _http_server(house, token, limits, call_seconds)

        async def serve() -> None:
            async with closing(house):
                await server.serve([listening])

        _run(serve)


def _http_server(house: House, token: str, limits: Limits | None, call_seconds: float) -> Server:
    """The server over HTTP: the SDK's application behind our guard, on connections that do not last for ever."""
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415  -- for HTTP only
    from uvicorn import Config, Server  # noqa: PLC0415  -- as above

    from whence.serve.mcp.guard import Connection, Guarded, Limits  # noqa: PLC0415  -- as above

    chosen = limits or Limits()
    app = make_server(house, call_seconds).streamable_http_app(
        max_request_body_size=chosen.request_bytes,
        max_sessions=chosen.sessions,
        session_idle_timeout=chosen.session_seconds,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard is stricter
    )
    return Server(
        Config(
            Guarded(app, token, chosen),
            http=type("Connection", (Connection,), {"limits": chosen}),
            ws="none",
            backlog=BACKLOG,
            lifespan="on",
            log_config=None,
            log_level="error",  # a line for every bad request would be theirs to fill the disk with
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=chosen.head_bytes,
            timeout_keep_alive=chosen.idle_seconds,
            timeout_graceful_shutdown=1,
        )
    )
