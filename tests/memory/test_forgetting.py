"""Forgetting: of a note that is forgotten, no byte is left in anything we keep."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from memory.stores import by_hand, opened, slugs
from sample_trees import write

TEXT = "The xylophones were quizzically zapping near Brobdingnag."
TRACES = [
    b"xylophon",
    b"quizzic",
    b"zapping",
    b"brobdingnag",
    b"walrusing",
    b"walrus",
    b"kazoos",
    b"kazoo",
    b"gizmo.py",
    b"oldwords",
    b"oldword",
]


def traces(place: Path, *more: bytes) -> list[tuple[str, bytes]]:
    """Where any of the forgotten words is left, in the bytes and names of all files that we keep."""
    found = []
    for path in sorted(place.rglob("*")):
        data = str(path.relative_to(place)).lower().encode() + b"\0" + (path.read_bytes() if path.is_file() else b"")
        found += [(path.name, one) for one in TRACES if one in data.lower()] + [(path.name, one[:8]) for one in more if one in data]
    return found


def vectors_of(memory) -> list[bytes]:
    """Every vector of the notes, as it is stored."""
    width = memory.index.analyzer.width
    rows = [np.frombuffer(row[0], np.uint8).reshape(-1, 4 + width) for row in memory.index.database.rows("SELECT vectors FROM notes")]
    return [vector[4:].tobytes() for some in rows for vector in some]


@pytest.mark.parametrize("many", [False, True], ids=["few notes", "an array file"])
def test_of_a_forgotten_note_no_byte_is_left_in_anything_we_keep(many, tmp_path, monkeypatch):
    code = write(tmp_path / "elsewhere", {"gizmo.py": "def run():\n    return 1\n"})
    (code / ".git").mkdir()
    if many:
        monkeypatch.setattr("whence.memory.index.MAX_TAIL", 2)
    with opened(tmp_path) as memory:
        for number in range(12):
            memory.remember(f"Ordinary note number {number} about cooking")
        facts = {"project": "shop", "topic": "kazoos walrusing", "tags": ["zapping"], "about": ["gizmo.py#run"], "repository": code}
        memory.remember("The oldwords were other ones.", **facts)
        kept = memory.remember(TEXT, **facts)
        memory.index.open_reader()
        assert (memory.index.database.array_file() is not None) is many
        assert memory.recall("xylophones")[0].note.key == kept.key
        vectors = vectors_of(memory)[-1:]
        assert {one for _, one in traces(tmp_path / "notes")} > {b"xylophon", b"oldword", b"gizmo.py"}
        assert {one for _, one in traces(tmp_path / "data", *vectors)} > {b"xylophon", b"quizzic", b"walrus", b"kazoo", vectors[0][:8]}
        memory.forget(kept.key)
        for place in ("notes", "data"):
            assert traces(tmp_path / place, *vectors) == []
        assert memory.index.verify() == []
        assert len(memory.recall("note about cooking", k=20)) == 12
    with opened(tmp_path) as memory:
        assert traces(tmp_path / "data", *vectors) == []
        assert memory.remember(TEXT).slug in slugs(memory.recall("xylophones zapping"))


def test_a_note_that_was_moved_by_hand_is_forgotten_under_its_former_names(tmp_path):
    with opened(tmp_path) as memory:
        memory.remember("The oldwords were other ones.", project="shop", topic="kazoos")
        memory.remember(TEXT, project="shop", topic="kazoos")
        (tmp_path / "notes/shop/kazoos.md").rename(tmp_path / "notes/shop/renamed.md")
        memory.index.refresh(full=True)
        memory.forget("shop/renamed")
    assert traces(tmp_path / "notes") + traces(tmp_path / "data") == []


def test_what_an_older_index_and_a_killed_writer_left_goes_as_well(tmp_path):
    with opened(tmp_path) as memory:
        note = memory.remember(TEXT)
        part = by_hand(tmp_path, f"general/.write-{'0' * 16}.part", TEXT)
        os.utime(part, (1, 1))
    with opened(tmp_path, model="none") as memory:  # an index of its own
        assert memory.recall("xylophones")
    with opened(tmp_path) as memory:
        memory.forget(note.key)
    assert traces(tmp_path / "notes") + traces(tmp_path / "data") == []


def test_a_process_that_goes_on_finds_words_that_another_has_forgotten_and_learned_again(tmp_path):
    with opened(tmp_path) as here, opened(tmp_path) as there:
        note = here.remember(TEXT)
        assert there.recall("xylophones")
        here.forget(note.key)
        assert not [one for one in there.recall("xylophones") if "xylo" in one.note.text]
        again = there.remember("Xylophones again.")
        assert slugs(here.recall("xylophones"))[0] == slugs(there.recall("xylophones"))[0] == again.slug
