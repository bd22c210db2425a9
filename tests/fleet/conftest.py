"""Real engines: the server of milvus-lite, one for all tests, and a file that milvus-lite opens."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from whence.core.settings import FleetSettings
from whence.fleet.engine import Engine

#: Prints the process number of the server, which is none of Python's, and waits to be told to end it.
SERVER = """
import sys, warnings
warnings.simplefilter("ignore")
from milvus_lite.server import Server
server = Server(sys.argv[1], sys.argv[2])
assert server.init() and server.start()
print(server._p.pid, flush=True)
sys.stdin.read()
server._p.kill()
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real server, in a process of its own, whose noise goes nowhere."""
    folder, port = tmp_path_factory.mktemp("milvus"), free_port()
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(folder / "fleet.db"), f"127.0.0.1:{port}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        number = int(process.stdout.readline())
        try:
            until = time.monotonic() + 20
            while not listens(port):
                assert time.monotonic() < until, "the server does not listen"
                time.sleep(0.02)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.kill(number, signal.SIGKILL)
            process.stdin.close()
            process.wait(10)


@pytest.fixture
def prefix() -> str:
    return f"t{uuid.uuid4().hex[:12]}"


@pytest.fixture
def fleet(server: str, prefix: str) -> Iterator[FleetSettings]:
    """Settings of a fleet that nobody else has, on the server."""
    settings = FleetSettings(backend="milvus", address=server, prefix=prefix, timeout=10.0)
    yield settings
    with Engine.open(settings) as engine:
        engine.drop()


@pytest.fixture
def engine(fleet: FleetSettings) -> Iterator[Engine]:
    """An engine with all collections, on the server."""
    with Engine.open(fleet) as engine:
        engine.ensure()
        yield engine


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine in a file, kept open for a module: to open one takes half a second."""
    path: Path = tmp_path_factory.mktemp("embedded") / "fleet.db"
    with Engine.open(FleetSettings(backend="milvus", address=str(path))) as engine:
        yield engine


@pytest.fixture(params=["server", "file"])
def either(request: pytest.FixtureRequest, prefix: str) -> Iterator[Engine]:
    """Both forms of the engine: what is said of one is said of the other."""
    address = request.getfixturevalue("server") if request.param == "server" else request.getfixturevalue("one_file").settings.address
    with Engine.open(FleetSettings(backend="milvus", address=address, prefix=prefix)) as engine:
        engine.ensure()
        yield engine
        engine.drop()
