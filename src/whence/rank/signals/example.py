"""Examples."""

from __future__ import annotations

from whence.fuse.pool import Pool
from whence.parse.paths import Role
from whence.rank.ledger import Column
from whence.rank.registry import signal
from whence.rank.roles import role_column


@signal()
def example(pool: Pool) -> Column:
    """1 for examples, samples, tutorials and documentation sources, unless a short question asks for them."""
    return role_column(pool, Role.EXAMPLE | Role.DOCS, "example", "an example")
