"""Search results, score receipts and the warning that an answer is most likely not here (Z1), as text, JSON and MCP content."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from whence.app.presenters.text import Document, ago, count_files, freshness_json, freshness_words, relative, safe
from whence.core.errors import QueryError

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.context.pack import ContextPack
    from whence.context.request import ContextRequest
    from whence.fleet.registry import Repository
    from whence.fleet.search import Fleet, FleetResponse, FleetResult
    from whence.ranking.confidence import Confidence
    from whence.ranking.ledger import LedgerLine
    from whence.ranking.receipt import Why
    from whence.search.request import SearchRequest
    from whence.search.result import Facets, SearchResult
    from whence.search.unindexed import UnindexedMatch
    from whence.source.excluded import ExcludedMatches
    from whence.text.injection import Instruction

#: A result as a front end shows it.
Form = TypeVar("Form")


@dataclass(frozen=True, slots=True)
class LowConfidence:
    """The confidence of an answer, and the files outside the index that hold its words."""

    confidence: Confidence
    left_out: tuple[ExcludedMatches, ...] = ()
    searched: str = "all"  # which content

    def __str__(self) -> str:
        """A warning in one line; empty if the answer is likely here."""
        if self.confidence.here:
            return ""
        more = [*map(str, self.left_out)]
        if self.searched != "all":
            more.append(f"only {self.searched} was searched (in:all searches everything)")
        return self.confidence.warning(*more)

    def as_json(self) -> dict[str, Any]:
        """The same as JSON."""
        of = self.confidence
        return {
            "probability": round(of.probability, 4),
            "line": of.line,
            "here": of.here,
            "because": of.because,
            "left_out_files": [asdict(one) for one in self.left_out],
        }


def nothing_for(request: ContextRequest) -> str:
    """Why nothing was found for a task or a change."""
    if request.is_review:
        return f"there are no {request.title}"
    return "nothing found: only what is defined in code is looked at"


def task_warning(pack: ContextPack) -> str:
    """A warning that the code for a task is most likely not here; empty if it may be."""
    return str(LowConfidence(pack.confidence)) if pack.confidence is not None else ""


# Several roots, or the fleet, as one answer.
@dataclass(frozen=True, slots=True)
class RootAnswer(Generic[Form]):
    """The answer of one root."""

    name: str = ""
    results: tuple[tuple[float, Form], ...] = ()  # each with its score
    notes: tuple[str, ...] = ()  # how the query was read
    low_confidence: LowConfidence | None = None
    refused: QueryError | None = None  # the query holds a name that only other roots may know
    facets: Facets | None = None  # where they are wanted


@dataclass(frozen=True, slots=True)
class JoinedAnswer(Generic[Form]):
    """The answer of all roots together, best first."""

    results: list[Form]
    notes: list[str]
    low_confidence: LowConfidence | None
    facets: Facets | None


def search_root(
    index: Index,
    request: SearchRequest,
    show: Callable[[SearchResult], Form],
    *,
    name: str = "",
    inner: tuple[str, ...] = (),
    building: bool = False,
    hurried: bool = False,
    faceted: bool = False,
) -> RootAnswer[Form]:
    """Search one root; files below `inner` are left to the roots there.

    While its index is `building`, nothing is said of confidence. If `hurried`, a low one is explained without reading
    files that are not indexed.
    """
    try:
        answer = index.search(request)
    except QueryError as error:
        return RootAnswer(name, refused=error)
    results = tuple((one.score, show(one)) for one in answer if not one.path.startswith(inner))
    content = request.filters(index.settings.search.content).content
    doubt, of = None, answer.confidence
    if of is not None and index.snapshot.live_files and not building:
        left_out = () if of.here or hurried else (index.excluded(of.sought),)
        doubt = LowConfidence(of, tuple(one for one in left_out if one.matching), content)
    return RootAnswer(name, results, answer.notes, doubt, facets=answer.facets if faceted else None)


def search_fleet(fleet: Fleet, request: SearchRequest, show: Callable[[FleetResult], Form]) -> tuple[RootAnswer[Form], FleetResponse]:
    """Search the fleet: the same answer, and what else the fleet tells."""
    found = fleet.search(request)
    content = request.content or fleet.settings.search.content
    doubt = LowConfidence(found.confidence, searched=content) if found.confidence is not None else None
    results = tuple((one.score, show(one)) for one in found.files)
    return RootAnswer("", results, tuple(filter(None, found.notes)), doubt, facets=found.facets), found


def join_answers(answers: Sequence[RootAnswer[Form]], k: int | None) -> JoinedAnswer[Form]:
    """The best k results of all roots (None: all), and the confidence of the surest; refused if every root refuses the query."""
    refused = [one.refused for one in answers if one.refused is not None]
    if refused and len(refused) == len(answers):
        raise refused[0]
    best = sorted(chain.from_iterable(one.results for one in answers), key=lambda pair: -pair[0])[:k]
    known = [one.low_confidence for one in answers if one.low_confidence is not None]
    surest = max(known, key=lambda one: one.confidence.probability, default=None)
    if surest is not None:
        surest = replace(surest, left_out=tuple(chain.from_iterable(one.left_out for one in known)))
    return JoinedAnswer([result for _, result in best], _notes(answers), surest, _sum_facets([one.facets for one in answers if one.facets]))


def _notes(answers: Sequence[RootAnswer[Form]]) -> list[str]:
    """Notes on the query; those of only some roots with their names."""
    names: dict[str, list[str]] = {}
    for one in answers:
        for note in (*one.notes, *([one.refused.message.partition("\n")[0]] if one.refused is not None else ())):
            names.setdefault(note, []).append(one.name)
    return [note if len(of) == len(answers) else f"{', '.join(of)}: {note}" for note, of in names.items()]


def _sum_facets(facets: Sequence[Facets]) -> Facets | None:
    if len(facets) < 2:
        return next(iter(facets), None)

    def summed(name: str) -> dict[str, int]:
        return dict(sum((Counter(getattr(one, name)) for one in facets), Counter()).most_common())

    of = {name: summed(name) for name in ("languages", "kinds", "folders")}
    return replace(facets[0], files=sum(one.files for one in facets), **of)


#: Colours text, or leaves it as it is.
Style = Callable[..., str]
#: Results, each with the path to show for it.
Shown = Sequence[tuple[str, "SearchResult"]]


# Text.
def results_document(shown: Shown, style: Style, *, with_why: bool = False) -> Document:
    """Results with their places and the lines that matter, one item each."""
    from whence.text.injection import warning_of  # noqa: PLC0415  -- loaded with the answer

    document = Document()
    for place, (path, result) in enumerate(shown, 1):
        name = f"  {result.kind} {style(safe(result.qualified_name), bold=True)}" if result.name else ""
        file = style(safe(path), fg="magenta", bold=True, link=(path, result.best_start))
        where = f"{file}:{result.best_start}-{result.best_end}{_cell(result)}"
        matched = f"  (matched: {result.matched})" if result.matched else ""
        score = f"  {style(f'{result.score:.2f}', dim=True)}" if result.score else ""  # conditions alone rank nothing
        document.item(f"{style(f'{place:>2}', dim=True)} {where}{name}{score}{matched}")
        if warning := warning_of(result.flags):
            document.more(f"   {style(warning, fg='yellow')}")
        document.more(*(f"   {style(f'{line.number:>5}', fg='green')}  {marked(line.text, line.marks, style)}" for line in result.lines))
        if result.hidden_lines:
            document.more(f"          {style(more_lines(result.hidden_lines), dim=True)}")
        if with_why:
            document.more(*why_lines(result.why, style))
            if result.unit_why:
                document.more(style("      and of its units this one is shown for:", dim=True), *why_lines(result.unit_why, style))
    return document


def _cell(result: SearchResult) -> str:
    """The cell of a notebook, after the lines."""
    return f" (cell {result.cell})" if result.cell else ""


def more_lines(count: int) -> str:
    """How many lines match that are not shown."""
    return f"{count} more line{'s match' if count > 1 else ' matches'}"


@dataclass(frozen=True, slots=True)
class GrepStyle:
    """How grep prints lines: with their numbers, with lines before and after them, only what matches, with NUL after a path."""

    line_numbers: bool = False
    before: int = 0
    after: int = 0
    only: Callable[[str], Sequence[tuple[int, int]]] | None = None  # the columns of the matches in a line
    null: bool = False
    max_count: int | None = None


def grep_document(shown: Shown, style: Style, how: GrepStyle) -> Document:
    """Matching lines as grep prints them, one item each."""
    document, groups = Document(), False
    for where, result in shown:
        matching = (result.matching_lines or tuple(line.number for line in result.lines))[: how.max_count]
        last = 0
        for number, is_match in _with_context(matching, how.before, how.after, len(result.text_lines)):
            if groups and number != last + 1 and (how.before or how.after):
                document.item("--")
            mark = ":" if is_match else "-"
            path = style(where if how.null else safe(where), fg="magenta", link=(where, number)) + ("\0" if how.null else "")
            lead = path + (mark if not how.null else "") + (f"{style(str(number), fg='green')}{mark}" if how.line_numbers else "")
            line = result.text_lines[number - 1]
            texts = [line[a:b] for a, b in how.only(line)] if how.only is not None and is_match else [line]
            for text in texts if how.only is None or is_match else ():
                document.item(lead + safe(text))
            last, groups = number, True
    return document


def _with_context(matching: Sequence[int], before: int, after: int, last: int) -> Iterator[tuple[int, bool]]:
    """Lines in order, each once, and whether they match."""
    if not (before or after):
        yield from ((number, True) for number in matching if number <= last)
        return
    is_match = set(matching)
    around = {near for number in matching for near in range(max(number - before, 1), min(number + after, last) + 1)}
    yield from ((number, number in is_match) for number in sorted(around))


def index_lines(indexes: Sequence[Index], found: Sequence[tuple[Index, SearchResult]]) -> Iterator[str]:
    """For every index: how many of its files were found, and how fresh it is."""
    now = time.time()
    for index in indexes:
        of = f"{index.root.name}: " if len(indexes) > 1 else ""
        count = f"{sum(one is index for one, _ in found)} of {index.snapshot.live_files} files"
        yield f"{of}{count} · {freshness_words(index.freshness, now)}"


def fleet_line(searched: Sequence[Repository], found: int) -> str:
    """How much of the fleet was searched, and when it was indexed."""
    times = sorted(one.indexed_at for one in searched if one.indexed_at)
    indexed = f"indexed {ago(time.time() - times[0])}" if times else "never indexed"
    oldest = " (the oldest)" if len(times) > 1 else ""
    return f"{found} of {sum(one.files for one in searched)} files · {_count_repositories(searched)} · {indexed}{oldest}"


def why_lines(why: Sequence[LedgerLine], style: Style) -> Iterator[str]:
    """The ledger of a score, without the lines that change nothing."""
    for entry in why:
        if entry.is_visible:
            yield f"      {entry.operation} {entry.contribution:>8.3f}  {entry.signal:<16} {style(safe(entry.because), dim=True)}"


def marked(text: str, marks: tuple[tuple[int, int], ...], style: Style) -> str:
    """A line with its matching words highlighted."""
    parts, at = [], 0
    for start, end in marks:
        parts += [safe(text[at:start]), style(safe(text[start:end]), fg="red", bold=True)]
        at = end
    return "".join([*parts, safe(text[at:])])


def receipt_document(found: Why, style: Style, written: Callable[[str], str]) -> Document:
    """What a score is made of, line by line; `written` turns a path into the one to show."""
    document = Document()
    name = f"  {found.kind} {found.unit}" if found.unit else ""
    path = written(found.path)
    document.item(f"{style(safe(path), fg='magenta', bold=True, link=(path, found.line))}:{found.line}{safe(name)}")
    document.item(f"rank {found.rank} of {found.candidates} candidates, score {found.score:.4f}")
    if found.rank > 1:
        leader = found.leader if found.leader_is_symbol else written(found.leader)
        document.item(f"first is {safe(leader)} with {found.leader_score:.4f}")
    retrievers = ", ".join(f"{one.retriever} (rank {one.rank}, {one.score:.2f})" for one in found.found_by)
    document.item(f"found by {retrievers}" if retrievers else "found by no retriever: ranked only because you asked", "")
    document.item(style(f"{'signal':<17}{'value':>9}   {'weight':>7}   {'part':>10}  {'without':>7}  because", dim=True))
    for one in found.lines:
        line = one.line
        sign = "^" if line.operation == "x" else "*"  # a factor is raised to its weight
        part = f"{line.operation} {line.contribution:.4f}"
        shown = f"{line.signal:<17}{line.value:>9.4f} {sign} {line.weight:>7.3f} = {part:>10}  {one.rank_without:>7}  {safe(line.because)}"
        silent = round(line.contribution, 6) == (1.0 if line.operation == "x" else 0.0)
        document.item(style(shown, dim=True) if silent else shown)
    document.item(f"{'score':<17}{'':>9}   {'':>7} = {found.score:>10.4f}  {found.rank:>7}")
    return document


# MCP content: few tokens, one fact per line, warnings first.
def result_content(result: SearchResult, prefix: str = "", *, with_why: bool = False) -> list[str]:
    """A result: where, what, its score, and the lines that matter."""
    from whence.core.types import CODE  # noqa: PLC0415  -- loaded with the answer

    name = f" {result.kind} {result.qualified_name}" if result.name else ""
    matched = f" (matched: {result.matched})" if result.matched else ""
    sort = f" {result.sort}" if result.sort != CODE else ""
    return [
        f"{prefix}{safe(result.path)}:{result.best_start}-{result.best_end}{_cell(result)}{safe(name)} [{result.score:.2f}{sort}]{matched}",
        *flag_content(result.flags),
        *(f"  {line.number}: {safe(line.text.strip())}" for line in result.lines),
        *([f"  ({more_lines(result.hidden_lines)})"] if result.hidden_lines else ()),
        *(why_content(result.why) if with_why else ()),
    ]


def flag_content(flags: Sequence[Instruction], what: str = "this file") -> list[str]:
    """A warning that an excerpt reads like an instruction; no line of an excerpt can begin like it (Z11)."""
    from whence.text.injection import warning_of  # noqa: PLC0415  -- loaded with the answer

    return [f"  {warning_of(flags, what)}"] if flags else []


def why_content(why: Sequence[LedgerLine]) -> Iterator[str]:
    """The contributions to a score that change it."""
    for entry in why:
        if entry.is_visible:
            amount = f"{entry.contribution:+.3f}" if entry.operation == "+" else f"{entry.operation}{entry.contribution:.3f}"
            yield f"  {amount} {entry.signal}: {safe(entry.because)}"


def fleet_content(searched: Sequence[Repository]) -> str:
    """What was searched in a fleet, and the age of the oldest index."""
    times = [one.indexed_at for one in searched if one.indexed_at]
    oldest = f", the oldest indexed {ago(time.time() - min(times))}" if times else ""
    return f"fleet: {_count_repositories(searched)}, {count_files(sum(one.files for one in searched))}{oldest}"


def _count_repositories(searched: Sequence[Repository]) -> str:
    return f"{len(searched)} repositor{'y' if len(searched) == 1 else 'ies'}"


def guesses_content(guesses: Sequence[UnindexedMatch], read: int, of: int) -> Iterator[list[str]]:
    """Files that are not indexed yet and contain words of the question, an item each."""
    from whence.text.injection import flags_of  # noqa: PLC0415  -- loaded with the answer

    if guesses:
        yield [f"not indexed yet, by their words alone ({read} of {of} files read):"]
    for guess in guesses:
        flags = flags_of([(guess.line, guess.text)], (guess.path,))
        yield [f"- {safe(guess.path)}:{guess.line} holds {', '.join(guess.held)}: {safe(guess.text)}", *flag_content(flags)]


# JSON.
def search_json(
    query: str,
    indexes: Sequence[Index],
    found: Sequence[tuple[Index, SearchResult]],
    remarks: Sequence[str],
    doubt: LowConfidence | None,
    *,
    with_why: bool,
) -> dict[str, Any]:
    """Results of some indexes as JSON."""
    states = [
        {
            "root": str(index.root),
            "files": index.snapshot.live_files,
            "units": index.snapshot.live_units,
            "freshness": freshness_json(index.freshness),
            "notes": index.notes,
        }
        for index in indexes
    ]
    results = [result_json(relative(index.root, result.path), result, with_why=with_why) for index, result in found]
    return _head_json(query, results) | {"indexes": states} | _remarks_json(remarks, doubt)


def fleet_json(query: str, answer: FleetResponse, remarks: Sequence[str], doubt: LowConfidence | None, *, with_why: bool) -> dict[str, Any]:
    """Results of a fleet as JSON."""
    commits = {one.name: one.commit for one in answer.searched}
    results = [
        {"repository": one.repository, "commit": commits.get(one.repository) or None, **result_json(one.path, one, with_why=with_why)}
        for one in answer.files
    ]
    facets = answer.facets
    of = {
        "fleet": {"repositories": len(answer.searched), "files": sum(one.files for one in answer.searched)},
        "facets": {"repositories": answer.repository_counts, "languages": facets.languages, "kinds": facets.kinds},
    }
    return _head_json(query, results) | of | _remarks_json(remarks, doubt)


def _head_json(query: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    from whence.source.read import strip_secrets  # noqa: PLC0415  -- loaded with the index

    return {"query": strip_secrets(query), "count": len(results), "results": results}


def _remarks_json(remarks: Sequence[str], doubt: LowConfidence | None) -> dict[str, Any]:
    return ({"remarks": list(remarks)} if remarks else {}) | ({"confidence": doubt.as_json()} if doubt is not None else {})


def result_json(path: str, result: SearchResult, *, with_why: bool) -> dict[str, Any]:
    """A result as JSON, with the path to show for it."""
    from whence.text.injection import flags_json  # noqa: PLC0415  -- loaded with the answer

    return {
        "path": path,
        "start_line": result.start_line,
        "end_line": result.end_line,
        "best_start_line": result.best_start,
        "best_end_line": result.best_end,
        **({"cell": result.cell} if result.cell else {}),
        **{name: getattr(result, name) for name in ("name", "qualified_name", "kind", "language", "score")},
        "lines": [{"number": line.number, "text": line.text} for line in result.lines],
        **({"matching_lines": len(result.matching_lines)} if result.matching_lines else {}),
        "provenance": result.provenance,
        **flags_json(result.flags),
        **({"matched": result.matched} if result.matched else {}),
        **({"why": why_json(result.why), "unit_why": why_json(result.unit_why)} if with_why else {}),
    }


def why_json(why: Sequence[LedgerLine]) -> list[dict[str, Any]]:
    """The ledger of a score as JSON."""
    names = ("signal", "phase", "operation", "value", "weight", "contribution", "because")
    return [{name: getattr(entry, name) for name in names} for entry in why]
