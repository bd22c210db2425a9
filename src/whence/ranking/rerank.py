"""A second look: a sentence encoder reads the first candidates of a ranking, and how near they are becomes a signal.

Nothing is encoded while indexing. A text is read when it first comes up and its vector kept by content and model, so the
next question that meets it pays nothing. How much is read anew for one answer is a number of tokens, from the time allowed
and the speed measured once: with the same cache, the same question has the same answer.
"""

from __future__ import annotations

import time
from _blake2 import blake2b  # hashlib would load all of OpenSSL
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from whence.core.errors import ModelUnavailable
from whence.core.settings import RerankSettings
from whence.embed.encoder import ONNX, UnitText
from whence.embed.sentence import SentenceEncoder
from whence.index.reader import IndexReader
from whence.ranking.pool import CandidatePool, FileHit
from whence.storage.arrayfile import Array
from whence.storage.vector_cache import VectorCache, stored

#: Where the cache lies in a data folder.
CACHE = Path("rerank", "vectors.db")
#: What is read to measure a model's speed, and how often; the quickest counts.
_SAMPLE, _TRIALS = "read the settings of a file and write what changed to the index of names " * 40, 2
#: Units of a file that are read: its best one alone says too little of it (docs/experiments/embeddings.md).
UNITS_OF_FILE = 3
#: Texts of a candidate that count: one passage of a long note may be near by chance.
BEST_TEXTS = 2
#: Characters of a question that are encoded, and bytes of a unit: more would be cut off.
MAX_QUERY, MAX_BODY = 2_000, 4_000


@dataclass(frozen=True, slots=True)
class SecondLook:
    """What a second look found: how near each candidate is, and how many of those to be read were."""

    similarity: Array  # NaN where a candidate was not read
    read: int
    first: int  # candidates, or passages of notes, that were to be read
    problem: str = ""

    @property
    def remark(self) -> str:
        """What a user should know about an answer of which not all was read; empty where nothing is missing."""
        if self.problem or self.read == self.first:
            return self.problem
        return f"the second look read {self.read} of the first {self.first} texts; the same question again reads more"

    def because(self, row: int) -> str:
        """The reason for one candidate."""
        return f"similarity {self.similarity[row]:.2f} on a second look" if np.isfinite(self.similarity[row]) else "not read"

    def values(self) -> Array:
        """The signal: similarity above the least similar candidate that was read, in standard deviations; 0 for what was not read."""
        known = self.similarity[np.isfinite(self.similarity)]
        spread = float(known.std()) if len(known) > 1 else 0.0
        if spread < 1e-6:
            return np.zeros(len(self.similarity))
        return np.asarray(np.nan_to_num((self.similarity - known.min()) / spread, nan=0.0))


#: The text of a candidate by its place; None where it cannot be read.
TextOf = Callable[[int], UnitText | None]


class Reranker:
    """Reads candidates with one model, and remembers what it has read. A model that cannot be loaded reads nothing and says why."""

    def __init__(self, settings: RerankSettings, data_dir: Path) -> None:
        self.first, self._problem, self._encoder = settings.candidates, "", None
        self._cache = _open_cache(data_dir / CACHE, settings.cache_mb)
        try:
            self._encoder = _open_encoder(settings.model.removeprefix(ONNX), settings.tokens)
            self._room = settings.milliseconds / 1e3 * self._speed(self._encoder)
        except ModelUnavailable as error:
            self._problem = f"{error}; no second look"

    def look(self, query: str, size: int, rows: Sequence[int], keys: Sequence[bytes], text_of: TextOf) -> SecondLook:
        """Read the candidates in some rows of a pool of a size, best first; one with several texts counts by its best two.

        `keys` stand for the content of their texts, in the order of the rows; `text_of` has a text by its place in it.
        """
        similarity, encoder = np.full(size, np.nan), self._encoder
        if encoder is None:
            return SecondLook(similarity, 0, len(keys), self._problem)
        names = [_key(encoder, key) for key in keys]
        query_name = _key(encoder, b"?" + query.encode("utf-8", "surrogatepass"))
        known = self._cache.find([*names, query_name])
        news = self._read_new(encoder, [(name, at) for at, name in enumerate(names) if name not in known], text_of)
        if query_name not in known:
            news[query_name] = stored(encoder.encode_query(query[:MAX_QUERY]).rows[0])
        if news:
            self._cache.add(news)
        known |= news
        texts = [(row, float(known[name] @ known[query_name])) for name, row in zip(names, rows, strict=True) if name in known]
        for row in {row for row, _ in texts}:
            similarity[row] = np.mean(sorted((near for one, near in texts if one == row), reverse=True)[:BEST_TEXTS])
        return SecondLook(similarity, len(texts), len(names))

    def _read_new(self, encoder: SentenceEncoder, missing: Iterable[tuple[bytes, int]], text_of: TextOf) -> dict[bytes, Array]:
        """Vectors of texts that are not known yet, as many as there is time for."""
        found: dict[bytes, Array] = {}
        room = self._room
        for name, at in missing:
            text = text_of(at)
            if text is None or name in found:
                continue
            room -= encoder.count(text)
            if room < 0:
                break
            found[name] = stored(encoder.encode_units([text]).rows[0])
        return found

    def _speed(self, encoder: SentenceEncoder) -> float:
        """How many tokens the model reads in a second of processor time, measured once for a data folder."""
        if known := self._cache.speed(encoder.fingerprint):
            return known
        text = UnitText("", "", _SAMPLE.encode())
        times = []
        for _ in range(_TRIALS):
            began = time.process_time()
            encoder.encode_units([text])
            times.append(time.process_time() - began)
        found = encoder.count(text) / max(*times, 1e-6)
        self._cache.set_speed(encoder.fingerprint, found)
        return found


def _key(encoder: SentenceEncoder, content: bytes) -> bytes:
    return blake2b(content, digest_size=16, key=encoder.fingerprint.encode()).digest()


@cache
def _open_encoder(model: str, tokens: int) -> SentenceEncoder:
    return SentenceEncoder(model, tokens, threads=1)


@cache
def _open_cache(path: Path, megabytes: int) -> VectorCache:
    """One for each process: it lives as long, and threads share it."""
    return VectorCache(path, megabytes << 20)


class UnitReranker:
    """Reads the units of one generation of an index."""

    def __init__(self, reader: IndexReader) -> None:
        self._reranker, self._reader = Reranker(reader.settings.rerank, reader.layout.data_dir), reader

    def look(self, pool: CandidatePool, rows: Sequence[int]) -> CandidatePool:
        """The pool with what a second look finds in its first candidates: `rows`, best first."""
        return self._read(pool, [(row, row) for row in rows])

    def look_at_files(self, pool: CandidatePool, scores: Array, hits: Sequence[FileHit]) -> CandidatePool:
        """The same for the best candidates of files, each read by its best units."""
        best = np.argsort(-scores, kind="stable")
        of_file = [(hit.row, best[pool.files[best] == hit.file][:UNITS_OF_FILE]) for hit in hits[: self._reranker.first]]
        return self._read(pool, [(row, unit) for row, units in of_file for unit in units.tolist()])

    def _read(self, pool: CandidatePool, pairs: Sequence[tuple[int, int]]) -> CandidatePool:
        """Read so many of the pairs of a candidate and the one whose text stands for it."""
        rows, read = (list(side) for side in zip(*pairs[: self._reranker.first], strict=True)) if pairs else ([], [])
        texts = UnitTexts(self._reader, pool.units[read])
        look = self._reranker.look(pool.plan.text, len(pool.units), rows, texts.keys(), texts.text)
        return replace(pool, second_look=look)


class UnitTexts:
    """The texts of units of an index as they were indexed, and what stands for each."""

    def __init__(self, reader: IndexReader, units: Array) -> None:
        self._reader, self._units = reader, units
        self._snapshot = reader.snapshot
        self._paths = [self._snapshot.path(file) for file in self._snapshot.file_of_unit[units].tolist()]
        self._hashes: Mapping[str, bytes] = reader.store.hashes(dict.fromkeys(self._paths))
        self._read: dict[str, list[str] | None] = {}

    def keys(self) -> list[bytes]:
        """For each unit: the content of its file, and where in it the unit is."""
        spans = zip(self._units.tolist(), self._paths, strict=True)
        return [
            b"\0".join((path.encode("utf-8", "surrogateescape"), self._hashes.get(path, b""), b"%d-%d" % self._span(unit)))
            for unit, path in spans
        ]

    def text(self, at: int) -> UnitText | None:
        """The text of a unit, by its place; None if its file has changed since."""
        path, unit = self._paths[at], int(self._units[at])
        if path not in self._read:
            text = self._reader.read_unchanged(path, self._hashes.get(path, b""))
            self._read[path] = None if text is None else text.split("\n")
        lines = self._read[path]
        if lines is None:
            return None
        first, last = self._span(unit)
        body = "\n".join(lines[first - 1 : last])[:MAX_BODY]
        return UnitText(path, self._snapshot.symbols.written_name(unit), body.encode("utf-8", "surrogatepass"))

    def _span(self, unit: int) -> tuple[int, int]:
        return int(self._snapshot.column("units.first")[unit]), int(self._snapshot.column("units.last")[unit])
