"""One recall from request to response: filter, plan, retrieve, pool, rank, collapse, respond. Reads top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from whence.core.profiles import NOTE_RERANK, Profile
from whence.core.settings import MemorySettings
from whence.core.trace import Trace
from whence.embed.encoder import UnitText
from whence.embed.prose import ProseEncoder
from whence.memory.database import NoteDatabase, NoteFacts
from whence.memory.index import NoteIndex
from whence.memory.note import CATEGORIES, CATEGORY_OF, KINDS, Note
from whence.memory.passages import MAX_PASSAGE, Passage, PassageChooser, pieces_of
from whence.memory.pool import NotePool
from whence.memory.reader import NoteReader
from whence.memory.request import NoteFilters
from whence.memory.retrieval import INCLUDED, MEANING, TIMES, WORDS, NotePlan, NoteScope, NoteTermStatistics, plan_query
from whence.ranking.ledger import Ledger, LedgerLine, score, trace_ranking
from whence.ranking.pool import union
from whence.storage.arrayfile import Array
from whence.storage.postings import is_member

if TYPE_CHECKING:
    from whence.ranking.rerank import Reranker

#: Printed above an answer in which nothing was found by meaning.
LOW_CONFIDENCE = "low confidence: these notes only share words with the question"
#: How a note was found. `exact`: by meaning, and a word confirms it; `faint`: no nearer than chance, to fill a short answer.
EXACT, KEYWORD_ONLY, SEMANTIC, DATED, FAINT = ("exact", "keyword-only", "semantic", "dated", "faint")
#: The similarity that a faint note has at least.
MIN_FAINT = 0.15
#: Candidates of each retriever, and candidates compared for near-duplicates, for each note of the answer.
CANDIDATES_EACH, COLLAPSED_EACH = 3, 3
#: Scores of at least this share of a better one are near it.
NEAR_SCORE = 0.95
#: Characters of a note that a second look reads at a time.
READ_CHARACTERS = 520
#: Passages of all notes that it reads at most.
MAX_READ = 256
#: How often a recall is tried when files change meanwhile.
ATTEMPTS = 3


@dataclass(frozen=True)
class RecalledNote:
    """A note of an answer: its score and why, how it was found, and whether its code has changed."""

    note: Note
    score: float
    label: str  # exact, keyword-only, semantic, dated or faint
    semantic: float  # from 0, where vectors find nothing, to 1
    distance: float | None  # 1 - similarity of the nearest passage; None where vectors did not find it
    changed: str = ""  # what has become of the code it is about; empty where that is unchanged
    alike: tuple[str, ...] = ()  # keys of near-duplicates that are not listed
    _ledger: Ledger | None = field(default=None, repr=False, compare=False)
    _row: int = field(default=0, repr=False, compare=False)
    _chooser: PassageChooser | None = field(default=None, repr=False, compare=False)

    @property
    def category(self) -> str:
        """The category it is listed under."""
        return self.note.category

    @cached_property
    def passage(self) -> Passage:
        """The passage that answers the query."""
        return self.passage_within()

    def passage_within(self, characters: int = MAX_PASSAGE, count: int = 0) -> Passage:
        """The same with less room, or with so many pieces at most."""
        chooser = self._chooser
        return chooser.passage(self.note.text, characters, count) if chooser else Passage(tuple(pieces_of(self.note.text)))

    @cached_property
    def why(self) -> list[LedgerLine]:
        """The ledger, whose sum is the score."""
        return self._ledger.lines(self._row) if self._ledger is not None else []


class RecallResponse(list[RecalledNote]):
    """The notes that answer a request, best first, with facts about the whole answer."""

    def __init__(self, notes: Iterable[RecalledNote] = (), *, words: Sequence[str] = (), searched: int = 0, remark: str = "") -> None:
        super().__init__(notes)
        self.words = tuple(words)  # of the query, to choose and mark lines by
        self.searched = searched  # how many notes could have been in the answer
        self.remark = remark  # how the question was found in pasted text, and what a second look has not read yet

    @property
    def is_low_confidence(self) -> bool:
        """Whether nothing was found by meaning or by its time."""
        return bool(self) and all(one.semantic == 0 and one.label != DATED for one in self)

    def filtered(self, keep: Callable[[RecalledNote], bool]) -> RecallResponse:
        """The same response with some of its notes."""
        return RecallResponse(filter(keep, self), words=self.words, searched=self.searched, remark=self.remark)


@dataclass(frozen=True, slots=True)
class RecallRun:
    """A recall with everything its stages read."""

    query: str
    filters: NoteFilters
    k: int
    index: NoteIndex
    settings: MemorySettings
    profile: Profile
    today: int
    strategy: str = "union"
    max_distance: float | None = None
    everywhere: float = 2.0  # words in this share of the notes do not count
    project: str = ""  # the one that the query comes from
    code_changes: Callable[[Sequence[int]], dict[int, str]] = lambda _: {}  # by id, what has become of the code of notes
    trace: Trace | None = None
    include: str = ""  # the key of a note to rank whether or not it is found
    reranker: Reranker | None = None


@dataclass(frozen=True, slots=True)
class RankedNotes:
    """Candidates with their ledger, best first."""

    plan: NotePlan
    pool: NotePool
    ledger: Ledger
    scores: Array
    order: list[int]  # rows of the pool
    alike: dict[int, list[int]]  # the near-duplicates of a row, which are not in `order`


def recall(run: RecallRun) -> RecallResponse:
    """The notes that answer a query, best first; of those with near scores, by category."""
    response = RecallResponse()
    for attempt in range(ATTEMPTS):
        run.index.refresh(full=attempt > 0)
        ranked = rank(run)
        rows = _by_category(ranked, run.k)
        chooser = _chooser(ranked, run)
        notes = [run.index.read_as_indexed(ranked.pool.facts[row].key) for row in rows]
        response = RecallResponse(
            (_recalled(ranked, row, note, chooser) for row, note in zip(rows, notes, strict=True) if note is not None),
            words=ranked.plan.words,
            searched=int(ranked.pool.statistics.scope.allowed.sum()),
            remark="; ".join(filter(None, (ranked.plan.remark, look.remark if (look := ranked.pool.second_look) else ""))),
        )
        if len(response) == len(rows):  # else a file has changed since it was indexed
            break
    return response


def rank(run: RecallRun) -> RankedNotes:
    """Every candidate, best first, near-duplicates collapsed."""
    reader = run.index.open_reader()
    plan = plan_query(run.query, run.index.analyzer.language, run.today)
    scope = scope_of(reader, run.index.database, run.filters).within(reader, plan.within)
    encoder = run.index.analyzer.encoder if run.strategy != "lexical" else None
    statistics = NoteTermStatistics(reader, plan, scope, encoder, run.everywhere)
    rows, retrieved = union(_retrieve(statistics, run))
    pool = _pool(statistics, rows, retrieved, run)
    if not len(rows):
        return RankedNotes(plan, pool, Ledger(0), np.zeros(0), [], {})
    pool.compute_shared()
    ledger = score(pool)
    order = pool.order(ledger.scores())
    if run.reranker is not None and run.profile.weighs(NOTE_RERANK):
        pool = _read_again(run.reranker, pool, order, run.index)
        ledger = score(pool, before=ledger)
        order = pool.order(ledger.scores())
    if run.trace is not None:
        trace_ranking(run.trace, plan.text, retrieved, ledger, lambda row: (pool.facts[row].key, 1))
    return _collapsed(RankedNotes(plan, pool, ledger, ledger.scores(), order, {}), run)


def _read_again(reranker: Reranker, pool: NotePool, order: Sequence[int], index: NoteIndex) -> NotePool:
    """The pool after a second look at the first notes, passage by passage."""
    notes = [(row, index.read_as_indexed(pool.facts[row].key)) for row in order[: reranker.first]]
    passages = [(row, text) for row, note in notes if note is not None for text in cut_text(note.text, READ_CHARACTERS)][:MAX_READ]
    texts = [text.encode("utf-8", "surrogatepass") for _, text in passages]
    look = reranker.look(pool.plan.text, len(pool.units), [row for row, _ in passages], texts, lambda at: UnitText("", "", texts[at]))
    return replace(pool, second_look=look)


def cut_text(text: str, most: int) -> list[str]:
    """A text in pieces of at most so many characters, cut at the ends of lines, else of words."""
    found: list[str] = []
    for line in text.split("\n"):
        if found and len(found[-1]) + len(line) < most:
            found[-1] += f"\n{line}"
            continue
        while len(line) > most:
            cut = line.rfind(" ", most // 2, most) + 1 or most
            found.append(line[:cut])
            line = line[cut:]  # noqa: PLW2901  -- what is left of it
        found.append(line)
    return [piece for piece in found if piece.strip()]


def scope_of(reader: NoteReader, database: NoteDatabase, filters: NoteFilters, *, generated: bool = False) -> NoteScope:
    """Which notes may be returned, and which ones words are counted over: one predicate for all retrievers.

    Listings include `generated` notes; no query finds them.
    """
    population = (reader.alive if generated else reader.recallable).copy()
    if not reader.size:
        return NoteScope(population, population)
    if filters.projects:
        chosen = [number for number, pair in enumerate(reader.projects) if pair.partition("\n")[2] in filters.projects]
        population &= np.isin(reader.column("projects"), chosen)
    if filters.repository is not None:
        population &= np.isin(reader.column("projects"), np.flatnonzero(filters.repository.owners_in(reader.projects)))
    if not filters.archived:
        population &= reader.column("archived") == 0
    allowed = population.copy()
    if filters.kinds:
        allowed &= np.isin(reader.column("kinds"), [KINDS.index(kind) for kind in filters.kinds])
    if filters.first_day or filters.last_day:
        days = reader.column("days")
        allowed &= (days >= max(filters.first_day, 1)) & ((days <= filters.last_day) | (filters.last_day == 0))
    if filters.valid_at is not None:
        allowed &= (reader.column("valid_from") <= filters.valid_at) & (filters.valid_at < reader.column("valid_until"))
    with_topic = [database.ids_with_topic(filters.topic)] if filters.topic else []
    for ids in chain(map(database.ids_with_tag, filters.tags), with_topic):
        allowed &= is_member(reader.column("ids"), np.sort(np.array(ids, np.int64)))
    return NoteScope(allowed, population, (filters.projects, filters.repository, filters.archived, generated))


def _retrieve(statistics: NoteTermStatistics, run: RecallRun) -> dict[str, tuple[Array, Array]]:
    """The candidates of each retriever. With `max_distance`, only those that vectors find within it."""
    count = max(run.settings.pool, CANDIDATES_EACH * run.k)
    noise = statistics.encoder.noise if statistics.encoder is not None else 0.0
    found: dict[str, tuple[Array, Array]] = {}
    if run.strategy != "lexical":
        found[MEANING] = statistics.by_meaning(count, noise)
    if run.strategy != "vector":
        found[WORDS] = statistics.by_words(count)
        found[TIMES] = statistics.by_times(count)
    if run.max_distance is not None:
        rows, near = found.get(MEANING, (np.empty(0, np.int64), np.empty(0)))
        close = np.sort(rows[1 - near <= run.max_distance])
        found = {name: (rows[inside], scores[inside]) for name, (rows, scores) in found.items() for inside in (is_member(rows, close),)}
    elif 0 < len(union(found)[0]) < run.k and run.strategy != "lexical":
        found[FAINT] = statistics.by_meaning(run.k, MIN_FAINT)
    if run.include:
        ids = [one.id for one in run.index.database.notes() if one.key == run.include]
        rows = np.flatnonzero(np.isin(statistics.reader.column("ids"), ids))
        found[INCLUDED] = (rows, np.zeros(len(rows)))
    return found


def _pool(statistics: NoteTermStatistics, rows: Array, retrieved: dict[str, Array], run: RecallRun) -> NotePool:
    ids = statistics.reader.column("ids")[rows].tolist() if len(rows) else []
    known, changes = run.index.database.notes_by_id(ids), run.code_changes(ids)
    encoder = run.index.analyzer.encoder
    return NotePool(
        statistics,
        rows,
        retrieved,
        [known.get(number, NoteFacts(number)) for number in ids],  # one deleted since drops out when its file is read
        [changes.get(number, "") for number in ids],
        run.profile,
        np.zeros(len(rows)),
        run.project,
        run.settings.slug_bonus,
        run.settings.changed_factor,
        run.settings.alike,
        encoder if isinstance(encoder, ProseEncoder) else None,
        run.index.analyzer.language.stem,
        run.index.analyzer.language.stop_words,
    )


def _collapsed(ranked: RankedNotes, run: RecallRun) -> RankedNotes:
    """The ranking without near-duplicates of better notes, as far as the answer reaches."""
    order: list[int] = []
    alike: dict[int, list[int]] = {}
    for place, row in enumerate(ranked.order):
        if place >= COLLAPSED_EACH * run.k:  # near-duplicates have near scores
            order += ranked.order[place:]
            break
        better = ranked.pool.duplicates.first(row, order[: run.k])
        if better is None:
            order.append(row)
        else:
            alike.setdefault(better, []).append(row)
    return replace(ranked, order=order, alike=alike)


def _by_category(ranked: RankedNotes, k: int) -> list[int]:
    """The k best; of those with near scores, by category."""
    best = ranked.order[:k]
    kinds = ranked.pool.statistics.reader.column("kinds")[ranked.pool.units[best]].tolist() if best else []
    category = {row: CATEGORY_OF[KINDS[kind]] if kind < len(KINDS) else CATEGORIES[0] for row, kind in zip(best, kinds, strict=True)}
    groups: list[list[int]] = []
    for row in best:
        if not groups or ranked.scores[row] < NEAR_SCORE * ranked.scores[groups[-1][0]]:
            groups.append([])
        groups[-1].append(row)
    return [row for group in groups for row in sorted(group, key=lambda row: CATEGORIES.index(category[row]))]


def _chooser(ranked: RankedNotes, run: RecallRun) -> PassageChooser:
    statistics = ranked.pool.statistics
    return PassageChooser(ranked.plan.stems, statistics.idf_of, run.index.analyzer.language, statistics.encoder, statistics.query_vector)


def _recalled(ranked: RankedNotes, row: int, note: Note, chooser: PassageChooser) -> RecalledNote:
    pool = ranked.pool
    near = float(pool.semantic[row])
    return RecalledNote(
        note,
        float(ranked.scores[row]),
        _label(pool, row),
        near,
        1 - float(pool.similarity[row]) if near > 0 else None,
        pool.changes[row],
        tuple(pool.facts[other].key for other in ranked.alike.get(row, ())),
        ranked.ledger,
        row,
        chooser,
    )


def _label(pool: NotePool, row: int) -> str:
    """How a candidate was found."""
    confirmed = bool(pool.matched[row].any())
    if pool.semantic[row] > 0:
        return EXACT if confirmed else SEMANTIC
    if confirmed:
        return KEYWORD_ONLY
    return DATED if np.isfinite(pool.retrieved.get(TIMES, np.full(len(pool.units), np.nan))[row]) else FAINT
