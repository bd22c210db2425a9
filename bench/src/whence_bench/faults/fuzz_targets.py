"""What is tried: every reader of text that others wrote, each with inputs to begin with and the words it knows."""

from __future__ import annotations

import io
import json
import os
from array import array
from pathlib import Path
from typing import Any

from whence.context.classic import keywords
from whence.core.settings import load
from whence.core.types import MIN_WORD_LENGTH
from whence.index.segment import word_runs
from whence.memory import front_matter
from whence.memory.note import Note
from whence.query import parser, patterns, plan
from whence.text import analyzer
from whence_bench.faults import fuzz_reader, fuzz_wire
from whence_bench.faults import fuzz_words as words
from whence_bench.faults.fuzz_engine import Target, Try

_SENTENCE = b"where is the retry policy of the HTTP client, and why does parseRequest fail?"
_CODE = b"def get_inlines(self, request, obj=None):\n    return self.inlines or QuerySet.annotate(x=1)\n"
_TRACE = (
    b'Traceback (most recent call last):\n  File "/app/shop/cart.py", line 12, in total\n    return sum(x)\nTypeError: bad operand\n'
    b"why does the total fail?"
)
_PROMPT = b'You are a helpful agent.\n\n<context>{"query": "how is a cart paid?"}</context>\nUser: how is a cart paid?\nAssistant: '
_PATTERNS = (b"(a+)+$", b"[[:alpha:]]+_id", rb"\<word\>", b"^def \\w+\\(", b"a{1,3}|b*", b"[]a]", b"[^]]*")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _tokens(_: Path) -> Try:
    """Words are found the same way wherever they stand, and nothing that is indexed is empty or without end."""

    def tried(data: bytes) -> None:
        text = _text(data)
        for word in analyzer.words(text):
            assert analyzer.words(word) == [word]
            found = analyzer.terms(word)
            assert all(0 < len(term) <= 2 * analyzer.MAX_WORD_LENGTH for term in found), found
            assert tuple(map(analyzer.stem, analyzer.parts(word))) == (found if len(found) < 2 else found[:-1])

    return tried


def _query(_: Path) -> Try:
    """A query is read, or refused with a caret below the place that is wrong."""

    def tried(data: bytes) -> None:
        asked = parser.parse_operators(_text(data))
        assert asked.is_plain or asked.reading
        assert not asked.is_plain or asked.text == asked.query
        assert asked.optional_terms is not None
        assert parser.parse_operators(asked.query, plain=True).is_plain
        for leaf in asked.leaves():
            if leaf.field == "path":
                fits = parser.path_predicate(leaf.value)
                assert all(isinstance(fits(path), bool) for path in ("shop/cart.py", "a" * 60, "/".join("a" * 30)))
        if asked.is_for_notes:
            parser.note_matches(asked, "The cart is paid by card.", ["general/paying"])

    return tried


def _paste(_: Path) -> Try:
    """The question in whatever was pasted, and what is asked with it."""

    def tried(data: bytes) -> None:
        text = _text(data)
        question = parser.clean_paste(text)
        assert question.text.strip() or not text.strip()
        made = plan.make_plan(text, decay=0.05, quoted=0.5, boilerplate=0.7)
        assert made.words
        assert len(made.words) <= plan.MAX_WORDS
        assert all(term.weight > 0 for term in made.terms)
        keywords.keywords(text)

    return tried


def _pattern(_: Path) -> Try:
    """A pattern is compiled or refused, and no text in which it finds a line lacks the words that it is said to need."""
    lines = ["", "def total(a_id):", "aaaab", "word 12 x", "[]^$\\", "Straße ÄÖ", "\t0x41_Id "]
    text = "\n".join(lines)
    words = "".join(f"{word}\n" for word in word_runs(text) if len(word.encode()) >= MIN_WORD_LENGTH).encode()
    offsets, files = array("I", range(words.count(b"\n") + 1)), array("I", bytes(4 * words.count(b"\n")))

    def tried(data: bytes) -> None:
        flags, written = data[0] if data else 0, _text(data[1:])
        made = patterns.compile_pattern(written, fixed=bool(flags & 1), word=bool(flags & 2), ignore_case=bool(flags & 4))
        found = made.requirement.files(words, offsets, files) if made.requirement is not None else None
        assert not made.matching_lines(text) or found is None or found == {0}, made.requirement
        made.literal = b""
        assert bool(made.matching_lines(text)) is bool(made.find_lines(text.encode(), 1))

    return tried


def _front_matter(_: Path) -> Try:
    """A note that was read and written is the same note; one that cannot be read keeps its bytes."""

    def tried(data: bytes) -> None:
        note = front_matter.parse(data, folder="shop", slug="cart")
        if note.problem:
            kept = data.decode("utf-8", "replace")
            assert front_matter.render(note) == note.text
            assert note.text == (kept if "not UTF-8" in note.problem else kept.removeprefix("\ufeff"))
            assert "\n" not in note.problem
            return
        again = front_matter.parse(front_matter.render(note).encode(), folder="shop", slug="cart")
        assert again == front_matter.normalized(note), (again, note)

    return tried


def _notes(_: Path) -> Try:
    """A note with any text, topic, tags and source is read back as it was written."""

    def tried(data: bytes) -> None:
        parts = (data.decode("utf-8", "replace").split("\0") + [""] * 5)[:5]
        text, topic, source, project, tags = parts
        note = Note(text, "cart", project, topic, tags=tuple(tags.split("|")), source=source, folder="shop")
        written = front_matter.render(note)
        again = front_matter.parse(written.encode(), folder="shop", slug="cart")
        assert again == front_matter.normalized(note), (again, written)
        assert front_matter.render(again) == written

    return tried


def _settings(place: Path) -> Try:
    """Settings from a project's file, a user's, the environment and a command line, divided by NUL."""
    place.mkdir(parents=True, exist_ok=True)
    user = place / "config.toml"

    def tried(data: bytes) -> None:
        project, own, environment, command_line = (data.split(b"\0") + [b""] * 4)[:4]
        (place / ".whence.toml").write_bytes(project)
        user.write_bytes(own)
        load(root=place, user_file=user, environment=_assigned(environment), command_line=_assigned(command_line))

    return tried


def _assigned(data: bytes) -> dict[str, str]:
    return dict(line.partition("=")[::2] for line in os.fsdecode(data).split("\n") if line)


def _source(_: Path) -> Try:
    """Source in any language that there is a grammar for."""
    from whence.parse.languages import LANGUAGES  # noqa: PLC0415  -- grammars are loaded for this target alone
    from whence.parse.units import parse  # noqa: PLC0415  -- as above
    from whence.source.read import longest_line, to_utf8  # noqa: PLC0415  -- as above

    names = [one.name for one in LANGUAGES]

    def tried(data: bytes) -> None:
        raw = to_utf8(data[1:])
        if raw is None or not data:
            return
        longest_line(raw)
        parsed = parse(raw, names[data[0] % len(names)])
        lines = raw.count(b"\n") + 1
        assert all(1 <= unit.first_line <= unit.last_line <= lines for unit in parsed.units)

    return tried


def _dates(_: Path) -> Try:
    from whence.text.dates import find_dates, find_document_date  # noqa: PLC0415  -- for this target alone

    def tried(data: bytes) -> None:
        text = _text(data)
        for today in (None, 738_000, 1):
            assert all(0 <= span.start < span.end <= len(text) for span in find_dates(text, today))
        find_document_date(text)

    return tried


def _secrets(_: Path) -> Try:
    from whence.text.secrets import find_secrets, redact_secrets  # noqa: PLC0415  -- for this target alone

    def tried(data: bytes) -> None:
        text = _text(data)
        found = find_secrets(text)
        assert all(0 <= one.start < one.end <= len(text) for one in found)
        redact_secrets(text, found)

    return tried


def _transcripts(_: Path) -> Try:
    from whence.memory.transcripts import sessions_in, sessions_of, split_session, text_of  # noqa: PLC0415  -- for this target alone

    def tried(data: bytes) -> None:
        sessions, _ = sessions_of(data.splitlines(keepends=True), name="talk")
        try:
            document: Any = json.loads(data)
        except (ValueError, RecursionError):
            document = None
        for session in (*sessions, *(sessions_in(document, name="talk")[0] if document is not None else ())):
            text_of(session).encode()
            split_session(session, 1_000)

    return tried


def _spans(_: Path) -> Try:
    from whence.graph.enrich.traces import read_spans  # noqa: PLC0415  -- for this target alone

    def tried(data: bytes) -> None:
        for _ in read_spans(io.StringIO(data.decode("utf-8", "replace"))):
            pass

    return tried


def _ignore(_: Path) -> Try:
    from whence.source.ignore import RULE_FILES, IgnoreRules  # noqa: PLC0415  -- for this target alone

    def tried(data: bytes) -> None:
        path, _, rules = _text(data).partition("\n")
        held = IgnoreRules().with_file(RULE_FILES[len(data) % 2], "", rules)
        held.exclusion_reason(path, path.rpartition("/")[2], is_folder=len(data) % 3 == 0, hidden=False)

    return tried


def _git_index(_: Path) -> Try:
    from whence.source.git import read_index  # noqa: PLC0415  -- for this target alone

    def tried(data: bytes) -> None:
        assert all(path and "\0" not in path for path in read_index(data) or ())

    return tried


_NOTE = b"""---
topic: how a cart is paid
kind: durable
tags: [cart, pay]
created: 2026-01-31T09:30:00Z
about:
  - code: shop/cart.py#Cart.total
    hash: 12ab
---

Never charge twice.
"""
_WHOLE_NOTES = (b"text\0topic\0source\0project\0a|b", b"--- \nx: y\n---\n\0#\0: \0- \0|")
_SOURCES = (
    _CODE,
    b"\x01function f(a) { return a.b(c => c[0]); }\n",
    b"\x05class A<T> extends B implements C { @X int f(){ return 1; } }\n",
)

_SETTINGS = (
    b"[search]\nk = 5\n\0[index]\nhidden = true\n\0WHENCE_SEARCH_K=7\0search.profile=classic\nindex.model=none",
    b"[profiles.default]\nlexical = 0.5\n",
)
_TALK = (b'{"type":"user","sessionId":"s","message":{"role":"user","content":"x"}}\n', b'[{"role":"user","content":"hello"}]')
_SPAN = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01","spanId":"02","kind":2,"attributes":[]}]}]}]}'
_IGNORED = (b"src/a.py\n*.log\n!keep.log\n/build/\n**/x[a-z]?\n",)
_GIT_INDEXES = (
    b"DIRC\0\0\0\2\0\0\0\1" + bytes(60) + b"\0\x04a.py" + bytes(6) + b"TREE\0\0\0\0" + bytes(20),
    b"DIRC\0\0\0\4\0\0\0\2" + bytes(60) + b"\0\5\0lib/a\0" + bytes(60) + b"\0\5\1b\0" + bytes(20),
)
_QUERIES = (_SENTENCE, b'cart "exact phrase" -test path:src/** (a OR b)', b"/to.al/i lang:go -(path:x OR in:docs)")
_PATTERN_SEEDS = tuple(bytes([flags]) + one for flags in (0, 2, 4) for one in _PATTERNS)
_MCP = ("mcp/transport.py", "mcp/tools.py")
_INDEX = ("storage/arrayfile.py", "index/validation.py", "index/segment.py", "index/vectors.py")
_PARSE = ("parse/units.py", "parse/references.py", "parse/endpoints.py", "parse/grammars.py")

#: The last numbers: executions of a whole run, of a small one, and about how long one takes.
TARGETS = (
    Target("tokens", _tokens, ("text/analyzer.py",), (_SENTENCE, _CODE), words.QUERY, 600_000, 2_500, cost=0.1),
    Target("query", _query, ("query", "text/analyzer.py"), _QUERIES, words.QUERY, 300_000, 1_500, longest=420, cost=0.25),
    Target("paste", _paste, ("query",), (_SENTENCE, _TRACE, _PROMPT, _CODE), (*words.PASTES, *words.QUERY), 50_000, 250, cost=0.7),
    Target("pattern", _pattern, ("query/patterns.py",), _PATTERN_SEEDS, words.QUERY, 150_000, 500, longest=300, cost=0.15),
    Target(
        "front matter", _front_matter, ("memory/front_matter.py",), (_NOTE, b"---\n\ntext", b"plain"), words.NOTES, 200_000, 1_000, cost=0.2
    ),
    Target("notes", _notes, ("memory/front_matter.py",), _WHOLE_NOTES, (*words.NOTES, b"\0", b"|"), 200_000, 1_000, cost=0.2),
    Target("wire", fuzz_wire.lines, _MCP, fuzz_wire.SEEDS, words.MESSAGES, 350_000, 1_500, cost=0.15),
    Target("server", fuzz_wire.server, ("mcp",), fuzz_wire.SEEDS, words.MESSAGES, 6_000, 40, cost=5.0),
    Target("settings", _settings, ("core/settings.py",), _SETTINGS, words.SETTINGS, 6_000, 40, cost=4.0),
    Target("index files", fuzz_reader.files, _INDEX, fuzz_reader.SEEDS, (), 8_000, 60, longest=64, grows=False, cost=8.0),
    Target("source", _source, _PARSE, _SOURCES, words.SOURCE, 8_000, 60, longest=2_048, cost=3.0),
    Target(
        "dates", _dates, ("text/dates",), (b"yesterday", b"between March and June 2023, or last week"), words.DATES, 50_000, 200, cost=0.5
    ),
    Target("secrets", _secrets, ("text/secrets.py",), (b"password = 'hunter2hunter2'",), words.SECRETS, 120_000, 400, cost=0.1),
    Target("transcripts", _transcripts, ("memory/transcripts.py",), _TALK, words.TALKS, 120_000, 400, cost=0.1),
    Target("spans", _spans, ("graph/enrich/traces.py",), (_SPAN,), words.SPANS, 150_000, 400, cost=0.06),
    Target("git index", _git_index, ("source/git.py",), _GIT_INDEXES, (b"DIRC", b"link", b"sdir"), 200_000, 700, longest=300, cost=0.05),
    Target("ignore rules", _ignore, ("source/ignore.py",), _IGNORED, words.IGNORED, 40_000, 150, cost=0.15),
)
BY_NAME = {target.name: target for target in TARGETS}
