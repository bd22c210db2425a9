r"""Secrets in a text: keys, tokens and passwords that must not be stored or shown (Z10).

Many tokens have a format of their own: a fixed prefix and so many characters (`patterns.txt`). Other secrets are plain
random characters, and only the name before them gives them away (`values`); a name that fits no service gives a
`generic-secret`. Keys come as blocks of lines. Some files hold nothing but secrets. Placeholders in examples are not
secrets: `<your-token>`, `${TOKEN}`, `xxxx`, `changeme`.

Time is linear in the length of the text: a regular expression is tried only where a literal of its secret was found,
it cannot run past its match, and the search continues after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from whence.text.secrets.patterns import NAMED, TOKENS, TokenPattern, cached_regex
from whence.text.secrets.values import FILE_KINDS, Span, find_assigned, find_file_secrets, is_example_password, is_placeholder, is_random


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is in a text, and its kind. The secret itself is not kept."""

    kind: str
    line: int  # its first line, from 1
    start: int  # in characters
    end: int


#: How far from a secret a word counts as near it.
_NEAR = 300
#: The longest part of a secret before its literal.
_MAX_LEAD = 90
#: Secrets that span several lines.
_BLOCKS = ("gcp-service-account", "openssh-private-key", "pgp-private-key", "putty-private-key", "private-key")
#: Secrets known only by the text around them.
_BY_CONTEXT = ("url-password", "curl-password", "jwk-private-key", "basic-auth", "bearer-token", "generic-secret")
#: All kinds, specific ones first.
KINDS = tuple(dict.fromkeys((*_BLOCKS, *(token.kind for token in TOKENS), *(named.kind for named in NAMED), *_BY_CONTEXT, *FILE_KINDS)))
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}


def find_secrets(text: str, path: str = "") -> list[Secret]:
    """Find the secrets in a text, in order; its path may reveal more. Overlapping ones become one, of the more specific kind."""
    lowered = _lower(text)
    by_context = [*_in_urls(text), *_in_headers(text, lowered), *find_assigned(text, lowered)]
    by_context += find_file_secrets(path, text) if path else ()
    found: list[Secret] = []
    line, counted = 1, 0
    for start, end, kind in _merge_overlaps([*_find_tokens(text), *_find_key_blocks(text), *by_context, *_find_repeats(text, by_context)]):
        line, counted = line + text.count("\n", counted, start), start
        found.append(Secret(kind, line, start, end))
    return found


def redact_secrets(text: str, found: Sequence[Secret]) -> str:
    """Replace each secret by `[redacted: KIND]`."""
    parts, at = [], 0
    for one in sorted(found, key=lambda one: one.start):
        parts += [text[at : one.start], f"[redacted: {one.kind}]"] if one.start >= at else []
        at = max(at, one.end)
    return "".join([*parts, text[at:]])


def _merge_overlaps(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end, kind in sorted(spans):
        if merged and start < merged[-1][1]:
            before = merged.pop()
            merged.append((before[0], max(before[1], end), min(before[2], kind, key=_RANK.__getitem__)))
        else:
            merged.append((start, end, kind))
    return merged


#: Repeats of at most this many secrets are looked for, so that time stays linear in a text of nothing but secrets.
_MAX_REPEATED = 50


def _find_repeats(text: str, by_context: Sequence[Span]) -> Iterator[Span]:
    """Other occurrences of secrets that were known only by their context."""
    values = dict.fromkeys((text[start:end], kind) for start, end, kind in by_context if end - start >= 8)
    for value, kind in list(values)[:_MAX_REPEATED]:
        yield from ((at, at + len(value), kind) for at in _occurrences(text, value))


def _occurrences(text: str, literal: str) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + len(literal))


def _lower(text: str) -> str:
    """Lower case with every character at its old offset: only \u0130 would become two."""
    return text.replace("\u0130", "i").lower()


#: A token must not begin inside another word; an escape sequence before it is fine.
_OPEN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[2-5][0-9A-F]))"
_CLOSED = r"(?![A-Za-z0-9])"
#: Every token contains a run of this many characters without a space, quote or bracket.
_MIN_RUN = 16
#: This much of a literal tells it from nearly all words; more would take longer to compile.
_LITERAL_PREFIX = 4
#: Maps word characters to one letter and all others to spaces, so that long words are found by a plain search.
_WORD_MAP = bytes(32 if code <= 32 or chr(code) in "\"'`,;<>()[]{}|\\*!?&#@^" else 97 for code in range(256))
_LONG_RUN = b"a" * _MIN_RUN


def _find_tokens(text: str) -> Iterator[Span]:
    # Most of a text is short words: without them, looking for so many literals costs little.
    long_words = set(_long_words(text.encode("utf-8", "replace")))
    if not long_words:
        return
    has_literal = _any_literal().search
    suspects = b"\n".join(word for word in long_words if has_literal(word)).decode("utf-8", "replace")
    for token in TOKENS if suspects else ():
        for literal in token.literals:
            if literal in suspects:
                yield from _match_token(text, token, literal)


def _long_words(raw: bytes) -> Iterator[bytes]:
    mapped = raw.translate(_WORD_MAP)
    at = mapped.find(_LONG_RUN)
    while at >= 0:
        end = mapped.find(b" ", at)
        yield raw[at : end if end >= 0 else len(raw)]
        at = mapped.find(_LONG_RUN, end) if end >= 0 else -1


@cache
def _any_literal() -> re.Pattern[bytes]:
    """One pattern for the beginnings of all literals: a hundred times as fast as trying each."""
    return re.compile(_trie_pattern({literal[:_LITERAL_PREFIX] for token in TOKENS for literal in token.literals}).encode())


def _trie_pattern(literals: Iterable[str]) -> str:
    branches: dict[str, list[str]] = {}
    for literal in literals:
        branches.setdefault(literal[:1], []).append(literal[1:])
    if "" in branches:  # one literal ends here, so longer ones match too
        return ""
    return f"(?:{'|'.join(re.escape(letter) + _trie_pattern(rest) for letter, rest in sorted(branches.items()))})"


def _match_token(text: str, token: TokenPattern, literal: str) -> Iterator[Span]:
    pattern = cached_regex((_OPEN if literal[0].isalnum() and not token.lead else "") + token.pattern + _CLOSED)
    at = text.find(literal)
    while at >= 0:
        match = pattern.match(text, at)
        if match and (start := _token_start(text, token, at, match.start(match.lastindex or 0))) >= 0:
            end = match.end(match.lastindex or 0)
            if not is_placeholder(text[start:end]) and _is_near(text, token.near, start, end):
                yield start, end, token.kind
        at = text.find(literal, match.end() if match else at + len(literal))


def _token_start(text: str, token: TokenPattern, at: int, match_start: int) -> int:
    if not token.lead:
        return match_start
    lead = cached_regex(rf"(?:{token.lead})\Z").search(text, max(0, at - _MAX_LEAD), at)
    return lead.start() if lead else -1


def _is_near(text: str, words: Sequence[str], start: int, end: int) -> bool:
    around = text[max(0, start - _NEAR) : end + _NEAR] if words else ""
    return not words or any(word in around for word in words)


#: A shorter key is an example that was cut short.
_KEY_MATERIAL = r"[A-Za-z0-9+/=]{32,}"
#: The lines of a key block, to find its end if the closing line is missing.
_KEY_LINES = rf"{_KEY_MATERIAL}(?:[\s\\nrt\"'+,>|#*]{{1,20}}[A-Za-z0-9+/=]{{20,}})*(?:[\s\\nrt\"'+]{{1,20}}[A-Za-z0-9+/]+={{0,2}})?"
#: Each on a line of its own, perhaps in a comment.
_PUTTY_LINES = r"Private-Lines: ?\d{1,4}[\s/#*;]{1,20}([A-Za-z0-9+/=]{32,}(?:[\s/#*;]{1,20}[A-Za-z0-9+/=]{1,64}(?!\S))*)"
_MAX_KEY = 40_000
_MAX_JWK = 8_000


def _find_key_blocks(text: str) -> Iterator[Span]:
    for at in _occurrences(text, "PRIVATE KEY"):
        closing = cached_regex(r"PRIVATE KEY(?: BLOCK)? ?-{4,5}").match(text, at)
        opening = cached_regex(r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,5}\Z").search(text, max(0, at - _MAX_LEAD), at) if closing else None
        if not opening or not closing:
            continue
        marker = text.find("----", closing.end(), closing.end() + _MAX_KEY)
        whole = cached_regex(r"-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}").match(text, marker) if marker >= 0 else None
        lines = cached_regex(_KEY_LINES).search(text, closing.end(), marker if marker >= 0 else closing.end() + _MAX_KEY)
        if lines and (whole or lines.start() - closing.end() < _NEAR):
            yield opening.start(), whole.end() if whole else lines.end(), _key_kind(text, opening.start(), at)
    for at in _occurrences(text, "Private-Lines:"):
        match = cached_regex(_PUTTY_LINES).match(text, at)
        if match:
            yield *match.span(1), "putty-private-key"


def _key_kind(text: str, start: int, end: int) -> str:
    if "service_account" in text[max(0, start - 1_000) : end + 8_000] and '"private_key"' in text[max(0, start - 40) : start]:
        return "gcp-service-account"
    words = text[start:end].split()
    return "openssh-private-key" if "OPENSSH" in words else "pgp-private-key" if "PGP" in words else "private-key"


_URL_LOGIN = r"://[^\s/:@?#\"'`<>]{0,100}:([^\s/\"'`<>]{4,200})@([\w.\[-]+)"
_CURL_LOGIN = r" (?:-u|--user)[ =][\"']?[^\s:\"'<>$]{1,100}:([^\s\"'<>]{6,200})"


def _in_urls(text: str) -> Iterator[Span]:
    for at in _occurrences(text, "://") if "@" in text else ():
        match = cached_regex(_URL_LOGIN).match(text, at)
        if match and not is_example_password(match[1]) and "example" not in match[2]:
            yield *match.span(1), "url-password"
    for literal in (" -u ", " --user "):
        for at in _occurrences(text, literal):
            match = cached_regex(_CURL_LOGIN).match(text, at)
            if match and "curl" in text[max(0, at - _NEAR) : at] and not is_example_password(match[1]):
                yield *match.span(1), "curl-password"


def _in_headers(text: str, lowered: str) -> Iterator[Span]:
    for at in _occurrences(lowered, "bearer"):
        match = cached_regex(r"bearer[ \t:]{1,4}([\w.~+/=-]{16,})").match(lowered, at)
        if match and is_random(text[slice(*match.span(1))]):
            yield *match.span(1), "bearer-token"
    for literal, pattern in (("basic ", r"basic ([\w+/-]{10,}={0,2})"), ('"auth"', r'"auth"\s{0,4}:\s{0,4}"([\w+/-]{10,}={0,2})"')):
        for at in _occurrences(lowered, literal):
            match = cached_regex(pattern).match(lowered, at)
            if match and _is_login(text[slice(*match.span(1))]):
                yield *match.span(1), "basic-auth"
    for at in _occurrences(text, '"d"') if '"kty"' in text else ():
        match = cached_regex(r'"d"\s{0,4}:\s{0,4}"([\w-]{40,})"').match(text, at)
        if match and '"kty"' in text[max(0, at - _MAX_JWK) : match.end() + _MAX_JWK]:
            yield *match.span(1), "jwk-private-key"


def _is_login(encoded: str) -> bool:
    """Whether a value is a user name and a password in base64."""
    import base64  # noqa: PLC0415  -- rarely needed

    try:
        plain = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("ascii")
    except ValueError:
        return False
    _, colon, password = plain.partition(":")
    return bool(colon) and plain.isprintable() and not is_example_password(password)
