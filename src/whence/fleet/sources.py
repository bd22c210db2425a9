"""Sources of repositories: a folder, indexed in place, or a URL, checked out below the data folder.

URLs are untrusted: git runs without a shell, with a few protocols only, never prompts, runs no hooks and no filters, and
ignores submodules.
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
_ALLOWED = f"a path, or a URL with one of {', '.join(f'{one}://' for one in SCHEMES)}"
#: Fetch so many times the commits that an index keeps: it leaves out those that change too many files.
HISTORY_FACTOR = 1.5
#: Time-outs in seconds: for short commands, and for those that transfer or write files.
SHORT, LONG = 60.0, 3_600.0
#: Characters of a message of git or of a URL that an error repeats.
MAX_QUOTED = 200
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BRANCH = re.compile(r"ref: (refs/heads/[^\s~^:?*\[\\\x00-\x20\x7f]+)\tHEAD")
_COMMIT = re.compile(r"([0-9a-f]{40}(?:[0-9a-f]{24})?)\tHEAD")
#: The ref that is fetched to.
_FETCHED = "refs/fleet/fetched"
#: Git's variables that are passed on: how to reach servers, and the user's configuration with its credentials.
_INHERITED = ("GIT_CONFIG", "GIT_EXEC_PATH", "GIT_SSH", "GIT_SSL", "GIT_PROXY", "GIT_HTTP")
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES),
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}
_SETTINGS = f"""
    core.hooksPath={os.devnull} core.fsmonitor=false core.autocrlf=false core.protectHFS=true core.protectNTFS=true
    submodule.recurse=false fetch.recurseSubmodules=false protocol.ext.allow=never gc.auto=0 advice.detachedHead=false
"""
_OPTIONS = [option for setting in _SETTINGS.split() for option in ("-c", setting)]
#: Files are checked out as they were committed, without filters of the user's configuration.
_ATTRIBUTES = "* -filter -text -ident -eol -working-tree-encoding\n"


class GitError(StorageError):
    """A repository cannot be fetched."""


@dataclass(frozen=True, slots=True)
class RemoteHead:
    """The commit of a remote HEAD, and the full name of its branch (empty if detached)."""

    commit: str
    branch: str


def is_url(source: str) -> bool:
    """Whether a source is a URL, not a folder."""
    return _URL.match(source) is not None


def normalize_source(text: str) -> str:
    """A source as the fleet stores it: an absolute path, or a URL that is safe to give to git."""
    if is_url(text):
        return _checked_url(text)
    if "::" in text or text.startswith("-"):
        raise UsageError(f"{text!r} is neither a folder nor a URL", hint=_ALLOWED)
    if re.match(r"[^/\s]+@[^/\s]+:", text) and not Path(text).exists():
        raise UsageError(f"{text!r} is not a folder", hint="for a repository on a server, write ssh://USER@HOST/PATH")
    root = resolve_root(Path(text))
    around = repository_root(root)
    if around is not None and around != root:
        raise UsageError(f"{text} is inside the repository {around}", hint="add the whole repository")
    try:
        os.fspath(root).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{text!r} is not valid Unicode", hint="rename the folder, or use a URL") from error
    return os.fspath(root)


def _checked_url(text: str) -> str:
    shown = text[:MAX_QUOTED]
    try:
        parts = urlsplit(text)
        user, password, host, _ = parts.username, parts.password, parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"{shown!r} is not a URL: {error}") from error
    scheme = parts.scheme.lower()
    if scheme not in SCHEMES:
        raise UsageError(f"{scheme}:// is not supported", hint=_ALLOWED)
    if password is not None or (user is not None and scheme != "ssh"):
        hint = "use a credential helper of git or an ssh key"
        raise UsageError(f"the URL of {host or 'the repository'} contains a password; the fleet stores none", hint=hint)
    if parts.query or parts.fragment or not text.isprintable() or " " in text or "\\" in text:
        raise UsageError(f"{shown!r} is not the URL of a repository")
    wrong = bool(host) == (scheme == "file") or host.startswith("-") or (user or "").startswith("-")
    if wrong or not parts.path.strip("/") or parts.path.startswith("/-"):
        raise UsageError(f"{shown!r} is not the URL of a repository", hint="SCHEME://HOST/PATH, or file:///PATH")
    return text


def default_name(source: str) -> str:
    """The default name of a repository: the last two parts of a URL's path, or the folder's name."""
    parts = urlsplit(source).path.split("/")[1:] if is_url(source) else [Path(source).name]
    plain = [re.sub(r"[^\w.@+~-]+", "-", part).lstrip("@") for part in parts if part]
    if is_url(source) and plain:
        plain[-1] = plain[-1].removesuffix(".git") or plain[-1]
    return checked_name("/".join(one for one in plain[-2:] if one) or "repository")


def remote_head(url: str) -> RemoteHead:
    """Ask a server for its HEAD, without fetching."""
    output = _git(["ls-remote", "--symref", "--end-of-options", _checked_url(url), "HEAD"], SHORT)
    commit, branch = _COMMIT.search(output), _BRANCH.search(output)
    if commit is None:
        raise GitError(f"{url} has no commit")
    return RemoteHead(commit[1], branch[1] if branch else "")


@contextmanager
def checkout(source: str, data_dir: Path, history: int, head: RemoteHead | None = None) -> Iterator[Path]:
    """The up-to-date folder of a source: the source itself, or a locked checkout below the data folder."""
    if not is_url(source):
        yield resolve_root(Path(source))
        return
    folder = checkout_path(source, data_dir)
    folder.parent.mkdir(0o700, parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several repositories may have one source
        _update(folder, source, head or remote_head(source), max(1, round(history * HISTORY_FACTOR)))
        yield folder


def checkout_path(url: str, data_dir: Path) -> Path:
    """The folder that a URL is checked out to."""
    key = hashlib.blake2s(url.encode(), digest_size=8).hexdigest()
    return data_dir / "fleet" / "checkouts" / f"{default_name(url).replace('/', '+')[:60]}-{key}"


def remove_checkout(source: str, data_dir: Path) -> bool:
    """Delete the checkout of a URL and its index, if there is one; never a folder that is a source itself."""
    if not is_url(source):
        return False
    folder = checkout_path(source, data_dir)
    existed = folder.exists()
    for place in (Layout(data_dir, folder).directory, folder):
        shutil.rmtree(place, ignore_errors=True)
    return existed


def _update(folder: Path, url: str, head: RemoteHead, depth: int) -> None:
    """Fetch a commit and check it out. If that fails, try once more from scratch: a killed git leaves locks behind."""
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
        _git(["init", "--quiet", "--template=", "--end-of-options", str(folder)], SHORT)
        (folder / ".git" / "info").mkdir(exist_ok=True)
        (folder / ".git" / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
    what = [f"+{head.branch or 'HEAD'}:{_FETCHED}"]
    how = ["--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", f"--depth={depth}"]
    _git(["fetch", *how, "--end-of-options", url, *what], LONG, folder)
    commit = _git(["rev-parse", "--verify", "--end-of-options", f"{_FETCHED}^{{commit}}"], SHORT, folder).strip()
    if head.branch:
        _git(["symbolic-ref", "HEAD", head.branch], SHORT, folder)
    _git(["update-ref", *([] if head.branch else ["--no-deref"]), "HEAD", commit], SHORT, folder)
    _git(["reset", "--quiet", "--hard"], LONG, folder)
    _git(["clean", "--quiet", "-ffdx"], LONG, folder)


def _git(arguments: Sequence[str], seconds: float, folder: Path | None = None) -> str:
    """Run git and return its output."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(_INHERITED)}
    where = ["-C", str(folder)] if folder is not None else []
    try:
        done = subprocess.run(
            ["git", *_OPTIONS, *where, *arguments],
            env={**inherited, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
            start_new_session=True,  # without a terminal there is no password prompt
        )
    except FileNotFoundError as error:
        raise GitError("git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"git {arguments[0]} took longer than {seconds:g} s") from error
    if done.returncode:
        errors = [line for line in done.stderr.strip().splitlines() if line.startswith(("fatal:", "error:"))] or ["no error message"]
        raise GitError(f"git {arguments[0]} failed: {errors[0][:MAX_QUOTED]}")
    return done.stdout
