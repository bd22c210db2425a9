"""How many units, windows and files hold each term: of a repository, and of all of them together.

Rarity is measured against everything that is searched, and a query has only some files at hand. So the counts of a
repository lie in the engine, cut into buckets by the terms' hashes: a query reads the few buckets of its own terms.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whence.core.errors import IndexDamaged
from whence.core.types import DocumentFrequency
from whence.fleet.file_blobs import Arrays
from whence.fleet.milvus.engine import Engine
from whence.fleet.milvus.filters import EVERYTHING, equals, one_of
from whence.fleet.rows import MAX_PART, bucket_key, join_blob, part_key, split_blob
from whence.storage.arrayfile import Array
from whence.storage.rows import distinct, first_of_each
from whence.storage.rows import unique_counts as tally

#: Buckets of a repository, as a power of two, and of all repositories together: they have many more terms.
BITS, BITS_OF_ALL = 6, 10
#: The scope of all repositories together.
ALL = "*"
COLUMNS = ("units", "windows", "files")
MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class CountTable:
    """Counts by hash, sorted: of terms in units, windows and files, and of words that files mention as written."""

    terms: Array  # hashes
    held: Array  # (terms, COLUMNS)
    words: Array  # hashes
    mentioned: Array

    @classmethod
    def empty(cls) -> CountTable:
        """No terms at all."""
        empty = np.empty(0, np.uint32)
        return cls(empty, np.empty((0, len(COLUMNS)), np.uint32), empty, empty)

    def bucket(self, bucket: int, bits: int) -> CountTable:
        """The part whose hashes begin with some bits."""
        (a, b), (c, d) = (np.searchsorted(one.astype(np.int64) >> (32 - bits), [bucket, bucket + 1]) for one in (self.terms, self.words))
        return CountTable(self.terms[a:b], self.held[a:b], self.words[c:d], self.mentioned[c:d])

    def holding(self, hashed: int) -> DocumentFrequency | None:
        """What is known of one term."""
        at = int(np.searchsorted(self.terms, np.uint32(hashed)))
        if at >= len(self.terms) or int(self.terms[at]) != hashed:
            return None
        return DocumentFrequency(*self.held[at].tolist())

    def files_mentioning(self, hashed: int) -> int:
        """How many files mention a word."""
        at = int(np.searchsorted(self.words, np.uint32(hashed)))
        return int(self.mentioned[at]) if at < len(self.words) and int(self.words[at]) == hashed else 0


def bucket_of(hashed: int, bits: int) -> int:
    """The bucket of a hash."""
    return hashed >> (32 - bits)


#: The hash under which a table keeps how many units, windows and files there are at all; no term has it.
TOTALS = 0


class TermCounter:
    """Counts pieces of files as they pass."""

    def __init__(self) -> None:
        self._sum = CountTable.empty()
        self._totals = np.zeros(len(COLUMNS), np.uint32)
        self._columns: dict[str, list[Array]] = {name: [] for name in (*COLUMNS, "mentions")}
        self._waiting = 0

    def add(self, piece: Arrays) -> None:
        """Take in a file."""
        words, places = piece["words.term"], piece["paths.term"]
        found = {
            "units": words,
            "windows": piece["windows.term"],
            "files": distinct(np.concatenate([words, places])),
            "mentions": piece["mentions"],
        }
        for name, hashes in found.items():
            self._columns[name].append(hashes.astype(np.uint32))
        self._totals += np.array([len(piece["units.first"]), int(piece["files.windows"][0]), 1], np.uint32)
        self._waiting += len(words)
        if self._waiting > MAX_PENDING:
            self._sum = self.table()
            self._totals[:] = 0
            self._columns = {name: [] for name in self._columns}
            self._waiting = 0

    def table(self) -> CountTable:
        """The counts of all that was taken in."""
        terms, held = [np.array([TOTALS], np.uint32)], [self._totals[None, :].copy()]
        for at, name in enumerate(COLUMNS):
            hashes, counts = _tallied(self._columns[name])
            column = np.zeros((len(hashes), len(COLUMNS)), np.uint32)
            column[:, at] = counts
            terms.append(hashes)
            held.append(column)
        words, mentioned = _tallied(self._columns["mentions"])
        return merge_tables([self._sum, CountTable(np.concatenate(terms), np.concatenate(held), words, mentioned)])


#: So many postings wait to be counted at once.
MAX_PENDING = 4_000_000


def merge_tables(tables: Iterable[CountTable]) -> CountTable:
    """Several tables as one; they need not be sorted."""
    every = list(tables)
    terms, held = _summed(np.concatenate([one.terms for one in every]), np.concatenate([one.held for one in every]))
    words, mentioned = _summed(np.concatenate([one.words for one in every]), np.concatenate([one.mentioned for one in every])[:, None])
    return CountTable(terms, held, words, mentioned[:, 0])


def _tallied(hashes: list[Array]) -> tuple[Array, Array]:
    if not hashes:
        return np.empty(0, np.uint32), np.empty(0, np.uint32)
    found, counts = tally(np.concatenate(hashes))
    return found.astype(np.uint32), counts.astype(np.uint32)


def _summed(keys: Array, values: Array) -> tuple[Array, Array]:
    order = np.argsort(keys, kind="stable")
    new = first_of_each(keys[order])
    if not len(new):
        return keys.astype(np.uint32), values.astype(np.uint32)
    return keys[order][new].astype(np.uint32), np.add.reduceat(values[order].astype(np.int64), new, axis=0).astype(np.uint32)


def encode_table(table: CountTable) -> bytes:
    """A table as bytes."""
    head = np.array([len(table.terms), len(table.words)], "<u4")
    columns = (table.terms, table.held.reshape(-1), table.words, table.mentioned)
    return zlib.compress(head.tobytes() + b"".join(np.ascontiguousarray(one, "<u4").tobytes() for one in columns), 6)


def decode_table(raw: bytes) -> CountTable:
    """A table from bytes."""
    try:
        numbers = np.frombuffer(zlib.decompressobj().decompress(raw, MAX_BYTES), "<u4")
        terms, words = numbers[:2].tolist()
        a, b = 2 + terms, 2 + terms * (1 + len(COLUMNS))
        held = numbers[a:b].reshape(terms, len(COLUMNS))
        found, mentioned = numbers[b:].reshape(2, words)
    except (zlib.error, ValueError) as error:
        raise IndexDamaged("counts of the fleet cannot be read") from error
    return CountTable(numbers[2:a], held, found, mentioned)


def asked_for(hashes: Iterable[int], bits: int) -> Mapping[int, list[int]]:
    """Hashes by the bucket that they are in."""
    found: dict[int, list[int]] = {}
    for hashed in hashes:
        found.setdefault(bucket_of(hashed, bits), []).append(hashed)
    return found


#: What the scope of a group begins with; no repository is called so.
GROUP = "@"
#: Keys that one deletion names.
AT_ONCE = 500


def group_scope(group: str) -> str:
    """The scope of all repositories that a group may see."""
    return f"{GROUP}{group}"


def scope_bits(scope: str) -> int:
    """How many bits choose the bucket: a repository has fewer terms than many have."""
    return BITS_OF_ALL if scope == ALL or scope.startswith(GROUP) else BITS


def read_counts(engine: Engine, scope: str, hashes: Iterable[int]) -> CountTable:
    """The counts of a scope, as far as they stand in the buckets of some hashes."""
    waiting = [bucket_key(scope, bucket) for bucket in asked_for(hashes, scope_bits(scope))]
    found, part = [CountTable.empty()], 0
    while waiting:  # nearly always once: who has no next part is complete
        keys = {name: key for key in waiting for name in ([_row_key(key, part), _row_key(key, part + 1)])}
        rows = engine.get("counts", keys, ("id", "blob"))
        found += [decode_table(join_blob([row["blob"]])) for row in rows]
        part += 2
        waiting = [keys[row["id"]] for row in rows if row["id"] == _row_key(keys[row["id"]], part - 1)]
    return merge_tables(found)


def write_counts(
    engine: Engine, scope: str, table: CountTable, repository: str, groups: Sequence[str], *, force: bool = False
) -> tuple[int, int]:
    """Keep the counts of a scope; only buckets that changed are sent. How many rows and bytes that were."""
    made = {row["id"]: row for row in _rows(scope, table, repository, groups)}
    there = {
        row["id"]: (row["blob"], sorted(row["groups"])) for row in engine.rows("counts", equals("scope", scope), ("id", "blob", "groups"))
    }
    changed = [row for key, row in made.items() if force or there.get(key) != (row["blob"], sorted(groups))]
    sent = engine.put("counts", changed)
    delete_keys(engine, "counts", there.keys() - made.keys())
    return len(changed), sent


def refresh_totals(engine: Engine) -> None:
    """Sum up what repositories counted: for everything, and for each group. Scopes that nobody needs any more are removed."""
    seen: dict[str, list[str]] = {}
    for row in engine.rows("repos", EVERYTHING, ("repo", "groups")):
        seen[row["repo"]] = list(row["groups"])
    tables: dict[str, list[CountTable]] = {name: [] for name in seen}
    useless = set()
    for row in engine.rows("counts", EVERYTHING, ("id", "scope", "blob")):
        if row["scope"] in tables:
            tables[row["scope"]].append(decode_table(join_blob([row["blob"]])))
        elif not _is_total(row["scope"]):
            useless.add(row["scope"])
    summed = {name: merge_tables(found) for name, found in tables.items() if found}
    members = _members(seen)
    for scope, names in members.items():
        table = merge_tables([CountTable.empty(), *(summed[name] for name in names if name in summed)])
        write_counts(engine, scope, table, "", [] if scope == ALL else [scope.removeprefix(GROUP)])
    useless |= {row["scope"] for row in engine.rows("counts", equals("repo", ""), ("scope",))} - members.keys()
    engine.delete("counts", one_of("scope", useless))


def delete_keys(engine: Engine, name: str, keys: Iterable[str]) -> int:
    """Remove rows by their keys; how many were named."""
    named = sorted(keys)
    for start in range(0, len(named), AT_ONCE):
        engine.delete(name, one_of("id", named[start : start + AT_ONCE]))
    return len(named)


def _members(seen: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The repositories of every scope that is a sum."""
    found: dict[str, list[str]] = {ALL: list(seen)} if seen else {}
    for name, groups in seen.items():
        for group in groups:
            found.setdefault(group_scope(group), []).append(name)
    return found


def _is_total(scope: str) -> bool:
    return scope == ALL or scope.startswith(GROUP)


def _rows(scope: str, table: CountTable, repository: str, groups: Sequence[str]) -> Iterator[dict[str, Any]]:
    bits = scope_bits(scope)
    for bucket in range(1 << bits):
        part = table.bucket(bucket, bits)
        if not len(part.terms) and not len(part.words):
            continue
        for number, one in enumerate(_fitting(part)):
            yield {
                "id": _row_key(bucket_key(scope, bucket), number),
                "repo": repository,
                "groups": list(groups),
                "scope": scope,
                "bucket": bucket,
                "blob": one,
            }


def _fitting(table: CountTable) -> Iterator[str]:
    """A table as texts that fit into a row each."""
    text = "".join(split_blob(encode_table(table)))
    if len(text) <= MAX_PART:
        yield text
        return
    a, b = len(table.terms) // 2, len(table.words) // 2
    yield from _fitting(CountTable(table.terms[:a], table.held[:a], table.words[:b], table.mentioned[:b]))
    yield from _fitting(CountTable(table.terms[a:], table.held[a:], table.words[b:], table.mentioned[b:]))


def _row_key(key: str, number: int) -> str:
    """The first row of a bucket has its key."""
    return part_key(key, number) if number else key
