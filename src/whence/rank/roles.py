"""What signals share in reading a file's role."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.parse.paths import Role
from whence.rank.ledger import Column


def role_column(pool: Pool, role: Role, asked: str, yes: str) -> Column:
    """1 for files that play a role, 0 for all when the query asks for such files."""
    if pool.plan.asks_for(asked):
        return Column(np.zeros(len(pool.units)), lambda _: "the query asks for such files")
    values = (pool.column("files.roles") & int(role) > 0).astype(np.float64)
    return Column(values, lambda row: yes if values[row] else f"not {yes}")
