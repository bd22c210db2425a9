"""What comes in: Markdown, conversations and what was exported, the same drafts each time."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import pytest

from whence.core.errors import UsageError
from whence.memory.note import CodeRef, Note
from whence.memory.store import NoteStore
from whence.memory.transfer import MAX_TOPIC, NoteDraft, drafts_of, lines_of, write_folder

NOON = datetime(2026, 11, 16, 12, 0, 5, tzinfo=timezone.utc)
ANN = {"speaker": "Ann", "text": "Tea is at four.", "ts": 1683554167}


class Taken(NamedTuple):
    drafts: list[NoteDraft]
    problems: list[str]


def take(path: Path, **wish) -> Taken:
    return Taken(*drafts_of(path, **{"project": "", "topic": "", "kind": None, "max_bytes": 100_000} | wish))


def notes(path: Path, **wish) -> list[Note]:
    found = take(path, **wish)
    assert found.problems == []
    assert take(path, **wish) == found  # the same drafts each time
    return [draft.note for draft in found.drafts]


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        content = "".join(json.dumps(record) + "\n" for record in content)
    path.write_bytes(content if isinstance(content, bytes) else str(content).encode())
    return path


def test_a_folder_of_markdown_becomes_resources_with_what_their_front_matter_says(tmp_path):
    write(
        tmp_path, "vault/tea.md", "---\ntitle: All about tea\ntags: [drinks, hot]\ndate: 2024-02-03\nmood: calm\n---\n\n# Tea\n\nAt four.\n"
    )
    write(tmp_path, "vault/deep/er/milk.markdown", "```\n# no heading\n```\n## Milk and more ##\nLast.\n")
    write(tmp_path, "vault/Sugar Cubes.md", "Two.\n")
    sugar, milk, tea = notes(tmp_path / "vault", project="House Rules")
    assert [note.topic for note in (sugar, milk, tea)] == ["Sugar Cubes", "Milk and more", "All about tea"]
    assert [note.source for note in (sugar, milk, tea)] == ["Sugar Cubes.md", "deep/er/milk.markdown", "tea.md"]
    assert {(note.kind, note.project, note.folder, note.slug) for note in (sugar, milk, tea)} == {
        ("resource", "House Rules", "house-rules", "")
    }
    assert (tea.tags, tea.created) == (("drinks", "hot"), datetime(2024, 2, 3, tzinfo=timezone.utc))
    assert "mood" in str(tea.other)
    assert "# Tea\n\nAt four." in tea.text


def test_what_is_hidden_and_what_is_a_link_is_passed_over(tmp_path):
    write(tmp_path, "outside.md", "secret")
    write(tmp_path, "vault/.obsidian/plugin.md", "x")
    write(tmp_path, "vault/.draft.md", "x")
    write(tmp_path, "vault/tea.md", "x")
    write(tmp_path, "vault/tea.txt", "x")
    (tmp_path / "vault" / "link.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "vault" / "folder").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "vault" / "pipe.md")
    assert [note.source for note in notes(tmp_path / "vault")] == ["tea.md"]


def test_two_files_of_one_title_have_two_topics(tmp_path):
    write(tmp_path, "a/README.md", "# Overview\nof a")
    write(tmp_path, "b/README.md", "#  overview\nof b")
    first, second = take(tmp_path).drafts
    assert (first.note.topic, second.note.topic) == ("Overview", "overview (b/README.md)")
    assert first.fallback_topic == "Overview (a/README.md)"


def test_project_topic_and_kind_can_be_given(tmp_path):
    path = write(tmp_path, "tea.md", "# Tea\nAt four.")
    write(tmp_path, "milk.md", "# Milk\nLast.")
    [note] = notes(path, topic="Drinks", kind="skill", project="House")
    assert (note.topic, note.kind, note.project) == ("Drinks", "skill", "House")
    assert [note.topic for note in notes(tmp_path, topic="Drinks")] == ["Drinks: Milk", "Drinks: Tea"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"x" * 20_000_000, "bad.md: larger than 100000 bytes (memory.max_bytes)"),
        (b"abc\0def", "bad.md: binary"),
        (b" \n\n", "bad.md: empty"),
        (b"caf\xe9", "bad.md: not UTF-8 (byte 3)"),
    ],
    ids=["large", "binary", "empty", "latin"],
)
def test_a_file_that_is_no_note_is_a_problem_and_the_rest_goes_on(tmp_path, content, says):
    write(tmp_path, "bad.md", content)
    write(tmp_path, "good.md", "good")
    found = take(tmp_path)
    assert found.problems == [says]
    assert [draft.note.text for draft in found.drafts] == ["good"]


def test_front_matter_that_cannot_be_read_stays_part_of_the_text(tmp_path):
    path = write(tmp_path, "odd.md", "---\ntags: [unclosed\n---\n# Odd\n")
    found = take(path)
    assert len(found.problems) == 1
    assert found.problems[0].endswith("imported as plain text")
    [draft] = found.drafts
    assert (draft.note.text, draft.note.topic, draft.note.problem) == ("---\ntags: [unclosed\n---\n# Odd\n", "Odd", "")


def test_a_conversation_is_one_note_for_each_session(tmp_path):
    write(tmp_path, "talk.jsonl", [ANN | {"session": "monday"}, ANN | {"session": "tuesday", "text": "No, five."}, {"odd": 1}])
    found = take(tmp_path / "talk.jsonl", project="House")
    assert found.problems == ["talk.jsonl, line 3 is not part of a conversation; skipped"]
    monday, tuesday = (draft.note for draft in found.drafts)
    assert (monday.topic, tuesday.topic) == ("talk: monday", "talk: tuesday")
    assert (monday.kind, monday.project, monday.source, monday.created) == (
        "session",
        "House",
        "talk.jsonl: monday",
        datetime(2023, 5, 8, 13, 56, 7, tzinfo=timezone.utc),
    )
    assert monday.text == "8 May 2023, 13:56\n\nAnn: Tea is at four."


def test_a_session_keeps_its_topic_while_it_grows_and_gets_a_title(tmp_path):
    line = {"type": "user", "cwd": "/code/shop", "sessionId": "4fa1c2d0-0000-4000-8000-00000000beef", "uuid": "u"}
    line["message"] = {"role": "user", "content": "Why does the cart forget its items?"}
    [before] = notes(write(tmp_path, "4fa1c2d0.jsonl", [line]))
    [after] = notes(write(tmp_path, "4fa1c2d0.jsonl", [line, line, {"type": "custom-title", "customTitle": "Cart"}]))
    assert before.topic == after.topic
    assert after.topic.startswith("Why does the cart forget")
    assert after.project == "shop"
    assert after.text.startswith("Cart\n\nUser: Why")


def test_a_session_beyond_the_limit_comes_in_parts(tmp_path):
    path = write(tmp_path, "talk.jsonl", [ANN | {"text": f"{number} " + "tea " * 100} for number in range(100)])
    found = notes(path, max_bytes=20_000)
    assert [note.topic for note in found] == ["talk", "talk, part 2", "talk, part 3"]
    assert max(len(note.text) for note in found) < 20_000
    assert len(take(write(tmp_path, "huge.jsonl", [ANN | {"text": "tea" * 10_000}]), max_bytes=20_000).problems) == 1


def test_a_folder_of_conversations_is_read_like_one_of_markdown(tmp_path):
    write(tmp_path, "2023/talk.jsonl", [ANN])
    write(tmp_path, "2024/talk.json", json.dumps([ANN], indent=2))
    write(tmp_path, "lines.json", [ANN, ANN])
    write(tmp_path, "package.json", json.dumps({"name": "shop", "version": "1"}, indent=2))
    write(tmp_path, "broken.json", "{\n")
    write(tmp_path, "tea.md", "Tea")
    assert [(note.topic, note.kind) for note in notes(tmp_path)] == [
        ("2023/talk", "session"),
        ("2024/talk", "session"),
        ("lines", "session"),
        ("tea", "resource"),
    ]


def test_a_file_without_a_conversation_says_so_when_it_was_asked_for(tmp_path):
    assert take(write(tmp_path, "package.json", "{\n")).problems == ["package.json: not JSON"]
    assert take(write(tmp_path, "empty.jsonl", "")).problems == ["empty.jsonl: no conversation in it"]


@pytest.mark.parametrize("name", ["nowhere", "picture.png"])
def test_what_cannot_be_imported_is_refused_in_one_line(tmp_path, name):
    write(tmp_path, "picture.png", b"png")
    with pytest.raises(UsageError, match=name):
        take(tmp_path / name)
    with pytest.raises(UsageError, match="unknown kind 'opera'"):
        take(tmp_path, kind="opera")


TEA = Note(
    "Tea.\n\n---\n\ntrailing \n",
    slug="tea-2",
    project="House Rules",
    topic="Tea: when?",
    tags=("a b", "c"),
    source="Ann",
    created=NOON,
    updated=NOON,
    valid_until=NOON,
    about=(CodeRef("src/tea.py#brew", "0123456789abcdef", "/home/ann/kettle"),),
    archived=NOON,
    folder="house-rules",
)
MILK = Note("Milk.", slug="My Milk", kind="handoff", created=NOON)
BARE = Note("By hand, long ago.", slug="bare", project="attic", folder="attic")


def test_notes_that_were_exported_keep_everything(tmp_path):
    write_folder([TEA, MILK, BARE], tmp_path / "export")
    assert notes(tmp_path / "export", project="other", kind="skill") == [BARE, MILK, TEA]
    assert notes(tmp_path / "export" / "house-rules" / "tea-2.md") == [TEA]
    lines = write(tmp_path, "export.jsonl", "".join(f"{line}\n" for line in lines_of([TEA, MILK, BARE])))
    assert notes(lines, project="other") == [BARE, MILK, TEA]


def test_an_export_taken_in_and_exported_again_has_the_same_bytes(tmp_path):
    write_folder([TEA, MILK, BARE], tmp_path / "one")
    folder = NoteStore(tmp_path / "notes", 100_000)
    for draft in take(tmp_path / "one").drafts:
        folder.write(draft.note)
    stored = [folder.read(f"{found.folder}/{found.slug}") for found in folder.scan()]
    write_folder([note for note in stored if note], tmp_path / "two")
    one, two = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two
    assert list(lines_of(note for note in stored if note)) == list(lines_of([TEA, MILK, BARE]))


def test_importing_twice_stores_once(tmp_path):
    write(tmp_path, "vault/tea.md", "# Tea\nAt four.")
    write(tmp_path, "vault/b/tea.md", "# Tea\nAt five.")
    write(tmp_path, "vault/talk.jsonl", [ANN])
    folder = NoteStore(tmp_path / "notes", 100_000)
    for _ in range(2):
        for draft in take(tmp_path / "vault").drafts:
            written = folder.write(draft.note)
            assert folder.history(written.key) == []
    assert len(list(folder.scan())) == 3


def test_a_line_of_an_export_that_is_broken_is_a_problem_and_the_rest_goes_on(tmp_path):
    [milk] = lines_of([MILK])
    path = write(
        tmp_path, "export.jsonl", f'{milk}\n{{"text": 1\n\n{milk.replace("handoff", "opera")}\n'.encode() + b"\xff\n" + milk.encode()
    )
    found = take(path)
    assert [problem.partition(": ")[0] for problem in found.problems] == [
        "export.jsonl, line 2",
        "export.jsonl, line 4",
        "export.jsonl, line 5",
    ]
    assert len(found.drafts) == 2


@pytest.mark.parametrize(
    "line", ["# a" + " " * 90_000 + "x", "# " + " #" * 45_000, "#" * 90_000, "# " * 45_000], ids=["spaces", "endings", "marks", "pairs"]
)
def test_a_heading_made_to_be_slow_to_read_is_not(tmp_path, line):
    path = write(tmp_path, "long.md", line + "\n# Second")
    before = time.process_time()
    [note] = notes(path)
    assert time.process_time() - before < 1
    assert 0 < len(note.topic) <= MAX_TOPIC
