"""The past of a repository as rows of the engine: the words of each commit's message, and the files that it changed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator

from whence.fleet.counts import delete_keys
from whence.fleet.milvus.engine import Engine
from whence.fleet.milvus.filters import equals
from whence.fleet.rows import MAX_WORDS, Owner, Row, commit_key, same_groups, truncate
from whence.index.history import load_commits
from whence.index.snapshot import Snapshot

#: Letters of the list of files at most.
MOST_LETTERS = 60_000


def send_commits(engine: Engine, owner: Owner, snapshot: Snapshot, *, force: bool = False) -> tuple[int, int, int]:
    """Send the commits that are not there, and delete those that are no more: how many rows and bytes, how many deleted."""
    made = {row["id"]: row for row in _rows(owner, snapshot)}
    there = {row["id"]: row["groups"] for row in engine.rows("commits", equals("repo", owner.repository), ("id", "groups"))}
    new = [row for key, row in made.items() if force or key not in there or not same_groups(there[key], owner.groups)]
    sent = engine.put("commits", new)
    return len(new), sent, delete_keys(engine, "commits", there.keys() - made.keys())


def _rows(owner: Owner, snapshot: Snapshot) -> Iterator[Row]:
    """One row for each commit. Its key is of its time and of what it says: no commit is two, and none becomes another."""
    if snapshot.commits is None:
        return
    alike: Counter[str] = Counter()
    for time, terms, paths in load_commits(snapshot.commits).listed():
        words, touched = truncate(" ".join(terms), MAX_WORDS), _listed(paths)
        said = hashlib.blake2s(f"{time}\n{words}\n{touched}".encode(), digest_size=16).hexdigest()
        alike[said] += 1
        yield owner.row(commit_key(owner.repository, f"{said} {alike[said]}"), words=words, touched=touched, terms=len(terms))


def _listed(paths: list[str]) -> str:
    """Paths as JSON, as many as fit."""
    while len(text := json.dumps(paths)) > MOST_LETTERS:
        paths = paths[:-1]
    return text
