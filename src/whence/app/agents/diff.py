"""Showing a change of a configuration file as a diff, without the secrets that may be beside our entry."""

from __future__ import annotations

import difflib
import re

from whence.app.agents.changes import FileChange
from whence.text.secrets import find_secrets, redact_secrets

HIDDEN = "[redacted]"
_CONFIGURATIONS = frozenset((".json", ".jsonc", ".toml"))
#: Our own variables are no secret.
_OWN = "WHENCE_"
#: Names of secrets. Hiding too much costs nothing here: only our own entry is news.
_SECRET = r"(?:token|secret|passw|pwd|passphrase|credential|key|auth(?!or)|bearer|cookie|dsn|private)"  # noqa: S105  -- names, no secret
_SECRET_NAME = re.compile(_SECRET, re.IGNORECASE)
#: Containers whose values are all hidden.
_VARIABLES = re.compile(r"(?:env|environment|\w*headers)", re.IGNORECASE)
#: An argument followed by its value; and a value after its name within one string: `--token=x`, `KEY=x`, `Authorization: x`.
_FLAG = re.compile(rf"--?[\w-]{{0,60}}(?:{_SECRET}|header)[\w-]{{0,60}}|-H", re.IGNORECASE)
_NAMED_INSIDE = re.compile(
    rf"({_SECRET}[\w-]{{0,60}}\s{{0,4}}[=:]|(?<![\w-])-[\w-]{{0,60}}{_SECRET}[\w-]{{0,60}}\s).+", re.IGNORECASE | re.DOTALL
)
#: Lexemes of JSON and TOML alike. Comments are split too: an entry that is commented out may hold a secret.
_LEXEME = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[\w.+-]+|[{}\[\]]|[^\w.+\-{}\[\]"\']+|.', re.DOTALL
)
_AFTER_KEY = re.compile(r"\s{0,40}[:=]")
_HEADER = re.compile(r"""\[{1,2}((?:"[^"\n]*"|'[^'\n]*'|[^\]\n"'])*)\]""")
_QUOTES = "\"'"


def unified_diff(change: FileChange) -> list[str]:
    """The lines of a diff without secrets; empty for a file that is removed."""
    if change.after is None:
        return []
    before, after = ((data or b"").decode("utf-8", "replace") for data in (change.before, change.after))
    if change.path.suffix in _CONFIGURATIONS:
        before, after = (hide_secrets(text, toml=change.path.suffix == ".toml") for text in (before, after))
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[2:]
    text = "\n".join(lines)
    return redact_secrets(text, find_secrets(text)).split("\n") if text else []


def hide_secrets(text: str, *, toml: bool = False) -> str:
    """A configuration with the values of variables, headers and everything named like a secret redacted."""
    shown: list[str] = []
    hidden = [False]  # for each container around the lexeme: whether all its values are hidden
    name, previous, at = "", "", 0
    while match := _LEXEME.match(text, at):
        lexeme, at = match.group(), match.end()
        if toml and lexeme == "[" and len(hidden) == 1 and (header := _table_header(text, match.start())):
            lexeme, at = header.group(), header.end()
            hidden[0] = _is_secret_name(header[1])
        elif lexeme in ("{", "["):
            hidden.append(hidden[-1] or _is_secret_name(name))
        elif lexeme in ("}", "]"):
            hidden[1:] = hidden[1:-1]
        elif lexeme[0] in _QUOTES or lexeme[0].isalnum() or lexeme[0] in "_.+-":
            if _AFTER_KEY.match(text, at):
                name, previous = lexeme.strip(_QUOTES), ""
            else:
                secret = hidden[-1] or _is_secret_name(name) or _FLAG.fullmatch(previous) is not None
                previous = lexeme.strip(_QUOTES) if lexeme[0] in _QUOTES else previous
                lexeme = _redact(lexeme, secret=secret and not name.startswith(_OWN))
        shown.append(lexeme)
    return "".join(shown)


def _table_header(text: str, at: int) -> re.Match[str] | None:
    return _HEADER.match(text, at) if not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t\ufeff") else None


def _is_secret_name(name: str) -> bool:
    parts = [part.strip(" \t\"'") for part in name.split(".")]
    return bool(_SECRET_NAME.search(parts[-1])) or any(_VARIABLES.fullmatch(part) for part in parts)


def _redact(value: str, *, secret: bool) -> str:
    quote = value[0] if value[0] in _QUOTES else ""
    if not quote:
        return HIDDEN if secret and any(character.isdigit() for character in value) else value
    bare = value.strip(quote)
    return value.replace(bare, HIDDEN if secret else _NAMED_INSIDE.sub(rf"\1{HIDDEN}", bare), 1) if bare else value
