"""One repository, one worker: whatever happens to the others, and however many want it at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sample_trees import SOURCES
from whence.fleet import leases as module
from whence.fleet.engine import Engine
from whence.fleet.leases import HOLDING, Leases


class Clock:
    """A time that tests move."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


def claims(engine: Engine) -> int:
    return engine.count("claims")


def test_one_has_it_and_the_others_do_not(either, clock):
    one, two = (Leases(either, name, 60, clock) for name in ("one", "two"))
    lease = one.acquire("r")
    assert lease.held
    assert two.acquire("r") is None
    assert one.acquire("r") is None
    assert two.acquire("other").held
    assert one.holders() == {"r": "one", "other": "two"}
    lease.release()
    assert not lease.held
    assert two.acquire("r").held
    assert claims(either) == 2


def test_whoever_does_not_get_it_leaves_no_claim(engine, clock):
    assert Leases(engine, "one", 60, clock).acquire("r")
    assert Leases(engine, "two", 60, clock).acquire("r") is None
    assert claims(engine) == 1


def test_a_worker_that_says_nothing_loses_it_after_its_time(either, clock):
    one, two = (Leases(either, name, 60, clock) for name in ("one", "two"))
    lease = one.acquire("r")
    clock.time += 59
    assert lease.held
    assert two.acquire("r") is None
    clock.time += 2
    assert not lease.held
    assert not lease.renew()
    assert two.acquire("r") is None, "clocks may differ by a share of the time"
    clock.time += 15
    assert two.acquire("r").held
    assert not lease.renew()
    assert two.holders() == {"r": "two"}
    lease.release()
    assert two.holders() == {"r": "two"}


def test_a_worker_that_renews_keeps_it(either, clock):
    one, two = (Leases(either, name, 60, clock) for name in ("one", "two"))
    lease = one.acquire("r")
    for _ in range(5):
        clock.time += 50
        assert lease.renew()
        assert two.acquire("r") is None
    assert claims(either) == 1


def test_a_lease_that_somebody_removed_is_lost(engine, clock):
    lease = Leases(engine, "one", 60, clock).acquire("r")
    engine.delete("claims", module.equals("repo", "r"))
    assert not lease.renew()
    assert not lease.held
    assert claims(engine) == 0


def test_a_renewal_that_came_too_late_to_be_seen_does_not_count(engine, clock, monkeypatch):
    lease = Leases(engine, "one", 60, clock).acquire("r")
    put = engine.put

    def slow(name, rows):
        clock.time += 61
        return put(name, rows)

    monkeypatch.setattr(engine, "put", slow)
    clock.time += 30
    assert not lease.renew()
    assert not lease.held


def test_somebody_who_died_while_drawing_a_number_holds_nobody_up_for_longer_than_its_time(engine, clock, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAIT", 0.1)
    dead, two = module.Lease(Leases(engine, "dead", 60, clock), "r"), Leases(engine, "two", 60, clock)
    wish = module.Lease(two, "r")
    assert dead.write(0, module.CHOOSING)
    assert wish.write(1, module.ASKING)
    assert not two._is_first(wish)
    wish.release()
    assert two.acquire("r") is None
    clock.time += 60 + 16
    assert two.acquire("r").held


def test_of_two_who_drew_numbers_the_smaller_has_it(engine, clock):
    first, second = (Leases(engine, name, 60, clock) for name in ("first", "second"))
    early, late = module.Lease(first, "r"), module.Lease(second, "r")
    assert early.write(0, module.CHOOSING)
    assert late.write(0, module.CHOOSING)
    assert early.write(1, module.ASKING)
    assert late.write(2, module.ASKING)
    assert not second._is_first(late)
    assert first._is_first(early)
    assert early.write(1, HOLDING)
    assert not second._is_first(late)


def test_of_two_who_drew_the_same_number_one_has_it(engine, clock):
    both = [Leases(engine, name, 60, clock) for name in ("one", "two")]
    wishes = [module.Lease(one, "r") for one in both]
    assert all(wish.write(1, module.ASKING) for wish in wishes)
    assert sorted(leases._is_first(wish) for leases, wish in zip(both, wishes, strict=True)) == [False, True]


def test_a_claim_can_be_seen_at_every_moment(engine, clock, monkeypatch):
    leases = Leases(engine, "one", 60, clock)
    lease = leases.acquire("r")
    seen = []
    for name in ("put", "delete"):
        original = getattr(engine, name)

        def looked(*arguments, original=original):
            seen.append(leases.holders())
            done = original(*arguments)
            seen.append(leases.holders())
            return done

        monkeypatch.setattr(engine, name, looked)
    assert lease.renew()
    assert len(seen) == 4
    assert all(one == {"r": "one"} for one in seen)


def test_in_a_crowd_of_threads_there_are_never_two(fleet):
    inside, most, taken, trouble = [0], [0], [0], []
    guard = threading.Lock()
    with Engine.open(fleet) as engine:
        engine.ensure()

        def work(number: int) -> None:
            try:
                leases = Leases(engine, f"w{number}", 30, time.time)
                until = time.monotonic() + 2
                while time.monotonic() < until:
                    if lease := leases.acquire("r"):
                        with guard:
                            inside[0] += 1
                            most[0] = max(most[0], inside[0])
                            taken[0] += 1
                        time.sleep(0.005)
                        assert lease.renew()
                        with guard:
                            inside[0] -= 1
                        lease.release()
            except BaseException as error:  # noqa: BLE001
                trouble.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert trouble == []
        assert most[0] == 1
        assert taken[0] >= 3
        assert claims(engine) == 0


WORKER = """
import os, sys, time
from pathlib import Path
from whence.fleet.engine import Engine
from whence.fleet.leases import Leases
from whence.core.settings import FleetSettings
address, prefix, worker, log, seconds, hold = sys.argv[1:]
with Engine.open(FleetSettings(backend="milvus", address=address, prefix=prefix)) as engine:
    leases = Leases(engine, worker, float(seconds), time.time)
    def say(word):
        with open(log, "a") as out:
            out.write(f"{word} {worker} {time.time()}\\n")
    say("ready")
    while not Path(log + ".stop").exists():
        if lease := leases.acquire("r"):
            say("in")
            if hold == "ever":
                time.sleep(600)
            for _ in range(3):
                time.sleep(0.01)
                assert lease.renew()
            say("out")
            lease.release()
        time.sleep(0.005)
"""


def started(fleet, worker: str, log: Path, *, seconds: float, hold: str = "") -> subprocess.Popen[bytes]:
    arguments = [fleet.address, fleet.prefix, worker, str(log), str(seconds), hold]
    return subprocess.Popen([sys.executable, "-c", WORKER, *arguments], env={**os.environ, "PYTHONPATH": str(SOURCES)})


def said(log: Path, word: str) -> list[list[str]]:
    return [line.split() for line in log.read_text(encoding="utf-8").splitlines() if line.startswith(word)]


def wait_for(what, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_in_a_crowd_of_processes_there_are_never_two(fleet, tmp_path):
    with Engine.open(fleet) as engine:
        engine.ensure()
    log = tmp_path / "log"
    log.touch()
    workers = [started(fleet, f"w{number}", log, seconds=30) for number in range(3)]
    try:
        wait_for(lambda: len({worker for _, worker, _ in said(log, "in")}) >= 2 and len(said(log, "out")) >= 15)
        log.with_name("log.stop").touch()
        assert [one.wait(60) for one in workers] == [0, 0, 0]
    finally:
        for one in workers:
            one.kill()
            one.wait()
    words = [line.split()[:2] for line in log.read_text(encoding="utf-8").splitlines() if not line.startswith("ready")]
    for entered, left in zip(words[::2], words[1::2], strict=True):
        assert (entered[0], left[0]) == ("in", "out")
        assert entered[1] == left[1]


def test_a_worker_that_is_killed_loses_it_to_another_after_its_time(fleet, tmp_path):
    with Engine.open(fleet) as engine:
        engine.ensure()
        log = tmp_path / "log"
        log.touch()
        worker = started(fleet, "killed", log, seconds=1, hold="ever")
        try:
            wait_for(lambda: said(log, "in"))
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.wait(10)
        other = Leases(engine, "other", 1, time.time)
        assert other.acquire("r") is None
        taken = []
        wait_for(lambda: taken.append(other.acquire("r")) or taken[-1])
        assert 0.9 <= time.time() - float(said(log, "in")[0][2]) < 5.0
        assert other.holders() == {"r": "other"}
