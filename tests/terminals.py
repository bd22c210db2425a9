"""Commands as a person runs them: on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

from typing_extensions import Self

from sample_trees import SOURCES


def on_a_terminal(*arguments: str, cwd: Path, typed: str = "", **environment: str) -> tuple[str, int]:
    """Run a command on a pseudo terminal, without a pager unless one is named; all that it wrote there, and its exit code."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "whence", *arguments]
    plain = {"PYTHONPATH": str(SOURCES), "TERM": "xterm", "PAGER": "cat"}
    environment = {**os.environ, **plain, **environment}
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, typed.encode())
    written = b""
    try:
        while chunk := os.read(ours, 65_536):
            written += chunk
    except OSError:  # the terminal is closed when the process ends
        pass
    finally:
        os.close(ours)
    return written.decode(), process.wait()


class Tmux:
    """A real terminal of 100 columns and 30 rows, with a command in it."""

    def __init__(self, *arguments: str, cwd: Path, socket: Path, **environment: str) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", os.devnull]
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        plain = {**inherited, "PYTHONPATH": str(SOURCES), **environment}
        # tmux sometimes does not notice that a command has ended.
        command = ["sh", "-c", '"$@"; echo "ended with $?"; exec cat', "sh", sys.executable, "-m", "whence", *arguments]
        subprocess.run([*self._tmux, "new-session", "-d", "-x", "100", "-y", "30", *command], cwd=cwd, env=plain, check=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._do("kill-server")

    def _do(self, *arguments: str) -> str:
        return subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=True).stdout

    def press(self, *keys: str) -> None:
        """Press keys by their names in tmux; what is no name is typed."""
        self._do("send-keys", *keys)

    @property
    def lines(self) -> list[str]:
        """What the terminal shows."""
        return self._do("capture-pane", "-p").split("\n")

    def shows(self, text: str, seconds: float = 60.0) -> list[str]:
        """Wait until the terminal shows a text, and what it shows then."""
        deadline = time.monotonic() + seconds
        while text not in "\n".join(shown := self.lines):
            assert time.monotonic() < deadline, "\n".join(shown)
            time.sleep(0.05)
        return shown
