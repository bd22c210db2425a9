"""A process that tries targets and says in JSON lines what it found; what kills it is seen by the one that started it."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whence_bench.faults.fuzz_engine import Current, Engine
from whence_bench.faults.fuzz_targets import BY_NAME

#: Bytes of memory that a process may have: an input that makes it want more is a failure.
MOST_MEMORY = 3 << 30


def main(asked: dict[str, Any]) -> None:
    """Try each of some targets so many times, within its share of some seconds."""
    os.nice(int(asked["nice"]))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    current = Current(Path(asked["current"]))
    until = time.monotonic() + asked["seconds"]
    for number, (name, executions, weight) in enumerate(asked["targets"]):
        _say(begun=name)
        place = Path(asked["scratch"]) / f"{asked['run']}-{number}"
        place.mkdir(parents=True)
        current.set(0, b"")
        target, left = BY_NAME[name], sum(one[2] for one in asked["targets"][number:])
        seconds = (until - time.monotonic()) * weight / left  # what one does not need the others have
        found = Engine(target, target.make(place), asked["seed"], current).run(executions, seconds, asked["long"])
        _say(done=name, found=asdict(found))
    sys.stdout.flush()
    os._exit(0)  # threads of a server that was tried may still wait for a line


def _end_with_parent() -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
