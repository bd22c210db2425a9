"""One platform only."""

from __future__ import annotations

from whence.fuse.pool import Pool
from whence.parse.paths import Role
from whence.rank.ledger import Column
from whence.rank.registry import signal
from whence.rank.roles import role_column


@signal()
def platform(pool: Pool) -> Column:
    """1 for code of one particular platform, unless a short question asks for it."""
    return role_column(pool, Role.PLATFORM, "platform", "for one platform")
