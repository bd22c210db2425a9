"""Syntax highlighting: what each piece of a line of code is, from its grammar or, without one, from a pattern.

`highlight.toml` has what is specific to languages. Only the web page uses this.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tree_sitter import Language, Tree, TreeCursor

from whence.core.settings import toml_reader
from whence.parse.grammars import beyond_a_grammar, blanked_outside, grammar_of, tree_in_time, without_noise
from whence.parse.languages import BY_NAME

COMMENT, STRING, NUMBER, KEYWORD = "comment", "string", "number", "keyword"
TYPE, FUNCTION, CONSTANT, ATTRIBUTE = "type", "function", "constant", "attribute"
#: Has no colour and hides the one around it: an interpolation in a string, the arguments of a decorator.
CODE = "code"
#: Text in another language.
EMBEDDED = "embedded"
_COLOURS = frozenset({COMMENT, STRING, NUMBER, KEYWORD, TYPE, FUNCTION, CONSTANT, ATTRIBUTE, CODE, EMBEDDED})

# Roles: what a node without a colour says about the names in it.
CALL = "call"
MEMBER = "member"  # its last name is its name: `a.b`
HOLDER = "holder"  # a name in it counts as if it were in the node around: `name<Type>`
DEFINES_FUNCTION, DEFINES_TYPE = "function definition", "type definition"
TYPE_PLACE = "type place"  # names in it are types
ATTRIBUTE_PLACE = "attribute place"  # its first name is an attribute
AFTER_NAME = "after a name"  # the name right before it is a function
ARGUMENTS = "arguments"
STYLE = "style"  # the text embedded in it is not a program
#: Neither a colour nor a role.
PLAIN = "plain"

#: A piece of a line: its first column, the one past its last (from 0, in characters), and its colour.
Stretch = tuple[int, int, str]
#: The same from the beginning of a text: in bytes if a grammar reads it, else in characters.
Span = tuple[int, int, str]
#: A node as its children see it: its kind, its field, and whether it is the first child of its parent.
_Frame = tuple[int, int | None, bool]
#: A line to colour: its row, and where it begins and ends.
_Place = tuple[int, int, int]

#: A longer text gets no colours.
MAX_CHARACTERS = 400_000
#: Processor seconds for one text: fifty times what code of the usual length takes.
MAX_PARSE_SECONDS = 0.05
#: Characters whose trees are cached. A tree takes about twenty bytes for each.
MAX_CACHED = 600_000
_MAX_NAME = 200
_AT = ord("@")
_CAPITALS = re.compile(rb"[A-Z][A-Z0-9_]+")
_CAPITALISED = re.compile(rb"[A-Z][A-Za-z0-9_]*")
_NUMBER = re.compile(rb"[+-]?[0-9][0-9a-fA-FxX_.]*[uUlLfF]*")
_GIVEN_TO_NAME = re.compile(rb"\s?|\s*(?:<-|:?=|:)\s*")
_KEYWORD = re.compile(r"[#@]?[A-Za-z][\w ]*[?!*:]?|unowned\(\w+\)")
#: Words that mean one value, in any language.
_VALUES = frozenset(b"true false null nil none None True False undefined nothing self Self this super NULL nullptr iota".split())
_DEFINED = {DEFINES_FUNCTION: FUNCTION, DEFINES_TYPE: TYPE}
_NOWHERE: _Frame = (-1, None, False)
#: Fields that hold what is called, what is defined, and what is a type.
_CALLEE_FIELDS = ("function", "method", "name", "target", "macro", "constructor", "function_name", "type")
_DEFINED_FIELDS = ("name", "declarator")
_TYPE_FIELDS = ("type", "return_type", "returns", "superclass")
#: Groups of patterns that have another colour than their name: a pattern cannot use a name twice.
_COLOUR_OF_GROUP = {"code": STRING, "quote": COMMENT, "link": STRING, "text": STRING, "hex": NUMBER}

#: The language between tags. A text without a line that has a tag is taken to be in that language.
_BETWEEN_TAGS = {"html": "javascript", "svelte": "typescript", "vue": "typescript"}
_TAG = re.compile(rb"^[ \t]*</?[A-Za-z!]|\{[#:@/]\w+", re.MULTILINE)
#: What to put before a piece that begins in the middle of a file, and how to recognise such a piece.
_METHOD = re.compile(
    rb"(?:\s|//.*\n|/\*(?:[^*]|\*(?!/))*\*/)*(?:(?:public|private|protected|static|async|readonly|override|abstract|get|set)[ ])*"
    rb"(?!(?:if|for|while|switch|catch|function|return|with)\b)[\w$#*]+(?:<[^>\n]{0,100}>)?\([^\n;]{0,200}\)[^=\n;]{0,100}\{[ \t]*$",
    re.MULTILINE,
)
_OPENINGS = {
    **dict.fromkeys(("javascript", "tsx", "typescript"), (_METHOD, b"class A {\n")),
    "php": (re.compile(rb"(?!.*<\?)", re.DOTALL), b"<?php\n"),
}


def colour_lines(language: str, lines: Sequence[str], wanted: Collection[int] | None = None) -> list[list[Stretch]]:
    """The coloured pieces of consecutive lines of a file, in order and without overlap.

    All lines are parsed; only the `wanted` ones (by their place, from 0) are coloured.
    """
    found: list[list[Stretch]] = [[] for _ in lines]
    if sum(map(len, lines)) > MAX_CHARACTERS:
        return found
    text = "\n".join(lines)
    if (pattern := _pattern(language)) is not None:
        _spread(_pattern_spans(pattern, text), _places(map(len, lines), 0, wanted), None, found)
    elif grammar_of(language) is not None:
        source = text.replace("\0", " ").encode("utf-8", "replace")
        language, opening = _real_language(language, source)
        lengths = map(len, lines) if len(source) == len(text) else (len(line.encode("utf-8", "replace")) for line in lines)
        places = _places(lengths, len(opening), wanted)
        source = opening + source
        _spread(_spans(language, source, places), places, source, found)
    return found


def _places(lengths: Iterable[int], at: int, wanted: Collection[int] | None) -> list[_Place]:
    places = []
    for row, length in enumerate(lengths):
        if wanted is None or row in wanted:
            places.append((row, at, at + length))
        at += length + 1
    return places


def _real_language(language: str, source: bytes) -> tuple[str, bytes]:
    """The language that a piece of a file is really in, and what to put before it."""
    if language in _BETWEEN_TAGS and not _TAG.search(source):
        language = _BETWEEN_TAGS[language]
    in_the_middle, opening = _OPENINGS.get(language, (None, b""))
    return language, opening if in_the_middle is not None and in_the_middle.match(source) else b""


# What is specific to languages.
@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = toml_reader().loads(Path(__file__).with_name("highlight.toml").read_text("utf-8"))
    return found


def _of_language(table: dict[str, Any], language: str) -> Any:
    """The entry of a language; a key may name several."""
    return next((entry for names, entry in table.items() if language in names.split()), None)


@cache
def _pattern(language: str) -> re.Pattern[str] | None:
    """The pattern of a language, which goes before a grammar; None if it has none."""
    data = _data()
    parts, alternatives, comment = data["parts"], data["patterns"].get(language), _of_language(data["comments"], language)
    if alternatives is None:
        if comment is None:
            return None
        alternatives = [f"(?P<comment>{comment})", "%STRINGS", "%NUMBERS", "%CONSTANTS", "%KEYWORDS"]
    return re.compile(re.sub(r"%([A-Z_]+)", lambda found: parts[found[1]], "|".join(alternatives)), re.MULTILINE)


def _pattern_spans(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    for found in pattern.finditer(text):
        if (name := found.lastgroup) is not None:
            yield (*found.span(name), _COLOUR_OF_GROUP.get(name, name))


@dataclass(frozen=True, slots=True)
class _Palette:
    """What the node kinds of a grammar are, by their numbers."""

    colours: dict[int, str]
    roles: dict[int, str]
    whole: frozenset[int]  # nothing inside these has another colour
    callee: frozenset[int]  # fields
    defined: frozenset[int]
    typed: frozenset[int]
    words: frozenset[bytes]  # names that are keywords
    capital_is_type: bool


@cache
def _palette(language: str) -> _Palette:
    grammar = grammar_of(language)
    compiled = grammar.parser.language if grammar is not None else None
    if compiled is None:
        raise LookupError(language)
    data, colours, roles = _data(), dict[int, str](), dict[int, str]()
    rules = [(re.compile(pattern), what) for pattern, what in data["kinds"]]
    exceptions = {kind: what for what, kinds in (_of_language(data["exceptions"], language) or {}).items() for kind in kinds.split()}
    for number in range(compiled.node_kind_count):
        kind = compiled.node_kind_for_id(number)
        if kind and compiled.node_kind_is_visible(number):
            named = compiled.node_kind_is_named(number)
            what = exceptions.get(kind if named else f'"{kind}"') or _kind(kind, rules if named else None)
            (colours if what in _COLOURS else roles)[number] = what
    return _Palette(
        colours=colours,
        roles=roles,
        whole=frozenset(number for number, colour in colours.items() if colour not in (STRING, ATTRIBUTE, CODE)),
        callee=_fields(compiled, _CALLEE_FIELDS),
        defined=_fields(compiled, _DEFINED_FIELDS),
        typed=_fields(compiled, _TYPE_FIELDS),
        words=frozenset(data["words"].get(language, "").encode().split()),
        capital_is_type=language not in data["capitalised"].split(),
    )


def _kind(kind: str, rules: Sequence[tuple[re.Pattern[str], str]] | None) -> str:
    """The colour or role of a node kind; without rules, of a token."""
    if rules is None:
        return CONSTANT if kind.encode() in _VALUES else KEYWORD if _KEYWORD.fullmatch(kind) else PLAIN
    return next((what for pattern, what in rules if pattern.search(kind)), PLAIN)


def _fields(grammar: Language, names: tuple[str, ...]) -> frozenset[int]:
    return frozenset(number for name in names if (number := grammar.field_id_for_name(name)) is not None)


# Syntax trees.
class _TreeCache:
    """The trees of recent texts: while one types, the same results come again and again."""

    def __init__(self) -> None:
        self._trees: OrderedDict[tuple[str, bytes], Tree | None] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def tree(self, language: str, source: bytes) -> Tree | None:
        """The tree of a text; None if its grammar cannot read it, or not in time."""
        key = (language, source)
        with self._lock:
            if key in self._trees:
                self._trees.move_to_end(key)
                return self._trees[key]
        tree = _parse(language, source)
        with self._lock:
            self._characters += len(source) if key not in self._trees else 0
            self._trees[key] = tree
            while self._characters > MAX_CACHED:
                (_, old), _ = self._trees.popitem(last=False)
                self._characters -= len(old)
        return tree


_trees = _TreeCache()


def _parse(language: str, source: bytes) -> Tree | None:
    grammar, known = grammar_of(language), BY_NAME[language]
    if grammar is None or beyond_a_grammar(source, known.unbearable):
        return None
    try:
        return tree_in_time(grammar.parser, without_noise(source, known.noise), MAX_PARSE_SECONDS)
    except TimeoutError:
        return None


def _spans(language: str, source: bytes, places: Sequence[_Place]) -> list[Span]:
    """The coloured pieces of a text and of other languages embedded in it, in order and without overlap."""
    tree = _trees.tree(language, source)
    if tree is None:
        return []
    walk = _Walk(_palette(language), source)
    walk.through(tree.walk(), places)
    spans = list(_flat(walk.spans))
    if walk.embedded:
        inside = bytearray(blanked_outside(source, walk.embedded))
        for start, _ in walk.embedded:
            inside[start - 1 : start] = b";" * min(start, 1)  # the brace or tag before it ends what came before
        spans += _spans(_BETWEEN_TAGS[language], bytes(inside), places)
        spans.sort()
    return spans


class _Walk:
    """A walk through a tree along the wanted lines. It collects what has a colour, outer nodes before those inside them."""

    def __init__(self, palette: _Palette, source: bytes) -> None:
        self.palette, self.source = palette, source
        self.spans: list[Span] = []
        self.embedded: list[tuple[int, int]] = []
        self.above = [_NOWHERE, _NOWHERE]
        self.quiet = 0  # names before this byte are part of a decorator
        self.plain: tuple[int, int] | None = None  # the last name, if it has no colour

    def through(self, cursor: TreeCursor, places: Iterable[_Place]) -> None:
        above, whole = self.above, self.palette.whole
        upcoming, leading = iter(places), True
        first, last = 0, -1
        while (node := cursor.node) is not None:
            start, end = node.start_byte, node.end_byte
            while start >= last:
                place = next(upcoming, None)
                if place is None:
                    return
                _, first, last = place
            if first < end > start:
                frame = (node.kind_id, cursor.field_id, leading)
                coloured = self._paint(frame[0], start, end)
                if frame[0] not in whole:
                    if cursor.goto_first_child():
                        above.append(frame)
                        leading = True
                        continue
                    if not coloured and start >= self.quiet and node.is_named:
                        self._colour_name(frame, start, end)
            leading = False
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                above.pop()

    def _paint(self, kind: int, start: int, end: int) -> bool:
        """Colour a node that has a colour by itself; whether it has."""
        colour = self.palette.colours.get(kind)
        if colour is None:
            role = self.palette.roles.get(kind)
            if role == AFTER_NAME and self.plain and _GIVEN_TO_NAME.fullmatch(self.source, self.plain[1], start):
                self.spans.append((*self.plain, FUNCTION))
                self.plain = None
            if role != ARGUMENTS or start >= self.quiet:
                return False
            colour = CODE
        if colour == EMBEDDED:
            self.embedded += [(start, end)] if self.palette.roles.get(self.above[-1][0]) != STYLE else []
        elif colour != TYPE or start >= self.quiet:
            self.spans.append((start, end, colour))
        if colour == ATTRIBUTE:
            self.quiet = end
        elif colour == CODE:
            self.quiet = 0
        return True

    def _colour_name(self, frame: _Frame, start: int, end: int) -> None:
        if end - start > _MAX_NAME:
            return
        depth = -1
        while self.palette.roles.get(self.above[depth][0]) == HOLDER:
            frame = self.above[depth]
            depth -= 1
        name = self.source[start:end]
        colour = self._by_word(name, start) or self._by_place(frame, depth, name)
        if colour:
            self.spans.append((start - (colour == ATTRIBUTE and self.source[start - 1] == _AT), end, colour))
        elif self.palette.roles.get(self.above[-1][0]) != AFTER_NAME:
            self.plain = (start, end)

    def _by_word(self, name: bytes, start: int) -> str:
        if name in _VALUES:
            return CONSTANT
        if name in self.palette.words:
            return KEYWORD
        if start and self.source[start - 1] == _AT:
            return ATTRIBUTE
        if _NUMBER.fullmatch(name):
            return NUMBER
        return STRING if len(name) > 1 and name[0] == name[-1] and name[:1] in b"\"'`" else ""

    def _by_place(self, frame: _Frame, depth: int, name: bytes) -> str:
        """The colour of a name by the nodes around it."""
        palette = self.palette
        inner, outer = self.above[depth], self.above[depth - 1]
        _, field, leading = frame
        role = palette.roles.get(inner[0])
        if role == MEMBER and not leading:  # `b` in `a.b` counts as if it were `a.b`
            role, field, leading = palette.roles.get(outer[0]), inner[1], inner[2]
            role = role if role in (CALL, DEFINES_FUNCTION) else None
        if field in palette.defined and role in _DEFINED:
            return _DEFINED[role]
        if role == ATTRIBUTE_PLACE and leading:
            return ATTRIBUTE
        capitals = _CAPITALS.fullmatch(name)
        if palette.capital_is_type and not capitals and _CAPITALISED.fullmatch(name):
            return TYPE
        if role == CALL and (leading if field is None else field in palette.callee):
            return FUNCTION
        if role == TYPE_PLACE or field in palette.typed:
            return TYPE
        return CONSTANT if capitals else ""


def _flat(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans without overlap: an inner one hides the one around it."""
    around: list[Span] = []
    at = 0
    for span in (*spans, _END):
        while around and around[-1][1] <= span[0]:
            _, end, colour = around.pop()
            yield (at, end, colour)
            at = max(at, end)
        if around:
            yield (at, span[0], around[-1][2])
        at = span[0]
        around.append(span)


_END: Span = (1 << 62, 1 << 62, "")


def _spread(spans: Iterable[Span], places: Sequence[_Place], source: bytes | None, found: list[list[Stretch]]) -> None:
    """Cut spans into lines and turn bytes into characters; without a source, spans are in characters already."""
    at = 0
    for start, end, colour in spans:
        if colour == CODE:
            continue
        while at < len(places) and places[at][2] <= start:
            at += 1
        for row, first, last in places[at:]:
            if first >= end:
                break
            left, right = max(start - first, 0), min(end, last) - first
            if source is not None and not (line := source[first:last]).isascii():
                left, right = (len(line[:column].decode("utf-8", "ignore")) for column in (left, right))
            if left < right:
                stretches = found[row]
                if stretches and stretches[-1][1:] == (left, colour):
                    left = stretches.pop()[0]
                stretches.append((left, right, colour))
