"""Learn the weights of the default profile: `python training/learn_weights.py WEIGHTS JUDGED[=COUNT]...`.

Each JUDGED is a file of questions with what every signal said of their candidates, and COUNT how many questions it counts like:
`whence bench search --learn --judged FILE` makes one of the benchmark's development
repositories and one of the questions of questions.py, `whence bench history --judged
FILE` one of commit messages. WEIGHTS gets `default.json` and prints what the weights
are worth on repositories that had no part in learning them. Nothing here names a
repository: a weight is of a signal, whatever the tree.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whence.core.profiles import PROFILES
from whence_bench.search.features import Judged, load, ndcg, without_signals
from whence_bench.search.learning import UNLEARNED, Weights, learn, left_out, scored_apart

#: A set of questions counts like so many questions, however many it has, where nothing else is said.
COUNTS_LIKE = 600
#: A set of more repositories than this is left out group by group.
MOST_FOLDS, GROUPS = 60, 6


@dataclass(frozen=True)
class Source:
    """A file of judged questions, and how much it counts."""

    path: Path
    counts_like: int

    @classmethod
    def named(cls, text: str) -> Source:
        """FILE, or FILE=COUNT."""
        path, _, count = text.partition("=")
        return cls(Path(path), int(count or COUNTS_LIKE))


def by_project(judged: Sequence[Judged]) -> list[Judged]:
    """Questions under their project's bare name, so that a project in two sets is left out of both; many small ones in groups."""
    names = {one.repository: one.repository.rsplit("/", 1)[-1].lower() for one in judged}
    if len(names) > MOST_FOLDS:
        names = {name: f"group {zlib.crc32(name.encode()) % GROUPS}" for name in names}
    return [replace(one, repository=names[one.repository]) for one in judged]


def counting(sources: Sequence[Source], sets: Sequence[Sequence[Judged]]) -> dict[int, float]:
    """What one question counts, by the identity of the question."""
    return {id(one): source.counts_like / len(found) for source, found in zip(sources, sets, strict=True) for one in found}


def rounded(weights: Weights) -> dict[str, list[float]]:
    """Weights in the numbers that are shipped; what is nothing is left out."""
    found = {name: [round(weight.short, 3), round(weight.long, 3)] for name, weight in weights.items()}
    return {name: pair for name, pair in found.items() if any(pair)}


def table(name: str, judged: Sequence[Judged], apart: Sequence[float], fitted: Weights) -> str:
    """One line of the report: left out, fitted to all, and the weights in use before."""
    before = np.mean([ndcg(one, PROFILES["default"].signals) for one in judged])
    same = np.mean([ndcg(one, fitted) for one in judged])
    return f"{name}: {len(judged)} questions, left out {np.mean(apart):.4f}, fitted {same:.4f}, before {before:.4f}"


def main() -> None:
    """Score what is learned on what it was not learned from, learn from everything, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("judged", type=Source.named, nargs="+", metavar="JUDGED[=COUNT]")
    parser.add_argument("--without", nargs="*", default=[], help="signals to leave out")
    options = parser.parse_args()
    sets = [by_project(without_signals(load(source.path), options.without)) for source in options.judged]
    everything = [one for found in sets for one in found]
    counts = counting(options.judged, sets)
    apart = scored_apart(everything, left_out(everything, UNLEARNED, worth=lambda one: counts[id(one)]))
    fitted = learn(everything, UNLEARNED, worth=lambda one: counts[id(one)])
    at = 0
    for source, judged in zip(options.judged, sets, strict=True):
        print(table(source.path.stem, judged, apart[at : at + len(judged)], fitted))
        at += len(judged)
    options.weights.mkdir(parents=True, exist_ok=True)
    (options.weights / "default.json").write_text(json.dumps(rounded(fitted), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
