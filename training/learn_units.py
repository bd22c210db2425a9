"""Learn which unit of a file a result shows: `python training/learn_units.py CORPUS CLONES WEIGHTS`.

CORPUS is the search benchmark, whose doc sentences ask for the definitions they document, CLONES a folder of repositories
with history, whose commit messages ask for the functions that were changed, and WEIGHTS the folder that gets `units.json`:
for each signal its weight for short questions, from doc sentences, and for long ones, from commits. There is no chance in it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from whence_bench.context.changes import asked_functions
from whence_bench.context.learning import Case, learn
from whence_bench.fetch import histories_in
from whence_bench.search.corpus import load
from whence_bench.search.spans import UNIT_SIGNALS, doc_cases, unit_case

RIDGE = 3.0
PER_REPOSITORY = 12


def commit_cases(clones: Path) -> Iterator[Case]:
    """Each file that a commit changes functions of."""
    for repository in histories_in(clones, ())[0]:
        for question, index, wanted in asked_functions(repository, PER_REPOSITORY):
            snapshot = index.snapshot
            for path in question.wanted:
                here = [unit for unit in wanted if snapshot.path(int(snapshot.file_of_unit[unit])) == path]
                if here:
                    yield unit_case(repository.name, index, question.text, path, here)


def main() -> None:
    """Learn and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("corpus", "clones", "weights"):
        parser.add_argument(name, type=Path)
    asked = parser.parse_args()
    short = learn(list(doc_cases(load(asked.corpus, ()))), UNIT_SIGNALS, RIDGE)
    long = learn(list(commit_cases(asked.clones)), UNIT_SIGNALS, RIDGE)
    weights = {name: [round(short[name], 2), round(long[name], 2)] for name in sorted(UNIT_SIGNALS)}
    (asked.weights / "units.json").write_text(json.dumps(weights, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
