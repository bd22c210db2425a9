"""`whence bench agents`: what an agent pays: tokens to the wanted file, CPU of a tool call, the wait for a first answer, an idle server.

Everything is asked of the real server over real standard streams, with the SDK's own client.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from whence.app.index import Index
from whence.search import metrics
from whence.text.token_estimate import count_tokens
from whence_bench import report
from whence_bench.agents.grep_and_read import Grep
from whence_bench.agents.server import Served
from whence_bench.report import NOTHING
from whence_bench.search.corpus import Corpus, Repository, Task
from whence_bench.search.run import default_settings

Progress = Callable[[int, int], None]
#: Files that an agent is shown, and those it asks for when what it wants is not among them.
FIRST, MORE, MORE_BUDGET = 8, 40, 4_000
#: Files of the tree that was never indexed.
NEW_FILES = 5_000
#: An index is closed after 15 seconds without a question.
IDLE_SECONDS = 20.0
#: What is said of each figure, how it is written, and what it may be at most.
LINES: Sequence[tuple[str, str, str, float | None]] = (
    ("tokens to the wanted file, of reading all files that match", "of_all_matching", ".4f", 0.02),
    ("the same, median of the questions", "of_all_matching_p50", ".4f", 0.02),
    ("of reading until it is found, files with most words first", "of_reading_until", ".4f", None),
    ("tokens of a question, median", "tokens_p50", ".0f", None),
    ("CPU of a call beyond its search, p50, ms", "call_ms_beyond_search_p50", ".1f", 25.0),
    ("the same, p95", "call_ms_beyond_search_p95", ".1f", None),
    ("the search itself, p50, ms", "search_ms_p50", ".1f", None),
    ("idle server, RSS, the largest, MB", "idle_rss_mb", ".0f", 120.0),
    ("idle server, share of a core", "idle_cpu_share", ".5f", 0.002),
    ("new tree, files", "new_files", "d", None),
    ("new tree, first answer, s", "new_first_seconds", ".1f", 5.0),
    ("new tree, files named in it", "new_first_found", "d", None),
    ("new tree, whole answer, s", "new_whole_seconds", ".1f", None),
)
_PLACE = re.compile(r"^\d+\. (?P<path>.+?):\d+-\d+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reached:
    """What one question cost until a wanted file was in sight."""

    repository: str
    category: str
    tokens: int
    calls: int  # 3: not found by two calls, so grep was used
    grep_tokens: int  # until the wanted file was read, files with most words first
    grep_all_tokens: int  # of all files that match
    call_ms: float  # CPU of the server for the first call
    search_ms: float  # CPU of the same search in this process


@dataclass(frozen=True, slots=True)
class Idle:
    """A server that was used and is not asked any more."""

    rss_mb: float
    cpu_share: float


@dataclass(frozen=True, slots=True)
class Fresh:
    """A first call on a tree that was never indexed."""

    files: int
    first_seconds: float
    first_found: int  # files named in the first answer
    whole_seconds: float
    whole_found: int


@dataclass(frozen=True, slots=True)
class Run:
    """All of it."""

    reached: list[Reached]
    idle: list[Idle]
    fresh: Fresh


def run(corpus: Corpus, index_dir: Path | None, progress: Progress, *, idle_seconds: float = IDLE_SECONDS) -> Run:
    """Measure everything there is to measure."""
    reached: list[Reached] = []
    idle: list[Idle] = []
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        place = index_dir or Path(temporary)
        for done, repository in enumerate(corpus.repositories):
            progress(done, len(corpus.repositories) + 1)
            found, rest = anyio.run(_repository, repository, place, idle_seconds)
            reached += found
            idle.append(rest)
        fresh = anyio.run(_first_call, corpus, Path(temporary))
    progress(1, 1)
    return Run(reached, idle, fresh)


async def _repository(repository: Repository, place: Path, idle_seconds: float) -> tuple[list[Reached], Idle]:
    with Index.open(repository.root, data_dir=place, settings=default_settings()) as index:
        grep = Grep(index)
        async with Served(repository.root, place) as server:
            await server.text("search", query="warm up the server")
            index.search("warm up the process", k=FIRST)
            found = [await _reached(repository, task, index, grep, server) for task in repository.tasks]
            await anyio.sleep(idle_seconds)  # to put things away takes some CPU, once
            before, rested = server.cpu_seconds(), idle_seconds / 4
            await anyio.sleep(rested)
            return found, Idle(server.rss_mb(), (server.cpu_seconds() - before) / rested)


async def _reached(repository: Repository, task: Task, index: Index, grep: Grep, server: Served) -> Reached:
    began = time.process_time()
    index.search(task.query, k=FIRST)
    search_ms = (time.process_time() - began) * 1e3
    before = server.cpu_seconds()
    text = await server.text("search", query=task.query, k=FIRST)
    call_ms = (server.cpu_seconds() - before) * 1e3
    tokens, calls = count_tokens(text), 1
    grep_tokens, grep_all = grep.cost(task.query, task.wanted)
    if not _is_there(text, task):
        text = await server.text("search", query=task.query, k=MORE, budget=MORE_BUDGET)
        tokens, calls = tokens + count_tokens(text), 2
    if not _is_there(text, task):
        tokens, calls = tokens + grep_tokens, 3
    return Reached(repository.name, task.category, tokens, calls, grep_tokens, grep_all, call_ms, search_ms)


def _is_there(text: str, task: Task) -> bool:
    shown = [found["path"] for found in _PLACE.finditer(text)]
    return any(metrics.rank_of(wanted, shown) is not None for wanted in task.wanted)


async def _first_call(corpus: Corpus, temporary: Path) -> Fresh:
    """Ask about a tree that nobody has indexed, until the answer is whole."""
    root, tasks = temporary / "new", [task for repository in corpus.repositories for task in repository.tasks]
    files = _laid_out(corpus, root)
    question = tasks[0].query
    async with Served(root, temporary / "new-data") as server:
        began = time.perf_counter()
        first = await server.text("search", query=question)
        first_seconds = time.perf_counter() - began
        text = first
        while "INDEXING" in text:
            await anyio.sleep(0.5)
            text = await server.text("search", query=question)
        whole_seconds = time.perf_counter() - began
    return Fresh(files, first_seconds, len(_named(first)), whole_seconds, len(_named(text)))


def _named(text: str) -> list[str]:
    return [*_PLACE.findall(text), *re.findall(r"^- (\S+):\d+ holds", text, re.MULTILINE)]


def _laid_out(corpus: Corpus, root: Path) -> int:
    """A tree of files of all repositories of the corpus, each repository in a folder, by turns until there are enough."""
    waiting = [(repository, _sources(repository.root)) for repository in corpus.repositories]
    copied = 0
    while waiting and copied < NEW_FILES:
        for turn in list(waiting):
            repository, sources = turn
            path = next(sources, None)
            if path is None:
                waiting.remove(turn)
                continue
            target = root / repository.name / path.relative_to(repository.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            copied += 1
    return copied


def _sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not Path(folder, name).is_symlink())


# What is said of it.
def figures(run: Run) -> dict[str, Any]:
    """Every figure with its bar."""
    reached = run.reached
    beyond = [one.call_ms - one.search_ms for one in reached]
    return {
        "queries": len(reached),
        "tokens": sum(one.tokens for one in reached),
        "tokens_p50": statistics.median(one.tokens for one in reached),
        "of_all_matching": sum(one.tokens for one in reached) / sum(one.grep_all_tokens for one in reached),
        "of_all_matching_p50": statistics.median(one.tokens / one.grep_all_tokens for one in reached),
        "of_reading_until": sum(one.tokens for one in reached) / sum(one.grep_tokens for one in reached),
        "of_reading_until_p50": statistics.median(one.tokens / one.grep_tokens for one in reached),
        "calls": {str(number): sum(one.calls == number for one in reached) for number in (1, 2, 3)},
        "call_ms_beyond_search_p50": metrics.percentile(beyond, 0.5),
        "call_ms_beyond_search_p95": metrics.percentile(beyond, 0.95),
        "search_ms_p50": metrics.percentile([one.search_ms for one in reached], 0.5),
        "idle_rss_mb": max(one.rss_mb for one in run.idle),
        "idle_cpu_share": max(one.cpu_share for one in run.idle),
        **{f"new_{name}": value for name, value in asdict(run.fresh).items()},
    }


def as_text(run: Run) -> str:
    """A table of figures with their bars."""
    found = figures(run)
    rows = [
        (what, f"{found[name]:{form}}", NOTHING if bar is None else f"{bar:g}", report.verdict(None if bar is None else found[name] <= bar))
        for what, name, form, bar in LINES
    ]
    rows.insert(4, ("found by one call / two / neither", " / ".join(str(number) for number in found["calls"].values()), NOTHING, NOTHING))
    return report.table(("what", "measured", "bar: at most", ""), rows)


def as_json(run: Run, corpus: Corpus) -> dict[str, Any]:
    """Everything that was measured."""
    answers = [asdict(one) for one in run.reached]
    return {
        "benchmark": "agents",
        **figures(run),
        "answers": answers,
        "idle": [asdict(one) for one in run.idle],
        "missing": list(corpus.missing),
    }
