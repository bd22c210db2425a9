"""What the index knows of notes at a glance, and code that a note is told to know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.stores import by_hand, opened
from whence import Memory
from whence.core.errors import UsageError
from whence.memory.note import CodeRef
from whence.memory.staleness import CodeState


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as memory:
        yield memory


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A file with two functions."""
    path = tmp_path / "src" / "a.py"
    path.parent.mkdir()
    path.write_text("def one():\n    return 1\n\n\ndef two():\n    return 2\n", encoding="utf-8")
    return path


# At a glance.
def test_every_note_is_seen_at_a_glance(memory):
    memory.remember("Durable.\n", project="App", topic="b", tags=["Ops", "#x"])
    memory.archive(memory.remember("Skill.\n", kind="skill", topic="a", created="2001-02-03").key)
    first, second = memory.summaries()
    assert (first.key, first.project, first.kind, first.archived, set(first.tags)) == ("app/b", "App", "durable", False, {"ops", "x"})
    assert (second.key, second.project, second.kind, second.archived) == ("general/a", "", "skill", True)
    assert second.day < first.day


def test_a_glance_sees_what_was_written_by_hand_and_what_became_of_code(memory, tmp_path, code):
    memory.remember("About one.\n", topic="one", about=["a.py#one"], repository=code.parent)
    assert [one.changed for one in memory.summaries()] == [""]
    code.write_text("def one():\n    return 3\n", encoding="utf-8")
    by_hand(tmp_path, "general/two.md", "By hand.\n")
    memory.index.refresh(full=True)
    assert {one.key: one.changed for one in memory.summaries()} == {
        "general/one": "a.py#one: the code has changed since",
        "general/two": "",
    }


def test_of_several_notes_those_that_are_gone_are_left_out(memory):
    kept, gone = (memory.remember(f"{name}\n", topic=name).key for name in ("kept", "gone"))
    memory.forget(gone)
    assert [note.key for note in memory.get_all([gone, kept])] == [kept]


# Code that a note knows.
def test_an_edit_leaves_code_as_it_was_known_where_it_is_given_so(memory, code):
    note = memory.remember("One.\n", topic="one", about=["a.py#one"], repository=code.parent)
    code.write_text(code.read_text(encoding="utf-8").replace("return 1", "return 3"), encoding="utf-8")
    edited = memory.edit(note.key, text="Another text.\n", about=note.about)
    assert edited.about == note.about
    assert memory.code_state(edited.about[0]) is CodeState.CHANGED


def test_an_edit_that_expects_another_note_stores_nothing(memory):
    note = memory.remember("One.\n", topic="one")
    memory.edit(note.key, text="Two.\n")
    with pytest.raises(UsageError):
        memory.edit(note.key, text="Three.\n", expected=note)
    assert memory.get(note.key).text == "Two.\n"


def test_a_note_is_not_still_true_of_code_that_is_gone_and_says_what_to_do(memory, code):
    note = memory.remember("One.\n", topic="one", about=["a.py#two"], repository=code.parent)
    code.write_text("def one():\n    return 1\n", encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        memory.affirm(note.key)
    assert "two" in refused.value.message
    assert "edit the note" in refused.value.hint
    assert memory.get(note.key) == note


def test_code_is_in_the_repository_that_is_named_or_in_that_around_the_notes(tmp_path, code):
    with Memory.open(tmp_path / ".whence" / "notes", data_dir=tmp_path / "data") as team:
        assert team.root_of(CodeRef("a.py", "1" * 16, "/elsewhere")) == Path("/elsewhere")
        own = team.code_ref("src/a.py#one", tmp_path)
        assert own.repository == ""
        assert team.root_of(own) == tmp_path
        assert team.code_state(own) is CodeState.FRESH
        assert team.code_state(CodeRef("src/a.py", "", "")) is CodeState.UNKNOWN
