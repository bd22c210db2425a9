"""Fleet search: the engine proposes candidate files, this process fetches and ranks them with the usual ledger.

The engine's BM25 counts all rows, including those that the caller may not see. So only its order decides what is fetched;
none of its scores becomes part of an answer.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.core.errors import QueryError, UsageError
from whence.core.settings import Settings, load_settings
from whence.embed.encoder import Encoder, open_encoder
from whence.fleet.counts import ALL, TermCounts, group_scope, read_counts
from whence.fleet.engine import EVERYTHING, Engine, EngineHit, Filter, equals, one_of
from whence.fleet.registry import Caller, Registry, Repository, RepositoryScope, authenticate, matches, may_see, split_scope, visible_rows
from whence.fleet.remote_reader import RemoteReader
from whence.fleet.rows import FetchedFile, fetch_blobs, fetch_texts, file_key
from whence.index.segment import CONTENTS, DEFINES, KIND_NAMES, name_hash, unpack_parsed
from whence.index.snapshot import Snapshot
from whence.query.operators import syntax_error
from whence.query.parser import PHRASE, REGEX, WORD, Leaf, ParsedQuery
from whence.query.plan import QueryPlan, make_plan
from whence.ranking.receipt import Why
from whence.retrieval.dense import MAX_ENCODED
from whence.retrieval.files import COMMIT_DECAY, USUAL_TERMS
from whence.search.pipeline import NamedUnits, Searcher
from whence.search.request import SearchRequest, check_profile
from whence.search.result import SearchResponse, SearchResult
from whence.source.read import strip_secrets
from whence.storage.arrayfile import Array, StringTable
from whence.text import analyzer
from whence.text.bm25 import idf

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from whence.search.request import SearchOptions

#: Seconds for which the list of repositories is cached: the longest that a new or revoked one takes to be noticed.
REGISTRY_SECONDS = 2.0
#: Most repositories that a filter names one by one; beyond, rows are dropped after they were fetched.
MAX_NAMED = 1_000
#: Candidates: at least so many files, and so many for each requested result.
FILES, FILES_PER_RESULT = 48, 4
#: Rows that each retriever returns: per file fetched, or in all.
UNITS, PASSAGES, PATHS, COMMITS, NAMES = 3.0, 3.0, 0.5, 60, 100
#: The constant of reciprocal rank fusion.
RANK_CONSTANT = 60
#: How many terms of a query the engine searches for, the weightiest: a pasted document has thousands.
MAX_TERMS = 40
#: How often the weightiest term is repeated in the engine's query.
MAX_REPEATS = 4
#: Conditions whose value is text that the engine can search for.
_TEXT_CONDITIONS = frozenset({"word", "phrase", "sym"})
#: The same whether repositories do not exist or belong to others.
NO_REPOSITORY = "no repository that you may see matches"
NOTHING_LEFT = "no candidate meets these conditions"


class FleetResult(SearchResult):
    """A result with its repository."""

    def __init__(self, source: RemoteReader, found: Any) -> None:
        super().__init__(source, found)
        self.repository, self.path_inside = source.locate(self.path)

    @property
    def text(self) -> str | None:
        """The text of the whole file as it was indexed."""
        return self._source.read_text(self.path)


class FleetResponse(SearchResponse):
    """The results of a fleet search."""

    def __init__(
        self, *results: Any, repository_counts: Mapping[str, int] | None = None, searched: Sequence[Repository] = (), **fields: Any
    ) -> None:
        super().__init__(*results, **fields)
        self.repository_counts = dict(repository_counts or {})  # ranked files by repository
        self.searched = tuple(searched)

    @property
    def files(self) -> list[FleetResult]:
        """The results, each with its repository."""
        return [one for one in self if isinstance(one, FleetResult)]


class Fleet:
    """A fleet as one caller sees it. Open it with `Fleet.open`; it is a context manager."""

    def __init__(self, engine: Engine, settings: Settings, caller: Caller) -> None:
        self.engine, self.settings, self.caller = engine, settings, caller
        self._registry = Registry(engine)
        self._known: tuple[float, tuple[Repository, ...]] = (float("-inf"), ())

    @classmethod
    def open(cls, settings: Mapping[str, Any] | None = None, *, token: str = "", command_line: Mapping[str, Any] | None = None) -> Self:
        """Open the fleet of the user's settings as the caller of a token (default: setting fleet.caller).

        `settings` are values by dotted name, for instance `{"fleet.address": "http://localhost:19530"}`. Settings files
        of repositories are ignored.
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
        """Close the connection."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @cached_property
    def encoder(self) -> Encoder | None:
        """The model that encodes queries."""
        return open_encoder(self.settings.index.model)

    def repositories(self, pattern: str = "") -> list[Repository]:
        """The repositories that the caller may see and that match a pattern, sorted by name."""
        seen, known = self._known
        if time.monotonic() - seen > REGISTRY_SECONDS:
            visible = self._registry.all(visible_rows(self.caller))
            known = tuple(one for one in visible if may_see(self.caller, {"groups": one.groups}))
            self._known = time.monotonic(), known
        return sorted((one for one in known if not pattern or matches(one.name, pattern)), key=lambda one: one.name)

    def search(self, query: str | SearchRequest, **options: Unpack[SearchOptions]) -> FleetResponse:
        """The best files of all repositories for a query; `repo:PATTERN` in it selects repositories."""
        request, scope = self._scoped(SearchRequest.of(query, **options))
        if not scope.repositories:
            return FleetResponse(notes=(NO_REPOSITORY,))
        reader = self._reader(request, scope)
        if reader is None:
            return FleetResponse(notes=tuple(filter(None, (request.parsed.reading,))), searched=scope.repositories)
        response = Searcher(reader, _named_units(reader.snapshot), nothing_left=NOTHING_LEFT).search(request)
        found = response.found
        results = [FleetResult(reader, one) for one in found]
        reader.fetch([one.path for one in results])
        ranked = [reader.locate(reader.snapshot.path(hit.file))[0] for hit in (found[0].ranked.hits if found else [])]
        return FleetResponse(
            results,
            confidence=response.confidence,
            notes=response.notes,
            found=found,
            repository_counts=dict(sorted(Counter(ranked).items(), key=lambda pair: (-pair[1], pair[0]))),
            searched=scope.repositories,
        )

    def why(self, query: str | SearchRequest, target: str, **options: Unpack[SearchOptions]) -> Why:
        """Explain the rank of a file, given as REPOSITORY/PATH, for a query."""
        original = SearchRequest.of(query, **options)
        request, scope = self._scoped(original)
        if not request.parsed.text.strip():
            raise UsageError("a query without words ranks nothing", hint="add a word to rank by")
        path = re.sub(r"(?::\d+|#.*)$", "", target)
        named = [file_key(one.name, path[len(one.name) + 1 :]) for one in scope.repositories if path.startswith(one.name + "/")]
        reader = self._reader(request, scope, include=named)
        if reader is None:
            raise _unknown(target)
        searcher = Searcher(reader, _named_units(reader.snapshot))
        try:
            searcher.find(target)
        except UsageError as error:
            raise _unknown(target) from error
        return replace(searcher.why(request, target), query=strip_secrets(original.query))

    def _scoped(self, request: SearchRequest) -> tuple[SearchRequest, RepositoryScope]:
        """The request without its `repo:` operators, and the repositories that they select."""
        query, scope = split_scope(request.parsed.query, self.repositories())
        scoped = replace(request, query=query)
        if scoped.parsed.is_for_notes:
            raise UsageError("in:notes asks for notes, and a fleet has none", hint="use whence recall")
        return scoped, scope

    def _reader(self, request: SearchRequest, scope: RepositoryScope, include: Sequence[str] = ()) -> RemoteReader | None:
        """A reader of the files that may answer a request, and of those with some keys; None if there are none."""
        parsed, plan = request.parsed, self._plan(request)
        seen = visible_rows(self.caller)
        if scope.explicit and len(scope.repositories) <= MAX_NAMED:
            seen &= one_of("repo", scope.names)
        filters = request.filters(self.settings.search.content)
        content = equals("content", filters.content) if filters.content in CONTENTS else EVERYTHING
        content = content & one_of("language", filters.languages) if filters.languages else content
        results = (self.settings.search.k if request.k is None else request.k) * (4 if parsed.conditions else 1)
        encoder = self.encoder
        if encoder is not None and not any(encoder.fingerprint in one.fingerprint for one in scope.repositories):
            encoder = None  # no repository has vectors of the model that encodes queries
        counts = self._counts(plan, scope)
        names = [leaf.value for leaf in parsed.leaves() if leaf.field == "sym" and not leaf.negated]
        keys, precedents = find_candidates(self.engine, plan, seen, content, encoder, results, counts, names)
        files = fetch_blobs(self.engine, self.caller, [*include, *keys], scope.names)
        if not files:
            return None
        reader = RemoteReader(self.settings, files, counts, precedents, encoder, self.texts)
        if request.patterns or any(leaf.field in (WORD, PHRASE, REGEX) for leaf in parsed.leaves()):
            reader.fetch(reader.snapshot.paths)  # every text will be read: one request instead of many
        return reader

    def texts(self, files: Mapping[str, str]) -> Mapping[str, tuple[str, bytes]]:
        """The text and parsed units of files, given as key and repository, as far as the caller may see them."""
        return fetch_texts(self.engine, self.caller, files)

    def file_blobs(self, keys: Sequence[str]) -> list[FetchedFile]:
        """The blobs of files by their keys, as far as the caller may see them."""
        return fetch_blobs(self.engine, self.caller, keys, frozenset(one.name for one in self.repositories()))

    def _plan(self, request: SearchRequest) -> QueryPlan:
        """What to search the engine for: the ranked words, or else the text of conditions."""
        name, parsed = request.profile or self.settings.search.profile, request.parsed
        check_profile(name)
        ranking = self.settings.profiles[name]
        values = (leaf.value for leaf in parsed.leaves() if leaf.field in _TEXT_CONDITIONS and not leaf.negated)
        text = parsed.text.strip() or " ".join(values)
        if not text:
            raise QueryError(
                "a fleet search needs words" if parsed.conditions else "the query is empty",
                hint="add a word, a phrase in quotes or a name, as sym:Client",
            )
        return make_plan(text, decay=ranking.decay, quoted=ranking.quoted)

    def _counts(self, plan: QueryPlan, scope: RepositoryScope) -> TermCounts:
        """Term counts over what is searched and nothing else: counts of other repositories would leak through scores."""
        groups = self.caller.groups
        if len(scope.repositories) == 1:
            scopes = [scope.repositories[0].name]
        else:
            scopes = [ALL] if groups is None else [group_scope(group) for group in sorted(groups)]
        words = (*(term.text for term in plan.terms), *plan.exact, *plan.identifiers, plan.symbol)
        return read_counts(self.engine, scopes, {name_hash(word) for word in words})


def _unknown(target: str) -> UsageError:
    """The same error whether a file does not exist or belongs to others."""
    return UsageError(f"there is no {target!r} that you may see", hint="TARGET is REPOSITORY/PATH")


def _named_units(snapshot: Snapshot) -> NamedUnits:
    def named(parsed: ParsedQuery, leaf: Leaf) -> tuple[Array, list[str]]:
        if leaf.field == "sym":
            return snapshot.definitions(leaf.value), []
        raise syntax_error(f"{leaf.field}: needs the graph of one repository; use whence context --fleet", parsed.query, leaf.at)

    return named


def find_candidates(
    engine: Engine,
    plan: QueryPlan,
    seen: Filter,
    content: Filter,
    encoder: Encoder | None,
    results: int,
    counts: TermCounts,
    names: Sequence[str] = (),
) -> tuple[list[str], Mapping[str, float]]:
    """The keys of files that rank high in any of the engine's searches, by words, binary vectors, paths, names and past commits.

    Files that define one of the `names` come first. Also returns the weight of past commits for some files. `seen` narrows all kinds
    of rows by access, `content` those of files and units.
    """
    count = max(FILES, FILES_PER_RESULT * results)
    both = seen & content
    words = _engine_query(plan)
    rankings: list[Iterable[str]] = [
        _file_keys(engine.search_words("units", words, int(UNITS * count), both)),
        _file_keys(engine.search_words("files", words, int(PATHS * count), both & equals("part", 0))),
    ]
    if encoder is not None and plan.terms:
        rows: Array = encoder.encode_query(plan.text[:MAX_ENCODED]).rows
        bits = np.packbits(rows.mean(axis=0) > 0).tobytes()
        rankings.append(_file_keys(engine.search_bits("passages", bits, int(PASSAGES * count), seen)))
    for name in dict.fromkeys(names):
        named = islice(engine.rows("units", both & equals("name", name), ("file",)), NAMES)
        rankings.insert(0, dict.fromkeys(row["file"] for row in named))
    if plan.symbol and plan.symbol not in names:  # a unit of that name has its words, so postings suffice
        rankings.insert(0, _file_keys(engine.search_words("units", words, NAMES, both & equals("name", plan.symbol))))
    commits = engine.search_words("commits", words, COMMITS, seen, ("repo", "touched", "terms", "words"))
    past, precedents = _touched_files(commits, _term_weights(plan, counts))
    rankings.append(past)
    return _fused(rankings)[:count], precedents


def _engine_query(plan: QueryPlan) -> str:
    """The terms of a query, repeated by weight."""
    terms = sorted(plan.terms, key=lambda term: -term.weight)[:MAX_TERMS]
    least = min((term.weight for term in terms), default=1.0) or 1.0
    return " ".join(" ".join([term.text] * max(1, min(MAX_REPEATS, round(term.weight / least)))) for term in terms)


def _file_keys(hits: Sequence[EngineHit]) -> Iterable[str]:
    """The files of hits in order, each once: a row's key begins with its file's."""
    return dict.fromkeys(hit.id.partition(".")[0] for hit in hits)


def _term_weights(plan: QueryPlan, counts: TermCounts) -> dict[str, float]:
    """The weight of each term in a commit message: higher the fewer files contain it."""
    held = {term.text: counts.terms.get(name_hash(term.text)) for term in plan.terms}
    return {term.text: term.weight * idf(counts.files, known.files if (known := held[term.text]) else 0) for term in plan.terms}


def _touched_files(hits: Sequence[EngineHit], weights: Mapping[str, float]) -> tuple[list[str], dict[str, float]]:
    """The files that similar commits changed, best first, and their scores."""
    scores: dict[str, list[float]] = {}
    for hit in hits:
        paths = _paths(hit.fields["touched"])
        similarity = sum(weights.get(word, 0.0) for word in dict.fromkeys(hit.fields["words"].split()))
        score = similarity / (0.5 + 0.5 * math.sqrt(max(hit.fields["terms"], 1) / USUAL_TERMS)) / math.sqrt(max(len(paths), 1))
        for path in paths:
            scores.setdefault(file_key(hit.fields["repo"], path), []).append(score)
    sums = {key: sum(score * COMMIT_DECAY**at for at, score in enumerate(sorted(found, reverse=True))) for key, found in scores.items()}
    return sorted(sums, key=lambda key: (-sums[key], key)), sums


def _paths(touched: str) -> list[str]:
    try:
        found = json.loads(touched)
    except ValueError:
        return []
    return [path for path in found if isinstance(path, str)] if isinstance(found, list) else []


def _fused(rankings: Sequence[Iterable[str]]) -> list[str]:
    """Reciprocal rank fusion."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, key in enumerate(ranking):
            scores[key] = scores.get(key, 0.0) + 1 / (RANK_CONSTANT + place + 1)
    return sorted(scores, key=lambda key: (-scores[key], key))


# Names across repositories. This is a first step: a use is matched to definitions by comparing the words of its import statement
# with their paths and repository names; aliases and re-exports are not followed. Only files that the engine finds by the parts
# of the name are searched for uses.
#: Limits on definitions, on files searched for uses, and on the engine's hits.
MAX_DEFINITIONS, MAX_FILES, MAX_UNITS = 500, 400, 2_000
IMPORTS, MENTIONS = "imports", "mentions"


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition of a name."""

    repository: str
    path: str
    line: int
    kind: str
    language: str


@dataclass(frozen=True, slots=True)
class Use:
    """A file that uses a name without defining it."""

    repository: str
    path: str
    how: str  # imports: in an import statement; mentions: anywhere in the file
    statement: str  # the import statement, if there is one
    means: tuple[Definition, ...]  # the definitions that it may refer to


@dataclass(frozen=True, slots=True)
class FleetSymbols:
    """Definitions and uses of a name."""

    name: str
    definitions: tuple[Definition, ...]
    uses: tuple[Use, ...]
    files: int  # searched for uses


def find_symbols(fleet: Fleet, name: str) -> FleetSymbols:
    """Find definitions and uses of a name in the repositories that the caller may see."""
    if not name.isprintable() or not analyzer.terms(name):
        raise QueryError(f"{name[:80]!r} is not a symbol name", hint="write it as in the code, for instance SessionStore")
    seen, own = visible_rows(fleet.caller), {one.name for one in fleet.repositories()}
    rows = islice(fleet.engine.rows("units", seen & equals("name", name), ("file", "repo", "groups")), MAX_DEFINITIONS)
    defining = {row["file"] for row in rows if may_see(fleet.caller, row) and row["repo"] in own}
    hits = fleet.engine.search_words("units", " ".join(analyzer.terms(name)), MAX_UNITS, seen)
    others = [key for key in dict.fromkeys(hit.id.partition(".")[0] for hit in hits) if key not in defining]
    files = fleet.file_blobs([*sorted(defining), *others[:MAX_FILES]])
    definitions = tuple(sorted(_definitions(files, name), key=lambda one: (one.repository, one.path, one.line)))
    where = {(one.repository, one.path) for one in definitions}
    mentioning = [one for one in files if (one.repository, one.path) not in where and name_hash(name) in one.blob["mentions"]]
    searched = sum(one.key not in defining for one in files)  # not len(others): some may belong to other groups
    return FleetSymbols(name, definitions, tuple(_uses(fleet, mentioning, name, definitions)), searched)


def _definitions(files: Iterable[FetchedFile], name: str) -> Iterable[Definition]:
    for one in files:
        arrays = one.blob
        names = StringTable(np.ascontiguousarray(arrays["units.name.blob"]), arrays["units.name.ends"])
        for unit in np.flatnonzero(arrays["units.name_hash"] == np.uint32(name_hash(name))).tolist():
            if arrays["units.flags"][unit] & DEFINES and names[unit] == name:
                kind, language = KIND_NAMES[int(arrays["units.kind"][unit])], arrays["files.language"].tobytes().decode()
                yield Definition(one.repository, one.path, int(arrays["units.first"][unit]), kind, language)


def _uses(fleet: Fleet, files: Sequence[FetchedFile], name: str, definitions: Sequence[Definition]) -> Iterable[Use]:
    texts = fleet.texts({one.key: one.repository for one in files})
    for one in sorted(files, key=lambda one: (one.repository, one.path)):
        _, parsed = texts.get(one.key, ("", b""))
        statements = unpack_parsed(parsed).imports if parsed else ()
        statement = next((line for line in statements if name in analyzer.WORD.findall(line)), "")
        means = _referents(one.repository, name, statement, definitions)
        yield Use(one.repository, one.path, IMPORTS if statement else MENTIONS, statement, means)


def _referents(repository: str, name: str, statement: str, definitions: Sequence[Definition]) -> tuple[Definition, ...]:
    """The definitions that share most words with the import statement; those of the same repository, if there are any."""
    words = {word.casefold() for word in analyzer.WORD.findall(statement)} - {name.casefold()}
    shared = [len(words & _location_words(one)) for one in definitions]
    most = max(shared, default=0)
    nearest = [one for one, count in zip(definitions, shared, strict=True) if count == most]
    return tuple([one for one in nearest if one.repository == repository] or nearest)


def _location_words(one: Definition) -> set[str]:
    """The words by which an import statement may name the place of a definition."""
    location = f"{one.repository} {one.path.rpartition('.')[0] or one.path}".replace("-", "_")
    return {word.casefold() for word in analyzer.WORD.findall(location)}
