"""What signals share in reading headers."""

from __future__ import annotations

import numpy as np

from whence.parse.paths import Role
from whence.ranking.ledger import Column
from whence.ranking.pool import CandidatePool
from whence.storage.arrayfile import Array


def header_column(pool: CandidatePool, language: str) -> Column:
    """1 for headers that are written in a language."""
    header = pool.column("files.roles") & int(Role.HEADER) > 0
    if header.any():
        languages = pool.snapshot.languages
        header &= pool.by_file(np.array([languages[file] == language for file in pool.distinct_files.tolist()]))
    values = header.astype(np.float64)
    return Column(values, lambda row: f"a header of {language}" if values[row] else f"not a header of {language}")


def role_column(pool: CandidatePool, role: Role, asked: str, yes: str) -> Column:
    """1 for files that play a role, 0 for all when the query asks for such files."""
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
    """BM25 of each candidate over its weighted fields and its file's path, times the coverage where a profile wants it."""
    matrix = pool.matrix()
    weight = np.array([found.term.weight * found.unit_idf for found in pool.statistics.terms])
    return np.asarray(weight @ (matrix / (matrix + pool.profile.fields.saturation)) * coverage(pool))


def relative_to_best(scores: Array) -> Array:
    """Scores as shares of the best."""
    best = float(scores.max(initial=0.0))
    return scores / best if best > 0 else scores


def spoken_terms(pool: CandidatePool, row: int) -> str:
    """The terms a candidate holds, the weightiest first."""
    worth = pool.matrix()[:, row]
    order = sorted(
        (number for number in range(len(worth)) if worth[number] > 0),
        key=lambda number: -pool.statistics.terms[number].unit_idf * pool.statistics.terms[number].term.weight,
    )
    missing = [found.term.text for number, found in enumerate(pool.statistics.terms) if worth[number] <= 0 and not found.term.whole]
    said = "holds " + ", ".join(pool.statistics.terms[number].term.text for number in order[:6]) if order else "holds none of the words"
    return said + (f"; not {', '.join(missing[:4])}" if missing else "")


#: The least of a mass that tells from nothing: logarithms are taken against it.
LEAST = 1e-2


def logarithmic(mass: Array | None, size: int) -> Array:
    """A mass as how many times e it is above the least that counts; 0 for none."""
    return np.log1p(mass / LEAST) if mass is not None else np.zeros(size)


def better_of_same(group: Array, scores: Array) -> Array:
    """How many of the same group have a better score; equal ones in their order."""
    order = np.lexsort((-scores, group))
    ordered = group[order]
    better = np.empty(len(group), np.int64)
    better[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered)
    return better
