"""What the code was that a note speaks of, and what became of it: a note keeps a hash only, git has the rest (M8).

The version that a note was written about is the one whose code has the hash that the note keeps. Versions of the
file are looked through from the time of the note outwards, for the nearest is nearly always the one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from whence.memory.note import CodeRef
from whence.memory.staleness import MOST_BYTES, CodeRange, CodeState, hash_at, plain_text, state_of, stretches_of, text_now
from whence.source.git import repository_root
from whence.source.history import FileVersion, list_versions, read_blobs
from whence.source.read import label_secrets
from whence.text.line_diff import MAX_LINES, LineChange, NumberedLine, diff_lines, number_lines, removed_lines

#: Versions of a file that are looked through, and the seconds that asking git for them and looking through them may each take.
MOST_VERSIONS, MOST_SECONDS = 200, 1.0
#: Contents that are asked of git at once: the first few are nearly always enough.
TOGETHER = 8


@dataclass(frozen=True, slots=True)
class CodeHistory:
    """A piece of code that a note speaks of: what became of it, and what it was."""

    about: CodeRef
    state: CodeState
    said: str  # where what it was was found, or why there is nothing to compare with
    commit: str = ""  # in which it was as the note knows it; empty when none was found
    time: int = 0  # of that commit, in seconds since 1970
    lines: tuple[LineChange, ...] = ()  # from what it was to what it is, without secrets


@dataclass(frozen=True, slots=True)
class _Found:
    """A version of a file, and where in it the code stands."""

    version: FileVersion
    text: bytes
    stretches: list[CodeRange]


def past_of(about: CodeRef, root: Path | None, written: datetime | None, grammars: Path | None = None) -> CodeHistory:
    """What became of code that was hashed about the time when a note was written; never an exception."""
    state = state_of(about, root, grammars)
    if state is CodeState.FRESH:
        return CodeHistory(about, state, "is as it was")
    if state is CodeState.UNKNOWN or root is None:
        return CodeHistory(about, state, _unknown(about, root))
    found = _found(about, root, written, grammars)
    if isinstance(found, str):
        return CodeHistory(about, state, found)
    then = _lines(about.path, found.text, found.stretches)
    lines = list(removed_lines(then[:MAX_LINES])) if state is CodeState.GONE else diff_lines(then, _now(about, root, grammars))
    return CodeHistory(about, state, _said(state, found.version, lines), found.version.commit, found.version.time, tuple(lines or ()))


def _said(state: CodeState, version: FileVersion, lines: Sequence[LineChange] | None) -> str:
    """Where what it was was found, and what of it is not shown."""
    commit = version.commit[:10]
    if lines is None:
        return f"has too many lines to be compared here; it was as the note knows it in commit {commit}"
    if not lines:
        return f"nothing but a secret differs from commit {commit}"
    return f"compared with commit {commit}" if state is CodeState.CHANGED else f"as it was in commit {commit}"


def _unknown(about: CodeRef, root: Path | None) -> str:
    """Why it cannot be told what became of some code."""
    if root is None:
        return "its repository is not known here"
    return "the note keeps no hash of it" if not about.hash else text_now(about.path, root)[1] or "no grammar can read it"


# What it was.
def _found(about: CodeRef, root: Path, written: datetime | None, grammars: Path | None) -> _Found | str:
    """The version that the note was written about, or why there is none."""
    if repository_root(root) is None:
        return "what it was is not known: it is in no git repository"
    versions = list_versions(root, about.path, MOST_VERSIONS, MOST_SECONDS)
    if versions is None:
        return "what it was is not known: git cannot tell the past of this file"
    if not versions:
        return "what it was is not known: the file was never committed"
    stop = time.monotonic() + MOST_SECONDS
    looked_at = 0
    for looked_at, (version, text) in enumerate(_texts(root, _nearest_first(versions, written)), 1):
        stretches = stretches_of(about.code, text, grammars) if _may_hold(about.symbol, text) else []
        if stretches and hash_at(text, stretches) == about.hash:
            return _Found(version, text, stretches)
        if time.monotonic() > stop:
            return f"what it was is not known: it is not in the {looked_at} versions in git nearest to the note"
    few = "the only version" if looked_at == 1 else f"any of the {looked_at} versions"
    return f"what it was is not known: it was not so in {few} that git has of the file"


def _nearest_first(versions: Sequence[FileVersion], written: datetime | None) -> list[FileVersion]:
    """Each content once: those of about the time of the note first, else the newest."""
    ordered = sorted(versions, key=lambda version: abs(version.time - written.timestamp())) if written else versions
    once: dict[str, FileVersion] = {}
    for version in ordered:
        once.setdefault(version.blob, version)
    return list(once.values())


def _texts(root: Path, versions: Sequence[FileVersion]) -> Iterator[tuple[FileVersion, bytes]]:
    """Versions with their texts, a few asked of git at a time."""
    for at in range(0, len(versions), TOGETHER):
        some = versions[at : at + TOGETHER]
        contents = read_blobs(root, [version.blob for version in some], MOST_BYTES)
        for version in some:
            text = plain_text(contents[version.blob]) if version.blob in contents else None
            if text is not None:
                yield version, text


def _may_hold(symbol: str, text: bytes) -> bool:
    """Whether a text may define a symbol: to look for the last part of its name costs less than a parser."""
    return symbol.rpartition(".")[2].encode("utf-8", "replace") in text


# What is shown.
def _now(about: CodeRef, root: Path, grammars: Path | None) -> list[NumberedLine]:
    text, _ = text_now(about.path, root)
    return _lines(about.path, text, stretches_of(about.code, text, grammars)) if text is not None else []


def _lines(path: str, text: bytes, stretches: Sequence[CodeRange]) -> list[NumberedLine]:
    """The code at some places as lines, without secrets and without the indentation that it has as a whole."""
    covered = label_secrets(text.decode("utf-8", "replace"), path).encode()
    found: list[NumberedLine] = []
    for one in stretches:
        lines = number_lines(one.of(covered).decode("utf-8", "replace"), text.count(b"\n", 0, one.start) + 1)
        indentation = one.indentation.decode("utf-8", "replace")
        found += [NumberedLine(line.number, line.text.removeprefix(indentation)) for line in lines]
    return found
