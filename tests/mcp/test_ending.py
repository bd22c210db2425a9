"""A server ends with its caller, however that ends, and leaves no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_servers import Bare, Listening, alive, children, command, surroundings, until

#: Seconds within which everything must be over, on a machine with other work.
SOON = 15.0


def begun(server: Bare) -> list[int]:
    """Have a server begin a first index; the processes that build it."""
    server.begin("tools/call", {"name": "search", "arguments": {"query": "walrus"}})
    return until(lambda: children(server.process.pid))


@pytest.mark.parametrize("way", ["stdin", "SIGTERM", "SIGINT"])
def test_a_server_in_the_middle_of_a_build_ends_at_once_with_all_it_started(way: str, large_tree: Path, tmp_path: Path) -> None:
    server = Bare(tmp_path / "home", large_tree)
    server.initialize()
    processes = begun(server)
    before = time.monotonic()
    if way != "stdin":
        server.process.send_signal(getattr(signal, way))
    assert server.end() == 0
    assert time.monotonic() - before < SOON
    until(lambda: not any(alive(pid) for pid in processes), SOON)
    assert b"Traceback" not in server.stderr


PARENT = """
import json, os, subprocess, sys, time
argv, held = json.loads(sys.argv[1]), sys.argv[2]
server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
# Another process that has both ends of the server's pipes open, and outlives this one.
held_open = [server.stdin.fileno(), server.stdout.fileno()]
other = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=held_open)
for message in json.loads(held):
    server.stdin.write(json.dumps(message).encode() + b"\\n")
    server.stdin.flush()
    if "id" in message and message["method"] == "initialize":
        server.stdout.readline()
print(server.pid, other.pid, flush=True)
time.sleep(60)
"""


def test_a_server_whose_parent_is_killed_ends_though_its_pipes_are_held_open(large_tree: Path, tmp_path: Path) -> None:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "walrus"}}},
    ]
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, json.dumps(command(large_tree)), json.dumps(messages)],
        env=surroundings(tmp_path / "home"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    server, other = map(int, parent.stdout.readline().split())
    try:
        processes = [server, *until(lambda: children(server))]
        parent.kill()
        parent.wait()
        assert alive(other)
        until(lambda: not any(alive(pid) for pid in processes), SOON)
    finally:
        os.kill(other, signal.SIGKILL)
        parent.stdout.close()


def test_a_server_whose_answers_nobody_reads_ends(shop: Path, shop_home: Path) -> None:
    reading, writing = os.pipe()
    server = subprocess.Popen(
        command(shop), env=surroundings(shop_home), stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    os.close(reading)
    assert server.stdin is not None
    server.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    server.stdin.flush()  # and it stays open
    assert server.wait(SOON * 2) == 0
    assert "Traceback" not in server.communicate()[1]


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
def test_a_server_over_http_ends_though_a_caller_is_still_connected(asked: signal.Signals, shop: Path, shop_home: Path) -> None:
    with Listening(shop_home, shop) as server, server.caller() as caller:
        assert not caller.call("search", query="cart").wrong
        before = time.monotonic()
        server.process.send_signal(asked)
        assert server.process.wait(SOON) == 0
        assert time.monotonic() - before < SOON
