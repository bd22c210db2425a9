"""The engine of a fleet: its nine collections in Milvus, which may be a file, a server or a cluster.

Row ids are derived from content, so that writes are idempotent. Every collection but `claims` names the repository of a row
and the groups that may see it. Every failure is a one-line `FleetError`, raised at most a second after `fleet.timeout`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from whence.core.errors import FleetError
from whence.core.settings import FleetSettings
from whence.fleet import milvus

if TYPE_CHECKING:
    from typing_extensions import Self

Row = dict[str, Any]
Value = str | int | float
Answer = TypeVar("Answer")
#: Limits of one message; servers refuse more than 4 MB by default.
MAX_BYTES, MAX_ROWS = 3_000_000, 1_000
#: Rows per page. A row may have 64 KB, an answer 100 MB.
PAGE = 500
#: Ids named in one deletion.
DELETE_BATCH = 500
#: Milvus returns no more hits than this.
MAX_HITS = 16_384
#: Seconds between two tries of a rate-limited call.
FIRST_PAUSE, MAX_PAUSE = 0.05, 1.0
#: What milvus-lite answers to a text search in a collection that never had a row: the average length is 0/0.
_EMPTY_COLLECTION = "Invalid sparse row: NaN"
#: Written to the description of every collection; others are refused. Any change to the collections is a new format.
FORMAT = 1
#: Limits in bytes. Longer texts are split over several rows.
MAX_TEXT, MAX_NAME, MAX_GROUP = 65_535, 512, 64
#: Groups of one repository.
MAX_GROUPS = 32
#: Bits of a passage's binary vector.
SKETCH_BITS = 256

ID, WORDS, SPARSE, SKETCH, NO_VECTOR = "id", "words", "sparse", "sketch", "no_vector"
#: Milvus demands a vector of every row; this one goes where there is none.
NO_VALUE = (0.0, 1.0)


#: The fields of each collection, as NAME:LIMIT of bytes for text, NAME:int or NAME:float; others are in `_SPECIAL`.
_COLLECTIONS = """
    repos id repo:512 groups source:65535 said:65535 commit:128 fingerprint:128 branch:512 state:16
        indexed_at:float wanted:float seconds:float cpu:float files:int units:int passages:int bytes_source:int bytes_sent:int no_vector
    claims id repo:512 worker:256 number:int state:16 until:float no_vector
    files id repo:512 groups file:64 part:int parts:int path:4096 hash:64 language:64 content:32 words sparse blob:65535
    texts id repo:512 groups file:64 part:int parts:int blob:65535 no_vector
    units id repo:512 groups file:64 number:int name:512 kind:64 language:64 content:32 words sparse
    passages id repo:512 groups file:64 sketch
    commits id repo:512 groups words sparse touched:65535 terms:int
    counts id repo:512 groups scope:512 bucket:int blob:65535 no_vector
    packs id repo:512 groups part:int parts:int digest:64 commit:128 blob:65535 no_vector
"""
#: Milvus's name of a type, and its options.
_SPECIAL: dict[str, tuple[str, dict[str, Any]]] = {
    ID: ("VARCHAR", {"max_length": 64, "is_primary": True}),
    "groups": ("ARRAY", {"element_type": "VARCHAR", "max_capacity": MAX_GROUPS, "max_length": MAX_GROUP}),
    WORDS: ("VARCHAR", {"max_length": MAX_TEXT, "enable_analyzer": True, "analyzer_params": {"tokenizer": "whitespace"}}),
    SPARSE: ("SPARSE_FLOAT_VECTOR", {}),
    SKETCH: ("BINARY_VECTOR", {"dim": SKETCH_BITS}),
    NO_VECTOR: ("FLOAT_VECTOR", {"dim": len(NO_VALUE)}),
    ":int": ("INT64", {}),
    ":float": ("DOUBLE", {}),
}


def _field(written: str) -> tuple[str, tuple[str, dict[str, Any]]]:
    name, colon, kind = written.partition(":")
    text = ("VARCHAR", {"max_length": int(kind)}) if kind.isdigit() else None
    return name, text or _SPECIAL[f"{colon}{kind}" or name]


_ROWS = [row.split() for row in re.split(r"\n {4}(?=\w)", _COLLECTIONS)[1:]]
#: By collection: the type and options of each field. Rows are searched by words, by a binary vector, or not at all.
SCHEMAS = MappingProxyType({name: dict(map(_field, fields)) for name, *fields in _ROWS})


# Filters.
@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on rows, in the engine's own syntax. Empty text matches every row.

    Build one with the functions below, never from text: they quote values so that nothing in a value can end the string.
    """

    text: str

    def __and__(self, other: Filter) -> Filter:
        """Rows that match both."""
        if NOTHING in (self, other):
            return NOTHING
        if EVERYTHING in (self, other):
            return other if self == EVERYTHING else self
        return Filter(f"({self.text}) and ({other.text})")


EVERYTHING = Filter("")
#: No row has an empty id.
NOTHING = Filter('id == ""')


def equals(field: str, value: Value) -> Filter:
    """Rows whose field has this value."""
    return Filter(f"{_checked_field(field)} == {_literal(value)}")


def differs(field: str, value: Value) -> Filter:
    """Rows whose field has another value."""
    return Filter(f"{_checked_field(field)} != {_literal(value)}")


def below(field: str, value: float) -> Filter:
    """Rows whose field is less than the value."""
    return Filter(f"{_checked_field(field)} < {_literal(value)}")


def one_of(field: str, values: Iterable[Value]) -> Filter:
    """Rows whose field has one of the values; without values, no rows."""
    return _list_filter(f"{_checked_field(field)} in ", values, "")


def overlaps(field: str, values: Iterable[Value]) -> Filter:
    """Rows whose list field contains any of the values; without values, no rows."""
    return _list_filter(f"array_contains_any({_checked_field(field)}, ", values, ")")


def _list_filter(before: str, values: Iterable[Value], after: str) -> Filter:
    literals = sorted({_literal(value) for value in values})
    return Filter(f"{before}[{', '.join(literals)}]{after}") if literals else NOTHING


def _checked_field(name: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        raise ValueError(f"{name!r} is not a field name")
    return name


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool) or value != value or abs(value) > 1e300:  # noqa: PLR0124  -- not a number
        raise ValueError(f"the engine cannot compare with {value!r}")
    return repr(value)


def _quoted(text: str) -> str:
    """A string literal. Versions of Milvus agree only on how to escape backslashes and quotes, and none allows a line break."""
    if "\n" in text or "\r" in text:
        raise FleetError("the fleet engine cannot look for text that contains a line break")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FleetError("the fleet engine cannot look for text that is not valid Unicode") from error
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class EngineHit:
    """A row found by a search; a higher score is better."""

    id: str
    score: float
    fields: Row


class Engine:
    """The collections of one fleet. Safe to use from several threads."""

    def __init__(self, settings: FleetSettings, connection: Any, close: Callable[[], None]) -> None:
        self.settings, self._client, self._close = settings, connection, close

    @classmethod
    def open(cls, settings: FleetSettings) -> Engine:
        """Connect to the engine that the settings name."""
        if settings.backend != "milvus" or not settings.address:
            hint = "set fleet.backend = milvus and fleet.address in your config.toml, in the environment, or with --set"
            raise FleetError("no fleet is set up", hint=hint)
        connection, close = milvus.connect(settings)
        return cls(settings, connection, close)

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        close, self._close = self._close, lambda: None
        close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ensure(self) -> None:
        """Create and load whatever is missing; refuse collections that another version made."""
        existing = set(self._call(self._client.list_collections))
        for schema in SCHEMAS:
            name = self._collection(schema)
            if name not in existing:
                self._create(schema)
            self._check_format(name)
            if not self._call(self._client.list_indexes, name):  # just created, or its creator was interrupted
                self._call(self._client.create_index, name, self._index(SCHEMAS[schema]), sync=False)
            if self._call(self._client.get_load_state, name)["state"].name != "Loaded":
                self._call(self._client.load_collection, name)

    def check(self) -> None:
        """For readers, which create nothing: raise where there is no fleet, or one that another version made."""
        repositories = self._collection("repos")
        self._check_format(repositories)
        if self._call(self._client.get_load_state, repositories)["state"].name != "Loaded":
            for name in SCHEMAS:
                self._call(self._client.load_collection, self._collection(name))

    def drop(self) -> None:
        """Delete all collections of this fleet."""
        existing = set(self._call(self._client.list_collections))
        for name in existing & {self._collection(one) for one in SCHEMAS}:
            self._call(self._client.drop_collection, name)

    def put(self, name: str, rows: Iterable[Mapping[str, Any]]) -> int:
        """Insert rows, replacing those with the same id; returns the bytes sent."""
        sent = 0
        vector = {NO_VECTOR: list(NO_VALUE)} if NO_VECTOR in SCHEMAS[name] else {}
        for batch, size in _batches({**row, **vector} for row in rows):
            self._call(self._client.upsert, self._collection(name), batch)
            sent += size
        return sent

    def delete(self, name: str, which: Filter) -> None:
        """Delete the rows that match."""
        if which != NOTHING:
            self._call(self._client.delete, self._collection(name), filter=_explicit(which))

    def delete_ids(self, name: str, ids: Iterable[str]) -> int:
        """Delete rows by id; returns how many ids there were."""
        ordered = sorted(ids)
        for start in range(0, len(ordered), DELETE_BATCH):
            self.delete(name, one_of(ID, ordered[start : start + DELETE_BATCH]))
        return len(ordered)

    def get(self, name: str, ids: Iterable[str], fields: Sequence[str]) -> list[Row]:
        """The rows with these ids that exist, in the order of the ids."""
        wanted = list(dict.fromkeys(ids))
        found: dict[str, Row] = {}
        for start in range(0, len(wanted), PAGE):
            which = one_of(ID, wanted[start : start + PAGE])
            rows = self._call(self._client.query, self._collection(name), filter=which.text, output_fields=list(fields), limit=PAGE)
            found.update((row[ID], dict(row)) for row in rows)
        return [found[one] for one in wanted if one in found]

    def rows(self, name: str, which: Filter, fields: Sequence[str]) -> Iterator[Row]:
        """All rows that match, page by page."""
        if which == NOTHING:
            return
        options = {"batch_size": PAGE, "filter": _explicit(which), "output_fields": list(fields)}
        pages = self._call(self._client.query_iterator, self._collection(name), **options)
        try:
            while page := self._next(pages):
                yield from (dict(row) for row in page)
        finally:
            pages.close()

    def count(self, name: str, which: Filter = EVERYTHING) -> int:
        """How many rows match."""
        if which == NOTHING:
            return 0
        found = self._call(self._client.query, self._collection(name), filter=which.text, output_fields=["count(*)"])
        return int(found[0]["count(*)"])

    def search_words(self, name: str, text: str, limit: int, which: Filter = EVERYTHING, fields: Sequence[str] = ()) -> list[EngineHit]:
        """The rows whose words match best, by the engine's BM25."""
        if not text.split():
            return []
        try:
            return self._search(name, SPARSE, "BM25", text, limit, which, fields)
        except FleetError as error:
            if _EMPTY_COLLECTION in str(error.__cause__):
                return []
            raise

    def search_bits(self, name: str, bits: bytes, limit: int, which: Filter = EVERYTHING, fields: Sequence[str] = ()) -> list[EngineHit]:
        """The rows with the nearest binary vectors; the score is minus the number of bits that differ."""
        hits = self._search(name, SKETCH, "HAMMING", bits, limit, which, fields)
        return [EngineHit(hit.id, -hit.score, hit.fields) for hit in hits]

    def _search(
        self, name: str, field: str, metric: str, query: str | bytes, limit: int, which: Filter, fields: Sequence[str]
    ) -> list[EngineHit]:
        if which == NOTHING or limit < 1:
            return []
        found = self._call(
            self._client.search,
            self._collection(name),
            data=[query],
            anns_field=field,
            limit=min(limit, MAX_HITS),
            filter=which.text,
            output_fields=list(fields),
            search_params={"metric_type": metric},
        )
        return [EngineHit(hit[ID], float(hit["distance"]), dict(hit["entity"])) for hit in found[0]]

    def _create(self, schema: str) -> None:
        pymilvus = milvus.import_pymilvus()
        made = self._client.create_schema(description=_description(FORMAT))
        for field, (kind, given) in SCHEMAS[schema].items():
            options = {key: getattr(pymilvus.DataType, value) if key == "element_type" else value for key, value in given.items()}
            made.add_field(field, getattr(pymilvus.DataType, kind), **options)
        if WORDS in SCHEMAS[schema]:
            bm25 = pymilvus.FunctionType.BM25
            made.add_function(pymilvus.Function(name="bm25", function_type=bm25, input_field_names=[WORDS], output_field_names=[SPARSE]))
        name = self._collection(schema)
        try:
            self._call(self._client.create_collection, name, schema=made, consistency_level="Strong")
        except FleetError:
            if name not in self._call(self._client.list_collections):  # unless another process has just created it
                raise

    def _index(self, fields: Collection[str]) -> Any:
        index = self._client.prepare_index_params()
        if WORDS in fields:
            index.add_index(SPARSE, index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        elif SKETCH in fields:
            index.add_index(SKETCH, index_type="BIN_FLAT", metric_type="HAMMING")
        else:
            index.add_index(NO_VECTOR, index_type="FLAT", metric_type="L2")
        return index

    def _check_format(self, name: str) -> None:
        description = self._call(self._client.describe_collection, name).get("description", "")
        if description != _description(FORMAT):
            what = f"of {description}" if description.startswith(_description("")) else "not a collection of a fleet"
            hint = "use the version of whence that made it, or choose another fleet.prefix and index again"
            raise FleetError(f"{name} at {self.settings.address} is {what}; expected {_description(FORMAT)}", hint=hint)

    def _collection(self, name: str) -> str:
        return f"{self.settings.prefix}_{name}"

    def _call(self, method: Callable[..., Answer], *arguments: Any, **options: Any) -> Answer:
        """Call pymilvus within the time-out; a rate-limited call is repeated."""
        until, pause = time.monotonic() + self.settings.timeout, FIRST_PAUSE
        while True:
            left = max(0.1, until - time.monotonic())
            try:
                return method(*arguments, timeout=left, retry_on_rate_limit=False, **options)
            except Exception as error:
                if not milvus.is_rate_limited(error) or time.monotonic() + pause > until:
                    raise milvus.fleet_error(error, self.settings) from error
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)

    def _next(self, pages: Any) -> list[Row]:
        try:
            page: list[Row] = pages.next()
        except Exception as error:
            raise milvus.fleet_error(error, self.settings) from error
        return page


def _description(number: int | str) -> str:
    return f"whence fleet format {number}"


def _explicit(which: Filter) -> str:
    """Iterators and deletions do not accept an empty filter."""
    return (differs(ID, "") if which == EVERYTHING else which).text


def _batches(rows: Iterable[Row]) -> Iterator[tuple[list[Row], int]]:
    """Rows and bytes of each message. An id is in a message once; the last row with an id wins."""
    batch: dict[str, Row] = {}
    size = 0
    for row in rows:
        row_size = sum(map(_size, row.values()))
        if batch and (len(batch) == MAX_ROWS or size + row_size > MAX_BYTES or row[ID] in batch):
            yield list(batch.values()), size
            batch, size = {}, 0
        batch[row[ID]] = row
        size += row_size
    if batch:
        yield list(batch.values()), size


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    if isinstance(value, bytes):
        return len(value)
    return sum(map(_size, value)) if isinstance(value, list | tuple) else 8
