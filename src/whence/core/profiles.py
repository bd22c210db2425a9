"""Ranking profiles: which signals weigh what. Numbers only; what a signal does is in `ranking/signals`.

`default` is learned (weights/CARD.md); `classic` has the weights of
the rules it is named after (I5, Q1, F2, R1 to R4); `semantic` goes by vectors alone. A signal that a profile does not
list has weight 0 and is not computed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

#: Ways to make the scores of two retrievers comparable (F2).
FUSIONS = MINMAX, RRF = ("minmax", "rrf")


def _setting(default: float, doc: str) -> float:
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, slots=True)
class ColumnWeights:
    """Weights of the lexical columns, and how fast repetition stops counting."""

    name: float = _setting(3.0, "weight of a unit's name")
    parents: float = _setting(2.0, "weight of the names around a unit")
    signature: float = _setting(1.0, "weight of a unit's signature")
    doc: float = _setting(1.0, "weight of comments and doc strings")
    body: float = _setting(1.0, "weight of the rest of a unit")
    stem: float = _setting(5.0, "weight of the file's name")
    directory: float = _setting(2.5, "weight of the folders above the file")
    saturation: float = _setting(2.0, "how many weighted occurrences give half of a term's score")
    window_saturation: float = _setting(1.2, "the same for windows")


@dataclass(frozen=True, slots=True)
class Weight:
    """A signal's weight for short questions and for long ones; those between get a mixture."""

    short: float = _setting(0.0, "weight for short questions")
    long: float = _setting(0.0, "weight for long texts and wishes for a change")

    def at_length(self, length: float) -> float:
        """The weight for a query of a given length (0 short, 1 long)."""
        return (1 - length) * self.short + length * self.long


@dataclass(frozen=True, slots=True)
class Penalties:
    """Factors for files that are rarely what is meant (R1). They compound."""

    strong: float = _setting(0.30, "factor for tests, compatibility layers and examples")
    barrel: float = _setting(0.50, "factor for files that only re-export")
    declaration: float = _setting(0.70, "factor for declaration files")


@dataclass(frozen=True, slots=True)
class Profile:
    """One way to rank."""

    signals: Mapping[str, Weight]
    fields: ColumnWeights = field(default_factory=ColumnWeights)
    decay: float = _setting(0.1, "each later word of a query counts 1 / (1 + decay x place)")
    boilerplate: float = _setting(1.0, "words that every task has (add, fix, new, ...) count this much")
    quoted: float = _setting(0.3, "words seen only in quoted code count this much")
    coverage: float = _setting(0.0, "power of (matched words / words) that multiplies the lexical score")
    stem_prefix: float = _setting(0.5, "share of the stem boost for a word that is only a prefix (R2)")
    penalties: Penalties = field(default_factory=Penalties)
    fusion: str = field(
        default="minmax", metadata={"doc": "how the scores of words and of vectors are made comparable (F2)", "choices": FUSIONS}
    )

    def weighs(self, name: str) -> bool:
        """Whether a signal counts."""
        return self.signals.get(name, Weight()) != Weight()

    def with_semantic_share(self, alpha: float) -> Profile:
        """The same profile with another share of the vectors (F2)."""
        shares = {"semantic": Weight(alpha, alpha), "lexical": Weight(1 - alpha, 1 - alpha)}
        return replace(self, signals={**self.signals, **shares})

    def with_factors(self, factors: Mapping[str, float]) -> Profile:
        """The same profile with the weights of some signals times a factor; 0 switches one off."""
        scaled = {name: Weight(factor * self.signals[name].short, factor * self.signals[name].long) for name, factor in factors.items()}
        return replace(self, signals={**self.signals, **scaled})


#: The signals of a second look. They count only where a model is set.
RERANK, NOTE_RERANK = "rerank", "note_rerank"


def _both(**weights: float) -> Mapping[str, Weight]:
    return MappingProxyType({name: Weight(weight, weight) for name, weight in weights.items()})


def _learned(name: str) -> Mapping[str, Weight]:
    """Weights as training/learn_weights.py wrote them; weights/CARD.md says what they were learned from."""
    found = json.loads(Path(__file__).with_name("weights").joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return MappingProxyType({signal: Weight(*pair) for signal, pair in found.items()})


#: What a second look weighs in each job.
_RERANKED = _learned("rerank")
#: Text that occurs as typed outweighs everything else: whoever pastes it wants the place, not something like it.
EXACT_WEIGHT = Weight(12.0, 12.0)
DEFAULT = Profile(signals=MappingProxyType({**_learned("default"), "exact": EXACT_WEIGHT, RERANK: _RERANKED["files"]}))

CLASSIC = Profile(
    fields=ColumnWeights(name=10.0, parents=3.0, signature=1.0, doc=3.0, body=1.0, stem=5.0, directory=4.0),
    decay=0.0,
    quoted=1.0,
    coverage=1.0,
    signals=_both(lexical=0.4, semantic=0.6, proximity=0.05, path_penalty=1.0, stem_boost=0.4, definition_boost=0.25, coherence_boost=0.2),
)

#: Vectors and nothing else: to see what the model alone is worth.
SEMANTIC = Profile(signals=_both(meaning=1.0))

#: For units like another one (Q9); not for questions, so not among the profiles to choose.
RELATED = Profile(signals=_both(passage=2.0, unit=1.0), decay=0.0)

#: Which unit of a ranked file is shown: the one that answers, by its own evidence. Learned (weights/CARD.md).
UNITS = Profile(signals=_learned("units"))

#: How symbols are ranked for a task. Weights are learned (weights/CARD.md), but for what no benchmark can teach: use.
USAGE_WEIGHTS = {"feedback": Weight(6.0, 6.0), "session": Weight(1.0, 1.0), "taught": Weight(2.0, 2.0)}
SYMBOLS = Profile(
    signals=MappingProxyType({**_learned("symbols"), **USAGE_WEIGHTS, RERANK: _RERANKED["symbols"]}), decay=0.15, boilerplate=0.3
)
#: The first look at symbols, which says where the walk begins.
SYMBOLS_FIRST = Profile(signals=_learned("symbols_first"), decay=0.15, boilerplate=0.3)
#: Symbols by the rules S1 and S2, found by the rules N.
SYMBOLS_CLASSIC = Profile(
    fields=CLASSIC.fields,
    decay=0.0,
    quoted=1.0,
    signals=_both(
        blast=0.35, confidence=0.20, observed=0.15, distance=0.15, authority=1.0, feedback=1.0, session=1.0, recency=0.05, test_factor=1.0
    ),
)
#: Symbols of files and of changes: S1 without authorities.
SYMBOLS_NEAR = Profile(signals=_both(blast=0.40, confidence=0.25, observed=0.20, distance=0.15, feedback=1.0, session=1.0, test_factor=1.0))

#: How notes are recalled. Weights are learned (weights/CARD.md), but for what no benchmark can teach: names, projects, code.
FIXED_NOTE_WEIGHTS = _both(note_name=3.0, note_strength=1.0, note_semantic=1.0, note_here=0.3, note_code=1.0, note_newest=1.0)
NOTES = Profile(signals=MappingProxyType({**_learned("notes"), **FIXED_NOTE_WEIGHTS, NOTE_RERANK: _RERANKED["notes"]}))
#: Notes by the rule M3 alone.
NOTES_CLASSIC = Profile(signals=_both(note_strength=1.0, note_semantic=1.0, note_code=1.0))

PROFILES: Mapping[str, Profile] = MappingProxyType({"default": DEFAULT, "classic": CLASSIC, "semantic": SEMANTIC})
#: The profiles of `context`, by the name they are chosen by; in settings they stand beside the others.
SYMBOL_PROFILES: Mapping[str, Profile] = MappingProxyType({"default": SYMBOLS, "classic": SYMBOLS_CLASSIC})
#: The profiles of `recall`, likewise.
NOTE_PROFILES: Mapping[str, Profile] = MappingProxyType({"default": NOTES, "classic": NOTES_CLASSIC})
ALL_PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        **PROFILES,
        "units": UNITS,
        "symbols": SYMBOLS,
        "symbols_first": SYMBOLS_FIRST,
        "symbols_classic": SYMBOLS_CLASSIC,
        "symbols_near": SYMBOLS_NEAR,
        "notes": NOTES,
        "notes_classic": NOTES_CLASSIC,
    }
)
