"""Words with a meaning of their own in a question: what they say about its kind."""

from __future__ import annotations

import re

#: `http: do not retry`, `fix(parser): ...`: a scope in front, as in commit messages.
SCOPE_PREFIX = re.compile(r"^[\w./()-]{2,40}:\s+\S")
#: A question that holds one of these tells of a problem.
PROBLEM = re.compile(
    r"\b(?:bugs?|fails?|failed|failing|failure|crash(?:es|ed|ing)?|wrong|wrongly|incorrect(?:ly)?|broken|breaks"
    r"|(?:do|does|did|is) ?n[o']t|can ?not|can't|won't|unexpected(?:ly)?|should|instead of|missing|exceptions?|tracebacks?"
    r"|regressions?|hangs?|leaks?|segfault)\b",
    re.IGNORECASE,
)
#: Words with which a short question asks for the very files that are else ranked low.
ASKED_FOR = {
    "test": re.compile(r"\b(?:tests?|testing|specs?|bench\w*|mocks?|fixtures?)\b", re.IGNORECASE),
    "compat": re.compile(r"compat|legacy|deprecat|vendor", re.IGNORECASE),
    "example": re.compile(r"example|sample|demo|tutorial|\bdocs?\b", re.IGNORECASE),
    "old_version": re.compile(r"\bv\d+\b|version", re.IGNORECASE),
    "platform": re.compile(r"windows|win32|aix|wasm|android|platform", re.IGNORECASE),
    "internal": re.compile(r"internal|private|impl", re.IGNORECASE),
}
#: The classic profile spares tests only when these are asked for (R1).
ASKS_FOR_TESTS = re.compile(r"\b(?:tests?|testing|specs?|benchmarks?)\b", re.IGNORECASE)

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_QUOTED_CODE = re.compile(r"^\s*(?:>>>|\.\.\. |\$ |In \[\d+\]:|at \S+\(|File \"[^\"]+\", line \d+|#\d+\s+0x|\^+\s*$)|^(?: {4,}|\t)\S")
#: Bounded, and never begun in the middle of a run: a text of a hundred thousand dashes must not take minutes.
#: A word that can only be an identifier: in back quotes, before a bracket, after a dot or `::`, or with `_` or a capital inside.
IDENTIFIER = re.compile(
    r"`(?:[^`\s]{0,80}[.:#])?(\w{2,80})(?:\(\))?`|\b([A-Za-z_]\w{1,80})(?=\()|(?<=[a-zA-Z_][.:#])([A-Za-z_]\w{1,80})"
    r"|\b([A-Za-z]\w{0,60}(?:_\w|[a-z0-9][A-Z])\w{0,60})"
)
PATH_IN_TEXT = re.compile(r"(?<![\w/\\.@+-])(?:[\w.@+-]{1,80}[/\\]){0,30}[\w@+-][\w.@+-]{0,80}\.[A-Za-z]\w{0,9}(?![\w/])")
MODULE_IN_TEXT = re.compile(r"(?<![\w./\\])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w/\\])")


def split_prose(text: str) -> tuple[str, str]:
    """A text as its prose and its quoted code (fences, prompts, stack traces, indented blocks)."""
    lines = text.split("\n")
    if len(lines) == 1:
        return text, ""
    prose: list[str] = []
    code: list[str] = []
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or _QUOTED_CODE.match(line):
            code.append(line)
        else:
            prose.append(line)
    return "\n".join(prose), "\n".join(code)
