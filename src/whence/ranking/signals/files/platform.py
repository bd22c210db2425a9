from whence.parse.paths import Role
from whence.ranking.columns import role_column
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.ranking.scoring import signal


@signal()
def platform(pool: CandidatePool) -> Column:
    """1 for code for one particular platform, unless a short query asks for it."""
    return role_column(pool, Role.PLATFORM, "platform", "for one platform")
