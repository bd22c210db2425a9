"""Jupyter notebooks as text: cells in order, each below a marker line, as in jupytext's percent format. Outputs are left out.

The first line names the kernel's language. Prose and what only the kernel understands (`%matplotlib`, `!pip`) are comments, so
that the grammar of the language can read the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

#: Comment marks of languages in which `#` starts no comment.
_SLASHES = "c c++ c# cpp csharp dart f# fsharp go groovy java javascript js kotlin php rust scala swift typescript ts zig"
_MARKS = dict.fromkeys(_SLASHES.split(), "//") | dict.fromkeys(("haskell", "lua", "sql"), "--")
_DEFAULT = "python"

_HEADER = re.compile(rb"(?:#|//|--) jupyter: (\S+)\n")
#: A line that begins a notebook or a cell.
MARKER = re.compile(rb"^(?:#|//|--) (?:jupyter: \S+|%% (?:\[\w+\] )?cell \d+)$", re.MULTILINE)
_CELL = re.compile(r"(?:#|//|--) %% (?:\[\w+\] )?cell (\d+)")
_MAGIC = re.compile(r"%[a-zA-Z]|[ \t]*!(?!=)")
_IMAGE = re.compile(r"(data:[\w/+.-]+;base64,)[\w+/=\s]{100,}")


def notebook_text(raw: bytes) -> bytes | None:
    """The text of a notebook in UTF-8, empty without cells; None if it is none, or damaged."""
    try:
        notebook = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    cells = _cells(notebook) if isinstance(notebook, dict) else None
    if cells is None:
        return None
    language = _kernel_language(notebook.get("metadata"))
    mark = _MARKS.get(language, "#")
    lines = [line for number, cell in enumerate(cells, 1) for line in _cell_lines(number, cell, mark)]
    return "\n".join([f"{mark} jupyter: {language}", *lines, ""]).encode("utf-8", "replace") if len(lines) > 2 * len(cells) else b""


def notebook_language(head: bytes) -> str | None:
    """The kernel's language, as the first line of a notebook's text names it."""
    found = _HEADER.match(head)
    return found[1].decode("utf-8", "replace") if found else None


def cell_at(lines: Sequence[str], number: int) -> int | None:
    """The cell of a line of a notebook's text; both count from 1. A marker out of turn is text of its cell."""
    cell = 0
    for line in lines[:number]:
        found = _CELL.fullmatch(line)
        cell += found is not None and found[1] == str(cell + 1)
    return cell or None


def _cells(notebook: dict[str, Any]) -> list[Any] | None:
    """The cells; before format 4 they were in worksheets."""
    sheets = notebook.get("worksheets")
    found = [one.get("cells") for one in sheets if isinstance(one, dict)] if isinstance(sheets, list) else [notebook.get("cells")]
    groups = [group for group in found if isinstance(group, list)]
    return [cell for group in groups for cell in group] if groups else None


def _kernel_language(metadata: object) -> str:
    """The kernel's language in lower case; Python if the notebook does not say."""
    for part, key in (("language_info", "name"), ("kernelspec", "language")):
        inner = metadata.get(part) if isinstance(metadata, dict) else None
        name = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(name, str) and name and not re.search(r"\s", name):
            return _DEFAULT if name.lower() == "ipython" else name.lower()
    return _DEFAULT


def _cell_lines(number: int, cell: object, mark: str) -> Iterator[str]:
    """A blank line, the marker and the lines of a cell."""
    known = cell if isinstance(cell, dict) else {}
    source, kind = known.get("source", known.get("input")), known.get("cell_type")
    text = "".join(one for one in source if isinstance(one, str)) if isinstance(source, list) else source
    is_code = kind == "code"
    yield ""
    yield f"{mark} %% cell {number}" if is_code else f"{mark} %% [{'raw' if kind == 'raw' else 'markdown'}] cell {number}"
    if not isinstance(text, str) or not text.strip():
        return
    lines = (text if is_code else _IMAGE.sub(r"\1", text)).replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    whole = not is_code or lines[0].startswith("%%")  # `%%bash`: the cell is in another language
    yield from _commented(lines, mark, whole=whole)


def _commented(lines: Iterable[str], mark: str, *, whole: bool) -> Iterator[str]:
    for line in lines:
        yield f"{mark} {line}".rstrip() if whole or _MAGIC.match(line) else line
