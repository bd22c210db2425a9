"""Characters that nobody sees: those that carry text of their own, and those that turn the order of what is shown (Z11)."""

from __future__ import annotations

import re
from collections.abc import Callable

#: Of no width, or none at all; variation selectors and tags aside.
_ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
    "\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
)
_BIDI = "\u202a-\u202e\u2066-\u2069"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"
#: All of them, as a pattern: without them a text looks the same.
REMOVABLE = f"[{_ZERO_WIDTH}{_BIDI}{_SELECTORS}{_TAGS}]"

#: A joiner between letters that are not Latin and the sign after an emoji are part of how they are written; so are flags of regions.
_WRITTEN = re.compile(
    "(?<=[^\x00-\u02ff])[\u200c\u200d\ufe0e\ufe0f](?=[^\x00-\u02ff]|\\W|$)|(?<=[0-9#*])\ufe0f\u20e3|[\u00a9\u00ae]\ufe0f"
    "|\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f"
)
_SHOWN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_ZERO_WIDTH}{_BIDI}{_SELECTORS}{_TAGS}\ud800-\udfff\ufffe\uffff]")
_RUN = re.compile(f"[{_ZERO_WIDTH}]{{3,}}|[{_SELECTORS}]{{2,}}|(?:[A-Za-z][\u00ad\u200b-\u200d\u2060\ufeff][A-Za-z].*){{2}}")
_TURN = re.compile("[\u202d\u202e]|[\u2066-\u2068].*[^\x00-\x7f]|[\u202a\u202b].*[A-Za-z0-9]")
_TAG = re.compile(f"[{_TAGS}]")


def describe_hidden(line: str) -> str:
    """What is hidden in a line, in words; empty where nothing is."""
    rest = _WRITTEN.sub("", line)
    if _TAG.search(rest):
        return "has letters that nobody sees"
    if _TURN.search(rest):
        return "shows its characters in another order"
    return "has characters that nobody sees" if _RUN.search(rest) else ""


def escape_character(character: str) -> str:
    """A character by its number."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_invisible(text: str, written: Callable[[str], str] = escape_character) -> str:
    """The text with escapes for control characters and characters that nobody sees; how a script is written stays."""
    if text.isascii() and not _SHOWN.search(text):
        return text
    kept = {match.start() + at for match in _WRITTEN.finditer(text) for at in range(len(match[0]))}
    return _SHOWN.sub(lambda match: match[0] if match.start() in kept else written(match[0]), text)
