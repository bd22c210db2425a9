"""What must not become training data: content of given repository trees, and source under a copyleft licence alone.

A benchmark's repositories are recognised by what they contain, never by a name, so a renamed or repackaged copy is found as well.
"""

from __future__ import annotations

import os
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

LINES_IN_A_SHINGLE = 5
#: One line in so many begins a shingle that is kept: the choice depends on the line alone, so both sides choose alike.
SAMPLED = 4
#: A shorter line (a brace, `return x`) says nothing about where it comes from.
TELLING_BYTES = 8
MOST_SHARED = 0.03
FEWEST_SHARED = 6
MOST_EQUAL_FILES = 3
#: A file whose shingles are mostly known is a copy, changed a little.
NEARLY_EQUAL = 0.6
#: Above this a file is left out although its package stays.
FILE_SHARED = 0.2
LARGEST_FILE = 1_000_000
#: A shingle in more files than this is boilerplate, which tells nothing about where a file comes from.
MOST_FILES = 5
_LICENCE_FILE = re.compile(r"(^|/)(licen[cs]e|copying|copyright|unlicense)[^/]*$", re.IGNORECASE)
_COPYLEFT = re.compile(rb"GENERAL PUBLIC LICENSE|\bA?GPL(v|-)[23]|GNU (Lesser|Library|Affero|General)", re.IGNORECASE)
_PERMISSIVE = re.compile(
    rb"Permission is hereby granted|Permission to use, copy|Apache License|Redistribution and use in source|Mozilla Public License"
    rb"|\bMIT\b|\bBSD\b|\bISC\b|Unlicense|Artistic License|Boost Software|Eclipse Public|CC0|public domain",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive: its path without the top folder, its size, and its content when asked for."""

    path: str
    size: int
    read: Callable[[], bytes]


def members(archive: Path) -> Iterator[Member]:
    """The files of a zip or tar archive, in the order in which they stand there."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            entries = [entry for entry in opened.infolist() if not entry.is_dir()]
            tops = {entry.filename.split("/", 1)[0] for entry in entries}
            for entry in entries:
                path = entry.filename.split("/", 1)[-1] if len(tops) == 1 else entry.filename
                yield Member(path, entry.file_size, cache(partial(opened.read, entry)))
        return
    with tarfile.open(archive, "r:*") as stream:
        for part in stream:
            if part.isfile():
                path = part.name.removeprefix("./").split("/", 1)[-1]
                yield Member(path, part.size, cache(partial(_extracted, stream, part)))


def _extracted(stream: tarfile.TarFile, part: tarfile.TarInfo) -> bytes:
    content = stream.extractfile(part)
    return b"" if content is None else content.read()


def is_licence(path: str) -> bool:
    """Whether a path is that of a licence text near the top of its package."""
    return path.count("/") <= 2 and _LICENCE_FILE.search(path) is not None


class Licences:
    """What the licence texts of one package say, taken together."""

    def __init__(self) -> None:
        self.found: dict[int, set[str]] = {}  # kinds of licence, by how deep their texts lie

    def see(self, member: Member) -> None:
        """Read a file if it is a licence text."""
        if member.size > 200_000 or not is_licence(member.path):
            return
        text = member.read()[:60_000]
        kind = "copyleft" if _COPYLEFT.search(text) else "permissive" if _PERMISSIVE.search(text) else ""
        if kind:
            self.found.setdefault(member.path.count("/"), set()).add(kind)

    @property
    def only_copyleft(self) -> bool:
        """Whether every licence text nearest to the top is of the GPL family; deeper ones are of what is bundled."""
        return bool(self.found) and self.found[min(self.found)] == {"copyleft"}


def shingles(content: bytes) -> set[int]:
    """Hashes of the sampled runs of telling lines in a file; spaces and case do not count."""
    lines = [b"".join(line.split()) for line in content.lower().splitlines()]
    lines = [line for line in lines if len(line) >= TELLING_BYTES]
    found = set()
    for at in range(len(lines) - LINES_IN_A_SHINGLE + 1):
        first = zlib.crc32(lines[at])
        if first % SAMPLED == 0:
            found.add(first << 32 | zlib.crc32(b"\n".join(lines[at + 1 : at + LINES_IN_A_SHINGLE])))
    return found


def known_shingles(trees: Iterable[Path]) -> set[int]:
    """The shingles of every text file under the given directories, without those of many files: licence headers and the like."""
    counts: Counter[int] = Counter()
    for tree in trees:
        for folder, inner, names in os.walk(tree):
            inner[:] = [name for name in inner if name != ".git"]
            for name in names:
                path = Path(folder, name)
                if path.is_symlink() or path.stat().st_size > LARGEST_FILE:
                    continue
                content = path.read_bytes()
                if b"\0" not in content[:4096]:
                    counts.update(shingles(content))
    return {shingle for shingle, files in counts.items() if files <= MOST_FILES}


@dataclass(slots=True)
class Resemblance:
    """How much of one package is in a set of known shingles."""

    known: set[int]
    mine: set[int] = field(default_factory=set)
    equal_files: list[str] = field(default_factory=list)

    def see(self, path: str, content: bytes) -> float:
        """Count one file, and give the share of it that is known."""
        found = shingles(content)
        self.mine |= found
        common = len(found & self.known)
        share = common / len(found) if found else 0.0
        if common >= FEWEST_SHARED and share >= NEARLY_EQUAL:
            self.equal_files.append(path)
        return share if common >= FEWEST_SHARED else 0.0

    @property
    def reason(self) -> str:
        """Why the package must be left out; empty when it need not."""
        if len(self.equal_files) > MOST_EQUAL_FILES:
            return f"{len(self.equal_files)} files nearly equal, such as {self.equal_files[0]}"
        shared = len(self.mine & self.known)
        if shared >= FEWEST_SHARED and shared > MOST_SHARED * len(self.mine):
            return f"{shared} of {len(self.mine)} shingles known"
        return ""
