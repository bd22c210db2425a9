"""A C++ header."""

from __future__ import annotations

from whence.fuse.pool import Pool
from whence.rank.headers import header_column
from whence.rank.ledger import Column
from whence.rank.registry import signal


@signal()
def cpp_header(pool: Pool) -> Column:
    """1 for headers of C++: the interface, and often the code, is there."""
    return header_column(pool, "cpp")
