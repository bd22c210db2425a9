"""One pack looked at under several budgets, as the page does while its slider moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from context.mail_tree import mail_tree
from whence import Index
from whence.context.budget import Detail
from whence.context.pack import ContextPack
from whence.text.token_estimate import weigh_texts

TASK = "retry when a message cannot be sent"
BUDGETS = (200, 400, 50_000)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.open(mail_tree(tmp_path / "tree"), data_dir=tmp_path / "data") as opened:
        yield opened


@pytest.fixture
def pack(index: Index) -> ContextPack:
    return index.context(TASK)


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_look_at_another_budget_shows_what_that_budget_gives(index, pack, budget):
    assert pack.within(budget).text == index.context(TASK, budget=budget).text


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_weights_of_what_is_shown_are_those_of_the_text_between_head_and_foot(pack, budget):
    packed = pack.within(budget)
    between = packed.text.removeprefix(f"# {TASK}\n\n").rpartition("\nTokens:")[0]
    assert [sum(one.weight for one in packed.shown)] == weigh_texts([between])


def test_without_a_budget_everything_is_there_in_full(pack):
    uncut = pack.uncut
    assert uncut.left_out == ()
    assert {one.form for one in uncut.shown} == {Detail.BODY}
    assert {one.item.key for one in uncut.shown} | {one.key for one in uncut.inside} == {one.key for one in pack.symbols}


def test_a_look_is_not_remembered_by_a_session(index, tmp_path):
    pack = index.context(TASK, session="talk")
    _ = pack.within(200), pack.uncut
    assert list((tmp_path / "data").rglob("learned*")) == []
    _ = pack.text
    assert list((tmp_path / "data").rglob("learned*")) != []
