"""Hostile `.git` folders, settings in the tree, and grammars that crash or never end."""

from __future__ import annotations

import os

from whence_bench.faults.trees_grammar import CRASHES, ENDING, LOOPS, plant_bad_grammar
from whence_bench.faults.trees_ground import Ground

_UNIT = "def walrus_{}(value):\n    return value\n"
_COMMIT = "0123456789abcdef0123456789abcdef01234567"


def repositories(ground: Ground) -> None:
    """Whatever stands in `.git`, a search ends soon and tells nothing of another place."""
    ground.write("plain.py", _UNIT.format("plain"))
    git = ground.root / ".git"
    git.mkdir()
    head = git / "HEAD"
    (ground.outside / "commit").write_text(f"{_COMMIT}\n")

    def said() -> str:
        out = ground.run("search", "walrus_plain", seconds=20)
        ground.check("plain.py" in out.out, "nothing is found beside a hostile .git")
        return out.out

    os.mkfifo(head)
    said()
    head.unlink()
    for text in (
        f"ref: ../../{ground.outside.name}/commit",
        f"ref: {ground.outside}/commit",
        f"ref: refs/../../../{ground.outside.name}/commit",
    ):
        head.write_text(text)
        ground.check(_COMMIT[:7] not in said(), f"HEAD = {text!r} was followed")
        if ground.small:
            break
    head.write_text("ref: refs/heads/main\n")
    with (git / "packed-refs").open("wb") as file:
        file.write(
            b"# pack-refs with: peeled fully-peeled sorted\n"
            + f"{_COMMIT} refs/heads/x\n".encode() * (20_000 if ground.small else 2_000_000)
        )
    said()
    (git / "packed-refs").unlink()
    (git / "commondir").write_text("/")
    (git / "info").mkdir()
    os.mkfifo(git / "info/exclude")
    said()
    if ground.small:
        return
    for name in ("commondir", "config", "packed-refs"):
        (git / name).unlink(missing_ok=True)
        os.mkfifo(git / name)
    said()
    for left in ("HEAD", "commondir", "config", "packed-refs", "info/exclude"):
        (git / left).unlink()
    (git / "info").rmdir()
    git.rmdir()
    for text in ("gitdir: .git", "gitdir: /", f"gitdir: {ground.outside}", "gitdir: " + "../" * 5_000, "x" * 5_000_000):
        git.write_text(text)
        said()
    git.unlink()
    os.mkfifo(git)
    said()


def settings(ground: Ground) -> None:
    """What a tree says of itself in `.whence.toml` cannot make a program run, read or write elsewhere, or wait."""
    ground.write("plain.py", _UNIT.format("plain"))
    place = ground.root / ".whence.toml"
    os.mkfifo(place)
    ground.run("search", "walrus_plain", seconds=20)
    place.unlink()
    place.symlink_to(ground.outside / "plan.py")
    ground.run("search", "walrus_plain", seconds=20)
    place.unlink()
    owned = ground.folder / "owned"
    for text in (
        f'[enrich]\npython = "touch {owned}"',
        f'[memory]\ndirectory = "{ground.outside}"',
        '[index]\nmodel = "model2vec:/dev/zero"',
    ):
        place.write_text(text)
        ground.run("search", "walrus_plain", seconds=20)
        if not ground.small:
            ground.run("enrich", seconds=20)
            ground.run("list", seconds=20)
    ground.check(not owned.exists(), "a setting of the tree ran a program")


def grammars(ground: Ground) -> None:
    """A file over which its grammar crashes, or never ends, costs one run at most, and then only itself."""
    planted = plant_bad_grammar(ground.folder / "grammars")
    if not planted:
        return
    for number in range(5):
        ground.write(f"good_{number}{ENDING}", f"function walrus_{number}(a)\n return a\nend\n")
    ground.write(f"crash{ENDING}", f"function crashing(a)\n return ({CRASHES})\nend\n")
    ground.write(f"plain{ENDING}", "function afterwards(a)\n return a\nend\n")
    spent, _, first = ground.run_apart("index", environment=planted)  # the one run that may fall
    ground.check(first.code < 0, f"the grammar did not crash: {first.code}, {spent:.1f} s")
    found = ground.run("search", "walrus afterwards", "-l", environment=planted).out
    ground.check(found.count(ENDING) == 6 and "crash" not in found, f"one file in seven was to be left out: {found!r}")
    if not ground.small:
        ground.write(f"loop{ENDING}", f"function looping(a)\n return ({LOOPS})\nend\n")
        ground.run_apart("index", environment=planted, seconds=2)  # a user who does not wait: what is left behind says what was read
        found = ground.run("search", "walrus afterwards", "-l", environment=planted).out
        ground.check(found.count(ENDING) == 6 and "loop" not in found, f"the file that never ends was to be left out: {found!r}")
