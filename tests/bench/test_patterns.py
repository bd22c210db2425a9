"""The comparison of patterns with ripgrep."""

from __future__ import annotations

import shutil
from random import Random

import pytest

from sample_trees import write
from whence_bench.search import patterns
from whence_bench.search.corpus import Corpus, Repository

FILES = {
    "src/app.py": "class App:\n    def run_once(self, items):\n        return [item for item in items if item.name]\n",
    "src/client.go": "package client\n\n// Retry tries again, after a while.\nfunc Retry(times int) error {\n\treturn nil\n}\n",
    "docs/guide.md": "# Guide\n\nAll about retry2 and run_once(items), in Größe 12.\n",
}


def test_patterns_are_drawn_the_same_way_every_time():
    texts = list(FILES.values())
    drawn = patterns.draw(texts, Random("seed"), 40)
    assert drawn == patterns.draw(texts, Random("seed"), 40)
    assert len({one.kind for one in drawn}) == 8


@pytest.mark.process
@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
def test_a_pattern_finds_what_ripgrep_finds(tmp_path, monkeypatch):
    monkeypatch.setattr(patterns, "PATTERNS", 24)
    monkeypatch.setattr(patterns, "TIMED", 1)
    root = write(tmp_path / "tree", FILES)
    corpus = Corpus((Repository("tree", "python", "", root, ()),), ())
    found = patterns.run(corpus, tmp_path / "data", lambda done, total: None)
    assert [(one.drawn, one.different) for one in found.trees] == [(24, [])]
    assert found.slowest[1] < patterns.MAX_SECONDS
    assert "24 of 24 patterns find what ripgrep finds OK" in patterns.as_text(found)
