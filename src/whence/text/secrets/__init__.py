r"""Secrets in a text: keys, tokens and passwords that must not be stored or shown (Z10).

Three kinds of sign give a secret away. Many tokens have a form of their own: a fixed beginning and then so many
characters (`FORMS`). Others are plain random characters, and only the name beside them tells what they are
(`NAMED`, and `generic-secret` for a name that fits no service; `secret_values`). Keys come as blocks of lines.
Some files hold nothing but secrets, and their name tells (`secret_files`).
What stands in for a secret in examples is none: `<your-token>`, `${TOKEN}`, `xxxx`, `changeme`.

Time grows with the length of the text and no faster: a regular expression is tried only where a plain substring of
its secret was found, it cannot run past what it takes, and the search goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from whence.text.secrets.files import FILE_KINDS, find_file_secrets
from whence.text.secrets.patterns import FORMS, NAMED, SecretPattern
from whence.text.secrets.values import Span, cached_regex, find_assigned, is_example_password, is_placeholder, is_random


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands in a text, and what it is. The secret itself is not kept."""

    kind: str
    line: int  # from 1, the first that it stands on
    start: int  # in characters
    end: int


#: How far from a secret a word counts as near it.
_NEAR = 300
#: The longest part of a secret before the literal that it is found by.
_LEAD = 90
#: What comes as a block of lines.
_BLOCKS = ("gcp-service-account", "openssh-private-key", "pgp-private-key", "putty-private-key", "private-key")
#: What is told by what stands around it, whatever it is.
_AROUND = ("url-password", "curl-password", "jwk-private-key", "basic-auth", "bearer-token", "generic-secret")


def _ordered() -> tuple[str, ...]:
    kinds = (*_BLOCKS, *(form.kind for form in FORMS), *(named.kind for named in NAMED), *_AROUND, *FILE_KINDS)
    return tuple(dict.fromkeys(kinds))


#: All kinds, the more specific before the less specific.
KINDS = _ordered()
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}


def find_secrets(text: str, path: str = "") -> list[Secret]:
    """The secrets in a text, in order; its path may tell more. Where two overlap they are one, of the more specific kind."""
    lowered = _lowered(text)
    told = [*_in_urls(text), *_in_headers(text, lowered), *find_assigned(text, lowered), *(find_file_secrets(path, text) if path else ())]
    found: list[Secret] = []
    line, counted = 1, 0
    for start, end, kind in _apart([*_formed(text), *_key_blocks(text), *told, *_again(text, told)]):
        line, counted = line + text.count("\n", counted, start), start
        found.append(Secret(kind, line, start, end))
    return found


def redact_secrets(text: str, found: Sequence[Secret]) -> str:
    """The text with `[redacted: KIND]` in the place of each secret."""
    parts, at = [], 0
    for one in sorted(found, key=lambda one: one.start):
        parts += [text[at : one.start], f"[redacted: {one.kind}]"] if one.start >= at else []
        at = max(at, one.end)
    return "".join([*parts, text[at:]])


def _apart(spans: Sequence[Span]) -> list[Span]:
    apart: list[Span] = []
    for start, end, kind in sorted(spans):
        if apart and start < apart[-1][1]:
            before = apart.pop()
            apart.append((before[0], max(before[1], end), min(before[2], kind, key=_RANK.__getitem__)))
        else:
            apart.append((start, end, kind))
    return apart


#: So many secrets at most are looked for a second time, so that a text of nothing but secrets takes no square of its length.
_AGAIN = 50


def _again(text: str, told: Sequence[Span]) -> Iterator[Span]:
    """Other places of secrets that only what stands around them gave away: there, nothing may."""
    values = dict.fromkeys((text[start:end], kind) for start, end, kind in told if end - start >= 8)
    for value, kind in list(values)[:_AGAIN]:
        yield from ((at, at + len(value), kind) for at in _places(text, value))


def _places(text: str, literal: str) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + len(literal))


def _lowered(text: str) -> str:
    """In small letters, each in its old place: the one letter that becomes two is put aside."""
    return text.replace("\u0130", "i").lower()


#: What a form must not stand right behind: it would be the inside of something else. An escape is not that.
_OPEN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[2-5][0-9A-F]))"
_CLOSED = r"(?![A-Za-z0-9])"
#: No secret with a form of its own stands in fewer characters without a space, a quote or a bracket between.
_SHORTEST = 16
#: So many letters of a literal tell it from nearly all words; more would take longer to compile.
_TOLD_BY = 4
#: The characters of words as one letter and all others as spaces, so that long words are found by a plain search.
_MARKED = bytes(32 if code <= 32 or chr(code) in "\"'`,;<>()[]{}|\\*!?&#@^" else 97 for code in range(256))
_LONG = b"a" * _SHORTEST


def _formed(text: str) -> Iterator[Span]:
    # Most of a text is short words: without them, looking for so many literals costs little.
    long = set(_long_words(text.encode("utf-8", "replace")))
    if not long:
        return
    begins = _any_literal().search
    suspects = b"\n".join(word for word in long if begins(word)).decode("utf-8", "replace")
    for form in FORMS if suspects else ():
        for literal in form.literals.split():
            if literal in suspects:
                yield from _with_form(text, form, literal)


def _long_words(raw: bytes) -> Iterator[bytes]:
    marked = raw.translate(_MARKED)
    at = marked.find(_LONG)
    while at >= 0:
        end = marked.find(b" ", at)
        yield raw[at : end if end >= 0 else len(raw)]
        at = marked.find(_LONG, end) if end >= 0 else -1


@cache
def _any_literal() -> re.Pattern[bytes]:
    """One pattern for the beginnings of all literals: a hundred times as fast as one after another."""
    return re.compile(_branches({literal[:_TOLD_BY] for form in FORMS for literal in form.literals.split()}).encode())


def _branches(literals: Iterable[str]) -> str:
    after: dict[str, list[str]] = {}
    for literal in literals:
        after.setdefault(literal[:1], []).append(literal[1:])
    if "" in after:  # one of them ends here: whatever another goes on with, it is found
        return ""
    return f"(?:{'|'.join(re.escape(letter) + _branches(rest) for letter, rest in sorted(after.items()))})"


def _with_form(text: str, form: SecretPattern, literal: str) -> Iterator[Span]:
    pattern = cached_regex((_OPEN if literal[0].isalnum() and not form.lead else "") + form.pattern + _CLOSED)
    at = text.find(literal)
    while at >= 0:
        match = pattern.match(text, at)
        if match and (start := _beginning(text, form, at, match.start(match.lastindex or 0))) >= 0:
            end = match.end(match.lastindex or 0)
            if not is_placeholder(text[start:end]) and _is_near(text, form.near, start, end):
                yield start, end, form.kind
        at = text.find(literal, match.end() if match else at + len(literal))


def _beginning(text: str, form: SecretPattern, at: int, otherwise: int) -> int:
    if not form.lead:
        return otherwise
    lead = cached_regex(rf"(?:{form.lead})\Z").search(text, max(0, at - _LEAD), at)
    return lead.start() if lead else -1


def _is_near(text: str, words: str, start: int, end: int) -> bool:
    around = text[max(0, start - _NEAR) : end + _NEAR] if words else ""
    return not words or any(word in around for word in words.split("|"))


#: A key that is not this long is an example that was cut short.
_KEY_MATERIAL = r"[A-Za-z0-9+/=]{32,}"
#: Where a block ends whose last line is missing: behind the last of its lines.
_KEY_LINES = rf"{_KEY_MATERIAL}(?:[\s\\nrt\"'+,>|#*]{{1,20}}[A-Za-z0-9+/=]{{20,}})*(?:[\s\\nrt\"'+]{{1,20}}[A-Za-z0-9+/]+={{0,2}})?"
#: Each on a line of its own, perhaps in a comment.
_PUTTY_LINES = r"Private-Lines: ?\d{1,4}[\s/#*;]{1,20}([A-Za-z0-9+/=]{32,}(?:[\s/#*;]{1,20}[A-Za-z0-9+/=]{1,64}(?!\S))*)"
_LONGEST_KEY = 40_000
_LONGEST_JWK = 8_000


def _key_blocks(text: str) -> Iterator[Span]:
    for at in _places(text, "PRIVATE KEY"):
        closing = cached_regex(r"PRIVATE KEY(?: BLOCK)? ?-{4,5}").match(text, at)
        opening = cached_regex(r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,5}\Z").search(text, max(0, at - _LEAD), at) if closing else None
        if not opening or not closing:
            continue
        marker = text.find("----", closing.end(), closing.end() + _LONGEST_KEY)
        whole = cached_regex(r"-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}").match(text, marker) if marker >= 0 else None
        lines = cached_regex(_KEY_LINES).search(text, closing.end(), marker if marker >= 0 else closing.end() + _LONGEST_KEY)
        if lines and (whole or lines.start() - closing.end() < _NEAR):
            yield opening.start(), whole.end() if whole else lines.end(), _kind_of_key(text, opening.start(), at)
    for at in _places(text, "Private-Lines:"):
        match = cached_regex(_PUTTY_LINES).match(text, at)
        if match:
            yield *match.span(1), "putty-private-key"


def _kind_of_key(text: str, start: int, end: int) -> str:
    if "service_account" in text[max(0, start - 1_000) : end + 8_000] and '"private_key"' in text[max(0, start - 40) : start]:
        return "gcp-service-account"
    words = text[start:end].split()
    return "openssh-private-key" if "OPENSSH" in words else "pgp-private-key" if "PGP" in words else "private-key"


_IN_URL = r"://[^\s/:@?#\"'`<>]{0,100}:([^\s/\"'`<>]{4,200})@([\w.\[-]+)"
_FOR_CURL = r" (?:-u|--user)[ =][\"']?[^\s:\"'<>$]{1,100}:([^\s\"'<>]{6,200})"


def _in_urls(text: str) -> Iterator[Span]:
    for at in _places(text, "://") if "@" in text else ():
        match = cached_regex(_IN_URL).match(text, at)
        if match and not is_example_password(match[1]) and "example" not in match[2]:
            yield *match.span(1), "url-password"
    for literal in (" -u ", " --user "):
        for at in _places(text, literal):
            match = cached_regex(_FOR_CURL).match(text, at)
            if match and "curl" in text[max(0, at - _NEAR) : at] and not is_example_password(match[1]):
                yield *match.span(1), "curl-password"


def _in_headers(text: str, lowered: str) -> Iterator[Span]:
    for at in _places(lowered, "bearer"):
        match = cached_regex(r"bearer[ \t:]{1,4}([\w.~+/=-]{16,})").match(lowered, at)
        if match and is_random(text[slice(*match.span(1))]):
            yield *match.span(1), "bearer-token"
    for literal, pattern in (("basic ", r"basic ([\w+/-]{10,}={0,2})"), ('"auth"', r'"auth"\s{0,4}:\s{0,4}"([\w+/-]{10,}={0,2})"')):
        for at in _places(lowered, literal):
            match = cached_regex(pattern).match(lowered, at)
            if match and _is_login(text[slice(*match.span(1))]):
                yield *match.span(1), "basic-auth"
    for at in _places(text, '"d"') if '"kty"' in text else ():
        match = cached_regex(r'"d"\s{0,4}:\s{0,4}"([\w-]{40,})"').match(text, at)
        if match and '"kty"' in text[max(0, at - _LONGEST_JWK) : match.end() + _LONGEST_JWK]:
            yield *match.span(1), "jwk-private-key"


def _is_login(encoded: str) -> bool:
    """Whether it is a name and a password in base 64."""
    import base64  # noqa: PLC0415  -- hardly any text needs it

    try:
        plain = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("ascii")
    except ValueError:
        return False
    _, colon, password = plain.partition(":")
    return bool(colon) and plain.isprintable() and not is_example_password(password)
