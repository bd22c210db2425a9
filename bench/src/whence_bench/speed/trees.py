"""Trees of any size, made of real source: files repeated with their identifiers altered.

Copies alone would have one vocabulary however large the tree. Real trees gain new
words ever more slowly as they grow, so each copy renames a share of its identifiers
that falls with the number of the copy. The same input gives the same tree.
"""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from zlib import crc32

import whence
from whence.core.errors import UsageError
from whence.core.types import CODE
from whence.parse.languages import language_of
from whence_bench.fetch import git

#: Files outside these sizes say little about ordinary source.
SMALLEST, LARGEST = 200, 64_000
#: Not source, or source that would drown the rest.
LEFT_OUT = frozenset("__pycache__ site-packages dist-packages node_modules test tests idle_test build dist vendor".split())
#: The second copy renames this share of its identifiers; later ones fewer, by this power of their number.
RENAMED, FALL = 0.5, -0.35
#: Made-up words: so many to begin with, and so many more with each copy.
WORDS, MORE_WORDS = 300, 100

_IDENTIFIER = re.compile(rb"(?<![A-Za-z0-9_\\%&])[A-Za-z_][A-Za-z0-9_]{4,}")
_DEFINED = re.compile(rb"(?:def|class|func|fn|function|struct|interface|void|int)\s+([A-Za-z_][A-Za-z0-9_]{5,})")
_PART_OF_WORD = re.compile(r"[A-Z]?[a-z]{3,}")
_KEYWORDS = frozenset(
    word.encode()
    for word in """abstract alias assert async await begin boolean break catch class const continue constexpr default defer define defined
    delegate delete double elsif endif ensure enum event except explicit export extends extern false final finally float foreach friend from
    function global ifdef ifndef implements import include inline instanceof interface internal lambda local match module mutable namespace
    native nonlocal object operator override package pragma private protected protocol public raise readonly record register repeat require
    rescue return sealed short signed sizeof static string strict struct super switch synchronized template throw throws trait transient
    typedef typename typeof undef union unless unsafe unsigned until using value virtual volatile where while yield print""".split()
)
_SYLLABLES = [consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aeiou"]


@dataclass(frozen=True, slots=True)
class Source:
    """One file to make trees of."""

    path: str
    content: bytes


@dataclass(slots=True)
class Made:
    """A tree that was made."""

    root: Path
    files: int = 0
    bytes: int = 0


def default_folders() -> list[Path]:
    """This package and the standard library of the Python that runs."""
    return [Path(whence.__file__).parent, Path(sysconfig.get_paths()["stdlib"])]


def read_sources(tree: Path | None) -> list[Source]:
    """The source files of a tree, or of what every installation has, in the order of their paths."""
    found: list[Source] = []
    for folder in [tree] if tree else default_folders():
        for path in _files(folder):
            content = path.read_bytes()
            if SMALLEST <= len(content) <= LARGEST and b"\0" not in content:
                found.append(Source(path.relative_to(folder.parent).as_posix(), content))
    if not found:
        raise UsageError(f"{tree}: no source files of {SMALLEST} to {LARGEST} bytes", hint="give a folder with code")
    return found


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("."))
        for name in sorted(files):
            path = Path(place) / name
            if language_of(name).content == CODE and language_of(name).grammar and path.is_file() and not path.is_symlink():
                yield path


def grow(made: Made, sources: list[Source], *, files: int | None = None, size: int | None = None) -> Made:
    """Add files to a tree until it has so many, or so many bytes. A tree grown in steps equals one grown at once."""
    while (files is None or made.files < files) and (size is None or made.bytes < size):
        part, which = divmod(made.files, len(sources))
        source = sources[which]
        content = altered(source.content, part)
        path = made.root / f"part_{part:03d}" / source.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        made.files += 1
        made.bytes += len(content)
    return made


def altered(content: bytes, part: int) -> bytes:
    """Source with a share of its identifiers renamed, each the same way wherever it stands. Copy 0 is the source."""
    if part == 0:
        return content
    below = int(RENAMED * part**FALL * 1000)
    return _IDENTIFIER.sub(lambda match: _renamed(match[0], part, below), content)


@lru_cache(maxsize=1 << 18)
def _renamed(name: bytes, part: int, below: int) -> bytes:
    chance = crc32(name, part)
    if chance % 1000 >= below or name in _KEYWORDS or name.startswith(b"__"):
        return name
    word = _word(chance // 1000 % (WORDS + MORE_WORDS * part))
    if name.isupper():
        return name + b"_" + word.upper()
    return name + word.capitalize() if name.lower() != name else name + b"_" + word


def _word(number: int) -> bytes:
    syllables = []
    for _ in range(3):
        number, rest = divmod(number * 7 + 3, len(_SYLLABLES))
        syllables.append(_SYLLABLES[rest])
    return "".join(syllables).encode()


def questions(sources: list[Source], count: int) -> list[str]:
    """Queries about a tree: by turns the name of something, and a few words of the file around it."""
    asked: list[str] = []
    for source in sources[:: max(len(sources) // count, 1)] * 2:
        names = [name.decode() for name in dict.fromkeys(_DEFINED.findall(source.content))]
        words = list(dict.fromkeys(word.lower() for name in names for word in _PART_OF_WORD.findall(name)))
        if len(words) >= 4 and len(asked) < count:
            asked.append(names[len(names) // 2] if len(asked) % 2 else " ".join(words[:: max(len(words) // 5, 1)][:5]))
    return asked


def commit(root: Path) -> None:
    """Make a tree a git repository with everything committed."""
    git("init", "--quiet", cwd=root)
    git("add", "--all", cwd=root)
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false", "-c", "gc.auto=0")
    git(*who, "commit", "--quiet", "--no-verify", "--message", "tree", cwd=root)
