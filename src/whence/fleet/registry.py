"""The repositories of a fleet, who may see them, and which of them a query selects.

A token stands for groups; a caller sees the rows that share a group with them. The token file holds SHA-256 hashes only, so
reading it does not let anyone call. Every unknown caller gets the same error.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from whence.core.errors import FleetError, SettingError, UsageError
from whence.core.settings import MAX_FILE_BYTES, FleetSettings, file_layer
from whence.fleet.engine import EVERYTHING, ID, MAX_GROUP, MAX_GROUPS, MAX_NAME, SCHEMAS, SPARSE, Engine, Filter, Row, equals, overlaps

#: In the token file, in place of groups: may see every repository.
EVERY_GROUP = "*"
#: The same for every rejected token, so that it tells nothing.
REFUSAL = "the fleet does not know this caller"


@dataclass(frozen=True, slots=True)
class Caller:
    """The groups of whoever asks; None for the operator, who sees everything."""

    groups: frozenset[str] | None


OPERATOR = Caller(None)


def visible_rows(caller: Caller) -> Filter:
    """The engine's filter for the rows that a caller may see."""
    return EVERYTHING if caller.groups is None else overlaps("groups", caller.groups)


def may_see(caller: Caller, row: Mapping[str, Any]) -> bool:
    """Whether a caller may see a row. Checked on every row the engine returns, whatever its filter was; no groups, no access."""
    if caller.groups is None:
        return True
    groups = row.get("groups")
    return isinstance(groups, list | tuple) and not caller.groups.isdisjoint(groups)


def authenticate(settings: FleetSettings, token: str) -> Caller:
    """The caller of a token. Reads the token file every time, so that revoking a token takes effect at once."""
    if not settings.tokens:
        return OPERATOR
    digest, found = token_hash(token), None
    for known, caller in _callers(Path(settings.tokens).expanduser()).items():
        if hmac.compare_digest(digest, known):  # no early exit: the time taken must not tell which one matched
            found = caller
    if found is None or not token:
        raise FleetError(REFUSAL)
    return found


def token_hash(token: str) -> str:
    """A token as the token file has it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _callers(path: Path) -> dict[str, Caller]:
    found: dict[str, Caller] = {}
    for name, groups in _read_tokens(path).items():
        if len(name) != 64 or set(name.lower()) - set("0123456789abcdef"):
            raise SettingError(f"{path}: a key is not the SHA-256 of a token", hint="64 hexadecimal digits")
        if not isinstance(groups, list) or not all(isinstance(one, str) for one in groups):
            raise SettingError(f"{path}: the value of {name[:8]}... is not a list of groups", hint='["team", ...] or ["*"]')
        found[name.lower()] = OPERATOR if EVERY_GROUP in groups else Caller(frozenset(checked_groups(groups)))
    return found


def _read_tokens(path: Path) -> Mapping[str, Any]:
    try:
        state = path.stat()
        if state.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or state.st_uid not in (0, os.getuid()):
            raise SettingError(f"{path}: the token file is accessible to others than its owner", hint=f"chmod 600 {path}")
        if path.suffix != ".json":
            layer = file_layer(path)
            return layer.values if layer else {}
        if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_FILE_BYTES:
            raise SettingError(f"{path}: not a token file", hint=f"expected a plain file of at most {MAX_FILE_BYTES} bytes")
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path}: cannot read the token file: {error.strerror}", hint="see fleet.tokens") from error
    except (ValueError, RecursionError) as error:
        raise SettingError(f"{path}: not valid JSON") from error
    if not isinstance(found, dict):
        raise SettingError(f"{path}: not a JSON object of tokens", hint='{"SHA-256 of a token": ["group", ...]}')
    return found


#: Valid repository names. Names that begin with @ are groups.
NAME = re.compile(r"(?!@)[\w.@+~-]+(?:/[\w.@+~-]+)*")
WAITING, WORKING, READY, FAILED, REMOVING = STATES = ("waiting", "working", "ready", "failed", "removing")
#: Characters of an error message that are stored.
MAX_ERROR = 2_000
#: How often a removal deletes rows that a worker goes on writing.
REMOVE_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository: its source, who may see it, and the result of its last sync."""

    name: str
    source: str
    groups: tuple[str, ...] = ()
    commit: str = ""
    branch: str = ""
    state: str = WAITING
    error: str = ""
    fingerprint: str = ""
    indexed_at: float = 0.0
    requested_at: float = 0.0
    seconds: float = 0.0
    cpu: float = 0.0
    files: int = 0
    units: int = 0
    passages: int = 0
    bytes_source: int = 0
    bytes_sent: int = 0

    def as_row(self) -> Row:
        """Its fields under the engine's names; the JSON output has the same ones."""
        return {_COLUMNS.get(one.name, one.name): getattr(self, one.name) for one in fields(self)}


#: Fields that have another name in the engine and in JSON.
_COLUMNS = {"name": "repo", "error": "said", "requested_at": "wanted"}
_FIELDS = {_COLUMNS.get(one.name, one.name): one.name for one in fields(Repository)}


class Registry:
    """The repositories of a fleet."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, name: str, source: str, groups: Iterable[str], requested_at: float = 0.0) -> Repository:
        """Add a repository, or request another sync of one that is there with the same source and groups."""
        new = Repository(checked_name(name), source, checked_groups(groups), requested_at=requested_at)
        old = self.get(name)
        if old is not None and old.source != source:
            raise UsageError(f"the fleet already has a {name}, from {old.source}", hint="choose another name, or remove that one first")
        if old is not None and old.groups != new.groups:
            raise UsageError(f"{name} is visible to {', '.join(old.groups) or 'no group'}", hint="regroup it before adding it again")
        found = new if old is None else replace(old, requested_at=requested_at, state=WAITING)
        self._write(found)
        return found

    def get(self, name: str) -> Repository | None:
        """The repository with a name."""
        found = self._engine.get("repos", [_id(name)], tuple(_FIELDS))
        return _repository(found[0]) if found else None

    def require(self, name: str) -> Repository:
        """The repository with a name; raises where there is none."""
        found = self.get(name)
        if found is None:
            raise UsageError(f"the fleet has no repository {name!r}", hint="whence fleet list shows them all")
        return found

    def all(self, which: Filter = EVERYTHING) -> list[Repository]:
        """All repositories that match, sorted by name."""
        return sorted(map(_repository, self._engine.rows("repos", which, tuple(_FIELDS))), key=lambda one: one.name)

    def update(self, repository: Repository) -> None:
        """Write a repository's row; raises if it has been removed."""
        now = self.get(repository.name)
        if now is None or now.state == REMOVING:
            raise FleetError(f"{repository.name} was removed from the fleet")
        self._write(repository)

    def remove(self, name: str) -> None:
        """Delete every row of a repository. Its own row goes last, so that an interrupted removal can be repeated."""
        self._write(replace(self.require(name), state=REMOVING))
        own = equals("repo", name)
        self._engine.delete("claims", own)  # a worker notices when it renews its lease
        others = [one for one in SCHEMAS if one != "repos"]
        for _ in range(REMOVE_ROUNDS):
            for one in others:
                self._engine.delete(one, own)
            if not any(self._engine.count(one, own) for one in others):
                self._engine.delete("repos", own)
                return
        raise FleetError(f"a worker keeps writing {name} while it is being removed", hint="stop the worker, then remove it again")

    def regroup(self, name: str, groups: Iterable[str]) -> Repository:
        """Change which groups see a repository: first its own row, then all others."""
        found = replace(self.require(name), groups=checked_groups(groups))
        self._write(found)
        for schema, stored in SCHEMAS.items():
            if "groups" in stored and schema != "repos":
                rows = self._engine.rows(schema, equals("repo", name), [one for one in stored if one != SPARSE])
                # The engine returns a list of one for a binary vector.
                sketches = ({**row, "sketch": row["sketch"][0]} if "sketch" in row else row for row in rows)
                self._engine.put(schema, ({**row, "groups": list(found.groups)} for row in sketches))
        return found

    def _write(self, one: Repository) -> None:
        row = {**one.as_row(), ID: _id(one.name), "groups": list(one.groups), "said": one.error[:MAX_ERROR]}
        self._engine.put("repos", [row])


def checked_name(name: str) -> str:
    """The name, if a repository may have it."""
    if not NAME.fullmatch(name) or len(name.encode()) > MAX_NAME:
        raise UsageError(f"{name[:80]!r} is not a valid repository name", hint="letters, digits and . _ - + ~ @, with / between parts")
    return name


def checked_groups(groups: Iterable[str]) -> tuple[str, ...]:
    """The groups, sorted and each once, if the engine can store them."""
    found = tuple(sorted(set(groups)))
    for one in found:
        if not one.isprintable() or not one.strip() or len(one.encode()) > MAX_GROUP:
            raise UsageError(f"{one[:80]!r} is not a valid group name", hint=f"one line of at most {MAX_GROUP} bytes")
    if len(found) > MAX_GROUPS:
        raise UsageError(f"a repository has at most {MAX_GROUPS} groups", hint="create one group for all of them")
    return found


def _id(name: str) -> str:
    return hashlib.blake2s(f"repository\0{name}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _repository(row: Row) -> Repository:
    return Repository(**{**{field: row[column] for column, field in _FIELDS.items()}, "groups": tuple(row["groups"])})


#: How a query selects repositories.
_REPO = re.compile(r"(?:(?<=\s)|^)(-?)repo:(\S+)")


@dataclass(frozen=True, slots=True)
class RepositoryScope:
    """The repositories that a query is asked of."""

    repositories: tuple[Repository, ...]
    explicit: bool  # whether the query selected them

    @property
    def names(self) -> frozenset[str]:
        """Their names."""
        return frozenset(one.name for one in self.repositories)


def split_scope(query: str, every: Sequence[Repository]) -> tuple[str, RepositoryScope]:
    """The query without its `repo:` operators, and the repositories that they select."""
    operators = _REPO.findall(query)
    included = [pattern for minus, pattern in operators if not minus]
    excluded = [pattern for minus, pattern in operators if minus]

    def selected(name: str) -> bool:
        return (not included or any(matches(name, one) for one in included)) and not any(matches(name, one) for one in excluded)

    scope = RepositoryScope(tuple(one for one in every if selected(one.name)), bool(operators))
    return _REPO.sub("", query).strip() if operators else query, scope


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern matches a repository's whole name or the last part of it."""
    return fnmatchcase(name, pattern) or fnmatchcase(name.rpartition("/")[2], pattern)
