"""How many tokens a text has, estimated from its pairs of bytes alone.

Every model has its own tokenizer, and none is at hand when an answer is printed. What a byte costs depends on the byte before
it: a letter that starts a word costs almost a token, one that continues it almost nothing, one that seldom follows the other
more. The costs were fitted to the greatest of the counts of four tokenizers (`training/token_costs.py`) and raised until no
text kept apart was counted too low; `docs/experiments/context.md` has the table.

A text is weighed as if it started a line, so the weights of texts that end with a newline add up exactly.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

#: Weights are whole numbers, this many to a token: their sums are exact, in any order.
PARTS = 100
#: How much `count(a + b)` and `count(a) + count(b)` may differ if `a` does not end with a newline.
MAX_JOINT_ERROR = 4
#: By the byte before, then the byte: the cost in parts of a token. All digits cost the same.
_COSTS = np.frombuffer(zlib.decompress((Path(__file__).parents[1] / "core/weights/token_costs.bin").read_bytes()), np.uint8)
#: No character costs less, and no newline less than the second: a text that is certainly too long need not be weighed.
LEAST_OF_A_CHARACTER = int(_COSTS.min())
LEAST_OF_A_NEWLINE = int(_COSTS[10::256].min())


def count_tokens(text: str) -> int:
    """About how many tokens a text has: rather too many than too few, and never fewer for a longer text."""
    return tokens_from_weight(weigh_texts([text])[0])


def tokens_from_weight(parts: int) -> int:
    """The tokens of a weight, rounded up."""
    return -(-parts // PARTS)


def weigh_texts(texts: Sequence[str]) -> list[int]:
    """The weight of each text at the start of a line, in parts of a token."""
    if not texts:
        return []
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    # A newline before each text, and one after the last, so that no text is an empty range.
    costs = _costs(b"\n" + b"\n".join(encoded) + b"\n")
    lengths = np.fromiter((len(one) + 1 for one in encoded), dtype=np.int64, count=len(encoded))
    ends = np.cumsum(lengths)
    sums = np.add.reduceat(costs, ends - lengths, dtype=np.int64) - costs[ends - 1]
    return [int(one) for one in sums]


def least_weight(text: str) -> int:
    """A lower bound of a text's weight, known without looking at its words."""
    return LEAST_OF_A_CHARACTER * len(text) + (LEAST_OF_A_NEWLINE - LEAST_OF_A_CHARACTER) * text.count("\n")


def _costs(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.integer[Any]]]:
    """The cost of each byte but the first."""
    content = np.frombuffer(data, np.uint8)
    costs: np.ndarray[tuple[int], np.dtype[np.integer[Any]]] = _COSTS[content[:-1].astype(np.uint16) << 8 | content[1:]]
    return costs
