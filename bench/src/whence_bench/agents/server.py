"""The server for agents as a process of its own, asked with the SDK's client, with what it costs."""

from __future__ import annotations

import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.core.errors import StorageError

if TYPE_CHECKING:
    from types import TracebackType

    from mcp.client.client import Client
    from typing_extensions import Self

_NANO = 1e-9
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20


class Served:
    """A running server of one root."""

    def __init__(self, root: Path, data_dir: Path) -> None:
        self._root, self._data_dir, self._stack = root, data_dir, AsyncExitStack()
        self._client: Client | None = None
        self._pid = 0

    async def __aenter__(self) -> Self:
        from mcp.client.client import Client  # noqa: PLC0415  -- half a second
        from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415  -- as above

        paths = os.pathsep.join(entry for entry in sys.path if entry)
        environment = {**os.environ, "WHENCE_DATA_DIR": str(self._data_dir), "PYTHONPATH": paths, "WHENCE_LEARN_ENABLED": "false"}
        started = StdioServerParameters(
            command=sys.executable, args=["-m", "whence", "mcp", "--root", str(self._root)], env=environment, cwd="/"
        )
        before = _children()
        self._client = await self._stack.enter_async_context(Client(stdio_client(started)))
        self._pid = next(iter(_children() - before))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._stack.aclose()

    async def text(self, tool: str, **arguments: Any) -> str:
        """What a tool answers."""
        if self._client is None:
            raise StorageError("the server is not running")
        found = await self._client.call_tool(tool, arguments)
        return "".join(getattr(part, "text", "") for part in found.content)

    def cpu_seconds(self) -> float:
        """CPU that all threads of the server took so far, without what it started."""
        tasks = Path(f"/proc/{self._pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks) * _NANO

    def rss_mb(self) -> float:
        """Its memory."""
        return int(Path(f"/proc/{self._pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE_MB


def _children() -> set[int]:
    """The processes that this one started."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {int(pid) for pid in (task / "children").read_text(encoding="ascii").split()}
    return found
