"""JSON as people write it: with comments, and commas before the end."""

from __future__ import annotations

import json
import re

#: A text in quotes, or a comment; one that is never closed goes to the end, so that nothing is read twice.
_QUOTED_OR_COMMENT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)
_QUOTED_OR_COMMA = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|,(?=\s*[}\]])', re.DOTALL)


def parse_json(text: str) -> object:
    """The value of a text; None when there is none to be had."""
    for one in (str, _plain):
        try:
            value: object = json.loads(one(text))
            return value
        except (ValueError, RecursionError):
            continue
    return None


def _plain(text: str) -> str:
    text = _QUOTED_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text.removeprefix("\ufeff"))
    return _QUOTED_OR_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else "", text)
