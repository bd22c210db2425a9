"""The manual page: every command with its help and options, in the language of man(7)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from whence.core.settings import OTHER_VARIABLES

#: Variables of the environment that are no settings.
ENVIRONMENT = {
    "WHENCE_DATA_DIR": "The folder of all indexes (default: the user's cache folder).",
    "WHENCE_SESSION": "The name of a conversation, by which whence context knows what was shown in it.",
    "WHENCE_TOKEN": "The bearer token of whence mcp --http.",
    "WHENCE_TRACE": "1 writes every stage of an answer to standard error, as lines of JSON.",
    "WHENCE_...": "Every setting, for instance WHENCE_SEARCH_K: see whence config.",
    "NO_COLOR": "Print no colours.",
    "PAGER": "What pages long answers on a terminal (default: less).",
    "VISUAL, EDITOR": "The editor of whence search --open, whence search -i and whence edit.",
}
assert set(ENVIRONMENT) >= OTHER_VARIABLES

Walked = Iterable[tuple[str, click.Command, click.Context]]


def man_page(commands: Walked, version: str) -> str:
    """The page of a command and of all below it."""
    (name, whole, context), *others = commands
    about, *paragraphs = _paragraphs(whole.help)
    lines = [
        f'.TH WHENCE 1 "" "whence {version}" "whence"',
        ".SH NAME",
        f"whence \\- {_roff(about[0].lower() + about[1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {name}",
        _roff(" ".join(whole.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
        *(line for paragraph in paragraphs for line in (".PP", _roff(paragraph))),
        ".SH COMMANDS",
    ]
    for one in others:
        lines += _command(*one)
    lines += [".SH ENVIRONMENT", *(line for name, said in ENVIRONMENT.items() for line in (".TP", f".B {_roff(name)}", _roff(said)))]
    lines += [".SH EXIT STATUS", "0 found, 1 nothing found, 2 wrong use or failure, 130 interrupted."]
    return "\n".join(lines) + "\n"


def _command(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    yield f".SS {_roff(name)} {_roff(' '.join(command.collect_usage_pieces(context)))}"
    for paragraph in _paragraphs(command.help):
        yield from (".PP", _roff(paragraph))
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and (found := parameter.get_help_record(context)):
            yield from (".TP", f".B {_roff(found[0])}", _roff(found[1]))
    if examples := re.sub(r"^\x08\nExamples:\n", "", command.epilog or ""):
        yield from (".PP", ".nf", *map(_roff, examples.removeprefix("\x08\n").splitlines()), ".fi")


def _paragraphs(help_text: str | None) -> list[str]:
    return [" ".join(one.split()) for one in (help_text or "").split("\n\n") if one.strip()]


def _roff(text: str) -> str:
    """A text in which nothing is taken for a request: no line begins with a dot or a quote, dashes are dashes."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
