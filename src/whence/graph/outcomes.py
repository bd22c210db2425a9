"""How every reference ended: what it stands for, or why that is not known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whence.graph.reader import KIND_ROWS, Graph
from whence.index.segment import OF_RECEIVER
from whence.storage.arrayfile import unpack_strings

#: Open: what it stands for is not known, candidates are the definitions of its name. Outside: the repository does not have it.
#: Local: a value that the unit has by that name. Named: matched by name alone, with an edge to each candidate. By place: found where
#: its language looks a name up. By type: found as a member of the type of what stands before it.
OUTCOMES = OPEN, OUTSIDE, LOCAL, NAMED, BY_PLACE, BY_TYPE = range(6)


def open_calls(graph: Graph) -> Iterator[tuple[int, str]]:
    """The calls that no definition is known for and that the repository may have: (unit, name)."""
    outcomes, first = graph.outcomes, 0
    symbols = graph.symbols
    for segment, base in zip(symbols.snapshot.segments, symbols.snapshot.unit_bases, strict=False):
        arrays = segment.arrays
        units = arrays["relations.unit"].astype(np.int64) + base
        live = np.flatnonzero(symbols.snapshot.alive[symbols.file[units]])
        own = outcomes[first : first + len(live)]
        first += len(live)
        is_call = (arrays["relations.kind"][live] & ~np.uint8(OF_RECEIVER)) == KIND_ROWS["calls"]
        rows = live[is_call & np.isin(own, (OPEN, LOCAL, NAMED))]
        names = unpack_strings(segment.arrays, "names")
        for unit, name in zip(units[rows].tolist(), arrays["relations.name"][rows].tolist(), strict=True):
            yield unit, names[name]
