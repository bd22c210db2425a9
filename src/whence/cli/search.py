"""`whence search`, `whence related` and `whence why`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.app.command_line import Target, settings_of, target_of, targets_of
from whence.app.presenters.search import (
    GrepStyle,
    JoinedAnswer,
    LowConfidence,
    Shown,
    grep_document,
    index_lines,
    join_answers,
    receipt_document,
    results_document,
    search_json,
    search_root,
)
from whence.app.presenters.text import relative, safe
from whence.cli.shared import (
    FOUND,
    NOTHING_FOUND,
    freshly,
    index_options,
    open_index,
    open_indexes,
    print_document,
    print_foot,
    print_item,
    print_json,
    print_notes,
    print_text,
    request_options,
    styler,
    traced_options,
    tracing,
)
from whence.core.errors import UsageError
from whence.core.request import pick_fields
from whence.search.request import SearchRequest

if TYPE_CHECKING:
    from whence.app.index import Index
    from whence.query.parser import ParsedQuery
    from whence.search.result import SearchResult

_RELATED_OPTIONS = ("k", "include", "exclude", "languages", "kinds", "content")
_PLACE = re.compile(r"^(?P<path>.+):(?P<line>\d+)$")
#: Symbols of one name that a warning lists.
MAX_LISTED = 5
#: Characters of standard input that are read as a query.
MAX_QUERY = 1 << 20


@click.command(
    epilog="""\b
Examples:
  whence search "parse the config file"
  whence search "retry with backoff" src/net --lang python -k 5
  whence search SessionStore --why
  whence search '"connection reset" lang:go -path:vendor'
  whence search 'callers:parse_config retry OR backoff'
  whence search -e TODO -e FIXME -n -C 2
  whence search "open connection" -e "timeout" --json
  whence search "open connection" --open
  whence search -i
  whence search --fleet "retry with backoff repo:acme/*" -k 5"""
)
@click.argument("query", required=False, default="")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@request_options(SearchRequest, help_of={"ignore_case": "The pattern ignores case. Without a pattern: --interactive."})
@click.option("--fleet", is_flag=True, help="Search all repositories of the fleet; narrow with repo:PATTERN in QUERY.")
@click.option("--why", "with_why", is_flag=True, help="Show what each score is made of.")
@click.option("-l", "--files-with-matches", "only_paths", is_flag=True, help="Print paths only.")
@click.option("-n", "--line-number", "line_numbers", is_flag=True, help="Print path:line:text, as grep does.")
@click.option("-o", "--only-matching", "only_matching", is_flag=True, help="Print only the part of a line that matches the pattern.")
@click.option("-A", "--after-context", "after", type=click.IntRange(0), metavar="N", help="Print N lines after each that matches.")
@click.option("-B", "--before-context", "before", type=click.IntRange(0), metavar="N", help="Print N lines before each that matches.")
@click.option("-C", "--context", "around", type=click.IntRange(0), metavar="N", help="Print N lines before and after each that matches.")
@click.option("-0", "--null", "null", is_flag=True, help="Print a NUL after each path instead of a colon or line end.")
@click.option("-c", "--count", "counts", is_flag=True, help="Print path:count of matching lines or units.")
@click.option("--open", "open_best", is_flag=True, help="Open the best result in VISUAL or EDITOR, at its line.")
@click.option("--interactive", is_flag=True, help="Search while you type; Enter opens a result in VISUAL or EDITOR.")
@traced_options
def search(query: str, paths: tuple[str, ...], **options: Any) -> int:
    """Search code by words and meaning, best files first.

    QUERY is a question, a few words or a name; it may hold "phrases", /regex/,
    -not, OR, parentheses, path: lang: kind: sym: callers: callees: and in:.
    - reads it from standard input. PATHs are files or folders, in one or several
    repositories (default: the current folder).
    """
    if query == "-":
        query = sys.stdin.read(MAX_QUERY).strip()
    if options["fleet"]:
        from whence.cli.fleet import search_fleet  # noqa: PLC0415  -- it needs this module

        return search_fleet(SearchRequest(query, **pick_fields(SearchRequest, options)), paths, options)
    if options["interactive"] or (options["ignore_case"] and not options["pattern"]):
        return _search_while_typing(query, paths, options)
    if options["pattern"] and query and not options["k"] and all(Path(one).exists() for one in (query, *paths)):
        query, paths = "", (query, *paths)  # `whence search -e PATTERN PATH...`, as one would call grep
    request = SearchRequest(query, **pick_fields(SearchRequest, options))
    options["grep_style"] = _grep_style(request, options)
    if request.parsed.is_for_notes:
        return _search_notes(request.parsed, paths, options)
    targets = targets_of(paths)
    values = settings_of(options["assignments"])
    with (
        tracing(options["trace_file"]) as trace,
        open_indexes(targets, values, **freshly(options), trace=trace) as indexes,
    ):
        print_notes(indexes)
        answer = _ask(request, targets, indexes)
        for remark in answer.notes:
            click.echo(f"whence: {safe(remark)}", err=True)
        if options["open_best"] and answer.results:
            from whence.cli.terminal import open_in_editor  # noqa: PLC0415  -- only for this option

            index, result = answer.results[0]
            open_in_editor(index.root / result.path, result.best_start)
        else:
            print_answer(query, indexes, answer.results, options, answer.notes, answer.low_confidence)
    return FOUND if answer.results else NOTHING_FOUND


def _ask(
    request: SearchRequest, targets: Sequence[Target], indexes: Sequence[Index], *, hurried: bool = False
) -> JoinedAnswer[tuple[Index, SearchResult]]:
    answers = [
        search_root(index, replace(request, paths=target.paths), partial(_found_in, index), name=index.root.name, hurried=hurried)
        for target, index in zip(targets, indexes, strict=True)
    ]
    return join_answers(answers, request.k or (indexes[0].settings.search.k if request.query.strip() else None))


def _search_while_typing(query: str, paths: tuple[str, ...], options: dict[str, Any]) -> int:
    """Show the picker; what was opened was found."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("searching while you type needs a terminal", hint="-i ignores case only with a pattern: -e")
    try:
        from whence.cli.picker import pick  # noqa: PLC0415  -- Windows lacks curses
    except ModuleNotFoundError as error:
        raise UsageError("searching while you type needs curses, which this Python lacks", hint="pip install windows-curses") from error
    targets = targets_of(paths)
    with open_indexes(targets, settings_of(options["assignments"]), **freshly(options)) as indexes:
        fields = pick_fields(SearchRequest, options) | {"ignore_case": bool(options["pattern"])}
        opened = pick(lambda typed: _ask(SearchRequest(typed, **fields), targets, indexes, hurried=True), query)
    return FOUND if opened else NOTHING_FOUND


def _found_in(index: Index, result: SearchResult) -> tuple[Index, SearchResult]:
    return index, result


# Notes (`in:notes`).
def _search_notes(question: ParsedQuery, paths: tuple[str, ...], options: dict[str, Any]) -> int:
    """Answer as `whence recall` does, with what the operators leave."""
    from whence.app.presenters.memory import nothing_found, recall_document, recall_json  # noqa: PLC0415  -- only for notes
    from whence.cli.memory import open_notes  # noqa: PLC0415  -- as above

    wrong = [name for name in ("languages", "kinds", "include", "exclude", "content", "pattern", "relaxation", "operator") if options[name]]
    if paths or wrong:
        raise UsageError(f"in:notes takes no {'PATH' if paths else wrong[0]}", hint="drop it, or use whence recall")
    if not question.text:
        raise UsageError("in:notes needs a word to recall by", hint="add one, or use whence list")
    click.echo(f"whence: {safe(question.reading)}", err=True)
    chosen = {**options, "team": False, "directory": None, "everywhere": False}
    with tracing(options["trace_file"]) as trace, open_notes(chosen, trace) as memory:
        ranking = {name: options[name] for name in ("max_distance", "strategy") if options[name] is not None}
        found = memory.search(question, k=options["k"], **ranking)
        if options["as_json"]:
            print_json(recall_json(memory, question.text, found, with_why=options["with_why"]) | {"remarks": [question.reading]})
        elif found:
            print_document(recall_document(memory, found, styler(options["color"]), full=False, with_why=options["with_why"]))
        else:
            click.echo(nothing_found(memory, found.searched), err=True)
    return FOUND if found else NOTHING_FOUND


@click.command(
    epilog="""\b
Examples:
  whence related src/shop/session.py:40
  whence related src/shop/session.py:40 --lang python --kind function -k 5"""
)
@click.argument("place", metavar="FILE:LINE")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@request_options(
    SearchRequest,
    only=_RELATED_OPTIONS,
    help_of={
        "k": "How many units (default: setting search.k).",
        "include": "Only in files that match.",
        "exclude": "Not in files that match.",
        "languages": "Only in files of a language.",
    },
)
@click.option("--why", "with_why", is_flag=True, help="Show what each score is made of.")
@index_options
def related(place: str, paths: tuple[str, ...], **options: Any) -> int:
    """Show code similar to the code at FILE:LINE.

    Similar code has nearby vectors and shares rare words. PATHs are files or
    folders to look in (default: all).
    """
    found = _PLACE.match(place)
    if found is None:
        raise UsageError(f"{safe(place)!r} names no line", hint="write FILE:LINE, for instance src/app.py:40")
    target = targets_of((found["path"],))[0]
    if not target.paths or Path(target.root, target.paths[0]).is_dir():
        raise UsageError(f"{safe(found['path'])} is a folder", hint="write FILE:LINE, for instance src/app.py:40")
    within = target_of(paths) if paths else Target(target.root)
    if within.root != target.root:
        raise UsageError("the file and the paths are of several repositories", hint="ask one at a time")
    filters = pick_fields(SearchRequest, options) | {"paths": within.paths}
    SearchRequest(**filters)  # refused before an index is opened
    with open_index(target.root, settings_of(options["assignments"]), **freshly(options)) as index:
        results = index.related(target.paths[0], int(found["line"]), **filters)
        print_answer(place, [index], [(index, result) for result in results], options)
    return FOUND if results else NOTHING_FOUND


@click.command(
    epilog="""\b
Examples:
  whence why "open a session" src/shop/session.py
  whence why "open a session" SessionStore
  whence why "open a session" app.py:120
  whence why --context "add retry to the http client" Client.send
  whence why --fleet "open a session" acme/shop/src/session.py"""
)
@click.argument("query")
@click.argument("target")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--fleet", is_flag=True, help="Search the fleet; TARGET is REPOSITORY/PATH, optionally with :LINE.")
@click.option("--context", "for_task", is_flag=True, help="Explain a symbol's rank for a task, as whence context ranks it.")
@request_options(SearchRequest)
@index_options
def why(query: str, target: str, paths: tuple[str, ...], **options: Any) -> int:
    """Explain a result's rank, or why a file is missing.

    TARGET is a file, the end of a path, FILE:LINE or the name of a symbol. Each
    line is one part of the score; the last column is the file's rank without it.
    PATHs and options are those of the search to explain.
    """
    if options["fleet"]:
        from whence.cli.fleet import why_fleet  # noqa: PLC0415  -- it needs this module

        return why_fleet(query, target, paths[0] if paths else ".", options)
    where = target_of(paths)
    request = SearchRequest(query, **pick_fields(SearchRequest, options), paths=where.paths)
    with open_index(where.root, settings_of(options["assignments"]), **freshly(options)) as index:
        if options["for_task"]:
            found = index.why_symbol(query, target, profile=options["profile"])
            _say_others(target, index.symbol_keys(target))
        else:
            found = index.why(replace(request, content=_ranked_content(index, request, target)), target)
        if options["as_json"]:
            print_json({**asdict(found), "path": relative(index.root, found.path)})
        else:
            print_document(receipt_document(found, styler(options["color"]), lambda path: relative(index.root, path)))
    return 0


def _ranked_content(index: Index, request: SearchRequest, target: str) -> str | None:
    """The content to rank among: as in the search, or everything if its default leaves the target out, which is said."""
    absence = index.absence(request, target)
    if absence is None:
        return request.content
    if absence.kind != "kept_out" or request.content is not None or index.absence(request, target, content="all") is not None:
        raise UsageError(absence.message, hint=absence.hint)
    click.echo(f"whence: a search leaves it out: {absence.message} ({absence.hint}); ranked among all files", err=True)
    return "all"


def _say_others(name: str, keys: list[str]) -> None:
    """A name that several symbols bear is answered for the best of them, and that is said."""
    if len(keys) > 1:
        listed = ", ".join(safe(key) for key in keys[:MAX_LISTED]) + (", ..." if len(keys) > MAX_LISTED else "")
        click.echo(f"whence: {len(keys)} symbols are called {safe(name)!r}; answering for the best of {listed}", err=True)


# Printing.
def print_answer(
    query: str,
    indexes: list[Index],
    found: list[tuple[Index, SearchResult]],
    options: dict[str, Any],
    remarks: Sequence[str] = (),
    doubt: LowConfidence | None = None,
) -> None:
    """Print results in the form that the options choose."""
    if options["as_json"]:
        answer = search_json(query, indexes, found, remarks, doubt, with_why=options["with_why"])
        print_json(answer | (_hints(indexes, found)[1]))
        return
    shown = [(relative(index.root, result.path), result) for index, result in found]
    print_low_confidence(doubt, shown, options)
    if print_bare(query, shown, options):
        return
    style = styler(options["color"])
    print_document(results_document(shown, style, with_why=options["with_why"]))
    for line in _hints(indexes, found)[0]:
        print_item(style(line, fg="cyan"))
    for line in index_lines(indexes, found):
        print_foot(style(line, dim=True))
    if not found:
        click.echo("nothing found" + ("" if doubt is not None else _elsewhere(indexes)), err=True)


def print_low_confidence(doubt: LowConfidence | None, shown: Shown, options: dict[str, Any]) -> None:
    """Warn that the answer is most likely not here: above the results, or on standard error where only lines are wanted."""
    if doubt is None or not str(doubt):
        return
    line = f"{safe(str(doubt))}{'; the nearest:' if shown else ''}"
    if options.get("only_paths") or options.get("counts") or options.get("line_numbers"):
        click.echo(f"whence: {line}", err=True)
    else:
        print_item(styler(options["color"])(line, fg="yellow"))


def _grep_style(request: SearchRequest, options: Mapping[str, Any]) -> GrepStyle:
    """How lines are printed; what goes with lines of a pattern alone is refused elsewhere."""
    patterns = [leaf.pattern for leaf in request.parsed.leaves() if leaf.pattern is not None and not leaf.negated]
    patterns += [request.compiled] if request.compiled is not None else []
    of_lines = {"-o": options["only_matching"], "-A": options["after"], "-B": options["before"], "-C": options["around"]}
    given = [flag for flag, value in of_lines.items() if value]
    if given and not patterns:
        raise UsageError(f"{given[0]} speaks of a pattern", hint="give one with -e, or as /regex/")
    if (given or options["null"]) and options["as_json"]:
        raise UsageError(f"{(given or ['-0'])[0]} does not go with --json", hint="JSON has the number and text of each line")
    if given and not (options["line_numbers"] or request.is_pattern_alone or options["only_paths"] or options["counts"]):
        raise UsageError(f"{given[0]} goes with lines as grep prints them", hint="add -n")
    if options["only_matching"] and request.invert:
        raise UsageError("-o and -v exclude each other", hint="a line that does not match has no part that does")

    def spans(line: str) -> list[tuple[int, int]]:
        return sorted(span for pattern in patterns for span in pattern.spans(line))

    around = options["around"] or 0
    before, after = (around if options[name] is None else options[name] for name in ("before", "after"))
    only = spans if options["only_matching"] else None
    return GrepStyle(options["line_numbers"], 0 if only else before, 0 if only else after, only, options["null"], request.max_count)


def print_bare(query: str, shown: Shown, options: dict[str, Any]) -> bool:
    """Print paths, counts or matching lines alone, if that was asked for; False if not."""
    how = options.get("grep_style") or GrepStyle(bool(options.get("line_numbers")))
    if options.get("only_paths"):
        for path, _ in shown:
            print_item(safe(path)) if not how.null else print_text(f"{path}\0")
    elif options.get("counts"):
        for path, result in shown:
            name = f"{path}\0" if how.null else f"{safe(path)}:"
            print_item(f"{name}{len(result.matching_lines) or result.units_matched}")
    elif options.get("line_numbers") or not query.strip():
        print_document(grep_document(shown, styler(options["color"]), how))
    else:
        return False
    return True


def _hints(indexes: list[Index], found: list[tuple[Index, SearchResult]]) -> tuple[list[str], dict[str, Any]]:
    """Notes about files in the answer, in its order, as lines and as JSON."""
    if not indexes[0].layout.note_indexes.is_dir():
        return [], {}
    from whence.app.note_hints import hint_lines, hints_of, notes_json  # noqa: PLC0415  -- only where there are notes

    hints = [one for index in indexes for one in hints_of(index, {result.path: None for of, result in found if of is index})]
    return hint_lines(hints), notes_json(hints)


def _elsewhere(indexes: list[Index]) -> str:
    """Where to look if there are no files at all."""
    if not any(index.snapshot.live_files for index in indexes):
        return "; there are no files to search here, whence status --files says why"
    return ""
