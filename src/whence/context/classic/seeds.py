"""Where the walk of a task begins: channels joined by reciprocal rank, then made coherent (N3, N5 to N7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whence.context.classic.channels import Sought, by_folders, by_names, by_words
from whence.context.classic.keywords import STOP_WORDS
from whence.core.types import EDGE_KINDS
from whence.index.segment_writer import KIND_NAMES
from whence.query.concepts import GENERIC, ConceptMatch, is_generic, is_strong, match_concepts, name_key
from whence.storage.arrayfile import Array
from whence.storage.rows import ranges
from whence.text.analyzer import parts, stem, words

#: The channels, as they are called where their ranks are shown.
NAMES, WORDS, CLASSES, LEARNED, FOLDERS, VECTORS = "names", "words", "classes", "learned", "folders", "vectors"
#: Callers and callees of a seed whose names are read; more say nothing of it.
MOST_NEIGHBOURS = 100
#: Words that so many names have that two of them in a row say little.
GENERIC_WORDS = GENERIC | STOP_WORDS | frozenset("handle handler init process self test tests".split())
#: Units that vectors may give.
MOST_NEAREST = 30
_CALLS, _IMPLEMENTS, _EXTENDS = (EDGE_KINDS.index(kind) for kind in ("calls", "implements", "extends"))
#: Kinds of which every heir is an implementor, in languages that write both alike.
_PROMISES = np.array([kind in ("interface", "trait") for kind in KIND_NAMES])

#: Gives the units nearest in meaning, at most so many, best first.
Nearest = Callable[[int], Array]
#: Units that words of the task went with before, each with its weight in the fusion (L5).
Learned = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where a walk begins, and how that came to be."""

    units: Array  # best first
    restart: Array  # the weight of each in the walk
    folders: Array  # units by folders (N4): they enter the walk, and compete with nothing
    channels: Mapping[str, Array]  # what each channel found, in its order


def find_seeds(sought: Sought, learned: Learned = (), nearest: Nearest | None = None) -> Seeds:
    """The seeds of a task."""
    limits = sought.limits
    named, worded, folders = by_names(sought), by_words(sought), by_folders(sought)
    matches = match_concepts(sought.task, frozenset(sought.snapshot.languages))
    most = int(limits.equivalent_share * (len(named) + len(worded)))
    classes = _equivalents(sought, matches, named)[:most]
    taught = _learned_units(sought, learned)
    found = {NAMES: named, WORDS: worded, CLASSES: classes, LEARNED: np.array(list(taught), np.int64), FOLDERS: folders}
    weights = {NAMES: limits.tiered_weight, WORDS: limits.bm25_weight, CLASSES: limits.equivalent_weight}
    few = len(np.unique(np.concatenate(list(found.values())))) < limits.vector_below
    if nearest is not None and (few or limits.vector_weight > 0):
        found[VECTORS] = nearest(MOST_NEAREST)
        weights[VECTORS] = limits.vector_weight or limits.tiered_weight
    scores = _fused(sought, found, weights, taught)
    candidates = _candidates(sought, matches, scores)
    chosen = candidates[np.sort(_coherent(sought, candidates)[: _seed_count(sought)])]
    joining = _implementors(sought, chosen)
    restart = np.linspace(limits.restart_first, limits.restart_last, len(chosen))
    restart = np.concatenate([restart, np.full(len(joining), limits.restart_last)])
    return Seeds(np.concatenate([chosen, joining]), restart, folders, found)


def _candidates(sought: Sought, matches: Sequence[ConceptMatch], scores: Mapping[int, float]) -> Array:
    """The best of the fusion, what was injected before them."""
    best = sorted(scores, key=lambda unit: (-scores[unit], unit))
    return np.array(list(dict.fromkeys((*_injected(sought, matches), *best)))[: sought.limits.candidates], np.int64)


def _fused(sought: Sought, found: Mapping[str, Array], weights: Mapping[str, float], taught: Mapping[int, float]) -> dict[int, float]:
    """Reciprocal rank fusion; what was learned has a weight for each symbol."""
    k = sought.limits.fusion_k
    scores: dict[int, float] = {}
    for channel, weight in weights.items():
        for rank, unit in enumerate(found[channel].tolist() if weight else ()):
            scores[unit] = scores.get(unit, 0.0) + weight / (k + rank + 1)
    for rank, (unit, weight) in enumerate(taught.items()):
        scores[unit] = scores.get(unit, 0.0) + weight / (k + rank + 1)
    return scores


# N3: equivalence classes.
def _equivalents(sought: Sought, matches: Sequence[ConceptMatch], named: Array) -> Array:
    """Units that equivalence classes and the neighbours of named units point at, the surest first."""
    weights: dict[int, float] = {}
    for match in matches:
        for unit in _targets(sought, match):
            weights[unit] = max(weights.get(unit, 0.0), match.concept.weight)
    for unit in _aliases(sought, named[: sought.limits.alias_seeds]):
        weights[unit] = max(weights.get(unit, 0.0), sought.limits.alias_weight)
    return np.array(sorted(weights, key=lambda unit: -weights[unit]), np.int64)


def _targets(sought: Sought, match: ConceptMatch) -> list[int]:
    """The units that the targets of a class name; of `Type.member` the type must fit too."""
    found: dict[int, None] = {}
    for target in match.concept.targets:
        if is_generic(target):
            continue
        outer, _, name = target.rpartition(".")
        units = sought.tables.joined.equal(name_key(name))
        if outer:
            owners = sought.symbols.owner[units].tolist()
            units = units[[owner >= 0 and name_key(sought.snapshot.unit_name(owner)) == name_key(outer) for owner in owners]]
        found.update(dict.fromkeys(sought.by_importance(units).tolist()))
    return list(found)


def _injected(sought: Sought, matches: Sequence[ConceptMatch]) -> list[int]:
    """What classes of great weight point at, where two of their phrases matched or one of several words: it comes first."""
    sure = [match for match in matches if match.concept.weight >= sought.limits.injected_weight and is_strong(match)]
    return list(dict.fromkeys(unit for match in sure for unit in _targets(sought, match)))


def _aliases(sought: Sought, named: Array) -> list[int]:
    """Those of some units whose callers or callees have two words in a row that the task has in a row."""
    said = [stem(part) for word in words(sought.task) for part in parts(word)]
    spoken = set(pairwise(said))
    found = []
    for unit in named.tolist():
        for neighbour in _callers_and_callees(sought, unit):
            telling = [stem(part) for part in parts(sought.snapshot.unit_name(neighbour)) if part not in GENERIC_WORDS]
            if not spoken.isdisjoint(pairwise(telling)):
                found.append(unit)
                break
    return found


def _callers_and_callees(sought: Sought, unit: int) -> list[int]:
    graph = sought.graph
    out, into = graph.edges_from(unit), graph.edges_to(unit)
    ends = np.concatenate([graph.target[out[graph.kind[out] == _CALLS]], graph.source[into[graph.kind[into] == _CALLS]]])
    return [int(end) for end in ends[ends < sought.symbols.units][:MOST_NEIGHBOURS]]


def _learned_units(sought: Sought, learned: Learned) -> dict[int, float]:
    """Learned units that may be returned, heaviest first."""
    return {unit: weight for unit, weight in sorted(learned, key=lambda one: -one[1]) if sought.returnable[unit]}


# N6 and N7: what joins, and what comes first.
def _implementors(sought: Sought, seeds: Array) -> Array:
    """Types that implement one of some types, in the order of those."""
    graph, symbols = sought.graph, sought.symbols
    edges = graph.in_edges[ranges(graph.in_starts, seeds[symbols.container[seeds]])[1]]
    promised = _PROMISES[sought.snapshot.kinds[graph.target[edges]]]
    kinds = graph.kind[edges]
    sources = graph.source[edges[(kinds == _IMPLEMENTS) | (promised & (kinds == _EXTENDS))]]
    joining = dict.fromkeys(unit for unit in sources.tolist() if sought.returnable[unit])
    return np.array([unit for unit in joining if unit not in set(seeds.tolist())][: sought.limits.implementors], np.int64)


def _coherent(sought: Sought, ranked: Array) -> Array:
    """The places of candidates, those of the package that has most of them first; in a large graph types before the rest."""
    symbols = sought.symbols
    if not len(ranked):
        return np.empty(0, np.int64)
    packages = symbols.folder[symbols.file[ranked]]
    known, first, counts = np.unique(packages, return_index=True, return_counts=True)
    largest = known[np.lexsort((first, -counts))[0]]
    large = int(symbols.defines.sum()) > sought.limits.large_nodes
    after = ~symbols.container[ranked] if large else np.zeros(len(ranked), bool)
    return np.lexsort((after, packages != largest))


def _seed_count(sought: Sought) -> int:
    limits, nodes = sought.limits, int(sought.symbols.defines.sum())
    if nodes > limits.large_nodes:
        return limits.seeds_large
    return limits.seeds_medium if nodes > limits.medium_nodes else limits.seeds_small
