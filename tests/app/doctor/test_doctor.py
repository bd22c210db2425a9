"""What the doctor sees: damage is named, healthy odd shapes are left in peace, and nothing is changed by looking."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindrances import environment
from sample_histories import commit
from sample_trees import SOURCES, git, truth, write
from whence import Index
from whence.app.doctor import environment as surroundings
from whence.app.doctor import installation, load_check, quality
from whence.app.doctor.finding import FAILED, OK, SKIPPED, WARNING, Finding, overall_level, run_check
from whence.app.doctor.index_files import IndexState, ReadOnlyIndexStore, check_index
from whence.app.doctor.quality import mask_comment, question_of, questions_from_commits
from whence.core.settings import Settings
from whence.core.types import Unit
from whence.embed import static
from whence.index.layout import Layout
from whence.index.store import IndexStore
from whence.source.history import Commit

FILES = {
    "shop/basket.py": 'def total(items):\n    """Adds up the prices of everything a visitor wants to buy."""\n    return sum(one.price for one in items)\n',
    "shop/mail.py": 'def send(order):\n    """Tells the buyer by letter that goods are on their way."""\n    return deliver(order.address)\n',
    "shop/stock.py": "def reserve(item, count):\n    return warehouse.take(item, count)\n",
    "logo.bin": b"\0\1\2" * 100,
}


@pytest.fixture
def layout(tmp_path) -> Layout:
    """A small tree that is indexed."""
    root = write(tmp_path / "shop", FILES)
    with Index.open(root, data_dir=tmp_path / "data") as index:
        _ = index.open_graph()
    return Layout(tmp_path / "data", root)


def looked(layout: Layout, settings: Settings | None = None) -> IndexState:
    return check_index(layout, settings or Settings(), time.time_ns())


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {one.name: one for one in findings}


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_healthy_index_is_well_and_looking_at_it_changes_nothing(layout):
    before = everything_in(layout.data_dir)
    state = looked(layout)
    assert [one.level for one in state.findings] == [OK] * 7
    assert state.searchable
    assert state.languages == ["python"]
    assert by_name(state.findings)["left out"].facts["worst"][0]["path"] == "logo.bin"
    assert everything_in(layout.data_dir) == before


def a_flipped_byte(layout: Layout) -> None:
    """As a failing disk leaves it: the size and the times are what they were."""
    path = next(layout.segments.glob("*.segment"))
    state, raw = path.stat(), bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    path.write_bytes(raw)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def cut_off(path: Path, share: float) -> None:
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def without_a_table(layout: Layout) -> None:
    with truth(layout.database) as db:
        db.execute("DROP TABLE places")


DAMAGES = {
    "a segment is cut off": (lambda at: cut_off(next(at.segments.glob("*.segment")), 0.5), "derived files", "instead of"),
    "a byte of a segment is another": (a_flipped_byte, "derived files", "checksum"),
    "the vectors are gone": (lambda at: next(at.segments.glob("*.vectors")).unlink(), "derived files", "missing"),
    "the graph is cut off": (lambda at: cut_off(next(at.segments.glob("*.graph")), 0.9), "derived files", "instead of"),
    "the database is noise": (lambda at: at.database.write_bytes(os.urandom(9_000)), "database", "not a database"),
    "the database is cut off": (lambda at: cut_off(at.database, 0.6), "database", "damaged"),
    "the database is empty": (lambda at: at.database.write_bytes(b""), "index", "lost"),
    "the database is gone": (lambda at: at.database.unlink(), "index", "lost"),
    "the database lacks a table": (without_a_table, "index", "lacks places"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_with_what_to_do_and_left_as_it_is(layout, damage):
    hurt, name, said = DAMAGES[damage]
    hurt(layout)
    before = everything_in(layout.data_dir)
    state = looked(layout)
    found = by_name(state.findings)[name]
    assert found.level == FAILED
    assert said in " ".join((found.message, *found.details))
    assert "whence index" in found.hint
    assert not state.searchable
    assert everything_in(layout.data_dir) == before


def killed_with_a_log(layout: Layout) -> None:
    """A writer that was killed: what it committed is in the log alone."""
    code = (
        "import os, sqlite3, sys; from whence.storage.sqlite import register_row_sum;"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None); register_row_sum(db);"
        "db.execute(\"INSERT OR REPLACE INTO meta VALUES ('odd', 'shape')\"); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(layout.database)], check=False, env={**os.environ, "PYTHONPATH": str(SOURCES)})
    assert layout.database.with_name("truth.db-wal").stat().st_size


def strays(layout: Layout) -> None:
    (layout.segments / "0123.segment.part").write_bytes(b"half")
    (layout.segments / "4567.segment").write_bytes(b"of a build that was cut off")


def odd_git(layout: Layout) -> None:
    (layout.root / ".git").write_text("gitdir: /nowhere\n", encoding="utf-8")


ODD = {
    "a killed writer's log": killed_with_a_log,
    "left-over files": strays,
    "no graph yet": lambda at: with_meta(at, "DELETE FROM meta WHERE key = 'graph'"),
    "a git that leads nowhere": odd_git,
    "an unreadable time stamp": lambda at: os.utime(at.root / "shop/mail.py", (0, 0)),
    "a lock file with nothing in it": lambda at: at.lock_file.write_bytes(b""),
    "a lock file with noise in it": lambda at: at.lock_file.write_bytes(b"\xff\xfe"),
}


def with_meta(layout: Layout, sql: str) -> None:
    with truth(layout.database) as db:
        db.execute(sql)


@pytest.mark.parametrize("shape", ODD)
def test_a_healthy_odd_shape_is_not_taken_for_a_broken_one(layout, shape):
    ODD[shape](layout)
    before = layout.database.read_bytes()
    state = looked(layout)
    assert overall_level(state.findings) == OK, state.findings
    assert state.searchable
    assert overall_level(list(surroundings.writer_lock(layout, time.time()))) == OK
    assert layout.database.read_bytes() == before


def test_an_index_that_will_be_built_again_anyway_is_a_warning(layout):
    assert by_name(looked(layout, Settings(index=Settings().index.__class__(hidden=True))).findings)["index"].level == WARNING
    with_meta(layout, "UPDATE meta SET value = '4' WHERE key = 'format'")
    state = looked(layout)
    assert by_name(state.findings)["index"].message.startswith("built by another version")
    assert overall_level(state.findings) == WARNING
    assert not state.searchable


def test_an_index_in_the_middle_of_a_write_is_not_damaged(layout):
    with truth(layout.database) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM meta")
        assert overall_level(looked(layout).findings) == OK
        db.execute("ROLLBACK")


def test_a_tree_without_files_or_without_an_index_has_nothing_broken(tmp_path):
    root = tmp_path / "empty"
    root.mkdir()
    where = Layout(tmp_path / "data", root)
    assert [(one.level, one.name) for one in looked(where).findings] == [(SKIPPED, "index")]
    Index.open(root, data_dir=tmp_path / "data").close()
    state = looked(where)
    assert [one.name for one in state.findings if one.level != OK] == ["left out"]  # nothing to search is worth a word
    assert not state.searchable


# Locks and orphans.
@contextlib.contextmanager
def writer(layout: Layout) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the writer's lock."""
    code = (
        "import sys, time; from pathlib import Path; from whence.index.layout import Layout\n"
        "with Layout(Path(sys.argv[1]), Path(sys.argv[2])).write_lock(0):\n    print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(layout.data_dir), str(layout.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.process
def test_a_lock_says_who_holds_it_and_whether_they_are_alive(layout):
    with writer(layout) as process:
        (held,) = surroundings.writer_lock(layout, time.time() + 5)
        assert (held.level, held.facts["pid"]) == (OK, process.pid)
        assert f"process {process.pid} is writing" in held.message
        (long,) = surroundings.writer_lock(layout, time.time() + 4_000)
        assert (long.level, f"kill {process.pid}" in long.hint) == (WARNING, True)
        process.send_signal(signal.SIGKILL)
        process.wait()
        (free,) = surroundings.writer_lock(layout, time.time())
        assert (free.level, free.facts["held"]) == (OK, False)
        assert f"its last holder, process {process.pid}, ended before finishing" in free.message


def test_the_index_of_a_deleted_folder_is_an_orphan_and_fixing_keeps_what_was_learned(layout, tmp_path):
    other = write(tmp_path / "trees" / os.fsdecode(b"odd \xff name"), {"a.py": "a = 1\n"})
    Index.open(other, data_dir=layout.data_dir).close()
    unmounted = write(tmp_path / "disk" / "tree", {"b.py": "b = 1\n"})
    Index.open(unmounted, data_dir=layout.data_dir).close()
    (layout.directory / "learned.db").write_bytes(b"years of use")
    assert [one.level for one in surroundings.orphans(surroundings.index_folders(layout.data_dir))] == [OK]

    shutil.rmtree(unmounted)  # the folder above is empty then, as a place where nothing is mounted
    shutil.rmtree(layout.root)
    (found,) = surroundings.orphans(surroundings.index_folders(layout.data_dir))
    assert (found.level, [one["root"] for one in found.facts["orphans"]]) == (WARNING, [str(layout.root)])

    said = surroundings.remove_orphans(surroundings.index_folders(layout.data_dir))
    assert [line.startswith("removed the index of") for line in said] == [True]
    assert list(layout.directory.iterdir()) == [layout.directory / "learned.db"]
    assert Layout(layout.data_dir, other).database.exists()
    assert Layout(layout.data_dir, unmounted).database.exists()
    assert surroundings.remove_orphans(surroundings.index_folders(layout.data_dir)) == []


# What whence stands on.
def test_what_takes_its_process_down_is_named_and_the_rest_is_still_tried(tmp_path, monkeypatch):
    write(tmp_path, {"aborts.py": "import os\nprint('noise')\nos.abort()\n", "hangs.py": "import time\ntime.sleep(60)\n"})
    monkeypatch.syspath_prepend(str(tmp_path))
    wanted = [(load_check.MODULE, name) for name in ("json", "aborts", "no_such_module")] + [
        (load_check.GRAMMAR, "go"),
        (load_check.QUERIES, "go"),
    ]
    found = load_check.load_in_subprocess(wanted, 30, dict(os.environ))
    tried = found.errors_of(load_check.MODULE)
    assert tried["json"] == ""
    assert "crashed the process" in tried["aborts"]
    assert "No module named" in tried["no_such_module"]
    assert (found.errors_of(load_check.GRAMMAR), found.errors_of(load_check.QUERIES), found.untried) == ({"go": ""}, {"go": ""}, ())
    late = load_check.load_in_subprocess([(load_check.MODULE, "hangs"), (load_check.GRAMMAR, "go")], 0.5, dict(os.environ))
    assert late.untried_of(load_check.MODULE) == ["hangs"]
    assert [one.level for one in installation.grammars(late)] == [WARNING]


def test_packages_are_held_against_what_the_metadata_asks_for():
    listed = ["numpy>=2.0", "tree-sitter<0.27,>=0.25", "PyYAML>=6.0", 'tomli>=2.0; python_version < "3.11"', 'torch>=2.4; extra == "train"']
    needed = installation.parse_requirements(listed, (3, 12))
    assert [(one.package, one.module) for one in needed] == [("numpy", "numpy"), ("tree-sitter", "tree_sitter"), ("PyYAML", "yaml")]
    assert "tomli" in {one.package for one in installation.parse_requirements(listed, (3, 10))}
    assert [needed[1].allows(version) for version in ("0.24.9", "0.25", "0.26.1", "0.27.0rc1", "1.0")] == [False, True, True, False, False]
    odd = installation.parse_requirements(["numpy>=99", "no-such-package>=1"], (3, 12))
    (found,) = installation.packages(odd, load_check.LoadResult({}))
    assert (found.level, len(found.details)) == (FAILED, 2)
    (well,) = installation.packages(needed[:1], load_check.LoadResult({(load_check.MODULE, "numpy"): ""}))
    assert well.level == OK


def test_a_shipped_model_with_another_byte_is_not_the_one_that_was_shipped(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(static.MODEL, folder)
    check = lambda used: installation.shipped_model("model", folder, installation.STATIC_FILES, static.StaticEncoder, used=used)  # noqa: E731
    assert check(True).level == OK
    raw = bytearray((folder / "vectors.npy").read_bytes())
    raw[-1] ^= 1
    (folder / "vectors.npy").write_bytes(raw)
    assert (check(True).level, check(False).level) == (FAILED, WARNING)
    (folder / "weights.npy").unlink()
    assert (check(True).level, "cannot be read" in check(True).message) == (FAILED, True)


# What stands around.
def test_every_source_of_settings_that_is_wrong_is_named_and_the_others_count(tmp_path):
    root = write(tmp_path, {".whence.toml": "[search]\nkk = 3\n", "config/whence/config.toml": "[search]\nk = 7\n"})
    world = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "WHENCE_SERACH_K": "3", "WHENCE_DATA_DIR": "/nowhere"}
    chosen = surroundings.read_settings(root, world, tmp_path, {})
    (found,) = chosen.findings
    assert found.level == FAILED
    assert ["kk" in found.details[1], "WHENCE_SERACH_K" in found.details[0], len(found.details)] == [True, True, 2]
    assert chosen.settings.search.k == 7


def test_notes_that_need_a_look_are_named_and_a_secret_is_not_repeated(tmp_path):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    write(
        tmp_path / "notes",
        {
            "general/good.md": "---\nkind: durable\n---\nthe build needs two steps\n",
            "general/bad.md": "---\nkind: [durable\n---\ntext\n",
            "general/token.md": f"push with {secret}\n",
            "lonely.md": "in no folder\n",
        },
    )
    chosen = surroundings.read_settings(tmp_path, {}, tmp_path, {})
    (found,) = surroundings.notes(chosen, tmp_path, {"WHENCE_DATA_DIR": str(tmp_path)}, tmp_path)
    told = "\n".join(found.details)
    assert found.level == WARNING
    assert ["general/bad" in told, "general/token: line 1 looks like a secret" in told, "lonely.md" in told] == [True] * 3
    assert "general/good" not in told
    assert secret[8:16] not in f"{found}"


@pytest.mark.skipif(not Path("/proc/self/fdinfo").is_dir(), reason="no /proc")
@pytest.mark.process
def test_running_processes_and_watches_are_counted(tmp_path):
    libc = ctypes.CDLL(None)

    def watches() -> int:
        return by_name(list(surroundings.processes(os.getuid(), os.getpid())))["inotify"].facts["watches"]

    before, handle = watches(), libc.inotify_init1(0)
    try:
        libc.inotify_add_watch(handle, os.fsencode(tmp_path), 0x100)
        assert watches() == before + 1
    finally:
        os.close(handle)
    command = [sys.executable, "-m", "whence", "remember", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
    ) as process:
        found = by_name(list(surroundings.processes(os.getuid(), os.getpid())))["processes"]
        process.kill()
    assert (process.pid, "remember") in [(one["pid"], one["command"]) for one in found.facts["processes"]]
    assert [one.level for one in surroundings.processes(0, 0, proc=tmp_path)] == [SKIPPED]


# How well it finds.
def measured(layout: Layout, questions: int = 20) -> dict[str, quality.QualityReport]:
    found = quality.measure(layout, Settings(), questions=questions, seconds=60, now_ns=time.time_ns())
    return {one.kind: one for one in found}


def test_doc_comments_are_asked_with_their_words_hidden(layout):
    """`deliver` alone says in code what the letter is; no word of the other question stands in code."""
    before = everything_in(layout.data_dir)
    with Index.open(layout.root, data_dir=layout.data_dir, refresh=False) as index:
        unhidden = [
            index.search(text, k=1)[0].path for text in ("prices of everything a visitor wants to buy", "by letter that goods are on")
        ]
    assert unhidden == ["shop/basket.py", "shop/mail.py"]
    found = measured(layout)
    assert list(found) == ["doc comments"]
    assert found["doc comments"].search.questions == 2
    assert found["doc comments"].baseline.ten == 0.5  # `price` is the one word that is left, and only in one of them
    assert everything_in(layout.data_dir) == before


def test_commits_are_asked_without_what_git_tells_of_them(tmp_path):
    root = write(tmp_path / "tree", {f"lib/part_{n}.py": f"def part_{n}():\n    return {n}\n" for n in range(30)})
    git("init", "--quiet", cwd=root)
    commit(root, "everything at once, which asks for no file")
    write(root, {"lib/part_7.py": "def reconnect_socket():\n    return 7\n"})
    commit(root, "Reconnect the socket after a broken pipe (#12)", 1_700_000_100)
    write(root, {"lib/part_9.py": "def part_9():\n    return 99\n"})
    commit(root, "walrus tusk sharpening goes faster", 1_700_000_200)
    write(root, {"lib/part_3.py": "def part_3():\n    return 33\n"})
    commit(root, "Bump version to 2.0 of all the things", 1_700_000_300)
    with Index.open(root, data_dir=tmp_path / "data") as index:
        assert index.search("walrus tusk sharpening goes faster")[0].path == "lib/part_9.py"  # by the commit alone
    found = measured(Layout(tmp_path / "data", root))
    assert list(found) == ["commits"]
    assert found["commits"].search == quality.RecallAtK(2, 0.5, 0.5, 0.5)
    told = list(quality.recall(list(found.values()), "shipped"))
    assert [(one.level, one.name) for one in told] == [(OK, "recall"), (SKIPPED, "recall")]
    assert told[0].message.startswith("2 recent commits, searched by subject: a changed file is first in 50%")


def test_where_counting_words_does_better_the_doctor_says_so():
    worse = quality.QualityReport("commits", quality.RecallAtK(20, 0.1, 0.2, 0.15), quality.RecallAtK(20, 0.3, 0.5, 0.4))
    assert next(iter(quality.recall([worse], "shipped"))).level == WARNING


def test_questions_are_sentences_without_the_names_of_their_answer():
    unit = Unit(
        "function",
        "parse_header",
        "Mail.parse_header",
        1,
        3,
        0,
        9,
        ("Mail",),
        doc="Parses one header line of mail into a pair of strings. More.\n\nArgs: x",
    )
    assert question_of(unit) == "one line of into a pair of strings."
    assert [
        question_of(Unit("function", "f", "f", 1, 1, 0, 1, doc=doc)) for doc in ("", "Too short.", "Copyright of many people and companies")
    ] == ["", "", ""]
    found = mask_comment("a.py", b'def f(x):\n    """Counts every open window on all screens."""\n    return x  # of screens\n')
    assert found is not None
    _, source = found
    assert b"screens" not in source
    assert source.count(b"\n") == 3
    commits = [Commit(1, "Fix #3: close all windows when the screen sleeps", ("a.py", "tests/test_a.py")), Commit(1, "Close it", ("a.py",))]
    assert [(one.text, one.answers) for one in questions_from_commits(commits, {"a.py"}.__contains__, 9)] == [
        ("Fix close all windows when the screen sleeps", ("a.py",))
    ]


def test_a_check_that_breaks_is_a_finding_and_not_the_end():
    def breaks() -> list[Finding]:
        raise ZeroDivisionError("by chance")

    (found,) = run_check("odd", breaks)
    assert (found.name, found.level) == ("odd", FAILED)
    assert "ZeroDivisionError: by chance" in found.message


def test_what_a_writer_has_only_in_its_log_is_read_too(tmp_path):
    path = tmp_path / "truth.db"
    with contextlib.closing(IndexStore(path)) as writer:
        with writer.transaction():
            writer.set_meta(branch="walrus")
        with contextlib.closing(ReadOnlyIndexStore(path)) as reader:
            assert reader.meta()["branch"] == "walrus"
