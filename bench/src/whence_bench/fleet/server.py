"""The local server of milvus-lite, started for a benchmark and ended with it, and what it costs: CPU, memory, disk."""

from __future__ import annotations

import os
import socket
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from whence.core.errors import FleetError
from whence.core.settings import FleetSettings
from whence.fleet.milvus import INSTALL_EMBEDDED

#: Seconds until a server listens, and that an engine has for an answer here.
SECONDS_TO_START, SECONDS_TO_ANSWER = 20.0, 120.0
#: What it prints goes nowhere. The shell becomes the server, so its number is the server's.
_SILENTLY = ("/bin/sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Served:
    """An engine that is there. Of one on another machine nothing is known but its answers."""

    address: str
    pid: int | None = None
    file: Path | None = None

    def settings(self, prefix: str = "bench", **others: Any) -> FleetSettings:
        """How it is reached. Its own names keep what is made here apart from what others have there."""
        own = prefix if self.pid else f"{prefix}_{uuid.uuid4().hex[:12]}"
        return FleetSettings(**{"backend": "milvus", "address": self.address, "prefix": own, "timeout": SECONDS_TO_ANSWER, **others})

    def cpu(self) -> float:
        """CPU seconds that it took so far, threads that have ended included, in steps of one tick of the clock."""
        return process_cpu(self.pid) if self.pid else 0.0

    def memory(self) -> int:
        """Bytes of memory that it has."""
        return int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE if self.pid else 0

    def disk(self) -> int:
        """Bytes of its files."""
        return sum(file.stat().st_size for file in self.file.parent.glob(f"{self.file.name}*")) if self.file else 0


def process_cpu(pid: int) -> float:
    """CPU seconds of a process, its own and its system's."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def served(folder: Path, address: str | None = None) -> Iterator[Served]:
    """The engine of an address, or a new one in a folder."""
    if address:
        yield Served(address)
        return
    lite = _package()

    class Silent(lite.Server):  # type: ignore[misc,name-defined]
        @property
        def args(self) -> list[Any]:
            return [*_SILENTLY, *super().args]

    port, file = free_port(), folder / "fleet.db"
    server = Silent(str(file), f"127.0.0.1:{port}")
    try:
        if not server.init() or not server.start():
            raise FleetError("the server of milvus-lite does not start")
        _listens(port)
        yield Served(f"http://127.0.0.1:{port}", server._p.pid, file)  # noqa: SLF001  -- it is told nowhere else
    finally:
        if server._p is not None:  # noqa: SLF001  -- as above; it would be waited for in vain
            server._p.kill()  # noqa: SLF001
        server.stop()


def _package() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from milvus_lite import server  # noqa: PLC0415  -- no part of an installation
        except ModuleNotFoundError as error:
            hint = f"{INSTALL_EMBEDDED}, or give --address"
            raise FleetError(f"to start an engine the package {error.name} is needed", hint=hint) from error
    found: ModuleType = server
    return found


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _listens(port: int) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while True:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        if time.monotonic() > until:
            raise FleetError(f"the server of milvus-lite does not listen within {SECONDS_TO_START:g} s")
        time.sleep(0.02)
