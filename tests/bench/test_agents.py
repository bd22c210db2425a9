"""What an agent pays, measured on a corpus of three files with the real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.small_corpora import lay_out
from whence.app.index import Index
from whence.text.token_estimate import count_tokens
from whence_bench.agents import run as agents
from whence_bench.agents.grep_and_read import Grep
from whence_bench.search import corpus as corpora

FILES = {
    "parser.py": "def parse_config(text):\n    '''Read the settings out of a text.'''\n    return dict(text)\n" * 20,
    "network.py": "def open_socket(host):\n    '''Connect to a host over the network.'''\n    return host\n" * 20,
    "settings.py": "TEXT = 'settings of a text'\n" * 30,
}
QUESTIONS = [{"query": "parse_config", "relevant": ["parser.py"]}, {"query": "connect to a host", "relevant": ["network.py"]}]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "corpus", FILES, QUESTIONS)


def test_grep_and_read_costs_the_list_and_the_files_and_stops_at_the_wanted_one(corpus: Path, tmp_path: Path):
    with Index.open(corpus / "repos" / "tiny", data_dir=tmp_path / "data") as index:
        until, everything = Grep(index).cost("read the settings", ["parser.py"])
        nowhere, _ = Grep(index).cost("read the settings", ["gone.py"])
    costs = {name: count_tokens(text) for name, text in FILES.items()}
    assert costs["parser.py"] < until < everything
    assert everything >= costs["parser.py"] + costs["settings.py"]
    assert nowhere == everything


def test_the_real_server_is_asked_every_question_and_its_cost_is_told(corpus: Path, tmp_path: Path):
    loaded = corpora.load(corpus)
    done = agents.run(loaded, tmp_path / "data", lambda *_: None, idle_seconds=0.5)
    assert [one.calls for one in done.reached] == [1, 1]
    assert all(0 < one.tokens < one.grep_all_tokens for one in done.reached)
    assert all(one.call_ms > 0 for one in done.reached)
    assert done.idle[0].rss_mb < 120
    assert done.fresh.files == 3
    assert done.fresh.whole_found >= 1
    assert "first answer" in agents.as_text(done)
    assert agents.as_json(done, loaded)["queries"] == 2
