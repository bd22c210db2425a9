"""Weights of symbols learned from tasks whose symbols are known (B5).

A wanted name may be borne by several candidates: what is made likely is that one of
them leads, whichever it is (a marginal likelihood). The weights of the first look
are learned first; the walk starts where they say, and the final weights are learned
from what comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whence.app.index import Index
from whence.context.pipeline import ContextRun, RankedSymbols, first_look, rank_symbols
from whence.core.profiles import SYMBOLS, SYMBOLS_FIRST, Profile, Weight
from whence.retrieval.lexical import FieldWeights
from whence.storage.arrayfile import Array
from whence_bench.context.corpus import ContextCorpus, ContextRepository, ContextTask
from whence_bench.context.metrics import canonical, same_symbol
from whence_bench.context.run import Answered, judged
from whence_bench.search.run import default_settings

#: Strength of the L2 on weights of signals scaled to variance 1; measured, see docs/experiments/context.md.
RIDGE = 10.0
#: Less for the first look: held back as much, its scores say too little of where to begin.
FIRST_RIDGE = 3.0
#: For commits, of which there are ten times as many.
LONG_RIDGE = 30.0
STEPS, HALVINGS = 25, 14
#: Candidates of a task that take part: the best under the weights so far, and the wanted ones.
RIVALS = 250
#: Signals of the first look, and of the final one beside them.
FIRST = tuple(
    "centrality class_text concept coverage depth directory_fit example lead mass meaning members name_fit name_length name_recall named "
    "namesakes passage private proximity referred size stem_fit type_kind unit value".split()
)
FINAL = (*FIRST, *"constructor free_function interface kin_of_best length neighbours siblings used_by_best using_best walk".split())
#: Signals of the final look at a text that tells of a problem: those of files count, too.
LONG = (*FINAL, *"c_header function_kind internal named_path old_version only_here precedent recency stem_equal verbatim".split())
#: The weight of a signal that is to be computed and not to count.
SOFT = 1e-12
UNLEARNED = {"unit": 3.0, "passage": 3.0, "value": -2.0}

Weights = Mapping[str, float]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Case:
    """One task: what every signal says of its candidates, and which of them bear each wanted name."""

    repository: str
    columns: Array  # (candidates, signals)
    wanted: tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class Opened:
    """An open index with its tasks."""

    repository: ContextRepository
    index: Index


def opened(corpus: ContextCorpus, index_dir: Path) -> list[Opened]:
    """Every repository of a corpus, indexed."""
    return [Opened(one, Index.open(one.root, data_dir=index_dir, settings=default_settings())) for one in corpus.repositories]


def profile_of(weights: Weights, names: Sequence[str], like: Profile) -> Profile:
    """A profile in which all named signals speak, those without a weight too softly to be heard."""
    return replace(like, signals={name: Weight(*[weights.get(name, 0.0) or SOFT] * 2) for name in names})


def case_of(ranked: RankedSymbols, repository: str, task: ContextTask, names: Sequence[str]) -> Case:
    """What was said of the candidates of a task, the best of them and the wanted ones."""
    symbols = ranked.pool.snapshot.symbols
    called = [canonical(symbols.written_name(int(ranked.pool.units[row]))) for row in ranked.order]
    wanted = [[at for at, name in enumerate(called) if same_symbol(name, canonical(target))] for target in task.wanted]
    kept = sorted({*range(min(RIVALS, len(called))), *(at for group in wanted for at in group)})
    place = {at: number for number, at in enumerate(kept)}
    said = {entry.signal: entry.column.values for entry in ranked.ledger.entries}
    rows = np.array([ranked.order[at] for at in kept], np.int64)
    columns = np.stack([said[name][rows] for name in names], axis=1).astype(np.float32)
    return Case(repository, columns, tuple(tuple(place[at] for at in group) for group in wanted if group))


def cases(repositories: Sequence[Opened], first: Weights, final: Weights, names: Sequence[str]) -> list[Case]:
    """All tasks, ranked under some weights with every named signal speaking."""
    ranking = profile_of(final, names, SYMBOLS)
    weights = FieldWeights.of(ranking)
    look = first_look if names == FIRST else rank_symbols
    found = []
    for one in repositories:
        run = ContextRun(
            one.index.snapshot, one.index.open_graph(), profile_of(first, FIRST, SYMBOLS_FIRST), ranking, weights, one.index.reader.encoder
        )
        found += [case_of(look(task.description, run), one.repository.name, task, names) for task in one.repository.tasks]
    return found


def learn(known: Sequence[Case], names: Sequence[str], ridge: float = RIDGE) -> dict[str, float]:
    """The weights that make it most likely that what bears a wanted name leads."""
    known = [one for one in known if one.wanted]
    spread = np.sqrt(np.mean([one.columns.var(axis=0) for one in known], axis=0)) + 1e-9
    table = _Table.of(known, spread)
    vector = np.zeros(len(names))
    loss, slope, curvature = table.slopes(vector, ridge)
    for _ in range(STEPS):
        step = np.linalg.solve(curvature, slope)
        for halving in range(HALVINGS):
            moved = vector - step / 2**halving
            reached = table.loss(moved, ridge)
            if reached < loss:
                break
        else:
            break
        settled = loss - reached < 1e-3
        vector = moved
        if settled:
            break
        loss, slope, curvature = table.slopes(vector, ridge)
    return dict(zip(names, (vector / spread).tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class _Table:
    """All tasks side by side: (tasks, rivals, signals), where rivals are missing, and who bears which wanted name."""

    rows: Array
    absent: Array
    wanted: list[list[Array]]

    @classmethod
    def of(cls, known: Sequence[Case], spread: Array) -> _Table:
        most = max(len(one.columns) for one in known)
        rows = np.zeros((len(known), most, len(spread)), np.float32)
        absent = np.ones((len(known), most), bool)
        for at, one in enumerate(known):
            rows[at, : len(one.columns)] = one.columns / spread
            absent[at, : len(one.columns)] = False
        return cls(rows, absent, [[np.array(group) for group in one.wanted] for one in known])

    def _chances(self, vector: Array) -> Array:
        scores = self.rows @ vector.astype(np.float32)
        scores[self.absent] = -np.inf
        scores -= scores.max(axis=1, keepdims=True)
        raised = np.exp(scores)
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def loss(self, vector: Array, ridge: float) -> float:
        """How unlikely the wanted names are, and how large the weights."""
        chances = self._chances(vector)
        unlikely = sum(-np.log(chances[at, group].sum() + 1e-30) / len(groups) for at, groups in enumerate(self.wanted) for group in groups)
        return float(unlikely + ridge * vector @ vector)

    def slopes(self, vector: Array, ridge: float) -> tuple[float, Array, Array]:
        """The loss with its gradient and curvature."""
        chances = self._chances(vector)
        share = np.zeros_like(chances)
        for at, groups in enumerate(self.wanted):
            for group in groups:
                share[at, group] += chances[at, group] / (chances[at, group].sum() + 1e-30) / len(groups)
        mean = np.einsum("nm,nmf->nf", chances, self.rows)
        gradient = mean.sum(axis=0) - np.einsum("nm,nmf->f", share, self.rows) + 2 * ridge * vector
        weighted = self.rows * chances[:, :, None]
        curvature = np.tensordot(weighted, self.rows, axes=((0, 1), (0, 1))) - mean.T @ mean + 2 * ridge * np.eye(len(vector))
        return self.loss(vector, ridge), gradient, curvature


def learned(repositories: Sequence[Opened], first_cases: Sequence[Case], names: frozenset[str] | None = None) -> tuple[Weights, Weights]:
    """The weights of the first look and of the final one, from the named repositories (all where none are named)."""
    chosen = [one for one in repositories if names is None or one.repository.name in names]
    first = learn([one for one in first_cases if names is None or one.repository in names], FIRST, FIRST_RIDGE)
    return first, learn(cases(chosen, first, first, FINAL), FINAL)


def left_out(repositories: Sequence[Opened], progress: Progress) -> list[Answered]:
    """Every task answered with weights of both looks that were learned without its repository."""
    first_cases = cases(repositories, UNLEARNED, UNLEARNED, FIRST)
    answered: list[Answered] = []
    for number, one in enumerate(repositories):
        progress(number, len(repositories))
        others = frozenset(other.repository.name for other in repositories) - {one.repository.name}
        first, final = learned(repositories, first_cases, others)
        ranking = profile_of(final, FINAL, SYMBOLS)
        run = ContextRun(
            one.index.snapshot,
            one.index.open_graph(),
            profile_of(first, FIRST, SYMBOLS_FIRST),
            ranking,
            FieldWeights.of(ranking),
            one.index.reader.encoder,
        )
        for task in one.repository.tasks:
            found = rank_symbols(task.description, run)
            names = [one.index.snapshot.symbols.written_name(int(found.pool.units[row])) for row in found.order]
            answered.append(judged(one.repository, task, names, 0.0))
    return answered


def left_out_of(known: Sequence[Case], reaches: Sequence[int], folds: int = 8) -> list[str]:
    """How often all wanted candidates are among the first few, with weights learned from other repositories."""
    names = sorted({one.repository for one in known})
    hits: list[list[bool]] = []
    for fold in range(folds):
        apart = set(names[fold::folds])
        rest = [one for one in known if one.repository not in apart]
        if not rest or len(names) < 2:
            continue
        weights = learn(rest, LONG, LONG_RIDGE)
        vector = np.array([weights[name] for name in LONG])
        for one in known:
            if one.repository in apart:
                places = np.argsort(np.argsort(-(one.columns @ vector), kind="stable"))
                hits.append([bool(one.wanted) and all(places[group[0]] < reach for group in one.wanted) for reach in reaches])
    return [f"{share:.3f}" for share in np.mean(hits, axis=0)] if hits else ["-"] * len(reaches)
