"""Where a trace goes: a file, or standard error with `WHENCE_TRACE=1` (E2)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from whence.errors import UsageError
from whence.trace import Trace


@contextmanager
def tracing(path: str | None) -> Iterator[Trace | None]:
    """A trace where one is wanted, else None."""
    if path:
        try:
            stream = open(path, "w", encoding="utf-8")  # noqa: SIM115  -- closed below
        except OSError as error:
            raise UsageError(f"--trace {path}: {error.strerror}") from error
        with stream:
            yield Trace(stream)
    elif os.environ.get("WHENCE_TRACE", "0") not in ("", "0"):
        yield Trace(sys.stderr)
    else:
        yield None
