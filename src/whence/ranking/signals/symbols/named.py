import numpy as np

from whence.index.segment import name_hash
from whence.ranking.ledger import Column, signal
from whence.ranking.pool import CandidatePool


@signal()
def named(pool: CandidatePool) -> Column:
    """1 if the task writes the symbol's name as an identifier (`read_config`, ReadConfig, `config.read`), 0.5 for its type's name."""
    symbols = pool.snapshot.symbols
    wanted = np.array(sorted(name_hash(word) for word in pool.plan.identifiers), np.int64)
    own = np.isin(symbols.name[pool.units], wanted)
    owner = symbols.owner[pool.units]
    typed = (owner >= 0) & np.isin(symbols.name[np.maximum(owner, 0)], wanted)
    values = np.where(own, 1.0, np.where(typed, 0.5, 0.0))
    return Column(values, lambda row: ("is named" if own[row] else "its type is named") if values[row] else "is not named")
