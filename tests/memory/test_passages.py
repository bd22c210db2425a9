"""Which part of a note is shown as the answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.stores import opened
from whence import Memory
from whence.memory.passages import MAX_PASSAGE, MAX_PIECES, pieces_of

TALK = [
    "# 2026-10-12 planning",
    *(f"Ben: Number {number} of what we have to do is to paint another wall of the old barn before it rains." for number in range(30)),
    "Ada: By the way, where do we keep the spare key of the boat house?",
    "Ben: It hangs behind the calendar in the kitchen.",
    *(f"Ada: Then there is the matter of fence post {number}, which the cows have pushed over once more." for number in range(30)),
]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path) as memory:
        yield memory


def test_of_a_long_talk_the_turns_that_answer_are_the_passage(memory: Memory):
    memory.remember("\n".join(TALK), topic="talk", kind="session")
    (found,) = memory.recall("where is the spare key of the boat house", k=1)
    assert "Ada: By the way, where do we keep the spare key of the boat house?" in found.passage.text
    assert "Ben: It hangs behind the calendar in the kitchen." in found.passage.text
    assert len(found.passage.text) <= MAX_PASSAGE + MAX_PIECES
    assert found.passage.left == len(TALK) - len(found.passage.pieces)


def test_a_short_note_is_its_own_passage(memory: Memory):
    memory.remember("Boats are blue.\n\nOars are red.", topic="colours")
    (found,) = memory.recall("which colour have oars", k=1)
    assert (found.passage.lines, found.passage.left) == (["Boats are blue.", "Oars are red."], 0)


def test_a_long_turn_is_cut_at_sentences_and_its_parts_say_who_speaks():
    sentence = "The boat needs a new coat of paint before it goes into the water in spring. "
    first, *others = pieces_of("Ada: " + sentence * 12)
    assert first.text.startswith("Ada: The boat")
    assert {one.speaker for one in others} == {"Ada"}
    assert all(one.text.endswith("spring.") for one in (first, *others))


def test_less_room_makes_a_shorter_passage_that_still_holds_the_best_turn(memory: Memory):
    memory.remember("\n".join(TALK), topic="talk", kind="session")
    (found,) = memory.recall("where is the spare key of the boat house", k=1)
    assert "spare key" in found.passage_within(200).text
    assert len(found.passage_within(200).text) <= 200
