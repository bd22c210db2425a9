"""A server that nobody asks costs next to nothing, and one that is asked much does not grow."""

from __future__ import annotations

import time
from pathlib import Path

from mcp_servers import Bare

MOST_MEGABYTES = 120


def megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def ticks(pid: int) -> int:
    """The processor's time that a process has used, in hundredths of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def held(pid: int) -> tuple[int, int]:
    """Threads, and open files."""
    threads, handles = (len(list(Path(f"/proc/{pid}/{what}").iterdir())) for what in ("task", "fd"))
    return threads, handles


def test_an_idle_server_is_small_and_still_and_does_not_grow_with_use(shop: Path, shop_home: Path) -> None:
    with Bare(shop_home, shop) as server:
        pid = server.process.pid
        assert megabytes(pid) <= MOST_MEGABYTES
        for number in range(20):
            server.call("search", query=f"sum of all prices {number}")
        assert megabytes(pid) <= MOST_MEGABYTES
        server.call("graph", question="callers", symbol="discount")
        server.call("context", task="change the discount")
        server.call("recall", query="discounts")
        before, size = held(pid), megabytes(pid)
        for number in range(25):
            server.call("search", query=f"total {number}")
            server.call("graph", question="callers", symbol="discount")
            server.call("search", query="x", path="/etc")
            server.ask("no/such")
        assert [late <= early + 1 for late, early in zip(held(pid), before, strict=True)] == [True, True], (before, held(pid))
        assert megabytes(pid) <= size + 15
        time.sleep(0.3)
        used = ticks(pid)
        time.sleep(3)
        assert ticks(pid) - used <= 2
