"""`whence search`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import set_option, settings_of, targets_of
from whence.app.low_confidence import LowConfidence, doubt_of
from whence.app.note_hints import NoteHint, hint_lines, hints_of, notes_json
from whence.app.presenters.text import freshness_json, freshness_words, relative, safe
from whence.cli.main import FOUND, NOTHING_FOUND
from whence.cli.options import request_options
from whence.cli.output import print_foot, print_item, print_json, print_more
from whence.cli.shared import color_option, json_option, open_indexes, say_notes, styler, tracing
from whence.core.errors import QueryError, UsageError
from whence.core.request import pick_fields
from whence.search.request import SearchRequest

if TYPE_CHECKING:
    from whence.app.command_line import Target
    from whence.app.index import Index
    from whence.query.parser import ParsedQuery
    from whence.ranking.confidence import Confidence
    from whence.ranking.ledger import LedgerLine
    from whence.search.result import SearchResult


@click.command(
    epilog="""\b
Examples:
  whence search "parse the config file"
  whence search "retry with backoff" src/net --lang python -k 5
  whence search SessionStore --why
  whence search '"connection reset" lang:go -path:vendor'
  whence search 'callers:parse_config retry OR backoff'
  whence search -e "TODO|FIXME" -n
  whence search "open connection" -e "timeout" --json
  whence search --fleet "retry with backoff repo:acme/*" -k 5"""
)
@click.argument("query", required=False, default="")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@request_options(SearchRequest)
@click.option("--fleet", is_flag=True, help="Search all repositories of the fleet; narrow with repo:PATTERN in QUERY.")
@click.option("--why", "with_why", is_flag=True, help="Show what each score is made of.")
@click.option("-l", "--files-with-matches", "only_paths", is_flag=True, help="Print paths only.")
@click.option("-n", "--line-number", "line_numbers", is_flag=True, help="Print path:line:text, as grep does.")
@click.option("-c", "--count", "counts", is_flag=True, help="Print path:count of matching lines or units.")
@click.option("--no-refresh", is_flag=True, help="Do not refresh the index first.")
@click.option("--trace", "trace_file", type=click.Path(dir_okay=False), help="Write every stage to a file, as lines of JSON.")
@json_option
@color_option
@set_option
def search(query: str, paths: tuple[str, ...], **options: Any) -> int:
    """Search code by words and meaning, best files first.

    QUERY is a question, a few words or a name; it may hold "phrases", /regex/,
    -not, OR, parentheses, path: lang: kind: sym: callers: callees: and in:.
    PATHs are files or folders, in one or several repositories (default: the
    current folder).
    """
    if options["fleet"]:
        from whence.cli.fleet_search import search_fleet  # noqa: PLC0415  -- it needs this module

        return search_fleet(SearchRequest(query, **pick_fields(SearchRequest, options)), paths, options)
    if options["pattern"] is not None and query and not options["k"] and all(Path(one).exists() for one in (query, *paths)):
        query, paths = "", (query, *paths)  # `whence search -e PATTERN PATH...`, as one would call grep
    request = SearchRequest(query, **pick_fields(SearchRequest, options))
    if request.parsed.is_for_notes:
        return _search_notes(request.parsed, paths, options)
    targets = targets_of(paths)
    values = settings_of(options["assignments"])
    with (
        tracing(options["trace_file"]) as trace,
        open_indexes(targets, refresh=not options["no_refresh"], values=values, trace=trace) as indexes,
    ):
        say_notes(indexes)
        found, remarks, judged = _ask_each(request, targets, indexes)
        if len(indexes) > 1:
            found = _together(found, options["k"] or _usual_count(query, indexes, found), ranked=bool(request.parsed.text.strip()))
        for remark in remarks:
            click.echo(f"whence: {safe(remark)}", err=True)
        print_answer(query, indexes, found, options, remarks, doubt_of(judged, request.filters(indexes[0].settings.search.content).content))
    return FOUND if found else NOTHING_FOUND


def _ask_each(
    request: SearchRequest, targets: list[Target], indexes: list[Index]
) -> tuple[list[tuple[Index, SearchResult]], list[str], list[tuple[Index, Confidence | None]]]:
    """What every root answers, how the query was read, and how sure it is; a name that one root does not know may be known to another."""
    found: list[tuple[Index, SearchResult]] = []
    remarks: dict[str, None] = {}
    refused: list[QueryError] = []
    judged: list[tuple[Index, Confidence | None]] = []
    for target, index in zip(targets, indexes, strict=True):
        try:
            answer = index.search(request, paths=target.paths)
        except QueryError as error:
            refused.append(error)
            continue
        found += [(index, result) for result in answer]
        remarks |= dict.fromkeys(answer.notes)
        judged.append((index, answer.confidence))
    if len(refused) == len(indexes):
        raise refused[0]
    return found, [*remarks, *(error.message.partition("\n")[0] for error in refused)], judged


# Notes (`in:notes`).
def _search_notes(question: ParsedQuery, paths: tuple[str, ...], options: dict[str, Any]) -> int:
    """Answer as `whence recall` does, with what the operators leave."""
    from whence.cli.note_output import opened  # noqa: PLC0415  -- only where notes are asked for
    from whence.cli.recall import nothing_found, print_response, response_json  # noqa: PLC0415  -- it needs this module

    wrong = [name for name in ("languages", "kinds", "include", "exclude", "content", "pattern", "relaxation", "operator") if options[name]]
    if paths or wrong:
        raise UsageError(f"in:notes takes no {'PATH' if paths else wrong[0]}", hint="drop it, or use whence recall")
    if not question.text:
        raise UsageError("in:notes needs a word to recall by", hint="add one, or use whence list")
    click.echo(f"whence: {safe(question.reading)}", err=True)
    asking = {**options, "team": False, "directory": None, "full": False, "stale": False}
    with tracing(options["trace_file"]) as trace, opened(asking, trace) as memory:
        ranking = {name: options[name] for name in ("max_distance", "strategy") if options[name] is not None}
        found = memory.search(question, k=options["k"], **ranking)
        if options["as_json"]:
            print_json(response_json(memory, question.text, found, with_why=options["with_why"]) | {"remarks": [question.reading]})
        elif found:
            print_response(memory, found, asking)
        else:
            click.echo(nothing_found(memory, found.searched), err=True)
    return FOUND if found else NOTHING_FOUND


def _usual_count(query: str, indexes: list[Index], found: list[tuple[Index, SearchResult]]) -> int:
    return indexes[0].settings.search.k if query.strip() else len(found)


def _together(found: list[tuple[Index, SearchResult]], k: int, *, ranked: bool) -> list[tuple[Index, SearchResult]]:
    """The results of several roots as one answer."""
    return (sorted(found, key=lambda pair: -pair[1].score) if ranked else found)[:k]


def print_answer(
    query: str,
    indexes: list[Index],
    found: list[tuple[Index, SearchResult]],
    options: dict[str, Any],
    remarks: Sequence[str] = (),
    doubt: LowConfidence | None = None,
) -> None:
    """Results in the form that was asked for; that they are most likely none comes first, or beside them where only lines are wanted."""
    if options["as_json"]:
        said: dict[str, Any] = {"remarks": list(remarks)} if remarks else {}
        said |= {"confidence": doubt.as_json()} if doubt is not None else {}
        print_json(_as_json(query, indexes, found, with_why=options["with_why"]) | said | notes_json(_hints(indexes, found)))
        return
    shown = [(relative(index.root, result.path), result) for index, result in found]
    print_doubt(doubt, shown, options)
    if not print_bare(query, shown, options):
        print_results(shown, options)
        for line in hint_lines(_hints(indexes, found)):
            print_item(styler(options["color"])(line, fg="cyan"))
        _print_foot(indexes, found, options, doubted=doubt is not None)


def print_doubt(doubt: LowConfidence | None, shown: Sequence[tuple[str, SearchResult]], options: dict[str, Any]) -> None:
    """That an answer is most likely none; beside it where only lines are wanted."""
    bare = options.get("only_paths") or options.get("counts") or options.get("line_numbers")
    if doubt is not None and str(doubt):
        line = f"{safe(str(doubt))}{'; the nearest:' if shown else ''}"
        if bare:
            click.echo(f"whence: {line}", err=True)
        else:
            print_item(styler(options["color"])(line, fg="yellow"))


def print_bare(query: str, shown: Sequence[tuple[str, SearchResult]], options: dict[str, Any]) -> bool:
    """Results as lines alone, by their paths as they are shown, where that was asked for."""
    if options.get("only_paths"):
        for path, _ in shown:
            print_item(safe(path))
    elif options.get("counts"):
        for path, result in shown:
            print_item(f"{safe(path)}:{len(result.matching_lines) or result.units_matched}")
    elif options.get("line_numbers") or not query.strip():
        _print_like_grep(shown, options)
    else:
        return False
    return True


def _hints(indexes: list[Index], found: list[tuple[Index, SearchResult]]) -> list[NoteHint]:
    """Notes that speak of files in the answer, in its order."""
    return [one for index in indexes for one in hints_of(index, {result.path: None for of, result in found if of is index})]


def _print_like_grep(shown: Sequence[tuple[str, SearchResult]], options: dict[str, Any]) -> None:
    style = styler(options["color"])
    for where, result in shown:
        path = style(safe(where), fg="magenta")
        for line in result.lines:
            number = f"{style(str(line.number), fg='green')}:" if options["line_numbers"] else ""
            print_item(f"{path}:{number}{safe(line.text)}")


def print_results(shown: Sequence[tuple[str, SearchResult]], options: dict[str, Any]) -> None:
    """Results with their places and the lines that matter."""
    from whence.parse.provenance import warning_of  # noqa: PLC0415  -- loaded with the answer

    style = styler(options["color"])
    for place, (path, result) in enumerate(shown, 1):
        name = f"  {result.kind} {style(safe(result.qualified_name), bold=True)}" if result.name else ""
        where = f"{style(safe(path), fg='magenta', bold=True)}:{result.best_start}-{result.best_end}"
        matched = f"  (matched: {result.matched})" if result.matched else ""
        score = f"  {style(f'{result.score:.2f}', dim=True)}" if result.score else ""  # conditions alone rank nothing
        print_item(f"{style(f'{place:>2}', dim=True)} {where}{name}{score}{matched}")
        if said := warning_of(result.flags):
            print_more(f"   {style(said, fg='yellow')}")
        for line in result.lines:
            print_more(f"   {style(f'{line.number:>5}', fg='green')}  {marked(line.text, line.marks, style)}")
        if options["with_why"]:
            print_why(result.why, style)


def _print_foot(indexes: list[Index], found: list[tuple[Index, SearchResult]], options: dict[str, Any], *, doubted: bool) -> None:
    style, now = styler(options["color"]), time.time()
    for index in indexes:
        of = f"{index.root.name}: " if len(indexes) > 1 else ""
        count = f"{sum(one is index for one, _ in found)} of {index.snapshot.live_files} files"
        print_foot(style(f"{of}{count} · {freshness_words(index.freshness, now)}", dim=True))
    if not found:
        click.echo("nothing found" + ("" if doubted else _elsewhere(indexes, options)), err=True)


def print_why(why: Sequence[LedgerLine], style: Any) -> None:
    """The ledger of a score, without the lines that change nothing."""
    for entry in why:
        if entry.is_visible:
            because = style(safe(entry.because), dim=True)
            print_more(f"      {entry.operation} {entry.contribution:>8.3f}  {entry.signal:<16} {because}")


def _elsewhere(indexes: list[Index], options: dict[str, Any]) -> str:
    """Where else to look."""
    if not any(index.snapshot.live_files for index in indexes):
        return "; there are no files to search here, whence status --files says why"
    content = options["content"] or indexes[0].settings.search.content
    return f"; only {content} was searched, try --content all" if content != "all" else ""


def marked(text: str, marks: tuple[tuple[int, int], ...], style: Any) -> str:
    """A line with the words that matched standing out."""
    parts, at = [], 0
    for start, end in marks:
        parts += [safe(text[at:start]), style(safe(text[start:end]), fg="red", bold=True)]
        at = end
    return "".join([*parts, safe(text[at:])])


def _as_json(query: str, indexes: list[Index], found: list[tuple[Index, SearchResult]], *, with_why: bool) -> dict[str, Any]:
    from whence.source.read import strip_secrets  # noqa: PLC0415  -- loaded with the index

    return {
        "query": strip_secrets(query),
        "count": len(found),
        "results": [result_json(relative(index.root, result.path), result, with_why=with_why) for index, result in found],
        "indexes": [
            {
                "root": str(index.root),
                "files": index.snapshot.live_files,
                "units": index.snapshot.live_units,
                "freshness": freshness_json(index.freshness),
                "notes": index.notes,
            }
            for index in indexes
        ],
    }


def result_json(path: str, result: SearchResult, *, with_why: bool) -> dict[str, Any]:
    """A result as JSON, by its path as it is shown."""
    from whence.parse.provenance import flags_json  # noqa: PLC0415  -- loaded with the answer

    found: dict[str, Any] = {
        "path": path,
        "start_line": result.start_line,
        "end_line": result.end_line,
        "best_start_line": result.best_start,
        "best_end_line": result.best_end,
        "name": result.name,
        "qualified_name": result.qualified_name,
        "kind": result.kind,
        "language": result.language,
        "score": result.score,
        "lines": [{"number": line.number, "text": line.text} for line in result.lines],
        "provenance": result.provenance,
        **flags_json(result.flags),
    }
    if result.matched:
        found["matched"] = result.matched
    if with_why:
        found["why"] = why_json(result.why)
    return found


def why_json(why: Sequence[LedgerLine]) -> list[dict[str, Any]]:
    """The ledger of a score as JSON."""
    return [
        {
            "signal": e.signal,
            "phase": e.phase,
            "operation": e.operation,
            "value": e.value,
            "weight": e.weight,
            "contribution": e.contribution,
            "because": e.because,
        }
        for e in why
    ]
