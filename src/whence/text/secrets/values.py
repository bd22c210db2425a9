"""What makes a value a secret: the name beside it, and how much it looks like drawn at random (Z10)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from whence.text.secrets.patterns import NAMED, PUBLISHED, UUID

#: A stretch of a text: from, to, and the kind of secret that it seems to be.
Span = tuple[int, int, str]


@cache
def cached_regex(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first needed."""
    return re.compile(pattern)


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
    r"""(?:[ \t]{0,20}[:=]{1,3}>?|[ \t]is:?(?=[ \t]))|>|,?[\s/#*]{1,40}["']?value["']?[ \t]{0,4}[:=]|,(?=[ \t]?["'`])|(?=[ \t])|\()"""
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


def find_assigned(text: str, lowered: str) -> Iterator[Span]:
    """Values that stand behind a name which tells that they are secret. `lowered` is the text in small letters."""
    behind = cached_regex(_TO_VALUE)
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
    match = cached_regex(r"[\w.-]+").match(text, at)
    return match.end() if match else at + 1


def _kind_of_value(before: str, value: str, *, plain: bool) -> str:
    """What a value is that stands behind a text which ends in its name; empty when it is no secret. Plain ones stand in no quotes."""
    if not _is_mixed(value) or is_placeholder(value) or _is_code(value):
        return ""
    name = cached_regex(r"[^\w.-]").split(before)[-1]
    words = {word.lower() for word in cached_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*").findall(name)}
    if words & _NOT_SECRET:
        return ""
    line = before.rpartition("\n")[2].lower()
    for named in NAMED if cached_regex(_ANY_SERVICE).search(line) else _UNNAMED:
        if cached_regex(named.names).search(line) and cached_regex(named.value).fullmatch(value):
            return named.kind
    strong = cached_regex(_SPEAKS_OF_ONE).search(name.lower())
    return "generic-secret" if strong and _is_secret(value, strong[0], plain=plain) else ""


def _is_secret(value: str, name: str, *, plain: bool) -> bool:
    """Whether the value of a name that speaks of a secret is random or, for a password, as hard to guess as people make them."""
    is_password = name.startswith(("pass", "pwd"))
    if is_password:
        classes = sum(bool(cached_regex(one).search(value)) for one in ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9_]"))
        if classes == 4 or (classes == 3 and _wordiness(value) < _WORDY_PASSWORD):
            return True
    if cached_regex(UUID).fullmatch(value.lower()):
        return name not in ("token", "credential")
    if plain and cached_regex(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+").fullmatch(value):
        return False  # an attribute of something
    return len(value) >= (_SHORTEST_PASSWORD if is_password else _SHORTEST_TOKEN) and is_random(value)


def is_random(value: str) -> bool:
    """Whether a value looks like drawn at random."""
    return len(set(value)) >= 8 and _is_mixed(value) and not is_placeholder(value) and not _is_code(value) and _wordiness(value) < _WORDY


def _is_mixed(value: str) -> bool:
    """Whether there are letters and digits in it, as in nearly everything drawn at random; or letters in no order of words."""
    if len(set(value)) < 6:
        return False
    return bool(cached_regex(r"[0-9]").search(value) and cached_regex(r"[A-Za-z].*[A-Za-z]").search(value)) or _is_jumbled(value)


_SHORTEST_JUMBLE = 14
#: The share of words from which on letters are in order.
_ORDERED = 0.15


def _is_jumbled(value: str) -> bool:
    """Whether it is letters, with digits at most behind them: large and small in no order, or hardly a pair that words have."""
    letters = value.rstrip("0123456789")
    if len(value) < _SHORTEST_JUMBLE or len(letters) < _SHORTEST_PASSWORD or not (letters.isascii() and letters.isalpha()):
        return False
    if letters.islower() or letters.isupper():
        return 3 * _pairs_in(letters.lower()) < len(letters)
    return len(cached_regex("(?=[a-z][A-Z]|[A-Z][a-z])").findall(letters)) >= 3 and _wordiness(letters) < _ORDERED


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
    words = cached_regex(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}").findall(value)
    return sum(len(word) for word in words if 2 * _pairs_in(word.lower()) >= len(word) - 1) / len(value)


def _pairs_in(word: str) -> int:
    return sum(word[at : at + 2] in _PAIRS for at in range(len(word) - 1))


#: What is written where a secret would stand.
_EXAMPLES = (
    r"example|\*{3}|\.{3}|\u2026|place.?holder|change.?(?:me|it)|redacted|dummy|sample|insert|replace|foobar|lorem|"
    r"not.?a.?real|123456|abcdef[gh]|qwerty|deadbeef"
)
#: Of four letters: by chance these are in some random values, if they may be large and small at will.
_SHORT_EXAMPLES = r"x{4}|X{4}|fake|Fake|FAKE|your|Your|YOUR|todo|Todo|TODO"
#: Expressions, templates, regular expressions, places and identifiers: what stands for a value, or is plainly something else.
_CODE = (
    r"\{[\w .]*\}|<[^<>]*>|\\[dwsDWSux]|\[\^?\w-\w|\(\?|::|://|^[$%@&]\w+%?$|^\.{0,2}/(?![A-Za-z0-9/+]{39}$)|^~/|^0x[0-9a-fA-F]+$|^data:|^sha\d+-|^[\d.:,TZ+/-]+$|"
    r"^(?:[0-9a-f]{2}:)+[0-9a-f]{2}$|^(?:[A-Za-z]+\d{0,4}|\d{1,8})(?:[-_./:@+=](?:[A-Za-z]+\d{0,4}|\d{0,8}))*$"
)
#: A call, or a place for a value: also what signs in no order have by chance.
_CALL = r"\$[({]\w|%\(\w|%[sdr]\b|^[\w.]+\("
_MANY_SIGNS = 6
#: The longest value in which words of an example are looked for: a longer one has them by chance.
_LONGEST_EXAMPLE = 120


def is_placeholder(value: str) -> bool:
    """Whether it only holds the place of a secret."""
    if len(set(value)) < 6 or any(one in value for one in PUBLISHED):
        return True
    return len(value) <= _LONGEST_EXAMPLE and bool(
        cached_regex(_EXAMPLES).search(value.lower()) or cached_regex(_SHORT_EXAMPLES).search(value)
    )


def _is_code(value: str) -> bool:
    if cached_regex(_CODE).search(value):
        return not _is_jumbled(value)
    return bool(cached_regex(_CALL).search(value)) and len({one for one in value if not one.isalnum()}) < _MANY_SIGNS


#: Passwords of examples, where any password is expected.
_SHOWN = frozenset(
    """
    pass password passwd pswd passw0rd p4ssword pwd pass123 password1 password123 mypass mypassword mysecretpassword secret token user
    username admin root guest test testing tiger postgres mysql redis rabbitmq foobar barbaz letmein hunter2 hello world abcd abc123 1234
    12345 pass1 pass2 pwd1 wordpress mongo minio minioadmin sesame auth x-oauth-basic key apikey api_key oauth2 none null
    """.split()
)


def is_example_password(password: str) -> bool:
    """Whether a password that stands with its user is one of those that examples use, or is put in later."""
    plain = password.lower()
    if plain in _SHOWN or password in PUBLISHED or (len(plain) < 6 and plain.isalpha()):
        return True
    return bool(cached_regex(rf"{_EXAMPLES}|{_SHORT_EXAMPLES}|\$\w|[{{}}<>]|%[sdr(]").search(plain))
