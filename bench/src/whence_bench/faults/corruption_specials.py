"""What is damaged beside the files of an index: settings, locks, notes, records; what is only busy; and healthy odd shapes."""

from __future__ import annotations

import gc
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

from whence.app.index import Index
from whence.context.feedback import store as learned_store
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import records
from whence.core.errors import IndexBusy, WhenceError
from whence.core.types import RUNTIME
from whence.index.layout import Layout
from whence.memory import database as note_store
from whence.memory.memory import Memory
from whence.storage import sqlite as index_database
from whence.storage.sqlite import register_row_sum
from whence_bench.faults.corruption_apart import obey_permissions
from whence_bench.faults.corruption_ground import Ground, ask, copy_of

#: Seconds that a busy database is waited for here; as long as it takes to see that it is waited for.
BUSY_SECONDS = 0.1
#: Settings are cut off behind one byte of so many.
EVERY = 10
_SETTINGS = b'# of the project\n[search]\nk = 12\nstrategy = "hybrid"\n\n[index]\nmax_file_bytes = 1000000\n'

Special = Callable[[Ground, Path], list[str]]


def command(*arguments: str, cwd: Path, **environment: str) -> tuple[int, str, str]:
    """Run the command line in this process: exit code, what it printed, what it complained of."""
    os.chdir(cwd)
    os.environ.update(environment)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = import_module("whence.cli.main").main(list(arguments))
    return code, out.getvalue(), err.getvalue()


def half_written_settings(_ground: Ground, place: Path) -> list[str]:
    """A settings file that breaks off anywhere, or is none: one line with its name and the place, never settings by default."""
    root, user = place / "tree", place / "config" / "whence" / "config.toml"
    root.mkdir(parents=True)
    user.parent.mkdir(parents=True)
    (root / "part.py").write_text("def walrus():\n    return 1\n", encoding="utf-8")
    wrong = []
    for path in (root / ".whence.toml", user):
        for end in range(1, len(_SETTINGS), EVERY):
            path.write_bytes(_SETTINGS[:end])
            wrong += _complained(path, command("config", cwd=root, XDG_CONFIG_HOME=str(place / "config")), f"cut at {end}", _is_toml(path))
        path.write_bytes(b"k = \xff\xfe")
        wrong += _complained(path, command("config", cwd=root), "no text", valid=False)
        path.unlink()
        path.mkdir()
        wrong += _complained(path, command("config", cwd=root), "a folder", valid=False)
        path.rmdir()
    return wrong


def settings_that_never_end(_ground: Ground, place: Path) -> list[str]:
    """A FIFO in the place of a settings file is not waited for."""
    place.mkdir()
    os.mkfifo(place / ".whence.toml")
    return _complained(place / ".whence.toml", command("config", cwd=place), "a FIFO", valid=False)


def _is_toml(path: Path) -> bool:
    from whence.core.settings import file_layer  # noqa: PLC0415  -- what it says of the text is what is compared with

    try:
        file_layer(path)
    except WhenceError:
        return False
    return True


def _complained(path: Path, ended: tuple[int, str, str], how: str, valid: bool) -> list[str]:
    code, out, err = ended
    if valid and code in (0, 2):  # what is left of it may name a setting that is none
        return []
    told = (
        code == 2
        and not out
        and err.count("\n") == 1
        and path.name in err
        and ("line" in err or "end of document" in err or "cut" not in how)
    )
    return [] if told else [f"{path.name} {how}: exit code {code}, {err or out[:200]!r}"]


def locks(ground: Ground, place: Path) -> list[str]:
    """What lies in the file of a lock hinders nobody; who holds it is named."""
    wrong = []
    noted_pids = [json.dumps({"pid": pid, "since": 1}).encode() for pid in (4_194_304, os.getpid())]
    for number, noted in enumerate((b"\xff\x00garbage", *noted_pids)):
        layout = ground.layout(copy_of(ground.data, place / str(number)))
        layout.lock_file.write_bytes(noted)
        with Index.open(ground.root, data_dir=layout.data_dir, settings={"index.lock_wait": 1.0}) as index:
            index.add_edges(RUNTIME, index.store.edges(RUNTIME))
    with _process(lambda: _write(layout)) as child:
        try:
            with Index.open(ground.root, data_dir=layout.data_dir, settings={"index.lock_wait": 0.1}) as index:
                index.add_edges(RUNTIME, [])
            wrong.append("what another process writes was written")
        except IndexBusy as busy:
            wrong += [] if str(child) in busy.message else [f"the holder {child} is not named: {busy}"]
    with Index.open(ground.root, data_dir=layout.data_dir, settings={"index.lock_wait": 1.0}) as index:
        index.add_edges(RUNTIME, index.store.edges(RUNTIME))
    return wrong


def _write(layout: Layout) -> object:
    writing = layout.write_lock(1.0)
    writing.__enter__()
    return writing


def notes_cut_off(ground: Ground, place: Path) -> list[str]:
    """A note that breaks off in its front matter is listed and says so, and its file stays what it is."""
    wrong = []
    folder = Path(shutil.copytree(ground.notes, place / "notes"))
    paths = sorted(path for path in folder.rglob("*.md") if ".history" not in path.parts)
    for number, path in enumerate(paths[:6]):
        raw = path.read_bytes()
        path.write_bytes(raw[: (2, 5, 9, len(raw) // 3, len(raw) // 2, raw.index(b"\n---") + 2)[number]])
    before = {path: path.read_bytes() for path in paths}
    with Memory.open(folder, data_dir=place / "data", repository=ground.root) as memory:
        listed = {one.key: one for one in memory.list()}
        memory.recall("harbour")
    for number, path in enumerate(paths):
        key = path.relative_to(folder).with_suffix("").as_posix()
        if key not in listed:
            wrong.append(f"{key} is not listed; it holds {path.read_bytes()[:60]!r}")
        elif 2 < number < 6 and not listed[key].problem:
            wrong.append(f"{key} is broken off and nothing is said of it: {path.read_bytes()[:200]!r}")
    return wrong + [f"{path.name} was changed" for path, raw in before.items() if path.read_bytes() != raw]


def half_written_records(_ground: Ground, place: Path) -> list[str]:
    """Records of what was put into the files of agents, cut off: what the user has in those files stays."""
    wrong = []
    for share in (0.0, 0.5, 0.95):
        home, root = place / f"home{share}", place / f"tree{share}"
        for folder in (home, root):
            folder.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        own = root / ".mcp.json"
        own.write_text('{\n  "mcpServers": {\n    "mine": {"command": "mine"}\n  }\n}\n', encoding="utf-8")
        world = {"HOME": str(home), "WHENCE_DATA_DIR": str(home / "data")}
        ended = command("install", "claude-code", "--yes", cwd=root, **world)
        cut = list((home / "data" / "installed").glob("*.json"))
        for path in cut:
            path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
        again = [command(name, "claude-code", "--yes", cwd=root, **world) for name in ("install", "uninstall")]
        if ended[0] or not cut or any(code for code, _, _ in again):
            wrong.append(f"cut to {share}: {[ended, *again]}")
        found = json.loads(own.read_text(encoding="utf-8"))["mcpServers"]
        if found != {"mine": {"command": "mine"}}:
            wrong.append(f"cut to {share}: of the user's own file is left: {found}")
    return wrong


def lost_folders(ground: Ground, place: Path) -> list[str]:
    """All derived files gone at once, or the database and its seal: said, and made again."""
    wrong = []
    for number, names in enumerate((("segments",), ("truth.db", "sealed"))):
        data = copy_of(ground.data, place / str(number))
        for name in names:
            gone = ground.layout(data).directory / name
            shutil.rmtree(gone) if gone.is_dir() else gone.unlink(missing_ok=True)
        first, second = (json.loads(json.dumps(ask(ground, data))) for _ in range(2))
        kept = {"answers", "files", "status"} | ({"edges", "graph"} if "segments" in names else set())
        if not first["said"] or second["said"] or first["refused"]:
            wrong.append(f"{names}: said {first['said']}, then {second['said']}; refused {first['refused']}")
        wrong += [f"{names}: other {one}" for one in sorted(kept) if first["code"].get(one) != ground.healthy["code"][one]]
    return wrong


def odd_and_healthy(ground: Ground, place: Path) -> list[str]:
    """An empty repository, a tree without files, an index of an older format: no complaint twice, and nothing built twice."""
    wrong = []
    empty = place / "empty"
    empty.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=empty, check=True)
    for time in range(3):
        with Index.open(empty, data_dir=place / "data", settings={"index.verify_after": 0}) as index:
            if index.notes or index.search("walrus"):
                wrong.append(f"an empty repository, opened {time} times: {index.notes}")
    old = copy_of(ground.data, place / "old")
    with closing(sqlite3.connect(ground.layout(old).database, isolation_level=None)) as db:
        register_row_sum(db)
        db.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
    first, second = (json.loads(json.dumps(ask(ground, old))) for _ in range(2))
    if not any("another version" in one for one in first["said"]) or second["said"] or second["code"] != ground.healthy["code"]:
        wrong.append(f"an index of an older format: {first['said']}, then {second['said']}")
    return wrong


def read_only(ground: Ground, place: Path) -> list[str]:
    """A data folder that cannot be written is read, and not taken for a damaged one."""
    data = copy_of(ground.data, place)
    folders = [data, *(path for path in data.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        if not obey_permissions():
            return []
        found = json.loads(json.dumps(ask(ground, data)))
        said = [one for one in found["said"] if "damaged" in one or "rebuilt" in one]
        return [f"said {said}"] if said or found["code"] != ground.healthy["code"] else []
    finally:
        for folder in folders:
            folder.chmod(0o700)


def former_verdicts(ground: Ground, place: Path) -> list[str]:
    """What use taught, as an earlier version wrote it: read as it is, and kept when more is learned."""
    path = place / "learned.db"
    place.mkdir()
    whole = records(FeedbackStore(ground.layout(ground.data).directory / path.name))
    with closing(FeedbackStore(path)) as learned, learned.transaction() as db:
        for one in whole:
            db.execute(
                "INSERT INTO records (symbol, useful, root, task, at, seen) VALUES (?, ?, ?, ?, ?, ?)",
                (one.symbol.encode(), one.useful, one.root.encode(), one.task.encode(), one.at, one.seen),
            )
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for table in learned_store.TABLES:
            columns = ", ".join(row[1] for row in db.execute(f"PRAGMA table_info({table})"))
            db.executescript(
                f"CREATE TABLE plain AS SELECT {columns} FROM {table}; DROP TABLE {table}; ALTER TABLE plain RENAME TO {table};"  # noqa: S608
            )
        db.execute("PRAGMA user_version = 1")
    before = records(FeedbackStore(path))
    with closing(FeedbackStore(path)) as learned, learned.transaction():
        pass
    after, made = records(FeedbackStore(path)), sqlite3.connect(path).execute("PRAGMA user_version").fetchone()[0]
    return (
        []
        if before == after == whole and made == learned_store.FORMAT
        else [f"{len(whole)}, then {len(before)}, then {len(after)} verdicts"]
    )


def busy(ground: Ground, place: Path) -> list[str]:
    """A database that another process holds is waited for and then said to be busy: nothing is mended, nothing removed."""
    wrong = []
    for module in (index_database, note_store):
        module.BUSY_SECONDS = BUSY_SECONDS  # type: ignore[attr-defined]
    opened_for = import_module("whence.index.writer")
    opened_for.OPENING_SECONDS = BUSY_SECONDS  # type: ignore[attr-defined]
    data = copy_of(ground.data, place)
    paths = {"truth.db": "code", "notes.db": "notes", "learned.db": "code"}
    for name, part in paths.items():
        path = next(one for one in sorted(data.rglob("*.db")) if one.name == name or (name == "notes.db" and one.name.startswith("notes-")))
        files = _names(data)
        gc.collect()  # whoever was asked before has let go of everything then
        with held(path):
            before = path.read_bytes()
            found = ask(ground, data)
            said = [*found["refused"], *found["said"]]
            if not any("in use" in one or "locked" in one for one in said) or any("damaged" in one for one in said):
                wrong.append(f"{name} is held, and this is said: {said}")
            if (
                path.read_bytes() != before
                or sorted(one.name for one in data.rglob("*") if one.suffix not in (".db-wal", ".db-shm")) != files
            ):
                wrong.append(f"{name} is held, and files were changed")
        after = json.loads(json.dumps(ask(ground, data)))
        if after["said"] or after["refused"] or after[part] != ground.healthy[part]:
            wrong.append(f"{name} was held, and afterwards: {after['said']} {after['refused']}")
    return wrong


def _names(data: Path) -> list[str]:
    return sorted(one.name for one in data.rglob("*") if one.suffix not in (".db-wal", ".db-shm"))


@contextmanager
def held(path: Path) -> Iterator[int]:
    """Another process that has a database for itself; its number."""
    with _process(lambda: _take(path)) as child:
        yield child


def _take(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    return db


@contextmanager
def _process(begin: Callable[[], object]) -> Iterator[int]:
    """Another process that has begun something and goes on for as long as it is needed; its number."""
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            _kept = begin()
            os.write(tell, b"!")
            signal.pause()
        finally:
            os._exit(1)
    os.close(tell)
    try:
        if not os.read(ready, 1):
            raise RuntimeError("the other process could not begin")
        yield child
    finally:
        os.close(ready)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


#: Each gives what was wrong, line by line.
SPECIALS: Mapping[str, Special] = {
    "settings half written": half_written_settings,
    "settings that never end": settings_that_never_end,
    "locks": locks,
    "notes cut off": notes_cut_off,
    "records of installs half written": half_written_records,
    "folders lost": lost_folders,
    "odd and healthy": odd_and_healthy,
    "read-only": read_only,
    "verdicts of an earlier version": former_verdicts,
    "busy": busy,
}
