"""Invisible characters that can carry text of their own, and characters that change the displayed order (Z11)."""

from __future__ import annotations

import re
from collections.abc import Callable

#: Characters without width, except variation selectors and tags.
_ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
    "\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
)
_BIDI = "\u202a-\u202e\u2066-\u2069"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"
#: All of them, as a pattern: a text looks the same without them.
REMOVABLE = f"[{_ZERO_WIDTH}{_BIDI}{_SELECTORS}{_TAGS}]"

#: Legitimate uses: joiners between non-Latin letters, selectors after an emoji, flags of regions.
_LEGITIMATE = re.compile(
    "(?<=[^\x00-\u02ff])[\u200c\u200d\ufe0e\ufe0f](?=[^\x00-\u02ff]|\\W|$)|(?<=[0-9#*])\ufe0f\u20e3|[\u00a9\u00ae]\ufe0f"
    "|\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f"
)
_ESCAPED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_ZERO_WIDTH}{_BIDI}{_SELECTORS}{_TAGS}\ud800-\udfff\ufffe\uffff]")
_RUN = re.compile(f"[{_ZERO_WIDTH}]{{3,}}|[{_SELECTORS}]{{2,}}|(?:[A-Za-z][\u00ad\u200b-\u200d\u2060\ufeff][A-Za-z].*){{2}}")
_REORDERED = re.compile("[\u202d\u202e]|[\u2066-\u2068].*[^\x00-\x7f]|[\u202a\u202b].*[A-Za-z0-9]")
_TAG = re.compile(f"[{_TAGS}]")


def describe_hidden(line: str) -> str:
    """How a line hides text; empty if it does not."""
    rest = _LEGITIMATE.sub("", line)
    if _TAG.search(rest):
        return "contains invisible letters"
    if _REORDERED.search(rest):
        return "displays its characters in another order"
    return "contains invisible characters" if _RUN.search(rest) else ""


def escape_character(character: str) -> str:
    """A character as its code point."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_invisible(text: str, escape: Callable[[str], str] = escape_character) -> str:
    """Escape control characters and invisible ones, except where a script or an emoji needs them."""
    if text.isascii() and not _ESCAPED.search(text):
        return text
    legitimate = {match.start() + at for match in _LEGITIMATE.finditer(text) for at in range(len(match[0]))}
    return _ESCAPED.sub(lambda match: match[0] if match.start() in legitimate else escape(match[0]), text)
