"""Threads that use the Python API for a while, in a process of its own: each with an index of its own, or all with one."""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
import traceback
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from whence_bench.faults.crowds_tree import MARKS

if TYPE_CHECKING:
    from whence.app.index import Index

#: Whoever goes wrong so often has said enough.
MOST_WRONG = 5


def ask(index: Index, random: Random, files: int) -> None:
    """One question of some kind, answered to the last line."""
    number = random.randrange(files)
    kind = random.randrange(6)
    if kind <= 1:
        found = index.search(random.choice((MARKS[number % 5], "retry the request", "where is the connection limit", f"Part{number}")))
        if not found:
            raise AssertionError("nothing was found")
        _ = found[0].lines, found[0].why, found[0].qualified_name
    elif kind == 2:
        _ = index.search(f"walrus path:lib/group_{number % 8}", k=20)[0].lines
    elif kind == 3:
        index.context(f"change how {MARKS[number % 5]} is parsed", budget=800)
    elif kind == 4:
        index.related(f"lib/group_{number % 8}/part_{number}.py", 8)
    else:
        index.callers(f"lib/group_{number % 8}/part_{number}.py#Part{number}")


class Threads:
    """Threads that ask for a while."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked = asked
        self._shared = self._opened() if asked["shared"] else None
        self.took: list[float] = []
        self.wrong: list[str] = []

    def _opened(self) -> Index:
        from whence.app.index import Index  # noqa: PLC0415  -- here and not before it is known what to do

        return Index.open(Path(self._asked["root"]), data_dir=Path(self._asked["data"]), settings={"learn.enabled": False})

    def warm_up(self) -> None:
        """Load what is loaded once."""
        with self._opened() as index:
            for seed in range(30):
                ask(index, Random(seed), self._asked["files"])

    def run(self) -> None:
        """Ask until it is time, and let go of everything."""
        until = time.monotonic() + self._asked["seconds"]
        threads = [threading.Thread(target=self._work, args=(number, until)) for number in range(self._asked["threads"])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._shared is not None:
            self._shared.close()

    def _work(self, thread: int, until: float) -> None:
        random, turn, index = Random(self._asked["seed"] * 100 + thread), 0, self._shared or self._opened()
        while time.monotonic() < until and len(self.wrong) < MOST_WRONG:
            began, turn = time.perf_counter(), turn + 1
            try:
                ask(index, random, self._asked["files"])
                if turn % 10 == 0:
                    index.refresh()
                if turn % 25 == 0 and index is not self._shared:  # opened again, as short programs do
                    index.close()
                    index = self._opened()
            except Exception as error:  # noqa: BLE001  -- whatever it is, it is to be told
                last = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(last.filename).name}:{last.lineno}"
                self.wrong.append(f"thread {thread}, seed {self._asked['seed']}: {type(error).__name__}: {error} ({where})")
            self.took.append(time.perf_counter() - began)
        if index is not self._shared:
            index.close()


def main(given: str) -> None:
    """Let threads ask, and say what came of it."""
    threads = Threads(json.loads(given))
    threads.warm_up()
    gc.collect()
    print("ready", flush=True)
    threads.run()
    gc.collect()  # what only waits for the collector is no leak
    print(json.dumps({"took": threads.took, "wrong": threads.wrong}), flush=True)
    sys.stdin.readline()  # until it has been looked at


if __name__ == "__main__":
    main(sys.argv[1])
