"""One piece of work in a process of its own, forked from a warm one: what it gave, how it failed, or that it was killed."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

#: What takes longer hangs.
LONGEST = 60.0
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


@dataclass(frozen=True, slots=True)
class Ended:
    """How a piece of work ended."""

    value: Any = None
    error: str = ""  # the message, where it failed
    kind: str = ""  # the class of what was raised
    said: bool = False  # whether it was one of whence's own errors
    where: str = ""  # the last line of ours that it came through
    signal: int = 0
    hangs: bool = False
    orphans: bool = False  # whether processes of it outlived it

    @property
    def killed(self) -> bool:
        """Whether it was killed."""
        return self.signal == signal.SIGKILL and not self.hangs


def adopt_orphans() -> None:
    """Become the parent of processes whose own is killed, so that they can be waited for."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def apart(work: Callable[[int], Any], longest: float = LONGEST) -> Ended:
    """Do something in a process and a group of its own; it is given the number of that group."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        _child(work, writing)
    os.close(writing)
    deadline = time.monotonic() + longest
    text, in_time = _read_all(reading, deadline)
    if not in_time:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    orphans = not _group_ended(pid)
    ending = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    found = json.loads(text) if text and not ending else {}
    return Ended(**found, signal=ending, hangs=not in_time, orphans=orphans)


def _child(work: Callable[[int], Any], writing: int) -> None:
    """Never returns: whatever happens, the parent's work is not done a second time."""
    try:
        os.setsid()
        try:
            answer = {"value": work(os.getpid())}
        except BaseException as error:  # noqa: BLE001  -- told to the parent
            answer = _told(error)
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            pipe.write(json.dumps(answer))
    finally:
        os._exit(0)


def _told(error: BaseException) -> dict[str, Any]:
    from whence.core.errors import WhenceError  # noqa: PLC0415

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "whence" in frame.filename and "faults" not in frame.filename]
    where = f"{frames[-1].filename.rpartition('whence/')[2]}:{frames[-1].lineno}" if frames else ""
    return {"error": str(error) or repr(error), "kind": type(error).__name__, "said": isinstance(error, WhenceError), "where": where}


def _read_all(handle: int, deadline: float) -> tuple[bytes, bool]:
    pieces: list[bytes] = []
    try:
        while (left := deadline - time.monotonic()) > 0 and select.select([handle], [], [], left)[0]:
            piece = os.read(handle, 1 << 16)
            if not piece:
                return b"".join(pieces), True
            pieces.append(piece)
        return b"", False
    finally:
        os.close(handle)


def _group_ended(group: int, patience: float = 10.0) -> bool:
    """Whether every process of a group ends by itself; those that do not are killed."""
    deadline = time.monotonic() + patience
    with suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if os.waitpid(-group, os.WNOHANG)[0] == 0:
                time.sleep(0.002)
        os.killpg(group, signal.SIGKILL)
        while True:
            os.waitpid(-group, 0)
    return time.monotonic() < deadline
