"""Train the shipped encoder from random weights: questions near the code they speak of, far from other code.

    python training/train_encoder.py DATA MODEL [--steps N]

DATA is what pairs.py wrote; MODEL gets the folder that `whence.embed.static` reads.
A batch holds blocks of pairs from one package, so that what must be told apart is
alike. Doc sentences lose words at random and question phrases are put before them,
because people ask shorter than they document. Paths and names are left out at
random, so that none of the three is leaned on alone.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from whence.embed.static import WordPieces

SEED, WIDTH = 1, 256
BATCH, BLOCK = 1_024, 32
STEPS, WARM_UP = 1_400, 100
RATE, WEIGHT_RATE, FIELD_RATE = 3e-3, 1e-2, 5e-3
#: Share of each kind of pair that an epoch draws: docs, names, headers, stems.
DOC, NAME, HEADER, STEM = range(4)
DRAWN = (1.0, 0.5, 1.0, 0.4)
NO_PATH, NO_NAMES, SHORTENED, ASKED_AS_QUESTION, WITH_NEIGHBOUR = 0.3, 0.25, 0.3, 0.2, 0.3
#: How often the question's own words are taken out of the body: names nearly always, the rest sometimes.
HIDDEN_NAME, HIDDEN = 0.8, 0.3
PHRASES = (
    "how does;how is;how are;how to;where is;where are;what;implementation of;code that;logic for;handling;"
    "function that;how does the;class for;find the code"
).split(";")

Bag = tuple[np.ndarray, np.ndarray, np.ndarray]  # (owner, piece, weight of its count), grouped by owner


class Pairs:
    """The arrays of pairs.npz, and lists drawn from them."""

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "pairs.npz") as found:
            self._arrays = {name: found[name] for name in found.files}
        self.unit_file, self.unit_doc = self._arrays["unit_file"], self._arrays["unit_doc"]
        self.file_package = self._arrays["file_package"]
        pieces = (folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")
        self.vocabulary, self.size = WordPieces(pieces), len(pieces)
        counts = np.bincount(self._arrays["body.pieces"], minlength=self.size)
        self.rarity = (1e-3 / (1e-3 + counts / counts.sum())).astype(np.float32)
        files = np.arange(len(self.file_package))
        self.first_unit, self.end_unit = np.searchsorted(self.unit_file, files), np.searchsorted(self.unit_file, files, "right")

    def lengths(self, name: str) -> np.ndarray:
        """How many pieces each list has."""
        return np.diff(self._arrays[f"{name}.ends"])

    def take(self, name: str, rows: np.ndarray, owners: np.ndarray) -> Bag:
        """The pieces of some rows, given to owners."""
        ends = self._arrays[f"{name}.ends"]
        sizes = ends[rows + 1] - ends[rows]
        at = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(ends[rows], sizes)
        counts = self._arrays.get(f"{name}.counts")
        worth = np.ones(len(at), np.float32) if counts is None else 1 + np.log(counts[at].astype(np.float32))
        return np.repeat(owners, sizes), self._arrays[f"{name}.pieces"][at].astype(np.int64), worth


def join(*bags: Bag) -> Bag:
    """Several bags as one, grouped by owner."""
    owner = np.concatenate([bag[0] for bag in bags])
    order = np.argsort(owner, kind="stable")
    return owner[order], np.concatenate([bag[1] for bag in bags])[order], np.concatenate([bag[2] for bag in bags])[order]


def only(bag: Bag, keep: np.ndarray) -> Bag:
    """A part of a bag."""
    return bag[0][keep], bag[1][keep], bag[2][keep]


@dataclass
class Batch:
    """Questions, the three fields of their answers, and a key that equal questions share."""

    question: Bag
    fields: tuple[Bag, Bag, Bag]
    same: np.ndarray


class Drawing:
    """Draws batches."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self._random = np.random.RandomState(SEED)
        self._phrases = [np.array(pairs.vocabulary.pieces(phrase), np.int64) for phrase in PHRASES]
        fit = {DOC: ("doc", 3), NAME: ("name", 2), HEADER: ("header", 3), STEM: ("stem", 2)}
        self._of_kind = {kind: np.flatnonzero(pairs.lengths(name) >= least) for kind, (name, least) in fit.items()}

    def sizes(self) -> list[int]:
        """Pairs of each kind."""
        return [len(self._of_kind[kind]) for kind in range(4)]

    def epoch(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs in blocks of one package: (kind, row, file)."""
        drawn = [self._of_kind[kind][self._random.rand(len(self._of_kind[kind])) < share] for kind, share in enumerate(DRAWN)]
        kind = np.concatenate([np.full(len(rows), number) for number, rows in enumerate(drawn)])
        row = np.concatenate(drawn)
        file = np.where(kind <= NAME, self._pairs.unit_file[np.minimum(row, len(self._pairs.unit_file) - 1)], row)
        order = np.lexsort((self._random.rand(len(kind)), self._pairs.file_package[file]))
        blocks = order[: len(order) // BLOCK * BLOCK].reshape(-1, BLOCK)
        order = blocks[self._random.permutation(len(blocks))].reshape(-1)
        return kind[order], row[order], file[order]

    def batch(self, kind: np.ndarray, row: np.ndarray, file: np.ndarray) -> Batch:
        """One batch of pairs."""
        question = self._question(kind, row)
        asked = question[0] * self._pairs.size + question[1]
        body = self._body(kind, row, file)
        hidden = np.where(kind == NAME, self._random.rand(len(kind)) < HIDDEN_NAME, self._random.rand(len(kind)) < HIDDEN)
        body = only(body, ~(hidden[body[0]] & np.isin(body[0] * self._pairs.size + body[1], asked)))
        unit = np.minimum(row, len(self._pairs.unit_doc) - 1)
        same = np.where(kind == DOC, self._pairs.unit_doc[unit], -row - 1 - kind * 10**9)
        return Batch(self._as_asked(question, len(kind)), (self._path(kind, file), self._names(kind, row), body), same)

    def _question(self, kind: np.ndarray, row: np.ndarray) -> Bag:
        of = [np.flatnonzero(kind == number) for number in range(4)]
        bags = [self._pairs.take(name, row[rows], rows) for name, rows in zip(("doc", "name", "header", "stem"), of, strict=True)]
        within = of[NAME][self._random.rand(len(of[NAME])) < 0.3]
        bags.append(self._pairs.take("parents", row[within], within))
        return join(*bags)

    def _as_asked(self, question: Bag, count: int) -> Bag:
        """Shorter at random, and as a question at random."""
        share = np.where(self._random.rand(count) < SHORTENED, self._random.uniform(0.3, 0.8, count), 1.1)
        keep = self._random.rand(len(question[0])) < share[question[0]]
        left = np.bincount(question[0][keep], minlength=count) > 0
        question = only(question, keep | ~left[question[0]])
        rows = np.flatnonzero(self._random.rand(count) < ASKED_AS_QUESTION)
        chosen = [self._phrases[number] for number in self._random.randint(len(self._phrases), size=len(rows))]
        owner = np.repeat(rows, [len(phrase) for phrase in chosen])
        return join(question, (owner, np.concatenate(chosen), np.ones(len(owner), np.float32)))

    def _path(self, kind: np.ndarray, file: np.ndarray) -> Bag:
        rows = np.flatnonzero((self._random.rand(len(kind)) >= NO_PATH) & (kind != STEM))
        return self._pairs.take("path", file[rows], rows)

    def _names(self, kind: np.ndarray, row: np.ndarray) -> Bag:
        unit = np.flatnonzero((kind <= NAME) & (self._random.rand(len(kind)) >= NO_NAMES))
        named = unit[kind[unit] == DOC]
        whole = np.flatnonzero((kind >= HEADER) & (self._random.rand(len(kind)) >= 0.1))
        take = self._pairs.take
        return join(take("parents", row[unit], unit), take("name", row[named], named), take("file_names", row[whole], whole))

    def _body(self, kind: np.ndarray, row: np.ndarray, file: np.ndarray) -> Bag:
        """The body, at times with that of a neighbour: passages hold several definitions."""
        unit, whole = np.flatnonzero(kind <= NAME), np.flatnonzero(kind >= HEADER)
        beside = unit[self._random.rand(len(unit)) < WITH_NEIGHBOUR]
        low, high = self._pairs.first_unit[file[beside]], self._pairs.end_unit[file[beside]]
        other = low + (self._random.rand(len(beside)) * (high - low)).astype(np.int64)
        another = other != row[beside]
        other, beside = other[another], beside[another]
        take = self._pairs.take
        return join(
            take("body", row[unit], unit), take("file_text", row[whole], whole), take("body", other, beside), take("doc", other, beside)
        )


class _Mixed(torch.autograd.Function):
    """sum over pieces of exp(weight) x count x vector: a sparse product with its own backward pass, several times faster."""

    @staticmethod
    def forward(context: Any, table: Any, weight: Any, bag: Bag, count: int) -> Any:
        owner, piece, worth = bag
        value = torch.exp(weight.detach()[torch.from_numpy(piece)]) * torch.from_numpy(worth)
        starts = torch.from_numpy(np.searchsorted(owner, np.arange(count + 1)).astype(np.int64))
        context.kept = (table, owner, piece, value, count)
        return torch.sparse_csr_tensor(starts, torch.from_numpy(piece), value, (count, len(table))) @ table.detach()

    @staticmethod
    def backward(context: Any, slope: Any) -> Any:
        table, owner, piece, value, count = context.kept
        order = np.argsort(piece.astype(np.uint16), kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(piece, minlength=len(table)))]).astype(np.int64)
        turned = torch.sparse_csr_tensor(
            torch.from_numpy(starts), torch.from_numpy(owner[order]), value[torch.from_numpy(order)], (len(table), count)
        )
        by_piece = turned @ slope.contiguous()
        return by_piece, (by_piece * table.detach()).sum(1), None, None


class Model(nn.Module):
    """A vector and two weights for each piece (asked, said), a weight for each field, and a temperature."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__()
        start = np.random.RandomState(SEED).randn(pairs.size, WIDTH).astype(np.float32) / math.sqrt(WIDTH)
        self.table = nn.Parameter(torch.from_numpy(start))
        self.asked = nn.Parameter(torch.from_numpy(np.log(pairs.rarity)))
        self.said = nn.Parameter(torch.from_numpy(np.log(pairs.rarity)))
        self.fields = nn.Parameter(torch.tensor([0.0, 0.0, 0.7]))
        self.sharpness = nn.Parameter(torch.tensor(math.log(20.0)))

    def _means(self, bag: Bag, weight: Any, count: int) -> Any:
        owner, piece, worth = (torch.from_numpy(part) for part in bag)
        total = torch.zeros(count).index_add(0, owner, torch.exp(weight[piece]) * worth) + 1e-6
        return functional.normalize(_Mixed.apply(self.table, weight, bag, count) / total[:, None], dim=1, eps=1e-6)

    def questions(self, bag: Bag, count: int) -> Any:
        """Unit vectors of questions."""
        return self._means(bag, self.asked, count)

    def answers(self, fields: tuple[Bag, Bag, Bag], count: int) -> Any:
        """Unit vectors of documents."""
        together = (
            np.concatenate([bag[0] + number * count for number, bag in enumerate(fields)]),
            np.concatenate([bag[1] for bag in fields]),
            np.concatenate([bag[2] for bag in fields]),
        )
        means = self._means(together, self.said, 3 * count).view(3, count, -1)
        return functional.normalize((means * torch.exp(self.fields)[:, None, None]).sum(0), dim=1)

    def loss(self, batch: Batch) -> Any:
        """Cross-entropy of finding the answer among all of the batch, and the question."""
        count = len(batch.same)
        scores = self.questions(batch.question, count) @ self.answers(batch.fields, count).T * torch.exp(self.sharpness).clamp(max=60)
        equal = torch.from_numpy((batch.same[:, None] == batch.same[None, :]) & ~np.eye(count, dtype=bool))
        scores, right = scores.masked_fill(equal, -1e4), torch.arange(count)
        return 0.7 * functional.cross_entropy(scores, right) + 0.3 * functional.cross_entropy(scores.T, right)


def train(pairs: Pairs, steps: int) -> Model:
    """Run the recipe; the same data gives the same model on the same machine."""
    torch.manual_seed(SEED)
    torch.set_num_threads(2)
    model, drawing = Model(pairs), Drawing(pairs)
    rates = (RATE, WEIGHT_RATE, FIELD_RATE)
    groups = [[model.table], [model.asked, model.said], [model.fields, model.sharpness]]
    optimizer = torch.optim.Adam(
        [{"params": group, "lr": rate} for group, rate in zip(groups, rates, strict=True)], betas=(0.9, 0.98), eps=1e-9
    )
    print("pairs", drawing.sizes(), "pieces", pairs.size, flush=True)
    step, began, running = 0, time.time(), 0.0
    while step < steps:
        kind, row, file = drawing.epoch()
        for at in range(0, len(kind) - BATCH + 1, BATCH):
            if step >= steps:
                break
            pace = min(1.0, step / WARM_UP) * max(0.02, 1 - step / steps)
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * pace
            loss = model.loss(drawing.batch(*(part[at : at + BATCH] for part in (kind, row, file))))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
            running = loss.item() if step == 1 else 0.98 * running + 0.02 * loss.item()
            if step % 100 == 0:
                print(step, f"loss {running:.3f}", f"{time.time() - began:.0f} s", flush=True)
    return model


def write(model: Model, data: Path, folder: Path) -> str:
    """Write the tables in small whole numbers, and what they add up to; the fingerprint."""
    folder.mkdir(parents=True, exist_ok=True)
    table = model.table.detach().numpy()
    scale = np.maximum(np.abs(table).max(axis=1), 1e-9) / 127
    np.save(folder / "vectors.npy", np.round(table / scale[:, None]).astype(np.int8))
    weights = [scale, np.exp(model.asked.detach().numpy()), np.exp(model.said.detach().numpy())]
    np.save(folder / "weights.npy", np.stack(weights).astype(np.float32))
    np.save(folder / "fields.npy", np.exp(model.fields.detach().numpy()).astype(np.float32))
    (folder / "vocabulary.txt").write_text((data / "vocabulary.txt").read_text(encoding="utf-8"), encoding="utf-8")
    found = 0
    for name in ("vectors.npy", "weights.npy", "fields.npy", "vocabulary.txt"):
        found = zlib.crc32((folder / name).read_bytes(), found)
    (folder / "fingerprint.txt").write_text(f"static-{found:08x}\n", encoding="utf-8")
    return f"static-{found:08x}"


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    pairs, began = Pairs(options.data), time.time()
    model = train(pairs, options.steps)
    fingerprint = write(model, options.data, options.model)
    facts = json.loads((options.data / "facts.json").read_text(encoding="utf-8"))
    facts |= {
        "fingerprint": fingerprint,
        "steps": options.steps,
        "seconds": round(time.time() - began),
        "pieces": pairs.size,
        "width": WIDTH,
    }
    print(json.dumps(facts, indent=2, sort_keys=True))
    (options.data / "trained.json").write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
