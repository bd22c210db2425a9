"""What stands before the server over HTTP: who may speak at all, for how long, and how much.

A page in a browser can send requests to this machine, and by DNS rebinding under a name of its own; another user's
program can connect and drip. What is refused here has reached nothing else: the name it was sent to, where it comes
from, the token, then the size and the time of its body.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar, cast

import anyio
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Names of this machine that no server of names can give to another. A forwarded port is as good as our own.
_OURS = re.compile(rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?")
#: What a browser says of a request that no other page had a hand in.
_NOT_FROM_A_PAGE = (b"none", b"same-origin")
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of everything one server over HTTP gives."""

    request_bytes: int = 4 << 20
    head_bytes: int = 16 << 10
    connections: int = 128
    kernel_bytes: int = 128 << 10  # that the kernel keeps of what a caller has not taken yet
    sessions: int = 256
    session_seconds: float = 1_800.0  # without a request
    head_seconds: float = 10.0  # for all headers of a request, and for a first one to come
    body_seconds: float = 30.0  # for all of a body
    taking_seconds: float = 30.0  # for the caller to take what is sent
    idle_seconds: int = 10  # between two requests on one connection
    refused_seconds: float = 1.0  # for the rest of what is refused: who is still sending would not read the answer
    wrong_token_seconds: float = 0.05  # from one wrong token to the next, whoever shows them
    waiting_seconds: float = 5.0  # as long as wrong ones wait longer, no further one is looked at


@dataclass(frozen=True, slots=True)
class Refusal:
    """A plain answer, after which the connection is closed."""

    status: int
    text: str
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def send(self, send: Send) -> None:
        """Answer."""
        body = f"{self.text}\n".encode()
        told = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body)), (b"connection", b"close"), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": told})
        await send({"type": "http.response.body", "body": body})


_NO_TOKEN = Refusal(401, "show the token: Authorization: Bearer TOKEN", ((b"www-authenticate", b"Bearer"),))
_TOO_MANY = Refusal(429, "too many wrong tokens; try again in some seconds", ((b"retry-after", b"5"),))
_LONG_HEAD = Refusal(431, "the headers are too long")
_TOO_LONG = Refusal(413, "the request is too long")
_TOO_SLOW = Refusal(408, "the request did not come in time")


class HttpGuard:
    """An application that answers only callers of this machine who show the token, within limits."""

    def __init__(self, app: ASGIApp, token: str, limits: Limits, *, is_public: Callable[[str], bool] = lambda _: False) -> None:
        self._app, self._limits = app, limits
        self._free = is_public  # the paths that anybody on this machine may have: they tell nothing
        self._wanted = sha256(f"Bearer {token}".encode()).digest()
        self._wrong_until = 0.0  # when the last of those who showed a wrong token is answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or hand it on when it is there as a whole."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._long(scope) or _stray(scope) or (None if self._free(scope["path"]) else await self._stranger(scope))
        body = await self._whole(receive, self._limits.refused_seconds if refusal else self._limits.body_seconds)
        if body is None:
            return
        if refusal is None and isinstance(body, bytes):
            await self._app(scope, _again(body, receive), send)
        else:
            await (refusal or cast("Refusal", body)).send(send)

    def _long(self, scope: Scope) -> Refusal | None:
        """What is said to headers that are too long, even where they came all at once."""
        size = len(scope["raw_path"]) + len(scope["query_string"]) + sum(len(name) + len(value) for name, value in scope["headers"])
        return _LONG_HEAD if size > self._limits.head_bytes else None

    async def _stranger(self, scope: Scope) -> Refusal | None:
        """What is said to who does not show the token. Whole hashes are compared, so that time tells nothing of it."""
        shown = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(shown) != 1:
            return _NO_TOKEN
        now = anyio.current_time()
        if self._wrong_until - now > self._limits.waiting_seconds:
            return _TOO_MANY
        if hmac.compare_digest(sha256(shown[0]).digest(), self._wanted):
            return None
        self._wrong_until = max(now, self._wrong_until) + self._limits.wrong_token_seconds
        await anyio.sleep(self._wrong_until - now)
        return _NO_TOKEN

    async def _whole(self, receive: Receive, seconds: float) -> bytes | Refusal | None:
        """The body of a request, why it is refused, or None when the caller is gone."""
        pieces: list[bytes] = []
        size, most = 0, self._limits.request_bytes
        with anyio.move_on_after(seconds):
            while size <= 4 * most:  # a little more is read, for who is still sending would not read the answer
                message = await receive()
                if message["type"] != "http.request":
                    return None
                pieces.append(message.get("body", b""))
                size += len(pieces[-1])
                if size > most:
                    pieces.clear()
                if not message.get("more_body", False):
                    return b"".join(pieces) if size <= most else _TOO_LONG
        return _TOO_LONG if size > most else _TOO_SLOW


def _stray(scope: Scope) -> Refusal | None:
    """What is said to a request that was not meant for this machine, or that a page of another origin has sent."""
    given: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        given.setdefault(name, []).append(value)
    hosts, origins = given.get(b"host", []), given.get(b"origin", [])
    if not scope["raw_path"].startswith(b"/"):
        return Refusal(400, "give the path alone")
    if len(hosts) != 1 or not _OURS.fullmatch(hosts[0]):
        return Refusal(421, "this is not the server of that name")
    if origins not in ([], [b"http://" + hosts[0]]) or any(one not in _NOT_FROM_A_PAGE for one in given.get(b"sec-fetch-site", [])):
        return Refusal(403, "pages from elsewhere are not answered")
    return None


def _again(body: bytes, receive: Receive) -> Receive:
    """What is received, with a body that was read already."""
    first = True

    async def received() -> Message:
        nonlocal first
        if not first:
            return await receive()
        first = False
        return {"type": "http.request", "body": body, "more_body": False}

    return received


class Connection(H11Protocol):
    """A connection that has to say something, go on saying it, and take what is answered; else it is closed."""

    limits: ClassVar[Limits] = Limits()
    timers: dict[str, asyncio.TimerHandle]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are enough."""
        self.timers = {}
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.limits.kernel_bytes)
        there = [one for one in self.connections if isinstance(one, Connection) and not one.transport.is_closing()]
        if len(there) > self.limits.connections:
            silent = [one for one in there if "head" in one.timers]
            # Who has said nothing for longest makes room: opening connections keeps nobody out.
            (min(silent, key=lambda one: one.timers["head"].when()) if silent else self).end(_FULL)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Take bytes; those that begin another request have to become one in time."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget("head")
        elif "head" not in self.timers:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._forget("head")
        self._forget("taking")
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The caller does not take what is sent: for a while that is waited for."""
        super().pause_writing()
        self.timers["taking"] = self.loop.call_later(self.limits.taking_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The caller takes it again."""
        super().resume_writing()
        self._forget("taking")

    def _expect(self) -> None:
        if not self.transport.is_closing():
            self.timers["head"] = self.loop.call_later(self.limits.head_seconds, self.end, _LATE)

    def _forget(self, name: str) -> None:
        if (timer := self.timers.pop(name, None)) is not None:
            timer.cancel()

    def end(self, said: bytes) -> None:
        """Say a last word, and close."""
        if not self.transport.is_closing():
            self.transport.write(said)
            self.transport.close()
