r"""Secrets in a text: keys, tokens and passwords that must not be stored or shown (Z10).

Three kinds of sign give a secret away. Many tokens have a form of their own: a fixed beginning and then so many
characters (`FORMS`). Others are plain random characters, and only the name beside them tells what they are
(`NAMED`, and `generic-secret` for a name that fits no service). Keys come as blocks of lines.
What stands in for a secret in examples is none: `<your-token>`, `${TOKEN}`, `xxxx`, `changeme`.

Time grows with the length of the text and no faster: a regular expression is tried only where a plain substring of
its secret was found, it cannot run past what it takes, and the search goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from whence.source.secret_forms import FORMS, NAMED, PUBLISHED, UUID, Form


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
_AROUND = ("url-password", "curl-password", "basic-auth", "bearer-token", "generic-secret")


def _ordered() -> tuple[str, ...]:
    kinds = (*_BLOCKS, *(form.kind for form in FORMS), *(named.kind for named in NAMED), *_AROUND)
    return tuple(dict.fromkeys(kinds))


#: All kinds, the more specific before the less specific.
KINDS = _ordered()
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}

#: A stretch of a text: from, to, and the kind of secret that it seems to be.
_Span = tuple[int, int, str]


def find_secrets(text: str) -> list[Secret]:
    """The secrets in a text, in order. Where two overlap they are one, of the more specific kind."""
    lowered = _lowered(text)
    told = [*_in_urls(text), *_in_headers(text, lowered), *_assigned(text, lowered)]
    found: list[Secret] = []
    line, counted = 1, 0
    for start, end, kind in _apart([*_formed(text), *_key_blocks(text), *told, *_again(text, told)]):
        line, counted = line + text.count("\n", counted, start), start
        found.append(Secret(kind, line, start, end))
    return found


def redacted(text: str, found: Sequence[Secret]) -> str:
    """The text with `[redacted: KIND]` in the place of each secret."""
    parts, at = [], 0
    for one in sorted(found, key=lambda one: one.start):
        parts += [text[at : one.start], f"[redacted: {one.kind}]"] if one.start >= at else []
        at = max(at, one.end)
    return "".join([*parts, text[at:]])


def _apart(spans: Sequence[_Span]) -> list[_Span]:
    apart: list[_Span] = []
    for start, end, kind in sorted(spans):
        if apart and start < apart[-1][1]:
            before = apart.pop()
            apart.append((before[0], max(before[1], end), min(before[2], kind, key=_RANK.__getitem__)))
        else:
            apart.append((start, end, kind))
    return apart


#: So many secrets at most are looked for a second time, so that a text of nothing but secrets takes no square of its length.
_AGAIN = 50


def _again(text: str, told: Sequence[_Span]) -> Iterator[_Span]:
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


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


#: What a form must not stand right behind: it would be the inside of something else. An escape is not that.
_OPEN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[2-5][0-9A-F]))"
_CLOSED = r"(?![A-Za-z0-9])"
#: No secret with a form of its own is shorter.
_SHORTEST = 20


def _formed(text: str) -> Iterator[_Span]:
    # Most of a text is short words: without them, looking for so many literals costs little.
    long = "\n".join(_compiled(rf"\S{{{_SHORTEST},}}").findall(text))
    for form in FORMS:
        for literal in form.literals.split():
            if literal in long:
                yield from _with_form(text, form, literal)


def _with_form(text: str, form: Form, literal: str) -> Iterator[_Span]:
    pattern = _compiled((_OPEN if literal[0].isalnum() and not form.lead else "") + form.pattern + _CLOSED)
    at = text.find(literal)
    while at >= 0:
        match = pattern.match(text, at)
        if match and (start := _beginning(text, form, at, match.start(match.lastindex or 0))) >= 0:
            end = match.end(match.lastindex or 0)
            if not _stands_in(text[start:end]) and _is_near(text, form.near, start, end):
                yield start, end, form.kind
        at = text.find(literal, match.end() if match else at + len(literal))


def _beginning(text: str, form: Form, at: int, otherwise: int) -> int:
    if not form.lead:
        return otherwise
    lead = _compiled(rf"(?:{form.lead})\Z").search(text, max(0, at - _LEAD), at)
    return lead.start() if lead else -1


def _is_near(text: str, words: str, start: int, end: int) -> bool:
    around = text[max(0, start - _NEAR) : end + _NEAR] if words else ""
    return not words or any(word in around for word in words.split("|"))


#: A key that is not this long is an example that was cut short.
_KEY_MATERIAL = r"[A-Za-z0-9+/=]{32,}"
#: Where a block ends whose last line is missing: behind the last of its lines.
_KEY_LINES = rf"{_KEY_MATERIAL}(?:[\s\\nrt\"'+,>|#*]{{1,20}}[A-Za-z0-9+/=]{{20,}})*(?:[\s\\nrt\"'+]{{1,20}}[A-Za-z0-9+/]+={{0,2}})?"
_LONGEST_KEY = 40_000


def _key_blocks(text: str) -> Iterator[_Span]:
    for at in _places(text, "PRIVATE KEY"):
        closing = _compiled(r"PRIVATE KEY(?: BLOCK)? ?-{4,5}").match(text, at)
        opening = _compiled(r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,5}\Z").search(text, max(0, at - _LEAD), at) if closing else None
        if not opening or not closing:
            continue
        marker = text.find("----", closing.end(), closing.end() + _LONGEST_KEY)
        whole = _compiled(r"-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}").match(text, marker) if marker >= 0 else None
        lines = _compiled(_KEY_LINES).search(text, closing.end(), marker if marker >= 0 else closing.end() + _LONGEST_KEY)
        if lines and (whole or lines.start() - closing.end() < _NEAR):
            yield opening.start(), whole.end() if whole else lines.end(), _kind_of_key(text, opening.start(), at)
    for at in _places(text, "Private-Lines:"):
        match = _compiled(r"Private-Lines: ?\d{1,4}\s{1,2}([A-Za-z0-9+/=]{32,}(?:\s{1,2}[A-Za-z0-9+/=]{1,64}(?!\S))*)").match(text, at)
        if match:
            yield *match.span(1), "putty-private-key"


def _kind_of_key(text: str, start: int, end: int) -> str:
    if "service_account" in text[max(0, start - 1_000) : end + 8_000] and '"private_key"' in text[max(0, start - 40) : start]:
        return "gcp-service-account"
    words = text[start:end].split()
    return "openssh-private-key" if "OPENSSH" in words else "pgp-private-key" if "PGP" in words else "private-key"


_IN_URL = r"://[^\s/:@?#\"'`<>]{0,100}:([^\s/@\"'`<>]{4,200})@([\w.\[-]+)"
_FOR_CURL = r" (?:-u|--user)[ =][\"']?[^\s:\"'<>$]{1,100}:([^\s\"'<>]{6,200})"


def _in_urls(text: str) -> Iterator[_Span]:
    for at in _places(text, "://"):
        match = _compiled(_IN_URL).match(text, at)
        if match and not _is_shown(match[1]) and "example" not in match[2]:
            yield *match.span(1), "url-password"
    for literal in (" -u ", " --user "):
        for at in _places(text, literal):
            match = _compiled(_FOR_CURL).match(text, at)
            if match and "curl" in text[max(0, at - _NEAR) : at] and not _is_shown(match[1]):
                yield *match.span(1), "curl-password"


def _in_headers(text: str, lowered: str) -> Iterator[_Span]:
    for at in _places(lowered, "bearer"):
        match = _compiled(r"bearer[ \t:]{1,4}([\w.~+/=-]{16,})").match(lowered, at)
        if match and _is_random(text[slice(*match.span(1))]):
            yield *match.span(1), "bearer-token"
    for literal, pattern in (("basic ", r"basic ([\w+/-]{10,}={0,2})"), ('"auth"', r'"auth"\s{0,4}:\s{0,4}"([\w+/-]{10,}={0,2})"')):
        for at in _places(lowered, literal):
            match = _compiled(pattern).match(lowered, at)
            if match and _is_login(text[slice(*match.span(1))]):
                yield *match.span(1), "basic-auth"


def _is_login(encoded: str) -> bool:
    """Whether it is a name and a password in base 64."""
    import base64  # noqa: PLC0415  -- hardly any text needs it

    try:
        plain = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("ascii")
    except ValueError:
        return False
    _, colon, password = plain.partition(":")
    return bool(colon) and plain.isprintable() and not _is_shown(password)


#: What the name of a secret contains, with the length that its value has at least.
_NAME_PARTS = {"passw": 8, "pwd": 8, "passphrase": 8, "secret": 15, "token": 15, "credential": 15, "auth": 15, "key": 15}
_SPEAKS_OF_ONE = (
    r"passw|pwd|passphrase|secret|token|credential|auth$|"
    r"(?:api|access|auth|private|encrypt(?:ion)?|crypt|sign(?:ing)?|account|master|shared|session|service|licen[cs]e|admin|app)[_.-]?key"
)
#: Words that say that a value is about a secret, or is public, or is made anew each time.
_NOT_SECRET = frozenset(
    """
    id ids name names url uri path file files type hash sha sha1 sha256 sha512 md5 digest checksum integrity fingerprint count len length
    size limit field column label regex pattern prefix suffix header headers scope version class format policy endpoint index position
    offset public publishable next page continuation cursor csrf xsrf nonce salt etag idempotency example sample placeholder mock fake dummy
    """.split()
)
#: From behind a name to its value: `=`, `:`, `=>`, `:=`, after a type or a few words; `is`; a tag; a field `value`; or just a space.
_TO_VALUE = (
    r"""(?:\\?["'`]|[\])]){0,3}(?:(?:[ \t]?:[ \t]?[A-Za-z][\w.\[\]|?*]{0,30}(?=[ \t]?=)|(?:[ \t][\w()./*-]{1,20}){0,5}?)"""
    r"""(?:[ \t]{0,20}[:=]{1,3}>?|[ \t]is:?(?=[ \t]))|>|,?\s{1,40}["']?value["']?[ \t]{0,4}[:=]|,(?=[ \t]?["'`])|(?=[ \t])|\()"""
    r"""[ \t]{0,20}(?:[bBuUrRfF@]{1,2}(?=["'`]))?(?:\\?(["'`])([^\s"'`]{8,})|((?:[^\s"'`,;<>(){}\[\]\\|&]|&(?!\w{1,40}=)){8,401}))"""
)
_UNNAMED = tuple(named for named in NAMED if not named.names)
_ANY_SERVICE = "|".join(named.names for named in NAMED if named.names)
#: What follows a value that stands in no quotes. Behind others a call, a subscript or an operator goes on.
_ENDS_PLAIN = frozenset(["", *" \t\r\n\"'`,;<\\|&)}]"])
_LONGEST_VALUE = 400
#: Shorter ones are too often something else.
_SHORTEST_PASSWORD = 10
_SHORTEST_TOKEN = 16
_LONGEST_NAME = 80


def _assigned(text: str, lowered: str) -> Iterator[_Span]:
    behind = _compiled(_TO_VALUE)
    for part, shortest in _NAME_PARTS.items():
        at = lowered.find(part)
        while at >= 0:
            end = after = _end_of_name(text, at)
            if end - at <= _LONGEST_NAME and (match := behind.match(text, end)):
                after = match.end()
                plain, following = match[2] is None, text[after : after + 1]
                value = match[3].rstrip(".") if plain else match[2].rstrip("\\")
                ended = following in _ENDS_PLAIN if plain else following == match[1]
                if ended and shortest <= len(value) <= _LONGEST_VALUE:
                    kind = _kind_of_value(text[max(0, at - _LONGEST_NAME) : end], value, plain=plain)
                    start = match.start(3 if plain else 2)
                    yield from [(start, start + len(value), kind)] if kind else []
            at = lowered.find(part, after)


def _end_of_name(text: str, at: int) -> int:
    match = _compiled(r"[\w.-]+").match(text, at)
    return match.end() if match else at + 1


def _kind_of_value(before: str, value: str, *, plain: bool) -> str:
    """What a value is that stands behind a text which ends in its name; empty when it is no secret. Plain ones stand in no quotes."""
    if not _is_mixed(value) or _stands_in(value) or _is_code(value):
        return ""
    name = _compiled(r"[^\w.-]").split(before)[-1]
    words = {word.lower() for word in _compiled(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*").findall(name)}
    if words & _NOT_SECRET:
        return ""
    line = before.rpartition("\n")[2].lower()
    for named in NAMED if _compiled(_ANY_SERVICE).search(line) else _UNNAMED:
        if _compiled(named.names).search(line) and _compiled(named.value).fullmatch(value):
            return named.kind
    strong = _compiled(_SPEAKS_OF_ONE).search(name.lower())
    return "generic-secret" if strong and _is_secret(value, strong[0], plain=plain) else ""


def _is_secret(value: str, name: str, *, plain: bool) -> bool:
    """Whether the value of a name that speaks of a secret is random or, for a password, as hard to guess as people make them."""
    is_password = name.startswith(("pass", "pwd"))
    if is_password:
        classes = sum(bool(_compiled(one).search(value)) for one in ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9_]"))
        if classes == 4 or (classes == 3 and _wordiness(value) < _WORDY_PASSWORD):
            return True
    if _compiled(UUID).fullmatch(value.lower()):
        return name not in ("token", "credential")
    if plain and _compiled(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+").fullmatch(value):
        return False  # an attribute of something
    return len(value) >= (_SHORTEST_PASSWORD if is_password else _SHORTEST_TOKEN) and _is_random(value)


def _is_random(value: str) -> bool:
    return len(set(value)) >= 8 and _is_mixed(value) and not _stands_in(value) and not _is_code(value) and _wordiness(value) < _WORDY


def _is_mixed(value: str) -> bool:
    """Whether there are letters and digits in it, as in nearly everything drawn at random."""
    return len(set(value)) >= 6 and bool(_compiled(r"[0-9]").search(value) and _compiled(r"[A-Za-z].*[A-Za-z]").search(value))


#: The share of words from which on a value is not random: of values of 24 random letters, large and small, and digits, one in
#: a hundred has so many by chance. People make passwords from words, so those may have more.
_WORDY = 0.3
_WORDY_PASSWORD = 0.5
#: Pairs of letters that most English words are made of; of the pairs of random letters they are a sixth.
_PAIRS = frozenset(
    """
    th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic ne ea ra ce
    li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad
    ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe
    """.split()
)


def _wordiness(value: str) -> float:
    """The share of it that is made of what could be words."""
    words = _compiled(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}").findall(value)
    return sum(len(word) for word in words if 2 * _pairs_in(word.lower()) >= len(word) - 1) / len(value)


def _pairs_in(word: str) -> int:
    return sum(word[at : at + 2] in _PAIRS for at in range(len(word) - 1))


#: What is written where a secret would stand.
_EXAMPLES = (
    r"example|x{4}|\*{3}|\.{3}|\u2026|place.?holder|change.?(?:me|it)|redacted|dummy|fake|sample|insert|replace|your|todo|foobar|lorem|"
    r"not.?a.?real|123456|abcdef[gh]|qwerty|deadbeef"
)
#: Expressions, templates, regular expressions, places and identifiers: what stands for a value, or is plainly something else.
_CODE = (
    r"\$[({]\w|\{[\w .]*\}|%[sdr]\b|%\(\w|<[^<>]*>|\\[dwsDWSux]|\[\^?\w-\w|\(\?|^[\w.]+\(|::|://|^[$%@&]\w+%?$|^\.{0,2}/|^~/|^0x|^data:|^sha\d+-|^[\d.:,TZ+/-]+$|"
    r"^(?:[0-9a-f]{2}:)+[0-9a-f]{2}$|^(?:[A-Za-z]+\d{0,4}|\d{1,8})(?:[-_./:@+=](?:[A-Za-z]+\d{0,4}|\d{0,8}))*$"
)
#: The longest value in which words of an example are looked for: a longer one has them by chance.
_LONGEST_EXAMPLE = 120


def _stands_in(value: str) -> bool:
    """Whether it only holds the place of a secret."""
    if len(set(value)) < 6 or any(one in value for one in PUBLISHED):
        return True
    return len(value) <= _LONGEST_EXAMPLE and bool(_compiled(_EXAMPLES).search(value.lower()))


def _is_code(value: str) -> bool:
    return bool(_compiled(_CODE).search(value))


#: Passwords of examples, where any password is expected.
_SHOWN = frozenset(
    """
    pass password passwd pswd passw0rd p4ssword pwd pass123 password1 password123 mypass mypassword mysecretpassword secret token user
    username admin root guest test testing tiger postgres mysql redis rabbitmq foobar barbaz letmein hunter2 hello world abcd abc123 1234
    12345 pass1 pass2 pwd1 wordpress mongo minio minioadmin sesame auth x-oauth-basic key apikey api_key oauth2 none null
    """.split()
)


def _is_shown(password: str) -> bool:
    """Whether a password that stands with its user is one of those that examples use, or is put in later."""
    plain = password.lower()
    if plain in _SHOWN or password in PUBLISHED or (len(plain) < 6 and plain.isalpha()):
        return True
    return bool(_compiled(rf"{_EXAMPLES}|\$\w|[{{}}<>]|%[sdr(]").search(plain))
