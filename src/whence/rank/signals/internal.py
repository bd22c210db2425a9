"""Internals."""

from __future__ import annotations

from whence.fuse.pool import Pool
from whence.parse.paths import Role
from whence.rank.ledger import Column
from whence.rank.registry import signal
from whence.rank.roles import role_column


@signal()
def internal(pool: Pool) -> Column:
    """1 for paths that call themselves internal, private, impl or detail, unless a short question asks for them."""
    return role_column(pool, Role.INTERNAL, "internal", "internal")
