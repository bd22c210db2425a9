"""`whence completion`, and what completes symbols and notes in a shell. Nothing is indexed for it, and nothing complains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class

from whence.app.command_line import targets_of
from whence.cli.shared import FOUND, layout_of
from whence.core.errors import WhenceError

if TYPE_CHECKING:
    from whence.graph.names import NamedSymbol

#: How many names a shell is offered.
MAX_OFFERED = 60
SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_WHENCE_COMPLETE"
#: What begins with one of our commands is ours; all else goes to the builtin, which functions of zsh rely on.
_NOT_THE_BUILTIN = """\
whence() {
    case $1 in
        (%s|--help|--version) command whence "$@" ;;
        (*) builtin whence "$@" ;;
    esac
}
"""

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command(
    epilog="""\b
Examples:
  eval "$(whence completion bash)"        in ~/.bashrc
  eval "$(command whence completion zsh)" in ~/.zshrc, after compinit
  whence completion fish > ~/.config/fish/completions/whence.fish"""
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print the completion script of a shell.

    It completes commands, options, symbols, keys of notes, and settings. zsh has
    a builtin of the name whence: there, the script also makes our commands ours.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root()
    assert isinstance(root.command, click.Group)
    if shell == "zsh":
        click.echo(_NOT_THE_BUILTIN % "|".join(root.command.list_commands(root)))
    click.echo(kind(root.command, {}, "whence", _VARIABLE).source())
    return FOUND


def _quietly(complete: Callable[[click.Context, str], Iterator[CompletionItem]]) -> Completer:
    def offered(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
        with suppress(WhenceError, OSError):
            return list(complete(context, begun))
        return []

    return offered


@_quietly
def complete_symbol(context: click.Context, begun: str) -> Iterator[CompletionItem]:
    """Symbols of the repository's index, most used first: by qualified name, or by name alone."""
    from whence.app.index import Index  # noqa: PLC0415  -- loads numpy

    root = targets_of((context.params.get("place") or ".",))[0].root
    if not layout_of(root).exists():
        return
    with Index.open(root, refresh=False) as index:
        for symbol, uses in index.completed(begun, MAX_OFFERED):
            if name := _as_begun(symbol, begun):
                yield CompletionItem(name, help=f"{symbol.kind} {symbol.path}:{symbol.line}, {uses} uses")


def _as_begun(symbol: NamedSymbol, begun: str) -> str:
    """A name of a symbol that begins as it was typed; empty if none does."""
    qualified = symbol.key.partition("#")[2]
    names = (symbol.key, qualified, qualified.rpartition(".")[2])
    return next((name for name in names[not ("#" in begun or "/" in begun) :] if name.lower().startswith(begun.lower())), "")


@_quietly
def complete_note(context: click.Context, begun: str) -> Iterator[CompletionItem]:
    """Keys of notes, or their names alone."""
    from whence.memory.memory import Memory  # noqa: PLC0415  -- loads numpy

    where = {"memory.place": "repository"} if context.params.get("team") else {}
    with Memory.open(context.params.get("directory"), command_line=where) as memory:
        for note in memory.summaries():
            for name in (note.key, note.key.partition("/")[2]):
                if name.startswith(begun):
                    yield CompletionItem(name, help=f"{note.kind} {note.changed}".strip())
                    break
