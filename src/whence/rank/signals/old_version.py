"""A newer version stands beside it."""

from __future__ import annotations

import numpy as np

from whence.fuse.pool import Pool
from whence.rank.ledger import Column
from whence.rank.registry import signal


@signal()
def old_version(pool: Pool) -> Column:
    """1 for files in a `vN/` folder that a newer version stands beside.

    That is a folder with a higher N, or a file of the same name outside such
    folders. Not when a short question speaks of versions.
    """
    versions = pool.snapshot.column("files.version")
    mine = pool.column("files.version")
    if not (mine >= 0).any() or pool.plan.asks_for("old_version"):
        return Column(np.zeros(len(pool.units)), lambda _: "no older version")
    newest = int(versions[pool.snapshot.alive].max())
    values = ((mine >= 0) & (mine < newest)).astype(np.float64)
    unversioned = _names_outside(pool)
    for row in np.flatnonzero((mine >= 0) & (values == 0)).tolist():
        values[row] = float(pool.path(row).rsplit("/", 1)[-1] in unversioned)
    return Column(values, lambda row: f"v{mine[row]}, while there is a newer one" if values[row] else "no older version")


def _names_outside(pool: Pool) -> set[str]:
    versions, alive = pool.snapshot.column("files.version"), pool.snapshot.alive
    return {pool.snapshot.path(row).rsplit("/", 1)[-1] for row in np.flatnonzero((versions < 0) & alive).tolist()}
