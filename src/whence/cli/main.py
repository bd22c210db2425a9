"""`whence`: finds the command, runs it, and turns every error into one line and an exit code (A4)."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

# The arrays of a query are small: starting a thread per core for them costs more than the query.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import click
from click.shell_completion import CompletionItem

from whence.cli.shared import FAILED, FOUND, INTERRUPTED, complaint, with_output
from whence.core.errors import UsageError, WhenceError
from whence.core.version import __version__

#: Every command in the order of help: its name, its module, and the first sentence of its help, which `whence --help` shows
#: without loading the module.
_TABLE = [line.split(maxsplit=2) for line in Path(__file__).with_name("commands.txt").read_text("utf-8").splitlines()]
COMMANDS = {name: (module, text) for name, module, text in _TABLE}
#: Commands of other distributions, and what to install for them.
_PLUGINS = {"bench": "whence-bench"}


class Commands(click.Group):
    """Commands by name, each loaded from its file when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All names, in the order of help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        """One command, with a pager or a budget for what it prints."""
        if name not in COMMANDS:
            return None
        if name in _PLUGINS:
            command = _plugin(name)
        else:
            module = import_module(COMMANDS[name][0])
            command = getattr(module, name, None) or getattr(module, f"{name}_")  # `list` means something in Python
        return with_output(command, name) if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List all commands by the table."""
        width = formatter.width - 6 - max(map(len, COMMANDS))
        helps = {name: text for name, (_, text) in COMMANDS.items()} | {name: _plugin(name).get_short_help_str(width) for name in _PLUGINS}
        with formatter.section("Commands"):
            formatter.write_dl([(name, click.Command(name, help=text).get_short_help_str(width)) for name, text in helps.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command by the table, without loading its module."""
        options = [] if incomplete.isalpha() else click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)] + options

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """A name that is no command is most likely a query: say how to ask it."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"no such command {args[0]!r}; to search, write: whence search {' '.join(args)!r}", ctx)
        return super().resolve_command(ctx, args)


def _plugin(name: str) -> click.Command:
    """A command that another distribution adds through the entry points `whence.commands`."""
    from importlib.metadata import entry_points  # noqa: PLC0415  -- slow to load, and rarely needed

    for found in entry_points(group="whence.commands", name=name):
        command = found.load()
        if isinstance(command, click.Command):
            return command

    def missing(_words: tuple[str, ...]) -> None:
        raise UsageError(f"whence {name} is not installed", hint=f"pip install {_PLUGINS[name]}")

    words = click.Argument(["_words"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        name, callback=missing, params=[words], short_help=f"Not installed: pip install {_PLUGINS[name]}", add_help_option=False
    )


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 found, 1 nothing found, 2 wrong use or failure, 130 interrupted. Settings: whence config.",
)
@click.version_option(__version__, prog_name="whence", message="%(prog)s %(version)s")
def cli() -> None:
    """Find the code and notes that matter for a task, and see why.

    The first search of a repository builds an index; later ones refresh it.
    Nothing is downloaded, and nothing leaves this machine unless you set up
    a fleet.
    """


def main(arguments: list[str] | None = None) -> int:  # noqa: PLR0911  -- one return per kind of ending
    """Run and return the exit code."""
    try:
        result: Any = cli.main(arguments, prog_name="whence", standalone_mode=False)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return FAILED
    except click.UsageError as error:
        dash = "; a text that begins with a dash goes after --" if isinstance(error, click.NoSuchOption) else ""
        return _complain(error.format_message(), f"see {error.ctx.command_path} --help{dash}" if error.ctx else "")
    except click.ClickException as error:
        return _complain(error.format_message())
    except WhenceError as error:
        return _complain(error.message, error.hint)
    except (KeyboardInterrupt, click.Abort):
        click.echo("whence: interrupted; what was finished is kept", err=True)
        return INTERRUPTED
    except SystemExit as leave:  # click's own, when the reader of a pipe has seen enough
        return FOUND if type(sys.stdout).__name__.endswith("PacifyFlushWrapper") else int(leave.code or 0)
    except BrokenPipeError:  # likewise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND
    except OSError as error:
        hint = "free some space and run it again" if error.errno in (28, 122) else ""
        return _complain(f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error}", hint)
    return result if isinstance(result, int) else FOUND


def _complain(message: str, hint: str = "") -> int:
    click.echo(complaint(message, hint), err=True, nl=False)
    return FAILED
