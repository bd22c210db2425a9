"""Names in the package follow GLOSSARY.md: the words it retires are gone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from sample_trees import SOURCES

PACKAGE = SOURCES / "whence"
GLOSSARY = SOURCES.parent / "GLOSSARY.md"
#: Fields that are keys of a stored or served format: settings, and the HTTP API.
FORMATS = ("core/settings.py", "ui/")


def test_retired_words_are_in_no_name():
    words = retired_words()
    assert len(words) > 40
    breaches = [f"{where}: {name}" for where, name in names() if words & parts(name)]
    assert breaches == []


def retired_words() -> set[str]:
    """The first column of the last table of the glossary."""
    table = GLOSSARY.read_text(encoding="utf-8").partition("## Retired")[2]
    return {word for row in re.findall(r"^\| ([a-z, ]+) \|", table, re.MULTILINE) for word in row.split(", ")} - {"retired"}


def parts(name: str) -> set[str]:
    """The words of an identifier, split at underscores and capitals."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def names() -> Iterator[tuple[str, str]]:
    """Modules and folders, classes, functions, methods and fields, each with its module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        yield module, Path(module).with_suffix("").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, node.name
            if isinstance(node, ast.ClassDef) and not module.startswith(FORMATS):
                fields = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
                yield from ((module, f"{node.name}.{field.id}") for field in fields if isinstance(field, ast.Name))


def test_identifiers_are_split_into_words():
    assert parts("HTTPServer.kept_notes") == {"http", "server", "kept", "notes"}
    assert parts("_SHORT_Name2") == {"short", "name"}
