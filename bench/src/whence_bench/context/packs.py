"""What a pack shows of the code that a task needs, beside windows around the lines that grep finds, at the same budgets.

A symbol's code is shown when half of its lines, or ten of them, are in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.context.budget import Detail, PackedText
from whence.context.pack import ContextPack
from whence.core.types import CODE
from whence.index.snapshot import Snapshot
from whence.text import analyzer
from whence.text.token_estimate import count_tokens
from whence_bench import report
from whence_bench.context.corpus import ContextCorpus, ContextTask
from whence_bench.context.metrics import canonical, same_symbol
from whence_bench.search.run import default_settings

BUDGETS = (1_000, 2_000, 4_000, 6_000, 8_000, 12_000)
#: Lines around a match, as `grep -C` gives them.
AROUND = 5
ENOUGH_LINES, ENOUGH_SHARE = 10, 0.5

Lines = Mapping[str, set[int]]  # shown lines by path
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PackScore:
    """One task at one budget: how many wanted symbols have their code in the text."""

    repository: str
    budget: int
    wanted: int
    packed: int
    grepped: int
    best_shown: bool  # the code of the first symbol
    tokens: int


def run(corpus: ContextCorpus, index_dir: Path | None, progress: Progress) -> list[PackScore]:
    """Every task at every budget."""
    scores: list[PackScore] = []
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        for done, repository in enumerate(corpus.repositories):
            progress(done, len(corpus.repositories))
            with Index.open(repository.root, data_dir=index_dir or temporary, settings=default_settings()) as index:
                grep = Grep(index)
                for task in repository.tasks:
                    scores += _score(repository.name, index, grep, task)
    progress(len(corpus.repositories), len(corpus.repositories))
    return scores


def _score(name: str, index: Index, grep: Grep, task: ContextTask) -> Iterator[PackScore]:
    snapshot = index.snapshot
    pack = index.context(task.description)
    wanted = [units for target in task.wanted if (units := _units_named(snapshot, target))]
    windows = grep.windows(task.description)
    for budget in BUDGETS:
        packed = pack.within(budget)
        shown, found = _shown_lines(packed), _within(windows, budget)
        packed_code, grepped_code = (
            sum(any(_has_code(snapshot, unit, lines) for unit in units) for units in wanted) for lines in (shown, found)
        )
        yield PackScore(name, budget, len(wanted), packed_code, grepped_code, _best_has_code(pack, packed), packed.tokens)


def _best_has_code(pack: ContextPack, packed: PackedText) -> bool:
    best = pack.symbols[0].key if pack.symbols else ""
    code = {one.item.key for one in packed.shown if one.form in (Detail.BODY, Detail.EXCERPT)}
    return best in code or best in {one.key for one in packed.inside}


def _units_named(snapshot: Snapshot, target: str) -> list[int]:
    symbols = snapshot.symbols
    last = canonical(target).rpartition(".")[2]
    rows = np.flatnonzero(symbols.defines & ~symbols.test[symbols.file]).tolist()
    likely = [unit for unit in rows if snapshot.unit_name(unit).lower() == last.lower()]
    return [unit for unit in likely if same_symbol(canonical(symbols.written_name(unit)), canonical(target))]


def _shown_lines(packed: PackedText) -> dict[str, set[int]]:
    lines: dict[str, set[int]] = {}
    for one in packed.shown:
        if one.form in (Detail.BODY, Detail.EXCERPT):
            lines.setdefault(one.item.path, set()).update(one.lines or range(one.item.start_line, one.item.end_line + 1))
    return lines


def _has_code(snapshot: Snapshot, unit: int, lines: Lines) -> bool:
    first, last = int(snapshot.column("units.first")[unit]), int(snapshot.column("units.last")[unit])
    shown = lines.get(snapshot.path(int(snapshot.file_of_unit[unit])), set())
    count = sum(number in shown for number in range(first, last + 1))
    return count >= min(ENOUGH_LINES, ENOUGH_SHARE * (last - first + 1))


class Grep:
    """The code of a tree, searched for the words of a task."""

    def __init__(self, index: Index) -> None:
        code = index.snapshot.content_mask(CODE)
        texts = ((path, index.read_text(path)) for row, path in enumerate(index.snapshot.paths) if code[row])
        self._texts = {path: text for path, text in sorted(texts) if text}

    def windows(self, task: str) -> list[tuple[str, int, list[str]]]:
        """Matching lines with those around them, most distinct words first."""
        words = {word.lower() for word in analyzer.words(task) if len(word) >= 3} - analyzer.QUERY_STOP_WORDS
        if not words:
            return []
        pattern = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))), re.IGNORECASE)
        found: list[tuple[int, str, int]] = []
        for path, text in self._texts.items():
            held: dict[int, set[str]] = {}
            line = at = 0
            for match in pattern.finditer(text):
                line += text.count("\n", at, match.start())
                at = match.start()
                held.setdefault(line // (2 * AROUND + 1), set()).add(match.group().lower())
            found += [(-len(words), path, window) for window, words in held.items()]
        return [self._window(path, window) for _, path, window in sorted(found)[:400]]

    def _window(self, path: str, window: int) -> tuple[str, int, list[str]]:
        first = window * (2 * AROUND + 1)
        return path, first + 1, self._texts[path].split("\n")[first : first + 2 * AROUND + 1]


def _within(windows: Sequence[tuple[str, int, list[str]]], budget: int) -> dict[str, set[int]]:
    lines: dict[str, set[int]] = {}
    for path, first, text in windows:
        budget -= count_tokens("\n".join((f"{path}:{first}", *text)) + "\n")
        if budget < 0:
            break
        lines.setdefault(path, set()).update(range(first, first + len(text)))
    return lines


def as_text(scores: Sequence[PackScore]) -> str:
    """One row for each budget."""
    rows = []
    for budget in BUDGETS:
        some = [one for one in scores if one.budget == budget]
        wanted, packed, grepped = (sum(getattr(one, name) for one in some) for name in ("wanted", "packed", "grepped"))
        per_token = packed / sum(one.tokens for one in some) * 1_000
        best = fmean(one.best_shown for one in some)
        rows.append((f"{budget:,}", wanted, packed, grepped, f"{packed / max(grepped, 1):.2f}", f"{per_token:.3f}", f"{best:.3f}"))
    heads = ("budget", "wanted", "with code", "in grep windows", "ratio", "with code per 1,000 tokens", "first symbol's code")
    return report.table(heads, rows)


def as_json(scores: Sequence[PackScore]) -> dict[str, Any]:
    """All scores."""
    names = PackScore.__slots__
    return {"benchmark": "context, packs", "scores": [{name: getattr(one, name) for name in names} for one in scores]}
