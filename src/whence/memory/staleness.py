"""Staleness: whether the code that a note names has changed since, and what it was then.

A note names a file, or all definitions in it with one qualified name together: a name may have overloads, or a branch
for each platform. No index is opened; the file is read and parsed as it is now. Hashes ignore indentation and blank
lines, so a definition may move; editing its body, signature, decorators or comments changes its hash.

Code is gone if the name or the file no longer exists, or something that is not text is in its place (a folder, a link,
a pipe). Its state is unknown if it may well exist and cannot be checked: the root is not on this machine, the file is
unreadable, too large or being written, or no grammar can parse it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from whence.core.errors import UsageError
from whence.memory.note import CodeRef
from whence.source.git import repository_root
from whence.source.read import decode, label_secrets, open_inside
from whence.source.walk import FileState, Walker

if TYPE_CHECKING:
    from whence.source.history import FileVersion
    from whence.text.line_diff import LineChange, NumberedLine

#: Larger files are not read: the default of indexing.
MAX_BYTES = 1_500_000
#: Names that are cached with their hashes: ten megabytes or so.
MAX_NAMES = 50_000
#: Versions of a file that are compared, and the seconds that git and the comparison may each take.
MAX_VERSIONS, MAX_SECONDS = 200, 1.0
#: Versions fetched from git at once: the first few are nearly always enough.
VERSION_BATCH = 8
#: The start of a file, from which its language is detected.
_HASH_BYTES = 8  # 16 digits
#: Suggestions for a name that does not exist, and how similar they must be.
_SUGGESTIONS, _MIN_SIMILARITY = 3, 0.75
_NOT_FOUND = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
#: Characters that front matter cannot hold: line ends, control characters, bytes that are not UTF-8.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
_NO_FILE = "no such file"
_FORM = "write path/to/file or path/to/file#qualified.name, relative to the root"


class CodeState(Enum):
    """What has become of some code."""

    FRESH = "fresh"
    CHANGED = "changed"
    GONE = "gone"
    UNKNOWN = "unknown"  # it cannot be checked, or was never hashed


#: How stale code is reported.
CHANGES = {CodeState.CHANGED: "the code has changed since", CodeState.GONE: "the code is gone"}


class _Unreadable(Exception):
    """There is no text to hash: the state that follows, and why."""

    def __init__(self, state: CodeState, reason: str) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


@dataclass(frozen=True, slots=True)
class _CachedFile:
    stamps: FileState
    content: int  # Python's hash of its text, valid in this process
    hashes: dict[str, str]  # by qualified name; the empty name is the whole file
    has_names: bool  # whether names were parsed
    is_parsable: bool = True  # whether a grammar could parse it


def code_ref(code: str, root: Path, grammars: Path | None = None) -> CodeRef:
    """A reference to `path` or `path#qualified.name` below a root, hashed as it is now; errors suggest the nearest name."""
    path, _, symbol = code.partition("#")
    try:
        path = "/".join(_parts(path))
        text, _ = _read(path, root)
    except _Unreadable as problem:
        _refuse(path, root, problem)
    whole = CodeRef(path, hash_ranges(text, [_whole(text)]), str(root.absolute()))
    if not symbol:
        return whole
    ranges = _definitions(path, text, grammars)
    if ranges is None:
        raise UsageError(f"{path}: no names are recognized in this file", hint=f"name the whole file: {path}")
    name = symbol if symbol in ranges else symbol.replace("::", ".").replace("#", ".")
    if name not in ranges:
        near = _nearest(name, ranges, ".")
        raise UsageError(
            f"{path} has no {symbol!r}" + (f"; nearest: {', '.join(near)}" if near else ""), hint=f"or name the whole file: {path}"
        )
    return replace(whole, code=f"{path}#{name}", hash=hash_ranges(text, ranges[name]))


class CodeStates:
    """The states of code for many notes: a file is read and parsed again only when it changes.

    `grammars` is where grammars are unpacked if the user's cache is not writable.
    """

    def __init__(self, grammars: Path | None = None, max_names: int = MAX_NAMES) -> None:
        self._grammars = grammars
        self._max_names = max_names
        self._files: OrderedDict[tuple[str, str], _CachedFile] = OrderedDict()  # by root and path, last used last
        self._names = 0

    def state(self, ref: CodeRef, root: Path | None, now_ns: int = 0) -> CodeState:
        """What has become of some code; never raises.

        Stamps vouch for a cached file only if they were old enough at `now_ns` when it was read. Without `now_ns` a
        file is read each time, though not parsed.
        """
        if root is None or not ref.hash:
            return CodeState.UNKNOWN
        try:
            found = self._hash(ref.code, root, now_ns)
        except _Unreadable as problem:
            return problem.state
        if found is None:
            return CodeState.GONE
        return CodeState.FRESH if found == ref.hash else CodeState.CHANGED

    def hash(self, code: str, root: Path, now_ns: int = 0) -> str | None:
        """The hash of some code as it is now; None if it is gone or cannot be checked."""
        try:
            return self._hash(code, root, now_ns)
        except _Unreadable:
            return None

    def _hash(self, code: str, root: Path, now_ns: int) -> str | None:
        path, _, symbol = code.partition("#")
        key = (str(root), path)
        cached = self._files.get(key)
        if cached is None or (symbol and not cached.has_names) or not cached.stamps.is_unchanged(_lstat(path, root)):
            cached = self._read(key, cached, bool(symbol), now_ns)
        self._files.move_to_end(key)
        if symbol and not cached.is_parsable:
            raise _Unreadable(CodeState.UNKNOWN, "no grammar can parse it")
        return cached.hashes.get(symbol)

    def _read(self, key: tuple[str, str], before: _CachedFile | None, names: bool, now_ns: int) -> _CachedFile:
        path = key[1]
        self._evict(key)
        text, state = _read(path, Path(key[0]))
        stamps = FileState(state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, now_ns)
        content = hash(text)
        if before is not None and before.content == content and (before.has_names or not names):
            cached = replace(before, stamps=stamps)
        else:
            ranges = _definitions(path, text, self._grammars) if names else {}
            hashes = {name: hash_ranges(text, some) for name, some in (ranges or {}).items()}
            hashes[""] = hash_ranges(text, [_whole(text)])
            cached = _CachedFile(stamps, content, hashes, names, ranges is not None)
        self._names += len(cached.hashes)
        while self._files and self._names > self._max_names:
            self._evict(next(iter(self._files)))
        self._files[key] = cached
        return cached

    def _evict(self, key: tuple[str, str]) -> None:
        cached = self._files.pop(key, None)
        if cached is not None:
            self._names -= len(cached.hashes)


# Files.
def _parts(path: str) -> list[str]:
    """The names along a path that stays below its root."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts:
        raise _Unreadable(CodeState.UNKNOWN, "leads out of the root")
    if not parts or _UNWRITABLE.search(path):
        raise _Unreadable(CodeState.UNKNOWN, "names no file")
    return parts


def _lstat(path: str, root: Path) -> os.stat_result:
    with _translated_errors(root):
        return os.lstat(f"{root}/{path}")


@contextmanager
def _translated_errors(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NOT_FOUND:
            raise _Unreadable(CodeState.UNKNOWN, f"cannot be read: {error.strerror}") from error
        if not root.is_dir():
            raise _Unreadable(CodeState.UNKNOWN, f"{root} is not a folder on this machine") from error
        raise _Unreadable(CodeState.GONE, _NO_FILE) from error
    except ValueError as error:  # a NUL, or a name that no file system can encode
        raise _Unreadable(CodeState.UNKNOWN, "names no file") from error


def _read(path: str, root: Path) -> tuple[bytes, os.stat_result]:
    """The normalized text of a file, and its state. Only a regular file is ever opened."""
    parts = _parts(path)
    _check_regular(_lstat(path, root).st_mode)
    with _translated_errors(root):
        handle = open_inside(root, "/".join(parts))
        with os.fdopen(handle, "rb") as file:
            state = os.fstat(handle)
            _check_regular(state.st_mode)
            if state.st_size > MAX_BYTES:
                raise _Unreadable(CodeState.UNKNOWN, f"larger than {MAX_BYTES} bytes")
            raw = file.read(state.st_size + 1)
            after = os.fstat(handle)
    if len(raw) != state.st_size or (after.st_mtime_ns, after.st_ctime_ns) != (state.st_mtime_ns, state.st_ctime_ns):
        raise _Unreadable(CodeState.UNKNOWN, "is being written: try again")
    text = _normalized(raw, path)
    if text is None:
        raise _Unreadable(CodeState.GONE, "is binary")
    return text, state


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = "is a folder" if stat.S_ISDIR(mode) else "is a link" if stat.S_ISLNK(mode) else "is not a regular file"
        raise _Unreadable(CodeState.GONE, kind)


def _normalized(raw: bytes, path: str) -> bytes | None:
    """File content as UTF-8 with plain line ends; None if it is not text."""
    text = decode(raw, path)
    if text is not None and b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.replace(b"\0", b" ") if text is not None else None  # no grammar expects a NUL


# Definitions.
class CodeRange(NamedTuple):
    """The bytes of a definition, and the indentation of its first line."""

    indentation: bytes
    start: int
    end: int

    def of(self, text: bytes) -> bytes:
        """The code."""
        return self.indentation + text[self.start : self.end]


def _whole(text: bytes) -> CodeRange:
    return CodeRange(b"", 0, len(text))


def ranges_of(code: str, text: bytes, grammars: Path | None = None) -> list[CodeRange]:
    """Where some code is in the text of its file; nowhere if the name does not exist or no grammar can parse it."""
    path, _, symbol = code.partition("#")
    found = _definitions(path, text, grammars) if symbol else {"": [_whole(text)]}
    return (found or {}).get(symbol, [])


def _definitions(path: str, text: bytes, grammars: Path | None) -> dict[str, list[CodeRange]] | None:
    """The ranges of all definitions by qualified name, in order; None if no grammar can parse the file."""
    from whence.parse.grammars import keep_grammars_in, looks_like_a_table  # noqa: PLC0415  -- a note without code needs none
    from whence.parse.units import parse_named  # noqa: PLC0415  -- as above

    if grammars is not None:
        keep_grammars_in(grammars)
    parsed = parse_named(path, text)
    if parsed is None:
        return None
    found: dict[str, list[CodeRange]] = {}
    for unit in parsed.units:
        if unit.qualified_name and unit.kind != "raw":
            before = text[text.rfind(b"\n", 0, unit.start) + 1 : unit.start]
            indentation = before[: len(before) - len(before.lstrip())]
            found.setdefault(unit.qualified_name, []).append(CodeRange(indentation, unit.start, unit.end))
    return found if found or not looks_like_a_table(text) else None  # the parser may have timed out on a table


def hash_ranges(text: bytes, ranges: Iterable[CodeRange]) -> str:
    """The hash of some code."""
    import hashlib  # noqa: PLC0415  -- loads all of OpenSSL

    return hashlib.blake2b(b"\0".join(_significant(one.of(text)) for one in ranges), digest_size=_HASH_BYTES).hexdigest()


def _significant(code: bytes) -> bytes:
    """Code without blank lines, trailing white space, and the indentation of its first line.

    Lines that are indented less stay as they are: a multi-line string may start at the margin.
    """
    lines = [line for line in map(bytes.rstrip, code.split(b"\n")) if line]
    if not lines:
        return b""
    indentation = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return b"\n".join(line.removeprefix(indentation) for line in lines) if indentation else b"\n".join(lines)


# Errors.
def _refuse(path: str, root: Path, problem: _Unreadable) -> NoReturn:
    along = [root.joinpath(*path.split("/")[:depth]) for depth in range(1, path.count("/") + 2)]
    if problem.state is CodeState.GONE and any(step.is_symlink() for step in along):
        raise UsageError(f"{path} goes through a link", hint="name the file it points to, below the root")
    if problem.reason != _NO_FILE:
        raise UsageError(f"{path if path and path.isprintable() else repr(path)}: {problem.reason}", hint=_FORM)
    files = Walker(str(root), max_file_bytes=MAX_BYTES, hidden=False, now_ns=0).walk().files
    near = _nearest(path, files, "/")
    raise UsageError(f"{_NO_FILE}: {path}" + (f"; nearest: {', '.join(near)}" if near else ""), hint=_FORM)


def _nearest(name: str, names: Iterable[str], separator: str) -> list[str]:
    """Names whose last part is the same, or the most similar."""
    from difflib import get_close_matches  # noqa: PLC0415  -- only for errors

    by_last: dict[str, list[str]] = {}
    for one in names:
        by_last.setdefault(one.rpartition(separator)[2], []).append(one)
    last = name.rpartition(separator)[2]
    if last in by_last:
        return get_close_matches(name, by_last[last], _SUGGESTIONS, 0.0)
    near = get_close_matches(last, by_last, 1, _MIN_SIMILARITY)
    return get_close_matches(name, by_last[near[0]], _SUGGESTIONS, 0.0) if near else []


# History: a note stores only a hash; git has the rest. The version a note was written about is the one whose code has that
# hash. Versions are tried from the time of the note outwards: the nearest is nearly always the one.
@dataclass(frozen=True, slots=True)
class CodeHistory:
    """Code that a note is about: what has become of it, and what it was."""

    ref: CodeRef
    state: CodeState
    message: str  # where the earlier version was found, or why there is none to compare with
    commit: str = ""  # with the version that the note was written about
    time: int = 0  # of that commit, in seconds since 1970
    lines: tuple[LineChange, ...] = ()  # from then to now, without secrets


class _Version(NamedTuple):
    """A version of a file, and where the code is in it."""

    version: FileVersion
    text: bytes
    ranges: list[CodeRange]


def history_of(ref: CodeRef, root: Path | None, written: datetime | None, grammars: Path | None = None) -> CodeHistory:
    """What has become of code since a note was written; never raises."""
    from whence.text.line_diff import MAX_LINES, diff_lines, removed_lines  # noqa: PLC0415  -- few calls compare code

    state = CodeStates(grammars).state(ref, root)
    if state is CodeState.FRESH:
        return CodeHistory(ref, state, "is unchanged")
    if root is None:
        return CodeHistory(ref, state, "its repository is not known here")
    text, reason = _text_now(ref.path, root)
    if state is CodeState.UNKNOWN:
        return CodeHistory(ref, state, "the note has no hash of it" if not ref.hash else reason or "no grammar can parse it")
    found = _version_then(ref, root, written, grammars)
    if isinstance(found, str):
        return CodeHistory(ref, state, f"its earlier version is unknown: {found}")
    then = _lines(ref.path, found.text, found.ranges)
    now = _lines(ref.path, text, ranges_of(ref.code, text, grammars)) if text is not None else []
    lines = list(removed_lines(then[:MAX_LINES])) if state is CodeState.GONE else diff_lines(then, now)
    message = _message(state, found.version.commit[:10], lines)
    return CodeHistory(ref, state, message, found.version.commit, found.version.time, tuple(lines or ()))


def _message(state: CodeState, commit: str, lines: Sequence[LineChange] | None) -> str:
    if lines is None:
        return f"is too long to be compared here; the note was written about commit {commit}"
    if not lines:
        return f"differs from commit {commit} in nothing but a secret"
    return f"compared with commit {commit}" if state is CodeState.CHANGED else f"as it was in commit {commit}"


def _text_now(path: str, root: Path) -> tuple[bytes | None, str]:
    try:
        return _read(path, root)[0], ""
    except _Unreadable as problem:
        return None, problem.reason


def _version_then(ref: CodeRef, root: Path, written: datetime | None, grammars: Path | None) -> _Version | str:
    """The version that a note was written about, or why it is unknown."""
    from whence.source.history import list_versions  # noqa: PLC0415  -- asks git, which few calls need

    if repository_root(root) is None:
        return "it is not in a git repository"
    versions = list_versions(root, ref.path, MAX_VERSIONS, MAX_SECONDS)
    if versions is None:
        return "git has no history of this file"
    if not versions:
        return "the file was never committed"
    deadline = time.monotonic() + MAX_SECONDS
    name = ref.symbol.rpartition(".")[2].encode("utf-8", "replace")
    tried = 0
    for tried, (version, text) in enumerate(_texts(root, ref.path, _nearest_first(versions, written)), 1):
        ranges = ranges_of(ref.code, text, grammars) if name in text else []  # a search is cheaper than parsing
        if ranges and hash_ranges(text, ranges) == ref.hash:
            return _Version(version, text, ranges)
        if time.monotonic() > deadline:
            return f"none of the {tried} versions in git nearest to the note matches"
    return "the only version in git does not match" if tried == 1 else f"none of the {tried} versions in git matches"


def _nearest_first(versions: Sequence[FileVersion], written: datetime | None) -> list[FileVersion]:
    """Distinct contents, nearest to the time of the note first, else newest first."""
    ordered = sorted(versions, key=lambda version: abs(version.time - written.timestamp())) if written else versions
    distinct: dict[str, FileVersion] = {}
    for version in ordered:
        distinct.setdefault(version.blob, version)
    return list(distinct.values())


def _texts(root: Path, path: str, versions: Sequence[FileVersion]) -> Iterator[tuple[FileVersion, bytes]]:
    from whence.source.history import read_blobs  # noqa: PLC0415  -- as above

    for at in range(0, len(versions), VERSION_BATCH):
        batch = versions[at : at + VERSION_BATCH]
        contents = read_blobs(root, [version.blob for version in batch], MAX_BYTES)
        for version in batch:
            text = _normalized(contents[version.blob], path) if version.blob in contents else None
            if text is not None:
                yield version, text


def _lines(path: str, text: bytes, ranges: Sequence[CodeRange]) -> list[NumberedLine]:
    """Code as lines, without secrets and without its common indentation."""
    from whence.text.line_diff import NumberedLine, number_lines  # noqa: PLC0415  -- as above

    clean = label_secrets(text.decode("utf-8", "replace"), path).encode()
    found: list[NumberedLine] = []
    for one in ranges:
        lines = number_lines(one.of(clean).decode("utf-8", "replace"), text.count(b"\n", 0, one.start) + 1)
        indentation = one.indentation.decode("utf-8", "replace")
        found += [NumberedLine(line.number, line.text.removeprefix(indentation)) for line in lines]
    return found
