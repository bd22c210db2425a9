"""The server for agents, tried with lines: what reads them by itself, and the whole server over a small real index.

The bench is told of before the servers and may not know them: what is tried is found by its name.
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from whence_bench.faults.fuzz_engine import Try

#: Seconds after which an answer does not come any more.
LATE = 30.0
#: Lines of one input that are sent; each is a message, and only the length of a message is to be tried.
MOST_LINES = 100
#: What only a file outside the root is called, and holds.
CANARY = "kestrel4711"
FILES = {
    "shop/cart.py": "from shop.price import discount\n\n\nclass Cart:\n    def total(self):\n        return sum(map(discount, self))\n",
    "shop/price.py": "def discount(line):\n    return line * 0.9\n",
    "shop/pay.py": "from shop.cart import Cart\n\n\ndef pay(cart: Cart, card):\n    return card.charge(cart.total())\n",
    "README.md": "# Shop\n\nHerring and clams.\n",
}


def _call(name: str, **arguments: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}).encode()


SEEDS = (
    b'{"jsonrpc":"2.0","id":7,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    b'{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"whence://unit/shop/cart.py#Cart.total"}}',
    b'{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"whence://status"}}',
    b'{"jsonrpc":"2.0","id":4,"method":"prompts/list"}',
    _call("search", query="how is the total of a cart made", path="shop", k=3, why=True),
    _call("search", query='path:shop lang:python "total" -test', budget=200),
    _call("context", task="charge the card twice", budget=500),
    _call("context", files=["shop/cart.py", "../outside"], budget=300),
    _call("related", place="shop/cart.py:5", k=2),
    _call("graph", question="callers", symbol="Cart.total", depth=2),
    _call("graph", question="path", symbol="pay", to="discount"),
    _call("remember", text="Never charge twice.", topic="charging", about=["shop/pay.py#pay"], tags=["pay"]),
    _call("recall", query="charging", k=2, since="2026-01-01", tags=["pay"]),
    _call("feedback", useful=["pay"], useless=["discount"], task="charge"),
)


def lines(_: Path) -> Try:
    """What looks at a line first, and what looks at the arguments of a call."""
    fault_in = import_module("whence.mcp.transport").fault_in
    tools = import_module("whence.mcp.tools").BY_NAME

    def tried(data: bytes) -> None:
        found = fault_in(data)
        if found is not None:
            json.dumps(found)
            return
        message = json.loads(data.decode("utf-8", "replace"))
        asked = message.get("params") if isinstance(message.get("params"), dict) else {}
        tool = tools.get(asked.get("name")) if isinstance(asked.get("name"), str) else None
        if tool is not None and isinstance(asked.get("arguments"), dict):
            given = tool.checked(asked["arguments"])
            assert given.keys() <= tool.properties.keys()

    return tried


def server(place: Path) -> Try:
    """The whole server: every request is answered, then a ping is, and nothing outside the root is named."""
    root, outside = _tree(place)
    talks = [_Talk(root)]
    before = sorted(outside.iterdir())
    fault_in = import_module("whence.mcp.transport").fault_in

    def tried(data: bytes) -> None:
        if talks[-1].ended:
            talks[:] = [_Talk(root)]
        lines = [line for line in data.split(b"\n")[:MOST_LINES] if line.strip()]
        said = talks[-1].exchange(lines, [number for line in lines for number in _asks(line, fault_in)])
        assert CANARY not in said or CANARY in data.decode("utf-8", "replace"), "something outside the root is named"
        assert sorted(outside.iterdir()) == before, "something outside the root was written"

    return tried


def _asks(line: bytes, fault_in: Callable[[bytes], Any]) -> list[Any]:
    """The id of a line that is a request, which must be answered."""
    if fault_in(line) is not None:
        return []
    message = json.loads(line.decode("utf-8", "replace"))
    return [message["id"]] if "id" in message and "method" in message else []


def _tree(place: Path) -> tuple[Path, Path]:
    root, outside = place / "root", place / "outside"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    outside.mkdir()
    (outside / f"{CANARY}.py").write_text(f"def {CANARY}():\n    return 'total of the cart {CANARY}'\n")
    (root / "link").symlink_to(outside)
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (["init", "-q"], ["add", "shop", "README.md"], ["commit", "-qm", "A shop"]):
        subprocess.run(["git", *who, *words], cwd=root, check=False, capture_output=True)
    from whence.app.index import Index  # noqa: PLC0415  -- for this target alone

    Index.open(root, command_line={"index.workers": "1"}).close()
    return root, outside


class _Talk:
    """A server that runs in this process, between two questions not at all."""

    def __init__(self, root: Path) -> None:
        logging.disable(logging.CRITICAL)
        self._given: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._said: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._heard = asyncio.Event()
        self._number = 0
        self._serving = self._loop.create_task(self._serve(root))
        first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}
        opening = {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": first}
        self.exchange([json.dumps(opening).encode(), b'{"jsonrpc":"2.0","method":"notifications/initialized"}'], ["first"])

    @property
    def ended(self) -> bool:
        """Whether the server is gone, as it is after an input that took too long."""
        return self._serving.done()

    async def _serve(self, root: Path) -> None:
        stdio = import_module("mcp.server.stdio").stdio_server
        workspace = import_module("whence.app.workspace").Workspace([root], {"mcp.watch": "false"})
        made = import_module("whence.mcp.server").make_server(workspace)
        wire = import_module("whence.mcp.transport").Wire(self, self)
        async with stdio(stdin=wire, stdout=wire) as (read, write):
            await made.run(read, write, made.create_initialization_options())

    # What the wire takes for the streams of the process; called in threads.
    def readline(self, _: int) -> bytes:
        """The next line."""
        return self._given.get()

    def write(self, data: bytes) -> None:
        """Take in what is said."""
        self._said.append(data.decode())
        self._loop.call_soon_threadsafe(self._heard.set)

    def flush(self) -> None:
        """Everything is taken in at once."""

    def exchange(self, lines: list[bytes], wanted: list[Any]) -> str:
        """Say something, then ping; all that is answered until the ping is, and what was wanted."""
        self._number += 1
        ping = f"ping-{self._number}"
        for line in lines:
            self._given.put(line + b"\n")
        self._given.put(json.dumps({"jsonrpc": "2.0", "id": ping, "method": "ping"}).encode() + b"\n")
        self._said.clear()
        self._loop.run_until_complete(self._until([ping, *wanted]))
        return "".join(self._said)

    async def _until(self, wanted: list[Any]) -> None:
        seen, open_ones = 0, [json.dumps(one) for one in wanted]
        while open_ones:
            self._heard.clear()
            if seen == len(self._said):
                heard = self._loop.create_task(self._heard.wait())
                done, _ = await asyncio.wait({heard, self._serving}, timeout=LATE, return_when=asyncio.FIRST_COMPLETED)
                heard.cancel()
                if self._serving in done:
                    self._serving.result()  # with whatever ended it
                    raise AssertionError("the server has ended")
                assert done, f"no answer within {LATE:.0f} seconds"
            for line in self._said[seen:]:
                message = json.loads(line)
                assert message["jsonrpc"] == "2.0"
                told = json.dumps(message.get("id"))
                if "method" not in message and told in open_ones:
                    open_ones.remove(told)
                seen += 1
