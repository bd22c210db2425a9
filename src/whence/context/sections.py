"""What the reviewer of a change reads, in sections: its hunks, the symbols it touches, and what it reaches, each with its reason."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from whence.context.budget import DIFF, PackItem
from whence.context.changes import ChangedFile, How, SymbolChange, innermost
from whence.core.types import CALLABLES, CODE, CONTAINERS, DOCS, EDGE_KINDS
from whence.graph.names import NamedSymbol
from whence.graph.questions import CALLS, Neighbour, Questions
from whence.index.reader import IndexReader
from whence.parse.paths import sort_of
from whence.storage.arrayfile import Array, unpack_strings

#: The sections, and how much of the room that is left each may take before the next has its turn.
HUNKS, CHANGED, DELETED, CALLERS, TESTS, ALSO = (
    "Hunks",
    "Changed symbols",
    "Deleted symbols and what still names them",
    "Callers of changed signatures",
    "Tests that reach the change",
    "Also worth reading",
)
SHARES = {HUNKS: 0.5, CHANGED: 0.4, DELETED: 0.5, CALLERS: 0.6, TESTS: 0.6, ALSO: 1.0}
#: Tokens of code for a place that calls or names something.
PLACE_CODE = 160
#: Places and symbols that are named for one symbol, and tests for all.
MAX_OF_ONE, MAX_TESTS = 20, 20
#: A name in more files says nothing of the symbol.
MAX_NAMING_FILES = 60
#: Commits that changed two files, and their share of those that changed the first, from which on the second is worth a look.
TOGETHER, TOGETHER_SHARE, MAX_TOGETHER = 3, 0.4, 5
MAX_DOCS = 5
#: How much of a symbol its hunk must show for its code not to be shown again.
SHOWN_SHARE = 0.8
#: What is written by hand comes before what is made from it.
_ORDER = {CODE: 0, "test": 1, DOCS: 2, "generated": 4, "vendored": 5}
#: How a symbol is related to a changed one, by the kind of edge and whether it is the target.
_RELATED = {
    ("overrides", True): "overridden by {}", ("overrides", False): "overrides {}",
    ("implements", True): "implemented by {}", ("implements", False): "implements {}",
    ("extends", True): "extended by {}", ("extends", False): "extends {}", ("calls", False): "calls {}, whose code changed",
}  # fmt: skip


class _Place(NamedTuple):
    """Lines of the code as it is indexed, inside a unit or outside all (-1)."""

    path: str
    unit: int
    lines: tuple[int, ...]


class Review:
    """A change, with what the index knows about the code around it."""

    def __init__(
        self,
        files: Sequence[ChangedFile],
        changes: Sequence[SymbolChange],
        reader: IndexReader,
        questions: Questions,
        within: Array | None,
    ) -> None:
        self._reader, self._questions, self._within = reader, questions, within
        self._snapshot, self._symbols = reader.snapshot, reader.snapshot.symbols
        self._files = [one for one in files if self._allows_file(one.path)]
        self._changes = [one for one in changes if self._allows_file(one.path)]
        self._left = [one for one in self._changes if one.how is not How.DELETED]
        self._units = {one.key: [unit for unit in self._symbols.find(one.key) if self._allows(unit)] for one in self._left}
        self._added = {one.path: set(one.added) for one in files}

    @property
    def units(self) -> Array:
        """The changed symbols that are indexed."""
        return np.array(sorted({unit for units in self._units.values() for unit in units}), np.int64)

    def items(self) -> list[PackItem]:
        """Everything, in the order of the sections; a symbol whose change was shown is not named again for another reason."""
        tests, reached = self._tests()
        found = [*self._hunks(), *self._changed(reached), *self._deleted(), *self._callers(), *tests, *self._also()]
        listed: dict[tuple[object, ...], PackItem] = {}
        changed = {item.key for item in found if item.section == CHANGED}
        for item in found:
            again = item.section in (TESTS, ALSO) and (item.key in changed or any(item.key == other.key for other in listed.values()))
            if not again:
                listed.setdefault((item.section, item.key, item.because), item)
        return [replace(item, score=float(len(listed) - at)) for at, item in enumerate(listed.values())]

    # The change itself.
    def _hunks(self) -> Iterator[PackItem]:
        for one in sorted(self._files, key=lambda one: (_ORDER.get(sort_of(one.path), 3), one.path)):
            body = "\n".join(one.hunks()) if one.new_path else ""
            marks = tuple(at for at, line in enumerate(body.split("\n"), 1) if line[:1] in ("+", "-"))
            said = _file_words(one)
            count = body.count("\n") + 1
            item = PackItem(one.path, "", DIFF, one.path, 1, count, 0.0, 0.0, "", "" if body else said, body, said if body else "")
            yield replace(item, members=marks, section=HUNKS)

    def _changed(self, reached: set[str]) -> Iterator[PackItem]:
        files = {one.path: one for one in self._files}
        new = {one.key for one in self._left if one.how is How.ADDED}
        for one in self._left:
            unit, file = one.unit, files[one.path]
            if one.how is How.ADDED and one.key.rpartition(".")[0] in new:  # its type stands for it
                continue
            said = f"moved from {one.was}" if one.how is How.MOVED else one.how.value
            if self._units[one.key] and unit.kind in CALLABLES and one.key not in reached and sort_of(one.path) == CODE:
                said += "; no test is known to reach it"
            seen = {line.new_number for line in file.lines}
            span = range(unit.first_line, unit.last_line + 1)
            is_seen = sum(number in seen for number in span) >= SHOWN_SHARE * len(span)
            body = "" if is_seen else "\n".join(file.after.replace("\r\n", "\n").split("\n")[unit.first_line - 1 : unit.last_line])
            was = f"was: {one.was}" if one.how is How.SIGNATURE and one.was else ""
            item = PackItem(one.key, unit.qualified_name, unit.kind, one.path, span[0], span[-1], 0.0, 0.0, unit.signature, was, body, said)
            yield replace(item, members=tuple(number for number in file.added if number in span), section=CHANGED, limit=0)

    def _deleted(self) -> Iterator[PackItem]:
        for one in self._changes:
            if one.how is How.DELETED:
                unit, places = one.unit, self._places_naming(one)
                count = sum(len(place.lines) for place in places)
                still = (
                    f"{count} place{'s' if count > 1 else ''} still name{'s' if count == 1 else ''} it"
                    if count
                    else "nothing names it any more"
                )
                span = unit.first_line, unit.last_line
                item = PackItem(
                    one.key, unit.qualified_name, unit.kind, one.path, *span, 0.0, 0.0, unit.signature, "", "", f"deleted; {still}"
                )
                yield replace(item, section=DELETED, limit=0)
                yield from (self._at(place, DELETED, f"names {unit.name}, which is deleted") for place in places[:MAX_OF_ONE])

    def _places_naming(self, one: SymbolChange) -> list[_Place]:
        """Where the name of a deleted symbol still is; of a name that others have, only the calls that lead nowhere."""
        name = one.unit.name
        if len(self._snapshot.definitions(name)):
            calls = self._questions.unresolved.calls_named(name).without_external().sample
            lines: Mapping[str, Sequence[int]] = {
                path: [call.line for call in calls if call.path == path] for path in {call.path for call in calls}
            }
        else:
            files = self._snapshot.files_with_word(name)
            paths = sorted(
                self._snapshot.path(int(file)) for file in files[:MAX_NAMING_FILES] if self._allows_file(self._snapshot.path(int(file)))
            )
            lines = dict(self._reader.find_lines([path for path in paths if sort_of(path) in (CODE, "test")], _finder(name)))
        return [
            place for path in sorted(lines, key=lambda path: (sort_of(path) != CODE, path)) for place in self._places(path, lines[path])
        ]

    # What the change reaches.
    def _callers(self) -> Iterator[PackItem]:
        for one in self._left:
            if one.how is How.SIGNATURE and self._units[one.key]:
                kinds = CALLS | {"extends", "implements"} if one.unit.kind in CONTAINERS else CALLS
                calls: dict[str, list[Neighbour]] = defaultdict(list)
                for row in self._questions.callers(self._named(one), kinds=kinds).code.neighbours():
                    if row.line not in self._added.get(row.path, ()) and self._allows_file(row.path):
                        calls[row.path].append(row)
                for path, rows in list(calls.items())[:MAX_OF_ONE]:
                    unsure = {row.line for row in rows if row.note}
                    for place in self._places(path, [row.line for row in rows]):
                        note = ", by its name alone" if unsure.issuperset(place.lines) else ""
                        yield self._at(place, CALLERS, f"uses {one.unit.qualified_name}{note}")

    def _tests(self) -> tuple[list[PackItem], set[str]]:
        """The tests that reach what changed, the nearest and those of most changes first; and the keys of what they reach."""
        nearest: dict[int, Neighbour] = {}
        about: dict[int, list[str]] = defaultdict(list)
        reached = set()
        for one in self._left:
            rows = self._questions.tests(self._named(one)).neighbours(10 * MAX_TESTS) if self._units[one.key] else []
            for row in rows:
                unit = next(iter(self._symbols.find(row.key)), -1)
                if unit >= 0:
                    reached.add(one.key)
                    about[unit].append(one.unit.qualified_name)
                    if unit not in nearest or row.distance < nearest[unit].distance:
                        nearest[unit] = row
        order = sorted(nearest, key=lambda unit: (nearest[unit].distance, -len(about[unit]), nearest[unit].key))
        items = []
        for unit in [unit for unit in order if self._allows(unit)][:MAX_TESTS]:
            names = list(dict.fromkeys(about[unit]))
            what = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            way = f"reaches {what} through {nearest[unit].through}" if nearest[unit].distance > 1 else f"calls {what}"
            items.append(self._pointer(unit, TESTS, way))
        return items, reached

    def _also(self) -> Iterator[PackItem]:
        """Overrides, implementations and callers of what changed, files that usually change with it, and pages that name it."""
        graph = self._questions.graph
        for one in self._left:
            related: dict[int, str] = {}
            for unit in self._units[one.key]:
                for edges, ends, is_target in ((graph.edges_from(unit), graph.target, True), (graph.edges_to(unit), graph.source, False)):
                    for edge in edges.tolist():
                        says = _RELATED.get((EDGE_KINDS[int(graph.kind[edge])], is_target))
                        node = int(ends[edge])
                        if (
                            says
                            and node < self._symbols.units
                            and self._symbols.defines[node]
                            and not self._symbols.test[self._symbols.file[node]]
                        ):
                            related.setdefault(node, says.format(one.unit.qualified_name))
            rank = {says: at for at, says in enumerate(says.format(one.unit.qualified_name) for says in _RELATED.values())}
            order = sorted(related, key=lambda node: (rank[related[node]], self._symbols.key(node)))
            yield from (self._pointer(node, ALSO, related[node]) for node in order[:MAX_OF_ONE] if self._allows(node))
        yield from self._together()
        yield from self._pages()

    def _together(self) -> Iterator[PackItem]:
        past = self._snapshot.commits
        if past is None:
            return
        paths = unpack_strings(past, "paths").all()
        row_of = {path: row for row, path in enumerate(paths)}
        owner = np.repeat(np.arange(len(past["path_ends"])), np.diff(past["path_ends"], prepend=0))
        changed = {path for one in self._files for path in (one.old_path, one.new_path)}
        best: dict[str, tuple[float, str]] = {}
        for path in sorted(changed & row_of.keys()):
            commits = owner[past["path_rows"] == row_of[path]]
            beside = Counter(past["path_rows"][np.isin(owner, commits)].tolist())
            for row, count in beside.items():
                other, share = paths[row], count / len(commits)
                if count >= TOGETHER and share >= TOGETHER_SHARE and other not in changed and other in self._symbols.file_row:
                    best[other] = max(
                        best.get(other, (0.0, "")), (share, f"changed in {count} of the {len(commits)} commits that changed {path}")
                    )
        for other in sorted(best, key=lambda other: (-best[other][0], other))[:MAX_TOGETHER]:
            if self._allows_file(other):
                yield self._file(other, best[other][1])

    def _pages(self) -> Iterator[PackItem]:
        """Pages of documentation that name what changed in more than its body."""
        named: dict[str, list[str]] = defaultdict(list)
        docs = self._snapshot.content_mask(DOCS)
        for one in self._changes:
            if one.how in (How.SIGNATURE, How.DELETED, How.MOVED) and len(self._snapshot.definitions(one.unit.name)) <= 1:
                files = self._snapshot.files_with_word(one.unit.name)
                for file in files[docs[files]].tolist()[:MAX_NAMING_FILES]:
                    named[self._snapshot.path(file)].append(one.unit.name)
        known = {one.path for one in self._files}
        for path in sorted(named, key=lambda path: (-len(set(named[path])), path))[:MAX_DOCS]:
            if path not in known and self._allows_file(path):
                yield self._file(path, f"names {', '.join(dict.fromkeys(named[path]))}")

    # Items.
    def _named(self, one: SymbolChange) -> NamedSymbol:
        return NamedSymbol(one.key, one.unit.qualified_name, one.unit.kind, one.path, one.unit.first_line, tuple(self._units[one.key]))

    def _places(self, path: str, lines: Sequence[int]) -> list[_Place]:
        """Lines of a file by the innermost definition that holds them."""
        file = self._symbols.file_row[path]
        first, last = (self._snapshot.column(name) for name in ("units.first", "units.last"))
        rows = range(int(self._snapshot.unit_starts[file]), int(self._snapshot.unit_starts[file + 1]))
        units = [unit for unit in rows if self._symbols.defines[unit]]
        spans = [(int(first[unit]), int(last[unit])) for unit in units]
        held: dict[int, list[int]] = defaultdict(list)
        for line in sorted(set(lines)):
            inner = innermost(spans, [line])
            held[units[inner[0]] if inner else -1].append(line)
        return [_Place(path, unit, tuple(some)) for unit, some in held.items()]

    def _at(self, place: _Place, section: str, because: str) -> PackItem:
        """The code around some lines, which matter most in it."""
        said = f"{because}: line {', '.join(map(str, place.lines[:5]))}{', ...' if len(place.lines) > 5 else ''}"
        if place.unit >= 0:
            return replace(self._item(place.unit, section, said), members=place.lines, limit=PLACE_CODE)
        first, last = place.lines[0], place.lines[-1]
        body = "\n".join(self._text(place.path)[first - 1 : last])
        item = PackItem(f"{place.path}#", "", "lines", place.path, first, last, 0.0, 0.0, "", "", body, said)
        return replace(item, members=place.lines, section=section, limit=PLACE_CODE)

    def _item(self, unit: int, section: str, because: str) -> PackItem:
        item = self._pointer(unit, section, "")
        body = "\n".join(self._text(item.path)[item.start_line - 1 : item.end_line])
        return replace(item, body=body, because=because)

    def _pointer(self, unit: int, section: str, because: str) -> PackItem:
        """A symbol by its name, with the reason."""
        first, last = (int(self._snapshot.column(name)[unit]) for name in ("units.first", "units.last"))
        key, name, kind = self._symbols.key(unit), self._symbols.written_name(unit), self._snapshot.kind(unit)
        path = self._snapshot.path(int(self._symbols.file[unit]))
        return PackItem(key, name, kind, path, first, last, 0.0, 0.0, "", because, "", section=section, limit=0)

    def _text(self, path: str) -> list[str]:
        return (self._reader.read_text(path) or "").replace("\r\n", "\n").split("\n")

    def _file(self, path: str, because: str) -> PackItem:
        return PackItem(path, "", sort_of(path), path, 1, 1, 0.0, 0.0, "", because, "", section=ALSO, limit=0)

    def _allows(self, unit: int) -> bool:
        return self._within is None or bool(self._within[unit])

    def _allows_file(self, path: str) -> bool:
        """Whether any unit of a file passes the filters; files that are not indexed always do."""
        if self._within is None or (file := self._symbols.file_row.get(path, -1)) < 0:
            return True
        return bool(self._within[int(self._snapshot.unit_starts[file]) : int(self._snapshot.unit_starts[file + 1])].any())


def _finder(name: str) -> Callable[[bytes], list[int]]:
    word = re.compile(rb"(?<![\w])" + re.escape(name.encode()) + rb"(?![\w])")

    def find(text: bytes) -> list[int]:
        return sorted({text.count(b"\n", 0, match.start()) + 1 for match in word.finditer(text)})

    return find


def _file_words(one: ChangedFile) -> str:
    """What happened to a file."""
    if not one.new_path:
        what = "deleted"
    elif not one.old_path:
        what = "new"
    else:
        what = f"renamed from {one.old_path}" if one.old_path != one.new_path else "changed"
    counts = [f"{sign}{len(lines)}" for sign, lines in (("+", one.added), ("-", one.removed)) if lines]
    return ", ".join([what, *([" ".join(counts)] if counts else []), *([one.note] if one.note else [])])
