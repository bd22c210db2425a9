"""A random walk that keeps returning to its seeds: how near every node is to them (W3)."""

from __future__ import annotations

import itertools

import numpy as np

from whence.graph.paths import checked_rows, edges_of
from whence.graph.reader import Adjacency, Edges
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct

ALPHA = 0.2
ROUNDS = 20
TOLERANCE = 1e-3
STABLE_TOP = 10
STABLE_ROUNDS = 2
HOPS = 4
FLOOR = 0.02


#: A round that follows fewer than this share of all edges looks them up one by one; else it is quicker to follow all.
FEW = 0.25
#: Edges that are followed at a time, so that what they carry stays in the processor's cache.
BLOCK = 1 << 16


def walk(
    graph: Edges,
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
    ways = Adjacency.of(graph)
    # Within as many rounds as hops nothing can leave the last nodes that may be reached.
    giving = ways.inverse_weights if rounds <= hops else np.where(_closer_than(ways, begun, hops), ways.inverse_weights, 0.0)
    keeping = np.flatnonzero(giving == 0)
    mass = scores
    mass[begun] = home
    settled = _Settled(stable_top, stable_rounds)
    for _ in range(rounds):
        after: Array = _carried(ways, mass * giving) * (1 - alpha)
        after[begun] += (alpha + (1 - alpha) * float(mass[keeping].sum())) * home
        moved = float(np.abs(after - mass).sum())
        mass = after
        if moved < tolerance or settled.after(mass):
            break
    scores = np.asarray(mass / mass.max())
    scores[scores < floor] = 0.0
    if external is not None:
        scores[external] = 0.0
    return scores


def _home(graph: Edges, seeds: Array, restart: Array) -> tuple[Array, Array]:
    """The distinct seeds in rising order and the probability with which the walk returns to each."""
    if len(seeds) != len(restart):
        raise ValueError(f"{len(seeds)} seeds and {len(restart)} restart weights")
    begun = checked_rows(graph, seeds)
    given = np.nan_to_num(np.asarray(restart, np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    if not (given > 0).any():
        given = np.ones(len(given))
    summed = np.bincount(np.searchsorted(begun, seeds), np.maximum(given, 0.0), minlength=len(begun))
    return begun, summed / summed.sum() if len(begun) else summed


def _closer_than(graph: Adjacency, begun: Array, hops: int) -> Array:
    """Whether each node is fewer than so many hops away: those beyond are dead ends, so no edge leads further."""
    near = np.zeros(graph.nodes, np.bool_)
    level = begun
    for _ in range(hops):
        near[level] = True
        edges, _ = edges_of(graph.starts, level)
        ahead = np.zeros(graph.nodes, np.bool_)
        ahead[graph.targets[edges[graph.weights[edges] > 0]]] = True
        level = np.flatnonzero(ahead & ~near)
    return near


def _carried(graph: Adjacency, mass: Array) -> Array:
    """What arrives at each node when every edge carries its weight times the mass of the node that it leaves."""
    leaving = np.flatnonzero(mass)
    if int(graph.degrees[leaving].sum()) > FEW * len(graph.targets):
        return _gathered(graph.transposed, mass)
    edges, counts = edges_of(graph.starts, leaving)
    return np.bincount(graph.targets[edges], np.repeat(mass[leaving], counts) * graph.weights[edges], minlength=graph.nodes)


def _gathered(backwards: Adjacency, mass: Array) -> Array:
    """The same by way of all edges, node by node where they arrive."""
    arrived = np.zeros(backwards.nodes)
    nodes = np.flatnonzero(backwards.degrees)
    starts = backwards.starts[nodes]
    ends = np.append(starts, len(backwards.targets))
    cuts = [*distinct(np.searchsorted(starts, np.arange(0, len(backwards.targets), BLOCK))).tolist(), len(nodes)]
    for low, high in itertools.pairwise(cuts):
        edges = slice(int(ends[low]), int(ends[high]))
        flow = mass.take(backwards.targets[edges])
        flow *= backwards.weights[edges]
        arrived[nodes[low:high]] = np.add.reduceat(flow, starts[low:high] - edges.start)
    return arrived


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
