"""Which repositories the fleet has, and what became of each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from whence.core.errors import FleetError, UsageError
from whence.fleet.milvus.engine import Engine
from whence.fleet.milvus.filters import EVERYTHING, Filter, equals
from whence.fleet.milvus.schemas import CLAIMS, ID, MAX_GROUP, MAX_GROUPS, MAX_NAME, REPOS, SCHEMAS, SPARSE

#: What a repository can be called: words and the marks that names of hosts, owners and branches have, in steps. What
#: begins with an @ is a group's.
NAME = re.compile(r"(?!@)[\w.@+~-]+(?:/[\w.@+~-]+)*")
WAITING, WORKING, READY, FAILED, REMOVING = STATES = ("waiting", "working", "ready", "failed", "removing")
#: Letters of what went wrong that are kept.
MAX_ERROR = 2_000
#: How often what a worker sent in the meantime is removed as well.
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository: where it is, who may see it, and what indexing it came to."""

    name: str
    source: str
    groups: tuple[str, ...] = ()
    commit: str = ""
    branch: str = ""
    state: str = WAITING
    said: str = ""
    fingerprint: str = ""
    indexed_at: float = 0.0
    wanted: float = 0.0
    seconds: float = 0.0
    cpu: float = 0.0
    files: int = 0
    units: int = 0
    passages: int = 0
    bytes_source: int = 0
    bytes_sent: int = 0


_FIELDS = tuple("repo" if one.name == "name" else one.name for one in fields(Repository))


class Registry:
    """The repositories of a fleet."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, name: str, source: str, groups: Iterable[str], wanted: float = 0.0) -> Repository:
        """Take a repository in. One that is there is asked to be indexed again; another source or other groups are refused."""
        new = Repository(checked_name(name), source, checked_groups(groups), wanted=wanted)
        old = self.get(name)
        if old is not None and old.source != source:
            raise UsageError(f"the fleet has another {name}, from {old.source}", hint="give this one another name, or remove that one")
        if old is not None and old.groups != new.groups:
            raise UsageError(
                f"{name} has the groups {', '.join(old.groups) or 'of nobody'}", hint="they are changed by themselves, not by adding"
            )
        found = new if old is None else replace(old, wanted=wanted, state=WAITING)
        self._write(found)
        return found

    def get(self, name: str) -> Repository | None:
        """The repository of a name."""
        found = self._engine.get(REPOS.name, [_id(name)], _FIELDS)
        return _read(found[0]) if found else None

    def all(self, which: Filter = EVERYTHING) -> list[Repository]:
        """Those that are meant, by their names."""
        return sorted(map(_read, self._engine.rows(REPOS.name, which, _FIELDS)), key=lambda one: one.name)

    def update(self, repository: Repository) -> None:
        """Write what became of one. One that was removed meanwhile stays so."""
        now = self.get(repository.name)
        if now is None or now.state == REMOVING:
            raise FleetError(f"{repository.name} was removed from the fleet")
        self._write(repository)

    def remove(self, name: str) -> None:
        """Delete every row of a repository. It stays listed until nothing of it is left, so that what was broken off can be done again."""
        found = self.get(name)
        if found is None:
            raise UsageError(f"the fleet has no repository {name!r}", hint="whence fleet list")
        self._write(replace(found, state=REMOVING))
        own = equals("repo", name)
        self._engine.delete(CLAIMS.name, own)  # whoever works on it finds out when renewing
        others = [one for one in SCHEMAS if one != REPOS.name]
        for _ in range(ROUNDS):
            for one in others:
                self._engine.delete(one, own)
            if not any(self._engine.count(one, own) for one in others):
                self._engine.delete(REPOS.name, own)
                return
        raise FleetError(f"somebody goes on writing {name} while it is removed", hint="end the worker, then remove it again")

    def regroup(self, name: str, groups: Iterable[str]) -> Repository:
        """Let other groups see a repository, and no others: what is listed first, then every row of it."""
        found = self.get(name)
        if found is None:
            raise UsageError(f"the fleet has no repository {name!r}", hint="whence fleet list")
        found = replace(found, groups=checked_groups(groups))
        self._write(found)
        for schema in SCHEMAS.values():
            kept = [one.name for one in schema.fields if one.name != SPARSE]
            if "groups" in kept and schema != REPOS:
                rows = self._engine.rows(schema.name, equals("repo", name), kept)
                self._engine.put(schema.name, _regrouped(rows, found.groups))
        return found

    def _write(self, one: Repository) -> None:
        row = {field: getattr(one, "name" if field == "repo" else field) for field in _FIELDS}
        self._engine.put(REPOS.name, [{**row, ID: _id(one.name), "groups": list(one.groups), "said": one.said[:MAX_ERROR]}])


def checked_name(name: str) -> str:
    """A name that a repository can have."""
    if not NAME.fullmatch(name) or len(name.encode()) > MAX_NAME:
        raise UsageError(f"{name[:80]!r} is no name for a repository", hint="letters, digits and . _ - + ~ @, in steps divided by /")
    return name


def checked_groups(groups: Iterable[str]) -> tuple[str, ...]:
    """Names of groups, in order and each once, that the engine can hold."""
    found = tuple(sorted(set(groups)))
    for one in found:
        if not one.isprintable() or not one.strip() or len(one.encode()) > MAX_GROUP:
            raise UsageError(f"{one[:80]!r} is no name for a group", hint=f"a line of at most {MAX_GROUP} letters")
    if len(found) > MAX_GROUPS:
        raise UsageError(f"a repository has at most {MAX_GROUPS} groups", hint="name a group for them all")
    return found


def _id(name: str) -> str:
    return hashlib.blake2s(f"repository\0{name}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _read(row: dict[str, Any]) -> Repository:
    values = {field: row[field] for field in _FIELDS if field != "repo"}
    return Repository(name=row["repo"], **{**values, "groups": tuple(row["groups"])})


def _regrouped(rows: Iterator[dict[str, Any]], groups: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for row in rows:
        sketch = {name: value[0] for name, value in row.items() if name == "sketch"}  # the engine gives a list of one
        yield {**row, **sketch, "groups": list(groups)}


#: How a query names repositories.
_REPO = re.compile(r"(?:(?<=\s)|^)(-?)repo:(\S+)")


@dataclass(frozen=True, slots=True)
class RepositoryScope:
    """What a question is asked of."""

    repositories: tuple[Repository, ...]
    explicit: bool  # whether the query itself chose among them

    @property
    def names(self) -> frozenset[str]:
        """Their names."""
        return frozenset(one.name for one in self.repositories)


def split_scope(query: str, every: Sequence[Repository]) -> tuple[str, RepositoryScope]:
    """The question without what chooses repositories, and what it is asked of."""
    named = _REPO.findall(query)
    wanted = [pattern for minus, pattern in named if not minus]
    unwanted = [pattern for minus, pattern in named if minus]
    kept = [
        one
        for one in every
        if (not wanted or any(matches(one.name, pattern) for pattern in wanted))
        and not any(matches(one.name, pattern) for pattern in unwanted)
    ]
    return _REPO.sub("", query).strip() if named else query, RepositoryScope(tuple(kept), bool(named))


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern means a repository: its whole name, or the last part of it."""
    return fnmatchcase(name, pattern) or fnmatchcase(name.rpartition("/")[2], pattern)
