"""Damage to an index, to what was learned and to the index over notes: told apart from being busy, found where nobody can see it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hindrances import environment
from sample_trees import git, write
from whence import Index
from whence.app.doctor.finding import FAILED
from whence.app.doctor.index_files import check_index
from whence.cli.main import main
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import Verdict, records, say
from whence.core.errors import IndexBusy, StorageError
from whence.core.settings import Settings
from whence.index.layout import Layout
from whence.memory import index as note_index
from whence.memory.memory import Memory
from whence.storage import sqlite

VERDICT = Verdict("pond.py#walrus", True, "root", "feed the walrus", 1_700_000_000.0)
HOLDING = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA locking_mode = EXCLUSIVE")
db.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = write(tmp_path / "tree", {"pond.py": "def walrus():\n    return otter()\n", "river.py": "def otter():\n    return 1\n"})
    git("init", "-q", cwd=root)
    git("add", ".", cwd=root)
    git("commit", "-qm", "the walrus and the otter", cwd=root)
    with Index.open(root) as index:
        _ = index.open_graph()
        with closing(FeedbackStore.beside(index.layout.directory)) as learned:
            say(learned, [VERDICT], index.settings.learn)
    return root


@pytest.fixture
def layout(tree: Path, own_data_dir: Path) -> Layout:
    return Layout(own_data_dir, tree.resolve())


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another process that has a database for itself."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
    finally:
        process.kill()
        process.communicate()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))}


# Busy is not damaged.
def test_databases_that_another_process_holds_are_busy_and_not_damaged(
    tree: Path, layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.2)
    monkeypatch.setattr("whence.index.writer.OPENING_SECONDS", 0.2)
    with Memory.open(tmp_path / "notes") as memory:
        memory.remember("The walrus sleeps", topic="walrus")
        notes = memory.index.database.path

    def search() -> None:
        with Index.open(tree) as index:
            index.search("walrus")

    questions: dict[Path, Callable[[], object]] = {
        layout.database: search,
        notes: lambda: Memory.open(tmp_path / "notes"),
        layout.directory / "learned.db": lambda: records(FeedbackStore.beside(layout.directory)),
    }
    for path, ask in questions.items():
        with held(path):
            before = contents(layout.data_dir)
            with pytest.raises(IndexBusy, match="in use by another process"):
                ask()
            assert contents(layout.data_dir) == before
        ask()
    with Index.open(tree) as index, Memory.open(tmp_path / "notes") as memory:
        assert index.notes == memory.remarks == []
    assert records(FeedbackStore.beside(layout.directory)) == [VERDICT]


# What nobody can see.
def flip(path: Path, what: bytes) -> None:
    """Change one bit in the middle of something, and nothing else of the file."""
    state, raw = path.stat(), bytearray(path.read_bytes())
    raw[raw.index(what) + len(what) // 2] ^= 1
    with path.open("r+b") as file:
        file.write(raw)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.parametrize(
    ("name", "what"), [("*.segment", b"otter"), ("*.history", b"walrus"), ("*.graph", b"arrays"), ("truth.db", b"river.py")]
)
def test_a_bit_that_flips_unseen_is_found_by_status_and_doctor_and_mended_when_it_is_time(
    tree: Path, layout: Layout, capsys: pytest.CaptureFixture[str], name: str, what: bytes
) -> None:
    path = next(layout.directory.rglob(name))
    flip(path, what)
    before = contents(layout.directory)
    assert main(["status", str(tree), "--verify"]) == 1
    shown = capsys.readouterr().out
    assert path.name in shown
    assert "damaged" in shown
    assert main(["status", str(tree), "--verify", "--json"]) == 1
    assert path.name in json.loads(capsys.readouterr().out)["damaged"][0]
    found = check_index(layout, Settings(), time.time_ns()).findings
    now = contents(layout.directory)
    assert {one: now[one] for one in now} == {one: before[one] for one in now}
    assert len(before) - len(now) == 1, "only the seal is broken: the next who opens it trusts nothing"
    assert [one.level for one in found].count(FAILED) == 1
    with Index.open(tree, settings={"index.verify_after": 0}) as index:
        assert path.name in index.notes[0]
        assert [one.path for one in index.search("otter")] == ["river.py", "pond.py"]
        _ = index.open_graph()
    with Index.open(tree, settings={"index.verify_after": 0}) as index:
        assert index.notes == []
    assert main(["status", str(tree), "--verify"]) == 0
    assert "matches its checksum" in capsys.readouterr().out


def test_an_index_of_another_format_is_not_damaged(tree: Path, layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(layout.database, isolation_level=None)) as db:
        db.executescript("DROP TABLE meta; CREATE TABLE meta (key TEXT, value TEXT); INSERT INTO meta VALUES ('format', '1');")
    assert main(["status", str(tree), "--verify"]) == 2
    assert "another version" in capsys.readouterr().err
    with Index.open(tree) as index:
        assert "another version" in index.notes[0]
    with Index.open(tree) as index:
        assert index.notes == []


# What use taught is no file's copy.
@pytest.mark.parametrize("what", [b"feed the walrus", b"pond.py#walrus"])
def test_a_verdict_with_a_flipped_bit_is_refused_and_its_file_kept(tree: Path, layout: Layout, what: bytes) -> None:
    path = layout.directory / "learned.db"
    flip(path, what)
    damaged = path.read_bytes()
    with pytest.raises(StorageError, match=r"learned\.db is damaged"):
        records(FeedbackStore(path))
    with Index.open(tree) as index:
        assert index.context("feed the walrus").text
        assert "feedback is not used for this answer" in index.notes[0]
    with pytest.raises(StorageError, match="damaged"):
        say(FeedbackStore(path), [VERDICT], index.settings.learn)
    assert path.read_bytes() == damaged
    found = check_index(layout, Settings(), time.time_ns()).findings
    assert [one.name for one in found if one.level == FAILED] == ["learned"]
    FeedbackStore(path).reset()
    assert records(FeedbackStore(path)) == []


@pytest.mark.parametrize("how", ["empty", "a link to nothing", "a folder", "a FIFO"])
def test_what_cannot_be_a_file_of_verdicts_is_said_to_be_damaged(tree: Path, layout: Layout, how: str) -> None:
    path = layout.directory / "learned.db"
    path.unlink()
    {
        "empty": path.touch,
        "a link to nothing": lambda: path.symlink_to("nowhere"),
        "a folder": path.mkdir,
        "a FIFO": lambda: os.mkfifo(path),
    }[how]()
    with pytest.raises(StorageError, match="damaged"):
        records(FeedbackStore(path))


def test_a_verdict_is_in_the_database_itself_as_soon_as_it_is_given(layout: Layout) -> None:
    path = layout.directory / "learned.db"
    with closing(FeedbackStore(path)) as open_one:
        assert records(open_one) == [VERDICT]
        assert path.with_name("learned.db-wal").stat().st_size == 0
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as without_log:
            assert without_log.execute("SELECT count(*) FROM records").fetchone() == (1,)


# The index over notes.
@pytest.mark.parametrize("what", ["topic", "tag", "secret"])
def test_a_flipped_bit_in_the_index_over_notes_is_found_and_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with Memory.open(tmp_path / "notes") as memory:
        memory.remember("The walrus sleeps in the quarry", topic="zebrafish", tags=["quagga"], project="town")
        path = memory.index.database.path
    flip(path, {"topic": b"zebrafish", "tag": b"quagga", "secret": b"durable"}[what])
    with Memory.open(tmp_path / "notes") as memory:
        assert memory.remarks == ["the note index was damaged; rebuilt from the notes"]
        assert [one.note.topic for one in memory.recall("walrus", tags=["quagga"])] == ["zebrafish"]
    with Memory.open(tmp_path / "notes") as memory:
        assert memory.remarks == []


def test_a_large_index_over_notes_is_trusted_as_long_as_it_is_as_it_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(note_index, "FEW", 1)
    with Memory.open(tmp_path / "notes") as memory:
        for tag in ("quagga", "okapi"):
            memory.remember(f"The walrus sleeps in the quarry {len(tag)}", tags=[tag])
        path = memory.index.database.path
    flip(path, b"quagga")
    with Memory.open(tmp_path / "notes") as memory:
        assert memory.remarks == []
    path.touch()
    with Memory.open(tmp_path / "notes") as memory:
        assert "damaged" in memory.remarks[0]
    flip(path, b"okapi")
    with Memory.open(tmp_path / "notes", settings={"index.verify_after": 0}) as memory:
        assert "damaged" in memory.remarks[0]


@pytest.mark.parametrize("words", [b"CREATE TABLE vectors", b"CREATE TABLE meta", b"segment INTEGER"])
def test_a_schema_that_is_no_text_any_more_is_damage_like_any_other(tree: Path, layout: Layout, own_data_dir: Path, words: bytes) -> None:
    """SQLite quotes what it cannot read, and Python then says that it cannot decode that."""
    raw = bytearray(layout.database.read_bytes())
    raw[raw.index(words)] ^= 0x80
    layout.database.write_bytes(raw)
    other = write(tree.parent / "other", {"pond.py": "def walrus():\n    return 1\n"})
    with Index.open(other) as index:
        assert index.notes == [], "what is nearby and broken is left alone"
    with Index.open(tree) as index:
        assert index.search("walrus")[0].path == "pond.py"
        assert "damaged" in index.notes[0]
    path = layout.directory / "learned.db"
    learned = bytearray(path.read_bytes())
    learned[learned.index(b"CREATE TABLE")] ^= 0x80
    path.write_bytes(learned)
    with pytest.raises(StorageError, match="damaged"):
        records(FeedbackStore(path))
    memory = Memory.open(tree.parent / "notes", data_dir=own_data_dir)
    memory.remember("The walrus sleeps.", topic="walrus")
    notes = memory.index.database.path
    memory.close()
    broken = bytearray(notes.read_bytes())
    broken[broken.index(b"CREATE TABLE")] ^= 0x80
    notes.write_bytes(broken)
    with Memory.open(tree.parent / "notes", data_dir=own_data_dir) as memory:
        assert [one.note.text for one in memory.recall("walrus")] == ["The walrus sleeps."]


def test_damage_that_status_finds_is_mended_by_the_next_search(tree: Path, layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    path = next(layout.segments.glob("*.segment"))
    state, raw = path.stat(), bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    with path.open("r+b") as file:
        file.write(raw)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert main(["status", "--verify", str(tree)]) == 1
    assert main(["search", "walrus", str(tree)]) == 0
    assert "rebuilt" in capsys.readouterr().err
    assert main(["status", "--verify", str(tree)]) == 0
