"""Where models come from: a directory, a hub, or one line that says why not."""

from __future__ import annotations

import contextlib
import socket
import time
from threading import Thread

import numpy as np

from embed.tiny_models import OPEN_LATE, WIDTH, late_model, said_by, tiny_hub
from whence.embed.hub import fingerprint_of

FIND = """
from whence.embed import hub
hub.PATIENCE = float(sys.argv[2])
try:
    print(hub.local_directory(sys.argv[1], ["tokenizer.json", ("model_int8.onnx", "model.onnx")], ["onnx_config.json"]))
except ModelUnavailable as error:
    print(error)
"""


def test_a_directory_needs_no_library_of_the_hub(tmp_path):
    tiny = late_model(tmp_path)
    assert said_by(f"sys.modules['huggingface_hub'] = None\n{OPEN_LATE}", str(tiny.directory)) == f"(5, {WIDTH})"


def test_a_hub_id_without_the_library_of_the_hub_is_one_line(tmp_path):
    said = said_by(f"sys.modules['huggingface_hub'] = None\n{FIND}", "ada/tiny", "5")
    assert said == "model ada/tiny: huggingface_hub is not installed (pip install huggingface_hub, or give the directory of a model)"


def test_a_hub_that_nobody_answers_for_is_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        said = said_by(FIND, "ada/tiny", "5", HF_ENDPOINT=address, HF_HOME=str(tmp_path))
    assert said.startswith("model ada/tiny: not on this machine, and the hub does not answer (download it once while online")


def test_a_hub_that_never_answers_is_not_waited_for(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        started = time.monotonic()
        said = said_by(FIND, "ada/tiny", "0.5", HF_ENDPOINT=f"http://127.0.0.1:{silent.getsockname()[1]}", HF_HOME=str(tmp_path))
    assert said.startswith("model ada/tiny: not on this machine, and the hub does not answer")
    assert time.monotonic() - started < 10


def test_a_hub_that_answers_byte_by_byte_is_not_waited_for_either(tmp_path):
    """Each byte in time, and no end: only a limit on the whole question helps."""
    with socket.socket() as dripping:
        dripping.bind(("127.0.0.1", 0))
        dripping.listen()
        Thread(target=_drip, args=(dripping,), daemon=True).start()
        started = time.monotonic()
        said = said_by(FIND, "ada/tiny", "0.5", HF_ENDPOINT=f"http://127.0.0.1:{dripping.getsockname()[1]}", HF_HOME=str(tmp_path))
    assert said.startswith("model ada/tiny: not on this machine, and the hub does not answer")
    assert time.monotonic() - started < 10


def _drip(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection, contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            connection.sendall(b" ")
            time.sleep(0.1)


def test_a_hub_that_is_switched_off_is_one_line(tmp_path):
    said = said_by(FIND, "ada/tiny", "5", HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path))
    assert said.startswith("model ada/tiny: not on this machine, and downloads are switched off (")


def test_a_model_that_no_hub_has_is_one_line(tmp_path):
    with tiny_hub(tmp_path) as (address, _):
        said = said_by(FIND, "ada/tiny", "5", HF_ENDPOINT=address, HF_HOME=str(tmp_path / "home"))
    assert said == "model ada/tiny: no such directory, and no such model on the hub (is the name right?)"


def test_a_model_of_another_kind_is_not_downloaded(tmp_path):
    (tmp_path / "hub/ada/tiny").mkdir(parents=True)
    (tmp_path / "hub/ada/tiny/tokenizer.json").write_text("{}")
    with tiny_hub(tmp_path / "hub") as (address, asked):
        said = said_by(FIND, "ada/tiny", "5", HF_ENDPOINT=address, HF_HOME=str(tmp_path / "home"))
    assert said == "model ada/tiny: it has no model_int8.onnx or model.onnx (is it a model of this kind?)"
    assert not any("resolve" in path for path in asked)


def test_a_model_is_downloaded_once_the_best_network_only_and_then_kept(tmp_path):
    late_model(tmp_path / "hub/ada/tiny")
    late_model(tmp_path / "hub/ada/tiny", weights="model_int8.onnx")
    home = str(tmp_path / "home")
    with tiny_hub(tmp_path / "hub") as (address, asked):
        assert said_by(OPEN_LATE, "ada/tiny", HF_ENDPOINT=address, HF_HOME=home) == f"(5, {WIDTH})"
    files = {path.rpartition("/")[2] for path in asked if "resolve" in path}
    assert files == {"tokenizer.json", "onnx_config.json", "model_int8.onnx"}
    assert said_by(OPEN_LATE, "ada/tiny", HF_ENDPOINT=address, HF_HOME=home) == f"(5, {WIDTH})"


def test_a_download_that_was_cut_off_is_one_line_and_is_taken_up_again(tmp_path):
    """A model without its recipe would load, and say something else: so what is needed is fetched last."""
    late_model(tmp_path / "hub/ada/tiny")
    home = str(tmp_path / "home")
    with tiny_hub(tmp_path / "hub", failing="tokenizer.json") as (address, _):
        said = said_by(OPEN_LATE, "ada/tiny", HF_ENDPOINT=address, HF_HOME=home)
    assert said.startswith("model ada/tiny: the download failed: ")
    assert "\n" not in said
    kept = {path.name for path in (tmp_path / "home").rglob("snapshots/*/*")}
    assert "onnx_config.json" in kept
    with tiny_hub(tmp_path / "hub") as (address, _):
        assert said_by(OPEN_LATE, "ada/tiny", HF_ENDPOINT=address, HF_HOME=home) == f"(5, {WIDTH})"


def test_the_fingerprint_of_large_weights_sees_a_change_that_keeps_their_size(tmp_path):
    weights = bytearray(np.random.default_rng(0).bytes(9 << 20))
    (tmp_path / "model.onnx").write_bytes(weights)
    first = fingerprint_of(tmp_path, ["model.onnx"], "form")
    assert fingerprint_of(tmp_path, ["model.onnx"], "other form") != first
    weights[5 << 20 : 6 << 20] = bytes(1 << 20)
    (tmp_path / "model.onnx").write_bytes(weights)
    assert fingerprint_of(tmp_path, ["model.onnx"], "form") != first
