"""What a change does to files and their symbols: both sides are parsed, so that it need not end at what is indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from whence.core.types import CALLABLES, CONTAINERS, DEFINITIONS, Unit
from whence.index.reader import IndexReader
from whence.parse.units import parse_named
from whence.source.history import FileChange, changed_files, read_blobs
from whence.source.read import decode, label_secrets
from whence.text.line_diff import ADDED, CONTEXT_LINES, GAP, REMOVED, LineChange, NumberedLine, diff_lines, number_lines

#: Files of a change that are read; the others are only named.
MAX_FILES = 400


class How(Enum):
    """What a change does to a symbol."""

    ADDED = "added"
    SIGNATURE = "signature changed"
    BODY = "changed"
    MOVED = "moved"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file of a change: its text before and after, empty where it is not there, and the lines that differ."""

    old_path: str
    new_path: str
    before: str
    after: str
    lines: tuple[LineChange, ...]
    note: str = ""  # why no lines are given

    @property
    def path(self) -> str:
        """Where it is now; of a deleted file, where it was."""
        return self.new_path or self.old_path

    @property
    def added(self) -> list[int]:
        """The numbers of new lines that are not blank."""
        return [line.new_number for line in self.lines if line.sign == ADDED and line.new_number is not None and line.text.strip()]

    @property
    def removed(self) -> list[int]:
        """The numbers of lines that are gone, as they were, and were not blank."""
        return [line.old_number for line in self.lines if line.sign == REMOVED and line.old_number is not None and line.text.strip()]

    def hunks(self) -> list[str]:
        """The lines as `diff -u` writes them, without the names of the files."""
        found: list[list[LineChange]] = [[]]
        for line in self.lines:
            if line.sign == GAP:
                found.append([])
            else:
                found[-1].append(line)
        return ["\n".join((_hunk_head(lines), *(f"{line.sign}{line.text}" for line in lines))) for lines in found if lines]


@dataclass(frozen=True, slots=True)
class SymbolChange:
    """A symbol that a change touches."""

    how: How
    path: str  # where it is now; of a deleted one, where it was
    unit: Unit  # as it is now; of a deleted one, as it was
    was: str = ""  # its signature before, or the place it was moved from

    @property
    def key(self) -> str:
        """Its key: `path#qualified.name`."""
        return f"{self.path}#{self.unit.qualified_name}"


def read_change(reader: IndexReader, since: str, *, staged: bool = False) -> list[ChangedFile] | None:
    """The files of a change, in the order of their paths; None where git cannot tell."""
    root, most = reader.root, reader.settings.index.max_file_bytes
    files = changed_files(root, since, staged=staged)
    if files is None:
        return None
    files.sort(key=lambda one: one.new_path or one.old_path)
    read = files[:MAX_FILES]
    blobs = read_blobs(root, sorted({blob for one in read for blob in (one.old_blob, one.new_blob) if blob}), most)
    found = []
    for one in files:
        before = _text(blobs.get(one.old_blob), one.old_path) if one.old_blob and one.old_path else ""
        if one.new_blob:
            after = _text(blobs.get(one.new_blob), one.new_path) if one.new_path else ""
        else:
            after = _indexed_text(reader, one.new_path) if one.new_path else ""
        if changed := _changed_file(one, before, after):
            found.append(changed)
    return found


def _indexed_text(reader: IndexReader, path: str) -> str | None:
    return reader.read_text(path) if path in reader.snapshot.symbols.file_row else None


def _text(raw: bytes | None, path: str) -> str | None:
    text = decode(raw, path) if raw is not None else None
    return label_secrets(text.decode("utf-8", "replace"), path) if text is not None else None


def _changed_file(one: FileChange, before: str | None, after: str | None) -> ChangedFile | None:
    if before is None or after is None:
        is_known = bool(one.old_path) or after is not None
        return ChangedFile(one.old_path, one.new_path, "", "", (), "not text, too large, or not indexed") if is_known else None
    then, now = (number_lines(text.replace("\r\n", "\n")) if text else [] for text in (before, after))
    lines = _compared(then, now)
    if lines is None:
        return ChangedFile(one.old_path, one.new_path, before, after, (), "too long to compare")
    if not lines and one.old_path == one.new_path:  # only its time stamp, its mode or its line ends
        return None
    return ChangedFile(one.old_path, one.new_path, before, after, tuple(lines))


def _compared(then: Sequence[NumberedLine], now: Sequence[NumberedLine]) -> list[LineChange] | None:
    """The changes between two versions; what they begin and end with alike costs no time."""
    shortest = min(len(then), len(now))
    head = next((at for at in range(shortest) if then[at].text != now[at].text), shortest)
    tail = next((at for at in range(shortest - head) if then[-1 - at].text != now[-1 - at].text), shortest - head)
    first, last = max(head - CONTEXT_LINES, 0), max(tail - CONTEXT_LINES, 0)
    return diff_lines(then[first : len(then) - last], now[first : len(now) - last])


def _hunk_head(lines: Sequence[LineChange]) -> str:
    old, new = ([number for line in lines if (number := getattr(line, side)) is not None] for side in ("old_number", "new_number"))
    spans = (f"{numbers[0] if numbers else 0},{len(numbers)}" for numbers in (old, new))
    return "@@ -{} +{} @@".format(*spans)


# Symbols.
def symbol_changes(files: Iterable[ChangedFile]) -> list[SymbolChange]:
    """What happened to the symbols of some files. What is deleted in one and added in another, alone of its name, was moved."""
    found = [change for one in files for change in _changes_of(one)]
    gone, new = ({_named(one): one for one in found if one.how is how} for how in (How.DELETED, How.ADDED))
    alone = {name for name in gone.keys() & new.keys() if sum(_named(one) == name for one in found) == 2}
    moved = {id(new[name]): SymbolChange(How.MOVED, new[name].path, new[name].unit, gone[name].path) for name in alone}
    left = {id(gone[name]) for name in alone}
    return [moved.get(id(one), one) for one in found if id(one) not in left]


def _named(one: SymbolChange) -> tuple[str, str]:
    return one.unit.kind, one.unit.qualified_name


def _changes_of(file: ChangedFile) -> Iterator[SymbolChange]:
    before, after = _definitions(file.old_path, file.before), _definitions(file.new_path, file.after)
    known, now = _by_name(before), _by_name(after)
    touched = [after[row] for row in innermost([_span(unit) for unit in after], file.added)]
    touched += [before[row] for row in innermost([_span(unit) for unit in before], file.removed)]
    for name in dict.fromkeys(unit.qualified_name for unit in touched):
        was, units = known.get(name, []), now.get(name, [])
        if not units:
            yield SymbolChange(How.DELETED, file.old_path, was[0])
        elif not was:
            yield SymbolChange(How.ADDED, file.new_path, units[0])
        else:
            yield _changed(file.new_path, was, units)


def _changed(path: str, was: Sequence[Unit], now: Sequence[Unit]) -> SymbolChange:
    """A symbol that was there before and still is; overloads are compared as sets."""
    old, new = ({" ".join(unit.signature.split()): unit for unit in units} for units in (was, now))
    if now[0].kind in CALLABLES | CONTAINERS and old.keys() != new.keys():
        return SymbolChange(
            How.SIGNATURE, path, next((new[one] for one in new if one not in old), now[0]), next((one for one in old if one not in new), "")
        )
    return SymbolChange(How.BODY, path, now[0])


def innermost(spans: Sequence[tuple[int, int]], lines: Iterable[int]) -> list[int]:
    """The rows of the spans (first and last line) that are the innermost around some lines, in order."""
    changed = sorted(set(lines))
    if not changed:
        return []
    holder: dict[int, tuple[int, int]] = {}
    for first, last in sorted(set(spans), key=lambda span: (span[0] - span[1], span)):  # the longest first: shorter ones write over them
        holder |= dict.fromkeys((line for line in changed if first <= line <= last), (first, last))
    inner = set(holder.values())
    return [row for row, span in enumerate(spans) if span in inner]


def _definitions(path: str, text: str) -> list[Unit]:
    parsed = parse_named(path, text.encode("utf-8", "replace").replace(b"\0", b" ")) if text else None
    return [unit for unit in parsed.units if unit.kind in DEFINITIONS and unit.qualified_name] if parsed is not None else []


def _by_name(units: Iterable[Unit]) -> Mapping[str, list[Unit]]:
    found: dict[str, list[Unit]] = {}
    for unit in units:
        found.setdefault(unit.qualified_name, []).append(unit)
    return found


def _span(unit: Unit) -> tuple[int, int]:
    return unit.first_line, unit.last_line
