"""Learns and checks what bytes cost in tokens: `python training/token_costs.py learn|measure TOKENIZERS FOLDER...`.

The costs are `src/whence/core/weights/token_costs.bin`. Four tokenizers are counted with, each from a registry package that
carries its vocabulary: cl100k and o200k (npm `tiktoken`), Claude's (npm `@anthropic-ai/tokenizer`), Llama 3's (npm
`llama3-tokenizer-js`). A byte's cost depends on the byte before it, so the weights of lines add up. Costs are fitted to a high
quantile of the greatest of the four counts over runs of lines, then raised until hardly a text kept apart is counted too low.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import re
import string
import subprocess
import tarfile
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tiktoken

PACKAGES = ("tiktoken", "@anthropic-ai/tokenizer", "llama3-tokenizer-js")
NAMES = ("cl100k", "o200k", "Llama 3", "Claude")
SUFFIXES = frozenset(
    (
        ".py .js .mjs .ts .tsx .jsx .go .rs .java .kt .rb .php .c .h .cc .cpp .hpp .cs .swift .scala .lua .sh .md .json .yml .yaml .html "
        ".css .scss .sql .svg .toml .rst .po .ml .hs .ex .exs .erl .clj .vue .proto .txt .xml .cmake .tcl .m .el"
    ).split()
)
SIZES = (300, 600, 1_200, 2_400, 5_000)
FILES_OF_A_KIND, MADE = 350, 250
#: The quantile that is fitted, how strongly costs are held to their start, and steps of the fit.
QUANTILE, HOLD, STEPS, RATE = 0.9, 1e-6, 600, 0.02
#: The least that a byte costs, in tokens, and the parts of a token that are stored.
LEAST, PARTS = 0.02, 100
#: The share of the runs kept apart that may be counted too low, before the costs are raised for all.
TOO_LOW = 0.002
#: How much more bytes beyond ASCII cost than was fitted: no collection of texts has every script.
WIDE = 1.06

Counter = Callable[[str], int]


# Tokenizers.
def tokenizers(folder: Path) -> list[Counter]:
    """The four tokenizers; their packages are fetched with npm if they are not there."""
    for package in PACKAGES:
        place = folder / package.replace("/", "-").removeprefix("@")
        if not place.exists():
            folder.mkdir(parents=True, exist_ok=True)
            packed = subprocess.run(
                ["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True
            ).stdout.split()
            with tarfile.open(folder / packed[-1]) as archive:
                archive.extractall(place, filter="data")
    encoders = folder / "tiktoken/package/encoders"
    found = [_from_json(encoders / f"{name}_base.json") for name in ("cl100k", "o200k")]
    found.append(_llama(folder / "llama3-tokenizer-js/package/src"))
    claude = _from_json(folder / "anthropic-ai-tokenizer/package/claude.json")
    plain: list[Counter] = [lambda text, one=one: len(one.encode_ordinary(text)) for one in found]
    return [*plain, lambda text: len(claude.encode_ordinary(unicodedata.normalize("NFKC", text)))]


def _from_json(path: Path) -> tiktoken.Encoding:
    told = json.loads(path.read_text())
    ranks: dict[bytes, int] = {}
    for line in filter(None, told["bpe_ranks"].split("\n")):
        _, first, *tokens = line.split(" ")
        ranks |= {base64.b64decode(token): int(first) + at for at, token in enumerate(tokens)}
    return tiktoken.Encoding(path.stem, pat_str=told["pat_str"], mergeable_ranks=ranks, special_tokens={})


def _llama(folder: Path) -> tiktoken.Encoding:
    """Its vocabulary is written in letters that stand for bytes; its pattern is in the program."""
    program = (folder / "llama3-tokenizer.js").read_text()
    pattern = json.loads(re.search(r'LLAMA3_REGEX_STRING = (".*")', program)[1])
    held = re.search(r'llama_vocab_base64 = "([A-Za-z0-9+/=]+)"', (folder / "data-converted.js").read_text())[1]
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = (byte for byte in range(256) if byte not in set(shown))
    byte_of = {chr(byte): byte for byte in shown} | {chr(256 + at): byte for at, byte in enumerate(hidden)}
    tokens = enumerate(base64.b64decode(held).decode().split("\n"))
    ranks = {bytes(byte_of[letter] for letter in token): rank for rank, token in tokens if not token.startswith("<|")}
    return tiktoken.Encoding("llama3", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


# Texts.
def runs(folders: Sequence[Path], draw: random.Random) -> Iterator[tuple[str, str]]:
    """Runs of lines of files, with their kind, and of made texts that files seldom hold."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                if (suffix := Path(name).suffix) in SUFFIXES:
                    by_kind[suffix].append(os.path.join(place, name))
    words: list[str] = []
    for kind, paths in sorted(by_kind.items()):
        for path in draw.sample(sorted(paths), min(len(paths), FILES_OF_A_KIND)):
            try:
                text = Path(path).read_bytes().decode()
            except (OSError, UnicodeDecodeError):
                continue
            words += re.findall(r"\b[a-z]{3,12}\b", text[:2_000])
            yield from ((kind, run) for _ in range(1 + (len(text) > 3_000)) if (run := _run(text, draw)))
    for _ in range(MADE):
        yield from ((kind, run) for kind, text in _made(words, draw) if (run := _run(text, draw)))


def _run(text: str, draw: random.Random) -> str:
    size = draw.choice(SIZES)
    if len(text) > size:
        start = draw.randrange(len(text) - size)
        start = text.rfind("\n", 0, start) + 1
        text = text[start : start + size]
        if "\n" in text[size // 2 :]:
            text = text[: text.rfind("\n") + 1]
    return text if len(text) > 100 else ""


def _made(words: Sequence[str], draw: random.Random) -> Iterator[tuple[str, str]]:
    raw = draw.randbytes(900)
    letters = base64.b64encode(raw).decode()
    yield "base64", "\n".join(letters[at : at + 76] for at in range(0, len(letters), 76)) + "\n"
    yield "base64", f'const data = "{letters}";\n'
    yield "hex", "\n".join(raw[at : at + 20].hex() for at in range(0, 900, 20)) + "\n"
    for name, alphabet in (
        ("letters", string.ascii_lowercase),
        ("letters and digits", string.ascii_letters + string.digits),
        ("marks", string.punctuation),
    ):
        yield name, "\n".join("".join(draw.choices(alphabet, k=draw.choice((8, 20, 40)))) for _ in range(30)) + "\n"
    yield "letters", "".join(draw.choices("acgt", k=600)) + "\n"
    yield "numbers", " ".join(str(draw.randrange(10 ** draw.randrange(1, 12))) for _ in range(120)) + "\n"
    yield "emoji", "".join(chr(draw.randrange(0x1F300, 0x1F6FF)) + draw.choice(("", " ", "\n")) for _ in range(150))
    for name, first, last in (("Chinese", 0x4E00, 0x9FA5), ("Korean", 0xAC00, 0xD7A3), ("Japanese", 0x3041, 0x30FE), ("Thai", 0xE01, 0xE3A),
                              ("Devanagari", 0x904, 0x939), ("Armenian", 0x531, 0x586), ("Georgian", 0x10D0, 0x10FA),
                              ("Ethiopic", 0x1200, 0x1248),
                              ("symbols", 0x2190, 0x27BF)):  # fmt: skip
        yield (
            name,
            "".join(
                chr(draw.randrange(first, last)) + ("\n" if draw.random() < 0.03 else " " if draw.random() < 0.1 else "")
                for _ in range(300)
            ),
        )
    some = [draw.sample(words, draw.randrange(3, 8)) for _ in range(15)]
    yield "camel case", "\n".join("".join(map(str.capitalize, few)) for few in some) + "\n"
    yield "snake case", "\n".join("_".join(few) for few in some) + "\n"
    yield "upper case", "\n".join("_".join(few).upper() for few in some) + "\n"


# Learning.
def learn(texts: Sequence[str], counts: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any]:
    """The cost of each pair of bytes, in parts of a token."""
    rows, pairs, times = _pairs(texts)
    times = times / counts[rows]
    start = _start()
    apart = np.random.default_rng(seed).random(len(texts)) < 0.15
    learnt = ~apart[rows]
    costs, momentum, spread = start.copy(), np.zeros_like(start), np.zeros_like(start)
    seen, cells, share = rows[learnt], pairs[learnt], times[learnt]
    for step in range(STEPS):
        told = np.bincount(seen, share * costs[cells], len(texts))
        pull = np.where(told < 1, QUANTILE, QUANTILE - 1) * ~apart
        slope = -np.bincount(cells, share * pull[seen], len(costs)) / len(texts) + HOLD * (costs - start)
        momentum, spread = 0.9 * momentum + 0.1 * slope, 0.999 * spread + 0.001 * slope * slope
        rate = RATE * (1 - step / STEPS)
        costs -= rate * momentum / (1 - 0.9 ** (step + 1)) / (np.sqrt(spread / (1 - 0.999 ** (step + 1))) + 1e-9)
        costs = np.maximum(costs, LEAST)
    told = np.bincount(rows, times * costs[pairs], len(texts))
    raised = 1 / np.quantile(told[apart], TOO_LOW)
    print(
        f"kept apart: mean {told[apart].mean():.3f}, spread {told[apart].std():.3f}, least {told[apart].min():.3f}; raised by {raised:.3f}"
    )
    return np.minimum(np.ceil(costs * raised * PARTS), 255).astype(np.uint8).reshape(256, 256)


def _digit_like(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """All digits are one: the tokens of a number that counts them depend on its length alone."""
    return np.where((data >= ord("0")) & (data <= ord("9")), ord("0"), data)


def _pairs(texts: Sequence[str]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    found = []
    for row, text in enumerate(texts):
        data = _digit_like(np.frombuffer(b"\n" + text.encode(), np.uint8).astype(np.int64))
        pairs, times = np.unique(data[:-1] * 256 + data[1:], return_counts=True)
        found.append((np.full(len(pairs), row), pairs, times))
    rows, pairs, times = (np.concatenate(part) for part in zip(*found, strict=True))
    return rows, pairs, times.astype(float)


def _start() -> np.ndarray[Any, Any]:
    """What a pair costs that no text holds: rather too much."""
    costs = np.ones((256, 256))
    inside = [byte for byte in range(128) if chr(byte).isalpha()]
    costs[np.ix_(inside, inside)] = 0.4
    costs[ord(" "), inside] = 0.9
    costs[:, ord(" ")] = 0.2
    return costs.ravel()


def save(costs: np.ndarray[Any, Any], path: Path) -> None:
    """Every digit gets the costs of the first."""
    costs[:, 128:] = np.minimum(np.ceil(costs[:, 128:] * WIDE), 255)
    digits = range(ord("1"), ord("9") + 1)
    costs[:, digits] = costs[:, [ord("0")]]
    costs[digits, :] = costs[[ord("0")], :]
    path.write_bytes(zlib.compress(costs.tobytes(), 9))


# Measuring.
def measure(folders: Sequence[Path], counters: Sequence[Counter], least: int) -> None:
    """How the estimate of whole files compares with the four counts, by kind."""
    from whence.text.token_estimate import count_tokens  # noqa: PLC0415  -- there are no costs yet when they are learned

    by_kind: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    draw = random.Random(11)
    for folder in folders:
        paths = [path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES and path.is_file()]
        for path in draw.sample(paths, min(len(paths), 400)):
            try:
                text = path.read_bytes().decode()
            except (OSError, UnicodeDecodeError):
                continue
            real = [count(text) for count in counters]
            if least <= max(real) <= 200_000:
                by_kind[path.suffix].append((*(count_tokens(text) / one for one in real), count_tokens(text) / max(real)))
    print(f"{'kind':8}{'files':>6} " + "".join(f"{name:>9}" for name in (*NAMES, "greatest", "least", "too low")))
    every = [one for ratios in by_kind.values() for one in ratios]
    for kind, ratios in [*sorted(by_kind.items()), ("all", every)]:
        means = np.mean(ratios, axis=0)
        worst = [one[-1] for one in ratios]
        cells = (*means, min(worst), np.mean([one < 1 for one in worst]))
        print(f"{kind:8}{len(ratios):6} " + "".join(f"{cell:9.3f}" for cell in cells))


def main() -> None:
    """Learn the costs, or measure them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("learn", "measure"))
    parser.add_argument("tokenizers", type=Path, help="where the packages of the tokenizers are, or are fetched to")
    parser.add_argument("folders", type=Path, nargs="+", help="texts of many kinds")
    parser.add_argument("--out", type=Path, default=Path("src/whence/core/weights/token_costs.bin"))
    parser.add_argument("--least", type=int, default=100, help="files of fewer tokens are not measured")
    given = parser.parse_args()
    counters = tokenizers(given.tokenizers)
    if given.what == "measure":
        measure(given.folders, counters, given.least)
        return
    texts = [text for _, text in runs(given.folders, random.Random(7))]
    counts = np.array([max(count(text) for count in counters) for text in texts], float)
    save(learn(texts, counts, 0), given.out)


if __name__ == "__main__":
    main()
