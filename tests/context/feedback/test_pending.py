"""Signs of use: what was returned and then seen in edits and reads, and what never was (L4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from context.feedback.verdicts import CHOSEN, EXPIRE, NOW, OPEN, started, verdict
from whence.context.feedback.session import FORGOTTEN_AFTER, EditedRange, PendingFeedback, ReturnedSymbol
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import Verdict, pairs, records, say
from whence.core.errors import UsageError

TASK = "idle walrus"
GIVEN = [ReturnedSymbol(OPEN, "r1", 10, 20), ReturnedSymbol(EXPIRE, "r2", 30, 40)]


@pytest.fixture
def learned(tmp_path: Path) -> FeedbackStore:
    return FeedbackStore(tmp_path / "learned.db")


@pytest.fixture
def pending(learned: FeedbackStore) -> PendingFeedback:
    pending = PendingFeedback(learned, CHOSEN)
    pending.returned(TASK, GIVEN, NOW)
    return pending


def seen(symbol: str, *, useful: bool, root: str, at: float = NOW) -> Verdict:
    return Verdict(symbol, useful, root, TASK, at, seen=True)


def uses(learned: FeedbackStore, symbol: str, **signs: object) -> bool:
    pending = PendingFeedback(learned, CHOSEN)
    pending.returned(TASK, [ReturnedSymbol(symbol, "r1", 10, 20)], NOW)
    return pending.used(**signs, now=NOW) == [symbol]  # type: ignore[arg-type]


def test_being_returned_is_no_verdict_yet(learned, pending):
    assert pending.waiting() == [OPEN, EXPIRE]
    assert records(learned) == []


def test_what_is_seen_in_an_edit_counts_as_useful_for_the_task_it_was_given_for(learned, pending):
    assert pending.used(text="def expire_idle(now):", now=NOW + 1) == [EXPIRE]
    assert records(learned) == [seen(EXPIRE, useful=True, root="r2", at=NOW + 1)]
    assert [pair.keyword for pair in pairs(learned, CHOSEN)] == ["idl", "walrus"]


def test_however_often_it_is_seen_it_counts_once(learned, pending):
    assert [pending.used(text="expire_idle expire_idle", now=NOW + number) for number in range(3)] == [[EXPIRE], [], []]
    assert len(records(learned)) == 1


def test_what_was_never_used_by_the_next_answer_counts_as_not_useful(learned, pending):
    pending.used(text="expire_idle", now=NOW + 1)
    assert pending.returned("another task", [ReturnedSymbol(OPEN, "r1")], NOW + 2) == 1
    assert records(learned) == [seen(OPEN, useful=False, root="r1", at=NOW + 2), seen(EXPIRE, useful=True, root="r2", at=NOW + 1)]
    assert pending.waiting() == [OPEN]


def test_an_answer_without_symbols_settles_the_one_before(learned, pending):
    assert pending.returned("nothing found", [], NOW + 2) == 2
    assert [one.useful for one in records(learned)] == [False, False]
    assert pending.returned("nothing again", [], NOW + 3) == 0


def test_what_somebody_said_is_not_contradicted_by_silence(learned, pending):
    say(learned, [verdict(OPEN)], CHOSEN)
    assert pending.returned("another task", [], NOW + 2) == 1
    assert [(one.symbol, one.useful) for one in records(learned)] == [(OPEN, True), (EXPIRE, False)]


@pytest.mark.parametrize(
    "text", ["store.expire_idle()", "`expire_idle`", "expire_idle", "a\nexpire_idle\nb", "from x import expire_idle as e"]
)
def test_a_name_is_found_as_a_whole_word(learned, text):
    assert uses(learned, EXPIRE, text=text)


@pytest.mark.parametrize("text", ["expire_idles", "re_expire_idle", "expire idle", "Expire_Idle", ""])
def test_part_of_a_word_is_not_the_name(learned, text):
    assert not uses(learned, EXPIRE, text=text)


@pytest.mark.parametrize(
    ("symbol", "text", "used"),
    [
        ("a/cart.py#Cart.get", "x = settings.get('y')", False),
        ("a/cart.py#Cart.get", "x = Cart().get('y')", True),
        ("a/cart.py#Cart.__init__", "def __init__(self):", False),
        ("a/cart.py#Cart.__init__", "class Cart:\n    def __init__(self):", True),
        ("a/cart.py#run", "run()", False),
        ("a/cart.py#run", "from a.cart import run", True),
        ("a/cart.py#Cart.set_value", "set_value", False),
    ],
)
def test_a_name_that_many_have_counts_only_together_with_where_it_belongs(learned, symbol, text, used):
    assert uses(learned, symbol, text=text) is used


@pytest.mark.parametrize(
    ("symbol", "text", "used"),
    [
        ("a.rb#Walrus.fed?", "walrus.fed?", True),
        ("a.rb#Walrus.fed?", "unfed?", False),
        ("a.cpp#Walrus.operator==", "bool operator==(x)", True),
        ("a.cpp#Walrus.operator==", "bool operator<(x)", False),
        ("a.py#\u540d\u524d", "x = \u540d\u524d()", True),
    ],
)
def test_names_with_other_characters_are_found_too(learned, symbol, text, used):
    assert uses(learned, symbol, text=text) is used


@pytest.mark.parametrize(
    ("place", "used"),
    [
        (EditedRange("shop/session.py"), True),
        (EditedRange("shop/session.py", 1, 10), True),
        (EditedRange("shop/session.py", 20, 25), True),
        (EditedRange("shop/session.py", 12, 13), True),
        (EditedRange("shop/session.py", 1, 9), False),
        (EditedRange("shop/session.py", 21, 30), False),
        (EditedRange("other/session.py", 12, 13), False),
    ],
)
def test_lines_that_were_touched_use_what_lies_on_them(learned, place, used):
    assert uses(learned, OPEN, places=[place]) is used


@pytest.mark.parametrize(
    ("name", "used"), [(OPEN, True), ("SessionStore.open", True), ("open", True), ("pen", False), ("x.py#open", False)]
)
def test_a_symbol_can_be_named(learned, name, used):
    assert uses(learned, OPEN, names=[name]) is used


@pytest.mark.process
def test_another_process_may_report_the_use(learned, pending):
    program = f"print(PendingFeedback(learned, chosen).used(text='expire_idle', now={NOW + 1}))"
    assert started(program, learned.path).communicate(timeout=30) == (f"['{EXPIRE}']\n", "")
    assert pending.waiting() == [OPEN]


@pytest.mark.process
def test_processes_that_report_the_same_use_at_once_count_it_once(learned, pending):
    processes = [
        started("print(PendingFeedback(learned, chosen).used(text='expire_idle', now=1.0 + int(sys.argv[2])))", learned.path, number)
        for number in range(4)
    ]
    ended = [process.communicate(timeout=30) for process in processes]
    assert sorted(out for out, _ in ended) == ["['shop/session.py#expire_idle']\n", "[]\n", "[]\n", "[]\n"]
    assert len(records(learned)) == 1


def test_sessions_do_not_settle_one_another(learned, pending):
    other = PendingFeedback(learned, CHOSEN, "other")
    assert other.returned("a task", [ReturnedSymbol(EXPIRE, "r2")], NOW + 1) == 0
    assert pending.used(text="expire_idle", now=NOW + 2) == [EXPIRE]
    assert other.waiting() == [EXPIRE]


def test_a_session_that_never_asked_again_is_forgotten_without_a_verdict(learned, pending):
    PendingFeedback(learned, CHOSEN, "other").returned("a task", [ReturnedSymbol(EXPIRE, "r2")], NOW + FORGOTTEN_AFTER + 1)
    assert pending.waiting() == []
    assert records(learned) == []


def test_what_is_no_symbol_is_refused_and_nothing_is_changed(learned, pending):
    with pytest.raises(UsageError, match="no symbol"):
        pending.returned("a task", [ReturnedSymbol("open", "r1")], NOW + 1)
    assert pending.waiting() == [OPEN, EXPIRE]
    assert records(learned) == []
