"""Parses a file into units: definitions with their signatures, docs and references, and the runs of lines between them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tree_sitter import Node, QueryCursor

from whence.core.types import CALLABLES, CONTAINERS, EDGE_WEIGHTS, KINDS, VALUES, ParsedFile, Unit
from whence.parse.endpoints import Spot
from whence.parse.grammars import (
    Grammar,
    beyond_a_grammar,
    blanked_outside,
    conditions_on,
    grammar_of,
    tree_in_time,
    was_interrupted,
    without_noise,
)
from whence.parse.languages import BY_NAME, language_of
from whence.parse.recovery import broken_spans, comments, declarations, error_lines
from whence.parse.references import CollectedReferences, references
from whence.parse.values import ValueSpans
from whence.source.notebook import MARKER, notebook_language
from whence.source.read import longest_line

#: A longer line holds code no person wrote; parsing it may take very long.
MAX_LINE = 20_000
#: Bytes that tell the language of a file without an extension.
_HEAD = 4_096
#: A longer run of lines is cut, so that a result is readable.
WINDOW_LINES = 40
_NEWLINE = 10
_WORD_START = re.compile(r"[^\W\d]")
_WORD_BYTE = re.compile(rb"\w|[\x80-\xff]")
SIGNATURE_BYTES = 600
#: The end of an import may say where it comes from: it is stored whole, unless it is no import at all.
IMPORT_CHARACTERS = 8_000
#: Only the beginning of a long comment is stored.
DOC_CHARACTERS = 400
NAME_CHARACTERS = 160
#: A capture that names what is inside it but is no unit: `impl Type { ... }`, `extension Type { ... }`.
SCOPE = "scope"
_DEFINING = KINDS | {SCOPE}
#: Names around a unit that are stored, from the outside in.
MAX_PARENTS = 12
_BEFORE_DOC = re.compile(rb"[\s{:]*(?:do\b)?\s*(?:@moduledoc\s*(?:~[a-zA-Z])?\"*)?\s*")
_BRACKET = re.compile(r"[(\[{<]")
_NAME = re.compile(r"[^\W\d]\w*[?!]?|~\w+|operator\s*\S+")
#: What opens, continues and closes a comment in any language, at either end of a line.
_COMMENT_MARKS = re.compile(
    r"""
    ^[ \t]*(?: <!-- | /\*+!? | \*+/ | //+!? | \#+['!]? | --+(?:\[+|[ \t]*[|^](?=\s))? | ;+ | %+ | \*(?!\w)
              | \"{3} | '{3} | =begin | =end | \{-+\|? | -\} | \(\*+ )[ \t]?
    | [ \t]*(?: --> | \*+/ | \"{3} | '{3} | -\} | \*\) | \]\] )[ \t]*$
    """,
    re.MULTILINE | re.VERBOSE,
)
#: Names of constructors.
CONSTRUCTORS = frozenset({"__init__", "__new__", "__construct", "constructor", "initialize", "init", "new"})
#: Words among the first of a signature that make a definition private.
_PRIVATE = frozenset({"private", "fileprivate"})
_FIRST_WORDS = 5
#: Languages in which a variable can be written like the declaration of a function.
_DECLARES_LIKE_CALLS = frozenset({"c", "cpp"})

#: What a declarator of C comes down to, and what wraps it without saying so in a field.
_VARIABLE_NAMES = frozenset({"identifier", "field_identifier", "qualified_identifier"})
_FUNCTION_NAMES = _VARIABLE_NAMES | {"destructor_name", "operator_name"}
_RESULTS = frozenset({"pointer_declarator", "reference_declarator"})
_WRAPPING = frozenset({"parenthesized_declarator", "reference_declarator"})

Span = tuple[int, int, int]  # (start, end, row of a unit)


@dataclass(frozen=True, slots=True)
class _Definition:
    kind: str
    name: str
    owner: str  # a receiver or qualifier in the definition itself
    start: int  # of the widest node around it: decorators, `export`, `template <...>`
    inner: int  # of the definition proper
    named: int  # where its name ends
    end: int
    body: int  # where its body starts; -1 without one
    parameters: str


def parse(source: bytes, language: str) -> ParsedFile:
    """Parse a file. Without a grammar, or if that cannot read it, it is cut into windows of lines."""
    lines = line_starts(source)
    grammar = grammar_of(language)
    if grammar is None or beyond_a_grammar(source, BY_NAME[language].unbearable):
        return ParsedFile(language, tuple(windows(lines, 0, len(lines) - 1, source)))
    try:
        return _Reader(source, lines, language).read(grammar)
    except TimeoutError:
        return ParsedFile(language, tuple(windows(lines, 0, len(lines) - 1, source)))
    except SystemError as error:
        if was_interrupted(error):
            raise KeyboardInterrupt from None
        raise


def _declared(node: Node | None) -> Node | None:
    """The name of the variable that a declarator of C declares; None for a function, and for a macro that looks like either."""
    while node is not None and node.type not in _VARIABLE_NAMES:
        inner = node.child_by_field_name("declarator")
        if node.type == "function_declarator" and (inner is None or inner.type != "parenthesized_declarator"):
            return None
        if inner is None and node.type in _WRAPPING:
            inner = node.named_children[0]
            if node.type == "parenthesized_declarator" and inner.type != "pointer_declarator":
                return None
        node = inner
    return node


def _callable(node: Node | None) -> tuple[Node | None, Node | None]:
    """The name and the parameters of the function that a declarator of C declares; no name for a variable."""
    while node is not None and node.type in _RESULTS:
        node = node.child_by_field_name("declarator") or (node.named_children[0] if node.type in _WRAPPING else None)
    if node is None or node.type != "function_declarator":
        return None, None
    name = node.child_by_field_name("declarator")
    if name is not None and name.type == "template_function":
        name = name.child_by_field_name("name")
    return (name if name is not None and name.type in _FUNCTION_NAMES else None), node.child_by_field_name("parameters")


def parse_named(path: str, source: bytes) -> ParsedFile | None:
    """Parse a text as the file of a path, outside of an index; None if no grammar can."""
    language = language_of(path, source[:_HEAD])
    if grammar_of(language.name) is None or longest_line(source) > MAX_LINE or beyond_a_grammar(source, language.unbearable):
        return None
    return parse(source, language.name)


class _Reader:
    """Turns the syntax tree of one file into units."""

    def __init__(self, source: bytes, lines: list[int], language: str) -> None:
        self.source = source
        self.lines = lines
        self.language = language
        self.plain_names = BY_NAME[language].plain_names
        self.definitions: dict[int, _Definition] = {}
        self.comments: list[tuple[int, int]] = []
        self.leads: list[tuple[int, int]] = []
        self.calls: list[tuple[int, str]] = []
        self.kin: list[Spot] = []  # names whose role the grammar knows: parents, decorators, what is thrown
        self.passed: list[tuple[int, int]] = []  # names passed as values: functions, or mere variables
        self.values: dict[str, list[tuple[int, int]]] = {}  # what tells where values come from, by the name of the capture
        self.imports: list[str] = []
        self.begun: set[int] = set()  # where units begin: a comment there belongs to that unit
        self.named: set[int] = set()  # where the names of definitions end: those are no calls
        self.errors: list[tuple[int, int]] = []  # lines that the grammar could not read

    def read(self, grammar: Grammar) -> ParsedFile:
        embedded = self._collect(grammar, self.source)
        for inner_language, spans in embedded.items():
            inner = grammar_of(inner_language)
            if inner is not None:
                self._collect(inner, blanked_outside(self.source, spans))
        self.comments = sorted(set(self.comments))  # embedded code may have been parsed twice
        self.leads = _outermost(self.leads)
        if notebook_language(self.source) is not None:
            self.leads = [lead for lead in self.leads if not MARKER.match(self.source, *lead)]
        self.calls.sort()
        units = self._with_line_ends(self._units())
        units = [*units, *self._leftovers(units)]
        units.sort(key=lambda unit: (unit.start, -unit.end))
        imports = tuple(dict.fromkeys(self.imports))
        values = ValueSpans(**{name: sorted(set(spans)) for name, spans in self.values.items()})
        collected = CollectedReferences(self.language, units, self.calls, self.kin, self.passed, self.comments, imports, values)
        said, facts = references(self.source, collected)
        return ParsedFile(self.language, tuple(units), imports, tuple(self.comments), said, tuple(self.errors), facts)

    def _collect(self, grammar: Grammar, text: bytes) -> dict[str, list[tuple[int, int]]]:
        text = without_noise(text, BY_NAME[self.language].noise)
        root = tree_in_time(grammar.parser, text).root_node
        for _, captures in QueryCursor(grammar.definitions).matches(root, conditions_on(text)):
            self._define(captures)
        captured = _captured_references(grammar, root, text)
        misread = captured.pop("misread", [])
        for start, end in self._recover(root, misread) if root.has_error or misread else ():
            piece = text[start:end]
            for name, spans in _captured_references(grammar, tree_in_time(grammar.parser, piece).root_node, piece).items():
                captured[name] = list({*captured.get(name, ()), *((start + first, start + last) for first, last in spans)})
        embedded = {name.partition(".")[2]: captured.pop(name) for name in [*captured] if name.startswith("embedded.")}
        for name, spans in captured.items():
            if name == "call":
                self.calls += [(start, self._cut(start, end)) for start, end in spans if end not in self.named]
            elif name == "import":  # captures come in no particular order
                self.imports += [_one_line(self._cut(start, end))[:IMPORT_CHARACTERS] for start, end in sorted(spans)]
            elif name == "passed":
                self.passed += spans
            elif name in ValueSpans._fields:
                self.values.setdefault(name, []).extend(spans)
            elif name in EDGE_WEIGHTS:
                self.kin += [self._spot(name, start, end) for start, end in spans]
            else:
                self._take_prose(name, spans)
        return embedded

    def _take_prose(self, name: str, spans: list[tuple[int, int]]) -> None:
        if self.source.startswith(b"#!"):  # names the interpreter
            spans = [span for span in spans if span[0]]
        if name in ("comment", "doc"):
            self.comments += spans
        if name in ("comment", "attribute"):
            self.leads += spans

    def _cut(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "replace")

    def _text(self, node: Node) -> str:
        return self._cut(node.start_byte, node.end_byte)

    def _define(self, captures: dict[str, list[Node]]) -> None:
        kind = next((name for name in captures if name in _DEFINING), None)
        names = captures.get("name", ())
        declared, parameters = None, captures["parameters"][0] if "parameters" in captures else None
        if "declarator" in captures:
            declared = _declared(captures["declarator"][0])
        elif "callable" in captures:
            declared, parameters = _callable(captures["callable"][0])
        name_node = names[0] if names else declared
        if kind is None or name_node is None:
            return
        if kind == SCOPE:
            whose = _last_name(self._text(name_node))  # defined elsewhere: `impl Trait for Type`
            for role in EDGE_WEIGHTS.keys() & captures.keys():
                self.kin += [self._spot(role, node.start_byte, node.end_byte, whose) for node in captures[role]]
        nodes = captures[kind]
        node = nodes[0]
        plain = kind == "section" or self.plain_names or "string" in name_node.type
        written = self._text(name_node)
        if "declarator" in captures:  # with a macro before it, its type seems to belong to its name
            written = written.rpartition(" ")[2]
        owner, name = ("", _one_line(written).strip("\"'`")) if plain else _split_name(written, kind)
        if "parent" in captures:
            owner = _last_name(self._text(captures["parent"][0]))
        if not name or ("declarator" in captures and not _WORD_START.match(name)):
            return
        body = captures["body"][0] if "body" in captures else node.child_by_field_name("body")
        parameters = parameters or node.child_by_field_name("parameters")
        found = _Definition(
            kind,
            name[:NAME_CHARACTERS],
            owner[:NAME_CHARACTERS],
            node.start_byte,
            node.start_byte,
            name_node.end_byte,
            self._trimmed(max(node.end_byte for node in nodes)),
            -1 if body is None else body.start_byte,
            "" if parameters is None else self._text(parameters),
        )
        self.named.add(name_node.end_byte)
        seen = self.definitions.get(name_node.start_byte)
        self.definitions[name_node.start_byte] = found if seen is None else _joined(seen, found)

    def _recover(self, root: Node, misread: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Find the declarations that the tree has lost to errors, and end those that run over others.

        Returns the spans of lost functions: what they call is found by parsing them alone.
        """
        self.errors += error_lines(root, self.lines)
        bodies = [one.body for one in self.definitions.values() if one.kind in CONTAINERS]
        broken = [*broken_spans(root), *misread]
        recovered = declarations(self.source, self.language, broken, bodies)
        self._take_prose("comment", comments(self.source, self.language, broken))
        for at, found in list(self.definitions.items()):
            if found.kind in CALLABLES:
                indent = found.inner - self.lines[self._line(found.inner) - 1]
                stop = next((one.start for one in recovered if found.named < one.start < found.end and one.indent <= indent), found.end)
                self.definitions[at] = replace(found, end=self._trimmed(stop))
        starts = {found.inner: at for at, found in self.definitions.items()}
        ends = {found.named: at for at, found in self.definitions.items()}
        pieces: list[tuple[int, int]] = []
        for one in recovered:
            at = ends.get(one.named, starts.get(one.start, -1))
            if at in self.definitions and one.named in ends:
                if self.definitions[at].name.endswith(f" {one.name}"):  # with a macro before it
                    self.definitions[at] = replace(self.definitions[at], name=one.name)
            elif at < 0 or one.kind in CALLABLES:
                self.definitions.pop(at, None)  # the tree has another name for it: that of a macro
                end = self._trimmed(one.end)
                parts = (one.kind, one.name, _last_name(one.owner), one.start, one.start, one.named, end, one.body, one.parameters)
                self.definitions[one.name_at] = _Definition(*parts)
                self.named.add(one.named)
                if one.kind in CALLABLES and one.start >= (pieces[-1][1] if pieces else 0):
                    pieces.append((one.start, end))
        return pieces

    def _spot(self, kind: str, start: int, end: int, owner: str = "") -> Spot:
        """A name with its role, where its last component begins: `Ns::Base` is `Base`."""
        text = self._cut(start, end)
        if text.isidentifier():
            return Spot(start, kind, text, owner=owner)
        name = _last_name(text)
        return Spot(start + len(text[: text.rfind(name)].encode()), kind, name, owner=owner)

    def _trimmed(self, end: int) -> int:
        while end > 0 and self.source[end - 1] in b" \t\r\n":
            end -= 1
        return end

    def _units(self) -> list[Unit]:
        ordered = sorted(self.definitions.values(), key=lambda found: (found.start, -found.end))
        open_: list[tuple[_Definition, tuple[str, ...]]] = []  # what encloses the next one, each with the names down to it
        kept: list[tuple[_Definition, str, tuple[str, ...]]] = []
        for found in ordered:
            while open_ and (open_[-1][0].end <= found.start or (open_[-1][0].start, open_[-1][0].end) == (found.start, found.end)):
                open_.pop()
            outer, parents = open_[-1] if open_ else (None, ())
            if outer is not None and outer.kind in CALLABLES and not self._is_local_unit(found):
                continue
            mine = (*parents, found.owner) if found.owner else parents
            if found.kind != SCOPE:
                kept.append((found, _member_kind(found, outer), mine))
            inside = parents if found.kind == "namespace" else (*mine, found.name)
            open_.append((found, inside[:MAX_PARENTS]))
        spans = [self._with_lead(found) for found, _, _ in kept]
        self.begun = set(spans)
        calls = self._calls_of([(start, found.end) for start, (found, _, _) in zip(spans, kept, strict=True)])
        return [self._unit(*one, start, called) for one, start, called in zip(kept, spans, calls, strict=True)]

    def _is_local_unit(self, found: _Definition) -> bool:
        """Whether what a function defines for itself is a unit: functions and types are, variables and short names of types are not."""
        if self.language in _DECLARES_LIKE_CALLS and found.kind in CALLABLES:
            return found.body >= 0 and found.kind != "macro"  # `Cart cart(items);` is a variable
        return found.kind not in VALUES and found.kind != "type"

    def _unit(self, found: _Definition, kind: str, parents: tuple[str, ...], start: int, calls: list[str]) -> Unit:
        return Unit(
            kind=kind,
            name=found.name,
            qualified_name=".".join((*parents, found.name)),
            first_line=self._line(start),
            last_line=self._line(max(start, found.end - 1)),
            start=start,
            end=found.end,
            parents=parents,
            signature=self._signature(found),
            doc=self._doc(found, start),
            parameters=tuple(_top_level_parts(found.parameters)),
            calls=tuple(dict.fromkeys(calls)),
        )

    def _line(self, byte: int) -> int:
        return bisect_right(self.lines, byte)

    def _with_lead(self, found: _Definition) -> int:
        """The start of a definition with the comments and attributes right above it."""
        start = found.start
        while True:
            at = bisect_right(self.leads, (start, -1)) - 1
            if at < 0:
                return start
            lead_start, lead_end = self.leads[at]
            gap = self.source[lead_end:start]
            if (
                lead_end > start
                or gap.strip()
                or gap.count(b"\n") > 1
                or self.source[self.lines[self._line(lead_start) - 1] : lead_start].strip()
            ):
                return start
            start = lead_start

    def _signature(self, found: _Definition) -> str:
        stop = found.body if found.inner < found.body <= found.inner + SIGNATURE_BYTES else -1
        if stop < 0:
            newline = self.source.find(b"\n", found.named, found.end)
            stop = newline if newline > 0 else found.end
        text, at, stop = b"", found.inner, min(stop, found.inner + SIGNATURE_BYTES)
        for start, end in self.comments[bisect_left(self.comments, (at, -1)) :]:
            if start >= stop:
                break
            text, at = text + self.source[at:start], min(end, stop)
        return _one_line((text + self.source[at:stop]).decode("utf-8", "replace")).strip(" {:=")

    def _doc(self, found: _Definition, start: int) -> str:
        """The comment of a definition: above it, or first thing inside it."""
        first = bisect_right(self.comments, (start, -1))
        parts: list[str] = []
        for lead_start, lead_end in self.comments[first:]:
            if lead_start >= found.inner and not self._opens_body(found, lead_start):
                break
            parts.append(self.source[lead_start:lead_end].decode("utf-8", "replace"))
        if not parts:
            return ""
        text = _COMMENT_MARKS.sub("", "\n".join(parts))
        return "\n".join(line.strip() for line in text.splitlines()).strip()[:DOC_CHARACTERS]

    def _opens_body(self, found: _Definition, comment: int) -> bool:
        """Whether a comment is the first thing in a body and belongs to nothing in it."""
        if not 0 <= found.body <= comment or comment in self.begun:
            return False
        return _BEFORE_DOC.fullmatch(self.source, found.body, comment) is not None

    def _calls_of(self, spans: list[tuple[int, int]]) -> list[list[str]]:
        """The calls of each span; a call belongs to the innermost span around it."""
        calls: list[list[str]] = [[] for _ in spans]
        open_: list[int] = []
        upcoming = 0
        order = sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1]))
        for byte, name in self.calls:
            while upcoming < len(order) and spans[order[upcoming]][0] <= byte:
                open_.append(order[upcoming])
                upcoming += 1
            while open_ and spans[open_[-1]][1] <= byte:
                open_.pop()
            if open_:
                calls[open_[-1]].append(name)
        return calls

    def _with_line_ends(self, units: list[Unit]) -> list[Unit]:
        """Top-level units, extended to what shares their first and last line and belongs to no unit: no word is lost."""
        units = sorted(units, key=lambda unit: (unit.start, -unit.end))
        starts = [unit.start for unit in units]
        upto, last = 0, -1
        for row, unit in enumerate(units):
            if unit.start < upto:
                continue  # inside another
            start = max(upto, self.lines[unit.first_line - 1])
            if last >= 0 and start == upto:  # the line belongs to the unit before as well
                units[last] = replace(units[last], end=unit.start)
                start = unit.start
            line_end = self.lines[unit.last_line] if unit.last_line < len(self.lines) else len(self.source)
            following = bisect_left(starts, unit.end)
            limit = min(line_end, starts[following]) if following < len(starts) else line_end
            end = limit if _WORD_BYTE.search(self.source, unit.end, limit) else unit.end
            if start < unit.start and not _WORD_BYTE.search(self.source, start, unit.start):
                start = unit.start
            if (start, end) != (unit.start, unit.end):
                units[row] = replace(unit, start=start, end=end)
            upto, last = units[row].end, row
        return units

    def _leftovers(self, units: list[Unit]) -> Iterator[Unit]:
        """The runs of lines that no unit covers."""
        upto = 0
        for unit in sorted(units, key=lambda unit: unit.start):
            yield from windows(self.lines, upto, unit.first_line - 2, self.source)
            upto = max(upto, unit.last_line)
        yield from windows(self.lines, upto, len(self.lines) - 1, self.source)


def _captured_references(grammar: Grammar, root: Node, text: bytes) -> dict[str, list[tuple[int, int]]]:
    found = QueryCursor(grammar.references).captures(root, conditions_on(text))
    return {name: [(node.start_byte, node.end_byte) for node in nodes] for name, nodes in found.items()}


def line_starts(source: bytes) -> list[int]:
    """The byte where each line starts."""
    starts = [0, *(np.flatnonzero(np.frombuffer(source, np.uint8) == _NEWLINE) + 1).tolist()]
    if starts[-1] == len(source) and len(starts) > 1:
        starts.pop()
    return starts


def windows(lines: list[int], first: int, last: int, source: bytes) -> Iterator[Unit]:
    """Cut lines first..last (from 0, inclusive) into runs without blank lines at their ends."""
    is_notebook = notebook_language(source) is not None
    while first <= last:
        stop = min(first + WINDOW_LINES - 1, last)
        marker = MARKER.search(source, lines[first] + 1, lines[stop + 1] if stop + 1 < len(lines) else len(source)) if is_notebook else None
        if marker:  # a cell is a run of its own
            stop = bisect_right(lines, marker.start()) - 2
        begin, end = first, stop
        while begin <= end and not _line_text(lines, begin, source).strip():
            begin += 1
        while end >= begin and not _line_text(lines, end, source).strip():
            end -= 1
        finish = lines[end + 1] if end + 1 < len(lines) else len(source)
        if begin == end and is_notebook and MARKER.match(source, lines[begin]):
            begin += 1  # nothing but the marker
        if begin <= end and _WORD_BYTE.search(source, lines[begin], finish):
            yield Unit("raw", "", "", begin + 1, end + 1, lines[begin], finish)
        first = stop + 1


def _line_text(lines: list[int], line: int, source: bytes) -> bytes:
    return source[lines[line] : lines[line + 1] if line + 1 < len(lines) else len(source)]


def _outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or end > kept[-1][1]:
            kept.append((start, end))
    return kept


def _member_kind(found: _Definition, outer: _Definition | None) -> str:
    """The kind of a definition in its place: a function in a class is a method."""
    holder = outer.kind if outer else ""
    if found.kind == "function" and (found.owner or holder == SCOPE or (holder in CONTAINERS and holder not in ("namespace", "module"))):
        return "method"
    return found.kind


def _joined(one: _Definition, other: _Definition) -> _Definition:
    """Two matches of one name: the wider node has the span, the narrower the definition."""
    wide, narrow = (one, other) if one.end - one.start >= other.end - other.start else (other, one)
    return replace(
        narrow,
        start=wide.start,
        end=wide.end,
        owner=narrow.owner or wide.owner,
        body=narrow.body if narrow.body >= 0 else wide.body,
        parameters=narrow.parameters or wide.parameters,
    )


def _split_name(text: str, kind: str = "") -> tuple[str, str]:
    """Owner and name of `A::B::c` or `a.b.c`; the last component is the name."""
    if text.isidentifier():
        return "", text
    text = _one_line(text)
    for separator in ("::", ".", ":", "\\"):
        head, found, tail = text.rpartition(separator)
        if found and head and tail and (head[-1].isalnum() or head[-1] in "_>)]?!") and not text.startswith("operator"):
            return (".".join(_NAME.findall(head)) if kind in CONTAINERS else _last_name(head)), tail
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`"
    return "", text[1:-1] if quoted else text.lstrip(":") or text


def _last_name(text: str) -> str:
    """`*Server[T]` -> `Server`: the type of a receiver or an impl."""
    names: list[str] = _NAME.findall(re.split(r"[<\[(]", text.strip("(*& "), maxsplit=1)[0])
    return names[-1] if names else ""


def _top_level_parts(parameters: str) -> Iterator[str]:
    """`(a, b: Map[K, V] = f(x, y))` -> `a`, `b: Map[K, V] = f(x, y)`."""
    inside = _one_line(parameters[1:-1] if parameters[:1] in ("(", "[", "|") else parameters)
    if not _BRACKET.search(inside):
        yield from (part.strip() for part in inside.split(",") if part.strip())
        return
    depth, part = 0, ""
    for character in inside:
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth <= 0:
            if part.strip():
                yield part.strip()
            part = ""
        else:
            part += character
    if part.strip():
        yield part.strip()


def _one_line(text: str) -> str:
    return " ".join(text.split())


# What is known of units.
def own_spans(units: Sequence[Unit]) -> list[Span]:
    """Disjoint spans in order, each with the row of the innermost unit around it."""
    spans: list[Span] = []
    open_: list[int] = []
    at = 0

    def close(upto: int) -> None:
        nonlocal at
        if open_ and upto > at:
            spans.append((at, upto, open_[-1]))
        at = max(at, upto)

    for row, unit in enumerate(units):
        while open_ and units[open_[-1]].end <= unit.start:
            close(units[open_[-1]].end)
            open_.pop()
        close(unit.start)
        at = max(at, unit.start)
        open_.append(row)
    while open_:
        close(units[open_[-1]].end)
        open_.pop()
    return spans


def is_hidden(unit: Unit, language: str) -> bool:
    """Whether a definition is private to its type, file or package."""
    name = unit.name
    if name.startswith(("_", "#")):
        return not name.endswith("__")
    if language == "go":
        return name[:1].islower()
    if language == "rust":
        return not unit.signature.startswith("pub")
    return not _PRIVATE.isdisjoint(unit.signature.split(None, _FIRST_WORDS)[:_FIRST_WORDS])


def is_constructor(unit: Unit) -> bool:
    """Whether a definition constructs the type around it: it has a constructor's name, or the type's."""
    return bool(unit.parents) and (unit.name in CONSTRUCTORS or unit.name == unit.parents[-1])
