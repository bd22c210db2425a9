"""`whence bench fetch`: obtain the public data of a benchmark, repositories at their pinned revisions (B1)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.bench.corpus import ANNOTATIONS, LIST, REPOSITORIES, read_json
from whence.errors import StorageError, UsageError

#: Where the list of the search benchmark is published.
SEARCH_LIST = "https://github.com/MinishLab/semble"
#: Where in that repository the list and the questions are.
FOLDER = "benchmarks"
FETCHABLE = ("search",)

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REVISION = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
#: The list is data from elsewhere: git may not run a command of its choosing, nor ask for a password.
_ENVIRONMENT = {"GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file", "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Fetched:
    """Names of repositories that are in place, and of those that could not be had, with the reason."""

    there: list[str]
    failed: dict[str, str]


class GitError(StorageError):
    """A git command failed."""


def git(*arguments: str, cwd: Path | None = None) -> str:
    """Run git, without any shell, and return what it printed."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd,
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise GitError("git is not installed") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise GitError(f"git {arguments[0]} failed: {said[-1]}")
    return done.stdout


def fetch(what: str, directory: Path, source: str, tell: Tell) -> Fetched:
    """Fetch a benchmark by its name."""
    if what not in FETCHABLE:
        raise UsageError(f"there is no benchmark {what!r} to fetch", hint=f"allowed: {', '.join(FETCHABLE)}")
    return fetch_search(directory, source, tell)


def fetch_search(directory: Path, source: str, tell: Tell) -> Fetched:
    """Lay out the search benchmark in a folder. What is there already is kept."""
    there: list[str] = []
    failed: dict[str, str] = {}
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        published = Path(temporary) / "list"
        tell(f"the list, from {source}")
        git("clone", "--quiet", "--depth", "1", "--", source, str(published))
        specs = [_checked(spec) for spec in read_json(published / FOLDER / LIST)]
        _keep_apart(directory, specs)
        (directory / REPOSITORIES).mkdir(parents=True, exist_ok=True)
        (directory / ANNOTATIONS).mkdir(parents=True, exist_ok=True)
        for spec in specs:
            questions = published / FOLDER / ANNOTATIONS / f"{spec['name']}.json"
            if questions.is_file():
                shutil.copyfile(questions, directory / ANNOTATIONS / questions.name)
    (directory / LIST).write_text(json.dumps(specs, indent=2) + "\n", encoding="utf-8")
    for spec in specs:
        try:
            _place(directory / REPOSITORIES / spec["name"], spec["url"], spec["revision"], tell)
            there.append(spec["name"])
        except GitError as error:
            failed[spec["name"]] = error.message
    return Fetched(there, failed)


def _checked(spec: dict[str, Any]) -> dict[str, Any]:
    """A line of the list, if it can be used without harm."""
    name, url, revision = (str(spec.get(key, "")) for key in ("name", "url", "revision"))
    root = str(spec.get("benchmark_root") or "")
    if not _PLAIN_NAME.fullmatch(name) or not url or url.startswith("-") or not _REVISION.fullmatch(revision):
        raise UsageError(f"the list has a repository that cannot be used: {name!r}, {url!r}, {revision!r}")
    if root.startswith("/") or ".." in root.split("/"):
        raise UsageError(f"the list wants a folder outside of {name!r}: {root!r}")
    return spec


def _keep_apart(directory: Path, specs: list[dict[str, Any]]) -> None:
    """Refuse a folder that holds another corpus: two lists in one folder would give figures of neither."""
    if (directory / LIST).exists() and read_json(directory / LIST) != specs:
        raise UsageError(f"{directory} holds another corpus", hint="give an empty folder")


def _place(target: Path, url: str, revision: str, tell: Tell) -> None:
    """Clone at a revision. The folder gets its name when it is complete, so a cut-off clone is never taken for one."""
    if target.exists():
        if (target / ".git").exists() and git("rev-parse", "HEAD", cwd=target).strip() == revision:
            return
        raise GitError(f"{target} is there and is not at {revision[:12]}; move it away")
    tell(f"{target.name} at {revision[:12]}")
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    git("init", "--quiet", cwd=part)
    git("config", "core.autocrlf", "false", cwd=part)
    try:
        git("fetch", "--quiet", "--depth", "1", "--", url, revision, cwd=part)
    except GitError:  # a server that gives no single commit gives all of them
        git("fetch", "--quiet", "--tags", "--", url, "+refs/heads/*:refs/remotes/origin/*", cwd=part)
    git("checkout", "--quiet", "--detach", revision, cwd=part)
    part.rename(target)
