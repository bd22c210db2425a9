"""The languages: which files are in which, and whether that is code, docs or configuration. `languages.txt` lists them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from whence.core.types import CODE, DOCS


@dataclass(frozen=True, slots=True)
class Language:
    """One language: its name, its files and its grammar, if it has one."""

    name: str
    extensions: tuple[str, ...]
    content: str = CODE
    grammar: str = ""  # empty if it has none
    queries: str = ""  # the query file, if it is not named after the language
    filenames: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()  # other names that people use
    noise: tuple[bytes, ...] = ()  # patterns of text that its grammar cannot parse, blanked first
    unbearable: bytes = b""  # a pattern of text that crashes its grammar
    plain_names: bool = False  # a dot or colon in a name is part of it

    @property
    def query_file(self) -> str:
        """The name of its file in `queries/`."""
        return f"{self.queries or self.name}.scm"


#: Macros in capitals, alone on a line or between `class` and the name: the grammar of C++ knows none. A pattern begins with
#: plain text, which makes it fast; its group is blanked.
MACROS = (
    rb"\n[ \t]*([A-Z][A-Z0-9_]{3,})(?=[ \t]*\n)",
    rb"class ([A-Z][A-Z0-9_]{3,})(?=\s+[A-Za-z_])",
    rb"struct ([A-Z][A-Z0-9_]{3,})(?=\s+[A-Za-z_])",
)

#: Quotes and lists nested on one line: 256 of them crash the grammar of Markdown.
DEEP_MARKS = rb"(?:(?:>|[-*+][ \t]|[0-9]{1,9}[.)][ \t])[ \t]*){100}"

#: Text that C cannot have.
_CPP_MARKS = tuple(b"namespace |template|class |public:|private:|std::|constexpr|using |nullptr|#include <string>|virtual ".split(b"|"))
_NOISE = {"cpp": MACROS}
_UNBEARABLE = {"markdown": DEEP_MARKS}


def _language(line: str) -> Language:
    """The language of a line of `languages.txt`."""
    name, *words = line.split()
    extensions = tuple(word for word in words if word.startswith("."))
    options = dict(word.partition("=")[::2] for word in words if not word.startswith("."))
    return Language(
        name,
        extensions,
        options.get("content", CODE),
        grammar=name if "grammar" in options else "",
        queries=options.get("queries", ""),
        filenames=tuple(filter(None, options.get("files", "").split(","))),
        interpreters=tuple(filter(None, options.get("interpreters", "").split(","))),
        aliases=tuple(filter(None, options.get("aliases", "").split(","))),
        noise=_NOISE.get(name, ()),
        unbearable=_UNBEARABLE.get(name, b""),
        plain_names="plain_names" in options,
    )


_LINES = Path(__file__).with_name("languages.txt").read_text("utf-8").splitlines()
LANGUAGES = tuple(_language(line) for line in _LINES if line and not line.startswith("#"))
BY_NAME = {language.name: language for language in LANGUAGES}
KNOWN_NAMES = tuple(sorted(BY_NAME))
#: A file of no known language is searched as prose.
UNKNOWN = Language("unknown", (), DOCS)


def language_named(text: str) -> str:
    """The name of the language that somebody calls by its name, another name or an extension; empty if there is none."""
    lowered = text.lower()
    known = BY_NAME.get(lowered) or _by("aliases").get(lowered) or _by("extensions").get(f".{lowered.lstrip('.')}")
    return known.name if known is not None else ""


@cache
def _by(field: str) -> dict[str, Language]:
    """Languages by their extensions, filenames or interpreters."""
    return {key: language for language in LANGUAGES for key in getattr(language, field)}


def language_of(path: str, head: bytes = b"") -> Language:
    """The language of a file, from its name or, failing that, its first line."""
    name = PurePosixPath(path).name
    found = _by("filenames").get(name)
    if found is None and "." in name:
        extension = name[name.rindex(".") :]
        found = _by("extensions").get(extension) or _by("extensions").get(extension.lower())
    if found is None and head.startswith(b"#!"):
        found = _of_shebang(head)
    if found is not None and found.name == "cpp" and name.endswith(".h") and not looks_like_cpp(head):
        return BY_NAME["c"]
    if head and name.endswith(".ipynb"):
        return _of_notebook(head)
    return found or UNKNOWN


def _of_notebook(head: bytes) -> Language:
    from whence.source.notebook import notebook_language  # noqa: PLC0415  -- only for notebooks

    return BY_NAME.get(language_named(notebook_language(head) or ""), UNKNOWN)


def _of_shebang(head: bytes) -> Language | None:
    words = head.split(b"\n", 1)[0][2:].decode("utf-8", "replace").split()
    names = [word.rsplit("/", 1)[-1] for word in words if not word.startswith("-") and "=" not in word]
    if names and names[0] == "env":
        names = names[1:]
    return _by("interpreters").get(names[0].rstrip("0123456789.") or names[0]) if names else None


def looks_like_cpp(head: bytes) -> bool:
    """Whether a header is C++: it has text that C cannot have."""
    return any(mark in head for mark in _CPP_MARKS)
