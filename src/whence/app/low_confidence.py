"""Answers of several roots as one, and the warning that the answer is most likely not here (Z1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.context.pack import ContextPack
    from whence.ranking.confidence import Confidence
    from whence.source.excluded import ExcludedMatches


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LowConfidence:
    """The confidence of an answer, and the files outside the index that hold its words."""

    confidence: Confidence
    left_out: tuple[ExcludedMatches, ...] = ()
    searched: str = "all"  # which content

    def __str__(self) -> str:
        """A warning in one line; empty if the answer is likely here."""
        if self.confidence.here:
            return ""
        because = [self.confidence.because, *map(str, self.left_out)]
        if self.searched != "all":
            because.append(f"only {self.searched} was searched (in:all searches everything)")
        return f"not here, most likely (confidence {self.confidence.probability:.2f}): {'; '.join(filter(None, because))}"

    def as_json(self) -> dict[str, Any]:
        """The same as JSON."""
        of = self.confidence
        return {
            "probability": round(of.probability, 4),
            "line": of.line,
            "here": of.here,
            "because": of.because,
            "left_out_files": [asdict(one) for one in self.left_out],
        }


def nothing_for(diff: str | None) -> str:
    """Why no symbol was found for a task, or for the changes since a commit."""
    if diff is not None:
        return f"no definition has changed since {diff}"
    return "nothing found: only what is defined in code is looked at"


def task_warning(pack: ContextPack) -> str:
    """A warning that the code for a task is most likely not here; empty if it may be."""
    return str(LowConfidence(pack.confidence)) if pack.confidence is not None else ""


def low_confidence_of(
    answers: Sequence[tuple[Index, Confidence | None]], content: str | None, *, hurried: bool = False
) -> LowConfidence | None:
    """The confidence of the answers of some roots together; None if nothing was ranked, or there are no files.

    If `hurried`, files outside the index are not searched for the words: that takes a moment.
    """
    judged = [(index, confidence) for index, confidence in answers if confidence is not None and index.snapshot.live_files]
    if not judged:
        return None
    surest = max((confidence for _, confidence in judged), key=lambda one: one.probability)
    searched = content or judged[0][0].settings.search.content
    if surest.here or hurried:
        return LowConfidence(surest, (), searched)
    return LowConfidence(surest, tuple(found for index, of in judged if (found := index.excluded(of.sought)).matching), searched)


def merge_roots(
    results: Iterable[Sequence[Result]], doubts: Iterable[LowConfidence | None], k: int, score: Callable[[Result], float]
) -> tuple[list[Result], LowConfidence | None]:
    """The best `k` results of several roots, and the confidence of the surest root with the files that any of them left out."""
    best = sorted(chain.from_iterable(results), key=lambda one: -score(one))[:k]
    known = [one for one in doubts if one is not None]
    surest = max(known, key=lambda one: one.confidence.probability, default=None)
    if surest is not None:
        surest = replace(surest, left_out=tuple(chain.from_iterable(one.left_out for one in known)))
    return best, surest
