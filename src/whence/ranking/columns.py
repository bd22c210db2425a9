"""Calculations that signals share: roles, lexical scores, rescaling and ranks within a group."""

from __future__ import annotations

import numpy as np

from whence.core.profiles import RRF
from whence.parse.paths import Role
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.storage.arrayfile import Array

#: Added to every rank: the higher it is, the less the first ranks stand out.
RANK_OFFSET = 60
#: How slowly the ranks after the first lose weight in `standing`.
RANK_DECAY = 6
#: The smallest mass that counts, on the logarithmic scale.
MIN_MASS = 1e-2


def header_column(pool: CandidatePool, language: str) -> Column:
    """1 for headers of a language."""
    header = pool.column("files.roles") & int(Role.HEADER) > 0
    if header.any():
        languages = pool.snapshot.languages
        header &= pool.by_file(np.array([languages[file] == language for file in pool.distinct_files.tolist()]))
    values = header.astype(np.float64)
    return Column(values, lambda row: f"a header of {language}" if values[row] else f"not a header of {language}")


def role_column(pool: CandidatePool, role: Role, asked: str, yes: str) -> Column:
    """1 for files that play a role; 0 for all when the query asks for such files."""
    if pool.plan.asks_for(asked):
        return Column(np.zeros(len(pool.units)), lambda _: "the query asks for such files")
    values = (pool.column("files.roles") & int(role) > 0).astype(np.float64)
    return Column(values, lambda row: yes if values[row] else f"not {yes}")


def coverage(pool: CandidatePool) -> Array:
    """The share of the query's terms that each candidate's file holds, raised to the profile's power (Q1)."""
    if not pool.profile.coverage:
        return np.ones(len(pool.units))
    held = pool.statistics.holds(pool.distinct_files)
    return pool.by_file(held.mean(axis=0) ** pool.profile.coverage)


def unit_scores(pool: CandidatePool) -> Array:
    """BM25 of each candidate over its weighted fields and its file's path, times the coverage where the profile has one."""
    matrix = pool.term_weights
    weight = np.array([postings.unit_weight for postings in pool.statistics.terms])
    return np.asarray(weight @ (matrix / (matrix + pool.profile.fields.saturation)) * coverage(pool))


def matching_terms(pool: CandidatePool, row: int) -> str:
    """Which terms a candidate holds, the weightiest first, and which it lacks."""
    weights, terms = pool.term_weights[:, row], pool.statistics.terms
    held = sorted((number for number in range(len(weights)) if weights[number] > 0), key=lambda number: -terms[number].unit_weight)
    missing = [postings.term.text for number, postings in enumerate(terms) if weights[number] <= 0 and not postings.term.whole]
    text = "holds " + ", ".join(terms[number].term.text for number in held[:6]) if held else "holds none of the words"
    return text + (f"; not {', '.join(missing[:4])}" if missing else "")


def relative_to_best(scores: Array) -> Array:
    """Scores as shares of the best."""
    best = float(scores.max(initial=0.0))
    return scores / best if best > 0 else scores


def logarithmic(mass: Array | None, size: int) -> Array:
    """A mass on a logarithmic scale; 0 for none."""
    return np.log1p(mass / MIN_MASS) if mass is not None else np.zeros(size)


def better_in_group(group: Array, scores: Array) -> Array:
    """How many of the same group have a better score; ties in their order."""
    order = np.lexsort((-scores, group))
    ordered = group[order]
    better = np.empty(len(group), np.int64)
    better[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered)
    return better


def rescale(scores: Array, how: str) -> Array:
    """One retriever's scores on a common scale, by range or by rank (F2); 0 for what it did not find (NaN)."""
    found = np.flatnonzero(np.isfinite(scores))
    values = np.zeros(len(scores))
    if len(found):
        values[found] = _by_rank(scores[found]) if how == RRF else _by_range(scores[found])
    return values


def _by_range(scores: Array) -> Array:
    """From 0 for the lowest to 1 for the highest; equal scores are 1."""
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


def _by_rank(scores: Array) -> Array:
    """1 / (60 + rank + 1), ranks counted from 0; equal scores share the better rank."""
    return 1 / (RANK_OFFSET + np.searchsorted(np.sort(-scores), -scores) + 1)


def share_of_best(scores: Array, enough: float = 0.0) -> Array:
    """Each score as a share of the best, plus 6 / (6 + rank).

    Scores are not stretched to the range 0 to 1: two notes that fit almost equally stay close. Where even the best is
    below `enough`, all are lowered: sharing a few common words says little.
    """
    best = float(scores.max(initial=0.0))
    if best <= 0:
        return np.zeros(len(scores))
    rank = np.searchsorted(np.sort(-scores), -scores)
    whole = best / enough if enough > best else 1.0
    return np.where(scores > 0, whole * (np.maximum(scores, 0) / best + RANK_DECAY / (RANK_DECAY + rank)), 0.0)
