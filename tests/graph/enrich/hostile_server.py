"""A language server that goes wrong in the way its first argument says; run as a program by the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def say(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


def write(raw: bytes) -> None:
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()


def hear() -> dict[str, Any]:
    length = 0
    while (line := sys.stdin.buffer.readline().strip()) != b"":
        length = int(line.partition(b":")[2])
    if not length:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(length))


#: What is written, as it is, instead of an answer.
NONSENSE = {
    "prose": b"npm WARN this is no protocol\r\n\r\n" * 3,
    "endless": b"x" * 10_000,
    "huge": b"Content-Length: 99999999999\r\n\r\n{}",
    "no-json": b"Content-Length: 5\r\n\r\n{oops",
    "a-list": b"Content-Length: 2\r\n\r\n[]",
    "deep": b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000,
}
WRONG_SHAPES = (
    "text",
    [1, None, {"uri": 5}],
    {"uri": "file:///etc/passwd", "range": {"start": {"line": -1, "character": "x"}}},
    [{"uri": "file:///%00", "range": None}, {"targetUri": "http://x", "targetSelectionRange": []}, 7],
)
held: list[dict[str, Any]] = []


def misbehave(mode: str, number: int, params: Any) -> None:
    """What happens instead of an answer."""
    if mode in NONSENSE:
        write(NONSENSE[mode])
    elif mode == "crash":
        sys.exit(3)
    elif mode == "hang":
        time.sleep(600)
    elif mode == "chatter":
        while True:
            say({"method": "window/logMessage", "params": {"type": 3, "message": "still thinking"}})
            time.sleep(0.02)
    elif mode == "wrong-shapes":
        say({"id": 10_000, "result": "to a question that was never asked"})
        say({"id": number, "result": WRONG_SHAPES[number % len(WRONG_SHAPES)]})
    elif mode == "pairs":  # the second of two questions is answered first, each with what was asked
        held.append({"id": number, "result": params})
        if len(held) == 2:
            say(held.pop())
            say(held.pop())
    elif mode == "refuses":
        say({"id": number, "error": {"code": -1, "message": "no"}})


def main() -> None:
    """Speak the protocol until the moment that the second argument names, then misbehave."""
    mode, moment = sys.argv[1], sys.argv[2]
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(f"{os.getpid()}")
    if mode == "child":
        child = subprocess.Popen(["sleep", "600"])
        Path(sys.argv[3]).write_text(f"{child.pid}")
    while True:
        message = hear()
        method, number = message.get("method", ""), message.get("id")
        if number is None or not method:
            continue
        if method == moment and (len(sys.argv) <= 4 or sys.argv[4] in json.dumps(message)):
            misbehave(mode, number, message.get("params"))
        elif method == "initialize":
            say({"id": "theirs", "method": "workspace/configuration", "params": {"items": [{"section": "a.b"}, {}, 5]}})
            say({"id": number, "result": {"capabilities": {}}})
        else:
            say({"id": number, "result": None})


if __name__ == "__main__":
    main()
