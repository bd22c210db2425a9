"""One question to a fleet, from words to ranked files: found in the engine, ranked here, with the same ledger as ever."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.core.errors import QueryError, UsageError
from whence.core.profiles import Profile
from whence.core.settings import load_settings
from whence.core.settings_schema import Settings
from whence.core.types import Holding, Unit
from whence.embed.encoder import Encoder
from whence.embed.registry import SHIPPED, open_encoder
from whence.fleet.access import Caller, caller_of, check, visible
from whence.fleet.candidates import CandidateFilter, Candidates, find
from whence.fleet.counts import ALL, TOTALS, CountTable, counted, scope_of, together
from whence.fleet.file_blobs import Arrays
from whence.fleet.file_blobs import unpacked as unpacked_piece
from whence.fleet.milvus.engine import Engine, Row
from whence.fleet.milvus.filters import Filter, equals, one_of
from whence.fleet.registry import Registry, Repository, RepositoryScope, chosen, fits
from whence.fleet.remote_reader import RemoteSnapshot, TermCounts
from whence.fleet.rows import file_key, from_parts, part_key
from whence.fleet.texts import texts_of
from whence.index.parsed import find_units
from whence.index.segment_writer import CONTENTS, name_hash
from whence.query.lexer import PHRASE, REGEX, WORD, fault
from whence.query.parser import Leaf, ParsedQuery
from whence.query.parser import read as read_query
from whence.query.paste import question_in
from whence.query.plan import QueryPlan, make_plan
from whence.retrieval.filters import file_mask, restrict, unit_mask
from whence.retrieval.term_statistics import FieldWeights
from whence.search.asking import make_asking, profile_named, with_content
from whence.search.confidence import confidence_of
from whence.search.explain import Why, explain, find_target
from whence.search.options import check_asked
from whence.search.pipeline import SearchRun, answer, ranked_with
from whence.search.result import SearchResponse, SearchResult
from whence.source.read import without_secrets
from whence.storage.arrayfile import Array

if TYPE_CHECKING:
    from typing_extensions import Self

#: Seconds for which the list of repositories is remembered: who adds one, or takes somebody's right away, waits no longer.
REMEMBERED = 2.0
#: Repositories that are named one by one to the engine; more are told apart when their rows come back.
MOST_NAMED = 1_000
#: Conditions whose value is words that the engine can be asked for.
_SPOKEN = frozenset({"word", "phrase", "sym"})
_PART = ("file", "repo", "groups", "path", "part", "parts", "blob")
#: What is said where nothing is meant that the caller may see: the same of what is another's and of what is not there.
NOBODY = "no repository that you may see is meant"
NOTHING_LEFT = "nothing that was found meets these conditions"


class FleetResult(SearchResult):
    """One file of an answer, and the repository that it is of."""

    def __init__(self, source: _Source, found: Any) -> None:
        super().__init__(source, found)
        self.repository, self.path_inside = source.place_of(self.path)

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
        self.repositories = dict(repositories or {})  # of the files that were ranked, how many are of each
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
        self._weights: dict[str, FieldWeights] = {}

    @classmethod
    def open(cls, settings: Mapping[str, Any] | None = None, *, token: str = "", command_line: Mapping[str, Any] | None = None) -> Self:
        """Open the fleet that the user's settings name, as the caller whom a token stands for (default: setting fleet.caller).

        `settings` are dotted names with values, for instance `{"fleet.address": "http://localhost:19530"}`. No file of a
        repository is read for them.
        """
        merged, _ = load_settings(None, call=settings, command_line=command_line)
        caller = caller_of(merged.fleet, token or merged.fleet.caller)
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
        if time.monotonic() - seen > REMEMBERED:
            known = tuple(one for one in self._registry.all(visible(self.caller)) if self._sees(one.groups))
            self._known = time.monotonic(), known
        return sorted((one for one in known if not pattern or fits(one.name, pattern)), key=lambda one: one.name)

    def search(self, query: str, *, k: int | None = None, profile: str | None = None, plain: bool = False, **asked: Any) -> FleetResponse:
        """The best files of all repositories for a query, best first; `repo:PATTERN` in it chooses among them."""
        check_asked(asked if k is None else {**asked, "k": k}, profile)
        question, reach = self._reach(query)
        read = read_query(question, plain=plain)
        if not reach.repositories:
            return FleetResponse(notes=(NOBODY,))
        gathered = self._gathered(read, reach, k, profile, asked)
        if gathered is None:
            return FleetResponse(notes=tuple(filter(None, (read.said,))), searched=reach.repositories)
        asking, source = gathered
        asking, notes = self._restricted(read, asking, source)
        if asking.restriction is not None and not asking.restriction.units.any():
            return FleetResponse(notes=(*notes, NOTHING_LEFT), searched=reach.repositories)
        found = answer(read.text, asking)
        sure = confidence_of(found, self.settings.search.not_here, query=read.text, meaning=self._is_shipped) if read.text.strip() else None
        results = [FleetResult(source, one) for one in found]
        source.fetch([one.path for one in results])
        repositories = _counted(source.place_of(source.snapshot.path(hit.file))[0] for hit in (found[0].ranked.hits if found else []))
        return FleetResponse(results, confidence=sure, notes=notes, found=found, repositories=repositories, searched=reach.repositories)

    def why(self, query: str, target: str, *, k: int | None = None, profile: str | None = None, **asked: Any) -> Why:
        """Why a file, given as REPOSITORY/PATH, stands where it stands in the answer to a query."""
        check_asked(asked if k is None else {**asked, "k": k}, profile)
        question, reach = self._reach(query)
        read = read_query(question)
        if not read.text.strip():
            raise UsageError("a query without words ranks nothing", hint="add a word to ask why something comes first")
        gathered = self._gathered(read, reach, k, profile, asked, include=self._keys_of(target, reach))
        if gathered is None:
            raise _unknown(target)
        asking, source = gathered
        asking, _ = self._restricted(read, asking, source)
        try:
            units = find_target(source.snapshot, target)
        except UsageError as error:
            raise _unknown(target) from error
        return explain(without_secrets(query), units, ranked_with(read.text, asking, units))

    # Which repositories.
    def _reach(self, query: str) -> tuple[str, RepositoryScope]:
        """The question without what chooses repositories, and what it is asked of."""
        return chosen(question_in(without_secrets(query)).text, self.repositories())

    def _keys_of(self, target: str, reach: RepositoryScope) -> list[str]:
        """The keys of the files that a target may mean."""
        path = re.sub(r"(?::\d+|#.*)$", "", target)
        return [file_key(one.name, path[len(one.name) + 1 :]) for one in reach.repositories if path.startswith(one.name + "/")]

    # From a question to a snapshot of what could answer it.
    def _gathered(
        self,
        read: ParsedQuery,
        reach: RepositoryScope,
        k: int | None,
        profile: str | None,
        asked: Mapping[str, Any],
        include: Sequence[str] = (),
    ) -> tuple[SearchRun, _Source] | None:
        asked = with_content(read, asked)
        plan = self._plan(read, profile)
        content = asked.get("content") or self.settings.search.content
        narrowing = CandidateFilter(self._seen(reach), _held(content, asked.get("languages") or ()))
        wanted = (self.settings.search.k if k is None else k) * (4 if read.conditions else 1)
        encoder = self.encoder if self._same_model(reach) else None
        counts = self._counts(plan, reach)
        names = [leaf.value for leaf in read.leaves() if leaf.of == "sym" and not leaf.negated]
        found = find(self.engine, plan, narrowing, encoder, wanted, counts, names)
        rows = self._files([*include, *found.files], reach)
        if not rows:
            return None
        source = _Source(self, rows, counts, found, encoder)
        return make_asking(
            read.text,
            k,
            profile,
            asked,
            snapshot=source.snapshot,
            settings=self.settings,
            weights_of=self._weights_of,
            read=source.read_text,
            encoder=encoder,
        ), source

    def _plan(self, read: ParsedQuery, profile: str | None) -> QueryPlan:
        """What the engine is asked for: the words that are ranked, or else those that a condition speaks of."""
        _, ranking = profile_named(profile, self.settings)
        spoken = (leaf.value for leaf in read.leaves() if leaf.of in _SPOKEN and not leaf.negated)
        text = read.text.strip() or " ".join(spoken)
        if not text:
            raise QueryError(
                "a fleet is searched by words" if read.conditions else "the query is empty",
                hint="add a word, a phrase in quotes or a name, as sym:Client",
            )
        return make_plan(text, decay=ranking.decay, quoted=ranking.quoted)

    def _seen(self, reach: RepositoryScope) -> Filter:
        """Rows that the caller may see, of the repositories that were chosen."""
        if not reach.chosen or len(reach.repositories) > MOST_NAMED:
            return visible(self.caller)
        return visible(self.caller) & one_of("repo", reach.names)

    def _same_model(self, reach: RepositoryScope) -> bool:
        """Whether the vectors of the fleet are of the model that questions are read with."""
        encoder = self.encoder
        return encoder is not None and any(encoder.fingerprint in one.fingerprint for one in reach.repositories)

    def _files(self, keys: Sequence[str], reach: RepositoryScope) -> list[FetchedFile]:
        """The pieces of some files. Whatever the engine gives is looked at once more, whether it is the caller's to see."""
        first = [row for row in self.engine.get("files", [part_key(key, 0) for key in keys], _PART) if self._may_see(row, reach)]
        more = [part_key(row["file"], part) for row in first for part in range(1, int(row["parts"]))]
        blobs: dict[str, list[str]] = {row["file"]: [row["blob"]] for row in first}
        for row in self.engine.get("files", more, _PART) if more else ():
            if self._may_see(row, reach) and row["file"] in blobs:
                blobs[row["file"]].append(row["blob"])  # they come in the order of their keys
        whole = [row for row in first if len(blobs[row["file"]]) == int(row["parts"])]  # another may be writing it
        return [FetchedFile(row["file"], row["repo"], row["path"], unpacked_piece(from_parts(blobs[row["file"]]))) for row in whole]

    def pieces(self, keys: Sequence[str]) -> list[FetchedFile]:
        """The pieces of some files, given by their keys, as far as the caller may see them."""
        return self._files(keys, RepositoryScope(tuple(self.repositories()), chosen=False))

    def _sees(self, groups: Sequence[str]) -> bool:
        return check(self.caller, {"groups": groups})

    def _may_see(self, row: Row, reach: RepositoryScope) -> bool:
        return check(self.caller, row) and row["repo"] in reach.names

    def _counts(self, plan: QueryPlan, reach: RepositoryScope) -> TermCounts:
        """What is counted over all that the question is asked of, and of nothing else: numbers tell, too."""
        only = reach.repositories[0].name if len(reach.repositories) == 1 else None
        groups = self.caller.groups
        scopes = [only] if only is not None else [ALL] if groups is None else [scope_of(group) for group in sorted(groups)]
        hashes = {name_hash(term.text) for term in plan.terms} | {name_hash(word) for word in (*plan.exact, *plan.identifiers, plan.symbol)}
        table = together([CountTable.nothing(), *(counted(self.engine, scope, {TOTALS, *hashes}) for scope in scopes)])
        totals = table.holding(TOTALS) or Holding(0, 0, 0)
        terms = {hashed: known for hashed in hashes if (known := table.holding(hashed)) is not None}
        return TermCounts(totals.files, totals.units, totals.windows, terms, {hashed: table.mentioning(hashed) for hashed in hashes})

    # From a snapshot to an answer.
    def _restricted(self, read: ParsedQuery, asking: SearchRun, source: _Source) -> tuple[SearchRun, tuple[str, ...]]:
        if read.notes:
            raise UsageError("in:notes asks for notes, and a fleet has none", hint="use whence recall")
        snapshot = source.snapshot
        if asking.options.pattern is not None or any(leaf.of in (WORD, PHRASE, REGEX) for leaf in read.leaves()):
            source.fetch(snapshot.paths)  # they are read one by one: better asked for together
        if read.plain:
            return asking, ()
        files, units = file_mask(snapshot, asking.options), unit_mask(snapshot, asking.options)
        left = restrict(read.conditions, snapshot, files, units, source.read_text, lambda leaf: _named(read, leaf, snapshot))
        return replace(asking, restriction=replace(left, optional=read.optional)), (read.said, *left.notes)

    def _weights_of(self, name: str, profile: Profile) -> FieldWeights:
        if name not in self._weights:
            self._weights[name] = FieldWeights.of(profile)
        return self._weights[name]

    @property
    def _is_shipped(self) -> bool:
        return self.encoder is not None and self.encoder.name == SHIPPED


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file that was fetched."""

    key: str
    repository: str
    path: str
    piece: Arrays


class _Source:
    """Where results read what they show: texts are fetched when they are asked for."""

    def __init__(self, fleet: Fleet, files: Sequence[FetchedFile], counts: TermCounts, found: Candidates, encoder: Encoder | None) -> None:
        self.settings = fleet.settings
        self._fleet = fleet
        # In an order of their own: that of the engine follows rows that the caller may not see.
        self._files = {f"{one.repository}/{one.path}": one for one in sorted(files, key=lambda one: (one.repository, one.path))}
        self._texts: dict[str, tuple[str, bytes]] = {}
        paths = list(self._files)
        width = encoder.width if encoder is not None else 0
        self.snapshot = RemoteSnapshot(
            [one.piece for one in self._files.values()], paths, counts, lambda row: self._text(paths[row])[1], width
        )
        self.snapshot.precedents = np.array([found.precedents.get(one.key, 0.0) for one in self._files.values()], np.float32)

    def place_of(self, path: str) -> tuple[str, str]:
        """The repository of a file, and its path there."""
        one = self._files[path]
        return one.repository, one.path

    def read_text(self, path: str, wanted: object = None) -> str | None:
        """The text of a file, as it was indexed."""
        del wanted
        return self._text(path)[0] if path in self._files else None

    def units_at(self, path: str, wanted: Collection[tuple[int, str]]) -> dict[tuple[int, str], Unit]:
        """The units of a file that begin at some lines under some names."""
        parsed = self._text(path)[1]
        return find_units(parsed, wanted) if parsed else {}

    def fetch(self, paths: Iterable[str]) -> None:
        """Have the texts of some files at hand."""
        wanted = {path: self._files[path] for path in paths if path not in self._texts}
        found = texts_of(self._fleet.engine, self._fleet.caller, {one.key: one.repository for one in wanted.values()})
        self._texts |= {path: found.get(one.key, ("", b"")) for path, one in wanted.items()}

    def _text(self, path: str) -> tuple[str, bytes]:
        if path not in self._texts:
            self.fetch([path])
        return self._texts[path]


def _unknown(target: str) -> UsageError:
    """What is said of a file that is not there and of one that is another's: there is no difference."""
    return UsageError(f"there is no {target!r} that you may see", hint="name it as REPOSITORY/PATH")


def _held(content: str, languages: Sequence[str]) -> Filter:
    """What rows of files and units are to be of."""
    kept = equals("content", content) if content in CONTENTS else Filter("")
    return kept & one_of("language", languages) if languages else kept


def _named(read: ParsedQuery, leaf: Leaf, snapshot: RemoteSnapshot) -> Array:
    if leaf.of == "sym":
        return snapshot.definitions(leaf.value)
    raise fault(f"{leaf.of}: asks for the graph of one repository; whence context --fleet fetches it", read.query, leaf.at)


def _counted(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
