"""A process that serves until its caller is gone, and a log that nobody has to read."""

from __future__ import annotations

import logging
import logging.handlers
import os
import queue
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

import anyio
from uvicorn import Config, Server

from whence.app.http_guard import Connection, Limits
from whence.core.errors import UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp


log = logging.getLogger(__name__)
#: Lines of the log that wait for a reader; more are dropped.
MOST_LINES = 1_000
SECONDS_FOR_THE_LOG = 1.0


def run_until_exit(serve: Callable[[], Awaitable[None]]) -> NoReturn:
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


#: Connections that the kernel keeps until they are taken, and that are taken in one go: fewer than handles that may be open.
BACKLOG = 512


@contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
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


def url_of(host: str, bound: socket.socket) -> str:
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
