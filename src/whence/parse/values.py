"""Where the values of a file come from: the paths of receivers, and what tells the types of names, fields and results.

A path is text: a root, then steps. `self.items[].cost()` is the result of the member `cost` of one of the member `items` of the
type around it. Roots are names as the file has them, `self`, `super`, `:name` for a type, `?name` for a local of which nothing is
known, and `)` for what no path can say. Steps are members (`.name`, with `()` where called), one of many (`[]`), and what a function
that is given to a member is called with (`{}`); `*` makes many of what is before it. `a|b` is either. Which definitions a path
leads to is decided when all files are known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from whence.core.types import CALLABLES, CONTAINERS, VALUES, TypeFact, Unit
from whence.text.tables import word_sections

_WORDS = word_sections(Path(__file__).with_suffix(".txt"))
#: A path that says nothing.
UNKNOWN = ")"
#: A longer path, or one with more alternatives, says too little; what follows from more than so many names is not followed.
MAX_PATH, MAX_ALTERNATIVES, MAX_HOPS = 120, 3, 5
#: Members and calls of a chain that are followed back, and bindings of one name that are looked at.
MAX_STEPS, MAX_BINDINGS = 32, 16
#: The name of the fact that tells which type a function adds a method to.
EXTENDED = "+"
#: How much text is looked at for a type before a name, or for what a function is given to.
_REACH = 120
_OPENING, _CLOSING = dict(zip("([{", ")]}", strict=True)), dict(zip(")]}", "([{", strict=True))
_SELF = frozenset({"self", "this", "cls", "Self", "static", "__class__"})
_CONSTRUCTORS = frozenset({"constructor", "__init__", "init", "initialize", "__construct"})
_PARENT = frozenset({"super", "base", "parent"})
_LITERAL = re.compile(r"[\"'`\d]|[fbru]{1,2}[\"']|[{|\\]|(?:lambda|fn|func|function|def|async function|not)\b")
_BEFORE = re.compile(r"(?:(?:await|yield|co_await|try|copy|move|ref|async|go|defer|mut|suspend|clone)\b|\.\.\.|[&*!\s]|(?=[^\W\d]))*")
_NEW = re.compile(r"new\s+(?!\()")
_WORD = re.compile(r"(?:@{1,2}|\$|#)?[A-Za-z_\x80-\xff][\w\x80-\xff$]*[?!]?", re.ASCII)
_GENERIC = re.compile(r"(?:::)?<[\w\s,.<>\[\]?&':*]*>(?=\s*[({]|::)")
_OTHERWISE = re.compile(r"\s*(?:\bor\b|\|\||\?\?|\?:)\s*(?!raise\b|throw\b|return\b)")
_PYTHON_ELSE = re.compile(r"\s+if\b[^\n]{1,200}?\belse\s+")
_TERNARY = re.compile(r"\s*(?:[=!<>]=?=?[^\n?;{}]{1,80})?\s\?\s+")
_CAST = re.compile(r"\s*\bas[?!]?\s+")
_COMPARES = re.compile(r"\s*(?:[=!]==?|[<>]=?(?=\s)|\bin\b|\bis\b|\band\b|\bnot\b|&&|=~|instanceof\b)")
_PLAIN_CAST = re.compile(r"\(\s*([\w.:\\]+(?:<[^()]*>)?(?:\[\])?[\s*&]*)\)\s*(?=[\w$(@&*])")
_TYPE_STOP = re.compile(r"[<>\[\](){},;=\n|]|[-=]>|\b(?:in|of|by|where)\b")
_HEAD = re.compile(r"[\w.:\\$\x80-\xff]+", re.ASCII)
_QUALIFIER = re.compile(
    r"(?:(?:const|struct|enum|union|class|dyn|impl|mut|final|readonly|typename|volatile|static|ref|out|in|params|vararg|public|private|"
    r"protected|internal|val|var|let|required|abstract|override|virtual|async|suspend|inline|extern|unsigned|keyof|typeof|chan|lateinit|open|"
    r"@\w+|'\w+)\s+|'\w+\s*|[&*?^\s]+|<-)*"
)
_TYPE_BEFORE = re.compile(r"(?<![\w.:\\])([\w.:\\]+(?:<[^;(){}=]*>)?(?:\s*\[\s*\])*)(?:\s*[?*&]+\s*|\s+)(?:const\s+)?\Z", re.ASCII)
_BOUND = re.compile(r"\b([A-Z]\w{0,15})\s*(?::|extends)\s*([A-Za-z_][\w.:]*)")
_DOC_TYPE = re.compile(r"@(var|return|returns|type|param)\s+\{?([\w\\|.<>\[\]?]+)\}?(?:\s+\$?(\w+))?")
_ALIAS = re.compile(r"\s*\bas\s+\(?(\w+)")
_IS_INSTANCE = re.compile(r"isinstance\((\w+), *\(?([\w.]+(?:, *[\w.]+)*)")
_NARROWED = re.compile(r" (?:instanceof|is)(?: final)? ([\\A-Z][\w.\\]*)(?:<[^>\n]*>)?(?: (?!and\b|or\b)([a-z]\w*))?")
_SWITCH = re.compile(r"\b(?:switch (\w+) := [\w.]+\.\(type\)|when *\((?:val )?(\w+)[^()\n]*\)) *\{")
_CASE = re.compile(r"(?:\bcase \*?([\w.]+):|\bis ([A-Z][\w.]*) *->)")
#: How languages write the type of a name: after a colon, before the name, after a space, or not at all.
_STYLES = {
    **dict.fromkeys(("python", "javascript", "typescript", "tsx", "vue", "svelte", "rust", "kotlin", "swift", "scala"), ":"),
    **dict.fromkeys(("java", "csharp", "c", "cpp", "dart", "php"), "first"),
    "go": "after",
    "zig": ":",
}
_ASSIGN = re.compile(
    r"((?:\s*,\s*(?:mut\s+)?[\w$.*]+)*\s*,?\s*[)\]}]*)\s*"
    r"(\|\|=|\?\?=|:=\s*range\b|=\s*range\b|:=|=(?![=>~])|\bin\b|\bof\b|\bby\b|:(?!:))?\s*"
)
_EXTENDS = re.compile(r"\bfun\s+(?:<[^>]*>\s*)?([\w.]+(?:<[^()]*>)?\??)\.\w+\s*\(")
_OPENS = re.compile(r"\s*(?:<[^()]*>|\[[^()]*\])?\s*\(")
_ARROW_RESULT = re.compile(r"\)\s*:\s*([^=]+?)\s*=>?")
_COLON = re.compile(r"\s*:\s*")
_BRACE = re.compile(r"[ ]?\{")
_TYPE_COLON = re.compile(r"\s*[)\]]?[?!]?\s*:(?![:=])\s*")
_DO_BLOCK = re.compile(r"([\w?!]+)(?:\([^()\n]*\))?\s+do\s+\|[^|\n]*\Z")
_ARROW = re.compile(r"\s*(?::[^=\n]*)?[-=]>")
_OWN_FIELD = re.compile(r"(?:self|this|\$this|cls)\s*(?:\.|->)\s*|@{1,2}|self::\$|static::\$")
_NAME_AT_END = re.compile(r"(\w+)\s*(\[\w*\])?\s*\Z")
_NAME_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_?!"
_LAMBDA = re.compile(r"\s*(?:\|\s*&?\w+\s*\||\(?\s*\w+\s*\)?\s*[-=]>)\s*(?!\{)")
#: What begins a statement whose brace opens a block.
_POINTERS = frozenset({"c", "cpp"})
_STATEMENTS = ("if ", "for ", "while ", "match ", "switch ", "} else if", "impl", "fn ", "func ", "else", "pub fn", "struct", "pub struct")
_SLOT = re.compile(r"\s*=\s*&?([A-Za-z_]\w*)")
_IDENTIFIER = re.compile(r"&?([A-Za-z_]\w*)\s*;")
_GO_TYPE = re.compile(r"(?:\s*,\s*\w+)*[ \t]+(?=[\w*\[(])")
_ITERATES = frozenset({"in", "of", ":", ":=range", "=range"})
#: Languages that write a value of a type as the type and what is in it, in braces.
_BRACED = frozenset({"go", "rust"})
_STRINGS = {
    "rust": re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\\n]|\\[^\']{1,8})\'|[()\[\]{}]'),
    "": re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[()\[\]{}]'),
}


class ValueSpans(NamedTuple):
    """What the grammar found of values, each as (start, end)."""

    targets: Sequence[tuple[int, int]] = ()  # names that are given a value or a type
    given: Sequence[tuple[int, int]] = ()  # what functions without a name are called with
    returned: Sequence[tuple[int, int]] = ()
    aliased: Sequence[tuple[int, int]] = ()  # `value as name`
    slots: Sequence[tuple[int, int]] = ()  # fields that the initializer of a value fills: `.save = file_save`
    plain: Sequence[tuple[int, int]] = ()  # names that call unless they are those of locals


class _Binding(NamedTuple):
    at: int  # from where on it holds
    indent: int
    path: str


class Brackets:
    """The pairs of brackets of a text, and which is around which."""

    def __init__(self, text: str, language: str) -> None:
        self.pair: dict[int, int] = {}
        self.opens: list[int] = []
        self._around: dict[int, int] = {}
        stack: list[int] = []
        for found in _STRINGS.get(language, _STRINGS[""]).finditer(text):
            at, mark = found.start(), text[found.start()]
            if mark in _OPENING:
                self._around[at] = stack[-1] if stack else -1
                self.opens.append(at)
                stack.append(at)
            elif mark in _CLOSING:
                while stack and text[stack[-1]] != _CLOSING[mark] and any(text[one] == _CLOSING[mark] for one in stack[-3:]):
                    stack.pop()
                if stack and text[stack[-1]] == _CLOSING[mark]:
                    self.pair[at], self.pair[stack[-1]] = stack[-1], at
                    stack.pop()

    def around(self, at: int) -> int:
        """The innermost bracket that is open at a place, -1 for none."""
        row = bisect_right(self.opens, at - 1) - 1
        bracket = self.opens[row] if row >= 0 else -1
        while bracket >= 0 and self.pair.get(bracket, -1) < at:
            bracket = self._around[bracket]
        return bracket


class Expressions:
    """Reads the paths of expressions in a text of one language."""

    def __init__(self, text: str, language: str, separators: tuple[str, ...], letters: str) -> None:
        self.text, self.language, self._letters = text, language, letters
        self._separators = separators
        self._sigils = "@" if language == "ruby" else "$#"
        self._chains: dict[int, tuple[int, int]] = {}  # by where a chain ends: where it begins, and its links
        marks = sorted({*separators, *(("!!.", "!.") if "." in separators else ())}, key=len, reverse=True)
        self._separator = re.compile(r"\s*(?:" + "|".join(map(re.escape, marks)) + r")(?![.>])\s*")

    @cached_property
    def brackets(self) -> Brackets:
        """The pairs of brackets of the text."""
        return Brackets(self.text, self.language)

    def of(self, text: str) -> Expressions:
        """The same for another text."""
        return Expressions(text, self.language, self._separators, self._letters)

    # Backwards.
    def before(self, at: int) -> str:
        """The path of what stands before the separator before a name; empty where nothing does."""
        text = self.text
        separator = next((one for one in self._separators if text.endswith(one, 0, at)), "")
        if not separator:
            return ""
        end = at - len(separator)
        while end and text[end - 1] in " \t\n":
            end -= 1
        if end and text[end - 1] in "!?" and "." in separator:
            end -= 1
        start = self._start_of(end)
        return UNKNOWN if start >= end else self.path(start, end)

    def _start_of(self, end: int) -> int:
        """Where the chain of members and calls begins that ends at a place."""
        passed: list[int] = []
        at, links, is_first = end, 0, False
        while not is_first and (found := self._chains.get(at)) is None:
            if len(passed) == MAX_STEPS:
                self._chains[end] = (end, MAX_STEPS + 1)
                return end
            passed.append(at)
            at, is_first = self._link(at)
        if not is_first and found:
            at, links = found
        for count, one in enumerate(reversed(passed), links + 1):
            self._chains[one] = (at, count)
        return at if links + len(passed) <= MAX_STEPS else end  # too long a chain to be followed for each of its calls

    def _link(self, at: int) -> tuple[int, bool]:  # noqa: PLR0911  # one for each way a link can end
        """Where the link before the one that ends at a place ends, or where the chain begins; and whether it begins there."""
        text = self.text
        if at <= 0:
            return at, True
        last = text[at - 1]
        if last in _CLOSING:
            opening = self.brackets.pair.get(at - 1, -1)
            if opening < 0:
                return at, True
            at = opening
            if at and (text[at - 1] in ")]" or text[at - 1] in self._letters or text[at - 1] in "?!>"):
                return at, False
        elif last in self._letters or last in "?!":
            at = len(text[max(0, at - 80) : at].rstrip("?!").rstrip(self._letters)) + max(0, at - 80)
            while at and text[at - 1] in self._sigils:
                at -= 1
        elif last == ">":
            opening = text.rfind("<", max(0, at - _REACH), at)
            if opening < 0:
                return at, True
            return opening - 2 * text.endswith("::", 0, opening), False
        else:
            return at, True
        head = text[max(0, at - 40) : at]
        bare = head.rstrip()
        separator = next((one for one in self._separators if bare.endswith(one)), "")
        if not separator or bare.endswith("..") or (separator == "\\" and bare[-2:-1] not in self._letters):
            return (at - len(head) + len(bare) - 3 if head != bare and bare.endswith("new") else at), True
        return at - (len(head) - len(bare[: -len(separator)].rstrip())), False

    # Forwards.
    def path(self, start: int, end: int | None = None) -> str:
        """The path of the expression at a place; `)` if none can be told."""
        found, _ = self.read(start, len(self.text) if end is None else end)
        return _joined(found)

    def read(self, at: int, end: int, depth: int = 0) -> tuple[list[str], int]:
        """The alternatives of an expression, and where it ends."""
        if depth > MAX_HOPS:
            return [], at
        found, at = self._primary(at, end, depth)
        found, at = self._steps(found, at, end)
        text = self.text
        cast = _CAST.match(text, at, end)
        if cast and self.language != "python":
            stop = type_end(text, cast.end(), end)
            return type_paths(text[cast.end() : stop]), stop
        other = _PYTHON_ELSE.match(text, at, end) if self.language == "python" else _OTHERWISE.match(text, at, end)
        other = other or _OTHERWISE.match(text, at, end)
        if other:
            more, at = self.read(other.end(), end, depth + 1)
            return [*found, *more], at
        ternary = _TERNARY.match(text, at, end)
        if ternary and self.language not in ("python", "rust", "kotlin"):
            found, at = self.read(ternary.end(), end, depth + 1)
            colon = _COLON.match(text, at, end)
            more, at = self.read(colon.end(), end, depth + 1) if colon else ([], at)
            return [*found, *more], at
        return ([], at) if _COMPARES.match(text, at, end) else (found, at)

    def _primary(self, at: int, end: int, depth: int) -> tuple[list[str], int]:  # noqa: PLR0911  # one for each way to begin
        text = self.text
        before = _BEFORE.match(text, at, end)
        at = before.end() if before else at
        new = _NEW.match(text, at, end)
        if new:
            return self._made(new.end(), end)
        if at >= end or _LITERAL.match(text, at, end):
            return [], at
        if text[at] == "(":
            return self._group(at, end, depth)
        if text[at] == "[":
            return self._listed(at, end, depth)
        word = _WORD.match(text, at, end)
        if word is None:
            if text[at] in "\\:":  # `\Name\Space`, `::name`
                return self._primary(at + 1, end, depth)
            return [], at
        return self._named(word, end, depth)

    def _named(self, word: re.Match[str], end: int, depth: int) -> tuple[list[str], int]:  # noqa: PLR0911  # one for each kind of name
        text, name, at = self.text, word[0], word.end()
        if self.language == "php" and at < end and text.startswith("\\", at):
            more = _WORD.match(text, at + 1, end)
            return self._named(more, end, depth) if more else ([], at)
        if name[0] == "@":
            return [f"self.{name.lstrip('@')}"], at
        if self.language != "ruby" and name[-1] in "?!":
            name, at = name[:-1], at - 1
        bare = name.lstrip("$") if self.language in ("php", "perl") else name
        if bare in _SELF or (bare == "new" and self.language == "ruby"):
            root = "self"
        elif bare in _PARENT and (bare == "super" or self.language in ("csharp", "php")):
            root = "super"
            at = self.brackets.pair.get(at, at - 1) + 1 if text.startswith("(", at) else at
            return [root], at
        else:
            root = bare
        if self.language == "go" and root in ("map", "make", "new", "func", "chan", "interface", "struct"):
            return self._go_builtin(root, at)
        generic = _GENERIC.match(text, at, end)
        called = generic.end() if generic else at
        if self.language == "rust" and text.startswith(("![", "!("), called):
            inner, stop = self._inside(called + 1, end, depth)
            return ([f"{one}*" for one in inner] if root in _WORDS["many"] else []), stop
        if text.startswith("(", called) and called in self.brackets.pair:
            return self._called(root, called, depth, generic[0] if generic else "")
        if self.language in _BRACED and _is_braced(text, called, end) and (root[:1].isupper() or self.language == "go"):
            own = root if root == "self" or root[:1].isupper() else f":{root}"
            return [own], self.brackets.pair.get(text.index("{", called), end) + 1
        return [root], at

    def _called(self, root: str, bracket: int, depth: int, generic: str) -> tuple[list[str], int]:
        stop = self.brackets.pair[bracket] + 1
        if root in _WORDS["same"] or root in _WORDS["many"] or root in _WORDS["element"]:
            return self._passed_on(root, bracket, depth, generic), stop
        return [root if root == "self" else f"{root}()"], stop

    def _passed_on(self, name: str, bracket: int, depth: int, generic: str = "") -> list[str]:
        """The result of a function that passes on its argument: itself, many of it, or one of it."""
        first, stop = self._inside(bracket, len(self.text), depth)
        if name.endswith("cast"):
            first = type_paths(self.text[bracket + 1 : type_end(self.text, bracket + 1, stop)])
        if not first and generic:
            first = type_paths(generic.strip(":<>"))
        if name in _WORDS["many"]:
            return [f"{one}*" for one in first]
        return [f"{one}[]" for one in first] if name in _WORDS["element"] else first

    def _inside(self, bracket: int, end: int, depth: int) -> tuple[list[str], int]:
        """The first expression in brackets, and where the brackets end."""
        close = self.brackets.pair.get(bracket, end)
        return self.read(bracket + 1, close, depth + 1)[0], close + 1

    def _group(self, at: int, end: int, depth: int) -> tuple[list[str], int]:
        close = self.brackets.pair.get(at, -1)
        if close < 0:
            return [], at
        cast = _PLAIN_CAST.match(self.text, at, end) if _STYLES.get(self.language) == "first" else None
        if cast and cast[1].strip() not in _WORDS["plain"]:
            _, stop = self.read(cast.end(), end, depth + 1)
            return type_paths(cast[1]), stop
        return self.read(at + 1, close, depth + 1)[0], close + 1

    def _listed(self, at: int, end: int, depth: int) -> tuple[list[str], int]:
        """`[a, b]`: many of the first; in Go, `[]Type{...}`."""
        close = self.brackets.pair.get(at, -1)
        if close < 0:
            return [], at
        if self.language == "go":
            brace = self.text.find("{", close, end)
            return type_paths(self.text[at:brace]) if brace >= 0 else [], self.brackets.pair.get(brace, end) + 1
        return [f"{one}*" for one in self.read(at + 1, close, depth + 1)[0]], close + 1

    def _go_builtin(self, root: str, at: int) -> tuple[list[str], int]:
        if root in ("make", "new") and self.text.startswith("(", at):
            close = self.brackets.pair.get(at, at)
            return type_paths(self.text[at + 1 : type_end(self.text, at + 1, close)]), close + 1
        brace = self.text.find("{", at) if root == "map" else -1
        return (type_paths(root + self.text[at:brace]), self.brackets.pair.get(brace, brace) + 1) if brace >= 0 else ([], at)

    def _made(self, at: int, end: int) -> tuple[list[str], int]:
        """`Type<...>(...)` after `new`."""
        text = self.text
        head = _HEAD.match(text, at, end)
        if head is None:
            return [], at
        stop = head.end()
        if text.startswith("<", stop):
            stop = min((one for one in (text.find(mark, stop, end) for mark in "({[") if one >= 0), default=stop)
        found = type_paths(text[at:stop])
        while stop < end and text[stop] in "([{" and stop in self.brackets.pair:
            found = [f"{one}*" for one in found] if text[stop] == "[" else found
            stop = self.brackets.pair[stop] + 1
            while text.startswith(" ", stop):
                stop += 1
        return found, stop

    def _steps(self, found: list[str], at: int, end: int) -> tuple[list[str], int]:
        text = self.text
        while at < end:
            mark = text[at]
            if mark == "[" and at in self.brackets.pair:
                close = self.brackets.pair[at]
                is_slice = ":" in text[at:close] and self.language in ("python", "go")
                found, at = (found if is_slice else [f"{one}[]" for one in found]), close + 1
            elif mark in "!?" and not text.startswith(("!=", "? ", "??", "?:"), at):
                at += 1
            elif mark == "(" and at in self.brackets.pair:
                at = self.brackets.pair[at] + 1
            else:
                step = self._separator.match(text, at, end)
                if step is None:
                    return found, at
                after = text[step.end() : step.end() + 1]
                if after == "(" and self.language == "go":  # `x.(Type)`
                    close = self.brackets.pair.get(step.end(), end)
                    found, at = type_paths(text[step.end() + 1 : close]), close + 1
                    continue
                name = _WORD.match(text, step.end(), end)
                if name is None:
                    return ([] if after != "<" else found), step.end()
                found, at = self._member(found, name, end)
        return found, at

    def _member(self, found: list[str], name: re.Match[str], end: int) -> tuple[list[str], int]:  # noqa: PLR0911  # one for each kind
        text, member, at = self.text, name[0].lstrip("$@"), name.end()
        if member[-1] in "?!" and self.language != "ruby":
            member, at = member[:-1], at - 1
        if member == "await" or (member == "this" and self.language == "java"):
            return found, at
        generic = _GENERIC.match(text, at, end)
        at = generic.end() if generic else at
        brace = _BRACE.match(text, at, end)
        opening = at if text.startswith("(", at) else brace.end() - 1 if brace else -1
        close = self.brackets.pair.get(opening, -1) if member in _WORDS["mapping"] else -1
        body = _LAMBDA.match(text, opening + 1, close) if close >= 0 else None
        if body:
            return [f"{one}*" for one in self.read(body.end(), close, 1)[0]], close + 1
        if text.startswith("(", at) and at in self.brackets.pair:
            whole = f"{found[0]}.{member}" if len(found) == 1 else ""
            if whole in _WORDS["same"] or whole in _WORDS["many"] or whole in _WORDS["element"]:
                return self._passed_on(whole, at, 1), self.brackets.pair[at] + 1
            if generic and member in ("make_shared", "make_unique", "get", "resolve", "GetRequiredService", "GetService"):
                return type_paths(generic[0].strip(":<>")), self.brackets.pair[at] + 1
            return [f"{one}.{member}()" for one in found], self.brackets.pair[at] + 1
        if brace and self.language in ("kotlin", "swift", "ruby") and brace.end() - 1 in self.brackets.pair:
            return [f"{one}.{member}()" for one in found], self.brackets.pair[brace.end() - 1] + 1
        if self.language in _BRACED and member[:1].isupper() and _is_braced(text, at, end):
            return [f"{one}.{member}" for one in found], self.brackets.pair.get(opening := text.index("{", at), opening) + 1
        return [f"{one}.{member}" for one in found], at


def _is_braced(text: str, at: int, end: int) -> bool:
    """Whether a value is written in braces here: not `if x == y {`."""
    if at < end and text[at] == "{":
        return True
    if not text.startswith(" {", at):
        return False
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip()
    return not line.startswith(_STATEMENTS)


def _joined(found: Sequence[str]) -> str:
    """Alternatives as one path."""
    known = [one for one in dict.fromkeys(found) if one and not one.startswith(UNKNOWN) and len(one) <= MAX_PATH]
    return "|".join(known[:MAX_ALTERNATIVES]) or UNKNOWN


def functions_around(units: Sequence[Unit]) -> list[int]:
    """For each unit of a file, in order, the row of the innermost function that it is defined in; -1 for none."""
    around, open_ = [-1] * len(units), list[int]()
    for row, unit in enumerate(units):
        while open_ and units[open_[-1]].end <= unit.start:
            open_.pop()
        if open_ and unit.start == units[open_[-1]].start and unit.end == units[open_[-1]].end:
            open_.pop()  # two names for one definition
        around[row] = open_[-1] if open_ else -1
        if unit.kind in CALLABLES:
            open_.append(row)
    return around


# Types.
def type_end(text: str, start: int, end: int) -> int:
    """Where a type ends that begins at a place."""
    depth = 0
    for found in _TYPE_STOP.finditer(text, start, end):
        mark = found[0]
        if mark in ("<", "[", "(", "{") and not (mark == "{" and depth == 0 and text[start : found.start()].strip()):
            depth += 1
        elif mark in (">", "]", ")", "}"):
            depth -= 1
            if depth < 0:
                return found.start()
        elif depth == 0 and mark not in ("->", "=>", "|"):
            return found.start()
    return end


@cache
def type_paths(text: str) -> list[str]:
    """The paths of a written type, without those that no repository defines."""
    text = text.strip().strip("\"'")
    if len(text) > 4 * MAX_PATH or text.startswith(("func(", "fn(", "Fn", "(", "{", "Callable", "typeof")):
        return type_paths(text[1:-1]) if text.startswith("(") and text.endswith(")") and "," not in text and "=>" not in text else []
    found: list[str] = []
    for part in _split(text, "|"):
        found += _one_type(part.strip())
    return found[:MAX_ALTERNATIVES]


def _one_type(text: str) -> list[str]:  # noqa: PLR0911  # one for each way to write a type
    qualifier = _QUALIFIER.match(text)
    text = (text[qualifier.end() :] if qualifier else text).strip().removeprefix("...").lstrip("*&")
    if text.startswith("["):
        close = _close(text)
        inner = text[1:close].strip()
        return [f"{one}*" for one in type_paths(text[close + 1 :].strip() or inner.partition(";")[0].rpartition(":")[2])]
    if text.startswith("map["):
        return [f"{one}*" for one in type_paths(text[3:][_close(text[3:]) + 1 :])]
    head = _HEAD.match(text)
    if head is None:
        return []
    names = [name for name in re.split(r"[.:\\$]+", head[0]) if name]
    name, rest = names[-1] if names else "", text[head.end() :].strip()
    many = "*" * (("[]" in rest.rpartition(">")[2]) or "..." in rest)
    if rest[:1] in ("<", "[") and rest[1:2] != "]":
        arguments = list(_split(rest[1 : _close(rest)], ","))
        if name in _WORDS["wrappers"]:
            return [one + many for one in type_paths(arguments[0])]
        if name in _WORDS["collections"] or name in _WORDS["mappings"]:
            return [f"{one}*{many}" for one in type_paths(arguments[0 if name in _WORDS["collections"] else -1])]
    if not name or name in _WORDS["plain"]:
        return []
    if name in _SELF:
        return ["self" + many]
    before = [part for part in names[:-1] if part not in ("crate", "self", "super", "std", "global")]
    if before and before[-1] not in _SELF:
        return [f"{before[-1]}.{name}{many}"]
    return [(name if name[0].isupper() else f":{name}") + many]


def _close(text: str) -> int:
    """Where the bracket closes that a text begins with."""
    depth = 0
    for at, mark in enumerate(text):
        depth += (mark in "<[({") - (mark in ">])}" and text[at - 1 : at] not in ("-", "="))
        if depth == 0:
            return at
    return len(text)


def _split(text: str, mark: str) -> Iterator[str]:
    """The parts of a text between marks that are in no brackets."""
    if mark not in text:
        yield text
        return
    depth, start = 0, 0
    for at, one in enumerate(text):
        depth += (one in "<[({") - (one in ">])}" and text[at - 1 : at] not in ("-", "="))
        if one == mark and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def type_before(text: str, at: int) -> list[str]:
    """The type written before a name: `const std::vector<Price>& prices`."""
    head = text[max(0, at - _REACH) : at]
    found = _TYPE_BEFORE.search(head[max(map(head.rfind, ";(){}=")) + 1 :])  # a type holds none of these
    return type_paths(found[1]) if found else []


# Names.
class Values:
    """The names of a file with what is known of their values, unit by unit and place by place."""

    def __init__(self, expressions: Expressions, units: Sequence[Unit], spans: ValueSpans) -> None:
        self._read, self._text, self._units = expressions, expressions.text, units
        self._style = _STYLES.get(expressions.language, "")
        self._locals: dict[tuple[int, str], list[_Binding]] = {}
        self._fields: list[TypeFact] = []
        self._returned: dict[int, list[str]] = {}
        self._bounds: dict[int, dict[str, str]] = {}
        self._starts, self._around = [unit.start for unit in units], functions_around(units)
        self._local_units = {(holder, unit.name) for unit, holder in zip(units, self._around, strict=True) if holder >= 0}
        for row, unit in enumerate(units):
            self._take_parameters(row, unit)
        for start, end in spans.targets:
            self._take_target(start, end)
        for start, end in spans.given:
            self._bind(self._text[start:end], start, end, self._given(start))
        for start, end in spans.aliased:
            self._take_aliased(start, end)
        for start, end in spans.slots:
            row, value = self.row_at(start), _SLOT.match(self._text, end)
            if row >= 0 and value:
                self._fields.append(TypeFact(row, self._text[start:end], value[1]))
        self._take_narrowed()
        for bindings in self._locals.values():
            bindings.sort()
        for start, end in spans.returned:
            row = self.row_at(start)
            if row >= 0 and units[row].kind in CALLABLES and len(found := self._returned.setdefault(row, [])) < MAX_ALTERNATIVES:
                found.append(self.known(self._read.path(start, end), row, start))

    def row_at(self, at: int) -> int:
        """The row of the innermost unit that holds a place, -1 where none does."""
        row = bisect_right(self._starts, at) - 1
        while row >= 0 and self._units[row].end <= at:
            row -= 1
        return row

    # What binds.
    def _take_parameters(self, row: int, unit: Unit) -> None:
        is_constructor = unit.name in _CONSTRUCTORS or unit.name == (unit.parents or ("",))[-1]
        for parameter in unit.parameters:
            name, paths = self._parameter(parameter)
            if not name:
                continue
            path = self._bounded(_joined(paths), row)
            self._locals.setdefault((row, name), []).append(_Binding(unit.start, -1, path))
            if path != UNKNOWN and (unit.kind in CONTAINERS or is_constructor):
                self._fields.append(TypeFact(row, name, path))
        if self._style == "after" and unit.signature.startswith("func (") and unit.parents:
            own = unit.signature[6:].partition(" ")[0]
            self._locals.setdefault((row, own), []).append(_Binding(unit.start, -1, "self"))
        for kind, written, name in _DOC_TYPE.findall(unit.doc) if "@" in unit.doc else ():
            found = _joined(type_paths(written))
            if found != UNKNOWN and kind == "param" and name:
                self._locals.setdefault((row, name), []).append(_Binding(unit.start, 0, found))
            elif found != UNKNOWN and kind != "param":
                self._fields.append(TypeFact(row, "", found))

    def _parameter(self, text: str) -> tuple[str, list[str]]:
        """The name of a parameter, and the paths of its type."""
        head = text.partition("=")[0].strip()
        if self._style == ":":
            before, _, written = head.partition(":")
            words = _WORD.findall(before)
            return (words[-1].rstrip("?!") if words else ""), type_paths(written) or self._default(text)
        if self._style == "first":
            head = head.replace("$", "")
            found = _NAME_AT_END.search(head)
            return (found[1], type_before(head, found.start(1))) if found else ("", [])
        if self._style == "after":
            name, _, written = head.partition(" ")
            return name, type_paths(written)
        words = _WORD.findall(head)
        return (words[0] if words else ""), self._default(text)

    def _default(self, parameter: str) -> list[str]:
        _, equals, value = parameter.partition("=")
        return self._read.of(value.strip()).read(0, len(value.strip()))[0] if equals else []

    def _take_target(self, start: int, end: int) -> None:
        if start == end:
            return  # a name that the grammar misses in what it cannot read
        text, name = self._text, self._text[start:end]
        paths, stop = self._typed(start, end)
        follows = text[max(0, start - 40) : start].rstrip()
        assign = _ASSIGN.match(text, stop)
        operator = "".join((assign[2] or "").split()) if assign else ""
        if assign and text.startswith(("require(", "await import("), assign.end()):
            return  # an import, which says better what the name stands for
        if operator == ":" and self._style == ":":
            operator = ""
        value = _IDENTIFIER.match(text, assign.end()) if assign and paths and operator == "=" and self._read.language in _POINTERS else None
        if value:
            paths = [value[1]]  # maybe a function, by the name of its type
        elif assign and operator and not paths:
            stop = assign.end()
            found, stop = self._read.read(stop, len(text))
            if operator in _ITERATES:
                paths = [f"{one}[]" for one in found]
            elif not follows.endswith(","):
                paths = found
        elif self.php_each(follows) and (bracket := self._read.brackets.around(start)) >= 0:
            paths = [f"{one}[]" for one in self._read.read(bracket + 1, start)[0]]
        elif not paths and text.endswith("out var ", 0, start):
            paths = [self._given(start)]
        self._bind(name, start, stop, _joined(paths))

    def php_each(self, before: str) -> bool:
        """Whether a name follows `foreach (... as`."""
        return self._read.language == "php" and before.endswith((" as", "=>"))

    def _typed(self, start: int, end: int) -> tuple[list[str], int]:
        """The type that is written of a name, and where what follows it begins."""
        text = self._text
        if self._style == "first":
            return type_before(text, start), end
        if self._style == "after":
            space = _GO_TYPE.match(text, end)
            if space is None or text.startswith((":=", "= ", "range "), space.end()):
                return [], end
            stop = type_end(text, space.end(), min(len(text), end + 4 * MAX_PATH))
            return type_paths(text[space.end() : stop].partition(" `")[0]), stop
        colon = _TYPE_COLON.match(text, end) if self._style == ":" else None
        if colon is None:
            return [], end
        stop = type_end(text, colon.end(), min(len(text), end + 4 * MAX_PATH))
        return type_paths(text[colon.end() : stop]), stop

    def _given(self, start: int) -> str:
        """What a function without a name is called with: something of what it is given to."""
        text, brackets = self._text, self._read.brackets
        bracket = brackets.around(start)
        if bracket < 0 or text[max(0, start - 40) : start].rstrip(" ,|(").endswith("do"):
            head = _DO_BLOCK.search(text[max(0, start - _REACH) : start])
            return f"{self._read.before(max(0, start - _REACH) + head.start(1))}{{}}" if head else UNKNOWN
        close = brackets.pair.get(bracket, -1)
        if text[bracket] == "(" and _ARROW.match(text, close + 1):
            bracket = brackets.around(bracket)  # `(a, b) => ...`
        if bracket < 0:
            return UNKNOWN
        end = len(text[:bracket].rstrip()) if text[bracket] == "{" else bracket
        if text[end - 1] == ")" and text[bracket] == "{":
            end = brackets.pair.get(end - 1, end)
        name = len(text[max(0, end - 60) : end].rstrip(_NAME_LETTERS)) + max(0, end - 60)
        before = self._read.before(name) if name < end else ""
        if before:
            return "|".join(f"{one}{{}}" for one in before.split("|"))
        return UNKNOWN

    def _take_aliased(self, start: int, end: int) -> None:
        found, stop = self._read.read(start, end)
        alias = _ALIAS.match(self._text, stop)
        if alias:
            self._bind(alias[1], alias.start(1), alias.end(), _joined(found))

    def _take_narrowed(self) -> None:
        text = self._text
        if self._read.language == "python":
            for found in _IS_INSTANCE.finditer(text):
                paths = [path for one in found[2].split(",") for path in type_paths(one)]
                self._bind(found[1], found.start(), found.end(), _joined(paths))
        else:
            for found in _NARROWED.finditer(text) if " instanceof " in text or " is " in text else ():
                before = text[max(0, found.start() - 40) : found.start()]
                name = found[2] or before[len(before.rstrip(_NAME_LETTERS)) :]
                if name:
                    self._bind(name, found.start(), found.end(), _joined(type_paths(found[1])))
        if (self._read.language == "go" and ".(type)" in text) or (self._read.language == "kotlin" and "when (" in text):
            for switch in _SWITCH.finditer(text):
                for case in _CASE.finditer(text, switch.end(), self._read.brackets.pair.get(switch.end() - 1, switch.end())):
                    self._bind(switch[1] or switch[2], case.start(), case.end(), _joined(type_paths(case[1] or case[2])))

    def _bind(self, name: str, start: int, stop: int, path: str) -> None:
        row = self.row_at(start)
        if row < 0:
            return
        unit = self._units[row]
        own = _OWN_FIELD.match(name) if name[0] in "stc$@" else None
        if own:
            if path != UNKNOWN:
                self._fields.append(TypeFact(row, name[own.end() :].lstrip("$"), self.known(self._bounded(path, row), row, start)))
            return
        name = name.lstrip("$")
        if name == unit.name and (unit.kind in VALUES or unit.kind == "type"):
            if path != UNKNOWN:
                self._fields.append(TypeFact(row, "", self._bounded(path, row)))
        elif unit.kind in CONTAINERS:
            if path != UNKNOWN:
                self._fields.append(TypeFact(row, name, self._bounded(path, row)))
        else:
            line = self._text.rfind("\n", 0, start) + 1
            indent = len(self._text[line:start]) - len(self._text[line:start].lstrip())
            self._locals.setdefault((row, name), []).append(_Binding(stop, indent, self._bounded(path, row)))

    def _bounded(self, path: str, row: int) -> str:
        """A path with the bounds of type parameters in their place."""
        if row not in self._bounds:
            signature = self._units[row].signature
            found = _BOUND.findall(signature) if "<" in signature or "where" in signature else ()
            self._bounds[row] = {name: bound for name, bound in found if name.isupper()}
        bounds = self._bounds[row]
        return "|".join(_joined(type_paths(bounds[one])) if one in bounds else one for one in path.split("|")) if bounds else path

    # What is known.
    def known(self, path: str, row: int, at: int, hops: int = 0) -> str:
        """A path with the values of local names in their place."""
        if path == UNKNOWN or hops > MAX_HOPS:
            return UNKNOWN
        parts = [self._known_one(one, row, at, hops) for one in path.split("|")] if "|" in path else [self._known_one(path, row, at, hops)]
        return _joined([part for one in parts for part in one.split("|")])

    def _known_one(self, path: str, row: int, at: int, hops: int) -> str:
        root = _root(path)
        if root.endswith("()") or root[:1] in (":", "?") or root in ("self", "super"):
            return path
        if root == "it" and self._read.language == "kotlin":
            found: str | None = self._given_it(at)
        else:
            found = self._local(row, root, at, hops)
        if found is None:
            return path
        rest = path[len(root) :]
        return "|".join(one + rest for one in found.split("|")) if found != UNKNOWN else f"?{root}{rest}"

    def _given_it(self, at: int) -> str | None:
        bracket = self._read.brackets.around(at)
        while bracket >= 0 and self._text[bracket] != "{":
            bracket = self._read.brackets.around(bracket)
        return self.known(self._given(bracket + 1), self.row_at(bracket), bracket) if bracket >= 0 else None

    def _local(self, row: int, name: str, at: int, hops: int) -> str | None:
        """The path of a local at a place; None if the unit has no local of the name."""
        row = self._binding_row(row, name)
        bindings = self._locals.get((row, name))
        if bindings is None:
            return self._of_file.get(name) if self._units[row].kind in CALLABLES or self._units[row].kind == "raw" else None
        line = self._text.rfind("\n", 0, at) + 1
        indent = len(self._text[line:at]) - len(self._text[line:at].lstrip())
        found: list[str] = []
        upto = bisect_right(bindings, at, key=lambda one: one.at)
        for binding in reversed(bindings[max(0, upto - MAX_BINDINGS) : upto]):
            one = self.known(binding.path, row, binding.at - 1, hops + 1) if not binding.path.startswith(f"{name}|") else UNKNOWN
            if one != UNKNOWN:
                found += one.split("|")
            if binding.indent <= indent:
                break
        else:
            later = bindings[upto] if not found and upto < len(bindings) else None  # `[x.y() for x in xs]`
            return self.known(later.path, row, at, hops + 1) if later and hops < 2 else _joined(found)
        return _joined(found)

    def defines(self, row: int, name: str) -> bool:
        """Whether a unit, or a function around it, defines something of a name for itself."""
        while row >= 0 and (row, name) not in self._local_units:
            row = self._around[row]
        return row >= 0

    def _binding_row(self, row: int, name: str) -> int:
        """The unit that binds a name which a unit uses: itself, a function around it, or else the outermost of them."""
        while (row, name) not in self._locals and self._around[row] >= 0:
            row = self._around[row]
        return row

    @cached_property
    def _of_file(self) -> dict[str, str]:
        """What is bound outside units, where all that bind a name agree."""
        found: dict[str, str] = {}
        for (row, name), bindings in self._locals.items():
            if self._units[row].kind == "raw":
                for binding in bindings:
                    found[name] = binding.path if found.get(name, binding.path) == binding.path else UNKNOWN
        return {name: path for name, path in found.items() if path != UNKNOWN}

    def is_local(self, row: int, name: str) -> bool:
        """Whether a unit, or a function around it, binds a name."""
        return (self._binding_row(row, name), name) in self._locals

    def facts(self) -> list[TypeFact]:
        """What the file tells of the types of its units and their fields."""
        found = dict.fromkeys(self._fields)
        for row, unit in enumerate(self._units):
            if unit.kind in CALLABLES:
                path = self._bounded(_joined(self._declared_result(unit)), row)
                path = path if path != UNKNOWN else _joined([one for path in self._returned.get(row, ()) for one in path.split("|")])
                if path != UNKNOWN:
                    found[TypeFact(row, "", path)] = None
                extended = self._extended(unit)
                if extended != UNKNOWN:
                    found[TypeFact(row, EXTENDED, extended)] = None
        return list(found)

    def _extended(self, unit: Unit) -> str:
        """The type that a function adds a method to: `static int Twice(this Price price)`, `fun List<Price>.total()`."""
        if self._read.language == "csharp" and unit.parameters and unit.parameters[0].startswith("this "):
            return _joined(self._parameter(unit.parameters[0][5:])[1])
        found = _EXTENDS.search(unit.signature) if self._read.language == "kotlin" else None
        return _joined(type_paths(found[1])) if found else UNKNOWN

    def _declared_result(self, unit: Unit) -> list[str]:
        signature = unit.signature
        start = _name_in(signature, unit.name)
        at = _OPENS.match(signature, start + len(unit.name)) if start >= 0 else None
        if self._style == "first" and self._read.language != "php":
            return type_before(signature, start) if at else []
        if at is None:
            arrow = _ARROW_RESULT.search(signature) if self._style == ":" else None
            return type_paths(arrow[1]) if arrow else []
        rest = signature[at.end() - 1 :]
        rest = rest[_close(rest) + 1 :].strip()
        if self._style == "after":
            return type_paths(next(_split(rest[1:-1], ",")) if rest.startswith("(") and rest.endswith(")") else rest)
        if not rest.startswith(("->", ":")):
            return []
        rest = rest[2 if rest[0] == "-" else 1 :].strip()
        return type_paths(rest[: type_end(rest, 0, len(rest))])


def _name_in(text: str, name: str) -> int:
    """Where a whole word begins in a text, -1 for nowhere."""
    at = text.find(name)
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_$"):
        at = text.find(name, at + 1)
    return at


def _root(path: str) -> str:
    """What a path begins with."""
    for at, mark in enumerate(path):
        if mark in ".[{*":
            return path[:at]
        if mark == "(":
            return path[: at + 2]
    return path
