"""Files that are there to hold secrets: by their names one knows, and then what stands in them needs no look of its own (Z10).

In `.env` and its like every value is one, except where it plainly is none: a switch, a small number, a plain word, a
place, an address without a password. Rather too much is hidden there than too little. In files where a tool keeps its
logins, a value is one when its name says so, however simple it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from whence.text.secrets.values import Span, cached_regex

#: What such values are called.
FILE_KINDS = ("env-value", "stored-login")

_ENV = r"(?:^|[.])env(?:[.].+)?$|^[.]envrc(?:[.].+)?$|^[.]flaskenv$"
#: Made to be copied and filled in: what a real secret looks like is found in them all the same.
_TO_FILL_IN = r"(?:^|[.\-_])(?:example|sample|template|tmpl|dist|defaults?|schema|spec)(?:[.\-_]|$)"
#: Suffixes of programs that are about such files.
_PROGRAM = r"[.](?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|cs|php|sh|md|rst|html)$"
_LOGINS = (
    r"(?:^|/)(?:[._]npmrc|[.]pypirc|[.]yarnrc(?:[.]yml)?|[.]s3cfg|[.]boto|[.]my[.]cnf|[.]dockercfg|[.]dockerconfigjson|[.]docker/config[.]json"
    r"|[.]kube/config|[^/]*kubeconfig[^/]*|(?:[^/]*[._-])?credentials(?:[.](?:json|toml|ya?ml|ini|cfg|db))?|[^/]+[.]tfvars(?:[.]json)?"
    r"|[^/]+[.]tfstate(?:[.]backup)?)$"
)
_LONGEST_QUOTED = 40_000


class _SecretFiles(NamedTuple):
    """Some files by their names, and how they are read."""

    called: Callable[[str], object]
    values: Callable[[str], Iterator[Span]]


def find_file_secrets(path: str, text: str) -> Iterator[Span]:
    """The values in a file that are secret because of which file it is."""
    lowered = path.lower()
    for one in _FILES:
        if one.called(lowered):
            yield from one.values(text)


def _is_env(path: str) -> bool:
    name = path.rpartition("/")[2]
    return bool(cached_regex(_ENV).search(name)) and not cached_regex(_TO_FILL_IN).search(name) and not cached_regex(_PROGRAM).search(name)


def _keeps_logins(path: str) -> bool:
    return bool(cached_regex(_LOGINS).search(path)) and not cached_regex(_TO_FILL_IN).search(path.rpartition("/")[2])


#: A name, a sign and a value: quoted, over several lines if need be, or up to the end of the line or a comment.
_SETTING = (
    r"""(?m)^[ \t]*(?:export[ \t]+|set[ \t]+)?(?P<name>[\w.\-]{1,200})[ \t]*=[ \t]*"""
    rf"""(?:"(?P<double>(?:[^"\\]|\\.){{1,{_LONGEST_QUOTED}}})"|'(?P<single>[^']{{1,{_LONGEST_QUOTED}}})'|(?P<plain>[^\s"'#][^\r\n]*))"""
)
_SPEAKS = r"pass|pwd|secret|token|key|credential|auth|salt|private|dsn|cert|seed|pin\b|signature|webhook"
#: What no name makes a secret of: switches, and what is put in later.
_NOTHING = r"(?i:true|false|yes|no|on|off|none|null|nil|undefined)|\$\{?\w+\}?|\$\(.*\)|<[^<>]*>|\{\{.*\}\}"
#: Words, numbers of a few digits, versions, addresses without a login and without a query, and places.
_LABEL = r"[a-z]+(?:-[a-z]+)*\d{0,2}"
_PLAIN = (
    r"[A-Za-z]+(?:[ _.,/-][A-Za-z]+){0,5}|[+-]?\d{1,6}(?:\.\d{1,3})*|v?\d{1,4}(?:\.\d{1,4}){1,3}|\d+(?:ms|s|m|h|d|kb|mb|gb|%)"
    rf"|(?:[a-z][a-z+.-]*://)?(?:{_LABEL}(?:\.{_LABEL})*|\d{{1,3}}(?:\.\d{{1,3}}){{3}}|\[[0-9a-f:]+\])(?::\d{{1,5}})?"
    r"(?:/(?:[a-z._-]{1,20}|v?\d{1,3})?)*"
    r"|[~.]{0,2}(?:/[A-Za-z._-]{1,40}\d{0,3}){1,12}/?|[A-Za-z_-]{1,40}\d{0,4}\.(?:py|js|ts|json|ya?ml|toml|db|log|txt|sqlite3?|html?)"
)
_SHORTEST_NAMED, _SHORTEST_OTHER = 4, 6
#: Longer ones are not plain words, whatever they are made of.
_LONGEST_PLAIN = 60


def _env_values(text: str) -> Iterator[Span]:
    for match in cached_regex(_SETTING).finditer(text):
        group = match.lastgroup or "plain"
        value, start = match[group], match.start(group)
        if group == "plain":
            value = cached_regex(r"\s#").split(value, maxsplit=1)[0]
        value = value.rstrip()
        if _is_env_secret(match["name"].lower(), value):
            yield start, start + len(value), "env-value"


def _is_env_secret(name: str, value: str) -> bool:
    if cached_regex(_NOTHING).fullmatch(value) or not value.strip("*xX.-_"):
        return False
    if cached_regex(_SPEAKS).search(name):
        return len(value) >= _SHORTEST_NAMED
    return len(value) >= _SHORTEST_OTHER and (len(value) > _LONGEST_PLAIN or not cached_regex(_PLAIN).fullmatch(value))


_LOGIN_NAME = r"pass|pwd|secret|token|(?:^|[_.:-])_?auth$|key(?:[_.-]?data)?$|credential|private|connection_?string"
#: Names that speak of a secret, and say of it what may be known.
_NO_LOGIN = (
    r"public|(?:[_.-]|^)(?:id|ids|name|names|file|path|url|uri|type|arn|version|length|expires?|expiry|policy|enabled|count|hash)"
    r"(?:[_.-]|$)"
)
#: A name and its value in any of the usual notations; in the state of a tool the value may be in a field of its own.
_FIELD = (
    r"""(?<![\w./:@-])(?P<name>[\w./:@-]{1,200}?)["']?[ \t]*[:=][ \t]*(?:\{\s{0,40}"value"\s{0,4}:\s{0,4})?"""
    r"""(?:"(?P<double>(?:[^"\\\n]|\\.){4,40000})"|'(?P<single>[^'\n]{4,40000})'|(?P<plain>[^\s"'{}\[\],#]{4,40000}))"""
)


def _logins(text: str) -> Iterator[Span]:
    for match in cached_regex(_FIELD).finditer(text):
        name, group = match["name"].lower(), match.lastgroup or "plain"
        if (
            cached_regex(_LOGIN_NAME).search(name)
            and not cached_regex(_NO_LOGIN).search(name)
            and not cached_regex(_NOTHING).fullmatch(match[group])
        ):
            yield *match.span(group), "stored-login"


_MANIFEST = r"(?m)^kind:[ \t]*[\"']?Secret\b"
_DATA = r"(?m)^(?:data|stringData):[ \t]*\r?\n((?:(?:[ \t]+[^\n]*)?\n)+)"
_ENTRY = r"(?m)^[ \t]+[\w.\"'-]{1,200}:[ \t]*[\"']?([^\s\"'|>#][^\s\"']{3,40000})"


def _in_manifest(text: str) -> Iterator[Span]:
    """What stands under `data` in a manifest of a secret; several manifests may be in one file."""
    start = 0
    while "Secret" in text and start < len(text):
        end = text.find("\n---", start) % (len(text) + 1) or len(text)
        if cached_regex(_MANIFEST).search(text, start, end):
            for block in cached_regex(_DATA).finditer(text, start, end):
                yield from ((*entry.span(1), "stored-login") for entry in cached_regex(_ENTRY).finditer(text, *block.span(1)))
        start = end + 1


def _named(pattern: str) -> Callable[[str], object]:
    """Whether a file is called so, whatever folder it lies in."""
    return lambda path: cached_regex(pattern).fullmatch(path.rpartition("/")[2])


def _behind(pattern: str) -> Callable[[str], Iterator[Span]]:
    """A reader of values that stand where a pattern says, in its group."""

    def values(text: str) -> Iterator[Span]:
        yield from ((*match.span(1), "stored-login") for match in cached_regex(pattern).finditer(text))

    return values


_PGPASS = r"(?m)^[^#\r\n:]{1,200}:[^\r\n:]{1,20}:[^\r\n:]{1,200}:[^\r\n:]{1,200}:([^\r\n]{1,400})"
_FILES = (
    _SecretFiles(_is_env, _env_values),
    _SecretFiles(_keeps_logins, _logins),
    _SecretFiles(_named(r"[._]netrc"), _behind(r"(?<!\S)(?:password|passwd|account)[ \t\r\n]{1,20}(\S{1,400})")),
    _SecretFiles(_named(r"[.]?pgpass(?:[.]conf)?"), _behind(_PGPASS)),
    _SecretFiles(_named(r"[.]?htpasswd.*"), _behind(r"(?m)^[^#\s:]{1,200}:(\S{4,400})")),
    _SecretFiles(_named(r"[.]?git-credentials"), _behind(r"://[^\s:/@]{0,200}:([^\s/]{1,400})@")),
    _SecretFiles(lambda path: path.endswith((".yaml", ".yml")), _in_manifest),
)
