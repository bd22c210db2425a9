"""Why a symbol stands where it stands for a task, or is not there (E1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from context.mail_tree import TASK, mail_tree, names, place
from sample_trees import write
from small_cases import each
from whence import Index
from whence.context.pipeline import STAGES
from whence.core.errors import UsageError
from whence.core.profiles import SYMBOL_PROFILES

PROFILES = sorted(SYMBOL_PROFILES)
ASKED_ABOUT = ("wait_between", "Client.send", "Queue", "LONGEST_WAIT")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root: Path = mail_tree(tmp_path_factory.mktemp("why") / "tree")
    write(root, {"shop/basket.py": "import os\n\n\nclass Basket:\n    def put(self, thing):\n        return os.environ['BASKET']\n"})
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data")) as opened:
        yield opened


@each("profile", PROFILES)
@each("name", ASKED_ABOUT)
def test_rank_score_and_lines_are_those_of_the_answer(index, profile, name):
    pack = index.context(TASK, profile=profile)
    one = next(symbol for symbol in pack.symbols if symbol.qualified_name == name)
    why = index.why_symbol(TASK, name, profile=profile)
    assert (why.unit, why.path, why.line, why.rank, why.score) == (name, one.path, one.start_line, place(pack, name), one.score)
    assert [line.line for line in why.lines] == one.why
    assert (why.leader, why.leader_score, why.candidates) == (names(pack)[0], pack.symbols[0].score, len(pack.symbols))
    assert {one.retriever for one in why.found_by} == set(one.found_by) - {"asked"}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_rank_without_a_line_is_the_rank_when_its_signal_is_left_out(index, profile):
    whys = {
        name: {line.line.signal: line.rank_without for line in index.why_symbol(TASK, name, profile=profile).lines} for name in ASKED_ABOUT
    }
    for signal in SYMBOL_PROFILES[profile].signals:
        if signal not in whys[ASKED_ABOUT[0]] or (profile == "default" and signal in STAGES):
            continue  # without a stage there is more missing than its signal
        without = {one.qualified_name: one.score for one in index.context(TASK, profile=profile, without=signal).symbols}
        for name in ASKED_ABOUT:
            better = sum(score > without[name] + 1e-9 for score in without.values())
            equal = sum(abs(score - without[name]) <= 1e-9 for score in without.values())
            assert better < whys[name][signal] <= better + equal, (signal, name)


def test_some_line_matters(index):
    ranks = {line.rank_without for name in ASKED_ABOUT for line in index.why_symbol(TASK, name).lines}
    assert len(ranks) > len(ASKED_ABOUT)


@pytest.mark.parametrize(("profile", "name"), [("default", "test_a_busy_server_is_asked_again"), ("classic", "first_day_of_week")])
def test_a_symbol_that_nothing_finds_is_ranked_for_the_question_and_changes_nothing_else(index, profile, name):
    task = "`wait_between`"
    pack = index.context(task, profile=profile)
    assert name not in names(pack)
    why = index.why_symbol(task, name, profile=profile)
    assert why.found_by == ()
    assert 1 < why.rank <= why.candidates == len(pack.symbols) + 1
    assert (why.leader, why.leader_score) == (names(pack)[0], pack.symbols[0].score)


def test_asking_about_what_only_the_walk_found_makes_it_no_beginning_of_the_walk(index):
    pack = index.context("`drain`")
    near = [one for one in pack.symbols if one.found_by == ["graph"]]
    assert near
    for one in near:
        why = index.why_symbol("`drain`", one.key)
        assert why.score == one.score
        assert [(found.retriever, found.score) for found in why.found_by] == [("graph", one.walk)]


def test_a_name_that_several_bear_is_answered_for_the_best_of_them(index):
    assert len(index.symbol_keys("put")) == 2
    why = index.why_symbol("a queue of messages", "put")
    assert (why.unit, why.path) == ("Queue.put", "mail/queue.py")
    assert index.why_symbol("a queue of messages", "Basket.put").path == "shop/basket.py"
    assert index.why_symbol("a queue of messages", "shop/basket.py#Basket.put").rank > why.rank


def test_a_place_is_as_good_as_a_name(index):
    assert index.why_symbol(TASK, "mail/retry.py:7").unit == "wait_between"


def test_a_name_that_nothing_bears_is_refused_with_the_nearest(index):
    with pytest.raises(UsageError, match="nearest: wait_between"):
        index.why_symbol(TASK, "wait_betwen")


def test_what_has_no_place_in_the_source_is_refused(index):
    assert index.symbol_keys("env:BASKET") == ["env:BASKET"]
    with pytest.raises(UsageError, match="no place in the source"):
        index.why_symbol(TASK, "env:BASKET")


def test_a_task_without_words_is_refused(index):
    with pytest.raises(UsageError, match="no word"):
        index.why_symbol("?!", "wait_between")
