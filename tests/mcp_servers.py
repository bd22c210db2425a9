"""Real servers in processes of their own, and callers that speak with them: by the SDK's client, or by bare lines and requests."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import anyio.from_thread
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from typing_extensions import Self

from sample_trees import SOURCES

#: Seconds after which an answer is not late but missing.
LONG = 60.0
TOKEN = "a-token-of-the-tests"


def surroundings(home: Path, **more: str) -> dict[str, str]:
    """An environment in which nothing of the user's can be read or written."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WHENCE_", "XDG_"))}
    places = {"HOME": home, "WHENCE_DATA_DIR": home / "data", "XDG_CONFIG_HOME": home / "config", "XDG_DATA_HOME": home / "share"}
    home.mkdir(parents=True, exist_ok=True)
    return {**kept, **{name: str(place) for name, place in places.items()}, "PYTHONPATH": str(SOURCES), **more}


def command(*roots: Path, more: tuple[str, ...] = ()) -> list[str]:
    """How a server is started."""
    return [sys.executable, "-m", "whence", "mcp", *(word for root in roots for word in ("--root", str(root))), *more]


class Said(str):
    """The text of an answer, and whether it was an error."""

    __slots__ = ("wrong",)
    wrong: bool

    @classmethod
    def of(cls, text: str, wrong: bool) -> Said:
        said = cls(text)
        said.wrong = wrong
        return said


class Bare:
    """A server over standard streams, spoken to line by line."""

    def __init__(self, home: Path, *roots: Path, more: tuple[str, ...] = (), argv: list[str] | None = None, **options: Any) -> None:
        self.process = subprocess.Popen(
            argv or command(*roots, more=more),
            env=options.pop("env", None) or surroundings(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )
        self._number = 0
        self._lines: queue.Queue[bytes] = queue.Queue()
        self.stderr = b""
        self.notified: list[dict[str, Any]] = []
        self._threads = [threading.Thread(target=reading, daemon=True) for reading in (self._listen, self._keep_stderr)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        self.initialize()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _listen(self) -> None:
        for line in cast("IO[bytes]", self.process.stdout):
            self._lines.put(line)
        self._lines.put(b"")

    def _keep_stderr(self) -> None:
        for line in cast("IO[bytes]", self.process.stderr):
            self.stderr += line

    def send(self, data: bytes) -> None:
        stdin = cast("IO[bytes]", self.process.stdin)
        stdin.write(data)
        stdin.flush()

    def receive(self, seconds: float = LONG) -> dict[str, Any]:
        """The next message. Everything that comes must be one."""
        line = self._lines.get(timeout=seconds)
        assert line, f"the server is gone: {self.process.wait()} {self.stderr.decode()}"
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0", line
        return cast("dict[str, Any]", message)

    def begin(self, method: str, params: Any = None) -> int:
        """Send a request without waiting."""
        self._number += 1
        asked = {"jsonrpc": "2.0", "id": self._number, "method": method, **({} if params is None else {"params": params})}
        self.send(json.dumps(asked).encode() + b"\n")
        return self._number

    def reply(self, number: int, seconds: float = LONG) -> dict[str, Any]:
        """The answer to a request. What comes before it may only be notifications."""
        while (message := self.receive(seconds)).get("id") != number:
            assert "id" not in message, f"waiting for {number}: {message}"
            self.notified.append(message)
        return message

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        return self.reply(self.begin(method, params))

    def notify(self, method: str, params: Any = None) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}).encode() + b"\n")

    def initialize(self) -> dict[str, Any]:
        answer = self.ask(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        )
        self.notify("notifications/initialized")
        return cast("dict[str, Any]", answer["result"])

    def ping(self) -> None:
        assert self.ask("ping")["result"] == {}

    def call(self, tool: str, **arguments: Any) -> Said:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        (content,) = result["content"]
        return Said.of(content["text"], result.get("isError", False))

    def end(self) -> int:
        """Close its standard input, and wait for its end."""
        with contextlib.suppress(OSError):
            cast("IO[bytes]", self.process.stdin).close()
        try:
            code = self.process.wait(LONG)
        finally:
            self.process.kill()
        for thread in self._threads:
            thread.join(LONG)
        return code


class Caller:
    """The SDK's client, from plain functions."""

    def __init__(self, portal: anyio.from_thread.BlockingPortal, client: Client) -> None:
        self.portal, self.client = portal, client

    def call(self, tool: str, /, **arguments: Any) -> Said:
        result = self.portal.call(self.client.call_tool, tool, arguments)
        (content,) = result.content
        return Said.of(cast("Any", content).text, bool(result.is_error))

    def read(self, uri: str) -> str:
        (content,) = self.portal.call(self.client.read_resource, uri).contents
        return cast("str", cast("Any", content).text)

    def prompt(self, name: str, **arguments: str) -> str:
        (message,) = self.portal.call(self.client.get_prompt, name, arguments).messages
        return cast("str", cast("Any", message.content).text)

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return self.portal.call(work, *arguments)


@contextlib.contextmanager
def over_stdio(home: Path, *roots: Path, more: tuple[str, ...] = (), mode: str = "legacy") -> Iterator[Caller]:
    """The SDK's client with a server of its own."""
    program, *arguments = command(*roots, more=more)
    # The SDK hands a few variables on by itself; ours are given on top of them.
    parameters = StdioServerParameters(command=program, args=arguments, env=surroundings(home))
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(parameters), mode=mode)) as client,
    ):
        yield Caller(portal, client)


class Listening:
    """A server over HTTP."""

    def __init__(self, home: Path, *roots: Path, more: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            command(*roots, more=("--http", "--port", "0", *more)),
            env=surroundings(home, WHENCE_TOKEN=TOKEN),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        line = cast("IO[bytes]", self.process.stderr).readline().decode()
        found = re.search(r"http://\S+", line)
        assert found, f"{line}{self.process.communicate()}"
        self.url = found.group()
        self.port = int(self.url.rsplit(":", 1)[1].split("/")[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=LONG)
        finally:
            self.process.kill()

    @contextlib.contextmanager
    def caller(self, *, mode: str = "legacy") -> Iterator[Caller]:
        """The SDK's client over HTTP."""

        @contextlib.asynccontextmanager
        async def connected() -> Any:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=LONG) as http,
                Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
            ):
                yield client

        with anyio.from_thread.start_blocking_portal() as portal, portal.wrap_async_context_manager(connected()) as client:
            yield Caller(portal, client)


# Processes.
def children(pid: int) -> list[int]:
    """The processes that one started, and those that they started."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found += [int(stat.parent.name), *children(int(stat.parent.name))]
    return found


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(holds: Callable[[], Any], seconds: float = LONG) -> Any:
    """Wait for something to hold, and what it then is."""
    deadline = time.monotonic() + seconds
    while not (now := holds()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return now
