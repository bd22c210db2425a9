"""What git knows of a tree, read from its files: no process is started on the way to an answer."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from whence.source.read import read_prefix

#: A commit, a branch or a path is short; a list of all references has some hundred bytes for each.
MOST_BYTES, MOST_LISTED_BYTES = 70_000, 20_000_000
_COMMIT = re.compile(r"^[0-9a-f]{40}([0-9a-f]{24})?$")


@dataclass(frozen=True, slots=True)
class Head:
    """The commit a tree is at, and its branch (empty when detached)."""

    commit: str
    branch: str = ""


def repository_root(path: Path) -> Path | None:
    """The nearest folder at or above a path that git looks after."""
    for folder in (path, *path.parents):
        if (folder / ".git").exists():
            return folder
    return None


def current_branch(root: Path) -> str:
    """The branch of a tree, also where it has no commit yet; empty when there is none."""
    git_dir = _git_dir(root)
    text = _read(git_dir / "HEAD") if git_dir is not None else ""
    return text[5:].strip().removeprefix("refs/heads/") if text.startswith("ref: ") else ""


def read_head(root: Path) -> Head | None:
    """The commit of a tree, or None where there is no git or no commit yet."""
    git_dir = _git_dir(root)
    if git_dir is None:
        return None
    text = _read(git_dir / "HEAD")
    if _COMMIT.match(text):
        return Head(text)
    if not text.startswith("ref: "):
        return None
    ref = text[5:].strip()
    commit = _resolve(git_dir, ref)
    return Head(commit, ref.removeprefix("refs/heads/")) if commit else None


def list_branches(root: Path) -> frozenset[str] | None:
    """The branches of a repository, its own and those it has seen elsewhere; None when they cannot be read from its files."""
    git_dir = _git_dir(root)
    if git_dir is None:
        return None
    common = git_dir / (_read(git_dir / "commondir") or ".")
    refs = common / "refs"
    if not (refs / "heads").is_dir() or (common / "reftable").exists():
        return None
    loose = (path.relative_to(common).as_posix() for path in refs.rglob("*") if path.is_file())
    packed = (line.partition(" ")[2] for line in _read(common / "packed-refs", MOST_LISTED_BYTES).splitlines())
    found = {current_branch(root)} - {""}
    for ref in (*loose, *packed):
        _, where, name = (*ref.split("/", 2), "", "")[:3]
        if where in ("heads", "remotes"):
            found.add(name if where == "heads" else name.partition("/")[2])
    return frozenset(found)


def watch_folders(root: Path) -> list[str]:
    """The folders in which git writes which commit a tree is at, and its private rules; none where there is no git."""
    git_dir = _git_dir(root)
    if git_dir is None:
        return []
    common = git_dir / (_read(git_dir / "commondir") or ".")
    ref = _read(git_dir / "HEAD").removeprefix("ref: ")
    try:
        above = [place for place in (common / ref).parents if place.is_relative_to(common)]
        return sorted({str(place.resolve()) for place in (git_dir, common, *above, git_dir / "info") if place.is_dir()})
    except (OSError, ValueError):
        return []


def _git_dir(root: Path) -> Path | None:
    dot_git = root / ".git"
    if dot_git.is_dir():
        return dot_git
    text = _read(dot_git)  # a worktree or submodule: the file says where
    return (root / text[8:].strip()) if text.startswith("gitdir: ") else None


def common_dir(root: Path) -> str:
    """Where git keeps what all worktrees of a repository share; empty where there is no git."""
    git_dir = _git_dir(root)
    if git_dir is None:
        return ""
    try:
        return str((git_dir / (_read(git_dir / "commondir") or ".")).resolve())
    except (OSError, ValueError, RuntimeError):
        return ""


def _resolve(git_dir: Path, ref: str) -> str:
    if not ref.startswith("refs/") or ".." in ref.split("/"):  # git knows no other, and this would lead elsewhere
        return ""
    common = _read(git_dir / "commondir")
    places = [git_dir, git_dir / common] if common else [git_dir]
    for place in places:
        commit = _read(place / ref)
        if _COMMIT.match(commit):
            return commit
    for place in places:
        for line in _read(place / "packed-refs", MOST_LISTED_BYTES).splitlines():
            commit, _, name = line.partition(" ")
            if name == ref and _COMMIT.match(commit):
                return commit
    return ""


def _read(path: Path, most: int = MOST_BYTES) -> str:
    """The text of one of git's files; empty where it is none, or a pipe that nobody writes to, or too long to be one of git's."""
    try:
        raw = read_prefix(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), most + 1)
    except (OSError, ValueError):  # a name with a NUL in it is no file either
        return ""
    return "" if len(raw) > most else raw.decode("utf-8", "replace").strip()
