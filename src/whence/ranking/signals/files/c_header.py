"""A C header."""

from __future__ import annotations

from whence.ranking.columns import header_column
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.registry import signal


@signal()
def c_header(pool: CandidatePool) -> Column:
    """1 for headers of C: the code is in the source file."""
    return header_column(pool, "c")
