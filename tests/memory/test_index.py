"""The index over notes keeps in step with their files, whoever changes them, and is made again when it is damaged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindrances import obeying_permissions
from memory.stores import answers, by_hand, last_line, opened, said, slugs, started, texts
from whence import Memory

QUESTIONS = ["budget of the harbour", "who repairs the pump", "feeding the kitten", "in May 2023", "valencia-v1 plan", "letter to the bank"]
SUBJECTS = ["harbour", "pump", "cat", "garden", "letter", "bank", "valencia-v1", "piano", "winter", "bread"]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path) as memory:
        yield memory


def fill(memory: Memory, count: int = 20) -> list[str]:
    """Different notes of some projects; their keys."""
    keys = []
    for number in range(count):
        subject, other = SUBJECTS[number % 10], SUBJECTS[(number * 7 + 3) % 10]
        text = f"The {subject} and the budget of the {other}. " + f"It was repaired {number} times, said person{number}. " * (number % 4)
        kind = ("durable", "session", "handoff", "pack")[number % 4]
        created = f"2023-0{number % 9 + 1}-1{number % 10}"
        keys.append(
            memory.remember(text, topic=f"{subject} {number}", project=("", "shop", "bank")[number % 3], kind=kind, created=created).key
        )
    return keys


def database(place: Path) -> Path:
    (path,) = (place / "data").rglob("notes-*.db")
    return path


def arrays(place: Path) -> list[Path]:
    return list((place / "data").rglob("*.arrays"))


# What people do to files.


def test_a_note_written_by_hand_is_found_at_the_next_question(memory, tmp_path):
    by_hand(tmp_path, "general/pump.md", "The pump is repaired by Ada\n")
    by_hand(tmp_path, "new project/cat.md", "---\ntags: pets\nkind: skill\n---\n\nThe cat eats tuna\n")
    assert slugs(memory.recall("pump")) == ["pump"]
    (cat,) = memory.recall("tuna", tags=("pets",))
    assert (cat.note.project, cat.category, cat.note.text) == ("new project", "skills", "The cat eats tuna")


def test_a_note_edited_by_hand_is_found_under_its_new_words_at_the_next_open(memory, tmp_path):
    note = memory.remember("We meet in the harbour", topic="place")
    path = memory.directory / f"{note.key}.md"
    path.write_text(path.read_text().replace("harbour", "station at noon"))
    with opened(tmp_path) as again:
        assert texts(again.recall("station")) == ["We meet in the station at noon"]
        assert again.recall("harbour", strategy="lexical") == []
    assert texts(memory.recall("place")) == ["We meet in the station at noon"]


def test_an_edit_in_place_of_equal_size_and_time_is_found_at_the_next_open(memory, tmp_path):
    note = memory.remember("We meet in the harbour", topic="place")
    path = memory.directory / f"{note.key}.md"
    before = path.stat()
    with path.open("r+b") as file:
        file.write(path.read_bytes().replace(b"harbour", b"station"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_ino) == (before.st_size, before.st_ino)
    with opened(tmp_path) as again:
        assert texts(again.recall("station")) == ["We meet in the station"]


def test_a_clock_that_goes_backwards_does_not_hide_an_edit(memory, monkeypatch):
    note = memory.remember("We meet in the harbour", topic="place")
    path = memory.directory / f"{note.key}.md"
    monkeypatch.setattr(memory.index, "_clock", lambda: 1_000.0)
    path.write_text(path.read_text().replace("harbour", "station"))
    assert texts(memory.recall("station", strategy="lexical")) == ["We meet in the station"]
    os.utime(path.parent, (4_000_000_000, 4_000_000_000))  # a folder of the future
    by_hand(memory.directory.parent, "general/pump.md", "The pump\n")
    assert slugs(memory.recall("pump")) == ["pump"]


def test_a_note_deleted_by_hand_is_gone_at_once(memory):
    keep, lose = memory.remember("The pump", topic="one"), memory.remember("The pump again", topic="two")
    assert len(memory.recall("pump")) == 2
    (memory.directory / f"{lose.key}.md").unlink()
    assert slugs(memory.recall("pump")) == [keep.slug]
    shutil.rmtree(memory.directory)
    assert memory.recall("pump") == []
    assert memory.remember("The pump").key in [note.key for note in memory.list()]


def test_a_note_renamed_by_hand_is_the_same_under_its_new_name(memory):
    note = memory.remember("The pump", topic="pump")
    folder = memory.directory / "general"
    (folder / "pump.md").rename(folder / "cellar.md")
    (found,) = memory.recall("pump")
    assert (found.note.key, found.note.text, found.note.created) == ("general/cellar", "The pump", note.created)
    assert memory.remember("The pump is new", topic="pump").key == "general/cellar"
    (folder / "cellar.md").rename(memory.directory / "general" / "a b.md")
    assert [one.key for one in memory.list()] == ["general/a b"]


def test_a_folder_renamed_by_hand_takes_its_notes_along(memory):
    memory.remember("The pump", project="shop", topic="pump")
    (memory.directory / "shop").rename(memory.directory / "yard")
    assert [one.note.key for one in memory.recall("pump")] == ["yard/pump"]


@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        (b"---\ntopic: [pump\n---\n\nThe pump leaks\n", "line"),
        (b"---\nkind: memo\n---\n\nThe pump leaks\n", "line 2: kind: 'memo'"),
        (b"---\ncreated: whenever\n---\nThe pump leaks\n", "line 2: created"),
        (b"---\ntopic: one\ntopic: two\n---\nThe pump leaks\n", "line 3"),
        (b"---\ntopic: one\nThe pump leaks\n", "line 1"),
        (b"The pump leaks \xff\xfe\n", "line 1: not UTF-8"),
        (b'---\ntopic: "\\ud800"\n---\nThe pump leaks\n', "line 2"),
    ],
)
def test_a_file_that_cannot_be_read_as_a_note_says_so_and_is_found_all_the_same(memory, tmp_path, data, trouble):
    memory.remember("Another pump", topic="other")
    path = by_hand(tmp_path, "general/bad.md", data)
    found = {one.note.slug: one.note for one in memory.recall("pump leaks")}
    assert trouble in found["bad"].problem
    assert "other" in found
    assert path.read_bytes() == data
    assert memory.edit("bad", text="The pump is tight").problem == ""
    assert b"leaks" in b"".join(file.read_bytes() for file in memory.directory.rglob("bad/*.md"))


def test_a_note_edited_to_garbage_is_not_lost_when_its_topic_is_written_again(memory, tmp_path):
    note = memory.remember("The pump", topic="pump")
    path = by_hand(tmp_path, f"{note.key}.md", bytes(range(256)) * 4)
    assert "not UTF-8" in memory.get(note.key).problem
    again = memory.remember("The pump is new", topic="pump")
    everything = [file.read_bytes() for file in memory.directory.rglob("*.md")]
    assert bytes(range(256)) * 4 in everything
    assert again.key != note.key or path.read_bytes() != bytes(range(256)) * 4
    assert texts(memory.recall("new pump", k=1)) == ["The pump is new"]


def test_what_is_no_note_is_passed_over(memory, tmp_path):
    memory.remember("The pump", topic="pump")
    by_hand(tmp_path, "readme.md", "pump pump\n")
    by_hand(tmp_path, "general/picture.png", "pump")
    by_hand(tmp_path, "general/.hidden.md", "pump")
    by_hand(tmp_path, "general/deep/er.md", "pump")
    os.mkfifo(memory.directory / "general" / "pipe.md")
    (memory.directory / "general" / "link.md").symlink_to(by_hand(tmp_path, "../outside.md", "pump"))
    (memory.directory / "general" / "folder.md").mkdir()
    assert slugs(memory.recall("pump")) == ["pump"]
    assert [note.slug for note in memory.list()] == ["pump"]


# Files and folders that may not be read or written.


@pytest.mark.process
def test_one_unreadable_file_does_not_hide_the_others(memory, tmp_path):
    for number in range(3):
        memory.remember(f"The pump number {number}", topic=f"pump {number}")
    (memory.directory / "general" / "pump-1.md").chmod(0)
    program = """
with memory_of() as memory:
    print(json.dumps([[one.note.slug for one in memory.recall("pump")], [[note.slug, bool(note.problem)] for note in memory.list()]]))
"""
    recalled, listed = json.loads(said(started(tmp_path, program, obeying_permissions())))
    assert sorted(recalled)[:1] == ["pump-0"]
    assert "pump-2" in recalled
    assert {slug for slug, trouble in listed if not trouble} == {"pump-0", "pump-2"}


@pytest.mark.process
def test_where_notes_may_only_be_read_they_are_recalled_and_nothing_is_written(memory, tmp_path):
    memory.remember("The pump", topic="pump")
    memory.close()
    (memory.directory / "general").chmod(0o500)
    memory.directory.chmod(0o500)
    try:
        reads = 'with memory_of() as memory:\n    print(memory.recall("pump")[0].note.text)'
        assert said(started(tmp_path, reads, obeying_permissions())) == "The pump"
        trouble = last_line(started(tmp_path, 'memory_of().remember("Another")', obeying_permissions()))
        assert trouble.startswith("whence.core.errors.StorageError: cannot write to ")
        assert "Permission denied" in trouble
    finally:
        memory.directory.chmod(0o700)
        (memory.directory / "general").chmod(0o700)
    assert [path.name for path in (memory.directory / "general").iterdir()] == ["pump.md"]


@pytest.mark.process
def test_a_folder_of_notes_that_nobody_may_list_is_one_line(memory, tmp_path):
    memory.remember("The pump", topic="pump")
    memory.close()
    memory.directory.chmod(0)
    try:
        assert "Permission denied" in last_line(started(tmp_path, "memory_of()", obeying_permissions()))
        assert last_line(started(tmp_path, "memory_of()", obeying_permissions())).startswith("whence.core.errors.StorageError: ")
    finally:
        memory.directory.chmod(0o700)


@pytest.mark.process
def test_where_no_index_may_be_written_that_is_one_line_with_what_to_do(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o500)
    trouble = last_line(started(tmp_path, "memory_of()", obeying_permissions()))
    assert trouble.startswith("whence.core.errors.StorageError: cannot write to ")
    assert "WHENCE_DATA_DIR" in trouble


def test_a_file_where_the_folder_of_notes_should_be_is_one_line(tmp_path):
    (tmp_path / "notes").write_text("I am a file")
    with pytest.raises(Exception, match="is a file"):
        opened(tmp_path)


# A damaged index.


def damage(raw: bytes, how: str) -> bytes:
    return {
        "truncated": raw[: len(raw) // 2],
        "cut to a page": raw[:4096],
        "empty": b"",
        "garbage": b"garbage " * 1000,
        "garbage behind its header": raw[:100] + bytes(len(raw) - 100),
        "garbage in its pages": raw[:8192] + bytes((byte * 7 + 13) % 256 for byte in raw[8192:]),
    }[how]


@pytest.mark.parametrize("how", ["truncated", "cut to a page", "empty", "garbage", "garbage behind its header", "garbage in its pages"])
def test_a_damaged_index_is_made_again_from_the_notes(memory, tmp_path, how):
    fill(memory)
    before = answers(memory, QUESTIONS)
    memory.close()
    path = database(tmp_path)
    path.write_bytes(damage(path.read_bytes(), how))
    with opened(tmp_path) as again:
        assert answers(again, QUESTIONS) == before
        assert how == "empty" or "damaged" in "".join(again.remarks)
        again.remember("The zebra", topic="zebra")
    with opened(tmp_path) as calm:
        assert calm.remarks == []
        assert slugs(calm.recall("zebra", k=1)) == ["zebra"]


def test_a_deleted_index_is_made_again_and_answers_as_before(memory, tmp_path):
    fill(memory)
    before, listed = answers(memory, QUESTIONS), [note.key for note in memory.list()]
    memory.close()
    shutil.rmtree(tmp_path / "data")
    with opened(tmp_path) as again:
        assert answers(again, QUESTIONS) == before
        assert [note.key for note in again.list()] == listed


def test_an_index_deleted_under_a_running_process_loses_nothing(memory, tmp_path):
    memory.remember("The pump", topic="pump")
    shutil.rmtree(tmp_path / "data")
    memory.remember("The cat", topic="cat")
    assert slugs(memory.recall("cat", k=1)) == ["cat"]
    with opened(tmp_path) as other:
        assert sorted(note.slug for note in other.list()) == ["cat", "pump"]


def test_another_language_or_model_has_an_index_of_its_own(memory, tmp_path):
    fill(memory, 5)
    with opened(tmp_path, language="german") as german, opened(tmp_path, model="none") as plain:
        assert len(list((tmp_path / "data").rglob("notes-*.db"))) == 3
        german.remember("Die Orgel", topic="orgel")
        assert slugs(memory.recall("orgel", k=1)) == ["orgel"]
        assert slugs(plain.recall("orgel", k=1)) == ["orgel"]
        memory.forget("orgel")
        assert german.recall("orgel", strategy="lexical") == []


# The file of arrays.


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but a few notes are in the file of arrays."""
    monkeypatch.setattr("whence.memory.index.MAX_TAIL", 4)


def worked_on(memory: Memory) -> list[list[list[object]]]:
    """What is answered along the way while notes are written, edited, replaced, archived and forgotten."""
    along = []
    keys = fill(memory, 12)
    along.append(answers(memory, QUESTIONS))
    memory.edit(keys[0], text="The harbour is closed, the kitten is fed")
    memory.archive(keys[1])
    memory.forget(keys[2])
    memory.remember("The pump 3 runs, and the letter has gone to the bank", topic="garden 3", project="")
    along.append(answers(memory, QUESTIONS))
    for number in range(9):
        memory.remember(
            f"Letter {number} to the bank about budget, harbour and kitten", topic=f"mail {number}", created="2023-05-20", project="post"
        )
    along.append(answers(memory, QUESTIONS))
    for key in keys[4:9]:
        memory.forget(key)
    memory.restore(keys[1])
    along.append(answers(memory, QUESTIONS))
    return along


def test_the_file_of_arrays_changes_no_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path / "without") as memory:
        without = worked_on(memory)
        assert not arrays(tmp_path / "without")
    monkeypatch.setattr("whence.memory.index.MAX_TAIL", 4)
    with opened(tmp_path / "with") as memory:
        assert worked_on(memory) == without
        assert len(arrays(tmp_path / "with")) == 1
        with opened(tmp_path / "with") as other:
            assert answers(other, QUESTIONS) == without[-1]
    shutil.rmtree(tmp_path / "with" / "data")
    with opened(tmp_path / "with") as again:
        assert answers(again, QUESTIONS) == without[-1]


@pytest.mark.parametrize("how", ["truncated", "empty", "garbage", "deleted", "altered"])
def test_a_damaged_file_of_arrays_is_made_again(memory, tmp_path, beside, how):
    fill(memory)
    before = answers(memory, QUESTIONS)
    memory.close()
    (path,) = arrays(tmp_path)
    if how == "deleted":
        path.unlink()
    elif how == "altered":
        raw = path.read_bytes()
        path.write_bytes(raw[:-200] + bytes(200))
    else:
        path.write_bytes(damage(path.read_bytes(), how))
    with opened(tmp_path) as again:
        assert answers(again, QUESTIONS) == before
        assert len(arrays(tmp_path)) == 1


def test_processes_that_share_a_file_of_arrays_follow_each_other(memory, tmp_path, beside):
    fill(memory)
    with opened(tmp_path) as other:
        for number in range(12):
            writer, reader = (memory, other) if number % 2 else (other, memory)
            writer.remember(f"zebra{number} in the yard", topic=f"zebra {number}", project=f"zoo {number}")
            assert slugs(reader.recall(f"zebra{number}", k=1, project=f"zoo {number}")) == [f"zebra-{number}"]
            reader.forget(f"zebra-{number}")
            assert writer.recall(f"zebra{number}", project=f"zoo {number}") == []
        assert answers(memory, QUESTIONS) == answers(other, QUESTIONS)
    assert len(arrays(tmp_path)) == 1


# Several processes.


@pytest.mark.process
def test_what_one_process_remembers_another_that_is_running_recalls_at_once(memory, tmp_path):
    assert memory.recall("pump") == []
    program = """
memory = memory_of()
for line in sys.stdin:
    memory.remember(f"The pump {line}", topic=line) if not memory.recall(line, k=1) else None
    print(len(memory.recall("pump", k=50)), flush=True)
"""
    with started(tmp_path, program) as other:
        for number, word in enumerate(("zebra", "lion", "otter"), 1):
            other.stdin.write(f"{word}\n")
            other.stdin.flush()
            assert other.stdout.readline().strip() == str(2 * number - 1)
            assert len(memory.recall("pump", k=50)) == 2 * number - 1
            memory.remember(f"The pump of mine {number}", topic=f"mine {number}")
        other.stdin.write("mine\n")
        other.stdin.flush()
        assert other.stdout.readline().strip() == "6"
        other.stdin.close()


@pytest.mark.process
def test_several_processes_may_open_a_new_store_at_once_and_write_to_it(tmp_path):
    by_hand(tmp_path, "general/pump.md", "The pump\n")
    program = """
sys.stdin.readline()
with memory_of() as memory:
    for number in range(5):
        memory.remember(f"The pump of {sys.stdin.name} {number}", topic="shared")
        memory.remember("The pump of all")
    print(len(memory.recall("pump", k=50, profile="classic")) > 0)
"""
    processes = [started(tmp_path, program) for _ in range(3)]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [said(process) for process in processes] == ["True"] * 3
    with opened(tmp_path) as memory:
        assert len(memory.list()) == 1 + 1 + 15
        assert memory.remarks == []


@pytest.mark.process
def test_a_folder_that_disappears_while_others_look_hinders_nobody(memory, tmp_path):
    program = """
import time
with memory_of() as memory:
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        memory.forget(memory.remember("The pump", project="short lived").key)
"""
    memory.remember("The pump stays", topic="stays")
    with started(tmp_path, program) as other:
        while other.poll() is None:
            assert "stays" in slugs(memory.recall("pump"))
            memory.list()
        assert said(other) == ""


@pytest.mark.process
def test_the_same_question_to_the_same_notes_has_the_same_answer_everywhere(memory, tmp_path):
    keys = fill(memory)
    memory.edit(keys[3], text="The kitten was fed by the bank")
    mine = answers(memory, QUESTIONS)
    program = f"""
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from memory.stores import answers
with memory_of() as memory:
    print(json.dumps(answers(memory, {QUESTIONS!r})))
"""
    for seed in ("1", "2"):
        assert json.loads(said(started(tmp_path, program, PYTHONHASHSEED=seed))) == mine
        shutil.rmtree(tmp_path / "data")
