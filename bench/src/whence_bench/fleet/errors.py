"""What is wrong with an engine is said in one line, in time, and search on this machine goes on."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from whence.fleet import milvus
from whence_bench.fleet.server import free_port
from whence_bench.measure import Spent, run
from whence_bench.speed import trees
from whence_bench.speed.harness import Room, Row

#: Seconds that the engine has, and beyond: a process starts, and the package that talks to engines is loaded.
TIMEOUT, SLACK = 1.0, 3.0
UNITS = 100


@contextmanager
def _unreachable() -> Iterator[int]:
    yield free_port()


@contextmanager
def _slow() -> Iterator[int]:
    """A port that accepts and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(16)
        yield listening.getsockname()[1]


@contextmanager
def _answering(status: str) -> Iterator[int]:
    """A server of gRPC that greets, and answers everything else with a status."""
    milvus.import_pymilvus()
    grpc, milvus_pb2 = (import_module(name) for name in ("grpc", "pymilvus.grpc_gen.milvus_pb2"))  # both come with it
    greeting = milvus_pb2.ConnectResponse(identifier=1).SerializeToString()

    def answer(method: str, context: Any) -> bytes:
        if not method.endswith("/Connect"):
            context.abort(getattr(grpc.StatusCode, status), "said by a benchmark")
        return bytes(greeting)

    class Every(grpc.GenericRpcHandler):  # type: ignore[misc,name-defined]
        def service(self, call: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(lambda _, context: answer(call.method, context))

    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Every()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()


#: What is wrong, how it is made so, and words of the line that is to be said.
TROUBLES: Mapping[str, tuple[Callable[[], AbstractContextManager[int]], str]] = {
    "unreachable": (_unreachable, "cannot be reached"),
    "slow": (_slow, "did not answer within"),
    "full": (lambda: _answering("RESOURCE_EXHAUSTED"), "is full"),
    "of another version": (lambda: _answering("UNIMPLEMENTED"), "another version"),
    "refusing the token": (lambda: _answering("UNAUTHENTICATED"), "rejected the token"),
}


def troubled(room: Room, names: Sequence[str] = tuple(TROUBLES)) -> None:
    """Search a fleet whose engine is in trouble, then the tree on this machine with the same settings."""
    tree = room.make("small", size=UNITS * 300).root
    query = trees.questions(room.sources, len(room.sources))[0]
    found = room.raw["trouble"] = {}
    _search(tree, query, room.environment("data_small"), str(tree))  # one before those that count fills the caches of the machine
    for name in names:
        made, words = TROUBLES[name]
        room.tell(f"an engine that is {name}")
        asked, local = _asked(room, tree, query, made)
        found[name] = judged(asked, local, words)
        kept = not found[name]["wrong"]
        room.rows.append(Row(f"an engine that is {name}: one line, exit 2", f"<= {TIMEOUT + SLACK:g} s", asked.wall, "s", kept=kept))
        room.notes += [f"an engine that is {name}: {one}" for one in found[name]["wrong"]]


def _asked(room: Room, tree: Path, query: str, made: Callable[[], AbstractContextManager[int]]) -> tuple[Spent, Spent]:
    """A search of the fleet, and one of the tree right after."""
    with made() as port:
        fleet = {"BACKEND": "milvus", "ADDRESS": f"http://127.0.0.1:{port}", "TIMEOUT": f"{TIMEOUT:g}", "TOKEN": "user:word"}
        environment = {**room.environment("data_small"), **{f"WHENCE_FLEET_{key}": value for key, value in fleet.items()}}
        return _search(tree, query, environment, "--fleet"), _search(tree, query, environment, str(tree))


def _search(tree: Path, query: str, environment: Mapping[str, str], *where: str) -> Spent:
    return run([sys.executable, "-m", "whence", "search", query, *where], cwd=tree, env=environment, allowed=tuple(range(256)))


def judged(asked: Spent, local: Spent, words: str) -> dict[str, Any]:
    """What is wrong with how trouble was told; nothing, if all is well."""
    wrong = [
        said
        for said, is_so in (
            (f"exit {asked.code}", asked.code != 2),
            (f"it said {asked.complaint!r}", words not in asked.complaint),
            ("it printed results", bool(asked.out.strip())),
            (f"it took {asked.wall:.1f} s", asked.wall > TIMEOUT + SLACK),
            (f"search on this machine ended with {local.code}: {local.complaint}", local.code != 0 or not local.out.strip()),
        )
        if is_so
    ]
    return {"said": asked.complaint, "seconds": asked.wall, "wrong": wrong}
