"""The ground on which hostile trees stand: a root, a secret outside of it, and commands whose every output is looked through."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

#: Seconds and megabytes that no command may need on these trees, on a slow machine that others use as well.
MOST_SECONDS = 60.0
MOST_MEGABYTES = 1_500.0
#: What a terminal obeys instead of showing.
_CONTROLS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
_STEP = 0.005


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


class Clerk:
    """A process that runs command lines one after another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def told(self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], seconds: float) -> tuple[float, float, Said]:
        """Have a command run: the seconds it took, the megabytes of the process, and how it ended."""
        started = time.monotonic()
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-m", "whence_bench.faults.trees_clerk"]
            ours = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
            self._process = subprocess.Popen(command, env=os.environ | ours, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        into, out = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        watch = threading.Timer(seconds, self._process.kill)
        watch.start()
        try:
            into.write(json.dumps([arguments, str(cwd), dict(environment)]).encode() + b"\n")
            into.flush()
            answer = out.readline()
        finally:
            watch.cancel()
        spent = time.monotonic() - started
        if not answer:
            return spent, 0.0, Said(self._process.wait(), "", "")
        found = json.loads(answer)
        return spent, found["megabytes"], Said(found["code"], found["out"], found["err"])

    def close(self) -> None:
        """Let the process go."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


@dataclass(slots=True)
class Ground:
    """One hostile tree, what was tried on it and what was wrong."""

    name: str
    folder: Path
    seed: int
    small: bool
    clerk: Clerk | None = None  # who runs the commands; else each has a process of its own
    tried: int = 0
    wrong: list[str] = field(default_factory=list)
    peak: float = 0.0  # megabytes of the largest command
    slowest: float = 0.0

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True)
        self.outside.mkdir()
        (self.outside / "plan.py").write_text(f"def {self.canary}():\n    return '{self.secret}'\n")

    @property
    def root(self) -> Path:
        """The tree that is indexed; beside it is one whose name begins alike."""
        return self.folder / "root"

    @property
    def outside(self) -> Path:
        """A folder that must not be read: its name begins with that of the root."""
        return self.folder / "root-evil"

    @property
    def canary(self) -> str:
        """A name that is nowhere but outside; it may be asked for."""
        return f"zanzibarquokka{self.seed}"

    @property
    def secret(self) -> str:
        """A word beside it that nobody asks for."""
        return f"numbatpangolin{self.seed}"

    @property
    def random(self) -> random.Random:
        """Chance, the same for each run with a seed."""
        return random.Random(f"{self.name} {self.seed}")

    def write(self, path: str, text: str | bytes) -> Path:
        """Write one file of the root."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    def check(self, holds: object, otherwise: str) -> None:
        """Count one thing that was looked at, and note it where it is not as it should be."""
        self.tried += 1
        if not holds:
            self.wrong.append(f"{self.name} (seed {self.seed}): {otherwise[:300]}")

    def run(self, *arguments: str, environment: Mapping[str, str] | None = None, seconds: float = MOST_SECONDS) -> Said:
        """Run the command line in the root; whatever it is asked, some things must never happen."""
        label = f"whence {' '.join(arguments)}"[:80]
        if self.clerk is not None and environment is None:
            spent, megabytes, said = self.clerk.told(arguments, self.root, self._ours, seconds)
        else:
            spent, megabytes, said = self.run_apart(*arguments, environment=environment, seconds=seconds)
        self.peak, self.slowest = max(self.peak, megabytes), max(self.slowest, spent)
        self.check(said.code != -signal.SIGKILL, f"{label} did not end within {seconds:.0f} s")
        self.check(said.code in (0, 1, 2, -signal.SIGKILL), f"{label} ended with {said.code}: {said.err[-200:]!r}")
        self.check("Traceback" not in said.err + said.out, f"{label} gave a traceback: {said.err[-200:]!r}")
        self.check(megabytes < MOST_MEGABYTES, f"{label} took {megabytes:.0f} MB")
        both = (said.out + said.err).encode("utf-8", "surrogateescape")
        self.check(not _CONTROLS.search(both), f"{label} wrote control characters: {_CONTROLS.findall(both)[:5]}")
        self.check(self.secret.encode() not in both, f"{label} showed what is outside the root")
        return said

    def close(self) -> None:
        """Remove the tree."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def run_apart(
        self, *arguments: str, environment: Mapping[str, str] | None = None, seconds: float = MOST_SECONDS
    ) -> tuple[float, float, Said]:
        """Run the command line in a process of its own, which may fall: the seconds and megabytes it took, and how it ended."""
        command = [sys.executable, "-m", "whence", *arguments]
        out, err = self.folder / "stdout", self.folder / "stderr"
        started = time.monotonic()
        with out.open("wb") as one, err.open("wb") as two:
            process = subprocess.Popen(
                command, cwd=self.root, env=self.environment | dict(environment or {}), stdin=subprocess.DEVNULL, stdout=one, stderr=two
            )
            while True:
                ended, status, used = os.wait4(process.pid, os.WNOHANG)
                if ended:
                    break
                if time.monotonic() - started > seconds:
                    process.kill()
                time.sleep(_STEP)
            process.returncode = os.waitstatus_to_exitcode(status)
        texts = [file.read_bytes().decode("utf-8", "surrogateescape") for file in (out, err)]
        return time.monotonic() - started, used.ru_maxrss / 1_000, Said(process.returncode, texts[0], texts[1])

    @property
    def data(self) -> Path:
        """Where the index of this tree is kept."""
        return self.folder / "data"

    @property
    def _ours(self) -> dict[str, str]:
        return {"WHENCE_DATA_DIR": str(self.data), "XDG_CONFIG_HOME": str(self.folder / "config")}

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the commands: nothing of the user's is touched."""
        path = os.pathsep.join(entry for entry in sys.path if entry)
        return {**os.environ, **self._ours, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}

    def check_nothing_leaked(self) -> None:
        """Look for the secret in every byte that is kept of this tree."""
        for file in sorted(self.data.rglob("*")):
            if file.is_file():
                self.check(self.secret.encode() not in file.read_bytes(), f"{file.relative_to(self.data)} holds what is outside the root")
