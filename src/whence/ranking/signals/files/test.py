from whence.parse.paths import Role
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, role_column


@signal()
def test(pool: CandidatePool) -> Column:
    """1 for tests, fixtures, mocks and benchmarks, unless a short query asks for them."""
    return role_column(pool, Role.TEST, "test", "a test")
