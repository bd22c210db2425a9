from whence.parse.paths import Role
from whence.ranking.columns import role_column
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.scoring import signal


@signal()
def internal(pool: CandidatePool) -> Column:
    """1 for paths named internal, private, impl or detail, unless a short query asks for them."""
    return role_column(pool, Role.INTERNAL, "internal", "internal")
