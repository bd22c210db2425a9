"""Where a file meets the world outside the program: environment variables, processes, and HTTP routes that it defines or calls.

Found by how they are written: `endpoints.txt` has the rules of each language. A name has a prefix that says what it is:
`env:HOME`, `process:git`, `route:GET /users/:id` (`*` for any method). If a framework puts the route at the handler, as a
decorator does, the place is inside the handler. If the call that registers a route names its handler, a second spot of kind
`references` has that name; both belong to the unit that makes the call.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

READS, RUNS, HANDLES, ASKS = "reads_env", "executes_process", "handles_route", "consumes_endpoint"
#: How far to look before a match for the word that it follows, and after it for the rest of the call.
_REACH, _REST = 64, 200
#: Kinds of spots by their names in `endpoints.txt`.
_KINDS = {"env": READS, "run": RUNS, "route": HANDLES, "request": ASKS}
#: Languages that can take variables out of `process.env` all at once.
_SCRIPTS = frozenset("javascript typescript tsx vue svelte html".split())
#: A file with more matches of one rule was generated.
MAX_PER_RULE = 2_000


class Spot(NamedTuple):
    """A name at its place, before its unit is known."""

    at: int
    kind: str
    name: str
    receiver: str = ""
    owner: str = ""  # the type that refers, if that is not the unit around the spot: `impl Trait for Type`


class _Rule(NamedTuple):
    """A line of `endpoints.txt`, where the fields are explained."""

    kind: str
    marks: tuple[bytes, ...]
    pattern: bytes
    who: bytes = b""
    method: str = "*"
    prefix: bytes = b""
    rooted: bool = False


_WORD_BEFORE = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_VERB = re.compile(rb"(?i)\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b")
_VERB_NAMES = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
#: Methods given beside the path: `methods=["GET"]`, `{ method: "POST" }`, `.Methods("PUT")`, `via: [:get]`.
_METHODS = re.compile(rb"(?i)(?:methods?|via)\s{0,9}[=:(]([^=;\n]{1,80})")
_REST_END = re.compile(rb"\n\s*\n|;|\bdef |\bfetch\(|\baxios\(|\n\s*@")
#: `to: "users#show"`, `=> "users#show"`.
_RAILS = re.compile(rb"(?:to:|=>)\s{0,9}[\"']([\w/]{1,80})#(\w{1,80})")
_CLASS_NEXT = re.compile(rb"\b(?:class|interface|record|object)\s+(\w{1,100})|;|\)\s{0,9}\{")
_NEAR_PATH = re.compile(rb"@Path\(\s{0,40}[\"'`](?P<path>[^\"'`\n]{0,200})[\"'`]")
_NAMES_OF_ENV = re.compile(rb"\}\s{0,9}=\s{0,9}process\.env\b(?!\.)")
_PARAMETER = re.compile(
    r"[$#]?\{[*.]{0,3}([A-Za-z_][\w.()]*)?[^{}]*\}|<(?:[\w.]+:)?(\w+)>|\(\?P<(\w+)>[^()]*(?:\([^()]*\)[^()]*)*\)|:(\w+)(?:\([^()]*\))?[?*+]?|%[sd]"
)
_ADDRESS = re.compile(r"(?:https?:)?//[^/]*|[$#]?\{[^{}]*\}(?=/)|%s(?=/)")
_HANDLER_PARTS = re.compile(r"[A-Za-z_$][\w$]*")
_NO_HANDLERS = frozenset("async function func fn include sub new None null nil self this as_view".split())
_HANDLER_KEYS = frozenset({"view_func", "view", "handler", "endpoint"})


@cache
def _rules() -> dict[str, list[_Rule]]:
    rules: dict[str, list[_Rule]] = {}
    parts: dict[str, str] = {}
    languages: list[str] = []
    for line in Path(__file__).with_name("endpoints.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            languages = line.strip("[]").split()
        elif line and not line.startswith("#"):
            left, _, right = line.partition(" => ")
            for name, part in parts.items():
                left, right = left.replace(name, part), right.replace(name, part)
            if left.startswith("%"):
                parts[left] = right
                continue
            kind, _, marks = left.partition(" ")
            pattern, *options = right.encode().split(b"  ")
            given = {name.decode(): value for name, _, value in (option.partition(b"=") for option in options)}
            method, rooted = given.pop("method", b"*").decode(), given.pop("rooted", None) is not None
            rule = _Rule(_KINDS[kind], tuple(marks.encode().split(b" or ")), pattern, method=method, rooted=rooted, **given)
            for language in languages:
                rules.setdefault(language, []).append(rule)
    return rules


_compiled: Callable[[bytes], re.Pattern[bytes]] = cache(re.compile)


def endpoints(source: bytes, language: str) -> list[Spot]:
    """The environment variables, processes and routes in a file, each at its place."""
    spots: list[Spot] = []
    for rule in _rules().get(language, ()):
        if any(mark in source for mark in rule.marks):
            prefixes = _prefixes(source, rule.prefix)
            for found in islice(_compiled(rule.pattern).finditer(source), MAX_PER_RULE):
                if found.start() not in prefixes and _follows(rule.who, source, found.start()):
                    spots += _read(rule, found, prefixes)
    if language in _SCRIPTS and b"process.env" in source:
        spots += _names_of_env(source)
    return list(dict.fromkeys(spots))


def _follows(who: bytes, source: bytes, at: int) -> bool:
    if not who:
        return True
    head = source[max(0, at - _REACH) : at]
    return _compiled(who).fullmatch(head[len(head.rstrip(_WORD_BEFORE)) :]) is not None


def _prefixes(source: bytes, pattern: bytes) -> dict[int, str]:
    """The paths that classes put before those of their methods, by place."""
    prefixes: dict[int, str] = {}
    for found in islice(_compiled(pattern).finditer(source), MAX_PER_RULE) if pattern else ():
        after = _CLASS_NEXT.search(source, found.end(), found.end() + 2 * _REST)
        if after is not None and after[1] is not None:
            name = after[1].decode("utf-8", "replace").removesuffix("Controller").lower()
            prefixes[found.start()] = found["path"].decode("utf-8", "replace").replace("[controller]", name)
    return prefixes


def _read(rule: _Rule, found: re.Match[bytes], prefixes: dict[int, str]) -> Iterator[Spot]:
    groups = {name: text.decode("utf-8", "replace") for name, text in found.groupdict().items() if text is not None}
    if rule.kind == READS:
        yield Spot(found.start("name"), READS, "env:" + groups["name"])
    elif rule.kind == RUNS:
        command = groups["name"].rstrip("/").rpartition("/")[2]
        if command.strip(".-~+"):
            yield Spot(found.start("name"), RUNS, "process:" + command)
    elif rule.kind == ASKS:
        path = _ADDRESS.sub("", groups["path"], count=1)
        if path.startswith("/"):
            yield from (Spot(found.start(), ASKS, f"route:{method} {_plain(path)}") for method in _methods(rule, found, groups))
    else:
        yield from _handled(rule, found, groups, prefixes)


def _handled(rule: _Rule, found: re.Match[bytes], groups: dict[str, str], prefixes: dict[int, str]) -> Iterator[Spot]:
    path = groups.get("path", "") if "path" in found.re.groupindex else _path_near(found)
    path += "".join("/" + part for part in re.findall(r"\"([^\"]+)\"", groups.get("more", "")))
    methods = _methods(rule, found, groups)
    if re.match(r"[A-Z]{3,7} /", path):
        method, _, path = path.partition(" ")
        methods = [method]
    rest = found.string[found.end() : found.end() + _REST].partition(b"\n")[0]
    rails = _RAILS.search(rest)
    target = (rails[1] + b"#" + rails[2]).decode("utf-8", "replace") if rails else ""
    if "#" in path and "/" not in path:
        path, target = "", path
    if (rule.rooted and path[:1] not in ("", "/")) or " " in path or "//" in path:
        return
    before = bisect_left(list(prefixes), found.start()) if prefixes else 0
    prefix = list(prefixes.values())[before - 1] if before else ""
    whole = "/".join(part.strip("/") for part in (prefix, path) if part.strip("/"))
    yield from (Spot(found.start(), HANDLES, f"route:{method} {_plain('/' + whole)}") for method in methods)
    if target:
        yield Spot(found.start(), "references", target.partition("#")[2], _controller(target.partition("#")[0]))
    elif found.re.pattern.startswith(rb"\bresources"):
        yield Spot(found.start(), "references", _controller(groups["path"]))
    yield from _handlers(found, groups)


def _handlers(found: re.Match[bytes], groups: dict[str, str]) -> Iterator[Spot]:
    """The functions that a call names after the path: the handler, and those that run before it."""
    named, action = groups.get("handlers", ""), groups.get("action", "")
    for piece in named.split(","):
        key, given, value = piece.rpartition("=")
        if "lambda" in piece or (given and key.strip() not in _HANDLER_KEYS):
            continue
        parts = [part for part in _HANDLER_PARTS.findall(value) if part not in _NO_HANDLERS]
        parts += [action] if action else []
        if parts:
            yield Spot(found.start("handlers"), "references", parts[-1], parts[-2] if len(parts) > 1 else "")


def _methods(rule: _Rule, found: re.Match[bytes], groups: dict[str, str]) -> list[str]:
    """The HTTP methods of a route: the name of the call, or an argument after the path."""
    method = groups.get("method", "").upper().removesuffix("FORM")
    if method in _VERB_NAMES:
        return [method]
    rest = found.string[found.end() : found.end() + _REST]
    end = _REST_END.search(rest)
    rest = rest[: end.start()] if end else rest
    if not rest.lstrip().startswith(b")") or rest.lstrip().startswith(b").Methods("):
        given = _METHODS.search(rest)
        verbs = list(dict.fromkeys(verb.decode().upper() for verb in _VERB.findall(given[1]))) if given else []
        if verbs:
            return verbs
    return [rule.method]


def _path_near(found: re.Match[bytes]) -> str:
    """The path in an annotation next to this one."""
    source, at = found.string, found.start()
    after = source[found.end() : found.end() + _REST]
    end = re.search(rb"[;]|\)\s{0,9}\{|\)\s{0,9}throws", after)
    near = _NEAR_PATH.search(after[: end.start() + 1] if end else after)
    if near is None:
        before = source[max(0, at - _REST) : at]
        near = _NEAR_PATH.search(before, max(before.rfind(b";"), before.rfind(b"}\n"), before.rfind(b"{\n"), 0))
    return near["path"].decode("utf-8", "replace") if near else ""


def _plain(path: str) -> str:
    """A path in one spelling for all frameworks: `/users/{id}`, `/users/<int:id>` and `/users/${user.id}` are `/users/:id`."""
    path = path.partition("#")[0] if "#{" not in path else path
    path = path.replace("(?P<", "\0").partition("?")[0].replace("\0", "(?P<").strip("^$ ")
    path = _PARAMETER.sub(
        lambda found: ":" + (next((name for name in found.groups() if name), "") or "value").rstrip("()").rpartition(".")[2], path
    )
    return "/" + path.strip("/$^")


def _controller(name: str) -> str:
    return "".join(word.capitalize() for word in name.rpartition("/")[2].split("_")) + "Controller"


def _names_of_env(source: bytes) -> Iterator[Spot]:
    """`const { HOME, PORT: port } = process.env`."""
    for found in islice(_NAMES_OF_ENV.finditer(source), MAX_PER_RULE):
        start = source.rfind(b"{", max(0, found.start() - 4 * _REST), found.start())
        for piece in re.finditer(rb"([A-Za-z_]\w*)[^,]*", source[start + 1 : found.start()]) if start >= 0 else ():
            yield Spot(start + 1 + piece.start(), READS, "env:" + piece[1].decode())
