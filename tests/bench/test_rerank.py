"""What a second look gains and costs, measured with a tiny model on tiny corpora."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.small_corpora import lay_out
from embed.tiny_models import sentence_model
from whence.cli.main import main

FILES = {f"{name}.py": f"def {name}_tree(token):\n    '''Read a {name} tree.'''\n    return token\n" for name in ("read", "write", "open")}
QUESTIONS = [{"query": "read a tree", "relevant": ["read.py"], "secondary": [], "category": "semantic"}]
CONVERSATION = {
    "id": "one",
    "sessions": {
        "1": {"date": "1 May 2023", "turns": [["Ann", "D1:1", "I read the tree of tokens", ""]]},
        "2": {"date": "2 May 2023", "turns": [["Ann", "D2:1", "The socket was closed", ""]]},
    },
    "qa": [{"question": "What did Ann read?", "evidence": ["D1:1"], "category": 4}],
}


def test_the_gain_the_time_cold_and_warm_and_the_room_of_the_cache_are_measured(tmp_path: Path):
    model = sentence_model(tmp_path / "model", pooling="mean_tokens", length=64)
    corpus = lay_out(tmp_path / "search", FILES, QUESTIONS, url="", revision="0", benchmark_root="")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "locomo_made.json").write_text(json.dumps([CONVERSATION]))
    out = tmp_path / "out.json"
    places = ["--search", str(corpus), "--memory", str(tmp_path / "memory")]
    assert main(["bench", "rerank", f"onnx:{model.directory}", *places, "--json", str(out)]) == 0
    parts = json.loads(out.read_text())["parts"]
    assert parts.keys() == {"search", "memory"}
    for one in parts.values():
        assert one["questions"] == 1
        assert one["without"] == one["with"] == 1
        assert one["interval"] == [0, 0]
        assert one["cache_bytes"] > 0
        assert all(time > 0 for time in one["cpu_ms_p50"].values())


def test_without_a_benchmark_there_is_nothing_to_measure(capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "rerank", "onnx:nowhere"]) == 2
    assert "there is nothing to measure" in capsys.readouterr().err
