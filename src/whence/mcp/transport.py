"""MCP over standard streams and over HTTP.

Nothing else may write to the streams. The SDK silently drops a line that is not a message; here it is answered with an
error, as JSON-RPC requires.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from whence.app.server import run_until_exit
from whence.app.workspace import Workspace
from whence.mcp.server import CALL_SECONDS, make_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from whence.app.http_server import Limits


#: The longest message.
MAX_BYTES = 8 << 20
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
#: Seconds between two checks for the parent process.
SECONDS_BETWEEN_LOOKS = 2.0


class Wire:
    """Two byte streams: by default the standard ones, which nobody else may use afterwards."""

    def __init__(self, read: BinaryIO | None = None, write: BinaryIO | None = None) -> None:
        if read is None or write is None:
            read, write = _standard_streams()
        self._read, self._write = read, write
        self._turn: anyio.Lock | None = None

    # What the SDK uses as standard output.
    async def write(self, text: str) -> None:
        """Send a line: whole, and one at a time."""
        if self._turn is None:
            self._turn = anyio.Lock()
        async with self._turn:
            await anyio.to_thread.run_sync(self._send, text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        """Lines are sent as they are written."""

    def _send(self, data: bytes) -> None:
        try:
            self._write.write(data)
            self._write.flush()
        except OSError:  # the caller is gone
            os._exit(0)

    # What the SDK uses as standard input.
    def __aiter__(self) -> AsyncIterator[str]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[str]:
        """Lines that are messages; others are answered with an error."""
        while True:
            line, whole = await anyio.to_thread.run_sync(self._line, abandon_on_cancel=True)
            if not line:
                return
            if line.strip():
                fault = fault_in(line) if whole else (INVALID_REQUEST, f"the message is longer than {MAX_BYTES} bytes", None)
                if fault is None:
                    yield line.decode("utf-8", "replace")
                else:
                    await self.write(_error(*fault))

    def _line(self) -> tuple[bytes, bool]:
        """The next line, and whether it is complete; the rest of one too long is skipped."""
        line = self._read.readline(MAX_BYTES)
        if len(line) < MAX_BYTES or line.endswith(b"\n"):
            return line, True
        while rest := self._read.readline(MAX_BYTES):
            if rest.endswith(b"\n"):
                break
        return line[:1], False


def _standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Take over the standard streams; from now on descriptor 0 reads nothing and 1 is standard error."""
    read, write = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without standard error
        os.dup2(nothing, 1)
    os.close(nothing)
    return read, write


def fault_in(line: bytes) -> tuple[int, str, Any] | None:
    """What is wrong with a line: code, message and id; None if it is a message."""
    import mcp_types  # noqa: PLC0415  -- loaded with the server
    from pydantic_core import from_json  # noqa: PLC0415  -- the SDK's own reader of JSON: what it cannot read, the SDK would drop

    text = line.decode("utf-8", "replace")
    try:
        message = from_json(text)
    except ValueError as error:
        return PARSE_ERROR, f"this is no JSON: {str(error)[:200]}", None
    given = message.get("id") if isinstance(message, dict) else None
    known = given if isinstance(given, str | int) and not isinstance(given, bool) else None
    try:
        mcp_types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        return INVALID_REQUEST, "this is no JSON-RPC message", known
    if known is None and "id" in message and "method" in message:  # taken for a notification, it would never be answered
        return INVALID_REQUEST, "the id of a request is a text or a whole number", None
    return None


def _error(code: int, message: str, known: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": message}}) + "\n"


def end_with_parent() -> None:
    """Exit when the parent process is gone: others may hold its end of the pipe open."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def run_stdio(
    wire: Wire, folders: Sequence[Path], settings: Mapping[str, str], session_id: str, *, call_seconds: float = CALL_SECONDS
) -> NoReturn:
    """Serve one caller over the original standard streams."""
    workspace = Workspace(folders, settings, session_id)

    async def serve() -> None:
        server = make_server(workspace, call_seconds)
        streams = cast("Any", wire)
        async with aclosing(workspace), stdio_server(stdin=streams, stdout=streams) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    end_with_parent()
    run_until_exit(serve)


def run_http(
    folders: Sequence[Path],
    settings: Mapping[str, str],
    session_id: str,
    address: tuple[str, int],
    token: str,
    *,
    limits: Limits | None = None,
    call_seconds: float = CALL_SECONDS,
) -> NoReturn:
    """Serve callers on this machine that have the token, within limits."""
    from whence.app.http_server import HttpGuard, Limits, http_server, listening_socket, url_of  # noqa: PLC0415  -- for HTTP only

    workspace, chosen = Workspace(folders, settings, session_id), limits or Limits()
    with listening_socket(*address) as bound:
        print(f"serving {url_of(address[0], bound)}/mcp", f"token {token}", sep="\n", file=sys.stderr, flush=True)  # noqa: T201
        server = http_server(HttpGuard(_application(workspace, chosen, call_seconds), token, chosen), chosen)

        async def serve() -> None:
            async with aclosing(workspace):
                await server.serve([bound])

        run_until_exit(serve)


def _application(workspace: Workspace, limits: Limits, call_seconds: float) -> ASGIApp:
    """The SDK's application, for use behind our guard."""
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415  -- for HTTP only

    return make_server(workspace, call_seconds).streamable_http_app(
        max_request_body_size=limits.request_bytes,
        max_sessions=limits.sessions,
        session_idle_timeout=limits.session_idle_seconds,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard is stricter
    )
