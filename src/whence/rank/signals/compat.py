"""Leftovers."""

from __future__ import annotations

from whence.fuse.pool import Pool
from whence.parse.paths import Role
from whence.rank.ledger import Column
from whence.rank.registry import signal
from whence.rank.roles import role_column


@signal()
def compat(pool: Pool) -> Column:
    """1 for compatibility layers, legacy, deprecated and vendored code, unless a short question asks for it."""
    return role_column(pool, Role.COMPAT, "compat", "a compatibility layer or vendored")
