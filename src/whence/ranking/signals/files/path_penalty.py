import numpy as np

from whence.parse.paths import Role
from whence.query.plan import ASKS_FOR_TESTS
from whence.ranking.ledger import Column, Operation, Phase, signal
from whence.ranking.pool import CandidatePool


@signal(Phase.PENALTY, Operation.MULTIPLY)
def path_penalty(pool: CandidatePool) -> Column:
    """A factor below 1 for tests, compatibility layers, examples, re-export barrels and declaration files; factors multiply.

    No penalty if the query mentions tests, specs or benchmarks.
    """
    factors, values = pool.profile.penalties, np.ones(len(pool.units))
    if not ASKS_FOR_TESTS.search(pool.plan.text):
        roles = pool.column("files.roles").astype(np.int64)
        for role, factor in (
            (Role.TEST, factors.strong), (Role.LEGACY, factors.strong), (Role.EXAMPLE, factors.strong),
            (Role.BARREL, factors.barrel), (Role.DECLARATION, factors.declaration),
        ):  # fmt: skip
            values = np.where(roles & int(role), values * factor, values)
    return Column(values, lambda row: "no penalty" if values[row] == 1 else f"{roles_of(pool, row)}")


def roles_of(pool: CandidatePool, row: int) -> str:
    """The roles of a candidate's file, in words."""
    found = Role(int(pool.column("files.roles")[row]))
    return ", ".join((role.name or "").lower() for role in Role if role in found)
