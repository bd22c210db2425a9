"""What git knows of a tree, read from its files: no process is started on the way to an answer."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import Struct
from struct import error as StructError  # noqa: N812

from whence.source.read import read_prefix

#: A commit, a branch or a path is short; a list of all references has some hundred bytes for each.
MOST_BYTES, MOST_LISTED_BYTES = 70_000, 20_000_000
#: Git's index of a million files; it needs as much again for their names.
MOST_INDEX_BYTES, MOST_NAME_BYTES = 100_000_000, 4_096
_COMMIT = re.compile(r"^[0-9a-f]{40}([0-9a-f]{24})?$")


_ORIGIN = re.compile(r'^\[remote "origin"\]([^\[]*)', re.MULTILINE)
_URL = re.compile(r"^\s*url\s*=\s*(\S+)", re.MULTILINE)
#: An address with a scheme, or as ssh takes it: host and path.
_REMOTE = re.compile(r"(?:\w+://)?(?:[^@/]*@)?([^:/]*)(?::\d+(?=/))?[:/](.*)")
_COUNT = Struct(">I")

_HEADER, _FLAGS, _EXTENSION = Struct(">4sII"), Struct(">H"), Struct(">4sI")
#: In an entry of git's index: where its mode is, where its hash begins, the mode of a submodule, a bit of its flags.
_MODE, _HASH, _SUBMODULE, _EXTENDED = 24, 40, b"\0\0\xe0\0", 0x4000


@dataclass(frozen=True, slots=True)
class Head:
    """The commit a tree is at, and its branch (empty when detached)."""

    commit: str
    branch: str = ""


class TrackedFiles:
    """The files that git tracks below a folder, by their paths relative to it."""

    def __init__(self, paths: list[str]) -> None:
        self.files, self._ordered = frozenset(paths), sorted(paths)

    def holds(self, path: str, *, is_folder: bool) -> bool:
        """Whether git tracks a file, or a file below a folder."""
        if not is_folder:
            return path in self.files
        at = bisect_left(self._ordered, f"{path}/")
        return at < len(self._ordered) and self._ordered[at].startswith(f"{path}/")


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


def index_state(root: Path) -> os.stat_result | None:
    """The state of the file in which git keeps what it tracks; None where there is none."""
    place = _index_file(root)
    try:
        return place.stat() if place is not None else None
    except (OSError, ValueError):
        return None


def tracked_files(root: Path) -> TrackedFiles | None:
    """What git tracks below a folder; None where git does not look after it, or keeps that in a way that is not read here.

    That is a split or a sparse index, or a damaged one. Files of submodules are tracked by their own repositories.
    """
    found, place = index_state(root), _index_file(root)
    if found is None or place is None:
        return None
    above = repository_root(root)
    below = root.relative_to(above).as_posix() if above is not None and above != root else ""
    return _tracked(place, below, (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))


@lru_cache(maxsize=2)
def _tracked(place: Path, below: str, _stamps: tuple[int, ...]) -> TrackedFiles | None:
    try:
        raw = read_prefix(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), MOST_INDEX_BYTES + 1)
    except OSError:
        return None
    paths = read_index(raw)
    if paths is None or not below:
        return TrackedFiles(paths) if paths is not None else None
    return TrackedFiles([path[len(below) + 1 :] for path in paths if path.startswith(f"{below}/")])


def read_index(raw: bytes) -> list[str] | None:
    """The paths in git's index (versions 2 to 4), without submodules; None where it is damaged, or not the whole of it."""
    for hash_bytes in (20, 32):  # nothing in it says which; the other does not add up
        try:
            names, at = _names_in_index(raw, hash_bytes)
            while at < len(raw) - hash_bytes:
                kind, size = _EXTENSION.unpack_from(raw, at)
                at += _EXTENSION.size + size
                if not kind[:1].isupper():  # not optional: entries are elsewhere (`link`), or are whole folders (`sdir`)
                    break
            else:
                if at == len(raw) - hash_bytes:
                    return b"\0".join(names).decode("utf-8", "surrogateescape").split("\0") if names else []
        except (ValueError, IndexError, StructError):
            continue
    return None


def _names_in_index(raw: bytes, hash_bytes: int) -> tuple[list[bytes], int]:
    """The names in git's index, and where its entries end; an error where they are not as git writes them."""
    kind, version, count = _HEADER.unpack_from(raw)
    to_flags, at, total, name, names = _HASH + hash_bytes, _HEADER.size, 0, b"", []
    if kind != b"DIRC" or version not in (2, 3, 4) or len(raw) > MOST_INDEX_BYTES or count > len(raw) // to_flags:
        raise ValueError
    for _ in range(count):
        (flags,) = _FLAGS.unpack_from(raw, at + to_flags)
        start, before = at + to_flags + (4 if flags & _EXTENDED else 2), name
        if version == 4:  # as much of the name before as is the same, and the rest
            dropped, start = _number(raw, start)
            if dropped > len(before):
                raise ValueError
            name = before[: len(before) - dropped] + raw[start : (end := raw.index(0, start))]
            after = end + 1
        else:
            name = raw[start : (end := raw.index(0, start))]
            after = at + (end - at + 8) // 8 * 8
        total += len(name)
        if not 0 < len(name) < MOST_NAME_BYTES or name < before or total > MOST_INDEX_BYTES or min(len(name), 0xFFF) != flags & 0xFFF:
            raise ValueError
        if raw[at + _MODE : at + _MODE + 4] != _SUBMODULE:
            names.append(name)
        at = after
    return names, at


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits to the byte, as git writes offsets, and where it ends."""
    value = raw[at] & 0x7F
    while raw[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | raw[at] & 0x7F
        if value > MOST_NAME_BYTES:
            raise ValueError
    return value, at + 1


def _index_file(root: Path) -> Path | None:
    repository = repository_root(root)
    git_dir = _git_dir(repository) if repository is not None else None
    return git_dir / "index" if git_dir is not None else None


def watch_folders(root: Path) -> list[str]:
    """The folders in which git writes which commit a tree is at, what it tracks, and its private rules; none where there is no git."""
    git_dir = _git_dir(repository_root(root) or root)
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


def main_root(root: Path) -> Path:
    """The main worktree of a repository, whichever worktree this is; the folder itself where that is unknown."""
    common = Path(common_dir(root))
    return common.parent if common.name == ".git" else root


def is_shallow(root: Path) -> bool:
    """Whether the history of a clone was cut off."""
    return (Path(common_dir(root)) / "shallow").exists()


def remote_of(root: Path) -> str:
    """Where a repository was cloned from, as `host/path` however it is written; empty when it was not."""
    section = _ORIGIN.search(_read(Path(common_dir(root)) / "config"))
    url = _URL.search(section[1]) if section else None
    if url is None:
        return ""
    parts = _REMOTE.fullmatch(url[1])
    host, path = (parts[1], parts[2]) if parts else ("", url[1])
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}"


def has_commit(root: Path, commit: str) -> bool:
    """Whether a commit is in the object store of a repository itself, loose or packed."""
    objects = Path(common_dir(root)) / "objects"
    if (objects / commit[:2] / commit[2:]).exists():
        return True
    try:
        return any(_is_listed(index, bytes.fromhex(commit)) for index in (objects / "pack").glob("*.idx"))
    except (OSError, ValueError, IndexError, StructError):
        return False


def _is_listed(index: Path, name: bytes) -> bool:
    """Whether the index of a pack (version 2) lists an object."""
    with index.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as raw:
        if raw[:8] != b"\xfftOc\0\0\0\2":
            return False
        low = _COUNT.unpack_from(raw, 8 + 4 * (name[0] - 1))[0] if name[0] else 0
        high = _COUNT.unpack_from(raw, 8 + 4 * name[0])[0]
        names, width = 8 + 4 * 256, len(name)
        at = bisect_left(range(high), name, low, key=lambda place: raw[names + place * width : names + (place + 1) * width])
        return raw[names + at * width : names + (at + 1) * width] == name and at < high


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
