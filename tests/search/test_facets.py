"""What was found, counted; and weights that are moved for one question."""

from __future__ import annotations

import pytest

from sample_trees import write
from whence import Index
from whence.core.errors import QueryError
from whence.search.result import folders_of

FILES = {
    "src/net/client.py": "def retry(times):\n    '''Retry a call.'''\n    return times\n",
    "src/net/server.go": "package net\n\n// Retry a call.\nfunc Retry(times int) int { return times }\n",
    "src/store/queue.py": "class Queue:\n    '''Calls to retry later.'''\n\n    def retry(self):\n        return None\n",
    "tests/test_client.py": "from src.net.client import retry\n\n\ndef test_retry():\n    assert retry(1) == 1\n",
}


@pytest.fixture
def index(tmp_path):
    with Index.open(write(tmp_path / "calls", FILES)) as opened:
        yield opened


def test_files_that_were_ranked_are_counted_by_language_kind_and_folder(index):
    facets = index.search("retry", k=1).facets
    assert facets.files == 4
    assert facets.languages == {"python": 3, "go": 1}
    assert sum(facets.kinds.values()) == 4
    assert facets.folders == {"src": 3, "tests": 1}


def test_a_listing_counts_what_is_in_it(index):
    facets = index.search("lang:go").facets
    assert (facets.files, facets.languages, facets.folders) == (1, {"go": 1}, {})


def test_nothing_found_counts_nothing(index):
    assert index.search("lang:go kind:class").facets.files == 0


def test_folders_begin_where_paths_part():
    assert folders_of(["a/b/c/x.py", "a/b/d/y.py", "a/b/d/e/z.py"]) == {"a/b/d": 2, "a/b/c": 1}
    assert folders_of(["x.py", "a/y.py"]) == {"a": 1}
    assert folders_of([]) == {}


def test_a_signal_that_is_switched_off_is_not_in_the_ledger(index):
    usual, moved = index.search("retry"), index.search("retry", factors={"test": 0.0})
    assert "test" in {line.signal for line in usual[0].why}
    assert "test" not in {line.signal for line in moved[0].why}


def test_a_weight_that_is_moved_moves_what_it_adds(index):
    def added(**factors):
        found = next(one for one in index.search("retry", factors=factors) if one.path == "src/net/client.py")
        return {line.signal: line for line in found.why}["defines"].contribution

    assert added(defines=3.0) == pytest.approx(3 * added())


def test_why_is_told_under_the_weights_that_are_asked_for(index):
    why = index.why("retry", "src/net/client.py", factors={"defines": 0.0})
    assert "defines" not in {line.line.signal for line in why.lines}


def test_a_signal_that_does_not_exist_is_refused_with_the_nearest(index):
    with pytest.raises(QueryError, match="has no signal 'define'") as refused:
        index.search("retry", factors={"define": 2.0})
    assert refused.value.hint == "did you mean defines?"


@pytest.mark.parametrize("factor", [-1.0, 101.0, float("nan"), float("inf")])
def test_a_factor_that_makes_no_sense_is_refused(index, factor):
    with pytest.raises(QueryError, match="is not allowed"):
        index.search("retry", factors={"defines": factor})


def test_moved_weights_are_for_one_question_only(index):
    before = [(one.path, one.score) for one in index.search("retry")]
    index.search("retry", factors={"defines": 0.0, "test": 0.0})
    assert [(one.path, one.score) for one in index.search("retry")] == before


def test_a_mistake_in_a_query_says_where_it_is(index):
    with pytest.raises(QueryError) as refused:
        index.search("retry lang:pythn")
    assert refused.value.at == len("retry lang:")


def test_the_parts_of_a_score_are_the_lines_of_its_ledger_that_tell(index):
    first = index.search("retry")[0]
    assert first.parts == [(one.signal, one.operation, one.contribution) for one in first.why if one.is_visible]
