"""The folder of notes: what was acknowledged is there, whole, whatever happened to those who wrote it."""

from __future__ import annotations

import ast
import os
import random
import resource
import signal
import stat
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from hindrances import obeying_permissions, small_disk
from memory.writers import MORNING, MOST, started
from whence.core.errors import StorageError, UsageError
from whence.memory.note import CodeRef, Note
from whence.memory.store import NoteStore


@pytest.fixture
def folder(tmp_path: Path) -> NoteStore:
    return NoteStore(tmp_path / "notes", MOST)


def stored(folder: NoteStore, text: str = "Text", **fields: object) -> Note:
    return folder.write(Note(text, **{"slug": "", "created": MORNING, **fields}))  # type: ignore[arg-type]


def present(folder: NoteStore, key: str) -> Note:
    note = folder.read(key)
    assert note is not None
    return note


def texts(folder: NoteStore, key: str) -> list[str]:
    """All that a note ever said, oldest first."""
    return [note.text for note in [*folder.history(key), present(folder, key)]]


def keys(folder: NoteStore) -> list[str]:
    return [f"{one.folder}/{one.slug}" for one in folder.scan()]


def by_hand(folder: NoteStore, name: str, data: bytes | str = "By hand\n") -> Path:
    path = folder.directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


# New notes.


def test_a_note_is_a_file_in_the_folder_of_its_project_and_is_read_as_it_was_given(folder):
    note = stored(folder, "\n# Cache\r\n\nIs *off*.\n\n", project="My Shop", tags=("a", "b c"), about=(CodeRef("a.py#b", "1e5"),))
    assert note.key == "my-shop/cache-is-off"
    assert present(folder, note.key) == note
    assert (folder.directory / "my-shop" / "cache-is-off.md").read_bytes().endswith(b"---\n\n\n# Cache\r\n\nIs *off*.\n\n\n")
    assert stored(folder, "Of no project").key == "general/of-no-project"


def test_a_new_note_never_takes_the_name_of_another(folder):
    names = [stored(folder, f"The same words in every one of these notes: {number}").slug for number in range(9)]
    assert names[:3] == [names[0], f"{names[0]}-2", f"{names[0]}-3"]
    assert len(set(names)) == 9
    assert [present(folder, f"general/{name}").text[-1] for name in names] == list("012345678")


def test_a_new_note_does_not_inherit_the_past_of_one_that_was_deleted_by_hand(folder):
    old = stored(folder, "One two")
    folder.write(replace(old, text="Three"))
    (folder.directory / "general" / "one-two.md").unlink()
    assert stored(folder, "One two").slug == "one-two-2"
    assert [note.text for note in folder.history("general/one-two")] == ["One two"]


def test_only_the_owner_can_read_a_note_and_a_mode_set_by_hand_stays(folder):
    note = stored(folder)
    path = folder.directory / "general" / "text.md"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.directory.stat().st_mode) == 0o700
    path.chmod(0o644)
    folder.write(replace(note, text="New"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


# Notes that replace others.


def test_a_note_of_the_same_topic_replaces_the_earlier_one_which_is_kept(folder):
    first = stored(folder, "One", project="shop", topic="Cache  Policy")
    later = MORNING + timedelta(days=1)
    second = stored(folder, "Two", project="shop", topic=" cache policy", created=later, updated=later)
    third = stored(folder, "Three", project="shop", topic="CACHE POLICY", created=later)
    assert first.key == second.key == third.key == "shop/cache-policy"
    assert (second.created, second.updated) == (MORNING, later)
    assert folder.history(first.key) == [first, second]
    assert present(folder, first.key) == third
    assert sorted(path.name for path in (folder.directory / "shop/.history/cache-policy").iterdir()) == ["0001.md", "0002.md"]


def test_the_same_topic_in_another_project_is_another_note(folder):
    assert stored(folder, "One", topic="Cache", project="a").key != stored(folder, "Two", topic="Cache", project="b").key


def test_another_topic_with_the_same_name_is_another_note(folder):
    one, other, third = (stored(folder, topic, topic=topic).slug for topic in ("C++", "C#", "C?"))
    assert one == "c"
    assert len({one, other, third}) == 3
    assert [stored(folder, "New", topic=topic).slug for topic in ("c#", "c++", "c?")] == [other, one, third]


def test_notes_without_a_topic_are_not_of_one_topic(folder):
    assert stored(folder, "One").key != stored(folder, "Two", topic="  ").key
    assert len(keys(folder)) == 2


def test_the_note_of_a_topic_is_found_under_a_name_given_by_hand(folder):
    note = stored(folder, "One", topic="Cache")
    (folder.directory / "general" / "cache.md").rename(folder.directory / "general" / "My Notes.md")
    by_hand(folder, "general/Other.md", "---\r\ntopic: 'Queue' # by hand\r\n---\r\nText")
    assert stored(folder, "Two", topic="cache").key == "general/My Notes"
    assert stored(folder, "Three", topic="queue").key == "general/Other"
    assert texts(folder, "general/My Notes") == ["One", "Two"]
    folder.write(replace(note, slug="My Notes", topic="Stock"))
    assert stored(folder, "Four", topic="Stock").slug == "My Notes"
    assert stored(folder, "Five", topic="Cache").slug == "cache"


def test_a_topic_whose_file_was_deleted_by_hand_goes_on_under_its_name(folder):
    for text in ("One", "Two"):
        stored(folder, text, topic="Cache")
    (folder.directory / "general" / "cache.md").unlink()
    assert stored(folder, "Three", topic="Cache").slug == "cache"
    assert texts(folder, "general/cache") == ["One", "Three"]


def test_what_is_the_same_is_not_written_again(folder):
    first = stored(folder, "One", topic="Cache")
    path = folder.directory / "general" / "cache.md"
    before = path.stat()
    later = MORNING + timedelta(days=1)
    assert stored(folder, "One", topic="Cache", created=later, updated=later) == first
    assert folder.write(replace(first, updated=later)) == first
    assert path.stat() == before
    assert folder.history(first.key) == []
    assert folder.write(replace(first, created=later)).created == later


def test_an_edit_keeps_the_earlier_bytes_as_they_were(folder):
    raw = b"---\ntopic: 'Cache' # mine\nmine: [1,\n  2]\n---\nText without an end"
    path = by_hand(folder, "shop/My Note.md", raw)
    note = present(folder, "shop/My Note")
    edited = folder.write(replace(note, text="New", kind="resource"), expected=note)
    assert present(folder, "shop/My Note") == edited
    assert b"mine: [1,\n  2]\n" in path.read_bytes()
    assert (folder.directory / "shop/.history/My Note/0001.md").read_bytes() == raw


def test_an_edit_of_what_somebody_else_has_changed_is_refused(folder):
    seen = stored(folder, "One")
    folder.write(replace(seen, text="Two"))
    with pytest.raises(UsageError, match="general/one has changed since it was read"):
        folder.write(replace(seen, text="Three"), expected=seen)
    folder.remove(seen.key)
    with pytest.raises(UsageError, match="has changed since it was read"):
        folder.write(replace(seen, text="Three"), expected=seen)
    assert folder.write(replace(seen, text="Three")).key == seen.key


def test_keys_of_others_stay_when_a_topic_is_told_again(folder):
    by_hand(folder, "general/cache.md", "---\ntopic: Cache\naliases: [a, b]\n---\nOne")
    assert stored(folder, "Two", topic="Cache").other == (("aliases", "aliases: [a, b]"),)


# What is refused, in one line.


@pytest.mark.parametrize(
    ("note", "says"),
    [
        (Note("x" * MOST, ""), rf"has \d+ bytes, more than the {MOST} allowed .*memory.max_bytes"),
        (Note("half \udc80", ""), "half of a surrogate pair"),
        (Note("Text", "", kind="blog"), "'blog' is not one of durable"),
        (Note("Text", "../x"), "cannot be the name"),
        (Note("Text", "x", folder=".history"), "cannot be the name"),
        (Note("Text", "x" * 253), "cannot be the name"),
        (Note("Text", "x", problem="line 2: not YAML"), "cannot be written: line 2"),
        (Note("Text", "", other=(("x", "x: [a"),)), "would not be read back as written"),
        (Note("Text", "", other=(("kind", "kind: pack"),)), "would not be read back as written"),
    ],
)
def test_a_note_that_could_not_be_read_again_is_refused(folder, note, says):
    with pytest.raises(UsageError, match=says):
        folder.write(note)
    assert not folder.directory.exists()


@pytest.mark.parametrize(
    "key",
    [
        "",
        "a",
        "a/",
        "/a",
        "../a",
        "a/..",
        "a/../b",
        "a/b/c",
        "/etc/passwd",
        "a\\b/c",
        "a/b\0",
        "a/.history",
        ".git/a",
        "a/\ud800",
        "a/" + "b" * 300,
    ],
)
def test_a_key_reaches_nothing_but_notes(folder, key):
    by_hand(folder, "../secret.md")
    for ask in (lambda: folder.read(key), lambda: folder.history(key), lambda: folder.remove(key)):
        with pytest.raises(UsageError, match="is not the key of a note"):
            ask()


def test_a_link_out_of_the_folder_is_not_followed(folder):
    outside = by_hand(folder, "../outside/secret.md")
    stored(folder, "Mine")
    (folder.directory / "general" / "file.md").symlink_to(outside)
    (folder.directory / "elsewhere").symlink_to(outside.parent)
    (folder.directory / "general" / "inside.md").symlink_to("mine.md")
    for key in ("general/file", "elsewhere/secret"):
        for ask in (
            lambda key=key: folder.read(key),
            lambda key=key: folder.write(Note("Mine", key.split("/")[1], folder=key.split("/")[0])),
        ):
            with pytest.raises(UsageError, match="leads out of the notes folder"):
                ask()
    assert keys(folder) == ["general/inside", "general/mine"]
    assert folder.stray_files() == ["general/file.md"]
    assert list(folder.folders()) == ["general"]
    assert present(folder, "general/inside").text == "Mine"
    folder.write(Note("New", "inside"))
    assert texts(folder, "general/inside") == ["Mine", "New"]
    assert present(folder, "general/mine").text == "Mine"
    assert outside.read_text() == "By hand\n"


def test_a_history_that_lies_elsewhere_is_not_written_to(folder, tmp_path):
    note = stored(folder)
    (folder.directory / "general" / ".history").symlink_to(tmp_path)
    for ask in (lambda: folder.write(replace(note, text="New")), lambda: folder.remove(note.key)):
        with pytest.raises(UsageError, match="leads out of the notes folder"):
            ask()
    assert present(folder, note.key) == note


# What lies in the folder.


def test_what_people_put_there_is_read_under_its_own_name_or_told_as_stray(folder):
    by_hand(folder, "Shop/My Note.md", "Mine\n")
    by_hand(folder, "Shop/picture.png", b"\x89PNG")
    by_hand(folder, "Shop/.hidden.md")
    by_hand(folder, "Shop/.obsidian/x.md")
    by_hand(folder, "Shop/deep/er.md")
    by_hand(folder, ".git/x.md")
    by_hand(folder, "README.md")
    by_hand(folder, "Shop/a\\b.md")
    by_hand(folder, "file-not-folder")
    (folder.directory / "Shop" / "folder.md").mkdir()
    os.mkfifo(folder.directory / "Shop" / "pipe.md")
    with open(os.fsencode(folder.directory / "Shop") + b"/caf\xe9.md", "wb"):
        pass
    assert keys(folder) == ["Shop/My Note"]
    assert present(folder, "Shop/My Note") == Note("Mine", "My Note", project="Shop", folder="Shop")
    assert folder.stray_files() == ["README.md", "Shop/a\\b.md", "Shop/caf\udce9.md", "Shop/folder.md", "Shop/pipe.md"]
    for key in ("Shop/folder", "Shop/pipe"):
        with pytest.raises(StorageError, match="is not a file"):
            folder.read(key)
    assert folder.read("file-not-folder/x") is None
    with pytest.raises(StorageError, match="cannot write to"):
        stored(folder, project="file not folder")


def test_what_changed_is_seen_without_reading(folder):
    note = stored(folder, topic="Cache")
    (before,), folders = folder.scan(), folder.folders()
    assert (before.folder, before.slug, before.size) == ("general", "cache", (folder.directory / "general/cache.md").stat().st_size)
    folder.write(replace(note, text="Next"))
    (after,) = folder.scan()
    assert after.size == before.size
    assert after.inode != before.inode
    assert folder.folders()["general"] >= folders["general"]


def test_a_file_that_is_too_large_is_read_as_far_as_allowed_and_says_so(folder):
    by_hand(folder, "general/big.md", "é" * MOST)
    note = present(folder, "general/big")
    assert note.problem == f"its file has {2 * MOST} bytes, more than memory.max_bytes ({MOST}): this is only the beginning"
    assert note.text == "é" * (MOST // 2)


def test_a_folder_that_is_not_there_has_no_notes(folder):
    assert (list(folder.scan()), folder.folders(), folder.stray_files(), folder.sweep(0, 1)) == ([], {}, [], 0)
    assert folder.read("a/b") is None
    assert folder.history("a/b") == []
    assert not folder.remove("a/b")
    assert not folder.directory.exists()


def test_what_is_removed_is_gone_with_its_history_and_an_empty_folder(folder):
    for text in ("One", "Two", "Three"):
        stored(folder, text, topic="Cache", project="shop")
    stored(folder, "Other", project="shop")
    assert folder.remove("shop/cache")
    assert not folder.remove("shop/cache")
    assert not any("cache" in str(path) for path in folder.directory.rglob("*"))
    assert folder.remove("shop/other")
    assert [path.name for path in folder.directory.iterdir()] == [".lock"]


def test_a_past_without_a_present_can_be_removed_too(folder):
    for text in ("One", "Two"):
        stored(folder, text, topic="Cache")
    (folder.directory / "general" / "cache.md").unlink()
    assert folder.remove("general/cache")
    assert folder.history("general/cache") == []


# Many at once.


@pytest.mark.process
def test_many_processes_and_threads_lose_nothing(folder):
    processes = [started(folder.directory, 40, f"p{number}") for number in range(2)]
    processes += [started(folder.directory, 40, f"q{number}", 4) for number in range(2)]
    threads = [
        threading.Thread(target=lambda name=name: [stored(folder, f"{name} {number}", project="shop") for number in range(25)])
        for name in "ab"
    ]
    for thread in threads:
        thread.start()
    said = [process.communicate(timeout=60) for process in processes]
    for thread in threads:
        thread.join()
    assert [errors for _, errors in said] == [""] * 4
    found = keys(folder)
    assert set(said[0][0].split() + said[1][0].split()) < set(found)
    assert len(found) == 2 * 40 + 2 * 25 + 4
    replaced = [text for number in range(4) for text in texts(folder, f"shop/topic-{number}")]
    assert sorted(replaced) == sorted(ast.literal_eval(line) for output, _ in said[2:] for line in output.splitlines())
    assert all(present(folder, key).text.endswith(("The end.", *map(str, range(25)))) for key in found)
    assert not any(path.name.endswith(".part") for path in folder.directory.rglob("*"))


@pytest.mark.process
def test_removing_while_others_write_hinders_nobody(folder):
    process = started(folder.directory, 60, "p")
    assert process.stdout is not None
    for line in process.stdout:
        assert folder.remove(line.strip())
    assert process.wait(timeout=30) == 0
    assert keys(folder) == []


@pytest.mark.process
def test_a_writer_waits_for_another_and_then_says_who_hinders_it(folder):
    stored(folder)
    program = (
        "import fcntl, sys, time\nfile = open(sys.argv[1])\nfcntl.flock(file, fcntl.LOCK_EX)\nprint('held', flush=True)\ntime.sleep(60)"
    )
    process = started(folder.directory / ".lock", program=program)
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(StorageError, match=r"another process has held .*\.lock for 0 s"):
        NoteStore(folder.directory, MOST, wait=0.05).write(Note("Text", ""))
    assert present(folder, "general/text").text == "Text"
    process.kill()
    process.communicate()
    stored(folder, "The lock is gone with its process")


def test_a_lock_file_that_is_deleted_by_hand_hinders_nobody(folder):
    stored(folder)
    (folder.directory / ".lock").unlink()
    assert stored(folder, "Again").slug == "again"


# Killed, hindered, out of space.


@pytest.mark.process
def test_a_writer_killed_at_any_moment_loses_nothing_it_acknowledged(folder):
    chance, said = random.Random(7), {"new": set(), "topic": set()}
    for turn in range(16):
        kind = "new" if turn % 2 else "topic"
        process = started(folder.directory, 10_000, f"turn {turn}", *([] if turn % 2 else [2]))
        assert process.stdout is not None
        said[kind].add(process.stdout.readline())
        time.sleep(chance.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        said[kind] |= {line for line in process.communicate()[0].splitlines(keepends=True) if line.endswith("\n")}
    whole = {key: present(folder, key) for key in keys(folder)}
    assert {line.strip() for line in said["new"]} <= whole.keys()
    assert all(note.text.endswith("The end.") and not note.problem for note in whole.values())
    assert {ast.literal_eval(line) for line in said["topic"]} <= {
        text for number in range(2) for text in texts(folder, f"shop/topic-{number}")
    }
    stored(folder, "The lock is free")
    folder.sweep(0, time.time() + 1)
    assert not any(path.name.endswith(".part") for path in folder.directory.rglob("*"))


STEPS = """
import os, sys
from pathlib import Path
from whence.memory.store import NoteStore
from whence.memory.note import Note
folder, left = NoteStore(Path(sys.argv[1]), 1000), int(sys.argv[2])
def step(event, arguments):
    global left
    if event in ("open", "os.link", "os.rename", "os.remove", "os.mkdir", "os.chmod") and "notes" in str(arguments[0]):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
sys.addaudithook(step)
folder.write(Note("Two", "", topic="Cache"))
os._exit(0)
"""


@pytest.mark.process
def test_a_writer_killed_at_each_single_step_leaves_the_old_note_or_the_new_one(folder):
    outcomes, code, step = set(), -9, 0
    while code:
        place = NoteStore(folder.directory / str(step), MOST)
        stored(place, "One", topic="Cache")
        process = started(place.directory, step, program=STEPS)
        assert process.communicate(timeout=30)[1] == ""
        code, step = process.returncode, step + 1
        outcomes.add(tuple(texts(place, "general/cache")))
        assert keys(place) == ["general/cache"]
        stored(place, "Three", topic="Cache")
        assert texts(place, "general/cache") in (["One", "Three"], ["One", "Two", "Three"])
    assert step > 8
    assert outcomes == {("One",), ("One", "Two")}


def test_what_a_killed_writer_left_is_swept_when_it_is_old(folder):
    stored(folder)
    left = by_hand(folder, "general/.write-0123456789abcdef.part")
    other = by_hand(folder, "general/.other.part")
    os.utime(left, (1_000, 1_000))
    os.utime(other, (1_000, 1_000))
    assert keys(folder) == ["general/text"]
    assert folder.sweep(older_than=60, now=1_050) == 0
    assert folder.sweep(older_than=60, now=1_061) == 1
    assert not left.exists()
    assert other.exists()


@pytest.mark.process
def test_a_file_that_cannot_be_written_whole_is_not_written_at_all(folder):
    note = stored(folder, "One", topic="Cache")
    program = (
        "import sys\nfrom pathlib import Path\nfrom whence.memory.store import NoteStore\nfrom whence.memory.note import Note\n"
        "for topic in ('Cache', ''):\n    try:\n        NoteStore(Path(sys.argv[1]), 10000).write(Note('x' * 5000, '', topic=topic))\n"
        "    except Exception as error:\n        print(type(error).__name__, error)\n"
    )
    process = started(folder.directory, program=program, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)))
    said = process.communicate(timeout=30)[0].splitlines()
    assert (
        said
        == [f"StorageError cannot write to {folder.directory}/general: File too large (free some space and try again; nothing was changed)"]
        * 2
    )
    assert [path.name for path in (folder.directory / "general").iterdir()] == ["cache.md"]
    assert present(folder, note.key) == note


def test_a_full_disk_takes_nothing_away(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        folder, kept = NoteStore(disk / "notes", MOST), []
        with pytest.raises(StorageError, match=r"No space left on device .*free some space"):
            kept.extend(stored(folder, f"{number} " + "x" * 3_000, topic=f"Topic {number % 3}") for number in range(100))
        assert len(kept) > 3
        assert {note.text for note in kept} == {
            text for number in range(3) if number < len(kept) for text in texts(folder, f"general/topic-{number}")
        }


@pytest.mark.process
def test_a_folder_that_may_not_be_written_or_read_is_told_in_one_line(folder):
    stored(folder, "One")
    stored(folder, "Two", project="shop")
    program = (
        "import sys\nfrom pathlib import Path\nfrom whence.memory.store import NoteStore\nfrom whence.memory.note import Note\n"
        "folder = NoteStore(Path(sys.argv[1]), 1000)\nprint([one.slug for one in folder.scan()], folder.stray_files())\n"
        "for ask in (lambda: folder.write(Note('New', '')), lambda: folder.write(Note('New', 'one')),\n"
        "            lambda: folder.read('general/one'), lambda: folder.remove('general/one'), lambda: folder.read('shop/two', max_bytes=9)):\n"
        "    try:\n        print(ask())\n    except Exception as error:\n        print(type(error).__name__, error)\n"
    )
    (folder.directory / "general" / "one.md").chmod(0)
    (folder.directory / "general").chmod(0o500)
    (folder.directory / "shop").chmod(0)
    try:
        said = started(folder.directory, program=program, preexec_fn=obeying_permissions()).communicate(timeout=30)[0].splitlines()
    finally:
        for name in ("general", "shop"):
            (folder.directory / name).chmod(0o700)
    hint = "Permission denied (check who may read and write there)"
    assert said == [
        "['one'] ['shop/']",
        f"StorageError cannot write to {folder.directory}/general: {hint}",
        f"StorageError cannot write to {folder.directory}/general: {hint}",
        f"StorageError cannot read general/one: {hint}",
        f"StorageError cannot remove general/one: {hint}",
        f"StorageError cannot read shop/two: {hint}",
    ]
