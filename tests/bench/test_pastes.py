"""The measurement of pastes, on a repository of three files and two questions."""

from __future__ import annotations

import json
from pathlib import Path

from sample_trees import write
from whence.query import parser
from whence.query.parser import clean_paste
from whence_bench.search import corpus as corpora
from whence_bench.search import pastes

FILES = {
    "repos/tiny/parser.py": "def parse_config(text):\n    '''Read the settings out of a text.'''\n    return dict(text)\n",
    "repos/tiny/network.py": "def open_socket(host):\n    '''Connect to a host over the network.'''\n    return host\n",
    "repos/tiny/shapes.py": "class Circle:\n    def area(self):\n        return 3\n",
    "repos.json": json.dumps([{"name": "tiny", "language": "python", "url": "", "revision": "0"}]),
    "annotations/tiny.json": json.dumps(
        [{"query": "parse_config", "relevant": ["parser.py"]}, {"query": "connect to a host over the network", "relevant": ["network.py"]}]
    ),
}


def test_a_question_keeps_its_worth_in_pastes_and_the_reader_is_as_before(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(pastes, "FORMS_EACH", 3)
    monkeypatch.setattr(pastes, "TRACES", 2)
    corpus = corpora.load(write(tmp_path / "corpus", FILES))
    run = pastes.run(corpus, tmp_path / "data", lambda _done, _of: None)
    figures = pastes.summary(run)
    assert figures["pasted"]["held out"]["kept"] == 1
    assert figures["pasted"]["held out"]["exact"] == 1
    assert figures["traced"]["developed"]["found_in_3"] == 1
    assert {one.form for one in run.pasted if one.part == "held out"} != set()
    assert vars(parser)["clean_paste"] is clean_paste
    assert "held out" in pastes.as_text(run)
    assert json.loads(json.dumps(pastes.as_json(run, corpus)))["benchmark"] == "pastes"
