"""Learn the weights of symbols: `python training/learn_symbols.py CORPUS INDEXES WEIGHTS`.

CORPUS is a benchmark of tasks with the symbols they need, as `whence bench fetch
context` lays it out, INDEXES a folder for the indexes, and WEIGHTS the folder that
gets `symbols_first.json` and `symbols.json`. What the weights are worth on
repositories that had no part in learning them is printed by `whence bench context
--learn`. Nothing here names a repository: a weight is of a signal, whatever the tree.
There is no chance in it: the same data gives the same weights.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from whence_bench.context import corpus as context_corpus
from whence_bench.context.learning import FIRST, UNLEARNED, Weights, cases, learned, opened


def main() -> None:
    """Learn and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("indexes", type=Path)
    parser.add_argument("weights", type=Path)
    asked = parser.parse_args()
    repositories = opened(context_corpus.load(asked.corpus), asked.indexes)
    first, final = learned(repositories, cases(repositories, UNLEARNED, UNLEARNED, FIRST))
    for name, weights in (("symbols_first", first), ("symbols", final)):
        write(asked.weights / f"{name}.json", weights)
    for one in repositories:
        one.index.close()


def write(path: Path, weights: Weights) -> None:
    """Weights in the numbers that are shipped: one for short questions and one for long ones, which are equal here."""
    rounded = {name: [round(weight, 4)] * 2 for name, weight in sorted(weights.items()) if round(weight, 4)}
    path.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
