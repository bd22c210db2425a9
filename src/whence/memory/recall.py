"""One question to the notes, from words to a ranked list. Reads top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whence.core.profiles import Profile
from whence.core.settings_schema import MemorySettings
from whence.core.trace import Trace
from whence.embed.encoder import Encoder
from whence.embed.prose import ProseEncoder
from whence.memory.database import told
from whence.memory.index import NoteIndex
from whence.memory.note import CATEGORIES, CATEGORY_OF, KINDS
from whence.memory.plan import make_note_plan
from whence.memory.pool import NoteFacts, NotePool
from whence.memory.reader import NoteReader
from whence.memory.request import NoteFilters
from whence.memory.retrieval import ASKED, MEANING, TIMES, WORDS, NoteScope, NoteTermStatistics
from whence.ranking.ledger import Ledger
from whence.ranking.pool import union
from whence.ranking.score import score, write_stages
from whence.storage.arrayfile import Array
from whence.storage.rows import is_member

#: How a hit was found (M5). `exact`: by meaning, and a word confirms it; `faint`: no nearer than chance, for want of better.
EXACT, KEYWORD_ONLY, SEMANTIC, DATED, FAINT = ("exact", "keyword-only", "semantic", "dated", "faint")
#: Where fewer notes are found than asked for, the nearest others are added, if they are at least this near.
FAINTEST = 0.15
#: Words below which two notes are alike only if all of them are the same.
FEW_WORDS = 4
#: Candidates of each kind for each note that is asked for.
OVER = 3
#: Candidates that are compared with those shown, for each that is asked for.
DOUBLES_EACH = 3


@dataclass(frozen=True, slots=True)
class RecallRun:
    """Everything a question to notes is asked with."""

    catalog: NoteIndex
    settings: MemorySettings
    profile: Profile
    filters: NoteFilters
    k: int
    today: int
    strategy: str = "union"
    max_distance: float | None = None
    everywhere: float = 2.0  # words that this share of all notes hold do not count
    here: str = ""
    prose: ProseEncoder | None = None
    changed: Callable[[Sequence[int]], dict[int, str]] = lambda _: {}  # of notes, by number, what became of their code
    trace: Trace | None = None
    include: Array | None = None  # rows to rank whether or not they are found

    @property
    def encoder(self) -> Encoder | None:
        """What reads meaning, where vectors are asked at all (F1)."""
        return self.catalog.reader.encoder if self.strategy != "lexical" else None


@dataclass(frozen=True, slots=True)
class RankedNotes:
    """Candidates with their ledger, best first, those that say the same as a better one under it."""

    pool: NotePool
    ledger: Ledger
    scores: Array
    order: list[int]  # rows of the pool
    alike: dict[int, list[int]]  # of a row that is shown those that are not, for they say the same


def narrowed(corpus: NoteReader, catalog: NoteIndex, filters: NoteFilters, *, generated: bool = False) -> NoteScope:
    """What may be returned, and what words are counted over. One predicate for every retriever (M4).

    A list shows `generated` notes as well; no question finds them.
    """
    population = (corpus.alive if generated else corpus.recallable).copy()
    if not corpus.size:
        return NoteScope(population, population)
    if filters.projects:
        wanted = [number for number, name in enumerate(corpus.projects) if name in filters.projects]
        population &= np.isin(corpus.column("projects"), wanted)
    if not filters.archived:
        population &= corpus.column("archived") == 0
    allowed = population.copy()
    if filters.kinds:
        allowed &= np.isin(corpus.column("kinds"), [KINDS.index(kind) for kind in filters.kinds])
    if filters.first_day or filters.last_day:
        days = corpus.column("days")
        allowed &= (days >= max(filters.first_day, 1)) & ((days <= filters.last_day) | (filters.last_day == 0))
    if filters.valid_at is not None:
        allowed &= (corpus.column("valid_from") <= filters.valid_at) & (filters.valid_at < corpus.column("valid_until"))
    for tag in filters.tags:
        allowed &= _numbered(corpus, catalog.store.rows("SELECT note FROM tags WHERE tag = ?", (tag.casefold().lstrip("#"),)))
    if filters.topic:
        allowed &= _numbered(corpus, catalog.numbers_of_topic(filters.topic))
    return NoteScope(allowed, population, (filters.projects, filters.archived, generated))


def _numbered(corpus: NoteReader, rows: Sequence[tuple[int]]) -> Array:
    return is_member(corpus.column("ids"), np.sort(np.array([row[0] for row in rows], np.int64)))


def recall(query: str, asking: RecallRun) -> RankedNotes:
    """The notes that answer a question, best first."""
    corpus = asking.catalog.corpus
    scope = narrowed(corpus, asking.catalog, asking.filters)
    plan = make_note_plan(query, asking.catalog.reader.language, asking.today)
    evidence = NoteTermStatistics(corpus, plan, scope, asking.encoder, asking.everywhere)
    found = _candidates(evidence, asking)
    if asking.include is not None:
        found[ASKED] = (asking.include, np.zeros(len(asking.include)))
    rows, retrieved = union(found)
    pool = NotePool(
        evidence,
        rows,
        retrieved,
        _facts(corpus, rows, asking),
        asking.profile,
        np.zeros(len(rows)),
        asking.here,
        asking.settings.slug_bonus,
        asking.settings.changed_factor,
        asking.prose,
        asking.catalog.reader.language.stem,
    )
    if not len(rows):
        return RankedNotes(pool, Ledger(0), np.zeros(0), [], {})
    pool.work_out()
    ledger = score(pool)
    scores = ledger.scores()
    order = sorted(range(len(rows)), key=lambda row: (-scores[row], pool.facts[row].key))
    ranked = _without_doubles(RankedNotes(pool, ledger, scores, order, {}), asking)
    if asking.trace is not None:
        write_stages(asking.trace, plan.text, retrieved, ledger, lambda row: (pool.facts[row].key, 1))
    return ranked


def _candidates(evidence: NoteTermStatistics, asking: RecallRun) -> dict[str, tuple[Array, Array]]:
    """What each retriever finds (F1). With a greatest distance only what vectors find within it."""
    count = max(asking.settings.pool, OVER * asking.k)
    noise = evidence.encoder.noise if evidence.encoder is not None else 0.0
    found: dict[str, tuple[Array, Array]] = {}
    if asking.strategy != "lexical":
        found[MEANING] = evidence.by_meaning(count, noise)
    if asking.strategy != "vector":
        found[WORDS] = evidence.by_words(count)
        found[TIMES] = evidence.by_times(count)
    if asking.max_distance is None:
        several = len(union(found)[0])
        if 0 < several < asking.k and asking.strategy != "lexical":
            found[FAINT] = evidence.by_meaning(asking.k, FAINTEST)
        return found
    rows, near = found.get(MEANING, (np.empty(0, np.int64), np.empty(0)))
    kept = np.sort(rows[1 - near <= asking.max_distance])
    return {name: (rows[inside], scores[inside]) for name, (rows, scores) in found.items() for inside in (is_member(rows, kept),)}


def _facts(corpus: NoteReader, rows: Array, asking: RecallRun) -> list[NoteFacts]:
    numbers = corpus.column("ids")[rows].tolist() if len(rows) else []
    store = asking.catalog.store
    known = {row[0]: row[1:] for row in store.rows_in("SELECT id, key, project, topic FROM notes WHERE id IN ({})", numbers)}
    changed = asking.changed(numbers)
    lost = (b"", "", "")  # deleted since by another process: it falls out when its file is read
    found = [(number, *known.get(number, lost)) for number in numbers]
    return [NoteFacts(told(key), project, topic, changed.get(number, "")) for number, key, project, topic in found]


def _without_doubles(ranked: RankedNotes, asking: RecallRun) -> RankedNotes:
    """Notes that say nearly the same once, the best of them, as far as the answer reaches."""
    sets: dict[int, frozenset[int]] = {}
    shown: list[int] = []
    alike: dict[int, list[int]] = {}
    pool, text, share = ranked.pool, ranked.pool.text, asking.settings.alike
    starts = np.searchsorted(text.owner, np.arange(len(pool.units) + 1))
    for place, row in enumerate(ranked.order):
        if place >= DOUBLES_EACH * asking.k:  # what is alike stands near
            shown += ranked.order[place:]
            break
        sets[row] = frozenset(text.stems[starts[row] : starts[row + 1]].tolist())
        size = len(sets[row])
        near = [one for one in shown[: asking.k] if share * size <= len(sets[one]) <= size / share]  # most pairs end here
        double = next((one for one in near if _alike(sets[one], sets[row], share)), None)
        if double is None:
            shown.append(row)
        else:
            alike.setdefault(double, []).append(row)
    return replace(ranked, order=shown, alike=alike)


def _alike(one: frozenset[int], other: frozenset[int], share: float) -> bool:
    if min(len(one), len(other)) < FEW_WORDS:
        return bool(one) and one == other
    return len(one & other) >= share * len(one | other)


def in_categories(ranked: RankedNotes, k: int) -> list[int]:
    """The k best, by category in its order, and within one by score (M4)."""
    corpus = ranked.pool.evidence.corpus
    best = ranked.order[:k]
    kinds = corpus.column("kinds")[ranked.pool.units[best]].tolist() if best else []
    category = {row: CATEGORY_OF[KINDS[kind]] if kind < len(KINDS) else CATEGORIES[0] for row, kind in zip(best, kinds, strict=True)}
    return sorted(best, key=lambda row: CATEGORIES.index(category[row]))


def label_of(pool: NotePool, row: int) -> str:
    """How a candidate was found (M5)."""
    confirmed = bool(pool.matched[row].any())
    if pool.semantic[row] > 0:
        return EXACT if confirmed else SEMANTIC
    if confirmed:
        return KEYWORD_ONLY
    return DATED if np.isfinite(pool.retrieved.get(TIMES, np.full(len(pool.units), np.nan))[row]) else FAINT
