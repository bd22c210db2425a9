"""Stack traces and log lines: the error, the functions and the files in them, and the messages without their times and ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whence.query.paste import LOG, TRACE, CleanedQuery

#: Lines that are read from each end, and letters of each.
MOST_LINES, MOST_LETTERS = 400, 400
#: Frames that make a trace.
FEWEST_FRAMES = 2
#: Frames that are searched for with their files, those of libraries, and how many by their names: with more files none stands out.
PLACED, PLACED_OF_OTHERS, MOST_NAMED = 3, 2, 8
#: A text around a trace with more words is a report, which speaks for itself.
MOST_PROSE = 40
#: Lines of a log that are searched for, and the share of lines with a time that makes a log.
MOST_MESSAGES, MOSTLY = 12, 0.6
#: Errors that are searched for: the last are the nearest to the cause.
MOST_ERRORS = 3
#: Folders of a path that are kept, with the file.
DEEPEST_PATH = 4
OWN, LIBRARY, RUNTIME = range(3)

_PATH = r"(?P<path>[^\s\"'()]+?\.\w{1,6})"
_JVM = (
    r"at (?:[\w.$@-]*/)*(?P<owner>(?:[\w$]+\.)+)(?P<name>[\w$<>-]+)"
    r"\((?:(?P<file>[\w$.-]+\.\w+)(?::\d+)?|Native Method|Unknown Source)\)$"
)
#: One line of a trace by language. `path` and `name` where they are told.
_FRAMES = tuple(
    re.compile(form)
    for form in (
        r'File "(?P<path>[^"]+)", line \d+(?:, in (?P<name>\S+))?',  # Python
        _JVM,
        r"at (?P<owner>(?:[\w`<>+\[\],$]+\.)+)(?P<name>[\w`<>|$]+)\([^()]*\)(?: in (?P<path>.+?):line \d+)?$",  # C#
        r"at (?:async )?(?:new )?(?P<name>[\w$.<>#]+)(?: \[as \w+\])? \((?:file://|async )?(?P<path>[^()]+?):\d+(?::\d+)?\)$",  # JavaScript
        rf"at (?:async )?(?:file://)?{_PATH}:\d+(?::\d+)?$",
        r"(?P<name>[\w$.<>/]*)@(?:https?://[^/\s]+|file://)?(?P<path>\S+?\.\w+):\d+:\d+$",  # in browsers
        rf"(?:from |\d+: from )?{_PATH}:\d+:in [`'](?P<name>[^'`]+)'",  # Ruby
        r"#\d+ (?P<path>\S+?\.\w+)\(\d+\): (?P<name>[\w\\:>{}-]+)\(",  # PHP
        r"\((?P<app>\w+)(?: [\w.+-]+)?\) (?P<path>\S+?\.exs?):\d+: (?P<name>[^\s/]+)",  # Elixir
        r"#\d+\s+(?:0x[0-9a-f]+ in )?(?P<name>[\w:~<>]+) ?\(.*\) at (?P<path>\S+?):\d+",  # gdb
        r"#\d+ 0x[0-9a-f]+ in (?P<name>[\w:~<>]+).*? (?P<path>/\S+?):\d+",  # sanitizers
        r"#\d+\s+(?P<name>\S+) \((?P<path>(?:package|dart|file):\S+?):\d+",  # Dart
        r"(?P<path>\S+?\.lua):\d+: in (?:function|method|local|upvalue|field) [<'](?P<name>[\w.:]+)",  # Lua
        r"(?P<name>\w+), called at (?P<path>\S+?):\d+:\d+ in ",  # Haskell
        r"(?P<path>\S+?\.zig):\d+:\d+: 0x[0-9a-f]+ in (?P<name>\w+)",  # Zig
        r"(?P<path>\S+?\.go):\d+(?: \+0x[0-9a-f]+)?$",  # Go, after the function's line
        r"(?P<path>\S+?\.pyx?):\d+: (?:in )?(?P<name>[a-z_]\w*)?$",  # pytest
    )
)
_LOCATED = re.compile(r"[:(]\d|line \d|Native Method|Unknown Source|^at ")
#: The function's line before its place: Go with its arguments, Rust with its number.
_NAME_BEFORE = re.compile(r"(?:\d+: +(?:0x[0-9a-f]+ - )?)?(?P<name>[\w./*<>{}:\[\]()&-]+?)(?:\([^()]*\))?(?:\.func\d+)?$")
_NUMBERED = re.compile(r"\d+: +(?:0x[0-9a-f]+ - )?[\w<]")
_ERROR = re.compile(
    r"(?:(?:Caused by|Uncaught|Unhandled|Exception in thread|Suppressed|panic|fatal error|(?:PHP )?Fatal error|Error)\b.*"
    r"|thread '.*' panicked.*|\*\* \(.*|E  +\S.*|.*\b[\w.\\:]*(?:Error|Exception|Panic|Fault|Failure|Throwable)\b(?:$|[\s:()\[]).*)"
)
_PANIC_PLACE = re.compile(r"panicked at (?:'.*', )?(?P<path>[^\s':]+\.rs):\d+")
_THROWN_IN = re.compile(r"\bin (?P<path>\S+?\.php)(?::\d+| on line \d+)")
_PART_OF_TRACE = re.compile(
    r"Traceback \(|\.\.\. \d+ more|During handling of|The above exception|goroutine \d+|stack (?:backtrace|trace|traceback)"
    r"|created by |exit status"
    r"|note: (?:run|some)|\[previous line repeated|--- End of|CallStack|#\d+ \{main\}|thrown in |\^+|~+\^*|[-=_]{3,}|rax|PHP Stack trace"
    r"|```|~~~|at "
    r"|#\d+ |SIG[A-Z]+|\[signal|Thread \d+|Program received|[{}]|_{3,}",
    re.IGNORECASE,
)
_LIBRARY = re.compile(
    r"site-packages|dist-packages|node_modules|/gems/|(?:^|/)vendor/|/pkg/mod/|\.cargo/|(?:^|/)deps/|/\.m2/|\.nuget|/\.pub-cache/|webpack:|https?:"
    r"|^(?:org\.(?:junit|testng|gradle|apache\.maven|springframework|hibernate|eclipse|apache\.(?:tomcat|catalina))|io\.netty|reactor|Microsoft)\."
)
_RUNTIME = re.compile(
    r"<frozen|<string>|<anonymous>|^(?:node:|internal/)|lib/python\d(?:\.\d+)?/(?!site-packages|dist-packages)|/rustc/|/lib/ruby/\d[\d.]*/(?!gems)"
    r"|/usr/(?:include|local/go|lib/go)|/go/src/(?:runtime|net|reflect|testing)/|sysdeps|^dart:|libc\b|lib/std/|lib/(?:elixir|iex|ex_unit)/"
    r"|^(?:java|javax|jdk|sun|com\.sun|scala|kotlin|groovy|clojure|System)\.|^(?:std|core|alloc|__rust\w*|rust_begin_unwind)\b|^runtime[./]"
)
_RUNTIME_APPS = frozenset("elixir stdlib kernel ex_unit mix iex".split())

_LIBRARY_FOLDER = re.compile(
    r"^.*(?:site-packages|dist-packages|node_modules|/gems|vendor|/pkg/mod|registry/src)/|^(?:webpack|package|file):/*"
)
_NAME_PARTS = re.compile(r"[^\w?!]+")
#: Parts of names that compilers make: `<module>`, `{closure}`, `func1`, `h0123456789abcdef`, `Object.<anonymous>`.
_MADE_UP = re.compile(
    r"module|Object|locals|lambda|anonymous|closure\w*|func\d+|init|clinit|h[0-9a-f]{16}|impl|async|block|in|levels?|\d+|.*[Ll]ambda\d.*"
)

_DAY = r"\d{4}[-/]\d\d[-/]\d\d|\d\d[-/](?:\d\d|[A-Z][a-z]{2})[-/]\d{4}|[A-Z][a-z]{2} +\d{1,2}"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_TIME = re.compile(rf"^\W{{0,3}}(?:(?:{_DAY})[T :]+{_CLOCK}|{_CLOCK}|\d{{10,13}}(?:\.\d+)?\b)(?:\s?(?:Z|[+-]\d\d:?\d\d|UTC))?\W{{0,3}}")
_LEVEL = re.compile(
    r"^\W{0,3}(?:level=)?(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|FATAL|SEVERE|ALERT|EMERG)\b[\])}>]?\s*[:|-]?\s*",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"^(?:\[[^\]\n]{0,60}\]|\(\S{0,40}\)|pid=\S+|tid=\S+|\d{1,7}\b(?! \w+ (?:of|in)\b))\s*(?:[-:|]+\s*)?")
_ID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\b\d{5,}\b|\b\d+(?:\.\d+)?(?:ms|µs|us|ns|s|MB|KB|kB|GB|%)(?!\w)"
)
_GRAVE = frozenset(("err", "cri", "fat", "sev", "ale", "eme"))


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a trace: a file, a function, and whose code it is."""

    path: str
    name: str
    whose: int

    @property
    def text(self) -> str:
        """The function and the file as they are searched for."""
        return f"{self.name} {self.path}".strip()


def out_of_trace(text: str) -> CleanedQuery | None:
    """A stack trace as its innermost frame, its error and the other frames: the project's own first, the innermost first."""
    if "\n" not in text or not _LOCATED.search(text):
        return None
    read = _sorted_out([_without_stamp(line[:MOST_LETTERS]) for line in _ends(text.split("\n"))])
    frames = _innermost_first(read, text)
    if len(frames) < FEWEST_FRAMES or sum(len(line.split()) for line in read.prose) > MOST_PROSE:
        return None
    own, of_others = (_distinct(frame.text for frame in frames if frame.whose == whose) for whose in (OWN, LIBRARY))
    placed = [*own[:PLACED], *of_others[:PLACED_OF_OTHERS]] or _distinct(frame.text for frame in frames)[:PLACED]
    errors = _distinct(_without_ids(error) for error in read.errors)[-MOST_ERRORS:]
    named = _distinct(frame.name for frame in frames if frame.whose == OWN)[PLACED:MOST_NAMED]
    return CleanedQuery(
        "\n".join([*read.prose, *placed[:1], *errors, *placed[1:], *named]),
        TRACE,
        "a pasted stack trace was read as its error, its functions and its files",
    )


def _ends(lines: list[str]) -> list[str]:
    return lines if len(lines) <= 2 * MOST_LINES else [*lines[:MOST_LINES], *lines[-MOST_LINES:]]


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


@dataclass(slots=True)
class CleanedLog:
    """The lines of a text with a trace: frames of each cause apart, errors, and what is neither."""

    causes: list[list[Frame]]
    errors: list[str]
    prose: list[str]


def _sorted_out(lines: Sequence[str]) -> CleanedLog:
    read = CleanedLog([[]], [], [])
    before = ""  # the line before, where it may be the name of the function that the next line places
    after_frame = False
    for line in lines:
        bare = line.strip()
        frame = _frame(bare, before)
        if frame is not None:
            # In some languages the line before names the function: then it was no prose.
            if read.prose and read.prose[-1] == before and frame.name and frame.name.rpartition(".")[2] in before:
                read.prose.pop()
            read.causes[-1].append(frame)
        elif _ERROR.fullmatch(bare) and not (after_frame and line[:1].isspace()):
            if bare.startswith("Caused by"):
                read.causes.append([])
            read.errors.append(bare)
            read.causes[-1] += _places_of_error(bare)
        elif bare and not line[:1].isspace() and not _PART_OF_TRACE.match(bare):
            read.prose.append(bare)
        before, after_frame = ("" if frame is not None else bare), frame is not None
    return read


def _frame(line: str, before: str) -> Frame | None:
    if not _LOCATED.search(line):
        return None
    for form in _FRAMES:
        found = form.match(line)
        if found is None:
            continue
        told = found.groupdict()
        name, owner, path = told.get("name") or "", told.get("owner") or "", told.get("path") or ""
        if "name" not in told and (named := _NAME_BEFORE.fullmatch(before)):
            name = named["name"]
        if told.get("file"):
            path = "/".join([part for part in owner.split(".") if part and not part[0].isupper()] + [told["file"]])
        whose = RUNTIME if told.get("app") in _RUNTIME_APPS else _whose(path, f"{owner}{name}")
        return Frame(_trimmed(path), _spoken(owner, name), whose)
    return None


def _places_of_error(line: str) -> list[Frame]:
    """Where an error says itself that it arose."""
    found = _PANIC_PLACE.search(line) or _THROWN_IN.search(line)
    return [Frame(_trimmed(found["path"]), "", _whose(found["path"], ""))] if found else []


def _whose(path: str, name: str) -> int:
    # In JavaScript what stands in a file outside of functions is called <anonymous>: that is no file of the runtime.
    if _RUNTIME.search(path) or _RUNTIME.search(name.replace("<anonymous>", "")):
        return RUNTIME
    return LIBRARY if _LIBRARY.search(path) or _LIBRARY.search(name) else OWN


def _trimmed(path: str) -> str:
    """The end of a path: what is before it is of another machine."""
    bare = _LIBRARY_FOLDER.sub("", path.replace("\\", "/").split("?")[0])
    return "/".join([part for part in bare.split("/") if part not in ("", ".", "..") and not part.endswith(":")][-DEEPEST_PATH:])


def _spoken(owner: str, name: str) -> str:
    """A function with its type, without what compilers add."""
    around = owner.rstrip(".").rpartition(".")[2].partition("$")[0]
    parts = [part for part in _NAME_PARTS.split(f"{around}.{name}") if part and not _MADE_UP.fullmatch(part)]
    return ".".join(parts[-2:])


def _innermost_first(read: CleanedLog, text: str) -> list[Frame]:
    frames = [frame for cause in reversed(read.causes) for frame in cause]
    if "most recent call last" in text or _FRAMES[0].search(text):
        return [frame for cause in reversed(read.causes) for frame in reversed(cause)]
    return frames


def out_of_log(text: str) -> CleanedQuery | None:
    """The messages of log lines without times, levels and ids, each once, errors first."""
    lines = [line[:MOST_LETTERS] for line in _ends(text.split("\n")) if line.strip()]
    timed = [line for line in lines if _TIME.match(line)]
    if not timed or len(timed) < MOSTLY * len(lines):
        return None
    grave: list[str] = []
    other: list[str] = []
    for line in lines:
        level = _LEVEL.match(_ABOUT.sub("", _TIME.sub("", line, count=1), count=1))
        (grave if level and level["level"][:3].lower() in _GRAVE else other).append(_without_ids(_without_stamp(line)))
    return CleanedQuery(
        "\n".join(_distinct([*grave, *other])[:MOST_MESSAGES]), LOG, "log lines were read without their times, levels and ids"
    )


def _without_stamp(line: str) -> str:
    """A log line without its time, level, thread and the like; any other line as it is."""
    found = _TIME.match(line)
    if found is None:
        return line
    rest = line[found.end() :]
    for _ in range(4):
        shorter = _ABOUT.sub("", _LEVEL.sub("", rest, count=1), count=1)
        if shorter == rest:
            break
        rest = shorter
    return rest


def _without_ids(line: str) -> str:
    return " ".join(_ID.sub(" ", line).split())
