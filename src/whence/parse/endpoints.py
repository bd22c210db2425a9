"""What a file has to do with the world outside the program: environment variables, processes, routes, endpoints.

Told by how it is written, for all languages alike: a rule first looks for plain
text, which is cheap, and only then for its pattern. No pattern begins with a
repetition or repeats without bound what another part could match as well.

A name has a prefix that says what it is: `env:HOME`, `process:git`,
`route:GET /users/:id` (`*` for any method). Where a framework puts the route at the
handler, as a decorator does, the place is inside the handler; where the handler is
named in the call, a second spot of kind `references` has its name, and both belong
to the unit that registers them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

READS, RUNS, HANDLES, ASKS = "reads_env", "executes_process", "handles_route", "consumes_endpoint"
_REACH = 64
_REST = 200
#: More than this in one file is made by a machine.
MOST_OF_ONE_RULE = 2_000


class Spot(NamedTuple):
    """A name at its place, before its unit is known."""

    at: int
    kind: str
    name: str
    receiver: str = ""
    owner: str = ""  # the type that speaks, where it is written at the spot and is no unit around it


class _Rule(NamedTuple):
    """How one thing is written; groups: name, method, path, handlers, action."""

    kind: str
    marks: tuple[bytes, ...]  # plain text of which some must be in the file
    pattern: bytes
    who: bytes = b""  # what the word before the pattern must be
    method: str = "*"  # where the pattern does not say
    prefix: bytes = b""  # a pattern for what stands at the class and comes before the path
    rooted: bool = False  # whether a path that does not begin with a slash is none


#: Pieces of patterns, by the names they go by in them.
_PATH = rb"[\"'`](?P<path>[^\"'`\n]{0,200})[\"'`]"
_HANDLERS = rb"(?:%GAP,(?P<handlers>[\w.$,:= \t\r\n&]{1,200}))"
_VERBS = rb"get|post|put|patch|delete|head|options"
_COMMAND = rb"[\"'`](?P<name>[\w./~+-]{1,200})"
_KEY = rb"[\"'`](?P<name>[A-Za-z_]\w{0,99})[\"'`]"
_SERVER = rb"(?i:\w*(?:app|rout|server|api|group|fastify|hono|koa|blueprint)\w*|bp|r|e|g|web)"
_CLIENT = rb"(?i:\w*(?:client|axios|http|request|requests|session|fetch|ky|got|superagent|dio|rest)\w*)"
_AT_VERB = rb"@(?P<method>Get|Post|Put|Patch|Delete|Head|Options|All)\((?:%GAP%PATH)?"
_PIECES = {
    b"%HANDLERS": _HANDLERS, b"%PATH": _PATH, b"%VERBS": _VERBS, b"%COMMAND": _COMMAND, b"%KEY": _KEY, b"%GAP": rb"\s{0,40}",
}  # fmt: skip


def _env(mark: bytes, pattern: bytes) -> _Rule:
    return _Rule(READS, (mark,), pattern)


def _run(mark: bytes, pattern: bytes) -> _Rule:
    return _Rule(RUNS, (mark,), pattern + b"%COMMAND")


#: Plain text in calls that are given a path, or an address.
_PATHS = (b'("/', b"('/", b"(`/")
_ADDRESSES = (*_PATHS, b'("http', b"('http", b"(`", b'(f"', b"(f'")


_PYTHON = (
    _env(b"os.environ", rb"os\.environ(?:\.get|\.pop|\.setdefault)?[\[(]%GAP%KEY"),
    _env(b"import environ", rb"\benviron(?:\.get|\.pop|\.setdefault)?[\[(]%GAP%KEY"),
    _env(b"getenv", rb"getenv\(%GAP%KEY"),
    _run(b"subprocess", rb"subprocess(?:\.\w{1,20}\(|_exec\(|_shell\()%GAP\[?%GAP[fr]?"),
    _run(b"subprocess", rb"(?:check_output|check_call|Popen|run|call)\(%GAP\[%GAP"),
    _run(b"os.", rb"os\.(?:system|popen|exec\w{1,3}|spawn\w{1,3})\(%GAP[fr]?"),
    _Rule(HANDLES, (b"@",), rb"@[\w.]{1,80}\.(?P<method>route|api_route|websocket|%VERBS)\(%GAP(?:path=)?r?%PATH", rooted=True),
    _Rule(HANDLES, (b"add_url_rule", b"add_api_route", b"add_route"), rb"\.add_(?:url_rule|api_route|route)\(%GAPr?%PATH%HANDLERS?"),
    _Rule(HANDLES, (b"router.add_",), rb"router\.add_(?P<method>%VERBS)\(%GAPr?%PATH%HANDLERS"),
    _Rule(HANDLES, (b"Route(",), rb"Route\(%GAPr?%PATH%HANDLERS"),
    _Rule(HANDLES, (b"urlpatterns",), rb"(?:path|url)\(%GAPr?%PATH%HANDLERS"),
    _Rule(ASKS, _ADDRESSES, rb"\.(?P<method>%VERBS)\(%GAPf?%PATH", who=_CLIENT),
)  # fmt: skip
_SCRIPT = (
    _env(b"process.env", rb"process\.env(?:\.|\?\.|\[[\"'`])(?P<name>[A-Za-z_]\w{0,99})"),
    _env(b".env.", rb"(?:import\.meta|Bun)\.env\.(?P<name>[A-Z_]\w{0,99})"),
    _env(b"env.get(", rb"Deno\.env\.get\(%GAP%KEY"),
    _run(b"child_process", rb"(?:execFileSync|execFile|execSync|exec|spawnSync|spawn|fork)\(%GAP"),
    _run(b"execa", rb"execa(?:Sync|Command|CommandSync)?\(%GAP"),
    _Rule(HANDLES, _PATHS,
          rb"\.(?P<method>all|use|%VERBS)\(%GAP%PATH%HANDLERS", who=_SERVER, rooted=True),
    _Rule(HANDLES, (b"@Controller",), _AT_VERB, prefix=rb"@Controller\(%GAP(?:\{[^}\"'`]{0,60})?%PATH"),
    _Rule(ASKS, _ADDRESSES, rb"\.(?P<method>%VERBS)(?:<[^()\n]{0,80}>)?\(%GAP%PATH", who=_CLIENT),
    _Rule(ASKS, (b"fetch(",), rb"\bfetch\(%GAP%PATH", method="GET"),
    _Rule(ASKS, (b"axios(",), rb"axios\(%GAP%PATH", method="GET"),
)  # fmt: skip
_JVM = (
    _env(b"getenv", rb"getenv\((?:\)\.get\()?%GAP%KEY"),
    _env(b"sys.env", rb"sys\.env(?:\.\w{1,10})?\(%GAP%KEY"),
    _run(b"ProcessBuilder", rb"ProcessBuilder\(%GAP(?:(?:List\.of|Arrays\.asList|listOf)\()?%GAP"),
    _run(b"Runtime", rb"\.exec\(%GAP(?:new String\[\]%GAP\{)?%GAP"),
    _Rule(HANDLES, (b"Mapping",), rb"@(?P<method>Get|Post|Put|Patch|Delete|Request)Mapping\b(?:\([^\"()]{0,80}%PATH)?",
          prefix=rb"@RequestMapping\([^\"()]{0,80}%PATH"),
    _Rule(HANDLES, (b"@Path",), rb"@(?P<method>GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b(?!\()", prefix=rb"@Path\(%GAP%PATH"),
    _Rule(HANDLES, (b"@Controller(",), _AT_VERB, prefix=rb"@Controller\(%GAP%PATH"),
    _Rule(ASKS, (b"retrofit",), rb"@(?P<method>GET|POST|PUT|PATCH|DELETE|HEAD)\(%GAP%PATH"),
    _Rule(ASKS, (b"emplate.",), rb"emplate\.(?P<method>get|post|put|patch|delete)\w{0,20}\(%GAP%PATH"),
)  # fmt: skip
_KTOR = (_Rule(HANDLES, (b"routing", b"Route."), rb"\b(?P<method>%VERBS)\(%GAP%PATH\)%GAP\{"),)
_CSHARP = (
    _env(b"GetEnvironmentVariable", rb"GetEnvironmentVariable\(%GAP%KEY"),
    _run(b"Process", rb"(?:Process\.Start|ProcessStartInfo)\(%GAP@?"),
    _run(b"ProcessStartInfo", rb"FileName%GAP=%GAP@?"),
    _Rule(HANDLES, (b"[Http",), rb"\[Http(?P<method>Get|Post|Put|Patch|Delete|Head|Options)\b(?:\(%GAP%PATH)?",
          prefix=rb"\[Route\(%GAP%PATH"),
    _Rule(HANDLES, (b".Map",), rb"\.Map(?P<method>Get|Post|Put|Patch|Delete|Methods)?\(%GAP%PATH%HANDLERS"),
    _Rule(ASKS, (b"Async(",), rb"\.(?P<method>Get|Post|Put|Patch|Delete)\w{0,20}Async(?:<[^()\n]{0,80}>)?\(%GAP\$?%PATH"),
)  # fmt: skip
_GO = (
    _env(b"os.Getenv(", rb"os\.Getenv\(%GAP%KEY"),
    _env(b"os.LookupEnv(", rb"os\.LookupEnv\(%GAP%KEY"),
    _run(b"exec.Command", rb"exec\.Command(?:Context\([\w.()]{1,40},%GAP|\()%GAP"),
    _Rule(HANDLES, (b".Handle",), rb"\.Handle(?:Func)?\(%GAP%PATH%HANDLERS?"),
    _Rule(HANDLES, (b'("/',), rb"\.(?P<method>GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|Any|Get|Post|Put|Patch|Delete|Head|Options)"
          rb"\(%GAP%PATH%HANDLERS", who=rb"(?!http$)\w*", rooted=True),
    _Rule(ASKS, (b"http.",), rb"http\.(?P<method>Get|Post|Head|PostForm)\(%GAP%PATH"),
    _Rule(ASKS, (b"http.NewRequest",), rb"http\.NewRequest(?:WithContext\([\w.()]{1,40},%GAP|\()%GAP"
          rb"(?:http\.Method|\")(?P<method>\w{3,7})\"?,%GAP(?:\w{1,40}\s{0,3}\+\s{0,3})?%PATH"),
)  # fmt: skip
_RUST = (
    _env(b"env::var", rb"env::var(?:_os)?\(%GAP%KEY"),
    _env(b"env!(", rb"env!\(%GAP%KEY"),
    _run(b"process::", rb"Command::new\(%GAP"),
    _Rule(HANDLES, (b".route(",),
          rb"\.route\(%GAP%PATH,%GAP(?:\w{1,20}::){0,3}(?P<method>any|%VERBS)\((?:\)\.to\()?(?P<handlers>[\w:]{0,80})"),
    _Rule(HANDLES, (b"#[",), rb"#\[(?:\w{1,20}::)?(?P<method>%VERBS)\(%GAP%PATH"),
    _Rule(ASKS, (b"reqwest",), rb"(?:reqwest::(?:blocking::)?|lient\.)(?P<method>%VERBS)\(%GAP(?:&?format!\(%GAP)?%PATH"),
)  # fmt: skip
_RUBY = (
    _env(b"ENV", rb"ENV(?:\[|\.fetch\(?|\.key\?\()%GAP%KEY"),
    _run(b"system", rb"system[ (]%GAP"),
    _run(b"spawn", rb"spawn[ (]%GAP"),
    _run(b"Open3.", rb"Open3\.\w{1,20}[ (]%GAP"),
    _run(b"popen", rb"popen[ (]%GAP\[?"),
    _Rule(HANDLES, (b"routes.draw", b"Sinatra", b"sinatra"), rb"\b(?P<method>match|root|%VERBS)[ (]%GAP(?:to:%GAP)?%PATH"),
    _Rule(HANDLES, (b"routes.draw",), rb"\bresources?[ (]%GAP:(?P<path>\w{1,80})"),
    _Rule(ASKS, (b"HTTParty.", b"Faraday.", b"RestClient.", b"HTTP."),
          rb"(?:HTTParty|Faraday|RestClient|HTTP)\.(?P<method>%VERBS)[ (]%GAP(?:URI\()?%PATH"),
)  # fmt: skip
_PHP = (
    _env(b"env(", rb"env\(%GAP[\"'](?P<name>[A-Z]\w{0,99})"),
    _env(b"$_", rb"\$_(?:ENV|SERVER)\[%GAP%KEY"),
    _run(b"exec(", rb"(?<![>:$])exec\(%GAP"),
    _run(b"system(", rb"(?<![>:$\w])system\(%GAP"),
    _run(b"proc_open(", rb"proc_open\(%GAP"),
    _run(b"new Process(", rb"new Process\(%GAP\[%GAP"),
    _Rule(HANDLES, (b"Route::",),
          rb"Route::(?P<method>any|match|resource|apiResource|view|%VERBS)\(%GAP(?:\[[^\]\n]{0,80}\],%GAP)?%PATH"
          rb"(?:%GAP,%GAP\[?[\"']?(?P<handlers>[\w\\@]{1,120})(?:::class)?[\"']?(?:,%GAP[\"'](?P<action>\w{1,80}))?)?"),
    _Rule(HANDLES, (b"#[Route(",), rb"#\[Route\(%GAP(?:path:%GAP)?%PATH", prefix=rb"#\[Route\(%GAP(?:path:%GAP)?%PATH"),
    _Rule(HANDLES, (b"->",), rb"->(?P<method>any|map|%VERBS)\(%GAP(?:\[[^\]\n]{0,80}\],%GAP)?%PATH%GAP,", who=_SERVER, rooted=True),
    _Rule(ASKS, (b"Http::",), rb"Http::(?P<method>%VERBS)\(%GAP%PATH"),
    _Rule(ASKS, (b"->request(",), rb"->request\(%GAP[\"'](?P<method>\w{3,7})[\"'],%GAP%PATH"),
)  # fmt: skip
_ELIXIR = (
    _env(b"System.", rb"System\.(?:get|fetch)_env!?\(%GAP%KEY"),
    _run(b"System.cmd", rb"System\.cmd\(%GAP"),
    _Rule(HANDLES, (b"Router", b":router"),
          rb"\b(?P<method>live|resources|forward|%VERBS)[ (]%GAP%PATH,%GAP(?P<handlers>[A-Z][\w.]{0,100})(?:,%GAP:(?P<action>\w{1,80}))?"),
    _Rule(ASKS, (b"HTTPoison.", b"Req.", b"Tesla."), rb"(?:HTTPoison|Req|Tesla)\.(?P<method>%VERBS)!?\(%GAP%PATH"),
)  # fmt: skip
_C = (
    _env(b"getenv", rb"getenv\(%GAP%KEY"),
    _run(b"system(", rb"(?<![\w.>])system\(%GAP"),
    _run(b"popen(", rb"popen\(%GAP"),
    _run(b"exec", rb"\bexec[lv]p?e?\(%GAP"),
)
_SWIFT = (
    _env(b"environment[", rb"environment\[%GAP%KEY"),
    _run(b"launchPath", rb"launchPath%GAP=%GAP"),
    _run(b"executableURL", rb"executableURL%GAP=%GAPURL\(fileURLWithPath:%GAP"),
    _Rule(HANDLES, (b"Vapor",),
          rb"\.(?P<method>%VERBS)\(%GAP%PATH(?P<more>(?:,%GAP\"[^\"\n]{1,60}\"){0,8})(?:,%GAPuse:%GAP(?P<handlers>[\w.]{1,100}))?"),
)  # fmt: skip
_DART = (
    _env(b"environment[", rb"environment\[%GAP%KEY"),
    _env(b"fromEnvironment", rb"fromEnvironment\(%GAP%KEY"),
    _run(b"Process.", rb"Process\.(?:run|runSync|start)\(%GAP"),
    _Rule(HANDLES, (b"outer.",), rb"\.(?P<method>all|%VERBS)\(%GAP%PATH%HANDLERS", who=_SERVER, rooted=True),
    _Rule(ASKS, (b"http.", b"dio.", b"lient."), rb"\.(?P<method>%VERBS)\(%GAP(?:Uri\.parse\()?%PATH", who=_CLIENT),
)
_PERL = (
    _env(b"$ENV{", rb"\$ENV\{%GAP[\"']?(?P<name>[A-Za-z_]\w{0,99})"),
    _run(b"system", rb"\bsystem[ (]%GAP"),
    _Rule(HANDLES, (b"Mojolicious", b"Dancer"), rb"\b(?P<method>any|%VERBS)[ (]%GAP%PATH%GAP=>"),
)
_RULES: dict[str, tuple[_Rule, ...]] = {
    "python": _PYTHON, "javascript": _SCRIPT, "typescript": _SCRIPT, "tsx": _SCRIPT, "vue": _SCRIPT, "svelte": _SCRIPT, "html": _SCRIPT,
    "java": _JVM, "kotlin": _JVM + _KTOR, "scala": _JVM, "csharp": _CSHARP, "go": _GO, "rust": _RUST, "ruby": _RUBY, "php": _PHP,
    "elixir": _ELIXIR, "c": _C, "cpp": _C, "swift": _SWIFT, "dart": _DART, "perl": _PERL,
    "lua": (_env(b"getenv", rb"getenv\(%GAP%KEY"), _run(b"os.execute", rb"os\.execute\(%GAP"), _run(b"popen", rb"popen\(%GAP")),
    "r": (_env(b"Sys.getenv", rb"Sys\.getenv\(%GAP%KEY"), _run(b"system", rb"\bsystem2?\(%GAP")),
    "julia": (_env(b"ENV[", rb"ENV\[%GAP%KEY"),),
    "zig": (_env(b"getenv", rb"getenv\(%GAP%KEY"), _env(b"getEnvVarOwned", rb"getEnvVarOwned\([\w.]{1,60},%GAP%KEY")),
    "haskell": (_env(b"Env ", rb"(?:getEnv|lookupEnv)\s{1,9}%KEY"), _run(b"Process", rb"(?:readProcess|callProcess|proc)\s{1,9}")),
    "ocaml": (_env(b"Sys.getenv", rb"Sys\.getenv(?:_opt)?\s{1,9}%KEY"), _run(b"Sys.command", rb"Sys\.command\s{1,9}")),
}  # fmt: skip

_WORD_BEFORE = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_VERB = re.compile(rb"(?i)\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b")
_VERB_NAMES = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
#: Methods given beside the path: `methods=["GET"]`, `{ method: "POST" }`, `.Methods("PUT")`, `via: [:get]`.
_METHODS = re.compile(rb"(?i)(?:methods?|via)\s{0,9}[=:(]([^=;\n]{1,80})")
_REST_END = re.compile(rb"\n\s*\n|;|\bdef |\bfetch\(|\baxios\(|\n\s*@")
#: `to: "users#show"`, `=> "users#show"`.
_RAILS = re.compile(rb"(?:to:|=>)\s{0,9}[\"']([\w/]{1,80})#(\w{1,80})")
_CLASS_NEXT = re.compile(rb"\b(?:class|interface|record|object)\s+(\w{1,100})|;|\)\s{0,9}\{")
_NEAR_PATH = re.compile(rb"@Path\(\s{0,40}" + _PATH)
_NAMES_OF_ENV = re.compile(rb"\}\s{0,9}=\s{0,9}process\.env\b(?!\.)")
_PARAMETER = re.compile(
    r"[$#]?\{[*.]{0,3}([A-Za-z_][\w.()]*)?[^{}]*\}|<(?:[\w.]+:)?(\w+)>|\(\?P<(\w+)>[^()]*(?:\([^()]*\)[^()]*)*\)|:(\w+)(?:\([^()]*\))?[?*+]?|%[sd]"
)
_ADDRESS = re.compile(r"(?:https?:)?//[^/]*|[$#]?\{[^{}]*\}(?=/)|%s(?=/)")
_HANDLER_PARTS = re.compile(r"[A-Za-z_$][\w$]*")
_NO_HANDLERS = frozenset("async function func fn include sub new None null nil self this as_view".split())
_HANDLER_KEYS = frozenset({"view_func", "view", "handler", "endpoint"})


@cache
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    for name, piece in _PIECES.items():
        pattern = pattern.replace(name, piece)
    return re.compile(pattern)


def endpoints(source: bytes, language: str) -> list[Spot]:
    """What a file reads, runs, answers and asks for outside the program, each at its place."""
    spots: list[Spot] = []
    for rule in _RULES.get(language, ()):
        if any(mark in source for mark in rule.marks):
            prefixes = _prefixes(source, rule.prefix)
            for found in islice(_compiled(rule.pattern).finditer(source), MOST_OF_ONE_RULE):
                if found.start() not in prefixes and _follows(rule.who, source, found.start()):
                    spots += _read(rule, found, prefixes)
    if _RULES.get(language) is _SCRIPT and b"process.env" in source:
        spots += _names_of_env(source)
    return list(dict.fromkeys(spots))


def _follows(who: bytes, source: bytes, at: int) -> bool:
    if not who:
        return True
    head = source[max(0, at - _REACH) : at]
    return _compiled(who).fullmatch(head[len(head.rstrip(_WORD_BEFORE)) :]) is not None


def _prefixes(source: bytes, pattern: bytes) -> dict[int, str]:
    """What classes put before the paths of their methods, by the place where it is said."""
    prefixes: dict[int, str] = {}
    for found in islice(_compiled(pattern).finditer(source), MOST_OF_ONE_RULE) if pattern else ():
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
    """The functions that a call names beside the path; the last is the handler, the others stand before it."""
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
    """The methods of a route: as the call is named, or as it says beside the path."""
    said = groups.get("method", "").upper().removesuffix("FORM")
    if said in _VERB_NAMES:
        return [said]
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
    """The path that an annotation beside this one gives."""
    source, at = found.string, found.start()
    after = source[found.end() : found.end() + _REST]
    end = re.search(rb"[;]|\)\s{0,9}\{|\)\s{0,9}throws", after)
    near = _NEAR_PATH.search(after[: end.start() + 1] if end else after)
    if near is None:
        before = source[max(0, at - _REST) : at]
        near = _NEAR_PATH.search(before, max(before.rfind(b";"), before.rfind(b"}\n"), before.rfind(b"{\n"), 0))
    return near["path"].decode("utf-8", "replace") if near else ""


def _plain(path: str) -> str:
    """A path as all frameworks would write it: `/users/{id}`, `/users/<int:id>` and `/users/${user.id}` are `/users/:id`."""
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
    for found in islice(_NAMES_OF_ENV.finditer(source), MOST_OF_ONE_RULE):
        start = source.rfind(b"{", max(0, found.start() - 4 * _REST), found.start())
        for piece in re.finditer(rb"([A-Za-z_]\w*)[^,]*", source[start + 1 : found.start()]) if start >= 0 else ():
            yield Spot(start + 1 + piece.start(), READS, "env:" + piece[1].decode())
