"""What is asked in a pasted text: a prompt, a conversation, JSON or tags, a stack trace, log lines or an issue form around a question.

Most questions are one short line and pass one cheap test. The rest is read by `envelopes`, `prompts`,
`traces` and `forms`, which are loaded when there is something to read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from whence.text import analyzer
from whence.text.analyzer import QUERY_STOP_WORDS

#: Kinds of a text. A plain one is searched as it is.
PLAIN, ENVELOPE, CHAT, PROMPT, TRACE, LOG, ISSUE, SNIPPET = ("plain", "envelope", "chat", "prompt", "trace", "log", "issue", "snippet")
#: A single line with more letters is looked at more closely.
SHORT = 300
#: Wrappings within wrappings that are opened.
DEEPEST = 5
#: Of a longer text only the beginning and the end are read, of one in JSON or tags more: the question stands in one of them.
MAX_READ, MOST_OPENED = 30_000, 1_200_000
#: Letters in which a text must have said something.
SAID_WITHIN = 4_000

#: How a single short line begins that may be more than a question.
_SUSPECT = re.compile(
    r"\s*(?:[{\[<`]|\d\d|\w[\w.]*\(\s*(?:\{|\w+\s*=)|you(?:'re| are)\b|act as\b|(?:user|search|my|the) (?:question|query)\b|question\s*:)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CleanedQuery:
    """What is to be searched, of what kind the text was, and in one sentence what was done with it."""

    text: str
    kind: str = PLAIN
    note: str = ""


def clean_paste(text: str) -> CleanedQuery:
    """The question in a text: all of it, unless it is certain that it holds more than a question."""
    if len(text) <= SHORT and "\n" not in text and "</" not in text and not _SUSPECT.match(text):
        return CleanedQuery(text)
    found = CleanedQuery(text)
    for _ in range(DEEPEST if text.strip() else 0):
        inner = _inner(found.text)
        if inner is None:
            break
        found = inner
    return found


def _inner(text: str) -> CleanedQuery | None:
    """The question that the first reader finds who knows the form of a text; each leaves alone what is not its own."""
    from whence.query.paste import envelopes, prompts, stack_traces  # noqa: PLC0415  -- loaded for texts that need to be read

    openers = (envelopes.out_of_json, envelopes.out_of_tags)
    readers = (
        prompts.out_of_chat,
        prompts.out_of_prompt,
        stack_traces.out_of_trace,
        stack_traces.out_of_log,
        envelopes.out_of_form,
        envelopes.out_of_gutter,
    )
    for shown, some in ((_both_ends(text, MOST_OPENED), openers), (_both_ends(text, MAX_READ), readers)):
        for reader in some:
            found = reader(shown)
            if found is not None and found.text != text and has_content_words(found.text):
                return found
    return None


def _both_ends(text: str, letters: int) -> str:
    if len(text) <= letters:
        return text
    first, last = text[: letters // 2], text[-letters // 2 :]
    return f"{first}\n\n{last}" if "\n" in last else f"{first} {last}"


def has_content_words(text: str) -> bool:
    """Whether a text holds a word that is no stop word."""
    return any(word.lower() not in QUERY_STOP_WORDS and analyzer.parts(word) for word in analyzer.words(text[:SAID_WITHIN]))
