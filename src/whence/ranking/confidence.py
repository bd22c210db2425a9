"""The probability that an answer holds what was asked for (Z1).

A logistic over ten features of the query and the leading files, fitted on questions with and without an answer in the
tree (`training/learn_confidence.py`, docs/confidence.md). Every feature is read off the ranked pool; nothing is searched again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.storage.postings import first_of_each, is_member
from whence.text import analyzer
from whence.text.analyzer import QUERY_STOP_WORDS

if TYPE_CHECKING:
    from whence.query.plan import QueryPlan
    from whence.ranking.ledger import Ledger
    from whence.ranking.pool import CandidatePool, FileHit
    from whence.storage.arrayfile import Array

WEIGHTS = Path(__file__).parents[1] / "core" / "weights" / "confidence.json"
#: Leading files that are looked at: about as many as a reader would open.
MAX_LEADING = 10
#: Only the first terms, words and names of a query are looked up: a pasted document has thousands.
MAX_LOOKED_UP = 40
#: Tree sizes in units, clamped to the range that the weights were fitted on.
SIZES = (200, 30_000)
#: Words that a reason names, and words that excluded files are searched for.
MAX_NAMED, MAX_SOUGHT = 3, 2
#: A unit that holds this share of the query's words holds more than one of them.
APART = 0.75
#: "Only X holds it" is said of terms in at most this many files.
FEW_FILES = 2
MIN_PREFIX = 3
#: A name mentioned in this many files is in use here, even if it is defined elsewhere.
MIN_MENTIONS = 2
#: Marks of an identifier: an underscore, or a capital where a part begins.
_IDENTIFIER = re.compile(r"[_$]|[a-z\d][A-Z]|[A-Z]{2}[a-z]{2}")
NOTHING_FOUND = "nothing that was searched holds any word of it"


@dataclass(frozen=True, slots=True)
class Confidence:
    """The probability that the answer is among the results, and what speaks against it."""

    probability: float
    line: float  # below it, the answer is "not here"
    because: str = ""
    sought: tuple[str, ...] = ()  # prefixes that a file must hold to be the answer

    @property
    def here(self) -> bool:
        """Whether the results may be taken for an answer."""
        return self.probability >= self.line

    def warning(self, *more: str) -> str:
        """That the answer is most likely not here, and why; empty if it may be."""
        because = "; ".join(filter(None, (self.because, *more)))
        return "" if self.here else f"not here, most likely (confidence {self.probability:.2f}): {because}"


@dataclass(frozen=True, slots=True)
class ConfidenceFeatures:
    """Inputs of the logistic. Shares are of the query's words, the first ones weighing more."""

    near: float  # similarity of the first file
    nearest: float  # similarity of the nearest candidate
    held: float  # the share that the first file holds
    together: float  # the largest share that one unit of the leading files holds
    written: float  # the share that occurs somewhere exactly as written
    file_name: float  # how well the best-named leading file fits
    unknown_names: float  # the share of the query's identifiers that no file mentions
    undefined: float  # 1 if the query is a name that is neither defined nor used here
    length: float  # 0: a short question, 1: a long text or a change request
    size: float  # of the tree, logarithmic: a large one holds something similar by chance
    has_vectors: bool = True


@dataclass(frozen=True, slots=True)
class LeadingFiles:
    """The ranked pool of an answer with its first files."""

    pool: CandidatePool
    ledger: Ledger
    hits: Sequence[FileHit]  # best first, at most MAX_LEADING
    shown: Array  # all files of the answer, sorted

    @property
    def files(self) -> Array:
        """The leading files."""
        return np.array([hit.file for hit in self.hits])

    @property
    def rows(self) -> list[int]:
        """Their best candidates, as rows of the pool."""
        return [hit.row for hit in self.hits]


def confidence_of(leading: LeadingFiles, line: float, *, shipped_model: bool = True) -> Confidence | None:
    """The confidence in an answer; None where the query has no words.

    Only the shipped model's similarities were fitted: with another model the words alone decide.
    """
    if not leading.pool.plan.words:
        return None
    features = features_of(leading)
    by_vectors = shipped_model and features.has_vectors
    probability = probability_of(features, fitted_weights()["meaning" if by_vectors else "words"])
    exact = leading.pool.exact
    probability = max(probability, exact.certainty if exact is not None else 0.0)  # text found as typed is here
    if probability >= line:
        return Confidence(probability, line)
    return Confidence(probability, line, "; ".join(_reasons(leading, features, by_vectors=by_vectors)), _sought(leading.pool, features))


def nothing_found(query: str, line: float) -> Confidence:
    """The confidence in an empty answer."""
    words = dict.fromkeys(word for word in analyzer.words(query) if word.lower() not in QUERY_STOP_WORDS)
    return Confidence(0.0, line, NOTHING_FOUND, tuple(_prefix(word.lower()) for word in words)[:MAX_SOUGHT])


def probability_of(features: ConfidenceFeatures, weights: Mapping[str, float]) -> float:
    """The logistic of the weighted features."""
    total = weights["constant"] + sum(weight * float(getattr(features, name)) for name, weight in weights.items() if name != "constant")
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))


@cache
def fitted_weights() -> Any:
    """The shipped weights, with and without vectors, and typical similarities."""
    return json.loads(WEIGHTS.read_text(encoding="utf-8"))


def features_of(leading: LeadingFiles) -> ConfidenceFeatures:
    """Read the features off the leading files."""
    pool, plan = leading.pool, leading.pool.plan
    first, terms = leading.files[:1], pool.statistics.terms[:MAX_LOOKED_UP]
    weight = np.array([0.0 if term.whole else term.weight for term in plan.terms[:MAX_LOOKED_UP]])
    weight /= max(float(weight.sum()), 1e-9)
    names = sorted(plan.identifiers)[:MAX_LOOKED_UP]
    written = plan.exact[:MAX_LOOKED_UP]
    snapshot, dense = pool.snapshot, pool.dense
    smallest, largest = SIZES
    return ConfidenceFeatures(
        near=float(dense.of_files(first)[0]) if dense else 0.0,
        nearest=float(pool.unit_nearness.max(initial=0.0)),
        held=float(weight @ [bool(is_member(first, term.files)[0] or is_member(first, term.paths[0])[0]) for term in terms]),
        together=float((weight @ _units_hold(leading)).max()),
        written=_share([snapshot.count_files_with_word(word) > 0 for word in written], of_none=1.0),
        file_name=_name_fit(leading),
        unknown_names=_share([snapshot.count_files_with_word(name) == 0 for name in names], of_none=0.0),
        undefined=float(_is_name(plan) and not _is_defined(pool) and snapshot.count_files_with_word(plan.symbol) < MIN_MENTIONS),
        length=plan.length,
        size=math.log(min(max(snapshot.live_units, smallest), largest) / smallest),
        has_vectors=dense is not None and (len(plan.words) > 1 or _is_name(plan)),  # the vector of a single word says little
    )


def _is_name(plan: QueryPlan) -> bool:
    """Whether the query is an identifier and cannot be an ordinary word such as `lock`."""
    return bool(plan.symbol) and _IDENTIFIER.search(plan.symbol) is not None


def _name_fit(leading: LeadingFiles) -> float:
    """How well the best-named leading file fits; read from the ledger where that signal has a weight."""
    for entry in leading.ledger.entries:
        if entry.signal == "stem_fit":
            return float(entry.column.values[leading.rows].max())
    return float(leading.pool.path_match.stem_fit(leading.files).max())


def _share(flags: list[bool], *, of_none: float) -> float:
    return sum(flags) / len(flags) if flags else of_none


def _units_hold(leading: LeadingFiles) -> Array:
    """Whether the best unit of each leading file, or its path, holds each of the first terms: (terms, units)."""
    pool = leading.pool
    units = pool.units[leading.rows]
    files = pool.snapshot.file_of_unit[units]
    terms = pool.statistics.terms[:MAX_LOOKED_UP]
    return np.array([is_member(units, term.units[0]) | is_member(files, term.paths[0]) for term in terms])


def _is_defined(pool: CandidatePool) -> bool:
    """Whether the name that the query consists of is defined in what was searched."""
    if "names" in pool.retrieved:
        return bool(np.isfinite(pool.retrieved["names"]).any())
    return len(pool.snapshot.definitions(pool.plan.symbol)) > 0


# The reasons for a low confidence, in words.


def _reasons(leading: LeadingFiles, features: ConfidenceFeatures, *, by_vectors: bool) -> Iterator[str]:
    """True statements, the most telling first."""
    pool = leading.pool
    absent = _absent_words(pool)
    if absent:
        *others, last = [f'"{word}"' for word in absent[:MAX_NAMED]]
        yield f"no file holds {', '.join(others)} or {last}" if others else f"no file holds {last}"
    yield from _only_elsewhere(leading)
    if features.undefined and pool.plan.symbol not in absent:
        yield f'nothing is named "{pool.plan.symbol}"'
    if features.together < APART:
        most, count = _most_together(leading)
        if most <= 1 < count:
            yield "its words never stand together"
        elif features.together < 1 / 2:
            yield f"no place holds more than {most} of its {count} words"
    usual = fitted_weights()["similarity"]
    if by_vectors and features.nearest < (usual["chance"] + usual["answers"]) / 2:
        yield f"nearest meaning {features.nearest:.2f}, chance {usual['chance']:.2f}"


def _most_together(leading: LeadingFiles) -> tuple[int, int]:
    """The most words of the query that one leading unit holds, and how many words the query has."""
    begins = first_of_each(np.array([term.word for term in leading.pool.plan.terms[:MAX_LOOKED_UP]]))
    held = np.logical_or.reduceat(_units_hold(leading), begins)
    return int(held.sum(axis=0).max()), len(begins)


def _absent_words(pool: CandidatePool) -> list[str]:
    """The words that no file and no path holds: the whole word if none of its parts occurs, else the missing parts."""
    parts: dict[int, list[tuple[str, bool]]] = {}
    for term in pool.statistics.terms[:MAX_LOOKED_UP]:
        if not term.term.whole:
            parts.setdefault(term.term.word, []).append((term.term.text, not term.is_known))
    absent_words: list[str] = []
    written = {part.stem: part.text for part in pool.plan.parts}
    for word, of in parts.items():
        missing = [written.get(text, text) for text, absent in of if absent]
        absent_words += [pool.plan.words[word]] if len(missing) == len(of) else [part for part in missing if len(part) >= MIN_PREFIX]
    return list(dict.fromkeys(absent_words))


def _only_elsewhere(leading: LeadingFiles) -> Iterator[str]:
    """A word that only a file or two outside the answer hold: docs, for instance, when only code was searched."""
    pool = leading.pool
    written = {part.stem: part.text for part in pool.plan.parts}
    for term in pool.statistics.terms[:MAX_LOOKED_UP]:
        if 0 < len(term.files) <= FEW_FILES and not term.term.whole and not is_member(term.files, leading.shown).any():
            if len(written.get(term.term.text, "")) < MIN_PREFIX:
                continue  # a piece of a name, such as `oa` of `OAuth`
            holds = "holds" if len(term.files) == 1 else "hold"
            files = " and ".join(pool.snapshot.path(int(file)) for file in term.files)
            yield f'only {files} {holds} "{written.get(term.term.text, term.term.text)}"'
            return


def _sought(pool: CandidatePool, features: ConfidenceFeatures) -> tuple[str, ...]:
    """Prefixes that the answer must hold: of the undefined name, else of the rarest words."""
    if features.undefined:
        return (pool.plan.symbol,)
    terms = sorted(pool.statistics.terms[:MAX_LOOKED_UP], key=lambda term: (-round(term.unit_idf, 3), -term.term.weight))
    words = list(dict.fromkeys(term.term.word for term in terms))[:MAX_SOUGHT]
    return tuple(_prefix(pool.plan.words[word].lower()) for word in words)


def _prefix(word: str) -> str:
    """The prefix that a word shares with its stem and so with its other forms: `queries` -> `quer`, as in `query`."""
    stem = analyzer.stem(word)
    shared = next((at for at, (a, b) in enumerate(zip(word, stem, strict=False)) if a != b), min(len(word), len(stem)))
    shared -= word[:shared].endswith("i")
    return word[:shared] if shared >= MIN_PREFIX else word
