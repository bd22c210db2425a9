"""Milvus as the fleet uses it: rows put, deleted and found, the same against a file, a server and a cluster.

Whatever goes wrong is a `FleetError` of one line, no later than the time that the settings give and a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from whence.core.errors import FleetError
from whence.core.settings_schema import FleetSettings
from whence.fleet.milvus import client
from whence.fleet.milvus.client import fleet_error, is_rate_limited
from whence.fleet.milvus.filters import EVERYTHING, NOTHING, Filter, differs, one_of
from whence.fleet.milvus.schemas import FORMAT, ID, NO_VALUE, NO_VECTOR, SCHEMAS, SKETCH, SPARSE, WORDS, Schema

if TYPE_CHECKING:
    from typing_extensions import Self

Row = dict[str, Any]
Answer = TypeVar("Answer")
#: Bytes and rows of a message at most; servers refuse 4 MB where nobody told them otherwise.
MAX_BYTES, MAX_ROWS = 3_000_000, 1_000
#: Rows asked for at once. Rows can have 64 KB, answers 100 MB.
PAGE = 500
#: Hits that an engine gives at most.
MAX_HITS = 16_384
#: Seconds between two tries when the engine asks for patience: the first, and the longest.
FIRST_PAUSE, MAX_PAUSE = 0.05, 1.0
#: What milvus-lite says of words in a collection that never had a row: their average length is nothing by nothing.
_OF_NOTHING = "Invalid sparse row: NaN"


@dataclass(frozen=True, slots=True)
class EngineHit:
    """A row that was found: the larger the score the better."""

    id: str
    score: float
    fields: Row


class Engine:
    """The collections of one fleet. Safe to use from several threads."""

    def __init__(self, settings: FleetSettings, connection: Any, close: Callable[[], None]) -> None:
        self.settings = settings
        self._client = connection
        self._close = close

    @classmethod
    def open(cls, settings: FleetSettings) -> Engine:
        """The engine that the settings name, which has answered."""
        if settings.backend != "milvus" or not settings.address:
            hint = "set fleet.backend = milvus and fleet.address in your config.toml, in the environment, or with --set"
            raise FleetError("no fleet is set up", hint=hint)
        connection, close = client.connect(settings, lambda error: fleet_error(error, settings))
        return cls(settings, connection, close)

    def close(self) -> None:
        """Let the connection go; twice is once."""
        close, self._close = self._close, _closed
        close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        self.close()

    def ensure(self) -> None:
        """Make what is missing, and refuse what was made by another version."""
        there = set(self._ask(self._client.list_collections))
        for schema in SCHEMAS.values():
            name = self._named(schema.name)
            if name not in there:
                self._make(schema)
            self._check(name)
            if not self._ask(self._client.list_indexes, name):  # just made, or by somebody who came no further
                self._ask(self._client.create_index, name, self._index(schema), sync=False)
            if self._ask(self._client.get_load_state, name)["state"].name != "Loaded":
                self._ask(self._client.load_collection, name)

    def check(self) -> None:
        """Refuse a fleet that another version made, or where there is none: for whoever only asks."""
        repositories = SCHEMAS["repos"].name
        self._check(self._named(repositories))
        if self._ask(self._client.get_load_state, self._named(repositories))["state"].name != "Loaded":
            for name in SCHEMAS:
                self._ask(self._client.load_collection, self._named(name))

    def drop(self) -> None:
        """Remove all collections of this fleet. Nothing of it is left."""
        there = set(self._ask(self._client.list_collections))
        for name in there & {self._named(one) for one in SCHEMAS}:
            self._ask(self._client.drop_collection, name)

    def put(self, name: str, rows: Iterable[Mapping[str, Any]]) -> int:
        """Write rows, each in place of the one with its id; how many bytes they came to."""
        sent = 0
        for batch, size in _batches(_complete(SCHEMAS[name], row) for row in rows):
            self._ask(self._client.upsert, self._named(name), batch)
            sent += size
        return sent

    def delete(self, name: str, which: Filter) -> None:
        """Remove rows."""
        if which != NOTHING:
            self._ask(self._client.delete, self._named(name), filter=_said(which))

    def get(self, name: str, ids: Iterable[str], fields: Sequence[str]) -> list[Row]:
        """The rows with these ids, as far as there are any, in the order of the ids."""
        wanted = list(dict.fromkeys(ids))
        found: dict[str, Row] = {}
        for start in range(0, len(wanted), PAGE):
            which = one_of(ID, wanted[start : start + PAGE])
            rows = self._ask(self._client.query, self._named(name), filter=which.text, output_fields=list(fields), limit=PAGE)
            found.update((row[ID], dict(row)) for row in rows)
        return [found[one] for one in wanted if one in found]

    def rows(self, name: str, which: Filter, fields: Sequence[str]) -> Iterator[Row]:
        """All rows that are meant, page by page."""
        if which == NOTHING:
            return
        pages = self._ask(self._client.query_iterator, self._named(name), batch_size=PAGE, filter=_said(which), output_fields=list(fields))
        try:
            while page := self._try(pages.next):
                yield from (dict(row) for row in page)
        finally:
            pages.close()

    def count(self, name: str, which: Filter = EVERYTHING) -> int:
        """How many rows are meant."""
        if which == NOTHING:
            return 0
        found = self._ask(self._client.query, self._named(name), filter=which.text, output_fields=["count(*)"])
        return int(found[0]["count(*)"])

    def search_words(self, name: str, text: str, most: int, which: Filter = EVERYTHING, fields: Sequence[str] = ()) -> list[EngineHit]:
        """The rows whose words fit best, by the engine's own BM25."""
        if not text.split():
            return []
        try:
            return self._search(name, SPARSE, "BM25", text, most, which, fields)
        except FleetError as error:
            if _OF_NOTHING in str(error.__cause__):
                return []
            raise

    def search_bits(self, name: str, bits: bytes, most: int, which: Filter = EVERYTHING, fields: Sequence[str] = ()) -> list[EngineHit]:
        """The rows whose sketches differ least; the score is minus the number of bits that differ."""
        hits = self._search(name, SKETCH, "HAMMING", bits, most, which, fields)
        return [EngineHit(hit.id, -hit.score, hit.fields) for hit in hits]

    def _search(
        self, name: str, by: str, metric: str, query: str | bytes, most: int, which: Filter, fields: Sequence[str]
    ) -> list[EngineHit]:
        if which == NOTHING or most < 1:
            return []
        found = self._ask(
            self._client.search,
            self._named(name),
            data=[query],
            anns_field=by,
            limit=min(most, MAX_HITS),
            filter=which.text,
            output_fields=list(fields),
            search_params={"metric_type": metric},
        )
        return [EngineHit(hit[ID], float(hit["distance"]), dict(hit["entity"])) for hit in found[0]]

    def _make(self, schema: Schema) -> None:
        library = client.import_pymilvus()
        made = self._client.create_schema(description=_described(FORMAT))
        for one in schema.fields:
            options = {key: getattr(library.DataType, value) if key == "element_type" else value for key, value in one.options.items()}
            made.add_field(one.name, getattr(library.DataType, one.kind), **options)
        if schema.has_words:
            made.add_function(
                library.Function(
                    name="bm25", function_type=library.FunctionType.BM25, input_field_names=[WORDS], output_field_names=[SPARSE]
                )
            )
        name = self._named(schema.name)
        try:
            self._ask(self._client.create_collection, name, schema=made, consistency_level="Strong")
        except FleetError:
            if name not in self._ask(self._client.list_collections):  # another one made it meanwhile
                raise

    def _index(self, schema: Schema) -> Any:
        index = self._client.prepare_index_params()
        if schema.has_words:
            index.add_index(SPARSE, index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        elif schema.has_sketch:
            index.add_index(SKETCH, index_type="BIN_FLAT", metric_type="HAMMING")
        else:
            index.add_index(NO_VECTOR, index_type="FLAT", metric_type="L2")
        return index

    def _check(self, name: str) -> None:
        said = self._ask(self._client.describe_collection, name).get("description", "")
        if said != _described(FORMAT):
            what = f"of {said}" if said.startswith(_described("")) else "no collection of a fleet"
            hint = "use the version of whence that made it, or choose another fleet.prefix and index anew"
            raise FleetError(f"{name} at {self.settings.address} is {what}, not of {_described(FORMAT)}", hint=hint)

    def _named(self, name: str) -> str:
        return f"{self.settings.prefix}_{SCHEMAS[name].name}"

    def _ask(self, method: Callable[..., Answer], *arguments: Any, **options: Any) -> Answer:
        """What a call of the engine's package gives, in time; where the engine only asks for patience it is asked again."""
        until, pause = time.monotonic() + self.settings.timeout, FIRST_PAUSE
        while True:
            left = max(0.1, until - time.monotonic())
            try:
                return method(*arguments, timeout=left, retry_on_rate_limit=False, **options)
            except Exception as error:
                if not is_rate_limited(error) or time.monotonic() + pause > until:
                    raise fleet_error(error, self.settings) from error
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)

    def _try(self, method: Callable[[], Answer]) -> Answer:
        try:
            return method()
        except Exception as error:
            raise fleet_error(error, self.settings) from error


def _closed() -> None:
    """There is nothing left to close."""


def _described(number: int | str) -> str:
    return f"whence fleet format {number}"


def _said(which: Filter) -> str:
    """Pages and deletions want to be told what everything is."""
    return (differs(ID, "") if which == EVERYTHING else which).text


def _complete(schema: Schema, row: Mapping[str, Any]) -> Row:
    return {**row, NO_VECTOR: list(NO_VALUE)} if schema.fields[-1].name == NO_VECTOR else dict(row)


def _batches(rows: Iterable[Row]) -> Iterator[tuple[list[Row], int]]:
    """Rows in messages that the engine takes, no id twice in one: of those with one id the last counts."""
    batch: dict[str, Row] = {}
    size = 0
    for row in rows:
        own = _size(row)
        if batch and (len(batch) == MAX_ROWS or size + own > MAX_BYTES or row[ID] in batch):
            yield list(batch.values()), size
            batch, size = {}, 0
        batch[row[ID]] = row
        size += own
    if batch:
        yield list(batch.values()), size


def _size(row: Row) -> int:
    return sum(_bytes(value) for value in row.values())


def _bytes(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    if isinstance(value, bytes):
        return len(value)
    return sum(map(_bytes, value)) if isinstance(value, list | tuple) else 8
