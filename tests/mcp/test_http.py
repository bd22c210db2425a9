"""Over HTTP: only this machine, only those who show the token, and nothing malformed ends the server."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_servers import LONG, TOKEN, Listening, surroundings
from sample_trees import whence

HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def post(server: Listening, content: bytes, **headers: str) -> httpx2.Response:
    given = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx2.post(server.url, content=content, headers={name: value for name, value in given.items() if value}, timeout=LONG)


def message(response: httpx2.Response) -> dict[str, Any]:
    """The message in an answer, whether it is sent as it is or as an event."""
    text = next((line[6:] for line in response.text.splitlines() if line.startswith("data: {")), response.text)
    found: dict[str, Any] = json.loads(text)
    return found


def test_who_does_not_show_the_token_is_told_so_and_nothing_else(listening: Listening) -> None:
    for shown in ("", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer \xff"):
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            headers = [(b"authorization", shown.encode("latin-1"))] if shown else []
            refused = httpx2.request(method, listening.url, headers=headers, timeout=LONG)
            assert refused.status_code == 401, (method, shown)
            assert refused.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in refused.text
    assert httpx2.get(listening.url.replace("/mcp", "/anything"), timeout=LONG).status_code == 401


def test_pages_and_names_from_elsewhere_are_refused(listening: Listening) -> None:
    hello = json.dumps(HELLO).encode()
    for host in ("evil.example", f"evil.example:{listening.port}", "127.0.0.1.evil.example", "0.0.0.0"):
        assert post(listening, hello, Host=host).status_code == 421, host
    for origin in ("http://evil.example", "https://127.0.0.1.evil.example", "null", "file://"):
        assert post(listening, hello, Origin=origin).status_code == 403, origin
    assert post(listening, hello, Origin=f"http://127.0.0.1:{listening.port}").status_code == 200


def test_whatever_is_malformed_is_refused_and_the_next_request_is_served(listening: Listening) -> None:
    opened = post(listening, json.dumps(HELLO).encode())
    session = opened.headers["mcp-session-id"]
    version = "2025-06-18"

    def sent(content: bytes, **headers: str) -> httpx2.Response:
        return post(listening, content, **{"Mcp_Session_Id": session, "Mcp_Protocol_Version": version, **headers})

    sent(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())
    ping = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping"}).encode()
    for content, headers in (
        (b"hello", {}),
        (b"", {}),
        (b"\xff\xfe", {}),
        (b"[" * 100_000, {}),
        (b"[]", {}),
        (b"null", {}),
        (b"\0", {}),
        (b'{"jsonrpc": "2.0", "id": 1}', {}),
        (b"[%s]" % ping, {}),
        (ping, {"Content_Type": "text/plain"}),
        (ping, {"Content_Type": ""}),
        (ping, {"Accept": "text/html"}),
        (ping, {"Mcp_Session_Id": "nobody"}),
        (ping, {"Mcp_Protocol_Version": "1999-01-01"}),
        (b"x" * (5 << 20), {}),
    ):
        refused = sent(content, **headers)
        assert 400 <= refused.status_code < 500, (content[:40], headers, refused.status_code)
        assert "Traceback" not in refused.text
        assert message(sent(ping)) == {"jsonrpc": "2.0", "id": 7, "result": {}}
    for method in ("PUT", "PATCH", "HEAD"):
        assert httpx2.request(method, listening.url, headers=HEADERS, timeout=LONG).status_code in (400, 405)
    unknown = message(sent(json.dumps({"jsonrpc": "2.0", "id": 8, "method": "no/such"}).encode()))
    assert unknown["error"]["code"] == -32601
    with socket.create_connection(("127.0.0.1", listening.port)) as raw:
        raw.sendall(b"\0\xffno HTTP at all\r\n\r\n")
        assert b"400" in raw.recv(1000)
    assert message(sent(ping))["result"] == {}


def test_only_this_machine_can_reach_it(listening: Listening, tmp_path: Path) -> None:
    listeners = [line.split() for line in Path(f"/proc/{listening.process.pid}/net/tcp").read_text().splitlines()[1:]]
    port = f"{listening.port:04X}"
    assert [row[1] for row in listeners if row[1].endswith(f":{port}") and row[3] == "0A"] == [f"0100007F:{port}"]
    for host in ("0.0.0.0", "::", "192.168.1.1", "example.org", ""):
        done = whence("mcp", "--http", "--host", host, "--root", str(tmp_path), cwd=tmp_path, **surroundings(tmp_path / "home"))
        assert done.returncode == 2, host
        assert "of this machine only" in done.stderr
    taken = whence("mcp", "--http", "--port", str(listening.port), "--root", str(tmp_path), cwd=tmp_path, **surroundings(tmp_path / "home"))
    assert taken.returncode == 2
    assert "in use" in taken.stderr
    assert taken.stderr.count("\n") <= 2


@pytest.mark.parametrize("token", ["", "short"])
def test_without_a_token_a_new_one_is_made_and_said(token: str, shop: Path, shop_home: Path) -> None:
    with Listening(shop_home, shop, more=("--token", token)) as server:
        assert server.process.stderr is not None
        said = server.process.stderr.readline().decode().split()
        assert said[0] == "token"
        assert said[1] == token if token else len(said[1]) >= 32
        assert post(server, json.dumps(HELLO).encode()).status_code == 401
        assert post(server, json.dumps(HELLO).encode(), Authorization=f"Bearer {said[1]}").status_code == 200
