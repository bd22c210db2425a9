"""Learn how sure an answer is.

`python training/learn_confidence.py learn WEIGHTS CORPUS[=COUNT]...` asks every repository of each corpus its own
questions and others', and writes `confidence.json`; COUNT is how many questions a corpus counts like. What it prints is
of repositories that had no part in learning.

`python training/learn_confidence.py lay-out HISTORIES CORPUS [--benchmark DIR]` makes a corpus of whole trees from
clones with history (`whence bench fetch history`): doc sentences of definitions whose comments are blanked, and
subjects of commits that changed one to three files; with --benchmark also that corpus' questions about the same
repositories. Questions of a benchmark are short and of one make: a confidence learned from them alone takes three in
ten of these for questions without an answer.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from questions import without_one_doc
from whence.core.types import CODE
from whence.parse.languages import language_of
from whence.parse.paths import Role, roles
from whence.source.history import UNINFORMATIVE_SUBJECT
from whence_bench import report
from whence_bench.search import confidence, confidence_plot, corpus

#: Questions of each make from one repository, and commits that are looked at.
EACH, COMMITS = 20, 400
MOST_WANTED, MOST_TOUCHED, FEWEST_WORDS = 3, 6, 4
COUNTS_LIKE = 600
SEED = 5
PAGE = """# How far "not here" can be believed

Every answer in words has a confidence: the probability that what was asked for is among the results. Below the line of the
setting `search.not_here` ({line:.2f}) the answer says that it is not here, names the nearest, and says what speaks
against it. The probability is for as many questions with an answer as without: where nearly every question has one, as
in daily use, an answer is surer than it says.

It is a logistic over ten facts that are read off the answer, nothing is searched again:

```
{facts}
```

`near` and `nearest`: similarity of the first file and of the nearest candidate. `held`, `together`: the share of the question's
words in the first file, and in one unit. `written`: the share that stands anywhere as written. `file_name`: how well a file
is named like the question. `unknown_names`: the share of its identifiers that no file mentions. `undefined`: it is a name
that nothing bears and that is not in use here.
`length`: 0 for a short question, 1 for a long text or the wish for a change. `size`: the logarithm of
the tree's units. The second column is for answers without vectors, or with those of another model.

![What was promised and kept, and what is caught at what price](images/confidence.svg)

Every figure below is under weights in which the repository asked, and the questions about it, had no part
(`training/learn_confidence.py`). Questions without an answer are borrowed from other repositories. Some of those have an answer after
all: a name that is defined here is left out, questions from repositories of the same field (two web frameworks, two JSON
libraries) are reported and not learned from, and what remains ("error and exception types" fits any
repository) counts against the figures.

## The questions of the search benchmark

{benchmark}
## Whole trees, and other makes of question

Tests, examples and documents are in these trees. `doc` are sentences of doc comments that were blanked, `commit` the
subjects of commits: harder to find, and harder to tell. Weights that were learned from the benchmark's questions alone called three
in ten of them "not here"; these have a part in what is shipped.

{trees}
Not measured: trees above 30,000 units (they count like that many), languages of comments other than English, typing
errors.
"""
_REFERENCE = re.compile(r"\s*\(?#\d+\)?")


def source_files(tree: Path) -> list[Path]:
    """Files of a tree that a definition may be asked about, in a fixed order of chance."""
    found = [path for path in sorted(tree.rglob("*")) if path.is_file() and not path.is_symlink() and is_source(path.relative_to(tree))]
    found = [path for path in found if language_of(path.name).grammar and 200 < path.stat().st_size < 200_000]
    random.Random(f"{SEED} {tree.name}").shuffle(found)
    return found


def is_source(path: Path) -> bool:
    """Whether a path is of code that is neither test nor example."""
    return language_of(path.name).content == CODE and not roles(path.as_posix()) & (Role.TEST | Role.EXAMPLE)


def doc_questions(tree: Path) -> Iterator[dict[str, object]]:
    """Sentences from doc comments, which are blanked in the tree."""
    chance, asked = random.Random(f"{SEED} {tree.name}"), 0
    for path in source_files(tree):
        content = path.read_bytes()
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            continue
        name = path.relative_to(tree).as_posix()
        blanked, sentence = without_one_doc(name, content, chance)
        if sentence and asked < EACH:
            path.write_bytes(blanked)
            asked += 1
            yield {"query": sentence, "relevant": [name], "category": "doc"}


def commit_questions(clone: Path, tree: Path) -> Iterator[dict[str, object]]:
    """Subjects of commits that changed a few files which are still there."""
    command = ["git", f"--git-dir={clone}", "log", f"-{COMMITS}", "--no-merges", "--name-only", "--format=%x01%s%x02"]
    log = subprocess.run(command, capture_output=True, text=True, check=True, errors="replace").stdout
    found = []
    for record in log.split("\x01")[1:]:
        subject, _, listed = record.partition("\x02")
        subject = _REFERENCE.sub("", subject).strip()
        files = [line for line in listed.split("\n") if line.strip()]
        wanted = [name for name in files if is_source(Path(name)) and (tree / name).is_file()]
        told = len(subject.split()) >= FEWEST_WORDS and not UNINFORMATIVE_SUBJECT.search(subject)
        if told and 1 <= len(wanted) <= MOST_WANTED and len(files) <= MOST_TOUCHED:
            found.append({"query": subject, "relevant": wanted, "category": "commit"})
    random.Random(f"{SEED} {tree.name}").shuffle(found)
    yield from found[:EACH]


def lay_out(histories: Path, target: Path, benchmark: Path | None) -> None:
    """Write whole trees and their questions as a corpus."""
    known = {_folder(spec["url"]): spec for spec in json.loads((benchmark / corpus.LIST).read_text(encoding="utf-8"))} if benchmark else {}
    (target / corpus.ANNOTATIONS).mkdir(parents=True, exist_ok=True)
    listed = []
    for folder in sorted(path for path in histories.iterdir() if path.is_dir()):
        clone = folder / "repo" if (folder / "repo").is_dir() else folder
        spec = known.get(folder.name.lower(), {"name": folder.name.split("+")[-1], "language": ""})
        tree = target / corpus.REPOSITORIES / spec["name"]
        tree.mkdir(parents=True)
        archive = subprocess.Popen(["git", f"--git-dir={clone}", "archive", "HEAD"], stdout=subprocess.PIPE)
        subprocess.run(["tar", "x", "-C", str(tree)], stdin=archive.stdout, check=False)
        archive.wait()
        tasks = [*commit_questions(clone, tree), *doc_questions(tree)]
        if benchmark and folder.name.lower() in known:
            path = benchmark / corpus.ANNOTATIONS / f"{spec['name']}.json"
            tasks += json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        (target / corpus.ANNOTATIONS / f"{spec['name']}.json").write_text(json.dumps(tasks, indent=1) + "\n", encoding="utf-8")
        listed.append({"name": spec["name"], "language": spec["language"], "url": folder.name, "revision": "HEAD"})
        print(spec["name"], len(tasks), flush=True)
    (target / corpus.LIST).write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")


def _folder(url: str) -> str:
    return "+".join(url.removesuffix(".git").split("/")[-2:]).lower()


def learn(weights: Path, sources: list[str], index_dir: Path | None, page: Path | None, line: float | None) -> None:
    """Report what is learned without the repository asked, then learn from everything and write."""
    sets = []
    for source in sources:
        place, _, count = source.partition("=")
        found = confidence.collect(corpus.load(Path(place)), index_dir, lambda *_: None)
        sets.append(confidence.counting_like(found, float(count or COUNTS_LIKE)))
        print(place, len(found), "cases", flush=True)
    everything = [one for found in sets for one in found]
    fitted = confidence.learn_both(everything)
    rounded = {name: {fact: round(value, 3) for fact, value in of.items()} for name, of in fitted.items()}
    usual = {"chance": similarity(everything, here=False), "answers": similarity(everything, here=True)}
    weights.mkdir(parents=True, exist_ok=True)
    (weights / "confidence.json").write_text(json.dumps({**rounded, "similarity": usual}, indent=2) + "\n", encoding="utf-8")
    facts = report.table(("fact", *rounded), [(name, *(of.get(name) for of in rounded.values())) for name in rounded["meaning"]])
    figures = reported(sets, line)
    print("\n\n".join([*map(confidence.as_text, figures), facts]))
    if page is not None:
        tables = [confidence_plot.as_markdown(one) for one in figures]
        text = PAGE.format(line=figures[0]["line"], benchmark=tables[0], trees="\n".join(tables[1:]), facts=facts)
        page.write_text(text, encoding="utf-8")
        (page.parent / "images/confidence.svg").write_text(confidence_plot.as_svg(figures[0]), encoding="utf-8")


def reported(sets: list[list[confidence.Case]], line: float | None) -> list[dict[str, Any]]:
    """The figures of each corpus, under weights in which the repository asked had no part."""
    everything = [one for found in sets for one in found]
    apart, alone = confidence.left_out(everything), confidence.left_out(everything, vectors=False)
    at, figures = 0, []
    for found in sets:
        mine = slice(at, at + len(found))
        of = confidence.figures(found, apart[mine], line)
        of["words_alone"] = confidence.figures(found, alone[mine], of["line"])["at_the_line"]
        of |= {"repositories": len({one.repository for one in found}), "weights": "learned without the repository asked"}
        figures.append(of)
        at += len(found)
    return figures


def similarity(cases: list[confidence.Case], *, here: bool) -> float:
    """How near the nearest passage usually is, where the answer is there or is not."""
    found = [one.facts.nearest for one in cases if one.taught and one.facts is not None and one.facts.has_vectors and one.here == here]
    return round(float(np.median(found)), 2)


def main() -> None:
    """Lay out, or learn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    laying = commands.add_parser("lay-out")
    laying.add_argument("histories", type=Path)
    laying.add_argument("corpus", type=Path)
    laying.add_argument("--benchmark", type=Path)
    learning = commands.add_parser("learn")
    learning.add_argument("weights", type=Path)
    learning.add_argument("corpora", nargs="+", metavar="CORPUS[=COUNT]")
    learning.add_argument("--index-dir", type=Path)
    learning.add_argument("--page", type=Path, help="write the report here, and its drawing beside it")
    learning.add_argument("--line", type=float, help="the line that is reported (default: the setting's)")
    options = parser.parse_args()
    if options.command == "lay-out":
        lay_out(options.histories, options.corpus, options.benchmark)
    else:
        learn(options.weights, options.corpora, options.index_dir, options.page, options.line)


if __name__ == "__main__":
    main()
