"""What git tells of the past of a tree: commits with their messages and the files they changed.

This starts a process, so it belongs to indexing and to questions about a change, never to a search. Nothing of the
repository's configuration that could run a program has a part in it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from whence.source.read import strip_secrets

#: A commit that changes more files than this says little of any of them.
MAX_FILES = 20
SECONDS = 20.0
#: No clock is right that says more.
LATEST = 1 << 40
_TRAILER = re.compile(r"(?im)^\s*[a-z]+(?:-[a-z]+)+-?(?:by|to|for|id)?\s*:.*$|^\s*(?:closes|fixes|refs?|see)\b[ :#].*\d\s*$")
_QUIET = ("-c", "core.fsmonitor=false", "-c", "log.showRoot=true", "--no-pager", "--no-optional-locks")
#: No question, no lock, and no fetching of what is missing: the configuration would say which program does that.
_ALONE = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C"}
#: A regular file that a commit left, as `--raw` tells it.
_NEW_BLOB = re.compile(r"\n:\d{6} 100\d{3} [0-9a-f]+ ([0-9a-f]+) ")
#: How the modes of regular files end.
_REGULAR = ("100644", "100755")
#: Variables of the caller that are not about another repository.
_KEPT = ("GIT_CONFIG", "GIT_EXEC_PATH")
_SCOPE = r"^(?:[\w./-]+(?:\([^)]*\))?!?:\s*|\[[^\]]*\]\s*)*"
_TIDY = r"(?:fix(?:e[sd])?|remove[ds]?|trim|strip|clean|minor|apply|run|correct|some|more|trailing|extra|code|the|up|all|of)"
#: Subjects of commits whose message tells nothing of what was changed.
UNINFORMATIVE_SUBJECT = re.compile(
    rf"""\bbump(?:s|ed|ing)?\b | \(deps[^)]*\) | {_SCOPE}reverts?\b | maven-release-plugin | ^now\ working\ on
    | ^merge[ds]?\s+(?:branch|pull|remote|tags?|commit|from|into|master|main|upstream|pr\b|changes|\S+/|['"#])
    | {_SCOPE}(?:update|upgrade)\b.*(?:\bdep(?:s|endenc(?:y|ies))\b|\bto\ v?\d)
    | {_SCOPE}(?:(?:prepare|prep|cut|tag|publish|start|begin|set|next|new|for|the)\s+)*(?:v?\d+\.\d+\S*|releas\w+|versions?|snapshot)\b
    | change\ ?log | release\ notes | \bcopyright\b | ^(?:update|add)\ .*\b(?:news|history|authors|contributors)$
    | \b(?:gofmt|prettier|clang-format|scalafmt|scalafix|rubocop|rustfmt|styleci|php-cs-fixer|ocamlformat|perltidy|stylua|pre-commit)\b
    | ^style\b | {_SCOPE}re-?format
    | {_SCOPE}(?:{_TIDY}\s+)*(?:white\ ?space|indent(?:ation|ing)?|format(?:ting)?|lint(?:ing|er)?|style|cs)
      (?:\s+(?:fix(?:es)?|errors?|issues?|warnings?|changes?|problems?|cleanups?))?\W*$""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: when it was made, what it says, and which files it changed (relative to the root)."""

    time: int
    message: str
    paths: tuple[str, ...]


def read_history(root: Path, head: str, count: int, since: str = "") -> list[Commit] | None:
    """The newest commits up to `head` that change few files, newest first; None where git cannot tell.

    With `since`, only commits after it; None when it is not in the past of `head`.
    """
    if since and _run_git(root, ["merge-base", "--is-ancestor", "--end-of-options", since, head]) is None:
        return None
    mark = os.urandom(8).hex()  # made up for this call, so that no message and no name can hold it
    how = ["--no-merges", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-renames", "--name-only", "--relative", "-z"]
    form, span = ["--encoding=UTF-8", f"--format={mark}%ct%x00%B%x00"], f"{since}..{head}" if since else head
    most = count + count // 4  # some change too many files
    while True:
        text = _run_git(root, ["log", *how, *form, f"--max-count={most}", "--end-of-options", span, "--", "."])
        if text is None:
            return None
        told = text.split(mark)[1:]
        found = [commit for one in told if (commit := _commit(one)) is not None][:count]
        if len(found) == count or len(told) < most:
            return found
        most *= 2


def _commit(text: str) -> Commit | None:
    """One commit as git tells it: time, message, and after an empty line the paths, each ended by NUL."""
    time, _, rest = text.partition("\0")
    message, _, listed = rest.partition("\0")
    paths = tuple(path for path in listed.removeprefix("\0\n").split("\0") if path)
    if not paths or len(paths) > MAX_FILES or not time.isdigit():
        return None
    subject, _, body = message.partition("\n")  # a subject is never a trailer, even if it looks like one
    return Commit(min(int(time), LATEST), strip_secrets(f"{subject}\n{_TRAILER.sub('', body)}".strip()), paths)


class FileChange(NamedTuple):
    """A file that a change touches: its path and git's name of its content before and after. No path: it is not there."""

    old_path: str
    new_path: str
    old_blob: str
    new_blob: str  # empty in the working tree


def changed_files(root: Path, since: str, *, staged: bool = False) -> list[FileChange] | None:
    """The files that differ between a commit and the working tree (or the index), or between the two ends of a range.

    Files that git does not know yet are new ones of the working tree. None where git cannot tell.
    """
    how = ["--raw", "-z", "-M", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--relative", *(["--cached"] if staged else [])]
    alone = ["--ignore-submodules=all", "--end-of-options", since, "--", "."]  # a submodule has a configuration of its own
    text = _run_git(root, ["diff", *how, *alone], _without_filters(root))
    if text is None:
        return None
    fields = iter(text.split("\0"))
    found = [change for told in fields if told.startswith(":") and (change := _file_change(told.split(" "), fields))]
    if not staged and ".." not in since:
        listed = _run_git(root, ["ls-files", "--others", "--exclude-standard", "-z", "--", "."]) or ""
        found += [FileChange("", new, "", "") for new in listed.split("\0") if new]
    return found


def _file_change(told: Sequence[str], fields: Iterator[str]) -> FileChange | None:
    """One file as `--raw` tells it: modes, contents and status, then a path, or two of a renamed file."""
    before, after, old_blob, new_blob, status = told
    old_path = new_path = next(fields)
    if status[0] in "RC":
        new_path = next(fields)
    is_file = [mode.endswith(_REGULAR) for mode in (before, after)]
    if not any(is_file) or status == "U":  # a link or a submodule; a conflict is told again as a change
        return None
    blobs = [blob.strip("0") and blob for blob in (old_blob, new_blob)]
    return FileChange(old_path if is_file[0] and status[0] != "C" else "", new_path if is_file[1] else "", *blobs)


def list_blobs(root: Path, commit: str) -> dict[str, str] | None:
    """The files of a commit, relative to the root, with what git calls the content of each; None where git cannot tell."""
    text = _run_git(root, ["ls-tree", "-r", "-z", "--end-of-options", commit])
    if text is None:
        return None
    told = [one.partition("\t") for one in text.split("\0") if one]
    return {path: kind.split()[2] for kind, _, path in told if kind.split()[1] == "blob"}


class FileVersion(NamedTuple):
    """A file as a commit left it."""

    commit: str
    time: int
    blob: str  # what git calls its content


def list_versions(root: Path, path: str, most: int, seconds: float) -> list[FileVersion] | None:
    """The newest versions of a file, newest first, also under its earlier names; None where git cannot tell in so many seconds."""
    mark = os.urandom(8).hex()
    how = ["--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--raw", "--no-abbrev", "-z", "--follow", "-M"]
    asked = ["--literal-pathspecs", "log", *how, f"--format={mark}%H %ct%x00", f"--max-count={most}", "--", path]
    text = _run_git(root, asked, seconds=seconds)
    if text is None:
        return None
    told = [(one.partition("\0")[0].split(), _NEW_BLOB.search(one)) for one in text.split(mark)[1:]]
    return [FileVersion(head[0], int(head[1]), blob[1]) for head, blob in told if blob and len(head) == 2 and head[1].isdigit()]


def first_commit(root: Path) -> str:
    """The first commit of the default branch, followed by first parents; empty where git cannot tell."""
    for ref in ("refs/remotes/origin/HEAD", "HEAD"):
        found = _run_git(root, ["rev-list", "--first-parent", "--max-parents=0", ref, "--"], {"GIT_NO_REPLACE_OBJECTS": "1"}, seconds=10)
        if found and found.strip():
            return found.split()[0]
    return ""


def read_blobs(root: Path, blobs: Sequence[str], most_bytes: int) -> dict[str, bytes]:
    """The bytes of some contents by git's name for them; what is missing here, or larger, is left out."""
    small = [one for one, size in _sizes(root, blobs).items() if size <= most_bytes]
    raw = (_run_git(root, ["cat-file", "--batch"], said="\n".join(small)) or "").encode("utf-8", "surrogateescape")
    found: dict[str, bytes] = {}
    at = 0
    while (end := raw.find(b"\n", at)) >= 0:
        name, *_, size = raw[at:end].decode("ascii", "replace").split(" ")
        begin = end + 1
        if size.isdigit():  # else it has gone since its size was asked for
            found[name] = raw[begin : begin + int(size)]
            begin += int(size) + 1  # the end of the line behind it
        at = begin
    return found


def _sizes(root: Path, blobs: Sequence[str]) -> dict[str, int]:
    told = _run_git(root, ["cat-file", "--batch-check"], said="\n".join(blobs)) or ""
    lines = (line.split(" ") for line in told.splitlines())
    return {line[0]: int(line[2]) for line in lines if len(line) == 3 and line[1] == "blob"}


def _without_filters(root: Path) -> dict[str, str]:
    """Variables that switch off every filter of the configuration: to compare a file with a commit, git would run them.

    An empty long-running filter takes the place of the other kinds, and does nothing.
    """
    named = _run_git(root, ["config", "--name-only", "-z", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$"]) or ""
    filters = sorted({name.rpartition(".")[0] for name in named.split("\0") if name})
    values = [pair for name in filters for pair in ((f"{name}.process", ""), (f"{name}.required", "false"))]
    first = os.environ.get("GIT_CONFIG_COUNT", "0")
    before = int(first) if first.isascii() and first.isdigit() else 0
    told = {"GIT_CONFIG_COUNT": str(before + len(values))}
    for number, (name, value) in enumerate(values, before):
        told |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return told


def _run_git(
    root: Path, arguments: list[str], more: Mapping[str, str] = MappingProxyType({}), *, said: str = "", seconds: float = SECONDS
) -> str | None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(_KEPT)}
    command, environment = ["git", *_QUIET, "-C", str(root), *arguments], {**inherited, **_ALONE, **more}
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, env=environment, check=False, input=said.encode())
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None
