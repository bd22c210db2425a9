"""A random walk that keeps returning to its seeds: how near every node is to them (W3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.graph.paths import Adjacency, checked_rows, edges_of
from whence.index.arrayfile import Array

ALPHA = 0.2
ROUNDS = 20
TOLERANCE = 1e-3
STABLE_TOP = 10
STABLE_ROUNDS = 2
HOPS = 4
FLOOR = 0.02


@dataclass(frozen=True, slots=True)
class _Nearby:
    """The edges that the walk may follow, between nodes numbered in the order of their distance."""

    rows: Array  # the row of each node in the whole graph
    sources: Array
    targets: Array
    weights: Array
    split: Array  # for each node that has edges to give along: 1 / the sum of their weights
    dead: Array  # the nodes that no edge leaves
    within: list[int]  # how many edges leave the nodes at most 0, 1, 2... hops away


def walk(
    graph: Adjacency,
    seeds: Array,
    restart: Array,
    *,
    alpha: float = ALPHA,
    rounds: int = ROUNDS,
    tolerance: float = TOLERANCE,
    stable_top: int = STABLE_TOP,
    stable_rounds: int = STABLE_ROUNDS,
    hops: int = HOPS,
    floor: float = FLOOR,
    external: Array | None = None,
) -> Array:
    """The score of every node, 1 for the best and 0 where the walk did not come.

    `restart` weighs the seeds; when no weight is above 0 they count alike. The
    walk stops when a round moves less than `tolerance`, or when the order of the
    best `stable_top` stayed the same for `stable_rounds` rounds (0 turns this off).
    `external` marks nodes that may be walked through and not returned.
    """
    scores = np.zeros(graph.nodes, np.float64)
    begun, home = _home(graph, seeds, restart)
    if not len(begun):
        return scores
    nearby = _nearby(graph, begun, hops)
    mass = np.zeros(len(nearby.rows), np.float64)
    mass[: len(home)] = home
    flow = np.empty(len(nearby.targets), np.float64)
    settled = _Settled(stable_top, stable_rounds)
    for number in range(rounds):
        after = _step(nearby, mass, home, alpha, flow[: nearby.within[min(number, len(nearby.within) - 1)]])
        moved = float(np.abs(after - mass).sum())
        mass = after
        if moved < tolerance or settled.after(mass):
            break
    mass /= mass.max()
    mass[mass < floor] = 0.0
    scores[nearby.rows] = mass
    if external is not None:
        scores[external] = 0.0
    return scores


def _home(graph: Adjacency, seeds: Array, restart: Array) -> tuple[Array, Array]:
    """The distinct seeds in rising order and the probability with which the walk returns to each."""
    if len(seeds) != len(restart):
        raise ValueError(f"{len(seeds)} seeds and {len(restart)} restart weights")
    begun = checked_rows(graph, seeds)
    given = np.nan_to_num(np.asarray(restart, np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    if not (given > 0).any():
        given = np.ones(len(given))
    summed = np.bincount(np.searchsorted(begun, seeds), np.maximum(given, 0.0), minlength=len(begun))
    return begun, summed / summed.sum() if len(begun) else summed


def _nearby(graph: Adjacency, begun: Array, hops: int) -> _Nearby:
    """The edges of all nodes closer than `hops`; those at the last hop are dead ends, so no edge leads out."""
    levels, counts, targets, weights = [begun], [begun[:0]], [graph.targets[:0]], [graph.weights[:0]]
    seen = np.zeros(graph.nodes, np.bool_)
    seen[begun] = True
    while len(levels) <= hops and len(levels[-1]):
        each, ends, heavy = _followed(graph, levels[-1])
        before = seen.copy()
        seen[ends] = True
        levels.append(np.flatnonzero(seen != before))
        counts.append(each)
        targets.append(ends)
        weights.append(heavy)
    rows = np.concatenate(levels)
    number_of = np.zeros(graph.nodes, np.int64)
    number_of[rows] = np.arange(len(rows))
    leaving = np.concatenate(counts)
    sources = np.repeat(np.arange(len(leaving)), leaving)
    weight = np.concatenate(weights)
    total = np.bincount(sources, weight, minlength=len(rows))
    return _Nearby(
        rows=rows,
        sources=sources,
        targets=number_of[np.concatenate(targets)],
        weights=weight,
        split=1 / np.where(total > 0, total, 1.0),
        dead=np.flatnonzero(total == 0),
        within=np.cumsum([len(ends) for ends in targets[1:]] or [0]).tolist(),
    )


def _followed(graph: Adjacency, rows: Array) -> tuple[Array, Array, Array]:
    """How many edges of a weight above 0 leave each row, where they lead, and their weights."""
    edges, counts = edges_of(graph.starts, rows)
    targets, weights = graph.targets[edges], graph.weights[edges]
    followed = weights > 0
    if followed.all():
        return counts, targets, weights
    owners = np.repeat(np.arange(len(rows)), counts)[followed]
    return np.bincount(owners, minlength=len(rows)), targets[followed], weights[followed]


def _step(nearby: _Nearby, mass: Array, home: Array, alpha: float, flow: Array) -> Array:
    """The mass after one more round. `flow` has room for the edges of all nodes that can have mass by now."""
    np.take(mass * nearby.split, nearby.sources[: len(flow)], out=flow, mode="clip")  # other modes make a copy
    flow *= nearby.weights[: len(flow)]
    after: Array = np.bincount(nearby.targets[: len(flow)], flow, minlength=len(mass)) * (1 - alpha)
    after[: len(home)] += (alpha + (1 - alpha) * float(mass[nearby.dead].sum())) * home
    return after


class _Settled:
    """Tells when the best nodes have kept their order for some rounds."""

    def __init__(self, top: int, rounds: int) -> None:
        self._top = top
        self._rounds = rounds
        self._last: list[int] = []
        self._same = 0

    def after(self, mass: Array) -> bool:
        if self._top <= 0 or self._rounds <= 0:
            return False
        best = _best(mass, self._top)
        self._same = self._same + 1 if best == self._last else 0
        self._last = best
        return self._same >= self._rounds


def _best(mass: Array, most: int) -> list[int]:
    """The places of the greatest values above 0, greatest first; of equal ones the earliest."""
    most = min(most, len(mass))
    least = np.partition(mass, len(mass) - most)[len(mass) - most]
    above = np.flatnonzero(mass > least)
    ordered = above[np.argsort(-mass[above], kind="stable")]
    level = np.flatnonzero(mass == least)[: most - len(ordered)] if least > 0 else above[:0]
    return [*ordered.tolist(), *level.tolist()]
