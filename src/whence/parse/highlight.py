"""What each piece of a line of code is: a keyword, a string, a name that is defined."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

from tree_sitter import Tree, TreeCursor

from whence.parse import highlight_kinds as kinds
from whence.parse.grammars import grammar_of, tree_in_time
from whence.parse.highlight_kinds import Palette, palette_of
from whence.parse.highlight_lines import is_coloured_by_lines, pattern_spans
from whence.parse.languages import BY_NAME
from whence.parse.lines import beyond_a_grammar, blanked_outside, without_noise

#: A stretch of a line, from one column to another (from 0, in characters), and what it is.
Stretch = tuple[int, int, str]
#: The same from the beginning of a text: in bytes where a grammar reads it, else in characters.
Span = tuple[int, int, str]
#: A node as its children see it: its kind, its field, and whether it is the first of its parent.
_Frame = tuple[int, int | None, bool]
#: A line of a text that is asked for: its row, and where it begins and ends.
_Place = tuple[int, int, int]

#: A longer text is read by nobody, and would hold up whoever waits.
MOST_CHARACTERS = 400_000
#: Processor seconds for one text: fifty times what code of the usual length needs.
LONGEST_PARSE = 0.05
#: Characters whose trees are kept. A tree takes about twenty bytes for each.
MOST_KEPT = 600_000
_LONGEST_NAME = 200
_AT = ord("@")
_CAPITALS = re.compile(rb"[A-Z][A-Z0-9_]+")
_CAPITALISED = re.compile(rb"[A-Z][A-Za-z0-9_]*")
_NUMBER = re.compile(rb"[+-]?[0-9][0-9a-fA-FxX_.]*[uUlLfF]*")
_GIVEN_TO_NAME = re.compile(rb"\s?|\s*(?:<-|:?=|:)\s*")
_VALUES = frozenset(word.encode() for word in kinds.VALUES)
_DEFINED = {kinds.DEFINES_FUNCTION: kinds.FUNCTION, kinds.DEFINES_TYPE: kinds.TYPE}
_NOWHERE: _Frame = (-1, None, False)

#: What stands between tags. A text of such a language that has no line with a tag is from within it.
_WITHIN = {"html": "javascript", "svelte": "typescript", "vue": "typescript"}
_TAG = re.compile(rb"^[ \t]*</?[A-Za-z!]|\{[#:@/]\w+", re.MULTILINE)
#: What has to come before a piece of a file that begins in the middle, and how one knows such a piece.
_METHOD = re.compile(
    rb"(?:\s|//.*\n|/\*(?:[^*]|\*(?!/))*\*/)*(?:(?:public|private|protected|static|async|readonly|override|abstract|get|set)[ ])*"
    rb"(?!(?:if|for|while|switch|catch|function|return|with)\b)[\w$#*]+(?:<[^>\n]{0,100}>)?\([^\n;]{0,200}\)[^=\n;]{0,100}\{[ \t]*$",
    re.MULTILINE,
)
_IN_CLASS = (_METHOD, b"class A {\n")
_OPENINGS = {
    "javascript": _IN_CLASS,
    "php": (re.compile(rb"(?!.*<\?)", re.DOTALL), b"<?php\n"),
    "tsx": _IN_CLASS,
    "typescript": _IN_CLASS,
}


def colour_lines(language: str, lines: Sequence[str], wanted: Collection[int] | None = None) -> list[list[Stretch]]:
    """For each of some lines that stand together in a file, what its pieces are, in order and without overlap.

    All lines are read; only those whose places (from 0) are wanted are coloured.
    """
    found: list[list[Stretch]] = [[] for _ in lines]
    if sum(map(len, lines)) > MOST_CHARACTERS:
        return found
    text = "\n".join(lines)
    if is_coloured_by_lines(language):
        _spread(pattern_spans(language, text), _places(map(len, lines), 0, wanted), None, found)
    elif grammar_of(language) is not None:
        source = text.replace("\0", " ").encode("utf-8", "replace")
        language, opening = _as_spoken(language, source)
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


def _as_spoken(language: str, source: bytes) -> tuple[str, bytes]:
    """The language that a piece of a file is really in, and what has to be put before it."""
    if language in _WITHIN and not _TAG.search(source):
        language = _WITHIN[language]
    in_the_middle, opening = _OPENINGS.get(language, (None, b""))
    return language, opening if in_the_middle is not None and in_the_middle.match(source) else b""


class _Trees:
    """The trees of the texts that were read last: while one types, the same results come again and again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, bytes], Tree | None] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def of(self, language: str, source: bytes) -> Tree | None:
        """The tree of a text; None where its grammar cannot read it, or not in time."""
        key = (language, source)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        tree = _read(language, source)
        with self._lock:
            self._characters += len(source) if key not in self._kept else 0
            self._kept[key] = tree
            while self._characters > MOST_KEPT:
                (_, old), _ = self._kept.popitem(last=False)
                self._characters -= len(old)
        return tree


_trees = _Trees()


def _read(language: str, source: bytes) -> Tree | None:
    grammar, known = grammar_of(language), BY_NAME[language]
    if grammar is None or beyond_a_grammar(source, known.unbearable):
        return None
    try:
        return tree_in_time(grammar.parser, without_noise(source, known.noise), LONGEST_PARSE)
    except TimeoutError:
        return None


@cache
def _palette(language: str) -> Palette:
    grammar = grammar_of(language)
    compiled = grammar.parser.language if grammar is not None else None
    if compiled is None:
        raise LookupError(language)
    return palette_of(language, compiled)


def _spans(language: str, source: bytes, places: Sequence[_Place]) -> list[Span]:
    """What the pieces of a text are, in order and without overlap; what is embedded in it, too."""
    tree = _trees.of(language, source)
    if tree is None:
        return []
    walk = _Walk(_palette(language), source)
    walk.through(tree.walk(), places)
    spans = list(_flat(walk.spans))
    if walk.embedded:
        inside = bytearray(blanked_outside(source, walk.embedded))
        for start, _ in walk.embedded:
            inside[start - 1 : start] = b";" * min(start, 1)  # the brace or tag before it ends what came before
        spans += _spans(_WITHIN[language], bytes(inside), places)
        spans.sort()
    return spans


class _Walk:
    """One way through a tree, past the lines that are wanted, noting what has a colour: outer things before what is in them."""

    def __init__(self, palette: Palette, source: bytes) -> None:
        self.palette = palette
        self.source = source
        self.spans: list[Span] = []
        self.embedded: list[tuple[int, int]] = []
        self.above = [_NOWHERE, _NOWHERE]
        self.quiet = 0  # up to here names are part of a decorator
        self.plain: tuple[int, int] | None = None  # the name that came last, when it has no colour

    def through(self, cursor: TreeCursor, places: Iterable[_Place]) -> None:
        """Walk a tree."""
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
                        self._judge(frame, start, end)
            leading = False
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                above.pop()

    def _paint(self, kind: int, start: int, end: int) -> bool:
        """Whether a node has a colour by itself."""
        colour = self.palette.colours.get(kind)
        if colour is None:
            part = self.palette.parts.get(kind)
            if part == kinds.AFTER_NAME and self.plain and _GIVEN_TO_NAME.fullmatch(self.source, self.plain[1], start):
                self.spans.append((*self.plain, kinds.FUNCTION))
                self.plain = None
            if part != kinds.ARGUMENTS or start >= self.quiet:
                return False
            colour = kinds.CODE
        if colour == kinds.EMBEDDED:
            self.embedded += [(start, end)] if self.palette.parts.get(self.above[-1][0]) != kinds.STYLE else []
        elif colour != kinds.TYPE or start >= self.quiet:
            self.spans.append((start, end, colour))
        if colour == kinds.ATTRIBUTE:
            self.quiet = end
        elif colour == kinds.CODE:
            self.quiet = 0
        return True

    def _judge(self, frame: _Frame, start: int, end: int) -> None:
        if end - start > _LONGEST_NAME:
            return
        depth = -1
        while self.palette.parts.get(self.above[depth][0]) == kinds.HOLDER:
            frame = self.above[depth]
            depth -= 1
        name = self.source[start:end]
        colour = self._by_word(name, start) or self._by_place(frame, depth, name)
        if colour:
            self.spans.append((start - (colour == kinds.ATTRIBUTE and self.source[start - 1] == _AT), end, colour))
        elif self.palette.parts.get(self.above[-1][0]) != kinds.AFTER_NAME:
            self.plain = (start, end)

    def _by_word(self, name: bytes, start: int) -> str:
        if name in _VALUES:
            return kinds.CONSTANT
        if name in self.palette.words:
            return kinds.KEYWORD
        if start and self.source[start - 1] == _AT:
            return kinds.ATTRIBUTE
        if _NUMBER.fullmatch(name):
            return kinds.NUMBER
        return kinds.STRING if len(name) > 1 and name[0] == name[-1] and name[:1] in b"\"'`" else ""

    def _by_place(self, frame: _Frame, depth: int, name: bytes) -> str:
        """What a name is by what it stands in."""
        palette = self.palette
        inner, outer = self.above[depth], self.above[depth - 1]
        _, field, leading = frame
        part = palette.parts.get(inner[0])
        if part == kinds.MEMBER and not leading:  # it stands for the whole
            part, field, leading = palette.parts.get(outer[0]), inner[1], inner[2]
            part = part if part in (kinds.CALL, kinds.DEFINES_FUNCTION) else None
        if field in palette.defined and part in _DEFINED:
            return _DEFINED[part]
        if part == kinds.ATTRIBUTE_PLACE and leading:
            return kinds.ATTRIBUTE
        capitals = _CAPITALS.fullmatch(name)
        if palette.capital_is_type and not capitals and _CAPITALISED.fullmatch(name):
            return kinds.TYPE
        if part == kinds.CALL and (leading if field is None else field in palette.callee):
            return kinds.FUNCTION
        if part == kinds.TYPE_PLACE or field in palette.typed:
            return kinds.TYPE
        return kinds.CONSTANT if capitals else ""


def _flat(spans: Iterable[Span]) -> Iterator[Span]:
    """The same without overlap: what is inside hides what it is in."""
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
    """Give each line its part of every span, in characters; without a source, spans are in characters already."""
    at = 0
    for start, end, colour in spans:
        if colour == kinds.CODE:
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
