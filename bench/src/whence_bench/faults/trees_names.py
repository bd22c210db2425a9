"""Trees of links that lead out, files that are none, and names that no one should have to print."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

from whence_bench.faults.trees_ground import Ground

_UNIT = "def walrus_{}(value):\n    return value\n"
#: Names that are allowed on disk, and what they try.
NAMES = (
    b"new\nline.py", b"tab\tand 'quote\".py", b"esc\x1b[31mred\x1b]0;owned\x07.py", b"invalid\xff\xfe.py", b"rtl\xe2\x80\xaeyp.exe.py",
    b"$(touch owned).py", b"*.py",
    b"csi\xc2\x9b31m.py", b"x" * 252 + b".py", b"***/star.py", b"-rf/dash.py", b"#/hash.py", b"--help/option.py", b"%s%n.py",
    b"back\\slash.py", b"dots.../dots..py", b" leading and trailing .py", b"path:evil.py", b"!bang.py", b"[a-z]*.py", b"~/home.py",
)  # fmt: skip


def names(ground: Ground) -> None:
    """Each name is indexed, found, and printed so that a terminal shows it."""
    for number, name in enumerate(NAMES):
        place = ground.root / os.fsdecode(name)
        place.parent.mkdir(exist_ok=True)
        place.write_text(_UNIT.format(number))
    ground.run("index")
    listed = _listed(ground)
    for number, name in enumerate(NAMES):
        ground.check(listed.get(os.fsdecode(name)) == "", f"{name!r} is not in the index: {listed.get(os.fsdecode(name))}")
        if ground.small and number % 6:
            continue
        found = json.loads(ground.run("search", f"walrus_{number}", "--json").out or "{}").get("results", [])
        ground.check(os.fsdecode(name) in [one["path"] for one in found], f"{name!r} is not found by its content")
    for arguments in (("search", "walrus"), ("status", "--files"), ("search", "walrus", "-l"), ("context", "walrus value")):
        ground.run(*arguments)
    ground.check(not (ground.root / "owned").exists(), "a name was run as a command")


def links(ground: Ground) -> None:
    """What is no file of the tree is not read, and it is said why; neither is what an argument points at."""
    root, outside = ground.root, ground.outside
    ground.write("lib/plain.py", _UNIT.format("plain"))
    expected = {}
    for name, target in (
        ("out.py", outside / "plan.py"), ("up.py", "../root-evil/plan.py"), ("folder", outside), ("loop", "loop"), ("self", "."),
        ("etc", "/etc"), ("lib/above", ".."), ("dangling.py", "/nowhere/at/all.py"), ("kernel", "/proc/self"),
    ):  # fmt: skip
        (root / name).symlink_to(target)
        expected[name] = "a symbolic link"
    os.mkfifo(root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listening:
        at = Path.cwd()
        os.chdir(root)  # the name of a socket may have a hundred letters
        try:
            listening.bind("socket.py")
        finally:
            os.chdir(at)
    expected |= {"pipe.py": "not a regular file", "socket.py": "not a regular file"}
    try:
        os.mknod(root / "device.py", 0o20600, os.makedev(1, 5))  # /dev/zero
        expected["device.py"] = "not a regular file"
    except OSError:
        pass  # only root may
    for name in (".whenceignore", "lib/.gitignore"):
        (root / name).symlink_to(outside / "plan.py")
    os.mkfifo(root / ".gitignore")
    with (root / "sparse.py").open("wb") as file:
        file.truncate(10_000_000_000)
    expected["sparse.py"] = "larger than 1500000 bytes"
    ground.run("index")
    listed = _listed(ground)
    for name, reason in expected.items():
        ground.check(listed.get(name) == reason, f"{name} is listed as {listed.get(name)!r}, not as {reason!r}")
    ground.check(listed.get("lib/plain.py") == "", "a plain file is missing")
    _ask_for_what_is_outside(ground)
    ground.check_nothing_leaked()


def _ask_for_what_is_outside(ground: Ground) -> None:
    """Naming another folder as the place to search is a wish; a path in a question, or one that the index is asked for, is none."""
    secret = ground.canary
    for arguments in (
        ("search", secret),
        ("search", f"{secret} path:../root-evil"),
        ("context", secret),
        ("search", f"{secret} path:folder"),
    ):
        ground.run(*arguments)
    from whence.app.index import Index  # noqa: PLC0415  -- the same by the library

    with Index.open(ground.root, data_dir=ground.data) as index:
        for path in (
            "../root-evil/plan.py",
            str(ground.outside / "plan.py"),
            "out.py",
            "folder/plan.py",
            "pipe.py",
            "lib/../../root-evil/plan.py",
            "lib",
            "",
        ):
            ground.check(index.read_text(path) is None, f"read_text({path!r}) read it")


def _listed(ground: Ground) -> dict[str, str]:
    """Every file with the reason why it is out, or an empty one when it is in."""
    try:
        return {one["path"].rstrip("/"): one["reason"] for one in json.loads(ground.run("status", "--files", "--json").out)}
    except (ValueError, KeyError, TypeError):
        return {}
