"""Who may see what. A token stands for groups; a caller sees the rows that share a group with them.

The token file holds SHA-256 hashes only, so reading it does not let anyone call. Every unknown caller gets the same error.
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
from whence.core.settings import MAX_FILE_BYTES, FleetSettings, file_layer
from whence.fleet.engine import EVERYTHING, Filter, overlaps
from whence.fleet.registry import checked_groups

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
