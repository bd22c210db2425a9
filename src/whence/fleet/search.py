"""One question to a fleet, from words to ranked files: found in the engine, ranked here, with the same ledger as ever."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whence.core.errors import QueryError, UsageError
from whence.core.settings import load_settings
from whence.core.settings_schema import Settings
from whence.core.types import DocumentFrequency
from whence.embed.encoder import Encoder
from whence.embed.registry import open_encoder
from whence.fleet.access import Caller, authenticate, may_see, visible_rows
from whence.fleet.candidates import CandidateFilter, find_candidates
from whence.fleet.counts import ALL, TOTALS, CountTable, group_scope, merge_tables, read_counts
from whence.fleet.file_blobs import decode_blob as unpacked_piece
from whence.fleet.milvus.engine import Engine, Row
from whence.fleet.milvus.filters import Filter, equals, one_of
from whence.fleet.registry import Registry, Repository, RepositoryScope, matches, split_scope
from whence.fleet.remote_reader import FetchedFile, RemoteReader, TermCounts
from whence.fleet.rows import file_key, join_blob, part_key
from whence.fleet.texts import fetch_texts
from whence.index.segment_writer import CONTENTS, name_hash
from whence.index.snapshot import Snapshot
from whence.query.filters import Filters
from whence.query.lexer import PHRASE, REGEX, WORD, syntax_error
from whence.query.parser import Leaf, ParsedQuery
from whence.query.plan import QueryPlan, make_plan
from whence.ranking.receipt import Why
from whence.search.request import SearchRequest, check_profile
from whence.search.result import SearchResponse, SearchResult
from whence.search.searcher import NamedUnits, Searcher
from whence.source.read import strip_secrets
from whence.storage.arrayfile import Array

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from whence.search.request import SearchOptions

#: Seconds for which the list of repositories is remembered: who adds one, or takes somebody's right away, waits no longer.
REGISTRY_SECONDS = 2.0
#: Repositories that are named one by one to the engine; more are told apart when their rows come back.
MAX_NAMED = 1_000
#: Conditions whose value is words that the engine can be asked for.
_SPOKEN = frozenset({"word", "phrase", "sym"})
_PART = ("file", "repo", "groups", "path", "part", "parts", "blob")
#: What is said where nothing is meant that the caller may see: the same of what is another's and of what is not there.
NOBODY = "no repository that you may see is meant"
NOTHING_LEFT = "nothing that was found meets these conditions"


class FleetResult(SearchResult):
    """One file of an answer, and the repository that it is of."""

    def __init__(self, source: RemoteReader, found: Any) -> None:
        super().__init__(source, found)
        self.repository, self.path_inside = source.locate(self.path)

    @property
    def text(self) -> str | None:
        """The text of the whole file, as it was indexed."""
        return self._source.read_text(self.path)


class FleetResponse(SearchResponse):
    """The results of a search over a fleet."""

    def __init__(
        self, *given: Any, repositories: Mapping[str, int] | None = None, searched: Sequence[Repository] = (), **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self.repository_counts = dict(repositories or {})  # of the files that were ranked, how many are of each
        self.searched = tuple(searched)  # the repositories that were asked

    @property
    def files(self) -> list[FleetResult]:
        """The results, each with its repository."""
        return [one for one in self if isinstance(one, FleetResult)]


class Fleet:
    """A fleet that can be asked, as one caller sees it. Open it with `Fleet.open`; it is a context manager."""

    def __init__(self, engine: Engine, settings: Settings, caller: Caller) -> None:
        self.engine, self.settings, self.caller = engine, settings, caller
        self._registry = Registry(engine)
        self._known: tuple[float, tuple[Repository, ...]] = (float("-inf"), ())

    @classmethod
    def open(cls, settings: Mapping[str, Any] | None = None, *, token: str = "", command_line: Mapping[str, Any] | None = None) -> Self:
        """Open the fleet that the user's settings name, as the caller whom a token stands for (default: setting fleet.caller).

        `settings` are dotted names with values, for instance `{"fleet.address": "http://localhost:19530"}`. No file of a
        repository is read for them.
        """
        merged, _ = load_settings(None, call=settings, command_line=command_line)
        caller = authenticate(merged.fleet, token or merged.fleet.caller)
        engine = Engine.open(merged.fleet)
        try:
            engine.check()
        except BaseException:
            engine.close()
            raise
        return cls(engine, merged, caller)

    def close(self) -> None:
        """Let the engine go."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        self.close()

    @cached_property
    def encoder(self) -> Encoder | None:
        """The model that questions are read with."""
        return open_encoder(self.settings.index.model)

    def repositories(self, pattern: str = "") -> list[Repository]:
        """The repositories that the caller may see, by name; those that a pattern names."""
        seen, known = self._known
        if time.monotonic() - seen > REGISTRY_SECONDS:
            known = tuple(one for one in self._registry.all(visible_rows(self.caller)) if self._sees(one.groups))
            self._known = time.monotonic(), known
        return sorted((one for one in known if not pattern or matches(one.name, pattern)), key=lambda one: one.name)

    def search(self, query: str | SearchRequest, **options: Unpack[SearchOptions]) -> FleetResponse:
        """The best files of all repositories for a query, best first; `repo:PATTERN` in it chooses among them."""
        request, scope = self._scoped(SearchRequest.of(query, **options))
        if not scope.repositories:
            return FleetResponse(notes=(NOBODY,))
        reader = self._reader(request, scope)
        if reader is None:
            return FleetResponse(notes=tuple(filter(None, (request.parsed.reading,))), searched=scope.repositories)
        response = Searcher(reader, _named_units(reader.snapshot), nothing_left=NOTHING_LEFT).search(request)
        found = response.found
        results = [FleetResult(reader, one) for one in found]
        reader.fetch([one.path for one in results])
        repositories = _counted(reader.locate(reader.snapshot.path(hit.file))[0] for hit in (found[0].ranked.hits if found else []))
        return FleetResponse(
            results,
            confidence=response.confidence,
            notes=response.notes,
            found=found,
            repositories=repositories,
            searched=scope.repositories,
        )

    def why(self, query: str | SearchRequest, target: str, **options: Unpack[SearchOptions]) -> Why:
        """Why a file, given as REPOSITORY/PATH, stands where it stands in the answer to a query."""
        asked = SearchRequest.of(query, **options)
        request, scope = self._scoped(asked)
        if not request.parsed.text.strip():
            raise UsageError("a query without words ranks nothing", hint="add a word to ask why something comes first")
        reader = self._reader(request, scope, include=self._keys_of(target, scope))
        if reader is None:
            raise _unknown(target)
        searcher = Searcher(reader, _named_units(reader.snapshot))
        try:
            searcher.find(target)
        except UsageError as error:
            raise _unknown(target) from error
        return replace(searcher.why(request, target), query=strip_secrets(asked.query))

    # Which repositories.
    def _scoped(self, request: SearchRequest) -> tuple[SearchRequest, RepositoryScope]:
        """The request without what chooses repositories, and what it is asked of."""
        question, scope = split_scope(request.parsed.query, self.repositories())
        scoped = replace(request, query=question)
        if scoped.parsed.is_for_notes:
            raise UsageError("in:notes asks for notes, and a fleet has none", hint="use whence recall")
        return scoped, scope

    def _keys_of(self, target: str, scope: RepositoryScope) -> list[str]:
        """The keys of the files that a target may mean."""
        path = re.sub(r"(?::\d+|#.*)$", "", target)
        return [file_key(one.name, path[len(one.name) + 1 :]) for one in scope.repositories if path.startswith(one.name + "/")]

    # From a question to a reader of what could answer it.
    def _reader(self, request: SearchRequest, scope: RepositoryScope, include: Sequence[str] = ()) -> RemoteReader | None:
        parsed, plan = request.parsed, self._plan(request)
        narrowing = CandidateFilter(self._seen(scope), _held(request.filters(self.settings.search.content)))
        wanted = (self.settings.search.k if request.k is None else request.k) * (4 if parsed.conditions else 1)
        encoder = self.encoder if self._same_model(scope) else None
        counts = self._counts(plan, scope)
        names = [leaf.value for leaf in parsed.leaves() if leaf.field == "sym" and not leaf.negated]
        found = find_candidates(self.engine, plan, narrowing, encoder, wanted, counts, names)
        files = self._files([*include, *found.files], scope)
        if not files:
            return None
        reader = RemoteReader(self.settings, files, counts, found.precedents, encoder, self._texts)
        if request.pattern is not None or any(leaf.field in (WORD, PHRASE, REGEX) for leaf in parsed.leaves()):
            reader.fetch(reader.snapshot.paths)  # they are read one by one: better asked for together
        return reader

    def _texts(self, files: Mapping[str, str]) -> Mapping[str, tuple[str, bytes]]:
        return fetch_texts(self.engine, self.caller, files)

    def _plan(self, request: SearchRequest) -> QueryPlan:
        """What the engine is asked for: the words that are ranked, or else those that a condition speaks of."""
        name, read = request.profile or self.settings.search.profile, request.parsed
        check_profile(name)
        ranking = self.settings.profiles[name]
        spoken = (leaf.value for leaf in read.leaves() if leaf.field in _SPOKEN and not leaf.negated)
        text = read.text.strip() or " ".join(spoken)
        if not text:
            raise QueryError(
                "a fleet is searched by words" if read.conditions else "the query is empty",
                hint="add a word, a phrase in quotes or a name, as sym:Client",
            )
        return make_plan(text, decay=ranking.decay, quoted=ranking.quoted)

    def _seen(self, scope: RepositoryScope) -> Filter:
        """Rows that the caller may see, of the repositories that were chosen."""
        if not scope.explicit or len(scope.repositories) > MAX_NAMED:
            return visible_rows(self.caller)
        return visible_rows(self.caller) & one_of("repo", scope.names)

    def _same_model(self, scope: RepositoryScope) -> bool:
        """Whether the vectors of the fleet are of the model that questions are read with."""
        encoder = self.encoder
        return encoder is not None and any(encoder.fingerprint in one.fingerprint for one in scope.repositories)

    def _files(self, keys: Sequence[str], scope: RepositoryScope) -> list[FetchedFile]:
        """The pieces of some files. Whatever the engine gives is looked at once more, whether it is the caller's to see."""
        first = [row for row in self.engine.get("files", [part_key(key, 0) for key in keys], _PART) if self._may_see(row, scope)]
        more = [part_key(row["file"], part) for row in first for part in range(1, int(row["parts"]))]
        blobs: dict[str, list[str]] = {row["file"]: [row["blob"]] for row in first}
        for row in self.engine.get("files", more, _PART) if more else ():
            if self._may_see(row, scope) and row["file"] in blobs:
                blobs[row["file"]].append(row["blob"])  # they come in the order of their keys
        whole = [row for row in first if len(blobs[row["file"]]) == int(row["parts"])]  # another may be writing it
        return [FetchedFile(row["file"], row["repo"], row["path"], unpacked_piece(join_blob(blobs[row["file"]]))) for row in whole]

    def file_blobs(self, keys: Sequence[str]) -> list[FetchedFile]:
        """The pieces of some files, given by their keys, as far as the caller may see them."""
        return self._files(keys, RepositoryScope(tuple(self.repositories()), explicit=False))

    def _sees(self, groups: Sequence[str]) -> bool:
        return may_see(self.caller, {"groups": groups})

    def _may_see(self, row: Row, scope: RepositoryScope) -> bool:
        return may_see(self.caller, row) and row["repo"] in scope.names

    def _counts(self, plan: QueryPlan, scope: RepositoryScope) -> TermCounts:
        """What is counted over all that the question is asked of, and of nothing else: numbers tell, too."""
        only = scope.repositories[0].name if len(scope.repositories) == 1 else None
        groups = self.caller.groups
        scopes = [only] if only is not None else [ALL] if groups is None else [group_scope(group) for group in sorted(groups)]
        hashes = {name_hash(term.text) for term in plan.terms} | {name_hash(word) for word in (*plan.exact, *plan.identifiers, plan.symbol)}
        table = merge_tables([CountTable.empty(), *(read_counts(self.engine, scope, {TOTALS, *hashes}) for scope in scopes)])
        totals = table.holding(TOTALS) or DocumentFrequency(0, 0, 0)
        terms = {hashed: known for hashed in hashes if (known := table.holding(hashed)) is not None}
        return TermCounts(totals.files, totals.units, totals.windows, terms, {hashed: table.files_mentioning(hashed) for hashed in hashes})


def _unknown(target: str) -> UsageError:
    """What is said of a file that is not there and of one that is another's: there is no difference."""
    return UsageError(f"there is no {target!r} that you may see", hint="name it as REPOSITORY/PATH")


def _held(filters: Filters) -> Filter:
    """What rows of files and units are to be of."""
    kept = equals("content", filters.content) if filters.content in CONTENTS else Filter("")
    return kept & one_of("language", filters.languages) if filters.languages else kept


def _named_units(snapshot: Snapshot) -> NamedUnits:
    def named(parsed: ParsedQuery, leaf: Leaf) -> tuple[Array, list[str]]:
        if leaf.field == "sym":
            return snapshot.definitions(leaf.value), []
        raise syntax_error(f"{leaf.field}: asks for the graph of one repository; whence context --fleet fetches it", parsed.query, leaf.at)

    return named


def _counted(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
