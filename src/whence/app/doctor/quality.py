"""Measured search quality: questions made from the repository's own commits and doc comments, with known answers.

What the index knows of the answer is set aside first: the past for commits, the comment itself for doc comments.
Counting words gives the baseline.
"""

from __future__ import annotations

import math
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from whence.app.doctor.finding import OK, SKIPPED, WARNING, Finding
from whence.app.doctor.index_files import ReadOnlyIndexStore
from whence.core.errors import ModelUnavailable
from whence.core.settings import Settings
from whence.core.types import CODE, DEFINITIONS, Unit
from whence.embed.encoder import NONE, SHIPPED, Encoder, open_encoder
from whence.index.layout import Layout
from whence.index.segment import Segment, open_segment, unpack_parsed
from whence.index.snapshot import Snapshot
from whence.index.store import IndexStore
from whence.index.vectors import SegmentVectors, open_vectors
from whence.index.worker import Batch, run_batch, vectors_path
from whence.parse.languages import language_of
from whence.parse.paths import is_source
from whence.query.filters import Filters
from whence.query.plan import make_plan
from whence.retrieval.lexical import FieldWeights, TermStatistics
from whence.search.pipeline import SearchRun, answer
from whence.search.request import ResolvedRequest
from whence.source.git import read_head
from whence.source.history import UNINFORMATIVE_SUBJECT, read_history
from whence.storage.postings import dead_mask
from whence.text import analyzer
from whence.text.analyzer import QUERY_STOP_WORDS

if TYPE_CHECKING:
    from whence.source.history import Commit


KINDS = COMMITS, DOC_COMMENTS = ("commits", "doc comments")
DEPTH = 10
MIN_WORDS, MAX_WORDS = 4, 30
#: A commit that changed more source files, or more files, is not about any of them in particular.
MAX_ANSWERS, MAX_CHANGED = 3, 10
#: Larger files are not parsed for a question.
MAX_BYTES = 200_000
#: Signals that use past commits, and so know the answers to questions made from commits.
HISTORY_SIGNALS = ("precedent", "recency")
#: Commits read for each question: most say nothing, or changed too much.
COMMITS_PER_QUESTION = 12
#: Fewer questions than this prove nothing.
MIN_QUESTIONS = 10

_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_PARAGRAPH = re.compile(r"\n\s*\n|\n\s*(?:[@:\\]\w+|Args|Returns|Parameters|Example)\b")
#: Comments that do not describe the code.
_NO_DESCRIPTION = re.compile(r"copyright|licen[cs]e|todo|fixme|noqa|pylint|eslint|generated|do not edit|https?://", re.IGNORECASE)
_REFERENCE = re.compile(r"\(?(?:gh-|#)\d+\)?:?|\b[A-Z]{2,}-\d+\b|\b[0-9a-f]{7,40}\b")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the files that answer it (any of them)."""

    text: str
    answers: tuple[str, ...]


#: A question from a doc comment, and its file with the comments of that definition blanked.
MaskedFile = tuple[Question, bytes]


# Making questions.
def shuffled(paths: Sequence[str]) -> list[str]:
    """Paths in an arbitrary order that is the same every time."""
    return sorted(paths, key=lambda path: (zlib.crc32(path.encode("utf-8", "surrogateescape")[::-1]), path))


def mask_comment(path: str, source: bytes) -> MaskedFile | None:
    """A question from one of a file's doc comments, and the file with that definition's comments blanked; None without one."""
    found = mask_definition(path, source)
    return None if found is None else (Question(question_of(found[0]), (path,)), found[1])


def mask_definition(path: str, source: bytes) -> tuple[Unit, bytes] | None:
    """One of a file's documented definitions, and the file with the comments of that definition blanked; None without one."""
    from whence.parse.units import parse  # noqa: PLC0415  -- grammars

    if not is_source(path) or len(source) > MAX_BYTES:
        return None
    parsed = parse(source, language_of(path, source[:4_096]).name)
    candidates = [unit for unit in parsed.units if unit.kind in DEFINITIONS and question_of(unit)]
    if not candidates:
        return None
    unit = candidates[zlib.crc32(source) % len(candidates)]
    blanked = bytearray(source)
    for start, end in parsed.comments:
        if unit.start <= start and end <= unit.end:  # comment markers stay, so that the file parses as before
            blanked[start:end] = bytes(byte if byte in b"\n\r\"'#/*-{}" else 32 for byte in source[start:end])
    return unit, bytes(blanked)


def question_of(unit: Unit) -> str:
    """The first sentence of a unit's doc comment without the words of its name; empty if too little is left."""
    text = first_sentence(unit.doc)
    if not text or _NO_DESCRIPTION.search(text) or len(text.split()) > MAX_WORDS:
        return ""
    own = {term for name in (unit.name, *unit.parents) for term in analyzer.terms(name)}
    left = analyzer.WORD.sub(lambda word: "" if own & set(analyzer.terms(word[0])) else word[0], text)
    return " ".join(left.split()) if _has_enough_words(left) else ""


def first_sentence(doc: str) -> str:
    """The first sentence of a doc comment, on one line."""
    paragraph = _PARAGRAPH.split(doc, maxsplit=1)[0].strip(" :*-/#|\"'\n")
    sentence = _SENTENCE.match(paragraph)
    return " ".join((sentence[1] if sentence else paragraph).split())


def _has_enough_words(text: str) -> bool:
    return len({word.lower() for word in analyzer.words(text)} - QUERY_STOP_WORDS) >= MIN_WORDS


def questions_from_commits(commits: Sequence[Commit], exists: Callable[[str], bool], count: int) -> list[Question]:
    """The subjects of the newest commits that changed few files, all of which still exist; no subject twice."""
    questions: dict[str, Question] = {}
    for commit in commits:
        subject = _REFERENCE.sub(" ", commit.message.partition("\n")[0])
        text = " ".join(subject.split())
        files = tuple(path for path in commit.paths if is_source(path))
        is_specific = 1 <= len(files) <= MAX_ANSWERS and len(commit.paths) <= MAX_CHANGED and all(map(exists, files))
        if is_specific and _has_enough_words(text) and not UNINFORMATIVE_SUBJECT.search(text) and not _NO_DESCRIPTION.search(text):
            questions.setdefault(text.lower(), Question(text, files))
        if len(questions) >= count:
            break
    return list(questions.values())


# Scores.
@dataclass(frozen=True, slots=True)
class RecallAtK:
    """How often an answer was the first result, or among the first ten."""

    questions: int
    first: float
    ten: float
    mrr: float

    @classmethod
    def of(cls, ranks: Sequence[int | None]) -> RecallAtK:
        """From the rank of the first answer to each question; None if it is not among the first ten."""
        count = len(ranks) or 1
        found = [rank for rank in ranks if rank is not None]
        return cls(len(ranks), sum(rank == 1 for rank in found) / count, len(found) / count, sum(1 / rank for rank in found) / count)

    @property
    def margin(self) -> float:
        """The error margin of `ten` (two standard errors)."""
        return 2 * math.sqrt(self.ten * (1 - self.ten) / self.questions) if self.questions else 1.0


@dataclass(frozen=True, slots=True)
class QualityReport:
    """The scores of one kind of question: of search, and of the baseline that counts words."""

    kind: str
    search: RecallAtK
    baseline: RecallAtK


class MeasuredIndex:
    """An index without history, in which some files are replaced by their masked versions."""

    def __init__(self, layout: Layout, store: IndexStore, settings: Settings) -> None:
        self._layout, self._store, self._settings = layout, store, settings
        self._encoder = _encoder(settings)
        signals = {name: weight for name, weight in settings.profile.signals.items() if name not in HISTORY_SIGNALS}
        self._profile = replace(settings.profile, signals=signals)
        self._weights = FieldWeights.of(self._profile)
        self._masked: dict[str, bytes] = {}
        self.snapshot = self._open_snapshot()

    def source(self, path: str) -> bytes | None:
        """The content of a file, masked if it was; None if it is gone or not text."""
        from whence.source.read import read_masked  # noqa: PLC0415

        masked = self._masked.get(path)
        return masked if masked is not None else read_masked(self._layout.root, path, self._settings.index.max_file_bytes + 1)

    def read_text(self, path: str) -> str | None:
        """The text of a file, masked if it was; None if it is gone or not text."""
        source = self.source(path)
        return None if source is None else source.decode("utf-8", "replace")

    def find_lines(self, paths: Iterable[str], find: Callable[[bytes], list[int]]) -> Iterator[tuple[str, list[int]]]:
        """The files in whose text `find` finds lines, with these lines."""
        return ((path, lines) for path in paths if (lines := find(self.source(path) or b"")))

    def paths(self) -> list[str]:
        """The code files, sorted."""
        return sorted(self.snapshot.path(file) for file in np.flatnonzero(self.snapshot.content_mask(CODE)).tolist())

    def has_doc_comments(self, path: str) -> bool:
        """Whether a file had a usable doc comment when it was indexed: parsing it again would take ten times as long."""
        blob = self.snapshot.parsed_of(path) if is_source(path) else None
        return blob is not None and any(unit.doc and question_of(unit) for unit in unpack_parsed(blob).units)

    def mask(self, files: Sequence[MaskedFile], folder: Path, now_ns: int) -> None:
        """Replace files by their masked versions, indexed into a segment in a temporary folder."""
        masked = {question.answers[0]: source for question, source in files}
        for path, source in masked.items():
            (folder / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "tree" / path).write_bytes(source)
        index, out = self._settings.index, str(folder / "masked.segment")
        places, limits = (str(folder / "tree"), list(masked), out, str(self._layout.grammars)), (index.max_file_bytes, index.max_line_bytes)
        done = run_batch(Batch(*places, *limits, now_ns, SHIPPED if self._encoder is not None else NONE))
        if done.stamp is not None:
            self._masked = {record.path: masked[record.path] for record in done.records if record.row >= 0}
            vectors = open_vectors(vectors_path(out), done.vectors) if done.vectors is not None else None
            self.snapshot = self._open_snapshot((open_segment(Path(out), done.stamp), vectors))

    def _open_snapshot(self, masked: tuple[Segment, SegmentVectors | None] | None = None) -> Snapshot:
        """The snapshot with the masked segment in place of the files it replaces, and without history."""
        rows, dead, place = self._store.segments(), self._store.dead_rows(), self._layout.segments
        segments = [open_segment(place / row.name, row.stamp) for row in rows]
        masks = []
        for row, one in zip(rows, segments, strict=True):
            replaced = [at for at, path in enumerate(one.paths.all()) if path in self._masked] if self._masked else []
            masks.append(dead_mask(row.files, [*dead.get(row.id, []), *replaced]))
        known = self._store.vectors_of(self._encoder.fingerprint if self._encoder else "")
        listed = {at: known[row.id] for at, row in enumerate(rows) if row.id in known}
        vectors = {at: open_vectors(place / row.name, row.stamp) for at, row in listed.items()}
        if masked is not None:
            segments.append(masked[0])
            masks.append(dead_mask(masked[0].files, []))
            vectors |= {len(rows): masked[1]} if masked[1] is not None else {}
        snapshot = Snapshot(segments, masks)
        snapshot.set_vectors(vectors)
        return snapshot

    def search(self, question: str) -> list[str]:
        """The first files that search finds, without history."""
        chosen = self._settings.search
        request = ResolvedRequest(k=DEPTH, strategy=chosen.strategy, filters=Filters(content=CODE))
        sizes = (chosen.pool, chosen.pool_per_result)
        asking = SearchRun(self.snapshot, self._profile, self._weights, request, *sizes, self, self._encoder)
        return [self.snapshot.path(found.hit.file) for found in answer(question, asking)]

    def count_words(self, question: str) -> list[str]:
        """The baseline: files by how many of the question's words they hold, then by how often, like a patient grep."""
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


def _encoder(settings: Settings) -> Encoder | None:
    """The shipped encoder, if it is in use. Any other would take minutes to encode the masked files."""
    try:
        return open_encoder(SHIPPED) if settings.index.model == SHIPPED else None
    except ModelUnavailable:
        return None


# Measuring.
def measure(layout: Layout, settings: Settings, *, questions: int, seconds: float, now_ns: int) -> Iterator[QualityReport]:
    """Ask this many questions of each kind, or as many as there is time for; a kind without questions is left out."""
    deadline = time.monotonic() + seconds
    with closing(ReadOnlyIndexStore(layout.database)) as store, TemporaryDirectory(prefix="whence-doctor-") as folder:
        index = MeasuredIndex(layout, store, settings)
        head, paths = read_head(layout.root), set(index.paths())
        commits = read_history(layout.root, head.commit, COMMITS_PER_QUESTION * questions) if head is not None else None
        asked = questions_from_commits(commits or [], paths.__contains__, questions)
        yield from _ask(COMMITS, index, asked, _third_of_the_time(deadline))
        masked = _masked_files(index, questions, _third_of_the_time(deadline))
        if masked:
            index.mask(masked, Path(folder), now_ns)
            yield from _ask(DOC_COMMENTS, index, [question for question, _ in masked], deadline)


def _third_of_the_time(deadline: float) -> float:
    """An earlier deadline that leaves time for the steps that follow."""
    now = time.monotonic()
    return now + max(deadline - now, 0.0) / 3


def _masked_files(index: MeasuredIndex, count: int, deadline: float) -> list[MaskedFile]:
    """Questions from doc comments all over the tree, one per file, as many as are found in time."""
    files: dict[str, MaskedFile] = {}
    for path in shuffled(index.paths()):
        source = index.source(path) if index.has_doc_comments(path) else None
        masked = mask_comment(path, source) if source is not None else None
        if masked is not None:
            files.setdefault(masked[0].text, masked)
        if len(files) >= count or time.monotonic() > deadline:
            break
    return list(files.values())


def _ask(kind: str, index: MeasuredIndex, questions: Sequence[Question], deadline: float) -> Iterator[QualityReport]:
    ranks: list[int | None] = []
    baseline: list[int | None] = []
    for one in questions:
        ranks.append(_rank(index.search(one.text), one.answers))
        baseline.append(_rank(index.count_words(one.text), one.answers))
        if time.monotonic() > deadline and len(ranks) >= MIN_QUESTIONS:
            break
    if ranks:
        yield QualityReport(kind, RecallAtK.of(ranks), RecallAtK.of(baseline))


def _rank(results: Sequence[str], answers: Sequence[str]) -> int | None:
    return next((rank for rank, path in enumerate(results, 1) if path in answers), None)


_DESCRIPTIONS = {
    COMMITS: "recent commits, searched by subject: a changed file is",
    DOC_COMMENTS: "doc comments, searched by first sentence with the comment blanked: the file is",
}


def recall(reports: Sequence[QualityReport], model: str) -> Iterator[Finding]:
    """The findings about measured quality."""
    for one in reports:
        search, baseline = one.search, one.baseline
        shares = f"first in {search.first:.0%} and among the first ten in {search.ten:.0%} (± {search.margin:.0%})"
        message = f"{search.questions} {_DESCRIPTIONS[one.kind]} {shares}; counting words: {baseline.first:.0%} and {baseline.ten:.0%}"
        facts = {"kind": one.kind, "model": model, "search": asdict(search), "floor": asdict(baseline)}
        is_worse = search.questions >= MIN_QUESTIONS and search.ten < baseline.ten and search.mrr < baseline.mrr
        hint = "counting words does better here: check the settings, then report it with the output of --json" if is_worse else ""
        details = (_figures(search), f"{_figures(baseline)}  by counting words")
        yield Finding("recall", WARNING if is_worse else OK, message, hint, details, facts)
    missing = [kind for kind in KINDS if kind not in {one.kind for one in reports}]
    if missing:
        yield Finding("recall", SKIPPED, f"no questions could be made from {' and '.join(missing)}")


def _figures(score: RecallAtK) -> str:
    return f"R@1 {score.first:.3f}  R@10 {score.ten:.3f}  MRR {score.mrr:.3f}"
