"""Whether text that occurs in the tree as typed has its file first and its line shown.

Cases are drawn from the indexed files themselves by a fixed seed, so that each has exactly one answer: messages in strings
(as written, and with values filled in), names with one definition (as written, in lower case without separators, beside
another word), names that are only used, long numbers, URLs, dotted and dashed names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from whence.app.index import Index
from whence.core.errors import WhenceError
from whence.core.types import CODE
from whence.index.segment import DEFINES
from whence_bench import report
from whence_bench.search.corpus import Corpus, Repository
from whence_bench.search.run import default_settings

Progress = Callable[[int, int], None]
#: Cases of each kind and repository, and of the kinds that are rare.
PER_KIND, PER_RARE_KIND = 10, 5
DEPTH = 10

MESSAGE, FILLED_IN, NAME, COMPOUND, WITH_WORD = "message", "message, filled in", "name", "lower-case compound", "name and a word"
USED, NUMBER, URL, DOTTED = "used only", "number", "url", "dotted or dashed"
#: By kind: the share of cases whose file is first, in the first three, and whose line is shown.
BARS = {
    MESSAGE: (0.97, None, 0.97),
    NAME: (None, 0.99, None),
    COMPOUND: (None, 0.97, None),
    WITH_WORD: (0.95, None, None),
}

_STRING = re.compile(r'"((?:[^"\\\n]|\\.){12,160})"|\'((?:[^\'\\\n]|\\.){12,160})\'')
_PLACEHOLDER = re.compile(r"%[-+0-9.]*[sdrifxqvTw]|\$\{[^}]*\}|#\{[^}]*\}|\{[^{}]{0,20}\}")
_VALUES = ("/tmp/a/b.txt", "42", "foo", "0x1f", "bar-7")  # noqa: S108  -- text
_NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]{6,16}|\d{7,15})(?![\w.])")
_URL = re.compile(r"https?://[^\s\"'<>)\]}`]{12,100}")
_DOTTED = re.compile(r"(?<![\w./-])[a-z][a-z0-9]+(?:[.-][a-z][a-z0-9_]+){1,4}(?![\w./-])")
_NAME = re.compile(r"(?<!\w)[A-Za-z_][A-Za-z0-9_]{5,60}(?!\w)")
_MIXED = re.compile(r"[a-z][A-Z]|\w_\w")
_WORD = re.compile(r"(?<!\w)[a-z]{4,12}(?!\w)")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


@dataclass(frozen=True, slots=True)
class Case:
    """A query with the one place it is taken from."""

    kind: str
    query: str
    path: str
    line: int
    text: str = ""  # occurs in the line, wherever else it may occur in the file


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of a case."""

    repository: str
    language: str
    case: Case
    rank: int  # 0: not among the first ten
    line_shown: bool
    called_absent: bool


def draw(index: Index, seed: str) -> list[Case]:
    """The cases of one index."""
    return _Sampler(index, Random(seed)).cases()


class _Sampler:
    """The indexed code of one tree, and what occurs in it once."""

    def __init__(self, index: Index, random: Random) -> None:
        snapshot = index.snapshot
        self._snapshot, self._random = snapshot, random
        code = snapshot.content_mask(CODE)
        texts = {path: index.read_text(path) for row, path in enumerate(snapshot.paths) if code[row]}
        self._texts = {path: text for path, text in sorted(texts.items()) if text}
        self._whole = "\0".join(self._texts.values())

    def cases(self) -> list[Case]:
        """Some of each kind."""
        names, messages = self._single_definitions(), list(self._messages())
        kinds: list[tuple[Iterable[Case], int]] = [
            ((Case(MESSAGE, text, path, self._line(path, text), text) for path, text in messages), PER_KIND),
            (self._filled_in(messages), PER_KIND),
            ((Case(NAME, name, path, first) for name, (path, first, _) in names.items()), PER_KIND),
            (self._compounds(names), PER_KIND),
            (self._with_words(names), PER_KIND),
            (self._used_only(), PER_KIND),
            (self._once(NUMBER, _NUMBER), PER_RARE_KIND),
            (self._once(URL, _URL), PER_RARE_KIND),
            (self._once(DOTTED, _DOTTED), PER_RARE_KIND),
        ]
        return [case for found, count in kinds for case, _ in zip(found, range(count), strict=False)]

    def _line(self, path: str, text: str) -> int:
        return self._texts[path].count("\n", 0, self._texts[path].index(text)) + 1

    def _shuffled(self, values: Iterable[Any]) -> list[Any]:
        found = sorted(values)
        self._random.shuffle(found)
        return found

    def _messages(self) -> Iterator[tuple[str, str]]:
        """One message of each file that has any: three words or more in a string that occurs once."""
        for path in self._shuffled(self._texts):
            strings = [one or other for one, other in _STRING.findall(self._texts[path])]
            plain = [text for text in strings if len(text.split()) >= 3 and "\\" not in text and text[0].isalnum() and text == text.strip()]
            if plain and self._whole.count(text := self._random.choice(plain)) == 1:
                yield path, text

    def _filled_in(self, messages: Iterable[tuple[str, str]]) -> Iterator[Case]:
        for path, text in messages:
            words = re.findall(r"[A-Za-z]{3,}", _PLACEHOLDER.sub(" ", text))
            if _PLACEHOLDER.search(text) and len(words) >= 3:
                query = _PLACEHOLDER.sub(lambda _: self._random.choice(_VALUES), text)
                yield Case(FILLED_IN, query, path, self._line(path, text), text)

    def _single_definitions(self) -> dict[str, tuple[str, int, int]]:
        """Names that one unit defines, with its path and lines."""
        snapshot = self._snapshot
        first, last, flags = (snapshot.column(f"units.{name}") for name in ("first", "last", "flags"))
        found: dict[str, list[tuple[str, int, int]]] = {}
        for unit in range(snapshot.units):
            path = snapshot.path(int(snapshot.file_of_unit[unit]))
            if flags[unit] & DEFINES and path in self._texts and (name := snapshot.unit_name(unit)):
                found.setdefault(name, []).append((path, int(first[unit]), int(last[unit])))
        single = {name: places[0] for name, places in found.items() if len(places) == 1 and len(name) >= 5}
        self._defined = Counter(_joined(name) for name in found)
        return {name: single[name] for name in self._shuffled(single)}

    def _compounds(self, names: dict[str, tuple[str, int, int]]) -> Iterator[Case]:
        for name, (path, first, _) in names.items():
            if len(_PART.findall(name)) >= 2 and name.isidentifier() and self._defined[_joined(name)] == 1:
                yield Case(COMPOUND, _joined(name), path, first)

    def _with_words(self, names: dict[str, tuple[str, int, int]]) -> Iterator[Case]:
        for name, (path, first, last) in names.items():
            body = "\n".join(self._texts[path].split("\n")[first - 1 : last])
            words = [word for word in _WORD.findall(body) if word not in name.lower()]
            if words:
                yield Case(WITH_WORD, f"{name} {self._random.choice(words)}", path, first)

    def _used_only(self) -> Iterator[Case]:
        for name, path in self._in_one_file(_NAME):
            if _joined(name) not in self._defined and _MIXED.search(name):
                yield Case(USED, name, path, self._line(path, name), name)

    def _once(self, kind: str, pattern: re.Pattern[str]) -> Iterator[Case]:
        for text, path in self._in_one_file(pattern):
            if sum(text in other for other in self._texts.values()) == 1:
                yield Case(kind, text, path, self._line(path, text), text)

    def _in_one_file(self, pattern: re.Pattern[str]) -> list[tuple[str, str]]:
        found: dict[str, list[str]] = {}
        for path, text in self._texts.items():
            for match in {match.group() for match in pattern.finditer(text)}:
                found.setdefault(match, []).append(path)
        return self._shuffled((text, paths[0]) for text, paths in found.items() if len(paths) == 1)


def _joined(name: str) -> str:
    return name.replace("_", "").lower()


def ask(index: Index, repository: Repository, case: Case) -> Answered:
    """Search for a case as a user would."""
    try:
        response = index.search(case.query, k=DEPTH)
    except WhenceError:
        return Answered(repository.name, repository.language, case, 0, line_shown=False, called_absent=True)
    rank = next((number for number, result in enumerate(response, 1) if result.path == case.path), 0)
    lines = response[rank - 1].lines if rank else []
    shown = any(line.number == case.line or (case.text and case.text in line.text) for line in lines)
    absent = not response or (response.confidence is not None and not response.confidence.here)
    return Answered(repository.name, repository.language, case, rank, shown, absent)


def run(corpus: Corpus, index_dir: Path | None, progress: Progress) -> list[Answered]:
    """Draw and ask the cases of every repository."""
    answered: list[Answered] = []
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        for done, repository in enumerate(corpus.repositories):
            progress(done, len(corpus.repositories))
            with Index.open(repository.root, data_dir=index_dir or temporary, settings=default_settings()) as index:
                answered += [ask(index, repository, case) for case in draw(index, f"exact {repository.name}")]
    progress(len(corpus.repositories), len(corpus.repositories))
    return answered


def figures(answered: Sequence[Answered]) -> dict[str, Any]:
    """Shares of some cases."""
    count = max(len(answered), 1)
    return {
        "cases": len(answered),
        "first": sum(one.rank == 1 for one in answered) / count,
        "first_three": sum(0 < one.rank <= 3 for one in answered) / count,
        "line_shown": sum(one.line_shown for one in answered) / count,
        "called_absent": sum(one.called_absent for one in answered),
    }


def as_text(answered: Sequence[Answered]) -> str:
    """Tables by kind and by language."""
    by_kind = _grouped(answered, lambda one: one.case.kind)
    header = ("kind", "cases", "first", "first 3", "line", "not here", "bars")
    rows = [(kind, *figures(found).values(), _verdict(kind, figures(found))) for kind, found in by_kind.items()]
    languages = [(name, *figures(found).values()) for name, found in sorted(_grouped(answered, lambda one: one.language).items())]
    return "\n\n".join([report.table(header, rows), report.table(("language", *header[1:-1]), languages)])


def _grouped(answered: Sequence[Answered], key: Callable[[Answered], str]) -> dict[str, list[Answered]]:
    groups: dict[str, list[Answered]] = {}
    for one in answered:
        groups.setdefault(key(one), []).append(one)
    return groups


def _verdict(kind: str, found: dict[str, Any]) -> str:
    bars = zip(BARS.get(kind, (None, None, None)), ("first", "first_three", "line_shown"), strict=True)
    reached = [found[name] >= bar for bar, name in bars if bar is not None]
    return report.verdict(all(reached) and not found["called_absent"])


def as_json(answered: Sequence[Answered], corpus: Corpus) -> dict[str, Any]:
    """All figures, and every case that failed."""
    failed = [one for one in answered if one.rank != 1 or not one.line_shown or one.called_absent]
    return {
        "benchmark": "exact",
        "kinds": {kind: figures(found) for kind, found in _grouped(answered, lambda one: one.case.kind).items()},
        "failed": [asdict(one) for one in failed],
        "missing": list(corpus.missing),
        "versions": report.versions(),
    }
