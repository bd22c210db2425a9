"""A process that serves until its caller is gone, and a log that nobody has to read."""

from __future__ import annotations

import logging
import logging.handlers
import os
import queue
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NoReturn

import anyio

log = logging.getLogger(__name__)
#: Lines of the log that wait for a reader; more are dropped.
MOST_LINES = 1_000
SECONDS_FOR_THE_LOG = 1.0


def run_to_the_end(serve: Callable[[], Awaitable[None]]) -> NoReturn:
    """Serve until the caller is gone or a signal comes. No thread is waited for: one may be reading, or searching for nobody."""
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda *_: os._exit(0))
    lines = _log_aside()
    code = 2
    try:
        anyio.run(serve)
        code = 0
    except Exception:
        log.exception("the server failed")
    finally:
        deadline = time.monotonic() + SECONDS_FOR_THE_LOG
        while lines.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.01)
        os._exit(code)


class _Dropping(logging.handlers.QueueHandler):
    """A log that is written by another thread, as far as somebody reads it."""

    def enqueue(self, record: logging.LogRecord) -> None:
        """Put a line where the thread finds it, or nowhere."""
        with suppress(queue.Full):
            self.queue.put_nowait(record)


def _log_aside() -> queue.Queue[logging.LogRecord]:
    """Have a thread write the log: standard error may be a pipe that nobody reads, and a server that waits for it serves nobody."""
    lines: queue.Queue[logging.LogRecord] = queue.Queue(MOST_LINES)
    logging.basicConfig(level=logging.WARNING, handlers=[_Dropping(lines)], format="whence: %(message)s")
    logging.handlers.QueueListener(lines, logging.StreamHandler(sys.stderr)).start()
    return lines
