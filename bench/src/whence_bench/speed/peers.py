"""Other tools to run beside, where they are installed (B7)."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.core.errors import UsageError, WhenceError
from whence_bench.measure import Spent, run

#: Run by the Python that semble is installed in: a build without a cache, then queries in the same process.
#: Loading the model is no part of a build: what a folder with one small file takes is subtracted, and so are the imports.
_IN_PROCESS = """
import json, pathlib, resource, sys, tempfile, time
from semble import SembleIndex
asked = json.loads(sys.argv[1])
def cpu():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
def build(folder):
    began = cpu()
    index = SembleIndex.from_path(folder)
    return index, cpu() - began
with tempfile.TemporaryDirectory() as small:
    (pathlib.Path(small) / "one.py").write_text("def one():\\n    return 1\\n")
    build(small)
    floor = build(small)[1]
index, took = build(asked["tree"])
for query in asked["queries"][:5]:
    index.search(query, top_k=10)
times = []
for query in asked["queries"] * asked["rounds"]:
    began = time.process_time()
    index.search(query, top_k=10)
    times.append(time.process_time() - began)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"build_cpu": took - floor, "cpu": times, "peak": peak, "chunks": len(index.chunks)}))
"""


@dataclass(frozen=True, slots=True)
class Semble:
    """The command `semble`, with an index folder of its own."""

    executable: str
    cache: Path

    @property
    def environment(self) -> dict[str, str]:
        """The caller's environment, so that the model it names is used."""
        return {**os.environ, "SEMBLE_CACHE_LOCATION": str(self.cache)}

    def search(self, query: str, tree: Path) -> Spent:
        """One search in a new process; the first one of a tree builds its index."""
        return run([self.executable, "search", query, str(tree), "-k", "10", "--format", "text"], env=self.environment, cwd=tree)

    def in_process(self, tree: Path, queries: list[str], rounds: int) -> dict[str, Any]:
        """A build and then queries in one process."""
        asked = json.dumps({"tree": str(tree), "queries": queries, "rounds": rounds})
        fresh = {**self.environment, "SEMBLE_CACHE_LOCATION": str(self.cache / "fresh")}
        spent = run([interpreter_of(self.executable), "-c", _IN_PROCESS, asked], env=fresh, cwd=tree)
        found: dict[str, Any] = json.loads(spent.out.strip().splitlines()[-1])
        return found


@dataclass(frozen=True, slots=True)
class Ripgrep:
    """The command `rg`: what reading the whole tree costs."""

    executable: str

    def search(self, query: str, tree: Path) -> Spent:
        """The files that hold any word of a query. Nothing found is an answer too."""
        words = [argument for word in query.split() for argument in ("-e", word)]
        return run(
            [self.executable, "--ignore-case", "--fixed-strings", "--files-with-matches", *words, str(tree)], cwd=tree, allowed=(0, 1)
        )


def interpreter_of(executable: str) -> str:
    """The Python that an installed command runs in, from its first line."""
    with open(executable, "rb") as file:
        first = file.readline(4096).decode("utf-8", "replace").strip()
    if not first.startswith("#!") or "python" not in first:
        raise UsageError(f"{executable}: not a Python command, so it cannot be measured in a running process")
    return first[2:].split()[-1] if "/env " not in first else shutil.which(first.split()[-1]) or "python3"


def find_semble(named: str | None, cache: Path, tree: Path, notes: list[str]) -> Semble | None:
    """Semble, if it is installed and can search at all; a note says what is amiss."""
    executable = shutil.which(named or "semble")
    if executable is None:
        if named:
            raise UsageError(f"{named}: no such command")
        notes.append("semble is not installed: no peer for it")
        return None
    semble = Semble(executable, cache)
    try:
        semble.search("first", tree)
    except WhenceError as error:
        notes.append(f"semble cannot run: {error.message}")
        return None
    return semble


def find_ripgrep(notes: list[str]) -> Ripgrep | None:
    """Ripgrep, if it is installed."""
    executable = shutil.which("rg")
    if executable is None:
        notes.append("rg is not installed: no peer for it")
        return None
    return Ripgrep(executable)
