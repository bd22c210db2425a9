"""Which unit of a file a result shows."""

from __future__ import annotations

import pytest

from sample_trees import write
from whence import Index

FILES = {
    "net/client.py": '''"""HTTP client."""

DEFAULTS = {"retry": 3, "delay": 1, "connection": None, "pool": None}


class Client:
    """Talks to a server: connection pool, retry, delay, timeout, connection, retry."""

    def open_connection(self, host):
        return self.pool.take(host)

    def retry_after_failure(self, attempt):
        self.sleep(attempt)

    def close(self):
        self.pool.clear()
''',
    "net/server.py": "def listen(port):\n    return port\n",
}


@pytest.fixture
def index(tmp_path):
    write(tmp_path / "tree", FILES)
    with Index.open(tmp_path / "tree", data_dir=tmp_path / "data") as opened:
        yield opened


def test_the_unit_whose_name_answers_is_shown_not_the_one_that_makes_its_file_rank_high(index):
    first = index.search("how do we retry after a failure")[0]
    assert (first.path, first.name) == ("net/client.py", "retry_after_failure")
    assert first.best_start <= first.lines[0].number <= first.best_end


def test_the_choice_of_a_unit_has_a_receipt_and_does_not_change_the_score(index):
    first = index.search("where is a connection opened")[0]
    assert {"own_name", "unit", "passage"} <= {line.signal for line in first.unit_why}
    assert sum(line.contribution for line in first.why) == pytest.approx(first.score)


def test_a_name_is_shown_where_it_is_defined_and_text_as_typed_where_it_is(index):
    assert index.search("open_connection")[0].name == "open_connection"
    typed = index.search('"HTTP client."')[0]
    assert typed.lines[0].number == 1


def test_other_profiles_show_their_best_ranked_unit(index):
    assert index.search("how do we retry after a failure", profile="classic")[0].unit_why == []


def test_a_word_of_a_sentence_is_no_name_even_if_one_file_defines_it(index):
    alone = index.search("listen")[0]
    assert alone.path == "net/server.py"
    signals = {line.signal: line.contribution for line in index.search("how long does the client listen for")[0].why}
    assert signals.get("exact", 0.0) == 0.0
