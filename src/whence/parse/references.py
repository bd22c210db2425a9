"""What the units of a file speak of by name: calls with what stands before the dot, types, constants, fields.

Calls and kinship come from the grammar; types and constants are told by their
capital letter, which every language we know writes, and never looked for in
comments. What a name stands for is decided later, when all files are known.

Everything here works on a text of one character for each byte, so that places are
bytes and names need no decoding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from whence.core.types import CALLABLES, Reference, TypeFact, Unit
from whence.parse.endpoints import Spot, endpoints
from whence.parse.values import UNKNOWN, Expressions, Values, ValueSpans, functions_around

#: Stands for a receiver that is an expression: its type is not known.
EXPRESSION = UNKNOWN
SUPER = "super"
#: Receivers that mean the type around a reference; SUPER, `base` and `parent` mean its parents.
SELF_RECEIVERS = frozenset({"self", "this", "cls", "Self", SUPER, "base", "parent", "static", "__class__"})
#: How far back a receiver is looked for.
_REACH = 64
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#: What closes an expression, and what may stand before one.
_CLOSING = frozenset(")]}>\"'!?")
_QUOTES = frozenset("\"'`")
_OPENERS = frozenset("([{,=:!&|+-*/<;%^~") | {""}

#: A type or a constant: a capital first, and long enough to be one. The first letter comes first because a pattern
#: that begins with a plain class of letters is found several times as fast as one that begins by looking back.
_CAPITALISED = re.compile(r"[A-Z](?<![\w$\"'-].)[\w$]{2,}", re.ASCII | re.DOTALL)
#: `self.name`, `this.name`, `this->name` and not a call; each begins with plain text for the same reason.
_FIELDS = tuple(
    (start, re.compile(rf"{start}(?<!\w{start})(?:\.|->)([A-Za-z_]\w{{2,}})(?![\w(])", re.ASCII)) for start in ("self", "this", "Self")
)
#: Ruby's own fields.
_AT_FIELD = re.compile(r"@(?<![\w@].)([a-z_]\w{2,})(?=[^\w(]{0,40}[.=\[)\n])", re.ASCII | re.DOTALL)
#: A function given to an attribute: `onClick={save}`.
_GIVEN = re.compile(r"=\{([a-z]\w*)\}", re.ASCII)
#: Languages that write elements of markup in code, or code in markup.
_MARKUP = frozenset({"tsx", "javascript", "vue", "svelte"})
#: What the grammar says of a name that is no use of it as a value.
_KINSHIP = frozenset({"extends", "implements", "decorates"})
#: A name given as a value, until it is known whether it stands for more than a variable.
_PASSED = "passed"
_OWN = frozenset({"self", "this"})
_UNSURE = frozenset({_PASSED, "references"})
#: Languages in which a variable cannot be called by its bare name.
CALLS_APART = frozenset({"java", "ruby", "php", "perl"})
#: Languages with macros that the grammar takes for text, and calls in them.
_MACROS = frozenset({"c", "cpp"})
_CALL = re.compile(r"\b([A-Za-z_]\w+)[ ]?\(")
#: Names that mean the type around them where they are called.
_OWN_TYPE = frozenset({"cls", "Self", "self", "static"})
#: Languages whose words in capitals are keywords.
_SHOUTING = frozenset({"sql"})
_WORDS = re.compile(r"\w+")
#: More than this of one kind from one unit is a table, not a program.
MOST_OF_ONE_UNIT = 400


class CollectedReferences(NamedTuple):
    """What the grammar found in a file, with the units it belongs to in order."""

    language: str
    units: Sequence[Unit]
    calls: Iterable[tuple[int, str]]
    kin: Sequence[Spot]
    passed: Sequence[tuple[int, int]]  # names given as values: functions, or mere variables
    comments: Sequence[tuple[int, int]]
    imports: Iterable[str]
    values: ValueSpans = ValueSpans()


_Said = tuple[int, str, str, str, str]  # a Spot, without the cost of its name
_Key = tuple[int, str, str, str]  # a Mention without its place


def references(source: bytes, heard: CollectedReferences) -> tuple[tuple[Reference, ...], tuple[TypeFact, ...]]:
    """Everything the units of a file speak of, each once for a unit, in the order of the text; and what tells of types."""
    code = _without(source, heard.comments)
    text = code.decode("latin-1")
    joining = joining_of(heard.language)
    expressions = Expressions(text, heard.language, joining.separators, joining.letters)
    said = _from_grammar(expressions, heard)
    known = _known_names(heard)
    values = Values(expressions, heard.units, heard.values)
    said += _passed(expressions, heard, known, values)
    taken = {one[0] for one in said}
    said += _capitalised(expressions, taken)
    said += [one for one in _own_fields(text, heard.language, known) if one[0] not in taken]
    said += endpoints(code, heard.language)
    said.sort()
    taken.update(one[0] for one in said)
    said += _bare_calls(expressions, heard, values, taken)
    said.sort()
    found = _Units(heard.units, values, known, heard.language).say(said)
    refs = tuple([Reference(row, kind, name, receiver, at) for (row, kind, name, receiver), at in found.items()])
    return refs, tuple(values.facts())


def _from_grammar(expressions: Expressions, heard: CollectedReferences) -> list[_Said]:
    """Calls and kin, each with what stands before it."""
    text, joining = expressions.text, joining_of(heard.language)
    ends = joining.ends
    settled = {spot.at for spot in heard.kin if spot.kind in _KINSHIP}
    said: list[_Said] = [
        (at, "calls", name, receiver_of(expressions, at, joining) if text[at - 1] in ends else "", "")
        for at, name in heard.calls
        if at not in settled
    ]
    packages = _packages(heard)
    for at, kind, name, _, owner in heard.kin:
        if name:
            receiver = receiver_of(expressions, at, joining) if text[at - 1] in ends else ""
            package = next((one for start, one in reversed(packages) if start < at), "") if kind in _KINSHIP else ""
            said.append((at, kind, name, receiver, owner or package))
    return said


def _bare_calls(expressions: Expressions, heard: CollectedReferences, values: Values, taken: set[int]) -> list[_Said]:
    """Names that call where nothing else has them: no local of the unit does. And calls in the text of macros."""
    text, found = expressions.text, []
    for start, end in heard.values.plain:
        row = values.row_at(start)
        is_defined = text[start - 1] in ".:" or text.endswith("def ", 0, start)
        if not is_defined and start not in taken and row >= 0 and text[end : end + 1] != ":" and not values.is_local(row, text[start:end]):
            found.append((start, "calls", _decoded(text[start:end]), "", ""))
    for unit in heard.units if heard.language in _MACROS else ():
        if unit.kind == "macro":
            body = text.find(")", unit.start, unit.end)
            found += [(one.start(1), "calls", one[1], "", "") for one in _CALL.finditer(text, body, unit.end) if body > 0]
    return found


def _passed(expressions: Expressions, heard: CollectedReferences, known: set[str], values: Values) -> Iterator[_Said]:
    """Names given as values that may be functions: the file knows them, or they belong to something."""
    text, joining = expressions.text, joining_of(heard.language)
    ends = joining.ends
    for start, end in heard.passed:
        at = start + (text[start] == ":")  # a symbol of Ruby
        if text[at - 1] in ends and at == start:
            receiver = receiver_of(expressions, at, joining)
            if receiver not in _OWN or text[at - 1] == ":":  # `self.name` is a field, and read as one
                yield (at, _PASSED, _decoded(text[at:end]), receiver, "")
        elif (name := _decoded(text[at:end])) in known or values.defines(values.row_at(at), name):
            yield (at, "references", name, "", "")


def _decoded(name: str) -> str:
    return name if name.isascii() else name.encode("latin-1").decode("utf-8", "replace")


def _packages(heard: CollectedReferences) -> list[tuple[int, str]]:
    """Perl's packages without braces: what follows one speaks for it, and stands in no unit of its name."""
    return [(unit.start, unit.name) for unit in heard.units if unit.kind == "class"] if heard.language == "perl" else []


def _known_names(heard: CollectedReferences) -> set[str]:
    """Names that stand for something in the whole file: a variable given to a function is none of them."""
    own = (unit.name for unit, around in zip(heard.units, functions_around(heard.units), strict=True) if around < 0)
    known = {"self", "this", "cls", *own}
    for text in heard.imports:
        known.update(_WORDS.findall(text))
    known.discard("")
    return known


class _Units:
    """Decides what each thing that is said is to the unit that says it."""

    def __init__(self, units: Sequence[Unit], values: Values, known: set[str], language: str) -> None:
        self._units, self._values, self._known = units, values, known
        self._language, self._calls_apart = language, language in CALLS_APART

    def say(self, said: Sequence[_Said]) -> dict[_Key, int]:
        """What each unit says, with the first place of each, in the order of the text."""
        found: dict[_Key, int] = {}
        seen: set[_Key] = set()
        for (at, kind, name, receiver, owner), row in zip(said, self._innermost(said), strict=True):
            if owner:
                found.setdefault((-1, kind, name, owner), at)
                continue
            key = (row, kind, name, receiver)
            if row < 0 or key in seen:
                continue
            if receiver in ("", "self", "this"):  # any other may be of another type elsewhere
                seen.add(key)
            if receiver or kind in _UNSURE:
                key = self._key(row, kind, name, receiver, at)
            elif kind == "calls":
                key = self._plain_call(row, name, at)
            if key[1]:
                found.setdefault(key, at)
        return found if len(found) <= MOST_OF_ONE_UNIT else _without_tables(found)

    def _key(self, row: int, kind: str, name: str, receiver: str, at: int) -> _Key:
        path = self._values.known(receiver, row, at) if receiver and receiver not in SELF_RECEIVERS else receiver
        part = kind if kind not in _UNSURE else self._part(row, kind, name, receiver, path)
        return (row, part, name, path)

    def _plain_call(self, row: int, name: str, at: int) -> _Key:
        """A call of a bare name, which may be that of a local that is given a function."""
        unit = self._units[row]
        if name in _OWN_TYPE and unit.parents:
            return (row, "calls", unit.parents[-1], "")
        if self._language == "ruby" and name in ("new", SUPER):
            return (row, "calls", name, "self") if name == "new" else (row, "calls", unit.name, SUPER)
        if self._calls_apart or not self._values.is_local(row, name):
            return (row, "calls", name, "")
        path = self._values.known(name, row, at)
        receiver, _, last = path.rpartition(".")
        if not last.isidentifier() or "|" in path or path == name:
            return (row, "calls", name, f"?{name}")
        return (row, "calls", last, receiver)

    def _innermost(self, said: Sequence[_Said]) -> list[int]:
        """The row of the innermost unit that holds each place, -1 where none does."""
        units = self._units
        starts, ends = [unit.start for unit in units], [unit.end for unit in units]
        starts.append(1 << 62)
        ends.append(1 << 62)  # of what holds everything, row -1
        open_, rows = [-1], []
        upcoming = 0
        for one in said:
            at = one[0]
            while starts[upcoming] <= at:
                open_.append(upcoming)
                upcoming += 1
            while ends[open_[-1]] <= at:
                open_.pop()
            rows.append(open_[-1])
        return rows

    def _part(self, row: int, kind: str, name: str, receiver: str, path: str) -> str:
        """What a name that is no call is: a reference, a type hint, or nothing that counts."""
        unit = self._units[row]
        root = _WORDS.search(path)
        is_known = root is not None and path[0] != "?" and (root[0] in self._known or root[0][0].isupper())
        unknown = kind == _PASSED and receiver not in self._known and not is_known
        if unknown or name == unit.name:
            return ""
        hints = unit.kind in CALLABLES and name[0].isupper() and name in unit.signature
        return "type_hint_of" if hints else "references"


def _without_tables(found: dict[_Key, int]) -> dict[_Key, int]:
    """The first mentions of each kind by each unit; a unit with more is a table, not a program."""
    rows = {row for row, count in Counter([key[0] for key in found]).items() if count > MOST_OF_ONE_UNIT}
    counts = Counter([key[:2] for key in found if key[0] in rows])
    full = {part: 0 for part, count in counts.items() if count > MOST_OF_ONE_UNIT}
    if not full:
        return found
    kept: dict[_Key, int] = {}
    for key, at in found.items():
        part = key[:2]
        if part in full:
            full[part] += 1
        if full.get(part, 0) <= MOST_OF_ONE_UNIT:
            kept[key] = at
    return kept


def _without(source: bytes, comments: Sequence[tuple[int, int]]) -> bytes:
    """The text with its comments blanked."""
    if not comments:
        return source
    pieces, upto = [], 0
    for start, end in comments:
        if start >= upto:
            pieces += [source[upto:start], b" " * (end - start)]
            upto = end
    return b"".join([*pieces, source[upto:]])


def _capitalised(expressions: Expressions, taken: set[int]) -> list[_Said]:
    """Types and constants, by how they are written; in markup an element of that name is a call."""
    text, language = expressions.text, expressions.language
    if language in _SHOUTING:
        return []
    joining = joining_of(language)
    ends, markup = joining.ends, language in _MARKUP
    said: list[_Said] = []
    for found in _CAPITALISED.finditer(text):
        at = found.start()
        if at in taken:
            continue
        before = text[at - 1]
        if before in ends:
            said.append((at, "references", found[0], receiver_of(expressions, at, joining), ""))
        elif not markup or before not in "</":
            said.append((at, "references", found[0], "", ""))
        elif before == "<":
            said.append((at, "references" if text[at - 2].isalnum() else "calls", found[0], "", ""))
    return said


def _own_fields(text: str, language: str, known: set[str]) -> Iterator[_Said]:
    """Fields of the unit's own type, and functions given to attributes."""
    for start, pattern in _FIELDS:
        if start in text:
            yield from ((found.start(1), "accesses_field", found[1], "self", "") for found in pattern.finditer(text))
    if language == "ruby":
        yield from ((found.start(1), "accesses_field", found[1], "self", "") for found in _AT_FIELD.finditer(text))
    if language in _MARKUP and "={" in text:
        yield from ((found.start(1), "references", found[1], "", "") for found in _GIVEN.finditer(text) if found[1] in known)


class Joining(NamedTuple):
    """How a language joins a name to what it belongs to."""

    separators: tuple[str, ...]  # the longer first
    letters: str = _LETTERS + "$"  # what a receiver is made of

    @property
    def ends(self) -> frozenset[str]:
        """The last characters of the separators."""
        return frozenset(separator[-1] for separator in self.separators)


_USUAL = Joining(("::", "?.", "."))
_JOININGS = {
    "c": Joining(("->", ".")),
    "cpp": Joining(("->", "::", ".")),
    "lua": Joining((":", "."), _LETTERS),
    "ocaml": Joining((".", "#"), _LETTERS + "'"),
    "perl": Joining(("->", "::"), _LETTERS),
    "php": Joining(("?->", "->", "::", "\\"), _LETTERS),
    "r": Joining((":::", "::", "$", "@"), _LETTERS + "."),
    "ruby": Joining(("::", "&.", "."), _LETTERS),
}


@cache
def joining_of(language: str) -> Joining:
    """How a language joins names."""
    return _JOININGS.get(language, _USUAL)


def receiver_of(expressions: Expressions, at: int, joining: Joining) -> str:
    """The path of what stands before the name at a place: `self`, a variable, a type, `)` for what has none; empty for nothing."""
    text = expressions.text
    for separator in joining.separators:
        if text.endswith(separator, 0, at):
            break
    else:
        return ""
    cut = at - len(separator)
    head = text[max(0, cut - _REACH) : cut]
    rest = head.rstrip(joining.letters)
    if len(rest) < len(head) and (rest[-1:].isspace() or rest[-1:] in _OPENERS or (rest[-1] == "@" and expressions.language != "ruby")):
        word = head[len(rest) :]
        return word if not word[0].isdigit() else EXPRESSION
    if head.endswith("super()"):
        return SUPER
    shorter = head.rstrip()
    if not shorter or (shorter[-1] not in _CLOSING and shorter[-1] not in joining.letters):  # `...rest`: nothing stands before it
        return EXPRESSION if "\n" in head[len(shorter) :] or shorter[-1:] in _QUOTES else ""
    if len(shorter) < len(head) and "\n" not in head[len(shorter) :]:  # `return .first`
        return ""
    path = expressions.before(at)
    return "" if path == "" else path
