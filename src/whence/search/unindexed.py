"""What can be said of files that are not indexed yet: which of them hold the words of a question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whence.source.read import read_text
from whence.text.analyzer import QUERY_STOP_WORDS, parts, words

#: Of each file so much is read.
MOST_BYTES = 200_000
#: A word in the path counts as much as so many words in the text.
PATH_WORTH = 2


@dataclass(frozen=True, slots=True)
class UnindexedMatch:
    """A file that holds words of a question, not ranked by anything else."""

    path: str
    held: tuple[str, ...]
    line: int  # the first that holds most of them; 0 where only the path does
    text: str = ""


def guesses(root: Path, paths: Sequence[str], question: str, most: int, *, in_time: Callable[[], bool]) -> tuple[list[UnindexedMatch], int]:
    """The files that hold most words of a question, the rarest and those on one line first; and how many were read in time.

    Files with the words on their path are read first; `in_time` says whether there is time for one more.
    """
    spoken = [word.lower() for word in words(question) if word.lower() not in QUERY_STOP_WORDS]
    wanted = sorted({part for word in spoken for part in (word, *parts(word)) if len(part) > 2})
    found, read = list[UnindexedMatch](), 0
    for path in sorted(paths, key=lambda path: -sum(word in path.lower() for word in wanted)) if wanted else ():
        if not in_time():
            break
        read += 1
        if (guess := _guess(root, path, wanted)) is not None:
            found.append(guess)
    holding = Counter(word for guess in found for word in guess.held)
    worth = {word: math.log(1 + read / count) for word, count in holding.items()}

    def score(guess: UnindexedMatch) -> float:
        together = sum(worth[word] for word in guess.held if word in guess.text.lower())
        return together + sum(worth[word] * (1 + PATH_WORTH * (word in guess.path.lower())) for word in guess.held)

    return sorted(found, key=lambda guess: (-len(guess.held), -score(guess), guess.path))[:most], read


def _guess(root: Path, path: str, wanted: Sequence[str]) -> UnindexedMatch | None:
    text = read_text(root, path, MOST_BYTES)
    if text is None:
        return None
    lower = text.lower()
    held = tuple(word for word in wanted if word in lower)
    if not held:
        return None
    lines = lower.split("\n")
    best = max(range(len(lines)), key=lambda number: sum(word in lines[number] for word in held))
    return UnindexedMatch(path, held, best + 1, text.split("\n")[best].strip()[:160])
