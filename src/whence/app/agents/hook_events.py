"""What the hook of an agent says was read or edited, in the words of whichever agent it is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: More of a text says nothing that its beginning does not.
MOST_TEXT = 200_000
MOST_FILES = 50
TO_THE_END = 1 << 30
_PATHS = ("file_path", "filePath", "absolute_path", "notebook_path", "target_file", "path", "relative_path")
_SEVERAL_PATHS = ("files", "paths", "filePaths")
_OLD = ("old_string", "oldString", "old_str")
_NEW = ("new_string", "newString", "new_str", "new_source", "content", "contents", "file_text")
_EDITS = ("edits", "replacements")
_FIRST, _LAST = ("start_line", "startLine"), ("end_line", "endLine")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)
_READERS = frozenset("cat sed head tail nl bat less more".split())
_SED_LINES = re.compile(r"(\d+)(?:,(\d+))?p")


@dataclass(frozen=True, slots=True)
class FileTouch:
    """Lines of a file that were read or edited."""

    path: Path
    first: int = 1
    last: int = TO_THE_END


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What an agent did: the lines it touched, and what it wrote."""

    touched: tuple[FileTouch, ...] = ()
    text: str = ""


def folder_of(given: dict[str, Any], here: Path) -> Path:
    """The folder that an agent works in."""
    roots = given.get("workspace_roots")
    named = given.get("cwd") or (roots[0] if isinstance(roots, list) and roots else "")
    return Path(named) if isinstance(named, str) and named and Path(named).is_dir() else here


def reported(given: dict[str, Any], folder: Path) -> HookEvent:
    """What a call of a tool touched; paths are as seen from a folder."""
    asked = given.get("tool_input")
    asked = asked if isinstance(asked, dict) else {"command": asked} if isinstance(asked, str) else given
    edits = [one for name in _EDITS if isinstance(asked.get(name), list) for one in asked[name] if isinstance(one, dict)]
    texts = [value for one in (asked, *edits) for value in _values(one, (*_OLD, *_NEW))]
    touched = list(_files(asked, edits, folder))
    command = next((asked[name] for name in ("command", "input", "patch") if asked.get(name)), "")
    line = shlex.join(map(str, command)) if isinstance(command, list) else command
    if isinstance(line, str) and "*** Begin Patch" in line:
        texts.append(line)
        touched.extend(_patched(line, folder))
    elif isinstance(line, str):
        touched.extend(_shown(line, folder))
    return HookEvent(tuple(touched[:MOST_FILES]), "\n".join(texts)[:MOST_TEXT])


def _files(asked: dict[str, Any], edits: list[dict[str, Any]], folder: Path) -> Iterator[FileTouch]:
    several = [one for name in _SEVERAL_PATHS if isinstance(asked.get(name), list) for one in asked[name] if isinstance(one, str)]
    for name in (*list(_values(asked, _PATHS))[:1], *several):
        path = folder / name
        written = [value for one in (asked, *edits) for value in _values(one, _NEW)]
        if written or edits or any(asked.get(old) is not None for old in _OLD):
            yield from _lines_of(path, written)
        else:
            yield FileTouch(path, *_lines_asked(asked))
    for one in edits:  # edits of several files name each
        for name in list(_values(one, _PATHS))[:1]:
            yield from _lines_of(folder / name, list(_values(one, _NEW)))


def _values(given: dict[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    return (given[name] for name in names if isinstance(given.get(name), str) and given[name])


def _lines_asked(asked: dict[str, Any]) -> tuple[int, int]:
    """The lines that a reading asked for: from one to another, or so many from one on."""
    first = next((_whole(asked.get(name)) for name in (*_FIRST, "offset") if _whole(asked.get(name))), 1)
    last = next((_whole(asked.get(name)) for name in _LAST if _whole(asked.get(name))), 0)
    count = _whole(asked.get("limit"))
    return first, last or (first + count - 1 if count else TO_THE_END)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < TO_THE_END else 0


def _lines_of(path: Path, written: list[str]) -> Iterator[FileTouch]:
    """Where the texts that were written stand in a file now."""
    try:
        data = path.read_bytes()[: MOST_TEXT * 10].decode("utf-8", "replace").replace("\r\n", "\n")
    except (OSError, ValueError):
        return
    for text in written:
        piece = text.replace("\r\n", "\n").strip("\n")
        at = data.find(piece) if piece else -1
        if at >= 0:
            first = data.count("\n", 0, at) + 1
            yield FileTouch(path, first, first + piece.count("\n"))


def _patched(patch: str, folder: Path) -> Iterator[FileTouch]:
    """The lines that a patch wrote, by the runs of them that it gives."""
    pieces = _PATCHED.split(patch)
    for name, hunk in zip(pieces[1::2], pieces[2::2], strict=True):
        runs = re.split(r"^(?:@@|\*\*\*).*$|^-.*$", hunk, flags=re.MULTILINE)
        written = ["\n".join(line[1:] for line in run.split("\n") if line[:1] in (" ", "+")) for run in runs]
        yield from _lines_of(folder / name.strip(), [run for run in written if run.strip()])


def _shown(line: str, folder: Path) -> Iterator[FileTouch]:
    """The files that a plain command such as `sed -n 10,80p src/app.py` prints."""
    try:
        words = shlex.split(line)
    except ValueError:
        return
    if words[:2] in (["bash", "-lc"], ["bash", "-c"], ["sh", "-c"], ["zsh", "-lc"]) and len(words) == 3:
        words = shlex.split(words[2], comments=True) if words[2].count("'") % 2 == 0 and words[2].count('"') % 2 == 0 else []
    if not words or words[0] not in _READERS or len(words) > MOST_FILES:
        return
    lines = next((found for word in words[1:] if (found := _SED_LINES.fullmatch(word))), None)
    first, last = (int(lines[1]), int(lines[2] or lines[1])) if lines and words[0] == "sed" else (1, TO_THE_END)
    for word in words[1:]:
        path = folder / word
        if not word.startswith("-") and path.is_file():
            yield FileTouch(path, first, last)
