"""Notes that a person puts together: all that they said is in the one that is left, whoever is stopped on the way."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from memory.stores import by_hand, opened
from whence import Memory
from whence.core.errors import UsageError
from whence.memory.compaction import combined, merge
from whence.memory.note import CodeRef, Note

NOW = datetime(2026, 5, 4, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as memory:
        yield memory


def note(text: str, **fields: object) -> Note:
    return Note(text, slug="x", **fields)  # type: ignore[arg-type]


def pair(memory: Memory) -> list[Note]:
    """Two notes of one project."""
    return [memory.remember(f"The {name} one.\n", project="app", topic=name, tags=[name, "both"]) for name in ("left", "right")]


# What several notes are as one.
def test_all_texts_stand_under_their_topics_or_first_words():
    whole = combined([note("First.\n", topic="one"), note("\nSecond text here.\n\n")])
    assert whole.text == "## one\n\nFirst.\n\n## Second text here.\n\nSecond text here.\n"
    assert whole.topic == "one"


def test_tags_and_sources_are_joined_and_each_is_there_once():
    whole = combined([note("a", tags=("x", "y"), source="talk"), note("b", tags=("Y", "z"), source="talk"), note("c", source="mail")])
    assert [tag.casefold() for tag in whole.tags] == ["x", "y", "z"]
    assert whole.source == "talk, mail"


def test_it_is_of_the_day_of_the_oldest():
    assert combined([note("a", created=NOW), note("b", created=NOW - DAY), note("c")]).created == NOW - DAY


def test_it_holds_whenever_one_of_them_did():
    bounded = [note("a", valid_from=NOW, valid_until=NOW + DAY), note("b", valid_from=NOW - DAY, valid_until=NOW + 3 * DAY)]
    assert (combined(bounded).valid_from, combined(bounded).valid_until) == (NOW - DAY, NOW + 3 * DAY)
    open_ended = combined([*bounded, note("c")])
    assert (open_ended.valid_from, open_ended.valid_until) == (None, None)


def test_code_that_two_know_is_as_the_later_one_knows_it():
    old, new, other = CodeRef("a.py", "1" * 16, "/r"), CodeRef("a.py", "2" * 16, "/r"), CodeRef("a.py", "3" * 16, "/s")
    later = note("b", about=(old, other), updated=NOW - DAY)
    assert combined([note("a", about=(new,), updated=NOW), later]).about == (new, other)
    assert combined([later, note("a", about=(new,), updated=NOW)]).about == (new, other)


# Merging.
def test_the_first_holds_all_and_the_others_are_archived(memory):
    left, right = pair(memory)
    done = merge(memory, [left, right])
    assert (done.note.key, done.put_away, done.left) == (left.key, (right.key,), ())
    stored = memory.get(left.key)
    assert "The left one." in stored.text
    assert "The right one." in stored.text
    assert stored.tags == ("left", "both", "right")
    assert memory.history(left.key)[-1].text == "The left one.\n"
    assert memory.get(right.key).archived


def test_what_is_given_is_taken_in_place_of_all_of_them(memory):
    left, right = pair(memory)
    done = merge(memory, [left, right], text="Both.\n", topic="both of them", tags=["one"], forget=True)
    assert (done.note.text, done.note.topic, done.note.tags) == ("Both.\n", "both of them", ("one",))
    with pytest.raises(UsageError, match="there is no note"):
        memory.get(right.key)


def test_one_that_was_changed_meanwhile_is_left_as_it_is(memory):
    left, right = pair(memory)
    memory.edit(right.key, text="Changed.\n")
    done = merge(memory, [left, right], forget=True)
    assert (done.put_away, done.left) == ((), (right.key,))
    assert memory.get(right.key).text == "Changed.\n"
    assert "The right one." in done.note.text


def test_nothing_is_put_away_when_the_first_was_changed_meanwhile(memory):
    left, right = pair(memory)
    memory.edit(left.key, text="Changed.\n")
    with pytest.raises(UsageError):
        merge(memory, [left, right], forget=True)
    assert memory.get(left.key).text == "Changed.\n"
    assert memory.get(right.key) == right


@pytest.mark.parametrize("text", [f"With {SECRET}.", "  "])
def test_nothing_is_put_away_when_the_whole_cannot_be_stored(memory, text):
    left, right = pair(memory)
    with pytest.raises(UsageError):
        merge(memory, [left, right], text=text, forget=True)
    assert [memory.get(one.key) for one in (left, right)] == [left, right]


def test_one_note_twice_is_no_merge(memory):
    left, _ = pair(memory)
    for some in ([left], [left, left], []):
        with pytest.raises(UsageError, match="two notes or more"):
            merge(memory, some)


def test_what_is_not_archived_is_not_merged_into_what_is(memory):
    left, right = pair(memory)
    away = memory.archive(left.key)
    with pytest.raises(UsageError, match="is archived"):
        merge(memory, [away, right])
    assert merge(memory, [away, memory.archive(right.key)]).note.archived


def test_a_note_in_trouble_is_not_merged(memory, tmp_path):
    left, _ = pair(memory)
    by_hand(tmp_path, "app/broken.md", "---\nkind: [\n---\n\nText.\n")
    with pytest.raises(UsageError, match="cannot be merged"):
        merge(memory, [left, memory.get("app/broken")])


def test_code_is_taken_as_it_is_now_when_that_is_said(tmp_path, memory):
    (tmp_path / "a.py").write_text("A = 1\n", encoding="utf-8")
    notes = [memory.remember(f"{name}\n", topic=name, about=["a.py"], repository=tmp_path) for name in ("one", "two")]
    (tmp_path / "a.py").write_text("A = 2\n", encoding="utf-8")
    assert memory.code_changes(merge(memory, notes).note)
    again = [memory.get(notes[0].key), memory.restore(notes[1].key)]
    assert memory.code_changes(merge(memory, again, affirm=True).note) == ""
