"""Counts in the engine: of each repository, of each group, and of everything; written by whoever sends, read by queries.

A bucket is one row. Where it does not fit into one it is several, each a table by itself: together they are the bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from whence.fleet import counts
from whence.fleet.counts import ALL, BITS, BITS_OF_ALL, Table, asked_for, together
from whence.fleet.engine import Engine
from whence.fleet.filters import EVERYTHING, equals, one_of
from whence.fleet.keys import MOST_LETTERS, bucket_key, from_parts, in_parts, part_key

#: What the scope of a group begins with; no repository is called so.
GROUP = "@"
#: Keys that one deletion names.
AT_ONCE = 500


def scope_of(group: str) -> str:
    """The scope of all repositories that a group may see."""
    return f"{GROUP}{group}"


def bits_of(scope: str) -> int:
    """How many bits choose the bucket: a repository has fewer terms than many have."""
    return BITS_OF_ALL if scope == ALL or scope.startswith(GROUP) else BITS


def counted(engine: Engine, scope: str, hashes: Iterable[int]) -> Table:
    """The counts of a scope, as far as they stand in the buckets of some hashes."""
    waiting = [bucket_key(scope, bucket) for bucket in asked_for(hashes, bits_of(scope))]
    found, part = [Table.nothing()], 0
    while waiting:  # nearly always once: who has no next part is complete
        keys = {name: key for key in waiting for name in ([_row_key(key, part), _row_key(key, part + 1)])}
        rows = engine.get("counts", keys, ("id", "blob"))
        found += [counts.unpacked(from_parts([row["blob"]])) for row in rows]
        part += 2
        waiting = [keys[row["id"]] for row in rows if row["id"] == _row_key(keys[row["id"]], part - 1)]
    return together(found)


def put_counts(engine: Engine, scope: str, table: Table, repository: str, groups: Sequence[str], *, force: bool = False) -> tuple[int, int]:
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
    tables: dict[str, list[Table]] = {name: [] for name in seen}
    useless = set()
    for row in engine.rows("counts", EVERYTHING, ("id", "scope", "blob")):
        if row["scope"] in tables:
            tables[row["scope"]].append(counts.unpacked(from_parts([row["blob"]])))
        elif not _is_total(row["scope"]):
            useless.add(row["scope"])
    summed = {name: together(found) for name, found in tables.items() if found}
    members = _members(seen)
    for scope, names in members.items():
        table = together([Table.nothing(), *(summed[name] for name in names if name in summed)])
        put_counts(engine, scope, table, "", [] if scope == ALL else [scope.removeprefix(GROUP)])
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
            found.setdefault(scope_of(group), []).append(name)
    return found


def _is_total(scope: str) -> bool:
    return scope == ALL or scope.startswith(GROUP)


def _rows(scope: str, table: Table, repository: str, groups: Sequence[str]) -> Iterator[dict[str, Any]]:
    bits = bits_of(scope)
    for bucket in range(1 << bits):
        part = table.within(bucket, bits)
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


def _fitting(table: Table) -> Iterator[str]:
    """A table as texts that fit into a row each."""
    text = "".join(in_parts(counts.packed(table)))
    if len(text) <= MOST_LETTERS:
        yield text
        return
    a, b = len(table.terms) // 2, len(table.words) // 2
    yield from _fitting(Table(table.terms[:a], table.held[:a], table.words[:b], table.mentioned[:b]))
    yield from _fitting(Table(table.terms[a:], table.held[a:], table.words[b:], table.mentioned[b:]))


def _row_key(key: str, number: int) -> str:
    """The first row of a bucket has its key."""
    return part_key(key, number) if number else key
