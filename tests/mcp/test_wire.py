"""What arrives on standard input may be anything; what leaves on standard output is the protocol and nothing else."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns import examples
from mcp_servers import Bare
from sample_trees import write

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602
#: No request of these tests has so large a number otherwise.
ID = 900_000


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def call(arguments: Any, name: Any = "search") -> bytes:
    return line({"jsonrpc": "2.0", "id": ID, "method": "tools/call", "params": {"name": name, "arguments": arguments}})


#: What is sent, the code of the error it is answered with (None: nothing is to be answered), and the id in the answer.
MALFORMED: dict[str, tuple[bytes, int | None, int | None]] = {
    "not JSON": (b"hello there\n", PARSE_ERROR, None),
    "half of a message": (b'{"jsonrpc": "2.0", "id": 1, "method"\n', PARSE_ERROR, None),
    "two messages on one line": (b'{"jsonrpc":"2.0","id":1,"method":"ping"}' * 2 + b"\n", PARSE_ERROR, None),
    "empty lines": (b"\n\r\n   \n\n", None, None),
    "a number": (b"42\n", INVALID_REQUEST, None),
    "null": (b"null\n", INVALID_REQUEST, None),
    "a batch": (line([{"jsonrpc": "2.0", "id": ID, "method": "ping"}]), INVALID_REQUEST, None),
    "an empty batch": (b"[]\n", INVALID_REQUEST, None),
    "no method": (line({"jsonrpc": "2.0", "id": ID}), INVALID_REQUEST, ID),
    "another version": (line({"jsonrpc": "1.0", "id": ID, "method": "ping"}), INVALID_REQUEST, ID),
    "a method that is a number": (line({"jsonrpc": "2.0", "id": ID, "method": 7}), INVALID_REQUEST, ID),
    "params that are a list": (line({"jsonrpc": "2.0", "id": ID, "method": "tools/call", "params": [1]}), INVALID_REQUEST, ID),
    "an id that is an object": (line({"jsonrpc": "2.0", "id": {}, "method": "ping"}), INVALID_REQUEST, None),
    "an id that is a fraction": (line({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}), INVALID_REQUEST, None),
    "an id that is null": (line({"jsonrpc": "2.0", "id": None, "method": "ping"}), INVALID_REQUEST, None),
    "an unknown method": (line({"jsonrpc": "2.0", "id": ID, "method": "no/such"}), NO_METHOD, ID),
    "no params": (line({"jsonrpc": "2.0", "id": ID, "method": "tools/call"}), BAD_PARAMS, ID),
    "a tool that is a number": (call({}, name=5), BAD_PARAMS, ID),
    "arguments that are a list": (call([1]), BAD_PARAMS, ID),
    "a resource without an address": (line({"jsonrpc": "2.0", "id": ID, "method": "resources/read", "params": {}}), BAD_PARAMS, ID),
    "an address that is none": (line({"jsonrpc": "2.0", "id": ID, "method": "resources/read", "params": {"uri": "a://["}}), BAD_PARAMS, ID),
    "invalid UTF-8": (b"\xff\xfe\x80\n", PARSE_ERROR, None),
    "invalid UTF-8 in a text": (b'{"jsonrpc":"2.0","id":900000,"method":"pi\xffng"}\n', NO_METHOD, ID),
    "half of a character": (call("\ud800").replace(b'"arguments": "', b'"x": "'), PARSE_ERROR, None),
    "NUL": (b"\0\n", PARSE_ERROR, None),
    "NUL inside": (b'{"jsonrpc":"2.0",\0"id":1,"method":"ping"}\n', PARSE_ERROR, None),
    "ten megabytes": (b"x" * (10 << 20) + b"\n", INVALID_REQUEST, None),
    "a message of ten megabytes": (call({"query": "x" * (10 << 20)}), INVALID_REQUEST, None),
    "deep nesting": (b"[" * 100_000 + b"]" * 100_000 + b"\n", PARSE_ERROR, None),
    "nesting inside": (call({"query": 0}).replace(b"0}", b"[" * 500 + b"]" * 500 + b"}"), PARSE_ERROR, None),
    "an answer to nothing": (line({"jsonrpc": "2.0", "id": ID, "result": {}}), None, None),
    "an unknown notification": (line({"jsonrpc": "2.0", "method": "notifications/nope"}), None, None),
    "a cancellation of nothing": (line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}}), None, None),
}


def test_whatever_is_malformed_is_answered_and_the_next_message_is_served(bare: Bare) -> None:
    for what, (sent, code, known) in MALFORMED.items():
        bare.send(sent)
        if code is not None:
            answer = bare.receive()
            assert answer.get("id") == known, (what, answer)
            assert answer["error"]["code"] == code, (what, answer)
            assert "\n" not in answer["error"]["message"], what
        bare.ping()


def test_a_message_in_pieces_is_one_message(bare: Bare) -> None:
    bare.send(b'{"jsonrpc": "2.0", "id": 900001, "met')
    time.sleep(0.1)
    bare.send(b'hod": "ping"}')
    time.sleep(0.1)
    bare.send(b"\r\n")
    assert bare.reply(900001)["result"] == {}


RANDOM_LINES = st.one_of(
    st.binary(max_size=60),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=6,
    ).map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.sampled_from(["2.0", "1.0", 2]),
            "id": st.sampled_from([ID, "x", None, 1.5, [], True]),
            "method": st.sampled_from(["ping", "tools/list", "tools/call", "resources/read", "prompts/get", "initialize", "nope", 3]),
            "params": st.sampled_from([None, {}, [], 1, {"name": "search"}, {"name": "graph", "arguments": {"symbol": 1}}, {"uri": "x"}]),
            "result": st.just({}),
        },
    ).map(lambda value: json.dumps(value).encode()),
)


@settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
@given(st.lists(RANDOM_LINES, min_size=1, max_size=4))
def test_after_any_lines_a_ping_is_answered(bare: Bare, lines: list[bytes]) -> None:
    for one in lines:
        bare.send(one.replace(b"\n", b" ") + b"\n")
    number = bare.begin("ping")
    while (answer := bare.receive()).get("id") != number:
        assert "result" in answer or "error" in answer, answer
    assert answer["result"] == {}


HOSTILE = """
import os, subprocess, sys
from whence.app.index import Index

search = Index.search

def printing(self, *arguments, **named):
    print("a library says hello")
    sys.stdout.flush()
    os.write(1, b"and writes to the descriptor\\n")
    subprocess.run([sys.executable, "-c", "print('so does its child')"], check=True)
    assert sys.stdin.read() == ""
    return search(self, *arguments, **named)

Index.search = printing
from whence.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_library_that_prints_does_not_reach_the_caller(tmp_path: Path, shop: Path, shop_home: Path) -> None:
    program = write(tmp_path, {"hostile.py": HOSTILE}) / "hostile.py"
    with Bare(shop_home, argv=[sys.executable, str(program), "mcp", "--root", str(shop)]) as server:
        assert server.call("search", query="sum of all prices").startswith("1. shop/cart.py")
        server.ping()
    for said in (b"a library says hello", b"and writes to the descriptor", b"so does its child"):
        assert said in server.stderr


def test_names_of_files_that_are_no_text_are_told_somehow(tmp_path: Path) -> None:
    """JSON has no place for halves of characters: one in an answer must not end the server."""
    root = tmp_path / os.fsdecode(b"r\xe9ot")
    write(root, {"plain.py": "def plain_walrus(): pass\n", os.fsdecode(b"w\xe9lrus.py"): "def odd_walrus(): pass\n"})
    with Bare(tmp_path / "home", root, more=("--set", "mcp.patience=60")) as server:
        assert "walrus" in server.call("search", query="walrus")
        assert not server.call("context", task="change odd_walrus").wrong
        assert "is not in a folder" in server.call("search", query="walrus", path="/etc")
        assert "result" in server.ask("resources/read", {"uri": "whence://status"})
        assert "error" in server.ask("resources/read", {"uri": "whence://unit/nothing"})
        server.ping()
