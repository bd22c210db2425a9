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

from whence.core.types import CALLABLES, CONTAINERS, VALUES, Reference, Unit
from whence.parse.endpoints import Spot, endpoints

#: Stands for a receiver that is an expression: its type is not known.
EXPRESSION = ")"
SUPER = "super"
#: Receivers that mean the type around a reference; SUPER, `base` and `parent` mean its parents.
SELF_RECEIVERS = frozenset({"self", "this", "cls", "Self", SUPER, "base", "parent", "static", "__class__"})
#: How far back a receiver is looked for.
_REACH = 64
#: What the name of a variable begins with.
_VARIABLE = frozenset("abcdefghijklmnopqrstuvwxyz_")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#: What closes an expression.
_CLOSING = frozenset(")]}>\"'!?")
#: A value made of a type and given to a variable: `x = Foo(`, `x := &Foo{`, `x = new Foo(`, `x = Foo::new(`.
_MADE = re.compile(r"=[ \t]*(?:new |&|await )?([A-Z]\w*)(?:[({]|::new|\.new\b|::default\b)", re.ASCII)
_ASSIGNED = re.compile(r"[ \t]*:?[ \t]*([\w$]+)", re.ASCII)
_WORD = re.compile(r"@?[A-Za-z_]\w*", re.ASCII)
_GO_RECEIVER = re.compile(r"func \((\w+) ", re.ASCII)
#: A parameter that is many of a type, not one.
_MANY = re.compile(r"\[\]|\.\.\.|\b(?:list|dict|set|tuple|map)\[")
#: Types that stand for what they hold.
_WRAPPERS = frozenset("Optional Option Annotated Final ClassVar Arc Rc Box RefCell Mutex RwLock Cow Pin Lazy".split())
_MODIFIERS = frozenset("const final mut ref out in readonly public private protected val var let dyn impl async this static".split())
_CONSTRUCTORS = frozenset({"constructor", "__init__", "init", "initialize", "__construct"})

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


_Said = tuple[int, str, str, str, str]  # a Spot, without the cost of its name
_Key = tuple[int, str, str, str]  # a Mention without its place


def references(source: bytes, heard: CollectedReferences) -> tuple[Reference, ...]:
    """Everything the units of a file speak of, each once for a unit, in the order of the text."""
    code = _without(source, heard.comments)
    text = code.decode("latin-1")
    said = _from_grammar(text, heard)
    known = _known_names(heard)
    said += _passed(text, heard, known)
    taken = {one[0] for one in said}
    said += _capitalised(text, heard.language, taken)
    said += [one for one in _own_fields(text, heard.language, known) if one[0] not in taken]
    said += endpoints(code, heard.language)
    said.sort()
    found = _Units(heard.units, types_of_names(text, heard.units), known).say(said)
    return tuple([Reference(row, kind, name, receiver, at) for (row, kind, name, receiver), at in found.items()])


def _from_grammar(text: str, heard: CollectedReferences) -> list[_Said]:
    """Calls and kin, each with what stands before it."""
    joining = joining_of(heard.language)
    ends = joining.ends
    settled = {spot.at for spot in heard.kin if spot.kind in _KINSHIP}
    said: list[_Said] = [
        (at, "calls", name, receiver_of(text, at, joining) if text[at - 1] in ends else "", "")
        for at, name in heard.calls
        if at not in settled
    ]
    packages = _packages(heard)
    for at, kind, name, _, owner in heard.kin:
        if name:
            receiver = receiver_of(text, at, joining) if text[at - 1] in ends else ""
            package = next((one for start, one in reversed(packages) if start < at), "") if kind in _KINSHIP else ""
            said.append((at, kind, name, receiver, owner or package))
    return said


def _passed(text: str, heard: CollectedReferences, known: set[str]) -> Iterator[_Said]:
    """Names given as values that may be functions: the file knows them, or they belong to something."""
    joining = joining_of(heard.language)
    ends = joining.ends
    for start, end in heard.passed:
        at = start + (text[start] == ":")  # a symbol of Ruby
        if text[at - 1] in ends and at == start:
            receiver = receiver_of(text, at, joining)
            if receiver not in _OWN or text[at - 1] == ":":  # `self.name` is a field, and read as one
                yield (at, _PASSED, _decoded(text[at:end]), receiver, "")
        elif (name := _decoded(text[at:end])) in known:
            yield (at, "references", name, "", "")


def _decoded(name: str) -> str:
    return name if name.isascii() else name.encode("latin-1").decode("utf-8", "replace")


def _packages(heard: CollectedReferences) -> list[tuple[int, str]]:
    """Perl's packages without braces: what follows one speaks for it, and stands in no unit of its name."""
    return [(unit.start, unit.name) for unit in heard.units if unit.kind == "class"] if heard.language == "perl" else []


def _known_names(heard: CollectedReferences) -> set[str]:
    """Names that stand for something in the whole file: a variable given to a function is none of them."""
    known = {"self", "this", "cls"} | {unit.name for unit in heard.units}
    for text in heard.imports:
        known.update(_WORDS.findall(text))
    known.discard("")
    return known


class _Units:
    """Decides what each thing that is said is to the unit that says it."""

    def __init__(self, units: Sequence[Unit], types: dict[str, str], known: set[str]) -> None:
        self._units, self._types, self._known = units, types, known
        self._typed: dict[int, dict[str, str]] = {}

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
            seen.add(key)
            if receiver or kind in _UNSURE:
                key = self._key(row, kind, name, receiver)
            if key[1]:
                found.setdefault(key, at)
        return found if len(found) <= MOST_OF_ONE_UNIT else _without_tables(found)

    def _key(self, row: int, kind: str, name: str, receiver: str) -> _Key:
        receiver_type = self._type_of(row, receiver) if receiver and receiver[0] in _VARIABLE else receiver
        part = kind if kind not in _UNSURE else self._part(row, kind, name, receiver, receiver_type)
        return (row, part, name, receiver_type)

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

    def _type_of(self, row: int, receiver: str) -> str:
        """The type of a variable, where the unit or the file tells; else the variable."""
        typed = self._typed.get(row)
        if typed is None:
            typed = self._typed[row] = types_of_parameters(self._units[row])
        return typed.get(receiver) or self._types.get(receiver) or receiver

    def _part(self, row: int, kind: str, name: str, receiver: str, receiver_type: str) -> str:
        """What a name that is no call is: a reference, a type hint, or nothing that counts."""
        unit = self._units[row]
        unknown = kind == _PASSED and receiver not in self._known and not receiver_type[:1].isupper()
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


def _capitalised(text: str, language: str, taken: set[int]) -> list[_Said]:
    """Types and constants, by how they are written; in markup an element of that name is a call."""
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
            said.append((at, "references", found[0], receiver_of(text, at, joining), ""))
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


def receiver_of(text: str, at: int, joining: Joining) -> str:
    """What stands before the name at a place: `self`, a variable, a type, `)` for an expression; empty where nothing does."""
    for separator in joining.separators:
        if text.endswith(separator, 0, at):
            break
    else:
        return ""
    cut = at - len(separator)
    head = text[max(0, cut - _REACH) : cut]
    rest = head.rstrip(joining.letters)
    if len(rest) < len(head):
        return head[len(rest) :]
    if head.endswith("super()"):
        return SUPER
    if head[-1:] in _CLOSING:
        return EXPRESSION
    shorter = head.rstrip()
    if "\n" not in head[len(shorter) :]:  # `...rest`, `return .first`: nothing stands before it
        return ""
    word = shorter[len(shorter.rstrip(joining.letters)) :]
    return word or EXPRESSION


def types_of_names(text: str, units: Sequence[Unit]) -> dict[str, str]:
    """Names of a file that are of one type, and of one only: variables made of it, and fields declared with it."""
    types: dict[str, str] = {}
    for name, made in [*_made(text), *_declared(units)]:
        types[name] = made if types.get(name, made) == made else ""
    return types


def _made(text: str) -> Iterable[tuple[str, str]]:
    for found in _MADE.finditer(text):
        start = found.start()
        before = _ASSIGNED.match(text[max(0, start - _REACH) : start][::-1])
        if before is not None:
            name = before[1][::-1]
            yield name, found[1]
            if name[0] == "$":  # PHP's receivers are read without it
                yield name[1:], found[1]


def _declared(units: Sequence[Unit]) -> Iterable[tuple[str, str]]:
    """Fields with their types, and what a constructor is given: it mostly keeps it by the same name."""
    for unit in units:
        if unit.kind in VALUES:
            words = _WORD.findall(unit.signature.partition("=")[0])
            made = next((word for word in words if word[0].isupper() and word not in _WRAPPERS), "")
            if made and made != unit.name and not _MANY.search(unit.signature):
                yield unit.name, made
        elif unit.parameters and (unit.name in _CONSTRUCTORS or unit.kind in CONTAINERS or unit.name == (unit.parents or ("",))[-1]):
            yield from types_of_parameters(unit).items()


def types_of_parameters(unit: Unit) -> dict[str, str]:
    """The types that a signature gives to its parameters: `ctx: Context`, `ctx *Context`, `Context ctx`."""
    types: dict[str, str] = {}
    for parameter in unit.parameters:
        if parameter.islower() or _MANY.search(parameter):
            continue
        words = _WORD.findall(parameter.partition("=")[0])
        made = next((word for word in words if word[0].isupper() and word not in _WRAPPERS), "")
        name = next((word for word in words if (word[0].islower() or word[0] == "_") and word not in _MODIFIERS), "")
        if made and name:
            types[name] = made
    own = _GO_RECEIVER.match(unit.signature)
    if own is not None and unit.parents:
        types[own[1]] = unit.parents[-1]
    return types
