"""Learn the weights of symbols: `python training/learn_symbols.py CORPUS INDEXES COMMITS WEIGHTS`.

CORPUS is a benchmark of tasks with the symbols they need, as `whence bench fetch
context` lays it out, INDEXES a folder for the indexes, COMMITS what `whence bench history
--symbols --judged` kept of commits and the functions they changed, and WEIGHTS the folder that
gets `symbols_first.json` and `symbols.json`. What the weights are worth on
repositories that had no part in learning them is printed by `whence bench context
--learn`. Nothing here names a repository: a weight is of a signal, whatever the tree.
There is no chance in it: the same data gives the same weights.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from whence_bench.context import changes
from whence_bench.context import corpus as context_corpus
from whence_bench.context.learning import FIRST, LONG, LONG_RIDGE, UNLEARNED, Weights, cases, learn, learned, opened


def main() -> None:
    """Learn and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("indexes", type=Path)
    parser.add_argument("commits", type=Path)
    parser.add_argument("weights", type=Path)
    asked = parser.parse_args()
    repositories = opened(context_corpus.load(asked.corpus), asked.indexes)
    first, final = learned(repositories, cases(repositories, UNLEARNED, UNLEARNED, FIRST))
    long = learn(changes.load(asked.commits), LONG, LONG_RIDGE)
    write(asked.weights / "symbols_first.json", first, first)
    write(asked.weights / "symbols.json", final, long)
    for one in repositories:
        one.index.close()


def write(path: Path, asked: Weights, told: Weights) -> None:
    """Weights in the numbers that are shipped: one for texts that ask for something, one for those that tell of a problem."""
    pairs = {name: [round(asked.get(name, 0.0), 4), round(told.get(name, 0.0), 4)] for name in sorted({*asked, *told})}
    rounded = {name: pair for name, pair in pairs.items() if any(pair)}
    path.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
