"""Over HTTP, whatever is sent: nobody from elsewhere is answered, nothing lasts for ever, and the next good call is served.

Everything here is sent over real sockets, byte by byte as written; a client library would mend what is wrong on purpose.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import pytest

from mcp_servers import LONG, TOKEN, Bare, surroundings

PROGRAM = """
import json, sys
from pathlib import Path
from whence.app.http_server import Limits
from whence.mcp.transport import run_http
root, host, limits, seconds, token = json.loads(sys.argv[1])
run_http([Path(root)], {}, "", (host, 0), token, limits=Limits(**limits), call_seconds=seconds)
"""
STDIO = """
import sys
from pathlib import Path
from whence.mcp.transport import Wire
wire = Wire()
from whence.mcp.transport import run_stdio
run_stdio(wire, [Path(sys.argv[1])], {}, "", call_seconds=2.0)
"""
#: Short, so that the tests are; what they bound is the same.
SHORT = {
    "header_seconds": 1.0,
    "body_seconds": 1.0,
    "write_seconds": 1.0,
    "keep_alive_seconds": 1,
    "drain_seconds": 0.3,
    "connections": 40,
    "sessions": 12,
    "session_idle_seconds": 4.0,
    "wrong_token_delay": 0.2,
    "max_token_delay": 1.0,
}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Served:
    """A server with short limits, and requests to it as bytes."""

    def __init__(self, home: Path, root: Path, host: str = "127.0.0.1", seconds: float = 30.0) -> None:
        given = json.dumps([str(root), host, SHORT, seconds, TOKEN])
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, given],
            env=surroundings(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        line = cast("IO[bytes]", self.process.stderr).readline().decode()  # and nothing more of it is ever read
        found = re.search(r":(\d+)/mcp", line)
        assert found, f"{line}{self.process.communicate()}"
        self.address = (host, int(found[1]))

    @property
    def host(self) -> str:
        name = f"[{self.address[0]}]" if ":" in self.address[0] else self.address[0]
        return f"{name}:{self.address[1]}"

    def connected(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=LONG)

    def said(self, data: bytes) -> bytes:
        """All that is answered until the connection is closed, or no more comes."""
        with self.connected() as raw:
            with contextlib.suppress(OSError):
                raw.sendall(data)
            return everything(raw)

    def request(self, body: bytes = b"", *lines: str, line: str = "POST /mcp HTTP/1.1", **headers: str | None) -> bytes:
        """A request as bytes: right in all but what is given (None leaves a header out)."""
        given: dict[str, str | None] = {
            "Host": self.host,
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": str(len(body)),
            "Connection": "close",
        }
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = [line, *(f"{name}: {value}" for name, value in given.items() if value is not None), *lines]
        return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body

    def status(self, data: bytes) -> int:
        return status_of(self.said(data))

    def message(self, method: str, params: Any = None, number: int = 1, **headers: str | None) -> bytes:
        asked = {"jsonrpc": "2.0", "id": number, "method": method, **({} if params is None else {"params": params})}
        return self.request(json.dumps(asked).encode(), **headers)

    def session(self) -> dict[str, str]:
        """The headers of a session that was opened as it should be."""
        answer = self.said(self.message("initialize", HELLO))
        assert status_of(answer) == 200, answer
        found = re.search(rb"mcp-session-id: (\w+)", answer)
        assert found
        headers = {"Mcp_Session_Id": found[1].decode(), "Mcp_Protocol_Version": "2025-06-18"}
        done = self.request(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', **headers)
        assert self.status(done) == 202
        return headers

    def works(self) -> bool:
        """Whether a good caller is served: opens a session, calls a tool, closes the session."""
        headers = self.session()
        asked = self.message("tools/call", {"name": "search", "arguments": {"query": "discount price"}}, **headers)
        answer = self.said(asked)
        self.said(self.request(line="DELETE /mcp HTTP/1.1", **headers))
        return status_of(answer) == 200 and b"shop/price.py" in answer

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=LONG)


def everything(raw: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(OSError):
        while piece := raw.recv(1 << 16):
            received += piece
    return received


def status_of(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.[01] (\d{3}) ", answer)
    return int(found[1]) if found else 0


@pytest.fixture(scope="module")
def served(shop: Path, shop_home: Path) -> Iterator[Served]:
    server = Served(shop_home, shop)
    yield server
    assert server.process.poll() is None  # nothing has ended it
    server.end()


def test_what_was_not_sent_to_this_machine_is_refused(served: Served) -> None:
    """DNS rebinding: a page of evil.example has its name point here, and the browser sends what the page wants."""
    port = served.address[1]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        f"127.0.0.1.evil.example:{port}",
        f"127.0.0.1:{port}.evil.example",
        f"127.0.0.1:{port}@evil.example",
        f"evil.example@127.0.0.1:{port}",
        f"localhost.:{port}",
        f"127.1:{port}",
        f"2130706433:{port}",
        f"0.0.0.0:{port}",
        f"[::]:{port}",
        f"[::ffff:127.0.0.1]:{port}",
        "127.0.0.1:",
        f"127.0.0.1:{port}, evil.example",
        "",
    ):
        assert served.status(served.message("initialize", HELLO, Host=host)) in (400, 421), host
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()
    refused = {
        "no host": served.request(hello, Host=None),
        "no host, of old": served.request(hello, line="POST /mcp HTTP/1.0", Host=None),
        "another host, of old": served.request(hello, line="POST /mcp HTTP/1.0", Host="evil.example"),
        "two hosts": served.request(hello, "Host: evil.example"),
        "absolute, of another": served.request(hello, line="POST http://evil.example/mcp HTTP/1.1"),
        "absolute, with another": served.request(hello, line=f"POST http://{served.host}/mcp HTTP/1.1", Host="evil.example"),
        "a proxy": served.request(line=f"CONNECT {served.host} HTTP/1.1"),
        "no path": served.request(hello, line="POST * HTTP/1.1"),
        "two lengths": served.request(hello, "Content-Length: 1"),
        "length and chunks": served.request(hello, "Transfer-Encoding: chunked"),
    }
    for what, data in refused.items():
        answer = served.said(data)
        assert 400 <= status_of(answer) < 500, (what, answer)
        assert b"whence" not in answer, what  # nor a word of what is here
    for name in ("127.0.0.1", "localhost", "[::1]"):  # a port that is forwarded has another number
        assert served.status(served.message("initialize", HELLO, Host=f"{name}:9999")) == 200
    assert served.works()


def test_no_page_is_answered_and_none_is_told_that_it_may_ask(served: Served) -> None:
    own, port = f"http://{served.host}", served.address[1]
    for origin in (
        "null",
        "file://",
        "http://evil.example",
        f"https://{served.host}",
        f"http://127.0.0.1:{port + 1}",
        f"{own}/",
        f"{own}.",
    ):
        answer = served.said(served.message("initialize", HELLO, Origin=origin))
        assert status_of(answer) == 403, origin
        asking = served.request(
            b"",
            "Access-Control-Request-Method: POST",
            "Access-Control-Request-Headers: authorization",
            line="OPTIONS /mcp HTTP/1.1",
            Origin=origin,
            Authorization=None,
        )
        preflight = served.said(asking)
        assert status_of(preflight) == 403
        assert b"access-control" not in (answer + preflight).lower()
    assert served.status(served.message("initialize", HELLO, Sec_Fetch_Site="cross-site")) == 403
    assert served.status(served.message("initialize", HELLO, Sec_Fetch_Site="same-site")) == 403
    assert served.status(served.request(b"", f"Origin: {own}", Origin="http://evil.example")) == 403
    assert served.status(served.message("initialize", HELLO, Origin=own, Sec_Fetch_Site="same-origin")) == 200


def test_a_wrong_token_gives_nothing_away_and_takes_its_time(served: Served) -> None:
    answers = set()
    for headers in (
        {"Authorization": None},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN} x"},
        {"Authorization": f"bearer {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}", "authorization": "Bearer x"},  # two of them
    ):
        answers.add(served.said(served.message("initialize", HELLO, **headers)))
    answers.add(served.said(served.request(line=f"GET /mcp?token={TOKEN} HTTP/1.1", Authorization=None)))
    answers.add(served.said(served.request(line=f"GET /mcp?access_token={TOKEN} HTTP/1.1", Authorization=None)))
    answers.add(served.said(served.request(line="GET /no/such/page HTTP/1.1", Authorization=None, Cookie=f"token={TOKEN}")))
    told = {re.sub(rb"date: [^\r]*\r\n", b"", answer) for answer in answers}
    assert len(told) == 1, told  # whatever was wrong, and wherever
    assert status_of(told.pop()) == 401
    # Guesses wait for one another; when many do, no further ones are looked at, right or wrong.
    guess = served.message("initialize", HELLO, Authorization="Bearer guess")
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        guessing = [stack.enter_context(served.connected()) for _ in range(30)]
        for raw in guessing:
            raw.sendall(guess)
        told = [status_of(everything(raw)) for raw in guessing]
    assert set(told) == {401, 429}
    assert told.count(401) <= 1 + (time.monotonic() - began) / SHORT["wrong_token_delay"]
    time.sleep(SHORT["max_token_delay"])
    assert served.works()


def test_what_drips_or_says_nothing_is_ended_in_time(served: Served) -> None:
    whole = served.message("initialize", HELLO)
    head, _, body = whole.partition(b"\r\n\r\n")
    again = served.message("initialize", HELLO, Connection="keep-alive")
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        silent, half, bodiless, chunked, idle, second = (stack.enter_context(served.connected()) for _ in range(6))
        half.sendall(head[:40])
        bodiless.sendall(head + b"\r\n\r\n" + body[:9])
        chunked.sendall(served.request(b"", "Transfer-Encoding: chunked", Content_Length=None) + b'3\r\n{"a\r\n')
        idle.sendall(again)
        second.sendall(again + head[:40])
        with contextlib.suppress(OSError):
            for byte in head[40:55]:  # a byte now and then does not put it off
                half.sendall(bytes([byte]))
                time.sleep(0.1)
        answers = [everything(raw) for raw in (silent, half, bodiless, chunked, idle, second)]
    assert time.monotonic() - began < 9
    assert [status_of(answer) for answer in answers] == [408, 408, 408, 408, 200, 200]
    assert served.works()


def test_a_caller_that_does_not_take_its_answer_is_dropped(served: Served) -> None:
    headers = served.session()
    ask = served.message("tools/list", number=3, Connection="keep-alive", **headers)
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        raw.settimeout(LONG)
        raw.connect(served.address)
        deadline = time.monotonic() + 28
        with contextlib.suppress(OSError):  # reset, or a broken pipe
            while time.monotonic() < deadline:
                raw.sendall(ask)  # and nothing is read
        assert time.monotonic() < deadline
    assert served.works()


def test_what_is_too_long_is_refused_however_it_comes(served: Served) -> None:
    size = 5 << 20
    assert served.status(served.request(b"x" * size)) == 413
    assert served.status(served.request(b"", Content_Length=str(1 << 40))) == 408  # it said so, and did not come
    chunks = b"".join(b"%x\r\n%s\r\n" % (1 << 16, b"x" * (1 << 16)) for _ in range(size >> 16)) + b"0\r\n\r\n"
    assert served.status(served.request(chunks, "Transfer-Encoding: chunked", Content_Length=None)) == 413
    assert served.status(served.request(b"", *(f"X-{number}: {'x' * 100}" for number in range(400)))) in (400, 431)
    assert served.status(served.request(line=f"GET /{'x' * 40_000} HTTP/1.1")) in (400, 431)
    assert served.status(served.request(b"{}", Content_Type="text/plain")) == 400
    assert served.works()


def test_connections_and_sessions_are_bounded_and_free_again_when_they_end(served: Served) -> None:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(served.connected()) for _ in range(100)]
        assert served.works()  # those who say nothing make room
        assert status_of(everything(held[0])) == 503
    assert served.works()
    with contextlib.ExitStack() as stack:
        for _ in range(cast("int", SHORT["connections"])):
            stack.enter_context(served.connected()).sendall(served.request(b"", Content_Length="9"))
        time.sleep(0.2)
        assert served.status(served.message("initialize", HELLO)) == 503  # those who are being served do not
    assert served.works()
    opened = []
    while status_of(answer := served.said(served.message("initialize", HELLO))) == 200:
        opened.append(cast("re.Match[bytes]", re.search(rb"mcp-session-id: (\w+)", answer))[1].decode())
        assert len(opened) <= SHORT["sessions"]
    assert status_of(answer) == 503
    for one in opened:
        served.said(served.request(line="DELETE /mcp HTTP/1.1", Mcp_Session_Id=one))
    assert served.works()


def test_no_bytes_end_the_server_or_fill_what_nobody_reads(served: Served) -> None:
    """Some thousands of them: a line of the log for each would fill the pipe of standard error, and the server would wait for a reader."""
    chance = random.Random(7)
    whole = served.message("initialize", HELLO)
    hello = bytes.fromhex("16030100c8010000c403031f") + chance.randbytes(188)  # as TLS begins
    odd = [
        hello,
        b"\r\n" * 50,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /mcp HTTP/1.1\nHost: x\n\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        served.request(b"zz\r\n", "Transfer-Encoding: chunked", Content_Length=None),
        served.request(b"fffffffffffffffff\r\n", "Transfer-Encoding: chunked", Content_Length=None),
        served.request(b"", Content_Length="-1"),
        served.request(b"", "Upgrade: websocket", Connection="upgrade"),
        served.request(b"", "X: a\r\n b"),
        whole[: len(whole) // 2],
    ]
    for number in range(700):
        data = odd[number] if number < len(odd) else chance.randbytes(chance.randrange(1, 300))
        if number % 5 == 1:  # something that is nearly right
            place = chance.randrange(len(whole))
            data = whole[:place] + chance.randbytes(3) + whole[place + 3 :]
        with contextlib.suppress(OSError), served.connected() as raw:
            raw.sendall(data)
            if number < len(odd):
                raw.settimeout(3)
                assert status_of(everything(raw)) in range(400, 500), data
            elif number % 2:
                raw.shutdown(socket.SHUT_WR)
                raw.recv(100)
    time.sleep(4.5)  # some were right, and have opened sessions: those end when nobody uses them
    assert served.works()


def test_connections_that_are_opened_and_dropped_cost_nothing(served: Served) -> None:
    def handles() -> int:
        return len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))

    assert served.works()
    time.sleep(1.2)
    before = handles()
    for _ in range(3_000):
        with contextlib.suppress(OSError):
            served.connected().close()
    assert served.works()
    time.sleep(1.2)
    assert handles() <= before + 2


def test_it_can_be_served_on_the_other_loopback_address(shop: Path, shop_home: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no ::1")
    server = Served(shop_home, shop, "::1")
    try:
        assert server.works()
        assert server.status(server.message("initialize", HELLO, Host=f"[::1]:{server.address[1]}.evil.example")) == 421
        assert server.status(server.message("initialize", HELLO, Origin=f"http://[::1]:{server.address[1] + 1}")) == 403
    finally:
        server.end()


def test_a_call_that_takes_too_long_is_given_up_and_the_next_is_served(shop: Path, tmp_path: Path) -> None:
    notes = tmp_path / "data" / "notes"
    notes.mkdir(parents=True)
    remember = {"name": "remember", "arguments": {"text": "The walrus likes herring."}}
    argv = [sys.executable, "-c", STDIO, str(shop)]
    with Bare(tmp_path, argv=argv, env=surroundings(tmp_path)) as server, (notes / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as a process that hangs would hold it
        began = time.monotonic()
        answer = server.ask("tools/call", remember)["result"]
        assert answer["isError"]
        assert "longer than 2 s" in answer["content"][0]["text"]
        assert time.monotonic() - began < 20
        server.ping()
        fcntl.flock(lock, fcntl.LOCK_UN)
        said = server.call("recall", query="walrus")
        while "longer than" in said:  # what was begun is still being finished
            said = server.call("recall", query="walrus")
        assert "herring" in said
