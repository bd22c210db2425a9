"""Whether a pattern alone finds what ripgrep finds in the indexed files, and at what cost.

Patterns are drawn from the largest trees by a fixed seed. Answers are compared line by line; CPU is that of a whole process
of each. Patterns that make a backtracking engine hang are tried on the largest tree.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from whence.app.index import Index
from whence.core.errors import QueryError, StorageError
from whence.search.request import SearchRequest
from whence_bench import measure, report
from whence_bench.search.corpus import Corpus, Repository
from whence_bench.search.run import default_settings

Progress = Callable[[int, int], None]
#: Trees, patterns of all of them, and how many patterns of each tree are timed.
TREES, PATTERNS, TIMED = 3, 200, 8
#: CPU of a search, in searches with ripgrep and one start of a process; seconds that no pattern may exceed.
TIMES, MAX_SECONDS = 3, 2.0
_CORES = ["a+", "a|a", "a|aa", ".*a", "a?", "x+x+", r"\w+\s?", "a*", "[a-z]+", ".+", r"\s?\w?", ".{0,30}[a-m]", "[^,]*,?"]
_ENDS = [("+", "$"), ("*", "[qQ]"), ("{25}", "[qQ]$"), ("{1,90}", r"\d!")]
CATASTROPHES = [f"(?:{core}){repeat}{end}" for core in _CORES for repeat, end in _ENDS][:50]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A pattern with its options, as both programs take them."""

    kind: str
    pattern: str
    flags: tuple[str, ...] = ()

    @property
    def request(self) -> SearchRequest:
        """The same for Python."""
        return SearchRequest(pattern=self.pattern, fixed="-F" in self.flags, word="-w" in self.flags, ignore_case="-i" in self.flags)


@dataclass(frozen=True, slots=True)
class TreeFigures:
    """What came of one tree: patterns, those with another answer, and CPU seconds of the timed ones."""

    name: str
    files: int
    drawn: int
    different: list[str]
    whence: float
    ripgrep: float


@dataclass(frozen=True, slots=True)
class PatternFigures:
    """All figures."""

    trees: list[TreeFigures]
    start: float  # CPU seconds of `whence --version`
    slowest: tuple[str, float] = ("", 0.0)  # of the catastrophic patterns
    tried: int = 0
    timed: int = TIMED
    missing: list[str] = field(default_factory=list)


def draw(texts: Sequence[str], random: Random, count: int) -> list[Drawn]:
    """Patterns of all kinds, made of what occurs in some texts."""
    found: dict[Drawn, None] = {}
    makers = [_literal, _word, _alternatives, _classes, _anchors, _ignoring_case, _whole_word, _fixed]
    while len(found) < count:
        made = makers[len(found) % len(makers)](texts, random)
        if made is not None:
            found.setdefault(made)
    return list(found)


def _name(texts: Sequence[str], random: Random) -> str:
    return str(random.choice(re.findall(r"\w+", random.choice(texts)) or ["name"]))


def _line(texts: Sequence[str], random: Random) -> str:
    return random.choice([line.strip() for line in random.choice(texts).split("\n") if len(line.strip()) > 8] or ["some line"])


def _literal(texts: Sequence[str], random: Random) -> Drawn:
    line = _line(texts, random)
    at = random.randrange(max(len(line) - 12, 1))
    return Drawn("literal", re.escape(line[at : at + random.randint(5, 24)]).replace(r"\ ", " "))


def _word(texts: Sequence[str], random: Random) -> Drawn:
    return Drawn("word", _name(texts, random))


def _alternatives(texts: Sequence[str], random: Random) -> Drawn:
    return Drawn("alternation", "|".join(_name(texts, random) for _ in range(random.randint(2, 4))))


def _classes(texts: Sequence[str], random: Random) -> Drawn:
    name = _name(texts, random)
    shape = random.choice([r"{}\w*\(", r"[a-z]+_{}", r"{}\s*[=:]", r"{}[0-9]+", r"\d+.*{}", r"{}.{{0,20}}{}"])
    return Drawn("class", shape.format(name, _name(texts, random)))


def _anchors(texts: Sequence[str], random: Random) -> Drawn:
    name = _name(texts, random)
    return Drawn("anchor", random.choice([rf"^\s*{name}", rf"{name}.?$", rf"^{name}\b", r"^\W*$"]))


def _ignoring_case(texts: Sequence[str], random: Random) -> Drawn:
    return Drawn("ignore case", _name(texts, random).swapcase(), ("-i",))


def _whole_word(texts: Sequence[str], random: Random) -> Drawn:
    return Drawn("whole word", _name(texts, random), ("-w",))


def _fixed(texts: Sequence[str], random: Random) -> Drawn:
    line = _line(texts, random)
    at = random.randrange(max(len(line) - 10, 1))
    return Drawn("fixed", line[at : at + random.randint(3, 20)], ("-F",))


def run(corpus: Corpus, index_dir: Path | None, progress: Progress) -> PatternFigures:
    """Compare and time patterns on the largest trees."""
    ripgrep = shutil.which("rg")
    if ripgrep is None:
        raise StorageError("ripgrep is not installed", hint="patterns are compared with it: install rg")
    largest = sorted(corpus.repositories, key=lambda one: -_size(one.root))[:TREES]
    trees: list[TreeFigures] = []
    start = min(measure.run([sys.executable, "-m", "whence", "--version"]).cpu for _ in range(3))
    slowest = ("", 0.0)
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        data = index_dir or Path(temporary)
        for done, repository in enumerate(largest):
            progress(done, len(largest))
            with Index.open(repository.root, data_dir=data, settings=default_settings()) as index:
                share = PATTERNS // len(largest) + (done < PATTERNS % len(largest))
                trees.append(_compare(index, repository, ripgrep, share, data))
                if not done:
                    slowest = max(((pattern, _seconds(index, pattern)) for pattern in CATASTROPHES), key=lambda pair: pair[1])
    progress(len(largest), len(largest))
    return PatternFigures(trees, start, slowest, len(CATASTROPHES), missing=list(corpus.missing))


def _size(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def _compare(index: Index, repository: Repository, ripgrep: str, count: int, data: Path) -> TreeFigures:
    texts = [text for path in sorted(index.snapshot.paths) if (text := index.read_text(path))]
    drawn = draw(texts, Random(f"patterns {repository.name}"), count)
    indexed, different = set(index.snapshot.paths), []
    for one in drawn:
        ours = {(result.path, line) for result in index.search(one.request) for line in result.matching_lines}
        theirs = _ripgrep_lines(ripgrep, one, repository.root)
        if ours != {place for place in theirs if place[0] in indexed}:
            different.append(f"{' '.join(one.flags)} {one.pattern!r}".strip())
    environment = {**os.environ, "WHENCE_DATA_DIR": str(data)}
    ours_cpu = theirs_cpu = 0.0
    for one in drawn[:TIMED]:
        arguments = ["-n", *one.flags, "-e", one.pattern]
        command = [sys.executable, "-m", "whence", "search", *arguments, str(repository.root)]
        ours_cpu += min(measure.run(command, env=environment, allowed=(0, 1)).cpu for _ in range(2))
        theirs_cpu += min(measure.run([ripgrep, *arguments, str(repository.root)], allowed=(0, 1)).cpu for _ in range(2))
    return TreeFigures(repository.name, len(indexed), len(drawn), different, ours_cpu, theirs_cpu)


def _ripgrep_lines(ripgrep: str, one: Drawn, root: Path) -> set[tuple[str, int]]:
    command = [ripgrep, "--no-config", "--no-ignore", "--hidden", "--no-heading", "-n", "-0", *one.flags, "-e", one.pattern, "."]
    found = measure.run(command, cwd=root, allowed=(0, 1)).out
    places = (line.partition("\0") for line in found.split("\n") if "\0" in line)
    return {(path.removeprefix("./"), int(rest.partition(":")[0])) for path, _, rest in places}


def _seconds(index: Index, pattern: str) -> float:
    began = time.process_time()
    with suppress(QueryError):
        index.search(pattern=pattern)
    return time.process_time() - began


def as_text(found: PatternFigures) -> str:
    """A table by tree, and the verdicts."""
    header = ("tree", "files", "patterns", "equal", "whence ms", "ripgrep ms", "bar ms", "bar")
    rows = []
    for one in found.trees:
        ours, theirs = 1e3 * one.whence / found.timed, 1e3 * one.ripgrep / found.timed
        bar = TIMES * theirs + 1e3 * found.start
        rows.append((one.name, one.files, one.drawn, one.drawn - len(one.different), ours, theirs, bar, report.verdict(ours <= bar)))
    drawn, different = sum(one.drawn for one in found.trees), sum(len(one.different) for one in found.trees)
    pattern, seconds = found.slowest
    return "\n\n".join(
        [
            report.table(header, rows),
            f"{drawn - different} of {drawn} patterns find what ripgrep finds {report.verdict(not different)}",
            f"CPU of a process per pattern; {1e3 * found.start:.0f} ms to start one (whence --version)",
            f"{found.tried} catastrophic patterns, the slowest {pattern}: {seconds:.2f} s CPU {report.verdict(seconds <= MAX_SECONDS)}",
            *(f"differs in {one.name}: {case}" for one in found.trees for case in one.different),
        ]
    )


def as_json(found: PatternFigures) -> dict[str, Any]:
    """All figures."""
    return {"benchmark": "patterns", **asdict(found), "versions": report.versions()}
