"""Questions that a repository answers itself: its doc comments and its commits, each with the file it speaks of."""

from __future__ import annotations

import math
import re
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from whence.app.doctor.finding import OK, SKIPPED, WARNING, Finding
from whence.app.doctor.index_files import ReadOnly
from whence.core.errors import ModelUnavailable
from whence.core.profiles import Profile
from whence.core.settings_schema import Settings
from whence.core.types import DEFINITIONS, Unit
from whence.embed.encoder import Encoder
from whence.embed.registry import NONE, SHIPPED, open_encoder
from whence.index.layout import Layout
from whence.index.opening import vectors_of
from whence.index.parsed import unpack_parsed
from whence.index.segment import Segment, open_segment
from whence.index.snapshot import Snapshot
from whence.index.store import IndexStore
from whence.index.vectors import SegmentVectors, open_vectors
from whence.index.worker import Batch, run_batch, vectors_path
from whence.parse.languages import CODE, language_of
from whence.parse.paths import is_source
from whence.query.filters import Filters
from whence.query.plan import make_plan
from whence.retrieval.term_statistics import FieldWeights, TermStatistics
from whence.search.pipeline import SearchRun, answer
from whence.search.request import ResolvedRequest
from whence.source.git import read_head
from whence.source.history import UNINFORMATIVE_SUBJECT, read_history
from whence.storage.rows import dead_mask
from whence.text import analyzer
from whence.text.stop_words import QUERY_STOP_WORDS

if TYPE_CHECKING:
    from whence.source.history import Commit


FEWEST_WORDS, MOST_WORDS = 4, 30
#: A commit that changed more is about no file in particular.
MOST_WANTED, MOST_TOUCHED = 3, 10
#: A larger file is not parsed for a question.
MOST_BYTES = 200_000

_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_PARAGRAPH = re.compile(r"\n\s*\n|\n\s*(?:[@:\\]\w+|Args|Returns|Parameters|Example)\b")
#: Comments that say nothing of the code below them.
_BESIDE = re.compile(r"copyright|licen[cs]e|todo|fixme|noqa|pylint|eslint|generated|do not edit|https?://", re.IGNORECASE)
_REFERENCE = re.compile(r"\(?(?:gh-|#)\d+\)?:?|\b[A-Z]{2,}-\d+\b|\b[0-9a-f]{7,40}\b")


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A question, and the files of which one answers it."""

    text: str
    wanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MaskedFile:
    """A question from a doc comment, and its file without any comment of the definition that it speaks of."""

    known: KnownItem
    source: bytes


def in_chance_order(paths: Sequence[str]) -> list[str]:
    """Paths in an order that has nothing to do with what they are, and is the same every time."""
    return sorted(paths, key=lambda path: (zlib.crc32(path.encode("utf-8", "surrogateescape")[::-1]), path))


def masked(path: str, source: bytes) -> MaskedFile | None:
    """A question from one of the doc comments of a file, and the file with that definition's comments blanked."""
    from whence.parse.units import parse  # noqa: PLC0415  -- grammars

    if not is_source(path) or len(source) > MOST_BYTES:
        return None
    parsed = parse(source, language_of(path, source[:4_096]).name)
    fit = [(unit, text) for unit in parsed.units if unit.kind in DEFINITIONS if (text := question_of(unit))]
    if not fit:
        return None
    unit, text = fit[zlib.crc32(source) % len(fit)]
    blanked = bytearray(source)
    for start, end in parsed.comments:
        if unit.start <= start and end <= unit.end:  # what marks a comment stays, so that the file is parsed as before
            blanked[start:end] = bytes(byte if byte in b"\n\r\"'#/*-{}" else 32 for byte in source[start:end])
    return MaskedFile(KnownItem(text, (path,)), bytes(blanked))


def question_of(unit: Unit) -> str:
    """The first sentence of a unit's doc comment without the words of its name; empty when too little is left."""
    paragraph = _PARAGRAPH.split(unit.doc, maxsplit=1)[0].strip(" :*-/#|\"'\n")
    sentence = _SENTENCE.match(paragraph)
    said = " ".join((sentence[1] if sentence else paragraph).split())
    if not said or _BESIDE.search(said) or len(said.split()) > MOST_WORDS:
        return ""
    own = {term for name in (unit.name, *unit.parents) for term in analyzer.terms(name)}
    left = analyzer.WORD.sub(lambda word: "" if own & set(analyzer.terms(word[0])) else word[0], said)
    return " ".join(left.split()) if says_enough(left) else ""


def says_enough(text: str) -> bool:
    """Whether a text has enough words to be a question."""
    return len({word.lower() for word in analyzer.words(text)} - QUERY_STOP_WORDS) >= FEWEST_WORDS


def from_commits(commits: Sequence[Commit], there: Callable[[str], bool], wanted: int) -> list[KnownItem]:
    """The subjects of the newest commits that changed few files which are still there, no subject twice."""
    found: dict[str, KnownItem] = {}
    for commit in commits:
        subject = _REFERENCE.sub(" ", commit.message.partition("\n")[0])
        text = " ".join(subject.split())
        files = tuple(path for path in commit.paths if is_source(path))
        fit = 1 <= len(files) <= MOST_WANTED and len(commit.paths) <= MOST_TOUCHED and all(map(there, files))
        if fit and says_enough(text) and not UNINFORMATIVE_SUBJECT.search(text) and not _BESIDE.search(text):
            found.setdefault(text.lower(), KnownItem(text, files))
        if len(found) >= wanted:
            break
    return list(found.values())


def text_on_disk(root: Path, path: str, most: int) -> bytes | None:
    """A file as it is indexed, or None."""
    from whence.source.read import read_masked  # noqa: PLC0415

    return read_masked(root, path, most + 1)


KINDS = COMMITS, DOC_COMMENTS = ("commits", "doc comments")
DEPTH = 10
#: Signals that speak of the past, and so of the commits that are asked about.
OF_THE_PAST = ("precedent", "recency")
#: Commits that are read for each question that is wanted: most tell nothing, or changed too much.
COMMITS_EACH = 12
#: Fewer questions than this say nothing in either direction.
FEWEST = 10


@dataclass(frozen=True, slots=True)
class RecallAtK:
    """What came of some questions: how many, and how often one of the wanted files came first, or among the first ten."""

    questions: int
    first: float
    ten: float
    mrr: float

    @classmethod
    def of(cls, ranks: Sequence[int | None]) -> RecallAtK:
        """From the place of the first wanted file in each answer; None where it is not among the first ten."""
        count = len(ranks) or 1
        found = [rank for rank in ranks if rank is not None]
        return cls(len(ranks), sum(rank == 1 for rank in found) / count, len(found) / count, sum(1 / rank for rank in found) / count)

    @property
    def margin(self) -> float:
        """How far the share among the first ten may be off, for so few questions were asked (two standard errors)."""
        return 2 * math.sqrt(self.ten * (1 - self.ten) / self.questions) if self.questions else 1.0


@dataclass(frozen=True, slots=True)
class QualityReport:
    """One kind of question, answered by search and by counting words."""

    kind: str
    search: RecallAtK
    floor: RecallAtK


class MeasuredIndex:
    """An index as it is asked: some files in other words, and no past."""

    def __init__(self, layout: Layout, store: IndexStore, settings: Settings) -> None:
        self._layout, self._store, self._settings = layout, store, settings
        self._encoder = _encoder(settings)
        self._profile = without_the_past(settings.profile)
        self._weights = FieldWeights.of(self._profile)
        self._instead: dict[str, bytes] = {}
        self.snapshot = self._opened()

    def raw(self, path: str) -> bytes | None:
        """A file as the view has it, or None where it is gone or no text."""
        found = self._instead.get(path)
        return found if found is not None else text_on_disk(self._layout.root, path, self._settings.index.max_file_bytes)

    def _read(self, path: str, wanted: Callable[[str], object] | None = None) -> str | None:
        found = self.raw(path)
        text = None if found is None else found.decode("utf-8", "replace")
        return text if text is None or wanted is None or wanted(text) else None

    def paths(self) -> list[str]:
        """The files of code, in order."""
        return sorted(self.snapshot.path(file) for file in np.flatnonzero(self.snapshot.content_mask(CODE)).tolist())

    def documented(self, path: str) -> bool:
        """Whether a file had a doc comment to ask about when it was indexed: parsing it now takes ten times as long."""
        blob = self.snapshot.parsed_of(path) if is_source(path) else None
        return blob is not None and any(unit.doc and question_of(unit) for unit in unpack_parsed(blob).units)

    def hide(self, found: Sequence[MaskedFile], place: Path, now_ns: int) -> None:
        """Put files without some of their comments in the place of the real ones."""
        instead = {one.known.wanted[0]: one.source for one in found}
        for path, source in instead.items():
            (place / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
            (place / "tree" / path).write_bytes(source)
        index, out = self._settings.index, str(place / "masked.segment")
        done = run_batch(
            Batch(
                str(place / "tree"),
                list(instead),
                out,
                str(self._layout.grammars),
                index.max_file_bytes,
                index.max_line_bytes,
                now_ns,
                SHIPPED if self._encoder is not None else NONE,
            )
        )
        if done.stamp is not None:
            self._instead = {record.path: instead[record.path] for record in done.records if record.row >= 0}
            vectors = open_vectors(vectors_path(out), done.vectors) if done.vectors is not None else None
            self.snapshot = self._opened((open_segment(Path(out), done.stamp), vectors))

    def _opened(self, beside: tuple[Segment, SegmentVectors | None] | None = None) -> Snapshot:
        """The snapshot without what is hidden, and with the segment that holds it in other words. Columns of the past are not opened."""
        rows, dead, place = self._store.segments(), self._store.dead_rows(), self._layout.segments
        segments = [open_segment(place / row.name, row.stamp) for row in rows]
        masks = [dead_mask(row.files, [*dead.get(row.id, []), *self._hidden(found)]) for row, found in zip(rows, segments, strict=True)]
        known = vectors_of(self._store, self._encoder.fingerprint if self._encoder else "")
        listed = {at: known[row.id] for at, row in enumerate(rows) if row.id in known}
        vectors = {at: open_vectors(place / row.name, row.stamp) for at, row in listed.items()}
        if beside is not None:
            segments.append(beside[0])
            masks.append(dead_mask(beside[0].files, []))
            vectors |= {len(rows): beside[1]} if beside[1] is not None else {}
        snapshot = Snapshot(segments, masks)
        snapshot.open_vectors(vectors)
        return snapshot

    def _hidden(self, segment: Segment) -> list[int]:
        return [row for row, path in enumerate(segment.paths.all()) if path in self._instead] if self._instead else []

    def search(self, question: str) -> list[str]:
        """The first files that search gives, with what it knows of the past set aside."""
        chosen = self._settings.search
        request = ResolvedRequest(k=DEPTH, strategy=chosen.strategy, filters=Filters(content=CODE))
        sizes = (chosen.pool, chosen.pool_per_result)
        asking = SearchRun(self.snapshot, self._profile, self._weights, request, *sizes, self._read, self._encoder)
        return [self.snapshot.path(found.hit.file) for found in answer(question, asking)]

    def count_words(self, question: str) -> list[str]:
        """The first files by how many of the question's words they hold, then by how often they hold them: grep, with patience."""
        evidence = TermStatistics(self.snapshot, make_plan(question, decay=0.0, quoted=1.0), self._profile, self._weights)
        held, often = np.zeros(self.snapshot.files, np.int64), np.zeros(self.snapshot.files, np.int64)
        for found in evidence.terms:
            held[found.files] += 1
            windows, counts = found.windows
            often += np.bincount(
                np.searchsorted(self.snapshot.window_starts[1:], windows, side="right"), weights=counts, minlength=self.snapshot.files
            ).astype(np.int64)
        rows = np.flatnonzero((held > 0) & self.snapshot.content_mask(CODE))
        best = rows[np.lexsort((rows, -often[rows], -held[rows]))[:DEPTH]]
        return [self.snapshot.path(row) for row in best.tolist()]


def without_the_past(profile: Profile) -> Profile:
    """A profile in which the past has no say."""
    return replace(profile, signals={name: weight for name, weight in profile.signals.items() if name not in OF_THE_PAST})


def _encoder(settings: Settings) -> Encoder | None:
    """The shipped encoder, if it is in use. Another would take minutes for the files that are read anew."""
    try:
        return open_encoder(SHIPPED) if settings.index.model == SHIPPED else None
    except ModelUnavailable:
        return None


def measure(layout: Layout, settings: Settings, *, questions: int, seconds: float, now_ns: int) -> Iterator[QualityReport]:
    """Ask so many questions of each kind, or as many as the seconds allow; a kind of which there are none is left out."""
    deadline = time.monotonic() + seconds
    store = ReadOnly(layout.database)
    try:
        with TemporaryDirectory(prefix="whence-doctor-") as place:
            view = MeasuredIndex(layout, store, settings)
            told = _told(view, layout.root, questions)
            yield from _asked(COMMITS, view, told, _part_way(deadline))
            drawn = _drawn(view, questions, _part_way(deadline))
            if drawn:
                view.hide(drawn, Path(place), now_ns)
                yield from _asked(DOC_COMMENTS, view, [one.known for one in drawn], deadline)
    finally:
        store.close()


def _part_way(deadline: float) -> float:
    """A third of the way from now to a deadline: what comes first leaves time for the rest."""
    now = time.monotonic()
    return now + max(deadline - now, 0.0) / 3


def _told(view: MeasuredIndex, root: Path, questions: int) -> list[KnownItem]:
    """Questions from the subjects of the newest commits."""
    commit, there = read_head(root), set(view.paths())
    commits = read_history(root, commit.commit, COMMITS_EACH * questions) if commit is not None else None
    return from_commits(commits or [], there.__contains__, questions)


def _drawn(view: MeasuredIndex, questions: int, deadline: float) -> list[MaskedFile]:
    """Questions from doc comments of files all over the tree, one for each file, as many as are found in time."""
    drawn: dict[str, MaskedFile] = {}
    for path in in_chance_order(view.paths()):
        source = view.raw(path) if view.documented(path) else None
        found = masked(path, source) if source is not None else None
        if found is not None:
            drawn.setdefault(found.known.text, found)
        if len(drawn) >= questions or time.monotonic() > deadline:
            break
    return list(drawn.values())


def _asked(kind: str, view: MeasuredIndex, known: Sequence[KnownItem], deadline: float) -> Iterator[QualityReport]:
    ranks: list[int | None] = []
    floors: list[int | None] = []
    for one in known:
        ranks.append(_rank(view.search(one.text), one.wanted))
        floors.append(_rank(view.count_words(one.text), one.wanted))
        if time.monotonic() > deadline and len(ranks) >= FEWEST:
            break
    if ranks:
        yield QualityReport(kind, RecallAtK.of(ranks), RecallAtK.of(floors))


def _rank(found: Sequence[str], wanted: Sequence[str]) -> int | None:
    return next((place for place, path in enumerate(found, 1) if path in wanted), None)


_SAID = {
    COMMITS: "recent commits: asked with its subject, one of the files that it changed is",
    DOC_COMMENTS: "doc comments, blanked for it: asked with the first sentence, its file is",
}


def recall(measured: Sequence[QualityReport], model: str) -> Iterator[Finding]:
    """What was measured, in plain words."""
    for one in measured:
        found, floor = one.search, one.floor
        shares = f"first in {found.first:.0%} and among the first ten in {found.ten:.0%} (± {found.margin:.0%})"
        said = f"{found.questions} {_SAID[one.kind]} {shares}; counting words: {floor.first:.0%} and {floor.ten:.0%}"
        facts = {"kind": one.kind, "model": model, "search": asdict(found), "floor": asdict(floor)}
        worse = found.questions >= FEWEST and found.ten < floor.ten and found.mrr < floor.mrr
        hint = "counting words does better here: look at the settings, then report it with what --json says" if worse else ""
        yield Finding("recall", WARNING if worse else OK, said, hint, (_figures(found), f"{_figures(floor)}  by counting words"), facts)
    missing = [kind for kind in KINDS if kind not in {one.kind for one in measured}]
    if missing:
        yield Finding("recall", SKIPPED, f"nothing to ask from {' and '.join(missing)}")


def _figures(score: RecallAtK) -> str:
    return f"R@1 {score.first:.3f}  R@10 {score.ten:.3f}  MRR {score.mrr:.3f}"
