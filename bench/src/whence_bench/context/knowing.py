"""The command `knowing`, to run beside on the context benchmark (B7): npm pack @blackwell-systems/knowing-linux-x64."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from whence.core.errors import StorageError, UsageError
from whence_bench.measure import Spent, run

#: What its own benchmark asks for.
BUDGET = 5000


@dataclass(frozen=True, slots=True)
class Indexed:
    """CPU seconds of its two passes over a repository."""

    index: float
    resolver: float

    @property
    def cpu(self) -> float:
        """Of both."""
        return self.index + self.resolver


@dataclass(frozen=True, slots=True)
class Knowing:
    """The command, with a home of its own, so that it knows nothing from earlier runs."""

    executable: str
    home: Path

    def index(self, name: str, root: Path) -> Indexed:
        """Index a repository and resolve its references; the same url in both calls, or the second finds no files."""
        passes = [
            self._run(*words, "-db", str(self._database(name)), "-url", f"bench/{name}", str(root))
            for words in (("index", "-no-enrich"), ("enrich", "resolver"))
        ]
        return Indexed(*(spent.cpu for spent in passes))

    def context(self, name: str, task: str) -> tuple[list[str], Spent]:
        """The symbols for a task, best first, by a process of its own. Asked again, it would answer from its cache."""
        spent = self._run("context", "-db", str(self._database(name)), "-task", task, "-budget", str(BUDGET), "-format", "json")
        try:
            return [str(symbol["qualified_name"]) for symbol in json.loads(spent.out).get("symbols") or []], spent
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StorageError(f"knowing answered what cannot be read: {spent.out[:80]!r}") from error

    def _database(self, name: str) -> Path:
        return self.home / f"{name}.db"

    def _run(self, *arguments: str) -> Spent:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KNOWING_")}
        return run([self.executable, *arguments], env={**kept, "HOME": str(self.home)}, cwd=self.home)


def find_knowing(named: str, home: Path) -> Knowing:
    """The command at a path, or on the path of commands."""
    executable = shutil.which(named)
    if executable is None:
        raise UsageError(f"{named}: no such command", hint="npm pack @blackwell-systems/knowing-linux-x64, and give package/bin/knowing")
    return Knowing(str(Path(executable).absolute()), home)
