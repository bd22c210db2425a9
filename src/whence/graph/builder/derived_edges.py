"""Edges that follow from other edges: what a type contains and inherits, what overrides what, what tests what."""

from __future__ import annotations

import numpy as np

from whence.core.types import EDGE_KINDS
from whence.graph.builder.resolve import GENERATIONS, PARSED_CONFIDENCE, EdgeColumns
from whence.index.segment_writer import KIND_NAMES
from whence.index.symbols import IS_CALLABLE, NameTable, SymbolTable, scoped_key
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct, first_of_each, spread, unique_counts

_INTERFACE = KIND_NAMES.index("interface")
_KIND = {kind: row for row, kind in enumerate(EDGE_KINDS)}
#: A child of more parent methods than this, or a test of more symbols, says little by each.
MAX_INHERITED = 200
MAX_TESTED_TOGETHER = 5
#: An interface of fewer methods is met by chance.
MIN_METHODS = 2


def with_derived_edges(symbols: SymbolTable, found: EdgeColumns) -> EdgeColumns:
    """Edges as resolved, and those that follow from them; each (source, target, kind) once, the surest kept."""
    parts = [found, _containment(symbols), _met_interfaces(symbols)]
    parents = _parents(_joined(parts))
    parts += [_inherited(symbols, parents), *_tests(symbols, found)]
    return _once(_joined(parts), symbols.units)


def _edges(source: Array, target: Array, kind: str, worth: float = PARSED_CONFIDENCE) -> EdgeColumns:
    size = len(source)
    return EdgeColumns(
        source.astype(np.int64),
        target.astype(np.int64),
        np.full(size, _KIND[kind], np.int64),
        np.full(size, worth, np.float32),
        np.zeros(size, np.int64),
    )


def _joined(parts: list[EdgeColumns]) -> EdgeColumns:
    return EdgeColumns(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("source", "target", "kind", "confidence", "line"))
    )


def _once(edges: EdgeColumns, units: int) -> EdgeColumns:
    pair = (edges.source * (units + (1 << 24)) + edges.target) * len(EDGE_KINDS) + edges.kind
    order = np.lexsort((-edges.confidence, pair))
    first = first_of_each(pair[order])
    kept = order[first]
    return EdgeColumns(edges.source[kept], edges.target[kept], edges.kind[kept], edges.confidence[kept], edges.line[kept])


def _containment(symbols: SymbolTable) -> EdgeColumns:
    inside = np.flatnonzero(symbols.owner >= 0)
    owner = symbols.owner[inside]
    apart = inside != owner
    inside, owner = inside[apart], owner[apart]
    return _joined([_edges(owner, inside, "contains", 1.0), _edges(inside, owner, "member_of", 1.0)])


def _parents(edges: EdgeColumns) -> NameTable:
    kin = np.isin(edges.kind, [_KIND["extends"], _KIND["implements"]])
    return NameTable(edges.source[kin], edges.target[kin])


def _inherited(symbols: SymbolTable, parents: NameTable) -> EdgeColumns:
    """`inherits` from a child to every method of its parents, `overrides` where it has one of the name (W2)."""
    members = np.flatnonzero((symbols.owner >= 0) & IS_CALLABLE[symbols.snapshot.kinds])
    by_owner = NameTable(symbols.owner[members], members)
    child = parent = np.empty(0, np.int64)
    near, far = parents.keys, parents.rows
    for _ in range(GENERATIONS):
        child, parent = np.concatenate([child, near]), np.concatenate([parent, far])
        at, up = parents.pairs(far)
        near, far = near[at], up
        pairs = np.unique(np.stack([near, far], axis=1), axis=0) if len(near) else np.empty((0, 2), np.int64)
        near, far = pairs[:, 0], pairs[:, 1]
        if not len(near) or len(near) > 50 * max(symbols.units, 1):
            break
    at, method = by_owner.pairs(parent)
    child = child[at]
    low, high = symbols.of_type.find(scoped_key(child, symbols.name[method]))
    own = high > low
    few = np.bincount(child, minlength=symbols.units)[child] <= MAX_INHERITED
    overriding = symbols.of_type.rows[low[own]]
    differs = overriding != method[own]
    return _joined(
        [_edges(child[~own & few], method[~own & few], "inherits"), _edges(overriding[differs], method[own][differs], "overrides")]
    )


def _met_interfaces(symbols: SymbolTable) -> EdgeColumns:
    """Types that have every method of an interface, in languages where that is all it takes (Go)."""
    snapshot = symbols.snapshot
    speaks = np.array([language == "go" for language in snapshot.languages], bool)
    if not speaks.any():
        return _edges(np.empty(0), np.empty(0), "implements")
    interface = np.flatnonzero(symbols.container & speaks[symbols.file] & (snapshot.kinds == _INTERFACE))
    methods = np.flatnonzero((symbols.owner >= 0) & speaks[symbols.file] & IS_CALLABLE[snapshot.kinds])
    by_owner, by_name = NameTable(symbols.owner[methods], methods), NameTable(symbols.name[methods], methods)
    source, target = [], []
    for one in interface.tolist():
        _, own = by_owner.pairs(np.array([one]))
        wanted = distinct(symbols.name[own])
        if len(wanted) < MIN_METHODS:
            continue
        at, bearing = by_name.pairs(wanted)
        owner, count = unique_counts(distinct(symbols.owner[bearing] * len(wanted) + at) // len(wanted))
        meets = owner[(count == len(wanted)) & (owner != one) & (snapshot.kinds[owner] != _INTERFACE)]
        source += meets.tolist()
        target += [one] * len(meets)
    return _edges(np.array(source, np.int64), np.array(target, np.int64), "implements")


def _tests(symbols: SymbolTable, edges: EdgeColumns) -> list[EdgeColumns]:
    """A test that calls something outside tests tests it; what few things a test calls are tested together."""
    inside = edges.target < symbols.units
    calls = np.flatnonzero((edges.kind == _KIND["calls"]) & inside)
    source, target = edges.source[calls], edges.target[calls]
    across = symbols.test[symbols.file[source]] & ~symbols.test[symbols.file[target]]
    source, target, worth = source[across], target[across], edges.confidence[calls][across]
    there, back = _edges(source, target, "tests"), _edges(target, source, "tested_by")
    sure = worth >= PARSED_CONFIDENCE * 0.5
    pair = distinct(source[sure] * symbols.units + target[sure])
    test, code = pair // max(symbols.units, 1), pair % max(symbols.units, 1)
    size = np.bincount(test, minlength=symbols.units)[test]
    few = (size > 1) & (size <= MAX_TESTED_TOGETHER)
    test, code = test[few], code[few]
    at, other = spread(np.searchsorted(test, test), np.searchsorted(test, test, side="right"))
    apart = code[at] != code[other]
    together = _edges(code[at][apart], code[other][apart], "co_tested_with")
    return [
        EdgeColumns(there.source, there.target, there.kind, worth, there.line),
        EdgeColumns(back.source, back.target, back.kind, worth, back.line),
        together,
    ]
