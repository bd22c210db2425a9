"""Stack traces and log lines: the error, the functions and the files in them, and the messages without their times and ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whence.query.parser import CleanedQuery
from whence.query.paste import LOG, TRACE, load_patterns

#: Lines that are read from each end, and characters of each.
MAX_LINES, MAX_LINE = 400, 400
#: Frames that make a trace.
MIN_FRAMES = 2
#: Frames that are searched for with their files, those of libraries, and those by name alone: of more files none stands out.
MAX_PLACES, MAX_LIBRARY_PLACES, MAX_NAMES = 3, 2, 8
#: With more words around a trace, the text is a report and is searched as it is.
MAX_PROSE = 40
#: Lines of a log that are searched for, and the share of lines with a time that makes a log.
MAX_MESSAGES, MIN_TIMED = 12, 0.6
#: Errors that are searched for: the last are nearest to the cause.
MAX_ERRORS = 3
#: The last parts of a path that are kept.
MAX_PATH_PARTS = 4
OWN, LIBRARY, RUNTIME = range(3)

_PATTERN, _FRAMES = load_patterns("traces"), load_patterns("frames").all()
_RUNTIME_APPS = frozenset("elixir stdlib kernel ex_unit mix iex".split())
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


def query_from_trace(text: str) -> CleanedQuery | None:
    """A stack trace as its innermost frame, its error and the other frames: the project's own first, the innermost first."""
    if "\n" not in text or not _PATTERN["LOCATED"].search(text):
        return None
    read = _read_lines([_without_stamp(line[:MAX_LINE]) for line in _ends(text.split("\n"))])
    is_outermost_first = "most recent call last" in text or _FRAMES[0].search(text)  # Python
    frames = [frame for cause in reversed(read.causes) for frame in (reversed(cause) if is_outermost_first else cause)]
    if len(frames) < MIN_FRAMES or sum(len(line.split()) for line in read.prose) > MAX_PROSE:
        return None
    own, of_others = (_distinct(frame.text for frame in frames if frame.whose == whose) for whose in (OWN, LIBRARY))
    placed = [*own[:MAX_PLACES], *of_others[:MAX_LIBRARY_PLACES]] or _distinct(frame.text for frame in frames)[:MAX_PLACES]
    errors = _distinct(_without_ids(error) for error in read.errors)[-MAX_ERRORS:]
    named = _distinct(frame.name for frame in frames if frame.whose == OWN)[MAX_PLACES:MAX_NAMES]
    return CleanedQuery(
        "\n".join([*read.prose, *placed[:1], *errors, *placed[1:], *named]),
        TRACE,
        "a pasted stack trace was read as its error, its functions and its files",
    )


def _ends(lines: list[str]) -> list[str]:
    return lines if len(lines) <= 2 * MAX_LINES else [*lines[:MAX_LINES], *lines[-MAX_LINES:]]


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


@dataclass(slots=True)
class TraceLines:
    """The lines of a text with a trace: the frames of each cause, errors, and other lines."""

    causes: list[list[Frame]]
    errors: list[str]
    prose: list[str]


def _read_lines(lines: Sequence[str]) -> TraceLines:
    read = TraceLines([[]], [], [])
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
        elif _PATTERN["ERROR"].fullmatch(bare) and not (after_frame and line[:1].isspace()):
            if bare.startswith("Caused by"):
                read.causes.append([])
            read.errors.append(bare)
            if arose := _PATTERN["PANIC_PLACE"].search(bare) or _PATTERN["THROWN_IN"].search(bare):
                read.causes[-1].append(Frame(_trimmed(arose["path"]), "", _whose(arose["path"], "")))
        elif bare and not line[:1].isspace() and not _PATTERN["PART_OF_TRACE"].match(bare):
            read.prose.append(bare)
        before, after_frame = ("" if frame is not None else bare), frame is not None
    return read


def _frame(line: str, before: str) -> Frame | None:
    if not _PATTERN["LOCATED"].search(line):
        return None
    for form in _FRAMES:
        found = form.match(line)
        if found is None:
            continue
        parts = found.groupdict()
        name, owner, path = parts.get("name") or "", parts.get("owner") or "", parts.get("path") or ""
        if "name" not in parts and (named := _PATTERN["NAME_BEFORE"].fullmatch(before)):
            name = named["name"]
        if parts.get("file"):
            path = "/".join([part for part in owner.split(".") if part and not part[0].isupper()] + [parts["file"]])
        whose = RUNTIME if parts.get("app") in _RUNTIME_APPS else _whose(path, f"{owner}{name}")
        return Frame(_trimmed(path), _function_name(owner, name), whose)
    return None


def _whose(path: str, name: str) -> int:
    # JavaScript calls code outside of functions <anonymous>: that is no file of the runtime.
    if _PATTERN["RUNTIME"].search(path) or _PATTERN["RUNTIME"].search(name.replace("<anonymous>", "")):
        return RUNTIME
    return LIBRARY if _PATTERN["LIBRARY"].search(path) or _PATTERN["LIBRARY"].search(name) else OWN


def _trimmed(path: str) -> str:
    """The end of a path: the rest belongs to another machine."""
    bare = _PATTERN["LIBRARY_FOLDER"].sub("", path.replace("\\", "/").split("?")[0])
    return "/".join([part for part in bare.split("/") if part not in ("", ".", "..") and not part.endswith(":")][-MAX_PATH_PARTS:])


def _function_name(owner: str, name: str) -> str:
    """A function with its type, without the parts that compilers add."""
    around = owner.rstrip(".").rpartition(".")[2].partition("$")[0]
    parts = [part for part in _PATTERN["NAME_PARTS"].split(f"{around}.{name}") if part and not _PATTERN["GENERATED"].fullmatch(part)]
    return ".".join(parts[-2:])


def query_from_log(text: str) -> CleanedQuery | None:
    """The messages of log lines without times, levels and ids, each once, errors first."""
    lines = [line[:MAX_LINE] for line in _ends(text.split("\n")) if line.strip()]
    timed = [line for line in lines if _PATTERN["TIME"].match(line)]
    if not timed or len(timed) < MIN_TIMED * len(lines):
        return None
    grave: list[str] = []
    other: list[str] = []
    for line in lines:
        level = _PATTERN["LEVEL"].match(_PATTERN["ORIGIN"].sub("", _PATTERN["TIME"].sub("", line, count=1), count=1))
        (grave if level and level["level"][:3].lower() in _GRAVE else other).append(_without_ids(_without_stamp(line)))
    return CleanedQuery(
        "\n".join(_distinct([*grave, *other])[:MAX_MESSAGES]), LOG, "log lines were read without their times, levels and ids"
    )


def _without_stamp(line: str) -> str:
    """A log line without its time, level and thread; any other line as it is."""
    found = _PATTERN["TIME"].match(line)
    if found is None:
        return line
    rest = line[found.end() :]
    for _ in range(4):
        shorter = _PATTERN["ORIGIN"].sub("", _PATTERN["LEVEL"].sub("", rest, count=1), count=1)
        if shorter == rest:
            break
        rest = shorter
    return rest


def _without_ids(line: str) -> str:
    return " ".join(_PATTERN["ID"].sub(" ", line).split())
