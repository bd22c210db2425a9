"""How many of the files that a walk left out hold some words: an answer of "not here" may only mean "not looked at" (Z1).

Left out may be a folder of a hundred thousand files, so there are bounds, and what comes of it says how far it got.
Shallow files come first, those of all folders in turn: one huge folder does not hide the others. Links are not
followed, and files that by their name hold passwords or keys are not opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from whence.source.decode import to_utf8
from whence.types import Skipped

#: What is looked at unless it is said otherwise.
MOST_FILES, MOST_BYTES = 2_000, 20_000_000
#: Files that are counted beyond those looked at: each costs a microsecond, and somewhere it must end.
MOST_COUNTED = 20_000
#: No more than this of one file is read.
MOST_OF_A_FILE = 1_000_000
EXAMPLES = 3
#: Folders of tools' own records: nothing in them was written by a person, and they repeat what is elsewhere.
RECORDS = frozenset(".git .hg .svn .whence __pycache__ .mypy_cache .pytest_cache .ruff_cache".split())
#: Files whose names say that they hold passwords or keys.
SECRET_NAMES = re.compile(
    r"(?:^|[.])env(?:[.].*)?$|^[.]?(?:netrc|pgpass|npmrc|pypirc|htpasswd|git-credentials|dockercfg)$|^id_(?:rsa|dsa|ecdsa|ed25519)"
    r"|credential|secret|passw(?:or)?d|[.](?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|ovpn)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many files that were left out hold the words, of how many that were looked at, of how many there are."""

    matching: int
    looked_at: int
    of: int
    examples: tuple[str, ...] = ()
    more: bool = False  # whether there may be more than `of`: counting ended before the files did

    def __str__(self) -> str:
        """In words, with the bound where one was reached; empty when no file matches."""
        if not self.matching:
            return ""
        files = "1 file that was left out holds it" if self.matching == 1 else f"{self.matching:,} files that were left out hold it"
        whole = self.looked_at == self.of and not self.more
        bound = "" if whole else f", of the {self.looked_at:,} looked at"
        return f"{files}{bound}: {', '.join(self.examples)}{', ...' if self.matching > len(self.examples) else ''}"


def count_matching(
    root: str | os.PathLike[str],
    skipped: Sequence[Skipped],
    words: Sequence[str],
    *,
    in_time: Callable[[], bool],
    max_files: int = MOST_FILES,
    max_bytes: int = MOST_BYTES,
) -> LeftOut:
    """Count the files below what a walk left out that hold all of some words, or beginnings of words.

    `in_time` says whether there is time for one more file; where there is none, what was found so far is given back.
    """
    holds = _holding(words)
    if holds is None:
        return LeftOut(0, 0, 0)
    matching = looked_at = of = read = 0
    examples: list[str] = []
    more = False
    for path, size in _files(os.fspath(root), skipped):
        if of >= MOST_COUNTED or not in_time():
            more = True
            break
        of += 1
        if looked_at >= max_files or read + min(size, MOST_OF_A_FILE) > max_bytes:
            continue
        text = _text(os.path.join(os.fspath(root), path))
        looked_at, read = looked_at + 1, read + min(size, MOST_OF_A_FILE)
        if text is not None and holds(text):
            matching += 1
            examples += [path] if len(examples) < EXAMPLES else []
    return LeftOut(matching, looked_at, of, tuple(examples), more)


def _holding(words: Sequence[str]) -> Callable[[str], bool] | None:
    """Whether a text holds each word at the beginning of a word of its own (`kafka`: `KafkaClient`, `to_kafka`, not `mykafka`)."""
    wanted = [word.lower() for word in words if word.strip()]
    if not wanted:
        return None
    begins = [re.compile(rf"(?:(?<![^\W\d_])(?i:{re.escape(word)})|(?<=[a-z]){re.escape(word.title())})") for word in wanted]

    def holds(text: str) -> bool:
        lowered = text.lower()  # finding a plain word is ten times as fast as an expression, and most files hold none
        return all(word in lowered for word in wanted) and all(one.search(text) for one in begins)

    return holds


def _files(root: str, skipped: Sequence[Skipped]) -> Iterator[tuple[str, int]]:
    """The files that were left out, with their sizes: single ones, then those in folders, level by level."""
    for one in skipped:
        if not one.path.endswith("/") and (size := _size(os.path.join(root, one.path))) is not None:
            yield one.path, size
    folders = deque(one.path.rstrip("/") for one in skipped if one.path.endswith("/"))
    while folders:
        folder = folders.popleft()
        if os.path.basename(folder) in RECORDS or os.path.islink(os.path.join(root, folder)):
            continue
        try:
            entries = sorted(os.scandir(os.path.join(root, folder)), key=lambda entry: entry.name)
        except OSError:
            continue  # what cannot be listed cannot be counted
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if _is_folder(entry):
                folders.append(path)
            elif (size := _size(entry.path)) is not None:
                yield path, size


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _size(full: str) -> int | None:
    """The size of a file that may be opened; None for links, devices and what by its name holds secrets."""
    if SECRET_NAMES.search(os.path.basename(full)):
        return None
    try:
        found = os.lstat(full)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _text(full: str) -> str | None:
    """The beginning of a file as text; None when it is no text or cannot be read."""
    try:
        # A link or a pipe that has taken the file's place since it was looked at is neither followed nor waited for.
        handle = os.open(full, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as file:
            found = to_utf8(file.read(MOST_OF_A_FILE))
    except OSError:
        return None
    return found.decode("utf-8", "replace") if found is not None else None
