"""Running a server process until its caller is gone, with a log that never blocks it."""

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
#: Log lines that wait to be written; more are dropped.
MAX_LINES = 1_000
SECONDS_FOR_THE_LOG = 1.0


def run_until_exit(serve: Callable[[], Awaitable[None]]) -> NoReturn:
    """Serve until done or a signal arrives, then exit without waiting for threads: one may be reading, or answering nobody."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    lines = _log_in_a_thread()
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


class _DroppingHandler(logging.handlers.QueueHandler):
    """Drops lines while the queue is full."""

    def enqueue(self, record: logging.LogRecord) -> None:
        """Queue a line for the writing thread, or drop it."""
        with suppress(queue.Full):
            self.queue.put_nowait(record)


def _log_in_a_thread() -> queue.Queue[logging.LogRecord]:
    """Write the log in a thread: standard error may be a pipe that nobody reads, and must not block the server."""
    lines: queue.Queue[logging.LogRecord] = queue.Queue(MAX_LINES)
    logging.basicConfig(level=logging.WARNING, handlers=[_DroppingHandler(lines)], format="whence: %(message)s")
    logging.handlers.QueueListener(lines, logging.StreamHandler(sys.stderr)).start()
    return lines
