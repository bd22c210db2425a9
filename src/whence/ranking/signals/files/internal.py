from whence.parse.paths import Role
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, role_column


@signal()
def internal(pool: CandidatePool) -> Column:
    """1 for paths named internal, private, impl or detail, unless a short query asks for them."""
    return role_column(pool, Role.INTERNAL, "internal", "internal")
