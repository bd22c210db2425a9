"""What signals share in reading headers."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.parse.paths import Role
from whence.rank.ledger import Column


def header_column(pool: Pool, language: str) -> Column:
    """1 for headers that are written in a language."""
    header = pool.column("files.roles") & int(Role.HEADER) > 0
    if header.any():
        languages = pool.snapshot.languages
        header &= pool.by_file(np.array([languages[file] == language for file in pool.distinct_files.tolist()]))
    values = header.astype(np.float64)
    return Column(values, lambda row: f"a header of {language}" if values[row] else f"not a header of {language}")
