"""Tables for people, JSON for programs, and the circumstances that a figure needs to be repeated (B1)."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from whence.core.errors import StorageError
from whence.core.settings import Setting
from whence.core.version import __version__

#: Packages whose version can change a figure.
PACKAGES = ("numpy", "tree-sitter", "semble-grammars", "PyStemmer", "pathspec")
#: Shown where there is nothing to show.
NOTHING = "-"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Text in columns: the first to the left, numbers to the right."""
    cells = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    right = [column > 0 and all(_is_number(row[column]) for row in cells[1:]) for column in range(len(header))]
    lines = [
        "  ".join(text.rjust(width) if to_right else text.ljust(width) for text, width, to_right in zip(row, widths, right, strict=True))
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in [lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _cell(value: object) -> str:
    if value is None:
        return NOTHING
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _is_number(text: str) -> bool:
    return text == NOTHING or text.replace(".", "").replace(",", "").isdigit()


def verdict(kept: bool | None) -> str:
    """What a bar says of a figure; nothing where there is no bar, or no peer to hold it against."""
    return NOTHING if kept is None else "OK" if kept else "MISS"


def versions() -> dict[str, str]:
    """Of everything that has a part in the figures."""
    found = {"whence": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {"cpus": os.cpu_count() or 1, "platform": platform.platform(), "architecture": platform.machine()}


def settings(provenance: Iterable[Setting]) -> list[dict[str, Any]]:
    """Every setting in use, with where its value came from."""
    return [{"name": one.name, "value": one.value, "source": one.source} for one in provenance]


def complete(value: dict[str, Any]) -> dict[str, Any]:
    """A report with the versions and the machine it is of, as it is read back from JSON."""
    found: dict[str, Any] = json.loads(json.dumps({**value, "versions": versions(), "machine": machine()}))
    return found


def write_json(path: str | os.PathLike[str], value: dict[str, Any]) -> None:
    """Write a report with the versions and the machine it is of."""
    write_text(path, json.dumps(complete(value), indent=2, ensure_ascii=True) + "\n")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write what was measured, in whatever form."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Whether a file can be written, before the minutes it takes to have something to write; nothing is left of the trial."""
    place = Path(path)
    try:
        # What is no plain file, such as a pipe, may notice that it is opened.
        if place.exists() and not place.is_file():
            return
        there = place.exists()
        with place.open("ab"):
            pass
        if not there:
            place.unlink()
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
