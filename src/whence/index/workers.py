"""Worker processes that parse batches of files. A file that crashes its worker, or takes too long, is left out.

A worker reports each file before it reads it, so that the file is known when the worker dies or hangs. A small build is parsed
in the calling process, which would not survive a crash. So a marker file says that parsing is going on; if there is one from
before, worker processes are used.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from whence.core.errors import StorageError, WhenceError
from whence.index.changes import hash_file
from whence.index.store import FileRecord
from whence.index.worker import Batch, BatchResult, result_from_json, run_batch, state_of

if TYPE_CHECKING:
    from typing_extensions import Self

#: CPU seconds for one file, and for each of its bytes: many times what a file takes (about a second for a million bytes).
FILE_SECONDS = 10.0
FILE_SECONDS_PER_BYTE = 1e-5
#: Seconds for starting the process, and for writing the segment at the end.
START_SECONDS = END_SECONDS = 120.0
#: Waiting is counted in steps of so many seconds, not by the clock: a program that was suspended for an hour is not slow.
STEP_SECONDS = 0.5
#: On a busy machine a worker may wait this many times longer than it is allowed to compute.
WAITING = 10
#: Signals with which somebody ends a process; the file is not at fault.
_FROM_OUTSIDE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_READ_BYTES = 65_536

Found = tuple[BatchResult, Batch]


class WorkerDied(Exception):
    """A worker ended, or was ended because it took too long, in the middle of a batch."""

    def __init__(self, at: int, reason: str, *, by_kill: bool = False) -> None:
        super().__init__(reason)
        self.at, self.reason = at, reason  # `at` is its file: -1 before the first, the number of files after the last
        self.by_kill = by_kill  # by somebody, or for lack of memory: maybe not the file's fault


class WorkerPool:
    """Workers that parse one batch at a time each. `environment` is for their processes."""

    def __init__(self, count: int, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._free = [_started(environment) for _ in range(count)]
        self._busy: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self._closing = False
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        with self._guard:
            self._closing = True
            for process in self._busy:
                process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._free:
            _end(process)

    def run(self, batches: list[Batch]) -> Iterator[Found]:
        """Results as they come."""
        futures: list[Future[list[Found]]] = [self._threads.submit(self._outcomes, batch) for batch in batches]
        for future in as_completed(futures):
            yield from future.result()

    def _outcomes(self, batch: Batch) -> list[Found]:
        """The results of a batch: several if files crash their worker."""
        found: list[Found] = []
        left = [(batch, False)]
        while left:
            part, again = left.pop()
            try:
                found.append((self._one(part), part))
            except WorkerDied as fell:
                if self._closing:
                    break  # nobody waits for it
                count = len(part.paths)
                if not 0 <= fell.at < count and count > 1:  # not during a file, but one of them may have caused it
                    left += [(_part(part, part.paths[: count // 2]), False), (_part(part, part.paths[count // 2 :]), False)]
                    continue
                at = min(max(fell.at, 0), count - 1)
                if rest := part.paths[:at] + part.paths[at + 1 :]:
                    left.append((_part(part, rest), False))
                alone = _part(part, [part.paths[at]])
                if fell.by_kill and not again:
                    left.append((alone, True))
                else:
                    found.append((_left_out(alone, fell.reason), alone))
        return found

    def _one(self, batch: Batch) -> BatchResult:
        with self._guard:
            process = self._free.pop()
            self._busy.add(process)
        try:
            return _run_batch(process, batch)
        except (WorkerDied, OSError) as error:
            _end(process)
            with self._guard:
                self._busy.discard(process)
                if not self._closing:
                    process = _started(self._environment)
            if isinstance(error, WorkerDied):
                raise
            raise WorkerDied(-1, f"cannot be parsed: {error.strerror}") from error
        finally:
            with self._guard:
                self._busy.discard(process)
                self._free.append(process)


def _part(batch: Batch, paths: list[str]) -> Batch:
    return replace(batch, paths=paths, out=str(Path(batch.out).with_name(f"{os.urandom(8).hex()}.segment")))


def _left_out(batch: Batch, reason: str) -> BatchResult:
    """The result of a file that cannot be parsed. Its hash is stored: it is tried again when its content changes."""
    path = batch.paths[0]
    state, content = state_of(f"{batch.root}/{path}", batch.now_ns), hash_file(batch.root, path, batch.max_file_bytes)
    return BatchResult([FileRecord(path, state, content, reason=reason)], None, 0)


def _started(environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    ours = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1", "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-m", "whence.index.worker"]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**environment, **ours}, cwd="/"
    )


def _run_batch(process: subprocess.Popen[bytes], batch: Batch) -> BatchResult:
    """What a worker makes of a batch. It answers with the number of each file as it comes to it, and then with the outcome."""
    into = cast("IO[bytes]", process.stdin)
    into.write(json.dumps(asdict(batch)).encode() + b"\n")
    into.flush()
    at, lines = -1, _Lines(process)
    while True:
        allowed = _allowed(batch, at)
        line = lines.next(allowed)
        if line is None:
            process.kill()
            raise WorkerDied(at, f"parsing it took longer than {allowed:.0f} s")
        if not line:
            raise _fallen(process, at)
        said = json.loads(line)
        if not isinstance(said, dict):
            at = int(said)
        elif "error" in said:
            raise StorageError(said["error"], hint="run it again; what was finished is kept")
        else:
            return result_from_json(said)


def _allowed(batch: Batch, at: int) -> float:
    if at < 0:
        return START_SECONDS
    if at >= len(batch.paths):
        return END_SECONDS
    try:
        size = os.lstat(f"{batch.root}/{batch.paths[at]}").st_size
    except OSError:
        size = 0
    return FILE_SECONDS + min(size, batch.max_file_bytes) * FILE_SECONDS_PER_BYTE


class _Lines:
    """The lines that a process writes, with a limit on the CPU time for each."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._pid = process.pid
        self._handle = cast("IO[bytes]", process.stdout).fileno()
        self._poll = select.poll()
        self._poll.register(self._handle, select.POLLIN | select.POLLHUP)
        self._kept = b""

    def next(self, seconds: float) -> bytes | None:
        """The next line; empty when there will be none, None when it does not come in time."""
        waited, began = 0.0, _cpu_seconds(self._pid)
        while b"\n" not in self._kept:
            if not self._poll.poll(STEP_SECONDS * 1_000):
                waited += STEP_SECONDS
                now = _cpu_seconds(self._pid)
                spent = waited if began is None or now is None else now - began
                if spent >= seconds or waited >= seconds * WAITING:
                    return None
                continue
            read = os.read(self._handle, _READ_BYTES)
            if not read:
                return b""
            self._kept += read
        line, _, self._kept = self._kept.partition(b"\n")
        return line


def _cpu_seconds(pid: int) -> float | None:
    """The CPU time that a process has used; None where the system does not say it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _fallen(process: subprocess.Popen[bytes], at: int) -> Exception:
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    code = process.returncode
    if code is None or code >= 0:
        return WorkerDied(at, "parsing it failed")
    if -code in _FROM_OUTSIDE:
        return StorageError("a parsing process was ended from outside", hint="run it again; what was finished is kept")
    return WorkerDied(at, f"parsing it crashed ({signal.Signals(-code).name})", by_kill=-code == signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):
            cast("IO[bytes]", stream).close()
    try:
        process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# Parsing in the calling process.
def run_batches_here(batches: list[Batch], marker: Path, environment: Mapping[str, str]) -> Iterator[Found]:
    """Parse batches in this process; in a worker if an earlier process crashed over them, or if a batch fails now."""
    if marker.exists():
        with WorkerPool(1, environment) as pool:
            yield from pool.run(batches)
        marker.unlink(missing_ok=True)
        return
    for batch in batches:
        try:
            with _marked(marker, batch.paths):
                found = [(run_batch(batch), batch)]
        except (OSError, WhenceError):
            raise  # no file's fault
        except Exception:  # noqa: BLE001  -- a worker finds out which file it is, and only that one is lost
            with WorkerPool(1, environment) as pool:
                found = list(pool.run([batch]))
        yield from found


@contextmanager
def _marked(marker: Path, paths: list[str]) -> Iterator[None]:
    """Write a marker while parsing; it stays behind only if the process crashes."""
    try:
        marker.write_bytes(json.dumps(paths).encode() + b"\n")
    except OSError as error:
        raise StorageError(f"cannot write to {marker.parent}: {error.strerror}") from error
    try:
        yield
    finally:
        marker.unlink(missing_ok=True)
