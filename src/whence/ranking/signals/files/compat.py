from whence.parse.paths import Role
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, role_column


@signal()
def compat(pool: CandidatePool) -> Column:
    """1 for compatibility layers and legacy, deprecated or vendored code, unless a short query asks for it."""
    return role_column(pool, Role.COMPAT, "compat", "a compatibility layer or vendored")
