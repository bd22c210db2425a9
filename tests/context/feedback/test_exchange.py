"""What was learned as a text: the same each time, taken in again without loss, refused when it is something else (L6)."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from context.feedback.verdicts import CHOSEN, EXPIRE, OPEN, verdict
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import Verdict, as_text, from_text, pairs, records, say
from whence.core.errors import UsageError

ANY_TEXT = st.text(st.characters(), max_size=30)
VERDICTS = st.builds(
    Verdict,
    st.builds(lambda path, name: f"{path}#{name}", ANY_TEXT.filter(lambda path: path and "#" not in path), ANY_TEXT.filter(bool)),
    st.booleans(),
    ANY_TEXT.filter(bool),
    ANY_TEXT,
    st.floats(-1e12, 1e12),
    st.booleans(),
)


@pytest.fixture
def learned(tmp_path: Path) -> FeedbackStore:
    return FeedbackStore(tmp_path / "learned.db")


@pytest.fixture
def other(tmp_path: Path) -> FeedbackStore:
    return FeedbackStore(tmp_path / "other.db")


def test_nothing_learned_is_an_empty_list(learned):
    assert json.loads(as_text(learned)) == {"format": 1, "records": []}


def test_one_more_verdict_is_one_more_line(learned):
    say(learned, [verdict(at=1), verdict(EXPIRE, at=2)], CHOSEN)
    before = as_text(learned).splitlines()
    say(learned, [verdict(at=3)], CHOSEN)
    after = as_text(learned).splitlines()
    assert [line for line in before if line not in after] == []
    assert len(after) == len(before) + 1


def test_the_text_does_not_depend_on_the_order_of_learning(learned, other):
    said = [verdict(at=1), verdict(EXPIRE, at=2), verdict(at=3, useful=False)]
    say(learned, said, CHOSEN)
    for one in reversed(said):
        say(other, [one], CHOSEN)
    assert as_text(learned) == as_text(other)


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(VERDICTS, max_size=6))
def test_whatever_was_learned_comes_back_the_same_and_twice_counts_once(said):
    with TemporaryDirectory() as folder:
        learned, other = FeedbackStore(Path(folder, "learned.db")), FeedbackStore(Path(folder, "other.db"))
        say(learned, said, CHOSEN)
        text = as_text(learned)
        assert from_text(other, text, CHOSEN) == len(records(learned))
        assert from_text(other, text, CHOSEN) == 0
        assert records(other) == records(learned)
        assert pairs(other, CHOSEN) == pairs(learned, CHOSEN)
        assert as_text(other) == text
        assert text.isascii()
        learned.close()
        other.close()


def test_what_is_taken_in_is_added_to_what_is_there(learned, other):
    say(learned, [verdict(at=1)], CHOSEN)
    say(other, [verdict(at=2)], CHOSEN)
    assert from_text(other, as_text(learned), CHOSEN) == 1
    assert [one.at for one in records(other)] == [1, 2]


def test_taking_in_nothing_creates_nothing(learned, other):
    assert from_text(other, as_text(learned), CHOSEN) == 0
    assert not other.path.exists()


GOOD = {"symbol": OPEN, "useful": True, "root": "r", "task": "", "at": 1.0, "seen": False}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not what whence feedback export writes"),
        ("[" * 100_000, "not what whence feedback export writes"),
        ("[]", "not what whence feedback export writes"),
        ('{"format": 2, "records": []}', "not what whence feedback export writes"),
        ('{"format": 1, "records": {}}', "not what whence feedback export writes"),
        (json.dumps({"format": 1, "records": [GOOD, 3]}), "record 2 is no object"),
        (json.dumps({"format": 1, "records": [GOOD, {**GOOD, "symbol": "open"}]}), "record 2: 'open' is no symbol"),
        (json.dumps({"format": 1, "records": [{**GOOD, "useful": 1}]}), "record 1: useful = 1"),
        (json.dumps({"format": 1, "records": [{**GOOD, "at": True}]}), "record 1: at = true"),
        (json.dumps({"format": 1, "records": [{**GOOD, "at": float("nan")}]}), "record 1: .* is no time"),
        (json.dumps({"format": 1, "records": [{**GOOD, "at": 10**400}]}), "record 1: "),
        (json.dumps({"format": 1, "records": [{"symbol": OPEN}]}), "record 1: useful = null"),
    ],
)  # fmt: skip
def test_what_is_something_else_is_refused_whole(learned, text, complaint):
    with pytest.raises(UsageError, match=complaint):
        from_text(learned, text, CHOSEN)
    assert not learned.path.exists()
