"""Secrets known by their context: by the name before a value, or by the file it is in (Z10).

In `.env` and similar files every value is a secret unless it is plainly harmless: a switch, a small number, a plain
word, a path, an address without a password. Hiding too much is better than hiding too little there. In files where
tools store logins, a value is a secret if its name says so, however simple it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whence.text.secrets.patterns import EXAMPLE_PASSWORDS, LETTER_PAIRS, NAMED, NOT_SECRET_WORDS, PUBLISHED, UUID, cached_regex

#: Start, end and kind of a secret.
Span = tuple[int, int, str]
ENV_VALUE, STORED_LOGIN = FILE_KINDS = ("env-value", "stored-login")

#: Parts of names of secrets, with the minimum length of the value.
_NAME_PARTS = {"passw": 8, "pwd": 8, "passphrase": 8, "secret": 15, "token": 15, "credential": 15, "auth": 15, "key": 15}
_SENSITIVE_NAME = (
    r"passw|pwd|passphrase|secret|token|credential|auth$|"
    r"(?:api|access|auth|private|encrypt(?:ion)?|crypt|sign(?:ing)?|account|master|shared|session|service|licen[cs]e|admin|app)[_.-]?key"
)
#: From the end of a name to its value: `=`, `:`, `=>`, `:=`, after a type or a few words; `is`; a tag; a field `value`; or just a space.
_TO_VALUE = (
    r"""(?:\\?["'`]|[\])]){0,3}(?:(?:[ \t]?:[ \t]?[A-Za-z][\w.\[\]|?*]{0,30}(?=[ \t]?=)|(?:[ \t][\w()./*-]{1,20}){0,5}?)"""
    r"""(?:[ \t]{0,20}[:=]{1,3}>?|[ \t]is:?(?=[ \t]))|>|,?[\s/#*]{1,40}["']?value["']?[ \t]{0,4}[:=]|,(?=[ \t]?["'`])|(?=[ \t])|\()"""
    r"""[ \t]{0,20}(?:[bBuUrRfF@]{1,2}(?=["'`]))?(?:\\?(["'`])([^\s"'`]{8,})|((?:[^\s"'`,;<>(){}\[\]\\|&]|&(?!\w{1,40}=)){8,401}))"""
)
_UNNAMED = tuple(named for named in NAMED if not named.names)
_ANY_SERVICE = "|".join(named.names for named in NAMED if named.names)
#: What may follow an unquoted value; anything else continues an expression: a call, a subscript, an operator.
_ENDS_UNQUOTED = frozenset(["", *" \t\r\n\"'`,;<\\|&)}]"])
_MAX_VALUE = 400
_MIN_PASSWORD = 10
_MIN_TOKEN = 16
_MAX_NAME = 80


def find_assigned(text: str, lowered: str) -> Iterator[Span]:
    """Find values after a name that says they are secret. `lowered` is the text in lower case."""
    to_value = cached_regex(_TO_VALUE)
    for part, min_length in _NAME_PARTS.items():
        at = lowered.find(part)
        while at >= 0:
            end = after = _end_of_name(text, at)
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


def _end_of_name(text: str, at: int) -> int:
    match = cached_regex(r"[\w.-]+").match(text, at)
    return match.end() if match else at + 1


def _kind_of_value(before: str, value: str, *, unquoted: bool) -> str:
    """The kind of secret a value is, after a text that ends in its name; empty if it is none."""
    if not _is_mixed(value) or is_placeholder(value) or _is_code(value):
        return ""
    name = cached_regex(r"[^\w.-]").split(before)[-1]
    words = {word.lower() for word in cached_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*").findall(name)}
    if words & NOT_SECRET_WORDS:
        return ""
    line = before.rpartition("\n")[2].lower()
    for named in NAMED if cached_regex(_ANY_SERVICE).search(line) else _UNNAMED:
        if cached_regex(named.names).search(line) and cached_regex(named.value).fullmatch(value):
            return named.kind
    match = cached_regex(_SENSITIVE_NAME).search(name.lower())
    return "generic-secret" if match and _is_secret(value, match[0], unquoted=unquoted) else ""


def _is_secret(value: str, name: str, *, unquoted: bool) -> bool:
    """Whether a value is random or, if it is a password, as hard to guess as people make them."""
    is_password = name.startswith(("pass", "pwd"))
    if is_password:
        classes = sum(bool(cached_regex(one).search(value)) for one in ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9_]"))
        if classes == 4 or (classes == 3 and _wordiness(value) < _MAX_PASSWORD_WORDINESS):
            return True
    if cached_regex(UUID).fullmatch(value.lower()):
        return name not in ("token", "credential")
    if unquoted and cached_regex(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+").fullmatch(value):
        return False  # an attribute of something
    return len(value) >= (_MIN_PASSWORD if is_password else _MIN_TOKEN) and is_random(value)


def is_random(value: str) -> bool:
    """Whether a value looks randomly generated."""
    return (
        len(set(value)) >= 8
        and _is_mixed(value)
        and not is_placeholder(value)
        and not _is_code(value)
        and _wordiness(value) < _MAX_WORDINESS
    )


def _is_mixed(value: str) -> bool:
    """Whether a value has letters and digits, as nearly every random one has, or letters that form no words."""
    if len(set(value)) < 6:
        return False
    return bool(cached_regex(r"[0-9]").search(value) and cached_regex(r"[A-Za-z].*[A-Za-z]").search(value)) or _is_jumbled(value)


_MIN_JUMBLE = 14
_MAX_JUMBLE_WORDINESS = 0.15


def _is_jumbled(value: str) -> bool:
    """Whether a value is letters, perhaps with digits after them, in random case or with hardly a pair that words have."""
    letters = value.rstrip("0123456789")
    if len(value) < _MIN_JUMBLE or len(letters) < _MIN_PASSWORD or not (letters.isascii() and letters.isalpha()):
        return False
    if letters.islower() or letters.isupper():
        return 3 * _count_pairs(letters.lower()) < len(letters)
    return len(cached_regex("(?=[a-z][A-Z]|[A-Z][a-z])").findall(letters)) >= 3 and _wordiness(letters) < _MAX_JUMBLE_WORDINESS


#: Values with a greater share of words are not random: of 24 random letters and digits, one value in a hundred
#: has that much by chance. People make passwords from words, so those may have more.
_MAX_WORDINESS = 0.3
_MAX_PASSWORD_WORDINESS = 0.5


def _wordiness(value: str) -> float:
    """The share of a value that could be words."""
    words = cached_regex(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}").findall(value)
    return sum(len(word) for word in words if 2 * _count_pairs(word.lower()) >= len(word) - 1) / len(value)


def _count_pairs(word: str) -> int:
    return sum(word[at : at + 2] in LETTER_PAIRS for at in range(len(word) - 1))


#: Written in place of a secret.
_PLACEHOLDERS = (
    r"example|\*{3}|\.{3}|\u2026|place.?holder|change.?(?:me|it)|redacted|dummy|sample|insert|replace|foobar|lorem|"
    r"not.?a.?real|123456|abcdef[gh]|qwerty|deadbeef"
)
#: Only four letters long: in mixed case, some random values have them by chance.
_SHORT_PLACEHOLDERS = r"x{4}|X{4}|fake|Fake|FAKE|your|Your|YOUR|todo|Todo|TODO"
#: Expressions, templates, regular expressions, paths and identifiers.
_CODE = (
    r"\{[\w .]*\}|<[^<>]*>|\\[dwsDWSux]|\[\^?\w-\w|\(\?|::|://|^[$%@&]\w+%?$|^\.{0,2}/(?![A-Za-z0-9/+]{39}$)|^~/|^0x[0-9a-fA-F]+$|^data:|^sha\d+-|^[\d.:,TZ+/-]+$|"
    r"^(?:[0-9a-f]{2}:)+[0-9a-f]{2}$|^(?:[A-Za-z]+\d{0,4}|\d{1,8})(?:[-_./:@+=](?:[A-Za-z]+\d{0,4}|\d{0,8}))*$"
)
#: A call or a format field; a value with many punctuation characters has these by chance.
_CALL = r"\$[({]\w|%\(\w|%[sdr]\b|^[\w.]+\("
_MANY_SYMBOLS = 6
#: Longer values contain placeholder words by chance.
_MAX_PLACEHOLDER = 120


def is_placeholder(value: str) -> bool:
    """Whether a value only holds the place of a secret."""
    if len(set(value)) < 6 or any(one in value for one in PUBLISHED):
        return True
    if len(value) > _MAX_PLACEHOLDER:
        return False
    return bool(cached_regex(_PLACEHOLDERS).search(value.lower()) or cached_regex(_SHORT_PLACEHOLDERS).search(value))


def _is_code(value: str) -> bool:
    if cached_regex(_CODE).search(value):
        return not _is_jumbled(value)
    return bool(cached_regex(_CALL).search(value)) and len({one for one in value if not one.isalnum()}) < _MANY_SYMBOLS


def is_example_password(password: str) -> bool:
    """Whether a password in a login is one that examples use, or a variable."""
    plain = password.lower()
    if plain in EXAMPLE_PASSWORDS or password in PUBLISHED or (len(plain) < 6 and plain.isalpha()):
        return True
    return bool(cached_regex(rf"{_PLACEHOLDERS}|{_SHORT_PLACEHOLDERS}|\$\w|[{{}}<>]|%[sdr(]").search(plain))


# Files that hold secrets.
_ENV_FILE = r"(?:^|[.])env(?:[.].+)?$|^[.]envrc(?:[.].+)?$|^[.]flaskenv$"
#: Made to be copied and filled in; real-looking secrets are found in them all the same.
_TEMPLATE_FILE = r"(?:^|[.\-_])(?:example|sample|template|tmpl|dist|defaults?|schema|spec)(?:[.\-_]|$)"
#: Programs and documents about such files.
_PROGRAM_FILE = r"[.](?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|cs|php|sh|md|rst|html)$"
_LOGIN_FILE = (
    r"(?:^|/)(?:[._]npmrc|[.]pypirc|[.]yarnrc(?:[.]yml)?|[.]s3cfg|[.]boto|[.]my[.]cnf|[.]dockercfg|[.]dockerconfigjson|[.]docker/config[.]json"
    r"|[.]kube/config|[^/]*kubeconfig[^/]*|(?:[^/]*[._-])?credentials(?:[.](?:json|toml|ya?ml|ini|cfg|db))?|[^/]+[.]tfvars(?:[.]json)?"
    r"|[^/]+[.]tfstate(?:[.]backup)?)$"
)


def find_file_secrets(path: str, text: str) -> Iterator[Span]:
    """Find the values that are secret because of the file they are in."""
    lowered = path.lower()
    for is_such_file, find_values in _FILES:
        if is_such_file(lowered):
            yield from find_values(text)


def _is_env_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    matches = [bool(cached_regex(one).search(name)) for one in (_ENV_FILE, _TEMPLATE_FILE, _PROGRAM_FILE)]
    return matches == [True, False, False]


def _is_login_file(path: str) -> bool:
    return bool(cached_regex(_LOGIN_FILE).search(path)) and not cached_regex(_TEMPLATE_FILE).search(path.rpartition("/")[2])


#: A name and a value: quoted, perhaps over several lines, or up to the end of the line or a comment.
_ENV_LINE = (
    r"""(?m)^[ \t]*(?:export[ \t]+|set[ \t]+)?(?P<name>[\w.\-]{1,200})[ \t]*=[ \t]*"""
    r"""(?:"(?P<double>(?:[^"\\]|\\.){1,40000})"|'(?P<single>[^']{1,40000})'|(?P<plain>[^\s"'#][^\r\n]*))"""
)
_SENSITIVE_VARIABLE = r"pass|pwd|secret|token|key|credential|auth|salt|private|dsn|cert|seed|pin\b|signature|webhook"
#: No name makes these secret: switches and variables.
_SWITCH_OR_REFERENCE = r"(?i:true|false|yes|no|on|off|none|null|nil|undefined)|\$\{?\w+\}?|\$\(.*\)|<[^<>]*>|\{\{.*\}\}"
_LABEL = r"[a-z]+(?:-[a-z]+)*\d{0,2}"
#: Words, numbers of a few digits, versions, addresses without a login or a query, and paths.
_HARMLESS = (
    r"[A-Za-z]+(?:[ _.,/-][A-Za-z]+){0,5}|[+-]?\d{1,6}(?:\.\d{1,3})*|v?\d{1,4}(?:\.\d{1,4}){1,3}|\d+(?:ms|s|m|h|d|kb|mb|gb|%)"
    rf"|(?:[a-z][a-z+.-]*://)?(?:{_LABEL}(?:\.{_LABEL})*|\d{{1,3}}(?:\.\d{{1,3}}){{3}}|\[[0-9a-f:]+\])(?::\d{{1,5}})?"
    r"(?:/(?:[a-z._-]{1,20}|v?\d{1,3})?)*"
    r"|[~.]{0,2}(?:/[A-Za-z._-]{1,40}\d{0,3}){1,12}/?|[A-Za-z_-]{1,40}\d{0,4}\.(?:py|js|ts|json|ya?ml|toml|db|log|txt|sqlite3?|html?)"
)
_MIN_NAMED, _MIN_OTHER = 4, 6
#: Longer values are not harmless, whatever they look like.
_MAX_HARMLESS = 60


def _env_values(text: str) -> Iterator[Span]:
    for match in cached_regex(_ENV_LINE).finditer(text):
        group = match.lastgroup or "plain"
        value, start = match[group], match.start(group)
        if group == "plain":
            value = cached_regex(r"\s#").split(value, maxsplit=1)[0]
        value = value.rstrip()
        if _is_env_secret(match["name"].lower(), value):
            yield start, start + len(value), ENV_VALUE


def _is_env_secret(name: str, value: str) -> bool:
    if cached_regex(_SWITCH_OR_REFERENCE).fullmatch(value) or not value.strip("*xX.-_"):
        return False
    if cached_regex(_SENSITIVE_VARIABLE).search(name):
        return len(value) >= _MIN_NAMED
    return len(value) >= _MIN_OTHER and (len(value) > _MAX_HARMLESS or not cached_regex(_HARMLESS).fullmatch(value))


_LOGIN_NAME = r"pass|pwd|secret|token|(?:^|[_.:-])_?auth$|key(?:[_.-]?data)?$|credential|private|connection_?string"
#: Names about a secret whose values may be known.
_PUBLIC_NAME = (
    r"public|(?:[_.-]|^)(?:id|ids|name|names|file|path|url|uri|type|arn|version|length|expires?|expiry|policy|enabled|count|hash)"
    r"(?:[_.-]|$)"
)
#: A name and its value in any usual notation; in a tool's state file the value may be in a field of its own.
_LOGIN_FIELD = (
    r"""(?<![\w./:@-])(?P<name>[\w./:@-]{1,200}?)["']?[ \t]*[:=][ \t]*(?:\{\s{0,40}"value"\s{0,4}:\s{0,4})?"""
    r"""(?:"(?P<double>(?:[^"\\\n]|\\.){4,40000})"|'(?P<single>[^'\n]{4,40000})'|(?P<plain>[^\s"'{}\[\],#]{4,40000}))"""
)


def _login_values(text: str) -> Iterator[Span]:
    for match in cached_regex(_LOGIN_FIELD).finditer(text):
        name, group = match["name"].lower(), match.lastgroup or "plain"
        if not cached_regex(_LOGIN_NAME).search(name) or cached_regex(_PUBLIC_NAME).search(name):
            continue
        if not cached_regex(_SWITCH_OR_REFERENCE).fullmatch(match[group]):
            yield *match.span(group), STORED_LOGIN


_MANIFEST = r"(?m)^kind:[ \t]*[\"']?Secret\b"
_MANIFEST_DATA = r"(?m)^(?:data|stringData):[ \t]*\r?\n((?:(?:[ \t]+[^\n]*)?\n)+)"
_MANIFEST_ENTRY = r"(?m)^[ \t]+[\w.\"'-]{1,200}:[ \t]*[\"']?([^\s\"'|>#][^\s\"']{3,40000})"


def _manifest_values(text: str) -> Iterator[Span]:
    """Values under `data` in Kubernetes manifests of secrets; a file may hold several manifests."""
    start = 0
    while "Secret" in text and start < len(text):
        end = text.find("\n---", start) % (len(text) + 1) or len(text)
        if cached_regex(_MANIFEST).search(text, start, end):
            for block in cached_regex(_MANIFEST_DATA).finditer(text, start, end):
                yield from ((*entry.span(1), STORED_LOGIN) for entry in cached_regex(_MANIFEST_ENTRY).finditer(text, *block.span(1)))
        start = end + 1


def _file_named(pattern: str) -> Callable[[str], object]:
    return lambda path: cached_regex(pattern).fullmatch(path.rpartition("/")[2])


def _values_at(pattern: str) -> Callable[[str], Iterator[Span]]:
    return lambda text: ((*match.span(1), STORED_LOGIN) for match in cached_regex(pattern).finditer(text))


_PGPASS = r"(?m)^[^#\r\n:]{1,200}:[^\r\n:]{1,20}:[^\r\n:]{1,200}:[^\r\n:]{1,200}:([^\r\n]{1,400})"
#: Which files, and how their values are found.
_FILES: tuple[tuple[Callable[[str], object], Callable[[str], Iterator[Span]]], ...] = (
    (_is_env_file, _env_values),
    (_is_login_file, _login_values),
    (_file_named(r"[._]netrc"), _values_at(r"(?<!\S)(?:password|passwd|account)[ \t\r\n]{1,20}(\S{1,400})")),
    (_file_named(r"[.]?pgpass(?:[.]conf)?"), _values_at(_PGPASS)),
    (_file_named(r"[.]?htpasswd.*"), _values_at(r"(?m)^[^#\s:]{1,200}:(\S{4,400})")),
    (_file_named(r"[.]?git-credentials"), _values_at(r"://[^\s:/@]{0,200}:([^\s/]{1,400})@")),
    (lambda path: path.endswith((".yaml", ".yml")), _manifest_values),
)
