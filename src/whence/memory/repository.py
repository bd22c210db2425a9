"""Whose a note is. A repository is known by its first commit, so worktrees, clones and moved folders share their notes.

The first commit is that of the default branch, followed by first parents. Forks share it, and their notes. A shallow clone
lacks it: it is taken for the known repository with the same remote, else known by that remote. A folder without a history
is known by its path. What was found is kept beside the indexes, with the folders that each repository was seen in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.memory.note import FOLDER, PROJECT, UNREADABLE, USER
from whence.source.git import common_dir, has_commit, is_shallow, main_root, read_head, remote_of
from whence.storage.files import write_atomically
from whence.text.slugs import project_folder

KNOWN = "repositories.json"
COMMIT, REMOTE = "commit:", "remote:"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as the owner of notes."""

    id: str
    name: str  # the project of its notes
    own: frozenset[str]  # owners that are this repository
    names: frozenset[str]  # as folders of projects: what its notes may have been filed under before they had owners
    others: frozenset[str]  # owners that are other repositories
    contested: frozenset[str]  # names that another repository has, too

    def owns(self, owner: str) -> bool:
        """Whether notes of an owner are this repository's beyond doubt."""
        if owner in self.own:
            return True
        kind, _, rest = owner.partition(":")
        if owner.startswith(FOLDER):  # of older notes: it may have moved here
            return self._has_name(project_folder(Path(rest).name)) and owner not in self.others and not Path(rest).exists()
        return rest in self.names if f"{kind}:" == UNREADABLE else f"{kind}:" == PROJECT and self._has_name(rest)

    def owners_in(self, pairs: Sequence[str]) -> list[bool]:
        """Which pairs of an owner and a project (a line each) are of this repository or the user."""
        split = [pair.partition("\n")[::2] for pair in pairs]
        others = [project for owner, project in split if not owner.startswith((PROJECT, UNREADABLE)) and not self.owns(owner)]
        contested = {PROJECT + project_folder(project) for project in others if project}
        ours = [owner == USER or (self.owns(owner) and owner not in contested) for owner, _ in split]
        folders = {project_folder(project) for (_, project), is_ours in zip(split, ours, strict=True) if is_ours and project}
        unreadable = {UNREADABLE + folder for folder in folders}
        return [is_ours or owner in unreadable for (owner, _), is_ours in zip(split, ours, strict=True)]

    @property
    def refs(self) -> list[str]:
        """What references to its code may name it: older notes name the path."""
        return [*self.own, *(one.removeprefix(FOLDER) for one in self.own if one.startswith(FOLDER))]

    def named(self, project: str) -> bool:
        """Whether a project is this repository by one of its names."""
        return project_folder(project) in self.names if project else False

    def _has_name(self, name: str) -> bool:
        return name in self.names and name not in self.contested


def identify(root: Path, data_dir: Path) -> Repository:
    """The repository of a folder: of a worktree, or of a folder without git."""
    known = _known(data_dir / KNOWN)
    identity = _identity(root, known)
    entry = known.get(identity, {})
    roots = list(dict.fromkeys([*entry.get("roots", ()), str(main_root(root)), str(root)]))
    name = entry.get("name") or main_root(root).name
    seen = {"name": name, "roots": roots, "places": sorted({*entry.get("places", ()), _place(root)}), "remote": remote_of(root)}
    if seen != entry:
        known[identity] = seen
        with suppress(OSError):  # it is found again the next time
            data_dir.mkdir(0o700, parents=True, exist_ok=True)
            write_atomically(data_dir / KNOWN, json.dumps(known, indent=1, sort_keys=True))
    names = frozenset(project_folder(Path(one).name) for one in roots if Path(one).name)
    own = {identity, FOLDER + str(root), FOLDER + str(main_root(root))} | ({REMOTE + remote_of(root)} if remote_of(root) else set())
    rest = {other: one for other, one in known.items() if other not in own}  # without what it was before its first commit
    others = frozenset((*rest, *(FOLDER + path for one in rest.values() for path in one.get("roots", ()))))
    own |= {FOLDER + path for path in roots if FOLDER + path not in others}
    contested = {project_folder(Path(owner.removeprefix(FOLDER)).name) for owner in others if owner.startswith(FOLDER)}
    return Repository(identity, name, frozenset(own), names, others, frozenset(contested))


def folder_of(identity: str, data_dir: Path) -> Path | None:
    """A folder of a repository on this machine, if one is known."""
    roots = map(Path, _known(data_dir / KNOWN).get(identity, {}).get("roots", ()))
    return next((root for root in roots if root.is_dir()), None)


def _identity(root: Path, known: Mapping[str, Any]) -> str:
    place = _place(root)
    for identity, entry in known.items():
        if identity.startswith(COMMIT) and place in entry.get("places", ()) and has_commit(root, identity.removeprefix(COMMIT)):
            return identity
    if read_head(root) is None:  # no git, or no commit yet
        return FOLDER + str(main_root(root))
    if is_shallow(root):
        remote = remote_of(root)
        same = (identity for identity, entry in known.items() if identity.startswith(COMMIT) and entry.get("remote") == remote)
        return next(same, REMOTE + remote) if remote else FOLDER + str(main_root(root))
    from whence.source.history import first_commit  # noqa: PLC0415  -- runs git, once for each clone

    commit = first_commit(root)
    return COMMIT + commit if commit else FOLDER + str(main_root(root))


def _place(root: Path) -> str:
    return common_dir(root) or str(root)


def _known(file: Path) -> dict[str, Any]:
    """The repositories that were seen: by identity their name, folders, git folders and remote."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return {key: one for key, one in found.items() if isinstance(one, dict)} if isinstance(found, dict) else {}
