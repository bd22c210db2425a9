"""Authorities and hubs among the best nodes of a walk (W4)."""

from __future__ import annotations

import numpy as np

from whence.graph.paths import edges_of
from whence.storage.arrayfile import Array

#: How many of the walk's best nodes are compared.
ROWS = 200
ROUNDS = 10
#: A seed that much is led to: central, and asked for.
SEED_AUTHORITY_ABOVE = 0.05
SEED_AUTHORITY_WEIGHT = 0.25
#: Any other node that much is led to: what everything uses, whatever is asked.
OTHER_AUTHORITY_ABOVE = 0.2
OTHER_AUTHORITY_WEIGHT = -0.15
#: A seed that leads to much: it wires together what is asked for.
SEED_HUB_ABOVE = 0.1
SEED_HUB_WEIGHT = 0.10


def best_rows(scores: Array, most: int = ROWS) -> Array:
    """The rows with the highest scores above 0, highest first; of equal ones the lower row."""
    found = np.flatnonzero(scores > 0)
    return found[np.argsort(-scores[found], kind="stable")][:most]


def hits(starts: Array, targets: Array, rows: Array, *, rounds: int = ROUNDS) -> tuple[Array, Array]:
    """The authority and the hub score of each row, from the edges among the rows alone."""
    distinct, place = np.unique(np.asarray(rows, np.int64), return_inverse=True)
    hub = np.ones(len(distinct))
    authority = np.ones(len(distinct))
    edges, counts = edges_of(starts, distinct)
    ends = targets[edges]
    found = np.minimum(np.searchsorted(distinct, ends), max(len(distinct) - 1, 0))
    inside = distinct[found] == ends
    origin, goal = np.repeat(np.arange(len(distinct)), counts)[inside], found[inside]
    for _ in range(rounds):
        authority = _unit_length(np.bincount(goal, hub[origin], minlength=len(distinct)))
        hub = _unit_length(np.bincount(origin, authority[goal], minlength=len(distinct)))
    return authority[place], hub[place]


def score_adjustment(authority: Array, hub: Array, is_seed: Array) -> Array:
    """What authority and hub add to each node's score, or take from it."""
    seed = np.asarray(is_seed, np.bool_)
    central = np.where(seed & (authority > SEED_AUTHORITY_ABOVE), SEED_AUTHORITY_WEIGHT * authority, 0.0)
    generic = np.where(~seed & (authority > OTHER_AUTHORITY_ABOVE), OTHER_AUTHORITY_WEIGHT * authority, 0.0)
    wiring = np.where(seed & (hub > SEED_HUB_ABOVE), SEED_HUB_WEIGHT * hub, 0.0)
    return central + generic + wiring


def _unit_length(values: Array) -> Array:
    length = float(np.sqrt(values @ values))
    return values / (length or 1.0)
