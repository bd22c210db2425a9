"""One platform only."""

from __future__ import annotations

from whence.parse.paths import Role
from whence.ranking.columns import role_column
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def platform(pool: CandidatePool) -> Column:
    """1 for code of one particular platform, unless a short question asks for it."""
    return role_column(pool, Role.PLATFORM, "platform", "for one platform")
