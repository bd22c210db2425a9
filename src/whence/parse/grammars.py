"""Grammars and their queries, loaded when a file first needs them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import semble_grammars
from tree_sitter import Parser, Query

from whence.parse.languages import BY_NAME


@dataclass(frozen=True, slots=True)
class Grammar:
    """A parser with the two halves of its language's query file.

    Definitions are asked for match by match, because a definition and its name
    belong together; the rest (calls, comments, imports) is asked for as plain
    lists, which is several times cheaper.
    """

    parser: Parser
    definitions: Query
    mentions: Query


def keep_grammars_in(directory: Path) -> None:
    """Unpack grammars below this directory unless the user chose another."""
    os.environ.setdefault("SEMBLE_GRAMMARS_CACHE_DIR", str(directory / semble_grammars.__version__))


@cache
def grammar_of(language_name: str) -> Grammar | None:
    """The grammar of a language, or None where it has none or it cannot be loaded."""
    language = BY_NAME.get(language_name)
    if language is None or not language.grammar:
        return None
    try:
        compiled = semble_grammars.get_language(language.grammar)
    except (semble_grammars.GrammarLoadError, semble_grammars.LanguageNotFoundError, semble_grammars.UnsupportedPlatformError):
        return None
    text = (resources.files("whence.parse") / "queries" / language.query_file).read_text(encoding="utf-8")
    definitions, mentions = Query(compiled, text), Query(compiled, text)
    source = text.encode()
    for pattern in range(definitions.pattern_count):
        span = source[definitions.start_byte_for_pattern(pattern) : definitions.end_byte_for_pattern(pattern)]
        (mentions if b"@name" in span else definitions).disable_pattern(pattern)
    return Grammar(Parser(compiled), definitions, mentions)
