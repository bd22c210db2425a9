"""A small coverage-guided fuzzer: inputs that reach something new are kept, and changed further.

Python's own tracing tells which steps from line to line an input takes in the modules that are
tried. It costs more than most inputs, so that only a share of them is traced; whatever fails is
made smaller and told. All is drawn from one seed: the same run finds the same.
"""

from __future__ import annotations

import base64
import contextlib
import mmap
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

import whence
from whence.core.errors import WhenceError
from whence_bench.faults.fuzz_mutation import PAIRS, changed

Try = Callable[[bytes], None]
PACKAGE = Path(whence.__file__).parent
#: Seconds of the processor's time after which an input hangs.
HANGS = 1.0
#: The same for an input of `GROWN` bytes; and how much longer twice the input may take, where it takes any time to speak of.
GROWN, GROWN_HANGS = 100_000, 5.0
MOST_GROWTH, WORTH_MEASURING = 8.0, 0.2
#: Tries that are spent on making an input that fails smaller, and the processor's seconds.
SHRINKING, SHRINKING_SECONDS = 400, 10.0
#: Failures of one target after which it is left alone.
ENOUGH = 10
#: The share of inputs that grow out of those that were kept last.
LATEST = 0.5
#: Most inputs are short, for these are quick; one in so many may be as long as the target allows.
SHORT, LONG_ONE_IN = 200, 24
#: At the beginning one execution in so many is traced; later, when little new is to be seen, one in so many more.
TRACED_FIRST, FIRST, TRACED_LATER = 4, 3_000, 24
#: How much longer an input may take while it is traced.
SLOWED = 5.0
#: Room for the input that is being tried.
_HEAD, MOST_SHOWN = 12, 1 << 18


@dataclass(frozen=True, slots=True)
class Target:
    """Something that reads what others wrote: it may refuse an input with a WhenceError, and do nothing else but return."""

    name: str
    make: Callable[[Path], Try]  # given a folder of its own
    modules: tuple[str, ...]  # whose lines are counted, below the package
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = ()
    full: int = 100_000  # executions of a whole run
    small: int = 1_000
    longest: int = 4_096
    grows: bool = True  # whether it is tried with long inputs
    cost: float = 1.0  # how long an execution takes, beside others


@dataclass(slots=True)
class Found:
    """What trying a target gave."""

    executions: int = 0
    traced: int = 0
    edges: int = 0
    kept: int = 0
    long_ones: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


class Overrun(BaseException):
    """An input takes too long. No handler of errors may swallow it."""


class Current:
    """The input that is being tried, where another process can see it when this one dies."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        if new:
            path.write_bytes(bytes(_HEAD + MOST_SHOWN))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    def set(self, number: int, data: bytes) -> None:
        """Say which input is next."""
        shown = data[:MOST_SHOWN]
        self._map[: _HEAD + len(shown)] = number.to_bytes(8, "little") + len(shown).to_bytes(4, "little") + shown

    @property
    def number(self) -> int:
        """How many inputs were tried."""
        return int.from_bytes(self._map[:8], "little")

    @property
    def data(self) -> bytes:
        """The input."""
        return self._map[_HEAD : _HEAD + int.from_bytes(self._map[8:_HEAD], "little")]


class Coverage:
    """The steps from line to line that were seen in some modules."""

    def __init__(self, modules: Sequence[str]) -> None:
        places = [PACKAGE / name for name in modules]
        files = [file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])]
        if missing := [name for name, place in zip(modules, places, strict=True) if not place.exists()]:
            raise FileNotFoundError(f"no module {missing[0]} in the package")
        self._files = frozenset(map(str, files))
        self._numbers: dict[CodeType, int] = {}
        self.edges: set[int] = set()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Count what is done meanwhile, in this thread."""
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)

    def _called(self, frame: FrameType, _: str, __: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files:
            return None
        place = self._numbers.setdefault(code, len(self._numbers)) << 24
        add, last = self.edges.add, 0

        def stepped(inner: FrameType, event: str, _: Any) -> Any:
            nonlocal last
            if event == "line":
                line = inner.f_lineno - code.co_firstlineno & 0xFFF
                add(place | last << 12 | line)
                last = line
            return stepped

        return stepped


class Engine:
    """Tries one target."""

    def __init__(self, target: Target, tried: Try, seed: int, current: Current) -> None:
        self.target, self._try, self._current = target, tried, current
        self._random = Random(f"{seed}/{target.name}")
        self._coverage = Coverage(target.modules)
        self._kept: list[bytes] = []
        self._seen: set[str] = set()
        self.found = Found()

    def run(self, executions: int, seconds: float, long_ones: int) -> Found:
        """Try so many inputs, or as many as can be in some seconds; some of them long."""
        begun = time.monotonic()
        with _timed():
            for seed in (b"", *self.target.seeds):
                self._traced(seed)
            longer = self._long_inputs() if self.target.grows else iter(())
            while self.found.executions < executions and len(self._seen) < ENOUGH:
                if self.found.executions % 64 == 0 and time.monotonic() - begun > seconds:
                    break
                data = self._next()
                if self.found.executions % (TRACED_FIRST if self.found.executions < FIRST else TRACED_LATER) == 0:
                    self._traced(data)
                else:
                    self._once(data)
                if self.found.executions * long_ones >= (self.found.long_ones + 1) * executions:
                    next(longer, None)
        self.found.edges, self.found.kept = len(self._coverage.edges), len(self._kept)
        self.found.seconds = round(time.monotonic() - begun, 1)
        return self.found

    def _next(self) -> bytes:
        random, kept = self._random, self._kept
        first = max(len(kept) - 20, 0) if random.random() < LATEST else 0
        data = kept[first + int(random.random() * (len(kept) - first))] if kept else b""
        longest = self.target.longest if random.randrange(LONG_ONE_IN) == 0 else min(SHORT, self.target.longest)
        return changed(data, random, self.target.words, kept, longest)

    def _traced(self, data: bytes) -> None:
        """Try an input and keep it where it reaches something new."""
        before = len(self._coverage.edges)
        with self._coverage.watching():
            self._once(data, SLOWED)
        self.found.traced += 1
        if len(self._coverage.edges) > before and len(data) <= self.target.longest:
            self._kept.append(data)

    def _once(self, data: bytes, slowed: float = 1.0) -> None:
        self.found.executions += 1
        self._current.set(self.found.executions, data)
        if fault_of(self._try, data, HANGS * slowed) is not None:
            self._tell(data)

    def _tell(self, data: bytes) -> None:
        """Note a failure, once for each place that fails, with the least input that does."""
        sys.settrace(None)
        fault_of(self._try, data, HANGS * SLOWED)  # what is loaded with the first input of a kind is not counted
        again = fault_of(self._try, data, HANGS)
        if again is None or _place(again) in self._seen:
            return  # slow because it was watched, or known
        self._seen.add(_place(again))
        least = shrunk(data, lambda smaller: _place(fault_of(self._try, smaller, HANGS) or "") == _place(again))
        self.found.wrong.append(f"{self.target.name}: {again}; input (base64): {base64.b64encode(least).decode()}")

    def _long_inputs(self) -> Iterator[None]:
        """Long inputs, one after the other: of each kind one of half the length first."""
        units = [*self.target.words, *self.target.seeds]
        self._random.shuffle(units)
        shapes: list[Callable[[bytes, int], bytes]] = [
            lambda unit, size: (unit * (size // max(len(unit), 1) + 1))[:size],
            lambda unit, size: b"a" * (size - len(unit)) + unit,
            lambda unit, size: ((unit + b"\n") * (size // (len(unit) + 1) + 1))[:size],
            lambda unit, size: unit + (b" " + unit[:8]) * ((size - len(unit)) // (len(unit[:8]) + 1)),
        ]
        shapes += [_nested(*pair) for pair in PAIRS]
        pairs = [(unit, shape) for shape in shapes for unit in units]
        self._random.shuffle(pairs)
        for unit, shape in pairs:
            self._grow(shape(unit, GROWN // 2), shape(unit, GROWN))
            yield

    def _grow(self, half: bytes, whole: bytes) -> None:
        """Whether an input of twice the length takes far more than twice as long."""
        self._current.set(self.found.executions, whole)
        self.found.executions += 2
        self.found.long_ones += 1
        fault = fault_of(self._try, whole, GROWN_HANGS)
        if fault is not None:
            self._tell_long(fault, whole)
            return
        spent = _seconds_of(self._try, whole)
        if spent > WORTH_MEASURING and spent > MOST_GROWTH * max(_seconds_of(self._try, half), 1e-3):
            self._tell_long(f"{spent:.2f} s for {len(whole)} bytes, more than {MOST_GROWTH} times as long as for half of them", whole)

    def _tell_long(self, fault: str, data: bytes) -> None:
        if _place(fault) not in self._seen:
            self._seen.add(_place(fault))
            shown = base64.b64encode(data[:96]).decode()
            self.found.wrong.append(f"{self.target.name}: {fault}; {len(data)} bytes that begin with (base64): {shown}")


def _nested(opening: bytes, closing: bytes) -> Callable[[bytes, int], bytes]:
    def shape(unit: bytes, size: int) -> bytes:
        times = (size - len(unit)) // 2
        return opening * times + unit + closing * times

    return shape


def fault_of(tried: Try, data: bytes, seconds: float) -> str | None:
    """What went wrong with an input, with its place in the package; None where nothing did."""
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            tried(data)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except WhenceError:
        return None
    except Overrun as error:
        return f"hangs at {_inside(error)}"
    except (Exception, SystemExit) as error:  # noqa: BLE001  -- whatever is raised, that it is raised is the failure
        return f"{type(error).__name__} at {_inside(error)}: {' '.join(str(error).split())[:160]}"
    return None


def _inside(error: BaseException) -> str:
    """The innermost place of the package that an error came through, this bench aside."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if one.filename.startswith(str(PACKAGE)) and "faults" not in Path(one.filename).parts]
    last = (own or list(frames))[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def _place(fault: str) -> str:
    """What of a failure tells it from others."""
    return fault.partition(": ")[0] if " at " in fault else "grows" if " s for " in fault else fault


def _seconds_of(tried: Try, data: bytes) -> float:
    begun = time.thread_time()
    fault_of(tried, data, GROWN_HANGS)
    return time.thread_time() - begun


def shrunk(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """The least input that still fails, as far as it is found by taking pieces out."""
    tries, size, until = 0, len(data) // 2, time.process_time() + SHRINKING_SECONDS
    while size and tries < SHRINKING:
        at = 0
        while at < len(data) and tries < SHRINKING and time.process_time() < until:
            smaller = data[:at] + data[at + size :]
            tries += 1
            if fails(smaller):
                data = smaller
            else:
                at += size
        size //= 2
    return data


@contextlib.contextmanager
def _timed() -> Iterator[None]:
    """Have inputs that take too long ended: measured in the processor's time, for the machine may have others to serve."""

    def over(*_: object) -> None:
        raise Overrun

    before = signal.signal(signal.SIGPROF, over)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
