"""Commands as a person runs them: on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from sample_trees import SOURCES


def on_a_terminal(*arguments: str, cwd: Path, typed: str = "") -> tuple[str, int]:
    """Run a command on a pseudo terminal; all that it wrote there, and its exit code."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "whence", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "TERM": "xterm"}
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
