"""Requests to the page's server as bytes over real sockets: a client library would mend what is wrong on purpose."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from dataclasses import dataclass
from typing import Any

from ui.pages import Served

#: Seconds after which an answer is not late but missing.
LONG = 120.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, which must be JSON as everybody reads it: no NaN, no Infinity."""
        return json.loads(self.body, parse_constant=_no_number)


def _no_number(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


def sent(served: Served, line: str, body: bytes = b"", *more: str, **headers: str | None) -> Answer:
    """The answer to a request that is right in all but what is given (None leaves a header out); `line` is as "GET /path"."""
    address = served.base.removeprefix("http://")
    given: dict[str, str | None] = {
        "Host": address,
        "Authorization": f"Bearer {served.token}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = [f"{line} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value is not None), *more]
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=LONG) as raw:
        with contextlib.suppress(OSError):  # what is refused may be answered before all of it is sent
            raw.sendall("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)
        return read(raw)


def read(raw: socket.socket) -> Answer:
    """All that is answered until the connection is closed."""
    received = b""
    with contextlib.suppress(OSError):
        while piece := raw.recv(1 << 16):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    found = re.match(r"HTTP/1\.[01] (\d{3}) ", first)
    assert found, received[:200]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = _joined(body)
    return Answer(int(found[1]), headers, body)


def _joined(chunks: bytes) -> bytes:
    whole = b""
    while chunks:
        size, _, rest = chunks.partition(b"\r\n")
        length = int(size, 16)
        whole, chunks = whole + rest[:length], rest[length + 2 :]
        if not length:
            break
    return whole
