import numpy as np

from whence.parse.paths import Role
from whence.query.plan import ASKS_FOR_TESTS
from whence.ranking.ledger import Column, Operation, Phase, signal
from whence.ranking.pool import CandidatePool


@signal(Phase.PENALTY, Operation.MULTIPLY)
def test_factor(pool: CandidatePool) -> Column:
    """A factor below 1 for symbols in test files, unless the task mentions tests (S2)."""
    values = np.ones(len(pool.units))
    if not ASKS_FOR_TESTS.search(pool.plan.text):
        values = np.where(pool.column("files.roles") & int(Role.TEST), pool.profile.penalties.strong, values)
    return Column(values, lambda row: "no test, or tests are asked for" if values[row] == 1 else "in a test file")
