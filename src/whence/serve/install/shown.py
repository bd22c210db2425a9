"""A change as it is shown to a person or an agent: what is secret in a configuration is not in it, whatever form it has."""

from __future__ import annotations

import re

from whence.serve.install.changes import Change
from whence.source.secrets import find_secrets, redacted

HIDDEN = "[redacted]"
_CONFIGURATIONS = frozenset((".json", ".jsonc", ".toml"))
#: What is ours and no secret.
_OWN = "WHENCE_"
#: What says that a value is a secret. Hiding too much costs nothing here: only our own entry is news.
_SECRET = r"(?:token|secret|passw|pwd|passphrase|credential|key|auth(?!or)|bearer|cookie|dsn|private)"  # noqa: S105  -- names, no secret
_SECRET_NAME = re.compile(_SECRET, re.IGNORECASE)
#: Containers all of whose values are hidden.
_VARIABLES = re.compile(r"(?:env|environment|\w*headers)", re.IGNORECASE)
#: An argument whose value is the next one, and a value behind its name within one text: `--token=x`, `KEY=x`, `Authorization: x`.
_FLAG = re.compile(rf"--?[\w-]{{0,60}}(?:{_SECRET}|header)[\w-]{{0,60}}|-H", re.IGNORECASE)
_NAMED_INSIDE = re.compile(
    rf"({_SECRET}[\w-]{{0,60}}\s{{0,4}}[=:]|(?<![\w-])-[\w-]{{0,60}}{_SECRET}[\w-]{{0,60}}\s).+", re.IGNORECASE | re.DOTALL
)
#: JSON and TOML alike. Comments are read as everything else: an entry in one may have a secret too.
_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[\w.+-]+|[{}\[\]]|[^\w.+\-{}\[\]"\']+|.', re.DOTALL
)
_GIVES_NAME = re.compile(r"\s{0,40}[:=]")
_HEADING = re.compile(r"""\[{1,2}((?:"[^"\n]*"|'[^'\n]*'|[^\]\n"'])*)\]""")
_QUOTES = "\"'"


def difference(change: Change) -> list[str]:
    """The change as a unified diff, without secrets that may stand beside it; nothing for a file that goes."""
    import difflib  # noqa: PLC0415  -- only where there is something to show

    if change.after is None:
        return []
    before, after = ((data or b"").decode("utf-8", "replace") for data in (change.before, change.after))
    if change.path.suffix in _CONFIGURATIONS:
        before, after = (concealed(text, toml=change.path.suffix == ".toml") for text in (before, after))
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[2:]
    text = "\n".join(lines)
    return redacted(text, find_secrets(text)).split("\n") if text else []


def concealed(text: str, *, toml: bool = False) -> str:
    """A configuration without the values of variables and headers, and of all that is named as a secret is."""
    parts: list[str] = []
    inside = [False]  # whether all is hidden in the containers around
    name, before, at = "", "", 0
    while found := _PIECE.match(text, at):
        piece, at = found.group(), found.end()
        if toml and piece == "[" and len(inside) == 1 and (heading := _heading(text, found.start())):
            piece, at = heading.group(), heading.end()
            inside[0] = _is_hidden(heading[1])
        elif piece in ("{", "["):
            inside.append(inside[-1] or _is_hidden(name))
        elif piece in ("}", "]"):
            inside[1:] = inside[1:-1]
        elif piece[0] in _QUOTES or piece[0].isalnum() or piece[0] in "_.+-":
            if _GIVES_NAME.match(text, at):
                name, before = piece.strip(_QUOTES), ""
            else:
                secret = inside[-1] or _is_hidden(name) or _FLAG.fullmatch(before) is not None
                before = piece.strip(_QUOTES) if piece[0] in _QUOTES else before
                piece = _without_secret(piece, secret=secret and not name.startswith(_OWN))
        parts.append(piece)
    return "".join(parts)


def _heading(text: str, at: int) -> re.Match[str] | None:
    """The name of a table, if a line begins with it."""
    return _HEADING.match(text, at) if not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t\ufeff") else None


def _is_hidden(name: str) -> bool:
    parts = [part.strip(" \t\"'") for part in name.split(".")]
    return bool(_SECRET_NAME.search(parts[-1])) or any(_VARIABLES.fullmatch(part) for part in parts)


def _without_secret(value: str, *, secret: bool) -> str:
    quote = value[0] if value[0] in _QUOTES else ""
    if not quote:
        return HIDDEN if secret and any(character.isdigit() for character in value) else value
    bare = value.strip(quote)
    return value.replace(bare, HIDDEN if secret else _NAMED_INSIDE.sub(_only_name, bare), 1) if bare else value


def _only_name(found: re.Match[str]) -> str:
    return f"{found[1]}{HIDDEN}"
