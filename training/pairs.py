"""Mined records -> a vocabulary of word pieces and one file of arrays that training reads.

    python training/pairs.py RECORDS DATA

RECORDS is what mine.py wrote. DATA gets `vocabulary.txt` and `pairs.npz`. Four
kinds of pair are in it: a doc sentence and its definition, a name and its body, the
sentence at the head of a file and the file, a file's name and its content.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from whence.embed.static import MAX_WORD_LENGTH, MIN_WORD_LENGTH, PATH_PIECES, WordPieces, words_of

SEED = 5
UNKNOWN = "[UNK]"
PIECES = 36_000
#: Definitions with a doc sentence that one language, one package may give.
MOST_OF_LANGUAGE, MOST_OF_PACKAGE = 90_000, 4_000
#: Files of one language that the vocabulary is learned from.
VOCABULARY_FILES = 12_000
SENTENCE_PIECES, NAME_PIECES, HEAD_CHARACTERS = 48, 12, 1_500
#: Stems that say nothing without their folder.
BARE = frozenset("index main __init__ mod lib init utils util types common setup".split())


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """Every mined file, in a fixed order."""
    for shard in sorted(folder.glob("*.jsonl")):
        with shard.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def count_documented(folder: Path) -> Counter[str]:
    """Definitions with a doc sentence, by language."""
    found: Counter[str] = Counter()
    for record in records(folder):
        found[record["language"]] += sum(1 for unit in record["units"] if unit["doc"])
    return found


def learn_vocabulary(folder: Path, size: int) -> list[str]:
    """Word pieces by the usual greedy merging, over the number of files a word is in, damped."""
    chance, in_files, taken = random.Random(SEED), Counter[str](), Counter[str]()
    for record in records(folder):
        if taken[record["language"]] >= VOCABULARY_FILES or chance.random() > 0.6:
            continue
        taken[record["language"]] += 1
        texts = [record["path"], record["header"]]
        for unit in record["units"][:12]:
            texts += [unit["name"], *unit["parents"], unit["doc"], unit["body"]]
        in_files.update({word.lower() for word in words_of(" ".join(texts)) if MIN_WORD_LENGTH <= len(word) <= MAX_WORD_LENGTH})
    tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    repeated = (" ".join([word] * min(200, int(count**0.75) + 1)) for word, count in sorted(in_files.items()) if count >= 3)
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=[UNKNOWN], limit_alphabet=60, show_progress=False)
    tokenizer.train_from_iterator(repeated, trainer)
    known = tokenizer.get_vocab()
    return sorted(known, key=known.__getitem__)


class Bags:
    """Lists of pieces, one after the other; with counts, each piece once."""

    def __init__(self, *, counted: bool) -> None:
        self._counted = counted
        self._pieces: list[np.ndarray] = []
        self._counts: list[np.ndarray] = []
        self._ends = [0]

    def add(self, pieces: list[int]) -> None:
        """One more list."""
        if self._counted:
            found = Counter(pieces)
            pieces = list(found)
            self._counts.append(np.minimum(np.fromiter(found.values(), int, len(found)), 255).astype(np.uint8))
        self._pieces.append(np.asarray(pieces, np.uint16))
        self._ends.append(self._ends[-1] + len(pieces))

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """As named arrays."""
        found = {f"{name}.pieces": np.concatenate(self._pieces), f"{name}.ends": np.asarray(self._ends, np.int64)}
        return found | ({f"{name}.counts": np.concatenate(self._counts)} if self._counted else {})


class Gathered:
    """Everything that training draws from, while it is read."""

    FILE_LISTS, FILE_BAGS = ("path", "header", "stem"), ("file_names", "file_text")
    UNIT_LISTS, UNIT_BAGS = ("name", "parents", "doc"), ("body",)

    def __init__(self, vocabulary: WordPieces) -> None:
        self._cut = vocabulary.pieces
        self.bags = {name: Bags(counted=False) for name in (*self.FILE_LISTS, *self.UNIT_LISTS)}
        self.bags |= {name: Bags(counted=True) for name in (*self.FILE_BAGS, *self.UNIT_BAGS)}
        self.unit_file: list[int] = []
        self.unit_doc: list[int] = []
        self.file_package: list[int] = []
        self._packages: dict[str, int] = {}

    def add(self, record: dict[str, Any], units: list[dict[str, Any]]) -> None:
        """One file, with those of its definitions that were drawn."""
        row, bags, cut = len(self.file_package), self.bags, self._cut
        self.file_package.append(self._packages.setdefault(record["package"], len(self._packages)))
        bags["path"].add(cut(record["path"])[-PATH_PIECES:])
        bags["header"].add(cut(record["header"])[:SENTENCE_PIECES])
        bags["stem"].add(self._stem(record["path"]))
        bags["file_names"].add(cut(" ".join(unit["name"] for unit in record["units"][:60])))
        bags["file_text"].add(cut(" ".join(unit["body"] for unit in record["units"])[:HEAD_CHARACTERS]))
        for unit in units:
            self.unit_file.append(row)
            self.unit_doc.append(zlib.crc32(unit["doc"].lower().encode()) if unit["doc"] else 0)
            bags["name"].add(cut(unit["name"])[:NAME_PIECES])
            bags["parents"].add(cut(" ".join(unit["parents"][-2:]))[:NAME_PIECES])
            bags["doc"].add(cut(unit["doc"])[:SENTENCE_PIECES])
            bags["body"].add(cut(unit["body"]))

    def _stem(self, path: str) -> list[int]:
        """A file's name as a question: with its folder where it says too little alone."""
        place = PurePosixPath(path)
        stem = re.sub(r"\.\w+$", "", place.name)
        pieces = self._cut(stem)
        if stem.lower() in BARE or len(pieces) < 2:
            pieces = self._cut(place.parent.name) + pieces
        return pieces[:10] if len(pieces) >= 2 else []

    def arrays(self) -> dict[str, np.ndarray]:
        """As named arrays."""
        found: dict[str, np.ndarray] = {}
        for name, bag in self.bags.items():
            found |= bag.arrays(name)
        return found | {
            "unit_file": np.asarray(self.unit_file, np.int64),
            "unit_doc": np.asarray(self.unit_doc, np.int64),
            "file_package": np.asarray(self.file_package, np.int64),
        }


def gather(folder: Path, vocabulary: WordPieces, documented: Counter[str]) -> tuple[Gathered, dict[str, Any]]:
    """Draw definitions so that no language and no package drowns the others."""
    chance, found = random.Random(SEED), Gathered(vocabulary)
    seen: set[int] = set()
    of_package, kept = Counter[str](), Counter[str]()
    for record in records(folder):
        share = min(1.0, MOST_OF_LANGUAGE / max(1, documented[record["language"]]))
        units = []
        for unit in record["units"]:
            key = zlib.crc32(f"{unit['name']}|{unit['doc']}|{unit['body'][:300]}".encode())
            if chance.random() > share * (1.0 if unit["doc"] else 0.6) or key in seen or of_package[record["package"]] > MOST_OF_PACKAGE:
                continue
            seen.add(key)
            units.append(unit)
            of_package[record["package"]] += bool(unit["doc"])
            kept[record["language"]] += bool(unit["doc"])
        if units or record["header"]:
            found.add(record, units)
    facts = {"files": len(found.file_package), "definitions": len(found.unit_file), "packages": len(of_package), "documented": dict(kept)}
    return found, facts


def main() -> None:
    """Read records, write the vocabulary and the arrays."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--pieces", type=int, default=PIECES)
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    pieces = learn_vocabulary(options.records, options.pieces)
    (options.data / "vocabulary.txt").write_text("\n".join(pieces), encoding="utf-8")
    found, facts = gather(options.records, WordPieces(pieces), count_documented(options.records))
    np.savez(options.data / "pairs.npz", **found.arrays())
    (options.data / "facts.json").write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
