from whence.parse.paths import Role
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool, role_column


@signal()
def example(pool: CandidatePool) -> Column:
    """1 for examples, samples, tutorials and documentation sources, unless a short query asks for them."""
    return role_column(pool, Role.EXAMPLE | Role.DOCS, "example", "an example")
