"""Trees that do not hold still: files that become links, pipes and folders while they are read, and branches that change."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from whence_bench.faults.trees_ground import Ground

_PART = "def part_{0}(value):\n    # the {1} of the walrus\n    return value + {0}\n"


def moving_files(ground: Ground) -> None:
    """One file becomes another thing all the time while the tree is indexed; nothing hangs, and nothing outside is read."""
    for number in range(40):
        ground.write(f"lib/part_{number}.py", _PART.format(number, "tusk") * 20)
    with (
        _meanwhile(_changing(ground.root / "lib/part_7.py", ground.outside / "plan.py")),
        _meanwhile(_swapping(ground.root, ground.outside)),
    ):
        for _ in range(2 if ground.small else 15):
            ground.run("index")
            ground.run("search", ground.canary)
    ground.check_nothing_leaked()
    _check_like_clean(ground, ("walrus tusk", "part_7", "part_39"))


def _changing(file: Path, outside: Path) -> Callable[[int], None]:
    """A file that grows, shrinks, and is a link, a pipe, a folder or nothing in between."""

    def step(number: int) -> None:
        with contextlib.suppress(OSError):
            shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink(missing_ok=True)
            kind = number % 6
            if kind in (0, 1):
                file.write_text(_PART.format(7, "tusk") * (1 + number % 400))
            elif kind == 2:
                file.symlink_to(outside)
            elif kind == 3:
                os.mkfifo(file)
            elif kind == 4:
                file.mkdir()

    return step


def _swapping(root: Path, outside: Path) -> Callable[[int], None]:
    """A folder that is a link to another place every second time; there a file has the name of one inside."""
    inside, away = root / "swap", root.parent / "swap-away"
    inside.mkdir()
    (inside / "plan.py").write_text(_PART.format(77, "tusk"))

    def step(number: int) -> None:
        with contextlib.suppress(OSError):
            if number % 2:
                inside.rename(away)
                inside.symlink_to(outside)
            elif inside.is_symlink():
                inside.unlink()
                away.rename(inside)

    return step


@contextlib.contextmanager
def _meanwhile(step: Callable[[int], None]) -> Iterator[None]:
    """Do something again and again in the background, an even number of times."""
    ended = threading.Event()

    def work() -> None:
        number = 0
        while not ended.is_set() or number % 6:
            step(number)
            number += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        step(0)


def changing_branches(ground: Ground) -> None:
    """Branches are checked out back and forth during builds; afterwards the answers are those of a clean build."""
    if shutil.which("git") is None:
        return
    for number in range(60 if ground.small else 300):
        ground.write(f"lib/part_{number}.py", _PART.format(number, "tusk"))
    _git(ground, "init", "-q", "-b", "one")
    _git(ground, "add", ".")
    _git(ground, "commit", "-q", "-m", "the tusks")
    _git(ground, "checkout", "-q", "-b", "other")
    for number in range(0, 60 if ground.small else 300, 2):
        ground.write(f"lib/part_{number}.py", _PART.format(number, "flipper") + "\n\ndef flipper_only(): pass\n")
        (ground.root / f"lib/part_{number + 1}.py").rename(ground.root / f"lib/moved_{number + 1}.py")
    _git(ground, "add", ".")
    _git(ground, "commit", "-q", "-m", "the flippers")
    with _meanwhile(lambda number: _git(ground, "checkout", "-q", "one" if number % 2 else "other")):
        for _ in range(1 if ground.small else 8):
            ground.run("index")
    _git(ground, "checkout", "-q", "one")
    _check_like_clean(ground, ("walrus tusk", "part_17", "flipper_only"))


def _git(ground: Ground, *arguments: str) -> None:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "core.fsync=none"]
    subprocess.run(["git", *identity, *arguments], cwd=ground.root, capture_output=True, check=False, env=ground.environment)


def _check_like_clean(ground: Ground, queries: tuple[str, ...]) -> None:
    """A refresh gives the answers that a build from nothing gives."""
    from whence.app.index import Index  # noqa: PLC0415  -- with everything it needs

    with Index.open(ground.root, data_dir=ground.data) as one, Index.open(ground.root, data_dir=ground.folder / "clean") as other:
        for query in queries:
            found, clean = ([(hit.path, round(hit.score, 6)) for hit in index.search(query)] for index in (one, other))
            ground.check(found == clean, f"{query!r}: {found[:3]} after a refresh, {clean[:3]} of a clean build")
