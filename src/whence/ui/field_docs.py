"""What each field of the API means: the comment behind it, else what its name means wherever it stands."""

from __future__ import annotations

import ast
import inspect
import io
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any, get_args

from pydantic import BaseModel

#: Names that mean the same in every shape that says nothing else of them.
EVERYWHERE = {
    "because": "the reason, in words",
    "bytes": "how many bytes",
    "candidates": "how many files or symbols were ranked at all",
    "commit": "the hash of the commit; empty without one",
    "content": "what is searched: code, docs, config or all; what the settings say where none is given",
    "contribution": "what it adds to the score, or what it multiplies it with",
    "count": "how many there are",
    "depth": "at most so many hops away",
    "day": "the day, as 2026-11-16",
    "end_line": "the last line, from 1",
    "error": "what is wrong, in one line",
    "expected": "what `seen` was when the note was looked at; empty: whatever it is now",
    "factors": "by signal: what its weight is multiplied with; 0 turns it off",
    "files": "how many files",
    "folder": "the first part of a note's key: the folder that it lies in",
    "groups": "the groups of edges that are followed, with commas between: calls, inheritance, tests, contains, other; empty: all",
    "hint": "what to do about it",
    "k": "at most so many are given",
    "key": "the name that the other questions know it by",
    "kind": "what it is: function, class, section and so on for code; durable, session, handoff and so on for a note",
    "kinds": "how many there are of each kind",
    "language": "the name of the language, as `lang:` takes it",
    "languages": "how many there are of each language",
    "last_line": "the last line, from 1",
    "leader": "what stands first",
    "leader_score": "the score of what stands first",
    "level": "ok, skipped, warning or failed",
    "line": "the line that it begins at, from 1",
    "lines": "how many lines",
    "measure": "whether questions made of the repository's own words are asked as well, which takes a minute",
    "milliseconds": "how long the answer took to make",
    "more_lines": "how many more lines there are",
    "most": "at most so many are given",
    "name": "its name",
    "notes": "what a reader should know, line by line",
    "number": "which one it is, from 1",
    "operation": "+ or x: whether it is added to the score or multiplies it",
    "page": "which page, from 1",
    "pages": "how many pages there are",
    "path": "where the file is, below its root",
    "phase": "when it enters the score: match, penalty, stem, definition or coherence, one after another",
    "profile": "how is ranked: default or classic; what the settings say where none is given",
    "project": "the project that a note is of; empty: none",
    "qualified_name": "its name with those of what it is in, as Cart.total",
    "query": "the query, in the language of docs/query.md",
    "rank": "its place, from 1",
    "rank_without": "the place that it would have without this",
    "redact": "whether it is stored without the secrets in it, rather than refused",
    "retriever": "what found it: words, meaning and so on",
    "root": "the name of a root, as `GET /api/roots` lists them; empty in a question: all of them, or the first where one is needed",
    "score": "how well it fits: comparable within one answer",
    "signal": "the signal, as docs/signals.md lists them",
    "slug": "the second part of a note's key: its file, without the ending",
    "source": "where it comes from",
    "start_line": "the first line, from 1",
    "symbol": "its key (path#qualified.name), or its name",
    "tag": "a tag that notes must have",
    "tags": "words that a note is filed under",
    "text": "the text",
    "topic": "what a note is about, in a few words: one of the same project and topic takes its place",
    "total": "how many there are, whether given or not",
    "trouble": "what keeps it from working; empty when nothing does",
    "units": "how many functions, classes and other pieces",
    "updated": "when it was last changed",
    "created": "when it was written",
    "valid_from": "the day from which it holds",
    "valid_until": "the last day on which it holds",
    "value": "its value",
    "verify": "whether every package, grammar and model is loaded as well, which takes seconds",
    "weight": "what a value counts for",
}


def meaning_of(shape: type[BaseModel], field: str) -> str:
    """What is written behind a field, in the class that has it or in one that it is made from; else what its own shape says."""
    written = (comments_of(one.__module__).get((one.__name__, field), "") for one in shape.__mro__)
    inner = (inspect.getdoc(one) or "" for one in _shapes_in(shape.model_fields[field].annotation))
    return next(filter(None, chain(written, inner)), EVERYWHERE.get(field, ""))


def _shapes_in(kind: Any) -> Iterator[type[BaseModel]]:
    """The shapes that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        yield from _shapes_in(part)


@cache
def comments_of(module: str) -> dict[tuple[str, str], str]:
    """By class and field, the comment on the line where a field ends, or alone on the lines before it."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return {}  # a package without its source works as well; it only says less of itself
    behind, alone = _comments(source)
    found = {}
    for place in ast.parse(source).body:
        if not isinstance(place, ast.ClassDef):
            continue
        for line in place.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                found[place.name, line.target.id] = behind.get(line.end_lineno or line.lineno) or _before(line.lineno, alone)
    return found


def _comments(source: str) -> tuple[dict[int, str], dict[int, str]]:
    """The comments of a text by their lines: those behind code, and those that stand alone."""
    behind: dict[int, str] = {}
    alone: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            kept = alone if token.line.lstrip().startswith("#") else behind
            kept[token.start[0]] = token.string.lstrip("#: ").strip()
    return behind, alone


def _before(line: int, alone: dict[int, str]) -> str:
    """What stands on the lines of comment that end before a line."""
    first = line
    while first - 1 in alone:
        first -= 1
    return " ".join(alone[number] for number in range(first, line))
