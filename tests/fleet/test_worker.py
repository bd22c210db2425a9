"""Workers of a fleet: they share only the engine, take over from one another, and leave what one of them alone would leave."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from campaigns import is_nightly
from fleet_workers import rows_in, run_and_kill, unlike
from mcp_servers import until
from sample_histories import commit
from sample_trees import git, write
from whence.core.errors import FleetError
from whence.core.settings import FleetSettings
from whence.fleet import worker as working
from whence.fleet.counts import ALL
from whence.fleet.engine import EVERYTHING, Engine, equals
from whence.fleet.leases import Leases
from whence.fleet.registry import FAILED, READY, WAITING, WORKING, Registry
from whence.fleet.rows import fetch_archive
from whence.fleet.sources import checkout_path
from whence.fleet.worker import LOST, REMOVED, SENT, SYNC_FAILED, UNCHANGED, SyncOutcome, WorkerOptions, work

pytestmark = pytest.mark.shared_data


def repository(folder: Path, name: str, files: int = 2) -> Path:
    content = {f"{name}/part_{n}.py": f"def {name}_{n}(token):\n    return token + {n}\n" for n in range(files)}
    root = write(folder / name, content)
    git("init", "-q", cwd=root)
    commit(root, f"The parts of {name}")
    return root


def done_by(engine: Engine, data: Path, worker: str = "ada", seconds: float = 30.0, **ways: object) -> dict[str, SyncOutcome]:
    """One pass of a worker."""
    leases = Leases(engine, worker, seconds, time.time)
    return {one.name: one for one in work(engine, Registry(engine), leases, WorkerOptions(data, {}, **ways))}


def test_what_waits_is_done_and_what_is_done_is_left(engine: Engine, data: Path, tmp_path: Path):
    registry = Registry(engine)
    for name in ("alpha", "beta"):
        registry.add(name, str(repository(tmp_path, name)), [])
    first = done_by(engine, data)
    assert {name: one.status for name, one in first.items()} == {"alpha": SENT, "beta": SENT}
    assert {one.state for one in registry.all()} == {READY}
    assert engine.count("claims") == 0
    assert engine.count("counts", equals("scope", ALL)) > 0
    assert {one.status for one in done_by(engine, data).values()} == {UNCHANGED}


def test_an_edit_without_a_commit_is_seen(engine: Engine, data: Path, tmp_path: Path):
    root = repository(tmp_path, "alpha")
    Registry(engine).add("alpha", str(root), [])
    done_by(engine, data)
    write(root, {"alpha/part_0.py": "def okapi():\n    return 1\n"})
    outcome = done_by(engine, data)["alpha"]
    assert (outcome.status, outcome.summary.files) == (SENT, 1)


def test_a_url_is_fetched_when_its_commit_moved_and_not_before(engine: Engine, data: Path, tmp_path: Path):
    root = repository(tmp_path, "alpha")
    url = f"file://{root}"
    Registry(engine).add("acme/alpha", url, [])
    assert done_by(engine, data)["acme/alpha"].status == SENT
    checkout = checkout_path(url, data)
    before = (checkout / ".git" / "index").stat().st_mtime_ns
    write(root, {"alpha/part_0.py": "def okapi():\n    return 1\n"})  # no commit yet
    assert done_by(engine, data)["acme/alpha"].status == UNCHANGED
    assert (checkout / ".git" / "index").stat().st_mtime_ns == before
    head = commit(root, "Okapis")
    outcome = done_by(engine, data)["acme/alpha"]
    assert (outcome.status, outcome.summary.files, outcome.summary.repository.commit) == (SENT, 1, head)
    assert fetch_archive(engine, "acme/alpha")[0].commit == head


def test_only_what_is_chosen_is_done(engine: Engine, data: Path, tmp_path: Path):
    registry = Registry(engine)
    for name in ("alpha", "beta"):
        registry.add(name, str(repository(tmp_path, name)), [])
    assert list(done_by(engine, data, selects=lambda one: one.name == "beta")) == ["beta"]
    assert registry.get("alpha").state == WAITING


def test_force_sends_everything_again(engine: Engine, data: Path, tmp_path: Path):
    Registry(engine).add("alpha", str(repository(tmp_path, "alpha")), [])
    done_by(engine, data)
    outcome = done_by(engine, data, force=True)["alpha"]
    assert (outcome.status, outcome.summary.files) == (SENT, 2)


def test_trouble_with_one_is_noted_and_the_next_is_taken(engine: Engine, data: Path, tmp_path: Path):
    registry = Registry(engine)
    registry.add("alpha", str(tmp_path / "nowhere"), [])
    registry.add("beta", f"file://{tmp_path}/nowhere.git", [])
    root = repository(tmp_path, "gamma")
    registry.add("gamma", str(root), [])
    write(repository(tmp_path, "delta"), {".whence.toml": 'fleet.address = "http://elsewhere:1"\n'})
    registry.add("delta", str(tmp_path / "delta"), [])
    found = done_by(engine, data)
    assert {name: one.status for name, one in found.items()} == {
        "alpha": SYNC_FAILED,
        "beta": SYNC_FAILED,
        "gamma": SENT,
        "delta": SYNC_FAILED,
    }
    assert registry.get("alpha").state == FAILED
    assert "no such file or folder" in registry.get("alpha").error
    assert "git ls-remote failed" in registry.get("beta").error
    assert "may not set 'fleet.address'" in registry.get("delta").error
    repository(tmp_path, "nowhere")
    assert done_by(engine, data)["alpha"].status == SENT
    assert registry.get("alpha").error == ""


def test_trouble_with_the_engine_ends_the_work(engine: Engine, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    Registry(engine).add("alpha", str(repository(tmp_path, "alpha")), [])

    def full(*_: object) -> int:
        raise FleetError("the engine is full")

    monkeypatch.setattr(engine, "put", full)
    with pytest.raises(FleetError, match="full"):
        done_by(engine, data)
    monkeypatch.undo()
    monkeypatch.setenv("WHENCE_DATA_DIR", str(data))
    assert Registry(engine).get("alpha").state == WAITING


def test_what_another_holds_is_waited_for_and_taken_over_when_that_one_is_dead(engine: Engine, data: Path, tmp_path: Path):
    registry = Registry(engine)
    registry.add("alpha", str(repository(tmp_path, "alpha")), [])
    registry.update(replace(registry.get("alpha"), state=WORKING))
    dead = Leases(engine, "dead", 1.0, time.time).acquire("alpha")
    assert dead is not None
    began = time.monotonic()
    found = done_by(engine, data, seconds=1.0)
    assert found["alpha"].status == SENT
    assert time.monotonic() - began >= 1.0
    assert registry.get("alpha").state == READY


def test_a_lease_is_renewed_for_as_long_as_the_work_takes(engine: Engine, data: Path, tmp_path: Path, monkeypatch):
    Registry(engine).add("alpha", str(repository(tmp_path, "alpha")), [])
    sent, held = working.sync_index, []

    def slow(*given: object, **named: object) -> object:
        time.sleep(2.5)
        held.append(Leases(engine, "other", 1.0, time.time).acquire("alpha"))
        return sent(*given, **named)

    monkeypatch.setattr(working, "sync_index", slow)
    assert done_by(engine, data, seconds=1.0)["alpha"].status == SENT
    assert held == [None]


def test_whoever_lost_the_lease_leaves_the_repository_alone(engine: Engine, data: Path, tmp_path: Path, monkeypatch):
    registry = Registry(engine)
    registry.add("alpha", str(repository(tmp_path, "alpha")), [])
    sent = working.sync_index

    def stolen(*given: object, **named: object) -> object:
        engine.delete("claims", equals("repo", "alpha"))
        until(lambda: not any(one.name == "lease" for one in threading.enumerate()))  # who renews it has found out
        return sent(*given, **named)

    monkeypatch.setattr(working, "sync_index", stolen)
    assert done_by(engine, data, seconds=1.0)["alpha"].status == LOST
    assert registry.get("alpha").state == WAITING
    assert engine.count("files") == 0


def test_a_repository_that_is_removed_while_it_is_sent_is_gone(engine: Engine, data: Path, tmp_path: Path, monkeypatch):
    registry = Registry(engine)
    registry.add("alpha", str(repository(tmp_path, "alpha")), [])
    sent = working.sync_index

    def meanwhile(*given: object, **named: object) -> object:
        registry.remove("alpha")
        return sent(*given, **named)

    monkeypatch.setattr(working, "sync_index", meanwhile)
    assert done_by(engine, data)["alpha"].status == REMOVED
    assert registry.all() == []
    assert [name for name in rows_in(engine, apart=()) if engine.count(name, EVERYTHING)] == []


def test_two_workers_do_each_repository_once(engine: Engine, data: Path, tmp_path: Path):
    registry, names = Registry(engine), [f"r{number}" for number in range(6)]
    for name in names:
        registry.add(name, str(repository(tmp_path, name)), [])
    found: list[dict[str, SyncOutcome]] = []
    threads = [threading.Thread(target=lambda worker=worker: found.append(done_by(engine, data, worker))) for worker in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert sorted(name for one in found for name, outcome in one.items() if outcome.status == SENT) == names
    assert {one.state for one in registry.all()} == {READY}


def test_when_one_of_two_is_killed_the_other_finishes_and_nothing_is_missing_or_doubled(
    fleet: FleetSettings, engine: Engine, server: str, prefix: str, tmp_path: Path
):
    fleet = replace(fleet, lease=2.0)
    count, files = (6, 60) if is_nightly() else (4, 30)
    sources = {f"r{number}": str(repository(tmp_path, f"r{number}", files=files)) for number in range(count)}
    for name, source in sources.items():
        Registry(engine).add(name, source, ["all", name])
    survived = run_and_kill(fleet, (tmp_path / "first", tmp_path / "second"), after=1)
    assert survived.code == 0
    assert {one.state for one in Registry(engine).all()} == {READY}
    with Engine.open(replace(fleet, prefix=f"{prefix}clean")) as clean:
        clean.ensure()
        try:
            for name, source in sources.items():
                Registry(clean).add(name, source, ["all", name])
            done_by(clean, tmp_path / "third")
            assert unlike(rows_in(engine), rows_in(clean)) == {}
            for one in Registry(clean).all():
                other = Registry(engine).get(one.name)
                assert (other.files, other.units, other.passages, other.commit) == (one.files, one.units, one.passages, one.commit)
                assert fetch_archive(engine, one.name)[0].commit == one.commit
        finally:
            clean.drop()
