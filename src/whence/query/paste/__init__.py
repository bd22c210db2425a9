"""Paste cleanup: finds the question in a pasted prompt, conversation, JSON or markup, stack trace, log or issue form.

Only loaded for what may be pasted (`parser.clean_paste`); the readers are loaded when there is something to read.
"""

from __future__ import annotations

from pathlib import Path

from whence.query.parser import CleanedQuery
from whence.text import analyzer
from whence.text.analyzer import QUERY_STOP_WORDS
from whence.text.tables import PatternTable, read_sections

#: Kinds of text beside a plain one.
ENVELOPE, CHAT, PROMPT, TRACE, LOG, ISSUE, SNIPPET = ("envelope", "chat", "prompt", "trace", "log", "issue", "snippet")
#: How many wrappers around one another are removed.
MAX_DEPTH = 5
#: Only the beginning and the end of a longer text are read, more of JSON and markup: the question is in one of them.
MAX_READ, MAX_WRAPPED = 30_000, 1_200_000
#: A text must have a content word within so many characters.
_CONTENT_WITHIN = 4_000


def find_question(text: str) -> CleanedQuery:
    """The question in a text that may hold more than one: all of it, unless that is certain."""
    found = CleanedQuery(text)
    for _ in range(MAX_DEPTH if text.strip() else 0):
        inner = _unwrapped(found.text)
        if inner is None:
            break
        found = inner
    return found


def _unwrapped(text: str) -> CleanedQuery | None:
    """The question that the first reader finds that recognizes the text."""
    from whence.query.paste import prompts, stack_traces, wrappers  # noqa: PLC0415  -- loaded for texts that need to be read

    of_wrappers = (wrappers.question_in_json, wrappers.question_in_tags)
    of_prose = (
        *(prompts.question_in_chat, prompts.question_in_prompt, stack_traces.query_from_trace),
        *(stack_traces.query_from_log, wrappers.query_from_form, wrappers.query_from_listing),
    )
    for shown, readers in ((_both_ends(text, MAX_WRAPPED), of_wrappers), (_both_ends(text, MAX_READ), of_prose)):
        for reader in readers:
            found = reader(shown)
            if found is not None and found.text != text and has_content_words(found.text):
                return found
    return None


def _both_ends(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    first, last = text[: limit // 2], text[-limit // 2 :]
    return f"{first}\n\n{last}" if "\n" in last else f"{first} {last}"


def has_content_words(text: str) -> bool:
    """Whether a text contains a word that is not a stop word."""
    return any(word.lower() not in QUERY_STOP_WORDS and analyzer.parts(word) for word in analyzer.words(text[:_CONTENT_WITHIN]))


def load_patterns(section: str) -> PatternTable:
    """The patterns in a section of `patterns.txt`."""
    return PatternTable(read_sections(Path(__file__).with_name("patterns.txt"))[section])
