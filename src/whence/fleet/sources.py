"""Where the repositories of a fleet come from: a folder that is indexed where it is, or a URL that is checked out here.

A URL is data of somebody's: git is started without a shell, may use a few protocols only, asks nobody anything, runs no
hook and no filter, and follows no submodule.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from whence.core.errors import StorageError, UsageError
from whence.core.settings import resolve_root
from whence.fleet.registry import checked_name
from whence.index.layout import Layout
from whence.source.git import repository_root

SCHEMES = ("https", "ssh", "file")
#: Commits that are asked for beyond those that an index keeps: some change too many files to be kept.
MORE_HISTORY = 1.5
#: Seconds that a server has to say where it is, and to send everything.
SECONDS_TO_LOOK, SECONDS_TO_FETCH = 60.0, 3_600.0
#: Letters of what git says that are repeated.
MOST_SAID = 200
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BRANCH = re.compile(r"ref: (refs/heads/[^\s~^:?*\[\\\x00-\x20\x7f]+)\tHEAD")
_COMMIT = re.compile(r"([0-9a-f]{40}(?:[0-9a-f]{24})?)\tHEAD")
#: Where the commit is kept that was fetched.
_FETCHED = "refs/fleet/fetched"
#: Which variables of git stay: how to reach servers, and the user's configuration with the credentials.
_KEPT = ("GIT_CONFIG", "GIT_EXEC_PATH", "GIT_SSH", "GIT_SSL", "GIT_PROXY", "GIT_HTTP")
_ALONE = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES),
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}
_QUIET = [
    option
    for setting in (
        f"core.hooksPath={os.devnull}",
        "core.fsmonitor=false",
        "core.autocrlf=false",
        "core.protectHFS=true",
        "core.protectNTFS=true",
        "submodule.recurse=false",
        "fetch.recurseSubmodules=false",
        "protocol.ext.allow=never",
        "gc.auto=0",
        "advice.detachedHead=false",
    )
    for option in ("-c", setting)
]
#: Content comes as it was committed: no program of the user's configuration has a part in it.
_ATTRIBUTES = "* -filter -text -ident -eol -working-tree-encoding\n"


class GitError(StorageError):
    """A repository cannot be had from where it is."""


@dataclass(frozen=True, slots=True)
class RemoteHead:
    """The commit that a server is at, and the full name of its branch (empty when there is none)."""

    commit: str
    branch: str


def is_url(source: str) -> bool:
    """Whether a source is checked out, not indexed where it is."""
    return _URL.match(source) is not None


def normalize_source(text: str) -> str:
    """A source as the fleet keeps it: a whole path, or a URL that git may be given."""
    if is_url(text):
        return _checked_url(text)
    if "::" in text or text.startswith("-"):
        raise UsageError(f"{text!r} is neither a folder nor a URL", hint=f"a path, or one of {', '.join(f'{one}://' for one in SCHEMES)}")
    if re.match(r"[^/\s]+@[^/\s]+:", text) and not Path(text).exists():
        raise UsageError(f"{text!r} is no folder", hint="write ssh://USER@HOST/PATH for a repository on a server")
    root = resolve_root(Path(text))
    around = repository_root(root)
    if around is not None and around != root:
        raise UsageError(f"{text} is a part of {around}", hint="the fleet holds whole repositories")
    try:
        os.fspath(root).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{text!r} is no name in Unicode", hint="rename the folder, or use a URL") from error
    return os.fspath(root)


def _checked_url(text: str) -> str:
    shown = text[:MOST_SAID]
    try:
        parts = urlsplit(text)
        user, password, host, _ = parts.username, parts.password, parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"{shown!r} is no URL: {error}") from error
    scheme = parts.scheme.lower()
    if scheme not in SCHEMES:
        raise UsageError(f"{scheme}:// is not used", hint=f"allowed: a path, or one of {', '.join(f'{one}://' for one in SCHEMES)}")
    if password is not None or (user is not None and scheme != "ssh"):
        hint = "git has credential helpers and ssh has keys; the fleet keeps no passwords"
        raise UsageError(f"a URL of {host or 'a fleet'} with a password in it is not kept", hint=hint)
    if parts.query or parts.fragment or not text.isprintable() or " " in text or "\\" in text:
        raise UsageError(f"{shown!r} is no URL of a repository")
    wrong = bool(host) == (scheme == "file") or host.startswith("-") or (user or "").startswith("-")
    if wrong or not parts.path.strip("/") or parts.path.startswith("/-"):
        raise UsageError(f"{shown!r} is no URL of a repository", hint="SCHEME://HOST/PATH, or file:///PATH")
    return text


def default_name(source: str) -> str:
    """What a repository is called where nobody says: the last two steps of a URL, or the name of the folder."""
    steps = urlsplit(source).path.split("/")[1:] if is_url(source) else [Path(source).name]
    plain = [re.sub(r"[^\w.@+~-]+", "-", step).lstrip("@") for step in steps if step]
    if is_url(source) and plain:
        plain[-1] = plain[-1].removesuffix(".git") or plain[-1]
    return checked_name("/".join(one for one in plain[-2:] if one) or "repository")


def remote_head(url: str) -> RemoteHead:
    """Where a server is: one question, nothing is fetched."""
    told = _git(["ls-remote", "--symref", "--end-of-options", _checked_url(url), "HEAD"], SECONDS_TO_LOOK)
    commit, branch = _COMMIT.search(told), _BRANCH.search(told)
    if commit is None:
        raise GitError(f"{url} has no commit")
    return RemoteHead(commit[1], branch[1] if branch else "")


@contextmanager
def checkout(source: str, data_dir: Path, history: int, head: RemoteHead | None = None) -> Iterator[Path]:
    """The folder of a source as it is now, for as long as it is worked with: where it is, or fetched below the data folder."""
    if not is_url(source):
        yield resolve_root(Path(source))
        return
    folder = checkout_path(source, data_dir)
    folder.parent.mkdir(0o700, parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two repositories of a fleet, or of two fleets, may come from one place
        _bring_up_to(folder, source, head or remote_head(source), max(1, round(history * MORE_HISTORY)))
        yield folder


def checkout_path(url: str, data_dir: Path) -> Path:
    """Where a URL is checked out."""
    key = hashlib.blake2s(url.encode(), digest_size=8).hexdigest()
    return data_dir / "fleet" / "checkouts" / f"{default_name(url).replace('/', '+')[:60]}-{key}"


def remove_checkout(source: str, data_dir: Path) -> bool:
    """Remove what is here of a URL, and the index of that; whether there was any. A folder of the user's is left alone."""
    if not is_url(source):
        return False
    folder = checkout_path(source, data_dir)
    there = folder.exists()
    for place in (Layout(data_dir, folder).directory, folder):
        shutil.rmtree(place, ignore_errors=True)
    return there


def _bring_up_to(folder: Path, url: str, head: RemoteHead, depth: int) -> None:
    """Fetch a commit and its tree. What a killed git left behind is in the way of the next, so there is a second try with nothing."""
    try:
        _fetch(folder, url, head, depth)
    except GitError:
        if not folder.exists():
            raise
        shutil.rmtree(folder, ignore_errors=True)
        _fetch(folder, url, head, depth)


def _fetch(folder: Path, url: str, head: RemoteHead, depth: int) -> None:
    if not (folder / ".git" / "info" / "attributes").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _git(["init", "--quiet", "--template=", "--end-of-options", str(folder)], SECONDS_TO_LOOK)
        (folder / ".git" / "info").mkdir(exist_ok=True)
        (folder / ".git" / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
    what = [f"+{head.branch or 'HEAD'}:{_FETCHED}"]
    how = ["--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", f"--depth={depth}"]
    _git(["fetch", *how, "--end-of-options", url, *what], SECONDS_TO_FETCH, folder)
    commit = _git(["rev-parse", "--verify", "--end-of-options", f"{_FETCHED}^{{commit}}"], SECONDS_TO_LOOK, folder).strip()
    if head.branch:
        _git(["symbolic-ref", "HEAD", head.branch], SECONDS_TO_LOOK, folder)
    _git(["update-ref", *([] if head.branch else ["--no-deref"]), "HEAD", commit], SECONDS_TO_LOOK, folder)
    _git(["reset", "--quiet", "--hard"], SECONDS_TO_FETCH, folder)
    _git(["clean", "--quiet", "-ffdx"], SECONDS_TO_FETCH, folder)


def _git(arguments: Sequence[str], seconds: float, folder: Path | None = None) -> str:
    """Run git, without any shell, and return what it printed."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(_KEPT)}
    where = ["-C", str(folder)] if folder is not None else []
    try:
        done = subprocess.run(
            ["git", *_QUIET, *where, *arguments],
            env={**inherited, **_ALONE},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
            start_new_session=True,  # without a terminal nobody is asked for a password
        )
    except FileNotFoundError as error:
        raise GitError("git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"git {arguments[0]} did not end within {seconds:g} s") from error
    if done.returncode:
        said = [line for line in done.stderr.strip().splitlines() if line.startswith(("fatal:", "error:"))] or ["it said nothing"]
        raise GitError(f"git {arguments[0]} failed: {said[0][:MOST_SAID]}")
    return done.stdout
