"""Text that speaks to a machine that reads it, instead of to people (Z11).

What is indexed is data. Some of it is written as if it were a request to the agent that reads an answer: that is
said beside it. It is a flag and never a filter: nothing is removed, no rank changes. It is meant for the few dozen
lines that are shown, and its time grows with their length alone: a pattern is tried only where a plain word of it
was found, and its gaps are limited.

The text is read as it is; as it looks, without characters that nobody sees and with letters of other alphabets that
pass for Latin ones; and as it would be when decoded.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from whence.text.hidden import REMOVABLE, describe_hidden
from whence.text.injection.forms import ENCODED, FORMS, HIDDEN, LEET, LOOKALIKES, MARKED, MARKS, MARKUP, OVERRIDE, TURN
from whence.text.injection.orders import ORDERS, UNSHOWN, UNSHOWN_DO, UNSHOWN_TO


@dataclass(frozen=True, slots=True)
class Instruction:
    """What reads like an instruction: its kind, the line it begins on, and what gives it away (never its own words)."""

    kind: str
    line: int  # from 1
    reason: str


#: No more of a text is read: what is shown is far shorter.
MOST_CHARACTERS = 400_000
#: What was found in a shorter text is remembered.
MOST_REMEMBERED = 2_000
#: What is decoded is at least this long: shorter runs are names.
_SHORTEST_ENCODED = 24


def find_instructions(text: str) -> list[Instruction]:
    """What in a text reads like an instruction to a machine, in order: one for each line and kind."""
    text = text[:MOST_CHARACTERS]
    return list(_found(text) if len(text) > MOST_REMEMBERED else _remembered(text))


def _found(text: str) -> tuple[Instruction, ...]:
    first: dict[tuple[int, str], Instruction] = {}
    for one in (*_unseen(text), *_said(text), *_decoded(text)):
        first.setdefault((one.line, one.kind), one)
    return tuple(sorted(first.values(), key=lambda one: one.line))


#: While somebody types, the same excerpts are shown again and again.
_remembered = lru_cache(maxsize=1024)(_found)


@cache
def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(pattern, flags)


# The text as it is.
class _Flow:
    """A text as one would read it aloud: small letters, no accents, no marks of comments, a paragraph on one line."""

    def __init__(self, text: str) -> None:
        self.lines = [_plain(line) for line in text.split("\n")]
        parts, self._begins, at = [], [], 0
        for line in self.lines:
            said = _compiled(_LEADER).sub("", line, count=1).strip()
            self._begins.append(at)
            parts.append(f"{said} " if said else "\n")
            at += len(parts[-1])
        self.text = "".join(parts)
        self.words = f" {_compiled('[^a-z0-9]+').sub(' ', self.text)} "

    def line_at(self, place: int) -> int:
        """The line, from 1, that a character of the flow is of."""
        return bisect_right(self._begins, place)


#: What stands before the words of a comment, a quotation or an item of a list.
_LEADER = r"^\s*(?:(?:/{2,}!?|#+!?|--+|;+|%+|>+|\*+(?!/)|/\*+!?|<!--|\{-|\"{3}|'{3}|[-+] |\d{1,3}[.)] )\s*){1,3}"


def _plain(text: str) -> str:
    """In small letters, as it looks."""
    if text.isascii():
        return text.lower()
    import unicodedata  # noqa: PLC0415  -- little of what is shown needs it

    seen = unicodedata.normalize("NFKC", _compiled(REMOVABLE).sub("", text)).lower()
    bare = _compiled("[\u0300-\u036f]").sub("", unicodedata.normalize("NFD", seen))
    plain = unicodedata.normalize("NFC", bare).replace("\u2019", "'")
    # Only words that mix alphabets are disguised: in those of one alphabet such letters are what they are.
    return _compiled(r"\w*[a-z]\w*").sub(lambda word: word[0].translate(LOOKALIKES), plain)


def _said(text: str) -> Iterator[Instruction]:
    flow = _Flow(text)
    yield from _matching(flow)
    yield from _marked(flow)
    yield from _unshown(flow)
    yield from _disguised(flow)


def _matching(flow: _Flow, *, only: str = "") -> Iterator[Instruction]:
    present: dict[str, bool] = {"": True}
    for form in (*FORMS, *ORDERS):
        if only and form.kind != only:
            continue
        for words in (form.needs, form.also):
            if words not in present:
                present[words] = any(word in (flow.words if word[0] == " " else flow.text) for word in words.split("|"))
        if present[form.needs] and present[form.also]:
            for match in _compiled(form.pattern).finditer(flow.text):
                yield Instruction(form.kind, flow.line_at(match.start() + len(match[0]) - len(match[0].lstrip())), form.because)


def _marked(flow: _Flow) -> Iterator[Instruction]:
    roles = set()
    for number, line in enumerate(flow.lines, 1):
        if not any(mark in line for mark in MARKED):
            continue
        for pattern, because in MARKS:
            if _compiled(pattern).search(line):
                yield Instruction(MARKUP, number, because)
        for role in _compiled(TURN).findall(line):
            roles.add(role)
            if len(roles) > 1 and roles & {"human", "assistant"}:
                yield Instruction(MARKUP, number, "looks like a conversation")
                return


def _unshown(flow: _Flow) -> Iterator[Instruction]:
    """Text where a person does not see it, that speaks to a machine."""
    lowered = "\n".join(flow.lines)
    if not any(sign in lowered for sign in ("<!--", "style", "hidden", "alt", "[//]")):
        return
    for pattern, where in UNSHOWN:
        for match in _compiled(pattern).finditer(lowered):
            inside = match[1]
            if _compiled(UNSHOWN_TO).search(inside) and _compiled(_ORDER).search(inside):
                yield Instruction(HIDDEN, lowered.count("\n", 0, match.start()) + 1, f"speaks to a machine in {where}")


_ORDER = rf"(?:\b(?:must|should|please|always|never|you|note|attention)\b|[,:] ?{UNSHOWN_DO}).{{0,200}}?{UNSHOWN_DO}"


# The text behind a disguise.
def _disguised(flow: _Flow) -> Iterator[Instruction]:
    for number, line in enumerate(flow.lines, 1):
        for other in _readings(line):
            found = next(_matching(_Flow(other), only=OVERRIDE), None)
            if found is not None:
                yield Instruction(OVERRIDE, number, f"{found.reason}, in disguise")
                break


def _readings(line: str) -> Iterator[str]:
    """Other readings of a line: as words of its names, with letters for digits, without blanks or signs between letters."""
    if any(word in line for word in ("_instruction", "_prompt", "_rules", "instructions", "previousprompt")):
        yield re.sub(r"[_+-]+|%20", " ", line)
        if "ignoreprevious" in line or "ignoreall" in line or "disregard" in line:
            yield _apart(line)
    if _compiled(r"[a-z][013457@$!][a-z]|\b[013457@$][a-z]{2,}").search(line):
        yield line.translate(LEET)
    if _compiled(r"(?:\b\w[ .\-_*]{1,3}){6}").search(line):
        for sign in (sign for sign in " .-_*" if line.count(sign) > 5):
            yield _apart(re.sub(rf"(?<=\b\w){re.escape(sign)}(?=\w\b)", "", line))
    if _compiled(r"\b[a-z]{2,6}-[a-z]{2,6}\b.*\b[a-z]{2,6}-[a-z]{2,7}").search(line):
        yield line.replace("-", "")
    if "snoitcurtsni" in line or "tpmorp" in line:
        yield line[::-1]


def _apart(line: str) -> str:
    """Words that were written as one."""
    return _compiled(r"(ignore|disregard|forget|all|previous|prior|your|above|instructions?|rules|prompts?)").sub(r" \1 ", line)


def _unseen(text: str) -> Iterator[Instruction]:
    """Characters that nobody sees, where they carry or turn text."""
    if text.isascii():
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.isascii() and (because := describe_hidden(line)):
            yield Instruction(HIDDEN, number, because)


def _decoded(text: str) -> Iterator[Instruction]:
    """Instructions in what would have to be decoded first, one step deep."""
    for number, line in enumerate(text.split("\n"), 1):
        for encoding, plain in _decodings(line):
            flow = _Flow(plain)
            if next(_matching(flow), None) is not None or next(_marked(flow), None) is not None:
                yield Instruction(ENCODED, number, f"{encoding} of an instruction")


#: Words of forms as rot13 has them: ignore, disregard, instruction, assistant, agent, system prompt, the user.
_TURNED = ("vtaber", "qvfertneq", "vafgehpgvba", "nffvfgnag", "ntrag", "cebzcg", "gur hfre")


def _decodings(line: str) -> Iterator[tuple[str, str]]:
    import base64  # noqa: PLC0415  -- with the first text that is looked at
    import binascii  # noqa: PLC0415  -- as above

    for run in _compiled(rf"[A-Za-z0-9+/_-]{{{_SHORTEST_ENCODED},}}={{0,2}}").findall(line):
        if _compiled("[0-9a-fA-F]+").fullmatch(run):
            yield from _readable("hexadecimal", bytes.fromhex(run[: len(run) // 2 * 2]))
        elif not run.islower():
            usual = run.rstrip("=").translate(_URL_SAFE)
            try:
                yield from _readable("base 64", base64.b64decode(usual[: len(usual) - (len(usual) % 4 == 1)] + "=" * (-len(usual) % 4)))
            except binascii.Error:
                continue
    if r"\x" in line:
        for run in _compiled(r"(?:\\x[0-9a-fA-F]{2}){8,}").findall(line):
            yield from _readable("hexadecimal", bytes.fromhex(run.replace("\\x", "")))
    if "%" in line and _compiled(r"(?:%[2-7][0-9a-fA-F].*){3}").search(line):
        yield "a URL encoding", _compiled("%([2-7][0-9a-fA-F])").sub(lambda match: chr(int(match[1], 16)), line)
    if "&#" in line:
        from html import unescape  # noqa: PLC0415  -- hardly any line needs it: it loads a large table

        yield "an HTML encoding", unescape(line)
    if any(word in line.lower() for word in _TURNED):
        import codecs  # noqa: PLC0415  -- hardly any line needs it

        yield "rot13", codecs.encode(line, "rot13")


_URL_SAFE = str.maketrans("-_", "+/")


def _readable(encoding: str, plain: bytes) -> Iterator[tuple[str, str]]:
    try:
        text = plain.decode("utf-8")
    except UnicodeDecodeError:
        return
    if text.isprintable() or text.replace("\n", " ").isprintable():
        yield encoding, text
