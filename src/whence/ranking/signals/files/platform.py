from whence.parse.paths import Role
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, role_column


@signal()
def platform(pool: CandidatePool) -> Column:
    """1 for code for one particular platform, unless a short query asks for it."""
    return role_column(pool, Role.PLATFORM, "platform", "for one platform")
