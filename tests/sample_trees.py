"""Small real trees for tests that search: written to disk, opened as an index, asked."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def settle(root: Path) -> None:
    """Make everything in a tree an hour old, as a tree is that nobody has just written."""
    then = time.time() - 3600
    for path in [*root.rglob("*"), root]:
        os.utime(path, (then, then), follow_symlinks=False)


def whence(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the real command in a process of its own, with pipes for its output."""
    return subprocess.run(
        [sys.executable, "-m", "whence", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(SOURCES), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def git(*arguments: str, cwd: Path) -> str:
    """Run git as a person who has a name."""
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()
