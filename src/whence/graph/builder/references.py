"""The references of all files of a snapshot, as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.index.segment_writer import OF_RECEIVER, name_hash
from whence.index.snapshot import Snapshot
from whence.storage.arrayfile import Array, unpack_strings
from whence.storage.rows import distinct
from whence.text.analyzer import normalize_identifier

#: What the names of endpoints begin with.
ENDPOINT_PREFIXES = ("route:", "env:", "process:")


@dataclass(frozen=True, slots=True)
class ReferenceColumns:
    """Every reference in the live units of a snapshot; names are hashes, 0 for none."""

    unit: Array
    kind: Array
    name: Array
    receiver: Array
    folded_receiver: Array  # without case and underscores
    receiver_case: Array  # 2 if the receiver is written like a type, 1 like a constant, else 0
    line: Array
    by_receiver: Array  # whether the receiver is the type that refers, and not the unit around it: `impl Trait for Type`
    endpoint: Array  # row of `endpoints`, or -1
    endpoints: list[str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> ReferenceColumns:
        """Read them from the segments."""
        names = ("unit", "kind", "name", "receiver", "folded_receiver", "receiver_case", "line", "endpoint")
        columns: dict[str, list[Array]] = {name: [] for name in names}
        endpoints: dict[str, int] = {}
        for segment, base in zip(snapshot.segments, snapshot.unit_bases, strict=False):
            arrays = segment.arrays
            texts = unpack_strings(arrays, "names").all()
            hashes = np.array([name_hash(text) if text else 0 for text in texts], np.int64)
            folded = np.array([name_hash(normalize_identifier(text)) if text else 0 for text in texts], np.int64)
            cases = np.array([text[:1].isupper() * (2 - text.isupper()) for text in texts], np.int8)
            is_endpoint = (text.startswith(ENDPOINT_PREFIXES) for text in texts)
            rows = [endpoints.setdefault(text, len(endpoints)) if yes else -1 for text, yes in zip(texts, is_endpoint, strict=True)]
            name, receiver = arrays["relations.name"], arrays["relations.receiver"]
            columns["unit"].append(arrays["relations.unit"].astype(np.int64) + base)
            columns["kind"].append(arrays["relations.kind"])
            columns["name"].append(hashes[name])
            columns["receiver"].append(hashes[receiver])
            columns["folded_receiver"].append(folded[receiver])
            columns["receiver_case"].append(cases[receiver])
            columns["line"].append(arrays["relations.line"].astype(np.int64))
            columns["endpoint"].append(np.array(rows, np.int64)[name])
        whole = {name: np.concatenate(parts) if parts else np.empty(0, np.int64) for name, parts in columns.items()}
        live = snapshot.alive[snapshot.file_of_unit[whole["unit"]]] if len(whole["unit"]) else np.zeros(0, bool)
        whole = {name: column[live] for name, column in whole.items()}
        kind = whole.pop("kind").astype(np.int64)
        endpoint, in_use = _in_use(whole.pop("endpoint").astype(np.int64), list(endpoints))
        return cls(kind=kind & ~OF_RECEIVER, by_receiver=(kind & OF_RECEIVER) > 0, endpoint=endpoint, endpoints=in_use, **whole)


def _in_use(rows: Array, endpoints: list[str]) -> tuple[Array, list[str]]:
    """Rows renumbered to the endpoints in use, sorted by name: an edited tree gets the same graph as a new one."""
    used = sorted(distinct(rows[rows >= 0]).tolist(), key=endpoints.__getitem__)
    place = np.full(len(endpoints) + 1, -1, np.int64)  # the last is for rows of -1
    place[used] = np.arange(len(used))
    return place[rows], [endpoints[row] for row in used]
