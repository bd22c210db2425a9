"""Ranks nodes by a random walk with restart (W3), and adjusts for hubs and authorities among the best (HITS, W4)."""

from __future__ import annotations

import itertools

import numpy as np

from whence.graph.reader import Adjacency, edges_of
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct

ALPHA = 0.2
ROUNDS = 20
TOLERANCE = 1e-3
STABLE_TOP = 10
STABLE_ROUNDS = 2
HOPS = 4
FLOOR = 0.02
#: A round that would follow a larger share of all edges gathers over all of them instead: that is faster.
_SPARSE_SHARE = 0.25
#: Edges per block, so that the mass they carry stays in the processor's cache.
_BLOCK = 1 << 16

#: How many of the walk's best nodes HITS compares.
HITS_NODES = 200
HITS_ROUNDS = 10
#: A seed with high authority is central to the task.
SEED_AUTHORITY_ABOVE = 0.05
SEED_AUTHORITY_WEIGHT = 0.25
#: Any other node with high authority is generic: everything uses it.
OTHER_AUTHORITY_ABOVE = 0.2
OTHER_AUTHORITY_WEIGHT = -0.15
#: A seed with a high hub score wires together the parts of the task.
SEED_HUB_ABOVE = 0.1
SEED_HUB_WEIGHT = 0.10


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
    """Score every node: 1 for the best, 0 where the walk did not arrive.

    `restart` weighs the seeds; if no weight is above 0 they count alike. The walk
    stops when a round moves less than `tolerance`, or when the order of the best
    `stable_top` has not changed for `stable_rounds` rounds (0 turns this off).
    The walk passes through `external` nodes but scores them 0.
    """
    scores = np.zeros(graph.nodes, np.float64)
    starts, restart_mass = _restart_mass(graph, seeds, restart)
    if not len(starts):
        return scores
    # With no more rounds than hops, nothing can get beyond the last hop anyway.
    shares = graph.inverse_weights if rounds <= hops else np.where(_within(graph, starts, hops - 1), graph.inverse_weights, 0.0)
    dead_ends = np.flatnonzero(shares == 0)
    mass = scores
    mass[starts] = restart_mass
    order = _TopOrder(stable_top, stable_rounds)
    for _ in range(rounds):
        after: Array = _flow(graph, mass * shares) * (1 - alpha)
        after[starts] += (alpha + (1 - alpha) * float(mass[dead_ends].sum())) * restart_mass
        moved = float(np.abs(after - mass).sum())
        mass = after
        if moved < tolerance or order.is_stable(mass):
            break
    scores = np.asarray(mass / mass.max())
    scores[scores < floor] = 0.0
    if external is not None:
        scores[external] = 0.0
    return scores


def _restart_mass(graph: Adjacency, seeds: Array, restart: Array) -> tuple[Array, Array]:
    """The distinct seeds in order, and the probability of restarting at each."""
    if len(seeds) != len(restart):
        raise ValueError(f"{len(seeds)} seeds and {len(restart)} restart weights")
    starts = graph.checked_rows(seeds)
    weights = np.nan_to_num(np.asarray(restart, np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    if not (weights > 0).any():
        weights = np.ones(len(weights))
    summed = np.bincount(np.searchsorted(starts, seeds), np.maximum(weights, 0.0), minlength=len(starts))
    return starts, summed / summed.sum() if len(starts) else summed


def _within(graph: Adjacency, starts: Array, hops: int) -> Array:
    """Whether each node is at most so many hops away."""
    near = np.zeros(graph.nodes, np.bool_)
    level = starts
    for _ in range(hops + 1):
        near[level] = True
        edges, _ = edges_of(graph.starts, level)
        ahead = np.zeros(graph.nodes, np.bool_)
        ahead[graph.targets[edges[graph.weights[edges] > 0]]] = True
        level = np.flatnonzero(ahead & ~near)
    return near


def _flow(graph: Adjacency, mass: Array) -> Array:
    """The mass that arrives at each node when every edge carries its weight times the mass of its source."""
    sources = np.flatnonzero(mass)
    if int(graph.degrees[sources].sum()) > _SPARSE_SHARE * len(graph.targets):
        return _dense_flow(graph.transposed, mass)
    edges, counts = edges_of(graph.starts, sources)
    return np.bincount(graph.targets[edges], np.repeat(mass[sources], counts) * graph.weights[edges], minlength=graph.nodes)


def _dense_flow(transposed: Adjacency, mass: Array) -> Array:
    """The same over all edges, grouped by the node where they arrive."""
    arrived = np.zeros(transposed.nodes)
    nodes = np.flatnonzero(transposed.degrees)
    starts = transposed.starts[nodes]
    ends = np.append(starts, len(transposed.targets))
    cuts = [*distinct(np.searchsorted(starts, np.arange(0, len(transposed.targets), _BLOCK))).tolist(), len(nodes)]
    for low, high in itertools.pairwise(cuts):
        edges = slice(int(ends[low]), int(ends[high]))
        flow = mass.take(transposed.targets[edges])
        flow *= transposed.weights[edges]
        arrived[nodes[low:high]] = np.add.reduceat(flow, starts[low:high] - edges.start)
    return arrived


class _TopOrder:
    """Tells when the order of the best nodes has not changed for some rounds."""

    def __init__(self, size: int, rounds: int) -> None:
        self._size, self._rounds = size, rounds
        self._last: list[int] = []
        self._unchanged = 0

    def is_stable(self, mass: Array) -> bool:
        if self._size <= 0 or self._rounds <= 0:
            return False
        best = _top(mass, self._size)
        self._unchanged = self._unchanged + 1 if best == self._last else 0
        self._last = best
        return self._unchanged >= self._rounds


def _top(mass: Array, size: int) -> list[int]:
    """The nodes with the most mass above 0, highest first; ties by row."""
    size = min(size, len(mass))
    least = np.partition(mass, len(mass) - size)[len(mass) - size]
    above = np.flatnonzero(mass > least)
    ordered = above[np.argsort(-mass[above], kind="stable")]
    ties = np.flatnonzero(mass == least)[: size - len(ordered)] if least > 0 else above[:0]
    return [*ordered.tolist(), *ties.tolist()]


def best_rows(scores: Array, limit: int = HITS_NODES) -> Array:
    """The rows with the highest scores above 0, highest first; ties by row."""
    found = np.flatnonzero(scores > 0)
    return found[np.argsort(-scores[found], kind="stable")][:limit]


def hits(starts: Array, targets: Array, rows: Array, *, rounds: int = HITS_ROUNDS) -> tuple[Array, Array]:
    """The authority and hub score of each row, from the edges among these rows alone."""
    nodes, place = np.unique(np.asarray(rows, np.int64), return_inverse=True)
    hub = np.ones(len(nodes))
    authority = np.ones(len(nodes))
    edges, counts = edges_of(starts, nodes)
    ends = targets[edges]
    found = np.minimum(np.searchsorted(nodes, ends), max(len(nodes) - 1, 0))
    inside = nodes[found] == ends
    source, target = np.repeat(np.arange(len(nodes)), counts)[inside], found[inside]
    for _ in range(rounds):
        authority = _normalized(np.bincount(target, hub[source], minlength=len(nodes)))
        hub = _normalized(np.bincount(source, authority[target], minlength=len(nodes)))
    return authority[place], hub[place]


def _normalized(values: Array) -> Array:
    length = float(np.sqrt(values @ values))
    return values / (length or 1.0)


def score_adjustment(authority: Array, hub: Array, is_seed: Array) -> Array:
    """What authority and hub scores add to each node's score, or subtract from it."""
    seed = np.asarray(is_seed, np.bool_)
    central = np.where(seed & (authority > SEED_AUTHORITY_ABOVE), SEED_AUTHORITY_WEIGHT * authority, 0.0)
    generic = np.where(~seed & (authority > OTHER_AUTHORITY_ABOVE), OTHER_AUTHORITY_WEIGHT * authority, 0.0)
    wiring = np.where(seed & (hub > SEED_HUB_ABOVE), SEED_HUB_WEIGHT * hub, 0.0)
    return central + generic + wiring
