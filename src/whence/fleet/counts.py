"""Term counts: how many units, windows and files contain each term, per repository, per group, and overall.

IDF must cover everything that is searched, but a query has only some files at hand. So the engine holds the counts,
in buckets by term hash: a query reads the few buckets of its own terms.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from whence.core.errors import IndexDamaged
from whence.core.types import DocumentFrequency
from whence.fleet.engine import EVERYTHING, Engine, Row, equals, one_of
from whence.fleet.file_blobs import Arrays
from whence.fleet.rows import MAX_PART, bucket_key, join_blob, part_key, split_blob
from whence.storage.arrayfile import Array
from whence.storage.postings import distinct, first_of_each
from whence.storage.postings import unique_counts as tally

#: Buckets of a repository, and of the sums, which have many more terms: powers of two.
BITS, SUM_BITS = 6, 10
#: The scope of all repositories, and the prefix of a group's scope; no repository name begins with it.
ALL, GROUP = "*", "@"
COLUMNS = ("units", "windows", "files")
#: Largest table that is decompressed: others may have written to the engine.
MAX_BYTES = 64 << 20
#: Postings that are buffered before they are counted.
MAX_PENDING = 4_000_000
#: The pseudo-term whose counts are the totals of units, windows and files; no term hashes to it.
TOTALS = 0


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Counts over everything that a query searches, by the hash of a term or word."""

    files: int
    units: int
    windows: int
    terms: Mapping[int, DocumentFrequency] = field(default_factory=dict)
    mentions: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CountTable:
    """Counts sorted by hash: of terms in units, windows and files, and of verbatim words in files."""

    terms: Array  # hashes
    held: Array  # (terms, COLUMNS)
    words: Array  # hashes
    mentions: Array

    @classmethod
    def empty(cls) -> CountTable:
        """A table without terms."""
        empty = np.empty(0, np.uint32)
        return cls(empty, np.empty((0, len(COLUMNS)), np.uint32), empty, empty)

    def bucket(self, bucket: int, bits: int) -> CountTable:
        """The rows of one bucket: those whose hashes begin with its bits."""
        (a, b), (c, d) = (np.searchsorted(one.astype(np.int64) >> (32 - bits), [bucket, bucket + 1]) for one in (self.terms, self.words))
        return CountTable(self.terms[a:b], self.held[a:b], self.words[c:d], self.mentions[c:d])

    def holding(self, hashed: int) -> DocumentFrequency | None:
        """The counts of one term."""
        at = int(np.searchsorted(self.terms, np.uint32(hashed)))
        if at >= len(self.terms) or int(self.terms[at]) != hashed:
            return None
        return DocumentFrequency(*self.held[at].tolist())

    def files_mentioning(self, hashed: int) -> int:
        """How many files contain a word."""
        at = int(np.searchsorted(self.words, np.uint32(hashed)))
        return int(self.mentions[at]) if at < len(self.words) and int(self.words[at]) == hashed else 0


class TermCounter:
    """Counts the terms of file blobs, one after the other."""

    def __init__(self) -> None:
        self._sum = CountTable.empty()
        self._totals = np.zeros(len(COLUMNS), np.uint32)
        self._columns: dict[str, list[Array]] = {name: [] for name in (*COLUMNS, "mentions")}
        self._pending = 0

    def add(self, blob: Arrays) -> None:
        """Count a file."""
        words, places = blob["words.term"], blob["paths.term"]
        found = {
            "units": words,
            "windows": blob["windows.term"],
            "files": distinct(np.concatenate([words, places])),
            "mentions": blob["mentions"],
        }
        for name, hashes in found.items():
            self._columns[name].append(hashes.astype(np.uint32))
        self._totals += np.array([len(blob["units.first"]), int(blob["files.windows"][0]), 1], np.uint32)
        self._pending += len(words)
        if self._pending > MAX_PENDING:
            self._sum = self.table()
            self._totals[:] = 0
            self._columns = {name: [] for name in self._columns}
            self._pending = 0

    def table(self) -> CountTable:
        """The counts of all files so far."""
        terms, held = [np.array([TOTALS], np.uint32)], [self._totals[None, :].copy()]
        for at, name in enumerate(COLUMNS):
            hashes, counts = _tallied(self._columns[name])
            column = np.zeros((len(hashes), len(COLUMNS)), np.uint32)
            column[:, at] = counts
            terms.append(hashes)
            held.append(column)
        words, mentioned = _tallied(self._columns["mentions"])
        return merge_tables([self._sum, CountTable(np.concatenate(terms), np.concatenate(held), words, mentioned)])


def merge_tables(tables: Iterable[CountTable]) -> CountTable:
    """The sum of some tables, which need not be sorted."""
    every = list(tables)
    terms, held = _summed(np.concatenate([one.terms for one in every]), np.concatenate([one.held for one in every]))
    words, mentioned = _summed(np.concatenate([one.words for one in every]), np.concatenate([one.mentions for one in every])[:, None])
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
    columns = (table.terms, table.held.reshape(-1), table.words, table.mentions)
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
        raise IndexDamaged("term counts of the fleet cannot be read") from error
    return CountTable(numbers[2:a], held, found, mentioned)


def group_scope(group: str) -> str:
    """The scope of all repositories that a group may see."""
    return f"{GROUP}{group}"


def read_counts(engine: Engine, scopes: Iterable[str], hashes: Collection[int]) -> TermCounts:
    """The counts of some terms, summed over scopes."""
    table = merge_tables([CountTable.empty(), *(read_table(engine, scope, {TOTALS, *hashes}) for scope in scopes)])
    totals = table.holding(TOTALS) or DocumentFrequency(0, 0, 0)
    terms = {one: known for one in hashes if (known := table.holding(one)) is not None}
    return TermCounts(totals.files, totals.units, totals.windows, terms, {one: table.files_mentioning(one) for one in hashes})


def read_table(engine: Engine, scope: str, hashes: Iterable[int]) -> CountTable:
    """The buckets of a scope that contain some hashes."""
    bits = _bits(scope)
    pending = [bucket_key(scope, bucket) for bucket in dict.fromkeys(one >> (32 - bits) for one in hashes)]
    found, part = [CountTable.empty()], 0
    while pending:  # nearly always once: a bucket without a further part is complete
        keys = {name: key for key in pending for name in (_row_key(key, part), _row_key(key, part + 1))}
        rows = engine.get("counts", keys, ("id", "blob"))
        found += [decode_table(join_blob([row["blob"]])) for row in rows]
        part += 2
        pending = [keys[row["id"]] for row in rows if row["id"] == _row_key(keys[row["id"]], part - 1)]
    return merge_tables(found)


def write_counts(
    engine: Engine, scope: str, table: CountTable, repository: str, groups: Sequence[str], *, force: bool = False
) -> tuple[int, int]:
    """Write the buckets of a scope that changed; returns the rows and bytes sent."""
    made = {row["id"]: row for row in _rows(scope, table, repository, groups)}
    rows = engine.rows("counts", equals("scope", scope), ("id", "blob", "groups"))
    existing = {row["id"]: (row["blob"], sorted(row["groups"])) for row in rows}
    changed = [row for key, row in made.items() if force or existing.get(key) != (row["blob"], sorted(groups))]
    sent = engine.put("counts", changed)
    engine.delete_ids("counts", existing.keys() - made.keys())
    return len(changed), sent


def refresh_totals(engine: Engine) -> None:
    """Sum the counts of repositories, overall and per group, and delete scopes that are no longer needed."""
    groups = {row["repo"]: list(row["groups"]) for row in engine.rows("repos", EVERYTHING, ("repo", "groups"))}
    tables: dict[str, list[CountTable]] = {name: [] for name in groups}
    stale = set()
    for row in engine.rows("counts", EVERYTHING, ("id", "scope", "blob")):
        if row["scope"] in tables:
            tables[row["scope"]].append(decode_table(join_blob([row["blob"]])))
        elif not _is_sum(row["scope"]):
            stale.add(row["scope"])
    summed = {name: merge_tables(found) for name, found in tables.items() if found}
    members = _members(groups)
    for scope, names in members.items():
        table = merge_tables([CountTable.empty(), *(summed[name] for name in names if name in summed)])
        write_counts(engine, scope, table, "", [] if scope == ALL else [scope.removeprefix(GROUP)])
    stale |= {row["scope"] for row in engine.rows("counts", equals("repo", ""), ("scope",))} - members.keys()
    engine.delete("counts", one_of("scope", stale))


def _members(groups_of: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The repositories of every scope that is a sum."""
    found: dict[str, list[str]] = {ALL: list(groups_of)} if groups_of else {}
    for name, groups in groups_of.items():
        for group in groups:
            found.setdefault(group_scope(group), []).append(name)
    return found


def _is_sum(scope: str) -> bool:
    return scope == ALL or scope.startswith(GROUP)


def _bits(scope: str) -> int:
    return SUM_BITS if _is_sum(scope) else BITS


def _rows(scope: str, table: CountTable, repository: str, groups: Sequence[str]) -> Iterator[Row]:
    bits = _bits(scope)
    for bucket in range(1 << bits):
        part = table.bucket(bucket, bits)
        if not len(part.terms) and not len(part.words):
            continue
        for number, one in enumerate(_encoded_parts(part)):
            yield {
                "id": _row_key(bucket_key(scope, bucket), number),
                "repo": repository,
                "groups": list(groups),
                "scope": scope,
                "bucket": bucket,
                "blob": one,
            }


def _encoded_parts(table: CountTable) -> Iterator[str]:
    """A table as base64 texts that fit into a row each."""
    text = "".join(split_blob(encode_table(table)))
    if len(text) <= MAX_PART:
        yield text
        return
    a, b = len(table.terms) // 2, len(table.words) // 2
    yield from _encoded_parts(CountTable(table.terms[:a], table.held[:a], table.words[:b], table.mentions[:b]))
    yield from _encoded_parts(CountTable(table.terms[a:], table.held[a:], table.words[b:], table.mentions[b:]))


def _row_key(key: str, number: int) -> str:
    """The first row of a bucket has the bucket's own key."""
    return part_key(key, number) if number else key
