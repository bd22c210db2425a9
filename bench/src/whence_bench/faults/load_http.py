"""Clients that ask the real server over HTTP for a while, and clients that vanish without a word."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import IO, TYPE_CHECKING, Any, cast

from whence.core.errors import StorageError
from whence_bench.faults.crowds_tree import MARKS

if TYPE_CHECKING:
    from mcp.client.client import Client

TOKEN = "what-callers-of-the-load-show"  # noqa: S105  -- of a server that lives for a minute
#: Whoever goes wrong so often has said enough.
MOST_WRONG = 5
_HEADERS = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}},
}
#: A server that lets go of sessions sooner than one that people use.
_IMPATIENT = """
import sys
from dataclasses import replace
from pathlib import Path
from whence.app.http_server import Limits
from whence.mcp.transport import run_http
run_http([Path(sys.argv[1])], {}, "", ("127.0.0.1", 0), sys.argv[2], limits=replace(Limits(), session_idle_seconds=float(sys.argv[3])))
"""


class Served:
    """A server over HTTP in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process, self.pid = process, process.pid
        line = cast("IO[bytes]", process.stderr).readline().decode()
        found = re.search(r"http://\S+", line)
        if found is None:
            process.kill()
            raise StorageError(f"the server does not start: {line.strip()}")
        self.url = found.group()


@contextmanager
def serving(root: Path, environment: Mapping[str, str], *, session_seconds: float | None = None) -> Iterator[Served]:
    """The server as users start it, or one that lets go of sessions after so many seconds."""
    command = [sys.executable, "-m", "whence", "mcp", "--root", str(root), "--http", "--port", "0"]
    if session_seconds is not None:
        command = [sys.executable, "-c", _IMPATIENT, str(root), TOKEN, str(session_seconds)]
    process = subprocess.Popen(
        command,
        env={**environment, "WHENCE_TOKEN": TOKEN},
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield Served(process)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=10)
        finally:
            process.kill()


@contextmanager
def _timed(took: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    took.append(time.perf_counter() - began)


async def ask(client: Client, random: Random, files: int) -> str:
    """One question of some kind; what is wrong with the answer, if anything is."""
    number = random.randrange(files)
    path = f"lib/group_{number % 8}/part_{number}.py"
    kind = random.randrange(9)
    if kind == 0:
        found = await client.read_resource(random.choice(("whence://status", f"whence://unit/{path}#Part{number}")))
        return "" if found.contents else "a resource is empty"
    if kind == 1:
        return "" if (await client.list_tools()).tools else "there are no tools"
    tool, arguments = cast(
        "tuple[str, dict[str, Any]]",
        (
            ("search", {"query": random.choice((MARKS[number % 5], "where is the connection limit", f"Part{number}"))}),
            ("search", {"query": f"walrus path:lib/group_{number % 8}", "k": 20, "why": True}),
            ("context", {"task": f"change how {MARKS[number % 5]} is parsed", "budget": 800}),
            ("related", {"place": f"{path}:8"}),
            ("graph", {"question": "callers", "symbol": f"{path}#Part{number}"}),
            ("remember", {"text": f"walrus {number} is seen near the bridge", "topic": f"walrus {number % 8}"}),
            ("recall", {"query": f"walrus {number % 8}"}),
        )[kind - 2],
    )
    answer = await client.call_tool(tool, arguments)
    text = "".join(getattr(part, "text", "") for part in answer.content)
    return f"{tool} {json.dumps(arguments)}: {text[:300]}" if answer.is_error or not text else ""


async def load(served: Served, *, clients: int, seconds: float, seed: int, files: int) -> tuple[list[float], list[str]]:
    """Clients that ask all at once, half of them in sessions and half without: what calls took, and what was wrong."""
    took: list[float] = []
    wrong: list[str] = []
    until = time.monotonic() + seconds

    async def one(number: int) -> None:
        random = Random(seed * 100 + number)
        while time.monotonic() < until and len(wrong) < MOST_WRONG:
            await _conversation(served, "legacy" if number % 2 else "auto", lambda client: _questions(client, random), wrong)

    async def _questions(client: Client, random: Random) -> None:
        for _ in range(200):  # then another client comes, as agents do
            if time.monotonic() > until or len(wrong) >= MOST_WRONG:
                return
            with _timed(took):
                said = await ask(client, random, files)
            if said:
                wrong.append(f"seed {seed}: {said}")

    await asyncio.gather(*(one(number) for number in range(clients)))
    return took, wrong


async def _conversation(served: Served, mode: str, talk: Callable[[Client], Awaitable[None]], wrong: list[str]) -> None:
    import httpx2  # noqa: PLC0415  -- comes with the SDK
    from mcp.client.client import Client  # noqa: PLC0415  -- half a second
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415  -- as above

    try:
        async with (
            httpx2.AsyncClient(headers={"Authorization": _HEADERS["Authorization"]}, timeout=60, verify=False) as http,
            Client(streamable_http_client(served.url, http_client=http), mode=mode) as client,
        ):
            await talk(client)
    except Exception as error:  # noqa: BLE001  -- whatever it is, it is to be told
        wrong.append(f"a client ({mode}) met {type(error).__name__}: {error}")


async def once(served: Served, files: int, wrong: list[str]) -> None:
    """One client that asks for everything there is to load, and goes."""

    async def talk(client: Client) -> None:
        said = [await ask(client, Random(seed), files) for seed in range(30)]
        wrong.extend(filter(None, said))

    await _conversation(served, "legacy", talk, wrong)


async def vanish(served: Served, clients: int) -> list[str]:
    """Clients that begin a session, listen, and are gone without a word: the names of their sessions."""
    import httpx2  # noqa: PLC0415  -- comes with the SDK

    sessions = []
    for _ in range(clients):
        http = httpx2.AsyncClient(headers=_HEADERS, timeout=30, verify=False)
        answer = await http.post(served.url, json=_HELLO)
        session = {"mcp-session-id": answer.headers["mcp-session-id"]}
        await http.post(served.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        listening = await http.send(http.build_request("GET", served.url, headers=session), stream=True)
        sessions.append(session["mcp-session-id"])
        await listening.aclose()
        await http.aclose()
    return sessions


async def known(served: Served, sessions: list[str]) -> int:
    """How many sessions the server still knows."""
    import httpx2  # noqa: PLC0415  -- comes with the SDK

    async with httpx2.AsyncClient(headers=_HEADERS, timeout=30, verify=False) as http:
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        answers = [await http.post(served.url, json=ping, headers={"mcp-session-id": session}) for session in sessions]
    return sum(answer.status_code == 200 for answer in answers)


def environment(folder: Path) -> dict[str, str]:
    """The caller's environment without any setting of the user, and with this very package."""
    import whence  # noqa: PLC0415

    package = str(Path(whence.__file__).resolve().parents[1])
    paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WHENCE_")}
    ours = {"WHENCE_DATA_DIR": str(folder / "data"), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "share")}
    return {**kept, **ours, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
