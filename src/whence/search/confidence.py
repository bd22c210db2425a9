"""How sure it is that the answer to a query is among what was found (Z1).

A handful of facts about the question and what it found, weighed by a logistic that was learned on questions with and
without an answer in the tree they were asked of (`training/learn_confidence.py`, docs/confidence.md). Every fact is
read off the answer as it is: nothing is searched again.
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

from whence.storage.rows import first_of_each, member
from whence.text import analyzer

if TYPE_CHECKING:
    from whence.query.plan import QueryPlan
    from whence.ranking.collapse import FileHit
    from whence.ranking.pool import CandidatePool
    from whence.search.pipeline import RankedFile
    from whence.storage.arrayfile import Array

WEIGHTS = Path(__file__).parents[1] / "core" / "weights" / "confidence.json"
#: The leading files of an answer that are looked at: those that a reader would look at.
LEADING = 10
#: Terms, words and names of a question that are looked up, the first ones: a pasted document has thousands.
MOST_LOOKED_UP = 40
#: Trees outside these sizes, in units, count like the nearest: no smaller or larger ones were learned from.
SIZES = (200, 30_000)
#: Words that a statement names, and words that files left out are searched for.
MOST_NAMED, MOST_SOUGHT = 3, 2
#: A place that holds this share of the question's words holds more than one of them.
APART = 0.75
#: A term in no more files than this can be said to be only there.
FEW_FILES = 2
#: The least of a word's beginning that stands for it.
SHORTEST_BEGINNING = 3
#: A name that so many files mention is in use here, wherever it is defined.
SPOKEN_OF = 2
#: What neither an everyday word nor an abbreviation has: an underscore, or a capital where a part begins.
_MARKED = re.compile(r"[_$]|[a-z\d][A-Z]|[A-Z]{2}[a-z]{2}")
NOTHING_FOUND = "nothing that was searched holds any word of it"


@dataclass(frozen=True, slots=True)
class Confidence:
    """The chance that what was asked for is among the results, and what speaks against it."""

    probability: float
    line: float  # below it, the answer is "not here"
    because: str = ""
    sought: tuple[str, ...] = ()  # beginnings of the words that a file which was left out would have to hold

    @property
    def here(self) -> bool:
        """Whether the answer may be taken for one."""
        return self.probability >= self.line


@dataclass(frozen=True, slots=True)
class ConfidenceFeatures:
    """What tells whether an answer is one; shares are of the question's words, the first ones counting more."""

    near: float  # how near the first file is in meaning
    nearest: float  # how near the nearest candidate is
    held: float  # the share that the first file holds
    together: float  # the largest share that one unit holds, among the first files
    written: float  # the share that stands somewhere exactly as written
    file_name: float  # how well the best file's name fits, among the first
    unknown_names: float  # the share of the identifiers in it that are mentioned nowhere
    undefined: float  # 1 when it is a name that nothing bears, and that is not in use here either
    length: float  # 0: a short question, 1: a long text or the wish for a change
    size: float  # of the tree, on a logarithmic scale: something is near by chance more easily in a large one
    meaning: bool = True  # whether vectors had anything to say


def confidence_of(found: Sequence[RankedFile], line: float, *, query: str = "", meaning: bool = True) -> Confidence | None:
    """How sure an answer is; None where nothing was asked in words.

    `query` is what was asked, for an answer of nothing, which does not know. `meaning` says whether the vectors are of the
    shipped model: another's similarities mean something else, and words alone must do.
    """
    if not found:
        return Confidence(0.0, line, NOTHING_FOUND, _sought_of(query))
    pool = found[0].ranked.pool
    if not pool.plan.terms:
        return None
    facts = facts_of(found)
    probability = probability_of(facts, learned()["meaning" if meaning and facts.meaning else "words"])
    if probability >= line:
        return Confidence(probability, line)
    return Confidence(probability, line, "; ".join(_against(found, facts, meaning=meaning)), _sought(pool, facts))


def probability_of(facts: ConfidenceFeatures, weights: Mapping[str, float]) -> float:
    """The logistic of the weighted facts."""
    total = weights["constant"] + sum(weight * float(getattr(facts, name)) for name, weight in weights.items() if name != "constant")
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))


@cache
def learned() -> Any:
    """The shipped weights: for answers by words and meaning, for answers by words alone, and what similarities are usual."""
    return json.loads(WEIGHTS.read_text(encoding="utf-8"))


def facts_of(found: Sequence[RankedFile]) -> ConfidenceFeatures:
    """Everything that the chance is worked out from."""
    ranked = found[0].ranked
    pool, plan = ranked.pool, ranked.pool.plan
    leading = _leading(found[0])
    files = np.array([hit.file for hit in leading])
    weight = np.array([0.0 if term.whole else term.weight for term in plan.terms[:MOST_LOOKED_UP]])
    weight /= max(float(weight.sum()), 1e-9)
    names = sorted(plan.identifiers)[:MOST_LOOKED_UP]
    written = plan.exact[:MOST_LOOKED_UP]
    snapshot, meaning = pool.snapshot, pool.dense
    least, most = SIZES
    return ConfidenceFeatures(
        near=float(meaning.of_files(files[:1])[0]) if meaning else 0.0,
        nearest=float(pool.unit_nearness.max(initial=0.0)),
        held=float(weight @ _file_holds(pool, files[:1])),
        together=float((weight @ _units_hold(found[0])).max()),
        written=_share([snapshot.mentioning(word) > 0 for word in written], of_none=1.0),
        file_name=_name_fit(found[0], files),
        unknown_names=_share([snapshot.mentioning(name) == 0 for name in names], of_none=0.0),
        undefined=float(_is_name(plan) and not _defined(pool) and snapshot.mentioning(plan.symbol) < SPOKEN_OF),
        length=plan.length,
        size=math.log(min(max(snapshot.live_units, least), most) / least),
        meaning=meaning is not None and (len(plan.words) > 1 or _is_name(plan)),  # one word has little meaning by itself
    )


def _is_name(plan: QueryPlan) -> bool:
    """Whether a question is a name and cannot be an everyday word: `lock` asks for more than what is called so."""
    return bool(plan.symbol) and _MARKED.search(plan.symbol) is not None


def _leading(first: RankedFile) -> list[FileHit]:
    """The first files of an answer, however many of them were asked for."""
    return [first.hit, *(hit for hit in first.ranked.hits[:LEADING] if hit.file != first.hit.file)][:LEADING]


def _name_fit(first: RankedFile, files: Array) -> float:
    """How well the best file's name fits: as the ledger has it, where that signal has a part."""
    for entry in first.ranked.ledger.entries:
        if entry.signal == "stem_fit":
            return float(entry.column.values[[hit.row for hit in _leading(first)]].max())
    return float(first.ranked.pool.path_match.stem_fit(files).max())


def _share(said: list[bool], *, of_none: float) -> float:
    return sum(said) / len(said) if said else of_none


def _file_holds(pool: CandidatePool, file: Array) -> Array:
    """Whether each of the first terms stands in a file or on its path."""
    terms = pool.statistics.terms[:MOST_LOOKED_UP]
    return np.array([bool(member(file, term.files)[0] or member(file, term.paths[0])[0]) for term in terms])


def _units_hold(first: RankedFile) -> Array:
    """Whether each of the first terms stands in the best unit of each of the first files, or on its path: (terms, units)."""
    pool = first.ranked.pool
    units = pool.units[[hit.row for hit in _leading(first)]]
    files = pool.snapshot.file_of_unit[units]
    terms = pool.statistics.terms[:MOST_LOOKED_UP]
    return np.array([member(units, term.units[0]) | member(files, term.paths[0]) for term in terms])


def _defined(pool: CandidatePool) -> bool:
    """Whether anything that was searched bears the name asked for."""
    if "names" in pool.retrieved:
        return bool(np.isfinite(pool.retrieved["names"]).any())
    return len(pool.snapshot.definitions(pool.plan.symbol)) > 0


# What speaks against an answer, in words.


def _against(found: Sequence[RankedFile], facts: ConfidenceFeatures, *, meaning: bool) -> Iterator[str]:
    """True statements, those that say most first."""
    pool = found[0].ranked.pool
    absent = _absent_words(pool)
    if absent:
        yield f"no file holds {_listed(absent)}"
    yield from _only_elsewhere(found)
    if facts.undefined and pool.plan.symbol not in absent:
        yield f'nothing is named "{pool.plan.symbol}"'
    if facts.together < APART:
        most, asked = _most_together(found[0])
        if most <= 1 < asked:
            yield "its words never stand together"
        elif facts.together < 1 / 2:
            yield f"no place holds more than {most} of its {asked} words"
    usual = learned()["similarity"]
    if meaning and facts.meaning and facts.nearest < (usual["chance"] + usual["answers"]) / 2:
        yield f"nearest meaning {facts.nearest:.2f}, chance {usual['chance']:.2f}"


def _most_together(first: RankedFile) -> tuple[int, int]:
    """How many words of the question one unit holds at most, among the first files, and how many it has."""
    begins = first_of_each(np.array([term.word for term in first.ranked.pool.plan.terms[:MOST_LOOKED_UP]]))
    held = np.logical_or.reduceat(_units_hold(first), begins)
    return int(held.sum(axis=0).max()), len(begins)


def _listed(words: Sequence[str]) -> str:
    quoted = [f'"{word}"' for word in words[:MOST_NAMED]]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _absent_words(pool: CandidatePool) -> list[str]:
    """The words that stand in no file and on no path: whole where no part of one does, else the part."""
    parts: dict[int, list[tuple[str, bool]]] = {}
    for term in pool.statistics.terms[:MOST_LOOKED_UP]:
        if not term.term.whole:
            parts.setdefault(term.term.word, []).append((term.term.text, not len(term.units[0]) and not len(term.paths[0])))
    found: list[str] = []
    spoken = {part.stem: part.text for part in pool.plan.parts}
    for word, of in parts.items():
        missing = [spoken.get(text, text) for text, absent in of if absent]
        found += [pool.plan.words[word]] if len(missing) == len(of) else [part for part in missing if len(part) >= SHORTEST_BEGINNING]
    return list(dict.fromkeys(found))


def _only_elsewhere(found: Sequence[RankedFile]) -> Iterator[str]:
    """Words that a file or two hold, which are not in the answer: as when notes speak of it and code was searched."""
    pool = found[0].ranked.pool
    shown = np.sort(np.array([one.hit.file for one in found]))
    spoken = {part.stem: part.text for part in pool.plan.parts}
    for term in pool.statistics.terms[:MOST_LOOKED_UP]:
        if 0 < len(term.files) <= FEW_FILES and not term.term.whole and not member(term.files, shown).any():
            if len(spoken.get(term.term.text, "")) < SHORTEST_BEGINNING:
                continue  # a piece of a name, such as `oa` of `OAuth`
            holds = "holds" if len(term.files) == 1 else "hold"
            files = " and ".join(pool.snapshot.path(int(file)) for file in term.files)
            yield f'only {files} {holds} "{spoken.get(term.term.text, term.term.text)}"'
            return


def _sought(pool: CandidatePool, facts: ConfidenceFeatures) -> tuple[str, ...]:
    """The words without which nothing could be the answer: the name asked for, those that are absent, else the rarest."""
    if facts.undefined:
        return (pool.plan.symbol,)
    terms = sorted(pool.statistics.terms[:MOST_LOOKED_UP], key=lambda term: (-round(term.unit_idf, 3), -term.term.weight))
    words = list(dict.fromkeys(term.term.word for term in terms))[:MOST_SOUGHT]
    return tuple(_sought_as(pool.plan.words[word].lower()) for word in words)


def _sought_of(query: str) -> tuple[str, ...]:
    """The same of a question that found nothing: its first words."""
    words = [word for word in analyzer.words(query) if word.lower() not in analyzer.STOP_WORDS]
    return tuple(_sought_as(word.lower()) for word in dict.fromkeys(words))[:MOST_SOUGHT]


def _sought_as(word: str) -> str:
    """What a word and its stem have in common: what its other forms begin with, too (`queries` -> `quer`, as in `query`)."""
    stem = analyzer.stem(word)
    shared = next((at for at, (a, b) in enumerate(zip(word, stem, strict=False)) if a != b), min(len(word), len(stem)))
    shared -= word[:shared].endswith("i")
    return word[:shared] if shared >= SHORTEST_BEGINNING else word
