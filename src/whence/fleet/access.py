"""Who may see what. A caller's token stands for groups; a row is seen by those who share a group with it.

The file of tokens holds no token, only what SHA-256 makes of each: whoever reads it cannot call. A caller that it does
not know is refused in words that are always the same.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.core.errors import FleetError, SettingError
from whence.core.settings import MAX_FILE_BYTES, file_layer
from whence.core.settings_schema import FleetSettings
from whence.fleet.milvus.filters import EVERYTHING, Filter, overlaps
from whence.fleet.registry import checked_groups

#: In place of groups: sees every repository.
EVERY_GROUP = "*"
#: What every caller hears who is not known, whatever the reason.
REFUSAL = "the fleet does not know this caller"


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks, by the groups that may see what they see; None is the operator, who sees everything."""

    groups: frozenset[str] | None


OPERATOR = Caller(None)


def visible_rows(caller: Caller) -> Filter:
    """The rows that a caller may see, for the engine."""
    return EVERYTHING if caller.groups is None else overlaps("groups", caller.groups)


def may_see(caller: Caller, row: Mapping[str, Any]) -> bool:
    """Whether a caller may see a row, on the way out: asked again, whatever the engine was asked. A row without groups is nobody's."""
    if caller.groups is None:
        return True
    groups = row.get("groups")
    return isinstance(groups, list | tuple) and not caller.groups.isdisjoint(groups)


def authenticate(settings: FleetSettings, token: str) -> Caller:
    """Whom a token stands for. The file is read every time: a token that was taken out is refused at once."""
    if not settings.tokens:
        return OPERATOR
    wanted, found = token_hash(token), None
    for known, caller in _callers(Path(settings.tokens).expanduser()).items():
        if hmac.compare_digest(wanted, known):  # every one is compared: how long it takes says nothing
            found = caller
    if found is None or not token:
        raise FleetError(REFUSAL)
    return found


def token_hash(token: str) -> str:
    """What the file of tokens has of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _callers(path: Path) -> dict[str, Caller]:
    found: dict[str, Caller] = {}
    for name, groups in _read(path).items():
        if len(name) != 64 or set(name.lower()) - set("0123456789abcdef"):
            raise SettingError(f"{path}: a name in it is no SHA-256 of a token", hint="64 digits of hexadecimal")
        if not isinstance(groups, list) or not all(isinstance(one, str) for one in groups):
            raise SettingError(f"{path}: what stands beside {name[:8]}... is no list of groups", hint='["team", ...] or ["*"]')
        found[name.lower()] = OPERATOR if EVERY_GROUP in groups else Caller(frozenset(checked_groups(groups)))
    return found


def _read(path: Path) -> Mapping[str, Any]:
    try:
        state = path.stat()
        if state.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or state.st_uid not in (0, os.getuid()):
            raise SettingError(f"{path}: others than its owner may read or change the file of tokens", hint=f"chmod 600 {path}")
        if path.suffix != ".json":
            layer = file_layer(path)
            return layer.values if layer else {}
        if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_FILE_BYTES:
            raise SettingError(f"{path}: no file of tokens", hint=f"a plain file of at most {MAX_FILE_BYTES} bytes")
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path}: the file of tokens cannot be read: {error.strerror}", hint="see fleet.tokens") from error
    except (ValueError, RecursionError) as error:
        raise SettingError(f"{path}: not valid JSON") from error
    if not isinstance(found, dict):
        raise SettingError(f"{path}: not valid JSON for tokens", hint='{"SHA-256 of a token": ["group", ...]}')
    return found
