"""Serving over HTTP on this machine, behind a guard that decides who may ask, how much and for how long.

A web page can send requests to this machine, even under a name of its own (DNS rebinding), and another user's program
can connect and stall. The guard checks the host, the origin, the token, then the size and time of the body; a request
it refuses reaches nothing else. Starlette's TrustedHostMiddleware looks at one Host header only, and there is no
bearer helper that limits wrong tokens, so these few checks are our own.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar, cast

import anyio
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from whence.core.errors import UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Names that always mean this machine. Any port will do: it may be forwarded.
_LOCAL_HOST = re.compile(rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?")
#: Values of Sec-Fetch-Site for requests that no other page had a hand in.
_SAME_SITE = (b"none", b"same-origin")
_UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
#: Connections that the kernel queues, and that are accepted in one go: fewer than the limit of open files.
BACKLOG = 512


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of everything an HTTP server grants."""

    request_bytes: int = 4 << 20
    header_bytes: int = 16 << 10
    connections: int = 128
    send_buffer_bytes: int = 128 << 10  # of a connection, in the kernel
    sessions: int = 256
    session_idle_seconds: float = 1_800.0
    header_seconds: float = 10.0  # for all headers of a request to arrive
    body_seconds: float = 30.0  # for all of a body to arrive
    write_seconds: float = 30.0  # for the client to read what is sent
    keep_alive_seconds: int = 10  # between two requests on a connection
    drain_seconds: float = 1.0  # for the rest of a refused request: a client that is still sending does not read the answer
    wrong_token_delay: float = 0.05  # between two wrong tokens, whoever sends them
    max_token_delay: float = 5.0  # while wrong tokens queue for longer than this, no further one is checked


@dataclass(frozen=True, slots=True)
class Refusal:
    """A plain answer that closes the connection."""

    status: int
    text: str
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def send(self, send: Send) -> None:
        """Send it."""
        body = f"{self.text}\n".encode()
        headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body)), (b"connection", b"close"), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


_NO_TOKEN = Refusal(401, "a token is required: Authorization: Bearer TOKEN", ((b"www-authenticate", b"Bearer"),))
_TOO_MANY = Refusal(429, "too many wrong tokens; try again in a few seconds", ((b"retry-after", b"5"),))
_LONG_HEADERS = Refusal(431, "the headers are too long")
_TOO_LONG = Refusal(413, "the request is too long")
_TOO_SLOW = Refusal(408, "the request took too long to arrive")


class HttpGuard:
    """An application that answers only local clients with the token, within limits."""

    def __init__(self, app: ASGIApp, token: str, limits: Limits, *, is_public: Callable[[str], bool] = lambda _: False) -> None:
        self._app, self._limits = app, limits
        self._is_public = is_public  # paths that need no token: they hold nothing private
        self._expected = sha256(f"Bearer {token}".encode()).digest()
        self._busy_until = 0.0  # when the last wrong token so far will have been answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on once it has arrived completely."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # h11's own limit lets long headers pass that arrive all at once.
        size = len(scope["raw_path"]) + len(scope["query_string"]) + sum(len(name) + len(value) for name, value in scope["headers"])
        refusal = _LONG_HEADERS if size > self._limits.header_bytes else _check_source(scope)
        if refusal is None and not self._is_public(scope["path"]):
            refusal = await self._check_token(scope)
        body = await self._read_body(receive, self._limits.drain_seconds if refusal else self._limits.body_seconds)
        if body is None:
            return
        if refusal is None and isinstance(body, bytes):
            await self._app(scope, _replay(body, receive), send)
        else:
            await (refusal or cast("Refusal", body)).send(send)

    async def _check_token(self, scope: Scope) -> Refusal | None:
        """Refuse a request without the token. Hashes are compared in constant time, so that timing reveals nothing."""
        tokens = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(tokens) != 1:
            return _NO_TOKEN
        now = anyio.current_time()
        if self._busy_until - now > self._limits.max_token_delay:
            return _TOO_MANY
        if hmac.compare_digest(sha256(tokens[0]).digest(), self._expected):
            return None
        self._busy_until = max(now, self._busy_until) + self._limits.wrong_token_delay
        await anyio.sleep(self._busy_until - now)
        return _NO_TOKEN

    async def _read_body(self, receive: Receive, seconds: float) -> bytes | Refusal | None:
        """The complete body, why it is refused, or None if the client is gone."""
        chunks: list[bytes] = []
        size, limit = 0, self._limits.request_bytes
        with anyio.move_on_after(seconds):
            while size <= 4 * limit:  # read on for a while: a client that is still sending does not read the answer
                message = await receive()
                if message["type"] != "http.request":
                    return None
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                if size > limit:
                    chunks.clear()
                if not message.get("more_body", False):
                    return b"".join(chunks) if size <= limit else _TOO_LONG
        return _TOO_LONG if size > limit else _TOO_SLOW


def _check_source(scope: Scope) -> Refusal | None:
    """Refuse a request that was sent to another name, or by a page of another origin."""
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name, []).append(value)
    hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
    if not scope["raw_path"].startswith(b"/"):
        return Refusal(400, "send the path alone, not a URL")
    if len(hosts) != 1 or not _LOCAL_HOST.fullmatch(hosts[0]):
        return Refusal(421, "this server does not have that name")
    if origins not in ([], [b"http://" + hosts[0]]) or any(one not in _SAME_SITE for one in headers.get(b"sec-fetch-site", [])):
        return Refusal(403, "requests from other pages are refused")
    return None


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that starts with a body that was read already."""
    is_first = True

    async def replay() -> Message:
        nonlocal is_first
        if not is_first:
            return await receive()
        is_first = False
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class Connection(H11Protocol):
    """A connection that is closed if its client stops sending a request, or stops reading the answer."""

    limits: ClassVar[Limits] = Limits()
    timers: dict[str, asyncio.TimerHandle]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection. If there are too many, close the one that has been silent for longest."""
        self.timers = {}
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.limits.send_buffer_bytes)
        active = [one for one in self.connections if isinstance(one, Connection) and not one.transport.is_closing()]
        if len(active) > self.limits.connections:
            silent = [one for one in active if "headers" in one.timers]  # opening connections must not keep others out
            (min(silent, key=lambda one: one.timers["headers"].when()) if silent else self).end(_UNAVAILABLE)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """Take bytes; those that begin another request must complete it in time."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel("headers")
        elif "headers" not in self.timers:
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timers."""
        self._cancel("headers")
        self._cancel("write")
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read: give it some time."""
        super().pause_writing()
        self.timers["write"] = self.loop.call_later(self.limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self._cancel("write")

    def _expect_headers(self) -> None:
        if not self.transport.is_closing():
            self.timers["headers"] = self.loop.call_later(self.limits.header_seconds, self.end, _TIMEOUT)

    def _cancel(self, name: str) -> None:
        if (timer := self.timers.pop(name, None)) is not None:
            timer.cancel()

    def end(self, response: bytes) -> None:
        """Send a last response and close."""
        if not self.transport.is_closing():
            self.transport.write(response)
            self.transport.close()


@contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket: clients may connect at once, and wait until the server is up."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen(BACKLOG)
        except OSError as error:
            raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}", hint="--port 0 takes a free port") from error
        yield bound


def url_of(host: str, bound: socket.socket) -> str:
    """The URL of a listening socket."""
    place = f"[{host}]" if ":" in host else host
    return f"http://{place}:{bound.getsockname()[1]}"


def _is_no_farewell(record: logging.LogRecord) -> bool:
    """Whoever ends a server need not be told that a client was still connected."""
    return "graceful shutdown" not in str(record.msg)


def http_server(app: ASGIApp, limits: Limits) -> Server:
    """A server for an application behind the guard."""
    logging.getLogger("uvicorn.error").addFilter(_is_no_farewell)
    return Server(
        Config(
            app,
            http=type("Connection", (Connection,), {"limits": limits}),
            ws="none",
            backlog=BACKLOG,
            lifespan="on",
            log_config=None,
            log_level="error",  # a line for every bad request would let strangers fill the disk
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=limits.header_bytes,
            timeout_keep_alive=limits.keep_alive_seconds,
            timeout_graceful_shutdown=1,
        )
    )
