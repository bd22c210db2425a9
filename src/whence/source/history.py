"""What git tells of the past of a tree: commits with their messages and the files they changed.

This starts a process, so it belongs to indexing, never to a query. Nothing of the
repository's configuration that could run a program has a part in it.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

#: A commit that changes more files than this says little of any of them.
MOST_FILES = 20
SECONDS = 20.0
_TRAILER = re.compile(r"(?im)^\s*[a-z]+(?:-[a-z]+)+-?(?:by|to|for|id)?\s*:.*$|^\s*(?:closes|fixes|refs?|see)\b[ :#].*\d\s*$")
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.quotepath=off", "--no-pager", "--no-optional-locks")


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
    if since and _asked(root, ["merge-base", "--is-ancestor", since, head]) is None:
        return None
    span = f"{since}..{head}" if since else head
    form = "--format=%x01%ct%x02%B%x02"
    how = ["--no-merges", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-renames", "--name-only", "--relative", "-z"]
    text = _asked(root, ["log", *how, f"--max-count={count}", form, span, "--", "."])
    return None if text is None else [commit for one in text.split("\x01")[1:] if (commit := _commit(one)) is not None]


def _commit(text: str) -> Commit | None:
    time, _, rest = text.partition("\x02")
    message, _, listed = rest.partition("\x02")
    paths = tuple(path.strip("\n") for path in listed.split("\0") if path.strip("\n"))
    if not paths or len(paths) > MOST_FILES or not time.strip().isdigit():
        return None
    return Commit(int(time), _TRAILER.sub("", message).strip(), paths)


def _asked(root: Path, arguments: list[str]) -> str | None:
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    command = ["git", *_QUIET, "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, env=environment, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None
