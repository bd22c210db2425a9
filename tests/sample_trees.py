"""Small real trees for tests that search: written to disk, opened as an index, asked."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import whence as package
from whence.storage.sqlite import register_row_sum

#: The folder that holds the package under test.
SOURCES = Path(package.__file__).parents[1]


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


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


@contextlib.contextmanager
def truth(path: Path) -> Iterator[sqlite3.Connection]:
    """The database of an index, to be written as only whence does: each row with its checksum."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        register_row_sum(database)
        yield database
