"""`whence model`: what is known, a download from a hub on this machine, and its removal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embed.tiny_models import late_model, tiny_hub
from sample_trees import whence, whence_process
from whence.embed.sentence import known_models


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """The folder of a hub with one model."""
    late_model(tmp_path / "hub" / "ada" / "tiny", None)
    return tmp_path / "hub"


def test_the_known_models_are_listed_with_their_licences(tmp_path: Path):
    done = whence("model", "list", cwd=tmp_path)
    assert done.returncode == 0
    assert all(known.name in done.stdout and known.licence in done.stdout for known in known_models().values())
    assert {one["name"] for one in json.loads(whence("model", "list", "--json", cwd=tmp_path).stdout)} == set(known_models())


@pytest.mark.process
def test_a_model_is_downloaded_used_and_removed(hub: Path, tmp_path: Path):
    with tiny_hub(hub) as (address, _):
        away = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "127.0.0.1"}
        before = whence_process("search", "x", "--set", "rerank.model=onnx:ada/tiny", cwd=hub, **away)
        got = whence_process("model", "get", "ada/tiny", cwd=tmp_path, **away)
        assert before.returncode < 2
        assert got.returncode == 0, got.stderr
        assert (Path(got.stdout.strip()) / "model.onnx").is_file()
        assert "licence of the weights" in got.stderr
        assert "removed" in whence_process("model", "remove", "ada/tiny", cwd=tmp_path, **away).stdout
        assert not Path(got.stdout.strip()).exists()
        assert "was not downloaded" in whence_process("model", "remove", "ada/tiny", cwd=tmp_path, **away).stderr


@pytest.mark.process
def test_a_file_that_is_not_what_the_hub_says_is_removed_and_named(hub: Path, tmp_path: Path):
    (hub / "ada" / "tiny" / "WRONG").write_text("")
    with tiny_hub(hub) as (address, _):
        away = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home"), "NO_PROXY": "127.0.0.1"}
        got = whence_process("model", "get", "ada/tiny", cwd=tmp_path, **away)
    assert got.returncode == 2
    assert "model.onnx did not arrive as it was sent; removed" in got.stderr
    assert not list((tmp_path / "home").rglob("*.onnx"))
