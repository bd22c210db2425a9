"""Words and vectors together (F1 to F4): who may propose, what is kept, how scores are joined, and inside which filters."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from model2vec import StaticModel

from embed.tiny_models import VOCABULARY, model2vec_model, tiny_tokenizer
from sample_trees import whence, write
from small_cases import each
from whence import Index
from whence.core.errors import UsageError
from whence.core.profiles import MINMAX, RRF
from whence.core.trace import Trace
from whence.index.store import VectorRow
from whence.index.vectors import open_vectors
from whence.ranking.pool import DENSE, CandidatePool, rescale
from whence.search.result import SearchResult
from whence.storage.arrayfile import write_arrays

NEAR = 40
#: Many files that speak of one thing; one that speaks of another and names a rare word.
FILES = {
    **{
        f"net/open_connection_{number}.py": f"def open_connection_{number}(host):\n"
        f"    '''Open a network connection to a remote host.'''\n    socket.connect(host, {number})\n"
        for number in range(NEAR)
    },
    "misc/paint.py": "def pick_color(brush, canvas):\n    '''Mix red and green paint on the canvas like a zebrafish.'''\n    return brush.mix(canvas)\n",
    "one/config.py": "def load_settings(path):\n    '''Read the settings from a file.'''\n    return parse(path)\n",
    "two/config.py": "def load_settings(path):\n    '''Read the settings from a file.'''\n    return parse(path)\n",
    "far/network.py": "def network_connection(host):\n    '''The network connection of a host.'''\n    return table.pop(host)\n",
    "far/network.js": "// The network connection of a host.\nfunction networkConnection(host) { return host.address }\n",
}
QUESTION = "open a network connection to a remote host for a zebrafish"
QUERIES = (
    QUESTION,
    "settings from a file",
    "forget a host",
    "paint",
    "load_settings",
    "how is an address chosen",
    "colour",
    "zebrafish",
)
#: So few candidates that vectors cannot find everything in a small tree.
FEW = {"search.pool": 10, "search.pool_per_result": 1}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("hybrid") / "tree", FILES)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hybrid-data")


@pytest.fixture(scope="module")
def index(place: Path, data_dir: Path) -> Iterator[Index]:
    with Index.open(place, data_dir=data_dir) as opened:
        yield opened


@pytest.fixture(scope="module")
def narrow(place: Path, data_dir: Path) -> Iterator[Index]:
    """The same index, asked for few candidates."""
    with Index.open(place, data_dir=data_dir, settings=FEW) as opened:
        yield opened


def paths(found: list[SearchResult]) -> list[str]:
    return [one.path for one in found]


def pool_of(found: list[SearchResult]) -> CandidatePool:
    return found[0]._found.ranked.pool


def candidates(found: list[SearchResult]) -> set[tuple[str, int]]:
    """Every candidate that was ranked: its file and its first line."""
    if not found:
        return set()
    pool = pool_of(found)
    first = pool.snapshot.column("units.first")
    return {(pool.path(row), int(first[unit])) for row, unit in enumerate(pool.units.tolist())}


def value(found: SearchResult, signal: str) -> float:
    """What a signal says of a result; 0 when it has no weight."""
    return next((line.value for line in found.why if line.signal == signal), 0.0)


# Options are checked before any work, whatever path a call takes.

WRONG = {
    "no such strategy": {"strategy": "both"},
    "no strategy": {"strategy": ""},
    "negative distance": {"max_distance": -0.1},
    "distance too far": {"max_distance": 2.1},
    "distance that is none": {"max_distance": math.nan},
    "distance of words": {"max_distance": 0.5, "strategy": "lexical"},
    "fusion where nothing is fused": {"fusion": "rrf"},
    "share where nothing is fused": {"alpha": 0.5},
    "no such fusion": {"fusion": "sum", "profile": "classic"},
    "share below 0": {"alpha": -0.1, "profile": "classic"},
    "share above 1": {"alpha": 1.1, "profile": "classic"},
    "share that is none": {"alpha": math.nan, "profile": "classic"},
}


@each("wrong", WRONG.values())
@each("query", ["open connection", "nosuchwordanywhere", ""])
def test_a_wrong_option_is_refused_whether_or_not_anything_matches(index: Index, wrong: dict[str, Any], query: str):
    pattern = {} if query else {"pattern": "nosuchword"}
    with pytest.raises(UsageError) as refused:
        index.search(query, **pattern, **wrong)
    assert refused.value.hint


@each("wrong", [value for value in WRONG.values() if "profile" not in value])
def test_a_wrong_option_is_refused_by_related_and_why_too(index: Index, wrong: dict[str, Any]):
    with pytest.raises(UsageError):
        index.related("one/config.py", 1, **wrong)
    with pytest.raises(UsageError):
        index.why("load settings", "one/config.py", **wrong)


def test_a_wrong_strategy_is_refused_by_an_empty_index_too(tmp_path: Path):
    with Index.open(tmp_path) as index, pytest.raises(UsageError, match="allowed: union, vector, lexical"):
        index.search("anything", strategy="both")


def test_a_wrong_option_is_told_before_a_wrong_place(index: Index):
    with pytest.raises(UsageError, match="union, vector, lexical"):
        index.related("no/such/file.py", 1, strategy="both")
    with pytest.raises(UsageError, match="union, vector, lexical"):
        index.why("load settings", "no/such/file.py", strategy="both")


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "connection", "--strategy", "both"),
        ("search", "connection", "--max-distance", "3"),
        ("search", "connection", "--profile", "classic", "--alpha", "7"),
        ("search", "connection", "--profile", "default", "--fusion", "rrf"),
        ("search", "-e", "connection", "--strategy", "both"),
        ("search", "connection", "--set", "search.strategy=both"),
    ],
    ids=" ".join,
)
def test_the_command_line_refuses_in_one_line_and_indexes_nothing_for_it(tmp_path: Path, arguments: tuple[str, ...]):
    tree = write(tmp_path / "tree", {"a.py": "connection = 1\n"})
    done = whence(*arguments, cwd=tree, WHENCE_DATA_DIR=str(tmp_path / "data"))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done
    assert done.stderr.startswith("whence: ")
    assert not list((tmp_path / "data").rglob("*.segment"))


# Candidates.


@each("query", QUERIES)
@each("k", [1, 5, 20, 60])
def test_union_keeps_every_candidate_of_vectors_and_of_words(narrow: Index, query: str, k: int):
    union = candidates(narrow.search(query, k=k, content="all"))
    for strategy in ("vector", "lexical"):
        assert candidates(narrow.search(query, k=k, content="all", strategy=strategy)) <= union


def test_union_keeps_what_vectors_find_behind_a_file_that_fills_the_first_look(tmp_path: Path):
    """A long file of near passages makes vectors look deeper; words, who know enough files by then, must not stop them."""
    long = "".join(f"def open_connection_{number}(host):\n" + "    connect_network_host(host)\n" * 40 for number in range(60))
    far = {f"far/file{number}.py": f"def network_connection_{number}(host):\n    return host\n" for number in range(30)}
    words = {f"words/file{number}.py": "# zebrafish\n" + f"def sing_{number}(song):\n    return song\n" for number in range(30)}
    tree = write(tmp_path / "tree", {"net/long.py": long, **far, **words})
    with Index.open(tree, settings=FEW) as index:
        query = "open a network connection to a host zebrafish"
        alone = paths(index.search(query, k=5, strategy="vector"))
        union = {path for path, _ in candidates(index.search(query, k=5))}
    assert len(alone) == 5
    assert any(path.startswith("far/") for path in alone)
    assert set(alone) <= union


def test_each_strategy_asks_only_whom_it_names(index: Index):
    retrieved = {strategy: set(pool_of(index.search(QUESTION, strategy=strategy)).retrieved) for strategy in ("union", "vector", "lexical")}
    assert retrieved["vector"] == {DENSE}
    assert DENSE not in retrieved["lexical"]
    assert "words" in retrieved["lexical"]
    assert retrieved["union"] == retrieved["vector"] | retrieved["lexical"]


def test_two_files_with_one_base_name_both_survive(index: Index):
    for strategy, profile in product(("union", "vector", "lexical"), ("default", "classic", "semantic")):
        found = paths(index.search("settings from a file", strategy=strategy, profile=profile, k=50))
        assert {"one/config.py", "two/config.py"} <= set(found), (strategy, profile)
        assert len(set(found)) == len(found)


def test_two_units_of_one_file_both_survive(tmp_path: Path):
    long = "    '''Open a network connection.'''\n" + "    connect(host)\n" * 60  # long enough for a passage each
    write(
        tmp_path / "tree",
        {"net/two.py": f"def open_first(host):\n{long}\ndef open_second(host):\n{long}\ndef paint(brush):\n    return brush\n"},
    )
    with Index.open(tmp_path / "tree") as index:
        for strategy in ("union", "vector", "lexical"):
            found = index.search("open a network connection", strategy=strategy)
            assert paths(found) == ["net/two.py"]
            assert len([line for path, line in candidates(found) if path == "net/two.py"]) >= 2


def test_a_question_whose_words_stand_nowhere_is_still_answered_by_vectors(tmp_path: Path):
    """With a model of which two words mean the same."""
    tiny = model2vec_model(tmp_path / "model")
    table = tiny.table.copy()
    table[VOCABULARY.index("close")] = table[VOCABULARY.index("open")]
    StaticModel(table, tiny_tokenizer()).save_pretrained(tmp_path / "model")
    write(tmp_path / "tree", {"a.py": "open = socket\n", "b.py": "parse = token\n"})
    with Index.open(tmp_path / "tree", settings={"index.model": f"model2vec:{tmp_path}/model"}) as index:
        assert index.search("close", strategy="lexical") == []
        for strategy in ("vector", "union"):
            assert index.search("close", strategy=strategy, profile="semantic")[0].path == "a.py"


def test_the_answer_is_cut_to_what_was_asked_for(index: Index):
    for strategy, k in product(("union", "vector"), (1, 3, 17)):
        assert len(set(paths(index.search(QUESTION, strategy=strategy, k=k)))) == k


def test_the_strategy_can_be_set(place: Path, data_dir: Path):
    with Index.open(place, data_dir=data_dir, settings={"search.strategy": "vector"}) as index:
        assert set(pool_of(index.search(QUESTION)).retrieved) == {DENSE}
        assert DENSE not in pool_of(index.search(QUESTION, strategy="lexical")).retrieved


# What words alone found.


def only_words(found: list[SearchResult]) -> set[str]:
    """The files of which vectors found nothing."""
    pool = pool_of(found)
    by_vectors = set(pool.files[np.isfinite(pool.retrieved[DENSE])].tolist())
    return {pool.snapshot.path(file) for file in pool.distinct_files.tolist() if file not in by_vectors}


@pytest.mark.parametrize("fusion", [MINMAX, RRF])
def test_what_words_alone_found_has_no_semantic_part_in_the_classic_profile(narrow: Index, fusion: str):
    found = narrow.search(QUESTION, k=10, profile="classic", fusion=fusion)
    assert "misc/paint.py" in only_words(found)
    pool = pool_of(found)
    columns = {entry.signal: entry.column.values for entry in found[0]._found.ranked.ledger.entries}
    rows = [row for row in range(len(pool.units)) if pool.path(row) == "misc/paint.py"]
    assert rows
    assert columns["semantic"][rows].tolist() == [0] * len(rows)
    assert columns["semantic"].max() > 0


def test_with_a_distance_what_words_alone_found_is_left_out_however_far_it_may_be(narrow: Index):
    without = narrow.search(QUESTION, k=10)
    assert "misc/paint.py" in paths(without)
    found = narrow.search(QUESTION, k=10, max_distance=2.0)
    assert "misc/paint.py" not in paths(found)
    assert found
    assert only_words(found) == set()


@each("strategy", ["union", "vector"])
@each("query", [QUESTION, "settings from a file", "network connection of a host", "mix paint on the canvas"])
def test_only_what_is_near_enough_is_returned_and_all_of_it(index: Index, query: str, strategy: str):
    every = index.search(query, k=100, strategy="vector", profile="semantic")
    pool = pool_of(every)
    nearest: dict[str, float] = {}
    for row, similar in enumerate(pool.retrieved[DENSE].tolist()):
        nearest[pool.path(row)] = max(similar, nearest.get(pool.path(row), -1.0))
    for distance in (0.0, 0.4, 0.7, 0.95, 1.05, 2.0):
        found = set(paths(index.search(query, k=100, strategy=strategy, max_distance=distance)))
        assert found == {path for path, similar in nearest.items() if 1 - similar <= distance}


def test_nothing_near_enough_is_nothing_found(place: Path, data_dir: Path):
    done = whence("search", "paint", "--max-distance", "0", cwd=place, WHENCE_DATA_DIR=str(data_dir))
    assert (done.returncode, done.stderr.splitlines()[-1][:13]) == (1, "nothing found")


# Fusion.


@each("fusion", [MINMAX, RRF])
@each("alpha", [0.0, 0.25, 1.0])
def test_the_first_phase_is_the_share_of_vectors_and_the_rest_of_words(index: Index, fusion: str, alpha: float):
    for one in index.search(QUESTION, k=50, profile="classic", fusion=fusion, alpha=alpha):
        lines = {line.signal: line for line in one.why}
        joined = sum(lines[name].contribution for name in ("lexical", "semantic") if name in lines)
        assert joined == pytest.approx(alpha * value(one, "semantic") + (1 - alpha) * value(one, "lexical"))
        assert ("semantic" in lines, "lexical" in lines) == (alpha > 0, alpha < 1)


def test_the_classic_share_of_vectors_is_three_fifths(index: Index):
    assert paths(index.search(QUESTION, profile="classic", alpha=0.6)) == paths(index.search(QUESTION, profile="classic"))
    weights = {line.signal: line.weight for line in index.search(QUESTION, profile="classic")[0].why}
    assert (weights["semantic"], weights["lexical"]) == (0.6, 0.4)


def test_each_side_is_scaled_over_its_candidates(index: Index):
    pool = pool_of(index.search(QUESTION, k=50, profile="classic"))
    semantic = rescale(pool.retrieved[DENSE], MINMAX)
    assert (semantic.min(), semantic.max()) == (0, 1)
    assert np.isfinite(pool.retrieved[DENSE]).sum() >= 10


def test_alpha_1_goes_by_vectors_and_alpha_0_by_words(narrow: Index):
    """The first phase alone: what comes after it is switched off."""
    joined = {}
    for alpha in (0.0, 1.0):
        found = narrow.search(QUESTION, k=10, profile="classic", alpha=alpha)
        entries = {entry.signal: entry for entry in found[0]._found.ranked.ledger.entries}
        pool = pool_of(found)
        joined[alpha] = entries["semantic" if alpha else "lexical"].contribution
        assert np.array_equal(joined[1.0] > 0, rescale(pool.retrieved[DENSE], MINMAX) > 0) if alpha else joined[0.0].max() == 1
        rare = [row for row in range(len(pool.units)) if pool.path(row) == "misc/paint.py"]
        assert (joined[alpha][rare] == 0).all() if alpha else rare


def test_ranks_stand_in_for_scores_with_rrf(index: Index):
    semantic = [value(one, "semantic") for one in index.search(QUESTION, k=50, profile="classic", fusion=RRF)]
    assert max(semantic) == pytest.approx(1 / 61)
    assert all(score == 0 or 1 / score == pytest.approx(round(1 / score)) for score in semantic)


SCORES = st.lists(st.one_of(st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0])), max_size=30).map(np.array)


@given(SCORES, st.sampled_from([MINMAX, RRF]))
def test_scaling_keeps_the_order_and_gives_nothing_to_what_was_not_found(scores: np.ndarray, how: str):
    before = scores.copy()
    found = rescale(scores, how)
    known = np.isfinite(before)
    assert np.array_equal(scores, before, equal_nan=True)
    assert np.isfinite(found).all()
    assert (found[~known] == 0).all()
    order = np.argsort(scores[known], kind="stable")
    assert (np.diff(found[known][order]) >= 0).all()
    for a, b in pairwise(order):
        if scores[known][a] == scores[known][b]:
            assert found[known][a] == found[known][b]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30).map(np.array))
def test_by_range_the_lowest_is_0_the_highest_1_and_equal_ones_all_1(scores: np.ndarray):
    found = rescale(scores, MINMAX)
    assert found.max() == 1
    assert found.min() == (0 if scores.max() > scores.min() else 1)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30).map(np.array), st.floats(0.01, 100), st.floats(-100, 100))
def test_by_range_neither_the_unit_nor_the_zero_of_a_score_matters(scores: np.ndarray, factor: float, shift: float):
    assume(scores.max() - scores.min() > 1e-3)
    assert np.allclose(rescale(scores * factor + shift, MINMAX), rescale(scores, MINMAX), atol=1e-6)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30, unique=True).map(np.array))
def test_by_rank_the_first_is_worth_one_part_in_61_and_each_later_one_less(scores: np.ndarray):
    found = rescale(scores, RRF)
    assert np.allclose(np.sort(found)[::-1], [1 / (60 + rank + 1) for rank in range(len(scores))])


# Filters: both retrievers search inside them.


@each("strategy", ["vector", "union"])
@each(
    ("asked", "wanted"),
    [
        ({"include": ("far/**",)}, {"far/network.py", "far/network.js"}),
        ({"exclude": ("net/**", "one/**", "two/**", "misc/**")}, {"far/network.py", "far/network.js"}),
        ({"languages": ("javascript",)}, {"far/network.js"}),
        ({"paths": ("far/network.py",)}, {"far/network.py"}),
        ({"pattern": "pop|address"}, {"far/network.py", "far/network.js"}),
    ],
)
def test_a_far_file_inside_the_filter_is_found_behind_many_near_ones_outside(
    narrow: Index, asked: dict[str, Any], wanted: set[str], strategy: str
):
    query = "open a network connection to a remote host"
    assert not wanted & {path for path, _ in candidates(narrow.search(query, k=5, strategy="vector"))}
    assert set(paths(narrow.search(query, k=5, strategy=strategy, **asked))) == wanted


def test_only_units_of_the_wanted_kind_are_found_by_vectors(tmp_path: Path):
    write(
        tmp_path / "tree",
        {"net.py": "class Connection:\n    '''An open network connection.'''\n\n    def open(self, host):\n        return host\n"},
    )
    with Index.open(tmp_path / "tree") as index:
        for kind in ("class", "method"):
            (found,) = index.search("network connection", strategy="vector", kinds=(kind,))
            assert found.kind == kind
        assert index.search("network connection", strategy="vector", kinds=("enum",)) == []


def test_with_every_word_wanted_vectors_find_no_file_that_lacks_one(index: Index):
    found = index.search("paint zebrafish", operator="and", strategy="union", k=50)
    assert paths(found) == ["misc/paint.py"]


# What is no number comes last.


@pytest.fixture
def broken(tmp_path: Path) -> tuple[Index, io.StringIO]:
    """An index in which one file's similarity is not a number, and the trace of what is asked."""
    tree, stream = write(tmp_path / "tree", FILES), io.StringIO()
    with Index.open(tree, data_dir=tmp_path / "data") as index:
        (listed,) = index.store.vectors().values()
        stored = open_vectors(index.layout.segments / listed.name, listed.stamp)
        unit = next(
            row for row in range(index.snapshot.units) if index.snapshot.path(int(index.snapshot.file_of_unit[row])) == "one/config.py"
        )
        arrays = {"first": stored.first, "last": stored.last, "rows": stored.rows.reshape(-1), "sketch": stored.sketch.reshape(-1)}
        arrays["scale"] = np.where((stored.first <= unit) & (stored.last >= unit), np.float32(np.nan), stored.scale)
        stamp = write_arrays(index.layout.segments / "broken.vectors", arrays, {"width": stored.width})
        with index.store.transaction():
            index.store.set_vectors(VectorRow(listed.segment, listed.model, "broken.vectors", stamp))
    return Index.open(tree, data_dir=tmp_path / "data", trace=Trace(stream), refresh=False), stream


def test_a_score_that_is_no_number_sorts_last_and_is_counted_in_the_trace(broken: tuple[Index, io.StringIO]):
    index, stream = broken
    with index:
        found = index.search("settings from a file", k=100, profile="semantic")
        assert paths(found)[-1] == "one/config.py"
        assert [math.isfinite(one.score) for one in found] == [True] * (len(found) - 1) + [False]
        assert found[0].path == "two/config.py"
        stages = [json.loads(line) for line in stream.getvalue().splitlines()]
        assert stages[-1]["stage"] == "final"
        assert stages[-1]["not_finite"] == 1


def test_a_score_that_is_no_number_spoils_no_other_in_any_profile(broken: tuple[Index, io.StringIO]):
    index, _ = broken
    with index:
        for profile in ("default", "classic"):
            found = index.search("settings from a file", k=10, profile=profile)
            assert all(math.isfinite(one.score) for one in found if one.path != "one/config.py")
            assert "two/config.py" in paths(found)[:2]


# The trace and the command line show both sides.


def test_the_trace_has_a_stage_for_each_retriever(place: Path, data_dir: Path):
    stream = io.StringIO()
    with Index.open(place, data_dir=data_dir, trace=Trace(stream), refresh=False) as index:
        index.search(QUESTION, profile="classic")
    stages = [json.loads(line)["stage"] for line in stream.getvalue().splitlines()]
    assert {"retrieved by meaning", "retrieved by words", "after semantic", "after lexical", "final"} <= set(stages)


def test_the_command_line_takes_every_option_of_it(place: Path, data_dir: Path):
    options = ("--strategy", "union", "--max-distance", "1.5", "--profile", "classic", "--fusion", "rrf", "--alpha", "0.3", "-k", "3")
    done = whence("search", QUESTION, *options, "--json", "--why", cwd=place, WHENCE_DATA_DIR=str(data_dir))
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["count"] == 3
    assert {line["weight"] for one in found["results"] for line in one["why"] if line["signal"] == "semantic"} == {0.3}
