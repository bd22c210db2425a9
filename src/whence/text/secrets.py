r"""Secrets in a text: keys, tokens and passwords that must not be stored or shown (Z10).

Many tokens have a format of their own: a fixed prefix and so many characters (`secret_patterns.txt`). Other secrets are
plain random characters, and only the name before them gives them away; a name that fits no service gives a
`generic-secret`. Keys come as blocks of lines. Some files hold nothing but secrets. Placeholders in examples are not
secrets: `<your-token>`, `${TOKEN}`, `xxxx`, `changeme`.

Time is linear in the length of the text: a regular expression is tried only where a literal of its secret was found,
it cannot run past its match, and the search continues after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from whence.text.tables import PatternTable, read_sections

#: Start, end and kind of a secret.
Span = tuple[int, int, str]
_ENV_VALUE, _STORED_LOGIN = _FILE_KINDS = ("env-value", "stored-login")


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is in a text, and its kind. The secret itself is not kept."""

    kind: str
    line: int  # its first line, from 1
    start: int  # in characters
    end: int


class TokenPattern(NamedTuple):
    """A secret with a format of its own, found by a literal it starts with."""

    kind: str
    literals: tuple[str, ...]
    pattern: str  # starts at the literal; if it has a group, only that part is secret
    lead: str  # pattern of the part of the secret before the literal
    near: tuple[str, ...]  # one of these must be close by


class NamedPattern(NamedTuple):
    """A secret without a format of its own, known by the name before it."""

    kind: str
    names: str  # pattern to find in the line before the value
    value: str  # pattern of the whole value


_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _columns(row: str) -> list[str]:
    return [column.strip() for column in row.split("  ") if column]


def _token_pattern(row: str) -> TokenPattern:
    kind, literals, pattern, *rest = _columns(row)
    options = dict(column.split("=", 1) for column in rest)
    near = options.get("near", "")
    return TokenPattern(kind, tuple(literals.split()), pattern, options.get("lead", ""), tuple(near.split("|")) if near else ())


_SECTIONS = read_sections(Path(__file__).with_name("secret_patterns.txt"))
_TOKENS = tuple(map(_token_pattern, _SECTIONS["tokens"]))
_NAMED = tuple(
    NamedPattern(kind, "" if names == "-" else names, value.replace("{uuid}", _UUID))
    for kind, names, value in map(_columns, _SECTIONS["named"])
)
_PUBLISHED = tuple(_SECTIONS["published"])
_PATTERN = PatternTable(_SECTIONS["patterns"])
_NOT_SECRET_WORDS, _EXAMPLE_PASSWORDS, _LETTER_PAIRS = (
    frozenset(" ".join(_SECTIONS[name]).split()) for name in ("not_secret", "example_passwords", "letter_pairs")
)
#: How far from a secret a word counts as near it.
_NEAR = 300
#: The longest part of a secret before its literal.
_MAX_LEAD = 90
#: Secrets that span several lines.
_BLOCKS = ("gcp-service-account", "openssh-private-key", "pgp-private-key", "putty-private-key", "private-key")
#: Secrets known only by the text around them.
_BY_CONTEXT = ("url-password", "curl-password", "jwk-private-key", "basic-auth", "bearer-token", "generic-secret")
#: All kinds, specific ones first.
KINDS = tuple(dict.fromkeys((*_BLOCKS, *(token.kind for token in _TOKENS), *(named.kind for named in _NAMED), *_BY_CONTEXT, *_FILE_KINDS)))
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}


def find_secrets(text: str, path: str = "") -> list[Secret]:
    """Find the secrets in a text, in order; its path may reveal more. Overlapping ones become one, of the more specific kind."""
    lowered = text.replace("\u0130", "i").lower()  # every character at its old offset: only \u0130 would become two
    by_context = [*_in_urls(text), *_in_headers(text, lowered), *_find_assigned(text, lowered)]
    for is_such_file, find_values in _FILES if path else ():
        by_context += find_values(text) if is_such_file(path.lower()) else ()
    found: list[Secret] = []
    line, counted = 1, 0
    for start, end, kind in _merge_overlaps([*_find_tokens(text), *_find_key_blocks(text), *by_context, *_find_repeats(text, by_context)]):
        line, counted = line + text.count("\n", counted, start), start
        found.append(Secret(kind, line, start, end))
    return found


def redact_secrets(text: str, found: Sequence[Secret] | None = None) -> str:
    """Replace each secret by `[redacted: KIND]`; `found` are those that `find_secrets` returned."""
    parts, at = [], 0
    for one in sorted(find_secrets(text) if found is None else found, key=lambda one: one.start):
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
    for token in _TOKENS if suspects else ():
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
    return re.compile(_trie_pattern({literal[:_LITERAL_PREFIX] for token in _TOKENS for literal in token.literals}).encode())


def _trie_pattern(literals: Iterable[str]) -> str:
    branches: dict[str, list[str]] = {}
    for literal in literals:
        branches.setdefault(literal[:1], []).append(literal[1:])
    if "" in branches:  # one literal ends here, so longer ones match too
        return ""
    return f"(?:{'|'.join(re.escape(letter) + _trie_pattern(rest) for letter, rest in sorted(branches.items()))})"


def _match_token(text: str, token: TokenPattern, literal: str) -> Iterator[Span]:
    pattern = _regex((_OPEN if literal[0].isalnum() and not token.lead else "") + token.pattern + _CLOSED)
    at = text.find(literal)
    while at >= 0:
        match = pattern.match(text, at)
        if match and (start := _token_start(text, token, at, match.start(match.lastindex or 0))) >= 0:
            end = match.end(match.lastindex or 0)
            if not _is_placeholder(text[start:end]) and (
                not token.near or any(word in text[max(0, start - _NEAR) : end + _NEAR] for word in token.near)
            ):
                yield start, end, token.kind
        at = text.find(literal, match.end() if match else at + len(literal))


def _token_start(text: str, token: TokenPattern, at: int, match_start: int) -> int:
    if not token.lead:
        return match_start
    lead = _regex(rf"(?:{token.lead})\Z").search(text, max(0, at - _MAX_LEAD), at)
    return lead.start() if lead else -1


_MAX_KEY = 40_000
_MAX_JWK = 8_000


def _find_key_blocks(text: str) -> Iterator[Span]:
    for at in _occurrences(text, "PRIVATE KEY"):
        closing = _regex(r"PRIVATE KEY(?: BLOCK)? ?-{4,5}").match(text, at)
        opening = _regex(r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,5}\Z").search(text, max(0, at - _MAX_LEAD), at) if closing else None
        if not opening or not closing:
            continue
        marker = text.find("----", closing.end(), closing.end() + _MAX_KEY)
        whole = _regex(r"-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}").match(text, marker) if marker >= 0 else None
        lines = _PATTERN["KEY_LINES"].search(text, closing.end(), marker if marker >= 0 else closing.end() + _MAX_KEY)
        if lines and (whole or lines.start() - closing.end() < _NEAR):
            yield opening.start(), whole.end() if whole else lines.end(), _key_kind(text, opening.start(), at)
    for at in _occurrences(text, "Private-Lines:"):
        match = _PATTERN["PUTTY_LINES"].match(text, at)
        if match:
            yield *match.span(1), "putty-private-key"


def _key_kind(text: str, start: int, end: int) -> str:
    if "service_account" in text[max(0, start - 1_000) : end + 8_000] and '"private_key"' in text[max(0, start - 40) : start]:
        return "gcp-service-account"
    words = text[start:end].split()
    return "openssh-private-key" if "OPENSSH" in words else "pgp-private-key" if "PGP" in words else "private-key"


_CURL_LOGIN = r" (?:-u|--user)[ =][\"']?[^\s:\"'<>$]{1,100}:([^\s\"'<>]{6,200})"


def _in_urls(text: str) -> Iterator[Span]:
    for at in _occurrences(text, "://") if "@" in text else ():
        match = _PATTERN["URL_LOGIN"].match(text, at)
        if match and not _is_example_password(match[1]) and "example" not in match[2]:
            yield *match.span(1), "url-password"
    for literal in (" -u ", " --user "):
        for at in _occurrences(text, literal):
            match = _regex(_CURL_LOGIN).match(text, at)
            if match and "curl" in text[max(0, at - _NEAR) : at] and not _is_example_password(match[1]):
                yield *match.span(1), "curl-password"


def _in_headers(text: str, lowered: str) -> Iterator[Span]:
    for at in _occurrences(lowered, "bearer"):
        match = _regex(r"bearer[ \t:]{1,4}([\w.~+/=-]{16,})").match(lowered, at)
        if match and _is_random(text[slice(*match.span(1))]):
            yield *match.span(1), "bearer-token"
    for literal, pattern in (("basic ", r"basic ([\w+/-]{10,}={0,2})"), ('"auth"', r'"auth"\s{0,4}:\s{0,4}"([\w+/-]{10,}={0,2})"')):
        for at in _occurrences(lowered, literal):
            match = _regex(pattern).match(lowered, at)
            if match and _is_login(text[slice(*match.span(1))]):
                yield *match.span(1), "basic-auth"
    for at in _occurrences(text, '"d"') if '"kty"' in text else ():
        match = _regex(r'"d"\s{0,4}:\s{0,4}"([\w-]{40,})"').match(text, at)
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
    return bool(colon) and plain.isprintable() and not _is_example_password(password)


# Values after a name.
#: Parts of names of secrets, with the minimum length of the value.
_NAME_PARTS = {"passw": 8, "pwd": 8, "passphrase": 8, "secret": 15, "token": 15, "credential": 15, "auth": 15, "key": 15}
_UNNAMED = tuple(named for named in _NAMED if not named.names)
_ANY_SERVICE = "|".join(named.names for named in _NAMED if named.names)
#: What may follow an unquoted value; anything else continues an expression: a call, a subscript, an operator.
_ENDS_UNQUOTED = frozenset(["", *" \t\r\n\"'`,;<\\|&)}]"])
_MAX_NAME, _MAX_VALUE = 80, 400
_MIN_PASSWORD, _MIN_TOKEN = 10, 16
_MIN_JUMBLE, _MAX_JUMBLE_WORDINESS = 14, 0.15
#: Values with a greater share of words are not random: of 24 random letters and digits, one value in a hundred
#: has that much by chance. People make passwords from words, so those may have more.
_MAX_WORDINESS, _MAX_PASSWORD_WORDINESS = 0.3, 0.5
#: Longer values contain placeholder words by chance, and values with so many different symbols contain code.
_MAX_PLACEHOLDER, _MANY_SYMBOLS = 120, 6


def _find_assigned(text: str, lowered: str) -> Iterator[Span]:
    """Find values after a name that says they are secret. `lowered` is the text in lower case."""
    to_value = _PATTERN["TO_VALUE"]
    for part, min_length in _NAME_PARTS.items():
        at = lowered.find(part)
        while at >= 0:
            name = _regex(r"[\w.-]+").match(text, at)
            end = after = name.end() if name else at + 1
            if end - at <= _MAX_NAME and (match := to_value.match(text, end)):
                after = match.end()
                unquoted, following = match[2] is None, text[after : after + 1]
                value = match[3].rstrip(".") if unquoted else match[2].rstrip("\\")
                is_ended = following in _ENDS_UNQUOTED if unquoted else following == match[1]
                if is_ended and min_length <= len(value) <= _MAX_VALUE:
                    kind = _kind_of_value(text[max(0, at - _MAX_NAME) : end], value, unquoted=unquoted)
                    start = match.start(3 if unquoted else 2)
                    yield from [(start, start + len(value), kind)] if kind else []
            at = lowered.find(part, after)


def _kind_of_value(before: str, value: str, *, unquoted: bool) -> str:
    """The kind of secret a value is, after a text that ends in its name; empty if it is none."""
    if not _is_mixed(value) or _is_placeholder(value) or _is_code(value):
        return ""
    name = _regex(r"[^\w.-]").split(before)[-1]
    words = {word.lower() for word in _regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*").findall(name)}
    if words & _NOT_SECRET_WORDS:
        return ""
    line = before.rpartition("\n")[2].lower()
    for named in _NAMED if _regex(_ANY_SERVICE).search(line) else _UNNAMED:
        if _regex(named.names).search(line) and _regex(named.value).fullmatch(value):
            return named.kind
    match = _PATTERN["SENSITIVE_NAME"].search(name.lower())
    return "generic-secret" if match and _is_secret(value, match[0], unquoted=unquoted) else ""


def _is_secret(value: str, name: str, *, unquoted: bool) -> bool:
    """Whether a value is random or, if it is a password, as hard to guess as people make them."""
    is_password = name.startswith(("pass", "pwd"))
    if is_password:
        classes = sum(bool(_regex(one).search(value)) for one in ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9_]"))
        if classes == 4 or (classes == 3 and _wordiness(value) < _MAX_PASSWORD_WORDINESS):
            return True
    if _regex(_UUID).fullmatch(value.lower()):
        return name not in ("token", "credential")
    if unquoted and _regex(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+").fullmatch(value):
        return False  # an attribute of something
    return len(value) >= (_MIN_PASSWORD if is_password else _MIN_TOKEN) and _is_random(value)


def _is_random(value: str) -> bool:
    return (
        len(set(value)) >= 8
        and _is_mixed(value)
        and not _is_placeholder(value)
        and not _is_code(value)
        and _wordiness(value) < _MAX_WORDINESS
    )


def _is_mixed(value: str) -> bool:
    """Whether a value has letters and digits, as nearly every random one has, or letters that form no words."""
    if len(set(value)) < 6:
        return False
    return bool(_regex(r"[0-9]").search(value) and _regex(r"[A-Za-z].*[A-Za-z]").search(value)) or _is_jumbled(value)


def _is_jumbled(value: str) -> bool:
    """Whether a value is letters, perhaps with digits after them, in random case or with hardly a pair that words have."""
    letters = value.rstrip("0123456789")
    if len(value) < _MIN_JUMBLE or len(letters) < _MIN_PASSWORD or not (letters.isascii() and letters.isalpha()):
        return False
    if letters.islower() or letters.isupper():
        return 3 * _count_pairs(letters.lower()) < len(letters)
    return len(_regex("(?=[a-z][A-Z]|[A-Z][a-z])").findall(letters)) >= 3 and _wordiness(letters) < _MAX_JUMBLE_WORDINESS


def _wordiness(value: str) -> float:
    """The share of a value that could be words."""
    words = _regex(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}").findall(value)
    return sum(len(word) for word in words if 2 * _count_pairs(word.lower()) >= len(word) - 1) / len(value)


def _count_pairs(word: str) -> int:
    return sum(word[at : at + 2] in _LETTER_PAIRS for at in range(len(word) - 1))


def _is_placeholder(value: str) -> bool:
    if len(set(value)) < 6 or any(one in value for one in _PUBLISHED):
        return True
    if len(value) > _MAX_PLACEHOLDER:
        return False
    return bool(_PATTERN["PLACEHOLDERS"].search(value.lower()) or _PATTERN["SHORT_PLACEHOLDERS"].search(value))


def _is_code(value: str) -> bool:
    if _PATTERN["CODE"].search(value):
        return not _is_jumbled(value)
    return bool(_PATTERN["CALL"].search(value)) and len({one for one in value if not one.isalnum()}) < _MANY_SYMBOLS


def _is_example_password(password: str) -> bool:
    """Whether a password in a login is one that examples use, or a variable."""
    plain = password.lower()
    if plain in _EXAMPLE_PASSWORDS or password in _PUBLISHED or (len(plain) < 6 and plain.isalpha()):
        return True
    return bool(_PATTERN["EXAMPLE_PASSWORD"].search(plain))


# Files that hold secrets. In `.env` and similar files every value is a secret unless it is plainly harmless: a switch, a
# small number, a plain word, a path, an address without a password. Hiding too much is better than hiding too little
# there. In files where tools store logins, a value is a secret if its name says so, however simple it is.


def _is_env_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    matches = [bool(_PATTERN[one].search(name)) for one in ("ENV_FILE", "TEMPLATE_FILE", "PROGRAM_FILE")]
    return matches == [True, False, False]


_MIN_NAMED, _MIN_OTHER = 4, 6
#: Longer values are not harmless, whatever they look like.
_MAX_HARMLESS = 60


def _env_values(text: str) -> Iterator[Span]:
    for match in _PATTERN["ENV_LINE"].finditer(text):
        group = match.lastgroup or "plain"
        value, start = match[group], match.start(group)
        if group == "plain":
            value = _regex(r"\s#").split(value, maxsplit=1)[0]
        value = value.rstrip()
        if _is_env_secret(match["name"].lower(), value):
            yield start, start + len(value), _ENV_VALUE


def _is_env_secret(name: str, value: str) -> bool:
    if _PATTERN["SWITCH_OR_REFERENCE"].fullmatch(value) or not value.strip("*xX.-_"):
        return False
    if _PATTERN["SENSITIVE_VARIABLE"].search(name):
        return len(value) >= _MIN_NAMED
    return len(value) >= _MIN_OTHER and (len(value) > _MAX_HARMLESS or not _PATTERN["HARMLESS"].fullmatch(value))


def _login_values(text: str) -> Iterator[Span]:
    for match in _PATTERN["LOGIN_FIELD"].finditer(text):
        name, group = match["name"].lower(), match.lastgroup or "plain"
        if not _PATTERN["LOGIN_NAME"].search(name) or _PATTERN["PUBLIC_NAME"].search(name):
            continue
        if not _PATTERN["SWITCH_OR_REFERENCE"].fullmatch(match[group]):
            yield *match.span(group), _STORED_LOGIN


def _manifest_values(text: str) -> Iterator[Span]:
    """Values under `data` in Kubernetes manifests of secrets; a file may hold several manifests."""
    start = 0
    while "Secret" in text and start < len(text):
        end = text.find("\n---", start) % (len(text) + 1) or len(text)
        if _PATTERN["MANIFEST"].search(text, start, end):
            for block in _PATTERN["MANIFEST_DATA"].finditer(text, start, end):
                yield from ((*entry.span(1), _STORED_LOGIN) for entry in _PATTERN["MANIFEST_ENTRY"].finditer(text, *block.span(1)))
        start = end + 1


def _file_named(pattern: str) -> Callable[[str], object]:
    return lambda path: _regex(pattern).fullmatch(path.rpartition("/")[2])


def _values_at(pattern: str) -> Callable[[str], Iterator[Span]]:
    return lambda text: ((*match.span(1), _STORED_LOGIN) for match in _regex(pattern).finditer(text))


#: Which files, and how their values are found.
_FILES: tuple[tuple[Callable[[str], object], Callable[[str], Iterator[Span]]], ...] = (
    (_is_env_file, _env_values),
    (lambda path: _PATTERN["LOGIN_FILE"].search(path) and not _PATTERN["TEMPLATE_FILE"].search(path.rpartition("/")[2]), _login_values),
    (_file_named(r"[._]netrc"), _values_at(r"(?<!\S)(?:password|passwd|account)[ \t\r\n]{1,20}(\S{1,400})")),
    (_file_named(r"[.]?pgpass(?:[.]conf)?"), _values_at(_PATTERN.texts["PGPASS"])),
    (_file_named(r"[.]?htpasswd.*"), _values_at(r"(?m)^[^#\s:]{1,200}:(\S{4,400})")),
    (_file_named(r"[.]?git-credentials"), _values_at(r"://[^\s:/@]{0,200}:([^\s/]{1,400})@")),
    (lambda path: path.endswith((".yaml", ".yml")), _manifest_values),
)
