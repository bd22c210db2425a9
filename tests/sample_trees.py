"""Small real trees for tests that search: written to disk, opened as an index, asked."""

from __future__ import annotations

import contextlib
import io
import os
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import whence as package
from whence.cli.main import main
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


def whence(*arguments: str, cwd: Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command inside this process: much faster than a real one, which `whence_process` starts.

    The command sees a working directory, an environment and standard streams of its own.
    Use a real process where start-up, signals, locks or several processes are what is tested.
    """
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"PYTHONPATH": str(SOURCES), **environment}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8", "surrogateescape"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        os.chdir(cwd)
        try:
            code = main(list(arguments))
        except Exception:  # noqa: BLE001  -- a process would end with a traceback, too
            traceback.print_exc()
            code = 1
        finally:
            os.chdir(before)
    return subprocess.CompletedProcess(["whence", *arguments], code, _written(out), _written(err))


def _written(stream: io.TextIOWrapper) -> str:
    """All that was written to a stream, with the line ends that a pipe in text mode shows."""
    stream.flush()
    raw = stream.detach()
    return raw.getvalue().decode().replace("\r\n", "\n").replace("\r", "\n")  # type: ignore[attr-defined]


def whence_process(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
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
