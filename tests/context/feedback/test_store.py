"""The file of what was learned: it appears when needed, for its owner only, and survives whatever happens to its writers."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from context.feedback.verdicts import CHOSEN, EXPIRE, NOW, OPEN, started, verdict
from hindrances import environment, obeying_permissions, small_disk
from whence.context.feedback.session import FeedbackSession, PendingFeedback, ReturnedSymbol
from whence.context.feedback.store import FORMAT, FeedbackStore
from whence.context.feedback.verdicts import boosts, forget, learned_symbols, opinions, pairs, records, say
from whence.core.errors import IndexDamaged, StorageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index" / "learned.db"


def whole(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as db:
        return bool(db.execute("PRAGMA integrity_check").fetchone() == ("ok",) and db.execute("PRAGMA journal_mode").fetchone() == ("wal",))


def test_reading_where_nothing_was_learned_finds_nothing_and_creates_nothing(path):
    learned = FeedbackStore(path)
    assert records(learned) == opinions(learned, str, CHOSEN) == pairs(learned, CHOSEN) == learned_symbols(learned, "walrus", CHOSEN) == []
    assert boosts(learned, [OPEN], str, CHOSEN).tolist() == [0.0]
    assert FeedbackSession(CHOSEN, learned, "talk").boosts([OPEN], NOW).tolist() == [0.0]
    assert PendingFeedback(learned, CHOSEN).used(text="open", now=NOW) == []
    assert PendingFeedback(learned, CHOSEN).returned("nothing found", [], NOW) == 0
    learned.reset()
    assert not path.parent.exists()


def test_the_first_verdict_makes_the_file_and_nothing_beside_stays(path):
    with closing(FeedbackStore(path)) as learned:
        say(learned, [verdict()], CHOSEN)
    assert [one.name for one in path.parent.iterdir()] == ["learned.db"]
    assert whole(path)


@pytest.mark.process
def test_only_the_owner_can_read_it_whatever_the_mask(path):
    program = "import os\nos.umask(0)\nsay(learned, [Verdict('a#b', True, 'r', 'secret', 1.0)], chosen)\nprint('written', flush=True)\nsys.stdin.read()"
    process = started(program, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
    process.kill()
    process.communicate()
    assert "learned.db" in modes
    assert set(modes.values()) == {0o600}


@pytest.mark.process
def test_processes_that_begin_at_once_lose_no_verdict(path):
    program = "for n in range(30):\n    say(learned, [Verdict('a.py#walrus', True, 'r', sys.argv[2], float(n))], chosen)"
    processes = [started(program, path, f"task {number}") for number in range(4)]
    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * 4
    assert len(records(FeedbackStore(path))) == 4 * 30
    assert whole(path)


def test_threads_that_share_one_file_lose_no_verdict(path):
    learned = FeedbackStore(path)

    def write(number: int) -> None:
        for at in range(20):
            say(learned, [verdict(task=f"task {number}", at=at)], CHOSEN)

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(records(learned)) == 4 * 20


@pytest.mark.process
def test_a_process_killed_while_it_writes_leaves_whole_verdicts_only(path):
    program = (
        "from time import time\nwhile True:\n    n = time()\n"
        f"    say(learned, [Verdict({OPEN!r}, True, 'r', 'idle walrus', n), Verdict({EXPIRE!r}, True, 'r', 'idle walrus', n)], chosen)\n"
        "    print(n, flush=True)\n"
    )
    finished: set[float] = set()
    for wait in (0.0, 0.003, 0.01, 0.1):
        process = started(program, path)
        assert process.stdout is not None
        finished.add(float(process.stdout.readline()))
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        finished |= {float(line) for line in process.communicate()[0].splitlines(keepends=True) if line.endswith("\n")}
        assert process.returncode == -signal.SIGKILL
    with closing(FeedbackStore(path)) as learned:
        before = records(learned)
        assert finished <= {one.at for one in before}
        assert [one.at for one in before if one.symbol == OPEN] == [one.at for one in before if one.symbol == EXPIRE]
        assert {pair.count for pair in pairs(learned, CHOSEN)} == {len(before) // 2}
        say(learned, [verdict()], CHOSEN)
        assert len(records(learned)) == len(before) + 1
    assert whole(path)


@pytest.mark.parametrize("moment", ["tempfile.mkstemp", "sqlite3.connect", "os.link"])
@pytest.mark.process
def test_a_process_killed_while_it_makes_the_file_hinders_nobody(path, moment):
    program = (
        "import os\nsys.addaudithook(lambda event, _: os.kill(os.getpid(), 9) if event == sys.argv[2] else None)\n"
        "say(learned, [Verdict('a#b', True, 'r', '', 1.0)], chosen)"
    )
    process = started(program, path, moment)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    assert not path.exists()
    learned = FeedbackStore(path)
    assert records(learned) == []
    say(learned, [verdict()], CHOSEN)
    assert records(learned) == [verdict()]


def test_a_write_that_fails_in_the_middle_leaves_nothing_of_it(path):
    learned = FeedbackStore(path)
    say(learned, [verdict()], CHOSEN)

    def interrupted() -> None:
        with learned.transaction() as db:
            db.execute("DELETE FROM records")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert records(learned) == [verdict()]


def test_a_file_removed_by_another_process_is_made_anew(path):
    learned = FeedbackStore(path)
    say(learned, [verdict()], CHOSEN)
    for one in path.parent.iterdir():
        one.unlink()
    assert records(learned) == []
    say(learned, [verdict(EXPIRE)], CHOSEN)
    assert records(FeedbackStore(path)) == [verdict(EXPIRE)]


def test_a_file_with_nothing_in_it_was_cut_off_and_is_not_taken_for_none(path):
    path.parent.mkdir()
    path.touch()
    with pytest.raises(StorageError, match="is damaged: it is empty"):
        records(FeedbackStore(path))
    assert path.exists()


@pytest.mark.parametrize("place", [b"odd \xff#?%41 folder", "naïve".encode()])
def test_folders_of_any_name_will_do(tmp_path, place):
    learned = FeedbackStore.beside(Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + place)))
    say(learned, [verdict()], CHOSEN)
    assert records(learned) == [verdict()]
    assert learned.path.exists()


def test_a_damaged_file_is_one_line_that_says_what_to_do_and_is_not_taken_for_the_index(path):
    path.parent.mkdir()
    path.write_bytes(b"no database " * 1000)
    with pytest.raises(StorageError, match="damaged") as raised:
        records(FeedbackStore(path))
    assert not isinstance(raised.value, IndexDamaged)
    assert "whence feedback reset" in raised.value.hint
    assert path.read_bytes() == b"no database " * 1000


def test_reset_removes_a_damaged_file(path):
    path.parent.mkdir()
    path.write_bytes(b"no database " * 1000)
    learned = FeedbackStore(path)
    learned.reset()
    assert not path.exists()
    say(learned, [verdict()], CHOSEN)
    assert records(learned) == [verdict()]


def test_a_file_of_a_newer_version_is_left_alone(path):
    say(FeedbackStore(path), [verdict()], CHOSEN)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    for work in (
        lambda: records(FeedbackStore(path)),
        lambda: say(FeedbackStore(path), [verdict()], CHOSEN),
        lambda: FeedbackStore(path).reset(),
    ):
        with pytest.raises(StorageError, match="newer"):
            work()
    assert path.exists()


def test_reset_leaves_no_word_of_it_in_any_file(path):
    learned = FeedbackStore(path)
    say(learned, [verdict(task="confidential walrus")], CHOSEN)
    PendingFeedback(learned, CHOSEN).returned("confidential walrus", [ReturnedSymbol(OPEN, "r1")], NOW)
    FeedbackSession(CHOSEN, learned, "talk").record([OPEN], NOW)
    assert any(b"walrus" in one.read_bytes() for one in path.parent.iterdir())
    learned.reset()
    assert not any(word in one.read_bytes() for one in path.parent.iterdir() for word in (b"walrus", b"SessionStore"))
    assert records(learned) == PendingFeedback(learned, CHOSEN).waiting() == []


def test_forgetting_one_symbol_leaves_the_others_and_no_word_of_the_one(path):
    learned = FeedbackStore(path)
    say(learned, [verdict(task="confidential walrus"), verdict(EXPIRE)], CHOSEN)
    FeedbackSession(CHOSEN, learned, "talk").record([OPEN, EXPIRE], NOW)
    assert forget(learned, [OPEN]) == 1
    assert records(learned) == [verdict(EXPIRE)]
    assert pairs(learned, CHOSEN) == []
    assert FeedbackSession(CHOSEN, learned, "talk").boosts([OPEN, EXPIRE], NOW).tolist() == [0.0, 1.0]
    assert not any(word in one.read_bytes() for one in path.parent.iterdir() for word in (b"walrus", b"SessionStore"))


@pytest.mark.process
def test_where_nothing_can_be_written_it_is_still_read(path):
    with closing(FeedbackStore(path)) as learned:
        say(learned, [verdict()], CHOSEN)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    program = (
        "import sys\nfrom pathlib import Path\nfrom whence.context.feedback.store import FeedbackStore\nfrom whence.core.errors import StorageError\n"
        "learned = FeedbackStore(Path(sys.argv[1]))\nprint(learned.rows('SELECT count(*) FROM records'))\n"
        "try:\n    with learned.transaction() as db:\n        db.execute('DELETE FROM records')\n"
        "except StorageError as error:\n    print(error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env=environment(), capture_output=True, text=True, check=False, preexec_fn=obeying_permissions(),
    )  # fmt: skip
    path.parent.chmod(0o700)
    assert done.stdout.splitlines() == ["[(1,)]", "set WHENCE_DATA_DIR to a folder you can write to"], done.stderr


def test_a_full_disk_is_one_error_and_costs_nothing_that_was_learned(tmp_path):
    with small_disk(tmp_path / "disk", "300k") as disk, closing(FeedbackStore(disk / "learned.db")) as learned:
        say(learned, [verdict()], CHOSEN)
        many = [verdict(f"a.py#{'x' * 400}{number}", task="walrus " * 60) for number in range(2_000)]
        with pytest.raises(StorageError, match="full") as raised:
            say(learned, many, CHOSEN)
        assert "space" in raised.value.hint
        assert records(learned) == [verdict()]
