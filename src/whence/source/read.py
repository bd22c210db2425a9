"""The one place through which the text of a tree is read, to index it and to show it: without its secrets (Z10).

What takes the place of a secret is as long as it, in characters and in bytes, and has its spaces and line ends: every
offset and every line number of the text stays. No tokenizer takes it for a word.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from _blake2 import blake2b  # hashlib would load all of OpenSSL for it, on the way to an answer
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from whence.text.secrets import Secret, find_secrets

if TYPE_CHECKING:
    from whence.source.walk import FileState


def content_hash(raw: bytes) -> bytes:
    """The hash of a file's content."""
    return blake2b(raw, digest_size=16).digest()


#: Enough of a file to tell text from anything else.
SNIFFED = 8_192
_WIDE = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def to_utf8(raw: bytes) -> bytes | None:
    """The text as UTF-8, or None when it is no text. Unknown encodings are read as Latin-1: searchable, if not pretty."""
    for mark, encoding in _WIDE:
        if raw.startswith(mark):
            try:
                return raw.decode(encoding).encode("utf-8")
            except UnicodeError:
                return None
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if b"\0" in raw[:SNIFFED]:
        return None
    try:
        if not raw.isascii():
            raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1").encode("utf-8")
    return raw


#: A notebook's file may be so many times as large as other files: most of it are outputs, which are not indexed.
_NOTEBOOK_SHARE = 10


def read_limit(path: str, most: int) -> int:
    """How many bytes of a file are read where `most` bytes of text are wanted."""
    return most * _NOTEBOOK_SHARE if path.endswith(".ipynb") else most


def decode(raw: bytes, path: str) -> bytes | None:
    """The text of a file as UTF-8: of a notebook its cells; None when it is no text."""
    text = to_utf8(raw)
    if text is None or not path.endswith(".ipynb"):
        return text
    from whence.source.notebook import notebook_text  # noqa: PLC0415  -- only for notebooks

    cells = notebook_text(text)
    return text if cells is None else cells


def longest_line(text: bytes) -> int:
    """The length of the longest line, in bytes."""
    longest, at = 0, 0
    while True:
        end = text.find(b"\n", at)
        if end < 0:
            return max(longest, len(text) - at)
        longest, at = max(longest, end - at), end + 1


#: What stands for a character of a secret, by the number of bytes that it has in UTF-8.
_FILLERS = {1: "*", 2: "\u00d7", 3: "\uff0a", 4: "\U0001f7b6"}

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

#: Texts in which this process found no secret: answers show the same files again and again. Only hashes of them are kept.
_CLEAN: set[tuple[str, int, int]] = set()
_MOST_CLEAN = 10_000


def mask_secrets(text: bytes, path: str) -> bytes:
    """A text in UTF-8 as it is indexed: each secret replaced by as many bytes that say nothing."""
    plain = text.decode("utf-8", "surrogateescape")
    found = find_secrets(plain, path)
    return _without(plain, path, found, labelled=False).encode("utf-8", "surrogateescape") if found else text


def _without(text: str, path: str, found: Sequence[Secret], *, labelled: bool) -> str:
    """A text without secrets; looked through once more, for one that stood right beside another can be told only now."""
    again = find_secrets(_covered(text, [(one.start, one.end, "") for one in found]), path)
    shown = _covered(text, [(one.start, one.end, f"[redacted: {one.kind}]" if labelled else "") for one in found])
    known = [(one.start, one.end) for one in found]
    news = [(one.start, one.end, "") for one in again if not any(a <= one.start and one.end <= b for a, b in known)]
    return _covered(shown, news)


def label_secrets(text: str, path: str) -> str:
    """A text as it is shown: in place of each secret what kind it is of, where there is room for that."""
    known = (path, len(text), hash(text))
    if known in _CLEAN:
        return text
    found = find_secrets(text, path)
    if not found:
        if len(_CLEAN) >= _MOST_CLEAN:
            _CLEAN.clear()
        _CLEAN.add(known)
        return text
    return _without(text, path, found, labelled=True)


def strip_secrets(text: str) -> str:
    """What somebody asked or said, where it is kept or repeated: without secrets, and with no words in their place."""
    return _covered(text, [(one.start, one.end, "") for one in find_secrets(text)])


def read_text(root: str | os.PathLike[str], path: str, most: int, is_clean: Callable[[bytes], bool] | None = None) -> str | None:
    """The beginning of a file of a tree as it is on disk now, as it is shown; None when it is gone, no text, or reached by a link.

    `is_clean` may know from its bytes that there is no secret in it.
    """
    try:
        raw = read_prefix(open_inside(root, path), read_limit(path, most))
    except (OSError, ValueError):  # a name with a NUL in it is no file either
        return None
    decoded = decode(raw, path)
    if decoded is None:
        return None
    text = decoded.decode("utf-8", "replace")
    return text if is_clean is not None and is_clean(raw) else label_secrets(text, path)


def find_lines(
    root: str | os.PathLike[str],
    paths: Iterable[str],
    most: int,
    find: Callable[[bytes], list[int]],
    clean: Mapping[str, FileState],
) -> Iterator[tuple[str, bytes, list[int]]]:
    """The files of a tree in which `find` finds lines, as they are shown, with these lines.

    A file is searched as it is on disk; secrets are looked for only where something was found and it is none of the
    `clean` ones, which had none and have not changed.
    """
    for path, state, raw in _read_files(root, paths, most):
        text = decode(raw, path)
        if text is None or not (lines := find(text)):
            continue
        if path not in clean or not clean[path].is_unchanged(state):
            plain = text.decode("utf-8", "replace")
            shown = label_secrets(plain, path)
            if shown is not plain:
                text = shown.encode("utf-8")
                still = set(find(text))
                lines = [line for line in lines if line in still]
        if lines:
            yield path, text, lines


def _read_files(root: str | os.PathLike[str], paths: Iterable[str], most: int) -> Iterator[tuple[str, os.stat_result, bytes]]:
    """The first bytes of many files, as `open_inside` reads them: a folder stays open while its files follow one another."""
    names: list[str] = []  # of the folders below the root that are open
    handles = [os.open(root, _FOLDER)]
    try:
        for path in paths:
            *folders, name = path.split("/")
            if folders != names and not _enter(folders, names, handles):
                continue
            try:
                handle = os.open(name, _FILE, dir_fd=handles[-1])
            except (OSError, ValueError):
                continue
            try:
                state = os.fstat(handle)
                if stat.S_ISREG(state.st_mode):
                    yield path, state, os.read(handle, min(state.st_size, read_limit(path, most)) + 1)
            finally:
                os.close(handle)
    finally:
        for handle in handles:
            os.close(handle)


def _enter(folders: list[str], names: list[str], handles: list[int]) -> bool:
    """Open the folders of a path one below the other, as far as they are not open; False if one cannot be."""
    same = next((at for at, (one, other) in enumerate(zip(folders, names)) if one != other), min(len(folders), len(names)))  # noqa: B905
    while len(names) > same:
        names.pop()
        os.close(handles.pop())
    for folder in folders[same:]:
        if folder in ("", ".", ".."):
            return False
        try:
            handles.append(os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=handles[-1]))
        except (OSError, ValueError):
            return False
        names.append(folder)
    return True


def read_masked(root: str | os.PathLike[str], path: str, most: int) -> bytes | None:
    """The same as it is indexed, in UTF-8."""
    raw = _read(root, path, most)
    return None if raw is None else mask_secrets(raw, path)


def _read(root: str | os.PathLike[str], path: str, most: int) -> bytes | None:
    try:
        return decode(read_prefix(open_inside(root, path), read_limit(path, most)), path)
    except (OSError, ValueError):
        return None


def open_inside(root: str | os.PathLike[str], path: str) -> int:
    """A handle of a file of a tree: step by step from its root, so that no link leads elsewhere, and without waiting for a pipe."""
    *folders, name = path.split("/")
    if not name or any(folder in ("", ".", "..") for folder in folders) or name in (".", ".."):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    inside = os.open(root, _FOLDER)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=inside)
            os.close(inside)
            inside = inner
        return os.open(name, _FILE, dir_fd=inside)
    finally:
        os.close(inside)


def read_prefix(handle: int, most: int) -> bytes:
    """The first bytes of an opened file, which is closed; an error where it is no regular file: a device has no end."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file")
    with os.fdopen(handle, "rb") as file:
        return file.read(most)


def _covered(text: str, stretches: list[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, end, label in stretches:
        parts += [text[at:start], _cover(text[start:end], label)]
        at = end
    return "".join([*parts, text[at:]])


def _cover(secret: str, label: str) -> str:
    covered = secret[: len(label)]
    if label and len(covered) == len(label) and covered.isascii() and covered.isprintable():  # on one line, that is
        return label + _cover(secret[len(label) :], "")
    if secret.isascii() and not any(map(str.isspace, secret)):
        return "*" * len(secret)
    return "".join(one if one.isspace() else _FILLERS[len(one.encode("utf-8", "surrogatepass"))] for one in secret)
