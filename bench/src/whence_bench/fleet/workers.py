"""Two workers index a fleet, one is killed half way, and the other finishes: nothing may be missing and nothing doubled.

What is compared with is the same fleet, indexed by one worker that nobody disturbed. Workers are processes of
`whence fleet index`, each with a folder of its own, as if each had a machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2s
from io import BytesIO
from pathlib import Path
from typing import Any

from whence.core.errors import StorageError
from whence.core.settings import FleetSettings
from whence.fleet.engine import EVERYTHING, NO_VECTOR, SCHEMAS, SPARSE, Engine
from whence.fleet.leases import Leases
from whence.fleet.registry import READY, WORKING, Registry
from whence.fleet.rows import fetch_archive
from whence.index.archive import MANIFEST
from whence_bench.fleet.server import Served
from whence_bench.fleet.trees import Nursery
from whence_bench.speed.harness import Room, Row

REPOSITORIES, UNITS = 30, 500
#: Seconds that a lease holds here, that a worker has at all, and between two looks at what is done.
LEASE, MOST_SECONDS, LOOK = 2.0, 1_800.0, 0.01
KILLED, LEFT = "first", "second"
#: What rows say of the work, not of the result. Names of files within a portable index are drawn by lot: it is compared by what it holds.
OF_THE_WORK = {"repos": ("indexed_at", "wanted", "seconds", "cpu", "bytes_sent"), "packs": ("digest", "blob")}

Rows = Mapping[str, Mapping[str, str]]


def run(room: Room, there: Served, *, repositories: int = REPOSITORIES, units: int = UNITS) -> None:
    """Index the same repositories twice, and compare every row."""
    nursery = Nursery(room)
    roots = [nursery.make(f"worked-{number:02d}", units) for number in range(repositories)]
    quiet, disturbed = (there.settings(prefix, lease=LEASE) for prefix in ("quiet", "disturbed"))
    with Engine.open(quiet) as one, Engine.open(disturbed) as other:
        for engine in (one, other):
            engine.ensure()
            for root in roots:
                Registry(engine).add(root.name, str(root), ("everybody",))
        room.tell("one worker, undisturbed")
        _wait(_started(room, quiet, "alone"))
        room.tell("two workers, one of them killed half way")
        killed = _disturbed(room, other, repositories)
        room.tell("all rows, compared")
        doubled: Counter[str] = Counter()
        expected, found = _rows(one, Counter()), _rows(other, doubled)
        left = [claim.worker for claim in Leases(other, "bench", LEASE, time.time).claims(EVERYTHING)]
        one.drop()
        other.drop()
    room.raw["workers"] = {**killed, **counted(expected, found), "doubled": sum(doubled.values()), "leases left": left}
    tell(room)


def _disturbed(room: Room, engine: Engine, repositories: int) -> dict[str, Any]:
    """Let two workers begin, and kill one in the middle of a repository when half of them are done."""
    running = {name: _started(room, engine.settings, name) for name in (KILLED, LEFT)}
    registry, leases = Registry(engine), Leases(engine, "bench", LEASE, time.time)
    try:
        at = ""
        while not at and running[KILLED].poll() is None:
            states = {one.name: one.state for one in registry.all()}
            if sum(state == READY for state in states.values()) >= repositories // 2:
                mine = [name for name, worker in leases.holders().items() if worker == KILLED and states.get(name) == WORKING]
                at = mine[0] if mine else ""
            time.sleep(LOOK)
        running[KILLED].kill()
        running[KILLED].wait()
        done, began = sum(one.state == READY for one in registry.all()), time.monotonic()
        _wait(running[LEFT])
        ready = sum(one.state == READY for one in registry.all())
        return {"killed at": at, "done then": done, "repositories": ready, "of": repositories, "seconds": time.monotonic() - began}
    finally:
        for process in running.values():
            process.kill()
            process.wait()


def _started(room: Room, fleet: FleetSettings, worker: str) -> subprocess.Popen[bytes]:
    """A worker, whose words are kept beside it."""
    settings = {"backend": fleet.backend, "address": fleet.address, "prefix": fleet.prefix, "lease": fleet.lease, "timeout": fleet.timeout}
    environment = {
        **room.environment(f"data_{fleet.prefix}_{worker}"),
        **{f"WHENCE_FLEET_{key.upper()}": str(settings[key]) for key in settings},
    }
    command = [sys.executable, "-m", "whence", "fleet", "index", "--worker", worker]
    with _said(room.folder, worker).open("wb") as out:
        return subprocess.Popen(command, env=environment, cwd=room.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        code = process.wait(MOST_SECONDS)
    except subprocess.TimeoutExpired as error:
        process.kill()
        raise StorageError(f"a worker did not end within {MOST_SECONDS:g} s") from error
    if code:
        raise StorageError(f"a worker ended with {code}")


def _said(folder: Path, worker: str) -> Path:
    return folder / f"worker-{worker}.txt"


def _rows(engine: Engine, doubled: Counter[str]) -> Rows:
    """A digest of every row by its key, collection by collection. Rows that come twice are counted."""
    found: dict[str, dict[str, str]] = {}
    for schema, names in SCHEMAS.items():
        if schema == "claims":
            continue
        left_out = (SPARSE, NO_VECTOR, *OF_THE_WORK.get(schema, ()))
        fields = [one for one in names if one not in left_out]
        rows = found.setdefault(schema, {})
        for row in engine.rows(schema, EVERYTHING, fields):
            doubled[schema] += row["id"] in rows
            rows[row["id"]] = _digest({name: row[name] for name in fields})
        doubled[schema] += max(0, engine.count(schema) - len(rows))
    return {**found, "portable indexes": {one.name: _portable(engine, one.name) for one in Registry(engine).all()}}


def _portable(engine: Engine, repository: str) -> str:
    """A digest of what a portable index holds."""
    found = fetch_archive(engine, repository)
    if found is None:
        return ""
    with zipfile.ZipFile(BytesIO(found[1])) as archive:
        manifest = json.loads(archive.read(MANIFEST))
    files = sorted([path, content, language] for path, content, language, *_ in manifest["files"])
    return _digest([manifest["commit"], manifest["settings"], sorted(map(str, manifest["members"].values())), files])


def _digest(value: object) -> str:
    return blake2s(json.dumps(value, sort_keys=True, default=repr).encode("utf-8", "backslashreplace")).hexdigest()


def counted(expected: Rows, found: Rows) -> dict[str, Any]:
    """How many rows there are, and how many are missing, too many, or not as they should be."""
    return {
        "rows": sum(map(len, expected.values())),
        "missing": sum(len(rows.keys() - found[name].keys()) for name, rows in expected.items()),
        "too many": sum(len(rows.keys() - expected[name].keys()) for name, rows in found.items()),
        "other": {name: count for name, rows in expected.items() if (count := _differing(rows, found[name]))},
    }


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> int:
    return sum(other.get(key, digest) != digest for key, digest in one.items())


def tell(room: Room) -> None:
    """The lines of the table."""
    found = room.raw["workers"]
    where = f"{found['of']} repositories, two workers, one killed at {found['done then']}"
    rows: Sequence[tuple[str, int]] = (
        (f"{where}: not finished", found["of"] - found["repositories"]),
        (f"rows missing, of {found['rows']:,}", found["missing"]),
        ("rows too many or doubled", found["too many"] + found["doubled"]),
        ("rows with other content", sum(found["other"].values())),
        ("leases left behind", len(found["leases left"])),
    )
    room.rows += [Row(what, "0", count, "", kept=count == 0) for what, count in rows]
    room.rows.append(
        Row("a worker was killed in the middle of a repository", "1", int(bool(found["killed at"])), "", kept=bool(found["killed at"]))
    )
    room.rows.append(Row("until the other had finished", "", found["seconds"], "s"))
