"""A note names code, and goes quiet when the code changes (M8).

What is named is a file, or the definitions in it that bear one qualified name: all
of them together, for a name may have overloads or a branch for each system. No index
is opened: the file is read and parsed as it is now. Its hash is of the text without
what does not change its meaning, so a definition that moves is the same, and one
whose body, signature, decorators or comments are edited is not.

Code is gone when there is no such name, no such file, or something that is no text in
its place (a folder, a link, a pipe). Its state is unknown when it may well be there and
cannot be judged: its root is not on this machine, it may not be read, it is too large,
it is being written, or no grammar can read it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import NamedTuple, NoReturn

from whence.core.errors import UsageError
from whence.memory.note import CodeRef
from whence.source.decode import longest_line, to_utf8
from whence.source.read import open_inside
from whence.source.walk import FileState, Walker

#: Larger files are not read, and files with a longer line not parsed: the defaults of what is indexed.
MOST_BYTES = 1_500_000
LONGEST_LINE = 20_000
#: Names in files that are kept with their hashes: some ten megabytes at most.
MOST_NAMES = 50_000
#: The beginning of a file, in which its language shows.
_HEAD = 4_096
_HASH_BYTES = 8  # 16 digits
#: Names that are told when one is not there, and how alike they must be.
_NEAREST = 3
_LIKE = 0.75
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
#: What a line of a note cannot hold: ends of lines, controls, bytes that are no UTF-8.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
_NO_FILE = "no such file"
_FORM = "write path/to/file or path/to/file#qualified.name, below the root"


class CodeState(Enum):
    """What became of the code that a note names."""

    FRESH = "fresh"
    CHANGED = "changed"
    GONE = "gone"
    UNKNOWN = "unknown"  # it cannot be judged, or was never hashed


class _Unseen(Exception):
    """There is no text to look at: what that makes of the code, and why."""

    def __init__(self, state: CodeState, reason: str) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Held:
    """What is remembered of a file."""

    stamps: FileState
    content: int  # Python's own hash of its text: good for this process
    hashes: dict[str, str]  # by qualified name; the empty name is the whole file
    parsed: bool  # whether names were looked for
    readable: bool = True  # whether a grammar could read it


#: What is said of code that is not as it was when a note was written.
CHANGED = {CodeState.CHANGED: "the code has changed since", CodeState.GONE: "the code is gone"}


def named(code: str, root: Path, grammars: Path | None = None) -> CodeRef:
    """The code that is meant by `path` or `path#qualified.name` below a root, as it is now; an error names the nearest."""
    path, _, symbol = code.partition("#")
    try:
        path = "/".join(_parts(path))
        text, _ = _read(path, root)
    except _Unseen as trouble:
        _refuse(path, root, trouble)
    whole = CodeRef(path, _digest([_meaning(text)]), str(root.absolute()))
    if not symbol:
        return whole
    pieces = _pieces(path, text, grammars)
    if pieces is None:
        raise UsageError(f"{path}: no names can be told apart in this file", hint=f"name the whole file: {path}")
    found = symbol if symbol in pieces else symbol.replace("::", ".").replace("#", ".")
    if found not in pieces:
        near = _nearest(found, pieces, ".")
        raise UsageError(
            f"{path} has no {symbol!r}" + (f"; nearest: {', '.join(near)}" if near else ""), hint=f"or name the whole file: {path}"
        )
    return replace(whole, code=f"{path}#{found}", hash=_digest(pieces[found]))


def hash_of(code: str, root: Path, grammars: Path | None = None) -> str | None:
    """The hash of some code as it is now, or None when it is gone or cannot be judged."""
    return CodeStates(grammars).hash(code, root)


def state_of(about: CodeRef, root: Path | None, grammars: Path | None = None) -> CodeState:
    """What became of the code that a note names; never an exception."""
    return CodeStates(grammars).state(about, root)


class CodeStates:
    """The states of code for many notes: a file is read and parsed once, and again only when it changes.

    `grammars` is where grammars are unpacked when the user's cache cannot be written.
    """

    def __init__(self, grammars: Path | None = None, most_names: int = MOST_NAMES) -> None:
        self._grammars = grammars
        self._most_names = most_names
        self._held: OrderedDict[tuple[str, str], _Held] = OrderedDict()  # by root and path, last used last
        self._names = 0

    def state(self, about: CodeRef, root: Path | None, now_ns: int = 0) -> CodeState:
        """What became of the code that a note names; never an exception.

        A file is taken to be the same by its stamps only when they were some time old at the
        `now_ns` of its reading; one that was read without it is read each time, though not parsed.
        """
        if root is None or not about.hash:
            return CodeState.UNKNOWN
        try:
            found = self._hash(about.code, root, now_ns)
        except _Unseen as trouble:
            return trouble.state
        if found is None:
            return CodeState.GONE
        return CodeState.FRESH if found == about.hash else CodeState.CHANGED

    def hash(self, code: str, root: Path, now_ns: int = 0) -> str | None:
        """The hash of some code as it is now, or None when it is gone or cannot be judged."""
        try:
            return self._hash(code, root, now_ns)
        except _Unseen:
            return None

    def _hash(self, code: str, root: Path, now_ns: int) -> str | None:
        """The present hash; None when the file has no such name."""
        path, _, symbol = code.partition("#")
        key = (str(root), path)
        held = self._held.get(key)
        if held is None or (symbol and not held.parsed) or not held.stamps.is_unchanged(_looked_at(path, root)):
            held = self._read(key, held, bool(symbol), now_ns)
        self._held.move_to_end(key)
        if symbol and not held.readable:
            raise _Unseen(CodeState.UNKNOWN, "no grammar can read it")
        return held.hashes.get(symbol)

    def _read(self, key: tuple[str, str], before: _Held | None, symbols: bool, now_ns: int) -> _Held:
        path = key[1]
        self._forget(key)
        text, found = _read(path, Path(key[0]))
        stamps = FileState(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, now_ns)
        content = hash(text)
        if before is not None and before.content == content and (before.parsed or not symbols):
            held = replace(before, stamps=stamps)
        else:
            pieces = _pieces(path, text, self._grammars) if symbols else {}
            hashes = {name: _digest(some) for name, some in (pieces or {}).items()}
            hashes[""] = _digest([_meaning(text)])
            held = _Held(stamps, content, hashes, symbols, pieces is not None)
        self._keep(key, held)
        return held

    def _keep(self, key: tuple[str, str], held: _Held) -> None:
        self._names += len(held.hashes)
        while self._held and self._names > self._most_names:
            self._forget(next(iter(self._held)))
        self._held[key] = held

    def _forget(self, key: tuple[str, str]) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self._names -= len(held.hashes)


# What is at a path.
def _parts(path: str) -> list[str]:
    """The names along a path that stays below its root."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts:
        raise _Unseen(CodeState.UNKNOWN, "leads out of the root")
    if not parts or _UNWRITABLE.search(path):
        raise _Unseen(CodeState.UNKNOWN, "names no file")
    return parts


def _looked_at(path: str, root: Path) -> os.stat_result:
    with _trouble_told(root):
        return os.lstat(f"{root}/{path}")


@contextmanager
def _trouble_told(root: Path) -> Iterator[None]:
    """Trouble with a file as what it makes of the code."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise _Unseen(CodeState.UNKNOWN, f"cannot be read: {error.strerror}") from error
        if not root.is_dir():
            raise _Unseen(CodeState.UNKNOWN, f"{root} is no folder on this machine") from error
        raise _Unseen(CodeState.GONE, _NO_FILE) from error
    except ValueError as error:  # a NUL, or what no file system can spell
        raise _Unseen(CodeState.UNKNOWN, "names no file") from error


def _read(path: str, root: Path) -> tuple[bytes, os.stat_result]:
    """The text of a file with plain line ends, and what the file looked like. Only a regular file is ever opened."""
    parts = _parts(path)
    if (kind := _unfit(_looked_at(path, root).st_mode)) is not None:
        raise _Unseen(CodeState.GONE, kind)
    with _trouble_told(root):
        handle = open_inside(root, "/".join(parts))
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if (kind := _unfit(found.st_mode)) is not None:
                raise _Unseen(CodeState.GONE, kind)
            if found.st_size > MOST_BYTES:
                raise _Unseen(CodeState.UNKNOWN, f"larger than {MOST_BYTES} bytes")
            raw = file.read(found.st_size + 1)
            after = os.fstat(handle)
    if len(raw) != found.st_size or (after.st_mtime_ns, after.st_ctime_ns) != (found.st_mtime_ns, found.st_ctime_ns):
        raise _Unseen(CodeState.UNKNOWN, "is being written: try again")
    text = plain_text(raw)
    if text is None:
        raise _Unseen(CodeState.GONE, "binary, no text")
    return text, found


def plain_text(raw: bytes) -> bytes | None:
    """The bytes of a file as the text that is hashed: in UTF-8, with plain line ends; None when they are no text."""
    text = to_utf8(raw)
    if text is not None and b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.replace(b"\0", b" ") if text is not None else None  # no grammar expects one


def _unfit(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return None
    return "is a folder" if stat.S_ISDIR(mode) else "is a link" if stat.S_ISLNK(mode) else "not a regular file"


# What is in it.
class CodeRange(NamedTuple):
    """Where a definition stands in a text: its bytes, and the white space that its first line begins with."""

    indentation: bytes
    start: int
    end: int

    def of(self, text: bytes) -> bytes:
        """What stands there."""
        return self.indentation + text[self.start : self.end]


def stretches_of(code: str, text: bytes, grammars: Path | None = None) -> list[CodeRange]:
    """Where in the text of its file some code stands; nowhere when it has no such name, or no grammar can read it."""
    path, _, symbol = code.partition("#")
    found = _stretches(path, text, grammars) if symbol else {"": [CodeRange(b"", 0, len(text))]}
    return (found or {}).get(symbol, [])


def hash_at(text: bytes, stretches: Iterable[CodeRange]) -> str:
    """The hash of the code that stands there."""
    return _digest(_meaning(one.of(text)) for one in stretches)


def text_now(path: str, root: Path) -> tuple[bytes | None, str]:
    """The text of a file as it is now, or None and the reason why it cannot be looked at."""
    try:
        return _read(path, root)[0], ""
    except _Unseen as trouble:
        return None, trouble.reason


def _pieces(path: str, text: bytes, grammars: Path | None) -> dict[str, list[bytes]] | None:
    """The text of every definition by its qualified name, in order; None when no grammar can read the file."""
    found = _stretches(path, text, grammars)
    return None if found is None else {name: [_meaning(one.of(text)) for one in some] for name, some in found.items()}


def _stretches(path: str, text: bytes, grammars: Path | None) -> dict[str, list[CodeRange]] | None:
    """Where every definition stands, by its qualified name, in order; None when no grammar can read the file."""
    from whence.parse.grammars import grammar_of, keep_grammars_in  # noqa: PLC0415  -- a note about no code needs no grammar
    from whence.parse.languages import language_of  # noqa: PLC0415  -- as above
    from whence.parse.lines import beyond_a_grammar, looks_like_a_table  # noqa: PLC0415  -- as above
    from whence.parse.units import parse  # noqa: PLC0415  -- as above

    if grammars is not None:
        keep_grammars_in(grammars)
    language = language_of(path, text[:_HEAD])
    if grammar_of(language.name) is None or longest_line(text) > LONGEST_LINE or beyond_a_grammar(text, language.unbearable):
        return None
    found: dict[str, list[CodeRange]] = {}
    for unit in parse(text, language.name).units:
        if unit.qualified_name and unit.kind != "raw":
            before = text[text.rfind(b"\n", 0, unit.start) + 1 : unit.start]
            indentation = before[: len(before) - len(before.lstrip())]
            found.setdefault(unit.qualified_name, []).append(CodeRange(indentation, unit.start, unit.end))
    return found if found or not looks_like_a_table(text) else None  # a table may have taken the parser too long


def _meaning(text: bytes) -> bytes:
    """A text without blank lines, white space at line ends, and the indentation of its first line.

    Lines that are indented less keep what they have: a text in quotes may start at the margin.
    """
    lines = [line for line in map(bytes.rstrip, text.split(b"\n")) if line]
    if not lines:
        return b""
    indentation = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return b"\n".join(line.removeprefix(indentation) for line in lines) if indentation else b"\n".join(lines)


def _digest(pieces: Iterable[bytes]) -> str:
    import hashlib  # noqa: PLC0415  -- loads all of OpenSSL

    return hashlib.blake2b(b"\0".join(pieces), digest_size=_HASH_BYTES).hexdigest()


# What is said when nothing is found.
def _refuse(path: str, root: Path, trouble: _Unseen) -> NoReturn:
    along = [root.joinpath(*path.split("/")[:depth]) for depth in range(1, path.count("/") + 2)]
    if trouble.state is CodeState.GONE and any(step.is_symlink() for step in along):
        raise UsageError(f"{path} goes through a link", hint="name the file that it leads to, below the root")
    if trouble.reason != _NO_FILE:
        raise UsageError(f"{path if path and path.isprintable() else repr(path)}: {trouble.reason}", hint=_FORM)
    near = _nearest(path, _files(root), "/")
    raise UsageError(f"{_NO_FILE}: {path}" + (f"; nearest: {', '.join(near)}" if near else ""), hint=_FORM)


def _files(root: Path) -> Iterable[str]:
    """The files that would be indexed."""
    return Walker(str(root), max_file_bytes=MOST_BYTES, hidden=False, now_ns=0).walk().files


def _nearest(wanted: str, names: Iterable[str], joint: str) -> list[str]:
    """Names written much like one that is not there: those whose last part is the same, or most alike."""
    from difflib import get_close_matches  # noqa: PLC0415  -- only where something is wrong

    by_last: dict[str, list[str]] = {}
    for name in names:
        by_last.setdefault(name.rpartition(joint)[2], []).append(name)
    last = wanted.rpartition(joint)[2]
    if last in by_last:
        return get_close_matches(wanted, by_last[last], _NEAREST, 0.0)
    near = get_close_matches(last, by_last, 1, _LIKE)
    return get_close_matches(wanted, by_last[near[0]], _NEAREST, 0.0) if near else []
