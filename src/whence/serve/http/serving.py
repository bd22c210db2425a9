"""A socket of this machine, and a server on it whose connections do not last for ever."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from uvicorn import Config, Server

from whence.errors import UsageError
from whence.serve.http.guard import Connection, Limits

if TYPE_CHECKING:
    from starlette.types import ASGIApp

#: Connections that the kernel keeps until they are taken, and that are taken in one go: fewer than handles that may be open.
BACKLOG = 512


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that is listened on: who reads its address may call at once, and waits until the server is up."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen(BACKLOG)
        except OSError as error:
            raise UsageError(f"{host}:{port} cannot be served: {error.strerror}", hint="--port 0 takes a free port") from error
        yield bound


def address_of(host: str, bound: socket.socket) -> str:
    """Where a socket is called."""
    place = f"[{host}]" if ":" in host else host
    return f"http://{place}:{bound.getsockname()[1]}"


def http_server(app: ASGIApp, limits: Limits) -> Server:
    """A server for an application that stands behind a guard."""
    return Server(
        Config(
            app,
            http=type("Connection", (Connection,), {"limits": limits}),
            ws="none",
            backlog=BACKLOG,
            lifespan="on",
            log_config=None,
            log_level="error",  # a line for every bad request would be theirs to fill the disk with
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=limits.head_bytes,
            timeout_keep_alive=limits.idle_seconds,
            timeout_graceful_shutdown=1,
        )
    )
