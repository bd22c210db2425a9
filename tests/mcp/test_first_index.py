"""A first index takes longer than an agent waits: it is answered at once from what there is, and the work goes on."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

from mcp_servers import LONG, Bare, Caller, over_stdio, until

#: A caller waits for a fraction of a second only.
HASTY = ("--set", "mcp.patience=0.3")


def whole(server: Caller) -> dict[str, Any] | None:
    """The state of the server, once nothing is being built any more."""
    status: dict[str, Any] = json.loads(server.read("whence://status"))["roots"][0]
    return None if status["building"] else status


def test_a_call_with_a_short_time_out_is_answered_from_words_and_later_ones_from_the_whole_index(large_tree: Path, tmp_path: Path) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def tell(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    with over_stdio(tmp_path / "home", large_tree, more=HASTY) as server:

        async def first() -> str:
            asked = {"query": "class Part_217"}
            result = await server.client.call_tool("search", asked, read_timeout_seconds=LONG, progress_callback=tell)
            return result.content[0].text  # type: ignore[union-attr]

        begun = time.monotonic()
        text = server.run(first)
        assert time.monotonic() - begun < LONG / 4
        assert text.startswith("INDEXING ("), text
        assert "lib/part_217.py:1 holds" in text
        assert "nothing found" not in text
        assert told
        assert all(earlier[0] < later[0] <= 1 for earlier, later in itertools.pairwise(told))
        assert "indexing large" in (told[0][2] or "")
        in_the_making = server.call("context", task="change Part_217")
        assert "is being built" in in_the_making or "INDEXING" in in_the_making or "Part_217" in in_the_making
        assert until(lambda: whole(server))["files"] == 300
        later = server.call("search", query="class Part_217")
        assert later.startswith("1. lib/part_217.py:1-1 class Part_217"), later
        assert "INDEXING" not in later


def test_a_call_that_is_cancelled_leaves_the_server_free_and_the_build_at_work(large_tree: Path, tmp_path: Path) -> None:
    with Bare(tmp_path / "home", large_tree, more=("--set", "mcp.patience=60")) as server:
        number = server.begin("tools/call", {"name": "search", "arguments": {"query": "walrus"}, "_meta": {"progressToken": 1}})
        while server.receive().get("method") != "notifications/progress":
            pass
        server.notify("notifications/cancelled", {"requestId": number})
        begun = time.monotonic()
        ping = server.begin("ping")
        while (answer := server.receive()).get("id") != ping:
            assert "result" not in answer, "what was cancelled is not answered"
        assert time.monotonic() - begun < LONG / 4
        # The next call waits for the same build, and has all of it.
        said = server.call("search", query="class Part_217")
        assert said.startswith("1. lib/part_217.py")
        assert "index: 300 files" in said


def test_two_servers_on_one_new_tree_build_it_once_and_both_answer(large_tree: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with over_stdio(home, large_tree, more=HASTY) as one, over_stdio(home, large_tree, more=HASTY) as other:

        async def ask(caller: Caller, query: str) -> str:
            return (await caller.client.call_tool("search", {"query": query})).content[0].text  # type: ignore[union-attr]

        begun = [
            caller.portal.start_task_soon(ask, caller, query) for caller, query in ((one, "class Part_203"), (other, "class Part_204"))
        ]
        first, second = (work.result(LONG) for work in begun)
        assert "part_203.py" in first
        assert "part_204.py" in second
        assert until(lambda: whole(one))["files"] == 300
        assert until(lambda: whole(other))["files"] == 300
        for caller in (one, other):
            assert caller.call("search", query="class Part_217").startswith("1. lib/part_217.py:1-1")
