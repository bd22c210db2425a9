"""Direct callers as the graph has them against the compilers' own answers: precision, recall, and what is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whence.app.index import Index
from whence.core.types import EDGE_KINDS
from whence.graph.enrich.client import server_kind
from whence.graph.enrich.definitions import Outline, Outlines
from whence.graph.questions import CALLERS, Questions, display_name
from whence.graph.reader import PARSED_CONFIDENCE
from whence.index.symbols import FAMILIES as LANGUAGE_FAMILIES
from whence.index.symbols import IS_CALLABLE
from whence_bench import report
from whence_bench.graph.answers import FAMILIES, MOST_BYTES, Answer, Answers, Place, Sample, answers_of
from whence_bench.search.run import default_settings

Progress = Callable[[int, int], None]
#: Wrong and missing edges that are listed for one repository and language.
MAX_EXAMPLES = 400
#: The confidence of an edge that is not matched by name alone.
SURE = PARSED_CONFIDENCE - 1e-3


@dataclass(frozen=True, slots=True)
class Pair:
    """One edge that is wrong or missing: where the call is, what it means, and what the graph said."""

    path: str
    line: int
    call: str
    caller: str
    meant: str
    found: str


@dataclass(slots=True)
class Score:
    """Direct callers of one repository in one language."""

    repository: str
    language: str
    files: int = 0
    calls: int = 0  # that the server knows
    right: int = 0
    wrong: int = 0
    unchecked: int = 0  # sure edges of which the server says nothing
    expected: int = 0  # pairs of caller and callee
    sure: int = 0
    open: int = 0
    wrong_edges: list[Pair] = field(default_factory=list)
    missing_edges: list[Pair] = field(default_factory=list)  # neither sure nor open
    open_edges: list[Pair] = field(default_factory=list)

    def add(self, other: Score) -> None:
        """Count what another counted too."""
        for name in ("files", "calls", "right", "wrong", "unchecked", "expected", "sure", "open"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def shares(self) -> tuple[float, float, float]:
        """Precision, recall of sure edges, recall of sure edges and open calls."""
        return _share(self.right, self.right + self.wrong), _share(self.sure, self.expected), _share(self.sure + self.open, self.expected)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def run(
    roots: Sequence[Path],
    families: Sequence[str],
    sample: Sample,
    index_dir: Path | None,
    stored: Path | None,
    commands: Mapping[str, str],
    progress: Progress,
    warn: Callable[[str], None],
) -> list[Score]:
    """The score of every repository in every family of languages that it has."""
    scores: list[Score] = []
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        for done, root in enumerate(roots):
            progress(done, len(roots))
            with Index.open(root, data_dir=index_dir or temporary, settings=default_settings()) as index:
                languages = {
                    path: language
                    for path, language, alive in zip(
                        index.snapshot.paths, index.snapshot.languages, index.snapshot.alive.tolist(), strict=True
                    )
                    if alive
                }
                for family in families or FAMILIES:
                    kind = server_kind(family)
                    own = [path for path, language in languages.items() if language in kind.languages]
                    if len(own) >= MIN_FILES:
                        answers = answers_of(root, languages, family, sample, stored, commands.get(family, ""), warn)
                        scores.append(_Scorer(index, languages).score(root.name, family, answers))
    progress(len(roots), len(roots))
    return [score for score in scores if score.expected]


#: A repository with fewer files in a language is not written in it.
MIN_FILES = 5


class _Scorer:
    """Compares the graph of one index with answers."""

    def __init__(self, index: Index, languages: Mapping[str, str]) -> None:
        self._questions: Questions = index.questions()
        self._graph, self._symbols, self._snapshot = self._questions.graph, self._questions.symbols, index.snapshot
        self._outlines = Outlines(index.root, languages, MOST_BYTES)
        self._is_c = np.array([language in LANGUAGE_FAMILIES[1] for language in self._snapshot.languages], bool)
        self._same: dict[tuple[int, int], int] = {}

    def score(self, repository: str, family: str, answers: Answers) -> Score:
        """The score of the files that were answered for."""
        total = Score(repository, family, files=len(answers))
        for path, of_file in answers.items():
            outline = self._outlines.outline(path)
            if outline is not None:
                self._file(outline, of_file, total)
        return total

    def _file(self, outline: Outline, answers: Sequence[Answer], total: Score) -> None:
        by_unit: dict[int, list[Answer]] = defaultdict(list)
        for answer in answers:
            if (unit := self._unit_at(outline, answer.at)) is not None and answer.known and not _is_import(outline, answer):
                by_unit[unit].append(answer)
        openings = self._open_names(np.array(sorted(by_unit), np.int64))
        for unit, calls in by_unit.items():
            self._unit(outline, unit, calls, openings[unit], total)

    def _unit(self, outline: Outline, unit: int, calls: Sequence[Answer], openings: set[str], total: Score) -> None:
        total.calls += len(calls)
        edges = self._edges(unit)
        sure = {target: edge for target, (edge, confidence) in edges.items() if confidence >= SURE}
        guessed = edges.keys() - sure.keys()
        meant = [(call, self._targets(call)) for call in calls]
        expected = {(call.name, targets): call for call, targets in meant if targets and unit not in targets}
        for (name, targets), call in expected.items():
            total.expected += 1
            if targets & sure.keys():
                total.sure += 1
                continue
            is_open = bool(targets & guessed) or name in openings
            total.open += is_open
            _list(total.open_edges if is_open else total.missing_edges, self._pair(outline, unit, call, targets, edges))
        every = frozenset(target for _, targets in meant for target in targets)
        for target, edge in sure.items():
            line = int(self._graph.line[edge])
            on_line = [call for call in calls if outline.places.position(call.at)[0] + 1 == line]
            near = [call for call in calls if self._is_named(target, call.name)] or on_line[: len(on_line) == 1]
            total.right += target in every
            total.wrong += target not in every and bool(near)
            total.unchecked += target not in every and not near
            if target not in every and near:
                _list(total.wrong_edges, self._pair(outline, unit, near[0], self._targets(near[0]), {target: (edge, 1.0)}))

    def _edges(self, unit: int) -> dict[int, tuple[int, float]]:
        """What a unit calls: by target, an edge and the confidence of all edges to it: overloads share theirs."""
        found: dict[int, tuple[int, float]] = {}
        for edge in self._graph.edges_from(unit).tolist():
            target = int(self._graph.target[edge])
            if EDGE_KINDS[self._graph.kind[edge]] in CALLERS and target < self._symbols.units:
                one = self._canonical(target)
                found[one] = (edge, found.get(one, (0, 0.0))[1] + float(self._graph.confidence[edge]))
        return found

    def _open_names(self, units: np.ndarray[Any, Any]) -> dict[int, set[str]]:
        """The names that each unit calls without it being known what they mean."""
        found: dict[int, set[str]] = {}
        for unit in units.tolist():
            calls = self._questions.unresolved.calls_of(np.array([unit]))
            found[unit] = {one.name for one in calls.sample if not one.external}
        return found

    def _targets(self, call: Answer) -> frozenset[int]:
        return frozenset(self._canonical(unit) for place in call.places for unit in self._definitions(place, call.name))

    def _definitions(self, place: Place, name: str) -> list[int]:
        """The unit that is defined at a place; for a declaration in C that is no unit, the functions of that name."""
        outline = self._outlines.outline(place.path)
        if outline is None:
            return []
        is_c = self._is_c[self._symbols.file_row[place.path]]
        if (unit := outline.definition_at(place.at)) and (unit.name == name or not is_c):
            return [self._row(outline, outline.parsed.units.index(unit))]
        return self._functions.get(name, []) if is_c else []

    @cached_property
    def _functions(self) -> dict[str, list[int]]:
        """Functions of C by name."""
        symbols, found = self._symbols, defaultdict[str, list[int]](list)
        callable_ = symbols.defines & (symbols.owner < 0) & IS_CALLABLE[self._snapshot.kinds]
        for unit in np.flatnonzero(callable_ & self._is_c[symbols.file]).tolist():
            found[self._snapshot.unit_name(unit)].append(unit)
        return found

    def _unit_at(self, outline: Outline, at: int) -> int | None:
        """The innermost unit around a byte."""
        rows = [row for row, unit in enumerate(outline.parsed.units) if unit.start <= at < unit.end]
        return self._row(outline, rows[-1]) if rows else None

    def _row(self, outline: Outline, row: int) -> int:
        return int(self._snapshot.unit_starts[self._symbols.file_row[outline.path]]) + row

    def _canonical(self, unit: int) -> int:
        """One unit for all that are one symbol: a type and its constructors, overloads, in C a declaration and its definition."""
        if self._questions.is_constructor[unit]:
            unit = int(self._symbols.owner[unit])
        file = int(self._symbols.file[unit])
        key = (-1 if self._is_c[file] else file, int(self._symbols.full[unit]))
        return self._same.setdefault(key, unit)

    def _is_named(self, unit: int, name: str) -> bool:
        return self._snapshot.unit_name(unit) == name

    def _pair(self, outline: Outline, unit: int, call: Answer, targets: frozenset[int], edges: Mapping[int, tuple[int, float]]) -> Pair:
        line = outline.places.position(call.at)[0] + 1
        near = [target for target, (edge, _) in edges.items() if self._is_named(target, call.name) or int(self._graph.line[edge]) == line]
        meant = ", ".join(self._graph.key(one) for one in targets) or ("inside, and no symbol" if call.places else "outside")
        found = ", ".join(self._graph.key(one) for one in near[:3])
        return Pair(outline.path, line, call.name, display_name(self._graph, unit), meant, found)


def _is_import(outline: Outline, answer: Answer) -> bool:
    """Whether a server got no further than the import, as it does if the module is not installed."""
    lines = (outline.text[outline.text.rfind(b"\n", 0, place.at) + 1 :] for place in answer.places if place.path == outline.path)
    return any(
        line.lstrip().startswith((b"import", b"from", b"export {", b"export *")) or b"require(" in line.partition(b"\n")[0]
        for line in lines
    )


def _list(pairs: list[Pair], pair: Pair) -> None:
    if len(pairs) < MAX_EXAMPLES:
        pairs.append(pair)


def by_language(scores: Sequence[Score]) -> dict[str, Score]:
    """All repositories of a language together."""
    found: dict[str, Score] = {}
    for one in scores:
        found.setdefault(one.language, Score("all", one.language)).add(one)
    return found


def as_text(scores: Sequence[Score]) -> str:
    """A table by language, and one by repository."""
    head = ("direct callers", "files", "edges", "wrong", "unchecked", "precision", "pairs", "recall, sure", "recall, sure + open")
    together = by_language(scores)
    rows = [_row(name, score) for name, score in together.items()]
    rows += [_row(f"{one.language} {one.repository}", one) for one in scores]
    return report.table(head, rows)


def _row(name: str, score: Score) -> tuple[str, ...]:
    precision, sure, both = (f"{share:.3f}" for share in score.shares())
    edges = score.right + score.wrong
    return name, str(score.files), str(edges), str(score.wrong), str(score.unchecked), precision, str(score.expected), sure, both


def examples_text(scores: Sequence[Score], most: int) -> str:
    """Some edges of each score that are wrong, missing or open."""
    return "\n".join(line for score in scores for line in _examples(score, most))


def _examples(score: Score, most: int) -> Iterator[str]:
    for what, pairs in (("wrong", score.wrong_edges), ("missing", score.missing_edges), ("open", score.open_edges)):
        for pair in pairs[:: max(len(pairs) // most, 1)][:most]:
            found = f", found {pair.found}" if pair.found else ""
            caller = pair.caller or "(top level)"
            yield f"{score.repository} {what}: {pair.path}:{pair.line} {pair.call} in {caller} means {pair.meant}{found}"


def as_json(scores: Sequence[Score]) -> dict[str, Any]:
    """All figures."""
    return {
        "benchmark": "graph",
        "languages": {name: _figures(score) for name, score in by_language(scores).items()},
        "repositories": [_figures(score) | _lists(score) for score in scores],
    }


def _figures(score: Score) -> dict[str, Any]:
    precision, sure, both = score.shares()
    counts = {name: value for name, value in asdict(score).items() if not name.endswith("_edges")}
    return counts | {"precision": precision, "recall_sure": sure, "recall_sure_or_open": both}


def _lists(score: Score) -> dict[str, Any]:
    return {name: value for name, value in asdict(score).items() if name.endswith("_edges")}
