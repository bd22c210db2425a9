"""Whatever is wrong with the engine: one clear line, in time, and nothing else on the terminal."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fleet_certificates import Certificates, made
from sample_trees import SOURCES
from small_cases import each
from whence.core.errors import FleetError
from whence.core.settings import FleetSettings
from whence.fleet import milvus
from whence.fleet.engine import Engine
from whence.fleet.milvus import fleet_error

#: Seconds that the engine has in these tests, and that a refusal may take beyond.
TIMEOUT, SLACK = 0.6, 4.0  # the slack is for machines that do other things, too
CONNECT = "Connect"


@contextmanager
def answering(answer: Callable[[str, Any], bytes], certificates: Certificates | None = None) -> Iterator[int]:
    """A real server of gRPC that answers every method with what a function gives, or with the status that it sets."""
    grpc = milvus.import_pymilvus() and __import__("grpc")

    class Every(grpc.GenericRpcHandler):
        def service(self, call: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(lambda _, context: answer(call.method.rpartition("/")[2], context))

    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Every()])
    if certificates:
        credentials = grpc.ssl_server_credentials([(certificates.key, certificates.chain)])
        port = server.add_secure_port("127.0.0.1:0", credentials)
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()


def with_status(name: str, said: str = "its own words", *, greets: bool) -> Callable[[str, Any], bytes]:
    """Answers everything with a status; a server that greets fails only after it was connected to."""

    def answer(method: str, context: Any) -> bytes:
        if greets and method == CONNECT:
            return greeting()
        context.abort(getattr(__import__("grpc").StatusCode, name), said)
        return b""

    return answer


def with_refusal(number: int, said: str) -> Callable[[str, Any], bytes]:
    """Answers as Milvus does when it refuses: the network is fine, the answer says what is not."""

    def answer(method: str, _: Any) -> bytes:
        from pymilvus.grpc_gen import common_pb2, milvus_pb2

        status = common_pb2.Status(code=number, error_code=common_pb2.UnexpectedError, reason=said)
        return greeting() if method == CONNECT else milvus_pb2.ShowCollectionsResponse(status=status).SerializeToString()

    return answer


def greeting() -> bytes:
    from pymilvus.grpc_gen import milvus_pb2

    return bytes(milvus_pb2.ConnectResponse(identifier=1).SerializeToString())


def fleet_at(port: int, scheme: str = "http", **others: Any) -> FleetSettings:
    return FleetSettings(**{"backend": "milvus", "address": f"{scheme}://127.0.0.1:{port}", "timeout": TIMEOUT, **others})


def refused(settings: FleetSettings, within: float = TIMEOUT + SLACK) -> FleetError:
    """What opening an engine and asking it for its collections comes to."""
    began = time.monotonic()
    with pytest.raises(FleetError) as caught, Engine.open(settings) as engine:
        engine.ensure()
    assert time.monotonic() - began < within
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    return caught.value


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return made(tmp_path_factory.mktemp("certificates"), "127.0.0.1")


@contextmanager
def mute() -> Iterator[int]:
    """A port that accepts and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(16)
        yield listening.getsockname()[1]


def test_where_nothing_listens_it_cannot_be_reached():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    milvus.import_pymilvus()  # takes most of a second the first time
    error = refused(fleet_at(port), within=0.5)
    assert error.message == f"the fleet engine at http://127.0.0.1:{port} cannot be reached: nothing listens there"
    assert error.hint == "is it running, and is fleet.address right?"


def test_a_host_that_does_not_exist_cannot_be_reached():
    error = refused(FleetSettings(backend="milvus", address="http://no-such-host.invalid:19530", timeout=TIMEOUT))
    assert error.message.startswith("the fleet engine at http://no-such-host.invalid:19530")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_port_that_accepts_and_never_answers_is_too_slow(scheme):
    with mute() as port:
        assert "did not answer within 0.6 s" in refused(fleet_at(port, scheme)).message


def test_an_engine_that_greets_and_is_slow_then_is_too_slow():
    def slow(method: str, _: Any) -> bytes:
        if method != CONNECT:
            time.sleep(2)
        return greeting()

    with answering(slow) as port:
        error = refused(fleet_at(port))
        assert "did not answer within 0.6 s" in error.message
        assert "fleet.timeout" in error.hint


@each("greets", [True, False])
@each(
    ("status", "line"),
    [
        ("UNAVAILABLE", "cannot be reached: its own words"),
        ("DEADLINE_EXCEEDED", "did not answer within 0.6 s"),
        ("UNAUTHENTICATED", "rejected the token"),
        ("PERMISSION_DENIED", "rejected the token"),
        ("RESOURCE_EXHAUSTED", "is full: its own words"),
        ("UNIMPLEMENTED", "does not support this request: another version of Milvus, or not Milvus at all"),
        ("INTERNAL", "failed: its own words"),
        ("UNKNOWN", "failed: its own words"),
        ("CANCELLED", "failed: its own words"),
    ],
)
def test_every_status_has_its_line(status, line, greets):
    with answering(with_status(status, greets=greets)) as port:
        assert refused(fleet_at(port)).message == f"the fleet engine at http://127.0.0.1:{port} {line}"


@each(
    ("number", "said", "line"),
    [
        (9, "quota exceeded[reason=disk quota exceeded, please allocate more resources]", "is full: quota exceeded"),
        (3, "memory limit exceeded", "is full: memory limit exceeded"),
        (1, "write failed: no space left on device", "is full: write failed"),
        (2099, "auth check failure, please check api key is correct", "rejected the token"),
        (1401, "PrivilegeShowCollections: permission deny to alice", "rejected the token"),
        (1100, "unsupported data type", "cannot do this: unsupported data type"),
        (100, "collection not found[collection=x]", "has no fleet named whence"),
        (65535, "something else\nof \x1b[31mtwo lines", "failed: something else of [31mtwo lines"),
    ],
)
def test_what_milvus_refuses_has_its_line(number, said, line):
    with answering(with_refusal(number, said)) as port:
        assert line in refused(fleet_at(port)).message


def test_an_engine_that_asks_for_patience_is_asked_again_until_the_time_is_over():
    asked = []

    def busy(method: str, context: Any) -> bytes:
        asked.append(method)
        return with_refusal(8, "rate limit exceeded")(method, context)

    with answering(busy) as port:
        assert "is limiting the request rate" in refused(fleet_at(port)).message
    assert asked.count("ShowCollections") > 3


def test_an_engine_that_had_enough_for_a_moment_answers_after_it():
    left = [3]

    def busy(method: str, context: Any) -> bytes:
        from pymilvus.grpc_gen import common_pb2, milvus_pb2

        left[0] -= method != CONNECT
        if left[0] >= 0:
            return with_refusal(8, "rate limit exceeded")(method, context)
        return bytes(milvus_pb2.ShowCollectionsResponse(status=common_pb2.Status()).SerializeToString())

    with answering(busy) as port, Engine.open(fleet_at(port, timeout=20.0)) as engine:
        engine.drop()
    assert left[0] == -1


def test_what_the_engine_says_does_not_repeat_the_token_nor_go_on_without_end():
    with answering(with_status("INTERNAL", f"bad s3cret-word {'x' * 5_000}", greets=True)) as port:
        error = refused(fleet_at(port, token="s3cret-word"))
        assert "s3cret-word" not in str(error)
        assert str(error).endswith("xxx...")


def test_the_token_is_sent_and_a_server_that_knows_it_answers():
    seen = []

    def answer(method: str, context: Any) -> bytes:
        seen.append(dict(context.invocation_metadata()).get("authorization"))
        context.abort(__import__("grpc").StatusCode.UNAUTHENTICATED, "no")
        return b""

    with answering(answer) as port:
        refused(fleet_at(port, token="user:word"))
    assert seen == ["dXNlcjp3b3Jk"]


def test_an_engine_that_dies_in_between_is_told_of_in_time(tmp_path):
    with answering(with_status("INTERNAL", greets=True)) as port:
        engine = Engine.open(fleet_at(port))
    began = time.monotonic()
    with engine, pytest.raises(FleetError, match="cannot be reached"):
        engine.count("units")
    assert time.monotonic() - began < TIMEOUT + SLACK


def test_with_its_certificate_an_engine_is_reached(certificates):
    with answering(with_status("UNAUTHENTICATED", greets=False), certificates) as port:
        assert "rejected the token" in refused(fleet_at(port, "https", ca=str(certificates.path))).message


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("no TLS there", "failed the TLS handshake: it does not use TLS"),
        ("TLS not used", "cannot be reached: it closed the connection, as a server does that expects TLS"),
        ("signed by nobody", "failed the TLS handshake: its certificate is signed by an unknown authority"),
        ("signed by another", "failed the TLS handshake: its certificate is signed by an unknown authority"),
        ("another name", "failed the TLS handshake: its certificate is for another host name"),
    ],
)
def test_mistakes_of_tls_are_told_as_such(case, line, certificates, tmp_path):
    other = made(tmp_path, "elsewhere.example")
    serves = {"no TLS there": None, "another name": other}.get(case, certificates)
    ca = str(other.path) if case in ("signed by another", "another name") else ""
    with answering(with_status("INTERNAL", greets=False), serves) as port:
        error = refused(fleet_at(port, "http" if case == "TLS not used" else "https", ca=ca))
    assert line in error.message
    assert "fleet.address" in error.hint


def test_a_file_of_certificates_that_is_none_is_told_of(tmp_path):
    (tmp_path / "empty.pem").touch()
    for name, said in (("gone.pem", "cannot read"), ("empty.pem", "no certificate")):
        assert said in refused(fleet_at(1, "https", ca=str(tmp_path / name))).message


def test_without_a_fleet_in_the_settings_there_is_none(tmp_path):
    for settings in (FleetSettings(), FleetSettings(address="http://127.0.0.1:1"), FleetSettings(backend="milvus")):
        error = refused(settings)
        assert error.message == "no fleet is set up"
        assert "fleet.backend" in error.hint


def test_a_file_that_cannot_be_opened_is_told_of(tmp_path):
    def file(path: Path) -> FleetSettings:
        return FleetSettings(backend="milvus", address=str(path), timeout=TIMEOUT)

    assert "no such folder" in refused(file(tmp_path / "gone" / "x.db")).message
    assert "not a valid name" in refused(file(tmp_path / "a name.db")).message
    assert "not a valid name" in refused(file(tmp_path / f"{'x' * 40}.db")).message
    (tmp_path / "text.db").write_text("no database\n" * 100, encoding="utf-8")
    assert refused(file(tmp_path / "text.db"), within=4).message == f"{tmp_path / 'text.db'} is not a milvus-lite database"


HOLDS = """
import sys
from whence.fleet.engine import Engine
from whence.core.settings import FleetSettings
with Engine.open(FleetSettings(backend="milvus", address=sys.argv[1])) as engine:
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_file_that_another_process_has_open_is_told_of_and_stays_theirs(tmp_path):
    path = tmp_path / "shared.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    ) as other:
        assert other.stdout.readline() == "open\n"
        settings = FleetSettings(backend="milvus", address=str(path))
        for _ in range(2):
            error = refused(settings, within=2)
            assert error.message == f"another process has {path} open"
            assert "run a Milvus server" in error.hint
        other.stdin.close()
        assert other.wait(10) == 0
    with Engine.open(settings) as engine:
        engine.ensure()


OPENS = """
import sys
from whence.core.errors import FleetError
from whence.fleet.engine import Engine, Filter
from whence.core.settings import FleetSettings
try:
    with Engine.open(FleetSettings(backend="milvus", address=sys.argv[1], timeout=0.6)) as engine:
        engine.ensure()
        engine.count("units", Filter("no ("))
except FleetError as error:
    print(error)
"""


def test_nothing_but_the_line_reaches_the_terminal(certificates, tmp_path):
    addresses = ["http://127.0.0.1:1", str(tmp_path / "quiet.db")]
    with answering(with_status("INTERNAL", greets=True)) as port, answering(with_status("INTERNAL", greets=False), certificates) as secure:
        for address in [*addresses, f"http://127.0.0.1:{port}", f"https://127.0.0.1:{secure}"]:
            done = subprocess.run(
                [sys.executable, "-c", OPENS, address],
                capture_output=True,
                text=True,
                check=False,
                timeout=30,
                env={**os.environ, "PYTHONPATH": str(SOURCES)},
            )
            assert (done.stderr, done.returncode, done.stdout.count("\n")) == ("", 0, 1), address


@pytest.mark.parametrize(("missing", "address"), [("pymilvus", "http://127.0.0.1:1"), ("milvus_lite", "DIRECTORY/x.db")])
def test_a_package_that_is_missing_is_one_sentence_with_the_line_that_installs_it(missing, address, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    error = refused(FleetSettings(backend="milvus", address=address.replace("DIRECTORY", str(tmp_path))))
    assert f"needs the package {missing}" in error.message
    assert "pip install" in error.hint


def test_a_file_of_variables_that_lies_around_is_not_read(tmp_path):
    """The package reads the nearest `.env`, by which a repository would set the environment of whoever searches it."""
    (tmp_path / ".env").write_text("WHENCE_PLANTED=1\nMILVUS_URI=http://elsewhere:1\n", encoding="utf-8")
    code = "import os; from whence.fleet import milvus; milvus.import_pymilvus(); print(sorted(os.environ))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    assert "WHENCE_PLANTED" not in done.stdout
    assert "PYTHON_DOTENV_DISABLED" not in done.stdout


def test_an_error_that_nobody_thought_of_has_a_line_too():
    assert fleet_error(RuntimeError("odd"), FleetSettings(address="x.db")).message == "the fleet engine at x.db failed: odd"
    assert fleet_error(FleetError("ours"), FleetSettings()).message == "ours"
    assert fleet_error(SimpleNamespaceError(), FleetSettings(address="x.db")).message.startswith("the fleet engine at x.db failed")


class SimpleNamespaceError(Exception):
    """One whose code is a thing without a name."""

    code = SimpleNamespace()
