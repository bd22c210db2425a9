"""Run something in a process of its own, which may hang, die or be out of its mind, and say what came of it."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

#: A case that takes longer hangs.
MOST_SECONDS = 20
_CAPABILITY_VERSION = 0x20080522
_OVERRIDES = (1 << 1) | (1 << 2)  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: why a chmod does not hinder root


def apart(work: Callable[[], Any], result: Path, seconds: int = MOST_SECONDS) -> Any:
    """What some work gives, as JSON; or how it ended, as text that begins with `hung`, `killed` or `raised`."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        _work_and_end(work, result, seconds)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it may have started
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"hung for {seconds} s" if number == signal.SIGALRM else f"killed by {signal.Signals(number).name}"
    try:
        found = json.loads(result.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"killed: it ended with {os.waitstatus_to_exitcode(status)} and said nothing"
    result.unlink()
    return found


def _work_and_end(work: Callable[[], Any], result: Path, seconds: int) -> None:
    os.setsid()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    try:
        found = work()
    except BaseException as error:  # noqa: BLE001  -- whatever it is, it is what came of it
        frames = [f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)[-4:]]
        found = f"raised {type(error).__name__}: {error} ({' '.join(frames)})"
    try:
        result.write_text(json.dumps(found), encoding="utf-8")
    finally:
        os._exit(0)


def obey_permissions() -> bool:
    """Let this process, also one of root, be hindered by the permissions of files; whether that is so now."""
    if os.geteuid() != 0:
        return True
    try:
        library = ctypes.CDLL(None)
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
        sets = (ctypes.c_uint32 * 6)()
        if library.capget(header, sets):
            return False
        sets[0] &= ~_OVERRIDES & 0xFFFFFFFF
        return not library.capset(header, sets)
    except (OSError, AttributeError):
        return False
