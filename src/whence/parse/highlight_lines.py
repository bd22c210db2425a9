"""The colours of languages that have no grammar here: comments, strings, numbers and keys, by one pattern each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_STRINGS = r"""(?P<string>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*')"""
_NUMBERS = r"(?P<number>(?<![\w.])(?:0[xX][0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9_]+)?(?:[eE][+-]?[0-9]+)?)(?:%|[a-z]{1,3})?(?!\w))"
_CONSTANTS = r"(?P<constant>(?<![\w.-])(?:true|false|null|nil|yes|no|on|off|True|False|TRUE|FALSE|None|self|this)(?![\w-]))"
_KEYWORDS = (
    r"(?P<keyword>(?<![\w.$@-])(?:and|as|begin|break|case|catch|class|const|continue|def|default|defn|do|elif|else|elsif|elseif|end|enum|export"
    r"|extends|extern|final|finally|fi|fn|for|foreach|from|fun|func|function|global|if|implements|import|in|include|inherit|interface|internal|is"
    r"|let|local|match|message|module|mutable|namespace|new|not|of|open|or|override|package|private|proc|procedure|protected|public|record|rec"
    r"|require|return|returns|rpc|service|set|static|struct|switch|then|throw|try|type|union|until|use|using|val|var|virtual|when|where|while"
    r"|with|yield)(?![\w?!-]))"
)
_HASH, _SLASHES, _BLOCK = r"(?<!\S)\#.*", r"//.*", r"/\*(?:[^*]|\*(?!/))*(?:\*/)?"
_XML_COMMENT = r"<!--(?:[^-]|-(?!->))*(?:-->)?"
_NAMED = r"^[ \t]*(?P<attribute>[\w.$/\"'-]+)(?=[ \t]*[=:](?:\s|$))"

#: How comments begin, by language; what is named nowhere has no colours.
_COMMENTS = {
    "ada": r"--.*", "assembly": rf"[;@].*|{_SLASHES}|{_BLOCK}|{_HASH}", "awk": _HASH, "batch": r"(?i:(?:^|(?<=\n))[ \t]*(?:rem\b|::).*)",
    "clojure": r";.*", "cmake": _HASH, "d": rf"{_SLASHES}|{_BLOCK}", "dockerfile": _HASH, "erlang": r"%.*", "fortran": r"!.*",
    "fsharp": rf"{_SLASHES}|\(\*(?:[^*]|\*(?!\)))*(?:\*\))?", "graphql": _HASH, "groovy": rf"{_SLASHES}|{_BLOCK}",
    "hcl": rf"{_HASH}|{_SLASHES}|{_BLOCK}", "lisp": r";.*", "make": _HASH, "matlab": r"%.*", "nim": _HASH, "nix": rf"{_HASH}|{_BLOCK}",
    "ocaml-interface": r"\(\*(?:[^*]|\*(?!\)))*(?:\*\))?", "pascal": rf"{_SLASHES}|\{{[^}}]*\}}?", "powershell": _HASH,
    "proto": rf"{_SLASHES}|{_BLOCK}", "solidity": rf"{_SLASHES}|{_BLOCK}", "starlark": _HASH, "tcl": _HASH,
    "template": rf"{_XML_COMMENT}|\{{\#[^#]*\#\}}", "vala": rf"{_SLASHES}|{_BLOCK}", "verilog": rf"{_SLASHES}|{_BLOCK}",
    "vim": r"^[ \t]*\".*",
}  # fmt: skip
_OWN = {
    "css": rf"(?P<comment>{_BLOCK}|{_SLASHES})|{_STRINGS}|(?P<keyword>@[\w-]+|!important)|(?P<hex>\#[0-9a-fA-F]{{3,8}}\b)"
    r"|^[ \t]*(?P<attribute>[\w-]+)(?=[ \t]*:[ \t])|(?P<type>[.\#][A-Za-z_-][\w-]*)(?=[^;{}\n]{0,80}[{,])"
    rf"|(?P<constant>--[\w-]+|\$[\w-]+)|{_NUMBERS}",
    "ini": rf"^[ \t]*(?P<comment>[\#;].*)|^[ \t]*(?P<type>\[[^\]\n]*\])|{_NAMED}|{_STRINGS}|{_NUMBERS}|{_CONSTANTS}",
    "json": rf"(?P<comment>{_SLASHES}|{_BLOCK})|(?P<attribute>\"(?:[^\"\\\n]|\\.)*\")(?=\s*:)|{_STRINGS}|{_NUMBERS}|{_CONSTANTS}",
    "markdown": rf"(?P<comment>{_XML_COMMENT})|^[ ]{{0,3}}(?P<keyword>\#{{1,6}}[ \t].*)"
    r"|^[ ]*(?P<string>(?P<fence>```+|~~~+)(?:.*\n?)(?:(?![ ]*(?P=fence)).*\n?)*(?:[ ]*(?P=fence))?)"
    r"|(?P<code>`[^`\n]+`)|^(?P<quote>[ ]{0,3}>.*)|^[ \t]*(?P<constant>(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t]))"
    r"|(?<=\]\()(?P<link>[^()\s]+)|(?P<type>\*\*[^*\n]+\*\*)",
    "toml": rf"(?P<comment>\#.*)|^[ \t]*(?P<type>\[\[?[^\]\n]*\]\]?)|{_NAMED}"
    r"|(?P<text>\"\"\"(?:[^\"]|\"(?!\"\"))*(?:\"\"\")?|'''(?:[^']|'(?!''))*(?:''')?)"
    rf"|{_STRINGS}|{_NUMBERS}|{_CONSTANTS}",
    "xml": rf"(?P<comment>{_XML_COMMENT})|(?P<keyword></?[\w:.-]+|/?>|<[?!][\w-]+|\?>)"
    r"|(?<![\w:.-])(?P<attribute>[\w:.-]{1,100})(?==[\"'])|(?<==)(?P<string>\"[^\"<]*\"|'[^'<]*')|(?P<constant>&[\w\#]+;)",
    "yaml": rf"(?P<comment>{_HASH})|^[ \t]*(?:-[ \t]+)*(?P<attribute>[\w.$/*-]+|\"[^\"\n]*\"|'[^'\n]*')(?=[ \t]*:(?:\s|$))"
    r"|(?P<type>(?<=[ \t])[&*][\w-]+|![\w!/-]+)"
    rf"|(?<!\w){_STRINGS}|{_NUMBERS}|{_CONSTANTS}|^(?P<keyword>---|\.\.\.)$",
}  # fmt: skip
#: Groups that have another colour than their name, as a pattern cannot use a name twice.
_MEANT = {"code": "string", "quote": "comment", "link": "string", "text": "string", "hex": "number"}


def is_coloured_by_lines(language: str) -> bool:
    """Whether a language has a pattern here, which then goes before a grammar."""
    return language in _OWN or language in _COMMENTS


def pattern_spans(language: str, text: str) -> Iterator[tuple[int, int, str]]:
    """What the pieces of a text are, in characters from its beginning."""
    for found in _pattern(language).finditer(text):
        name = found.lastgroup
        if name is not None:
            yield (*found.span(name), _MEANT.get(name, name))


@cache
def _pattern(language: str) -> re.Pattern[str]:
    written = _OWN.get(language) or rf"(?P<comment>{_COMMENTS[language]})|{_STRINGS}|{_NUMBERS}|{_CONSTANTS}|{_KEYWORDS}"
    return re.compile(written, re.MULTILINE)
