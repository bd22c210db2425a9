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

from whence.core.types import Skipped
from whence.source.read import open_inside, read_prefix, to_utf8

#: What is looked at unless it is said otherwise.
MOST_FILES, MOST_BYTES = 2_000, 20_000_000
#: Files that are counted beyond those looked at: each costs some microseconds, and somewhere it must end.
MOST_COUNTED = 10_000
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
class ExcludedMatches:
    """How many files that were left out hold the words, of how many that were looked at, of how many there are."""

    matching: int
    looked_at: int
    of: int  # of these some may not have been looked at: beyond the bounds, or because of their names
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


def count_excluded_matches(
    root: str | os.PathLike[str],
    skipped: Sequence[Skipped],
    words: Sequence[str],
    *,
    in_time: Callable[[], bool],
    max_files: int = MOST_FILES,
    max_bytes: int = MOST_BYTES,
) -> ExcludedMatches:
    """Count the files below what a walk left out that hold all of some words, or beginnings of words.

    `in_time` says whether there is time for one more file; where there is none, what was found so far is given back.
    """
    holds = _holding(words)
    if holds is None:
        return ExcludedMatches(0, 0, 0)
    matching = looked_at = of = read = 0
    examples: list[str] = []
    more = False
    for path in _files(os.fspath(root), skipped):
        if of >= MOST_COUNTED or not in_time():
            more = True
            break
        of += 1
        if looked_at >= max_files or read >= max_bytes or SECRET_NAMES.search(path.rpartition("/")[2]):
            continue
        raw = _beginning_of(root, path, min(MOST_OF_A_FILE, max_bytes - read))
        looked_at, read = looked_at + 1, read + len(raw)
        text = to_utf8(raw)
        if text is not None and holds(text.decode("utf-8", "replace")):
            matching += 1
            examples += [path] if len(examples) < EXAMPLES else []
    return ExcludedMatches(matching, looked_at, of, tuple(examples), more)


def _holding(words: Sequence[str]) -> Callable[[str], bool] | None:
    """Whether a text holds each word at the beginning of a word of its own (`rabbit`: `RabbitClient`, `to_rabbit`, not `myrabbit`)."""
    wanted = [word.lower() for word in words if word.strip()]
    if not wanted:
        return None
    begins = [re.compile(rf"(?:(?<![^\W\d_])(?i:{re.escape(word)})|(?<=[a-z]){re.escape(word.title())})") for word in wanted]

    def holds(text: str) -> bool:
        lowered = text.lower()  # finding a plain word is ten times as fast as an expression, and most files hold none
        return all(word in lowered for word in wanted) and all(one.search(text) for one in begins)

    return holds


def _files(root: str, skipped: Sequence[Skipped]) -> Iterator[str]:
    """The files that were left out: single ones, then those in folders, level by level."""
    inside = _Inside(root)
    yield from (one.path for one in skipped if not one.path.endswith("/") and inside.holds(one.path) and _is_file(f"{root}/{one.path}"))
    folders = deque(one.path.rstrip("/") for one in skipped if one.path.endswith("/") and inside.holds(one.path))
    while folders:
        folder = folders.popleft()
        if folder.rpartition("/")[2] in RECORDS:
            continue
        try:
            entries = sorted(os.scandir(f"{root}/{folder}"), key=lambda entry: entry.name)
        except OSError:
            continue  # what cannot be listed cannot be counted
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{folder}/{entry.name}")
            elif entry.is_file(follow_symlinks=False):
                yield f"{folder}/{entry.name}"


class _Inside:
    """Whether paths lie inside a root: a folder may have been replaced by a link since it was walked."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._known: dict[str, bool] = {}

    def holds(self, path: str) -> bool:
        """Whether the folder that a path stands in (of a path that ends with `/`, that folder) is where it seems to be."""
        folder = path.rpartition("/")[0]
        if folder not in self._known:
            seems = os.path.join(self._root, folder).rstrip("/") or "/"
            self._known[folder] = os.path.realpath(seems) == seems
        return self._known[folder]


def _is_file(full: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(full).st_mode)
    except OSError:
        return False


def _beginning_of(root: str | os.PathLike[str], path: str, most: int) -> bytes:
    """The first bytes of a file; none when it cannot be read."""
    try:
        return read_prefix(open_inside(root, path), most)
    except OSError:
        return b""
