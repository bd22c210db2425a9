"""Learn the weights of notes: `python training/learn_notes.py CORPUS WEIGHTS`.

CORPUS is a file of conversations with questions whose sessions are known, as `whence
bench fetch memory` lays it out, or a folder with such files, and WEIGHTS the folder
that gets `notes.json`. What the weights are worth on conversations that had no part
in learning them is printed, as `whence bench memory --learn` does. Nothing here
names a conversation: a weight is of a signal, whatever the notes. There is no chance
in it: the same data gives the same weights.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from whence_bench.memory import corpus as memory_corpus
from whence_bench.memory import run as memory
from whence_bench.memory.learning import Weights


def main() -> None:
    """Learn and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("weights", type=Path)
    asked = parser.parse_args()
    done = memory.run(memory_corpus.load(asked.corpus), lambda _done, _all: None, learn=True, ways={})
    for name, answered in done.answered.items():
        print(name, *(f"{measure} {value:.4f}" for measure, value in memory.recalls(answered).items()))
    write(asked.weights / "notes.json", done.weights[memory.FITTED])


def write(path: Path, weights: Weights) -> None:
    """Weights in the numbers that are shipped: one for short questions and one for long ones, which are equal here."""
    rounded = {name: [round(weight, 4)] * 2 for name, weight in sorted(weights.items()) if round(weight, 4)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
